/* SPDX-License-Identifier: MIT */
/* Trace points. In ordinary builds each of them is empty and the objects are the same as if they did not stand there
 * (tests/test_objects.py compares them); `make traced` compiles the combinations with TRACE=1 into a second binary,
 * which the driver executes for --trace and --time-free. Traced trials are marked and never enter a throughput figure.
 *
 * Events go into a ring of the thread's own, in ticks, and are written as text after the clock has stopped; the header
 * line says how many did not fit. Only in policies, in cold paths of reclaimers and in the driver: never in protect or
 * begin. Each point stands on a line of its own. */
#ifndef RB_TRACE_H
#define RB_TRACE_H

#include "compiler.h"

struct account;
struct trace_ring;

enum trace_event {
    TRACE_BATCH_FREE, /* value: nodes freed at once; has a duration */
    TRACE_LONG_FREE,  /* one free() above the threshold; has a duration */
    TRACE_EPOCH,      /* value: the epoch that this thread advanced to */
    TRACE_GARBAGE,    /* value: nodes this thread had in limbo when it saw a new epoch */
    TRACE_TOKEN,      /* value: the thread that this one gave the token to */
    TRACE_WINDOW,     /* the measured window of this thread, by the driver; has a duration */
    TRACE_EVENTS
};

/* The driver's part, while the workers are parked or have ended. A ring of 0 events only times. Nothing is recorded
 * before trace_start. */
struct trace_ring *trace_ring_new(size_t events);
void trace_start(uint64_t long_free_ticks);
void trace_record(struct trace_ring *ring, enum trace_event event, uint64_t begin_ticks, uint64_t duration,
                  uint64_t value);

/* Before the trial: ends the process with exit status 2 if the file could not be written later. */
void trace_check_file(const char *path);

struct trace_file {
    const char *path;
    struct trace_ring *const *rings;
    unsigned threads;
    uint64_t origin_ticks;
    double ns_per_tick;
    uint64_t threshold_ns;
};

/* A header line, then a line for each event: thread, begin in ns since the origin, duration in ns, event, value. Ends
 * the process with exit status 2 if the file cannot be written. */
void trace_write(const struct trace_file *);

#if TRACE
void trace_free_begin(struct account *a);
void trace_free_end(struct account *a);
void trace_batch_begin(struct account *a, uint64_t nodes);
void trace_batch_end(struct account *a);
void trace_instant(struct account *a, enum trace_event event, uint64_t value);
#else
#define trace_free_begin(a)            ((void)0)
#define trace_free_end(a)              ((void)0)
#define trace_batch_begin(a, nodes)    ((void)0)
#define trace_batch_end(a)             ((void)0)
#define trace_instant(a, event, value) ((void)0)
#endif

#endif
