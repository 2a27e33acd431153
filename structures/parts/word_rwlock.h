/* SPDX-License-Identifier: MIT */
/* A readers-writer lock of one word, as parking_lot has it: readers come in by a compare-and-swap and leave by a
 * subtraction; a writer first takes the writer's bit, which keeps new readers out, and then waits for those inside.
 *
 * Proof. Bit 0 is set by one writer at a time (1). A reader counts itself in only by a CAS from a word without bit 0 (2), so
 * after (1) no new one does, and the writer goes on when it has read that none is left (4). A reader's subtraction is a
 * release (3) that (4) acquires; the writer's release of bit 0 (5) is acquired by (1) and (2). Waiting is backoff.h's: the
 * section inside is a few instructions, or one scan at most. */
#include "atomics.h"
#include "backoff.h"
#include "race.h"

#define RWLOCK_WRITER 1u
#define RWLOCK_READER 2u

struct word_rwlock {
    _Atomic uint64_t word;
};

static noinline void word_rwlock_read_slow(struct word_rwlock *lock)
{
    for (uint64_t attempt = 1;; attempt++) {
        uint64_t word = load_relaxed(&lock->word);
        if (!(word & RWLOCK_WRITER) && cas_acquire(&lock->word, &word, word + RWLOCK_READER)) /* (2) */
            return;
        backoff_wait(attempt);
    }
}

inlined void word_rwlock_read(struct word_rwlock *lock)
{
    uint64_t word = load_relaxed(&lock->word);
    if (unlikely((word & RWLOCK_WRITER) || !cas_acquire(&lock->word, &word, word + RWLOCK_READER))) /* (2) */
        word_rwlock_read_slow(lock);
}

inlined void word_rwlock_read_end(struct word_rwlock *lock)
{
    fetch_sub_release(&lock->word, RWLOCK_READER); /* (3) */
}

static noinline void word_rwlock_write(struct word_rwlock *lock)
{
    uint64_t attempt = 1;
    for (;; attempt++) {
        uint64_t word = load_relaxed(&lock->word);
        if (!(word & RWLOCK_WRITER) && cas_acquire(&lock->word, &word, word | RWLOCK_WRITER)) /* (1) */
            break;
        backoff_wait(attempt);
    }
    race_window();
    while (load_acquire(&lock->word) != RWLOCK_WRITER) /* (4) */
        backoff_wait(attempt++);
}

inlined void word_rwlock_write_end(struct word_rwlock *lock)
{
    fetch_sub_release(&lock->word, RWLOCK_WRITER); /* (5) */
}
