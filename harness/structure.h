/* SPDX-License-Identifier: MIT */
/* Contract of a structure (structures/NAME.h), whatever its kind. The kinds are `set` (set.h) and `block` (block.h); a
 * structure's header includes that of its kind, which lists the operations, and defines:
 *
 *   DS_KIND set | block
 *   DS_NEEDS                       SMR_... promises it cannot do without (reclaimer.h)
 *   DS_RETIRES                     left out, or what it retires at most: reclaimers that would mean nothing are not built
 *   DS_THREADS                     DS_ANY; DS_ONE_WRITER: no synchronisation, so one thread, or readers only;
 *                                  DS_READ_ONLY: no operation changes it
 *   DS_NODE_BYTES                  the size of the node that it retires most
 *   DS_KEY_BYTES                   about what one key or element occupies in a large structure: to refuse what cannot fit
 *   struct ds {...};               the shared part, zeroed, aligned to LINE_PAIR
 *
 *   void ds_create(ds, t, const struct ds_parameters *)     single-threaded, as are ds_check and ds_destroy
 *   void ds_check(ds, struct census *)                      verifies the structure at rest, counts what is reachable
 *   void ds_destroy(ds, t)                                  gives every reachable node back by smr_discard
 *
 * The operations call smr_op_begin and smr_op_end themselves and are noinline for every reclaimer: gcc never inlines
 * what calls sigsetjmp, and one scheme must not pay a call that the others save. */
#ifndef RB_STRUCTURE_H
#define RB_STRUCTURE_H

#include "compiler.h"

#include <stdarg.h>
#include <stdio.h>

#define DS_ANY        0
#define DS_ONE_WRITER 1
#define DS_READ_ONLY  2

/* Nodes that nobody else can hold: no reclaimer has to wait, and `immediate` is the one. Nothing: then there is nothing for
 * a policy either. */
#define DS_RETIRES_UNHELD  1
#define DS_RETIRES_NOTHING 2

struct ds_parameters {
    unsigned threads;        /* that will call; each knows its number below as t->fp.account.index */
    const char *rwlock_kind; /* prefer-reader, prefer-writer */
    uint64_t elements;       /* of a block, when it is filled */
};

/* What ds_check saw. `broken` holds the first violation, empty when there is none. */
struct census {
    uint64_t keys;    /* or elements of a block */
    uint64_t key_sum; /* modulo 2^64; of a block: of the elements' counts */
    uint64_t nodes;   /* reachable, all kinds */
    unsigned height;  /* levels, 1 for a lone leaf; 0 for a block */
    char broken[160];
};

/* Notes the first violation only: later ones follow from it. */
static inline unused __attribute__((format(printf, 2, 3))) void census_broken(struct census *census, const char *format,
                                                                              ...)
{
    if (census->broken[0])
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(census->broken, sizeof census->broken, format, arguments);
    va_end(arguments);
}

#endif
