/* SPDX-License-Identifier: MIT */
/* occ_avl at rest: what must hold then, and the end. Needs struct ds. */
#include "avl_node.h"

/* More than an AVL tree of 2^64 keys has. */
#define HIGHEST 96

/* Returns the height of what hangs below `parent`; its keys are from `least` on and below `end`. */
static int check_below(struct node *parent, struct node *node, uint64_t least, uint64_t end, unsigned depth,
                       struct census *census)
{
    if (!node || census->broken[0])
        return 0;
    struct node *left = child_of(node, LEFT), *right = child_of(node, RIGHT);
    uint64_t key = node->key;
    if (depth > HIGHEST)
        census_broken(census, "key %lu lies deeper than any balanced tree goes", key);
    if (key < least || key >= end)
        census_broken(census, "key %lu stands outside of %lu to %lu", key, least, end);
    if (parent_of(node) != parent)
        census_broken(census, "key %lu hangs below another node than its parent", key);
    if (load_relaxed(&node->version) & (SHRINKING | UNLINKED))
        census_broken(census, "key %lu is marked as moving or unlinked", key);
    if (load_relaxed(&node->state) & (LOCKED | DIRTY))
        census_broken(census, "key %lu is locked or dirty at rest", key);
    if (!is_present(node) && !(left && right))
        census_broken(census, "key %lu is a routing node without two children", key);
    if (is_present(node) && load_relaxed(&node->value) != value_of(key))
        census_broken(census, "key %lu holds a value that was not stored with it", key);
    int left_height = check_below(node, left, least, key, depth + 1, census);
    int right_height = check_below(node, right, key + 1, end, depth + 1, census);
    if (left_height - right_height > 1 || right_height - left_height > 1)
        census_broken(census, "below key %lu the heights are %d and %d", key, left_height, right_height);
    int height = higher(left_height, right_height);
    if (height != height_of(node))
        census_broken(census, "key %lu has height %d and says %d", key, height, height_of(node));
    census->nodes++;
    if (is_present(node)) {
        census->keys++;
        census->key_sum += key;
    }
    return height;
}

static void ds_check(struct ds *ds, struct census *census)
{
    struct node *root = child_of(&ds->holder, RIGHT);
    if (load_relaxed(&ds->holder.state) & LOCKED || load_relaxed(&ds->holder.version) || child_of(&ds->holder, LEFT))
        census_broken(census, "the holder of the root is locked, has changed version or has a second child");
    census->height = (unsigned)check_below(&ds->holder, root, 0, SET_KEY_LIMIT, 1, census);
}

/* Left subtrees are rotated away until a node has none. */
static void ds_destroy(struct ds *ds, struct smr_thread *t)
{
    struct node *node = child_of(&ds->holder, RIGHT);
    while (node) {
        struct node *left = child_of(node, LEFT), *next = left;
        if (left) {
            store_relaxed(&node->child[LEFT], load_relaxed(&left->child[RIGHT]));
            store_relaxed(&left->child[RIGHT], (link_word)node);
        } else {
            next = child_of(node, RIGHT);
            smr_discard(t, node);
        }
        node = next;
    }
    store_relaxed(&ds->holder.child[RIGHT], 0);
}
