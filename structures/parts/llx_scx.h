/* SPDX-License-Identifier: MIT */
/* LLX and SCX: a multi-word compare-and-swap made for trees. SCX takes a few nodes that LLX has looked at, and if none
 * of them has changed since, changes one link in the first of them and finalises the others, in one atomic step. Lock-
 * free: who finds a node frozen for an SCX under way completes it.
 *
 * Words. Every SCX has a number: its thread's sequence and index. A node's info word is the number of the SCX that froze
 * the node last, and
 *   nothing   frozen, if that SCX is still under way; otherwise the node is free
 *   DONE      free: the answer without a look at somebody else's descriptor, which another core is busy writing
 *   FINAL     finalised, for ever: the node is out of the tree, or will be once its SCX is completed
 * Each thread has one descriptor, for all its life. Its status word is the number of the thread's latest SCX and one of
 *   UNDECIDED (some nodes may be frozen) -> FROZEN (all are) -> COMMITTED, or UNDECIDED -> ABORTED
 * and changes by compare-and-swap, so number, decision and "all frozen" are one: who comes late decides nothing. (The owner
 * stores a new number, and COMMITTED of an SCX of one node: nobody else would have put anything else there.)
 *
 * Steps of an SCX, of its owner or a helper: freeze the nodes in order (1); FROZEN (2), or ABORTED if a node had another
 * info word than LLX saw; FINAL on all but the first (3); the link, from old to fresh (4); COMMITTED (5). The owner then
 * marks what is free as DONE (6), which is a hint and no step. An SCX of one node (leaf updates) is decided when that is
 * frozen: it begins as FROZEN, needs no step (2), and nobody hears of it if (1) fails.
 *
 * What the structure promises: each node but the first is a child of the second, that a child of the first, by the links
 * that were read between LLX and SCX; a node that is unlinked was finalised before, or is a leaf, which has no links and is
 * no SCX's node, whose parent is; nodes leave the tree once, and the thread whose SCX returns true retires them.
 *
 * Proof sketch.
 *  - Info words never recur: numbers are used once, and a node leaves n only for n|DONE, n|FINAL or another number. So
 *    if (1) succeeds the node has not changed since LLX: links change by (4) only, and its SCX holds the node from (1)
 *    until it is decided, as LLX finds no node free whose SCX is under way.
 *  - Atomic. Only one of FROZEN and ABORTED is reached, by one compare-and-swap. If FROZEN, every node was frozen at
 *    once: one that freed itself by another SCX's (1) needs this one decided. Nodes stay frozen until COMMITTED, which
 *    follows (3) and (4) of somebody.
 *  - Late helpers. (1) can only freeze for a decided SCX: a free node stays free, at worst another's (1) fails in vain.
 *    (2) and (5) fail on the sequence. (3) is stored by those who read FROZEN only, and repeats what is so for ever. (4)
 *    fails: `old` never returns to the link, since what is unlinked is not linked again, and its memory is not handed out
 *    while the helper is pinned (see below).
 *  - Descriptors that change under a helper. It reads status (7), fields, status (8), and goes on only if both say this
 *    number and not decided. The owner's stores to the fields stand behind its decision by fence (9); (8) stands behind
 *    the reads by fence (10): a field of a later SCX comes with the later status.
 *  - Memory. A helper touches nodes that it did not reach by itself, so the time of its pin must be argued. Let (8) find
 *    S under way. The helper met S in a node's info, so S has frozen its first node, which is therefore not finalised,
 *    in the tree, and unchanged since S's owner read the second in it: that one is in the tree too, at (8), when the
 *    helper was pinned. The others may have left it before then: S is doomed, its owner alone holds them, and may let go
 *    at any time. But nodes are frozen in order, and (1) on the second is the proof that it has not changed since its
 *    children were read: only behind it are they touched, and then they were in the tree when the helper was pinned. (A
 *    scheme that protects single nodes has announced them before.)
 *
 * Sources: T. Brown, F. Ellen, E. Ruppert, "Pragmatic primitives for non-blocking data structures", PODC 2013; the same,
 * "A general technique for non-blocking trees", PPoPP 2014; M. Arbel-Raviv, T. Brown, "Reuse, don't recycle", DISC 2017.
 * Ours: numbers with DONE and FINAL in the info word instead of a mark and a descriptor's address; leaves stay outside. */
#ifndef RB_LLX_SCX_H
#define RB_LLX_SCX_H

#include "race.h"
#include "reclaimer.h"

/* Where a test may hold a thread up: the number of the step that comes next (7: LLX) and the descriptor of its SCX. */
#ifndef scx_step
#define scx_step(number, descriptor) ((void)0)
#endif

#define SCX_NODES 4

/* Bits of an info word, and values of the same two bits in a status word. */
#define SCX_DONE  ((uint64_t)1)
#define SCX_FINAL ((uint64_t)2)
enum { SCX_UNDECIDED, SCX_FROZEN, SCX_COMMITTED, SCX_ABORTED };

#define SCX_NUMBER(word)   ((word) & ~(uint64_t)3)
#define SCX_INDEX_SHIFT    2
#define SCX_SEQUENCE_SHIFT 16
#define SCX_THREADS        ((unsigned)1 << (SCX_SEQUENCE_SHIFT - SCX_INDEX_SHIFT))

/* First member of every node. Sequences begin at 1: what a fresh node starts with is nobody's number. */
struct scx_node {
    struct smr_header smr;
    _Atomic uint64_t info;
};
#define SCX_FRESH SCX_DONE

/* nodes >= 1; the link is a field of node[0]; info[i] is what llx said of node[i]. */
struct scx_change {
    unsigned nodes;
    struct scx_node *node[SCX_NODES];
    uint64_t info[SCX_NODES];
    _Atomic link_word *link;
    link_word old, fresh;
};

struct scx_descriptor {
    line_pair_align _Atomic uint64_t status;
    _Atomic unsigned nodes;
    _Atomic link_word *_Atomic link;
    _Atomic link_word old, fresh;
    struct scx_node *_Atomic node[SCX_NODES];
    _Atomic uint64_t info[SCX_NODES];
};

struct scx {
    struct scx_descriptor *descriptors; /* of all threads */
};

static inline void scx_init(struct scx *scx, unsigned threads)
{
    if (threads > SCX_THREADS)
        fail(STATUS_UNSUPPORTED, "wanted %u threads, found room for %u in an info word: use fewer", threads,
             SCX_THREADS);
    scx->descriptors = meta_alloc(threads * sizeof *scx->descriptors);
    for (unsigned i = 0; i < threads; i++)
        store_relaxed(&scx->descriptors[i].status, (uint64_t)i << SCX_INDEX_SHIFT | SCX_COMMITTED);
}

inlined struct scx_descriptor *scx_of(const struct scx *scx, uint64_t word)
{
    return &scx->descriptors[word >> SCX_INDEX_SHIFT & (SCX_THREADS - 1)];
}

/* Does this status word say that SCX `number` is under way? */
inlined bool scx_pending(uint64_t status, uint64_t number)
{
    return status - number <= SCX_FROZEN;
}

/* ---- LLX ---- */

static noinline bool llx_look(const struct scx *scx, uint64_t info)
{
    return !(info & SCX_FINAL) && !scx_pending(load_acquire(&scx_of(scx, info)->status), info);
}

/* True: the node is free, or was finalised between the two looks, and then (1) fails. Links that are read from now on belong
 * to *info: an SCX with it succeeds only if they still hold when the node is frozen. False: scx_help(*info), then begin
 * again. */
inlined bool llx(const struct scx *scx, struct scx_node *node, uint64_t *info)
{
    scx_step(7, NULL);
    *info = load_acquire(&node->info);
    return likely(*info & SCX_DONE) || llx_look(scx, *info);
}

/* ---- SCX ---- */

/* The next number of the descriptor's thread, which is about to write its fields. */
inlined uint64_t scx_begin(struct scx_descriptor *d)
{
    uint64_t number = SCX_NUMBER(load_relaxed(&d->status)) + ((uint64_t)1 << SCX_SEQUENCE_SHIFT);
    fence_release(); /* (9) */
    return number;
}

inlined void scx_release(struct scx_node *node, uint64_t number)
{
    cas_acq_rel(&node->info, &number, number | SCX_DONE); /* (6) */
}

/* SCX of a single node: changes a link if the node is as llx saw it. */
inlined bool scx_one(struct scx_descriptor *d, struct scx_node *node, uint64_t info, _Atomic link_word *link,
                     link_word old, link_word fresh)
{
    uint64_t number = scx_begin(d);
    store_relaxed(&d->nodes, 1);
    store_relaxed(&d->link, link);
    store_relaxed(&d->old, old);
    store_relaxed(&d->fresh, fresh);
    store_relaxed(&d->node[0], node);
    store_release(&d->status, number | SCX_FROZEN);
    scx_step(1, d);
    race_window();
    if (!cas_acq_rel(&node->info, &info, number)) /* (1) */
        return false;
    scx_step(4, d);
    race_window();
    cas_acq_rel(link, &old, fresh); /* (4) */
    scx_step(5, d);
    store_release(&d->status, number | SCX_COMMITTED); /* (5) */
    scx_step(6, d);
    scx_release(node, number);
    return true;
}

/* False: one of the nodes is not what it was. */
inlined bool scx_freeze(struct scx_descriptor *d, const struct scx_change *change, uint64_t number)
{
    (void)d;
    for (unsigned i = 0; i < change->nodes; i++) {
        uint64_t info = change->info[i];
        scx_step(1, d);
        race_window();
        if (i > 0) /* the first may be part of the structure and no node of malloc's */
            node_check_live(change->node[i]);
        if (!cas_acq_rel(&change->node[i]->info, &info, number) && SCX_NUMBER(info) != number) /* (1) */
            return false;
    }
    return true;
}

/* All steps, as owner or helper, as far as they have not been made. Returns whether the change is committed. */
static noinline bool scx_run(struct scx_descriptor *d, const struct scx_change *change, uint64_t number)
{
    uint64_t status = number | SCX_UNDECIDED;
    uint64_t decision = number | (scx_freeze(d, change, number) ? SCX_FROZEN : SCX_ABORTED);
    scx_step(2, d);
    race_window();
    if (cas_acq_rel(&d->status, &status, decision)) /* (2) */
        status = decision;
    if (status == (number | SCX_FROZEN)) {
        for (unsigned i = 1; i < change->nodes; i++) {
            scx_step(3, d);
            store_release(&change->node[i]->info, number | SCX_FINAL); /* (3) */
        }
        link_word old = change->old;
        scx_step(4, d);
        race_window();
        cas_acq_rel(change->link, &old, change->fresh); /* (4) */
        scx_step(5, d);
        race_window();
        if (cas_acq_rel(&d->status, &status, number | SCX_COMMITTED)) /* (5) */
            status = number | SCX_COMMITTED;
    }
    return status == (number | SCX_COMMITTED);
}

/* SCX of several nodes: all but the first are finalised. */
static noinline bool scx_several(struct scx_descriptor *d, const struct scx_change *change)
{
    uint64_t number = scx_begin(d);
    store_relaxed(&d->nodes, change->nodes);
    store_relaxed(&d->link, change->link);
    store_relaxed(&d->old, change->old);
    store_relaxed(&d->fresh, change->fresh);
    for (unsigned i = 0; i < change->nodes; i++) {
        store_relaxed(&d->node[i], change->node[i]);
        store_relaxed(&d->info[i], change->info[i]);
    }
    store_release(&d->status, number | SCX_UNDECIDED);
    bool committed = scx_run(d, change, number);
    scx_step(6, d);
    for (unsigned i = 0; i < (committed ? 1 : change->nodes); i++)
        scx_release(change->node[i], number);
    return committed;
}

/* ---- helping ---- */

inlined void scx_read(const struct scx_descriptor *d, struct scx_change *change)
{
    change->nodes = load_relaxed(&d->nodes);
    change->link = load_relaxed(&d->link);
    change->old = load_relaxed(&d->old);
    change->fresh = load_relaxed(&d->fresh);
    for (unsigned i = 0; i < SCX_NODES; i++) {
        change->node[i] = load_relaxed(&d->node[i]);
        change->info[i] = load_relaxed(&d->info[i]);
    }
}

/* Of the info word that llx gave with false: completes its SCX. What the caller has read is out of date then: it
 * begins again. Called in a read phase, which it leaves if there is something to do. */
static noinline void scx_help(struct smr_thread *t, struct scx *scx, uint64_t info)
{
    uint64_t number = SCX_NUMBER(info);
    struct scx_descriptor *d = scx_of(scx, info);
    struct scx_change change;
    if (!scx_pending(load_acquire(&d->status), number)) /* (7) */
        return;
    scx_read(d, &change);
    scx_step(8, d);
    race_window();
    fence_acquire();                                    /* (10) */
    if (!scx_pending(load_acquire(&d->status), number)) /* (8) */
        return;
    for (unsigned i = 0; i < change.nodes; i++)
        smr_reserve(t, i, change.node[i]);
    if (change.nodes == 1) {
        smr_reserve(t, 1, (void *)change.old); /* (4) must not meet its successor in the same memory */
        change.info[0] = number;               /* not written down by scx_one: where it is met, (1) has been made */
    }
    smr_commit(t);
    scx_run(d, &change, number);
}

#endif
