/* SPDX-License-Identifier: MIT */
/* Contract of a structure of kind `block`, the data model of the article on read-mostly blocks: a store owns records by
 * their ids 0, 1, 2 ...; the block is an array of references to them; each record has metrics, a small value that is
 * replaced whole. Readers scan the whole block; writers replace the metrics of one record. Beside what structure.h asks
 * for, it defines:
 *
 *   DS_GROWS 0 | 1
 *   void ds_fill(ds, t)                     elements 0 .. ds_parameters.elements - 1, each with the metrics of count = id;
 *                                           by one worker, before any other operation
 *   uint64_t ds_scan(ds, t)                 the largest count in the block
 *   uint64_t ds_replace(ds, t, id, count)   gives the record the metrics of `count`; returns the count that they replaced
 *   void ds_append(ds, t, count)            only if DS_GROWS: a new record, whose id is the number of elements before
 *
 * DS_READ_ONLY leaves ds_replace out. Replacing is linearizable: over all calls, each count that was written is returned
 * once, or still there. A scan is not a snapshot; it reads each element once, and what it reads of one was there at one
 * moment within the scan. So its result is at least M, the least of the counts that each writer last completed before the
 * scan began, if every writer writes rising counts. Proof: of all writes that were complete then, take the one that took
 * effect last and was its writer's last: it wrote M or more. Whatever takes effect on that record later is a write that
 * was not complete then, so its count is above the one that its writer last completed, and that is M or more. */
#ifndef RB_BLOCK_H
#define RB_BLOCK_H

#include "error.h"
#include "structure.h"

/* 32 bytes. Whoever reads the parts of two different values sees it at the checksum. */
struct metrics {
    uint64_t count;
    uint64_t rest[2];
    uint64_t checksum;
};

inlined uint64_t metrics_checksum(const struct metrics *m)
{
    return (m->count ^ m->rest[0] * 3 ^ m->rest[1] * 5) + 0x9e3779b97f4a7c15;
}

inlined struct metrics metrics_of(uint64_t count)
{
    struct metrics m = {.count = count, .rest = {count * 0xbf58476d1ce4e5b9 + 1, ~count * 0x94d049bb133111eb}};
    m.checksum = metrics_checksum(&m);
    return m;
}

inlined bool metrics_whole(const struct metrics *m)
{
    return m->checksum == metrics_checksum(m) && m->rest[0] == m->count * 0xbf58476d1ce4e5b9 + 1;
}

/* What a reader calls on metrics that it protects. */
inlined uint64_t metrics_count(const struct metrics *m)
{
    if (CHECK && !metrics_whole(m))
        fail(STATUS_INVARIANT, "torn metrics were read: count %lu with checksum %#lx", m->count, m->checksum);
    return m->count;
}

#endif
