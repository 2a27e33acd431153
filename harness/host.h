/* SPDX-License-Identifier: MIT */
/* What of the machine can change a number: a list of names and values, recorded with every trial.
 *
 * A value is a short text without commas, quotes or line ends; "" where the machine does not tell (never a guess). The
 * list has the same names in the same order everywhere, so it can be a row's columns. host_facts reads once, at its
 * first call, before threads exist; it may allocate. */
#ifndef RB_HOST_H
#define RB_HOST_H

#include "compiler.h"

struct host_fact {
    const char *name;
    const char *meaning; /* one line, for the documentation of the columns */
    const char *value;
};

const struct host_fact *host_facts(size_t *count);

/* How long a cgroup's CPU quota has stopped us so far. -1: not available. Without malloc. */
struct host_throttling {
    long long periods_throttled;
    long long throttled_us;
};

struct host_throttling host_throttling(void);

/* later - earlier, into later; what was not available stays so. */
void host_throttling_subtract(struct host_throttling *later, const struct host_throttling *earlier);

#endif
