/* SPDX-License-Identifier: MIT */
/* LINK: */
/* VARIANTS: -DSEARCH_PORTABLE | -DSEARCH_AVX2 */
/* Each search and move of harness/search.h against the plain loop that its comment describes. The build's flags choose
 * the backend; the variants above are further builds of this file, skipped by main where the target has no such
 * instructions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#if defined(SEARCH_AVX2) && !defined(__AVX2__)
#undef SEARCH_AVX2
#define SEARCH_PORTABLE
#define NOT_HERE "this target has no AVX2"
#endif
#include "search.h"

#define KEY_MAX   ((uint64_t)INT64_MAX)
#define MAX_WORDS 64

static uint64_t state = 88172645463325252u;

static uint64_t random_word(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* Words around the edges of both number ranges, and few enough that equal ones are frequent. */
static uint64_t edge_word(void)
{
    static const uint64_t edges[] = {
        0, 1, 2, KEY_MAX - 1, KEY_MAX, KEY_MAX + 1, UINT64_MAX - 1, UINT64_MAX, 0xffffffffu, 0x100000000u, 0x7fffffffu};
    uint64_t pick = random_word();
    return pick & 1 ? edges[pick / 2 % (sizeof edges / sizeof *edges)] : random_word() >> (pick / 2 % 64);
}

/* Exactly `words` words at the end of a heap block of their own, so that a sanitizer sees any step outside. */
static _Atomic uint64_t *block(unsigned words)
{
    _Atomic uint64_t *array = malloc(words * sizeof *array);
    assert_non_null(array);
    for (unsigned i = 0; i < words; i++)
        store_relaxed(&array[i], edge_word());
    return array;
}

static uint64_t model_bits(const _Atomic uint64_t *array, unsigned words, uint64_t key, bool below)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < words; i++) {
        uint64_t word = load_relaxed(&array[i]);
        bits |= (uint64_t)(below ? word < key : word == key) << i;
    }
    return bits;
}

#define WITH_LINES(N)                                                                                                  \
    static void compare_##N(uint64_t key, const _Atomic uint64_t *array)                                               \
    {                                                                                                                  \
        assert_int_equal(search_equal(array, N, key), model_bits(array, N *SEARCH_LINE, key, false));                  \
        if (key <= KEY_MAX)                                                                                            \
            assert_int_equal(search_below(array, N, key), model_bits(array, N *SEARCH_LINE, key, true));               \
    }
WITH_LINES(1)
WITH_LINES(2)
WITH_LINES(3)
WITH_LINES(4)
WITH_LINES(5)
WITH_LINES(7)
WITH_LINES(8)

static void searches_agree_with_the_model(unused void **cmocka)
{
    static void (*const compare[])(uint64_t, const _Atomic uint64_t *) = {
        [1] = compare_1, [2] = compare_2, [3] = compare_3, [4] = compare_4,
        [5] = compare_5, [7] = compare_7, [8] = compare_8};
    for (unsigned round = 0; round < 20000; round++) {
        unsigned lines = 1 + round % 8;
        if (lines == 6)
            continue;
        _Atomic uint64_t *array = block(lines * SEARCH_LINE);
        uint64_t of_array = load_relaxed(&array[random_word() % (lines * SEARCH_LINE)]);
        const uint64_t keys[] = {0, 1, KEY_MAX - 1, KEY_MAX, UINT64_MAX, of_array, edge_word()};
        for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++)
            compare[lines](keys[i], array);
        free(array);
    }
}

/* The same lines at every offset: behind a header they start anywhere. */
static void searches_do_not_need_alignment(unused void **cmocka)
{
    _Atomic uint64_t *array = block(4 * SEARCH_LINE);
    for (unsigned offset = 0; offset <= 2 * SEARCH_LINE; offset++)
        for (unsigned i = 0; i < 4 * SEARCH_LINE; i++) {
            uint64_t key = load_relaxed(&array[i]);
            compare_2(key, array + offset);
        }
    free(array);
}

/* Opens or closes a gap in an array and in a plain copy of it; both must be equal afterwards, and what lies between the
 * lines must be as it was. */
static void gap_and_compare(bool open, unsigned stride, unsigned words, unsigned at)
{
    unsigned all = (words - 1) / SEARCH_LINE * stride + (words - 1) % SEARCH_LINE + 1;
    _Atomic uint64_t *array = block(all);
    uint64_t model[2 * MAX_WORDS];
    for (unsigned i = 0; i < all; i++)
        model[i] = load_relaxed(&array[i]);
    for (unsigned i = 0; i < words; i++) {
        unsigned from = open ? i - (i > at) : i + (i >= at && i + 1 < words);
        model[i / SEARCH_LINE * stride + i % SEARCH_LINE] =
            load_relaxed(&array[from / SEARCH_LINE * stride + from % SEARCH_LINE]);
    }
    if (open)
        search_open(array, stride, words, at);
    else
        search_close(array, stride, words, at);
    for (unsigned i = 0; i < all; i++)
        assert_int_equal(load_relaxed(&array[i]), model[i]);
    free(array);
}

static void gaps_agree_with_the_model(unused void **cmocka)
{
    for (unsigned words = 1; words <= MAX_WORDS; words++)
        for (unsigned at = 0; at < words; at++)
            for (unsigned lines_apart = 1; lines_apart <= 2; lines_apart++) {
                gap_and_compare(true, lines_apart * SEARCH_LINE, words, at);
                gap_and_compare(false, lines_apart * SEARCH_LINE, words, at);
            }
}

static void copies_are_equal_and_no_longer(unused void **cmocka)
{
    for (unsigned words = 0; words <= MAX_WORDS; words++) {
        _Atomic uint64_t *from = block(words), *to = block(words);
        search_copy(to, from, words);
        for (unsigned i = 0; i < words; i++)
            assert_int_equal(load_relaxed(&to[i]), load_relaxed(&from[i]));
        free(from);
        free(to);
    }
}

static void copies_with_a_gap_agree_with_the_model(unused void **cmocka)
{
    for (unsigned words = 1; words <= 2 * SEARCH_LINE + 3; words++)
        for (unsigned at = 0; at < words; at++) {
            _Atomic uint64_t *from = block(words), *open = block(words), *close = block(words);
            search_copy_open(open, from, words, at, KEY_MAX);
            search_copy_close(close, from, words, at, KEY_MAX);
            for (unsigned i = 0; i < words; i++) {
                uint64_t opened = i == at ? KEY_MAX : load_relaxed(&from[i - (i > at)]);
                uint64_t closed = i == words - 1 ? KEY_MAX : load_relaxed(&from[i + (i >= at)]);
                assert_int_equal(load_relaxed(&open[i]), opened);
                assert_int_equal(load_relaxed(&close[i]), closed);
            }
            free(from);
            free(open);
            free(close);
        }
}

/* A move inside an array: all lanes are read before one is written. */
static void line_move_allows_overlap(unused void **cmocka)
{
    for (unsigned lanes = 0; lanes < 256; lanes++) {
        _Atomic uint64_t up[SEARCH_LINE + 1], down[SEARCH_LINE + 1];
        for (unsigned i = 0; i <= SEARCH_LINE; i++) {
            store_relaxed(&up[i], i);
            store_relaxed(&down[i], i);
        }
        line_move(up + 1, up, lanes);
        line_move(down, down + 1, lanes);
        for (unsigned i = 0; i < SEARCH_LINE; i++) {
            assert_int_equal(load_relaxed(&up[i + 1]), lanes >> i & 1 ? i : i + 1);
            assert_int_equal(load_relaxed(&down[i]), lanes >> i & 1 ? i + 1 : i);
        }
    }
}

static void lanes_are_those_in_the_range(unused void **cmocka)
{
    for (unsigned base = 0; base <= 24; base += SEARCH_LINE)
        for (unsigned first = 0; first <= 34; first++)
            for (unsigned end = 0; end <= 34; end++) {
                unsigned model = 0;
                for (unsigned i = 0; i < SEARCH_LINE; i++)
                    model |= (unsigned)(base + i >= first && base + i < end) << i;
                assert_int_equal(line_lanes(base, first, end), model);
            }
}

static void fill_fills(unused void **cmocka)
{
    _Atomic uint64_t *array = block(20);
    uint64_t behind = load_relaxed(&array[17]);
    search_fill(array, 17, KEY_MAX);
    for (unsigned i = 0; i < 17; i++)
        assert_int_equal(load_relaxed(&array[i]), KEY_MAX);
    assert_int_equal(load_relaxed(&array[17]), behind);
    free(array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(searches_agree_with_the_model),
        cmocka_unit_test(searches_do_not_need_alignment),
        cmocka_unit_test(gaps_agree_with_the_model),
        cmocka_unit_test(copies_are_equal_and_no_longer),
        cmocka_unit_test(copies_with_a_gap_agree_with_the_model),
        cmocka_unit_test(line_move_allows_overlap),
        cmocka_unit_test(lanes_are_those_in_the_range),
        cmocka_unit_test(fill_fills),
    };
#ifdef NOT_HERE
    print_message("skipped: " NOT_HERE "\n");
    return 0;
#endif
    print_message("backend " SEARCH_BACKEND "\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
