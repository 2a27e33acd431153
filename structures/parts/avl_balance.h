/* SPDX-License-Identifier: MIT */
/* Balance of occ_avl: what a change leaves to be put right, and by whom.
 *
 *  i. A node is in order if its height is one more than that of its higher child, the children's heights differ by at
 *     most 1, it has PRESENT or two children, and it is not DIRTY. Whoever changes a link, a height or PRESENT is
 *     responsible: what was under its locks it examines there; and when it has changed the height of X it examines the parent
 *     of X, under the parent's lock (6) and with X's parent link read again there (7). A rotation that moves X elsewhere
 *     holds the lock of X's parent: it comes before (6), and (7) finds the new parent; or after, and sees the height.
 *  j. A rotation can leave two nodes out of order, one below the other. The thread goes on with the lower, and marks it and
 *     all that it has recomputed above as DIRTY: nobody puts a DIRTY node in order without examining its parent, even
 *     if its height does not change. Whoever moves or unlinks a node examines its old and new parent, so no mark is orphaned.
 *  k. So at rest every node is in order: an AVL tree, and every routing node has two children.
 *
 * (i) and (j) are stricter than the article's code, which examines nodes without locks and forgets the upper of two nodes
 * out of order; at rest that can leave a wrong height. */
#include "avl_node.h"

/* Work that is left: `node` may be out of order, or (above) whatever its parent is by then. */
struct damage {
    struct node *node;
    bool above;
};

static const struct damage no_damage = {NULL, false};

enum { OUT_OF_BALANCE = -1, NOT_NEEDED = -2 };

/* What the height should be, or why that does not matter yet. */
inlined int height_wanted(struct node *node)
{
    struct node *left = child_of(node, LEFT), *right = child_of(node, RIGHT);
    if ((!left || !right) && !is_present(node))
        return NOT_NEEDED;
    int left_height = height_of(left), right_height = height_of(right);
    if (left_height - right_height > 1 || right_height - left_height > 1)
        return OUT_OF_BALANCE;
    return higher(left_height, right_height);
}

/* Examines a locked node, and does what its own lock allows. */
static struct damage settle(struct node *node)
{
    if (!parent_of(node) || is_unlinked(node))
        return no_damage;
    int wanted = height_wanted(node);
    if (wanted < 0)
        return (struct damage){node, false};
    if (wanted == height_of(node) && !(load_relaxed(&node->state) & DIRTY))
        return no_damage;
    state_replace(node, HEIGHT_MASK | DIRTY, (uint32_t)wanted * HEIGHT_ONE);
    return (struct damage){node, true};
}

/* Examines three locked nodes, each the child of the next, of which a rotation has moved the first two. */
static struct damage settle_all(struct node *lower, struct node *upper, struct node *parent)
{
    bool lower_in_order = height_wanted(lower) >= 0;
    if (lower_in_order && height_wanted(upper) >= 0)
        return settle(parent);
    if (!lower_in_order)
        state_replace(lower, 0, DIRTY);
    state_replace(upper, 0, DIRTY);
    return (struct damage){lower_in_order ? upper : lower, false};
}

/* `high`, a child of `node`, rises above it, and its child on the other side changes over. All but that one are locked. */
static void rotate(struct node *parent, struct node *node, struct node *high)
{
    unsigned side = side_of(node, high), at = side_of(parent, node);
    struct node *moved = child_of(high, !side);
    shrink_begin(node);
    set_child(node, side, moved);
    set_child(high, !side, node);
    set_child(parent, at, high);
    shrink_end(node);
    int height = higher(height_of(moved), height_of(child_of(node, !side)));
    state_replace(node, HEIGHT_MASK | DIRTY, (uint32_t)height * HEIGHT_ONE);
    height = higher(height, height_of(child_of(high, side)));
    state_replace(high, HEIGHT_MASK | DIRTY, (uint32_t)height * HEIGHT_ONE);
}

/* `inner`, the higher child of `high`, lies between node and high. First it rises above high; if that leaves high in order,
 * above node too. All four are locked. */
static struct damage rotate_twice(struct node *parent, struct node *node, struct node *high, struct node *inner)
{
    rotate(node, high, inner);
    if (height_wanted(high) < 0)
        return settle_all(high, inner, node);
    rotate(parent, node, inner);
    return settle_all(node, inner, parent);
}

/* The child on `side` is higher than the other, whose height is `other`, by more than 1. parent and node are locked. */
static struct damage lower_child(struct smr_thread *t, struct node *parent, struct node *node, unsigned side, int other)
{
    struct damage damage = {node, false};
    struct node *high = child_of(node, side);
    node_lock(t, high);
    if (height_of(high) - other > 1) {
        struct node *inner = child_of(high, !side);
        bool twice = height_of(inner) > height_of(child_of(high, side));
        if (twice) {
            node_lock(t, inner);
            damage = rotate_twice(parent, node, high, inner);
            node_unlock(inner);
        } else {
            rotate(parent, node, high);
            damage = settle_all(node, high, parent);
        }
    }
    node_unlock(high);
    return damage;
}

/* Both locked; node is not PRESENT and has at most one child, which takes its place. The caller retires it. */
static struct damage unlink_node(struct node *parent, struct node *node)
{
    struct node *left = child_of(node, LEFT);
    set_child(parent, side_of(parent, node), left ? left : child_of(node, RIGHT));
    race_window();
    store_release(&node->version, load_relaxed(&node->version) | UNLINKED);
    return settle(parent);
}

/* Examines a node with the locks of its parent and itself. */
static struct damage rebalance(struct smr_thread *t, struct node *parent, struct node *node, bool *dead)
{
    if (is_unlinked(node))
        return no_damage;
    struct node *left = child_of(node, LEFT), *right = child_of(node, RIGHT);
    if ((!left || !right) && !is_present(node)) {
        *dead = true;
        return unlink_node(parent, node);
    }
    int left_height = height_of(left), right_height = height_of(right);
    if (left_height - right_height > 1)
        return lower_child(t, parent, node, LEFT, right_height);
    if (right_height - left_height > 1)
        return lower_child(t, parent, node, RIGHT, left_height);
    return settle(node);
}

static struct damage repair_step(struct smr_thread *t, struct damage damage)
{
    struct node *below = damage.above ? damage.node : NULL;
    struct node *node = below ? parent_of(below) : damage.node;
    struct node *parent = parent_of(node);
    struct damage left = damage;
    bool dead = false;
    if (!parent)
        return no_damage;
    if (is_unlinked(node)) /* if it is still the parent, then below was unlinked before */
        return below && parent_of(below) != node ? damage : no_damage;
    if (height_wanted(node) >= 0)
        parent = NULL;
    if (parent)
        node_lock(t, parent);
    if (!parent || (!is_unlinked(parent) && parent_of(node) == parent)) {
        node_lock(t, node);                     /* (6) */
        if (!below || parent_of(below) == node) /* (7) */
            left = parent ? rebalance(t, parent, node, &dead) : settle(node);
        node_unlock(node);
    }
    if (parent)
        node_unlock(parent);
    if (dead)
        smr_retire(t, 0, node);
    return left;
}

static noinline void repair(struct smr_thread *t, struct damage damage)
{
    while (damage.node)
        damage = repair_step(t, damage);
}
