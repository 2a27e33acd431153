/* SPDX-License-Identifier: MIT */
/* Random numbers for workers: xoshiro256++ (Blackman, Vigna: "Scrambled linear pseudorandom number generators", 2021),
 * seeded with the splitmix64 mixer (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
 *
 * Same seed and stream: same numbers, on every machine. For one seed, different streams never start in the same state,
 * and two streams overlap within 2^64 numbers each with a probability below 2^-127 (the period is 2^256 - 1); so a
 * thread's index is a good stream. Nothing allocates, nothing fails, nothing is shared: a generator belongs to one
 * thread. */
#ifndef RB_RANDOM_H
#define RB_RANDOM_H

#include "compiler.h"

struct random {
    uint64_t state[4];
};

/* A bijection on 64-bit words in which each bit of the input flips about half of the output. */
inlined uint64_t random_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

inlined void random_seed(struct random *random, uint64_t seed, uint64_t stream)
{
    static const uint64_t golden = 0x9e3779b97f4a7c15u;
    /* The seed is mixed before the stream joins it, or (seed 1, stream 2) and (seed 2, stream 1) would be one
     * generator. */
    uint64_t x = random_mix(random_mix(seed + golden) ^ stream);
    /* random_mix is one-to-one, so at most one of the four words is 0: the state xoshiro never leaves cannot come up.
     */
    for (int i = 0; i < 4; i++)
        random->state[i] = random_mix(x += golden);
}

inlined uint64_t random_rotate(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

inlined uint64_t random_next(struct random *random)
{
    uint64_t *s = random->state;
    uint64_t result = random_rotate(s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = random_rotate(s[3], 45);
    return result;
}

/* Uniform in [0, bound), bound > 0. Multiply and shift, without the rejection that would make it exact: a value's
 * probability is off by at most bound / 2^64 of itself: for a billion keys less than 1e-10, which no trial draws enough
 * numbers to see. */
inlined uint64_t random_below(struct random *random, uint64_t bound)
{
    return (uint64_t)(((unsigned __int128)random_next(random) * bound) >> 64);
}

/* Uniform in [0, 1), a multiple of 2^-53. */
inlined double random_unit(struct random *random)
{
    return (double)(random_next(random) >> 11) * 0x1p-53;
}

#endif
