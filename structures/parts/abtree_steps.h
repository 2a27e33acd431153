/* SPDX-License-Identifier: MIT */
/* Rebalancing of the relaxed (a,b)-tree: one step, one SCX.
 *
 * Two things may be wrong with a node: it is light (weight 0), as what a split puts above the two halves is; or it has
 * fewer than a entries. Along every path from the root to a leaf the weights have the same sum, which no step changes
 * but at the root: so with no light node left all leaves are equally deep. The root is never light: whatever takes its
 * place is built with weight 1. Nor has it ever one child only: the last two, joined, take its place, and inner nodes that
 * are joined have two children together.
 *
 * Steps, on a node that is the first with a violation on the way from the root, its parent, and the link to that:
 *   absorb      light node, room in the parent: its children take its place there
 *   split       light node, no room: node and parent are dealt out to two, a light one above (none at the root)
 *   join        few entries, and few in a neighbour: they become one, the parent gets one child less
 *   distribute  few entries, enough in a neighbour: dealt out evenly between them
 * A light neighbour is absorbed or split first.
 *
 * A step turns a violation into none, or moves it into a node that covers all keys of the old one: whoever created it
 * finds it on the way to its own key, and goes on until there is none. So at rest there is none, nowhere. */
#ifndef RB_ABTREE_STEPS_H
#define RB_ABTREE_STEPS_H

#include "abtree_node.h"

/* Neighbours become one up to this many entries; enough for both to reach a otherwise. */
#ifndef ABTREE_JOIN
#define ABTREE_JOIN (2 * ABTREE_LEAST - 1)
#endif
_Static_assert(ABTREE_JOIN + 1 >= 2 * ABTREE_LEAST && ABTREE_JOIN <= ABTREE_MOST,
               "what is joined fits, what is not suffices for two");

struct ds {
    line_pair_align struct abtree_node entry; /* its one child is the root; never replaced */
    line_pair_align struct scx scx;
};

/* Where a step takes place: top is the parent's parent, or the entry. The places are those of their links. */
struct abtree_place {
    struct abtree_node *top, *parent, *node;
    unsigned parent_at, node_at;
};

inlined bool node_violates(const struct abtree_node *node, bool root)
{
    return node->light || (node->count < ABTREE_LEAST && !root);
}

/* ---- from LLX to SCX ---- */

/* Takes up the nodes of a change one by one, by LLX; ends with the SCX. */
struct abtree_step {
    struct smr_thread *t;
    struct ds *ds;
    struct scx_change change;
};

/* False: the node is not free; what is in the way has been helped. */
static inline bool step_take(struct abtree_step *step, struct abtree_node *node)
{
    struct scx_change *change = &step->change;
    uint64_t info;
    if (!llx(&step->ds->scx, &node->scx, &info)) {
        scx_help(step->t, &step->ds->scx, info);
        return false;
    }
    change->node[change->nodes] = &node->scx;
    change->info[change->nodes++] = info;
    return true;
}

/* The same for a child that is still the parent's, which was taken before. */
static inline bool step_take_child(struct abtree_step *step, struct abtree_node *parent, unsigned i,
                                   struct abtree_node *child)
{
    return node_child(parent, i) == child && step_take(step, child);
}

static void step_reserve(struct abtree_step *step, struct abtree_node *a, struct abtree_node *b, struct abtree_node *c,
                         struct abtree_node *d)
{
    smr_reserve(step->t, 0, a);
    smr_reserve(step->t, 1, b);
    smr_reserve(step->t, 2, c);
    smr_reserve(step->t, 3, d);
    smr_commit(step->t);
}

/* Puts `fresh` where the parent is. */
static bool step_commit(struct abtree_step *step, const struct abtree_place *at, struct abtree_node *fresh)
{
    step->change.link = &at->top->slots[at->parent_at];
    step->change.old = (link_word)at->parent;
    step->change.fresh = (link_word)fresh;
    return scx_several(&step->ds->scx.descriptors[step->t->fp.account.index], &step->change);
}

/* ---- steps ---- */

/* The node is light: it is absorbed by its parent, or split with it. */
static void abtree_lift(struct abtree_step *step, const struct abtree_place *at)
{
    struct smr_thread *t = step->t;
    struct abtree_row row = {0};
    struct abtree_node *fresh, *half[2] = {NULL, NULL};
    if (!step_take(step, at->top) || !step_take_child(step, at->top, at->parent_at, at->parent) ||
        !step_take_child(step, at->parent, at->node_at, at->node))
        return;
    step_reserve(step, at->top, at->parent, at->node, NULL);
    row_append(&row, at->parent, 0);
    row_absorb(&row, at->node_at, at->node);
    if (row.count <= ABTREE_MOST) {
        fresh = row_node(t, &row, 0, row.count);
    } else {
        uint64_t between = row_halve(t, &row, half);
        fresh = node_above(t, between, half, at->top != &step->ds->entry);
    }
    if (step_commit(step, at, fresh)) {
        smr_retire(t, 0, at->parent);
        smr_retire(t, 0, at->node);
        return;
    }
    smr_discard(t, fresh);
    for (unsigned i = 0; i < 2 && half[i]; i++)
        smr_discard(t, half[i]);
}

/* Takes the node's neighbour, too. Leaves need not be taken: nobody changes them, or unlinks them without their parent. */
static bool step_take_pair(struct abtree_step *step, const struct abtree_place *at, unsigned left,
                           struct abtree_node *const pair[2])
{
    if (!step_take(step, at->top) || !step_take_child(step, at->top, at->parent_at, at->parent))
        return false;
    for (unsigned i = 0; i < 2; i++)
        if (pair[i]->leaf ? node_child(at->parent, left + i) != pair[i]
                          : !step_take_child(step, at->parent, left + i, pair[i]))
            return false;
    return true;
}

/* Two neighbours of weight 1, of which one has too few entries. */
static void abtree_join(struct abtree_step *step, const struct abtree_place *at, unsigned left,
                        struct abtree_node *const pair[2])
{
    struct smr_thread *t = step->t;
    struct abtree_row row = {0}, above = {0};
    struct abtree_node *half[2] = {NULL, NULL}, *parent = NULL;
    if (!step_take_pair(step, at, left, pair))
        return;
    step_reserve(step, at->top, at->parent, pair[0], pair[1]);
    row_append(&row, pair[0], 0);
    row_append(&row, pair[1], load_relaxed(&at->parent->keys[left]));
    row_append(&above, at->parent, 0);
    if (row.count <= ABTREE_JOIN) {
        half[0] = row_node(t, &row, 0, row.count);
        row_join(&above, left, half[0]);
    } else {
        above.keys[left] = row_halve(t, &row, half);
        above.slots[left] = (uintptr_t)half[0];
        above.slots[left + 1] = (uintptr_t)half[1];
    }
    /* What is alone below the root is the root. */
    bool whole = above.count == 1 && at->top == &step->ds->entry;
    if (!whole)
        parent = row_node(t, &above, 0, above.count);
    if (step_commit(step, at, whole ? half[0] : parent)) {
        smr_retire(t, 0, at->parent);
        smr_retire(t, 0, pair[0]);
        smr_retire(t, 0, pair[1]);
        return;
    }
    smr_discard(t, half[0]);
    if (half[1])
        smr_discard(t, half[1]);
    if (parent)
        smr_discard(t, parent);
}

/* The node has too few entries and a parent of two or more. */
static void abtree_feed(struct abtree_step *step, const struct abtree_place *at)
{
    unsigned other = at->node_at ? at->node_at - 1 : 1, left = at->node_at ? other : 0;
    struct abtree_node *sibling = (struct abtree_node *)smr_protect(step->t, 3, &at->parent->slots[other], at->parent);
    node_check_live(sibling);
    if (sibling->light) {
        struct abtree_place there = *at;
        there.node = sibling;
        there.node_at = other;
        abtree_lift(step, &there);
        return;
    }
    struct abtree_node *pair[2];
    pair[at->node_at - left] = at->node;
    pair[other - left] = sibling;
    abtree_join(step, at, left, pair);
}

/* The first node with a violation on the way to the key. False: there is none. */
inlined bool abtree_seek_violation(struct ds *ds, struct smr_thread *t, uint64_t key, struct abtree_place *at)
{
    *at = (struct abtree_place){.parent = &ds->entry};
    at->node = (struct abtree_node *)smr_protect(t, 0, &ds->entry.slots[0], &ds->entry);
    for (unsigned slot = 1;; slot = (slot + 1) % 3) {
        node_check_live(at->node);
        if (node_violates(at->node, at->parent == &ds->entry))
            return true;
        if (at->node->leaf)
            return false;
        at->top = at->parent;
        at->parent_at = at->node_at;
        at->parent = at->node;
        at->node_at = node_route(at->parent, key);
        at->node = (struct abtree_node *)smr_protect(t, slot, &at->parent->slots[at->node_at], at->parent);
    }
}

/* One step after the other, until no node on the way to the key violates anything. All in one frame: an attempt may end
 * within its read phase, and a restartable scheme comes back to the checkpoint until the next one. */
static noinline void abtree_rebalance(struct smr_thread *t, struct ds *ds, uint64_t key)
{
    for (;;) {
        smr_checkpoint(t);
        forget(key);
        struct abtree_step step = {.t = t, .ds = ds};
        struct abtree_place at;
        if (!abtree_seek_violation(ds, t, key, &at))
            break;
        if (at.node->light)
            abtree_lift(&step, &at);
        else
            abtree_feed(&step, &at);
    }
    smr_commit(t); /* nobody comes back here any more */
}

#endif
