/* SPDX-License-Identifier: MIT */
/* The trial's part of a trace: when recording begins, the driver's marks, what the file says about itself. */
#include "build_info.h"
#include "meta.h"
#include "stage.h"

static bool traced(const struct stage *stage)
{
    return TRACE && *stage->plan->options->trace;
}

void stage_trace_set_up(struct stage *stage)
{
    const struct options *o = stage->plan->options;
    if (traced(stage))
        stage->marks = trace_ring_new(0);
    for (unsigned i = 0; TRACE && i < stage->plan->threads; i++) {
        struct account *account = stage->trial->workers[i].account;
        account->trace = trace_ring_new(traced(stage) ? o->trace_events : 0);
        account->frees_timed = o->time_free || (traced(stage) && o->trace_threshold);
    }
}

void stage_trace_mark(struct stage *stage, enum trace_event event, uint64_t begin_ticks)
{
    if (traced(stage))
        trace_mark(stage->marks, event, begin_ticks, ticks_now() - begin_ticks);
}

/* By the two readings that start the calibration, and as much less as CLOCK_MONOTONIC may be slewed meanwhile: what is
 * below the threshold all the same is left out when the file is written. */
static uint64_t ticks_below(const struct clock_calibration *calibration, uint64_t ns)
{
    double ticks = (double)(calibration->start.ticks - calibration->first.ticks);
    return (uint64_t)(0.998 * (double)ns * ticks / (double)(calibration->start.ns - calibration->first.ns));
}

void stage_trace_start(const struct stage *stage, const struct clock_calibration *calibration)
{
    uint64_t threshold = stage->plan->options->trace_threshold;
    if (traced(stage))
        trace_start(threshold ? ticks_below(calibration, threshold) : UINT64_MAX);
}

static void identify(FILE *file, const void *of)
{
    const struct plan *plan = of;
    trace_put_word(file, "structure", plan->combo->structure);
    trace_put_word(file, "reclaimer", plan->combo->reclaimer);
    trace_put_word(file, "policy", plan->policy);
    trace_put_word(file, "allocator", plan->options->allocator);
    fprintf(file, " seed=%lu repeat_index=%lu", plan->options->seed, plan->options->repeat_index);
    trace_put_word(file, "commit", build_commit);
}

/* Windows are measured by the other clock. */
static uint64_t ticks_of(const struct clock_calibration *calibration, uint64_t ns)
{
    struct clock_pair origin = calibration->start;
    return origin.ticks + (uint64_t)(int64_t)((double)(int64_t)(ns - origin.ns) / calibration->ns_per_tick);
}

static void mark_window(struct trace_ring *ring, enum trace_event event, const struct clock_calibration *calibration,
                        uint64_t begin_ns, uint64_t end_ns)
{
    uint64_t begin = ticks_of(calibration, begin_ns);
    trace_mark(ring, event, begin, ticks_of(calibration, end_ns) - begin);
}

void stage_trace_write(const struct stage *stage, const struct clock_calibration *calibration)
{
    const struct plan *plan = stage->plan;
    uint64_t begin_ns = UINT64_MAX, end_ns = 0;
    if (!traced(stage))
        return;
    struct trace_ring **rings = meta_alloc((plan->threads + 1) * sizeof *rings);
    for (unsigned i = 0; i < plan->threads; i++) {
        const struct tally *tally = &stage->trial->workers[i].tally;
        rings[i] = stage->trial->workers[i].account->trace;
        mark_window(rings[i], TRACE_WINDOW, calibration, tally->begin_ns, tally->end_ns);
        begin_ns = tally->begin_ns < begin_ns ? tally->begin_ns : begin_ns;
        end_ns = tally->end_ns > end_ns ? tally->end_ns : end_ns;
    }
    rings[plan->threads] = stage->marks;
    mark_window(stage->marks, TRACE_WHOLE_WINDOW, calibration, begin_ns, end_ns);
    trace_write(&(struct trace_file){
        .path = plan->options->trace,
        .rings = rings,
        .threads = plan->threads,
        .origin_ticks = ticks_of(calibration, begin_ns),
        .ns_per_tick = calibration->ns_per_tick,
        .threshold_ns = plan->options->trace_threshold,
        .identify = identify,
        .of = plan,
    });
}
