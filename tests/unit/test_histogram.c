/* SPDX-License-Identifier: MIT */
/* LINK: */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "../../harness/histogram.h"
#include "../../harness/random.h"

/* Buckets tile the whole range in order, each at most 1/64 as wide as its first value. */
static void buckets_tile_the_range(void **state unused)
{
    uint64_t first = 0;
    for (unsigned bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        uint64_t last = histogram_bucket_last(bucket);
        assert_int_equal(histogram_bucket(first), bucket);
        assert_int_equal(histogram_bucket(last), bucket);
        assert_true(last >= first && last - first <= first / HISTOGRAM_SUB);
        first = last + 1;
    }
    assert_int_equal(first, 0); /* the last bucket ended with UINT64_MAX */
}

static void small_values_are_exact(void **state unused)
{
    struct histogram *histogram = calloc(1, sizeof *histogram);
    for (uint64_t value = 1; value <= 100; value++)
        histogram_add(histogram, value);
    assert_int_equal(histogram->count, 100);
    assert_int_equal(histogram->max, 100);
    assert_int_equal(histogram_percentile(histogram, 0), 1);
    assert_int_equal(histogram_percentile(histogram, 0.5), 50);
    assert_int_equal(histogram_percentile(histogram, 0.99), 99);
    assert_int_equal(histogram_percentile(histogram, 1), 100);
    free(histogram);
}

static void single_value_is_its_own_percentile(void **state unused)
{
    static const uint64_t values[] = {0, 1, 127, 128, 12345, UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct histogram *histogram = calloc(1, sizeof *histogram);
        histogram_add(histogram, values[i]);
        assert_int_equal(histogram_percentile(histogram, 0.001), values[i]);
        assert_int_equal(histogram_percentile(histogram, 0.999), values[i]);
        free(histogram);
    }
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Values over eight orders of magnitude, split over two histograms and merged: never below the sorted truth, at most
 * 1/64 above. */
static void merged_percentiles_keep_the_bound(void **state unused)
{
    enum { COUNT = 100000 };
    uint64_t *values = malloc(COUNT * sizeof *values);
    struct histogram *parts = calloc(3, sizeof *parts);
    struct random random;
    random_seed(&random, 11, 0);
    for (int i = 0; i < COUNT; i++) {
        values[i] = random_next(&random) >> (34 + random_below(&random, 28));
        histogram_add(&parts[i % 2], values[i]);
    }
    for (int i = 0; i < 2; i++)
        histogram_merge(&parts[2], &parts[i]);
    qsort(values, COUNT, sizeof *values, compare);
    assert_int_equal(parts[2].count, COUNT);
    assert_int_equal(parts[2].max, values[COUNT - 1]);
    for (int thousandth = 1; thousandth <= 1000; thousandth++) {
        uint64_t truth = values[thousandth * (COUNT / 1000) - 1];
        uint64_t got = histogram_percentile(&parts[2], thousandth / 1000.0);
        assert_true(got >= truth && got - truth <= truth / HISTOGRAM_SUB);
    }
    free(values);
    free(parts);
}

static void merging_an_empty_one_changes_nothing(void **state unused)
{
    struct histogram *parts = calloc(2, sizeof *parts);
    histogram_add(&parts[0], 77);
    histogram_merge(&parts[0], &parts[1]);
    assert_int_equal(parts[0].count, 1);
    assert_int_equal(histogram_percentile(&parts[0], 0.5), 77);
    free(parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_tile_the_range),
        cmocka_unit_test(small_values_are_exact),
        cmocka_unit_test(single_value_is_its_own_percentile),
        cmocka_unit_test(merged_percentiles_keep_the_bound),
        cmocka_unit_test(merging_an_empty_one_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
