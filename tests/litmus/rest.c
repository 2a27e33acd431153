/* SPDX-License-Identifier: MIT */
/* A structure at rest after short bursts of updates that overlapped: coroutines insert and remove a few keys, each stopped now and
 * then in a race window while the others go on, and when all have returned the structure is checked. So what one left
 * to another, who did not do it, is still to be seen.
 *
 * Compiled like model.c: -DDS=occ_avl -DSMR=ebr -DFP=batch. Arguments: bursts, the seed. Exit status 1 and what was wrong, or 0 and
 * how many keys were left after all bursts. */
#pragma GCC diagnostic ignored "-Wunused-function"

#include "compiler.h"
#include "coroutines.h"

#define HEADER(name) STRING(name.h)
#include HEADER(FP)
#include HEADER(SMR)
#include HEADER(DS)

#include <stdio.h>

enum { THREADS = 4, KEYS = 24, MOST_CALLS = 6 };

bool threads_oversubscribed; /* of backoff.h: who waits lets the others run */

struct actor {
    struct smr_thread *smr;
    unsigned calls;
    int64_t keys; /* inserted and not removed */
};

static struct smr_shared *shared;
static struct ds *ds;
static struct actor actors[THREADS];
static struct random dice;

static void *act(void *argument)
{
    struct actor *actor = argument;
    for (unsigned i = 0; i < actor->calls; i++) {
        uint64_t key = random_below(&dice, KEYS);
        smr_tick(actor->smr);
        if (random_below(&dice, 2))
            actor->keys += ds_insert(ds, actor->smr, key, value_of(key));
        else
            actor->keys -= ds_remove(ds, actor->smr, key);
    }
    return NULL;
}

static int64_t check_at_rest(unsigned burst)
{
    struct census census = {0};
    int64_t keys = 0;
    ds_check(ds, &census);
    for (unsigned i = 0; i < THREADS; i++)
        keys += actors[i].keys;
    if (census.broken[0])
        fail(STATUS_INVARIANT, "after burst %u: %s", burst, census.broken);
    if (keys != (int64_t)census.keys)
        fail(STATUS_INVARIANT, "after burst %u: wanted %ld keys, found %lu", burst, keys, census.keys);
    return keys;
}

static void one_burst(void)
{
    pthread_t handles[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        actors[i].calls = 1 + (unsigned)random_below(&dice, MOST_CALLS);
        pthread_create(&handles[i], NULL, act, &actors[i]);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(handles[i], NULL);
}

int main(int count, char **arguments)
{
    struct smr_parameters parameters = {
        .threads = THREADS, .batch_size = 1, .epoch_frequency = 1, .frees_per_tick = 1, .token_check_every = 1};
    struct ds_parameters of_structure = {.threads = THREADS, .rwlock_kind = "prefer-reader"};
    if (count != 3)
        fail(STATUS_USAGE, "wanted BURSTS SEED, found %d arguments: see the head of this file", count - 1);
    unsigned bursts = (unsigned)strtoul(arguments[1], NULL, 10);
    int64_t keys = 0;
    random_seed(&dice, strtoul(arguments[2], NULL, 10), 0);
    random_seed(&coroutine_dice, strtoul(arguments[2], NULL, 10), 1);
    meta_init();
    shared = meta_alloc(sizeof *shared);
    ds = meta_alloc(sizeof *ds);
    smr_init(shared, &parameters);
    for (unsigned i = 0; i < THREADS; i++) {
        actors[i].smr = meta_alloc(sizeof *actors[i].smr);
        smr_thread_init(actors[i].smr, shared, i);
        actors[i].smr->fp.account.index = i;
        smr_online(actors[i].smr);
    }
    ds_create(ds, actors[0].smr, &of_structure);
    for (unsigned burst = 0; burst < bursts; burst++) {
        one_burst();
        keys += check_at_rest(burst);
    }
    printf("%ld keys\n", keys);
    return 0;
}
