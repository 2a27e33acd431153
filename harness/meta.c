/* SPDX-License-Identifier: MIT */
#include "meta.h"

#include "atomics.h"
#include "error.h"

#include <string.h>
#include <errno.h>
#include <sys/mman.h>

/* Address space, not memory: a bag of 2^33 retired nodes would fit. Sanitizers and small ulimits leave less. */
static const size_t wanted_range = (size_t)1 << 36;
static const size_t least_range = (size_t)1 << 28;

static char *base;
static size_t range;
static atomic_size_t used;

void meta_init(void)
{
    for (range = wanted_range; range >= least_range; range /= 2) {
        void *p = mmap(NULL, range, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p != MAP_FAILED) {
            base = p;
            /* A huge page for a few touched lines would show up in every memory column. */
            madvise(base, range, MADV_NOHUGEPAGE);
            return;
        }
    }
    fail(STATUS_OOM, "wanted %zu MB of address space for bookkeeping, mmap says '%s': raise `ulimit -v`",
         least_range >> 20, strerror(errno));
}

void *meta_alloc(size_t bytes)
{
    bytes = (bytes + LINE_PAIR - 1) / LINE_PAIR * LINE_PAIR;
    size_t at = fetch_add_relaxed(&used, bytes);
    if (bytes > range || at > range - bytes)
        fail(STATUS_OOM,
             "wanted %zu more bytes of bookkeeping, %zu of %zu are in use: shorten the trial or reclaim more often",
             bytes, at, range);
    return base + at;
}

size_t meta_used(void)
{
    return load_relaxed(&used);
}
