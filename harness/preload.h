/* SPDX-License-Identifier: MIT */
/* The allocator under test: put it in place, prove that it runs, read its counters.
 *
 *     preload_ensure(name, argv);                                       first, before anything is allocated or started
 *     const struct allocator_identity *it = allocator_prove(name);      before the first timing
 *     allocator_counters_read(&before); ... window ...; allocator_counters_read(&after);
 *
 * A name is one of the catalogue (allocators/NAME.c) or, with a '/' in it, the path of any shared object that defines
 * the malloc family. preload_ensure replaces the process by itself with LD_PRELOAD set, once, without a shell or
 * wrapper, and the second time takes it out of the environment again, so that children do not inherit it. Whatever goes
 * wrong there or in the proof ends the process: one line, STATUS_PRELOAD_FAILED (STATUS_USAGE for an unknown name),
 * exit status 2. There is no trial with another allocator than the one asked for.
 *
 * Sanitizer builds bring an allocator of their own: there only `glibc` is accepted, and the row's version says what
 * ran. */
#ifndef RB_PRELOAD_H
#define RB_PRELOAD_H

#include "../allocators/allocator.h"

/* Which sanitizer's allocator this build brings along; NULL: none. */
#if defined(__SANITIZE_ADDRESS__)
#define PRELOAD_SANITIZER "address sanitizer"
#elif defined(__SANITIZE_THREAD__)
#define PRELOAD_SANITIZER "thread sanitizer"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PRELOAD_SANITIZER "address sanitizer"
#elif __has_feature(thread_sanitizer)
#define PRELOAD_SANITIZER "thread sanitizer"
#elif __has_feature(memory_sanitizer)
#define PRELOAD_SANITIZER "memory sanitizer"
#endif
#endif
#ifndef PRELOAD_SANITIZER
#define PRELOAD_SANITIZER NULL
#endif

/* All texts live as long as the process; "" where there is nothing to tell. */
struct allocator_identity {
    const char *name;     /* as asked for */
    const char *version;  /* as the allocator itself says */
    const char *path;     /* real path of the object that holds the malloc family */
    const char *sha256;   /* of that file */
    const char *build_id; /* GNU build-id, hexadecimal */
    const char *options;  /* those in force, "name=value name=value" */
};

struct allocator_listing {
    const char *name;
    const char *path; /* where the loader finds it; NULL: not installed */
    const char *package;
};

void preload_ensure(const char *name, char **argv);

/* The proof: malloc, calloc, realloc, free, posix_memalign, aligned_alloc and malloc_usable_size all resolve into one
 * object, its real path is the requested one, they work, the allocator answers to its name, and options given by the
 * environment are in force. */
const struct allocator_identity *allocator_prove(const char *name);

/* False: this allocator does not count; then the columns stay empty. */
bool allocator_counters_read(struct allocator_counters *);

/* later - earlier, into later. */
void allocator_counters_subtract(struct allocator_counters *later, const struct allocator_counters *earlier);

/* The catalogue's names, glibc first, then by alphabet. */
const char *const *allocator_names(size_t *count);

/* The same with what is installed; asks the loader once per candidate (milliseconds). */
const struct allocator_listing *allocator_list(size_t *count);

/* For the proof only: the catalogue's entry of a name (NULL: a path), and the object that preload_ensure settled on. */
const struct allocator *allocator_find(const char *name);
const char *preload_expected(void);

#endif
