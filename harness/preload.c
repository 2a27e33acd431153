/* SPDX-License-Identifier: MIT */
/* The catalogue, and how the allocator gets in place. The proof that it did is in preload_proof.c. */
#include "preload.h"

#include "error.h"
#include "loader.h"
#include "nearest.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* "PID:PATH", set for the one exec. The process keeps its id across exec, so a value that was left in somebody's
 * environment is told from our own, and a second exec cannot come about. */
static const char guard[] = "RECLAIMBENCH_PRELOADED";

enum { MOST = 32, NAME = 32 };

extern const struct allocator *const __start_allocators[], *const __stop_allocators[];

static const struct allocator *catalogue[MOST];
static char name_texts[MOST][NAME];
static const char *names[MOST];
static size_t count;

static char expected[PATH_MAX];

/* allocators/NAME.c: NAME. */
static void name_of(const struct allocator *allocator, char *name)
{
    const char *slash = strrchr(allocator->file, '/'), *base = slash ? slash + 1 : allocator->file;
    snprintf(name, NAME, "%.*s", (int)strcspn(base, "."), base);
}

/* The C library first, because it is the default; the linker's order is none. */
static int compare(const void *left, const void *right)
{
    const struct allocator *a = *(const struct allocator *const *)left, *b = *(const struct allocator *const *)right;
    char a_name[NAME], b_name[NAME];
    if (!a->objects != !b->objects)
        return a->objects ? 1 : -1;
    name_of(a, a_name);
    name_of(b, b_name);
    return strcmp(a_name, b_name);
}

const char *const *allocator_names(size_t *n)
{
    if (!count) {
        for (const struct allocator *const *a = __start_allocators; a < __stop_allocators && count < MOST; a++)
            catalogue[count++] = *a;
        qsort(catalogue, count, sizeof *catalogue, compare);
        for (size_t i = 0; i < count; i++) {
            name_of(catalogue[i], name_texts[i]);
            names[i] = name_texts[i];
        }
    }
    *n = count;
    return names;
}

const struct allocator *allocator_find(const char *name)
{
    size_t n;
    const char *const *known = allocator_names(&n);
    if (strchr(name, '/'))
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(known[i], name))
            return catalogue[i];
    fail(STATUS_USAGE, "wanted an allocator from --list=allocators or a path with a '/', found '%s': do you mean %s?",
         name, nearest_word(name, known, n));
}

const char *preload_expected(void)
{
    return expected;
}

static void find_c_library(char *path)
{
    Dl_info info;
    /* Its version function is in no other object, whoever defines malloc. */
    if (!dladdr((const void *)(uintptr_t)gnu_get_libc_version, &info) || !realpath(info.dli_fname, path))
        fail(STATUS_PRELOAD_FAILED, "wanted the path of the C library, found none: do use a dynamically linked build");
}

/* Which file `name` stands for. */
static bool locate(const struct allocator *allocator, char *path, char *reason, size_t size)
{
    if (!allocator->objects) {
        find_c_library(path);
        return true;
    }
    for (const char *const *object = allocator->objects; *object; object++)
        if (loader_finds(*object, path, reason, size))
            return true;
    return false;
}

static void locate_or_fail(const char *name, const struct allocator *allocator, char *path)
{
    char reason[512], real[PATH_MAX];
    if (allocator) {
        if (!locate(allocator, path, reason, sizeof reason))
            fail(STATUS_PRELOAD_FAILED, "wanted %s (%s), found none (%s): do `apt-get install %s`", name,
                 allocator->objects[0], reason, allocator->package);
        return;
    }
    if (!realpath(name, real))
        fail(STATUS_PRELOAD_FAILED, "wanted the shared object %s, found '%s': do check the path", name,
             strerror(errno));
    if (!loader_finds(real, path, reason, sizeof reason))
        fail(STATUS_PRELOAD_FAILED,
             "wanted the shared object %s, found that it cannot be preloaded (%s): do name a shared object for this "
             "machine",
             name, reason);
}

static bool runs_already(const char *path)
{
    Dl_info info;
    char real[PATH_MAX];
    return dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info) && realpath(info.dli_fname, real) && !strcmp(real, path);
}

/* A preload of the user's own would run inside of the trial without a trace in the row; only the object asked for may
 * stand there. */
static bool preloaded_by_user(const char *name)
{
    char path[PATH_MAX], reason[512];
    const char *preload = getenv("LD_PRELOAD");
    if (!preload || !*preload)
        return false;
    if (!loader_finds(preload, path, reason, sizeof reason) || strcmp(path, expected))
        fail(STATUS_PRELOAD_FAILED, "wanted %s and nothing else preloaded, found LD_PRELOAD=%s: do `unset LD_PRELOAD`",
             name, preload);
    return true;
}

/* True in the process that the exec below made. */
static bool came_back(void)
{
    const char *value = getenv(guard);
    char *end = NULL;
    bool ours = value && strtol(value, &end, 10) == getpid() && *end == ':';
    if (ours) {
        snprintf(expected, sizeof expected, "%s", end + 1);
        unsetenv("LD_PRELOAD");
        /* exec took the name of /proc/self/exe. */
        prctl(PR_SET_NAME, "reclaimbench");
    }
    unsetenv(guard);
    return ours;
}

void preload_ensure(const char *name, char **argv)
{
    const struct allocator *allocator = allocator_find(name);
    if (came_back())
        return;
    const char *sanitizer = PRELOAD_SANITIZER;
    if (sanitizer) {
        if (!allocator || allocator->objects)
            fail(STATUS_PRELOAD_FAILED,
                 "wanted %s, found a build with the allocator of the %s: do use --allocator=glibc here", name,
                 sanitizer);
        return;
    }
    locate_or_fail(name, allocator, expected);
    if (preloaded_by_user(name))
        unsetenv("LD_PRELOAD");
    else if (!runs_already(expected) && (!allocator || allocator->objects)) {
        char value[PATH_MAX + 32];
        snprintf(value, sizeof value, "%ld:%s", (long)getpid(), expected);
        setenv(guard, value, 1);
        setenv("LD_PRELOAD", expected, 1);
        execv("/proc/self/exe", argv);
        fail(STATUS_PRELOAD_FAILED,
             "wanted to start again with %s preloaded, found '%s': do check that /proc is mounted", expected,
             strerror(errno));
    }
}

const struct allocator_listing *allocator_list(size_t *n)
{
    static struct allocator_listing list[MOST];
    static char paths[MOST][PATH_MAX];
    const char *const *known = allocator_names(n);
    for (size_t i = 0; i < *n && !list[i].name; i++) {
        char reason[512];
        bool installed = locate(catalogue[i], paths[i], reason, sizeof reason);
        list[i] = (struct allocator_listing){known[i], installed ? paths[i] : NULL, catalogue[i]->package};
    }
    return list;
}
