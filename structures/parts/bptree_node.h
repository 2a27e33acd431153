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
#define BPTREE_LEAF_KEYS 31
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
    search_open(leaf->keys, SEARCH_LINE, BPTREE_LEAF_KEYS, at);
    search_open(leaf->values, SEARCH_LINE, BPTREE_LEAF_KEYS, at);
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
    search_close(leaf->keys, SEARCH_LINE, BPTREE_LEAF_KEYS, at);
    search_close(leaf->values, SEARCH_LINE, BPTREE_LEAF_KEYS, at);
    store_relaxed(&leaf->keys[BPTREE_LEAF_KEYS - 1], BPTREE_FREE);
    return true;
}

/* Left and right together as one row of entries: left gets the first `kept` of them, right the rest. */
inlined void leaf_share_(struct bptree_leaf *left, struct bptree_leaf *right, unsigned all, unsigned kept)
{
    uint64_t keys[2 * BPTREE_LEAF_KEYS], values[2 * BPTREE_LEAF_KEYS];
    unsigned in_left = leaf_count(left);
    for (unsigned i = 0; i < all; i++) {
        struct bptree_leaf *from = i < in_left ? left : right;
        unsigned at = i < in_left ? i : i - in_left;
        keys[i] = leaf_key(from, at);
        values[i] = leaf_value(from, at);
    }
    for (unsigned i = 0; i < all; i++) {
        struct bptree_leaf *to = i < kept ? left : right;
        unsigned at = i < kept ? i : i - kept;
        store_relaxed(&to->keys[at], keys[i]);
        store_relaxed(&to->values[at], values[i]);
    }
    search_fill(left->keys + kept, BPTREE_LEAF_KEYS - kept, BPTREE_FREE);
    search_fill(right->keys + (all - kept), BPTREE_LEAF_KEYS - (all - kept), BPTREE_FREE);
}

/* Left has at least 2 entries; right is fresh. Says the bound of left: its largest key. */
inlined uint64_t leaf_split(struct bptree_leaf *left, struct bptree_leaf *right)
{
    unsigned all = leaf_count(left), kept = (all + 1) / 2;
    leaf_share_(left, right, all, kept);
    return leaf_key(left, kept - 1);
}

/* All of right goes behind left, which has room for it. */
inlined void leaf_merge(struct bptree_leaf *left, struct bptree_leaf *right)
{
    unsigned all = leaf_count(left) + leaf_count(right);
    leaf_share_(left, right, all, all);
}

/* Evens out two neighbours, which hold at least 2 entries together. Says the new bound of left. */
inlined uint64_t leaf_rebalance(struct bptree_leaf *left, struct bptree_leaf *right)
{
    unsigned all = leaf_count(left) + leaf_count(right), kept = (all + 1) / 2;
    leaf_share_(left, right, all, kept);
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

/* The link to the child that the key belongs to. First which group: then its children are on their way while its bounds are
 * compared. In the last group the bounds from BPTREE_INNER_KEYS on are never written, which keeps the link inside the node. */
inlined _Atomic uintptr_t *inner_follow(struct bptree_inner *inner, uint64_t key)
{
    unsigned group = 0;
    if (INNER_GROUPS > 1)
        group = (unsigned)__builtin_popcountll(search_below(node_words(inner), INNER_LINES, key));
    _Atomic uint64_t *bounds = inner->groups + group * INNER_GROUP;
    __builtin_prefetch(bounds + SEARCH_LINE);
    return bounds + SEARCH_LINE + __builtin_popcountll(search_below(bounds, 1, key));
}

/* The index of that child. */
inlined unsigned inner_route(struct bptree_inner *inner, uint64_t key)
{
    unsigned place = (unsigned)(inner_follow(inner, key) - inner->groups) - SEARCH_LINE;
    return place / INNER_GROUP * SEARCH_LINE + place % INNER_GROUP;
}

/* ---- inner nodes, X ---- */

inlined void inner_set_shape_(struct bptree_inner *inner, unsigned level, unsigned count)
{
    store_relaxed(&inner->shape, NODE_VERSION | (uint64_t)level << 32 | count);
}

inlined void inner_resample_(struct bptree_inner *inner, unsigned first_bound)
{
    for (unsigned g = first_bound / SEARCH_LINE; g + 1 < INNER_GROUPS; g++)
        store_relaxed(&inner->samples[g], inner_bound(inner, g * SEARCH_LINE + SEARCH_LINE - 1));
}

/* The node ends behind `count` bounds: frees what lies there, and brings the samples up to date. */
inlined void inner_end_(struct bptree_inner *inner, unsigned count)
{
    for (unsigned i = count; i < INNER_GROUPS * SEARCH_LINE; i++)
        store_relaxed(&inner->groups[bound_place_(i)], BPTREE_FREE);
    inner_set_shape_(inner, inner_level(inner), count);
    inner_resample_(inner, 0);
}

inlined void inner_set_bound(struct bptree_inner *inner, unsigned i, uint64_t bound)
{
    store_relaxed(&inner->groups[bound_place_(i)], bound);
    inner_resample_(inner, i);
}

/* Whatever it held: now one child and no bound. The version stays. */
inlined void inner_reset(struct bptree_inner *inner, unsigned level, const void *child)
{
    store_relaxed(inner_child(inner, 0), (uintptr_t)child);
    inner_set_shape_(inner, level, 0);
    inner_end_(inner, 0);
}

/* A fresh node. Child is NULL if inner_split or inner_copy fills it next. */
inlined void inner_init(struct bptree_inner *inner, unsigned level, const void *child)
{
    store_relaxed(&inner->node.version, NODE_VERSION);
    search_fill(inner->samples, INNER_LINES * SEARCH_LINE - 2, BPTREE_FREE);
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
    search_open(inner->groups, INNER_GROUP, count + 1, i);
    search_open(inner->groups + SEARCH_LINE, INNER_GROUP, count + 2, i + 1);
    store_relaxed(&inner->groups[bound_place_(i)], bound);
    store_relaxed(inner_child(inner, i + 1), (uintptr_t)right);
    inner_set_shape_(inner, inner_level(inner), count + 1);
    inner_resample_(inner, i);
}

/* Takes out child i >= 1, whose keys from now on belong to child i - 1 (after a merge into it). */
inlined void inner_remove_child(struct bptree_inner *inner, unsigned i)
{
    unsigned count = inner_count(inner);
    search_close(inner->groups, INNER_GROUP, count, i - 1);
    search_close(inner->groups + SEARCH_LINE, INNER_GROUP, count + 1, i);
    store_relaxed(&inner->groups[bound_place_(count - 1)], BPTREE_FREE);
    inner_set_shape_(inner, inner_level(inner), count - 1);
    inner_resample_(inner, i - 1);
}

/* Left and right together, with the bound between them, as one row of children: left gets the first kept + 1 of them, right
 * the rest. Says the bound between them then. Right may come fresh, without children, and may be left without any. */
inlined uint64_t inner_share_(struct bptree_inner *left, uint64_t bound, struct bptree_inner *right, unsigned in_right,
                              unsigned kept)
{
    uint64_t bounds[2 * BPTREE_INNER_KEYS + 2];
    uintptr_t children[2 * BPTREE_INNER_KEYS + 2];
    unsigned in_left = inner_count(left) + 1, all = in_left + in_right;
    for (unsigned i = 0; i < all; i++) {
        struct bptree_inner *from = i < in_left ? left : right;
        unsigned at = i < in_left ? i : i - in_left;
        children[i] = load_relaxed(inner_child(from, at));
        bounds[i] = i == in_left - 1 ? bound : inner_bound(from, at);
    }
    for (unsigned i = 0; i < all; i++) {
        struct bptree_inner *to = i <= kept ? left : right;
        unsigned at = i <= kept ? i : i - kept - 1;
        store_relaxed(inner_child(to, at), children[i]);
        store_relaxed(&to->groups[bound_place_(at)], i == kept ? BPTREE_FREE : bounds[i]);
    }
    inner_end_(left, kept);
    if (all > kept + 1)
        inner_end_(right, all - kept - 2);
    return bounds[kept];
}

/* Left has at least 2 children; right is fresh, of the same level, with NULL as child. Says the bound between the two. */
inlined uint64_t inner_split(struct bptree_inner *left, struct bptree_inner *right)
{
    return inner_share_(left, BPTREE_FREE, right, 0, (inner_count(left) - 1) / 2);
}

/* All of right and the bound between go behind left: count + 1 + count of right <= BPTREE_INNER_KEYS. */
inlined void inner_merge(struct bptree_inner *left, uint64_t bound, struct bptree_inner *right)
{
    unsigned in_right = inner_count(right) + 1;
    inner_share_(left, bound, right, in_right, inner_count(left) + in_right);
}

/* Evens out two neighbours of a level, which have at least 2 children together. Says the new bound between them. */
inlined uint64_t inner_rebalance(struct bptree_inner *left, uint64_t bound, struct bptree_inner *right)
{
    unsigned in_right = inner_count(right) + 1;
    return inner_share_(left, bound, right, in_right, (inner_count(left) + in_right - 1) / 2);
}

#endif
