/* SPDX-License-Identifier: MIT */
/* Store and block of records, and what all structures of kind `block` do with them. The structure says what a record is:
 *
 *   struct record {...};
 *   RECORD_NODES                                   nodes of a record: 1 if its metrics lie in it, 2 if it points to them
 *   struct record *record_new(t, id, count, const struct ds_parameters *)    alone
 *   uint64_t record_id(record), record_count(record)    at rest
 *   void record_discard(t, record)                 alone
 *   RECORD_READER                                  left out, or what a scan hands on instead of its struct smr_thread
 *   uint64_t record_read(RECORD_READER *, record)  its count; many at once
 */
#include "block.h"
#include "references.h"

#ifndef RECORD_READER
#define RECORD_READER struct smr_thread
#endif

struct records {
    const struct ds_parameters *parameters;
    struct references store; /* by id: owns */
    struct references block; /* what readers scan */
};

static inline void records_add(struct records *r, struct smr_thread *t, uint64_t count)
{
    struct record *record = record_new(t, r->store.size, count, r->parameters);
    references_add(&r->store, t, record);
    references_add(&r->block, t, record);
}

static inline void records_fill(struct records *r, struct smr_thread *t)
{
    references_create(&r->store, t, r->parameters->elements);
    references_create(&r->block, t, r->parameters->elements);
    for (uint64_t id = 0; id < r->parameters->elements; id++)
        records_add(r, t, id);
}

/* The largest count. Four elements a turn: the loads of several elements are under way at once (docs/block.md). */
inlined uint64_t records_scan(const struct records *r, RECORD_READER *reader)
{
    struct record *const *block = r->block.array;
    uint64_t size = r->block.size, most = 0;
#pragma GCC unroll 4
    for (uint64_t i = 0; i < size; i++) {
        uint64_t count = record_read(reader, block[i]);
        most = count > most ? count : most;
    }
    return most;
}

static inline void records_check(const struct records *r, struct census *census)
{
    census->nodes += 2;
    if (r->store.size != r->block.size)
        census_broken(census, "the store has %lu records, the block %lu", r->store.size, r->block.size);
    for (uint64_t id = 0; id < r->store.size; id++) {
        const struct record *record = r->store.array[id];
        if (record != r->block.array[id] || record_id(record) != id)
            census_broken(census, "element %lu of the block is not the record of that id", id);
        census->keys++;
        census->key_sum += record_count(record);
        census->nodes += RECORD_NODES;
    }
}

static inline void records_destroy(struct records *r, struct smr_thread *t)
{
    for (uint64_t id = 0; id < r->store.size; id++)
        record_discard(t, r->store.array[id]);
    smr_discard(t, r->store.array);
    smr_discard(t, r->block.array);
}
