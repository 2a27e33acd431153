/* SPDX-License-Identifier: MIT */
/* Left-right: two whole copies of the block, records included. Readers scan the one that is current, with plain loads; a writer
 * changes the other one, makes it current, waits until nobody reads what was current before, and changes that as well.
 * Paper: Ramalhete and Correia, "Left-Right: a concurrency control technique with wait-free population oblivious reads"
 * (2013). There, readers of one version are counted together, and a writer passes two versions, lest new readers keep a
 * counter from falling to zero for ever. Here each thread has a word of its own, on lines of its own: odd while it scans,
 * and never the same twice. Readers write no line that another one writes, and a writer waits for each reader's scan of that
 * time and not for the next one, so one phase is enough.
 *
 * Proof. A reader announces its scan (1), passes fence (2), reads which copy is current (3), scans it and leaves (4). A
 * writer holds the mutex, and
 * 1. writes to the standby copy, where no reader is: by the end of the write before, see 5;
 * 2. makes it current (5): a reader that finds it at (3) with acquire finds what was written to it;
 * 3. passes fence (6) and looks at each thread's word (7). Of the store (1) before a fence and the load (3) behind it, the
 *    store (5) before a fence and the load (7) behind it: either (7) sees the announcement, or (3) sees the new copy;
 * 4. waits where the word is odd until it has changed (8). So every scan announced before what (7) saw is over, by (4) and
 *    (7) or (8), release and acquire, and before anything that the writer does next; (1) is a release too, as (8) may read
 *    the announcement of the scan after it instead of (4);
 * 5. writes to the copy that was current. No reader is there: scans that (7) saw are over, and of all others (3) sees the new
 *    copy. None will be until the next writer makes it current.
 * Fences only decide what is seen; the happens-before that a thread sanitizer needs is that of (5) and (3), (4) and (7), (8).
 *
 * A scan takes the same steps whatever others do: it is wait-free. It is of one copy, which nobody writes to: a snapshot, more
 * than block.h asks for. A writer that has returned has made its count current: who scans later finds it. */
#include "structure.h"
#include "atomics.h"
#include "backoff.h"

#include <pthread.h>

/* Whole copies are guarded. */
struct record_guard {
};

#define guard_init(guard, parameters) ((void)(guard), (void)(parameters))
#define guard_destroy(guard)          ((void)(guard))

#include "parts/record_in_place.h"

#define COPIES 2

#define DS_KIND      block
#define DS_GROWS     0
#define DS_KEY_BYTES (COPIES * RECORD_KEY_BYTES)

inlined uint64_t record_read(struct smr_thread *t, struct record *record)
{
    (void)t;
    race_window();
    return metrics_count(&record->metrics);
}

#include "parts/records.h"

struct reader {
    line_pair_align _Atomic uint64_t scans; /* begun and ended ones: odd within */
};

struct ds {
    line_pair_align _Atomic(struct records *) current;
    struct records copy[COPIES];
    struct reader *readers;
    unsigned threads;
    line_pair_align pthread_mutex_t writer;
};

static void ds_create(struct ds *ds, struct smr_thread *t, const struct ds_parameters *parameters)
{
    (void)t;
    for (unsigned i = 0; i < COPIES; i++)
        ds->copy[i].parameters = parameters;
    atomic_init(&ds->current, &ds->copy[0]);
    ds->readers = meta_alloc(parameters->threads * sizeof *ds->readers);
    ds->threads = parameters->threads;
    pthread_mutex_init(&ds->writer, NULL);
}

static void ds_fill(struct ds *ds, struct smr_thread *t)
{
    for (unsigned i = 0; i < COPIES; i++)
        records_fill(&ds->copy[i], t);
}

static noinline uint64_t ds_scan(struct ds *ds, struct smr_thread *t)
{
    smr_op_begin(t);
    struct reader *reader = &ds->readers[t->fp.account.index];
    uint64_t scans = load_relaxed(&reader->scans);
    store_release(&reader->scans, scans + 1);                   /* (1) */
    fence_seq_cst();                                            /* (2) */
    const struct records *current = load_acquire(&ds->current); /* (3) */
    uint64_t most = records_scan(current, t);
    store_release(&reader->scans, scans + 2); /* (4) */
    smr_op_end(t);
    return most;
}

/* Until every scan that may be of the copy that was current before is over. */
static void wait_for_readers(const struct ds *ds)
{
    for (unsigned i = 0; i < ds->threads; i++) {
        uint64_t seen = load_acquire(&ds->readers[i].scans);                                           /* (7) */
        for (uint64_t attempt = 1; seen % 2 && load_acquire(&ds->readers[i].scans) == seen; attempt++) /* (8) */
            backoff_wait(attempt);
    }
}

static noinline uint64_t ds_replace(struct ds *ds, struct smr_thread *t, uint64_t id, uint64_t count)
{
    smr_op_begin(t);
    pthread_mutex_lock(&ds->writer);
    struct records *before = load_relaxed(&ds->current);
    struct records *standby = before == &ds->copy[0] ? &ds->copy[1] : &ds->copy[0];
    uint64_t replaced = record_overwrite(standby->store.array[id], count);
    store_release(&ds->current, standby); /* (5) */
    fence_seq_cst();                      /* (6) */
    wait_for_readers(ds);
    race_window();
    record_overwrite(before->store.array[id], count);
    pthread_mutex_unlock(&ds->writer);
    smr_op_end(t);
    return replaced;
}

static void ds_check(struct ds *ds, struct census *census)
{
    struct census other = {0};
    records_check(&ds->copy[0], census);
    records_check(&ds->copy[1], &other);
    census->nodes += other.nodes;
    if (other.broken[0])
        census_broken(census, "%s", other.broken);
    for (uint64_t id = 0; id < ds->copy[0].store.size && id < ds->copy[1].store.size; id++) {
        uint64_t left = record_count(ds->copy[0].store.array[id]), right = record_count(ds->copy[1].store.array[id]);
        if (left != right)
            census_broken(census, "element %lu has the count %lu in one copy and %lu in the other", id, left, right);
    }
}

static void ds_destroy(struct ds *ds, struct smr_thread *t)
{
    for (unsigned i = 0; i < COPIES; i++)
        records_destroy(&ds->copy[i], t);
    pthread_mutex_destroy(&ds->writer);
}
