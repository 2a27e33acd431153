/* SPDX-License-Identifier: MIT */
/* The B+-tree without synchronisation: sequential_bptree as it is, rwlock_bptree under its lock. The same nodes, steps
 * and descent as olc_bptree, so that a difference between the three is, but for the order of rare steps, one of
 * synchronisation. Children are read with plain loads: whoever retires has the tree to itself. */
#ifndef RB_BPTREE_PLAIN_H
#define RB_BPTREE_PLAIN_H

#include "bptree_steps.h"

inlined struct bptree_leaf *plain_leaf(struct bptree_inner *root, uint64_t key)
{
    void *node = root;
    for (unsigned level = inner_level(root); level; level--)
        node = (void *)load_relaxed(inner_follow(node, key));
    prefetch_leaf(node);
    return node;
}

/* The largest key that belongs to the leaf of `key`. */
inlined uint64_t plain_bound(struct bptree_inner *root, uint64_t key)
{
    uint64_t bound = BPTREE_KEY_MAX;
    struct bptree_inner *node = root;
    for (unsigned level = inner_level(root); level; level--) {
        unsigned i = inner_route(node, key);
        if (inner_bound(node, i) < bound)
            bound = inner_bound(node, i);
        node = bptree_child(node, i);
    }
    return bound;
}

inlined struct found plain_find(struct bptree_inner *root, uint64_t key)
{
    struct found found;
    found.found = leaf_find(plain_leaf(root, key), key, &found.value);
    return found;
}

/* Splits every full node on the way to the key, from the root down. */
static noinline void plain_make_room(struct smr_thread *t, struct bptree_inner *root, uint64_t key)
{
    if (inner_full(root))
        bptree_grow_root(t, root);
    struct bptree_inner *node = root;
    for (unsigned level = inner_level(root); level; level--) {
        unsigned i = inner_route(node, key);
        if (bptree_is_full(bptree_child(node, i), level - 1)) {
            bptree_split_child(t, node, i);
            i = inner_route(node, key);
        }
        node = bptree_child(node, i);
    }
}

/* Joins every sparse node on the way to the key, from the root down. */
static noinline void plain_thin_out(struct smr_thread *t, struct bptree_inner *root, uint64_t key)
{
    struct bptree_inner *node = root;
    for (unsigned level = inner_level(root); level; level--) {
        unsigned i = inner_route(node, key);
        if (bptree_is_sparse(bptree_child(node, i), level - 1) && inner_count(node) > 0) {
            void *dead = bptree_join_children(node, i ? i - 1 : 0);
            if (dead)
                smr_retire(t, bptree_kind_at(level), dead);
            i = inner_route(node, key);
        }
        node = bptree_child(node, i);
    }
    while (bptree_root_can_shrink(root))
        smr_retire(t, KIND_INNER, bptree_shrink_root(root));
}

inlined bool plain_insert(struct smr_thread *t, struct bptree_inner *root, uint64_t key, uint64_t value)
{
    uint64_t present;
    struct bptree_leaf *leaf = plain_leaf(root, key);
    if (leaf_find(leaf, key, &present))
        return false;
    if (leaf_full(leaf)) {
        plain_make_room(t, root, key);
        leaf = plain_leaf(root, key);
    }
    leaf_insert(leaf, key, value);
    return true;
}

inlined bool plain_remove(struct smr_thread *t, struct bptree_inner *root, uint64_t key)
{
    struct bptree_leaf *leaf = plain_leaf(root, key);
    if (!leaf_remove(leaf, key))
        return false;
    if (bptree_is_sparse(leaf, 0))
        plain_thin_out(t, root, key);
    return true;
}

static inline size_t plain_scan(struct bptree_inner *root, uint64_t low, size_t most, uint64_t *sum)
{
    size_t read = 0;
    while (read < most) {
        uint64_t keys[BPTREE_LEAF_KEYS], values[BPTREE_LEAF_KEYS], bound = plain_bound(root, low);
        unsigned n = leaf_collect(plain_leaf(root, low), low, keys, values, BPTREE_LEAF_KEYS);
        for (unsigned i = 0; i < n && read < most; i++, read++)
            *sum += values[i];
        if (bound == BPTREE_KEY_MAX)
            break;
        low = bound + 1;
    }
    return read;
}

#endif
