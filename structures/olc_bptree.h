/* SPDX-License-Identifier: MIT */
/* B+-tree with optimistic lock coupling: readers write nothing.
 *
 * Each node has a 64-bit version word: bit 0 locked, bits 1..63 the version. A writer locks by CAS (1) from the version
 * that it has validated, a release fence (2) keeps its changes behind the lock, and unlocking is a release store of
 * locked + 1 (3). A reader loads the version with acquire (4), reads, and validates: an acquire fence (5) and a second
 * load that must give the same version, unlocked; otherwise it waits a little and begins again at the root.
 *
 * Proof sketch.
 *  - Reads. A read that saw any store of a writer that locked after (4): by (2) and (5) the second load sees the lock
 *    or a later word, and the validation fails. One that saw a store from before: (3) and (4) order it. So validated
 *    reads are a snapshot of the node.
 *  - Hops. The child link is read, the parent is validated [check 1], the child's version is loaded, the parent is
 *    validated again [check 2].
 *    Check 1: the link was a child at a moment after the parent's version was loaded, so the child had not been retired
 *    then, and this operation, or the hazard published by smr_protect before the check, keeps it from being freed.
 *    Without check 1 the load of the child's version may touch freed memory: slots hold stale links.
 *    Check 2: the child's version was loaded while the parent's range for it was what we routed by; a split or join of
 *    the child changes the parent, so it comes later and changes the child's version too. Without check 2 a key that
 *    moved to a neighbour between the two loads would be reported missing.
 *  - Unlinked nodes. Links change only under the parent's lock, and a joined node is locked and changes its version in
 *    the same step: a reader that still stands in it fails to validate, and a writer fails (1). No mark is needed, and
 *    no operation follows a link out of an unlinked node: sound without SMR_WALK_UNLINKED. A sibling taken under the
 *    parent's lock cannot be retired: that needs the same lock.
 *  - Locks. All but the first are tried once; on failure everything is let go and the operation restarts: no deadlock.
 *    The node that a join took out is retired after the locks are let go, once, by the thread that held the parent's.
 *  - An insert takes effect at the release of the leaf's lock, a remove likewise, a lookup at its last validation.
 *
 * Splits and joins are steps of their own (olc_restructure): the hot descent reads neither counts nor levels below
 * the root. Sources: V. Leis, F. Scheibner, A. Kemper, T. Neumann, "The ART of practical synchronization", DaMoN 2016;
 * H.-J. Boehm, "Can seqlocks get along with programming language memory models?", MSPC 2012, for (2) and (5). */
#include "backoff.h"
#include "parts/bptree_steps.h"
#include "race.h"

#define DS_KIND       set
#define DS_NEEDS      SMR_CONCURRENT_READERS
#define DS_THREADS    DS_ANY
#define DS_NODE_BYTES sizeof(struct bptree_leaf)
#define DS_KEY_BYTES  BPTREE_KEY_BYTES

#define LOCKED ((uint64_t)1)

struct ds {
    __attribute__((aligned(BPTREE_ALIGN))) struct bptree_inner root;
};

static void ds_create(struct ds *ds, struct smr_thread *t, const struct ds_parameters *parameters)
{
    (void)parameters;
    bptree_create(&ds->root, t);
}

/* ---- version words ---- */

/* Without the lock bit: what is read of a locked node cannot be validated against this, and a lock cannot be taken from it.
 * One instruction instead of a branch on every hop. */
inlined uint64_t olc_read(struct bptree_node *node)
{
    return load_acquire(&node->version) & ~LOCKED; /* (4) */
}

/* (5) and the second load. On x86 the fence is one for the compiler only, and a comparison with memory fuses with the branch
 * behind it into one instruction; compilers do not fold an atomic load into a comparison by themselves. */
inlined bool olc_valid(struct bptree_node *node, uint64_t version)
{
    race_window();
#if defined(__x86_64__) && !UNDER_SANITIZER
    __asm__ goto("cmpq %1, %0; jne %l[changed]" : : "m"(node->version), "r"(version) : "memory", "cc" : changed);
    return true;
changed:
    return false;
#else
    fence_acquire(); /* (5) */
    return likely(load_relaxed(&node->version) == version);
#endif
}

inlined bool olc_lock(struct bptree_node *node, uint64_t version)
{
    if (!cas_acquire(&node->version, &version, version | LOCKED)) /* (1) */
        return false;
    fence_release(); /* (2) */
    race_window();
    return true;
}

inlined void olc_unlock(struct bptree_node *node)
{
    race_window();
    store_release(&node->version, load_relaxed(&node->version) + 1); /* (3) */
}

static noinline void olc_restart(struct smr_thread *t)
{
    backoff_wait(++t->fp.account.restarts);
}

/* ---- descent ---- */

/* Where a descent stands: `child` was a child of `parent` when its `version` was loaded. */
struct olc_path {
    struct bptree_inner *parent;
    uint64_t parent_version;
    struct bptree_node *child;
    uint64_t version;
};

/* Begins at the root; returns its level. */
inlined unsigned olc_start(struct olc_path *at, struct ds *ds)
{
    at->child = &ds->root.node;
    at->version = olc_read(at->child);
    return inner_level(&ds->root);
}

/* One hop down towards the key, from a node at `level`. False: it changed. Two slots alternate, so that parent and child
 * stay protected. */
inlined bool olc_hop(struct smr_thread *t, struct olc_path *at, uint64_t key, unsigned level)
{
    at->parent = (struct bptree_inner *)at->child;
    at->parent_version = at->version;
    link_word child = smr_protect(t, level & 1, inner_follow(at->parent, key), at->parent);
    if (level == 1)
        prefetch_leaf((void *)child);
    if (!olc_valid(&at->parent->node, at->parent_version)) /* check 1 */
        return false;
    at->child = (struct bptree_node *)child;
    race_window();
    node_check_live(at->child);
    at->version = olc_read(at->child);
    return olc_valid(&at->parent->node, at->parent_version); /* check 2 */
}

inlined bool olc_descend(struct smr_thread *t, struct ds *ds, uint64_t key, struct olc_path *at)
{
    for (unsigned level = olc_start(at, ds); level; level--)
        if (!olc_hop(t, at, key, level))
            return false;
    return true;
}

/* The same after olc_start for roots up to SHALLOW, the trees that fit into memory, with the hops written out: no counter, no moves between
 * registers, and so few of them that a lookup needs no stack frame. */
#define SHALLOW 4

inlined bool olc_descend_shallow(struct smr_thread *t, uint64_t key, struct olc_path *at, unsigned root)
{
    return (root < 4 || olc_hop(t, at, key, 4)) && (root < 3 || olc_hop(t, at, key, 3)) &&
           (root < 2 || olc_hop(t, at, key, 2)) && olc_hop(t, at, key, 1);
}

/* ---- structural steps ---- */

/* Of one attempt: there was nothing to do, one step was made and more may follow, or another thread was in the way. */
enum olc_step { STEP_NONE, STEP_MADE, STEP_CONFLICT };

static enum olc_step olc_grow_root(struct smr_thread *t, struct ds *ds, uint64_t version)
{
    if (!olc_lock(&ds->root.node, version))
        return STEP_CONFLICT;
    bptree_grow_root(t, &ds->root);
    olc_unlock(&ds->root.node);
    return STEP_MADE;
}

static enum olc_step olc_shrink_root(struct smr_thread *t, struct ds *ds, uint64_t version)
{
    if (!olc_lock(&ds->root.node, version))
        return STEP_CONFLICT;
    struct bptree_node *child = bptree_child(&ds->root, 0);
    bool locked = olc_lock(child, olc_read(child));
    if (locked) {
        bptree_shrink_root(&ds->root);
        olc_unlock(child);
    }
    olc_unlock(&ds->root.node);
    if (!locked)
        return STEP_CONFLICT;
    smr_retire(t, KIND_INNER, child);
    return STEP_MADE;
}

static enum olc_step olc_split(struct smr_thread *t, struct olc_path *at, uint64_t key)
{
    if (!olc_lock(&at->parent->node, at->parent_version))
        return STEP_CONFLICT;
    bool locked = olc_lock(at->child, at->version);
    if (locked) {
        bptree_split_child(t, at->parent, inner_route(at->parent, key));
        olc_unlock(at->child);
    }
    olc_unlock(&at->parent->node);
    return locked ? STEP_MADE : STEP_CONFLICT;
}

/* Joins the child with a neighbour. */
static enum olc_step olc_join(struct smr_thread *t, struct olc_path *at, uint64_t key, unsigned level)
{
    void *dead = NULL;
    enum olc_step step = STEP_CONFLICT;
    if (!olc_lock(&at->parent->node, at->parent_version))
        return STEP_CONFLICT;
    unsigned index = inner_route(at->parent, key), left = index ? index - 1 : 0;
    struct bptree_node *sibling = bptree_child(at->parent, index ? left : 1);
    if (olc_lock(at->child, at->version)) {
        if (olc_lock(sibling, olc_read(sibling))) {
            dead = bptree_join_children(at->parent, left);
            step = STEP_MADE;
            olc_unlock(sibling);
        }
        olc_unlock(at->child);
    }
    olc_unlock(&at->parent->node);
    if (dead)
        smr_retire(t, bptree_kind_at(level), dead);
    return step;
}

/* One step on the topmost node on the way to the key that is full (grow) or sparse and not alone. Leaves the read phase
 * whatever the outcome. */
static noinline enum olc_step olc_step(struct smr_thread *t, struct ds *ds, uint64_t key, bool grow)
{
    struct olc_path at;
    smr_checkpoint(t);
    unsigned level = olc_start(&at, ds);
    if (grow ? inner_full(&ds->root) : bptree_root_can_shrink(&ds->root)) {
        smr_commit(t);
        return grow ? olc_grow_root(t, ds, at.version) : olc_shrink_root(t, ds, at.version);
    }
    for (; level; level--) {
        if (!olc_hop(t, &at, key, level)) {
            smr_commit(t);
            return STEP_CONFLICT;
        }
        if (grow ? bptree_is_full(at.child, level - 1)
                 : bptree_is_sparse(at.child, level - 1) && inner_count(at.parent) > 0) {
            smr_reserve(t, 0, at.parent);
            smr_reserve(t, 1, at.child);
            smr_commit(t);
            return grow ? olc_split(t, &at, key) : olc_join(t, &at, key, level);
        }
    }
    smr_commit(t);
    return STEP_NONE;
}

/* Until the leaf of the key has room and no node above it is full, or until none of them is sparse. */
static noinline void olc_restructure(struct smr_thread *t, struct ds *ds, uint64_t key, bool grow)
{
    enum olc_step step;
    while ((step = olc_step(t, ds, key, grow)) != STEP_NONE)
        if (step == STEP_CONFLICT)
            olc_restart(t);
}

/* ---- operations ---- */

static noinline struct found olc_contains_deep(struct ds *ds, struct smr_thread *t, uint64_t key)
{
    for (;;) {
        struct olc_path at;
        struct found found;
        smr_checkpoint(t);
        if (olc_descend(t, ds, key, &at)) {
            found.found = leaf_find((struct bptree_leaf *)at.child, key, &found.value);
            node_check_live(at.child);
            if (olc_valid(at.child, at.version)) {
                smr_op_end(t);
                return found;
            }
        }
        olc_restart(t);
    }
}

static noinline struct found olc_contains_again(struct ds *ds, struct smr_thread *t, uint64_t key)
{
    olc_restart(t);
    return olc_contains_deep(ds, t, key);
}

/* The first try calls nothing; what is rare is a tail call. */
static noinline struct found ds_contains(struct ds *ds, struct smr_thread *t, uint64_t key)
{
    struct olc_path at;
    struct found found;
    smr_op_begin(t);
    smr_checkpoint(t);
    unsigned root = olc_start(&at, ds);
    if (unlikely(root > SHALLOW))
        return olc_contains_deep(ds, t, key);
    if (unlikely(!olc_descend_shallow(t, key, &at, root)))
        return olc_contains_again(ds, t, key);
    race_window();
    found.found = leaf_find((struct bptree_leaf *)at.child, key, &found.value);
    race_window();
    node_check_live(at.child);
    if (unlikely(!olc_valid(at.child, at.version)))
        return olc_contains_again(ds, t, key);
    smr_op_end(t);
    return found;
}

static noinline bool ds_insert(struct ds *ds, struct smr_thread *t, uint64_t key, uint64_t value)
{
    smr_op_begin(t);
restart:
    smr_checkpoint(t);
    forget(key);
    struct olc_path at;
    if (unlikely(!olc_descend(t, ds, key, &at)))
        goto again;
    race_window();
    struct bptree_leaf *leaf = (struct bptree_leaf *)at.child;
    uint64_t old;
    bool present = leaf_find(leaf, key, &old), full = leaf_full(leaf);
    if (!present && !full) {
        smr_reserve(t, 0, leaf);
        smr_commit(t);
        if (!olc_lock(at.child, at.version))
            goto again;
        leaf_insert(leaf, key, value);
        olc_unlock(at.child);
    } else if (!olc_valid(at.child, at.version)) {
        goto again;
    } else if (!present) {
        olc_restructure(t, ds, key, true);
        goto restart;
    }
    smr_op_end(t);
    return !present;
again:
    olc_restart(t);
    goto restart;
}

static noinline bool ds_remove(struct ds *ds, struct smr_thread *t, uint64_t key)
{
    bool sparse = false;
    smr_op_begin(t);
restart:
    smr_checkpoint(t);
    forget(key);
    struct olc_path at;
    if (unlikely(!olc_descend(t, ds, key, &at)))
        goto again;
    race_window();
    struct bptree_leaf *leaf = (struct bptree_leaf *)at.child;
    uint64_t old;
    bool present = leaf_find(leaf, key, &old);
    if (present) {
        smr_reserve(t, 0, leaf);
        smr_commit(t);
        if (!olc_lock(at.child, at.version))
            goto again;
        leaf_remove(leaf, key);
        sparse = bptree_is_sparse(leaf, 0);
        olc_unlock(at.child);
    } else if (!olc_valid(at.child, at.version)) {
        goto again;
    }
    if (sparse)
        olc_restructure(t, ds, key, false);
    smr_op_end(t);
    return present;
again:
    olc_restart(t);
    goto restart;
}

/* One leaf after the other, each by a descent of its own: every class of reclaimer allows that. Each leaf is read at
 * one moment, the scan as a whole is not. `bound` is the largest key that belongs to the leaf. */
inlined bool olc_scan_leaf(struct smr_thread *t, struct ds *ds, uint64_t low, uint64_t *values, unsigned *n,
                           uint64_t *bound)
{
    uint64_t keys[BPTREE_LEAF_KEYS];
    struct olc_path at;
    *bound = BPTREE_KEY_MAX;
    for (unsigned level = olc_start(&at, ds); level; level--) {
        if (!olc_hop(t, &at, low, level))
            return false;
        uint64_t own = inner_bound(at.parent, inner_route(at.parent, low));
        if (!olc_valid(&at.parent->node, at.parent_version))
            return false;
        if (own < *bound)
            *bound = own;
    }
    race_window();
    *n = leaf_collect((struct bptree_leaf *)at.child, low, keys, values, BPTREE_LEAF_KEYS);
    race_window();
    node_check_live(at.child);
    return olc_valid(at.child, at.version);
}

static noinline size_t ds_scan(struct ds *ds, struct smr_thread *t, uint64_t low, size_t most, uint64_t *sum)
{
    volatile uint64_t from = low;
    volatile size_t read = 0;
    smr_op_begin(t);
    while (read < most) {
        smr_checkpoint(t);
        uint64_t values[BPTREE_LEAF_KEYS], bound;
        unsigned n;
        if (!olc_scan_leaf(t, ds, from, values, &n, &bound)) {
            olc_restart(t);
            continue;
        }
        smr_commit(t); /* what is added up must not be added up again */
        for (unsigned i = 0; i < n && read < most; i++, read++)
            *sum += values[i];
        if (bound == BPTREE_KEY_MAX)
            break;
        from = bound + 1;
    }
    smr_op_end(t);
    return read;
}

static void ds_check(struct ds *ds, struct census *census)
{
    bptree_check_all(&ds->root, census);
}

static void ds_destroy(struct ds *ds, struct smr_thread *t)
{
    bptree_discard_children(&ds->root, t);
}
