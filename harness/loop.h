/* SPDX-License-Identifier: MIT */
/* What the measured loops of all kinds of structures share; included by KIND_loop.h. */
#include "atomics.h"
#include "clock.h"
#include "combo.h"
#include "sampler.h"

#include <string.h>

static void loop_create(struct trial *trial)
{
    trial->smr = meta_alloc(sizeof(struct smr_shared));
    smr_init(trial->smr, &trial->smr_parameters);
    for (unsigned i = 0; i < trial->smr_parameters.threads; i++) {
        struct worker *w = &trial->workers[i];
        w->smr = meta_alloc(sizeof(struct smr_thread));
        w->account = &w->smr->fp.account;
        w->account->least_bytes = trial->least_node_bytes;
        smr_thread_init(w->smr, trial->smr, i);
        w->account->index = i;
    }
    trial->ds = meta_alloc(sizeof(struct ds));
    ds_create(trial->ds, trial->workers[0].smr, &trial->ds_parameters);
}

/* Epochs count from here: those that began earlier wait for nobody, and a thread alone passes thousands of epochs while
 * another is still waking up. */
static noinline void note_last_begin(struct trial *trial)
{
    if (fetch_add_acq_rel(&trial->begun, 1) + 1 == trial->smr_parameters.threads)
        store_relaxed(&trial->first_epoch, smr_epoch(trial->smr));
}

static uint64_t loop_held(struct worker *w)
{
    return smr_held(w->smr);
}

static void loop_drain(struct worker *w)
{
    smr_drain(w->smr);
}

static void loop_check(struct trial *trial, struct census *census)
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
