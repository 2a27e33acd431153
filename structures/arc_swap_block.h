/* SPDX-License-Identifier: MIT */
/* Block of records with an atomic pointer each to metrics that count their references, and readers that protect one element
 * after the other by a debt, in the manner of the crate ArcSwap: a reader that wants a value owes it a reference, and says
 * so in a slot of its own instead of writing to the count that all share. A writer that takes a value out of its record pays
 * the debts of those who still use it. So two atomic writes for each element, to a line that the reader mostly has to
 * itself, even where nothing ever changes. Whoever gives up the last reference retires, and nobody else can hold the value:
 * no reclaimer has to wait. The crate has more slots for a thread, and where a record changes while it is being read a
 * second protocol with a bound of steps; one slot is all that a scan needs, and it tries again.
 *
 * A value begins with one reference, its record's; it is put into one record, once. A debt slot holds NO_DEBT, or the address
 * that its thread has written there; others only change that to NO_DEBT.
 *
 * Reader: reads the pointer (1), writes it into its slot (2), reads the pointer again (3). If that is another one, or when it
 * has used the value: takes the debt back by a CAS (4). If that fails, somebody has paid: the reader owns a reference and
 * drops it (5). Writer: exchanges the record's pointer (6), looks at each slot (7), and where it finds the old value adds a
 * reference (8) and makes it the reader's by a CAS from the value to NO_DEBT (9); if that fails, the reference stays its
 * own and is taken back (10). Then it drops the record's reference (5).
 *
 * Proof.
 *  - Payment. Between (2) and (4) a slot changes at most once, by (9), so (4) fails exactly if one reference was added for
 *    this reader. A writer that saw a debt which has since been taken back and made again, for the same address, pays the
 *    new one: each success of (9) is one reference given and one failure of (4), no matter which. While the writer pays, it
 *    has the record's reference, so (8) finds the value alive, and (10) never takes the last reference.
 *  - Protection. Let (3) find in the record a value v, whose address is in the slot since (2). Nobody has paid yet: whoever
 *    did had taken a value at this address out of its record before, and given the reader a reference to it. So it would be
 *    alive and v itself, but a value that was taken out is never put into a record again. Let a writer take v out: its (6)
 *    overwrites what (3) read. (2), (3), (6), (7) are seq_cst, hence in one order that all agree on: (2) before (3) before (6)
 *    before (7). So (7) finds the debt, and it is paid before the record's reference is dropped; or (7), or the failed (9),
 *    finds what (4) or a later (2) has left there, and the reader has done with v.
 *  - Addresses that come back. Between (1) and (2), v may be freed, and another value v' get its address. If v' is in the same
 *    record at (3), the debt is one for v', and (3), an acquire, sees its metrics: what (1) read is only an address, and nobody
 *    looks behind it. If v' is in another record, (3) finds something else and the debt is taken back; a writer that takes v'
 *    out meanwhile pays it, and the reader drops a reference to v' that it never asked for. In both cases the
 *    slot says "one reference for whatever lies there", and who pays it has what lies there.
 *  - Metrics are complete before (6), a release, that (3) acquires. What a reader has read happens before the free: (4) and (2)
 *    are releases that (7) or a failed (9) acquires; if it was paid, (5) orders it, as with any count of references: each
 *    drop is a release, and the last an acquire of all before it. */
#include "block.h"
#include "reclaimer.h"

struct value {
    struct smr_header header;
    _Atomic uint64_t references;
    struct metrics metrics;
};

inlined void value_init(struct value *value)
{
    atomic_init(&value->references, 1);
}

#include "parts/pointed_record.h"

#define NO_DEBT ((link_word)0)

struct debt_slot {
    line_pair_align _Atomic link_word debt;
};

struct reader {
    struct smr_thread *t;
    _Atomic link_word *debt;
};

static noinline void value_drop(struct smr_thread *t, struct value *value)
{
    node_check_live(value);
    if (fetch_sub_acq_rel(&value->references, 1) == 1) /* (5) */
        smr_retire(t, KIND_METRICS, value);
}

inlined void debt_end(const struct reader *reader, link_word word)
{
    link_word expected = word;
    if (unlikely(!cas_acq_rel(reader->debt, &expected, NO_DEBT))) /* (4) */
        value_drop(reader->t, (struct value *)word);
}

inlined uint64_t record_read(const struct reader *reader, struct record *record)
{
    link_word word = load_relaxed(&record->value); /* (1) */
    for (;;) {
        race_window();
        exchange_seq_cst(reader->debt, word);           /* (2) */
        link_word again = load_seq_cst(&record->value); /* (3) */
        if (likely(again == word))
            break;
        debt_end(reader, word);
        word = again;
        reader->t->fp.account.restarts++;
    }
    const struct value *value = (const struct value *)word;
    race_window();
    node_check_live(value);
    uint64_t count = metrics_count(&value->metrics);
    debt_end(reader, word);
    return count;
}

#define RECORD_READER struct reader
#include "parts/records.h"

#define DS_KIND    block
#define DS_GROWS   0
#define DS_NEEDS   0u
#define DS_RETIRES DS_RETIRES_UNHELD
#define DS_THREADS DS_ANY

struct ds {
    line_pair_align struct records records;
    struct debt_slot *slots; /* by a thread's index */
};

static noinline void debts_pay(struct ds *ds, struct value *value)
{
    for (unsigned i = 0; i < ds->records.parameters->threads; i++) {
        _Atomic link_word *debt = &ds->slots[i].debt;
        link_word word = load_seq_cst(debt); /* (7) */
        if (word != (link_word)value)
            continue;
        fetch_add_relaxed(&value->references, 1); /* (8) */
        race_window();
        if (!cas_acq_rel(debt, &word, NO_DEBT))       /* (9) */
            fetch_sub_release(&value->references, 1); /* (10) */
    }
}

static void ds_create(struct ds *ds, struct smr_thread *t, const struct ds_parameters *parameters)
{
    (void)t;
    ds->records.parameters = parameters;
    ds->slots = meta_alloc(parameters->threads * sizeof *ds->slots);
}

static noinline uint64_t ds_scan(struct ds *ds, struct smr_thread *t)
{
    struct reader reader = {t, &ds->slots[t->fp.account.index].debt};
    smr_op_begin(t);
    uint64_t most = records_scan(&ds->records, &reader);
    smr_op_end(t);
    return most;
}

static noinline uint64_t ds_replace(struct ds *ds, struct smr_thread *t, uint64_t id, uint64_t count)
{
    struct record *record = ds->records.store.array[id];
    smr_op_begin(t);
    struct value *value = value_new(t, count);
    struct value *before = (struct value *)exchange_seq_cst(&record->value, (link_word)value); /* (6) */
    race_window();
    uint64_t replaced = metrics_count(&before->metrics);
    debts_pay(ds, before);
    value_drop(t, before);
    smr_op_end(t);
    return replaced;
}

#include "parts/block_rest.h"
