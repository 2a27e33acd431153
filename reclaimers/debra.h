/* SPDX-License-Identifier: MIT */
/* DEBRA: distributed epoch-based reclamation (T. Brown, PODC 2015). Every `epoch_frequency` operations a thread looks
 * at one other thread; when it has found each of them once quiescent or in the current epoch, it advances the epoch. Before
 * an operation, not pinned, a thread that sees a new epoch releases its safe bags: whoever frees looks quiescent.
 *
 * A round is the looks between two epochs. The proof of parts/epochs.h needs a scan that begins, with fence (3), after
 * the epoch it wants to end has begun: so the fence stands before the first look of each round, and one per round is
 * enough, since a reader that took its reference before the round is visible to every later look. */
#include "reclaimer.h"

#define SMR_CAPS   (SMR_CONCURRENT_READERS | SMR_WALK_UNLINKED)
#define SMR_POLICY SMR_POLICY_ANY

struct epoch_scan {
    unsigned operations; /* since the last look */
    unsigned seen;       /* threads found past the previous epoch in this round */
    uint64_t round;      /* the epoch that the round is to end */
    uint64_t retired;    /* by this thread when it began the round */
};

#include "parts/epochs.h"

/* Where fence (3) is a membarrier it costs microseconds, and with few threads a round takes but some ten operations: then a
 * thread begins one only when it has retired a batch since its last. With full fences the algorithm is the paper's. */
static bool debra_begin_round(struct smr_thread *t, uint64_t now)
{
    if (fence_is_asymmetric && t->fp.account.retired - t->scan.retired < t->shared->parameters.batch_size)
        return false;
    t->scan.retired = t->fp.account.retired;
    t->scan.round = now;
    t->scan.seen = 0;
    fence_heavy(); /* (3) */
    return true;
}

static noinline void debra_look(struct smr_thread *t)
{
    uint64_t now = t->epoch;
    t->scan.operations = 0;
    if (t->scan.round != now && !debra_begin_round(t, now))
        return;
    if (!epochs_allows(t->shared, t->scan.seen, now))
        return;
    if (++t->scan.seen == t->shared->parameters.threads) {
        t->scan.seen = 0;
        epochs_advance(t, now);
        /* At once: what is retired next goes into the bag that is due now, which would then wait for another three epochs. A
         * thread that is the only one to retire advances just before it does, and would never free anything. */
        epochs_look(t);
    }
}

inlined void smr_tick(struct smr_thread *t)
{
    epochs_look(t);
    if (unlikely(++t->scan.operations >= t->shared->parameters.epoch_frequency))
        debra_look(t);
    fp_tick(&t->fp);
}

inlined void smr_retire(struct smr_thread *t, unsigned kind, void *node)
{
    epochs_retire(t, kind, node);
}
