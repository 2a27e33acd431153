/* SPDX-License-Identifier: MIT */
/* The measured loop for structures of kind `set`, included by combo.c after structure, reclaimer and policy. */
#include "atomics.h"
#include "clock.h"
#include "combo.h"

#include <string.h>

/* CHECK builds with a full prefill: these keys are never removed, so they must always be found. */
#define PERMANENT_EVERY 8

static void loop_create(struct trial *trial)
{
    trial->smr = meta_alloc(sizeof(struct smr_shared));
    smr_init(trial->smr, &trial->smr_parameters);
    for (unsigned i = 0; i < trial->smr_parameters.threads; i++) {
        struct worker *w = &trial->workers[i];
        w->smr = meta_alloc(sizeof(struct smr_thread));
        w->account = &w->smr->fp.account;
        smr_thread_init(w->smr, trial->smr, i);
    }
    trial->ds = meta_alloc(sizeof(struct ds));
    ds_create(trial->ds, trial->workers[0].smr, &trial->ds_parameters);
}

/* The first `prefill` keys of a seeded permutation: exact, the same set whatever the number of threads, and no failed
 * inserts that would warm one scheme more than another. */
static void loop_prefill(struct worker *w)
{
    const struct workload *load = &w->trial->workload;
    if (w->index >= load->prefill_threads)
        return;
    struct permutation order;
    permutation_init(&order, load->keys, load->seed);
    uint64_t from = (uint64_t)((unsigned __int128)load->prefill * w->index / load->prefill_threads);
    uint64_t to = (uint64_t)((unsigned __int128)load->prefill * (w->index + 1) / load->prefill_threads);
    smr_online(w->smr);
    for (uint64_t i = from; i < to; i++) {
        uint64_t key = permutation_apply(&order, i);
        if (ds_insert(w->trial->ds, w->smr, key, value_of(key))) {
            w->net_keys++;
            w->net_key_sum += key;
        }
        fp_tick(&w->smr->fp);
    }
    smr_offline(w->smr);
}

static noinline unused void check_found(const struct worker *w, uint64_t key, struct found found)
{
    const struct workload *load = &w->trial->workload;
    if (found.found && found.value != value_of(key))
        fail(STATUS_INVARIANT, "key %lu was found with a value that was never stored with it", key);
    if (!found.found && load->prefill == load->keys && key % PERMANENT_EVERY == 0)
        fail(STATUS_INVARIANT, "key %lu was never removed and reported missing", key);
}

inlined enum operation choose(const struct workload *load, struct random *random)
{
    uint64_t dice = random_next(random);
    return dice < load->insert_below   ? OP_INSERT
           : dice < load->remove_below ? OP_REMOVE
           : dice < load->scan_below   ? OP_SCAN
                                       : OP_FIND;
}

inlined void run_operation(struct worker *w, struct tally *tally, enum operation operation, uint64_t key)
{
    struct ds *ds = w->trial->ds;
    bool ok;
    switch (operation) {
    case OP_INSERT:
        ok = ds_insert(ds, w->smr, key, value_of(key));
        w->net_keys += ok;
        w->net_key_sum += ok ? key : 0;
        tally->succeeded[OP_INSERT] += ok;
        break;
    case OP_REMOVE:
        if (CHECK && w->trial->workload.prefill == w->trial->workload.keys && key % PERMANENT_EVERY == 0)
            key = (key + 1) % w->trial->workload.keys;
        ok = ds_remove(ds, w->smr, key);
        w->net_keys -= ok;
        w->net_key_sum -= ok ? key : 0;
        tally->succeeded[OP_REMOVE] += ok;
        break;
    case OP_SCAN:
        tally->succeeded[OP_SCAN] += ds_scan(ds, w->smr, key, w->trial->workload.scan_length, &tally->value_sum);
        break;
    default: {
        struct found found = ds_contains(ds, w->smr, key);
        tally->value_sum += found.value;
        tally->succeeded[OP_FIND] += found.found;
        if (CHECK)
            check_found(w, key, found);
    }
    }
    tally->done[operation]++;
    fp_tick(&w->smr->fp);
}

/* `finds_only` and `law` are constants where this is inlined: a lookup then costs one random number and no choice. The
 * random state and the tally are locals so that they can stay in registers and on the worker's own stack. */
inlined void run_window(struct worker *w, bool finds_only, enum key_law law)
{
    const struct workload load = w->trial->workload;
    struct random random = w->random;
    struct tally tally = {0};
    uint64_t left = w->budget;
    uint64_t until_sample = w->histogram && load.sample_every ? load.sample_every : UINT64_MAX;

    tally.begin_ns = clock_ns();
    for (; left && likely(!load_relaxed(&w->trial->stop)); left--) {
        uint64_t key = keys_next(&w->keys, law, load.keys, &random);
        enum operation operation = finds_only ? OP_FIND : choose(&load, &random);
        if (likely(--until_sample)) {
            run_operation(w, &tally, operation, key);
        } else {
            uint64_t begin = ticks_begin();
            run_operation(w, &tally, operation, key);
            histogram_add(w->histogram, ticks_end() - begin);
            until_sample = load.sample_every;
        }
    }
    tally.end_ns = clock_ns();
    w->random = random;
    w->tally = tally;
}

static noinline void loop_window(struct worker *w)
{
    const struct workload *load = &w->trial->workload;
    smr_online(w->smr);
    if (load->law != KEYS_UNIFORM)
        run_window(w, false, load->law);
    else if (load->scan_below == 0)
        run_window(w, true, KEYS_UNIFORM);
    else
        run_window(w, false, KEYS_UNIFORM);
    smr_offline(w->smr);
}

static void loop_drain(struct worker *w)
{
    smr_drain(w->smr);
}

static void loop_check(struct trial *trial, struct set_census *census)
{
    memset(census, 0, sizeof *census);
    ds_check(trial->ds, census);
}

static uint64_t loop_epoch(struct trial *trial)
{
    return smr_epoch(trial->smr);
}

/* Limbo first: its nodes are not reachable from the structure. */
static void loop_destroy(struct trial *trial)
{
    for (unsigned i = 0; i < trial->smr_parameters.threads; i++)
        smr_drain(trial->workers[i].smr);
    ds_destroy(trial->ds, trial->workers[0].smr);
    for (unsigned i = 0; i < trial->smr_parameters.threads; i++)
        fp_destroy(&trial->workers[i].smr->fp);
}
