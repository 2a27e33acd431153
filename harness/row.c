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

static void put_count_if(struct row *row, const char *name, bool available, uint64_t value)
{
    put_name(row, name);
    if (available)
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
        if (option->kind && strcmp(option->kind, plan->combo->kind) != 0)
            put_text(row, option->name, "");
        else if (strcmp(option->name, "policy") == 0)
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
    bool block = strcmp(plan->combo->kind, "block") == 0;
    put_count(row, "threads", plan->threads);
    put_count_if(row, "readers", block, plan->readers);
    put_count_if(row, "writers", block, plan->writers);
    put_count_if(row, "prefill", !block, plan->prefill);
    put_count_if(row, "prefill_threads", !block, plan->prefill_threads);
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

static void put_operations(struct row *row, const struct plan *plan, const struct result *r)
{
    bool block = strcmp(plan->combo->kind, "block") == 0;
    const struct totals *w = &r->window;
    METRIC(row, "prefill_s", r->prefill_seconds);
    METRIC(row, "seconds", r->seconds);
    METRIC(row, "ops", r->ops);
    METRIC(row, "ops_per_s", r->seconds > 0 ? (double)r->ops / r->seconds : 0);
    METRIC(row, "ops_slowest_thread", r->ops_slowest);
    METRIC(row, "ops_fastest_thread", r->ops_fastest);
    metric(row, "finds", !block, (double)w->done[OP_FIND]);
    metric(row, "finds_hit", !block, (double)w->succeeded[OP_FIND]);
    metric(row, "inserts", !block, (double)w->done[OP_INSERT]);
    metric(row, "inserts_done", !block, (double)w->succeeded[OP_INSERT]);
    metric(row, "removes", !block, (double)w->done[OP_REMOVE]);
    metric(row, "removes_done", !block, (double)w->succeeded[OP_REMOVE]);
    METRIC(row, "scans", w->done[OP_SCAN]);
    /* A block that has grown was longer with each append. */
    metric(row, "scanned_keys", !block || r->census.keys == plan->prefill, (double)w->succeeded[OP_SCAN]);
    METRIC(row, "restarts", w->restarts);
    METRIC(row, "final_keys", r->census.keys);
    METRIC(row, "final_nodes", r->census.nodes);
    METRIC(row, "height", r->census.height);
}

/* Readers and writers of a block, each by themselves. */
static void put_block(struct row *row, const struct plan *plan, const struct result *r)
{
    const struct totals *w = &r->window;
    bool block = strcmp(plan->combo->kind, "block") == 0;
    double write_seconds = r->write_seconds;
    metric(row, "reads_per_s", block, r->seconds > 0 ? (double)r->ops / r->seconds : 0);
    metric(row, "write_s", block && plan->writers, write_seconds);
    metric(row, "writes", block, (double)w->done[OP_REPLACE]);
    metric(row, "writes_wanted", block, (double)w->wanted[OP_REPLACE]);
    metric(row, "writes_per_s", block, plan->writers ? (double)w->done[OP_REPLACE] / write_seconds : 0);
    metric(row, "appends", block, (double)w->done[OP_APPEND]);
    metric(row, "appends_wanted", block, (double)w->wanted[OP_APPEND]);
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
    uint64_t ops = r->ops + w->done[OP_REPLACE] + w->done[OP_APPEND];
    METRIC(row, "frees_per_op", ops ? (double)w->freed / (double)ops : 0);
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

/* A column for each percentile, %s standing for "p50" and so on. */
static void put_percentiles(struct row *row, const char *form, const struct histogram *h, double ns_per_unit)
{
    static const struct {
        const char *name;
        double fraction;
    } percentiles[] = {{"p50", 0.5},  {"p75", 0.75},   {"p90", 0.9},      {"p95", 0.95},
                       {"p99", 0.99}, {"p999", 0.999}, {"p9999", 0.9999}, {"max", 1}};
    for (size_t i = 0; i < sizeof percentiles / sizeof *percentiles; i++) {
        char name[64];
        bool available = h && h->count;
        double value = available ? (double)histogram_percentile(h, percentiles[i].fraction) : 0;
        snprintf(name, sizeof name, form, percentiles[i].name);
        metric(row, name, available, value * ns_per_unit);
    }
}

static void put_latency(struct row *row, const struct result *r)
{
    const struct histogram *service = r->latency[LATENCY_SERVICE];
    METRIC(row, "latency_samples", service ? service->count : 0);
    put_percentiles(row, "%s_ns", service, r->ns_per_tick);
    put_percentiles(row, "write_%s_ns", r->latency[LATENCY_RESPONSE], 1);
    put_percentiles(row, "write_late_%s_ns", r->latency[LATENCY_LATE], 1);
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
    put_operations(row, plan, r);
    put_block(row, plan, r);
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

static void summarise_latency(const char *what, const char *kind, const struct histogram *h, double ns_per_unit)
{
    if (h && h->count)
        printf("  %-8s p50 %.0f ns, p99 %.0f ns, max %.0f ns (%s of %lu samples)\n", what,
               (double)histogram_percentile(h, 0.5) * ns_per_unit, (double)histogram_percentile(h, 0.99) * ns_per_unit,
               (double)h->max * ns_per_unit, kind, h->count);
}

static void summarise_set(const struct plan *plan, const struct result *r)
{
    const struct totals *w = &r->window;
    printf("%u thread%s: %.3f M ops/s\n", plan->threads, plan->threads == 1 ? "" : "s",
           r->seconds > 0 ? (double)r->ops / r->seconds / 1e6 : 0);
    printf("  window   %.3f s, %lu operations (%lu finds, %lu inserts, %lu removes, %lu scans), %lu restarts\n",
           r->seconds, r->ops, w->done[OP_FIND], w->done[OP_INSERT], w->done[OP_REMOVE], w->done[OP_SCAN], w->restarts);
}

static void summarise_block(const struct plan *plan, const struct result *r)
{
    const struct totals *w = &r->window;
    printf("%u reader%s: %.3f k scans/s\n", plan->readers, plan->readers == 1 ? "" : "s",
           r->seconds > 0 ? (double)r->ops / r->seconds / 1e3 : 0);
    printf("  window   %.3f s, %lu scans of %lu elements, %lu of %lu writes, %lu of %lu appends\n", r->seconds, r->ops,
           plan->prefill, w->done[OP_REPLACE], w->wanted[OP_REPLACE], w->done[OP_APPEND], w->wanted[OP_APPEND]);
}

void row_summary(const struct plan *plan, const struct result *r)
{
    const struct totals *w = &r->window;
    printf("%s x %s x %s under %s %s, ", plan->combo->structure, plan->combo->reclaimer, plan->policy,
           plan->options->allocator, plan->allocator->version);
    (strcmp(plan->combo->kind, "block") == 0 ? summarise_block : summarise_set)(plan, r);
    printf("  nodes    %lu retired, %lu freed, backlog %lu (peak %lu), %lu epochs\n", w->retired, w->freed,
           r->backlog_end, w->backlog_peak, r->epoch_steps);
    summarise_latency("latency", "service time", r->latency[LATENCY_SERVICE], r->ns_per_tick);
    summarise_latency("writes", "response time", r->latency[LATENCY_RESPONSE], 1);
    if (r->peak_valid && r->end.peak >= 0)
        printf("  memory   %lld MB after prefill, peak %lld MB\n", r->prefilled.resident >> 20, r->end.peak >> 20);
    if (*r->flags)
        printf("  doubtful %s\n", r->flags);
}
