/* SPDX-License-Identifier: MIT */
/* The nodes of a B+-tree in memory, and what is done inside one node. No locking, no allocation, no policy: those are
 * the tree's (sequential_bptree, rwlock_bptree, olc_bptree). Why the layout is this one: docs/node-layout.md.
 *
 * Keys are < 2^63 (BPTREE_KEY_MAX is the largest), values any 8 bytes. An inner node with `count` bounds has count + 1
 * children. A bound is INCLUSIVE: keys <= bound i and > bound i-1 belong to child i. (The separator "keys < s go left"
 * is the bound s - 1.) The last child has no bound; there and in all free places lies BPTREE_FREE, above every key, so
 * a search needs no count, and inner_bound(inner, count) >= BPTREE_KEY_MAX. A leaf keeps its keys in order, BPTREE_FREE
 * behind them.
 *
 * Before this header the reclaimer's is included, which defines struct smr_header (often empty). It stays the first
 * member of every node; `version` follows and belongs to the tree, which starts it at NODE_VERSION (the init functions
 * do), adds to it and leaves bit 63 set: the version lies on the line of the first keys and is compared along with
 * them, and so it is never taken for a key. Nodes work at any multiple of 8; they are fast when `version` lies on a
 * cache line: allocate them aligned to BPTREE_ALIGN. Sizes are 8 bytes short of whole lines, which is what glibc's
 * malloc has between two of its own headers. A leaf has no room to say that it is one: the level is in the inner nodes
 * (1: the children are leaves). Keep an inner node at the root, even over a single leaf, and the empty tree is no
 * special case.
 *
 * Two classes of functions:
 *   R  may race with one writer. Safe on any content, the answer means nothing until the version has been found
 * unchanged. inner_child gives a link inside the node. Racing, the word there may be a child of now or of earlier
 * (perhaps freed), a bound, or 0: VALIDATE the node after loading the link and before following it. prefetch_* takes
 * any pointer. X  needs the nodes passed to be locked by the caller, a release fence between taking the lock and the
 * call, and a releasing store of the version afterwards. Readers in R may race. Fresh nodes need no lock. Capacities
 * can be set smaller for tests (-DBPTREE_INNER_KEYS=4 -DBPTREE_LEAF_KEYS=4); at least 3. */
#ifndef RB_BPTREE_NODE_H
#define RB_BPTREE_NODE_H

#include "search.h"

#ifndef BPTREE_LEAF_KEYS
#define BPTREE_LEAF_KEYS 15
#endif
#ifndef BPTREE_INNER_KEYS
#define BPTREE_INNER_KEYS 118
#endif

#define BPTREE_KEY_MAX ((uint64_t)INT64_MAX)
#define BPTREE_FREE    UINT64_MAX
#define BPTREE_ALIGN   64
#define NODE_VERSION   ((uint64_t)1 << 63)

#define LINES_(words) (((words) + SEARCH_LINE - 1) / SEARCH_LINE)

/* Version and keys of a leaf are compared together. */
#define LEAF_LINES LINES_(1 + BPTREE_LEAF_KEYS)
/* An inner node is a row of groups: a line of bounds and a line of the children that belong to them. Its head has the
 * version, the last bound of each group but the last as samples, and the count and level. At least one bound stays
 * free. */
#define INNER_GROUPS LINES_(BPTREE_INNER_KEYS + 1)
#define INNER_LINES  LINES_(1 + INNER_GROUPS - 1 + 1)
#define INNER_GROUP  (2 * SEARCH_LINE)
/* Child BPTREE_INNER_KEYS is the last one. */
#define INNER_WORDS ((INNER_GROUPS - 1) * INNER_GROUP + SEARCH_LINE + BPTREE_INNER_KEYS % SEARCH_LINE + 1)

_Static_assert(BPTREE_LEAF_KEYS >= 3 && LEAF_LINES <= 8, "a leaf's version and keys fit one search");
_Static_assert(BPTREE_INNER_KEYS >= 3 && INNER_LINES <= 8, "an inner node's version and samples fit one search");
_Static_assert(sizeof(uintptr_t) == sizeof(uint64_t), "children are moved as words");

struct bptree_node {
    struct smr_header smr;
    _Atomic uint64_t version;
};

struct bptree_leaf {
    struct bptree_node node;
    _Atomic uint64_t keys[LEAF_LINES * SEARCH_LINE - 1];
    _Atomic uint64_t values[BPTREE_LEAF_KEYS];
};

struct bptree_inner {
    struct bptree_node node;
    _Atomic uint64_t samples[INNER_LINES * SEARCH_LINE - 2];
    _Atomic uint64_t shape; /* bit 63 (see version), level << 32, count */
    _Atomic uint64_t groups[INNER_WORDS];
};

/* The version and the words behind it as one array. */
inlined const _Atomic uint64_t *node_words(const void *node)
{
    return (const _Atomic uint64_t *)((const char *)node + offsetof(struct bptree_node, version));
}

/* ---- leaves, R ---- */

/* The lines of the values, of which a lookup knows the right one only after the keys have come; those it asks for at
 * once. */
inlined void prefetch_leaf(const void *leaf)
{
    const char *values = (const char *)leaf + offsetof(struct bptree_leaf, values);
    for (size_t at = 0; at < sizeof(((struct bptree_leaf *)0)->values); at += 64)
        __builtin_prefetch(values + at);
}

/* Without a branch: a miss reads some value of the leaf and says false. */
inlined bool leaf_find(const struct bptree_leaf *leaf, uint64_t key, uint64_t *value)
{
    uint64_t found = search_equal(node_words(leaf), LEAF_LINES, key);
    *value = load_relaxed(&leaf->values[__builtin_ctzll(found | (uint64_t)1 << BPTREE_LEAF_KEYS) - 1]);
    return found != 0;
}

/* Place of the first key >= key, or the count. */
inlined unsigned leaf_lower_bound(const struct bptree_leaf *leaf, uint64_t key)
{
    return (unsigned)__builtin_popcountll(search_below(node_words(leaf), LEAF_LINES, key));
}

inlined unsigned leaf_count(const struct bptree_leaf *leaf)
{
    uint64_t places = search_equal(node_words(leaf), LEAF_LINES, BPTREE_FREE);
    return (unsigned)__builtin_ctzll(places >> 1 | (uint64_t)1 << BPTREE_LEAF_KEYS);
}

inlined uint64_t leaf_key(const struct bptree_leaf *leaf, unsigned i)
{
    return load_relaxed(&leaf->keys[i]);
}

inlined uint64_t leaf_value(const struct bptree_leaf *leaf, unsigned i)
{
    return load_relaxed(&leaf->values[i]);
}

inlined bool leaf_full(const struct bptree_leaf *leaf)
{
    return leaf_key(leaf, BPTREE_LEAF_KEYS - 1) != BPTREE_FREE;
}

/* Copies the entries with keys >= low in order to keys and values, at most `room`; says how many. */
inlined unsigned leaf_collect(const struct bptree_leaf *leaf, uint64_t low, uint64_t *keys, uint64_t *values,
                              unsigned room)
{
    unsigned count = leaf_count(leaf), n = 0;
    for (unsigned i = leaf_lower_bound(leaf, low); i < count && n < room; i++, n++) {
        keys[n] = leaf_key(leaf, i);
        values[n] = leaf_value(leaf, i);
    }
    return n;
}

/* ---- leaves, X ---- */

inlined void leaf_init(struct bptree_leaf *leaf)
{
    store_relaxed(&leaf->node.version, NODE_VERSION);
    search_fill(leaf->keys, LEAF_LINES * SEARCH_LINE - 1, BPTREE_FREE);
    search_fill(leaf->values, BPTREE_LEAF_KEYS, 0);
}

/* The leaf is not full and does not hold the key. */
inlined void leaf_insert(struct bptree_leaf *leaf, uint64_t key, uint64_t value)
{
    unsigned at = leaf_lower_bound(leaf, key);
    search_open(leaf->keys, BPTREE_LEAF_KEYS, at);
    search_open(leaf->values, BPTREE_LEAF_KEYS, at);
    store_relaxed(&leaf->keys[at], key);
    store_relaxed(&leaf->values[at], value);
}

/* False if the leaf does not hold the key; nothing has been written then. */
inlined bool leaf_remove(struct bptree_leaf *leaf, uint64_t key)
{
    uint64_t found = search_equal(node_words(leaf), LEAF_LINES, key);
    if (!found)
        return false;
    unsigned at = (unsigned)__builtin_ctzll(found) - 1;
    search_close(leaf->keys, BPTREE_LEAF_KEYS, at);
    search_close(leaf->values, BPTREE_LEAF_KEYS, at);
    store_relaxed(&leaf->keys[BPTREE_LEAF_KEYS - 1], BPTREE_FREE);
    return true;
}

/* The first words of an array go up by some places, or come down; one by one, because the places overlap. */
inlined void words_up_(_Atomic uint64_t *array, unsigned words, unsigned by)
{
    for (unsigned i = words; i-- > 0;)
        store_relaxed(&array[i + by], load_relaxed(&array[i]));
}

inlined void words_down_(_Atomic uint64_t *array, unsigned words, unsigned by)
{
    for (unsigned i = 0; i < words; i++)
        store_relaxed(&array[i], load_relaxed(&array[i + by]));
}

/* The last n entries of left, which has `count`, go in front of those of right. */
inlined void leaf_move_right_(struct bptree_leaf *left, unsigned count, struct bptree_leaf *right, unsigned n)
{
    unsigned present = leaf_count(right);
    words_up_(right->keys, present, n);
    words_up_(right->values, present, n);
    search_copy(right->keys, left->keys + count - n, n);
    search_copy(right->values, left->values + count - n, n);
    search_fill(left->keys + count - n, n, BPTREE_FREE);
}

/* The first n entries of right go behind the `count` of left. */
inlined void leaf_move_left_(struct bptree_leaf *left, unsigned count, struct bptree_leaf *right, unsigned n)
{
    unsigned rest = leaf_count(right) - n;
    search_copy(left->keys + count, right->keys, n);
    search_copy(left->values + count, right->values, n);
    words_down_(right->keys, rest, n);
    words_down_(right->values, rest, n);
    search_fill(right->keys + rest, n, BPTREE_FREE);
}

/* Left has at least 2 entries; right is fresh. Says the bound of left: its largest key. */
inlined uint64_t leaf_split(struct bptree_leaf *left, struct bptree_leaf *right)
{
    unsigned count = leaf_count(left), kept = (count + 1) / 2;
    leaf_move_right_(left, count, right, count - kept);
    return leaf_key(left, kept - 1);
}

/* All of right goes behind left, which has room for it. */
inlined void leaf_merge(struct bptree_leaf *left, struct bptree_leaf *right)
{
    leaf_move_left_(left, leaf_count(left), right, leaf_count(right));
}

/* Evens out two neighbours, which hold at least 2 entries together. Says the new bound of left. */
inlined uint64_t leaf_rebalance(struct bptree_leaf *left, struct bptree_leaf *right)
{
    unsigned count = leaf_count(left), kept = (count + leaf_count(right) + 1) / 2;
    if (count > kept)
        leaf_move_right_(left, count, right, count - kept);
    else
        leaf_move_left_(left, count, right, kept - count);
    return leaf_key(left, kept - 1);
}

/* ---- inner nodes, R ---- */

/* Bound i lies at bound_place_(i), child i one line further. */
inlined unsigned bound_place_(unsigned i)
{
    return i / SEARCH_LINE * INNER_GROUP + i % SEARCH_LINE;
}

/* The largest key that belongs to child i, not above BPTREE_KEY_MAX except for the last one. */
inlined uint64_t inner_bound(const struct bptree_inner *inner, unsigned i)
{
    return load_relaxed(&inner->groups[bound_place_(i)]);
}

inlined _Atomic uintptr_t *inner_child(struct bptree_inner *inner, unsigned i)
{
    return &inner->groups[bound_place_(i) + SEARCH_LINE];
}

/* Bounds, that is children - 1. */
inlined unsigned inner_count(const struct bptree_inner *inner)
{
    unsigned count = (unsigned)load_relaxed(&inner->shape);
    return count < BPTREE_INNER_KEYS ? count : BPTREE_INNER_KEYS;
}

inlined unsigned inner_level(const struct bptree_inner *inner)
{
    return (unsigned)(load_relaxed(&inner->shape) >> 32) & 0xff;
}

inlined bool inner_full(const struct bptree_inner *inner)
{
    return inner_count(inner) == BPTREE_INNER_KEYS;
}

/* Index of the child that the key belongs to: the number of bounds < key. First which group, then which place in it. */
inlined unsigned inner_route(const struct bptree_inner *inner, uint64_t key)
{
    unsigned group = 0;
    if (INNER_GROUPS > 1)
        group = (unsigned)__builtin_popcountll(search_below(node_words(inner), INNER_LINES, key));
    const _Atomic uint64_t *bounds = inner->groups + group * INNER_GROUP;
    unsigned place = (unsigned)__builtin_popcountll(search_below(bounds, 1, key));
    return group * SEARCH_LINE + place;
}

/* inner_child(inner, inner_route(inner, key)) in fewer instructions, and with the child on its way while bounds are
 * compared. */
inlined _Atomic uintptr_t *inner_follow(struct bptree_inner *inner, uint64_t key)
{
    unsigned group = 0;
    if (INNER_GROUPS > 1)
        group = (unsigned)__builtin_popcountll(search_below(node_words(inner), INNER_LINES, key));
    _Atomic uint64_t *bounds = inner->groups + group * INNER_GROUP;
    __builtin_prefetch(bounds + SEARCH_LINE);
    return bounds + SEARCH_LINE + __builtin_popcountll(search_below(bounds, 1, key));
}

/* inner_count + 1 if it is no child of this node. */
inlined unsigned inner_index_of(struct bptree_inner *inner, const void *child)
{
    unsigned i = 0, count = inner_count(inner);
    while (i <= count && load_relaxed(inner_child(inner, i)) != (uintptr_t)child)
        i++;
    return i;
}

/* ---- inner nodes, X ---- */

inlined void inner_set_shape_(struct bptree_inner *inner, unsigned level, unsigned count)
{
    store_relaxed(&inner->shape, NODE_VERSION | (uint64_t)level << 32 | count);
}

/* Writes bound i, and its copy among the samples if it is the last of a group. */
inlined void inner_set_bound(struct bptree_inner *inner, unsigned i, uint64_t bound)
{
    store_relaxed(&inner->groups[bound_place_(i)], bound);
    if (i % SEARCH_LINE == SEARCH_LINE - 1 && i / SEARCH_LINE < INNER_GROUPS - 1)
        store_relaxed(&inner->samples[i / SEARCH_LINE], bound);
}

inlined void inner_set_child_(struct bptree_inner *inner, unsigned i, uintptr_t child)
{
    store_relaxed(inner_child(inner, i), child);
}

inlined void inner_resample_(struct bptree_inner *inner, unsigned first_bound)
{
    for (unsigned g = first_bound / SEARCH_LINE; g + 1 < INNER_GROUPS; g++)
        store_relaxed(&inner->samples[g], inner_bound(inner, g * SEARCH_LINE + SEARCH_LINE - 1));
}

inlined void inner_free_bounds_(struct bptree_inner *inner, unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++)
        inner_set_bound(inner, i, BPTREE_FREE);
}

/* search_open and search_close over lines that lie INNER_GROUP words apart: the bounds or the children. */
inlined void inner_open_(_Atomic uint64_t *first_line, unsigned words, unsigned at)
{
    for (unsigned g = LINES_(words); g-- > at / SEARCH_LINE;) {
        _Atomic uint64_t *line = first_line + g * INNER_GROUP;
        unsigned lanes = line_lanes(g * SEARCH_LINE, at + 1, words);
        line_move(line, line - 1, lanes & ~1u);
        if (lanes & 1)
            store_relaxed(line, load_relaxed(line - INNER_GROUP + SEARCH_LINE - 1));
    }
}

inlined void inner_close_(_Atomic uint64_t *first_line, unsigned words, unsigned at)
{
    const unsigned last_lane = 1u << (SEARCH_LINE - 1);
    for (unsigned g = at / SEARCH_LINE; g < LINES_(words); g++) {
        _Atomic uint64_t *line = first_line + g * INNER_GROUP;
        unsigned lanes = line_lanes(g * SEARCH_LINE, at, words - 1);
        line_move(line, line + 1, lanes & ~last_lane);
        if (lanes & last_lane)
            store_relaxed(line + SEARCH_LINE - 1, load_relaxed(line + INNER_GROUP));
    }
}

/* Whatever it held: now one child and no bound. The version stays. */
inlined void inner_reset(struct bptree_inner *inner, unsigned level, const void *child)
{
    search_fill(inner->samples, INNER_LINES * SEARCH_LINE - 2, BPTREE_FREE);
    for (unsigned i = 0; i < INNER_GROUPS * SEARCH_LINE; i++)
        store_relaxed(&inner->groups[bound_place_(i)], BPTREE_FREE);
    inner_set_child_(inner, 0, (uintptr_t)child);
    inner_set_shape_(inner, level, 0);
}

/* A fresh node. Child is NULL if inner_split or inner_copy fills it next. */
inlined void inner_init(struct bptree_inner *inner, unsigned level, const void *child)
{
    store_relaxed(&inner->node.version, NODE_VERSION);
    search_fill(inner->groups, INNER_WORDS, 0);
    inner_reset(inner, level, child);
}

/* Everything but the version. A root that stays where it is grows by inner_copy to a fresh node, inner_reset(root,
 * level + 1, that node) and a split of it; it shrinks by inner_copy from its only child. */
inlined void inner_copy(struct bptree_inner *to, const struct bptree_inner *from)
{
    search_copy(to->samples, from->samples, INNER_LINES * SEARCH_LINE - 2);
    search_copy(to->groups, from->groups, INNER_WORDS);
    store_relaxed(&to->shape, load_relaxed(&from->shape));
}

/* After child i has been split: bound is its new bound, right the new sibling behind it. The node is not full. */
inlined void inner_insert(struct bptree_inner *inner, unsigned i, uint64_t bound, const void *right)
{
    unsigned count = inner_count(inner);
    inner_open_(inner->groups, count + 1, i);
    inner_open_(inner->groups + SEARCH_LINE, count + 2, i + 1);
    store_relaxed(&inner->groups[bound_place_(i)], bound);
    inner_set_child_(inner, i + 1, (uintptr_t)right);
    inner_set_shape_(inner, inner_level(inner), count + 1);
    inner_resample_(inner, i);
}

/* Takes out child i >= 1, whose keys from now on belong to child i - 1 (after a merge into it). */
inlined void inner_remove_child(struct bptree_inner *inner, unsigned i)
{
    unsigned count = inner_count(inner);
    inner_close_(inner->groups, count, i - 1);
    inner_close_(inner->groups + SEARCH_LINE, count + 1, i);
    store_relaxed(&inner->groups[bound_place_(count - 1)], BPTREE_FREE);
    inner_set_shape_(inner, inner_level(inner), count - 1);
    inner_resample_(inner, i - 1);
}

/* The last n >= 1 children of left, which keeps at least one, go in front of those of right, of which there are
 * `present`. bound is the one between the two nodes. Says the new one. */
inlined uint64_t inner_move_right_(struct bptree_inner *left, uint64_t bound, struct bptree_inner *right,
                                   unsigned present, unsigned n)
{
    unsigned kept = inner_count(left) + 1 - n;
    uint64_t between = inner_bound(left, kept - 1);
    for (unsigned i = present; i-- > 0;) {
        if (i + 1 < present)
            inner_set_bound(right, i + n, inner_bound(right, i));
        inner_set_child_(right, i + n, load_relaxed(inner_child(right, i)));
    }
    for (unsigned i = 0; i < n; i++) {
        if (i + 1 < n)
            inner_set_bound(right, i, inner_bound(left, kept + i));
        inner_set_child_(right, i, load_relaxed(inner_child(left, kept + i)));
    }
    if (present)
        inner_set_bound(right, n - 1, bound);
    inner_free_bounds_(left, kept - 1, kept - 1 + n);
    inner_set_shape_(left, inner_level(left), kept - 1);
    inner_set_shape_(right, inner_level(right), present + n - 1);
    return between;
}

/* The first n >= 1 children of right go behind those of left. If right loses all of them it is no node any more. */
inlined uint64_t inner_move_left_(struct bptree_inner *left, uint64_t bound, struct bptree_inner *right, unsigned n)
{
    unsigned count = inner_count(left), rest = inner_count(right) + 1 - n;
    uint64_t between = inner_bound(right, n - 1);
    inner_set_bound(left, count, bound);
    for (unsigned i = 0; i < n; i++) {
        if (i + 1 < n)
            inner_set_bound(left, count + 1 + i, inner_bound(right, i));
        inner_set_child_(left, count + 1 + i, load_relaxed(inner_child(right, i)));
    }
    inner_set_shape_(left, inner_level(left), count + n);
    if (rest == 0)
        return between;
    for (unsigned i = 0; i < rest; i++) {
        if (i + 1 < rest)
            inner_set_bound(right, i, inner_bound(right, i + n));
        inner_set_child_(right, i, load_relaxed(inner_child(right, i + n)));
    }
    inner_free_bounds_(right, rest - 1, rest - 1 + n);
    inner_set_shape_(right, inner_level(right), rest - 1);
    return between;
}

/* Left has at least 2 children; right is fresh, of the same level, with NULL as child. Says the bound between the two.
 */
inlined uint64_t inner_split(struct bptree_inner *left, struct bptree_inner *right)
{
    return inner_move_right_(left, BPTREE_FREE, right, 0, (inner_count(left) + 1) / 2);
}

/* All of right and the bound between go behind left: count + 1 + count of right <= BPTREE_INNER_KEYS. */
inlined void inner_merge(struct bptree_inner *left, uint64_t bound, struct bptree_inner *right)
{
    inner_move_left_(left, bound, right, inner_count(right) + 1);
}

/* Evens out two neighbours of a level. Says the new bound between them. */
inlined uint64_t inner_rebalance(struct bptree_inner *left, uint64_t bound, struct bptree_inner *right)
{
    unsigned count = inner_count(left), present = inner_count(right), kept = (count + present) / 2;
    if (count > kept)
        return inner_move_right_(left, bound, right, present + 1, count - kept);
    if (count < kept)
        return inner_move_left_(left, bound, right, kept - count);
    return bound;
}

#endif
