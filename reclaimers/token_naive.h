/* SPDX-License-Identifier: MIT */
/* Naive Token-EBR: a thread that receives the token frees its safe bag and gives the token on then. At any time one thread
 * frees, the others collect garbage meanwhile, and their bags grow with the frees of all. The ring and its proof:
 * parts/token_ring.h. */
#include "reclaimer.h"

#define SMR_CAPS   (SMR_CONCURRENT_READERS | SMR_WALK_UNLINKED | SMR_NO_FENCE)
#define SMR_POLICY SMR_POLICY_ANY

#include "parts/token_ring.h"

static noinline void token_received(struct smr_thread *t)
{
    struct bag safe = token_receive(t);
    fp_release(&t->fp, &safe);
    token_pass(t);
}
