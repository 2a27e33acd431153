/* SPDX-License-Identifier: MIT */
/* A record with an atomic pointer to its metrics, as a crossbeam Atomic in an Arc: 32 bytes of metrics in a node of their
 * own, which is swapped as a whole.
 *
 * Proof. Metrics are written before the exchange publishes them (1), and never again. A reader that reads the pointer with
 * acquire (2), and there smr_protect, sees them whole. The exchange hands the old metrics to one writer alone, which
 * retires them; they are then out of the record, and the reclaimer keeps them while readers that found them before may
 * look (smr_protect, or the operation that a scan is one of). A record is reachable all the time, so there is no owner to
 * re-validate. */
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

#include "pointed_record.h"

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
