/* SPDX-License-Identifier: MIT */
/* Store buffering on a real reclaimer: reader R announces (smr_op_begin) behind a burst of stores to cold lines, which
 * keep its store buffer full, then reads a shared link and uses the node; writer W unlinks the node, retires it and
 * drives the epochs. Without a fence between R's announcement and its read, W finds R quiescent although R is about to
 * read the old link, and frees what R holds.
 *
 * Needs two processors. Built with CHECK=1 like combo.c: -DSMR=ebr -DFP=batch. Arguments: the seconds to run, and the fence's kind as of --fence. Exit
 * status 1 and the invariant of account.h when a node was freed too early. */
#pragma GCC diagnostic ignored "-Wunused-function"

#include "compiler.h"
#define HEADER(name) STRING(name.h)
#include HEADER(FP)
#include HEADER(SMR)

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { R, W, THREADS };

/* Stores to more memory than caches hold wait for their lines; as many as a store buffer takes. */
enum { COLD_LINES = 1 << 20, BURST = 48, WORDS_A_LINE = 8 };

/* W's operations between two that change the link: they only drive the epochs, and leave R's copy of the link alone. */
enum { EPOCHS_A_LINK = 6 };

struct node {
    struct smr_header smr;
    _Atomic uint64_t content;
};

static struct smr_shared *shared;
static struct smr_thread *threads[THREADS];
static line_pair_align _Atomic link_word link_to_node;
static line_pair_align atomic_bool stop;
static _Atomic uint64_t *cold;

static void *reader(void *argument)
{
    struct smr_thread *t = threads[R];
    uint64_t place = 1;
    while (!load_relaxed(&stop)) {
        smr_tick(t);
        for (unsigned i = 0; i < BURST; i++) {
            place = place * 6364136223846793005 + 1442695040888963407;
            store_relaxed(&cold[(place >> 40) % COLD_LINES * WORDS_A_LINE], place);
        }
        smr_op_begin(t);
        struct node *node = (struct node *)smr_protect(t, 0, &link_to_node, NULL);
        for (unsigned i = 0; i < 50; i++)
            spin_pause();
        node_check_live(node);
        smr_op_end(t);
    }
    return argument;
}

static void *writer(void *argument)
{
    struct smr_thread *t = threads[W];
    for (unsigned turn = 0; !load_relaxed(&stop); turn++) {
        for (unsigned other = 0; other < THREADS; other++)
            smr_tick(t);
        smr_op_begin(t);
        struct node *old = smr_alloc(t, 0, sizeof *old, _Alignof(struct node));
        if (turn % EPOCHS_A_LINK == 0)
            old = (struct node *)exchange_acq_rel(&link_to_node, (link_word)old);
        smr_retire(t, 0, old);
        smr_op_end(t);
    }
    return argument;
}

int main(int count, char **arguments)
{
    if (count != 3)
        fail(STATUS_USAGE, "wanted SECONDS and FENCE, found %d arguments: see the head of this file", count - 1);
    struct smr_parameters parameters = {.threads = THREADS, .batch_size = 1, .epoch_frequency = 1, .frees_per_tick = 1};
    double seconds = strtod(arguments[1], NULL);
    pthread_t handles[THREADS];
    void *(*const bodies[THREADS])(void *) = {reader, writer};

    meta_init();
    fence_init(arguments[2]);
    cold = meta_alloc((size_t)COLD_LINES * WORDS_A_LINE * sizeof *cold);
    madvise(cold, (size_t)COLD_LINES * WORDS_A_LINE * sizeof *cold, MADV_HUGEPAGE);
    memset((void *)cold, 1, (size_t)COLD_LINES * WORDS_A_LINE * sizeof *cold);
    shared = meta_alloc(sizeof *shared);
    smr_init(shared, &parameters);
    for (unsigned i = 0; i < THREADS; i++) {
        threads[i] = meta_alloc(sizeof *threads[i]);
        smr_thread_init(threads[i], shared, i);
    }
    store_release(&link_to_node, (link_word)smr_alloc(threads[W], 0, sizeof(struct node), _Alignof(struct node)));
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&handles[i], NULL, bodies[i], NULL);
    nanosleep(&(struct timespec){(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)}, NULL);
    store_relaxed(&stop, true);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(handles[i], NULL);
    printf("freed %lu\n", threads[W]->fp.account.freed);
    return 0;
}
