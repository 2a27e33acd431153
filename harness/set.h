/* SPDX-License-Identifier: MIT */
/* Contract of a structure of kind `set`: 8-byte keys below SET_KEY_LIMIT, each at most once, with 8-byte values. Beside
 * what structure.h asks for, it defines:
 *
 *   bool ds_insert(ds, t, key, value)                       false: the key is there; its value stays
 *   bool ds_remove(ds, t, key)                              false: the key is not there
 *   struct found ds_contains(ds, t, key)
 *   size_t ds_scan(ds, t, low, most, uint64_t *sum)         reads up to `most` pairs with keys >= low in ascending order;
 *                                                           adds their values to *sum, returns their number
 *
 * insert, remove and contains are linearizable. A scan is not a snapshot: it looks at each key once, upwards; each look is
 * right at one moment within the scan, and these moments do not go back (tests/linearize/history.h asks for just that).
 */
#ifndef RB_SET_H
#define RB_SET_H

#include "structure.h"

/* Room for a structure's sentinels, and for signed vector compares. */
#define SET_KEY_LIMIT ((uint64_t)1 << 62)

struct found {
    bool found;
    uint64_t value;
};

/* The value the harness stores with a key; odd multiples keep torn reads from looking right. */
inlined uint64_t value_of(uint64_t key)
{
    return key * 0x9e3779b97f4a7c15 + 1;
}

#endif
