/* SPDX-License-Identifier: MIT */
/* LINK: harness/clock.c */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "../../harness/clock.h"

static void sleep_ms(long ms)
{
    struct timespec t = {.tv_sec = 0, .tv_nsec = ms * 1000000};
    nanosleep(&t, NULL);
}

static void source_is_named(void **state unused)
{
    const char *source = clock_ticks_source();
    assert_true(!strcmp(source, "tsc") || !strcmp(source, "cntvct") || !strcmp(source, "clock_monotonic"));
    assert_int_equal(clock_has_counter, strcmp(source, "clock_monotonic") != 0);
}

static void ticks_never_go_back(void **state unused)
{
    uint64_t previous = ticks_now();
    for (int i = 0; i < 100000; i++) {
        uint64_t begin = ticks_begin(), end = ticks_end();
        assert_true(begin >= previous && end >= begin);
        previous = end;
    }
}

/* An interval measured in calibrated ticks is the interval of CLOCK_MONOTONIC. */
static void calibrated_ticks_are_nanoseconds(void **state unused)
{
    struct clock_calibration calibration;
    clock_calibrate_start(&calibration);
    uint64_t ns = clock_ns(), ticks = ticks_begin();
    sleep_ms(50);
    ticks = ticks_end() - ticks;
    ns = clock_ns() - ns;
    clock_calibrate_finish(&calibration);
    print_message("%s: %.6f ns per tick, ends disagree by %.1e\n", clock_ticks_source(), calibration.ns_per_tick,
                  calibration.disagreement);
    assert_true(calibration.agrees);
    /* The two readings are not taken at one moment; a preemption between them may cost a millisecond. */
    assert_true(fabs((double)ticks * calibration.ns_per_tick / (double)ns - 1) < 0.05);
}

/* A counter that ran at another rate in the middle of the run does not agree with itself. */
static void uneven_counter_is_flagged(void **state unused)
{
    struct clock_calibration calibration;
    clock_calibrate_start(&calibration);
    uint64_t shift = 4 * (calibration.start.ticks - calibration.first.ticks);
    calibration.first.ticks -= shift;
    calibration.start.ticks -= shift;
    sleep_ms(20);
    clock_calibrate_finish(&calibration);
    assert_false(calibration.agrees);
}

/* Without an invariant counter ticks are nanoseconds. */
static void fallback_counts_nanoseconds(void **state unused)
{
    bool had = clock_has_counter;
    clock_has_counter = false;
    assert_string_equal(clock_ticks_source(), "clock_monotonic");
    struct clock_calibration calibration;
    clock_calibrate_start(&calibration);
    clock_calibrate_finish(&calibration);
    clock_has_counter = had;
    assert_true(calibration.agrees && fabs(calibration.ns_per_tick - 1) < 1e-3);
}

static int init(void **state unused)
{
    clock_init();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(source_is_named),
        cmocka_unit_test(ticks_never_go_back),
        cmocka_unit_test(calibrated_ticks_are_nanoseconds),
        cmocka_unit_test(uneven_counter_is_flagged),
        cmocka_unit_test(fallback_counts_nanoseconds),
    };
    return cmocka_run_group_tests(tests, init, NULL);
}
