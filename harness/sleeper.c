/* SPDX-License-Identifier: MIT */
#include "sleeper.h"

#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

void sleeper_init(struct sleeper *s)
{
    pthread_condattr_t clock;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&s->wake, &clock);
    pthread_condattr_destroy(&clock);
    s->stopped = false;
}

void sleeper_reset(struct sleeper *s)
{
    pthread_mutex_lock(&s->mutex);
    s->stopped = false;
    pthread_mutex_unlock(&s->mutex);
}

bool sleeper_until(struct sleeper *s, uint64_t ns)
{
    struct timespec at = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    pthread_mutex_lock(&s->mutex);
    while (!s->stopped && pthread_cond_timedwait(&s->wake, &s->mutex, &at) != ETIMEDOUT)
        ;
    bool stopped = s->stopped;
    pthread_mutex_unlock(&s->mutex);
    return !stopped;
}

void sleeper_stop(struct sleeper *s)
{
    pthread_mutex_lock(&s->mutex);
    s->stopped = true;
    pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->mutex);
}

void sleeper_be_punctual(void)
{
    /* Where the kernel refuses, the lateness that is recorded says it. */
    prctl(PR_SET_TIMERSLACK, 1);
}
