/* SPDX-License-Identifier: MIT */
/* Batch free: what became safe is freed at once, as most reclaimers do. */
#include "policy.h"

#define FP_DIRECT 1

struct fp_thread {
    struct account account;
};

inlined void fp_init(struct fp_thread *fp, const struct smr_parameters *parameters)
{
    (void)fp;
    (void)parameters;
}

inlined void *fp_alloc(struct fp_thread *fp, unsigned kind, size_t bytes, size_t align)
{
    (void)kind;
    fp->account.allocated++;
    return node_malloc(&fp->account, bytes, align);
}

/* Out of line: once per batch, and its loop must not crowd the operations it is called from. */
static noinline void fp_release(struct fp_thread *fp, struct bag *safe)
{
    if (!safe->nodes)
        return;
    fp->account.released += safe->nodes;
    trace_batch_begin(&fp->account);
    bag_free_all(&fp->account, safe);
    trace_batch_end(&fp->account);
}

inlined uint64_t fp_held(const struct fp_thread *fp)
{
    (void)fp;
    return 0;
}

inlined void fp_tick(struct fp_thread *fp)
{
    (void)fp;
}

inlined void fp_drain(struct fp_thread *fp)
{
    (void)fp;
}

inlined void fp_destroy(struct fp_thread *fp)
{
    checked_flush(&fp->account);
}
