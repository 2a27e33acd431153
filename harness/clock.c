/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include <errno.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

bool clock_has_counter;

static const long stretch_ns = 10000000;

/* CLOCK_MONOTONIC may be slewed by 500 ppm, in opposite directions at the two ends of a run. */
static const double tolerated = 1.5e-3;

void clock_init(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    /* Leaf 0x80000007, EDX bit 8: the TSC ticks at one rate in all power states. */
    clock_has_counter = __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
#elif defined(__aarch64__)
    clock_has_counter = true; /* the architecture promises a constant rate */
#endif
}

const char *clock_ticks_source(void)
{
    if (!clock_has_counter)
        return "clock_monotonic";
#if defined(__aarch64__)
    return "cntvct";
#else
    return "tsc";
#endif
}

/* The clock is read between two readings of the counter; the tightest of several tries was not interrupted. */
static struct clock_pair read_both(void)
{
    struct clock_pair best = {0, 0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 64; i++) {
        uint64_t before = ticks_begin();
        uint64_t ns = clock_ns();
        uint64_t after = ticks_end();
        if (after - before < least) {
            least = after - before;
            best = (struct clock_pair){.ns = ns, .ticks = before + (after - before) / 2};
        }
    }
    return best;
}

static void sleep_stretch(void)
{
    struct timespec left = {.tv_sec = 0, .tv_nsec = stretch_ns};
    while (nanosleep(&left, &left) == -1 && errno == EINTR)
        ;
}

static double rate(struct clock_pair from, struct clock_pair to)
{
    return (double)(to.ns - from.ns) / (double)(to.ticks - from.ticks);
}

void clock_calibrate_start(struct clock_calibration *calibration)
{
    calibration->first = read_both();
    sleep_stretch();
    calibration->start = read_both();
}

void clock_calibrate_finish(struct clock_calibration *calibration)
{
    struct clock_pair end = read_both();
    sleep_stretch();
    struct clock_pair last = read_both();

    double whole = rate(calibration->first, last);
    double at_start = rate(calibration->first, calibration->start) / whole - 1;
    double at_end = rate(end, last) / whole - 1;
    at_start = at_start < 0 ? -at_start : at_start;
    at_end = at_end < 0 ? -at_end : at_end;
    calibration->ns_per_tick = whole;
    calibration->disagreement = at_start > at_end ? at_start : at_end;
    calibration->agrees = calibration->disagreement <= tolerated;
}
