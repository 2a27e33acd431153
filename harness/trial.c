/* SPDX-License-Identifier: MIT */
#include "stage.h"

#include "atomics.h"
#include "clock.h"
#include "meta.h"
#include "sampler.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void work(struct seat *seat, enum phase phase)
{
    const struct combo *combo = seat->stage->plan->combo;
    /* Before the first touch of memory and after the last operation: a thread that was moved in between shows. */
    if (phase == PHASE_SETTLE || phase == PHASE_WINDOW)
        seat->bound &= placement_verify(seat->stage->plan->placement, seat->worker->index, seat->why, sizeof seat->why);
    switch (phase) {
    case PHASE_PREFILL:
        combo->prefill(seat->worker);
        break;
    case PHASE_DRAIN:
        combo->drain(seat->worker);
        break;
    case PHASE_WINDOW:
        combo->window(seat->worker);
        if (seat->bound)
            seat->bound =
                placement_verify(seat->stage->plan->placement, seat->worker->index, seat->why, sizeof seat->why);
        break;
    default:
        break;
    }
}

static void *worker_main(void *argument)
{
    struct seat *seat = argument;
    struct stage *stage = seat->stage;
    for (;;) {
        pthread_barrier_wait(&stage->barrier);
        if (stage->phase == PHASE_END)
            return NULL;
        work(seat, stage->phase);
        pthread_barrier_wait(&stage->barrier);
    }
}

static void start_phase(struct stage *stage, enum phase phase)
{
    stage->phase = phase;
    pthread_barrier_wait(&stage->barrier);
}

static void run_phase(struct stage *stage, enum phase phase)
{
    start_phase(stage, phase);
    pthread_barrier_wait(&stage->barrier);
}

static void sleep_until(uint64_t ns)
{
    struct timespec at = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
}

/* A timed window (ops = 0) or one of `ops` operations in equal shares. Returns when the stop was asked for, 0 if never.
 */
static uint64_t run_window(struct stage *stage, double seconds, uint64_t ops)
{
    unsigned readers = stage->plan->readers;
    uint64_t stopped = 0;
    store_relaxed(&stage->trial->stop, false);
    store_relaxed(&stage->trial->begun, 0);
    store_relaxed(&stage->trial->reading, readers);
    sleeper_reset(&stage->trial->sleeper);
    for (unsigned i = 0; i < readers; i++)
        stage->trial->workers[i].budget = ops ? ops / readers + (i < ops % readers) : UINT64_MAX;
    stage->trial->window_ns = clock_ns();
    start_phase(stage, PHASE_WINDOW);
    if (!ops) {
        sleep_until(clock_ns() + (uint64_t)(seconds * 1e9));
        trial_stop(stage->trial);
        stopped = load_relaxed(&stage->trial->stopped_ns);
    }
    pthread_barrier_wait(&stage->barrier);
    return stopped;
}

/* What grows: the tallies and peaks of `after` are of the window already. */
static void window_difference(struct totals *window, const struct totals *before, const struct totals *after)
{
    *window = *after;
    window->allocated -= before->allocated;
    window->discarded -= before->discarded;
    window->retired -= before->retired;
    window->released -= before->released;
    window->freed -= before->freed;
    window->reused -= before->reused;
    window->restarts -= before->restarts;
    window->free_ticks -= before->free_ticks;
}

static void start_threads(struct stage *stage)
{
    unsigned threads = stage->plan->threads;
    stage->seats = meta_alloc(threads * sizeof *stage->seats);
    stage->threads = meta_alloc(threads * sizeof *stage->threads);
    pthread_barrier_init(&stage->barrier, NULL, threads + 1);
    for (unsigned i = 0; i < threads; i++) {
        pthread_attr_t attributes;
        stage->seats[i] = (struct seat){.worker = &stage->trial->workers[i], .stage = stage, .bound = true};
        pthread_attr_init(&attributes);
        placement_attributes(stage->plan->placement, i, &attributes);
        int error = pthread_create(&stage->threads[i], &attributes, worker_main, &stage->seats[i]);
        if (error)
            fail(error == EINVAL ? STATUS_BIND_FAILED : STATUS_OOM,
                 "wanted %u threads, thread %u could not start: '%s': use fewer threads or raise `ulimit -u`", threads,
                 i, strerror(error));
        pthread_attr_destroy(&attributes);
    }
}

static void join_threads(struct stage *stage)
{
    start_phase(stage, PHASE_END);
    for (unsigned i = 0; i < stage->plan->threads; i++)
        pthread_join(stage->threads[i], NULL);
}

static void flag(struct result *result, const char *name)
{
    size_t used = strlen(result->flags);
    snprintf(result->flags + used, sizeof result->flags - used, "%s%s", used ? ";" : "", name);
}

/* ---- what may not fit ---- */

static void refuse_memory(const struct plan *plan, const char *what, double bytes)
{
    long long available = memory_available();
    /* An allocator that maps a MB at a time is the worst we expect. */
    double mappings = bytes / (1 << 20), spare = (double)(memory_max_mappings() - memory_mappings());
    if (plan->options->force)
        return;
    if (available >= 0 && bytes > (double)available)
        fail(STATUS_OOM,
             "wanted about %.0f MB for %s, found %lld MB available: use fewer keys or elements, less time, another "
             "reclaimer or "
             "--force",
             bytes / (1 << 20), what, available >> 20);
    if (memory_max_mappings() >= 0 && mappings > spare)
        fail(STATUS_OOM,
             "wanted up to %.0f mappings for %s, found vm.max_map_count leaves %.0f: raise it with sysctl or use "
             "--force",
             mappings, what, spare);
}

/* After the warm-up its rate is known: what a reclaimer that never frees would leave behind. */
static void refuse_endless_garbage(const struct plan *plan, const struct totals *before, const struct totals *after)
{
    uint64_t operations = 0;
    for (int i = 0; i < READERS_OPERATIONS; i++)
        operations += after->done[i];
    double garbage = (double)((after->retired - after->freed) - (before->retired - before->freed));
    if (operations == 0 || after->freed != before->freed)
        return;
    double share = plan->options->ops ? (double)plan->options->ops / (double)operations
                                      : plan->options->seconds / plan->options->warmup;
    refuse_memory(plan, "nodes that are never freed", garbage * share * (double)plan->node_bytes);
}

/* ---- the window ---- */

static void drain(struct stage *stage)
{
    if (strcmp(stage->plan->options->drain, "all") != 0)
        return;
    uint64_t begin = ticks_now();
    run_phase(stage, PHASE_DRAIN);
    stage_trace_mark(stage, TRACE_DRAIN, begin);
}

static void prefill(struct stage *stage, struct result *result)
{
    struct totals now;
    const struct plan *plan = stage->plan;
    double padding = plan->node_bytes ? (double)plan->node_bytes / (double)plan->combo->node_bytes : 1;
    refuse_memory(plan, "the prefilled keys", (double)plan->prefill * (double)plan->combo->key_bytes * padding);
    uint64_t begin = ticks_now(), begin_ns = clock_ns();
    run_phase(stage, PHASE_PREFILL);
    result->prefill_seconds = (double)(clock_ns() - begin_ns) / 1e9;
    stage_trace_mark(stage, TRACE_PREFILL, begin);
    drain(stage);
    stage_add_up(stage, &now);
    if (plan->combo->node_bytes && now.net_keys != plan->prefill)
        stage_broken(result, STATUS_INVARIANT, "prefill wanted %lu keys or elements and inserted %lu", plan->prefill,
                     now.net_keys);
}

static void warm_up(struct stage *stage)
{
    struct totals before, after;
    const struct options *o = stage->plan->options;
    if (o->warmup <= 0)
        return;
    stage_add_up(stage, &before);
    uint64_t begin = ticks_now();
    run_window(stage, o->warmup, 0);
    stage_trace_mark(stage, TRACE_WARM_UP, begin);
    drain(stage);
    stage_add_up(stage, &after);
    refuse_endless_garbage(stage->plan, &before, &after);
}

static void note_operations(const struct tally *tally, struct result *result)
{
    uint64_t ops = 0;
    for (int operation = 0; operation < READERS_OPERATIONS; operation++)
        ops += tally->done[operation];
    result->ops += ops;
    if (ops < result->ops_slowest)
        result->ops_slowest = ops;
    if (ops > result->ops_fastest)
        result->ops_fastest = ops;
}

static void note_times(const struct stage *stage, struct result *result, uint64_t stopped)
{
    uint64_t begin = UINT64_MAX, end = 0;
    result->ops_slowest = UINT64_MAX;
    for (unsigned i = 0; i < stage->plan->threads; i++) {
        const struct tally *tally = &stage->trial->workers[i].tally;
        /* Writers' own ends would make a short window of the readers longer. */
        if (i < stage->plan->readers) {
            note_operations(tally, result);
            begin = tally->begin_ns < begin ? tally->begin_ns : begin;
            end = tally->end_ns > end ? tally->end_ns : end;
        }
        if (stopped && tally->end_ns > stopped && tally->end_ns - stopped > result->stop_lag_ns)
            result->stop_lag_ns = tally->end_ns - stopped;
    }
    const struct trial *trial = stage->trial;
    if (stage->plan->writers)
        result->write_seconds = (double)(load_relaxed(&trial->stopped_ns) - trial->window_ns) / 1e9;
    result->begin_ns = begin;
    result->end_ns = end;
    result->seconds = (double)(end - begin) / 1e9;
    double lag = (double)result->stop_lag_ns / 1e9, wanted = stage->plan->options->seconds;
    if (stopped && (result->seconds > 1.05 * wanted || lag > 0.05 * wanted))
        flag(result, "overrun");
}

static void merge_latencies(const struct stage *stage, struct result *result)
{
    for (int i = 0; i < LATENCIES; i++)
        result->latency[i] = meta_alloc(sizeof(struct histogram));
    for (unsigned i = 0; i < stage->plan->threads; i++) {
        const struct worker *w = &stage->trial->workers[i];
        if (i < stage->plan->readers) {
            histogram_merge(result->latency[LATENCY_SERVICE], w->histogram);
        } else {
            histogram_merge(result->latency[LATENCY_RESPONSE], w->histogram);
            histogram_merge(result->latency[LATENCY_LATE], w->late);
        }
    }
}

/* More than 0.1 % of the paced operations that were due were not done; one of them may always be the last. */
static bool missed(const struct totals *window, enum operation operation)
{
    uint64_t wanted = window->wanted[operation];
    return (double)window->done[operation] < 0.999 * (double)wanted - 1;
}

static void measure(struct stage *stage, struct result *result)
{
    const struct plan *plan = stage->plan;
    struct totals before, after;
    struct clock_calibration calibration;
    struct allocator_counters counters;

    for (unsigned i = 0; i < plan->threads; i++) {
        struct worker *w = &stage->trial->workers[i];
        account_reset_peaks(w->account);
        if (plan->options->sample_every)
            w->histogram = meta_alloc(sizeof(struct histogram));
        if (i >= plan->readers)
            w->late = meta_alloc(sizeof(struct histogram));
    }
    clock_calibrate_start(&calibration);
    stage_add_up(stage, &before);
    stage_trace_start(stage, &calibration);
    result->sampler = sampler_start(plan, stage->trial);
    result->counters_valid = allocator_counters_read(&counters);
    struct host_throttling before_throttling = host_throttling();

    uint64_t stopped = run_window(stage, plan->options->seconds, plan->options->ops);

    struct host_throttling throttling = host_throttling();
    result->counters_valid &= allocator_counters_read(&result->counters);
    result->end = memory_usage();
    result->harness_bytes = meta_used();
    sampler_stop(result->sampler);
    clock_calibrate_finish(&calibration);
    stage_add_up(stage, &after);
    window_difference(&result->window, &before, &after);
    allocator_counters_subtract(&result->counters, &counters);
    result->epoch_steps = plan->combo->epoch(stage->trial) - load_relaxed(&stage->trial->first_epoch);
    result->backlog_start = before.retired - before.freed;
    result->backlog_end = after.retired - after.freed;
    result->ns_per_tick = calibration.ns_per_tick;
    host_throttling_subtract(&throttling, &before_throttling);
    result->throttling = throttling;
    note_times(stage, result, stopped);
    if (plan->options->sample_every)
        merge_latencies(stage, result);
    if (missed(&result->window, OP_REPLACE) || missed(&result->window, OP_APPEND))
        flag(result, "rate_missed");
    if (sampler_late(result->sampler))
        flag(result, "samples_late");
    if (!calibration.agrees)
        flag(result, "clock_disagrees");
    if (result->throttling.throttled_us > 0)
        flag(result, "throttled");
    /* Garbage that only grows: a policy that frees less than is retired, or an epoch that stands still. */
    if (plan->combo->releases && result->backlog_end > result->window.freed &&
        result->backlog_end > 4 * plan->options->batch_size * plan->threads)
        flag(result, "backlog_diverges");
    stage_trace_write(stage, &calibration);
}

void trial_run(const struct plan *plan, struct result *result)
{
    struct stage stage = {.plan = plan, .trial = meta_alloc(sizeof *stage.trial)};
    memset(result, 0, sizeof *result);
    result->baseline = memory_usage();
    stage_set_up_workload(plan, stage.trial);
    stage_set_up_workers(plan, stage.trial);
    stage_trace_set_up(&stage);
    start_threads(&stage);
    run_phase(&stage, PHASE_SETTLE);
    prefill(&stage, result);
    result->prefilled = memory_usage();
    result->peak_valid = memory_reset_peak() == NULL;
    if (result->status == STATUS_OK)
        warm_up(&stage);
    measure(&stage, result);
    join_threads(&stage);
    stage_verify(&stage, result);
    stage_verify_nothing_left(&stage, result);
}
