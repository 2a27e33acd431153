/* SPDX-License-Identifier: MIT */
/* Waiting for another thread inside an operation: pause, longer each time, and give the processor away only where more
 * threads run than units (yielding otherwise hides contention in the scheduler). */
#ifndef RB_BACKOFF_H
#define RB_BACKOFF_H

#include "atomics.h"

#include <sched.h>

/* Set by the driver before any worker runs. */
extern bool threads_oversubscribed;

struct backoff {
    unsigned turns;
};

inlined void backoff_wait(struct backoff *backoff)
{
    enum { LONGEST = 256 };
    for (unsigned i = 0; i <= backoff->turns; i++)
        spin_pause();
    if (backoff->turns < LONGEST)
        backoff->turns = 2 * backoff->turns + 1;
    else if (threads_oversubscribed)
        sched_yield();
}

#endif
