/* SPDX-License-Identifier: MIT */
/* LINK: */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "../../harness/random.h"

/* The reference sequence of splitmix64 from state 0: the mixer and its increment are the published ones. */
static void mixer_is_splitmix64(void **state unused)
{
    static const uint64_t expected[] = {0xe220a8397b1dcdafu, 0x6e789e6aa1b965f4u, 0x06c45d188009454fu};
    uint64_t x = 0;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(random_mix(x += 0x9e3779b97f4a7c15u), expected[i]);
}

/* xoshiro256++ from state {1, 2, 3, 4}; the first values can be followed by hand. */
static void generator_is_xoshiro256plusplus(void **state unused)
{
    static const uint64_t expected[] = {41943041u, 58720359u, 3588806011781223u, 3591011842654386u};
    struct random random = {{1, 2, 3, 4}};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(random_next(&random), expected[i]);
}

static void same_seed_same_numbers(void **state unused)
{
    struct random a, b, c, d;
    random_seed(&a, 42, 3);
    random_seed(&b, 42, 3);
    random_seed(&c, 42, 4);
    random_seed(&d, 3, 42);
    for (int i = 0; i < 1000; i++) {
        uint64_t x = random_next(&a);
        assert_int_equal(x, random_next(&b));
        assert_int_not_equal(x, random_next(&c));
        assert_int_not_equal(x, random_next(&d));
    }
}

/* Chi-square with `bins` - 1 degrees of freedom, as a number of standard deviations from its mean. */
static double deviation(const uint64_t *counts, size_t bins, double expected)
{
    double chi = 0;
    for (size_t i = 0; i < bins; i++)
        chi += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    return (chi - (double)(bins - 1)) / sqrt(2.0 * (double)(bins - 1));
}

enum { DRAWS = 1000000 };

static void below_is_uniform(void **state unused)
{
    static const uint64_t bounds[] = {2, 3, 10, 1000, 4096};
    for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
        uint64_t counts[4096] = {0};
        struct random random;
        random_seed(&random, 1, b);
        for (int i = 0; i < DRAWS; i++) {
            uint64_t x = random_below(&random, bounds[b]);
            assert_true(x < bounds[b]);
            counts[x]++;
        }
        assert_true(fabs(deviation(counts, bounds[b], (double)DRAWS / (double)bounds[b])) < 5);
    }
}

/* Parity decides insert or remove in many mixes: every bit of a key must be fair, and so must be one bit after another.
 */
static void bits_are_fair_and_unrelated(void **state unused)
{
    uint64_t ones[64] = {0}, same[64] = {0}, previous = 0;
    struct random random;
    random_seed(&random, 7, 0);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t x = random_next(&random);
        for (int bit = 0; bit < 64; bit++) {
            ones[bit] += x >> bit & 1;
            same[bit] += ~(x ^ previous) >> bit & 1;
        }
        previous = x;
    }
    for (int bit = 0; bit < 64; bit++) {
        assert_true(fabs((double)ones[bit] - DRAWS / 2.0) < 5 * sqrt(DRAWS / 4.0));
        assert_true(fabs((double)same[bit] - DRAWS / 2.0) < 5 * sqrt(DRAWS / 4.0));
    }
}

/* Neighbouring streams and neighbouring seeds: no correlation, number by number. */
static void streams_are_independent(void **state unused)
{
    for (uint64_t other = 1; other < 9; other++) {
        struct random a, b;
        random_seed(&a, 1, 0);
        random_seed(&b, other < 5 ? 1 : other, other < 5 ? other : 0);
        double sum = 0;
        for (int i = 0; i < DRAWS; i++)
            sum += (random_unit(&a) - 0.5) * (random_unit(&b) - 0.5);
        /* Each product has variance 1/144. */
        assert_true(fabs(sum) < 5 * sqrt(DRAWS / 144.0));
    }
}

static void unit_stays_in_range(void **state unused)
{
    struct random random;
    random_seed(&random, 9, 9);
    double least = 1, most = 0, sum = 0;
    for (int i = 0; i < DRAWS; i++) {
        double x = random_unit(&random);
        least = x < least ? x : least;
        most = x > most ? x : most;
        sum += x;
    }
    assert_true(least >= 0 && least < 1e-4 && most < 1 && most > 1 - 1e-4);
    assert_true(fabs(sum / DRAWS - 0.5) < 5 * sqrt(1 / 12.0 / DRAWS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixer_is_splitmix64),         cmocka_unit_test(generator_is_xoshiro256plusplus),
        cmocka_unit_test(same_seed_same_numbers),      cmocka_unit_test(below_is_uniform),
        cmocka_unit_test(bits_are_fair_and_unrelated), cmocka_unit_test(streams_are_independent),
        cmocka_unit_test(unit_stays_in_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
