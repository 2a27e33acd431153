/* SPDX-License-Identifier: MIT */
#include "trace.h"

#include "account.h"
#include "clock.h"
#include "error.h"
#include "meta.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct event {
    uint64_t begin, duration, value;
    enum trace_event event;
};

static uint64_t event_end(const struct event *event)
{
    return event->begin + event->duration;
}

struct trace_ring {
    size_t room, used;
    uint64_t dropped;
    uint64_t free_begin, batch_begin, freed_before;
    unsigned batch_depth;
    struct event *events;
};

static const char *const names[TRACE_EVENTS] = {"batch_free", "long_free", "epoch", "garbage", "token",
                                                "window",     "prefill",   "drain", "warm_up", "whole_window"};

/* Written while the workers are parked; the barrier hands it over. */
static bool started;
static uint64_t long_free = UINT64_MAX;

struct trace_ring *trace_ring_new(size_t events)
{
    struct trace_ring *ring = meta_alloc(sizeof *ring);
    ring->room = events;
    ring->events = meta_alloc((events + TRACE_MARKS) * sizeof *ring->events);
    return ring;
}

void trace_start(uint64_t long_free_ticks)
{
    long_free = long_free_ticks;
    started = true;
}

void trace_mark(struct trace_ring *ring, enum trace_event event, uint64_t begin_ticks, uint64_t duration)
{
    /* A ring is in the order of ends; what a thread did behind its window is there already. */
    size_t at = ring->used++;
    for (; at && event_end(&ring->events[at - 1]) > begin_ticks + duration; at--)
        ring->events[at] = ring->events[at - 1];
    ring->events[at] = (struct event){begin_ticks, duration, 0, event};
}

/* A trace is written beside its place and moved there when it is whole; what stood there stays until then. Devices and
 * pipes are written in place. Nothing is ever removed but what this process made. */
static bool in_place(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && !S_ISREG(facts.st_mode);
}

static const char *unfinished(const char *path)
{
    static char name[PATH_MAX];
    snprintf(name, sizeof name, "%s.%d.new", path, (int)getpid());
    return name;
}

static _Noreturn void cannot_write(const char *path, int error)
{
    fail(STATUS_USAGE, "wanted to write the trace '%s', found '%s': name a writable file", path, strerror(error));
}

void trace_check_file(const char *path)
{
    struct stat facts;
    if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode))
        cannot_write(path, EISDIR);
    if (in_place(path)) {
        if (access(path, W_OK) != 0)
            cannot_write(path, errno);
        return;
    }
    int fd = open(unfinished(path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        cannot_write(path, errno);
    close(fd);
    unlink(unfinished(path));
}

static int64_t in_ns(uint64_t ticks, double ns_per_tick)
{
    return (int64_t)((double)(int64_t)ticks * ns_per_tick);
}

/* What is left of one thread's ring. Events are recorded when they end, so a ring is in order of ends. */
struct rest {
    const struct event *at, *end;
    int thread;
};

/* Restores the order of a heap whose entry `at` may have grown. */
static void sift_down(struct rest *heap, size_t size, size_t at)
{
    for (;;) {
        size_t least = at, child = 2 * at + 1;
        for (size_t i = child; i < child + 2 && i < size; i++)
            if (event_end(heap[i].at) < event_end(heap[least].at))
                least = i;
        if (least == at)
            return;
        struct rest other = heap[at];
        heap[at] = heap[least];
        heap[least] = other;
        at = least;
    }
}

/* While the trial ran the threshold counted in ticks, by a first estimate of their length; here it is exact. */
static bool below_threshold(const struct trace_file *t, const struct event *e)
{
    return e->event == TRACE_LONG_FREE && in_ns(e->duration, t->ns_per_tick) < (int64_t)t->threshold_ns;
}

static void write_header(FILE *file, const struct trace_file *t)
{
    uint64_t dropped = 0, events = 0;
    int64_t first = 0;
    for (unsigned i = 0; i <= t->threads; i++) {
        const struct trace_ring *ring = t->rings[i];
        dropped += ring->dropped;
        for (size_t k = 0; k < ring->used; k++) {
            int64_t begin = in_ns(ring->events[k].begin - t->origin_ticks, t->ns_per_tick);
            first = begin < first ? begin : first;
            events += !below_threshold(t, &ring->events[k]);
        }
    }
    fprintf(file,
            "# reclaimbench trace version=1 threads=%u events=%lu dropped=%lu long_free_threshold_ns=%lu first_ns=%ld",
            t->threads, events, dropped, t->threshold_ns, first);
    trace_put_word(file, "clock", clock_ticks_source());
    t->identify(file, t->of);
    fputs("\n# thread begin_ns duration_ns event value\n", file);
}

static void write_events(FILE *file, const struct trace_file *t)
{
    struct rest *heap = meta_alloc((t->threads + 1) * sizeof *heap);
    size_t size = 0;
    write_header(file, t);
    for (unsigned i = 0; i <= t->threads; i++) {
        const struct trace_ring *ring = t->rings[i];
        if (ring->used)
            heap[size++] = (struct rest){ring->events, ring->events + ring->used, i < t->threads ? (int)i : -1};
    }
    for (size_t i = size; i-- > 0;)
        sift_down(heap, size, i);
    while (size) {
        const struct event *e = heap[0].at;
        if (!below_threshold(t, e))
            fprintf(file, "%d %ld %ld %s %lu\n", heap[0].thread, in_ns(e->begin - t->origin_ticks, t->ns_per_tick),
                    in_ns(e->duration, t->ns_per_tick), names[e->event], e->value);
        if (++heap[0].at == heap[0].end)
            heap[0] = heap[--size];
        sift_down(heap, size, 0);
    }
}

void trace_put_word(FILE *file, const char *name, const char *value)
{
    fprintf(file, " %s=", name);
    for (const unsigned char *c = (const unsigned char *)value; *c; c++)
        if (*c <= ' ' || *c >= 0x7f || *c == '%' || *c == '=')
            fprintf(file, "%%%02x", *c);
        else
            fputc(*c, file);
}

void trace_write(const struct trace_file *t)
{
    bool moved = !in_place(t->path);
    const char *path = moved ? unfinished(t->path) : t->path;
    FILE *file = fopen(path, "w");
    if (!file)
        cannot_write(t->path, errno);
    write_events(file, t);
    bool lost = ferror(file) != 0;
    if (fclose(file) != 0 || lost || (moved && rename(path, t->path) != 0)) {
        int error = errno;
        if (moved)
            unlink(path);
        cannot_write(t->path, error);
    }
}

#if TRACE

static void record(struct trace_ring *ring, enum trace_event event, uint64_t begin, uint64_t duration, uint64_t value)
{
    if (!started)
        return;
    if (ring->used >= ring->room)
        ring->dropped++;
    else
        ring->events[ring->used++] = (struct event){begin, duration, value, event};
}

void trace_timed_free_begin(struct account *a)
{
    a->trace->free_begin = ticks_now();
}

void trace_timed_free_end(struct account *a)
{
    uint64_t duration = ticks_now() - a->trace->free_begin;
    a->free_ticks += duration;
    if (duration >= long_free)
        record(a->trace, TRACE_LONG_FREE, a->trace->free_begin, duration, 0);
}

void trace_batch_begin(struct account *a)
{
    if (!a->trace || a->trace->batch_depth++ > 0)
        return;
    a->trace->batch_begin = ticks_now();
    a->trace->freed_before = a->freed;
}

void trace_batch_end(struct account *a)
{
    struct trace_ring *ring = a->trace;
    if (ring && --ring->batch_depth == 0)
        record(ring, TRACE_BATCH_FREE, ring->batch_begin, ticks_now() - ring->batch_begin,
               a->freed - ring->freed_before);
}

void trace_instant(struct account *a, enum trace_event event, uint64_t value)
{
    if (a->trace)
        record(a->trace, event, ticks_now(), 0, value);
}

#endif
