/* SPDX-License-Identifier: MIT */
/* An array of references to records: the store is one, by id, and so is the block. Grows by doubling; whoever adds is
 * alone with it. The array is a node of the malloc under test, as in the article's program, and never retired. */
#include "reclaimer.h"

#include <string.h>

struct record;

struct references {
    struct record **array;
    uint64_t size, room;
};

static inline void references_create(struct references *r, struct smr_thread *t, uint64_t room)
{
    r->room = room ? room : 1;
    r->array = smr_alloc_unretired(&t->fp, r->room * sizeof(struct record *), sizeof(void *));
    r->size = 0;
}

static inline void references_add(struct references *r, struct smr_thread *t, struct record *record)
{
    if (r->size == r->room) {
        struct references larger;
        references_create(&larger, t, 2 * r->room);
        memcpy(larger.array, r->array, r->size * sizeof(struct record *));
        smr_discard(t, r->array);
        r->array = larger.array;
        r->room = larger.room;
    }
    r->array[r->size++] = record;
}
