/* SPDX-License-Identifier: MIT */
/* Trace points. In ordinary builds each of them is empty and the objects are the same as if they did not stand there
 * (tests/test_objects.py compares them); `make traced` compiles the combinations with TRACE=1 into a second binary,
 * which the driver executes for --trace and --time-free. Traced trials are marked and never enter a throughput figure.
 *
 * Events go into a ring of the thread's own, in ticks, and are written as text after the clock has stopped; the header
 * line says how many did not fit. Only in policies, in cold paths of reclaimers and in the driver: never in protect or
 * begin. Each point stands on a line of its own. Single frees are timed, which costs two readings of the clock each,
 * only in accounts that ask for it (account.h: frees_timed); the others pay a test of that flag. */
#ifndef RB_TRACE_H
#define RB_TRACE_H

#include "compiler.h"

#include <stdio.h>

struct account;
struct trace_ring;

enum trace_event {
    TRACE_BATCH_FREE, /* value: nodes freed at once; has a duration */
    TRACE_LONG_FREE,  /* one free() above the threshold; has a duration */
    TRACE_EPOCH,      /* value: the epoch that this thread advanced to */
    TRACE_GARBAGE,    /* value: nodes this thread had in limbo when it saw a new epoch */
    TRACE_TOKEN,      /* value: the thread that this one gave the token to */
    TRACE_WINDOW,     /* the measured window of this thread, by the driver; has a duration */
    /* What the whole trial did, by the driver; they have durations. */
    TRACE_PREFILL,
    TRACE_DRAIN,
    TRACE_WARM_UP,
    TRACE_WHOLE_WINDOW,
    TRACE_EVENTS
};

/* The driver's part, while the workers are parked or have ended. Trace points record nothing before trace_start, and
 * single frees only if they take at least long_free_ticks. */
struct trace_ring *trace_ring_new(size_t events);
void trace_start(uint64_t long_free_ticks);

/* The driver's own marks. They have room of their own behind what trace points may fill: none is ever dropped. */
#define TRACE_MARKS 8
void trace_mark(struct trace_ring *ring, enum trace_event event, uint64_t begin_ticks, uint64_t duration);

/* Before the trial: ends the process with exit status 2 if the file could not be written later. */
void trace_check_file(const char *path);

struct trace_file {
    const char *path;
    struct trace_ring *const *rings; /* of the threads, and behind them the driver's */
    unsigned threads;
    uint64_t origin_ticks;
    double ns_per_tick;
    uint64_t threshold_ns; /* 0: single frees were not timed */
    void (*identify)(FILE *, const void *of);
    const void *of;
};

/* docs/traces.md has the format. Ends the process with exit status 2 if the file cannot be written. */
void trace_write(const struct trace_file *);

/* NAME=VALUE behind a blank, for `identify`: what is not ASCII, blanks, equals and percent signs of the
 * value as %20 and the like. */
void trace_put_word(FILE *, const char *name, const char *value);

#if TRACE
/* Batches nest: a reclaimer that releases in chunks brackets them all, and the outermost pair makes the event, with
 * all nodes that were freed within it. */
void trace_batch_begin(struct account *a);
void trace_batch_end(struct account *a);
void trace_instant(struct account *a, enum trace_event event, uint64_t value);
void trace_timed_free_begin(struct account *a);
void trace_timed_free_end(struct account *a);
#define trace_free_begin(a)                                                                                            \
    do {                                                                                                               \
        if (unlikely((a)->frees_timed))                                                                                \
            trace_timed_free_begin(a);                                                                                 \
    } while (0)
#define trace_free_end(a)                                                                                              \
    do {                                                                                                               \
        if (unlikely((a)->frees_timed))                                                                                \
            trace_timed_free_end(a);                                                                                   \
    } while (0)
#else
#define trace_free_begin(a)            ((void)0)
#define trace_free_end(a)              ((void)0)
#define trace_batch_begin(a)           ((void)0)
#define trace_batch_end(a)             ((void)0)
#define trace_instant(a, event, value) ((void)0)
#endif

#endif
