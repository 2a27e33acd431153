/* SPDX-License-Identifier: MIT */
/* Leak: a retired node is counted and forgotten (the paper's "none"). Sound for everything, as no node is ever reused;
 * the upper bound for a scheme's throughput only where reuse does not help the caches more than freeing costs. */
#include "reclaimer.h"

#define SMR_CAPS   (SMR_CONCURRENT_READERS | SMR_WALK_UNLINKED | SMR_NO_FENCE)
#define SMR_POLICY SMR_POLICY_NONE

#include "parts/trivial.h"

inlined void smr_drain(struct smr_thread *t)
{
    (void)t;
}

inlined uint64_t smr_held(struct smr_thread *t)
{
    return t->fp.account.retired;
}

inlined void smr_retire(struct smr_thread *t, unsigned kind, void *node)
{
    (void)kind;
    (void)node;
    account_retire(&t->fp.account);
}
