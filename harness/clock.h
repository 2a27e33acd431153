/* SPDX-License-Identifier: MIT */
/* Time. Windows are measured with clock_ns (CLOCK_MONOTONIC), single operations and events with ticks, which cost less.
 *
 * A tick is a TSC cycle where CPUID says that the TSC is invariant, a step of the virtual counter on aarch64, and
 * otherwise a nanosecond of CLOCK_MONOTONIC. What a tick is worth is measured against CLOCK_MONOTONIC at both ends of
 * the run, never configured and never taken from a nominal frequency.
 *
 * clock_init comes before any other call, before threads exist. The rest may be called by any thread. Nothing
 * allocates. */
#ifndef RB_CLOCK_H
#define RB_CLOCK_H

#include <time.h>

#include "compiler.h"

/* Set once by clock_init: whether the processor's own counter can be trusted. */
extern bool clock_has_counter;

void clock_init(void);

/* "tsc", "cntvct" or "clock_monotonic". */
const char *clock_ticks_source(void);

inlined uint64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The counter alone. It may be read a few dozen instructions early or late: for events, not for intervals of one
 * operation. */
inlined uint64_t ticks_now(void)
{
#if defined(__x86_64__)
    if (likely(clock_has_counter))
        return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    if (likely(clock_has_counter)) {
        uint64_t ticks;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
        return ticks;
    }
#endif
    return clock_ns();
}

/* One operation is timed from ticks_begin to ticks_end: what stands before begin has been executed before the counter
 * is read, what stands between them starts after the first reading and has been executed before the second, and what
 * follows end starts after it. */
inlined uint64_t ticks_begin(void)
{
#if defined(__x86_64__)
    __builtin_ia32_lfence();
    uint64_t ticks = ticks_now();
    __builtin_ia32_lfence();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
    uint64_t ticks = ticks_now();
    __asm__ volatile("isb" ::: "memory");
#else
    uint64_t ticks = ticks_now();
#endif
    __asm__ volatile("" ::: "memory");
    return ticks;
}

inlined uint64_t ticks_end(void)
{
    __asm__ volatile("" ::: "memory");
    return ticks_begin();
}

/* One reading of both clocks at (nearly) one moment. */
struct clock_pair {
    uint64_t ns, ticks;
};

struct clock_calibration {
    struct clock_pair first, start; /* the two readings of clock_calibrate_start */
    double ns_per_tick;             /* over the whole run */
    double disagreement;            /* largest relative deviation of either end's own rate from it */
    bool agrees;                    /* disagreement within what slewing of CLOCK_MONOTONIC explains */
};

/* Each sleeps for 10 ms. Start before the window, finish after it; ns_per_tick is valid after finish. Where `agrees` is
 * false the counter did not run evenly: durations in ticks are not to be reported. */
void clock_calibrate_start(struct clock_calibration *);
void clock_calibrate_finish(struct clock_calibration *);

#endif
