/* SPDX-License-Identifier: MIT */
/* Pooled: safe nodes are handed back to allocation and never to malloc before the end. One pool per thread and kind; a
 * thread that retires more than it allocates keeps the difference (column pooled_nodes). */
#include "policy.h"

#define FP_DIRECT 0

struct fp_thread {
    struct account account;
    struct bag pool[BAG_KINDS];
};

inlined void fp_init(struct fp_thread *fp, const struct smr_parameters *parameters)
{
    (void)fp;
    (void)parameters;
}

inlined void *fp_alloc(struct fp_thread *fp, unsigned kind, size_t bytes, size_t align)
{
    struct bag *pool = &fp->pool[kind];
    fp->account.allocated++;
    if (!pool->nodes)
        return node_malloc(&fp->account, bytes, align);
    fp->account.reused++;
    fp->account.pooled--;
    void *node = bag_node(bag_pop(pool, &fp->account));
    node_reuse(node);
    return node;
}

static noinline void fp_release(struct fp_thread *fp, struct bag *safe)
{
    struct account *a = &fp->account;
    a->released += safe->nodes;
    a->freed += safe->nodes;
    a->pooled += safe->nodes;
    while (safe->nodes) {
        uintptr_t entry = bag_pop(safe, a);
        node_idle(bag_node(entry));
        bag_push(&fp->pool[bag_kind(entry)], a, entry);
    }
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

static noinline void fp_destroy(struct fp_thread *fp)
{
    for (unsigned kind = 0; kind < BAG_KINDS; kind++)
        while (fp->pool[kind].nodes) {
            void *node = bag_node(bag_pop(&fp->pool[kind], &fp->account));
            node_reuse(node);
            node_free(&fp->account, node);
            fp->account.pooled--;
        }
    checked_flush(&fp->account);
}
