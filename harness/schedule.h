/* SPDX-License-Identifier: MIT */
/* Paced work: operations whose intended starts are period_ns apart, the first one after `phase` periods. A start is worked
 * out from the beginning, not from the one before: nothing that was late moves the later ones. */
#ifndef RB_SCHEDULE_H
#define RB_SCHEDULE_H

#include "compiler.h"

#include <math.h>

struct schedule {
    double period_ns, phase;
    uint64_t begin_ns, next;
};

static inline struct schedule schedule_of(double rate, unsigned writers, unsigned writer, uint64_t begin_ns)
{
    return (struct schedule){
        .period_ns = rate > 0 ? 1e9 * writers / rate : 0, .phase = (writer + 0.5) / writers, .begin_ns = begin_ns};
}

/* UINT64_MAX: never. */
inlined uint64_t schedule_due(const struct schedule *s)
{
    double after = s->period_ns > 0 ? ((double)s->next + s->phase) * s->period_ns : INFINITY;
    return after < 9e18 ? s->begin_ns + (uint64_t)after : UINT64_MAX;
}

/* How many were due until end_ns. */
static inline uint64_t schedule_wanted(const struct schedule *s, uint64_t end_ns)
{
    double periods = s->period_ns > 0 ? (double)(end_ns - s->begin_ns) / s->period_ns - s->phase : -1;
    return periods >= 0 ? (uint64_t)periods + 1 : 0;
}

#endif
