/* SPDX-License-Identifier: MIT */
/* The parts of trial.c: what the main thread and the workers of one trial share beside struct trial. */
#ifndef RB_STAGE_H
#define RB_STAGE_H

#include "clock.h"
#include "trial.h"

#include <pthread.h>

/* What the workers do next; the main thread sets it while they are parked. */
enum phase { PHASE_SETTLE, PHASE_PREFILL, PHASE_DRAIN, PHASE_WINDOW, PHASE_END };

/* One worker as its thread sees it. Barriers sleep; between phases a worker is parked and offline. */
struct seat {
    struct worker *worker;
    struct stage *stage;
    bool bound;
    char why[200];
};

struct stage {
    const struct plan *plan;
    struct trial *trial;
    struct seat *seats;
    pthread_t *threads;
    pthread_barrier_t barrier; /* workers and the main thread */
    enum phase phase;          /* handed over by the barrier */
    struct trace_ring *marks;  /* of the whole trial's phases; NULL without a trace */
};

/* Sums over all workers; they are parked or have ended. */
void stage_add_up(const struct stage *, struct totals *);
/* Before any thread: what the options say as the loop wants it; the workers, the structure and the reclaimer. */
void stage_set_up_workload(const struct plan *, struct trial *);
void stage_set_up_workers(const struct plan *, struct trial *);
/* The trace, if one was asked for (its trace points are in TRACE builds only): a ring for each thread, before any runs; the
 * driver's marks, each from begin_ticks until now; recording, from the window on; the file, when the workers have ended
 * their window. */
void stage_trace_set_up(struct stage *);
void stage_trace_mark(struct stage *, enum trace_event, uint64_t begin_ticks);
void stage_trace_start(const struct stage *, const struct clock_calibration *);
void stage_trace_write(const struct stage *, const struct clock_calibration *);
/* The first thing that is wrong is the result's status. */
void stage_broken(struct result *, enum status, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* After the workers have ended: bindings, structure, keys, accounting. Then the end of everything, and that nothing is left. */
void stage_verify(const struct stage *, struct result *);
void stage_verify_nothing_left(const struct stage *, struct result *);

#endif
