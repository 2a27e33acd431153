/* SPDX-License-Identifier: MIT */
/* What the B+-trees share above single nodes: the structural steps (split, join, a root that grows and shrinks in
 * place), the check at rest, and giving everything back. No locking: a step needs every node it is given locked by the
 * caller, or no other thread (class X of bptree_node.h).
 *
 * The root is an inner node inside struct ds: it is never retired, and a tree of one leaf is no special case. Nodes
 * have at least one child; a node with fewer entries than a quarter of its room is sparse and joined with a neighbour:
 * merged when both fit into three quarters (so that the next insert does not split them again), evened out otherwise.
 */
#ifndef RB_BPTREE_STEPS_H
#define RB_BPTREE_STEPS_H

#include "bptree_node.h"
#include "reclaimer.h"
#include "set.h"

enum bptree_kind { KIND_LEAF, KIND_INNER };

#define AT_LEAST_1(n)   ((n) > 1 ? (n) : 1)
#define LEAF_SPARSE     AT_LEAST_1(BPTREE_LEAF_KEYS / 4)
#define INNER_SPARSE    AT_LEAST_1(BPTREE_INNER_KEYS / 4)
#define LEAF_MERGEABLE  (BPTREE_LEAF_KEYS * 3 / 4)
#define INNER_MERGEABLE (BPTREE_INNER_KEYS * 3 / 4)

/* Leaves are two thirds full after inserts in random order. */
#define BPTREE_KEY_BYTES (sizeof(struct bptree_leaf) * 3 / 2 / BPTREE_LEAF_KEYS)

static inline struct bptree_leaf *bptree_new_leaf(struct smr_thread *t)
{
    struct bptree_leaf *leaf = smr_alloc(t, KIND_LEAF, sizeof *leaf, BPTREE_ALIGN);
    leaf_init(leaf);
    return leaf;
}

static inline struct bptree_inner *bptree_new_inner(struct smr_thread *t, unsigned level)
{
    struct bptree_inner *inner = smr_alloc(t, KIND_INNER, sizeof *inner, BPTREE_ALIGN);
    inner_init(inner, level, NULL);
    return inner;
}

inlined void *bptree_child(struct bptree_inner *inner, unsigned i)
{
    return (void *)load_relaxed(inner_child(inner, i));
}

inlined bool bptree_is_full(const void *node, unsigned level)
{
    return level ? inner_full(node) : leaf_full(node);
}

inlined bool bptree_is_sparse(const void *node, unsigned level)
{
    return level ? inner_count(node) < INNER_SPARSE : leaf_count(node) < LEAF_SPARSE;
}

/* Child i of parent is full, parent is not. */
static inline void bptree_split_child(struct smr_thread *t, struct bptree_inner *parent, unsigned i)
{
    unsigned level = inner_level(parent) - 1;
    void *left = bptree_child(parent, i), *right;
    uint64_t bound;
    if (level) {
        right = bptree_new_inner(t, level);
        bound = inner_split(left, right);
    } else {
        right = bptree_new_leaf(t);
        bound = leaf_split(left, right);
    }
    inner_insert(parent, i, bound, right);
}

/* Joins children i and i + 1. Returns the right one if it is no longer part of the tree: the caller retires it, with
 * the kind bptree_kind_at(level of the parent), once it has let go of its locks. */
static inline void *bptree_join_children(struct bptree_inner *parent, unsigned i)
{
    unsigned level = inner_level(parent) - 1;
    void *left = bptree_child(parent, i), *right = bptree_child(parent, i + 1);
    uint64_t bound = inner_bound(parent, i);
    if (level ? inner_count(left) + 1 + inner_count(right) <= INNER_MERGEABLE
              : leaf_count(left) + leaf_count(right) <= LEAF_MERGEABLE) {
        if (level)
            inner_merge(left, bound, right);
        else
            leaf_merge(left, right);
        inner_remove_child(parent, i + 1);
        return right;
    }
    inner_set_bound(parent, i, level ? inner_rebalance(left, bound, right) : leaf_rebalance(left, right));
    return NULL;
}

inlined enum bptree_kind bptree_kind_at(unsigned parent_level)
{
    return parent_level > 1 ? KIND_INNER : KIND_LEAF;
}

/* The root is full: its content moves to a fresh child, which is split at once. */
static inline void bptree_grow_root(struct smr_thread *t, struct bptree_inner *root)
{
    unsigned level = inner_level(root);
    struct bptree_inner *child = bptree_new_inner(t, level);
    inner_copy(child, root);
    inner_reset(root, level + 1, child);
    bptree_split_child(t, root, 0);
}

inlined bool bptree_root_can_shrink(const struct bptree_inner *root)
{
    return inner_level(root) > 1 && inner_count(root) == 0;
}

/* The root has one child, an inner node: takes over its content. Returns that child, for the caller to retire. */
static inline struct bptree_inner *bptree_shrink_root(struct bptree_inner *root)
{
    struct bptree_inner *child = bptree_child(root, 0);
    inner_copy(root, child);
    return child;
}

static inline void bptree_create(struct bptree_inner *root, struct smr_thread *t)
{
    inner_init(root, 1, bptree_new_leaf(t));
}

/* ---- at rest ---- */

static inline void bptree_check_leaf(const struct bptree_leaf *leaf, uint64_t least, uint64_t bound,
                                     struct census *census)
{
    unsigned count = leaf_count(leaf);
    for (unsigned i = 0; i < count; i++) {
        uint64_t key = leaf_key(leaf, i);
        if (key < least || key > bound)
            census_broken(census, "leaf key %lu at place %u is outside %lu..%lu or out of order", key, i, least, bound);
        if (leaf_value(leaf, i) != value_of(key))
            census_broken(census, "key %lu holds a value that was not stored with it", key);
        least = key + 1;
        census->keys++;
        census->key_sum += key;
    }
    for (unsigned i = count; i < BPTREE_LEAF_KEYS; i++)
        if (leaf_key(leaf, i) != BPTREE_FREE)
            census_broken(census, "a leaf of %u keys has key %lu behind them", count, leaf_key(leaf, i));
}

/* Keys of the subtree lie in [least, bound]. */
static unused void bptree_check(struct bptree_inner *inner, unsigned level, uint64_t least, uint64_t bound,
                                struct census *census)
{
    unsigned count = inner_count(inner);
    if (inner_level(inner) != level || level == 0)
        census_broken(census, "an inner node says level %u at level %u: leaves at different depths", inner_level(inner),
                      level);
    if (load_relaxed(&inner->node.version) & 1)
        census_broken(census, "an inner node is still locked at rest");
    for (unsigned i = 0; i <= count && !census->broken[0]; i++) {
        uint64_t last = i < count ? inner_bound(inner, i) : bound;
        void *child = bptree_child(inner, i);
        if (last < least || last > bound)
            census_broken(census, "bound %lu of child %u is outside %lu..%lu", last, i, least, bound);
        if (!child || inner_route(inner, least) != i || inner_route(inner, last) != i)
            census_broken(census, "keys %lu..%lu are not routed to their child %u", least, last, i);
        census->nodes++;
        if (census->broken[0])
            return;
        if (level > 1)
            bptree_check(child, level - 1, least, last, census);
        else if (load_relaxed(&((struct bptree_node *)child)->version) & 1)
            census_broken(census, "a leaf is still locked at rest");
        else
            bptree_check_leaf(child, least, last, census);
        least = last + 1;
    }
}

static inline void bptree_check_all(struct bptree_inner *root, struct census *census)
{
    census->height = inner_level(root) + 1;
    bptree_check(root, inner_level(root), 0, BPTREE_KEY_MAX, census);
}

static unused void bptree_discard_children(struct bptree_inner *inner, struct smr_thread *t)
{
    for (unsigned i = 0; i <= inner_count(inner); i++) {
        if (inner_level(inner) > 1)
            bptree_discard_children(bptree_child(inner, i), t);
        smr_discard(t, bptree_child(inner, i));
    }
}

#endif
