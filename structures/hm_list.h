/* SPDX-License-Identifier: MIT */
/* Harris-Michael list: a sorted linked list, lock-free. Small, and hard on reclaimers: every operation walks over nodes
 * that others unlink. For small key ranges.
 *
 * A node is deleted in two steps: a mark (bit 0) on its own next link, by CAS (1), which is where the remove takes
 * effect; then the predecessor's link is swung past it (2) by whoever finds it marked. The thread whose CAS (2)
 * succeeds retires it: once.
 *
 * Sound without SMR_WALK_UNLINKED: a link is followed only if it was read unmarked and, under pointer-based schemes, again
 * unchanged behind the publication of its target (smr_protect). An unmarked link means that its owner was not deleted at
 * that moment, so its target was reachable, and its protection was announced. (3) then shows that the node was still
 * linked after its own next link was read. The walk never steps out of a marked node: it unlinks it and starts again.
 *
 * Orders: a node is published with release (4), links are read with acquire (smr_protect); key and value never change.
 * Sources: T. Harris, DISC 2001; M. Michael, "High performance dynamic lock-free hash tables and list-based sets", SPAA
 * 2002. */
#include "race.h"
#include "reclaimer.h"
#include "set.h"

#define DS_KIND       set
#define DS_NEEDS      SMR_CONCURRENT_READERS
#define DS_THREADS    DS_ANY
#define DS_NODE_BYTES sizeof(struct node)
#define DS_KEY_BYTES  sizeof(struct node)

#define MARK ((link_word)1)

enum { SLOT_NEXT, SLOT_NODE, SLOT_OWNER };

struct node {
    struct smr_header smr;
    _Atomic link_word next; /* MARK: this node is deleted */
    uint64_t key;
    uint64_t value;
};

struct ds {
    _Atomic link_word head;
};

/* Where a walk stands: `link`, a field of `owner` (NULL: the head), held `node` when it was last read. */
struct cursor {
    _Atomic link_word *link;
    struct node *owner;
    struct node *node;
    link_word next; /* the node's own link, unmarked */
};

static void ds_create(struct ds *ds, struct smr_thread *t, const struct ds_parameters *parameters)
{
    (void)ds, (void)t, (void)parameters;
}

inlined void cursor_reset(struct ds *ds, struct smr_thread *t, struct cursor *at)
{
    at->link = &ds->head;
    at->owner = NULL;
    at->node = (struct node *)smr_protect(t, SLOT_NODE, at->link, NULL);
}

/* (2) Only its deleter's mark lets a node be unlinked, and only one CAS on the link can succeed. */
inlined bool unlink_node(struct smr_thread *t, _Atomic link_word *link, struct node *node, link_word next)
{
    link_word expected = (link_word)node;
    if (!cas_acq_rel(link, &expected, next))
        return false;
    smr_retire(t, 0, node);
    return true;
}

/* Moves on to the first node with a key >= key. False: the list changed under the walk; reset and try again. */
inlined bool cursor_seek(struct smr_thread *t, struct cursor *at, uint64_t key)
{
    while (at->node) {
        at->next = smr_protect(t, SLOT_NEXT, &at->node->next, at->node);
        race_window();
        node_check_live(at->node); /* before (3), which would send away whoever holds a dead node */
        if (load_acquire(at->link) != (link_word)at->node) /* (3) */
            return false;
        if (at->next & MARK) {
            smr_reserve(t, SLOT_OWNER, at->owner);
            smr_reserve(t, SLOT_NODE, at->node);
            smr_commit(t);
            unlink_node(t, at->link, at->node, at->next & ~MARK);
            return false;
        }
        if (at->node->key >= key)
            return true;
        smr_move(t, SLOT_OWNER, SLOT_NODE);
        smr_move(t, SLOT_NODE, SLOT_NEXT);
        at->owner = at->node;
        at->link = &at->node->next;
        at->node = (struct node *)at->next;
    }
    return true;
}

inlined bool cursor_holds(const struct cursor *at, uint64_t key)
{
    return at->node && at->node->key == key;
}

static noinline struct found ds_contains(struct ds *ds, struct smr_thread *t, uint64_t key)
{
    smr_op_begin(t);
restart:
    smr_checkpoint(t);
    struct cursor at;
    cursor_reset(ds, t, &at);
    if (!cursor_seek(t, &at, key)) {
        t->fp.account.restarts++;
        goto restart;
    }
    struct found found = {0};
    if (cursor_holds(&at, key))
        found = (struct found){true, at.node->value};
    smr_op_end(t);
    return found;
}

static noinline bool ds_insert(struct ds *ds, struct smr_thread *t, uint64_t key, uint64_t value)
{
    smr_op_begin(t);
restart:
    smr_checkpoint(t);
    struct cursor at;
    cursor_reset(ds, t, &at);
    if (!cursor_seek(t, &at, key)) {
        t->fp.account.restarts++;
        goto restart;
    }
    bool absent = !cursor_holds(&at, key);
    if (absent) {
        smr_reserve(t, SLOT_OWNER, at.owner);
        smr_commit(t);
        struct node *node = smr_alloc(t, 0, sizeof *node, _Alignof(struct node));
        store_relaxed(&node->next, (link_word)at.node);
        node->key = key;
        node->value = value;
        link_word expected = (link_word)at.node;
        race_window();
        if (!cas_acq_rel(at.link, &expected, (link_word)node)) { /* (4) */
            smr_discard(t, node);
            t->fp.account.restarts++;
            goto restart;
        }
    }
    smr_op_end(t);
    return absent;
}

static noinline bool ds_remove(struct ds *ds, struct smr_thread *t, uint64_t key)
{
    smr_op_begin(t);
restart:
    smr_checkpoint(t);
    struct cursor at;
    cursor_reset(ds, t, &at);
    if (!cursor_seek(t, &at, key)) {
        t->fp.account.restarts++;
        goto restart;
    }
    bool present = cursor_holds(&at, key);
    if (present) {
        smr_reserve(t, SLOT_OWNER, at.owner);
        smr_reserve(t, SLOT_NODE, at.node);
        smr_commit(t);
        link_word next = at.next;
        race_window();
        if (!cas_acq_rel(&at.node->next, &next, at.next | MARK)) { /* (1) */
            t->fp.account.restarts++;
            goto restart;
        }
        race_window();
        unlink_node(t, at.link, at.node, at.next);
    }
    smr_op_end(t);
    return present;
}

static noinline size_t ds_scan(struct ds *ds, struct smr_thread *t, uint64_t low, size_t most, uint64_t *sum)
{
    volatile uint64_t from = low;
    volatile uint64_t total = 0;
    volatile size_t read = 0;
    smr_op_begin(t);
restart:
    smr_checkpoint(t);
    struct cursor at;
    cursor_reset(ds, t, &at);
    while (read < most) {
        if (!cursor_seek(t, &at, from)) {
            t->fp.account.restarts++;
            goto restart;
        }
        if (!at.node)
            break;
        total += at.node->value;
        from = at.node->key + 1;
        read++;
    }
    smr_op_end(t);
    *sum += total;
    return read;
}

static void ds_check(struct ds *ds, struct census *census)
{
    uint64_t least = 0;
    for (link_word link = load_relaxed(&ds->head); link;) {
        struct node *node = (struct node *)(link & ~MARK);
        census->nodes++;
        link = load_relaxed(&node->next);
        if (node->key < least)
            census_broken(census, "key %lu stands behind %lu", node->key, least - 1);
        if (node->value != value_of(node->key))
            census_broken(census, "key %lu holds a value that was not stored with it", node->key);
        least = node->key + 1;
        /* A marked node that nobody has unlinked yet is allowed: it is deleted, but not retired. */
        if (!(link & MARK)) {
            census->keys++;
            census->key_sum += node->key;
        }
        link &= ~MARK;
    }
    census->height = 1;
}

static void ds_destroy(struct ds *ds, struct smr_thread *t)
{
    for (link_word link = load_relaxed(&ds->head) & ~MARK; link;) {
        struct node *node = (struct node *)link;
        link = load_relaxed(&node->next) & ~MARK;
        smr_discard(t, node);
    }
    store_relaxed(&ds->head, 0);
}
