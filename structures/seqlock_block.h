/* SPDX-License-Identifier: MIT */
/* Block of records with a sequence number each: a reader writes nothing, and reads again if a writer came in between. Bit 0
 * says that a writer is at it.
 * Paper: Boehm, "Can seqlocks get along with programming language memory models?" (MSPC 2012).
 *
 * Proof. 1. Writers of a record are alone: who makes the number odd does so by a CAS from an even one (1), and nobody else
 *    until it has made it even again (2).
 * 2. Nothing read is older than the first look at the number: what finds an even one with acquire (3) has everything that
 *    was written until then before it, by (2), as each writer has by (1) what the one before it wrote.
 * 3. Nothing read is younger: the metrics are stored behind fence (4) and read before fence (5), as relaxed atomics. If one of
 *    these loads sees such a store, the fences synchronise, and the second look (6) sees the odd number that was set before
 *    (4), or one above: not what (3) saw. A thread sanitizer needs no more than this: all are atomics.
 * So a reader that finds the same number twice has the metrics of one moment, and any other begins again. It waits while a
 * writer is at it: a reader can be held up, and by an endless row of writers for ever.
 *
 * Of one word no reader would need the number. It is read all the same: what is measured is the protocol, with as few of the
 * metrics' words as the other blocks read. CHECK builds read them all. */
#include "structure.h"
#include "atomics.h"
#include "backoff.h"

struct record_guard {
    _Atomic uint64_t sequence;
};

#define guard_init(guard, parameters) ((void)(parameters), atomic_init(&(guard)->sequence, 0))
#define guard_destroy(guard)          ((void)(guard))

#include "parts/record_in_place.h"

#define DS_KEY_BYTES RECORD_KEY_BYTES

#define METRICS_WORDS (sizeof(struct metrics) / sizeof(uint64_t))

/* The count is the first one. */
#define WORDS_READ (CHECK ? METRICS_WORDS : 1)

union words {
    struct metrics metrics;
    uint64_t word[METRICS_WORDS];
};

inlined _Atomic uint64_t *record_word(struct record *record, size_t i)
{
    return (_Atomic uint64_t *)&record->metrics + i;
}

/* False: a writer is or was at it. */
inlined bool record_try_read(struct record *record, uint64_t *count)
{
    union words seen;
    uint64_t sequence = load_acquire(&record->guard.sequence); /* (3) */
    if (unlikely(sequence % 2))
        return false;
    for (size_t i = 0; i < WORDS_READ; i++) {
        seen.word[i] = load_relaxed(record_word(record, i));
        race_window();
    }
    fence_acquire();                                                 /* (5) */
    if (unlikely(load_relaxed(&record->guard.sequence) != sequence)) /* (6) */
        return false;
    *count = metrics_count(&seen.metrics);
    return true;
}

static noinline uint64_t record_read_again(struct smr_thread *t, struct record *record)
{
    uint64_t attempt = t->fp.account.restarts++, count;
    do
        backoff_wait(++attempt);
    while (!record_try_read(record, &count));
    return count;
}

inlined uint64_t record_read(struct smr_thread *t, struct record *record)
{
    uint64_t count;
    return likely(record_try_read(record, &count)) ? count : record_read_again(t, record);
}

/* Returns the even number that it has made odd. */
inlined uint64_t record_lock(struct record *record)
{
    for (uint64_t attempt = 1;; attempt++) {
        uint64_t sequence = load_relaxed(&record->guard.sequence);
        if (sequence % 2 == 0 && cas_acquire(&record->guard.sequence, &sequence, sequence + 1)) /* (1) */
            return sequence;
        backoff_wait(attempt);
    }
}

inlined uint64_t record_replace(struct smr_thread *t, struct record *record, uint64_t count)
{
    (void)t;
    union words fresh = {.metrics = metrics_of(count)};
    uint64_t sequence = record_lock(record);
    fence_release(); /* (4) */
    uint64_t before = load_relaxed(record_word(record, 0));
    for (size_t i = 0; i < METRICS_WORDS; i++) {
        store_relaxed(record_word(record, i), fresh.word[i]);
        race_window();
    }
    store_release(&record->guard.sequence, sequence + 2); /* (2) */
    return before;
}

#include "parts/fixed_block.h"
