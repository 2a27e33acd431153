/* SPDX-License-Identifier: MIT */
/* The nodes of an (a,b)-tree, inner nodes and leaves alike, and what is made out of them. Keys, counts, weights, and all
 * of a leaf never change once a node is published; only an inner node's links do, by SCX. So there is one way to change
 * a node: to build another one. Why the layout is this one: docs/abtree.md.
 *
 * A leaf has `count` keys in ascending order, a value behind each. An inner node has `count` children, and a key between
 * each two of them: keys < keys[0] belong to child 0, keys >= keys[i] to child i + 1 or a later one. Free places hold
 * ABTREE_FREE, above every key, and at least one is free: so no search needs a count. */
#ifndef RB_ABTREE_NODE_H
#define RB_ABTREE_NODE_H

#include "llx_scx.h"
#include "search.h"
#include "set.h"

/* a and b: degrees of inner nodes, sizes of leaves. The root may have less than a. */
#ifndef ABTREE_LEAST
#define ABTREE_LEAST 2
#endif
#ifndef ABTREE_MOST
#define ABTREE_MOST 11
#endif

_Static_assert(ABTREE_LEAST >= 2 && ABTREE_MOST >= 2 * ABTREE_LEAST - 1, "half of an overfull node is a node");

/* Whole half lines, so that vectors move them, and one key that stays free. */
#define ABTREE_ROOM (ABTREE_MOST / 4 * 4 + 4)
#define ABTREE_FREE UINT64_MAX

#define ABTREE_LINES ((ABTREE_ROOM + SEARCH_LINE - 1) / SEARCH_LINE)
/* The places of a search's answer that are keys. */
#define ABTREE_PLACES (((uint64_t)1 << ABTREE_ROOM) - 1)

struct abtree_node {
    struct scx_node scx;
    unsigned count;
    bool leaf;
    bool light; /* weight 0 instead of 1: its children stand a level too deep */
    _Atomic uint64_t keys[ABTREE_ROOM];
    _Atomic uint64_t slots[ABTREE_ROOM]; /* links to children, or values */
};

_Static_assert(ABTREE_LINES *SEARCH_LINE <= 2 * ABTREE_ROOM, "a search reads nothing behind the node");
_Static_assert(ABTREE_ROOM <= 56, "one search answers for all keys");
_Static_assert(sizeof(link_word) == sizeof(uint64_t), "links and values are moved alike");

/* The lines behind those that a search reads at once, before it is known which of them will be wanted. */
inlined void node_prefetch(const struct abtree_node *node)
{
    const size_t searched = offsetof(struct abtree_node, keys) + sizeof(uint64_t) * SEARCH_LINE * ABTREE_LINES;
    for (size_t at = (searched + 63) & ~(size_t)63; at < sizeof *node; at += 64)
        __builtin_prefetch((const char *)node + at);
}

inlined unsigned node_route(const struct abtree_node *inner, uint64_t key)
{
    return (unsigned)__builtin_popcountll(search_below(inner->keys, ABTREE_LINES, key + 1) & ABTREE_PLACES);
}

/* Place of the first key >= key, or the count. */
inlined unsigned leaf_place(const struct abtree_node *leaf, uint64_t key)
{
    return (unsigned)__builtin_popcountll(search_below(leaf->keys, ABTREE_LINES, key) & ABTREE_PLACES);
}

/* Without a branch: a miss reads some value of the leaf and says false. */
inlined struct found leaf_find(const struct abtree_node *leaf, uint64_t key)
{
    uint64_t places = search_equal(leaf->keys, ABTREE_LINES, key) & ABTREE_PLACES;
    unsigned place = (unsigned)__builtin_ctzll(places | (uint64_t)1 << (ABTREE_ROOM - 1));
    return (struct found){places != 0, load_relaxed(&leaf->slots[place])};
}

inlined struct abtree_node *node_child(const struct abtree_node *inner, unsigned i)
{
    return (struct abtree_node *)load_acquire(&inner->slots[i]);
}

/* ---- building ---- */

inlined void node_init(struct abtree_node *node, unsigned count, bool leaf)
{
    store_relaxed(&node->scx.info, SCX_FRESH);
    node->count = count;
    node->leaf = leaf;
    node->light = false;
}

inlined struct abtree_node *leaf_new(struct smr_thread *t, unsigned count)
{
    struct abtree_node *leaf = smr_alloc(t, 0, sizeof *leaf, _Alignof(struct abtree_node));
    node_init(leaf, count, true);
    return leaf;
}

/* The leaf with a key more, at its place; not full. */
inlined struct abtree_node *leaf_with(struct smr_thread *t, const struct abtree_node *leaf, unsigned place,
                                      uint64_t key, uint64_t value)
{
    struct abtree_node *with = leaf_new(t, leaf->count + 1);
    search_copy_open(with->keys, leaf->keys, ABTREE_ROOM, place, key);
    search_copy_open(with->slots, leaf->slots, ABTREE_ROOM, place, value);
    return with;
}

inlined struct abtree_node *leaf_without(struct smr_thread *t, const struct abtree_node *leaf, unsigned place)
{
    struct abtree_node *without = leaf_new(t, leaf->count - 1);
    search_copy_close(without->keys, leaf->keys, ABTREE_ROOM, place, ABTREE_FREE);
    search_copy_close(without->slots, leaf->slots, ABTREE_ROOM, place, 0);
    return without;
}

/* Entries of one or two nodes in a row, to be dealt out again. keys[i] goes with slots[i] in a row of leaves, and stands
 * between slots[i] and slots[i + 1] otherwise. */
struct abtree_row {
    unsigned count;
    bool leaf;
    uint64_t keys[2 * ABTREE_MOST + 1];
    uint64_t slots[2 * ABTREE_MOST + 1];
};

/* All entries of the node behind those of the row, `between` before its first child. */
static inline void row_append(struct abtree_row *row, const struct abtree_node *node, uint64_t between)
{
    if (!node->leaf && row->count)
        row->keys[row->count - 1] = between;
    for (unsigned i = 0; i < node->count; i++) {
        row->keys[row->count + i] = load_relaxed(&node->keys[i]);
        row->slots[row->count + i] = load_acquire(&node->slots[i]);
    }
    row->count += node->count;
    row->leaf = node->leaf;
}

/* An entry more, before entry i. */
static inline void row_insert(struct abtree_row *row, unsigned i, uint64_t key, uint64_t slot)
{
    for (unsigned at = row->count++; at > i; at--) {
        row->keys[at] = row->keys[at - 1];
        row->slots[at] = row->slots[at - 1];
    }
    row->keys[i] = key;
    row->slots[i] = slot;
}

/* Child i of a row of children gives way to those of the node. */
static inline void row_absorb(struct abtree_row *row, unsigned i, const struct abtree_node *node)
{
    unsigned more = node->count - 1;
    for (unsigned at = row->count; at-- > i + 1;) {
        row->keys[at + more] = row->keys[at];
        row->slots[at + more] = row->slots[at];
    }
    row->keys[i + more] = row->keys[i];
    for (unsigned at = 0; at < node->count; at++) {
        row->slots[i + at] = load_acquire(&node->slots[at]);
        if (at < more)
            row->keys[i + at] = load_relaxed(&node->keys[at]);
    }
    row->count += more;
}

/* Children i and i + 1 become one. */
static inline void row_join(struct abtree_row *row, unsigned i, const struct abtree_node *joined)
{
    row->slots[i] = (uintptr_t)joined;
    row->count--;
    for (unsigned at = i + 1; at < row->count; at++)
        row->slots[at] = row->slots[at + 1];
    for (unsigned at = i; at < row->count; at++)
        row->keys[at] = row->keys[at + 1];
}

/* Entries first .. first + count - 1. */
static inline void node_fill(struct abtree_node *node, const struct abtree_row *row, unsigned first, unsigned count)
{
    unsigned keys = row->leaf ? count : count - 1;
    for (unsigned i = 0; i < ABTREE_ROOM; i++) {
        store_relaxed(&node->keys[i], i < keys ? row->keys[first + i] : ABTREE_FREE);
        store_relaxed(&node->slots[i], i < count ? row->slots[first + i] : 0);
    }
}

static inline struct abtree_node *row_node(struct smr_thread *t, const struct abtree_row *row, unsigned first,
                                           unsigned count)
{
    struct abtree_node *node = smr_alloc(t, 0, sizeof *node, _Alignof(struct abtree_node));
    node_init(node, count, row->leaf);
    node_fill(node, row, first, count);
    return node;
}

/* Deals a row out to two nodes; returns the key between them. */
static inline uint64_t row_halve(struct smr_thread *t, const struct abtree_row *row, struct abtree_node *half[2])
{
    unsigned left = row->count / 2;
    half[0] = row_node(t, row, 0, left);
    half[1] = row_node(t, row, left, row->count - left);
    return row->keys[row->leaf ? left : left - 1];
}

/* An inner node of two. */
static inline struct abtree_node *node_above(struct smr_thread *t, uint64_t between, struct abtree_node *half[2],
                                             bool light)
{
    struct abtree_row row = {.count = 2, .keys = {between}, .slots = {(uintptr_t)half[0], (uintptr_t)half[1]}};
    struct abtree_node *node = row_node(t, &row, 0, 2);
    node->light = light;
    return node;
}

#endif
