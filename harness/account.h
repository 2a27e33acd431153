/* SPDX-License-Identifier: MIT */
/* Where nodes come from malloc and go back to it: the one place that counts, checks and times them.
 *
 * Each thread owns one account; only its owner writes it, the driver reads it while the owner is parked at a barrier.
 * Over a whole process, at rest: allocated - discarded - freed = reachable nodes + (retired - freed).
 *
 * In CHECK builds a stamp lies before each node. node_check_live() is what a reader calls on each node it enters; a
 * node that was freed too early answers with a broken invariant: freed nodes are stamped dead, filled with poison, and
 * kept in a quarantine so that a late reader meets the poison and not the next owner. */
#ifndef RB_ACCOUNT_H
#define RB_ACCOUNT_H

#include "atomics.h"
#include "error.h"
#include "trace.h"

#include <stdlib.h>

struct bag_block;

struct account {
    /* Of its thread, below the number of threads: set by the driver before the thread's first call of a structure. */
    unsigned index;
    /* Nodes handed to the structure, fresh or reused; of these, given back without having been published. */
    uint64_t allocated;
    uint64_t discarded;
    /* Nodes unlinked; found safe by the reclaimer; freed by the policy (for `pooled`: put where allocation finds them).
     */
    uint64_t retired;
    uint64_t released;
    uint64_t freed;
    /* Allocations served by the policy itself; nodes it holds for reuse now. */
    uint64_t reused;
    uint64_t pooled;
    /* Largest retired - freed, and largest retired - released (not yet known to be safe), since account_reset_peaks().
     */
    uint64_t backlog_peak;
    uint64_t limbo_peak;
    /* Operations begun again because a validation failed. */
    uint64_t restarts;
    /* Time inside free, in ticks, when asked (TRACE builds). */
    bool frees_timed;
    uint64_t free_ticks;
    /* Smaller nodes are allocated with this size (--pad-nodes), so that all lie in one size class. */
    size_t least_bytes;
    struct bag_block *spare_blocks;
    struct trace_ring *trace;
#if CHECK
    struct quarantine *quarantine;
#endif
};

inlined void account_reset_peaks(struct account *a)
{
    a->backlog_peak = a->retired - a->freed;
    a->limbo_peak = a->retired - a->released;
}

inlined void account_retire(struct account *a)
{
    a->retired++;
    if (a->retired - a->freed > a->backlog_peak)
        a->backlog_peak = a->retired - a->freed;
    if (a->retired - a->released > a->limbo_peak)
        a->limbo_peak = a->retired - a->released;
}

_Noreturn void node_out_of_memory(size_t bytes);

#if CHECK
void *checked_malloc(size_t bytes, size_t align);
void checked_free(struct account *a, void *node);
void checked_flush(struct account *a);
void node_check_live(const void *node);
/* A node that waits in a pool is as dead to readers as a freed one, until it is handed out again. */
void node_idle(void *node);
void node_reuse(void *node);
#else
#define node_idle(node)       ((void)(node))
#define node_reuse(node)      ((void)(node))
#define node_check_live(node) ((void)(node))
#define checked_flush(a)      ((void)(a))
#endif

/* A node of the malloc under test. align is a compile-time constant: up to what malloc gives anyway, plain malloc;
 * more, posix_memalign with the size rounded up (several allocators corrupt or refuse otherwise). Never NULL. */
inlined void *node_malloc(const struct account *a, size_t bytes, size_t align)
{
    if (bytes < a->least_bytes)
        bytes = a->least_bytes;
#if CHECK
    return checked_malloc(bytes, align);
#else
    void *node;
    if (align <= _Alignof(max_align_t))
        node = malloc(bytes);
    else if (posix_memalign(&node, align, (bytes + sizeof(void *) - 1) & ~(sizeof(void *) - 1)) != 0)
        node = NULL;
    if (unlikely(node == NULL))
        node_out_of_memory(bytes);
    return node;
#endif
}

/* Back to the malloc under test; counts nothing. */
inlined void node_free(struct account *a, void *node)
{
    trace_free_begin(a);
#if CHECK
    checked_free(a, node);
#else
    (void)a;
    free(node);
#endif
    trace_free_end(a);
}

#endif
