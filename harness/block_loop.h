/* SPDX-License-Identifier: MIT */
/* The measured loop for structures of kind `block`, included by combo.c after structure, reclaimer and policy.
 *
 * Readers scan without a pause, every scan timed (two clock reads beside thousands of loads) and its result checked against
 * what was completely written before it began (block.h has the proof). Writers are paced: each write has an intended start,
 * and what was late counts from there, however late it was. Counts rise with each write of a writer. */
#include "loop.h"
#include "schedule.h"

#include <sched.h>

static void loop_prefill(struct worker *w)
{
    uint64_t elements = w->trial->workload.elements;
    if (w->index > 0)
        return;
    smr_online(w->smr);
    ds_fill(w->trial->ds, w->smr);
    smr_offline(w->smr);
    w->net_keys = elements;
    w->net_key_sum = (uint64_t)((unsigned __int128)elements * (elements - 1) / 2);
}

/* ---- readers ---- */

/* The least of the counts that each writer last completed, 0 as long as one has completed none: (2) reads what (1) published
 * after the write. */
inlined uint64_t least_completed(const struct trial *trial)
{
    const struct workload *load = &trial->workload;
    uint64_t least = load->writers ? UINT64_MAX : load->elements - 1;
    for (unsigned i = load->readers; i < load->readers + load->writers; i++) {
        uint64_t completed = load_acquire(&trial->workers[i].completed); /* (2) */
        least = completed < least ? completed : least;
    }
    return least;
}

static noinline void pause_between_scans(struct worker *w)
{
    smr_offline(w->smr);
    sched_yield();
    smr_online(w->smr);
}

/* With a number of scans to do, the last reader that has done its share ends the writers' window. A timed one has been ended
 * by then, and its end must stay what it was. */
static noinline void note_reader_end(struct trial *trial)
{
    if (fetch_add_acq_rel(&trial->reading, -1u) != 1)
        return;
    trial_stop(trial);
}

static noinline void run_reader(struct worker *w)
{
    struct trial *trial = w->trial;
    struct smr_thread *t = w->smr;
    struct tally tally = {0};
    uint64_t left = w->budget;
    tally.begin_ns = clock_ns();
    for (; left && likely(!load_relaxed(&trial->stop)); left--) {
        uint64_t least = least_completed(trial);
        smr_tick(t);
        uint64_t begin = ticks_begin();
        uint64_t most = ds_scan(trial->ds, t);
        uint64_t ticks = ticks_end() - begin;
        if (w->histogram)
            histogram_add(w->histogram, ticks);
        if (unlikely(most < least))
            fail(STATUS_INVARIANT, "a scan found at most %lu, and %lu was completely written before it began", most,
                 least);
        tally.value_sum += most;
        if (w->published)
            sampler_publish(w, w->budget - left + 1);
        if (trial->workload.yield)
            pause_between_scans(w);
    }
    tally.end_ns = clock_ns();
    tally.done[OP_SCAN] = w->budget - left;
    tally.succeeded[OP_SCAN] = tally.done[OP_SCAN] * trial->workload.elements;
    w->tally = tally;
    if (left == 0)
        note_reader_end(trial);
}

/* ---- writers ---- */

#if DS_THREADS != DS_READ_ONLY

/* A writer's counts rise and are above those of the fill. */
inlined uint64_t next_count(struct worker *w)
{
    const struct workload *load = &w->trial->workload;
    return load->elements + w->written++ * load->writers + (w->index - load->readers);
}

/* `elements` as this writer knows it: only the first one appends. */
static void write_once(struct worker *w, enum operation operation, uint64_t elements)
{
    uint64_t count = next_count(w), before = 0;
    smr_tick(w->smr);
#if DS_GROWS
    if (operation == OP_APPEND) {
        ds_append(w->trial->ds, w->smr, count);
        w->net_keys++;
    }
#endif
    if (operation == OP_REPLACE)
        before = ds_replace(w->trial->ds, w->smr, random_below(&w->random, elements), count);
    store_release(&w->completed, count); /* (1) */
    w->net_key_sum += count - before;
}

/* Sleeps until the moment, offline as nobody may wait for it. False: the window has ended. */
static bool wait_for(struct worker *w, uint64_t due_ns)
{
    if (clock_ns() >= due_ns)
        return !load_acquire(&w->trial->stop);
    smr_offline(w->smr);
    bool go = sleeper_until(&w->trial->sleeper, due_ns);
    smr_online(w->smr);
    return go;
}

/* Which operation comes next. Those that are overdue take turns: the one that is further behind would never let the other
 * one come. */
inlined enum operation choose_paced(const struct schedule *schedules, enum operation last)
{
    uint64_t now = clock_ns(), replace = schedule_due(&schedules[0]), append = schedule_due(&schedules[1]);
    if (replace <= now && append <= now)
        return last == OP_REPLACE ? OP_APPEND : OP_REPLACE;
    return append < replace ? OP_APPEND : OP_REPLACE;
}

/* What was due and has not been done has waited so long at least. Beyond a hundred thousand, one stands for several. */
static void note_undone(struct worker *w, const struct schedule *s, uint64_t wanted, uint64_t end_ns)
{
    struct schedule undone = *s;
    uint64_t stride = wanted > s->next ? 1 + (wanted - s->next) / 100000 : 1;
    for (; w->histogram && undone.next < wanted; undone.next += stride) {
        uint64_t due = schedule_due(&undone), waited = due < end_ns ? end_ns - due : 0;
        uint64_t times = wanted - undone.next < stride ? wanted - undone.next : stride;
        histogram_add_many(w->late, waited, times);
        histogram_add_many(w->histogram, waited, times);
    }
}

static void write_until_stopped(struct worker *w, struct schedule *schedules, struct tally *tally)
{
    const struct workload *load = &w->trial->workload;
    for (enum operation operation = OP_APPEND;;) {
        operation = choose_paced(schedules, operation);
        struct schedule *schedule = &schedules[operation == OP_APPEND];
        uint64_t due = schedule_due(schedule);
        if (!wait_for(w, due))
            break;
        uint64_t begin = clock_ns();
        write_once(w, operation, load->elements + w->appended);
        uint64_t end = clock_ns();
        w->appended += operation == OP_APPEND;
        schedule->next++;
        tally->done[operation]++;
        if (w->histogram) {
            histogram_add(w->late, begin - due);
            histogram_add(w->histogram, end - due);
        }
        if (w->published)
            sampler_publish(w, 0);
    }
}

static noinline void run_writer(struct worker *w)
{
    const struct workload *load = &w->trial->workload;
    struct tally tally = {.begin_ns = clock_ns()};
    unsigned writer = w->index - load->readers;
    struct schedule schedules[] = {
        schedule_of(load->write_rate, load->writers, writer, w->trial->window_ns),
        schedule_of(writer == 0 ? load->append_rate : 0, 1, 0, w->trial->window_ns),
    };
    sleeper_be_punctual();
    write_until_stopped(w, schedules, &tally);
    tally.end_ns = clock_ns();
    for (int i = 0; i < 2; i++) {
        uint64_t stopped = load_acquire(&w->trial->stopped_ns), wanted = schedule_wanted(&schedules[i], stopped);
        note_undone(w, &schedules[i], wanted, stopped);
        tally.wanted[i ? OP_APPEND : OP_REPLACE] = wanted;
    }
    w->tally = tally;
}
#endif

static noinline void loop_window(struct worker *w)
{
    smr_online(w->smr);
    note_last_begin(w->trial);
#if DS_THREADS != DS_READ_ONLY
    if (w->index >= w->trial->workload.readers)
        run_writer(w);
    else
#endif
        run_reader(w);
    smr_offline(w->smr);
}
