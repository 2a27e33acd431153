/* SPDX-License-Identifier: MIT */
/* LINK: */
/* VARIANTS: -DSEARCH_PORTABLE | -DSEARCH_AVX2 | -DSMALL | -DSMALL -DSEARCH_PORTABLE | -DSMALL -DSEARCH_AVX2 |
 * -DSMR_BYTES=24 | -DBPTREE_INNER_KEYS=20 -DBPTREE_LEAF_KEYS=15 */
/* In-node operations against sorted arrays: random operations on random contents, the edge keys 0 and 2^63-1 among
 * them, and after each the whole node is compared and its free places are looked at. The variants are further builds of
 * this file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#if defined(SEARCH_AVX2) && !defined(__AVX2__)
#undef SEARCH_AVX2
#define SEARCH_PORTABLE
#endif
#ifdef SMALL
#define BPTREE_INNER_KEYS 4
#define BPTREE_LEAF_KEYS  4
#endif
#ifndef SMR_BYTES
#define SMR_BYTES 0
#endif

/* What a reclaimer puts in front: nothing, or eras. */
struct smr_header {
    char eras[SMR_BYTES];
};
#include "parts/bptree_node.h"

#define LEAF_CAP   BPTREE_LEAF_KEYS
#define BOUNDS_CAP BPTREE_INNER_KEYS
#define ROUNDS     3000

static uint64_t state = 88172645463325252u;

static uint64_t random_below(uint64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % n;
}

static int compare_words(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* n different keys in order, 0 and the largest often among them, dense or spread. */
static void random_keys(uint64_t *keys, unsigned n)
{
    uint64_t range = random_below(2) ? 3 * (uint64_t)n + 2 : BPTREE_KEY_MAX;
    for (unsigned have = 0; have < n;) {
        uint64_t dice = random_below(16), key = dice == 0 ? 0 : dice == 1 ? BPTREE_KEY_MAX : random_below(range);
        bool present = false;
        for (unsigned i = 0; i < have; i++)
            present |= keys[i] == key;
        if (!present)
            keys[have++] = key;
    }
    qsort(keys, n, sizeof *keys, compare_words);
}

#define value_of(key) (~(key)*3)

static void *node_of(size_t bytes)
{
    void *node = aligned_alloc(BPTREE_ALIGN, (bytes + BPTREE_ALIGN - 1) / BPTREE_ALIGN * BPTREE_ALIGN);
    assert_non_null(node);
    memset(node, 0x5a, bytes); /* the init functions must not count on zeroes */
    return node;
}

/* ---- leaves ---- */

static struct bptree_leaf *leaf_with(const uint64_t *keys, unsigned n)
{
    struct bptree_leaf *leaf = node_of(sizeof *leaf);
    leaf_init(leaf);
    assert_int_equal(load_relaxed(&leaf->node.version), NODE_VERSION);
    store_relaxed(&leaf->node.version, NODE_VERSION + random_below(8));
    for (unsigned i = 0, start = n ? (unsigned)random_below(n) : 0; i < n; i++) { /* not in order */
        uint64_t key = keys[(start + i) % n];
        leaf_insert(leaf, key, value_of(key));
    }
    return leaf;
}

static void check_absent(const struct bptree_leaf *leaf, const uint64_t *keys, unsigned n, uint64_t key)
{
    uint64_t value;
    unsigned lower = 0;
    bool present = false;
    for (unsigned i = 0; i < n; i++) {
        lower += keys[i] < key;
        present |= keys[i] == key;
    }
    assert_int_equal(leaf_lower_bound(leaf, key), lower);
    assert_int_equal(leaf_find(leaf, key, &value), present);
}

static void check_leaf(const struct bptree_leaf *leaf, const uint64_t *keys, unsigned n)
{
    assert_int_equal(leaf_count(leaf), n);
    assert_int_equal(leaf_full(leaf), n == LEAF_CAP);
    check_absent(leaf, keys, n, load_relaxed(&leaf->node.version) & BPTREE_KEY_MAX); /* is no key */
    for (unsigned i = 0; i < n; i++) {
        uint64_t value;
        assert_int_equal(leaf_key(leaf, i), keys[i]);
        assert_int_equal(leaf_value(leaf, i), value_of(keys[i]));
        assert_true(leaf_find(leaf, keys[i], &value));
        assert_int_equal(value, value_of(keys[i]));
        check_absent(leaf, keys, n, keys[i] ? keys[i] - 1 : 0);
        check_absent(leaf, keys, n, keys[i] < BPTREE_KEY_MAX ? keys[i] + 1 : 0);
    }
    check_absent(leaf, keys, n, 0);
    check_absent(leaf, keys, n, BPTREE_KEY_MAX);
    for (unsigned i = n; i < LEAF_LINES * SEARCH_LINE - 1; i++)
        assert_int_equal(leaf_key(leaf, i), BPTREE_FREE);
}

static void leaf_inserts_and_removes(unused void **cmocka)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t keys[LEAF_CAP];
        unsigned n = (unsigned)random_below(LEAF_CAP + 1);
        random_keys(keys, n);
        struct bptree_leaf *leaf = leaf_with(keys, n);
        check_leaf(leaf, keys, n);
        while (n > 0) {
            unsigned i = (unsigned)random_below(n);
            assert_true(leaf_remove(leaf, keys[i]));
            assert_false(leaf_remove(leaf, keys[i]));
            memmove(keys + i, keys + i + 1, (--n - i) * sizeof *keys);
            check_leaf(leaf, keys, n);
        }
        free(leaf);
    }
}

static void leaf_splits(unused void **cmocka)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t keys[LEAF_CAP];
        unsigned n = 2 + (unsigned)random_below(LEAF_CAP - 1);
        random_keys(keys, n);
        struct bptree_leaf *left = leaf_with(keys, n), *right = leaf_with(keys, 0);
        uint64_t bound = leaf_split(left, right);
        unsigned kept = leaf_count(left);
        assert_in_range(kept, n / 2, (n + 1) / 2);
        assert_int_equal(bound, keys[kept - 1]);
        check_leaf(left, keys, kept);
        check_leaf(right, keys + kept, n - kept);
        free(left);
        free(right);
    }
}

static void leaves_merge_and_rebalance(unused void **cmocka)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t keys[2 * LEAF_CAP];
        unsigned in_left = (unsigned)random_below(LEAF_CAP + 1), n = in_left + (unsigned)random_below(LEAF_CAP + 1);
        random_keys(keys, n);
        struct bptree_leaf *left = leaf_with(keys, in_left), *right = leaf_with(keys + in_left, n - in_left);
        if (n <= LEAF_CAP && random_below(2)) {
            leaf_merge(left, right);
            check_leaf(left, keys, n);
        } else if (n >= 2) {
            uint64_t bound = leaf_rebalance(left, right);
            assert_int_equal(bound, keys[(n + 1) / 2 - 1]);
            check_leaf(left, keys, (n + 1) / 2);
            check_leaf(right, keys + (n + 1) / 2, n / 2);
        }
        free(left);
        free(right);
    }
}

static void leaf_collects_a_range(unused void **cmocka)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t keys[LEAF_CAP], got[LEAF_CAP + 1] = {0}, values[LEAF_CAP + 1] = {0};
        unsigned n = 1 + (unsigned)random_below(LEAF_CAP), room = (unsigned)random_below(LEAF_CAP + 1), first = 0;
        random_keys(keys, n);
        struct bptree_leaf *leaf = leaf_with(keys, n);
        uint64_t low = random_below(2) ? keys[random_below(n)] : random_below(BPTREE_KEY_MAX);
        while (first < n && keys[first] < low)
            first++;
        unsigned wanted = n - first < room ? n - first : room;
        assert_int_equal(leaf_collect(leaf, low, got, values, room), wanted);
        for (unsigned i = 0; i < wanted; i++) {
            assert_int_equal(got[i], keys[first + i]);
            assert_int_equal(values[i], value_of(keys[first + i]));
        }
        assert_int_equal(got[wanted], 0);
        free(leaf);
    }
}

/* ---- inner nodes: bounds keys[0..n), children named by the addresses of some bytes ---- */

static const char names[2 * BOUNDS_CAP + 4];

static struct bptree_inner *inner_with(const uint64_t *bounds, unsigned n, unsigned first_name)
{
    struct bptree_inner *inner = node_of(sizeof *inner);
    inner_init(inner, 3, names + first_name);
    for (unsigned i = 0; i < n; i++)
        inner_insert(inner, i, bounds[i], names + first_name + i + 1);
    return inner;
}

static void check_route(struct bptree_inner *inner, const uint64_t *bounds, unsigned n, uint64_t key)
{
    unsigned route = 0;
    while (route < n && bounds[route] < key)
        route++;
    assert_int_equal(inner_route(inner, key), route);
    assert_ptr_equal(inner_follow(inner, key), inner_child(inner, route));
}

static void check_inner(struct bptree_inner *inner, const uint64_t *bounds, unsigned n, const unsigned *children)
{
    assert_int_equal(inner_count(inner), n);
    assert_int_equal(inner_level(inner), 3);
    assert_int_equal(inner_full(inner), n == BOUNDS_CAP);
    for (unsigned i = 0; i <= n; i++) {
        assert_int_equal(load_relaxed(inner_child(inner, i)), (uintptr_t)(names + children[i]));
    }
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(inner_bound(inner, i), bounds[i]);
        check_route(inner, bounds, n, bounds[i]);
        check_route(inner, bounds, n, bounds[i] ? bounds[i] - 1 : 0);
        check_route(inner, bounds, n, bounds[i] < BPTREE_KEY_MAX ? bounds[i] + 1 : 0);
    }
    check_route(inner, bounds, n, 0);
    check_route(inner, bounds, n, BPTREE_KEY_MAX);
    for (unsigned i = n; i < INNER_GROUPS * SEARCH_LINE; i++)
        assert_int_equal(inner_bound(inner, i), BPTREE_FREE);
    for (unsigned g = 0; g + 1 < INNER_GROUPS; g++)
        assert_int_equal(load_relaxed(&inner->samples[g]), inner_bound(inner, g * SEARCH_LINE + SEARCH_LINE - 1));
}

static void count_up(unsigned *children, unsigned n)
{
    while (n-- > 0)
        children[n] = n;
}

static void inner_inserts_and_removes(unused void **cmocka)
{
    for (unsigned round = 0; round < 60; round++) {
        uint64_t all[BOUNDS_CAP], bounds[BOUNDS_CAP];
        unsigned children[BOUNDS_CAP + 1] = {0}, order[BOUNDS_CAP], n = 0;
        random_keys(all, BOUNDS_CAP);
        count_up(order, BOUNDS_CAP);
        struct bptree_inner *inner = inner_with(all, 0, 0);
        check_inner(inner, bounds, 0, children);
        for (; n < BOUNDS_CAP; n++) { /* in random order, each into its place */
            unsigned pick = n + (unsigned)random_below(BOUNDS_CAP - n), other = order[pick], i = 0;
            order[pick] = order[n];
            while (i < n && bounds[i] < all[other])
                i++;
            inner_insert(inner, i, all[other], names + n + 1);
            memmove(bounds + i + 1, bounds + i, (n - i) * sizeof *bounds);
            memmove(children + i + 2, children + i + 1, (n - i) * sizeof *children);
            bounds[i] = all[other];
            children[i + 1] = n + 1;
            check_inner(inner, bounds, n + 1, children);
        }
        while (n > 0) {
            unsigned i = 1 + (unsigned)random_below(n);
            inner_remove_child(inner, i);
            memmove(bounds + i - 1, bounds + i, (n - i) * sizeof *bounds);
            memmove(children + i, children + i + 1, (n - i) * sizeof *children);
            check_inner(inner, bounds, --n, children);
        }
        free(inner);
    }
}

static void inner_splits(unused void **cmocka)
{
    for (unsigned round = 0; round < ROUNDS / 4; round++) {
        uint64_t bounds[BOUNDS_CAP];
        unsigned children[BOUNDS_CAP + 1], n = 1 + (unsigned)random_below(BOUNDS_CAP);
        random_keys(bounds, n);
        count_up(children, BOUNDS_CAP + 1);
        struct bptree_inner *left = inner_with(bounds, n, 0), *right = node_of(sizeof *right);
        inner_init(right, 3, NULL);
        uint64_t bound = inner_split(left, right);
        unsigned kept = inner_count(left);
        assert_in_range(kept, (n - 1) / 2, n / 2);
        assert_int_equal(bound, bounds[kept]);
        check_inner(left, bounds, kept, children);
        check_inner(right, bounds + kept + 1, n - kept - 1, children + kept + 1);
        free(left);
        free(right);
    }
}

static void inners_merge_and_rebalance(unused void **cmocka)
{
    for (unsigned round = 0; round < ROUNDS / 4; round++) {
        uint64_t bounds[2 * BOUNDS_CAP + 1];
        unsigned children[2 * BOUNDS_CAP + 2], in_left = (unsigned)random_below(BOUNDS_CAP + 1);
        unsigned n = in_left + 1 + (unsigned)random_below(BOUNDS_CAP + 1);
        random_keys(bounds, n);
        count_up(children, n + 1);
        struct bptree_inner *left = inner_with(bounds, in_left, 0);
        struct bptree_inner *right = inner_with(bounds + in_left + 1, n - in_left - 1, in_left + 1);
        if (n <= BOUNDS_CAP && random_below(2)) {
            inner_merge(left, bounds[in_left], right);
            check_inner(left, bounds, n, children);
        } else {
            uint64_t bound = inner_rebalance(left, bounds[in_left], right);
            unsigned kept = inner_count(left);
            assert_int_equal(kept, (n - 1) / 2);
            assert_int_equal(bound, bounds[kept]);
            check_inner(left, bounds, kept, children);
            check_inner(right, bounds + kept + 1, n - kept - 1, children + kept + 1);
        }
        free(left);
        free(right);
    }
}

static void inner_copies_resets_and_moves_a_bound(unused void **cmocka)
{
    for (unsigned round = 0; round < ROUNDS / 8; round++) {
        uint64_t bounds[BOUNDS_CAP];
        unsigned children[BOUNDS_CAP + 1], n = 1 + (unsigned)random_below(BOUNDS_CAP);
        random_keys(bounds, n);
        count_up(children, n + 1);
        struct bptree_inner *from = inner_with(bounds, n, 0), *to = inner_with(bounds, 0, 1);
        inner_copy(to, from);
        check_inner(to, bounds, n, children);
        unsigned i = (unsigned)random_below(n);
        uint64_t low = i ? bounds[i - 1] + 1 : 0;
        bounds[i] = low + random_below(bounds[i] - low + 1);
        inner_set_bound(to, i, bounds[i]);
        check_inner(to, bounds, n, children);
        store_relaxed(&from->node.version, NODE_VERSION + 8);
        inner_reset(from, 3, names);
        check_inner(from, bounds, 0, children);
        assert_int_equal(load_relaxed(&from->node.version), NODE_VERSION + 8);
        free(from);
        free(to);
    }
}

/* ---- what a reader may meet while a writer is half done: words of any content, but for the places never written ----
 */

static void garbage_stays_inside(unused void **cmocka)
{
    struct bptree_inner *inner = inner_with(NULL, 0, 0);
    struct bptree_leaf *leaf = leaf_with(NULL, 0);
    for (unsigned round = 0; round < 20 * ROUNDS; round++) {
        for (unsigned i = 0; i < BOUNDS_CAP; i++)
            store_relaxed(&inner->groups[bound_place_(i)], state ^ random_below(4) << 60 ^ random_below(UINT64_MAX));
        for (unsigned g = 0; g + 1 < INNER_GROUPS; g++)
            store_relaxed(&inner->samples[g], random_below(UINT64_MAX) >> random_below(64));
        for (unsigned i = 0; i < LEAF_CAP; i++)
            store_relaxed(&leaf->keys[i], random_below(4));
        store_relaxed(&inner->shape, NODE_VERSION | random_below(NODE_VERSION));
        uint64_t key = random_below(2) ? random_below(4) : random_below(BPTREE_KEY_MAX), value, keys[LEAF_CAP],
                 values[LEAF_CAP];
        _Atomic uintptr_t *link = inner_follow(inner, key);
        assert_true(link >= inner->groups && link < inner->groups + INNER_WORDS);
        assert_in_range(inner_route(inner, key), 0, BOUNDS_CAP);
        assert_in_range(inner_count(inner), 0, BOUNDS_CAP);
        leaf_find(leaf, key, &value);
        assert_in_range(leaf_count(leaf), 0, LEAF_CAP);
        assert_in_range(leaf_collect(leaf, key, keys, values, LEAF_CAP), 0, LEAF_CAP);
    }
    free(inner);
    free(leaf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaf_inserts_and_removes),   cmocka_unit_test(leaf_splits),
        cmocka_unit_test(leaves_merge_and_rebalance), cmocka_unit_test(leaf_collects_a_range),
        cmocka_unit_test(inner_inserts_and_removes),  cmocka_unit_test(inner_splits),
        cmocka_unit_test(inners_merge_and_rebalance), cmocka_unit_test(inner_copies_resets_and_moves_a_bound),
        cmocka_unit_test(garbage_stays_inside),
    };
    print_message("backend " SEARCH_BACKEND ", leaf %d keys %zu bytes, inner %d bounds %zu bytes\n", LEAF_CAP,
                  sizeof(struct bptree_leaf), BOUNDS_CAP, sizeof(struct bptree_inner));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
