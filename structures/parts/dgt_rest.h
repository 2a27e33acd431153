/* SPDX-License-Identifier: MIT */
/* dgt_bst at rest: what must hold then, and the end. Included by dgt_bst.h behind its types. */

/* Where a walk at rest stands. The tree may be as deep as it has keys, so nothing recurses: on the way down each link is
 * turned round to the node above, with the side that leads there as a mark, and on the way up it is turned back. */
struct walk {
    link_word above;
    unsigned depth;
    uint64_t least; /* what comes next in order is not below */
};

#define WENT_RIGHT ((link_word)2)

static void walk_down(struct walk *walk, link_word *at, unsigned side)
{
    struct inner *inner = (struct inner *)*at;
    *at = load_relaxed(&inner->child[side]);
    store_relaxed(&inner->child[side], walk->above);
    walk->above = (link_word)inner | (side == RIGHT ? WENT_RIGHT : 0);
    walk->depth++;
}

/* Returns the side it comes from. */
static unsigned walk_up(struct walk *walk, link_word *at)
{
    struct inner *inner = (struct inner *)(walk->above & ~WENT_RIGHT);
    unsigned side = walk->above & WENT_RIGHT ? RIGHT : LEFT;
    walk->above = load_relaxed(&inner->child[side]);
    store_relaxed(&inner->child[side], *at);
    *at = (link_word)inner;
    walk->depth--;
    return side;
}

static void check_leaf(struct walk *walk, const struct leaf *leaf, struct census *census)
{
    if (leaf->key < walk->least)
        census_broken(census, "key %lu stands behind %lu", leaf->key, walk->least);
    if (leaf->value != value_of(leaf->key))
        census_broken(census, "key %lu holds a value that was not stored with it", leaf->key);
    walk->least = leaf->key + 1;
    census->nodes++;
    if (leaf->key != KEY_SENTINEL) {
        census->keys++;
        census->key_sum += leaf->key;
    }
    if (walk->depth + 1 > census->height)
        census->height = walk->depth + 1;
}

/* Between its two subtrees. A node that was taken out keeps its locks: so one that can be reached has none. */
static void check_inner(struct walk *walk, const struct inner *inner, struct census *census)
{
    if (inner->key < walk->least)
        census_broken(census, "separator %lu stands behind %lu", inner->key, walk->least);
    if ((load_relaxed(&inner->lock[LEFT]) | load_relaxed(&inner->lock[RIGHT])) & LOCKED)
        census_broken(census, "an edge of separator %lu is locked: nobody let it go, or the node is not in the tree",
                      inner->key);
    walk->least = inner->key;
    census->nodes++;
}

static void ds_check(struct ds *ds, struct census *census)
{
    struct walk walk = {0};
    link_word at = load_relaxed(&ds->root.child[LEFT]);
    if (load_relaxed(&ds->root.lock[LEFT]) & LOCKED)
        census_broken(census, "the root's edge is locked");
    for (;;) {
        while (at && !(at & LEAF))
            walk_down(&walk, &at, LEFT);
        if (at)
            check_leaf(&walk, leaf_of(at), census);
        else
            census_broken(census, "an inner node behind %lu lacks a child", walk.least);
        unsigned side = RIGHT;
        while (walk.above && (side = walk_up(&walk, &at)) == RIGHT)
            continue;
        if (side == RIGHT)
            break;
        check_inner(&walk, (struct inner *)at, census);
        walk_down(&walk, &at, RIGHT);
    }
    if (walk.least != KEY_SENTINEL + 1)
        census_broken(census, "the last leaf is not the sentinel");
}

/* Left subtrees are rotated away until only a leaf is left of a node. */
static void ds_destroy(struct ds *ds, struct smr_thread *t)
{
    link_word link = load_relaxed(&ds->root.child[LEFT]);
    while (!(link & LEAF)) {
        struct inner *inner = (struct inner *)link;
        link_word left = load_relaxed(&inner->child[LEFT]);
        if (left & LEAF) {
            link = load_relaxed(&inner->child[RIGHT]);
            smr_discard(t, leaf_of(left));
            smr_discard(t, inner);
        } else {
            struct inner *below = (struct inner *)left;
            store_relaxed(&inner->child[LEFT], load_relaxed(&below->child[RIGHT]));
            store_relaxed(&below->child[RIGHT], link);
            link = left;
        }
    }
    smr_discard(t, leaf_of(link));
    store_relaxed(&ds->root.child[LEFT], 0);
}
