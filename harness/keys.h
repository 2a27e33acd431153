/* SPDX-License-Identifier: MIT */
/* Which key an operation takes: uniform, zipf:THETA (exact; hot ranks scattered over the key space by a fixed
 * permutation, so that they do not share leaves) or sequential (each thread walks all keys from its own start). Keys
 * are 0 .. count - 1. */
#ifndef RB_KEYS_H
#define RB_KEYS_H

#include "permute.h"
#include "zipf.h"

enum key_law { KEYS_UNIFORM, KEYS_ZIPF, KEYS_SEQUENTIAL };

struct keys {
    enum key_law law;
    uint64_t count;
    uint64_t next; /* sequential */
    struct zipf zipf;
    struct permutation scatter;
};

static inline void keys_init(struct keys *keys, enum key_law law, double theta, uint64_t count, uint64_t seed,
                             unsigned thread, unsigned threads)
{
    keys->law = law;
    keys->count = count;
    keys->next = (uint64_t)((unsigned __int128)count * thread / threads);
    if (law == KEYS_ZIPF) {
        zipf_init(&keys->zipf, count, theta);
        /* Not the prefill's order, or the hottest keys would be those that are there. */
        permutation_init(&keys->scatter, count, random_mix(seed + 1));
    }
}

/* Out of line: logarithms in the loop would cost the uniform law its registers. */
static noinline uint64_t keys_next_other(struct keys *keys, struct random *random)
{
    if (keys->law == KEYS_ZIPF)
        return permutation_apply(&keys->scatter, zipf_next(&keys->zipf, random));
    uint64_t key = keys->next;
    keys->next = key + 1 < keys->count ? key + 1 : 0;
    return key;
}

inlined uint64_t keys_next(struct keys *keys, enum key_law law, uint64_t count, struct random *random)
{
    return law == KEYS_UNIFORM ? random_below(random, count) : keys_next_other(keys, random);
}

#endif
