/* SPDX-License-Identifier: MIT */
/* A record with an atomic pointer to its metrics, which lie in a node of their own. The record itself is never retired. What
 * readers and writers do with the pointer is the includer's, which defines before
 *
 *   struct value {...};     with members `struct smr_header header`, first, and `struct metrics metrics`
 *   value_init(value)       what else is in it; nobody else has seen it
 */
#include "block.h"
#include "reclaimer.h"
#include "race.h"

#define KIND_METRICS  0
#define RECORD_NODES  2
#define DS_NODE_BYTES sizeof(struct value)
/* The arrays of store and block may just have been doubled; malloc's own words. */
#define DS_KEY_BYTES (sizeof(struct value) + sizeof(struct record) + 4 * sizeof(struct record *) + 2 * 16)

struct record {
    uint64_t id;
    _Atomic link_word value;
};

inlined struct value *value_new(struct smr_thread *t, uint64_t count)
{
    struct value *value = smr_alloc(t, KIND_METRICS, sizeof *value, _Alignof(struct value));
    value_init(value);
    value->metrics = metrics_of(count);
    return value;
}

static inline struct record *record_new(struct smr_thread *t, uint64_t id, uint64_t count,
                                        const struct ds_parameters *parameters)
{
    (void)parameters;
    struct value *value = value_new(t, count);
    struct record *record = smr_alloc_unretired(&t->fp, sizeof *record, _Alignof(struct record));
    record->id = id;
    atomic_init(&record->value, (link_word)value);
    return record;
}

inlined uint64_t record_id(const struct record *record)
{
    return record->id;
}

inlined const struct value *record_value(const struct record *record)
{
    return (const struct value *)load_relaxed(&record->value);
}

inlined uint64_t record_count(const struct record *record)
{
    return metrics_count(&record_value(record)->metrics);
}

inlined void record_discard(struct smr_thread *t, struct record *record)
{
    smr_discard(t, (void *)record_value(record));
    smr_discard(t, record);
}
