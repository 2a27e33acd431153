/* SPDX-License-Identifier: MIT */
/* What we ask of the compiler, by name. GNU C17, gcc >= 12 or clang >= 14. */
#ifndef RB_COMPILER_H
#define RB_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define noinline    __attribute__((noinline))
#define inlined     static inline __attribute__((always_inline))
#define unused      __attribute__((unused))

/* The compiler must take x for changed here: what it derived from x before is not kept alive across this point. At the top of
 * a retry loop, that keeps vectors of a slow path's past out of the fast path's stack frame. */
#define forget(x) __asm__("" : "+r"(x))

/* Two adjacent 64-byte lines are fetched together on x86, and a line has 128 bytes on Apple and some Arm servers: what
 * two threads write must lie this far apart. */
#define LINE_PAIR       128
#define line_pair_align __attribute__((aligned(LINE_PAIR)))

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

/* CHECK=1 builds verify what readers touch (account.h) and widen race windows (race.h). */
#ifndef CHECK
#define CHECK 0
#endif

/* TRACE=1 builds record events and time single frees (trace.h); in the others these points are empty. */
#ifndef TRACE
#define TRACE 0
#endif

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#elif __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif
#ifndef UNDER_ASAN
#define UNDER_ASAN 0
#endif
#define UNDER_SANITIZER (UNDER_TSAN || UNDER_ASAN)

#endif
