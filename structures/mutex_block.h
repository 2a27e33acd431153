/* SPDX-License-Identifier: MIT */
/* Block of records with a pthread_mutex each: readers of one record exclude one another. Proof: parts/locked_block.h. */
#include "structure.h"

#include <pthread.h>

struct record_guard {
    pthread_mutex_t lock;
};

#define guard_init(guard, parameters) ((void)(parameters), pthread_mutex_init(&(guard)->lock, NULL))
#define guard_destroy(guard)          pthread_mutex_destroy(&(guard)->lock)
#define lock_read(guard)              pthread_mutex_lock(&(guard)->lock)
#define lock_read_end(guard)          pthread_mutex_unlock(&(guard)->lock)
#define lock_write                    lock_read
#define lock_write_end                lock_read_end

#include "parts/locked_block.h"
