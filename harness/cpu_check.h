/* SPDX-License-Identifier: MIT */
/* A binary built for another machine says so instead of dying of an illegal instruction.
 *
 * cpu_features.c, compiled with the build's own -march, holds nothing but data: what the compiler was allowed to use.
 * cpu_check.c holds the code, which runs as the first constructor of the program, before anything that was compiled for
 * the machine, and so must itself be compiled for any machine. The Makefile adds to that one object, after the other
 * flags: `-march=x86-64 -mtune=generic` on x86-64,
 * `-march=armv8-a` on aarch64.
 *
 * Missing features end the process: one line on stderr as by fail(STATUS_UNSUPPORTED), exit status 2. Nothing has to be
 * called. */
#ifndef RB_CPU_CHECK_H
#define RB_CPU_CHECK_H

#include "compiler.h"

struct cpu_feature {
    const char *name;
    const char
        *macro; /* the compiler's macro for it, expanded: its own name, '_' first, where the feature is not in use */
    unsigned level;               /* of the x86-64 microarchitecture levels, 2 .. 4; 0: in none of them */
    unsigned leaf, subleaf, word; /* x86: CPUID leaf, and register eax .. edx; Arm: AT_HWCAP or AT_HWCAP2, 0, 0 */
    unsigned bit;
    unsigned state; /* x86: bits of XCR0, the registers that the system must save; 0: none */
};

extern const struct cpu_feature cpu_features[];
extern const size_t cpu_feature_count;

/* What the constructor does; separate so that it can be tested with other lists. */
void cpu_check(const struct cpu_feature *features, size_t count);

#endif
