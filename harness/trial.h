/* SPDX-License-Identifier: MIT */
/* One trial: create, prefill, drain, warm up, drain, measure, verify, destroy, on pinned threads. */
#ifndef RB_TRIAL_H
#define RB_TRIAL_H

#include "combo.h"
#include "error.h"
#include "host.h"
#include "memory.h"
#include "options.h"
#include "placement.h"
#include "preload.h"

/* A trial as the options ask for it, checked and resolved; everything that is known before it runs. */
struct plan {
    const struct options *options;
    const struct combo *combo;
    struct placement *placement;
    const struct allocator_identity *allocator;
    char policy[32];  /* as in the row: "amortized" or "amortized:4" */
    unsigned threads; /* readers and writers */
    unsigned readers; /* of a set, all threads */
    unsigned writers; /* of a block, if anything is to be written */
    unsigned frees_per_tick;
    size_t node_bytes; /* of the node that is retired most, padding included */
    uint64_t prefill;  /* keys; elements of a block */
    unsigned prefill_threads;
    enum key_law law;
    double theta;
    const char *membind, *fence; /* effective */
};

/* Sums over threads of what accounts and tallies hold, at one moment or over the window. */
struct totals {
    uint64_t done[OPERATIONS], succeeded[OPERATIONS], wanted[OPERATIONS];
    uint64_t allocated, discarded, retired, released, freed, reused, pooled;
    uint64_t backlog_peak, limbo_peak, restarts, free_ticks;
    uint64_t net_keys, net_key_sum;
};

/* Service times of the readers' operations, in ticks; of paced ones, response times and late starts, in ns. */
enum latency { LATENCY_SERVICE, LATENCY_RESPONSE, LATENCY_LATE, LATENCIES };

struct result {
    enum status status;
    char why[256];   /* if status is not STATUS_OK */
    char flags[128]; /* what makes the numbers doubtful, separated by ; */
    double prefill_seconds;
    double seconds; /* from the first thread's begin to the last one's end */
    uint64_t begin_ns, end_ns;
    double write_seconds; /* of paced writers: from the opening of the window to its stop */
    uint64_t ops, ops_slowest, ops_fastest;
    struct totals window; /* differences over the window */
    uint64_t backlog_start, backlog_end;
    uint64_t epoch_steps;
    struct memory_usage baseline, prefilled, end;
    bool peak_valid;
    size_t harness_bytes;
    struct histogram *latency[LATENCIES]; /* NULL: not measured */
    double ns_per_tick;
    uint64_t stop_lag_ns;
    struct allocator_counters counters; /* differences over the window */
    bool counters_valid;
    struct host_throttling throttling; /* differences over the window */
    struct census census;
    struct sampler *sampler; /* NULL if none ran */
};

/* Ends the process only for what a user can set right before the window; otherwise result.status says what happened. */
void trial_run(const struct plan *, struct result *);

#endif
