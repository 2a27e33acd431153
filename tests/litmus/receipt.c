/* SPDX-License-Identifier: MIT */
/* What a token scheme does on a receipt, in which order: one real thread plays three, and a policy of this file's own looks
 * where the token is each time it is handed nodes. Thread A receives the token with a large bag that is safe and a small one
 * that is not yet; while A frees, the other two hand the token on as fast as they can.
 *
 * Compiled with -DSMR=token_naive, whatever the policy. Arguments, what is wanted of that receipt: into how many pieces
 * the bag was cut, how many nodes the largest had, how many were released in all, and how often A gave the token on before
 * it released the last of them. Exit status 1 and what was found instead, or 0. */
#pragma GCC diagnostic ignored "-Wunused-function"

#include "policy.h"

#include <stdio.h>
#include <string.h>

#define FP_DIRECT 1

struct fp_thread {
    struct account account;
};

static void released(struct fp_thread *fp, struct bag *bag);

inlined void fp_init(struct fp_thread *fp, const struct smr_parameters *parameters)
{
    (void)fp, (void)parameters;
}

inlined void *fp_alloc(struct fp_thread *fp, unsigned kind, size_t bytes, size_t align)
{
    (void)fp, (void)kind, (void)bytes, (void)align;
    return NULL;
}

inlined void fp_release(struct fp_thread *fp, struct bag *bag)
{
    released(fp, bag);
}

inlined void fp_tick(struct fp_thread *fp)
{
    (void)fp;
}

inlined void fp_drain(struct fp_thread *fp)
{
    (void)fp;
}

inlined uint64_t fp_held(const struct fp_thread *fp)
{
    (void)fp;
    return 0;
}

#define HEADER(name) STRING(name.h)
#include HEADER(SMR)

enum { A, B, C, THREADS, LARGE = 1000, SMALL = 50, CHECK_EVERY = 100 };

struct report {
    unsigned long pieces, largest, nodes, passes;
};

static struct smr_shared *shared;
static struct smr_thread *threads[THREADS];
static uint64_t node[LARGE + SMALL];
static struct report found;

static void others_hand_it_on(void)
{
    smr_tick(threads[B]);
    smr_tick(threads[C]);
}

static void released(struct fp_thread *fp, struct bag *bag)
{
    size_t nodes = bag->nodes;
    while (bag->nodes) {
        uint64_t *safe = bag_node(bag_pop(bag, &fp->account));
        if ((*safe)++)
            fail(STATUS_INVARIANT, "node %ld was released twice", (long)(safe - node));
    }
    if (nodes == 0 || fp != &threads[A]->fp)
        return;
    found.pieces++;
    found.nodes += nodes;
    found.largest = nodes > found.largest ? nodes : found.largest;
    found.passes += token_here(threads[B]);
    others_hand_it_on();
}

static void retire(size_t from, size_t to)
{
    smr_op_begin(threads[A]);
    for (size_t i = from; i < to; i++)
        smr_retire(threads[A], 0, &node[i]);
    smr_op_end(threads[A]);
}

static void set_up(void)
{
    struct smr_parameters parameters = {.threads = THREADS, .token_check_every = CHECK_EVERY};
    meta_init();
    shared = meta_alloc(sizeof *shared);
    smr_init(shared, &parameters);
    for (unsigned i = 0; i < THREADS; i++) {
        threads[i] = meta_alloc(sizeof *threads[i]);
        smr_thread_init(threads[i], shared, i);
        smr_online(threads[i]);
    }
}

int main(int count, char **arguments)
{
    if (count != 5)
        fail(STATUS_USAGE, "wanted PIECES LARGEST NODES PASSES, found %d arguments: see the head of this file",
             count - 1);
    struct report wanted = {strtoul(arguments[1], NULL, 10), strtoul(arguments[2], NULL, 10),
                            strtoul(arguments[3], NULL, 10), strtoul(arguments[4], NULL, 10)};
    set_up();
    retire(0, LARGE);
    smr_tick(threads[A]);
    others_hand_it_on();
    if (found.pieces || !token_here(threads[A]))
        fail(STATUS_INVARIANT, "%lu nodes were released before the token had gone round", found.nodes);
    retire(LARGE, LARGE + SMALL);
    smr_tick(threads[A]);
    if (memcmp(&wanted, &found, sizeof found) != 0)
        fail(STATUS_INVARIANT, "%lu pieces, the largest of %lu nodes, %lu in all, %lu passes before the last",
             found.pieces, found.largest, found.nodes, found.passes);
    return 0;
}
