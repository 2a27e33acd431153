/* SPDX-License-Identifier: MIT */
/* A block whose records have a lock each: whoever reads or writes metrics holds it. The structure defines, as guard
 * (record_in_place.h), the lock, and
 *
 *   lock_read(guard), lock_read_end(guard), lock_write(guard), lock_write_end(guard)
 *
 * Proof. Metrics are touched by readers between lock_read and lock_read_end, and by writers between lock_write and
 * lock_write_end; the lock keeps a writer alone, and orders what it wrote before whoever comes next. One lock is held at a
 * time, so nobody waits in a circle. */
#include "record_in_place.h"

#define DS_KEY_BYTES RECORD_KEY_BYTES

inlined uint64_t record_read(struct smr_thread *t, struct record *record)
{
    (void)t;
    lock_read(&record->guard);
    race_window();
    uint64_t count = metrics_count(&record->metrics);
    lock_read_end(&record->guard);
    return count;
}

inlined uint64_t record_replace(struct smr_thread *t, struct record *record, uint64_t count)
{
    (void)t;
    lock_write(&record->guard);
    uint64_t before = record_overwrite(record, count);
    lock_write_end(&record->guard);
    return before;
}

#include "fixed_block.h"
