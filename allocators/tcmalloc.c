/* SPDX-License-Identifier: MIT */
/* tcmalloc of gperftools (https://github.com/gperftools/gperftools). It counts neither flushes nor lock operations. */
#include "allocator.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool version(char *text, size_t size)
{
    typedef const char *function(int *major, int *minor, const char **patch);
    function *ask = (function *)(uintptr_t)allocator_symbol("tc_version");
    int major, minor;
    const char *patch;
    if (!ask)
        return false;
    ask(&major, &minor, &patch);
    snprintf(text, size, "%d.%d%s", major, minor, patch ? patch : "");
    return true;
}

/* Environment variables that can be read back, and the property that tells. */
static const struct {
    const char *variable, *property;
} readable[] = {
    {"TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES", "tcmalloc.max_total_thread_cache_bytes"},
    {"TCMALLOC_AGGRESSIVE_DECOMMIT", "tcmalloc.aggressive_memory_decommit"},
    {"TCMALLOC_HEAP_LIMIT_MB", "tcmalloc.heap_limit_mb"},
};
enum { READABLE = sizeof readable / sizeof *readable };

static bool property(const char *name, size_t *value)
{
    typedef int function(const char *name, size_t *value);
    function *ask = (function *)(uintptr_t)allocator_symbol("MallocExtension_GetNumericProperty");
    return ask && ask(name, value);
}

/* Numbers as numbers; flags by their first letter, as gperftools reads them. */
static size_t meant(const char *text)
{
    if (strchr("tTyY", *text) || strchr("fFnN", *text))
        return strchr("tTyY", *text) != NULL;
    return strtoull(text, NULL, 0);
}

/* Does the library know a variable that it does not let us read back? Then its name stands in the file. */
static bool mentioned(const char *variable)
{
    int file = open(allocator_path(), O_RDONLY | O_CLOEXEC);
    struct stat about;
    bool found = false;
    if (file >= 0 && !fstat(file, &about) && about.st_size > 0) {
        size_t length = (size_t)about.st_size;
        void *bytes = mmap(NULL, length, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes != MAP_FAILED) {
            found = memmem(bytes, length, variable, strlen(variable) + 1);
            munmap(bytes, length);
        }
    }
    if (file >= 0)
        close(file);
    return found;
}

static void compare(const char *variable, const char *wanted, char *text, size_t size)
{
    char found[64];
    size_t value;
    for (int i = 0; i < READABLE; i++)
        if (!strcmp(variable, readable[i].variable) && property(readable[i].property, &value)) {
            snprintf(found, sizeof found, "%zu", value);
            if (value != meant(wanted))
                allocator_option_ignored(variable, wanted, found);
            return;
        }
    if (!mentioned(variable))
        allocator_option_ignored(variable, wanted, "no such option");
    snprintf(found, sizeof found, "%.40s(not_read_back)", wanted);
    allocator_option(text, size, variable, found);
}

/* The readable ones always, because they decide how much threads keep for themselves; the others where they are set. */
static void options(char *text, size_t size)
{
    static const char prefix[] = "TCMALLOC_";
    for (int i = 0; i < READABLE; i++) {
        char found[32];
        size_t value;
        if (!property(readable[i].property, &value))
            continue;
        snprintf(found, sizeof found, "%zu", value);
        allocator_option(text, size, readable[i].property + strlen("tcmalloc."), found);
    }
    for (char **entry = environ; *entry; entry++) {
        char name[96];
        size_t length = strcspn(*entry, "=");
        if (strncmp(*entry, prefix, strlen(prefix)) || length >= sizeof name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)length, *entry);
        compare(name, *entry + length + 1, text, size);
    }
}

/* The minimal one first: the other also holds a heap profiler. */
static const char *const objects[] = {"libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libtcmalloc_minimal.so",
                                      "libtcmalloc.so", NULL};

static const struct allocator tcmalloc = {
    .file = __FILE__,
    .objects = objects,
    .package = "libtcmalloc-minimal4",
    .version = version,
    .options = options,
};
ALLOCATOR_REGISTER(tcmalloc);
