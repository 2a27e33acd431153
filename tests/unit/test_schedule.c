/* SPDX-License-Identifier: MIT */
/* Paced work: intended starts that do not drift, shared by writers without gaps; sleeping until them. */
/* LINK: harness/sleeper.c */
#include "clock.h"
#include "schedule.h"
#include "sleeper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void starts_are_a_period_apart(void **state)
{
    struct schedule s = schedule_of(500, 1, 0, 1000);
    assert_int_equal(schedule_due(&s), 1000 + 1000000);
    for (s.next = 1; s.next < 5000; s.next++)
        assert_int_equal(schedule_due(&s), 1000 + 1000000 + s.next * 2000000);
    (void)state;
}

static void rates_that_divide_nothing_do_not_drift(void **state)
{
    struct schedule s = schedule_of(1.06, 1, 0, 0);
    s.next = 1060000;
    /* A million seconds later, to the half period of the first. */
    assert_true(schedule_due(&s) / 1000000000 == 1000000);
    s = schedule_of(3e6, 1, 0, 0);
    s.next = 30000000;
    assert_true(schedule_due(&s) >= 10000000000 && schedule_due(&s) < 10000000334);
    (void)state;
}

static void writers_share_the_rate_evenly(void **state)
{
    enum { WRITERS = 4 };
    uint64_t before = 0;
    for (uint64_t i = 0; i < 400; i++) {
        struct schedule s = schedule_of(1000, WRITERS, i % WRITERS, 0);
        s.next = i / WRITERS;
        uint64_t due = schedule_due(&s);
        assert_true(i == 0 || due == before + 1000000);
        before = due;
    }
    (void)state;
}

static void wanted_are_those_that_were_due(void **state)
{
    for (uint64_t end = 10; end < 100000000; end = end * 3 + 1) {
        struct schedule s = schedule_of(12345, 3, 1, 10);
        uint64_t wanted = schedule_wanted(&s, end);
        s.next = wanted;
        assert_true(schedule_due(&s) > end);
        if (wanted) {
            s.next = wanted - 1;
            assert_true(schedule_due(&s) <= end + 1);
        }
    }
    (void)state;
}

static void no_rate_is_never(void **state)
{
    struct schedule s = schedule_of(0, 2, 0, 5);
    assert_int_equal(schedule_due(&s), UINT64_MAX);
    assert_int_equal(schedule_wanted(&s, UINT64_MAX), 0);
    s = schedule_of(1e-12, 1, 0, 5);
    assert_int_equal(schedule_due(&s), UINT64_MAX);
    (void)state;
}

static void sleeps_until_the_moment(void **state)
{
    struct sleeper s;
    sleeper_init(&s);
    sleeper_be_punctual();
    uint64_t due = clock_ns() + 2000000;
    assert_true(sleeper_until(&s, due));
    assert_true(clock_ns() >= due);
    assert_true(sleeper_until(&s, 1));
    (void)state;
}

static void *sleep_for_good(void *sleeper)
{
    return sleeper_until(sleeper, UINT64_MAX) ? sleeper : NULL;
}

static void stop_wakes_all_and_stays(void **state)
{
    struct sleeper s;
    pthread_t threads[3];
    sleeper_init(&s);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, sleep_for_good, &s), 0);
    sleeper_stop(&s);
    for (int i = 0; i < 3; i++) {
        void *woken = &s;
        pthread_join(threads[i], &woken);
        assert_null(woken);
    }
    assert_false(sleeper_until(&s, 1));
    sleeper_reset(&s);
    assert_true(sleeper_until(&s, 1));
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_are_a_period_apart),
        cmocka_unit_test(rates_that_divide_nothing_do_not_drift),
        cmocka_unit_test(writers_share_the_rate_evenly),
        cmocka_unit_test(wanted_are_those_that_were_due),
        cmocka_unit_test(no_rate_is_never),
        cmocka_unit_test(sleeps_until_the_moment),
        cmocka_unit_test(stop_wakes_all_and_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
