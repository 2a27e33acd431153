/* SPDX-License-Identifier: MIT */
/* Bursts of stores to cold lines: what the same thread stores behind one waits in its store buffer for a long time. */
#ifndef RB_COLD_STORES_H
#define RB_COLD_STORES_H

#include "atomics.h"
#include "meta.h"

#include <string.h>
#include <sys/mman.h>

/* Stores to more memory than caches hold wait for their lines; as many as a store buffer takes. */
enum { COLD_BYTES = 1 << 26, COLD_LINES = COLD_BYTES / 64, BURST = 48 };

static _Atomic uint64_t *cold;

static void cold_stores_init(void)
{
    /* Huge pages: a store must wait for its line, not for its translation. */
    cold = meta_alloc(COLD_BYTES);
    madvise((void *)cold, COLD_BYTES, MADV_HUGEPAGE);
    memset((void *)cold, 1, COLD_BYTES);
}

static void burst_of_stores(void)
{
    static _Thread_local uint64_t place = 1;
    for (unsigned i = 0; i < BURST; i++) {
        place = place * 6364136223846793005 + 1442695040888963407;
        store_relaxed(&cold[(place >> 40) % COLD_LINES * 8], place);
    }
}

#endif
