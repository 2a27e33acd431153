/* SPDX-License-Identifier: MIT */
/* Records short histories of a structure's operations under contention, and asks of each whether it is linearizable
 * (history.h says what that means, for scans too).
 *
 * A round: thread 0 fills in some of the keys; then two to THREADS threads make random calls on a few neighbouring keys; then
 * thread 0, alone again, reads and removes them all. So a round begins and ends with an empty set, and what was lost is
 * missed. How many fillers stand between the keys changes every few rounds, from none to three, so that with small nodes the
 * same calls split, join and rotate other ones.
 *
 * Compiled like combo.c: -DDS=olc_bptree -DSMR=ebr -DFP=batch. Arguments: rounds, threads, seed, and the seconds after which no
 * further round begins: on a busy machine threads wait for each other. A structure for one writer gets one thread. The calls follow from the seed, their overlap does not. Exit status 1 and the first history that no order explains, or
 * 0 and a line of what was done. */
#pragma GCC diagnostic ignored "-Wunused-function"

#include "compiler.h"
#define HEADER(name) STRING(name.h)
#include HEADER(FP)
#include HEADER(SMR)
#include HEADER(DS)
#include "history.h"
#include "race.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

enum { CALLS = 24, LAYOUT_ROUNDS = 16, MOST_FILLERS = 3, KEY_STRIDE = 1000, ALL = 100 };

bool threads_oversubscribed = true; /* of backoff.h */

struct worker {
    line_pair_align struct smr_thread *smr;
    unsigned index, calls; /* calls: of this round */
    /* Written by its owner, and by thread 0 while the others wait. */
    line_pair_align _Atomic uint8_t done; /* calls of this round that have returned */
    line_pair_align _Atomic unsigned meetings;
};

static struct smr_shared *shared;
static struct ds *ds;
static struct worker workers[HISTORY_THREADS];
static struct history *histories; /* one a round */
static struct search search;
static unsigned rounds, threads;
static _Atomic unsigned rounds_wanted; /* lowered when it gets late */
static double seconds;
static struct timespec begun;
static uint64_t seed;
static unsigned fillers[HISTORY_KEYS + 1]; /* in the structure now */
static uint64_t stride = KEY_STRIDE;

static uint64_t key_at(unsigned index)
{
    return (uint64_t)(index + 1) * stride;
}

static uint64_t filler_at(unsigned index, unsigned which)
{
    return key_at(index) - 1 - which;
}

/* All threads wait for each other: a round is too short for a barrier that sleeps. */
static void meet(struct worker *w)
{
    unsigned meeting = load_relaxed(&w->meetings) + 1;
    store_release(&w->meetings, meeting);
    for (unsigned other = 0; other < threads; other++)
        for (unsigned turn = 1; load_acquire(&workers[other].meetings) < meeting; turn++) {
            spin_pause();
            if (turn % 64 == 0)
                sched_yield();
        }
}

static void perform(struct worker *w, struct call *call)
{
    uint64_t key = key_at(call->key);
    struct found found;
    switch (call->kind) {
    case CALL_INSERT:
        call->answer = ds_insert(ds, w->smr, key, call->value);
        break;
    case CALL_REMOVE:
        call->answer = ds_remove(ds, w->smr, key);
        break;
    case CALL_FIND:
        found = ds_contains(ds, w->smr, key);
        call->answer = found.found;
        call->value = found.value;
        break;
    default:
        call->answer = (uint16_t)ds_scan(ds, w->smr, key, call->most, &call->value);
    }
}

/* Says the answer. */
static unsigned record(struct worker *w, struct history *h, enum call_kind kind, unsigned key, unsigned most)
{
    unsigned index = w->calls++, tag = w->index * HISTORY_CALLS + index + 1;
    struct call *call = &h->call[w->index][index];
    call->kind = (uint8_t)kind;
    call->key = (uint8_t)key;
    call->most = (uint16_t)most;
    call->value = kind == CALL_INSERT ? history_value(key, tag) : 0;
    smr_tick(w->smr);
    race_window();
    for (unsigned other = 0; other < threads; other++)
        call->seen[other] = load_acquire(&workers[other].done);
    perform(w, call);
    store_release(&w->done, (uint8_t)w->calls);
    return call->answer;
}

static void must(bool held, const char *what, unsigned round)
{
    if (!held)
        fail(STATUS_INVARIANT, "round %u: %s", round, what);
}

/* Fillers have the value 0: they add nothing to the sum of a scan. Where there are none, the keys follow each other without a
 * gap: a scan may go from one to the next by a way of its own. */
static void lay_out(struct worker *w, unsigned round, struct random *dice, unsigned most)
{
    for (unsigned index = 0; index <= HISTORY_KEYS; index++)
        for (unsigned i = 0; i < fillers[index]; i++)
            must(ds_remove(ds, w->smr, filler_at(index, i)), "a filler is not there", round);
    stride = most ? KEY_STRIDE : 1;
    for (unsigned index = 0; index <= HISTORY_KEYS; index++) {
        fillers[index] = (unsigned)random_below(dice, most + 1);
        for (unsigned i = 0; i < fillers[index]; i++)
            must(ds_insert(ds, w->smr, filler_at(index, i), 0), "a filler is there already", round);
    }
}

static bool is_late(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begun.tv_sec) + (double)(now.tv_nsec - begun.tv_nsec) / 1e9 > seconds;
}

static void begin_round(struct worker *w, unsigned round, struct history *h, struct random *dice)
{
    if (is_late()) {
        store_relaxed(&rounds_wanted, round);
        return;
    }
    for (unsigned other = 0; other < threads; other++)
        store_relaxed(&workers[other].done, 0);
    smr_online(w->smr);
    if (round % LAYOUT_ROUNDS == 0)
        lay_out(w, round, dice, (unsigned)random_below(dice, MOST_FILLERS + 1));
    memcpy(h->fillers, fillers, sizeof fillers);
    h->threads = threads;
    for (unsigned key = 0; key < HISTORY_KEYS; key++)
        if (random_below(dice, 2))
            record(w, h, CALL_INSERT, key, 0);
    smr_offline(w->smr);
}

static void end_round(struct worker *w, struct history *h)
{
    smr_online(w->smr);
    record(w, h, CALL_SCAN, 0, ALL);
    for (unsigned key = 0; key < HISTORY_KEYS; key++)
        record(w, h, CALL_REMOVE, key, 0);
    smr_offline(w->smr);
}

/* Which threads and keys take part is the same for all threads; `dice` is this thread's own. */
static void play(struct worker *w, unsigned round, struct history *h, struct random *dice)
{
    struct random common;
    random_seed(&common, seed + round, HISTORY_THREADS);
    unsigned active = 2 + (unsigned)random_below(&common, HISTORY_THREADS - 1);
    unsigned span = 2 + (unsigned)random_below(&common, HISTORY_KEYS - 1);
    unsigned first = (unsigned)random_below(&common, HISTORY_KEYS - span + 1);
    if (w->index >= active)
        return;
    smr_online(w->smr);
    for (unsigned i = 0; i < CALLS; i++) {
        unsigned key = first + (unsigned)random_below(dice, span), which = (unsigned)random_below(dice, 10);
        unsigned most = random_below(dice, 3) ? 1 + (unsigned)random_below(dice, ALL / 10) : 1;
        record(w, h, which < 3 ? CALL_INSERT : which < 6 ? CALL_REMOVE : which < 8 ? CALL_FIND : CALL_SCAN, key, most);
    }
    smr_offline(w->smr);
}

static void *work(void *argument)
{
    struct worker *w = argument;
    struct random dice;
    random_seed(&dice, seed, w->index);
    for (unsigned round = 0; round < rounds; round++) {
        struct history *h = &histories[round];
        w->calls = 0;
        if (w->index == 0)
            begin_round(w, round, h, &dice);
        meet(w);
        if (round >= load_relaxed(&rounds_wanted))
            break;
        play(w, round, h, &dice);
        meet(w);
        if (w->index == 0)
            end_round(w, h);
        h->calls[w->index] = w->calls;
    }
    return NULL;
}

static void set_up(void)
{
    struct smr_parameters parameters = {
        .threads = threads, .batch_size = 2, .epoch_frequency = 2, .frees_per_tick = 1, .token_check_every = 1};
    struct ds_parameters of_structure = {.threads = threads, .rwlock_kind = "prefer-reader"};
    meta_init();
    fence_init("auto");
    histories = meta_alloc(rounds * sizeof *histories);
    shared = meta_alloc(sizeof *shared);
    smr_init(shared, &parameters);
    for (unsigned i = 0; i < threads; i++) {
        workers[i].index = i;
        workers[i].smr = meta_alloc(sizeof *workers[i].smr);
        smr_thread_init(workers[i].smr, shared, i);
        workers[i].smr->fp.account.index = i;
    }
    ds = meta_alloc(sizeof *ds);
    ds_create(ds, workers[0].smr, &of_structure);
}

/* Says the most places that a search came to. */
static unsigned check_histories(void)
{
    unsigned places = 0;
    for (unsigned round = 0; round < rounds; round++) {
        if (!history_is_linearizable(&search, &histories[round])) {
            history_print(stderr, &search);
            fail(STATUS_INVARIANT, "the history above, round %u of seed %lu, is not linearizable", round, seed);
        }
        places = search.places > places ? search.places : places;
    }
    return places;
}

/* Without keys, and then without nodes. */
static void check_rest(void)
{
    struct census census = {0};
    struct random dice = {{1}};
    uint64_t nodes = 0;
    smr_online(workers[0].smr);
    lay_out(&workers[0], rounds, &dice, 0);
    smr_offline(workers[0].smr);
    ds_check(ds, &census);
    if (census.broken[0])
        fail(STATUS_INVARIANT, "%s", census.broken);
    for (unsigned i = 0; i < threads; i++) {
        const struct account *a = &workers[i].smr->fp.account;
        nodes += a->allocated - a->discarded - a->retired;
    }
    must(census.keys == 0, "keys are left that were all removed", rounds);
    must(census.nodes == nodes, "the nodes that were not retired are not those in the structure", rounds);
    for (unsigned i = 0; i < threads; i++)
        smr_drain(workers[i].smr);
    ds_destroy(ds, workers[0].smr);
    for (unsigned i = 0; i < threads; i++)
        fp_destroy(&workers[i].smr->fp);
}

/* How many calls began while another thread's had not returned, as a sign that there was something to find. */
static uint64_t count_overlaps(uint64_t *calls)
{
    uint64_t overlaps = 0;
    for (unsigned round = 0; round < rounds; round++) {
        const struct history *h = &histories[round];
        for (unsigned thread = 0; thread < threads; thread++) {
            *calls += h->calls[thread];
            for (unsigned i = 0; i < h->calls[thread]; i++)
                for (unsigned other = 0; other < threads; other++) {
                    unsigned seen = h->call[thread][i].seen[other];
                    if (other != thread && seen < h->calls[other] && h->call[other][seen].seen[thread] <= i) {
                        overlaps++;
                        break;
                    }
                }
        }
    }
    return overlaps;
}

int main(int count, char **arguments)
{
    if (count != 5)
        fail(STATUS_USAGE, "wanted ROUNDS THREADS SEED SECONDS, found %d arguments: see the head of this file",
             count - 1);
    rounds = (unsigned)strtoul(arguments[1], NULL, 10);
    threads = (unsigned)strtoul(arguments[2], NULL, 10);
    seed = strtoul(arguments[3], NULL, 10);
    seconds = strtod(arguments[4], NULL);
    if (threads < 1 || threads > HISTORY_THREADS)
        fail(STATUS_USAGE, "wanted 1 to %d threads, found %u: give another number", HISTORY_THREADS, threads);
    if (DS_THREADS == DS_ONE_WRITER)
        threads = 1;
    pthread_t handles[HISTORY_THREADS];
    set_up();
    store_relaxed(&rounds_wanted, rounds);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (unsigned i = 0; i < threads; i++)
        pthread_create(&handles[i], NULL, work, &workers[i]);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(handles[i], NULL);
    rounds = load_relaxed(&rounds_wanted);
    unsigned places = check_histories();
    check_rest();
    uint64_t calls = 0, overlaps = count_overlaps(&calls);
    printf("%u rounds, %lu calls, %lu overlapping, at most %u places, retired %lu\n", rounds, calls, overlaps, places,
           workers[0].smr->fp.account.retired);
    return 0;
}
