/* SPDX-License-Identifier: MIT */
/* A seeded order of 0 .. n-1 without a table: permutation_apply is a bijection on [0, n) that looks random.
 *
 * Prefill inserts key permutation_apply(i) for i = 0 .. size-1: exactly `size` distinct keys in random order, and
 * threads share them by sharing the range of i. Zipf ranks go through it, so that hot keys do not lie side by side.
 *
 * n from 1 to 2^62; i must be below n. The order is fixed by n and seed. Nothing allocates or fails; a permutation is
 * only read after permutation_init, so threads share it.
 *
 * Why it is a bijection: a Feistel network on the smallest number of bits that holds n - 1 (each round changes one half
 * by a function of the other, which can be undone whatever the function is) maps [0, 2^bits) to itself one-to-one;
 * where the result is not below n, it is applied again. The walk follows a cycle that began below n, so it comes back
 * below n, and two starts never meet. 2^bits < 2n, so less than two applications are needed on average. */
#ifndef RB_PERMUTE_H
#define RB_PERMUTE_H

#include "compiler.h"
#include "random.h"

/* Luby and Rackoff: with good round functions four rounds are enough. Ours is cheap rather than good: with four, where
 * a key goes still gives away where its neighbour goes, with six now and then, with eight the test's chi-squares look
 * like chance. */
#define PERMUTATION_ROUNDS 8

struct permutation {
    uint64_t n;
    uint32_t low_mask, high_mask;
    unsigned low_bits;
    uint64_t keys[PERMUTATION_ROUNDS];
};

inlined void permutation_init(struct permutation *permutation, uint64_t n, uint64_t seed)
{
    unsigned bits = n > 1 ? 64 - (unsigned)__builtin_clzll(n - 1) : 0;
    struct random random;
    random_seed(&random, seed, ~n); /* no worker's stream */
    permutation->n = n;
    permutation->low_bits = bits - bits / 2;
    permutation->low_mask = (uint32_t)(((uint64_t)1 << permutation->low_bits) - 1);
    permutation->high_mask = (uint32_t)(((uint64_t)1 << bits / 2) - 1);
    for (int i = 0; i < PERMUTATION_ROUNDS; i++)
        permutation->keys[i] = random_next(&random);
}

/* The upper half of a square: one multiplication, not linear in its argument, and each bit of `half` reaches all result
 * bits. */
inlined uint32_t permutation_round(uint32_t half, uint64_t key)
{
    uint64_t x = half + key;
    return (uint32_t)((x * x) >> 32);
}

inlined uint64_t permutation_apply(const struct permutation *permutation, uint64_t i)
{
    do {
        uint32_t low = (uint32_t)i & permutation->low_mask;
        uint32_t high = (uint32_t)(i >> permutation->low_bits);
        for (int round = 0; round < PERMUTATION_ROUNDS; round += 2) {
            high ^= permutation_round(low, permutation->keys[round]) & permutation->high_mask;
            low ^= permutation_round(high, permutation->keys[round + 1]) & permutation->low_mask;
        }
        i = (uint64_t)high << permutation->low_bits | low;
    } while (i >= permutation->n);
    return i;
}

#endif
