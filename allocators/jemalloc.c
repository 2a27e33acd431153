/* SPDX-License-Identifier: MIT */
/* jemalloc (https://jemalloc.net), 5.x. Its manual page documents every name that mallctl is asked here. */
#include "allocator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int control_function(const char *name, void *old, size_t *old_size, void *new, size_t new_size);
typedef int to_mib_function(const char *name, size_t *mib, size_t *length);
typedef int by_mib_function(const size_t *mib, size_t length, void *old, size_t *old_size, void *new, size_t new_size);

static control_function *control;
static to_mib_function *to_mib;
static by_mib_function *by_mib;

static bool version(char *text, size_t size)
{
    control = (control_function *)(uintptr_t)allocator_symbol("mallctl");
    to_mib = (to_mib_function *)(uintptr_t)allocator_symbol("mallctlnametomib");
    by_mib = (by_mib_function *)(uintptr_t)allocator_symbol("mallctlbymib");
    const char *answer;
    size_t length = sizeof answer;
    if (!control || !to_mib || !by_mib || control("version", &answer, &length, NULL, 0))
        return false;
    snprintf(text, size, "%s", answer);
    return true;
}

/* --- options --- */

/* mallctl tells the size of an option, not its type: of eight bytes these are texts, all others numbers. */
static const char *const texts[] = {"dss",
                                    "percpu_arena",
                                    "metadata_thp",
                                    "thp",
                                    "junk",
                                    "zero_realloc",
                                    "stats_print_opts",
                                    "stats_interval_opts",
                                    "prof_prefix",
                                    "prof_time_resolution",
                                    NULL};

/* Options that have an effect, but no name for mallctl. */
static const char *const unreadable[] = {"bin_shards", "slab_sizes", "hpa_dirty_mult", NULL};

/* What decides how threads meet in the allocator: in every row, whatever set it (environment, /etc/malloc.conf, the
 * build). */
static const char *const always[] = {
    "narenas",        "tcache",         "tcache_max", "percpu_arena", "background_thread",
    "dirty_decay_ms", "muzzy_decay_ms", "thp",        "metadata_thp", NULL};

static bool in(const char *const *list, const char *name)
{
    while (*list && strcmp(*list, name))
        list++;
    return *list;
}

static bool option_in_force(const char *name, char *text, size_t size)
{
    char key[96];
    bool flag;
    unsigned small;
    union {
        long long number;
        const char *text;
    } large;
    snprintf(key, sizeof key, "opt.%s", name);
    /* A wrong size is answered by an error, the right one by the value. */
    if (!control(key, &flag, &(size_t){sizeof flag}, NULL, 0))
        snprintf(text, size, "%s", flag ? "true" : "false");
    else if (!control(key, &small, &(size_t){sizeof small}, NULL, 0))
        snprintf(text, size, "%u", small);
    else if (control(key, &large, &(size_t){sizeof large}, NULL, 0))
        return false;
    else if (in(texts, name))
        snprintf(text, size, "%s", large.text);
    else
        snprintf(text, size, "%lld", large.number);
    return true;
}

static bool same_value(const char *wanted, const char *found)
{
    char *end;
    long long number = strtoll(wanted, &end, 0);
    return !strcmp(wanted, found) || (end != wanted && !*end && number == strtoll(found, NULL, 0)) ||
           !strcmp(wanted, "default");
}

static void compare(const char *name, const char *wanted, char *text, size_t size)
{
    char found[128];
    if (in(unreadable, name)) {
        snprintf(found, sizeof found, "%.100s(not_read_back)", wanted);
    } else {
        if (!option_in_force(name, found, sizeof found))
            allocator_option_ignored(name, wanted, "no such option");
        if (!same_value(wanted, found))
            allocator_option_ignored(name, wanted, found);
        if (in(always, name))
            return;
    }
    allocator_option(text, size, name, found);
}

/* MALLOC_CONF=name:value,name:value; of two with the same name the last one holds. */
static void options(char *text, size_t size)
{
    for (const char *const *name = always; *name; name++) {
        char found[128];
        if (option_in_force(*name, found, sizeof found))
            allocator_option(text, size, *name, found);
    }
    const char *conf = getenv("MALLOC_CONF");
    for (const char *pair = conf ? conf : ""; *pair; pair += strcspn(pair, ","), pair += *pair == ',') {
        char name[64] = "", wanted[128] = "", again[80];
        /* jemalloc skips from a malformed pair to the end. */
        if (sscanf(pair, "%63[^:,]:%127[^,]", name, wanted) != 2)
            allocator_option_ignored("MALLOC_CONF", "name:value, separated by commas", pair);
        snprintf(again, sizeof again, ",%s:", name);
        if (!strstr(pair, again))
            compare(name, wanted, text, size);
    }
}

/* --- counters --- */

enum { ALL_ARENAS = 4096, MIB_LENGTH = 8 }; /* MALLCTL_ARENAS_ALL of jemalloc/jemalloc.h */

struct mib {
    size_t at[MIB_LENGTH], length;
};

static bool find(struct mib *mib, const char *name)
{
    mib->length = MIB_LENGTH;
    return !to_mib(name, mib->at, &mib->length);
}

static uint64_t read_mib(const struct mib *mib)
{
    uint64_t value = 0;
    by_mib(mib->at, mib->length, &value, &(size_t){sizeof value}, NULL, 0);
    return value;
}

static unsigned read_unsigned(const char *name)
{
    unsigned value = 0;
    control(name, &value, &(size_t){sizeof value}, NULL, 0);
    return value;
}

/* Lock operations of one refresh: it locks each shard of each bin of each arena once. */
static uint64_t cost_of_refresh(unsigned bins)
{
    uint64_t shards = 0, arenas = 0;
    for (unsigned bin = 0; bin < bins; bin++) {
        char name[64];
        snprintf(name, sizeof name, "arenas.bin.%u.nshards", bin);
        uint32_t value = 1;
        control(name, &value, &(size_t){sizeof value}, NULL, 0);
        shards += value;
    }
    for (unsigned arena = 0; arena < read_unsigned("arenas.narenas"); arena++) {
        char name[64];
        snprintf(name, sizeof name, "arena.%u.initialized", arena);
        bool initialized = false;
        control(name, &initialized, &(size_t){sizeof initialized}, NULL, 0);
        arenas += initialized;
    }
    return shards * arenas;
}

static bool counters(struct allocator_counters *counters)
{
    /* What our own readings have added to the lock operations so far. */
    static uint64_t own;
    struct mib small, large, ops, waits, wait_ns;
    uint64_t epoch = 1;
    if (!find(&small, "stats.arenas.4096.small.nflushes") || !find(&large, "stats.arenas.4096.large.nflushes") ||
        !find(&ops, "stats.arenas.4096.bins.0.mutex.num_ops") ||
        !find(&waits, "stats.arenas.4096.bins.0.mutex.num_wait") ||
        !find(&wait_ns, "stats.arenas.4096.bins.0.mutex.total_wait_time"))
        return false;
    /* Statistics are a copy, made when the epoch advances. */
    if (control("epoch", &epoch, &(size_t){sizeof epoch}, &epoch, sizeof epoch))
        return false;
    unsigned bins = read_unsigned("arenas.nbins");
    counters->flushes = read_mib(&small) + read_mib(&large);
    for (unsigned bin = 0; bin < bins; bin++) {
        enum { BIN = 4 }; /* stats.arenas.<i>.bins.<j>: the place of j */
        ops.at[BIN] = waits.at[BIN] = wait_ns.at[BIN] = bin;
        counters->lock_ops += read_mib(&ops);
        counters->lock_waits += read_mib(&waits);
        counters->lock_wait_ns += read_mib(&wait_ns);
    }
    own += cost_of_refresh(bins);
    counters->lock_ops -= own;
    return true;
}

static const char *const objects[] = {"libjemalloc.so.2", "libjemalloc.so", NULL};

static const struct allocator jemalloc = {
    .file = __FILE__,
    .objects = objects,
    .package = "libjemalloc2",
    .version = version,
    .options = options,
    .counters = counters,
};
ALLOCATOR_REGISTER(jemalloc);
