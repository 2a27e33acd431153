/* SPDX-License-Identifier: MIT */
/* A record with an atomic pointer to its metrics, as a crossbeam Atomic in an Arc: 32 bytes of metrics in a node of their
 * own, which is swapped as a whole. The record itself is never retired.
 *
 * Proof. Metrics are written before the exchange publishes them (1), and never again. A reader that reads the pointer with
 * acquire (2), and there smr_protect, sees them whole. The exchange hands the old metrics to one writer alone, which
 * retires them; they are then out of the record, and the reclaimer keeps them while readers that found them before may
 * look (smr_protect, or the operation that a scan is one of). A record is reachable all the time, so there is no owner to
 * re-validate. */
#include "block.h"
#include "reclaimer.h"
#include "race.h"

#define KIND_METRICS 0
#define KIND_RECORD  1
#define RECORD_NODES 2

struct value {
    struct smr_header header;
    struct metrics metrics;
};

struct record {
    uint64_t id;
    _Atomic link_word value;
};

inlined struct value *value_new(struct smr_thread *t, uint64_t count)
{
    struct value *value = smr_alloc(t, KIND_METRICS, sizeof *value, _Alignof(struct value));
    value->metrics = metrics_of(count);
    return value;
}

static inline struct record *record_new(struct smr_thread *t, uint64_t id, uint64_t count,
                                        const struct ds_parameters *parameters)
{
    (void)parameters;
    struct value *value = value_new(t, count);
    struct record *record = smr_alloc(t, KIND_RECORD, sizeof *record, _Alignof(struct record));
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

inlined uint64_t record_read(struct smr_thread *t, struct record *record)
{
    const struct value *value = (const struct value *)smr_protect(t, 0, &record->value, record); /* (2) */
    race_window();
    node_check_live(value);
    return metrics_count(&value->metrics);
}

inlined uint64_t record_replace(struct smr_thread *t, struct record *record, uint64_t count)
{
    struct value *value = value_new(t, count);
    struct value *before = (struct value *)exchange_acq_rel(&record->value, (link_word)value); /* (1) */
    uint64_t replaced = metrics_count(&before->metrics);
    smr_retire(t, KIND_METRICS, before);
    return replaced;
}
