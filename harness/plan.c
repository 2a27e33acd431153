/* SPDX-License-Identifier: MIT */
#include "plan.h"

#include "backoff.h"
#include "fence.h"
#include "membind.h"
#include "meta.h"
#include "nearest.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool threads_oversubscribed;

/* ---- combinations ---- */

static size_t combo_total(void)
{
    return (size_t)(__stop_combos - __start_combos);
}

typedef const char *(*combo_part)(const struct combo *);

static const char *part_structure(const struct combo *combo)
{
    return combo->structure;
}

static const char *part_reclaimer(const struct combo *combo)
{
    return combo->reclaimer;
}

static const char *part_policy(const struct combo *combo)
{
    return combo->policy;
}

/* Ends the process unless some combination has this name for the part. */
static void check_name(const char *option, const char *name, combo_part part)
{
    const char **known = meta_alloc(combo_total() * sizeof *known);
    size_t n = 0;
    for (const struct combo *const *c = __start_combos; c < __stop_combos; c++) {
        if (strcmp(part(*c), name) == 0)
            return;
        known[n++] = part(*c);
    }
    fail(STATUS_USAGE, "wanted --%s from --list, found '%s': do you mean %s?", option, name,
         nearest_word(name, known, n));
}

static const struct combo *find_combo(const char *structure, const char *reclaimer, const char *policy)
{
    check_name("structure", structure, part_structure);
    check_name("reclaimer", reclaimer, part_reclaimer);
    check_name("policy", policy, part_policy);
    for (const struct combo *const *c = __start_combos; c < __stop_combos; c++)
        if (strcmp((*c)->structure, structure) == 0 && strcmp((*c)->reclaimer, reclaimer) == 0 &&
            strcmp((*c)->policy, policy) == 0)
            return *c;
    fail(STATUS_UNSUPPORTED, "wanted %s x %s x %s, found that this binary was built without it: run make", structure,
         reclaimer, policy);
}

static void check_refusal(const struct combo *combo, bool unsound)
{
    if (!combo->refused || (unsound && combo->built))
        return;
    fail(STATUS_USAGE, "wanted %s x %s x %s, found that %s: choose another%s", combo->structure, combo->reclaimer,
         combo->policy, combo->refused, combo->built ? " or run it as --unsound" : "");
}

void plan_list(const char *form)
{
    static const char *const writers[] = {[DS_ANY] = "many", [DS_ONE_WRITER] = "one", [DS_READ_ONLY] = "none"};
    bool csv = strcmp(form, "csv") == 0;
    if (csv)
        puts("structure,kind,reclaimer,policy,node_bytes,fenced,writers,grows,refused");
    for (const struct combo *const *c = __start_combos; c < __stop_combos; c++) {
        const char *refused = (*c)->refused ? (*c)->refused : "";
        if (csv)
            printf("%s,%s,%s,%s,%zu,%d,%s,%d,\"%s\"\n", (*c)->structure, (*c)->kind, (*c)->reclaimer, (*c)->policy,
                   (*c)->node_bytes, (*c)->fenced, writers[(*c)->threads], (*c)->grows, refused);
        else
            printf("%-20s %-16s %-12s %s%s\n", (*c)->structure, (*c)->reclaimer, (*c)->policy,
                   *refused ? "refused: " : "", refused);
    }
}

/* ---- words ---- */

static void parse_policy(const char *word, char *name, size_t size, unsigned *k)
{
    const char *colon = strchr(word, ':');
    size_t length = colon ? (size_t)(colon - word) : strlen(word);
    *k = 1;
    snprintf(name, size, "%.*s", (int)(length < size ? length : size - 1), word);
    if (!colon)
        return;
    char *end;
    unsigned long value = strtoul(colon + 1, &end, 10);
    /* strtoul takes signs and blanks, and wraps. */
    if (strcmp(name, "amortized") != 0 || !isdigit((unsigned char)colon[1]) || *end || value < 1 || value > 1000000)
        fail(STATUS_USAGE, "wanted --policy=NAME or amortized:K with K from 1 to 1000000, found '%s': see --list",
             word);
    *k = (unsigned)value;
}

static void parse_distribution(const char *word, enum key_law *law, double *theta)
{
    *theta = 0;
    if (strcmp(word, "uniform") == 0) {
        *law = KEYS_UNIFORM;
    } else if (strcmp(word, "sequential") == 0) {
        *law = KEYS_SEQUENTIAL;
    } else {
        char *end = NULL;
        *law = KEYS_ZIPF;
        if (strncmp(word, "zipf:", 5) == 0)
            *theta = strtod(word + 5, &end);
        if (!end || end == word + 5 || *end || !(*theta > 0 && *theta <= 10))
            fail(STATUS_USAGE,
                 "wanted --distribution as uniform, sequential or zipf:THETA with THETA in (0, 10], found '%s': "
                 "for instance zipf:0.99",
                 word);
    }
}

static uint64_t parse_prefill(const char *word, uint64_t keys)
{
    if (strcmp(word, "half") == 0)
        return keys / 2;
    if (strcmp(word, "all") == 0)
        return keys;
    if (strcmp(word, "none") == 0)
        return 0;
    char *end;
    double value = strtod(word, &end);
    value *= *end == 'k' ? 1e3 : *end == 'M' ? 1e6 : *end == 'G' ? 1e9 : 1;
    end += *end == 'k' || *end == 'M' || *end == 'G';
    if (end == word || *end || !(value >= 0 && value <= (double)keys) || value != floor(value))
        fail(STATUS_USAGE,
             "wanted --prefill as half, all, none or a number up to --keys=%lu, found '%s': change one of them", keys,
             word);
    return (uint64_t)value;
}

/* An option that would be ignored is a mistake. */
static void check_companion(const char *option, const char *companion, const char *path)
{
    if (option_given(option) && !*path)
        fail(STATUS_USAGE, "wanted --%s=FILE with --%s, found none: add it, or leave --%s out", companion, option,
             option);
}

static void check_window(const struct options *o)
{
    check_companion("trace-threshold", "trace", o->trace);
    check_companion("trace-events", "trace", o->trace);
    check_companion("sample-hz", "samples", o->samples);
    if (o->ops && option_given("seconds"))
        fail(STATUS_USAGE, "wanted --ops or --seconds, found both: a window ends by one of them");
}

static bool kind_is(const struct combo *combo, const char *kind)
{
    return strcmp(combo->kind, kind) == 0;
}

static void count_threads(struct plan *plan, const struct options *o)
{
    bool block = kind_is(plan->combo, "block");
    options_check_kind(plan->combo->kind);
    plan->readers = placement_threads(plan->placement, block ? "readers" : "threads", block ? o->readers : o->threads);
    if (block && (o->write_rate > 0 || o->append_rate > 0))
        plan->writers = (unsigned)o->writers;
    plan->threads = plan->readers + plan->writers;
}

static void check_mix(const struct options *o)
{
    if (o->insert + o->remove + o->scan > 100)
        fail(STATUS_USAGE, "wanted --insert + --remove + --scan of at most 100 %%, found %g: lower one",
             o->insert + o->remove + o->scan);
}

static void plan_set(struct plan *plan, const struct options *o)
{
    check_mix(o);
    parse_distribution(o->distribution, &plan->law, &plan->theta);
    plan->prefill = parse_prefill(o->prefill, o->keys);
    plan->prefill_threads = o->prefill_threads ? (unsigned)o->prefill_threads : plan->readers;
    if (plan->prefill_threads > plan->readers)
        fail(STATUS_USAGE, "wanted --prefill-threads of at most --threads=%u, found %u: the workers prefill",
             plan->readers, plan->prefill_threads);
    if (plan->combo->threads == DS_ONE_WRITER && plan->readers > 1) {
        if (o->insert + o->remove > 0)
            fail(STATUS_USAGE,
                 "wanted %s with %u threads that write, found that it has no synchronisation: use --threads=1 or "
                 "lookups only",
                 o->structure, plan->readers);
        plan->prefill_threads = 1;
    }
}

static const char *growing_block(void)
{
    for (const struct combo *const *c = __start_combos; c < __stop_combos; c++)
        if ((*c)->grows)
            return (*c)->structure;
    return "a binary that has one";
}

static void plan_block(struct plan *plan, const struct options *o)
{
    plan->prefill = o->block;
    plan->prefill_threads = 1;
    if (plan->writers == 0 && option_given("writers"))
        fail(STATUS_USAGE, "wanted something to write with --writers, found --write-rate=0: leave --writers out");
    if (plan->writers && plan->combo->threads == DS_READ_ONLY)
        fail(STATUS_USAGE,
             "wanted %s with nothing to write, found %g writes and %g appends a second: use --write-rate=0",
             o->structure, o->write_rate, o->append_rate);
    if (o->append_rate > 0 && !plan->combo->grows)
        fail(STATUS_USAGE, "wanted a block that grows for --append-rate, found %s: use %s", o->structure,
             growing_block());
}

void plan_make(struct plan *plan, const struct options *o, struct placement *placement)
{
    char policy[32];
    *plan = (struct plan){.options = o, .placement = placement};
    check_window(o);
    parse_policy(o->policy, policy, sizeof policy, &plan->frees_per_tick);
    plan->combo = find_combo(o->structure, o->reclaimer, policy);
    check_refusal(plan->combo, o->unsound);
    count_threads(plan, o);
    snprintf(plan->policy, sizeof plan->policy, plan->frees_per_tick == 1 ? "%s" : "%s:%u", policy,
             plan->frees_per_tick);
    plan->node_bytes = plan->combo->node_bytes;
    if (plan->node_bytes && plan->node_bytes < o->pad_nodes)
        plan->node_bytes = o->pad_nodes;
    (kind_is(plan->combo, "block") ? plan_block : plan_set)(plan, o);
    placement_plan(placement, o->pin, plan->threads, plan->writers, o->oversubscribe);
    threads_oversubscribed = placement_oversubscribed(placement);
    plan->fence = fence_init(o->fence);
}

void plan_pinning(const struct options *o, struct placement *placement)
{
    struct plan plan = {.placement = placement};
    check_name("structure", o->structure, part_structure);
    for (const struct combo *const *c = __start_combos; c < __stop_combos; c++)
        if (strcmp((*c)->structure, o->structure) == 0)
            plan.combo = *c;
    count_threads(&plan, o);
    placement_plan(placement, o->pin, plan.threads, plan.writers, o->oversubscribe);
}

void plan_place(struct plan *plan)
{
    plan->membind = membind_set(plan->placement, plan->options->membind);
    placement_bind_main(plan->placement);
}
