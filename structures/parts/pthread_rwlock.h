/* SPDX-License-Identifier: MIT */
/* A pthread_rwlock of the kind that was asked for: --rwlock-kind=prefer-reader is glibc's default, under which a stream of
 * readers starves writers; prefer-writer is its PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP. */
#include "structure.h"

#include <pthread.h>
#include <string.h>

static inline void rwlock_init(pthread_rwlock_t *lock, const struct ds_parameters *parameters)
{
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    if (strcmp(parameters->rwlock_kind, "prefer-writer") == 0)
        pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(lock, &attributes);
    pthread_rwlockattr_destroy(&attributes);
}
