/* SPDX-License-Identifier: MIT */
/* The (a,b)-tree at rest: what must hold once all operations have ended, and giving everything back. */
#ifndef RB_ABTREE_CHECK_H
#define RB_ABTREE_CHECK_H

#include "abtree_steps.h"

/* Far above any height of a tree with 2^62 keys: a walk that goes deeper goes in circles. */
#define ABTREE_DEEPEST 70

/* Where the walk is: keys of the subtree lie in [least, bound). */
struct abtree_walk {
    struct ds *ds;
    struct census *census;
    unsigned depth, leaves_at; /* levels above; those above the first leaf */
    uint64_t least, bound;
};

static inline void check_words(const struct abtree_walk *walk, struct abtree_node *node, const char *what)
{
    uint64_t info;
    if (!llx(&walk->ds->scx, &node->scx, &info))
        census_broken(walk->census,
                      info & SCX_FINAL ? "%s is finalised and still reachable" : "%s is still frozen at rest", what);
}

static inline void check_leaf(struct abtree_walk *walk, const struct abtree_node *leaf)
{
    struct census *census = walk->census;
    uint64_t least = walk->least;
    if (walk->leaves_at == 0)
        walk->leaves_at = walk->depth;
    if (walk->depth != walk->leaves_at)
        census_broken(census, "leaves at levels %u and %u", walk->leaves_at, walk->depth);
    for (unsigned i = 0; i < leaf->count; i++) {
        uint64_t key = load_relaxed(&leaf->keys[i]);
        if (key < least || key >= walk->bound)
            census_broken(census, "leaf key %lu at place %u is not in %lu..%lu or out of order", key, i, least,
                          walk->bound - 1);
        if (load_relaxed(&leaf->slots[i]) != value_of(key))
            census_broken(census, "key %lu holds a value that was not stored with it", key);
        least = key + 1;
        census->keys++;
        census->key_sum += key;
    }
}

static unused void check_node(struct abtree_walk *walk, struct abtree_node *node)
{
    struct census *census = walk->census;
    const uint64_t least = walk->least, bound = walk->bound;
    unsigned keys = node->leaf ? node->count : node->count - 1;
    census->nodes++;
    if (++walk->depth > ABTREE_DEEPEST)
        census_broken(census, "more than %u levels", ABTREE_DEEPEST);
    if (node_violates(node, walk->depth == 1) || (!node->leaf && node->count < 2))
        census_broken(census, "a node of weight %u with %u entries was left behind", !node->light, node->count);
    if (node->count > ABTREE_MOST)
        census_broken(census, "a node of %u entries", node->count);
    check_words(walk, node, node->leaf ? "a leaf" : "an inner node");
    if (census->broken[0])
        return;
    for (unsigned i = keys; i < ABTREE_ROOM; i++)
        if (load_relaxed(&node->keys[i]) != ABTREE_FREE)
            census_broken(census, "a node of %u keys has key %lu behind them", keys, load_relaxed(&node->keys[i]));
    if (node->leaf)
        check_leaf(walk, node);
    for (unsigned i = 0; !node->leaf && i < node->count && !census->broken[0]; i++) {
        walk->bound = i < keys ? load_relaxed(&node->keys[i]) : bound;
        if (walk->bound <= walk->least || walk->bound > bound)
            census_broken(census, "child %u should have keys %lu..%lu: separators out of order", i, walk->least,
                          walk->bound - 1);
        else
            check_node(walk, node_child(node, i));
        walk->least = walk->bound;
    }
    walk->least = least;
    walk->bound = bound;
    walk->depth--;
}

static inline void abtree_check(struct ds *ds, struct census *census)
{
    struct abtree_walk walk = {.ds = ds, .census = census, .bound = SET_KEY_LIMIT};
    check_words(&walk, &ds->entry, "the entry");
    check_node(&walk, node_child(&ds->entry, 0));
    census->height = walk.leaves_at;
    /* Each level multiplies by a; the root only by 2. */
    uint64_t fewest = 2;
    for (unsigned level = 1; level < census->height; level++)
        fewest *= ABTREE_LEAST;
    if (census->height > 1 && census->keys < fewest)
        census_broken(census, "%u levels for %lu keys", census->height, census->keys);
}

static unused void abtree_discard(struct abtree_node *node, struct smr_thread *t)
{
    for (unsigned i = 0; !node->leaf && i < node->count; i++)
        abtree_discard(node_child(node, i), t);
    smr_discard(t, node);
}

#endif
