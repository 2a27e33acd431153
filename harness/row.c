/* SPDX-License-Identifier: MIT */
#include "row.h"

#include "build_info.h"
#include "clock.h"
#include "csv_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Header and row grow side by side, so that they cannot come apart. */
struct row {
    FILE *header, *values;
    bool measured; /* false: metrics stay empty */
    bool first;
};

static void put_name(struct row *row, const char *name)
{
    if (!row->first)
        fputc(',', row->header), fputc(',', row->values);
    row->first = false;
    for (; *name; name++)
        fputc(*name == '-' ? '_' : *name, row->header);
}

static void put_text(struct row *row, const char *name, const char *text)
{
    put_name(row, name);
    if (!strpbrk(text, ",\"\n")) {
        fputs(text, row->values);
        return;
    }
    fputc('"', row->values);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', row->values);
        fputc(*text == '\n' ? ' ' : *text, row->values);
    }
    fputc('"', row->values);
}

static void put_count(struct row *row, const char *name, uint64_t value)
{
    put_name(row, name);
    fprintf(row->values, "%lu", value);
}

static void metric(struct row *row, const char *name, bool available, double value)
{
    put_name(row, name);
    if (row->measured && available)
        fprintf(row->values, "%.*g", value == (double)(long long)value ? 17 : 7, value);
}

#define METRIC(row, name, value) metric(row, name, true, (double)(value))

static void put_options(struct row *row, const struct plan *plan)
{
    const struct options *o = plan->options;
    char text[4096];
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        if (!option->column)
            continue;
        option_print(option, o, text, sizeof text);
        if (strcmp(option->name, "policy") == 0)
            put_text(row, option->name, plan->policy);
        else if (strcmp(option->name, "seconds") == 0) /* the column `seconds` is the measured window */
            put_text(row, "seconds_wanted", o->ops ? "" : text);
        else if (strcmp(option->name, "ops") == 0)
            put_text(row, "ops_wanted", o->ops ? text : "");
        else if (strcmp(option->name, "sample-hz") == 0)
            put_text(row, option->name, *o->samples ? text : "");
        else
            put_text(row, option->name, text);
    }
    put_count(row, "threads", plan->threads);
    put_count(row, "prefill", plan->prefill);
    put_count(row, "prefill_threads", plan->prefill_threads);
    put_count(row, "oversubscribed", placement_oversubscribed(plan->placement));
    put_text(row, "membind", plan->membind);
    put_text(row, "fence", plan->combo->fenced ? plan->fence : "none");
    put_count(row, "sound", plan->combo->refused == NULL);
}

static void put_identity(struct row *row, const struct plan *plan)
{
    const struct allocator_identity *a = plan->allocator;
    size_t size = PLACEMENT_FORMAT_BYTES(plan->threads), facts;
    char *placement = malloc(size);
    placement_format(plan->placement, placement, size);
    put_text(row, "placement", placement);
    free(placement);
    put_count(row, "sockets", placement_sockets(plan->placement));
    put_count(row, "cores", placement_cores(plan->placement));
    put_count(row, "units", placement_units(plan->placement));
    put_count(row, "numa_nodes", placement_nodes(plan->placement));
    put_text(row, "allocator_version", a->version);
    put_text(row, "allocator_path", a->path);
    put_text(row, "allocator_sha256", a->sha256);
    put_text(row, "allocator_build_id", a->build_id);
    put_text(row, "allocator_options", a->options);
    put_count(row, "node_bytes", plan->node_bytes);
    const struct host_fact *fact = host_facts(&facts);
    for (size_t i = 0; i < facts; i++)
        put_text(row, fact[i].name, fact[i].value);
    put_text(row, "clock", clock_ticks_source());
    put_text(row, "commit", build_commit);
    put_text(row, "compiler", build_compiler);
    put_text(row, "march", build_march);
    put_text(row, "build", build_variant);
}

static void put_operations(struct row *row, const struct result *r)
{
    const struct totals *w = &r->window;
    METRIC(row, "prefill_s", r->prefill_seconds);
    METRIC(row, "seconds", r->seconds);
    METRIC(row, "ops", r->ops);
    METRIC(row, "ops_per_s", r->seconds > 0 ? (double)r->ops / r->seconds : 0);
    METRIC(row, "ops_slowest_thread", r->ops_slowest);
    METRIC(row, "ops_fastest_thread", r->ops_fastest);
    METRIC(row, "finds", w->done[OP_FIND]);
    METRIC(row, "finds_hit", w->succeeded[OP_FIND]);
    METRIC(row, "inserts", w->done[OP_INSERT]);
    METRIC(row, "inserts_done", w->succeeded[OP_INSERT]);
    METRIC(row, "removes", w->done[OP_REMOVE]);
    METRIC(row, "removes_done", w->succeeded[OP_REMOVE]);
    METRIC(row, "scans", w->done[OP_SCAN]);
    METRIC(row, "scanned_keys", w->succeeded[OP_SCAN]);
    METRIC(row, "restarts", w->restarts);
    METRIC(row, "final_keys", r->census.keys);
    METRIC(row, "final_nodes", r->census.nodes);
    METRIC(row, "height", r->census.height);
}

static void put_reclamation(struct row *row, const struct result *r, bool timed)
{
    const struct totals *w = &r->window;
    METRIC(row, "allocated", w->allocated);
    METRIC(row, "retired", w->retired);
    METRIC(row, "freed", w->freed);
    METRIC(row, "backlog_start", r->backlog_start);
    METRIC(row, "backlog_end", r->backlog_end);
    METRIC(row, "backlog_peak", w->backlog_peak);
    METRIC(row, "garbage_peak", w->limbo_peak);
    METRIC(row, "frees_per_op", r->ops ? (double)w->freed / (double)r->ops : 0);
    METRIC(row, "reused_nodes", w->reused);
    METRIC(row, "pooled_nodes", w->pooled);
    METRIC(row, "epochs", r->epoch_steps);
    metric(row, "free_ns", timed, (double)w->free_ticks * r->ns_per_tick);
}

static void put_memory(struct row *row, const struct result *r)
{
    metric(row, "rss_baseline_bytes", r->baseline.resident >= 0, (double)r->baseline.resident);
    metric(row, "rss_prefill_bytes", r->prefilled.resident >= 0, (double)r->prefilled.resident);
    metric(row, "rss_peak_bytes", r->peak_valid && r->end.peak >= 0, (double)r->end.peak);
    metric(row, "rss_end_bytes", r->end.resident >= 0, (double)r->end.resident);
    METRIC(row, "harness_bytes", r->harness_bytes);
}

static void put_latency(struct row *row, const struct result *r)
{
    static const struct {
        const char *name;
        double fraction;
    } columns[] = {{"p50_ns", 0.5}, {"p90_ns", 0.9}, {"p99_ns", 0.99}, {"p999_ns", 0.999}, {"max_ns", 1}};
    const struct histogram *h = r->latency;
    METRIC(row, "latency_samples", h ? h->count : 0);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        bool available = h && h->count;
        double ticks = available ? (double)histogram_percentile(h, columns[i].fraction) : 0;
        metric(row, columns[i].name, available, ticks * r->ns_per_tick);
    }
}

static void put_environment(struct row *row, const struct result *r)
{
    const struct allocator_counters *c = &r->counters;
    metric(row, "alloc_flushes", r->counters_valid, (double)c->flushes);
    metric(row, "alloc_lock_ops", r->counters_valid, (double)c->lock_ops);
    metric(row, "alloc_lock_waits", r->counters_valid, (double)c->lock_waits);
    metric(row, "alloc_lock_wait_ns", r->counters_valid, (double)c->lock_wait_ns);
    METRIC(row, "stop_lag_ns", r->stop_lag_ns);
    metric(row, "throttled_periods", r->throttling.periods_throttled >= 0, (double)r->throttling.periods_throttled);
    metric(row, "throttled_us", r->throttling.throttled_us >= 0, (double)r->throttling.throttled_us);
    put_text(row, "flags", row->measured ? r->flags : "");
}

static void fill(struct row *row, const struct plan *plan, const struct result *result)
{
    static const struct result nothing;
    char timestamp[32];
    time_t now = time(NULL);
    strftime(timestamp, sizeof timestamp, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    row->measured = result && result->status == STATUS_OK;
    put_text(row, "status", result ? status_name(result->status) : "");
    put_options(row, plan);
    put_identity(row, plan);
    const struct result *r = row->measured ? result : &nothing;
    put_operations(row, r);
    put_reclamation(row, r, TRACE && plan->options->time_free);
    put_memory(row, r);
    put_latency(row, r);
    put_environment(row, r);
    put_text(row, "timestamp", timestamp);
}

/* A row that grows in two malloced strings, valid once it is closed. */
static void open_row(struct row *row, char **header, char **values)
{
    static size_t sizes[2];
    *row = (struct row){
        .header = open_memstream(header, &sizes[0]),
        .values = open_memstream(values, &sizes[1]),
        .first = true,
    };
    if (!row->header || !row->values)
        fail(STATUS_OOM, "wanted memory for a row, found '%s': free some", strerror(errno));
}

static void close_row(struct row *row, const char *last)
{
    fputs(last, row->header);
    fputs(last, row->values);
    fclose(row->header);
    fclose(row->values);
}

static void format(const struct plan *plan, const struct result *result, char **header, char **values)
{
    struct row row;
    open_row(&row, header, values);
    fill(&row, plan, result);
    close_row(&row, "\n");
}

void row_identity(const struct plan *plan, char **header, char **values)
{
    struct row row;
    open_row(&row, header, values);
    put_options(&row, plan);
    put_text(&row, "commit", build_commit);
    close_row(&row, "");
}

void row_check_file(const struct plan *plan, const char *path)
{
    char *header, *values;
    if (!*path || strcmp(path, "-") == 0)
        return;
    format(plan, NULL, &header, &values);
    csv_file_check(path, header);
    free(header);
    free(values);
}

void row_write(const struct plan *plan, const struct result *result, const char *path)
{
    char *header, *values;
    format(plan, result, &header, &values);
    if (strcmp(path, "-") == 0) {
        fputs(header, stdout);
        fputs(values, stdout);
    } else {
        csv_file_append(path, header, values);
    }
    free(header);
    free(values);
}

void row_summary(const struct plan *plan, const struct result *r)
{
    const struct totals *w = &r->window;
    printf("%s x %s x %s under %s %s, %u thread%s: %.3f M ops/s\n", plan->combo->structure, plan->combo->reclaimer,
           plan->policy, plan->options->allocator, plan->allocator->version, plan->threads,
           plan->threads == 1 ? "" : "s", r->seconds > 0 ? (double)r->ops / r->seconds / 1e6 : 0);
    printf("  window   %.3f s, %lu operations (%lu finds, %lu inserts, %lu removes, %lu scans), %lu restarts\n",
           r->seconds, r->ops, w->done[OP_FIND], w->done[OP_INSERT], w->done[OP_REMOVE], w->done[OP_SCAN], w->restarts);
    printf("  nodes    %lu retired, %lu freed, backlog %lu (peak %lu), %lu epochs\n", w->retired, w->freed,
           r->backlog_end, w->backlog_peak, r->epoch_steps);
    if (r->latency && r->latency->count)
        printf("  latency  p50 %.0f ns, p99 %.0f ns, max %.0f ns (service time of %lu samples)\n",
               (double)histogram_percentile(r->latency, 0.5) * r->ns_per_tick,
               (double)histogram_percentile(r->latency, 0.99) * r->ns_per_tick,
               (double)r->latency->max * r->ns_per_tick, r->latency->count);
    if (r->peak_valid && r->end.peak >= 0)
        printf("  memory   %lld MB after prefill, peak %lld MB\n", r->prefilled.resident >> 20, r->end.peak >> 20);
    if (*r->flags)
        printf("  doubtful %s\n", r->flags);
}
