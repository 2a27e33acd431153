/* SPDX-License-Identifier: MIT */
/* Asymmetric fences: a reader announces on every operation, a reclaimer looks at the announcements now and then. Where
 * the kernel offers membarrier(2), the reader pays a compiler barrier and the reclaimer makes every running thread of
 * this process pass a full barrier; elsewhere, and with --fence=full, both pay a full fence.
 *
 * Contract: a store before fence_light() in one thread and a load after fence_heavy() in another: either the load sees
 * the store, or everything the other thread stored before its fence_heavy() is seen by every load after that
 * fence_light(). This is what two seq_cst fences guarantee (C17 7.17.3, store buffering); membarrier(2),
 * "MEMBARRIER_CMD_PRIVATE_EXPEDITED", gives the same. The mode is chosen once, before any worker exists, and recorded
 * in the row: figures never mix the two. */
#ifndef RB_FENCE_H
#define RB_FENCE_H

#include "atomics.h"

/* Written by fence_init only. */
extern bool fence_is_asymmetric;

/* mode: "auto" (membarrier where it works), "membarrier" (fail without it) or "full". Returns the effective one.
 * Single-threaded. */
const char *fence_init(const char *mode);

inlined void fence_light(void)
{
    if (likely(fence_is_asymmetric))
        fence_compiler();
    else
        fence_seq_cst();
}

/* Microseconds with membarrier: once per batch or per round, never per operation. */
void fence_heavy(void);

#endif
