/* SPDX-License-Identifier: MIT */
/* Binary search tree, AVL-balanced at rest, with optimistic validation on the way down: a lookup takes no lock and writes
 * nothing, an update locks the nodes that it changes.
 *
 * Partially external: a key is removed by clearing its node's PRESENT bit. A node with two children stays as a
 * routing node; one with fewer is also unlinked and retired. An insert of a routing node's key sets the bit again.
 *
 * Proof sketch: searches.
 *  a. A search for k stands at a node N with a version V of it, such that k was in the range of N, and N in the tree, at a
 *     moment of the search, and later as long as the version is V. The holder above the root never changes version.
 *  b. A hop loads the link to child C (1), C's version (2), the link again (3), N's version again (4), each load ordered
 *     before the next by acquire. If (3) is the same link and (4) the same version, then at (3) N was in the tree, k in its
 *     range, and C its child on k's side, so k was in C's range then. Its version at (2) was neither SHRINKING nor UNLINKED;
 *     if it still is the same later, C's range has not shrunk since before (3): (a) holds for C.
 *  c. A writer makes its changes known in time: SHRINKING is stored before the first link of a rotation, and every link
 *     store is a release (5): whoever read a new link at (1) or (3) finds the version moved at (4).
 *  d. The link is 0 and (4) agrees: k was not in the tree at (1). C has the key k: C was in the tree at a moment of the
 *     search (b without the check of (4): a link read from a node that was in the tree within the search), and PRESENT
 *     decides. If it is set, k was there then, as a node is unlinked only after it was cleared, and never set again (f).
 *     If it is clear, k was absent, now or just before C was unlinked.
 *     Between its parent's new link and UNLINKED a node is out of the tree and does not say so. But its links stand still,
 *     and at (3) it was in: so for (1) and (3) of the next hop read "just before it was unlinked", within the search too.
 *  e. The value changes only while PRESENT is clear, and between an unlock and the next: if the count of unlocks is the same
 *     before and after the value was read, it is the one that belongs to the bit. (The count repeats after
 *     2^21 unlocks: as many within two loads, and not one more or less, would go unseen.)
 *
 * Updates.
 *  f. An insert below N locks N, then checks its version and that the link is still 0: k is absent and belongs there. An
 *     insert into a routing node and a remove that leaves one lock it and check that it is not UNLINKED. A remove that
 *     unlinks N locks parent, then N, and checks under both that they are what it thinks, that N has at most one child
 *     and is PRESENT. They take effect at the store of the link and of the bit.
 *  g. UNLINKED is set once, under both locks, by the thread that then retires the node, after it let the locks go.
 *  h. A lock is taken while another is held only from a node to its child, which cannot be moved meanwhile: chains of waiting
 *     lead down the tree and end. Waiting is by backoff.h, which gives the processor away. A reader waits only for a node
 *     that is being rotated down, a few stores of a lock holder.
 *
 * Balance: (i) to (k) in parts/avl_balance.h. The words of a node: parts/avl_node.h.
 *
 * What keeps SMR_WALK_UNLINKED protects all that an operation has read: one slot serves. The way up follows parent links
 * to nodes that were not reserved.
 * Source: N. Bronson, J. Casper, H. Chafi, K. Olukotun, "A practical concurrent binary search tree", PPoPP 2010. */
#include "reclaimer.h"
#include "set.h"
#include "parts/avl_balance.h"

#define DS_KIND       set
#define DS_NEEDS      (SMR_CONCURRENT_READERS | SMR_WALK_UNLINKED)
#define DS_THREADS    DS_ANY
#define DS_NODE_BYTES sizeof(struct node)
#define DS_KEY_BYTES  sizeof(struct node)

struct ds {
    line_pair_align struct node holder; /* its right child is the root; it has no parent */
};

#include "parts/avl_rest.h"

static void ds_create(struct ds *ds, struct smr_thread *t, const struct ds_parameters *parameters)
{
    (void)ds, (void)t, (void)parameters;
}

static noinline void avl_restart(struct smr_thread *t)
{
    backoff_wait(++t->fp.account.restarts);
}

/* ---- searches ---- */

enum hop { HOP_DOWN, HOP_FOUND, HOP_END, HOP_AGAIN };

/* Where a search stands: it goes on below `node`. */
struct cursor {
    struct node *node;
    struct node *child; /* looked at last */
    uint32_t version;
};

/* The key 0 of the holder sends every search to its right child. */
inlined unsigned side_for(const struct node *node, uint64_t key)
{
    return key >= node->key;
}

inlined void cursor_reset(struct cursor *at, struct ds *ds)
{
    *at = (struct cursor){&ds->holder, NULL, 0};
}

inlined bool cursor_valid(const struct cursor *at)
{
    return likely(load_relaxed(&at->node->version) == at->version); /* (4) */
}

/* One step down. FOUND: the child has the key. END: there is no child. AGAIN: begin anew at the root. */
inlined enum hop cursor_hop(struct smr_thread *t, struct cursor *at, uint64_t key)
{
    for (;;) {
        struct node *node = at->node;
        unsigned side = side_for(node, key);
        race_window();
        /* Both links are loaded beside the key, and one is chosen: an address that waits for the comparison would cost a
         * second load on each level's way. */
        link_word left = smr_protect(t, 0, &node->child[LEFT], node); /* (1) */
        link_word right = smr_protect(t, 0, &node->child[RIGHT], node);
        struct node *child = (struct node *)(side == LEFT ? left : right);
        race_window();
        at->child = child;
        if (!child)
            return cursor_valid(at) ? HOP_END : HOP_AGAIN;
        node_check_live(child);
        if (child->key == key)
            return HOP_FOUND;
        uint32_t version = load_acquire(&child->version);                                   /* (2) */
        if (likely(!(version & (SHRINKING | UNLINKED)) && child_of(node, side) == child)) { /* (3) */
            if (!cursor_valid(at))
                return HOP_AGAIN;
            *at = (struct cursor){child, NULL, version};
            return HOP_DOWN;
        }
        if (version & SHRINKING)
            wait_until_shrunk(t, child);
        if (!cursor_valid(at))
            return HOP_AGAIN;
    }
}

inlined enum hop avl_search(struct ds *ds, struct smr_thread *t, uint64_t key, struct cursor *at)
{
    enum hop hop;
    cursor_reset(at, ds);
    do
        hop = cursor_hop(t, at, key);
    while (hop == HOP_DOWN);
    return hop;
}

/* The value and the bit that belong together. */
inlined struct found node_read(struct node *node)
{
    for (;;) {
        uint32_t state = load_acquire(&node->state);
        race_window();
        uint64_t value = load_acquire(&node->value);
        if (!(state & PRESENT))
            return (struct found){0};
        if (likely((load_relaxed(&node->state) ^ state) < UNLOCKED_ONE))
            return (struct found){true, value};
    }
}

/* ---- operations ---- */

static noinline struct found ds_contains(struct ds *ds, struct smr_thread *t, uint64_t key)
{
    smr_op_begin(t);
restart:
    smr_checkpoint(t);
    struct cursor at;
    enum hop hop = avl_search(ds, t, key, &at);
    if (unlikely(hop == HOP_AGAIN)) {
        avl_restart(t);
        goto restart;
    }
    struct found found = {0};
    if (hop == HOP_FOUND)
        found = node_read(at.child);
    smr_op_end(t);
    return found;
}

enum outcome { OUTCOME_DONE, OUTCOME_NOT, OUTCOME_AGAIN };

static enum outcome avl_revive(struct smr_thread *t, struct node *node, uint64_t value)
{
    enum outcome outcome = OUTCOME_NOT;
    node_lock(t, node);
    if (is_unlinked(node)) {
        outcome = OUTCOME_AGAIN;
    } else if (!is_present(node)) {
        store_release(&node->value, value);
        race_window();
        state_replace(node, 0, PRESENT);
        outcome = OUTCOME_DONE;
    }
    node_unlock(node);
    return outcome;
}

static enum outcome avl_add(struct smr_thread *t, const struct cursor *at, uint64_t key, uint64_t value)
{
    struct node *node = at->node, *fresh = smr_alloc(t, 0, sizeof *fresh, _Alignof(struct node));
    unsigned side = side_for(node, key);
    struct damage damage = no_damage;
    fresh->key = key;
    store_relaxed(&fresh->child[LEFT], 0);
    store_relaxed(&fresh->child[RIGHT], 0);
    store_relaxed(&fresh->version, 0);
    store_relaxed(&fresh->state, PRESENT | HEIGHT_ONE);
    store_relaxed(&fresh->value, value);
    node_lock(t, node);
    bool valid = load_relaxed(&node->version) == at->version && !child_of(node, side);
    if (valid) {
        store_relaxed(&fresh->parent, (link_word)node);
        race_window();
        store_release(&node->child[side], (link_word)fresh); /* (5) */
        damage = settle(node);
    }
    node_unlock(node);
    if (!valid) {
        smr_discard(t, fresh);
        return OUTCOME_AGAIN;
    }
    repair(t, damage);
    return OUTCOME_DONE;
}

static noinline bool ds_insert(struct ds *ds, struct smr_thread *t, uint64_t key, uint64_t value)
{
    enum outcome outcome;
    smr_op_begin(t);
restart:
    smr_checkpoint(t);
    struct cursor at;
    enum hop hop = avl_search(ds, t, key, &at);
    if (unlikely(hop == HOP_AGAIN))
        goto again;
    outcome = OUTCOME_NOT;
    if (hop == HOP_END || !is_present(at.child)) {
        smr_reserve(t, 0, at.node);
        smr_reserve(t, 1, at.child);
        smr_commit(t);
        outcome = hop == HOP_END ? avl_add(t, &at, key, value) : avl_revive(t, at.child, value);
        if (unlikely(outcome == OUTCOME_AGAIN))
            goto again;
    }
    smr_op_end(t);
    return outcome == OUTCOME_DONE;
again:
    avl_restart(t);
    goto restart;
}

inlined bool has_two_children(struct node *node)
{
    return child_of(node, LEFT) && child_of(node, RIGHT);
}

/* Leaves the node as a routing node. */
static enum outcome avl_clear(struct smr_thread *t, struct node *node)
{
    enum outcome outcome = OUTCOME_NOT;
    node_lock(t, node);
    if (is_present(node)) {
        outcome = has_two_children(node) ? OUTCOME_DONE : OUTCOME_AGAIN;
        if (outcome == OUTCOME_DONE)
            state_replace(node, PRESENT, 0);
    }
    node_unlock(node);
    return outcome;
}

static enum outcome avl_unlink(struct smr_thread *t, struct node *parent, struct node *node)
{
    enum outcome outcome = OUTCOME_AGAIN;
    struct damage damage = no_damage;
    node_lock(t, parent);
    if (!is_unlinked(parent) && parent_of(node) == parent) {
        node_lock(t, node);
        if (!is_present(node)) {
            outcome = OUTCOME_NOT;
        } else if (!has_two_children(node)) {
            state_replace(node, PRESENT, 0);
            damage = unlink_node(parent, node);
            outcome = OUTCOME_DONE;
        }
        node_unlock(node);
    }
    node_unlock(parent);
    if (outcome == OUTCOME_DONE) {
        smr_retire(t, 0, node);
        repair(t, damage);
    }
    return outcome;
}

static noinline bool ds_remove(struct ds *ds, struct smr_thread *t, uint64_t key)
{
    enum outcome outcome;
    smr_op_begin(t);
restart:
    smr_checkpoint(t);
    struct cursor at;
    enum hop hop = avl_search(ds, t, key, &at);
    if (unlikely(hop == HOP_AGAIN))
        goto again;
    outcome = OUTCOME_NOT;
    if (hop == HOP_FOUND && is_present(at.child)) {
        smr_reserve(t, 0, at.node);
        smr_reserve(t, 1, at.child);
        smr_commit(t);
        outcome = has_two_children(at.child) ? avl_clear(t, at.child) : avl_unlink(t, at.node, at.child);
        if (unlikely(outcome == OUTCOME_AGAIN))
            goto again;
    }
    smr_op_end(t);
    return outcome == OUTCOME_DONE;
again:
    avl_restart(t);
    goto restart;
}

/* ---- scans ---- */

#define SCAN_DEPTH 64
#define SCAN_BLOCK 64

/* The nodes at which a walk turned left, the last SCAN_DEPTH of them: `top` turns, of which `kept` are there. By (a), extended to
 * intervals, the keys between two turns are in the range of the lower as long as its version is the same. */
struct scan {
    struct cursor turns[SCAN_DEPTH];
    unsigned top, kept;
    uint64_t values[SCAN_BLOCK];
    size_t n;
};

inlined void scan_read(struct scan *scan, struct node *node)
{
    struct found found = node_read(node);
    if (found.found)
        scan->values[scan->n++] = found.value;
}

inlined void scan_push(struct scan *scan, const struct cursor *at)
{
    __builtin_prefetch(child_of(at->node, RIGHT));
    scan->turns[scan->top++ % SCAN_DEPTH] = *at;
    scan->kept += scan->kept < SCAN_DEPTH;
}

/* Locked without its key, a node may be out of the tree and not say so yet (d). A lookup may take it as it was just before that; a
 * scan has looked at keys below it since, and its own key may be back in another node, for longer than what was read
 * last is as it is. */
inlined bool scan_is_going(struct node *node)
{
    return (load_acquire(&node->state) & (LOCKED | PRESENT)) == LOCKED;
}

/* Goes on at the last turn, if that still is where it was: with its own key, and then to the right of it. Otherwise its key
 * may have been read already, below a node that has risen above it, or what is on the left of it may lie above it by now. */
inlined bool scan_turn(struct scan *scan, struct cursor *at, uint64_t *from)
{
    scan->kept--;
    *at = scan->turns[--scan->top % SCAN_DEPTH];
    race_window();
    if (scan_is_going(at->node) || load_acquire(&at->node->version) != at->version)
        return false;
    scan_read(scan, at->node);
    *from = at->node->key + 1;
    return true;
}

/* Reads on from *from until `most` values are there, the tree ends (false), or the search must begin anew. */
inlined bool scan_block(struct ds *ds, struct smr_thread *t, struct scan *scan, uint64_t *from, size_t most)
{
    struct cursor at;
    scan->top = scan->kept = 0;
    scan->n = 0;
    cursor_reset(&at, ds);
    while (scan->n < most) {
        enum hop hop = cursor_hop(t, &at, *from);
        if (hop == HOP_AGAIN) {
            avl_restart(t);
            return true;
        }
        if (hop == HOP_DOWN && side_for(at.node, *from) == LEFT)
            scan_push(scan, &at);
        if (hop == HOP_FOUND) {
            scan_read(scan, at.child);
            ++*from;
        }
        /* Below the child that was found lies nothing if the next key is the node's own. */
        bool end = hop == HOP_END || (hop == HOP_FOUND && at.node->key == *from);
        if (!end || scan->n == most)
            continue;
        if (scan->kept == 0)
            return scan->top > 0;
        if (unlikely(!scan_turn(scan, &at, from))) {
            avl_restart(t);
            return true;
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
        struct scan scan;
        uint64_t next = from;
        size_t left = most - read;
        more = scan_block(ds, t, &scan, &next, left < SCAN_BLOCK ? left : SCAN_BLOCK);
        smr_commit(t); /* what is added up must not be added up again */
        for (size_t i = 0; i < scan.n; i++)
            *sum += scan.values[i];
        read += scan.n;
        from = next;
    }
    smr_op_end(t);
    return read;
}
