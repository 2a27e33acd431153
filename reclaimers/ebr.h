/* SPDX-License-Identifier: MIT */
/* EBR: three-epoch epoch-based reclamation as in the article on optimistic lock coupling: a thread pins the global
 * epoch on entry, retires into the bucket of that epoch, and a bucket is freed when the epoch has come round to it
 * again, that is, when every thread that was pinned has moved on.
 *
 * After every `batch_size` retires a thread looks at all others at once and advances the epoch if none is pinned in an
 * older one. One thread that stays pinned stops reclamation, not progress. Proof and sources: parts/epochs.h. */
#include "reclaimer.h"

#define SMR_CAPS   (SMR_CONCURRENT_READERS | SMR_WALK_UNLINKED)
#define SMR_POLICY SMR_POLICY_ANY

struct epoch_scan {
    unsigned retired; /* since the last attempt */
};

#include "parts/epochs.h"

static noinline void ebr_try_advance(struct smr_thread *t)
{
    t->scan.retired = 0;
    uint64_t now = load_acquire(&t->shared->epoch);
    fence_heavy(); /* (3) */
    for (unsigned other = 0; other < t->shared->parameters.threads; other++)
        if (!epochs_allows(t->shared, other, now))
            return;
    epochs_advance(t, now);
}

inlined void smr_tick(struct smr_thread *t)
{
    epochs_look(t);
    fp_tick(&t->fp);
}

inlined void smr_retire(struct smr_thread *t, unsigned kind, void *node)
{
    epochs_retire(t, kind, node);
    if (unlikely(++t->scan.retired >= t->shared->parameters.batch_size))
        ebr_try_advance(t);
}
