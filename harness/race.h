/* SPDX-License-Identifier: MIT */
/* Widens race windows in CHECK builds: at each point the thread sometimes pauses or yields, so that the few nanoseconds
 * in which a missing protection shows become microseconds. Compiles to nothing otherwise. A point stands where a proof
 * says "and now nobody can ..." */
#ifndef RB_RACE_H
#define RB_RACE_H

#include "atomics.h"

#if CHECK
#include <sched.h>

static inline void race_window(void)
{
    static _Thread_local uint32_t dice = 0x9e3779b9;
    dice ^= dice << 13;
    dice ^= dice >> 17;
    dice ^= dice << 5;
    if (dice % 64 == 0)
        sched_yield();
    else if (dice % 16 == 0)
        for (uint32_t turn = dice >> 24; turn; turn--)
            spin_pause();
}
#else
#define race_window() ((void)0)
#endif

#endif
