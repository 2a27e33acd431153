/* SPDX-License-Identifier: MIT */
/* Contract between the driver and a combination of structure, reclaimer and policy. combo.c compiles to one `struct
 * combo` for each combination; the driver walks them and makes one indirect call per thread and phase. */
#ifndef RB_COMBO_H
#define RB_COMBO_H

#include "account.h"
#include "atomics.h"
#include "clock.h"
#include "histogram.h"
#include "keys.h"
#include "policy.h"
#include "sleeper.h"
#include "structure.h"

/* The workload of a trial, as the loop wants it. */
struct workload {
    uint64_t seed; /* of this trial: option seed and repeat-index */
    /* The first workers, those whose operations are counted, are readers; of a set, all are. Then come the writers. */
    unsigned readers, writers;
    /* Of a set. */
    enum key_law law;
    double theta;
    uint64_t keys;
    uint64_t prefill;         /* distinct keys to insert */
    unsigned prefill_threads; /* the first so many threads insert them, in equal shares */
    /* Thresholds on a 64-bit random word: below the first insert, else below the second remove, below the third scan.
     */
    uint64_t insert_below, remove_below, scan_below;
    unsigned scan_length;
    unsigned sample_every; /* operations per timed operation; 0: none */
    /* Of a block. */
    uint64_t elements;
    double write_rate, append_rate; /* a second, of all writers together */
    bool yield;                     /* after each scan */
};

/* Readers' operations come first. */
enum operation { OP_FIND, OP_INSERT, OP_REMOVE, OP_SCAN, OP_REPLACE, OP_APPEND, OPERATIONS };
#define READERS_OPERATIONS OP_REPLACE

/* What one thread did in one window. */
struct tally {
    uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
    uint64_t done[OPERATIONS];
    uint64_t succeeded[OPERATIONS]; /* keys found, inserted, removed; scans: keys read */
    uint64_t value_sum;             /* of everything read: keeps the reads alive */
    uint64_t wanted[OPERATIONS];    /* paced ones: how many were due in the window */
};

struct trial;

/* One worker thread. Owned by the driver; lines of its own. */
struct worker {
    line_pair_align struct trial *trial;
    unsigned index;
    uint64_t budget; /* operations in the coming window; UINT64_MAX: until stopped */
    struct random random;
    struct keys keys;
    /* Of readers, service times in ticks; of writers, response times from the intended start in ns. NULL while warming up.
     */
    struct histogram *histogram;
    struct histogram *late; /* of writers: how long after the intended start they began, in ns */
    struct tally tally;
    /* Over all phases: keys inserted minus keys removed, and the sum of the keys inserted minus that of those removed; in a
     * block, elements, and the sum of the counts written minus that of those replaced. */
    uint64_t net_keys, net_key_sum;
    struct smr_thread *smr;
    struct account *account;
    struct published *published; /* where a sampler reads (sampler.h); NULL without one, and while warming up */
    uint64_t written, appended;  /* by a block's writer, over all phases */
    /* The largest of them whose write is complete; other threads read it. */
    line_pair_align _Atomic uint64_t completed;
};

/* What driver and workers share. */
struct trial {
    line_pair_align atomic_bool stop;
    line_pair_align const struct combo *combo;
    struct workload workload;
    struct smr_parameters smr_parameters;
    struct ds_parameters ds_parameters;
    size_t least_node_bytes; /* smaller nodes are padded to it; 0: none */
    struct worker *workers;  /* smr_parameters.threads of them */
    struct smr_shared *smr;
    struct ds *ds;
    uint64_t window_ns;                     /* when the window was opened: from here paced operations are due */
    _Atomic uint64_t stopped_ns;            /* when `stop` was set */
    _Atomic unsigned begun;                 /* threads that have begun the window */
    _Atomic unsigned reading;               /* readers of a block that have not ended it */
    _Atomic uint64_t first_epoch;           /* when the last of them did */
    line_pair_align struct sleeper sleeper; /* of paced workers; they write to it, and readers to nothing here */
};

struct combo {
    const char *structure, *kind, *reclaimer, *policy;
    size_t node_bytes;
    size_t key_bytes; /* about what one key of a large structure occupies; for the projection only */
    int threads;      /* DS_ANY, DS_ONE_WRITER, DS_READ_ONLY */
    bool grows;       /* a block that can be appended to */
    bool fenced;      /* its operations announce what --fence orders */
    bool releases;    /* its reclaimer hands nodes to the policy, sooner or later; false: it leaks */
    /* NULL if sound. Otherwise why not; `functions` below are then used with --unsound only. */
    const char *refused;
    /* False: the combination means nothing and was not built (refused says why). */
    bool built;
    /* Main thread, before the workers start: allocates smr, ds and each worker's smr from the arena. */
    void (*create)(struct trial *);
    /* Worker threads. */
    void (*prefill)(struct worker *);
    void (*window)(struct worker *);
    void (*drain)(struct worker *);
    /* Main thread, while all workers are parked. */
    uint64_t (*held)(struct worker *); /* nodes retired and not freed, counted where they lie */
    void (*check)(struct trial *, struct census *);
    uint64_t (*epoch)(struct trial *); /* the sampler also calls it while they run */
    void (*destroy)(struct trial *);
};

/* Ends the window for those that run and for those that sleep. Who has seen `stop`, or was woken, sees stopped_ns. */
static inline unused void trial_stop(struct trial *trial)
{
    store_release(&trial->stopped_ns, clock_ns());
    store_release(&trial->stop, true);
    sleeper_stop(&trial->sleeper);
}

extern const struct combo *const __start_combos[];
extern const struct combo *const __stop_combos[];

#endif
