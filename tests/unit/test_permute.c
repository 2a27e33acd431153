/* SPDX-License-Identifier: MIT */
/* LINK: */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../harness/permute.h"

static void is_a_bijection(void **state unused)
{
    uint64_t sizes[600];
    size_t count = 0;
    for (uint64_t n = 1; n <= 520; n++)
        sizes[count++] = n;
    sizes[count++] = 65536;
    sizes[count++] = 65537;
    sizes[count++] = 1000000;
    unsigned char *seen = malloc(1000000);
    for (size_t s = 0; s < count; s++) {
        struct permutation permutation;
        permutation_init(&permutation, sizes[s], s);
        memset(seen, 0, sizes[s]);
        for (uint64_t i = 0; i < sizes[s]; i++) {
            uint64_t to = permutation_apply(&permutation, i);
            assert_true(to < sizes[s]);
            assert_false(seen[to]++);
        }
    }
    free(seen);
}

/* Too large to mark: all results in range, and no two of a million starts meet (compared after sorting). */
static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void large_ranges_work(void **state unused)
{
    static const uint64_t sizes[] = {((uint64_t)1 << 32) - 1,  (uint64_t)1 << 32,       ((uint64_t)1 << 32) + 1,
                                     ((uint64_t)1 << 61) + 12, ((uint64_t)1 << 62) - 1, (uint64_t)1 << 62};
    enum { STARTS = 200000 };
    uint64_t *results = malloc(STARTS * sizeof *results);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct permutation permutation;
        permutation_init(&permutation, sizes[s], 5);
        for (uint64_t i = 0; i < STARTS; i++) {
            results[i] = permutation_apply(&permutation, i % 2 ? sizes[s] - 1 - i : i);
            assert_true(results[i] < sizes[s]);
        }
        qsort(results, STARTS, sizeof *results, compare);
        for (size_t i = 1; i < STARTS; i++)
            assert_true(results[i - 1] < results[i]);
    }
    free(results);
}

static void seed_decides(void **state unused)
{
    struct permutation a, b, c;
    permutation_init(&a, 1000000, 1);
    permutation_init(&b, 1000000, 1);
    permutation_init(&c, 1000000, 2);
    int same = 0;
    for (uint64_t i = 0; i < 1000000; i++) {
        assert_int_equal(permutation_apply(&a, i), permutation_apply(&b, i));
        same += permutation_apply(&a, i) == permutation_apply(&c, i);
    }
    /* Two random orders share one place on average. */
    assert_true(same < 10);
}

/* How far a chi-square over bins x bins cells is from its mean, in standard deviations. */
static double deviation(const uint64_t *counts, size_t cells, double total)
{
    double expected = total / (double)cells, chi = 0;
    for (size_t i = 0; i < cells; i++)
        chi += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    return (chi - (double)(cells - 1)) / sqrt(2.0 * (double)(cells - 1));
}

enum { BINS = 32 };

static uint64_t bin(uint64_t value, uint64_t n)
{
    return (uint64_t)((unsigned __int128)value * BINS / n);
}

/* Does where i went say where i + step went, or where in the range i was? Over many steps and sizes, including powers
 * of two (no walking) and just above (most walking), the pairs must fill their cells evenly. */
static void neighbours_are_unrelated(void **state unused)
{
    static const uint64_t sizes[] = {1 << 16, (1 << 16) + 1, 100000, 1000000, 1 << 20, (uint64_t)1 << 40};
    static const uint64_t steps[] = {0, 1, 2, 3, 64, 255, 256, 1024, 4096};
    double worst = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t d = 0; d < sizeof steps / sizeof *steps; d++)
            for (uint64_t seed = 0; seed < 4; seed++) {
                uint64_t n = sizes[s], starts = n < 200000 ? n - 4096 : 200000;
                uint64_t counts[BINS * BINS] = {0};
                struct permutation permutation;
                permutation_init(&permutation, n, seed);
                for (uint64_t i = 0; i < starts; i++) {
                    uint64_t to = permutation_apply(&permutation, i);
                    uint64_t other =
                        steps[d] ? bin(permutation_apply(&permutation, i + steps[d]), n) : i * BINS / starts;
                    counts[bin(to, n) * BINS + other]++;
                }
                worst = fmax(worst, deviation(counts, BINS * BINS, (double)starts));
            }
    print_message("largest deviation: %.2f standard deviations\n", worst);
    assert_true(worst < 6);
}

/* Prefill order matters by its low bits too (which leaf, which lock): parity of neighbours, all pairs of bits of input
 * and output. */
static void output_bits_ignore_input_bits(void **state unused)
{
    enum { BITS = 20 };
    double worst = 0;
    for (uint64_t seed = 0; seed < 4; seed++) {
        uint64_t agree[BITS][BITS] = {{0}};
        struct permutation permutation;
        permutation_init(&permutation, 1 << BITS, seed);
        for (uint64_t i = 0; i < 1 << BITS; i++) {
            uint64_t to = permutation_apply(&permutation, i);
            for (int in = 0; in < BITS; in++)
                for (int out = 0; out < BITS; out++)
                    agree[in][out] += ~(i >> in ^ to >> out) & 1;
        }
        for (int in = 0; in < BITS; in++)
            for (int out = 0; out < BITS; out++)
                worst = fmax(worst, fabs((double)agree[in][out] - (1 << (BITS - 1))) / sqrt(1 << (BITS - 2)));
    }
    print_message("largest deviation: %.2f standard deviations\n", worst);
    assert_true(worst < 6);
}

/* For small n, over seeds: each key comes to each place equally often (below about ten the halves are one or two bits,
 * and there are too few orders to choose from). */
static void small_orders_vary(void **state unused)
{
    for (uint64_t n = 12; n <= 40; n += 7) {
        uint64_t counts[40 * 40] = {0};
        enum { SEEDS = 40000 };
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct permutation permutation;
            permutation_init(&permutation, n, seed);
            for (uint64_t i = 0; i < n; i++)
                counts[i * n + permutation_apply(&permutation, i)]++;
        }
        /* Rows and columns sum to SEEDS, which makes the real deviation a little smaller than assumed. */
        assert_true(deviation(counts, n * n, (double)SEEDS * (double)n) < 6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_a_bijection),
        cmocka_unit_test(large_ranges_work),
        cmocka_unit_test(seed_decides),
        cmocka_unit_test(neighbours_are_unrelated),
        cmocka_unit_test(output_bits_ignore_input_bits),
        cmocka_unit_test(small_orders_vary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
