/* SPDX-License-Identifier: MIT */
/* Threads that are stopped in the middle of an SCX, at each of its steps, and come back late.
 *
 * A round: the owner begins an operation and is stopped before its n-th step. The helper begins one on a neighbouring key,
 * and is stopped, too, in the owner's SCX or in its own. Meanwhile the main thread works on the same leaves: all that it
 * begins must end, with the right answer. The owner goes on, ends, and uses its descriptor for other keys; nodes are
 * retired and freed; then the helper comes back to an SCX that is long over,
 * while the owner is stopped in another one. Each thread has a key of its own, so every
 * answer is known. Now and then the structure is checked at rest.
 *
 * Compiled like model.c, with small nodes: -DDS=abtree -DSMR=ebr -DFP=batch. Argument: the seed. Exit status 1 and what
 * was wrong, or 0 and how often a thread was stopped before each step. */
#pragma GCC diagnostic ignored "-Wunused-function"

#include "compiler.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

struct scx_descriptor;
static void hook(unsigned number, const struct scx_descriptor *d);
#define scx_step(number, descriptor) hook(number, descriptor)

#define HEADER(name) STRING(name.h)
#include HEADER(FP)
#include HEADER(SMR)
#include HEADER(DS)
#include "random.h"

enum { KEYS = 48, ROUNDS = 6000, DEEPEST = 14, MAIN_OPERATIONS = 24, REUSES = 6, STEPS = 9, CHECKED_EVERY = 8 };
enum { MAIN, OWNER, HELPER, THREADS };

bool threads_oversubscribed; /* of backoff.h: nobody waits */

/* Owner or helper: begins when told, comes to a stop or to its end, goes on when told. */
struct actor {
    sem_t go, arrived;
    unsigned steps_left; /* until it is stopped; 0: never */
    bool stopped, succeeded;
    uint64_t key;
};

static struct smr_shared *shared;
static struct smr_thread *smr[THREADS];
static struct ds *ds;
static struct actor actors[THREADS];
static struct random dice;
static bool present[KEYS];
static unsigned long stops[2][STEPS], helped;
static _Thread_local struct actor *self;

static uint64_t below(uint64_t limit)
{
    return random_next(&dice) % limit;
}

static void hook(unsigned number, const struct scx_descriptor *d)
{
    if (!self) {
        helped += d != &ds->scx.descriptors[MAIN] && number == 4;
        return;
    }
    if (self->steps_left == 0 || --self->steps_left > 0)
        return;
    stops[d && d != &ds->scx.descriptors[self - actors]][number]++;
    self->stopped = true;
    sem_post(&self->arrived);
    sem_wait(&self->go);
}

/* Changes the key's presence. Main must find the key as the model has it. */
static bool toggle(struct smr_thread *t, uint64_t key)
{
    smr_tick(t);
    return present[key] ? ds_remove(ds, t, key) : ds_insert(ds, t, key, value_of(key));
}

static void *act(void *argument)
{
    self = argument;
    for (;;) {
        sem_wait(&self->go);
        self->succeeded = toggle(smr[self - actors], self->key);
        self->stopped = false;
        sem_post(&self->arrived);
    }
    return NULL;
}

/* Until it is stopped, or has ended. */
static void proceed(struct actor *actor)
{
    sem_post(&actor->go);
    sem_wait(&actor->arrived);
}

static void begin(struct actor *actor, uint64_t key, unsigned steps)
{
    actor->key = key;
    actor->steps_left = steps;
    proceed(actor);
}

static void must(bool holds, const char *what, uint64_t key)
{
    if (!holds)
        fail(STATUS_INVARIANT, "%s of key %lu gave a wrong answer", what, key);
}

static void end(struct actor *actor)
{
    if (actor->stopped)
        proceed(actor);
    must(actor->succeeded, "a stopped change", actor->key);
    present[actor->key] = !present[actor->key];
}

static void work(uint64_t operations)
{
    for (; operations; operations--) {
        uint64_t key = (actors[OWNER].key + below(16)) % KEYS;
        if (key == actors[OWNER].key || key == actors[HELPER].key)
            continue;
        must(ds_contains(ds, smr[MAIN], key).found == present[key], "a lookup", key);
        must(toggle(smr[MAIN], key), "a change", key);
        present[key] = !present[key];
    }
}

static void check_at_rest(void)
{
    struct census census = {0};
    uint64_t keys = 0;
    ds_check(ds, &census);
    if (census.broken[0])
        fail(STATUS_INVARIANT, "%s", census.broken);
    for (unsigned key = 0; key < KEYS; key++)
        keys += present[key];
    must(keys == census.keys, "the number", keys);
    int64_t nodes = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        const struct account *a = &smr[i]->fp.account;
        nodes += (int64_t)(a->allocated - a->discarded - a->retired);
    }
    if (nodes != (int64_t)census.nodes)
        fail(STATUS_INVARIANT, "%ld nodes were allocated and not retired, %lu can be reached", nodes, census.nodes);
}

static void one_round(void)
{
    uint64_t key = below(KEYS), neighbour = (key + 1 + below(6)) % KEYS;
    actors[HELPER].key = neighbour;
    begin(&actors[OWNER], key, 1 + (unsigned)below(DEEPEST));
    begin(&actors[HELPER], neighbour, (unsigned)below(DEEPEST));
    work(below(MAIN_OPERATIONS));
    end(&actors[OWNER]);
    for (unsigned i = 0; i < REUSES; i++) {
        begin(&actors[OWNER], key, 0);
        end(&actors[OWNER]);
    }
    work(below(MAIN_OPERATIONS));
    begin(&actors[OWNER], key, 1 + (unsigned)below(DEEPEST));
    end(&actors[HELPER]);
    work(below(MAIN_OPERATIONS));
    end(&actors[OWNER]);
}

int main(int count, char **arguments)
{
    struct smr_parameters parameters = {
        .threads = THREADS, .batch_size = 1, .epoch_frequency = 1, .frees_per_tick = 1, .token_check_every = 1};
    struct ds_parameters of_structure = {.threads = THREADS, .rwlock_kind = "prefer-reader"};
    random_seed(&dice, count > 1 ? strtoul(arguments[1], NULL, 10) : 1, 0);
    meta_init();
    shared = meta_alloc(sizeof *shared);
    smr_init(shared, &parameters);
    for (unsigned i = 0; i < THREADS; i++) {
        smr[i] = meta_alloc(sizeof *smr[i]);
        smr_thread_init(smr[i], shared, i);
        smr[i]->fp.account.index = i;
    }
    ds = meta_alloc(sizeof *ds);
    ds_create(ds, smr[MAIN], &of_structure);
    for (unsigned i = OWNER; i < THREADS; i++) {
        pthread_t thread;
        sem_init(&actors[i].go, 0, 0);
        sem_init(&actors[i].arrived, 0, 0);
        if (pthread_create(&thread, NULL, act, &actors[i]) != 0)
            fail(STATUS_UNSUPPORTED, "wanted %u threads, found no more: raise the limit", THREADS);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        one_round();
        if (round % CHECKED_EVERY == 0)
            check_at_rest();
    }
    check_at_rest();
    for (unsigned step = 1; step < STEPS; step++)
        printf("step %u: owner %lu, helper %lu\n", step, stops[0][step], stops[1][step]);
    printf("helped %lu\n", helped);
    return 0;
}
