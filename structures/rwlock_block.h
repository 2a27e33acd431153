/* SPDX-License-Identifier: MIT */
/* Block of records with a readers-writer lock of one word each, in the manner of parking_lot: a reader writes each record's
 * line twice, whether or not anything changes. Proof: parts/word_rwlock.h. */
#include "structure.h"
#include "parts/word_rwlock.h"

#define DS_NEEDS      0u
#define DS_RETIRES    DS_RETIRES_NOTHING
#define DS_THREADS    DS_ANY
#define DS_NODE_BYTES sizeof(struct record)
#define DS_KEY_BYTES  (sizeof(struct record) + 2 * sizeof(struct record *) + 16)

struct record_lock {
    struct word_rwlock word;
};

inlined void lock_init(struct record_lock *lock, const struct ds_parameters *parameters)
{
    (void)parameters;
    atomic_init(&lock->word.word, 0);
}

inlined void lock_destroy(struct record_lock *lock)
{
    (void)lock;
}

inlined void lock_read(struct record_lock *lock)
{
    word_rwlock_read(&lock->word);
}

inlined void lock_read_end(struct record_lock *lock)
{
    word_rwlock_read_end(&lock->word);
}

inlined void lock_write(struct record_lock *lock)
{
    word_rwlock_write(&lock->word);
}

inlined void lock_write_end(struct record_lock *lock)
{
    word_rwlock_write_end(&lock->word);
}

#include "parts/locked_record.h"
#include "parts/fixed_block.h"
