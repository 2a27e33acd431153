/* SPDX-License-Identifier: MIT */
/* Pass-first Token-EBR: a thread that receives the token gives it on and frees its safe bag then. Several threads free at
 * once, but who frees a large bag holds up the token when it comes round again. With --policy=amortized this is the
 * article's amortized-free Token-EBR: the bag is queued and no operation frees more than k nodes. The ring and its
 * proof: parts/token_ring.h. */
#include "reclaimer.h"

#define SMR_CAPS   (SMR_CONCURRENT_READERS | SMR_WALK_UNLINKED | SMR_NO_FENCE)
#define SMR_POLICY SMR_POLICY_ANY

#include "parts/token_ring.h"

static noinline void token_received(struct smr_thread *t)
{
    struct bag safe = token_receive(t);
    token_pass(t);
    fp_release(&t->fp, &safe);
}
