/* SPDX-License-Identifier: MIT */
/* A block that keeps its size and whose records look after themselves: nothing but the operation of the reclaimer is around
 * a scan. Beside what records.h asks for, the structure defines, unless it is DS_READ_ONLY,
 *
 *   uint64_t record_replace(t, record, count)      returns the count that was there; many at once
 */
#include "records.h"

#define DS_KIND  block
#define DS_GROWS 0

struct ds {
    line_pair_align struct records records;
};

static void ds_create(struct ds *ds, struct smr_thread *t, const struct ds_parameters *parameters)
{
    (void)t;
    ds->records.parameters = parameters;
}

static noinline uint64_t ds_scan(struct ds *ds, struct smr_thread *t)
{
    smr_op_begin(t);
    smr_checkpoint(t);
    uint64_t most = records_scan(&ds->records, t);
    smr_op_end(t);
    return most;
}

#if DS_THREADS != DS_READ_ONLY
static noinline uint64_t ds_replace(struct ds *ds, struct smr_thread *t, uint64_t id, uint64_t count)
{
    smr_op_begin(t);
    uint64_t before = record_replace(t, ds->records.store.array[id], count);
    smr_op_end(t);
    return before;
}
#endif

#include "block_rest.h"
