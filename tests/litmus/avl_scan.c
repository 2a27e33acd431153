/* SPDX-License-Identifier: MIT */
/* A scan of occ_avl that is stopped at a node while that is being unlinked, in one certain order; four coroutines.
 *
 * The scan stands at 30, whose only child is 29. A remove of 30 is stopped behind the parent's new link: the node is out of the
 * tree and does not say so yet. 30 is inserted again, below 29; a find sees it; 29, which has two children by then, is
 * removed. The scan goes on: as 29 is gone, it must find the new 30.
 *
 * Compiled like model.c: -DDS=occ_avl -DSMR=ebr -DFP=batch. Exit status 1 and what was wrong, or 0. */
#pragma GCC diagnostic ignored "-Wunused-function"

#define RB_RACE_H
#define RB_BACKOFF_H

#include "compiler.h"
#include "atomics.h"
#include "error.h"

static void hook(void);
static void wait_for_others(void);

inlined void race_window(void)
{
    hook();
}

inlined void backoff_wait(uint64_t attempt)
{
    (void)attempt;
    wait_for_others();
}

#define HEADER(name) STRING(name.h)
#include HEADER(FP)
#include HEADER(SMR)
#include HEADER(DS)

#include <ucontext.h>

enum { SCAN, REMOVE, INSERT, WITNESS, MAIN, ACTORS };
enum { STACK = 1 << 18, WINDOWS_TO_30 = 5, OLD = 1, NEW = 2, OTHER = 100 };

struct actor {
    ucontext_t context;
    struct smr_thread *smr;
    bool ended;
};

bool threads_oversubscribed; /* of backoff.h: who waits lets the others run */

static struct actor actors[ACTORS];
static unsigned now = MAIN, windows;
static struct smr_shared *shared;
static struct ds *ds;
static struct node *parent, *node;
static bool stopping = true;
static uint64_t sum;

static void go(unsigned to)
{
    unsigned from = now;
    now = to;
    swapcontext(&actors[from].context, &actors[to].context);
}

static void wait_for_others(void)
{
    if (now != MAIN)
        go(MAIN);
}

/* The scan's two windows for each hop: from the holder to 50, to 30, and one more. */
static void hook(void)
{
    if (!stopping)
        return;
    bool unlinked = now == REMOVE && child_of(parent, LEFT) != node && !is_unlinked(node);
    if (unlinked || (now == SCAN && ++windows == WINDOWS_TO_30))
        go(MAIN);
}

static void must(bool holds, const char *what)
{
    if (!holds)
        fail(STATUS_INVARIANT, "%s", what);
}

static void act(void)
{
    struct smr_thread *t = actors[now].smr;
    switch (now) {
    case SCAN:
        ds_scan(ds, t, 29, OTHER, &sum);
        break;
    case REMOVE:
        must(ds_remove(ds, t, 30), "30 was not there");
        break;
    case INSERT:
        must(ds_insert(ds, t, 30, NEW), "30 was there still");
        break;
    default:
        must(ds_insert(ds, t, 28, OTHER), "28 was there");
        must(ds_contains(ds, t, 30).value == NEW, "30 was not there again");
        must(ds_remove(ds, t, 29), "29 was not there");
    }
    actors[now].ended = true;
    go(MAIN);
}

static void set_up(void)
{
    struct smr_parameters parameters = {
        .threads = ACTORS, .batch_size = 1, .epoch_frequency = 1, .frees_per_tick = 1, .token_check_every = 1};
    struct ds_parameters of_structure = {.threads = ACTORS, .rwlock_kind = "prefer-reader"};
    meta_init();
    shared = meta_alloc(sizeof *shared);
    ds = meta_alloc(sizeof *ds);
    smr_init(shared, &parameters);
    for (unsigned i = 0; i < ACTORS; i++) {
        struct actor *actor = &actors[i];
        actor->smr = meta_alloc(sizeof *actor->smr);
        smr_thread_init(actor->smr, shared, i);
        actor->smr->fp.account.index = i;
        getcontext(&actor->context);
        actor->context.uc_stack.ss_sp = meta_alloc(STACK);
        actor->context.uc_stack.ss_size = STACK;
        if (i != MAIN)
            makecontext(&actor->context, act, 0);
    }
    struct smr_thread *t = actors[MAIN].smr;
    ds_create(ds, t, &of_structure);
    ds_insert(ds, t, 50, 0);
    ds_insert(ds, t, 30, OLD);
    ds_insert(ds, t, 60, 0);
    ds_insert(ds, t, 29, OTHER);
    parent = child_of(&ds->holder, RIGHT);
    node = child_of(parent, LEFT);
}

int main(void)
{
    set_up();
    for (unsigned i = SCAN; i < MAIN; i++)
        go(i);
    must(!actors[SCAN].ended && !actors[REMOVE].ended, "the scan or the remove was not stopped");
    must(actors[WITNESS].ended, "the witness was held up");
    stopping = false;
    while (!(actors[SCAN].ended && actors[REMOVE].ended && actors[INSERT].ended))
        for (unsigned i = SCAN; i < MAIN; i++)
            if (!actors[i].ended)
                go(i);
    if (sum != NEW)
        fail(STATUS_INVARIANT, "the scan found values of the sum %lu, wanted that of the new 30, %d", sum, NEW);
    return 0;
}
