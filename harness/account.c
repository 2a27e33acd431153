/* SPDX-License-Identifier: MIT */
#include "account.h"

#include "meta.h"

void node_out_of_memory(size_t bytes)
{
    fail(STATUS_OOM,
         "wanted a node of %zu bytes, found that malloc returned NULL: use fewer keys or a reclaimer that frees",
         bytes);
}

#if CHECK

/* Stamps are odd bit patterns that neither small integers nor pointers take. */
static const uint64_t live = 0x6c6976656e6f6465;
static const uint64_t dead = 0x646561646e6f6465;
static const uint64_t poison = 0xdbdbdbdbdbdbdbdb;

/* What stands right before a node. The block from malloc begins `offset` bytes before the node. */
struct stamp {
    _Atomic uint64_t state;
    uint32_t bytes;
    uint32_t offset;
};

/* First in, first out: the longest possible time between the free and the reuse of a node. Under AddressSanitizer its
 * own quarantine does this, with a report of who freed. */
#if UNDER_ASAN
#define QUARANTINE_NODES 1
#else
#define QUARANTINE_NODES 2048
#endif

struct quarantine {
    size_t next;
    void *node[QUARANTINE_NODES];
};

static struct stamp *stamp_of(const void *node)
{
    return (struct stamp *)node - 1;
}

void *checked_malloc(size_t bytes, size_t align)
{
    size_t offset = align < sizeof(struct stamp) ? sizeof(struct stamp) : align;
    size_t total = (offset + bytes + offset - 1) / offset * offset;
    void *block;
    if (posix_memalign(&block, offset, total) != 0)
        node_out_of_memory(bytes);
    void *node = (char *)block + offset;
    struct stamp *s = stamp_of(node);
    s->bytes = (uint32_t)bytes;
    s->offset = (uint32_t)offset;
    store_release(&s->state, live);
    return node;
}

void node_idle(void *node)
{
    if (exchange_acq_rel(&stamp_of(node)->state, dead) != live)
        fail(STATUS_INVARIANT, "node %p of %u bytes was released twice", node, stamp_of(node)->bytes);
}

void node_reuse(void *node)
{
    store_release(&stamp_of(node)->state, live);
}

static void give_back(void *node)
{
    if (node)
        free((char *)node - stamp_of(node)->offset);
}

void checked_free(struct account *a, void *node)
{
    struct stamp *s = stamp_of(node);
    if (exchange_acq_rel(&s->state, dead) != live)
        fail(STATUS_INVARIANT, "node %p of %u bytes was freed twice", node, s->bytes);
    /* Atomic stores: a reader that is wrongly still here is what we look for, not a data race of our own. */
    for (size_t i = 0; i + sizeof(uint64_t) <= s->bytes; i += sizeof(uint64_t))
        store_relaxed((_Atomic uint64_t *)((char *)node + i), poison);
    if (!a->quarantine)
        a->quarantine = meta_alloc(sizeof(struct quarantine));
    void **slot = &a->quarantine->node[a->quarantine->next];
    give_back(*slot);
    *slot = node;
    a->quarantine->next = (a->quarantine->next + 1) % QUARANTINE_NODES;
}

void checked_flush(struct account *a)
{
    for (size_t i = 0; a->quarantine && i < QUARANTINE_NODES; i++) {
        give_back(a->quarantine->node[i]);
        a->quarantine->node[i] = NULL;
    }
}

void node_check_live(const void *node)
{
    uint64_t state = load_acquire(&stamp_of(node)->state);
    if (state != live)
        fail(STATUS_INVARIANT, "a reader holds node %p, found it %s: the reclaimer freed it too early", node,
             state == dead ? "freed" : "overwritten");
}

#endif
