/* SPDX-License-Identifier: MIT */
/* B+-tree without any synchronisation: the bound for the others. One thread, or any number that only read. */
#include "parts/bptree_plain.h"

#define DS_KIND       set
#define DS_NEEDS      0u
#define DS_THREADS    DS_ONE_WRITER
#define DS_NODE_BYTES sizeof(struct bptree_leaf)
#define DS_KEY_BYTES  BPTREE_KEY_BYTES

struct ds {
    __attribute__((aligned(BPTREE_ALIGN))) struct bptree_inner root;
};

static void ds_create(struct ds *ds, struct smr_thread *t, const struct ds_parameters *parameters)
{
    (void)parameters;
    bptree_create(&ds->root, t);
}

static noinline struct found ds_contains(struct ds *ds, struct smr_thread *t, uint64_t key)
{
    smr_op_begin(t);
    struct found found = plain_find(&ds->root, key);
    smr_op_end(t);
    return found;
}

static noinline bool ds_insert(struct ds *ds, struct smr_thread *t, uint64_t key, uint64_t value)
{
    smr_op_begin(t);
    bool inserted = plain_insert(t, &ds->root, key, value);
    smr_op_end(t);
    return inserted;
}

static noinline bool ds_remove(struct ds *ds, struct smr_thread *t, uint64_t key)
{
    smr_op_begin(t);
    bool removed = plain_remove(t, &ds->root, key);
    smr_op_end(t);
    return removed;
}

static noinline size_t ds_scan(struct ds *ds, struct smr_thread *t, uint64_t low, size_t most, uint64_t *sum)
{
    smr_op_begin(t);
    size_t read = plain_scan(&ds->root, low, most, sum);
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
