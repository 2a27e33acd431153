/* SPDX-License-Identifier: MIT */
/* External binary search tree with ticket locks on its edges: keys are in the leaves, an inner node has two children, a search
 * writes nothing, and an update locks one edge (insert) or three (remove), each by one attempt.
 *
 * An edge of an inner node is a child link and a ticket lock. As nobody ever queues for it, ticket and version of such a
 * lock differ by 0 or 1: they are one counter here, odd while the edge is locked, so that versions repeat after 2^31
 * changes and not 2^16. A search loads the edge's counter with acquire (1), then the link (2). To lock is one CAS from that
 * counter (3), to unlock a release store of the next even number (4). A remove that has locked both edges of the node
 * that it takes out never unlocks them: nobody who stands there can lock anything.
 *
 * Proof sketch.
 *  a. A locked edge is what the search saw. The link changes only between (3) and (4). Had it changed before (1), (4)
 *     and (1) would show it to (2); had it changed after, the CAS would not find the counter of (1). A search that read the
 *     new link at (2) and the old counter at (1) knows, by the release store of the link (5), that the counter has moved.
 *  b. Nodes that can be locked are in the tree. The inner node P over a leaf is taken out only with both of its edges
 *     locked for ever, after the edge over P was locked with the counter under which P was read (a): so one remove alone
 *     unlinks P and its leaf, and retires both, once.
 *  c. Children of an inner node that is unlinked never change again, and nothing is ever inserted between two inner nodes.
 *     So for each node that a search for k visits there was a moment within the search when the node was in the tree
 *     and on the path of k, and its ancestors then were among the nodes visited: by induction, the moment of (2) if the
 *     node that holds the link was still in the tree, or else the one just before that was unlinked. This is why links
 *     may be followed out of unlinked nodes (SMR_WALK_UNLINKED) and why a search validates nothing: at the moment that
 *     belongs to the leaf, k was in the tree exactly if it was the leaf's key.
 *  d. An insert takes effect at the store of the link over the leaf that it splits (5), a remove at the store of the link
 *     over the parent (6), a lookup at the moment of (c).
 *  e. A scan step: the bounds met on the way down to a leaf are those of its ancestors at the moment of (c), and perhaps
 *     tighter ones of nodes that are gone. So within them the tree held that leaf's key and no other. The next leaf is
 *     reached from the last node where the walk turned left, if that was in the tree when its right link had been read
 *     (7): what is taken out keeps its locks. On the right of a node that is gone hang leaves that may be gone longer than what was
 *     read last is there, and on its left there may be keys above its own by then: the walk goes on at the root.
 *  f. No operation waits while it holds a lock: all but the first are attempts too. Whoever fails lets go of everything,
 *     waits a little (backoff.h) and begins again. Nothing is allocated under a lock.
 *  g. The sentinel leaf, above all keys, hangs on the left edge of the root, so every leaf with a key has a parent and a
 *     grandparent.
 *
 * What keeps SMR_WALK_UNLINKED protects all that an operation has read: one slot serves.
 * Source: T. David, R. Guerraoui, V. Trigonakis, "Asynchronized concurrency: the secret to scaling concurrent search data
 * structures", ASPLOS 2015 (BST-TK). */
#include "backoff.h"
#include "race.h"
#include "reclaimer.h"
#include "set.h"

#define DS_KIND       set
#define DS_NEEDS      (SMR_CONCURRENT_READERS | SMR_WALK_UNLINKED)
#define DS_THREADS    DS_ANY
#define DS_NODE_BYTES sizeof(struct inner)
#define DS_KEY_BYTES  (sizeof(struct inner) + sizeof(struct leaf))

/* In a link: it leads to a leaf. */
#define LEAF ((link_word)1)

#define LOCKED 1u

#define KEY_SENTINEL SET_KEY_LIMIT

enum { LEFT, RIGHT };
enum { KIND_INNER, KIND_LEAF };

/* Keys >= key are on the right. */
struct inner {
    struct smr_header smr;
    uint64_t key;
    _Atomic link_word child[2];
    _Atomic uint32_t lock[2];
};

struct leaf {
    struct smr_header smr;
    uint64_t key;
    uint64_t value;
};

struct ds {
    line_pair_align struct inner root; /* has a left edge only */
};

/* An edge as a search saw it. */
struct edge {
    struct inner *owner;
    unsigned side;
    uint32_t version;
};

inlined struct leaf *leaf_of(link_word link)
{
    return (struct leaf *)(link & ~LEAF);
}

static link_word leaf_new(struct smr_thread *t, uint64_t key, uint64_t value)
{
    struct leaf *leaf = smr_alloc(t, KIND_LEAF, sizeof *leaf, _Alignof(struct leaf));
    leaf->key = key;
    leaf->value = value;
    return (link_word)leaf | LEAF;
}

#include "parts/dgt_rest.h"

static void ds_create(struct ds *ds, struct smr_thread *t, const struct ds_parameters *parameters)
{
    (void)parameters;
    ds->root.key = KEY_SENTINEL;
    store_relaxed(&ds->root.child[LEFT], leaf_new(t, KEY_SENTINEL, value_of(KEY_SENTINEL)));
}

/* ---- edges ---- */

inlined bool edge_lock(const struct edge *edge)
{
    uint32_t version = edge->version;
    race_window();
    return !(version & LOCKED) && cas_acquire(&edge->owner->lock[edge->side], &version, version + 1); /* (3) */
}

inlined void edge_unlock(const struct edge *edge)
{
    race_window();
    store_release(&edge->owner->lock[edge->side], edge->version + 2); /* (4) */
}

/* Nothing was changed: whoever saw this version may still lock. */
inlined void edge_give_back(const struct edge *edge)
{
    store_release(&edge->owner->lock[edge->side], edge->version);
}

inlined link_word edge_target(const struct edge *edge)
{
    return load_relaxed(&edge->owner->child[edge->side]);
}

inlined void edge_set(const struct edge *edge, link_word target)
{
    race_window();
    store_release(&edge->owner->child[edge->side], target); /* (5), (6) */
}

/* ---- searches ---- */

/* Left of the root for every key. */
inlined unsigned side_for(const struct inner *inner, uint64_t key)
{
    return key >= inner->key;
}

/* Both links are loaded beside the key, and one is chosen: an address that waits for the comparison would cost a second load
 * on each level's way. */
inlined link_word inner_next(struct smr_thread *t, struct inner *inner, unsigned side)
{
    link_word left = smr_protect(t, 0, &inner->child[LEFT], inner);
    link_word right = smr_protect(t, 0, &inner->child[RIGHT], inner);
    return side == LEFT ? left : right;
}

inlined struct leaf *find_leaf(struct ds *ds, struct smr_thread *t, uint64_t key)
{
    link_word link = smr_protect(t, 0, &ds->root.child[LEFT], &ds->root);
    while (!(link & LEAF)) {
        struct inner *inner = (struct inner *)link;
        node_check_live(inner);
        link = inner_next(t, inner, side_for(inner, key));
        race_window();
    }
    node_check_live(leaf_of(link));
    return leaf_of(link);
}

/* The same for updates: `edges[0]` led to the leaf, `edges[1]` to the owner of edges[0]. */
inlined struct leaf *find_edges(struct ds *ds, struct smr_thread *t, uint64_t key, struct edge edges[2])
{
    struct inner *inner = &ds->root, *above = inner;
    uint32_t version = 0, version_above;
    for (;;) {
        unsigned side = side_for(inner, key);
        version_above = version;
        version = load_acquire(&inner->lock[side]); /* (1) */
        race_window();
        link_word link = inner_next(t, inner, side); /* (2) */
        if (link & LEAF) {
            node_check_live(leaf_of(link));
            edges[0] = (struct edge){inner, side, version};
            edges[1] = (struct edge){above, side_for(above, key), version_above};
            return leaf_of(link);
        }
        above = inner;
        inner = (struct inner *)link;
        node_check_live(inner);
    }
}

static noinline void dgt_restart(struct smr_thread *t)
{
    backoff_wait(++t->fp.account.restarts);
}

/* ---- operations ---- */

static noinline struct found ds_contains(struct ds *ds, struct smr_thread *t, uint64_t key)
{
    smr_op_begin(t);
    smr_checkpoint(t);
    const struct leaf *leaf = find_leaf(ds, t, key);
    struct found found = {leaf->key == key, leaf->value};
    smr_op_end(t);
    return found;
}

/* Puts a fresh leaf beside the one that the edge led to. */
static bool dgt_split(struct smr_thread *t, const struct edge *edge, struct leaf *leaf, uint64_t key, uint64_t value)
{
    struct inner *inner = smr_alloc(t, KIND_INNER, sizeof *inner, _Alignof(struct inner));
    link_word fresh = leaf_new(t, key, value), old = (link_word)leaf | LEAF;
    bool right = key > leaf->key;
    inner->key = right ? key : leaf->key;
    store_relaxed(&inner->child[LEFT], right ? old : fresh);
    store_relaxed(&inner->child[RIGHT], right ? fresh : old);
    store_relaxed(&inner->lock[LEFT], 0);
    store_relaxed(&inner->lock[RIGHT], 0);
    if (!edge_lock(edge)) {
        smr_discard(t, inner);
        smr_discard(t, leaf_of(fresh));
        return false;
    }
    edge_set(edge, (link_word)inner);
    edge_unlock(edge);
    return true;
}

static noinline bool ds_insert(struct ds *ds, struct smr_thread *t, uint64_t key, uint64_t value)
{
    smr_op_begin(t);
restart:
    smr_checkpoint(t);
    struct edge edges[2];
    struct leaf *leaf = find_edges(ds, t, key, edges);
    bool absent = leaf->key != key;
    if (absent) {
        smr_reserve(t, 0, edges[0].owner);
        smr_reserve(t, 1, leaf);
        smr_commit(t);
        if (!dgt_split(t, &edges[0], leaf, key, value)) {
            dgt_restart(t);
            goto restart;
        }
    }
    smr_op_end(t);
    return absent;
}

/* Takes out the parent and the leaf below `to_leaf`: the parent's place gets the leaf's sibling. The sibling's edge may have
 * changed since the search; it only has to stand still. */
static bool dgt_unlink(const struct edge *to_leaf, const struct edge *to_parent)
{
    unsigned other = !to_leaf->side;
    struct edge to_sibling = {to_leaf->owner, other, load_relaxed(&to_leaf->owner->lock[other])};
    if (!edge_lock(to_parent))
        return false;
    if (edge_lock(to_leaf)) {
        if (edge_lock(&to_sibling)) {
            edge_set(to_parent, edge_target(&to_sibling));
            edge_unlock(to_parent);
            return true;
        }
        edge_give_back(to_leaf);
    }
    edge_give_back(to_parent);
    return false;
}

static noinline bool ds_remove(struct ds *ds, struct smr_thread *t, uint64_t key)
{
    smr_op_begin(t);
restart:
    smr_checkpoint(t);
    struct edge edges[2];
    struct leaf *leaf = find_edges(ds, t, key, edges);
    bool present = leaf->key == key;
    if (present) {
        smr_reserve(t, 0, edges[1].owner);
        smr_reserve(t, 1, edges[0].owner);
        smr_reserve(t, 2, leaf);
        smr_commit(t);
        if (!dgt_unlink(&edges[0], &edges[1])) {
            dgt_restart(t);
            goto restart;
        }
        smr_retire(t, KIND_INNER, edges[0].owner);
        smr_retire(t, KIND_LEAF, leaf);
    }
    smr_op_end(t);
    return present;
}

/* ---- scans ---- */

/* The nodes at which a walk turned left, the last SCAN_DEPTH of them. */
#define SCAN_DEPTH 64
#define SCAN_BLOCK 64

struct scan {
    struct inner *turns[SCAN_DEPTH];
    unsigned top; /* turns so far; place top % SCAN_DEPTH is free */
    unsigned kept;
};

inlined void scan_push(struct scan *scan, struct inner *inner)
{
    scan->turns[scan->top++ % SCAN_DEPTH] = inner;
    scan->kept += scan->kept < SCAN_DEPTH;
}

/* Down to the leaf of `key`. The right child is where the scan will go after the left one. */
inlined struct leaf *scan_down(struct smr_thread *t, struct scan *scan, link_word link, uint64_t key)
{
    while (!(link & LEAF)) {
        struct inner *inner = (struct inner *)link;
        node_check_live(inner);
        unsigned side = side_for(inner, key);
        if (side == LEFT) {
            __builtin_prefetch((const void *)(load_relaxed(&inner->child[RIGHT]) & ~LEAF));
            scan_push(scan, inner);
        }
        link = inner_next(t, inner, side);
        race_window();
    }
    node_check_live(leaf_of(link));
    return leaf_of(link);
}

/* On to the right of the last turn. False: that may be gone. */
inlined bool scan_turn(struct smr_thread *t, struct scan *scan, link_word *link, uint64_t *from)
{
    scan->kept--;
    struct inner *turn = scan->turns[--scan->top % SCAN_DEPTH];
    *link = smr_protect(t, 0, &turn->child[RIGHT], turn);
    race_window();
    if (unlikely(load_acquire(&turn->lock[RIGHT]) & LOCKED)) { /* (7) */
        dgt_restart(t);
        return false;
    }
    *from = turn->key;
    return true;
}

/* Collects the values of up to `most` keys from *from on, and sets *from behind the last. False: there are no more. */
inlined bool scan_block(struct ds *ds, struct smr_thread *t, uint64_t *from, size_t most, uint64_t *values, size_t *n)
{
    struct scan scan;
    scan.top = scan.kept = 0;
    link_word link = smr_protect(t, 0, &ds->root.child[LEFT], &ds->root);
    for (*n = 0; *n < most;) {
        const struct leaf *leaf = scan_down(t, &scan, link, *from);
        if (leaf->key == KEY_SENTINEL)
            return false;
        if (leaf->key >= *from) {
            values[(*n)++] = leaf->value;
            *from = leaf->key + 1;
        }
        /* A turn that was forgotten or is gone is made again from the root: `from` is past all that was read. */
        if (scan.kept == 0 || !scan_turn(t, &scan, &link, from)) {
            scan.kept = 0;
            link = smr_protect(t, 0, &ds->root.child[LEFT], &ds->root);
        }
    }
    return true;
}

static noinline size_t ds_scan(struct ds *ds, struct smr_thread *t, uint64_t low, size_t most, uint64_t *sum)
{
    volatile uint64_t from = low;
    volatile size_t read = 0;
    smr_op_begin(t);
    for (bool more = true; more && read < most;) {
        smr_checkpoint(t);
        uint64_t values[SCAN_BLOCK], next = from;
        size_t n, left = most - read;
        more = scan_block(ds, t, &next, left < SCAN_BLOCK ? left : SCAN_BLOCK, values, &n);
        smr_commit(t); /* what is added up must not be added up again */
        for (size_t i = 0; i < n; i++)
            *sum += values[i];
        read += n;
        from = next;
    }
    smr_op_end(t);
    return read;
}
