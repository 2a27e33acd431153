/* SPDX-License-Identifier: MIT */
/* mimalloc (https://github.com/microsoft/mimalloc). It has no locks in its paths and counts no flushes. */
#include "allocator.h"

#include "../harness/loader.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static bool version(char *text, size_t size)
{
    int (*ask)(void) = (int (*)(void))(uintptr_t)allocator_symbol("mi_version");
    if (!ask)
        return false;
    int number = ask();
    /* 209 is 2.0.9; since version 3 the parts have two digits each. */
    int base = number < 10000 ? 10 : 100;
    snprintf(text, size, "%d.%d.%d", number / base / base, number / base % base, number % base);
    return true;
}

static const char prefix[] = "MIMALLOC_";

/* mi_option_get takes an option's number, which changes from version to version, and the names are not exported. But a
 * verbose mimalloc lists its options by name, in the order of their numbers: have one start in another process, and
 * read the names there. */
static void list_options(char *text, size_t size)
{
    char preload[PATH_MAX + 16];
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", allocator_path());
    char *const argv[] = {(char *)"true", NULL};
    const char *const settings[] = {preload, "MIMALLOC_VERBOSE=1", NULL};
    loader_run("true", argv, settings, text, size);
}

/* The number of "option 'NAME'" in the list; -1: not there. */
static int number_of(const char *list, const char *name)
{
    static const char start[] = "option '";
    int number = 0;
    for (const char *at = list; (at = strstr(at, start)); number++) {
        at += strlen(start);
        size_t length = strcspn(at, "'");
        if (length == strlen(name) && !strncasecmp(at, name, length))
            return number;
    }
    return -1;
}

/* What a value means: a number, a word, or a size in KiB with a unit. */
static bool same_value(const char *wanted, long found)
{
    static const char *const yes[] = {"true", "yes", "on"}, *const no[] = {"false", "no", "off"};
    for (int i = 0; i < 3; i++) {
        if (!strcasecmp(wanted, yes[i]))
            return found == 1;
        if (!strcasecmp(wanted, no[i]))
            return found == 0;
    }
    char *unit;
    long long number = strtoll(wanted, &unit, 10);
    for (int power = 0; *unit && power < 4; power++)
        if (toupper((unsigned char)*unit) == "KMGT"[power])
            return number << 10 * power == found;
    return !*unit && (number == found || (number + 1023) / 1024 == found);
}

static void options(char *text, size_t size)
{
    char list[16384] = "";
    long (*get)(int) = (long (*)(int))(uintptr_t)allocator_symbol("mi_option_get");
    for (char **entry = environ; *entry; entry++) {
        char name[64], found[32];
        size_t length = strcspn(*entry, "=");
        if (strncasecmp(*entry, prefix, strlen(prefix)) || !(*entry)[length])
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(length - strlen(prefix)), *entry + strlen(prefix));
        for (char *c = name; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        const char *wanted = *entry + length + 1;
        if (!*list)
            list_options(list, sizeof list);
        int number = number_of(list, name);
        if (!get || number < 0)
            allocator_option_ignored(name, wanted, "no such option");
        snprintf(found, sizeof found, "%ld", get(number));
        if (!same_value(wanted, get(number)))
            allocator_option_ignored(name, wanted, found);
        allocator_option(text, size, name, found);
    }
}

static const char *const objects[] = {"libmimalloc.so.2", "libmimalloc.so.3", "libmimalloc.so.2.0", "libmimalloc.so",
                                      NULL};

static const struct allocator mimalloc = {
    .file = __FILE__,
    .objects = objects,
    .package = "libmimalloc2.0",
    .version = version,
    .options = options,
};
ALLOCATOR_REGISTER(mimalloc);
