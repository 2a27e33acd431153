/* SPDX-License-Identifier: MIT */
/* What epoch schemes share: the global epoch G, announcements, three limbo bags per thread. A scheme that includes this
 * file says when a thread looks at the others and tries to advance G.
 *
 * A thread announces, for the length of an operation ("pinned"), the epoch that it noticed last. That may be an old one:
 * it can be stopped between the look and the announcement, and G goes on meanwhile. So what it retires goes into the
 * bag of the epoch e that it reads while it is pinned (7), not of the one it announced. A bag of e is released when the
 * thread has seen G at e + 3 or later.
 *
 * Proof. Let thread T, pinned, unlink node n and read G = e (7), before or after; let reader R hold a reference to n.
 *  - The advance from e + 1 to e + 2 needs a scan that begins (3) after G became e + 1. Fences (1) and (3) pair: had the
 *    scan missed T's announcement, T's load (7) behind (1) would have seen e + 1. So the scan sees T pinned, or what T
 *    stored later. T announced e or less, not e + 1, and the scan fails until it reads (4) that T has unpinned (2),
 *    behind the unlink. So the unlink happens before G = e + 2.
 *  - The advance from e + 2 to e + 3 needs a scan that begins (3) after that. Had it missed R's announcement, R's read
 *    of the link behind (1) would have seen the unlink. So it sees R's announcement r, or a later one. R noticed r
 *    before it read the link: had r been e + 2 or more, the unlink would have happened before. As r < e + 2, the scan
 *    fails until R has unpinned.
 *  - So at G >= e + 3 R has unpinned with a release store (2) that the scan read with acquire (4); the advance publishes
 *    it with release (5), and the thread that frees n read G with acquire (6). R's reads happen before the free.
 * With e + 2 instead it fails: the unlink may still wait in T's store buffer when (7) loads e, and R, pinned at e + 1,
 * misses it (the mutant epoch-early).
 * SMR_WALK_UNLINKED: a reader that came to n through a node that was unlinked before holds n by the same argument, as
 * that node's links to n were read while it was pinned, and n was unlinked after it.
 *
 * The bag that is being filled is of an epoch that was current after the last look: the next look releases it only if G
 * has gone on by three since. A bag that is filled again before it was released only waits longer.
 * Sources: K. Fraser, "Practical lock-freedom", 2004; T. Brown, "Reclaiming memory for lock-free data structures: there
 * has to be a better way", PODC 2015. */

#define EPOCH_BAGS     3
#define EPOCHS_TO_WAIT 3 /* a bag of e is safe at e + 3 */

/* (epoch << 1) | 1 while pinned, 0 while quiescent; written by its thread only. */
struct epoch_slot {
    line_pair_align _Atomic uint64_t announced;
};

struct smr_header {
};

struct smr_shared {
    line_pair_align _Atomic uint64_t epoch;
    line_pair_align struct epoch_slot **slots; /* of all threads */
    struct smr_parameters parameters;
};

struct smr_thread {
    struct fp_thread fp;
    struct smr_shared *shared;
    struct epoch_slot slot; /* the only part that others look at, on lines of its own */
    uint64_t announcement;  /* what it holds while pinned: epoch << 1 | 1 */
    uint64_t epoch;         /* noticed last */
    uint64_t bag_epoch[EPOCH_BAGS];
    struct bag limbo[EPOCH_BAGS]; /* limbo[e % 3]: retired in bag_epoch[e % 3] or earlier */
    struct epoch_scan scan;       /* the scheme's own */
};

inlined void smr_init(struct smr_shared *shared, const struct smr_parameters *parameters)
{
    shared->parameters = *parameters;
    shared->slots = meta_alloc(parameters->threads * sizeof *shared->slots);
    /* Not 0: a zeroed bag_epoch must look old. */
    store_relaxed(&shared->epoch, EPOCHS_TO_WAIT);
}

inlined void smr_thread_init(struct smr_thread *t, struct smr_shared *shared, unsigned index)
{
    t->shared = shared;
    t->epoch = EPOCHS_TO_WAIT;
    t->announcement = t->epoch << 1 | 1;
    shared->slots[index] = &t->slot;
    fp_init(&t->fp, &shared->parameters);
}

inlined uint64_t smr_epoch(struct smr_shared *shared)
{
    return load_relaxed(&shared->epoch);
}

/* Releases every bag that is safe at `now`. The thread is not pinned: while it frees, it holds up nobody. */
static noinline void epochs_rotate(struct smr_thread *t, uint64_t now)
{
    trace_instant(&t->fp.account, TRACE_GARBAGE, t->fp.account.retired - t->fp.account.released);
    for (unsigned i = 0; i < EPOCH_BAGS; i++)
        if (t->bag_epoch[i] + EPOCHS_TO_WAIT <= now)
            fp_release(&t->fp, &t->limbo[i]);
    t->epoch = now;
    t->announcement = now << 1 | 1;
}

/* Takes notice of a new epoch. Called between operations. */
inlined void epochs_look(struct smr_thread *t)
{
    uint64_t now = load_acquire(&t->shared->epoch); /* (6) */
    if (unlikely(now != t->epoch))
        epochs_rotate(t, now);
}

/* Announces the epoch that the thread took notice of last; an older one than the global epoch only holds
 * that up. (1) pairs with (3): from here on every scan sees this thread, or this thread sees everything that was unlinked
 * before that scan. Release, so that what this thread read before belongs to the past of whoever sees the new word. */
inlined void smr_op_begin(struct smr_thread *t)
{
    store_release(&t->slot.announced, t->announcement);
    fence_light(); /* (1) */
}

inlined void smr_op_end(struct smr_thread *t)
{
    store_release(&t->slot.announced, 0); /* (2) */
}

/* A thread outside of an operation announces nothing: nobody waits for it, and there is nothing to take back. */
inlined void smr_online(struct smr_thread *t)
{
    (void)t;
}

inlined void smr_offline(struct smr_thread *t)
{
    (void)t;
}

/* Does thread `other` allow the epoch to go past `now`? Acquire (4) takes over what it read before it unpinned. */
inlined bool epochs_allows(struct smr_shared *shared, unsigned other, uint64_t now)
{
    uint64_t announced = load_acquire(&shared->slots[other]->announced);
    return announced == 0 || announced == (now << 1 | 1);
}

inlined void epochs_advance(struct smr_thread *t, uint64_t now)
{
    if (cas_acq_rel(&t->shared->epoch, &now, now + 1)) { /* (5) */
        trace_instant(&t->fp.account, TRACE_EPOCH, now + 1);
    }
}

inlined void epochs_retire(struct smr_thread *t, unsigned kind, void *node)
{
    uint64_t now = load_relaxed(&t->shared->epoch); /* (7) */
    account_retire(&t->fp.account);
    t->bag_epoch[now % EPOCH_BAGS] = now;
    bag_push(&t->limbo[now % EPOCH_BAGS], &t->fp.account, (uintptr_t)node | kind);
}

inlined uint64_t smr_held(struct smr_thread *t)
{
    uint64_t held = fp_held(&t->fp);
    for (unsigned i = 0; i < EPOCH_BAGS; i++)
        held += t->limbo[i].nodes;
    return held;
}

static noinline void smr_drain(struct smr_thread *t)
{
    for (unsigned i = 0; i < EPOCH_BAGS; i++)
        fp_release(&t->fp, &t->limbo[i]);
    fp_drain(&t->fp);
}

#include "plain_protect.h"
