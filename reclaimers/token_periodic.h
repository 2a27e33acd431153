/* SPDX-License-Identifier: MIT */
/* Periodic Token-EBR: as pass-first, but who frees looks for the token after every `token_check_every` nodes, and gives it
 * on at once: no bag, however large, holds up the ring. Such a receipt is one like any other: nothing was retired since the
 * last, and what the previous bag holds joins the nodes that are being freed. The ring and its proof:
 * parts/token_ring.h. */
#include "reclaimer.h"

#define SMR_CAPS   (SMR_CONCURRENT_READERS | SMR_WALK_UNLINKED | SMR_NO_FENCE)
#define SMR_POLICY SMR_POLICY_ANY

#include "parts/token_ring.h"

static noinline void token_received(struct smr_thread *t)
{
    struct bag piece = {0}, safe = token_receive(t);
    token_pass(t);
    if (!safe.nodes)
        return;
    /* A policy that frees what it is handed would show each piece as a batch: the pieces of one receipt are one. */
    if (FP_DIRECT) {
        trace_batch_begin(&t->fp.account);
    }
    while (safe.nodes) {
        bag_take(&piece, &safe, &t->fp.account, t->shared->parameters.token_check_every);
        fp_release(&t->fp, &piece);
        if (token_here(t)) {
            struct bag more = token_receive(t);
            token_pass(t);
            bag_splice(&safe, &more);
        }
    }
    if (FP_DIRECT) {
        trace_batch_end(&t->fp.account);
    }
}
