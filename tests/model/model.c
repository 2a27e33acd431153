/* SPDX-License-Identifier: MIT */
/* A structure against a plain model: random operations by one thread on an array of "is there" beside it, every answer
 * compared, scans included. Runs of mostly inserts and of mostly removes take turns, so that a tree grows, shrinks and
 * loses levels again and again. At each turn the structure is checked at rest, and in the end every node is given back.
 *
 * Compiled like combo.c: -DDS=olc_bptree -DSMR=ebr -DFP=batch. Arguments: operations, keys, seed. Exit status 1 and what
 * differed, or 0 and a line of what was done. */
#pragma GCC diagnostic ignored "-Wunused-function"

#include "compiler.h"
#define HEADER(name) STRING(name.h)
#include HEADER(FP)
#include HEADER(SMR)
#include HEADER(DS)
#include "random.h"

#include <string.h>

enum { TURNS = 50, LONGEST_SCAN = 60 };

bool threads_oversubscribed; /* of backoff.h: one thread never waits */

static struct smr_shared *shared;
static struct smr_thread *t;
static struct ds *ds;
static struct random dice;
static uint64_t keys, done[4];
static bool *present; /* the model: with each key goes value_of(key) */

static uint64_t below(uint64_t limit)
{
    return random_next(&dice) % limit;
}

static void set_up(void)
{
    struct smr_parameters parameters = {
        .threads = 1, .batch_size = 2, .epoch_frequency = 2, .frees_per_tick = 1, .token_check_every = 1};
    struct ds_parameters of_structure = {.threads = 1, .rwlock_kind = "prefer-reader"};
    meta_init();
    present = meta_alloc(keys * sizeof *present);
    shared = meta_alloc(sizeof *shared);
    t = meta_alloc(sizeof *t);
    ds = meta_alloc(sizeof *ds);
    smr_init(shared, &parameters);
    smr_thread_init(t, shared, 0);
    smr_online(t);
    ds_create(ds, t, &of_structure);
}

static void must_agree(const char *what, uint64_t key, uint64_t wanted, uint64_t found)
{
    if (wanted != found)
        fail(STATUS_INVARIANT, "%s of key %lu: the model says %lu, the structure %lu", what, key, wanted, found);
}

static void scan(uint64_t low)
{
    uint64_t most = 1 + below(LONGEST_SCAN), wanted = 0, wanted_sum = 0, sum = 0;
    for (uint64_t key = low; key < keys && wanted < most; key++)
        if (present[key]) {
            wanted++;
            wanted_sum += value_of(key);
        }
    must_agree("scan", low, wanted, ds_scan(ds, t, low, most, &sum));
    must_agree("sum of a scan", low, wanted_sum, sum);
}

static void one_operation(unsigned percent_inserts)
{
    uint64_t key = below(keys);
    unsigned which = (unsigned)below(100);
    smr_tick(t);
    if (which < 10) {
        scan(key);
        done[3]++;
    } else if (which < 40) {
        struct found found = ds_contains(ds, t, key);
        must_agree("find", key, present[key], found.found);
        if (found.found)
            must_agree("value", key, value_of(key), found.value);
        done[0]++;
    } else if (below(100) < percent_inserts) {
        /* A key that is there keeps its value: another one must not get in. */
        must_agree("insert", key, !present[key], ds_insert(ds, t, key, value_of(key) + present[key]));
        present[key] = true;
        done[1]++;
    } else {
        must_agree("remove", key, present[key], ds_remove(ds, t, key));
        present[key] = false;
        done[2]++;
    }
}

static uint64_t at_rest(void)
{
    struct census census = {0};
    uint64_t in_model = 0, sum = 0;
    ds_check(ds, &census);
    if (census.broken[0])
        fail(STATUS_INVARIANT, "%s", census.broken);
    for (uint64_t key = 0; key < keys; key++) {
        in_model += present[key];
        sum += present[key] ? key : 0;
    }
    must_agree("size", 0, in_model, census.keys);
    must_agree("sum of keys", 0, sum, census.key_sum);
    const struct account *a = &t->fp.account;
    must_agree("nodes", 0, a->allocated - a->discarded - a->retired, census.nodes);
    return census.height;
}

int main(int count, char **arguments)
{
    if (count != 4)
        fail(STATUS_USAGE, "wanted OPERATIONS KEYS SEED, found %d arguments: see the head of this file", count - 1);
    uint64_t operations = strtoul(arguments[1], NULL, 10), highest = 0;
    keys = strtoul(arguments[2], NULL, 10);
    random_seed(&dice, strtoul(arguments[3], NULL, 10), 0);
    set_up();
    for (unsigned turn = 0; turn < TURNS; turn++) {
        for (uint64_t i = 0; i < operations / TURNS; i++)
            one_operation(turn % 2 ? 8 : 92);
        uint64_t height = at_rest();
        highest = height > highest ? height : highest;
    }
    smr_drain(t);
    ds_destroy(ds, t);
    fp_destroy(&t->fp);
    const struct account *a = &t->fp.account;
    must_agree("nodes left", 0, a->freed ? 0 : a->retired, a->allocated - a->discarded - a->freed);
    printf("%lu finds, %lu inserts, %lu removes, %lu scans, %lu retired, height %lu\n", done[0], done[1], done[2],
           done[3], a->retired, highest);
    return 0;
}
