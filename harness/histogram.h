/* SPDX-License-Identifier: MIT */
/* A log-linear histogram of durations (ns or ticks): 64 buckets to each power of two.
 *
 * Values below 128 are exact; above, a bucket is at most 1/64 of its values wide. histogram_percentile returns the
 * largest value of the bucket in which the percentile lies (never above the exact maximum): never too small, at most
 * 1/64 too large.
 *
 * Memory is the caller's (meta_alloc, zeroed): 30 KB, of which only touched pages cost anything. One thread adds;
 * merging and reading come after it has stopped. The whole range of uint64_t has a bucket, so nothing is clipped. */
#ifndef RB_HISTOGRAM_H
#define RB_HISTOGRAM_H

#include "compiler.h"

#define HISTOGRAM_SUB_BITS 6
#define HISTOGRAM_SUB      (1u << HISTOGRAM_SUB_BITS)
#define HISTOGRAM_BUCKETS  ((64 - HISTOGRAM_SUB_BITS + 1) * HISTOGRAM_SUB)

struct histogram {
    uint64_t count;
    uint64_t max; /* exact; 0 if nothing was added */
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

inlined unsigned histogram_bucket(uint64_t value)
{
    /* With the lowest power raised to 64, all smaller values fall into shift 0, where bucket = value, without a branch.
     */
    unsigned power = 63 - (unsigned)__builtin_clzll(value | HISTOGRAM_SUB);
    unsigned shift = power - HISTOGRAM_SUB_BITS;
    return shift * HISTOGRAM_SUB + (unsigned)(value >> shift);
}

/* The largest value that histogram_bucket maps to this bucket. */
inlined uint64_t histogram_bucket_last(unsigned bucket)
{
    if (bucket < 2 * HISTOGRAM_SUB)
        return bucket;
    unsigned shift = bucket / HISTOGRAM_SUB - 1;
    uint64_t first = (uint64_t)(bucket - shift * HISTOGRAM_SUB) << shift;
    return first + (((uint64_t)1 << shift) - 1);
}

inlined void histogram_add(struct histogram *histogram, uint64_t value)
{
    histogram->buckets[histogram_bucket(value)]++;
    histogram->count++;
    if (value > histogram->max)
        histogram->max = value;
}

static inline void histogram_add_many(struct histogram *histogram, uint64_t value, uint64_t times)
{
    histogram->buckets[histogram_bucket(value)] += times;
    histogram->count += times;
    if (times && value > histogram->max)
        histogram->max = value;
}

static inline void histogram_merge(struct histogram *into, const struct histogram *from)
{
    if (!from->count)
        return;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        /* Reading an untouched page is free, writing 0 to one is not. */
        if (from->buckets[i])
            into->buckets[i] += from->buckets[i];
    into->count += from->count;
    if (from->max > into->max)
        into->max = from->max;
}

/* fraction in [0, 1]: 0.5 is the median, 1 the maximum: the smallest recorded value that at least this share of all
 * values does not exceed. Only for count > 0: an empty histogram has no percentiles, and its columns stay empty. */
static inline uint64_t histogram_percentile(const struct histogram *histogram, double fraction)
{
    double wanted = fraction * (double)histogram->count;
    uint64_t seen = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen && (double)seen >= wanted) {
            uint64_t last = histogram_bucket_last(i);
            return last < histogram->max ? last : histogram->max;
        }
    }
    return histogram->max;
}

#endif
