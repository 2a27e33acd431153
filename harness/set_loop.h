/* SPDX-License-Identifier: MIT */
/* The measured loop for structures of kind `set`, included by combo.c after structure, reclaimer and policy. */
#include "loop.h"

/* CHECK builds with a full prefill: these keys are never removed, so they must always be found. */
#define PERMANENT_EVERY 8

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
        smr_tick(w->smr);
        if (ds_insert(w->trial->ds, w->smr, key, value_of(key))) {
            w->net_keys++;
            w->net_key_sum += key;
        }
    }
    smr_offline(w->smr);
}

static noinline unused void check_found(const struct worker *w, uint64_t key, struct found found)
{
    const struct workload *load = &w->trial->workload;
    if (found.found && found.value != value_of(key))
        fail(STATUS_INVARIANT, "key %lu was found with a value that was never stored with it", key);
    /* What has no nodes (noop) keeps nothing. */
    if (!found.found && DS_NODE_BYTES > 0 && load->prefill == load->keys && key % PERMANENT_EVERY == 0)
        fail(STATUS_INVARIANT, "key %lu was never removed and reported missing", key);
}

inlined enum operation choose(const uint64_t *below, struct random *random)
{
    uint64_t dice = random_next(random);
    return dice < below[0] ? OP_INSERT : dice < below[1] ? OP_REMOVE : dice < below[2] ? OP_SCAN : OP_FIND;
}

/* Everything but a lookup. */
inlined void run_other(struct worker *w, struct ds *ds, struct smr_thread *t, struct tally *tally,
                       enum operation operation, uint64_t key)
{
    const struct workload *load = &w->trial->workload;
    bool ok;
    switch (operation) {
    case OP_INSERT:
        ok = ds_insert(ds, t, key, value_of(key));
        w->net_keys += ok;
        w->net_key_sum += ok ? key : 0;
        tally->succeeded[OP_INSERT] += ok;
        break;
    case OP_REMOVE:
        if (CHECK && load->prefill == load->keys && key % PERMANENT_EVERY == 0)
            key = key ? key - 1 : 1;
        ok = ds_remove(ds, t, key);
        w->net_keys -= ok;
        w->net_key_sum -= ok ? key : 0;
        tally->succeeded[OP_REMOVE] += ok;
        break;
    default:
        tally->succeeded[OP_SCAN] += ds_scan(ds, t, key, load->scan_length, &tally->value_sum);
    }
    tally->done[operation]++;
}

/* Distances between timed operations vary around sample_every: a fixed one would beat with what schemes do every so many
 * operations, and see it always or never. */
inlined uint64_t next_sample(const struct workload *load, struct random *random)
{
    return 1 + random_below(random, 2 * (uint64_t)load->sample_every - 1);
}

/* What follows a timed operation, until the next: out of line, so that the loop keeps its registers (the counts of
 * instructions are in docs/traces.md). The operation is still among those that are `left`. */
static noinline uint64_t timed_operation(struct worker *w, struct random *sampling, uint64_t ticks, uint64_t left)
{
    histogram_add(w->histogram, ticks);
    if (w->published)
        sampler_publish(w, w->budget - left + 1);
    return next_sample(&w->trial->workload, sampling);
}

/* `finds_only` and `law` are constants where this is inlined: a lookup then costs one random number and no choice. What a
 * lookup needs and counts are locals, for registers: beyond the caches, the fewer instructions an operation has, the more
 * of them overlap. */
inlined void run_window(struct worker *w, bool finds_only, enum key_law law)
{
    const struct workload *load = &w->trial->workload;
    struct ds *ds = w->trial->ds;
    struct smr_thread *t = w->smr;
    const atomic_bool *stop = &w->trial->stop;
    const uint64_t keys = load->keys, choices[] = {load->insert_below, load->remove_below, load->scan_below};
    struct random random = w->random;
    struct tally tally = {0};
    uint64_t hits = 0, finds = 0, value_sum = 0, left = w->budget;
    struct random sampling;
    random_seed(&sampling, ~load->seed, w->index);
    uint64_t until_sample = w->histogram && load->sample_every ? next_sample(load, &sampling) : UINT64_MAX;

    tally.begin_ns = clock_ns();
    for (; left && likely(!load_relaxed(stop)); left--) {
        uint64_t begin = 0, key = keys_next(&w->keys, law, keys, &random);
        enum operation operation = finds_only ? OP_FIND : choose(choices, &random);
        bool timed = unlikely(--until_sample == 0);
        if (timed)
            begin = ticks_begin();
        smr_tick(t);
        if (operation == OP_FIND) {
            struct found found = ds_contains(ds, t, key);
            value_sum += found.value;
            hits += found.found;
            finds += !finds_only;
            if (CHECK)
                check_found(w, key, found);
        } else {
            run_other(w, ds, t, &tally, operation, key);
        }
        if (timed)
            until_sample = timed_operation(w, &sampling, ticks_end() - begin, left);
    }
    tally.end_ns = clock_ns();
    if (w->published)
        sampler_publish(w, w->budget - left);
    tally.done[OP_FIND] = finds_only ? w->budget - left : finds;
    tally.succeeded[OP_FIND] = hits;
    tally.value_sum += value_sum;
    w->random = random;
    w->tally = tally;
}

static noinline void loop_window(struct worker *w)
{
    const struct workload *load = &w->trial->workload;
    smr_online(w->smr);
    note_last_begin(w->trial);
    if (load->law != KEYS_UNIFORM)
        run_window(w, false, load->law);
    else if (load->scan_below == 0)
        run_window(w, true, KEYS_UNIFORM);
    else
        run_window(w, false, KEYS_UNIFORM);
    smr_offline(w->smr);
}
