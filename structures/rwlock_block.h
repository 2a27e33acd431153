/* SPDX-License-Identifier: MIT */
/* Block of records with a readers-writer lock of one word each, in the manner of parking_lot: a reader writes each record's
 * line twice, whether or not anything changes. Proof: parts/word_rwlock.h, parts/locked_block.h. */
#include "structure.h"
#include "parts/word_rwlock.h"

struct record_guard {
    struct word_rwlock lock;
};

#define guard_init(guard, parameters) ((void)(parameters), atomic_init(&(guard)->lock.word, 0))
#define guard_destroy(guard)          ((void)(guard))
#define lock_read(guard)              word_rwlock_read(&(guard)->lock)
#define lock_read_end(guard)          word_rwlock_read_end(&(guard)->lock)
#define lock_write(guard)             word_rwlock_write(&(guard)->lock)
#define lock_write_end(guard)         word_rwlock_write_end(&(guard)->lock)

#include "parts/locked_block.h"
