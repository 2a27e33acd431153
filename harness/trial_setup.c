/* SPDX-License-Identifier: MIT */
#include "stage.h"

#include "meta.h"

#include <string.h>

void stage_set_up_workload(const struct plan *plan, struct trial *trial)
{
    const struct options *o = plan->options;
    const double whole = 18446744073709551615.0;
    double inserts = o->insert / 100, removes = inserts + o->remove / 100, scans = removes + o->scan / 100;
    trial->combo = plan->combo;
    trial->workload = (struct workload){
        .readers = plan->readers,
        .writers = plan->writers,
        .elements = plan->prefill,
        .write_rate = o->write_rate,
        .append_rate = o->append_rate,
        .yield = strcmp(o->yield, "scan") == 0,
        .law = plan->law,
        .theta = plan->theta,
        .keys = o->keys,
        .prefill = plan->prefill,
        .prefill_threads = plan->prefill_threads,
        .seed = random_mix(o->seed) + o->repeat_index,
        /* Conversions of exactly 2^64 overflow: 100 % is the largest word. */
        .insert_below = inserts >= 1 ? UINT64_MAX : (uint64_t)(inserts * whole),
        .remove_below = removes >= 1 ? UINT64_MAX : (uint64_t)(removes * whole),
        .scan_below = scans >= 1 ? UINT64_MAX : (uint64_t)(scans * whole),
        .scan_length = (unsigned)o->scan_length,
        .sample_every = (unsigned)o->sample_every,
    };
    trial->smr_parameters = (struct smr_parameters){
        .threads = plan->threads,
        .batch_size = (unsigned)o->batch_size,
        .epoch_frequency = (unsigned)o->epoch_frequency,
        .frees_per_tick = plan->frees_per_tick,
        .token_check_every = (unsigned)o->token_check_every,
    };
    trial->least_node_bytes = o->pad_nodes;
    trial->ds_parameters = (struct ds_parameters){
        .threads = plan->threads,
        .rwlock_kind = o->rwlock_kind,
        .elements = plan->prefill,
    };
    sleeper_init(&trial->sleeper);
}

void stage_set_up_workers(const struct plan *plan, struct trial *trial)
{
    trial->workers = meta_alloc(plan->threads * sizeof *trial->workers);
    for (unsigned i = 0; i < plan->threads; i++) {
        struct worker *w = &trial->workers[i];
        w->trial = trial;
        w->index = i;
        random_seed(&w->random, trial->workload.seed, i);
        keys_init(&w->keys, plan->law, plan->theta, trial->workload.keys, trial->workload.seed, i, plan->threads);
    }
    plan->combo->create(trial);
}
