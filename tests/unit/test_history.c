/* SPDX-License-Identifier: MIT */
/* LINK: harness/error.c */
/* First: cmocka has a fail of its own. */
#include "../linearize/history.h"

#include <stdlib.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static struct search search;
static struct history history;

static int clear(void **state unused)
{
    memset(&history, 0, sizeof history);
    history.threads = 3;
    return 0;
}

/* `after`: the calls of threads 0, 1 and 2 that had returned. */
#define AFTER(a, b, c) ((const uint8_t[]){a, b, c})

static void add(unsigned thread, const uint8_t *after, struct call call)
{
    memcpy(call.seen, after, history.threads);
    history.call[thread][history.calls[thread]++] = call;
}

static void insert(unsigned thread, const uint8_t *after, unsigned key, unsigned tag, bool inserted)
{
    add(thread, after, (struct call){CALL_INSERT, (uint8_t)key, .answer = inserted, .value = history_value(key, tag)});
}

static void removes(unsigned thread, const uint8_t *after, unsigned key, bool removed)
{
    add(thread, after, (struct call){CALL_REMOVE, (uint8_t)key, .answer = removed});
}

/* tag 0: not found */
static void find(unsigned thread, const uint8_t *after, unsigned key, unsigned tag)
{
    add(thread, after, (struct call){CALL_FIND, (uint8_t)key, .answer = tag != 0, .value = history_value(key, tag)});
}

static void scan(unsigned thread, const uint8_t *after, unsigned low, unsigned most, unsigned pairs, uint64_t sum)
{
    add(thread, after, (struct call){CALL_SCAN, (uint8_t)low, (uint16_t)most, (uint16_t)pairs, .value = sum});
}

static bool is_linearizable(void)
{
    return history_is_linearizable(&search, &history);
}

static void nothing_is(void **state unused)
{
    assert_true(is_linearizable());
}

static void one_thread_is_compared_with_a_set(void **state unused)
{
    find(0, AFTER(0, 0, 0), 1, 0);
    removes(0, AFTER(1, 0, 0), 1, false);
    insert(0, AFTER(2, 0, 0), 1, 5, true);
    insert(0, AFTER(3, 0, 0), 1, 6, false);
    find(0, AFTER(4, 0, 0), 1, 5);
    scan(0, AFTER(5, 0, 0), 0, 9, 1, history_value(1, 5));
    removes(0, AFTER(6, 0, 0), 1, true);
    scan(0, AFTER(7, 0, 0), 0, 9, 0, 0);
    assert_true(is_linearizable());
    find(0, AFTER(8, 0, 0), 1, 5);
    assert_false(is_linearizable());
}

static void each_wrong_answer_is_seen(void **state unused)
{
    for (unsigned wrong = 0; wrong < 7; wrong++) {
        clear(NULL);
        insert(0, AFTER(0, 0, 0), 3, 1, wrong != 0);
        insert(0, AFTER(1, 0, 0), 3, 2, wrong == 1);
        find(0, AFTER(2, 0, 0), 3, wrong == 2 ? 0 : wrong == 3 ? 2 : 1);
        removes(0, AFTER(3, 0, 0), 3, wrong != 4);
        removes(0, AFTER(4, 0, 0), 3, wrong == 5);
        assert_int_equal(is_linearizable(), wrong == 6);
    }
}

/* A value with the bytes of another key, or none: torn. */
static void torn_value_is_seen(void **state unused)
{
    insert(0, AFTER(0, 0, 0), 3, 1, true);
    insert(0, AFTER(1, 0, 0), 4, 2, true);
    struct call call = {CALL_FIND, 3, .answer = true, .value = history_value(4, 2)};
    add(1, AFTER(2, 0, 0), call);
    assert_false(is_linearizable());
    history.call[1][0].value = 0;
    assert_false(is_linearizable());
    history.call[1][0].value = history_value(3, 1);
    assert_true(is_linearizable());
}

/* The insert has not returned: whoever runs beside it may find either, but once it was there it stays. */
static void overlapping_calls_may_come_in_any_order(void **state unused)
{
    insert(0, AFTER(0, 0, 0), 2, 7, true);
    find(1, AFTER(0, 0, 0), 2, 0);
    find(1, AFTER(0, 1, 0), 2, 7);
    find(2, AFTER(0, 0, 0), 2, 7);
    find(2, AFTER(0, 0, 1), 2, 7);
    assert_true(is_linearizable());
    find(2, AFTER(0, 0, 2), 2, 0);
    assert_false(is_linearizable());
}

/* Thread 1 saw it; thread 2 began after thread 1's call had returned. */
static void order_passes_through_a_third(void **state unused)
{
    insert(0, AFTER(0, 0, 0), 2, 7, true);
    find(1, AFTER(0, 0, 0), 2, 7);
    find(2, AFTER(0, 0, 0), 2, 0);
    assert_true(is_linearizable());
    history.call[2][0].seen[1] = 1;
    assert_false(is_linearizable());
}

static void stale_read_is_seen(void **state unused)
{
    insert(0, AFTER(0, 0, 0), 2, 7, true);
    find(1, AFTER(1, 0, 0), 2, 0);
    assert_false(is_linearizable());
}

/* The key is there again, with another value. */
static void older_incarnation_is_seen(void **state unused)
{
    insert(0, AFTER(0, 0, 0), 2, 7, true);
    removes(0, AFTER(1, 0, 0), 2, true);
    insert(0, AFTER(2, 0, 0), 2, 8, true);
    find(1, AFTER(1, 0, 0), 2, 7);
    assert_true(is_linearizable());
    history.call[1][0].seen[0] = 2;
    assert_false(is_linearizable());
    history.call[1][0].value = history_value(2, 8);
    assert_true(is_linearizable());
}

static void lost_insert_is_seen(void **state unused)
{
    insert(0, AFTER(0, 0, 0), 1, 1, true);
    insert(1, AFTER(0, 0, 0), 2, 2, true);
    removes(2, AFTER(1, 1, 0), 2, true);
    assert_true(is_linearizable());
    removes(2, AFTER(1, 1, 1), 1, false);
    assert_false(is_linearizable());
}

/* Of two that overlap only one can have succeeded, unless a remove came between. */
static void double_success_is_seen(void **state unused)
{
    insert(0, AFTER(0, 0, 0), 4, 1, true);
    insert(1, AFTER(0, 0, 0), 4, 2, true);
    assert_false(is_linearizable());
    removes(2, AFTER(0, 0, 0), 4, true);
    assert_true(is_linearizable());
    removes(2, AFTER(0, 0, 1), 4, true);
    assert_true(is_linearizable());
    removes(2, AFTER(0, 0, 2), 4, true);
    assert_false(is_linearizable());
}

/* Either insert may have come first, and only the later find says which: the search must go back. */
static void search_goes_back(void **state unused)
{
    for (unsigned last = 1; last <= 2; last++) {
        clear(NULL);
        insert(0, AFTER(0, 0, 0), 4, 1, true);
        insert(1, AFTER(0, 0, 0), 4, 2, true);
        removes(2, AFTER(0, 0, 0), 4, true);
        find(2, AFTER(1, 1, 1), 4, last);
        assert_true(is_linearizable());
    }
    history.call[2][1].value = history_value(4, 3);
    assert_false(is_linearizable());
}

static void scan_that_skips_is_seen(void **state unused)
{
    for (unsigned key = 1; key <= 3; key++)
        insert(0, AFTER((uint8_t)(key - 1), 0, 0), key, key, true);
    scan(1, AFTER(3, 0, 0), 0, 9, 3, history_value(1, 1) + history_value(2, 2) + history_value(3, 3));
    scan(1, AFTER(3, 1, 0), 2, 9, 2, history_value(2, 2) + history_value(3, 3));
    scan(1, AFTER(3, 2, 0), 0, 2, 2, history_value(1, 1) + history_value(2, 2));
    assert_true(is_linearizable());
    scan(1, AFTER(3, 3, 0), 0, 2, 2, history_value(1, 1) + history_value(3, 3));
    assert_false(is_linearizable());
    history.call[1][3] = history.call[1][0];
    assert_true(is_linearizable());
    history.call[1][3].answer = 2;
    assert_false(is_linearizable());
    history.call[1][3] = history.call[1][0];
    history.call[1][3].most = 1;
    assert_false(is_linearizable());
}

static void scan_counts_fillers(void **state unused)
{
    history.fillers[2] = 2;
    history.fillers[HISTORY_KEYS] = 1;
    insert(0, AFTER(0, 0, 0), 1, 1, true);
    insert(0, AFTER(1, 0, 0), 2, 2, true);
    uint64_t both = history_value(1, 1) + history_value(2, 2);
    scan(1, AFTER(2, 0, 0), 1, 9, 5, both);
    scan(1, AFTER(2, 1, 0), 1, 4, 4, both);
    /* Ends among the fillers in front of key 2. */
    scan(1, AFTER(2, 2, 0), 1, 3, 3, history_value(1, 1));
    scan(1, AFTER(2, 3, 0), 1, 2, 2, history_value(1, 1));
    assert_true(is_linearizable());
    for (unsigned answer = 0; answer <= 6; answer++) {
        history.call[1][0].answer = (uint16_t)answer;
        assert_int_equal(is_linearizable(), answer == 5);
    }
}

static void scan_takes_back_a_removed_key(void **state unused)
{
    insert(0, AFTER(0, 0, 0), 1, 1, true);
    removes(0, AFTER(1, 0, 0), 1, true);
    scan(1, AFTER(1, 0, 0), 0, 9, 1, history_value(1, 1));
    assert_true(is_linearizable());
    history.call[1][0].seen[0] = 2;
    assert_false(is_linearizable());
}

/* Key `first` came and went, then `second` came; a scan beside all that found both, though never there at once. */
static void meet_both(unsigned first, unsigned second)
{
    clear(NULL);
    insert(0, AFTER(0, 0, 0), first, 1, true);
    removes(0, AFTER(1, 0, 0), first, true);
    insert(0, AFTER(2, 0, 0), second, 2, true);
    scan(1, AFTER(0, 0, 0), 0, 9, 2, history_value(first, 1) + history_value(second, 2));
}

static void scan_is_no_snapshot(void **state unused)
{
    meet_both(1, 3);
    assert_true(is_linearizable());
}

static void scan_does_not_go_back(void **state unused)
{
    meet_both(3, 1);
    assert_false(is_linearizable());
}

static void scan_looks_while_it_runs(void **state unused)
{
    meet_both(1, 3);
    history.call[1][0].seen[0] = 1;
    assert_true(is_linearizable());
    history.call[1][0].seen[0] = 2;
    assert_false(is_linearizable());
    history.call[1][0].seen[0] = 0;
    history.call[0][2].seen[1] = 1;
    assert_false(is_linearizable());
}

static void scan_that_reads_twice_is_seen(void **state unused)
{
    insert(0, AFTER(0, 0, 0), 3, 1, true);
    insert(0, AFTER(1, 0, 0), 4, 200, true);
    scan(1, AFTER(2, 0, 0), 0, 9, 3, history_value(3, 1) + 2 * history_value(4, 200));
    assert_false(is_linearizable());
}

/* Many overlapping updates whose last answer is wrong: the search must visit every place, but none twice. */
static void search_stays_small(void **state unused)
{
    enum { PAIRS = HISTORY_CALLS / 2 };
    for (unsigned thread = 0; thread < 3; thread++)
        for (unsigned i = 0; i < PAIRS; i++) {
            insert(thread, AFTER(0, 0, 0), thread, i + 1, true);
            removes(thread, AFTER(0, 0, 0), thread, true);
        }
    history.call[2][HISTORY_CALLS - 1].answer = false;
    assert_false(is_linearizable());
    unsigned all = (HISTORY_CALLS + 1) * (HISTORY_CALLS + 1) * HISTORY_CALLS;
    assert_true(search.places <= all);
    assert_true(search.longest_length == 3 * HISTORY_CALLS - 1);
}

static void print_names_the_call_that_does_not_fit(void **state unused)
{
    char *text;
    size_t bytes;
    insert(0, AFTER(0, 0, 0), 2, 7, true);
    find(1, AFTER(1, 0, 0), 2, 0);
    removes(1, AFTER(1, 1, 0), 2, true);
    assert_false(is_linearizable());
    FILE *to = open_memstream(&text, &bytes);
    history_print(to, &search);
    fclose(to);
    assert_non_null(
        strstr(text, "order:\nthread 0 call  0, after  0  0  0: insert 2 = true { 2:7 }\nthen there is { 2:7 }"));
    assert_non_null(strstr(text, "wrong: thread 1 call  0, after  1  0  0: find 2 = false\n"));
    assert_non_null(strstr(text, "and the rest:\nthread 1 call  1, after  1  1  0: remove 2 = true\n"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is, clear),
        cmocka_unit_test_setup(one_thread_is_compared_with_a_set, clear),
        cmocka_unit_test_setup(each_wrong_answer_is_seen, clear),
        cmocka_unit_test_setup(torn_value_is_seen, clear),
        cmocka_unit_test_setup(overlapping_calls_may_come_in_any_order, clear),
        cmocka_unit_test_setup(order_passes_through_a_third, clear),
        cmocka_unit_test_setup(stale_read_is_seen, clear),
        cmocka_unit_test_setup(older_incarnation_is_seen, clear),
        cmocka_unit_test_setup(lost_insert_is_seen, clear),
        cmocka_unit_test_setup(double_success_is_seen, clear),
        cmocka_unit_test_setup(search_goes_back, clear),
        cmocka_unit_test_setup(scan_that_skips_is_seen, clear),
        cmocka_unit_test_setup(scan_counts_fillers, clear),
        cmocka_unit_test_setup(scan_takes_back_a_removed_key, clear),
        cmocka_unit_test(scan_is_no_snapshot),
        cmocka_unit_test(scan_does_not_go_back),
        cmocka_unit_test(scan_looks_while_it_runs),
        cmocka_unit_test_setup(scan_that_reads_twice_is_seen, clear),
        cmocka_unit_test_setup(search_stays_small, clear),
        cmocka_unit_test_setup(print_names_the_call_that_does_not_fit, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
