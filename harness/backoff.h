/* SPDX-License-Identifier: MIT */
/* Waiting for another thread inside an operation: pause, longer each time, and give the processor away only where more
 * threads run than units (yielding otherwise hides contention in the scheduler). */
#ifndef RB_BACKOFF_H
#define RB_BACKOFF_H

#include "atomics.h"

#include <sched.h>

/* Set by the driver before any worker runs. */
extern bool threads_oversubscribed;

/* `attempt` counts a thread's failures, over its whole life: its low bits vary the wait, so that two threads in each
 * other's way come apart, and no state has to be kept in the operation. */
inlined void backoff_wait(uint64_t attempt)
{
    for (uint64_t i = 0; i <= attempt % 64; i++)
        spin_pause();
    if (threads_oversubscribed && attempt % 8 == 0)
        sched_yield();
}

#endif
