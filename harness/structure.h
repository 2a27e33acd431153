/* SPDX-License-Identifier: MIT */
/* Contract of a structure of kind `set` (structures/NAME.h): 8-byte keys below SET_KEY_LIMIT, each at most once, with
 * 8-byte values.
 *
 * A structure's header includes this file and defines:
 *
 *   DS_KIND set
 *   DS_NEEDS                       SMR_... promises it cannot do without (reclaimer.h)
 *   DS_THREADS                     DS_ANY, or DS_ONE_WRITER: no synchronisation, so one thread, or lookups only
 *   DS_NODE_BYTES                  the size of the node that it retires most
 *   DS_KEY_BYTES                   about what one key occupies in a large structure: to refuse what cannot fit
 *   struct ds {...};               the shared part, zeroed, aligned to LINE_PAIR
 *
 *   void ds_create(ds, t, const struct ds_parameters *)     single-threaded, as are ds_check and ds_destroy
 *   bool ds_insert(ds, t, key, value)                       false: the key is there; its value stays
 *   bool ds_remove(ds, t, key)                              false: the key is not there
 *   struct found ds_contains(ds, t, key)
 *   size_t ds_scan(ds, t, low, most, uint64_t *sum)         reads up to `most` pairs with keys >= low in ascending order;
 *                                                           adds their values to *sum, returns their number
 *   void ds_check(ds, struct set_census *)                  verifies the structure at rest, counts what is reachable
 *   void ds_destroy(ds, t)                                  gives every reachable node back by smr_discard
 *
 * insert, remove and contains are linearizable. A scan is not a snapshot: it looks at each key once, upwards; each look is
 * right at one moment within the scan, and these moments do not go back (tests/linearize/history.h asks for just that).
 * The four operations call smr_op_begin and smr_op_end themselves and are noinline for every reclaimer: gcc never inlines
 * what calls sigsetjmp, and one scheme must not pay a call that the others save. */
#ifndef RB_STRUCTURE_H
#define RB_STRUCTURE_H

#include "compiler.h"

#include <stdarg.h>
#include <stdio.h>

/* Room for a structure's sentinels, and for signed vector compares. */
#define SET_KEY_LIMIT ((uint64_t)1 << 62)

#define DS_ANY        0
#define DS_ONE_WRITER 1

struct ds_parameters {
    unsigned threads;        /* that will call; each knows its number below as t->fp.account.index */
    const char *rwlock_kind; /* prefer-reader, prefer-writer */
};

struct found {
    bool found;
    uint64_t value;
};

/* What ds_check saw. `broken` holds the first violation, empty when there is none. */
struct set_census {
    uint64_t keys;
    uint64_t key_sum; /* modulo 2^64 */
    uint64_t nodes;   /* reachable, all kinds */
    unsigned height;  /* levels, 1 for a lone leaf */
    char broken[160];
};

/* Notes the first violation only: later ones follow from it. */
static inline unused __attribute__((format(printf, 2, 3))) void census_broken(struct set_census *census,
                                                                              const char *format, ...)
{
    if (census->broken[0])
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(census->broken, sizeof census->broken, format, arguments);
    va_end(arguments);
}

/* The value the harness stores with a key; odd multiples keep torn reads from looking right. */
inlined uint64_t value_of(uint64_t key)
{
    return key * 0x9e3779b97f4a7c15 + 1;
}

#endif
