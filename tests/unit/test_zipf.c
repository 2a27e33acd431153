/* SPDX-License-Identifier: MIT */
/* LINK: */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "../../harness/zipf.h"

static const double thetas[] = {0.05, 0.5, 0.9, 0.99, 0.9999999, 1, 1.0000001, 1.01, 1.5, 2, 5};
enum { THETAS = sizeof thetas / sizeof *thetas, DRAWS = 1000000 };

/* Chi-square against the exact law. Ranks expected fewer than 10 times are taken together. */
static double deviation(uint64_t n, double theta, uint64_t seed)
{
    struct random random;
    struct zipf zipf;
    random_seed(&random, seed, n);
    zipf_init(&zipf, n, theta);
    uint64_t *counts = calloc(n, sizeof *counts);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t rank = zipf_next(&zipf, &random);
        assert_true(rank < n);
        counts[rank]++;
    }
    double sum = 0, chi = 0, rest = 0, rest_expected = 0;
    size_t cells = 0;
    for (uint64_t r = 0; r < n; r++)
        sum += pow((double)r + 1, -theta);
    for (uint64_t r = 0; r < n; r++) {
        rest += (double)counts[r];
        rest_expected += DRAWS * pow((double)r + 1, -theta) / sum;
        if (rest_expected >= 10) {
            chi += (rest - rest_expected) * (rest - rest_expected) / rest_expected;
            rest = rest_expected = 0;
            cells++;
        }
    }
    free(counts);
    if (cells < 2)
        return 0;
    return (chi - (double)(cells - 1)) / sqrt(2.0 * (double)(cells - 1));
}

static void small_ranges_are_exact(void **state unused)
{
    static const uint64_t sizes[] = {2, 3, 10, 100, 5000};
    double worst = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t t = 0; t < THETAS; t++)
            worst = fmax(worst, deviation(sizes[s], thetas[t], s * THETAS + t));
    print_message("largest deviation: %.2f standard deviations\n", worst);
    /* With one degree of freedom chi-square has a long tail: 1e-6 lies at 16. */
    assert_true(worst < 8);
}

static void one_rank_is_always_drawn(void **state unused)
{
    for (size_t t = 0; t < THETAS; t++) {
        struct random random;
        struct zipf zipf;
        random_seed(&random, 1, t);
        zipf_init(&zipf, 1, thetas[t]);
        for (int i = 0; i < 1000; i++)
            assert_int_equal(zipf_next(&zipf, &random), 0);
    }
}

/* The exponent, fitted where every rank from `from` to `to` is drawn often: maximum likelihood has no closed form for a
 * cut range, but the mean of log k over it does grow strictly with -theta, so bisect on that. */
static double mean_log(double theta, uint64_t from, uint64_t to)
{
    double weight = 0, sum = 0;
    for (uint64_t k = from; k <= to; k++) {
        double w = pow((double)k, -theta);
        weight += w;
        sum += w * log((double)k);
    }
    return sum / weight;
}

static void large_ranges_have_the_exponent(void **state unused)
{
    static const uint64_t sizes[] = {1000000, 1000000000, (uint64_t)1 << 40, (uint64_t)1 << 53};
    static const double steep[] = {0.9, 0.99, 1, 1.01, 1.2};
    enum { FROM = 2, TO = 20000 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t t = 0; t < sizeof steep / sizeof *steep; t++) {
            struct random random;
            struct zipf zipf;
            random_seed(&random, s, t);
            zipf_init(&zipf, sizes[s], steep[t]);
            double sum = 0;
            uint64_t count = 0;
            for (int i = 0; i < 4 * DRAWS; i++) {
                uint64_t k = zipf_next(&zipf, &random) + 1;
                assert_true(k <= sizes[s]);
                if (k >= FROM && k <= TO) {
                    sum += log((double)k);
                    count++;
                }
            }
            double low = 0, high = 3;
            for (int i = 0; i < 16; i++) {
                double middle = (low + high) / 2;
                if (mean_log(middle, FROM, TO) > sum / (double)count)
                    low = middle;
                else
                    high = middle;
            }
            /* log k has a standard deviation of about 2.5 there, which is also d mean / d theta per unit: 1 / (2.5 sqrt
             * count). */
            assert_true(count > 10000);
            assert_true(fabs(low - steep[t]) < 5 / sqrt((double)count) + 1e-4);
        }
}

/* Flat laws put their weight at the far end: the share of each tenth of the range, where sums are as good as integrals.
 */
static void far_end_is_reached(void **state unused)
{
    static const double flat[] = {0.05, 0.5, 0.99, 1};
    for (size_t t = 0; t < sizeof flat / sizeof *flat; t++) {
        uint64_t n = (uint64_t)1 << 40, counts[10] = {0};
        struct random random;
        struct zipf zipf;
        random_seed(&random, 3, t);
        zipf_init(&zipf, n, flat[t]);
        for (int i = 0; i < DRAWS; i++)
            counts[(unsigned __int128)zipf_next(&zipf, &random) * 10 / n]++;
        for (int tenth = 1; tenth < 10; tenth++) {
            double from = (double)n * tenth / 10, to = (double)n * (tenth + 1) / 10;
            double share = (zipf_area(&zipf, to) - zipf_area(&zipf, from)) / zipf.span;
            assert_true(fabs((double)counts[tenth] - DRAWS * share) < 5 * sqrt(DRAWS * share));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_ranges_are_exact),
        cmocka_unit_test(one_rank_is_always_drawn),
        cmocka_unit_test(large_ranges_have_the_exponent),
        cmocka_unit_test(far_end_is_reached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
