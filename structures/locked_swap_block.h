/* SPDX-License-Identifier: MIT */
/* swap_block that can grow: store and block lie behind one readers-writer lock, which a scan holds shared for its whole
 * length, a replace shared for its single step, and an append exclusively, as it may move the arrays. So a scan writes the
 * lock's line twice, whatever the size of the block, and still pins once. Appends are one writer's: its id is the size.
 *
 * Proof.
 *  - Whoever reads an array or its size holds the lock, shared at least; an append changes them and holds it exclusively.
 *    word_rwlock.h orders the two: what an append wrote before it left, fresh metrics included, is seen by all who come in
 *    later, and an array that an append outgrew was read by those only who left before it came in. So it is discarded at
 *    once, whatever the reclaimer: nobody holds a reference to it outside of the lock.
 *  - Metrics are replaced under the shared lock, by several writers and beside scans: there the lock protects nothing, and
 *    the argument is that of swap_record.h.
 *  - The lock is taken before the pin and left after it. So who waits for the lock is not pinned and holds up no epoch,
 *    however long an append takes (a token's ring does wait: its threads are online between operations too); and who is pinned waits for nobody: each pin ends with its scan or its one step. An append
 *    waits, unpinned, for those inside, which are pinned and go on; and it holds the lock only while it is on its way
 *    itself. Hence nobody waits in a circle, and an advance of the epoch waits for one scan at most.
 *  - A scan that begins again (smr_checkpoint) does so inside the lock, with the arrays as they were. */
#include "parts/swap_record.h"
#include "parts/records.h"
#include "parts/word_rwlock.h"

#define DS_KIND    block
#define DS_GROWS   1
#define DS_NEEDS   SMR_CONCURRENT_READERS
#define DS_THREADS DS_ANY

struct ds {
    line_pair_align struct word_rwlock lock; /* nothing else lies where every scan writes */
    line_pair_align struct records records;
};

static void ds_create(struct ds *ds, struct smr_thread *t, const struct ds_parameters *parameters)
{
    (void)t;
    atomic_init(&ds->lock.word, 0);
    ds->records.parameters = parameters;
}

static noinline uint64_t ds_scan(struct ds *ds, struct smr_thread *t)
{
    word_rwlock_read(&ds->lock);
    smr_op_begin(t);
    smr_checkpoint(t);
    uint64_t most = records_scan(&ds->records, t);
    smr_op_end(t);
    word_rwlock_read_end(&ds->lock);
    return most;
}

static noinline uint64_t ds_replace(struct ds *ds, struct smr_thread *t, uint64_t id, uint64_t count)
{
    word_rwlock_read(&ds->lock);
    smr_op_begin(t);
    uint64_t before = record_replace(t, ds->records.store.array[id], count);
    smr_op_end(t);
    word_rwlock_read_end(&ds->lock);
    return before;
}

static noinline void ds_append(struct ds *ds, struct smr_thread *t, uint64_t count)
{
    word_rwlock_write(&ds->lock);
    smr_op_begin(t);
    records_add(&ds->records, t, count);
    smr_op_end(t);
    word_rwlock_write_end(&ds->lock);
}

#include "parts/block_rest.h"
