/* SPDX-License-Identifier: MIT */
/* Store buffering on a block whose readers announce themselves to writers: the reader has a burst of stores to cold lines in
 * its store buffer, and behind them its announcement; the writer has one in every race window, and so before what tells readers
 * where to go. Each then looks at what the other one stored. If both look too early, the reader reads what the writer is
 * changing, which takes a burst as well, or has freed.
 *
 * Needs two processors. Built with CHECK=1 like combo.c: -DDS=left_right_block -DSMR=immediate -DFP=batch. Argument: the seconds
 * to run. Exit status 1 and the invariant of block.h or account.h, or 0 and how many scans there were. */
#pragma GCC diagnostic ignored "-Wunused-function"

#define RB_RACE_H

#include "compiler.h"
#include "cold_stores.h"

static _Thread_local bool writing;

/* The reader only takes its time, now more and now less, so that the writer gets as far as where it is. */
inlined void race_window(void)
{
    static _Thread_local unsigned turn;
    if (writing)
        burst_of_stores();
    else
        for (unsigned i = turn++ % 100; i; i--)
            spin_pause();
}

#define HEADER(name) STRING(name.h)
#include HEADER(FP)
#include HEADER(SMR)
#include HEADER(DS)

#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { R, W, THREADS };
/* What one reads and what the other changes is the same. */
enum { ELEMENTS = 1 };

bool threads_oversubscribed; /* of backoff.h: each has a processor */

static struct smr_shared *shared;
static struct smr_thread *threads[THREADS];
static struct ds *ds;
static line_pair_align atomic_bool stop;
static uint64_t scans;

static void *reader(void *argument)
{
    struct smr_thread *t = argument;
    smr_online(t);
    for (; !load_relaxed(&stop); scans++) {
        burst_of_stores();
        ds_scan(ds, t);
    }
    return NULL;
}

static void *writer(void *argument)
{
    struct smr_thread *t = argument;
    smr_online(t);
    writing = true;
    for (uint64_t count = ELEMENTS; !load_relaxed(&stop); count++)
        ds_replace(ds, t, 0, count);
    return NULL;
}

int main(int count, char **arguments)
{
    struct smr_parameters parameters = {
        .threads = THREADS, .batch_size = 1, .epoch_frequency = 1, .frees_per_tick = 1, .token_check_every = 1};
    struct ds_parameters of_structure = {.threads = THREADS, .rwlock_kind = "prefer-reader", .elements = ELEMENTS};
    void *(*const mains[THREADS])(void *) = {reader, writer};
    pthread_t handles[THREADS];
    if (count != 2)
        fail(STATUS_USAGE, "wanted SECONDS, found %d arguments: see the head of this file", count - 1);
    double seconds = strtod(arguments[1], NULL);
    meta_init();
    cold_stores_init();
    shared = meta_alloc(sizeof *shared);
    ds = meta_alloc(sizeof *ds);
    smr_init(shared, &parameters);
    for (unsigned i = 0; i < THREADS; i++) {
        threads[i] = meta_alloc(sizeof *threads[i]);
        smr_thread_init(threads[i], shared, i);
        threads[i]->fp.account.index = i;
    }
    ds_create(ds, threads[R], &of_structure);
    ds_fill(ds, threads[R]);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&handles[i], NULL, mains[i], threads[i]);
    nanosleep(&(struct timespec){(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)}, NULL);
    store_relaxed(&stop, true);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(handles[i], NULL);
    printf("scans %lu\n", scans);
    return 0;
}
