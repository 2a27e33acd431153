/* SPDX-License-Identifier: MIT */
/* LINK: harness/clock.c harness/error.c harness/meta.c */
/* Trace points as an instrumented build has them, with durations that the test chooses: the threshold's two sides,
 * nested batches, a ring that is full, words of the header. */
#define TRACE 1
#include "../../harness/trace.c" /* NOLINT(bugprone-suspicious-include): its static parts are tested */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define ROOM 8

static struct trace_ring *rings[2];
static struct account account;

static void identify(FILE *file, const void *of)
{
    trace_put_word(file, "name", of);
}

/* What the file says, as one string: half a nanosecond a tick. */
static char *written(uint64_t threshold_ns)
{
    static char text[4096];
    char path[] = "/tmp/trace-XXXXXX";
    close(mkstemp(path));
    trace_write(&(struct trace_file){path, rings, 1, 1000, 0.5, threshold_ns, identify, "a b=%\xc3"});
    FILE *file = fopen(path, "r");
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    unlink(path);
    return text;
}

static int fresh(void **state)
{
    (void)state;
    rings[0] = trace_ring_new(ROOM);
    rings[1] = trace_ring_new(0);
    account = (struct account){.trace = rings[0], .frees_timed = true};
    trace_start(0);
    return 0;
}

static void one_free(uint64_t begin, uint64_t duration)
{
    record(rings[0], TRACE_LONG_FREE, begin, duration, 0);
}

static void threshold_has_two_sides(void **state)
{
    (void)state;
    one_free(1000, 199999); /* 99,999.5 ns */
    one_free(1000, 200000); /* 100,000 ns */
    one_free(1000, 200001);
    char *text = written(100000);
    assert_non_null(strstr(text, " events=2 dropped=0 long_free_threshold_ns=100000 "));
    assert_non_null(strstr(text, "\n0 0 100000 long_free 0\n0 0 100000 long_free 0\n"));
    assert_null(strstr(text, "99999"));
}

static void frees_below_the_first_estimate_are_not_recorded(void **state)
{
    (void)state;
    trace_start(UINT64_MAX);
    trace_free_begin(&account);
    trace_free_end(&account);
    assert_int_equal(rings[0]->used, 0);
    trace_start(1);
    trace_free_begin(&account);
    rings[0]->free_begin -= 1000;
    trace_free_end(&account);
    assert_int_equal(rings[0]->used, 1);
    assert_true(rings[0]->events[0].duration >= 1000);
    assert_true(account.free_ticks >= 1000);
}

static void untimed_frees_read_no_clock(void **state)
{
    (void)state;
    account.frees_timed = false;
    account.trace = NULL; /* would be followed */
    trace_free_begin(&account);
    trace_free_end(&account);
}

/* With all that was freed within it, also what became safe meanwhile. */
static void outermost_batch_makes_the_event(void **state)
{
    (void)state;
    account.freed = 1000;
    trace_batch_begin(&account);
    uint64_t begin = rings[0]->batch_begin;
    for (int chunk = 0; chunk < 3; chunk++) {
        trace_batch_begin(&account);
        account.freed += 7;
        trace_batch_end(&account);
    }
    assert_int_equal(rings[0]->used, 0);
    trace_batch_end(&account);
    trace_batch_begin(&account);
    account.freed += 5;
    trace_batch_end(&account);
    assert_int_equal(rings[0]->used, 2);
    assert_int_equal(rings[0]->events[0].value, 21);
    assert_int_equal(rings[0]->events[0].begin, begin);
    assert_int_equal(rings[0]->events[1].value, 5);
}

static void full_ring_counts_and_keeps_marks(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < ROOM + 3; i++)
        trace_instant(&account, TRACE_EPOCH, i);
    trace_mark(rings[0], TRACE_WINDOW, 1000, 10);
    trace_mark(rings[1], TRACE_PREFILL, 600, 40);
    char *text = written(0);
    assert_non_null(strstr(text, " events=10 dropped=3 long_free_threshold_ns=0 first_ns=-200 "));
    assert_non_null(strstr(text, " value\n-1 -200 20 prefill 0\n"));
    assert_non_null(strstr(text, "\n0 0 5 window 0\n"));
}

/* What a thread does on its way offline comes behind its window, though the driver marks that afterwards. */
static void marks_stand_where_they_ended(void **state)
{
    (void)state;
    one_free(1000, 10);
    one_free(1100, 10);
    trace_mark(rings[0], TRACE_WINDOW, 1000, 100);
    assert_int_equal(rings[0]->events[1].event, TRACE_WINDOW);
    assert_int_equal(rings[0]->events[2].begin, 1100);
}

static void words_hold_no_blanks(void **state)
{
    (void)state;
    assert_non_null(strstr(written(0), " name=a%20b%3d%25%c3\n"));
}

int main(void)
{
    meta_init();
    clock_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(threshold_has_two_sides, fresh),
        cmocka_unit_test_setup(frees_below_the_first_estimate_are_not_recorded, fresh),
        cmocka_unit_test_setup(untimed_frees_read_no_clock, fresh),
        cmocka_unit_test_setup(outermost_batch_makes_the_event, fresh),
        cmocka_unit_test_setup(full_ring_counts_and_keeps_marks, fresh),
        cmocka_unit_test_setup(marks_stand_where_they_ended, fresh),
        cmocka_unit_test_setup(words_hold_no_blanks, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
