/* SPDX-License-Identifier: MIT */
/* Block of records with a pthread_rwlock each, of the kind that --rwlock-kind asks for (parts/pthread_rwlock.h). It is larger
 * than the metrics that it guards, and each reader calls into the C library twice. Proof: parts/locked_block.h. */
#include "parts/pthread_rwlock.h"

struct record_guard {
    pthread_rwlock_t lock;
};

#define guard_init(guard, parameters) rwlock_init(&(guard)->lock, parameters)
#define guard_destroy(guard)          pthread_rwlock_destroy(&(guard)->lock)
#define lock_read(guard)              pthread_rwlock_rdlock(&(guard)->lock)
#define lock_read_end(guard)          pthread_rwlock_unlock(&(guard)->lock)
#define lock_write(guard)             pthread_rwlock_wrlock(&(guard)->lock)
#define lock_write_end                lock_read_end

#include "parts/locked_block.h"
