/* SPDX-License-Identifier: MIT */
/* Amortized free: what became safe waits in the thread's queue; each operation frees k of it (--policy=amortized:k, 1
 * by default), so that nodes pass through the allocator's thread cache one by one and are reused from there. Source:
 * Kim, Brown and Singh, "Are Your Epochs Too Epic? Batch Free Can Be Harmful", PPoPP 2024. */
#include "policy.h"

#define FP_DIRECT 0

struct fp_thread {
    struct account account;
    struct bag queue; /* safe nodes only: never the bag that is still being filled */
    unsigned frees_per_tick;
};

inlined void fp_init(struct fp_thread *fp, const struct smr_parameters *parameters)
{
    fp->frees_per_tick = parameters->frees_per_tick;
}

inlined void *fp_alloc(struct fp_thread *fp, unsigned kind, size_t bytes, size_t align)
{
    (void)kind;
    fp->account.allocated++;
    return node_malloc(&fp->account, bytes, align);
}

inlined void fp_release(struct fp_thread *fp, struct bag *safe)
{
    fp->account.released += safe->nodes;
    bag_splice(&fp->queue, safe);
}

inlined uint64_t fp_held(const struct fp_thread *fp)
{
    return fp->queue.nodes;
}

inlined void fp_tick(struct fp_thread *fp)
{
    for (unsigned i = 0; i < fp->frees_per_tick && fp->queue.nodes; i++) {
        node_free(&fp->account, bag_node(bag_pop(&fp->queue, &fp->account)));
        fp->account.freed++;
    }
}

static noinline void fp_drain(struct fp_thread *fp)
{
    bag_free_all(&fp->account, &fp->queue);
}

inlined void fp_destroy(struct fp_thread *fp)
{
    fp_drain(fp);
    checked_flush(&fp->account);
}
