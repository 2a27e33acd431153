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

struct trace_ring {
    size_t room, used;
    uint64_t dropped;
    uint64_t free_begin, batch_begin, batch_nodes;
    struct event *events;
};

static const char *const names[TRACE_EVENTS] = {"batch_free", "long_free", "epoch", "garbage", "token", "window"};

/* Written while the workers are parked; the barrier hands it over. */
static bool started;
static uint64_t long_free = UINT64_MAX;

struct trace_ring *trace_ring_new(size_t events)
{
    struct trace_ring *ring = meta_alloc(sizeof *ring);
    /* One more: the driver's own mark must never be the one that is dropped. */
    ring->room = events;
    ring->events = meta_alloc((events + 1) * sizeof *ring->events);
    return ring;
}

void trace_start(uint64_t long_free_ticks)
{
    long_free = long_free_ticks;
    started = true;
}

void trace_record(struct trace_ring *ring, enum trace_event event, uint64_t begin, uint64_t duration, uint64_t value)
{
    if (!started)
        return;
    if (ring->used >= ring->room + (event == TRACE_WINDOW)) {
        ring->dropped++;
        return;
    }
    ring->events[ring->used++] = (struct event){begin, duration, value, event};
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

static void write_events(FILE *file, const struct trace_file *t)
{
    uint64_t dropped = 0, events = 0;
    for (unsigned i = 0; i < t->threads; i++) {
        dropped += t->rings[i]->dropped;
        events += t->rings[i]->used;
    }
    fprintf(file,
            "# reclaimbench trace version=1 threads=%u events=%lu dropped=%lu long_free_threshold_ns=%lu\n"
            "# thread begin_ns duration_ns event value\n",
            t->threads, events, dropped, t->threshold_ns);
    for (unsigned i = 0; i < t->threads; i++)
        for (size_t k = 0; k < t->rings[i]->used; k++) {
            const struct event *e = &t->rings[i]->events[k];
            fprintf(file, "%u %ld %ld %s %lu\n", i, in_ns(e->begin - t->origin_ticks, t->ns_per_tick),
                    in_ns(e->duration, t->ns_per_tick), names[e->event], e->value);
        }
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

void trace_free_begin(struct account *a)
{
    if (a->trace)
        a->trace->free_begin = ticks_now();
}

void trace_free_end(struct account *a)
{
    if (!a->trace)
        return;
    uint64_t duration = ticks_now() - a->trace->free_begin;
    a->free_ticks += duration;
    if (duration >= long_free)
        trace_record(a->trace, TRACE_LONG_FREE, a->trace->free_begin, duration, 0);
}

void trace_batch_begin(struct account *a, uint64_t nodes)
{
    if (!a->trace)
        return;
    a->trace->batch_begin = ticks_now();
    a->trace->batch_nodes = nodes;
}

void trace_batch_end(struct account *a)
{
    if (a->trace)
        trace_record(a->trace, TRACE_BATCH_FREE, a->trace->batch_begin, ticks_now() - a->trace->batch_begin,
                     a->trace->batch_nodes);
}

void trace_instant(struct account *a, enum trace_event event, uint64_t value)
{
    if (a->trace)
        trace_record(a->trace, event, ticks_now(), 0, value);
}

#endif
