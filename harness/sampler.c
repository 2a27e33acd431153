/* SPDX-License-Identifier: MIT */
#include "sampler.h"

#include "atomics.h"
#include "clock.h"
#include "csv_file.h"
#include "meta.h"
#include "row.h"
#include "sleeper.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sample {
    uint64_t at_ns, late_ns;
    uint64_t ops, backlog, garbage, epoch;
    long long resident; /* -1: the kernel does not tell */
};

struct sampler {
    line_pair_align struct trial *trial;
    struct published *published; /* of each worker */
    pthread_t thread;
    struct sleeper sleeper;
    int statm; /* /proc/self/statm, or -1 */
    long page_bytes;
    uint64_t period_ns;
    size_t room, taken, late, missed;
    struct sample *samples;
};

/* A window of --ops has no known end: what then does not fit is missed, and the row's flag says so. */
static const size_t room_for_ops = 1 << 20;

/* A node is retired before it is released before it is freed. Stored in this order, with release (1), and loaded in the
 * opposite one, with acquire (2): whoever sees a node freed sees it retired, and no difference is ever negative. */
void sampler_publish(const struct worker *w, uint64_t ops)
{
    struct published *p = w->published;
    store_relaxed(&p->ops, ops);
    store_relaxed(&p->retired, w->account->retired);
    store_release(&p->released, w->account->released); /* (1) */
    store_release(&p->freed, w->account->freed);       /* (1) */
}

/* One page table walk is what /proc/self/smaps_rollup would cost; statm is a few counters. */
static long long resident(const struct sampler *s)
{
    char text[128];
    ssize_t length = s->statm >= 0 ? pread(s->statm, text, sizeof text - 1, 0) : -1;
    if (length <= 0)
        return -1;
    text[length] = 0;
    const char *second = strchr(text, ' ');
    return second ? strtoll(second, NULL, 10) * s->page_bytes : -1;
}

static void take(struct sampler *s, uint64_t due_ns)
{
    struct sample sample = {.at_ns = clock_ns()};
    for (unsigned i = 0; i < s->trial->smr_parameters.threads; i++) {
        struct published *p = &s->published[i];
        uint64_t freed = load_acquire(&p->freed), released = load_acquire(&p->released); /* (2) */
        uint64_t retired = load_relaxed(&p->retired);
        sample.ops += load_relaxed(&p->ops);
        sample.backlog += retired - freed;
        sample.garbage += retired - released;
    }
    sample.late_ns = sample.at_ns - due_ns;
    sample.epoch = s->trial->combo->epoch(s->trial);
    sample.resident = resident(s);
    s->late += sample.late_ns > s->period_ns / 2;
    if (s->taken < s->room)
        s->samples[s->taken++] = sample;
    else
        s->missed++;
}

static void *sampler_main(void *argument)
{
    struct sampler *s = argument;
    uint64_t due = clock_ns() + s->period_ns;
    while (sleeper_until(&s->sleeper, due)) {
        take(s, due);
        /* Moments that have passed meanwhile are left out, so that the next ones are on time. */
        uint64_t passed = (clock_ns() - due) / s->period_ns;
        s->missed += passed;
        due += (passed + 1) * s->period_ns;
    }
    return NULL;
}

static void start_thread(struct sampler *s, const struct placement *placement)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    placement_helper_attributes(placement, &attributes);
    int error = pthread_create(&s->thread, &attributes, sampler_main, s);
    if (error)
        fail(error == EINVAL ? STATUS_BIND_FAILED : STATUS_OOM,
             "wanted a thread for --samples, it could not start: '%s': leave --samples out or raise `ulimit -u`",
             strerror(error));
    pthread_attr_destroy(&attributes);
}

struct sampler *sampler_start(const struct plan *plan, struct trial *trial)
{
    const struct options *o = plan->options;
    if (!*o->samples)
        return NULL;
    struct sampler *s = meta_alloc(sizeof *s);
    s->trial = trial;
    s->period_ns = 1000000000 / o->sample_hz;
    s->room = o->ops ? room_for_ops : (size_t)((o->seconds + 10) * (double)o->sample_hz);
    s->samples = meta_alloc(s->room * sizeof *s->samples);
    s->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    s->page_bytes = sysconf(_SC_PAGESIZE);
    s->published = meta_alloc(plan->threads * sizeof *s->published);
    for (unsigned i = 0; i < plan->threads; i++) {
        trial->workers[i].published = &s->published[i];
        sampler_publish(&trial->workers[i], 0);
    }
    sleeper_init(&s->sleeper);
    start_thread(s, plan->placement);
    return s;
}

void sampler_stop(struct sampler *s)
{
    if (!s)
        return;
    sleeper_stop(&s->sleeper);
    pthread_join(s->thread, NULL);
    if (s->statm >= 0)
        close(s->statm);
}

bool sampler_late(const struct sampler *s)
{
    return s && (s->late + s->missed) * 20 > s->taken + s->missed;
}

/* ---- the file ---- */

static char *header_line(const char *identity)
{
    static const char columns[] = ",t_s,late_s,ops,rss_bytes,backlog,garbage,epochs\n";
    size_t size = strlen(identity) + sizeof columns;
    char *header = malloc(size);
    if (!header)
        fail(STATUS_OOM, "wanted memory for the samples' header, found '%s': free some", strerror(errno));
    snprintf(header, size, "%s%s", identity, columns);
    return header;
}

void sampler_check(const struct plan *plan)
{
    const struct options *o = plan->options;
    char *names, *values;
    if (!*o->samples)
        return;
    if (o->sample_every == 0)
        fail(STATUS_USAGE, "wanted --samples with --sample-every of at least 1, found 0: workers publish what they did "
                           "with every timed operation");
    if (strcmp(o->samples, "-") == 0 || strcmp(o->samples, o->csv) == 0)
        fail(STATUS_USAGE, "wanted --samples=FILE with a file of its own, found '%s': name another", o->samples);
    row_identity(plan, &names, &values);
    char *header = header_line(names);
    csv_file_check(o->samples, header);
    free(header);
    free(names);
    free(values);
}

static void put_sample(FILE *lines, const struct sampler *s, const struct sample *sample, uint64_t begin_ns)
{
    uint64_t first = load_relaxed(&s->trial->first_epoch);
    fprintf(lines, ",%.6f,%.6f,%lu,", (double)(sample->at_ns - begin_ns) / 1e9, (double)sample->late_ns / 1e9,
            sample->ops);
    if (sample->resident >= 0)
        fprintf(lines, "%lld", sample->resident);
    fprintf(lines, ",%lu,%lu,%lu\n", sample->backlog, sample->garbage,
            sample->epoch > first ? sample->epoch - first : 0);
}

void sampler_write(const struct plan *plan, const struct result *result)
{
    const struct sampler *s = result->sampler;
    char *names, *values, *text;
    size_t size;
    if (!s)
        return;
    FILE *lines = open_memstream(&text, &size);
    if (!lines)
        fail(STATUS_OOM, "wanted memory for the samples, found '%s': free some", strerror(errno));
    row_identity(plan, &names, &values);
    for (size_t i = 0; i < s->taken; i++) {
        const struct sample *sample = &s->samples[i];
        if (sample->at_ns < result->begin_ns || sample->at_ns > result->end_ns)
            continue;
        fputs(values, lines);
        put_sample(lines, s, sample, result->begin_ns);
    }
    if (fclose(lines) != 0)
        fail(STATUS_OOM, "wanted memory for the samples, found '%s': free some", strerror(errno));
    char *header = header_line(names);
    csv_file_append(plan->options->samples, header, text);
    free(header);
    free(names);
    free(values);
    free(text);
}
