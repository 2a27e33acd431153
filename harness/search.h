/* SPDX-License-Identifier: MIT */
/* Search and move over short arrays of 8-byte words while others may write them: the only racy vector accesses there
 * are.
 *
 * Unit of work is a LINE of 8 words. Words are `_Atomic uint64_t` at any multiple of 8 bytes; a line that starts on a
 * cache line costs one access. Every function touches only the words it is given, whatever they hold, and its result
 * depends on nothing else: a reader that races gets a wrong answer, never a wrong address. `lines` is a compile-time
 * constant, at most 8: loops unroll and no branch depends on data. Words are compared as unsigned numbers; the key is <
 * 2^63, or any for equal.
 *
 *   search_below(array, lines, key)   which words are < key: bit i stands for word i
 *   search_equal(array, lines, key)   which words are = key
 *   search_open(array, stride, words, at)    array[at .. words-2] moves up by one place; array[at] keeps its old word
 *   search_close(array, stride, words, at)   array[at+1 .. words-1] moves down by one place; the last word keeps its old value
 *                                     The array's lines begin `stride` words apart, SEARCH_LINE if nothing lies between them.
 *   search_copy(to, from, words)      arrays that do not overlap; words may be a variable
 *   search_copy_open(to, from, words, at, word)   the same, with `word` at place `at`, and everything behind it one place up
 *   search_copy_close(to, from, words, at, word)  the same without place `at`, everything behind it one place down, and `word`
 *                                     as the last one
 *   search_fill(to, words, word)
 *
 * Why racy vector reads are acceptable. No C11 atomic is wider than a word. So a vector backend reads what others may
 * be writing with one instruction that the compiler cannot see into: an asm on AVX-512, which compares straight from
 * memory, and a volatile vector load on the others (also under AddressSanitizer, which then checks the address). By the
 * letter of C the volatile load races; we rely on what gcc and clang do with it: one load at this place, not repeated,
 * invented or merged, not moved across an acquire load or a fence. The processor may tear such a read between words,
 * never inside an aligned word; so the result may mix words of different moments. Hence the contract with every caller:
 * (1) load the version that guards the array with acquire, (2) search, (3) fence_acquire, load the version again, and
 * use the result only if it is unchanged; whatever is done between (2) and (3) must be harmless with any result. Stores
 * are made by the one holder of the lock, between taking it (then a release fence, so that no store is seen before the
 * lock) and the releasing store of the new version; they need no order among themselves.
 *
 * Backends, chosen by the target: AVX-512, AVX2, NEON, portable. -DSEARCH_PORTABLE and -DSEARCH_AVX2 choose a lower one
 * (tests). The portable one uses relaxed C11 atomics throughout; thread sanitizers always get it. */
#ifndef RB_SEARCH_H
#define RB_SEARCH_H

#include "atomics.h"

#define SEARCH_LINE 8

#if defined(SEARCH_PORTABLE) || UNDER_TSAN
#define SEARCH_BACKEND "portable"
#elif defined(__AVX512BW__) && !defined(SEARCH_AVX2)
#define SEARCH_BACKEND "avx512"
#define SEARCH_WITH_AVX512
#include <immintrin.h>
#elif defined(__AVX2__)
#define SEARCH_BACKEND "avx2"
#define SEARCH_WITH_AVX2
#include <immintrin.h>
#elif defined(SEARCH_AVX2)
#error "SEARCH_AVX2 wants a target with AVX2: add -mavx2 or -march=native"
#elif defined(__aarch64__) && defined(__ARM_NEON)
#define SEARCH_BACKEND "neon"
#define SEARCH_WITH_NEON
#include <arm_neon.h>
#else
#define SEARCH_BACKEND "portable"
#endif

#if defined(__SANITIZE_ADDRESS__)
#define SEARCH_CHECKED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SEARCH_CHECKED 1
#endif
#endif
#ifndef SEARCH_CHECKED
#define SEARCH_CHECKED 0
#endif

/* A backend is three operations on one line: line_below(line, key) and line_equal(line, key) give a bit for each word,
 * line_move(to, from, lanes) copies the words whose bit is set, all of them read before the first is written. */
#if defined(SEARCH_WITH_AVX512)

/* aligned(8): an array that follows a header starts anywhere. */
typedef long long search_vector __attribute__((vector_size(64), aligned(8), may_alias));

/* `which` is the instruction's predicate: 0 equal, 1 below. */
inlined __mmask8 line_compare(const _Atomic uint64_t *line, uint64_t key, const int which)
{
    __m512i wanted = _mm512_set1_epi64((long long)key);
#if SEARCH_CHECKED
    __m512i words = (__m512i) * (const volatile search_vector *)line;
    return which ? _mm512_cmplt_epu64_mask(words, wanted) : _mm512_cmpeq_epu64_mask(words, wanted);
#else
    /* With the line as first operand it would need a load of its own: so equal, or key > line ("not less or equal"). */
    __mmask8 bits;
    __asm__ volatile("vpcmpuq %3, %2, %1, %0"
                     : "=k"(bits)
                     : "v"(wanted), "m"(*(const search_vector *)line), "i"(which ? 6 : 0));
    return bits;
#endif
}

/* Masks are joined where they are, up to four lines to one move to a general register. */
inlined uint64_t search_lines(const _Atomic uint64_t *array, const unsigned lines, uint64_t key, const int which)
{
    __mmask32 joined[2] = {0, 0};
    for (unsigned i = 0; i < lines; i += 2) {
        __mmask16 pair = line_compare(array + SEARCH_LINE * i, key, which);
        if (i + 1 < lines)
            pair = _mm512_kunpackb(line_compare(array + SEARCH_LINE * (i + 1), key, which), pair);
        joined[i / 4] = i % 4 ? _mm512_kunpackw(pair, joined[i / 4]) : pair;
    }
    return joined[0] | (uint64_t)joined[1] << 4 * SEARCH_LINE;
}

inlined void line_move(_Atomic uint64_t *to, const _Atomic uint64_t *from, unsigned lanes)
{
    __m512i moved = _mm512_maskz_loadu_epi64((__mmask8)lanes, (const void *)from);
    _mm512_mask_storeu_epi64((void *)to, (__mmask8)lanes, moved);
}

#elif defined(SEARCH_WITH_AVX2)

typedef long long search_vector __attribute__((vector_size(32), aligned(8), may_alias));

/* AVX2 compares signed: a word of 2^63 and above would be below every key, so its own sign takes it out. */
inlined unsigned half_compare(const _Atomic uint64_t *half, uint64_t key, const int which)
{
    __m256i words = (__m256i) * (const volatile search_vector *)half;
    __m256i wanted = _mm256_set1_epi64x((long long)key);
    __m256i hits =
        which ? _mm256_andnot_si256(words, _mm256_cmpgt_epi64(wanted, words)) : _mm256_cmpeq_epi64(words, wanted);
    return (unsigned)_mm256_movemask_pd((__m256d)hits);
}

inlined unsigned line_compare(const _Atomic uint64_t *line, uint64_t key, const int which)
{
    return half_compare(line, key, which) | half_compare(line + 4, key, which) << 4;
}

inlined void line_move(_Atomic uint64_t *to, const _Atomic uint64_t *from, unsigned lanes)
{
    const __m256i bits_low = _mm256_setr_epi64x(1, 2, 4, 8), bits_high = _mm256_setr_epi64x(16, 32, 64, 128);
    __m256i wanted = _mm256_set1_epi64x(lanes);
    __m256i low = _mm256_cmpeq_epi64(_mm256_and_si256(wanted, bits_low), bits_low);
    __m256i high = _mm256_cmpeq_epi64(_mm256_and_si256(wanted, bits_high), bits_high);
    __m256i moved_low = _mm256_maskload_epi64((const void *)from, low);
    __m256i moved_high = _mm256_maskload_epi64((const void *)(from + 4), high);
    _mm256_maskstore_epi64((void *)to, low, moved_low);
    _mm256_maskstore_epi64((void *)(to + 4), high, moved_high);
}

#else

#if defined(SEARCH_WITH_NEON)

typedef uint64x2_t search_vector __attribute__((aligned(8), may_alias));

inlined uint32x4_t pairs_compare(const _Atomic uint64_t *four, uint64x2_t wanted, const int which)
{
    uint64x2_t low = *(const volatile search_vector *)four, high = *(const volatile search_vector *)(four + 2);
    low = which ? vcltq_u64(low, wanted) : vceqq_u64(low, wanted);
    high = which ? vcltq_u64(high, wanted) : vceqq_u64(high, wanted);
    return vuzp1q_u32(vreinterpretq_u32_u64(low), vreinterpretq_u32_u64(high));
}

inlined unsigned line_compare(const _Atomic uint64_t *line, uint64_t key, const int which)
{
    static const uint8_t weights[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    uint64x2_t wanted = vdupq_n_u64(key);
    uint32x4_t low = pairs_compare(line, wanted, which), high = pairs_compare(line + 4, wanted, which);
    uint16x8_t all = vuzp1q_u16(vreinterpretq_u16_u32(low), vreinterpretq_u16_u32(high));
    return vaddv_u8(vand_u8(vmovn_u16(all), vld1_u8(weights)));
}

#else

inlined unsigned line_compare(const _Atomic uint64_t *line, uint64_t key, const int which)
{
    unsigned bits = 0;
    for (unsigned i = 0; i < SEARCH_LINE; i++) {
        uint64_t word = load_relaxed(&line[i]);
        bits |= (unsigned)(which ? word < key : word == key) << i;
    }
    return bits;
}

#endif

inlined void line_move(_Atomic uint64_t *to, const _Atomic uint64_t *from, unsigned lanes)
{
    uint64_t moved[SEARCH_LINE];
    for (unsigned i = 0; i < SEARCH_LINE; i++)
        moved[i] = lanes >> i & 1 ? load_relaxed(&from[i]) : 0;
    for (unsigned i = 0; i < SEARCH_LINE; i++)
        if (lanes >> i & 1)
            store_relaxed(&to[i], moved[i]);
}

#endif

#if !defined(SEARCH_WITH_AVX512)
inlined uint64_t search_lines(const _Atomic uint64_t *array, const unsigned lines, uint64_t key, const int which)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < lines; i++)
        bits |= (uint64_t)line_compare(array + SEARCH_LINE * i, key, which) << SEARCH_LINE * i;
    return bits;
}
#endif

inlined uint64_t search_below(const _Atomic uint64_t *array, const unsigned lines, uint64_t key)
{
    return search_lines(array, lines, key, 1);
}

inlined uint64_t search_equal(const _Atomic uint64_t *array, const unsigned lines, uint64_t key)
{
    return search_lines(array, lines, key, 0);
}

/* The lanes of a line, the first of which is number `base`, whose numbers lie in [first, end). */
inlined unsigned line_lanes(unsigned base, unsigned first, unsigned end)
{
    unsigned low = first > base ? first - base : 0;
    unsigned high = end > base ? end - base : 0;
    unsigned from = (1u << (low < SEARCH_LINE ? low : SEARCH_LINE)) - 1;
    unsigned upto = (1u << (high < SEARCH_LINE ? high : SEARCH_LINE)) - 1;
    return upto & ~from;
}

/* From the top down: a line is read before the one below it is moved onto its first word. Between lines that do not touch
 * one word is carried over. */
inlined void search_open(_Atomic uint64_t *array, unsigned stride, unsigned words, unsigned at)
{
    for (unsigned i = (words + SEARCH_LINE - 1) / SEARCH_LINE; i-- > 0;) {
        _Atomic uint64_t *line = array + i * stride;
        unsigned lanes = line_lanes(i * SEARCH_LINE, at + 1, words);
        line_move(line, line - 1, stride == SEARCH_LINE ? lanes : lanes & ~1u);
        if (stride != SEARCH_LINE && i > 0 && lanes & 1)
            store_relaxed(line, load_relaxed(line - stride + SEARCH_LINE - 1));
    }
}

inlined void search_close(_Atomic uint64_t *array, unsigned stride, unsigned words, unsigned at)
{
    const unsigned last = 1u << (SEARCH_LINE - 1);
    for (unsigned i = 0; i * SEARCH_LINE + 1 < words; i++) {
        _Atomic uint64_t *line = array + i * stride;
        unsigned lanes = line_lanes(i * SEARCH_LINE, at, words - 1);
        line_move(line, line + 1, stride == SEARCH_LINE ? lanes : lanes & ~last);
        if (stride != SEARCH_LINE && lanes & last)
            store_relaxed(line + SEARCH_LINE - 1, load_relaxed(line + stride));
    }
}

inlined void search_copy(_Atomic uint64_t *to, const _Atomic uint64_t *from, unsigned words)
{
    for (unsigned base = 0; base < words; base += SEARCH_LINE)
        line_move(to + base, from + base, line_lanes(base, 0, words));
}

inlined void search_copy_open(_Atomic uint64_t *to, const _Atomic uint64_t *from, unsigned words, unsigned at,
                              uint64_t word)
{
    for (unsigned base = 0; base < words; base += SEARCH_LINE) {
        line_move(to + base, from + base, line_lanes(base, 0, at));
        line_move(to + base, from + base - 1, line_lanes(base, at + 1, words));
    }
    store_relaxed(&to[at], word);
}

inlined void search_copy_close(_Atomic uint64_t *to, const _Atomic uint64_t *from, unsigned words, unsigned at,
                               uint64_t word)
{
    for (unsigned base = 0; base < words; base += SEARCH_LINE) {
        line_move(to + base, from + base, line_lanes(base, 0, at));
        line_move(to + base, from + base + 1, line_lanes(base, at, words - 1));
    }
    store_relaxed(&to[words - 1], word);
}

inlined void search_fill(_Atomic uint64_t *to, unsigned words, uint64_t word)
{
    for (unsigned i = 0; i < words; i++)
        store_relaxed(&to[i], word);
}

#endif
