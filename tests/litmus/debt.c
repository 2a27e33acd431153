/* SPDX-License-Identifier: MIT */
/* Store buffering on arc_swap_block: reader R has a burst of stores to cold lines in its store buffer when it scans a block of
 * one element, so that its debt would wait behind them; writer W replaces that element all the time. If R reads the pointer
 * again before W can see the debt, W frees the value that R goes on with.
 *
 * Needs two processors. Compiled like store_buffer.c: -DDS=arc_swap_block -DSMR=immediate -DFP=batch. Argument: the seconds to
 * run. Exit status 1 and the invariant of account.h when a value was freed too early. */
#pragma GCC diagnostic ignored "-Wunused-function"

#include "compiler.h"
#define HEADER(name) STRING(name.h)
#include HEADER(FP)
#include HEADER(SMR)
#include HEADER(DS)
#include "cold_stores.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { R, W, THREADS };

bool threads_oversubscribed; /* of backoff.h */

static struct ds *ds;
static struct smr_thread *threads[THREADS];
static line_pair_align atomic_bool stop;

static void *reader(void *argument)
{
    struct smr_thread *t = argument;
    while (!load_relaxed(&stop)) {
        burst_of_stores();
        ds_scan(ds, t);
    }
    return NULL;
}

static void *writer(void *argument)
{
    struct smr_thread *t = argument;
    for (uint64_t count = 1; !load_relaxed(&stop); count++)
        ds_replace(ds, t, 0, count);
    return NULL;
}

int main(int count, char **arguments)
{
    static const struct smr_parameters parameters = {.threads = THREADS, .batch_size = 1};
    static const struct ds_parameters of_structure = {.threads = THREADS, .elements = 1};
    double seconds = count > 1 ? strtod(arguments[1], NULL) : 1;
    pthread_t handles[THREADS];
    meta_init();
    cold_stores_init();
    struct smr_shared *shared = meta_alloc(sizeof *shared);
    ds = meta_alloc(sizeof *ds);
    smr_init(shared, &parameters);
    for (unsigned i = 0; i < THREADS; i++) {
        threads[i] = meta_alloc(sizeof *threads[i]);
        smr_thread_init(threads[i], shared, i);
        threads[i]->fp.account.index = i;
    }
    ds_create(ds, threads[W], &of_structure);
    ds_fill(ds, threads[W]);
    pthread_create(&handles[R], NULL, reader, threads[R]);
    pthread_create(&handles[W], NULL, writer, threads[W]);
    nanosleep(&(struct timespec){(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)}, NULL);
    store_relaxed(&stop, true);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(handles[i], NULL);
    return 0;
}
