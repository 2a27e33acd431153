/* SPDX-License-Identifier: MIT */
/* A record with its metrics in place, which a writer overwrites, and what keeps readers and writers of it apart. Records are not
 * retired before the end: no reader needs protection, and any reclaimer will do. The structure defines
 *
 *   struct record_guard {...};                                     a lock, a sequence number, or nothing
 *   guard_init(guard, const struct ds_parameters *), guard_destroy(guard)
 */
#include "block.h"
#include "reclaimer.h"
#include "race.h"

#define RECORD_NODES     1
#define RECORD_KEY_BYTES (sizeof(struct record) + 2 * sizeof(struct record *) + 16)

#define DS_NEEDS      0u
#define DS_RETIRES    DS_RETIRES_NOTHING
#define DS_THREADS    DS_ANY
#define DS_NODE_BYTES sizeof(struct record)

struct record {
    struct record_guard guard;
    struct metrics metrics;
    uint64_t id;
};

static inline struct record *record_new(struct smr_thread *t, uint64_t id, uint64_t count,
                                        const struct ds_parameters *parameters)
{
    struct record *record = smr_alloc_unretired(&t->fp, sizeof *record, _Alignof(struct record));
    guard_init(&record->guard, parameters);
    record->metrics = metrics_of(count);
    record->id = id;
    return record;
}

inlined uint64_t record_id(const struct record *record)
{
    return record->id;
}

inlined uint64_t record_count(const struct record *record)
{
    return metrics_count(&record->metrics);
}

inlined void record_discard(struct smr_thread *t, struct record *record)
{
    guard_destroy(&record->guard);
    smr_discard(t, record);
}

/* Nobody else reads or writes the record. Returns the count that was there. */
inlined uint64_t record_overwrite(struct record *record, uint64_t count)
{
    uint64_t before = record->metrics.count;
    record->metrics.count = count;
    race_window();
    record->metrics = metrics_of(count);
    return before;
}
