/* SPDX-License-Identifier: MIT */
/* Contract between a structure and a reclaimer (reclaimers/NAME.h). One structure source runs over every reclaimer;
 * calls that a scheme does not need are empty and vanish.
 *
 * A reclaimer's header defines:
 *
 *   SMR_CAPS                   which of the promises below it keeps
 *   SMR_POLICY                 which policies make sense
 *   struct smr_header {...};   first member of every node that may be retired; empty unless the scheme needs room (eras)
 *   struct smr_shared {...};   one per trial, zeroed
 *   struct smr_thread { struct fp_thread fp; ... };    one per thread, zeroed
 *   smr_init(shared, parameters)      once, before any thread
 *   smr_thread_init(t, shared, i)     once per thread i, by the driver, before any worker runs
 *   smr_epoch(shared)                 a number that grows with the scheme's progress; any thread may ask at any time, so
 *                                     it loads atomics only
 *   uint64_t smr_held(t)              nodes that this thread retired and that were not freed, counted where they lie
 *
 * called by the worker, never inside an operation:
 *
 *   smr_online(t), smr_offline(t)     a thread that waits or sleeps is offline: no grace period waits for it
 *   smr_tick(t)                       before each operation of the loop: the place to look at epochs, to pass tokens and,
 *                                     by fp_tick, to free. What is done here costs the operations no registers, and
 *                                     whoever frees looks quiescent
 *   smr_drain(t)                      every thread is at rest: hands all of this thread's limbo to the policy
 *
 * called by structures, t being the calling thread:
 *
 *   smr_op_begin(t), smr_op_end(t)    around every operation. Between them, and only there, nodes may be dereferenced
 *   smr_checkpoint(t)                 a statement; where a restartable scheme (NBR) comes back to, and where the read phase
 *                                     begins: without it an operation has none. Locals of the read phase are declared
 *                                     after it, and nothing that others see is changed in it
 *   link_word smr_protect(t, slot, link, owner)
 *                                     reads *link (with mark bits) with acquire order, and protects what it points to
 *                                     until the slot is used again or the operation ends. owner: the node that holds
 *                                     link. Pointer-based schemes publish, fence, and return only once the link has been
 *                                     read again unchanged. Publishing is a release: what was read under a slot's last
 *                                     use is over before the slot says something else. That protects the node if it was still reachable at that
 *                                     moment: a structure whose unlinked nodes keep their links must have re-validated
 *                                     the owner (version unchanged, or the link itself unmarked) before it dereferences
 *   smr_move(t, to, from)             slot `to` protects what `from` protects too; to > from, so that a scan in ascending
 *                                     order cannot miss a protection that moves
 *   smr_reserve(t, slot, node)        before the write phase: these nodes will be locked, changed or retired
 *   smr_commit(t)                     ends the read phase; only after it CAS, lock, malloc
 *   void *smr_alloc(t, kind, bytes, align)   a node with its header set; contents indeterminate otherwise
 *   smr_discard(t, node)              gives back a node that no other thread has seen
 *   smr_retire(t, kind, node)         the node can no longer be reached from the structure; the caller retires it once
 *
 * smr_op_begin and smr_protect order what they publish before every later read of a node: each reclaimer's header says
 * how. */
#ifndef RB_RECLAIMER_H
#define RB_RECLAIMER_H

#include "policy.h"
#include "fence.h"

typedef uintptr_t link_word;

/* Low bits of a link that a structure may use for marks; pointer-based schemes publish the link without them. */
#define LINK_MARKS ((link_word)7)

/* Promises. A structure's DS_NEEDS that SMR_CAPS lacks is the reason for the refusal. */
#define SMR_CONCURRENT_READERS 1u /* nodes that other threads are reading may be retired */
#define SMR_WALK_UNLINKED      2u /* a reader may follow links out of a node that has been unlinked */
/* Of interest to the row only: operations announce nothing, so --fence means nothing for it. */
#define SMR_NO_FENCE 4u

/* Which policies a reclaimer can feed. */
#define SMR_POLICY_ANY  0
#define SMR_POLICY_NONE 1 /* retires nothing to a policy: only `batch` is built, as the neutral one */

/* A node that is never retired, so it has no header and no reclaimer has to know it; smr_discard gives it back. */
inlined void *smr_alloc_unretired(struct fp_thread *fp, size_t bytes, size_t align)
{
    fp->account.allocated++;
    return node_malloc(&fp->account, bytes, align);
}

/* What every scheme's smr_alloc, smr_discard come down to. */
inlined void smr_discard_node(struct fp_thread *fp, void *node)
{
    fp->account.discarded++;
    node_free(&fp->account, node);
}

#endif
