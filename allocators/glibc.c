/* SPDX-License-Identifier: MIT */
/* The C library's own malloc: nothing is preloaded. */
#include "allocator.h"

#include "../harness/loader.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool version(char *text, size_t size)
{
    const char *(*ask)(void) = (const char *(*)(void))(uintptr_t)allocator_symbol("gnu_get_libc_version");
    if (ask)
        snprintf(text, size, "%s", ask());
    return ask;
}

static const char prefix[] = "glibc.malloc.";

/* Older names in the environment, which glibc maps to tunables. */
static const struct {
    const char *variable, *tunable;
} aliases[] = {
    {"MALLOC_ARENA_MAX", "arena_max"},
    {"MALLOC_ARENA_TEST", "arena_test"},
    {"MALLOC_TOP_PAD_", "top_pad"},
    {"MALLOC_PERTURB_", "perturb"},
    {"MALLOC_MMAP_MAX_", "mmap_max"},
    {"MALLOC_MMAP_THRESHOLD_", "mmap_threshold"},
    {"MALLOC_TRIM_THRESHOLD_", "trim_threshold"},
    {"MALLOC_CHECK_", "check"},
};

/* A line of the loader's list is "glibc.malloc.NAME: VALUE (min: ..., max: ...)". */
static void compare(const char *list, const char *name, const char *wanted, char *text, size_t size)
{
    char line[128], found[64] = "";
    snprintf(line, sizeof line, "\n%s%s: ", prefix, name);
    const char *at = strstr(list, line);
    if (!at)
        allocator_option_ignored(name, wanted, "no such tunable");
    at += strlen(line);
    snprintf(found, sizeof found, "%.*s", (int)strcspn(at, " \n"), at);
    if (strtoull(found, NULL, 0) != strtoull(wanted, NULL, 0))
        allocator_option_ignored(name, wanted, found);
    allocator_option(text, size, name, wanted);
}

/* glibc does not tell its tunables to the program, but its loader, given the same environment, lists what it made of
 * it. */
static void options(char *text, size_t size)
{
    char list[32768] = "\n";
    const char *tunables = getenv("GLIBC_TUNABLES");
    bool any = tunables && strstr(tunables, prefix);
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        any |= getenv(aliases[i].variable) != NULL;
    if (!any)
        return;
    Dl_info loader;
    void *link_map = dlsym(RTLD_DEFAULT, "_rtld_global");
    if (!link_map || !dladdr(link_map, &loader))
        allocator_option_ignored("GLIBC_TUNABLES", "read back", "no loader to ask");
    char *const argv[] = {(char *)"ld.so", (char *)"--list-tunables", NULL};
    const char *const settings[] = {NULL};
    loader_run(loader.dli_fname, argv, settings, list + 1, sizeof list - 1);

    for (const char *pair = tunables ? tunables : ""; *pair; pair += strcspn(pair, ":"), pair += *pair == ':') {
        char name[64], value[64];
        if (sscanf(pair, "glibc.malloc.%63[^=:]=%63[^:]", name, value) == 2)
            compare(list, name, value, text, size);
    }
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (getenv(aliases[i].variable))
            compare(list, aliases[i].tunable, getenv(aliases[i].variable), text, size);
}

static const struct allocator glibc = {
    .file = __FILE__,
    .package = "libc6",
    .version = version,
    .options = options,
};
ALLOCATOR_REGISTER(glibc);
