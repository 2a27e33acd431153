/* SPDX-License-Identifier: MIT */
/* linearize.c with coroutines for threads: what takes a thread that is stopped for long, at one certain place, is found here.
 * Compiled and called like it. */
#include "compiler.h"
#include "../litmus/coroutines.h"

#include "linearize.c" /* NOLINT(bugprone-suspicious-include): the same program */
