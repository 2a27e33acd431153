/* SPDX-License-Identifier: MIT */
/* A node of occ_avl: its words, its lock, and how its range of keys is said to shrink. The proof is in occ_avl.h.
 *
 * Words of a node. Child links and PRESENT change under the node's lock only, the parent link under the lock of the parent
 * and of the one before. `version` counts the times when the range of keys below the node became smaller: SHRINKING
 * while it does (the node is rotated down), UNLINKED when it ended. That a range grows harms no search and is not
 * counted. `state` holds the lock bit, the height, and a count of unlocks. */
#ifndef RB_AVL_NODE_H
#define RB_AVL_NODE_H

#include "backoff.h"
#include "race.h"

/* Of a version; the rest counts. */
#define SHRINKING 1u
#define UNLINKED  2u
#define SHRUNK    4u

/* Of a state: bits, height, count of unlocks. */
#define LOCKED       1u
#define PRESENT      2u
#define DIRTY        4u
#define HEIGHT_ONE   8u
#define HEIGHT_MASK  (255u * HEIGHT_ONE)
#define UNLOCKED_ONE (256u * HEIGHT_ONE)

enum { LEFT, RIGHT };

/* What a search reads comes first. */
struct node {
    struct smr_header smr;
    uint64_t key;
    _Atomic link_word child[2];
    _Atomic uint32_t version;
    _Atomic uint32_t state;
    _Atomic uint64_t value;
    _Atomic link_word parent;
};

inlined struct node *child_of(struct node *node, unsigned side)
{
    return (struct node *)load_acquire(&node->child[side]);
}

inlined struct node *parent_of(struct node *node)
{
    return (struct node *)load_acquire(&node->parent);
}

inlined bool is_unlinked(struct node *node)
{
    return load_acquire(&node->version) & UNLINKED;
}

inlined bool is_present(struct node *node)
{
    return load_acquire(&node->state) & PRESENT;
}

/* 0 for a missing child. */
inlined int height_of(struct node *node)
{
    return node ? (int)((load_acquire(&node->state) & HEIGHT_MASK) / HEIGHT_ONE) : 0;
}

inlined int higher(int a, int b)
{
    return 1 + (a > b ? a : b);
}

/* The holder of the lock changes the other parts of a state. */
inlined void state_replace(struct node *node, uint32_t mask, uint32_t bits)
{
    store_release(&node->state, (load_relaxed(&node->state) & ~mask) | bits);
}

inlined void set_child(struct node *node, unsigned side, struct node *child)
{
    race_window();
    store_release(&node->child[side], (link_word)child); /* (5) */
    if (child)
        store_release(&child->parent, (link_word)node);
}

inlined unsigned side_of(struct node *parent, struct node *node)
{
    return child_of(parent, RIGHT) == node;
}

inlined bool node_try_lock(struct node *node)
{
    uint32_t state = load_relaxed(&node->state);
    return !(state & LOCKED) && cas_acquire(&node->state, &state, state | LOCKED);
}

static noinline void node_wait_lock(struct smr_thread *t, struct node *node)
{
    for (uint64_t attempt = t->fp.account.restarts; !node_try_lock(node);)
        backoff_wait(++attempt);
}

inlined void node_lock(struct smr_thread *t, struct node *node)
{
    race_window();
    if (unlikely(!node_try_lock(node)))
        node_wait_lock(t, node);
    race_window();
}

inlined void node_unlock(struct node *node)
{
    store_release(&node->state, (load_relaxed(&node->state) & ~LOCKED) + UNLOCKED_ONE);
}

/* Every change that takes keys out of a node's range stands between these two. */
inlined void shrink_begin(struct node *node)
{
    store_relaxed(&node->version, load_relaxed(&node->version) | SHRINKING);
    race_window();
}

inlined void shrink_end(struct node *node)
{
    race_window();
    store_release(&node->version, (load_relaxed(&node->version) & ~SHRINKING) + SHRUNK);
}

static noinline void wait_until_shrunk(struct smr_thread *t, struct node *node)
{
    for (uint64_t attempt = t->fp.account.restarts; load_acquire(&node->version) & SHRINKING;)
        backoff_wait(++attempt);
}

#endif
