/* SPDX-License-Identifier: MIT */
/* What happens during the window: a thread of its own wakes at fixed moments, adds up what the workers published, and
 * reads the process's resident memory and the reclaimer's epoch (--samples=FILE, --sample-hz=N; docs/traces.md).
 *
 * Workers are never asked. Each publishes its counters on lines of its own, in the branch of the loop that times about
 * every sample_every-th operation; so what the sampler sees is about that many operations old, and older while a thread
 * frees a batch. Without a sampler `published` is NULL, and that branch tests it.
 *
 * The sampler allocates nothing while the window runs, and text is written after the trial. It sleeps until absolute
 * times on a unit that no worker has, or, where the plan leaves none, anywhere that is allowed. */
#ifndef RB_SAMPLER_H
#define RB_SAMPLER_H

#include "trial.h"

struct sampler;

/* Written by one worker, read by the sampler. */
struct published {
    line_pair_align _Atomic uint64_t ops;
    _Atomic uint64_t retired, released, freed;
};

/* By the worker: `ops` operations of this window are done. */
void sampler_publish(const struct worker *, uint64_t ops);

/* Before the trial: ends the process with exit status 2 if there could be no samples, or no file for them. */
void sampler_check(const struct plan *);

/* Main thread, workers parked. NULL without --samples. The window lies between the two calls. */
struct sampler *sampler_start(const struct plan *, struct trial *);
void sampler_stop(struct sampler *);

/* More than 5 % of the samples came later than half of their distance, or not at all. */
bool sampler_late(const struct sampler *);

/* Appends a line for each sample within the window, or nothing. */
void sampler_write(const struct plan *, const struct result *);

#endif
