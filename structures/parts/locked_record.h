/* SPDX-License-Identifier: MIT */
/* A record with a lock and its metrics in place, which a writer overwrites under the lock. The structure defines
 *
 *   struct record_lock {...};
 *   lock_init(lock, const struct ds_parameters *), lock_destroy(lock)
 *   lock_read(lock), lock_read_end(lock), lock_write(lock), lock_write_end(lock)
 */
#include "block.h"
#include "reclaimer.h"
#include "race.h"

#define KIND_RECORD  1
#define RECORD_NODES 1

struct record {
    struct record_lock lock;
    struct metrics metrics;
    uint64_t id;
};

static inline struct record *record_new(struct smr_thread *t, uint64_t id, uint64_t count,
                                        const struct ds_parameters *parameters)
{
    struct record *record = smr_alloc(t, KIND_RECORD, sizeof *record, _Alignof(struct record));
    lock_init(&record->lock, parameters);
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
    lock_destroy(&record->lock);
    smr_discard(t, record);
}

inlined uint64_t record_read(struct smr_thread *t, struct record *record)
{
    (void)t;
    lock_read(&record->lock);
    uint64_t count = metrics_count(&record->metrics);
    lock_read_end(&record->lock);
    return count;
}

inlined uint64_t record_replace(struct smr_thread *t, struct record *record, uint64_t count)
{
    (void)t;
    lock_write(&record->lock);
    uint64_t before = record->metrics.count;
    record->metrics.count = count;
    race_window();
    record->metrics = metrics_of(count);
    lock_write_end(&record->lock);
    return before;
}
