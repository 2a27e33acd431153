/* SPDX-License-Identifier: MIT */
/* Contract between a reclaimer and a free policy (reclaimers/policies/NAME.h). The reclaimer decides when a node is
 * safe, the policy what then happens to it; neither knows which the other is.
 *
 * A policy's header defines, for its thread state (zeroed by the driver, touched only by its thread):
 *
 *   FP_DIRECT                             1 if it frees what it is handed at once, and keeps nothing
 *   struct fp_thread { struct account account; ... };    account first
 *   fp_init(fp, parameters)               once per thread, before its first operation
 *   void *fp_alloc(fp, kind, bytes, align)    a node; kind < BAG_KINDS stands for one size and alignment
 *   fp_release(fp, bag)                   every node in it is safe; the bag is empty afterwards
 *   fp_tick(fp)                           before each operation, outside of it
 *   fp_drain(fp)                          at rest: free what is queued (nodes kept for reuse may stay)
 *   uint64_t fp_held(fp)                  nodes that are queued, counted where they lie
 *   fp_destroy(fp)                        at the end: give everything back to malloc
 *
 * Every released node is counted in account.freed exactly once. All but fp_alloc may call free; none may block. */
#ifndef RB_POLICY_H
#define RB_POLICY_H

#include "account.h"
#include "bag.h"

/* Run-time parameters, the same for every scheme, each a column of the row. */
struct smr_parameters {
    unsigned threads;           /* threads that may hold references, numbered from 0 */
    unsigned batch_size;        /* retires by a thread between its attempts to reclaim */
    unsigned epoch_frequency;   /* operations between looks at one other thread */
    unsigned frees_per_tick;    /* k of the amortized policy */
    unsigned token_check_every; /* nodes freed between looks for the token (token_periodic) */
};

/* Frees all nodes of a bag, one after the other. */
inlined void bag_free_all(struct account *a, struct bag *bag)
{
    a->freed += bag->nodes;
    while (bag->nodes)
        node_free(a, bag_node(bag_pop(bag, a)));
}

#endif
