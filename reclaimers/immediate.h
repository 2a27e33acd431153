/* SPDX-License-Identifier: MIT */
/* Immediate: a retired node is safe at once. Sound only where nobody else can be reading it: one thread, or a structure
 * that retires under an exclusive lock which readers take too. */
#include "reclaimer.h"

#define SMR_CAPS   SMR_NO_FENCE
#define SMR_POLICY SMR_POLICY_ANY

#include "parts/trivial.h"

inlined void smr_drain(struct smr_thread *t)
{
    fp_drain(&t->fp);
}

inlined uint64_t smr_held(struct smr_thread *t)
{
    return fp_held(&t->fp);
}

inlined void smr_retire(struct smr_thread *t, unsigned kind, void *node)
{
    struct bag safe = {0};
    account_retire(&t->fp.account);
    bag_push(&safe, &t->fp.account, (uintptr_t)node | kind);
    fp_release(&t->fp, &safe);
}
