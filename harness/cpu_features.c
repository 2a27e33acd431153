/* SPDX-License-Identifier: MIT */
#include "cpu_check.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

/* Only what compilers use without being asked by name; other instructions are behind intrinsics, and those behind the
 * same macros. Sources: Intel SDM volume 2 and AMD APM volume 3 (CPUID), x86-64 psABI (levels), Linux's arm64 hwcap
 * list. */
#define FEATURE(name, macro, level, leaf, subleaf, word, bit, state)                                                   \
    {                                                                                                                  \
        name, STRING(macro), level, leaf, subleaf, word, bit, state                                                    \
    }

enum { A, B, C, D };
enum { YMM = 0x06, ZMM = 0xe6 };

const struct cpu_feature cpu_features[] = {
#if defined(__x86_64__)
    FEATURE("sse3", __SSE3__, 2, 1, 0, C, 0, 0),
    FEATURE("ssse3", __SSSE3__, 2, 1, 0, C, 9, 0),
    FEATURE("cx16", __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16, 2, 1, 0, C, 13, 0),
    FEATURE("sse4.1", __SSE4_1__, 2, 1, 0, C, 19, 0),
    FEATURE("sse4.2", __SSE4_2__, 2, 1, 0, C, 20, 0),
    FEATURE("popcnt", __POPCNT__, 2, 1, 0, C, 23, 0),
    FEATURE("lahf", __LAHF_SAHF__, 2, 0x80000001, 0, C, 0, 0),
    FEATURE("fma", __FMA__, 3, 1, 0, C, 12, YMM),
    FEATURE("movbe", __MOVBE__, 3, 1, 0, C, 22, 0),
    FEATURE("avx", __AVX__, 3, 1, 0, C, 28, YMM),
    FEATURE("f16c", __F16C__, 3, 1, 0, C, 29, YMM),
    FEATURE("bmi", __BMI__, 3, 7, 0, B, 3, 0),
    FEATURE("avx2", __AVX2__, 3, 7, 0, B, 5, YMM),
    FEATURE("bmi2", __BMI2__, 3, 7, 0, B, 8, 0),
    FEATURE("lzcnt", __LZCNT__, 3, 0x80000001, 0, C, 5, 0),
    FEATURE("avx512f", __AVX512F__, 4, 7, 0, B, 16, ZMM),
    FEATURE("avx512dq", __AVX512DQ__, 4, 7, 0, B, 17, ZMM),
    FEATURE("avx512cd", __AVX512CD__, 4, 7, 0, B, 28, ZMM),
    FEATURE("avx512bw", __AVX512BW__, 4, 7, 0, B, 30, ZMM),
    FEATURE("avx512vl", __AVX512VL__, 4, 7, 0, B, 31, ZMM),
    FEATURE("adx", __ADX__, 0, 7, 0, B, 19, 0),
    FEATURE("avx512ifma", __AVX512IFMA__, 0, 7, 0, B, 21, ZMM),
    FEATURE("avx512vbmi", __AVX512VBMI__, 0, 7, 0, C, 1, ZMM),
    FEATURE("avx512vbmi2", __AVX512VBMI2__, 0, 7, 0, C, 6, ZMM),
    FEATURE("gfni", __GFNI__, 0, 7, 0, C, 8, 0),
    FEATURE("vpclmulqdq", __VPCLMULQDQ__, 0, 7, 0, C, 10, YMM),
    FEATURE("avx512vnni", __AVX512VNNI__, 0, 7, 0, C, 11, ZMM),
    FEATURE("avx512bitalg", __AVX512BITALG__, 0, 7, 0, C, 12, ZMM),
    FEATURE("avx512vpopcntdq", __AVX512VPOPCNTDQ__, 0, 7, 0, C, 14, ZMM),
    FEATURE("avx512fp16", __AVX512FP16__, 0, 7, 0, D, 23, ZMM),
    FEATURE("avxvnni", __AVXVNNI__, 0, 7, 1, A, 4, YMM),
    FEATURE("avx512bf16", __AVX512BF16__, 0, 7, 1, A, 5, ZMM),
    FEATURE("avxifma", __AVXIFMA__, 0, 7, 1, A, 23, YMM),
    FEATURE("sse4a", __SSE4A__, 0, 0x80000001, 0, C, 6, 0),
    FEATURE("xop", __XOP__, 0, 0x80000001, 0, C, 11, YMM),
    FEATURE("fma4", __FMA4__, 0, 0x80000001, 0, C, 16, YMM),
    FEATURE("tbm", __TBM__, 0, 0x80000001, 0, C, 21, 0),
#elif defined(__aarch64__)
    FEATURE("crc32", __ARM_FEATURE_CRC32, 0, AT_HWCAP, 0, A, 7, 0),
    FEATURE("lse", __ARM_FEATURE_ATOMICS, 0, AT_HWCAP, 0, A, 8, 0),
    FEATURE("fp16", __ARM_FEATURE_FP16_VECTOR_ARITHMETIC, 0, AT_HWCAP, 0, A, 10, 0),
    FEATURE("jscvt", __ARM_FEATURE_JCVT, 0, AT_HWCAP, 0, A, 13, 0),
    FEATURE("fcma", __ARM_FEATURE_COMPLEX, 0, AT_HWCAP, 0, A, 14, 0),
    FEATURE("rcpc", __ARM_FEATURE_RCPC, 0, AT_HWCAP, 0, A, 15, 0),
    FEATURE("dotprod", __ARM_FEATURE_DOTPROD, 0, AT_HWCAP, 0, A, 20, 0),
    FEATURE("sve", __ARM_FEATURE_SVE, 0, AT_HWCAP, 0, A, 22, 0),
    FEATURE("sve2", __ARM_FEATURE_SVE2, 0, AT_HWCAP2, 0, A, 1, 0),
    FEATURE("i8mm", __ARM_FEATURE_MATMUL_INT8, 0, AT_HWCAP2, 0, A, 13, 0),
    FEATURE("bf16", __ARM_FEATURE_BF16, 0, AT_HWCAP2, 0, A, 14, 0),
#endif
};

const size_t cpu_feature_count = sizeof cpu_features / sizeof *cpu_features;
