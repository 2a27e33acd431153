/* SPDX-License-Identifier: MIT */
/* The harness's own memory: one reserved range of addresses, handed out from the bottom, never given back.
 *
 * Everything the harness and the reclaimers keep for themselves (thread states, bags, queues, histograms, trace rings)
 * lies here and never in the malloc under test. Pages are reserved, not committed: what is never touched costs nothing.
 *
 * meta_alloc: zeroed, aligned to LINE_PAIR; never returns NULL: a full range ends the process with STATUS_OOM.
 * Thread-safe (one atomic add). Blocks of one size that come back are kept by their users (see bag.h). */
#ifndef RB_META_H
#define RB_META_H

#include "compiler.h"

void meta_init(void);
void *meta_alloc(size_t bytes);

/* Bytes handed out so far; an upper bound of what the harness's own bookkeeping can occupy. */
size_t meta_used(void);

#endif
