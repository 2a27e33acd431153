/* SPDX-License-Identifier: MIT */
/* What this process occupies and what it may still occupy. Bytes; -1 where the kernel does not say: that column stays
 * empty.
 *
 * None of these calls malloc. They walk page tables or take locks of the kernel: only before and after the window. */
#ifndef RB_MEMORY_H
#define RB_MEMORY_H

#include "compiler.h"

struct memory_usage {
    long long resident; /* now */
    long long peak;     /* largest since the start of the process or memory_reset_peak */
};

struct memory_usage memory_usage(void);

/* Sets the peak to what is resident now. NULL, or why it could not; then the peak is that of the whole process so far,
 * which is not the window's, and is not to be reported. */
const char *memory_reset_peak(void);

/* What can still be allocated without swapping: the kernel's estimate, or less where a cgroup above us has less left.
 */
long long memory_available(void);

/* Mappings a process may have, and has. */
long long memory_max_mappings(void);
long long memory_mappings(void);

#endif
