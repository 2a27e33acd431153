/* SPDX-License-Identifier: MIT */
/* B+-tree behind one pthread_rwlock at the root, the article's shared_mutex tree: each lookup writes the lock word
 * twice. --rwlock-kind: parts/pthread_rwlock.h.
 *
 * A node is retired under the exclusive lock, which every reader takes shared: nobody can hold it, and `immediate` is
 * sound. */
#include "parts/bptree_plain.h"
#include "parts/pthread_rwlock.h"

#define DS_KIND       set
#define DS_NEEDS      0u
#define DS_THREADS    DS_ANY
#define DS_NODE_BYTES sizeof(struct bptree_leaf)
#define DS_KEY_BYTES  BPTREE_KEY_BYTES

struct ds {
    line_pair_align pthread_rwlock_t lock;
    line_pair_align struct bptree_inner root;
};

static void ds_create(struct ds *ds, struct smr_thread *t, const struct ds_parameters *parameters)
{
    rwlock_init(&ds->lock, parameters);
    bptree_create(&ds->root, t);
}

static noinline struct found ds_contains(struct ds *ds, struct smr_thread *t, uint64_t key)
{
    smr_op_begin(t);
    pthread_rwlock_rdlock(&ds->lock);
    struct found found = plain_find(&ds->root, key);
    pthread_rwlock_unlock(&ds->lock);
    smr_op_end(t);
    return found;
}

static noinline bool ds_insert(struct ds *ds, struct smr_thread *t, uint64_t key, uint64_t value)
{
    smr_op_begin(t);
    pthread_rwlock_wrlock(&ds->lock);
    bool inserted = plain_insert(t, &ds->root, key, value);
    pthread_rwlock_unlock(&ds->lock);
    smr_op_end(t);
    return inserted;
}

static noinline bool ds_remove(struct ds *ds, struct smr_thread *t, uint64_t key)
{
    smr_op_begin(t);
    pthread_rwlock_wrlock(&ds->lock);
    bool removed = plain_remove(t, &ds->root, key);
    pthread_rwlock_unlock(&ds->lock);
    smr_op_end(t);
    return removed;
}

static noinline size_t ds_scan(struct ds *ds, struct smr_thread *t, uint64_t low, size_t most, uint64_t *sum)
{
    smr_op_begin(t);
    pthread_rwlock_rdlock(&ds->lock);
    size_t read = plain_scan(&ds->root, low, most, sum);
    pthread_rwlock_unlock(&ds->lock);
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
    pthread_rwlock_destroy(&ds->lock);
}
