/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "error.h"
#include "nearest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(struct options, field)
#define WORD(name, field, initial, choices, value, help, kind, column)                                                 \
    {                                                                                                                  \
        name, OPTION_WORD, AT(field), initial, 0, 0, choices, value, help, kind, column, false                         \
    }
#define COUNT(name, field, initial, least, most, help, kind, column)                                                   \
    {                                                                                                                  \
        name, OPTION_COUNT, AT(field), initial, least, most, NULL, "N", help, kind, column, false                      \
    }
#define NUMBER(name, field, initial, least, most, value, help, kind, column)                                           \
    {                                                                                                                  \
        name, OPTION_NUMBER, AT(field), initial, least, most, NULL, value, help, kind, column, false                   \
    }
#define FLAG(name, field, help, column)                                                                                \
    {                                                                                                                  \
        name, OPTION_FLAG, AT(field), "no", 0, 0, "yes|no", NULL, help, NULL, column, true                             \
    }

/* Kinds of structures that an option is for. */
#define ANY   NULL
#define SET   "set"
#define BLOCK "block"

static const double any_count = 9e15; /* exact in a double, and below SET_KEY_LIMIT of set.h */

const struct option option_table[] = {
    WORD("structure", structure, "olc_bptree", NULL, "NAME", "concurrent structure, see --list", ANY, true),
    WORD("reclaimer", reclaimer, "ebr", NULL, "NAME", "safe memory reclamation scheme, see --list", ANY, true),
    WORD("policy", policy, "batch", NULL, "NAME",
         "what happens to safe nodes: batch, pooled, amortized[:K] (K frees an operation)", ANY, true),
    WORD("allocator", allocator, "glibc", NULL, "NAME",
         "malloc under test, see --list=allocators, or the path of a shared object", ANY, true),
    WORD("threads", threads, "1", NULL, "N", "workers: a number, core, socket, all, or 2x, 3x.. all", SET, false),
    WORD("readers", readers, "1", NULL, "N", "threads that scan a block, in the words of --threads", BLOCK, false),
    COUNT("writers", writers, "1", 1, 65536, "threads that replace its elements; with rates of 0, none", BLOCK, false),
    NUMBER("write-rate", write_rate, "500", 0, 1e9, "RATE", "elements to replace a second, by all writers; 0: none",
           BLOCK, true),
    NUMBER("append-rate", append_rate, "0", 0, 1e9, "RATE", "elements to append a second", BLOCK, true),
    COUNT("block", block, "16384", 1, any_count, "elements of the block before the window", BLOCK, true),
    WORD("yield", yield, "scan", "scan|none", "WHEN", "readers give the processor away after each scan, or never",
         BLOCK, true),
    NUMBER("seconds", seconds, "1", 0.001, 86400, "S", "length of the window; not with --ops", ANY, true),
    COUNT("ops", ops, "0", 0, any_count, "operations in all, in equal shares, instead of a time; 0: --seconds counts",
          ANY, true),
    NUMBER("warmup", warmup, "0.2", 0, 86400, "S", "seconds of the same work before the window", ANY, true),
    COUNT("keys", keys, "1000000", 1, any_count, "keys are 0 .. N-1", SET, true),
    NUMBER("insert", insert, "0", 0, 100, "%", "percent of operations that insert", SET, true),
    NUMBER("remove", remove, "0", 0, 100, "%", "percent that remove", SET, true),
    NUMBER("scan", scan, "0", 0, 100, "%", "percent that scan a range; the rest are lookups", SET, true),
    COUNT("scan-length", scan_length, "100", 1, 1e9, "pairs that a scan reads", SET, true),
    WORD("prefill", prefill, "half", NULL, "N", "distinct keys before the window: a number, half, all or none", SET,
         false),
    COUNT("prefill-threads", prefill_threads, "0", 0, 65536, "workers that prefill; 0: all of them", SET, false),
    WORD("drain", drain, "all", "all|none", "WHEN",
         "empty the limbo after prefill and after warm-up, or leave the garbage to the window", ANY, true),
    WORD("distribution", distribution, "uniform", NULL, "LAW", "of the keys: uniform, zipf:THETA, sequential", SET,
         true),
    WORD("pin", pin, "fill", NULL, "ORDER", "threads to units: fill, cores, scatter, none or list:0,2-5", ANY, true),
    FLAG("oversubscribe", oversubscribe, "allow more threads than units", false),
    WORD("membind", membind, "none", NULL, "POLICY", "memory over NUMA nodes: interleave, local, none", ANY, false),
    WORD("rwlock-kind", rwlock_kind, "prefer-reader", "prefer-reader|prefer-writer", "KIND",
         "of structures behind a pthread_rwlock", ANY, true),
    COUNT("batch-size", batch_size, "1024", 1, 1e9, "retires between a thread's attempts to reclaim", ANY, true),
    COUNT("epoch-frequency", epoch_frequency, "10", 1, 1e9, "operations between looks at one other thread (debra)", ANY,
          true),
    COUNT("token-check-every", token_check_every, "100", 1, 1e9,
          "nodes freed between looks for the token (token_periodic)", ANY, true),
    COUNT("pad-nodes", pad_nodes, "0", 0, 65536,
          "allocate nodes of less than N bytes with N, to compare schemes in one size class", ANY, true),
    WORD("fence", fence, "auto", "auto|membarrier|full", "KIND",
         "how announcements are ordered; auto: membarrier where it works", ANY, false),
    COUNT("sample-every", sample_every, "1024", 0, 1e9, "operations per timed operation; 0: no latencies", SET, true),
    COUNT("seed", seed, "1", 0, any_count, "of keys, mix and prefill order", ANY, true),
    COUNT("repeat-index", repeat_index, "0", 0, 1e6, "number of this repeat; changes the random streams", ANY, true),
    FLAG("time-free", time_free, "measure the time inside free (instrumented binary)", true),
    WORD("trace", trace, "", NULL, "FILE", "write a timeline of frees and epochs (instrumented binary)", ANY, true),
    COUNT("trace-threshold", trace_threshold, "0", 0, 1e12,
          "ns from which a single free is an event of the trace; 0: single frees are not timed", ANY, true),
    COUNT("trace-events", trace_events, "100000", 1, 1e9, "events kept per thread", ANY, true),
    WORD("samples", samples, "", NULL, "FILE",
         "append to FILE what memory, garbage and progress were during the window", ANY, true),
    COUNT("sample-hz", sample_hz, "20", 1, 100, "samples a second for --samples", ANY, true),
    WORD("csv", csv, "", NULL, "FILE", "append one row to FILE; -: print header and row", ANY, false),
    FLAG("unsound", unsound, "run a combination that --list refuses; the row says sound=0", false),
    FLAG("force", force, "run although the projected memory does not fit", false),
    WORD("topology", topology, "", NULL, "MACHINE",
         "with --plan-pinning: an hwloc description or XML file instead of this machine", ANY, false),
    FLAG("plan-pinning", plan_pinning, "print which thread goes where, run nothing", false),
    FLAG("check", check, "validate everything, print header and the row's options, run nothing", false),
    {"list", OPTION_WORD, AT(list), "", 0, 0, "text|csv|allocators", "FORM",
     "print every combination (text, csv), or the allocators", ANY, false, true},
    FLAG("version", version, "print version, commit, compiler and target", false),
    FLAG("help", help, "print this", false),
};

const size_t option_count = sizeof option_table / sizeof *option_table;

static bool given[sizeof option_table / sizeof *option_table];

static const struct option *find(const char *name, size_t length)
{
    const char *known[sizeof option_table / sizeof *option_table];
    for (size_t i = 0; i < option_count; i++) {
        known[i] = option_table[i].name;
        if (strlen(known[i]) == length && strncmp(known[i], name, length) == 0)
            return &option_table[i];
    }
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%.*s", (int)length, name);
    fail(STATUS_USAGE, "wanted an option, found '--%s': do you mean --%s? (--help lists all)", wanted,
         nearest_word(wanted, known, option_count));
}

bool option_given(const char *name)
{
    return given[find(name, strlen(name)) - option_table];
}

void options_check_kind(const char *kind)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *o = &option_table[i];
        if (given[i] && o->kind && strcmp(o->kind, kind) != 0)
            fail(STATUS_USAGE, "wanted a structure of kind %s for --%s, found one of kind %s: leave the option out",
                 o->kind, o->name, kind);
    }
}

/* 1000000, 1e6, 1M, 64k. Only whole numbers. */
static uint64_t parse_count(const struct option *option, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    double scale = *end == 'k' ? 1e3 : *end == 'M' ? 1e6 : *end == 'G' ? 1e9 : 1;
    if (scale > 1)
        end++;
    value *= scale;
    if (end == text || *end || !(value >= option->least && value <= option->most) || value != floor(value))
        fail(STATUS_USAGE, "wanted --%s as a whole number from %.0f to %.0f, found '%s': see --help", option->name,
             option->least, option->most, text);
    return (uint64_t)value;
}

static double parse_number(const struct option *option, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= option->least && value <= option->most))
        fail(STATUS_USAGE, "wanted --%s as a number from %g to %g, found '%s': see --help", option->name, option->least,
             option->most, text);
    return value + 0.0; /* not -0 */
}

static void check_choice(const struct option *option, const char *text)
{
    if (!option->choices)
        return;
    size_t length = strlen(text);
    for (const char *at = option->choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (length && strncmp(at, text, length) == 0 && (at[length] == '|' || !at[length]))
            return;
    fail(STATUS_USAGE, "wanted --%s as one of %s, found '%s': see --help", option->name, option->choices, text);
}

static void set(struct options *options, const struct option *option, const char *text)
{
    char *field = (char *)options + option->offset;
    switch (option->type) {
    case OPTION_COUNT:
        *(uint64_t *)field = parse_count(option, text);
        break;
    case OPTION_NUMBER:
        *(double *)field = parse_number(option, text);
        break;
    case OPTION_FLAG:
        check_choice(option, text);
        *(bool *)field = strcmp(text, "yes") == 0;
        break;
    default:
        if (*text)
            check_choice(option, text);
        *(const char **)field = text;
    }
}

void options_parse(struct options *options, int argc, char **argv)
{
    for (size_t i = 0; i < option_count; i++)
        set(options, &option_table[i], option_table[i].initial);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0)
            fail(STATUS_USAGE, "wanted --OPTION=VALUE, found '%s': see --help", argv[i]);
        const char *name = argv[i] + 2, *equals = strchr(name, '=');
        const struct option *option = find(name, equals ? (size_t)(equals - name) : strlen(name));
        if (given[option - option_table])
            fail(STATUS_USAGE, "wanted --%s once, found it twice: leave one out", option->name);
        given[option - option_table] = true;
        const char *text = equals                        ? equals + 1
                           : option->type == OPTION_FLAG ? "yes"
                           : option->value_optional      ? "text"
                                                         : argv[++i];
        if (!text || (!*text && option->type == OPTION_WORD))
            fail(STATUS_USAGE, "wanted a value behind --%s, found none: --%s=%s", option->name, option->name,
                 option->value_name);
        set(options, option, text);
    }
}

void option_print(const struct option *option, const struct options *options, char *text, size_t size)
{
    const char *field = (const char *)options + option->offset;
    switch (option->type) {
    case OPTION_COUNT:
        snprintf(text, size, "%lu", *(const uint64_t *)field);
        break;
    case OPTION_NUMBER:
        snprintf(text, size, "%.15g", *(const double *)field);
        break;
    case OPTION_FLAG:
        snprintf(text, size, "%d", *(const bool *)field);
        break;
    default:
        snprintf(text, size, "%s", *(const char *const *)field);
    }
}

void options_help(FILE *out)
{
    fputs("reclaimbench: one trial of a concurrent structure under a memory reclaimer and an allocator.\n"
          "Counts may be written 1e6, 64k, 10M. Flags take =yes or =no.\n\n",
          out);
    for (size_t i = 0; i < option_count; i++) {
        const struct option *o = &option_table[i];
        char left[64];
        snprintf(left, sizeof left, "--%s%s%s%s", o->name,
                 !o->value_name      ? ""
                 : o->value_optional ? "[="
                                     : "=",
                 o->value_name ? o->value_name : "", o->value_name && o->value_optional ? "]" : "");
        fprintf(out, "  %-24s %s", left, o->help);
        if (o->choices && o->type != OPTION_FLAG)
            fprintf(out, " (%s)", o->choices);
        if (o->kind)
            fprintf(out, " (%s only)", o->kind);
        if (*o->initial && o->type != OPTION_FLAG)
            fprintf(out, " [%s]", o->initial);
        fputc('\n', out);
    }
}
