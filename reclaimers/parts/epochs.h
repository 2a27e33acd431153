/* SPDX-License-Identifier: MIT */
/* What epoch schemes share: the global epoch, announcements, three limbo bags per thread. A scheme that includes this
 * file says when a thread looks at the others and tries to advance.
 *
 * A thread announces the epoch it read, e, for the length of an operation ("pinned at e"), and puts what it retires
 * into the bag of e. A bag of e is released when the thread has seen the global epoch at e + 3 or later.
 *
 * Proof. Let thread T, pinned at e, unlink node n; let reader R hold a reference to n.
 *  - While T is pinned at e the global epoch G is at most e + 1: every advance to g + 1 needs all pinned threads at g,
 * and T's announcement was visible to every scan that began after T's fence (1).
 *  - R read the link before the unlink became visible, thus while T was pinned (T's unpin (2) is a release store behind
 * the unlink), thus while G <= e + 1. R's announcement, of an epoch r <= e + 1, came before that read (1).
 *  - The advance from e + 2 to e + 3 needs a scan that begins (3) after G became e + 2, thus after R's read. Fences (1)
 * and (3) pair: the scan sees R's announcement r, or a later one. As r != e + 2, the scan fails until R has unpinned.
 *  - So at G >= e + 3 R has unpinned with a release store (2) that the scan read with acquire (4); the advance
 * publishes it with release (5), and the thread that frees n read G with acquire (6). R's reads happen before the free.
 * With e + 2 instead the third step fails: R may be pinned at e + 1, which lets G reach e + 2 (the mutant ebr-early
 * shows it).
 *
 * The bag that is being filled belongs to the announced epoch and is never released by its own rotation.
 * Sources: K. Fraser, "Practical lock-freedom", 2004; T. Brown, "Reclaiming memory for lock-free data structures: there
 * has to be a better way", PODC 2015. */

#define EPOCH_BAGS 3

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
    uint64_t epoch; /* the epoch this thread announced last */
    uint64_t bag_epoch[EPOCH_BAGS];
    struct bag limbo[EPOCH_BAGS]; /* limbo[e % 3] holds what was retired while announcing bag_epoch[e % 3] */
    struct epoch_scan scan;       /* the scheme's own */
};

inlined void smr_init(struct smr_shared *shared, const struct smr_parameters *parameters)
{
    shared->parameters = *parameters;
    shared->slots = meta_alloc(parameters->threads * sizeof *shared->slots);
    /* Not 0: an epoch minus 3 must not wrap, and a zeroed bag_epoch must look old. */
    store_relaxed(&shared->epoch, EPOCH_BAGS);
}

inlined void smr_thread_init(struct smr_thread *t, struct smr_shared *shared, unsigned index)
{
    t->shared = shared;
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
        if (t->bag_epoch[i] + EPOCH_BAGS <= now)
            fp_release(&t->fp, &t->limbo[i]);
    t->epoch = now;
    t->announcement = now << 1 | 1;
    t->bag_epoch[now % EPOCH_BAGS] = now;
}

/* Takes notice of a new epoch. Called between operations. */
inlined void epochs_look(struct smr_thread *t)
{
    uint64_t now = load_acquire(&t->shared->epoch); /* (6) */
    if (unlikely(now != t->epoch))
        epochs_rotate(t, now);
}

/* Announces the epoch that the thread took notice of last; an older one than the global epoch is safe, it only holds
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

/* Does thread `other` allow the epoch to go past `now`? Acquire (4) takes over what it read before it unpinned. */
inlined bool epochs_allows(struct smr_shared *shared, unsigned other, uint64_t now)
{
    uint64_t announced = load_acquire(&shared->slots[other]->announced);
    return announced == 0 || announced == (now << 1 | 1);
}

inlined void epochs_advance(struct smr_thread *t, uint64_t now)
{
    if (cas_acq_rel(&t->shared->epoch, &now, now + 1)) { /* (5) */
        t->fp.account.epochs++;
        trace_instant(&t->fp.account, TRACE_EPOCH, now + 1);
    }
}

inlined void epochs_retire(struct smr_thread *t, unsigned kind, void *node)
{
    account_retire(&t->fp.account);
    bag_push(&t->limbo[t->epoch % EPOCH_BAGS], &t->fp.account, (uintptr_t)node | kind);
}

static noinline void smr_drain(struct smr_thread *t)
{
    for (unsigned i = 0; i < EPOCH_BAGS; i++)
        fp_release(&t->fp, &t->limbo[i]);
    fp_drain(&t->fp);
}

#include "plain_protect.h"
