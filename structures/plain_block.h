/* SPDX-License-Identifier: MIT */
/* The layout of swap_block without any synchronisation, so read-only: what a scan costs that protects nothing, the bound for
 * blocks whose metrics lie behind a pointer. Its loads are relaxed atomics, plain loads to every processor, that no compiler
 * may move out of the loop of scans. What ds_fill wrote was handed over between the phases. */
#include "block.h"
#include "reclaimer.h"

struct value {
    struct smr_header header;
    struct metrics metrics;
};

inlined void value_init(struct value *value)
{
    (void)value;
}

#include "parts/pointed_record.h"

#define DS_NEEDS   0u
#define DS_RETIRES DS_RETIRES_NOTHING
#define DS_THREADS DS_READ_ONLY

inlined uint64_t record_read(struct smr_thread *t, struct record *record)
{
    (void)t;
    return metrics_count(&record_value(record)->metrics);
}

#include "parts/fixed_block.h"
