/* SPDX-License-Identifier: MIT */
/* Relaxed (a,b)-tree, lock-free: keys in leaves, changed by SCX, rebalanced by steps of their own (parts/abtree_steps.h).
 *
 * Leaves never change. An insert or remove builds the leaf anew and swings the parent's link to it, by an SCX of the
 * parent alone (1): one node allocated, one retired. A leaf that would overflow gives way to two and a light node above
 * them; whoever creates such a violation, or a leaf of less than a entries, rebalances until the way to its key has none.
 *
 * Proof sketch; for LLX and SCX see parts/llx_scx.h.
 *  - An inner node covers a range of keys for all its life: steps give the children of what they replace to nodes that cover
 *    the same. A search that follows links from the entry reads each from a node that was in the tree, and on the way to
 *    its key, at some moment since the search began (a node leaves the tree with its links as they are, and what they hold
 *    was there, too, until then). So for the leaf that it ends in there is such a moment; then lookups and updates that
 *    change nothing take effect. Readers write nothing, lock nothing and never begin again. They walk through unlinked
 *    nodes: SMR_WALK_UNLINKED.
 *  - (1) succeeds if the parent is as LLX saw it, and then held the leaf (2): so the leaf is in the tree, the parent not
 *    finalised, and nobody else unlinks either meanwhile, for that needs the parent frozen. The update takes effect when
 *    the link changes. Its thread retires the leaf: once, as leaves leave the tree once.
 *  - A fresh node is published with release by the SCX and entered with acquire (smr_protect).
 *
 * Restartable schemes: everything before smr_commit only reads; behind it a thread touches what it has reserved, its own
 * fresh nodes, and descriptors, which are never freed. A search that meets an SCX under way reserves that one's nodes
 * (scx_help).
 *
 * Sources: K. Larsen, R. Fagerberg, "Efficient rebalancing of B-trees with relaxed balance", 1996; L. Jacobsen, K. Larsen,
 * "Variants of (a,b)-trees with relaxed balance", 2001; T. Brown, "Techniques for constructing efficient lock-free data
 * structures", thesis, Toronto 2017. */
#include "parts/abtree_check.h"

#define DS_KIND       set
#define DS_NEEDS      (SMR_CONCURRENT_READERS | SMR_WALK_UNLINKED)
#define DS_THREADS    DS_ANY
#define DS_NODE_BYTES sizeof(struct abtree_node)
#define DS_KEY_BYTES  (2 * sizeof(struct abtree_node) / (ABTREE_LEAST + ABTREE_MOST))

/* Where a search ended. */
struct abtree_end {
    struct abtree_node *parent, *leaf;
    unsigned at; /* place of the leaf's link in the parent */
};

static void ds_create(struct ds *ds, struct smr_thread *t, const struct ds_parameters *parameters)
{
    struct abtree_row none = {.leaf = true}, one = {.count = 1};
    scx_init(&ds->scx, parameters->threads);
    one.slots[0] = (uintptr_t)row_node(t, &none, 0, 0);
    node_init(&ds->entry, 1, false);
    node_fill(&ds->entry, &one, 0, 1);
}

inlined struct abtree_end abtree_seek(struct ds *ds, struct smr_thread *t, uint64_t key)
{
    struct abtree_end end = {.parent = &ds->entry};
    for (unsigned slot = 0;; slot ^= 1) {
        end.leaf = (struct abtree_node *)smr_protect(t, slot, &end.parent->slots[end.at], end.parent);
        node_prefetch(end.leaf);
        race_window();
        node_check_live(end.leaf);
        if (end.leaf->leaf)
            return end;
        end.parent = end.leaf;
        end.at = node_route(end.parent, key);
    }
}

/* Is the end of the search still the tree's (2)? Then *info is what an SCX of the parent wants. */
inlined bool abtree_take(struct ds *ds, struct smr_thread *t, struct abtree_end end, uint64_t *info)
{
    if (unlikely(!llx(&ds->scx, &end.parent->scx, info))) {
        scx_help(t, &ds->scx, *info);
        return false;
    }
    if (unlikely(node_child(end.parent, end.at) != end.leaf)) /* (2) */
        return false;
    smr_reserve(t, 0, end.parent);
    smr_reserve(t, 1, end.leaf);
    smr_commit(t);
    return true;
}

inlined bool abtree_swing(struct ds *ds, struct smr_thread *t, struct abtree_end end, uint64_t info,
                          struct abtree_node *fresh)
{
    return scx_one(&ds->scx.descriptors[t->fp.account.index], &end.parent->scx, info, &end.parent->slots[end.at],
                   (link_word)end.leaf, (link_word)fresh); /* (1) */
}

static noinline struct found ds_contains(struct ds *ds, struct smr_thread *t, uint64_t key)
{
    smr_op_begin(t);
    smr_checkpoint(t);
    struct abtree_end end = abtree_seek(ds, t, key);
    struct found found = leaf_find(end.leaf, key);
    race_window();
    node_check_live(end.leaf);
    smr_op_end(t);
    return found;
}

/* The key goes into a full leaf: two leaves and what is above them; light, unless it is the root. `end` comes as a copy, so
 * that callers can keep theirs in registers. */
static noinline bool abtree_overflow(struct ds *ds, struct smr_thread *t, struct abtree_end end, uint64_t info,
                                     uint64_t key, uint64_t value)
{
    struct abtree_row row = {0};
    struct abtree_node *half[2];
    row_append(&row, end.leaf, 0);
    row_insert(&row, leaf_place(end.leaf, key), key, value);
    uint64_t between = row_halve(t, &row, half);
    struct abtree_node *above = node_above(t, between, half, end.parent != &ds->entry);
    if (!abtree_swing(ds, t, end, info, above)) {
        smr_discard(t, half[0]);
        smr_discard(t, half[1]);
        smr_discard(t, above);
        return false;
    }
    smr_retire(t, 0, end.leaf);
    abtree_rebalance(t, ds, key);
    return true;
}

static noinline bool ds_insert(struct ds *ds, struct smr_thread *t, uint64_t key, uint64_t value)
{
    smr_op_begin(t);
restart:
    smr_checkpoint(t);
    forget(key);
    struct abtree_end end = abtree_seek(ds, t, key);
    uint64_t info;
    unsigned place = leaf_place(end.leaf, key);
    bool absent = load_relaxed(&end.leaf->keys[place]) != key;
    if (absent) {
        if (!abtree_take(ds, t, end, &info))
            goto again;
        if (unlikely(end.leaf->count == ABTREE_MOST)) {
            if (!abtree_overflow(ds, t, end, info, key, value))
                goto again;
        } else {
            struct abtree_node *fresh = leaf_with(t, end.leaf, place, key, value);
            if (!abtree_swing(ds, t, end, info, fresh)) {
                smr_discard(t, fresh);
                goto again;
            }
            smr_retire(t, 0, end.leaf);
        }
    }
    smr_op_end(t);
    return absent;
again:
    t->fp.account.restarts++;
    goto restart;
}

static noinline bool ds_remove(struct ds *ds, struct smr_thread *t, uint64_t key)
{
    smr_op_begin(t);
restart:
    smr_checkpoint(t);
    forget(key);
    struct abtree_end end = abtree_seek(ds, t, key);
    uint64_t info;
    unsigned place = leaf_place(end.leaf, key);
    bool present = load_relaxed(&end.leaf->keys[place]) == key;
    if (present) {
        if (!abtree_take(ds, t, end, &info))
            goto again;
        struct abtree_node *fresh = leaf_without(t, end.leaf, place);
        if (!abtree_swing(ds, t, end, info, fresh)) {
            smr_discard(t, fresh);
            goto again;
        }
        bool few = end.leaf->count <= ABTREE_LEAST; /* asked of the old leaf: the new one is anybody's to retire */
        smr_retire(t, 0, end.leaf);
        if (unlikely(few && end.parent != &ds->entry))
            abtree_rebalance(t, ds, key);
    }
    smr_op_end(t);
    return present;
again:
    t->fp.account.restarts++;
    goto restart;
}

/* The leaf of the key, and the least key behind its range. */
inlined struct abtree_node *abtree_seek_bound(struct ds *ds, struct smr_thread *t, uint64_t key, uint64_t *bound)
{
    unsigned slot = 0, at = 0;
    struct abtree_node *parent = &ds->entry;
    *bound = ABTREE_FREE;
    for (;;) {
        struct abtree_node *node = (struct abtree_node *)smr_protect(t, slot++ & 1, &parent->slots[at], parent);
        race_window();
        node_check_live(node);
        if (node->leaf)
            return node;
        parent = node;
        at = node_route(parent, key);
        uint64_t next = load_relaxed(&parent->keys[at]);
        if (next < *bound)
            *bound = next;
    }
}

/* One leaf after the other, each by a search of its own. A leaf does not change: it is read as of the moment when it was on
 * the way. */
static noinline size_t ds_scan(struct ds *ds, struct smr_thread *t, uint64_t low, size_t most, uint64_t *sum)
{
    volatile uint64_t from = low;
    volatile size_t read = 0;
    smr_op_begin(t);
    while (read < most) {
        smr_checkpoint(t);
        uint64_t bound;
        struct abtree_node *leaf = abtree_seek_bound(ds, t, from, &bound);
        smr_reserve(t, 0, leaf);
        smr_commit(t); /* what is added up must not be added up again */
        for (unsigned i = leaf_place(leaf, from); i < leaf->count && read < most; i++, read++)
            *sum += load_relaxed(&leaf->slots[i]);
        if (bound == ABTREE_FREE)
            break;
        from = bound;
    }
    smr_op_end(t);
    return read;
}

static void ds_check(struct ds *ds, struct census *census)
{
    abtree_check(ds, census);
}

static void ds_destroy(struct ds *ds, struct smr_thread *t)
{
    abtree_discard(node_child(&ds->entry, 0), t);
}
