/* SPDX-License-Identifier: MIT */
/* Store buffering on a real reclaimer: one thread has a burst of stores to cold lines in its store buffer, and behind them a
 * store that the other should see. Three tests, each of one step of the proof in the reclaimer's header.
 *
 * announce: reader R announces (smr_op_begin) behind the burst, then reads the link and uses the node; writer W unlinks the
 *   node, retires it and drives the epochs. Without a fence behind the announcement W finds R quiescent although R holds the
 *   old node, and frees it.
 * unlink: writer W unlinks with a plain store behind the burst and retires while the unlink is still on its way; R pins the
 *   next epoch, still finds the node, and drives the epochs. Frees that come an epoch early come while R holds it.
 * arrive: the same writer, alone; R comes online for one operation, and is gone again. It may find the node still, and then W
 *   must notice that R has come before it frees.
 *
 * Needs two processors. Built with CHECK=1 like combo.c: -DSMR=ebr -DFP=batch. Arguments: announce, unlink or arrive, the
 * seconds to run, and the fence's kind as of --fence. Exit status 1 and the invariant of account.h when a node was freed too early. */
#pragma GCC diagnostic ignored "-Wunused-function"

#include "compiler.h"
#define HEADER(name) STRING(name.h)
#include HEADER(FP)
#include HEADER(SMR)

#include "cold_stores.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { R, W, THREADS };

/* W's operations between two that change the link: they only drive the epochs, and leave R's copy of the link alone. */
enum { OPERATIONS_A_LINK = 6 };

struct node {
    struct smr_header smr;
    _Atomic uint64_t content;
};

static struct smr_shared *shared;
static struct smr_thread *threads[THREADS];
static line_pair_align _Atomic link_word link_to_node;
static line_pair_align atomic_bool stop;

/* Uses the node for longer than the other thread needs to free it. */
static void use(const struct node *node)
{
    for (unsigned i = 0; i < 50; i++)
        spin_pause();
    node_check_live(node);
}

static struct node *new_node(struct smr_thread *t)
{
    return smr_alloc(t, 0, sizeof(struct node), _Alignof(struct node));
}

/* A scheme that looks at one thread a tick sees all of them. */
static void tick(struct smr_thread *t)
{
    for (unsigned other = 0; other < THREADS; other++)
        smr_tick(t);
}

static void *announcing_reader(void *argument)
{
    struct smr_thread *t = argument;
    smr_online(t);
    while (!load_relaxed(&stop)) {
        smr_tick(t);
        burst_of_stores();
        smr_op_begin(t);
        use((struct node *)smr_protect(t, 0, &link_to_node, NULL));
        smr_op_end(t);
    }
    return NULL;
}

static void *arriving_reader(void *argument)
{
    struct smr_thread *t = argument;
    for (unsigned turn = 0; !load_relaxed(&stop);) {
        smr_online(t);
        smr_op_begin(t);
        use((struct node *)smr_protect(t, 0, &link_to_node, NULL));
        smr_op_end(t);
        smr_offline(t);
        /* W must be alone before, and R come at any moment of W's operation. */
        for (unsigned i = turn++ % 512; i; i--)
            spin_pause();
    }
    return NULL;
}

static void *driving_writer(void *argument)
{
    struct smr_thread *t = argument;
    smr_online(t);
    for (unsigned turn = 0; !load_relaxed(&stop); turn++) {
        tick(t);
        smr_op_begin(t);
        struct node *old = new_node(t);
        if (turn % OPERATIONS_A_LINK == 0)
            old = (struct node *)exchange_acq_rel(&link_to_node, (link_word)old);
        smr_retire(t, 0, old);
        smr_op_end(t);
    }
    return NULL;
}

static void *driving_reader(void *argument)
{
    struct smr_thread *t = argument;
    smr_online(t);
    while (!load_relaxed(&stop)) {
        tick(t);
        smr_op_begin(t);
        struct node *node = (struct node *)smr_protect(t, 0, &link_to_node, NULL);
        smr_retire(t, 0, new_node(t));
        use(node);
        smr_op_end(t);
    }
    return NULL;
}

static void *unlinking_writer(void *argument)
{
    struct smr_thread *t = argument;
    smr_online(t);
    while (!load_relaxed(&stop)) {
        tick(t);
        smr_op_begin(t);
        struct node *fresh = new_node(t), *old = (struct node *)load_relaxed(&link_to_node);
        burst_of_stores();
        store_release(&link_to_node, (link_word)fresh);
        smr_retire(t, 0, old);
        smr_op_end(t);
        for (unsigned i = 0; i < OPERATIONS_A_LINK; i++)
            tick(t);
    }
    return NULL;
}

static void set_up(const char *fence)
{
    struct smr_parameters parameters = {
        .threads = THREADS, .batch_size = 1, .epoch_frequency = 1, .frees_per_tick = 1, .token_check_every = 1};
    meta_init();
    fence_init(fence);
    cold_stores_init();
    shared = meta_alloc(sizeof *shared);
    smr_init(shared, &parameters);
    for (unsigned i = 0; i < THREADS; i++) {
        threads[i] = meta_alloc(sizeof *threads[i]);
        smr_thread_init(threads[i], shared, i);
    }
    store_release(&link_to_node, (link_word)new_node(threads[W]));
}

int main(int count, char **arguments)
{
    if (count != 4)
        fail(STATUS_USAGE, "wanted TEST SECONDS FENCE, found %d arguments: see the head of this file", count - 1);
    static const struct {
        const char *name;
        void *(*reader)(void *), *(*writer)(void *);
    } tests[] = {{"announce", announcing_reader, driving_writer},
                 {"unlink", driving_reader, unlinking_writer},
                 {"arrive", arriving_reader, unlinking_writer}};
    unsigned test = 0;
    while (test < 2 && strcmp(arguments[1], tests[test].name) != 0)
        test++;
    double seconds = strtod(arguments[2], NULL);
    pthread_t handles[THREADS];
    set_up(arguments[3]);
    pthread_create(&handles[R], NULL, tests[test].reader, threads[R]);
    pthread_create(&handles[W], NULL, tests[test].writer, threads[W]);
    nanosleep(&(struct timespec){(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)}, NULL);
    store_relaxed(&stop, true);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(handles[i], NULL);
    printf("freed %lu\n", threads[W]->fp.account.freed);
    return 0;
}
