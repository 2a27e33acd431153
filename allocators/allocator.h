/* SPDX-License-Identifier: MIT */
/* Contract of an allocator in the catalogue: allocators/NAME.c defines one `struct allocator` and registers it; NAME is
 * what
 * --allocator=NAME and the row call it. Nothing links against an allocator: its functions are looked up in the running
 * process.
 *
 * version, options and counters run after the proof (harness/preload.h) has found that the malloc family is in one
 * object, so allocator_symbol gives the functions of that very object. They run before and after the window, never in
 * it, and in the main thread; they may allocate. User errors end the process (fail), everything else is a return value.
 */
#ifndef RB_ALLOCATOR_H
#define RB_ALLOCATOR_H

#include "../harness/compiler.h"

/* How often the allocator's thread caches gave objects back, and what its locks cost. Cumulative since the start of the
 * process; what exactly is counted stands in allocators/README.md. */
struct allocator_counters {
    uint64_t flushes, lock_ops, lock_waits, lock_wait_ns;
};

struct allocator {
    const char *file; /* __FILE__ */
    const char *const
        *objects;        /* names for the dynamic loader, best first, NULL at the end; NULL: the C library itself */
    const char *package; /* Debian's and Ubuntu's, for the message when it is missing */

    /* Asks the running allocator who it is. False: it is not this one. */
    bool (*version)(char *text, size_t size);

    /* Compares the options in the environment with those in force (fails where they differ), and writes the latter as
     * "name=value name=value". NULL: there are none. */
    void (*options)(char *text, size_t size);

    /* False: this build of the allocator does not count. NULL: it never does. */
    bool (*counters)(struct allocator_counters *);
};

#define ALLOCATOR_REGISTER(object)                                                                                     \
    static const struct allocator *const registered __attribute__((section("allocators"), used)) = &(object)

/* A function of the object whose malloc runs; NULL if that object does not define it. */
void *allocator_symbol(const char *name);

/* The real path of that object. */
const char *allocator_path(void);

/* Adds "name=value" to a list in text, with a blank between; what does not fit is cut. */
void allocator_option(char *text, size_t size, const char *name, const char *value);

/* Why an option has no effect, as the last words of the program: exit status 2. */
_Noreturn void allocator_option_ignored(const char *name, const char *wanted, const char *found);

#endif
