/* SPDX-License-Identifier: MIT */
/* Binary search tree, AVL-balanced at rest, with optimistic validation on the way down: a lookup takes no lock and writes
 * nothing, an update locks the nodes that it changes.
 *
 * Partially external: a key is removed by clearing its node's PRESENT bit. A node with two children stays as a
 * routing node; one with fewer is also unlinked and retired. An insert of a routing node's key sets the bit again.
 *
 * Words of a node. Child links and PRESENT change under the node's lock only, the parent link under the lock of the parent
 * and of the one before. `version` counts the times when the range of keys below the node became smaller: SHRINKING
 * while it does (the node is rotated down), UNLINKED when it ended. That a range grows harms no search and is not
 * counted. `state` holds the lock bit, the height, and a count of unlocks.
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
 *  e. The value changes only while PRESENT is clear, and between an unlock and the next: if the count of unlocks is the same
 *     before and after the value was read, it is the one that belongs to the bit.
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
 * Balance.
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
 * out of order; at rest that can leave a wrong height.
 *
 * What keeps SMR_WALK_UNLINKED protects all that an operation has read: one slot serves. The way up follows parent links
 * to nodes that were not reserved.
 * Source: N. Bronson, J. Casper, H. Chafi, K. Olukotun, "A practical concurrent binary search tree", PPoPP 2010. */
#include "backoff.h"
#include "race.h"
#include "reclaimer.h"
#include "structure.h"

#define DS_KIND       set
#define DS_NEEDS      (SMR_CONCURRENT_READERS | SMR_WALK_UNLINKED)
#define DS_THREADS    DS_ANY
#define DS_NODE_BYTES sizeof(struct node)
#define DS_KEY_BYTES  sizeof(struct node)

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

struct ds {
    line_pair_align struct node holder; /* its right child is the root; it has no parent */
};

/* Work that is left: `node` may be out of order, or (above) whatever its parent is by then. */
struct damage {
    struct node *node;
    bool above;
};

static const struct damage no_damage = {NULL, false};

static void ds_create(struct ds *ds, struct smr_thread *t, const struct ds_parameters *parameters)
{
    (void)ds, (void)t, (void)parameters;
}

/* ---- words of a node ---- */

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

static noinline void avl_restart(struct smr_thread *t)
{
    backoff_wait(++t->fp.account.restarts);
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

/* ---- balance ---- */

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

/* ---- searches ---- */

enum hop { HOP_DOWN, HOP_FOUND, HOP_END, HOP_AGAIN };

/* Where a search stands: it goes on with the child of `node` on `side`. */
struct cursor {
    struct node *node;
    struct node *child; /* looked at last */
    uint32_t version;
    unsigned side;
};

inlined void cursor_reset(struct cursor *at, struct ds *ds)
{
    *at = (struct cursor){&ds->holder, NULL, 0, RIGHT};
}

inlined bool cursor_valid(const struct cursor *at)
{
    return likely(load_relaxed(&at->node->version) == at->version); /* (4) */
}

/* One step down. FOUND: the child has the key. END: there is no child. AGAIN: begin anew at the root. */
inlined enum hop cursor_hop(struct smr_thread *t, struct cursor *at, uint64_t key)
{
    for (;;) {
        _Atomic link_word *link = &at->node->child[at->side];
        struct node *child = (struct node *)smr_protect(t, 0, link, at->node); /* (1) */
        race_window();
        at->child = child;
        if (!child)
            return cursor_valid(at) ? HOP_END : HOP_AGAIN;
        node_check_live(child);
        if (child->key == key)
            return HOP_FOUND;
        uint32_t version = load_acquire(&child->version); /* (2) */
        race_window();
        if (likely(!(version & (SHRINKING | UNLINKED)) && load_acquire(link) == (link_word)child)) { /* (3) */
            if (!cursor_valid(at))
                return HOP_AGAIN;
            *at = (struct cursor){child, NULL, version, key > child->key};
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
        uint64_t value = load_acquire(&node->value);
        race_window();
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
    struct damage damage = no_damage;
    fresh->key = key;
    store_relaxed(&fresh->child[LEFT], 0);
    store_relaxed(&fresh->child[RIGHT], 0);
    store_relaxed(&fresh->version, 0);
    store_relaxed(&fresh->state, PRESENT | HEIGHT_ONE);
    store_relaxed(&fresh->value, value);
    node_lock(t, node);
    bool valid = load_relaxed(&node->version) == at->version && !child_of(node, at->side);
    if (valid) {
        store_relaxed(&fresh->parent, (link_word)node);
        race_window();
        store_release(&node->child[at->side], (link_word)fresh);
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

/* Goes on at the last turn, if that still is where it was: with its own key, and then to the right of it. Otherwise its key
 * may have been read already, below a node that has risen above it, or what is on the left of it may lie above it by now. */
inlined bool scan_turn(struct scan *scan, struct cursor *at, uint64_t *from)
{
    scan->kept--;
    *at = scan->turns[--scan->top % SCAN_DEPTH];
    at->side = RIGHT;
    race_window();
    if (load_acquire(&at->node->version) != at->version)
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
        switch (cursor_hop(t, &at, *from)) {
        case HOP_DOWN:
            if (at.side == LEFT) {
                __builtin_prefetch(child_of(at.node, RIGHT));
                scan->turns[scan->top++ % SCAN_DEPTH] = at;
                scan->kept += scan->kept < SCAN_DEPTH;
            }
            break;
        case HOP_FOUND: /* the next hop goes to the right of it */
            scan_read(scan, at.child);
            ++*from;
            break;
        case HOP_END:
            if (scan->kept == 0)
                return scan->top > 0;
            if (likely(scan_turn(scan, &at, from)))
                break;
            avl_restart(t);
            return true;
        case HOP_AGAIN:
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

/* ---- at rest ---- */

/* More than an AVL tree of 2^64 keys has. */
#define HIGHEST 96

/* Returns the height of what hangs below `parent`; its keys are from `least` on and below `end`. */
static int check_below(struct node *parent, struct node *node, uint64_t least, uint64_t end, unsigned depth,
                       struct set_census *census)
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

static void ds_check(struct ds *ds, struct set_census *census)
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
