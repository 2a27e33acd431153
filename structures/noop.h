/* SPDX-License-Identifier: MIT */
/* No structure at all: what remains is the cost of the harness and of the reclaimer's begin and end of an operation. */
#include "reclaimer.h"
#include "set.h"

#define DS_KIND       set
#define DS_NEEDS      0u
#define DS_THREADS    DS_ANY
#define DS_NODE_BYTES 0
#define DS_KEY_BYTES  0

struct ds {
};

static void ds_create(struct ds *ds, struct smr_thread *t, const struct ds_parameters *parameters)
{
    (void)ds, (void)t, (void)parameters;
}

/* Neither inserts nor finds: size and key sum stay reconciled. */
static noinline bool ds_insert(struct ds *ds, struct smr_thread *t, uint64_t key, uint64_t value)
{
    (void)ds, (void)key, (void)value;
    smr_op_begin(t);
    smr_op_end(t);
    return false;
}

static noinline bool ds_remove(struct ds *ds, struct smr_thread *t, uint64_t key)
{
    return ds_insert(ds, t, key, 0);
}

static noinline struct found ds_contains(struct ds *ds, struct smr_thread *t, uint64_t key)
{
    return (struct found){.found = ds_insert(ds, t, key, 0)};
}

static noinline size_t ds_scan(struct ds *ds, struct smr_thread *t, uint64_t low, size_t most, uint64_t *sum)
{
    (void)most, (void)sum;
    return ds_insert(ds, t, low, 0);
}

static void ds_check(struct ds *ds, struct census *census)
{
    (void)ds, (void)census;
}

static void ds_destroy(struct ds *ds, struct smr_thread *t)
{
    (void)ds, (void)t;
}
