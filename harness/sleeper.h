/* SPDX-License-Identifier: MIT */
/* Sleeping until absolute moments of CLOCK_MONOTONIC, and being woken for good: what paced work and the sampler do between
 * their moments. Several threads may sleep at one sleeper; one tells all of them to stop. */
#ifndef RB_SLEEPER_H
#define RB_SLEEPER_H

#include "compiler.h"

#include <pthread.h>

struct sleeper {
    pthread_mutex_t mutex; /* of `stopped` */
    pthread_cond_t wake;
    bool stopped;
};

void sleeper_init(struct sleeper *);
/* While nobody sleeps: takes a stop back. */
void sleeper_reset(struct sleeper *);
/* True: the moment has come, perhaps long ago. False: it was stopped. */
bool sleeper_until(struct sleeper *, uint64_t ns);
void sleeper_stop(struct sleeper *);
/* From now on the calling thread is woken as soon as the kernel can, not up to 50 us later (its default timer slack). */
void sleeper_be_punctual(void);

#endif
