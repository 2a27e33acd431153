/* SPDX-License-Identifier: MIT */
/* Bags of retired nodes: a list of blocks of pointers from the arena; a thread's empty blocks go back to its account
 * and are used again. Nothing here calls malloc, and moving a whole bag is O(1).
 *
 * A node's kind (below BAG_KINDS, the structure's number for nodes of one size) travels in the low bits of its pointer.
 * A bag is touched only by its thread. Pop takes from the oldest block. */
#ifndef RB_BAG_H
#define RB_BAG_H

#include "account.h"
#include "meta.h"

#define BAG_KINDS       8
#define BAG_BLOCK_NODES 254

struct bag_block {
    struct bag_block *next;
    size_t count;
    uintptr_t node[BAG_BLOCK_NODES];
};

struct bag {
    struct bag_block *first; /* popped from */
    struct bag_block *last;  /* pushed to */
    size_t nodes;
};

inlined void *bag_node(uintptr_t entry)
{
    return (void *)(entry & ~(uintptr_t)(BAG_KINDS - 1));
}

inlined unsigned bag_kind(uintptr_t entry)
{
    return (unsigned)(entry & (BAG_KINDS - 1));
}

static noinline unused void bag_grow(struct bag *bag, struct account *a)
{
    struct bag_block *block = a->spare_blocks;
    if (block)
        a->spare_blocks = block->next;
    else
        block = meta_alloc(sizeof *block);
    block->next = NULL;
    block->count = 0;
    if (bag->last)
        bag->last->next = block;
    else
        bag->first = block;
    bag->last = block;
}

inlined void bag_push(struct bag *bag, struct account *a, uintptr_t entry)
{
    if (unlikely(!bag->last || bag->last->count == BAG_BLOCK_NODES))
        bag_grow(bag, a);
    bag->last->node[bag->last->count++] = entry;
    bag->nodes++;
}

/* The bag must not be empty. */
inlined uintptr_t bag_pop(struct bag *bag, struct account *a)
{
    struct bag_block *block = bag->first;
    uintptr_t entry = block->node[--block->count];
    bag->nodes--;
    if (unlikely(block->count == 0)) {
        bag->first = block->next;
        if (!bag->first)
            bag->last = NULL;
        block->next = a->spare_blocks;
        a->spare_blocks = block;
    }
    return entry;
}

/* All of `from` behind all of `to`; `from` is empty afterwards. */
inlined void bag_splice(struct bag *to, struct bag *from)
{
    if (!from->first)
        return;
    if (to->last)
        to->last->next = from->first;
    else
        to->first = from->first;
    to->last = from->last;
    to->nodes += from->nodes;
    *from = (struct bag){0};
}

/* The oldest nodes of `from`, up to `most`, behind those of `to`. Whole blocks are moved, the rest is copied. */
static noinline unused void bag_take(struct bag *to, struct bag *from, struct account *a, size_t most)
{
    while (from->first && from->first->count <= most) {
        struct bag_block *block = from->first;
        struct bag whole = {block, block, block->count};
        from->first = block->next;
        if (!from->first)
            from->last = NULL;
        from->nodes -= block->count;
        most -= block->count;
        block->next = NULL;
        bag_splice(to, &whole);
    }
    for (; most && from->nodes; most--)
        bag_push(to, a, bag_pop(from, a));
}

#endif
