/* SPDX-License-Identifier: MIT */
/* A program's threads as coroutines of one real thread, which change places in race windows only, where the dice says so, and
 * wherever one waits. So a thread that is stopped in a window while the others do all kinds of things is as likely as any
 * other run, and a run follows from the seed. Memory order is not tested: every thread sees every store at once.
 *
 * Stands in for race.h, backoff.h and the threads of pthread.h; included before what includes these. */
#ifndef RB_COROUTINES_H
#define RB_COROUTINES_H
#define RB_RACE_H
#define RB_BACKOFF_H

#include "atomics.h"
#include "error.h"
#include "random.h"

#include <pthread.h>
#include <sched.h>
#include <ucontext.h>

enum { COROUTINES = 8, COROUTINE_STACK = 1 << 18, LONGEST_SLEEP = 256 };

struct coroutine {
    ucontext_t context;
    void *(*main)(void *argument);
    void *argument;
    unsigned asleep; /* it is not chosen for so many times */
    bool ended;
};

/* The last one is the program's main thread: it only waits for the others. */
static struct coroutine coroutines[COROUTINES + 1], *const main_coroutine = &coroutines[COROUTINES];
static char coroutine_stacks[COROUTINES][COROUTINE_STACK] __attribute__((aligned(16)));
static unsigned coroutine_count, coroutines_running;
static struct coroutine *coroutine_now;
static struct random coroutine_dice = {{1}};
static unsigned windows_per_switch = 8;

static void coroutine_go(struct coroutine *to)
{
    struct coroutine *from = coroutine_now;
    if (from == to)
        return;
    coroutine_now = to;
    swapcontext(&from->context, &to->context);
}

static noinline void coroutine_switch(void)
{
    if (coroutine_now == NULL || coroutines_running == 0)
        return;
    struct coroutine *to;
    do
        to = &coroutines[random_below(&coroutine_dice, coroutine_count)];
    while (to->ended || (to->asleep && to->asleep--));
    /* Rare and frequent changes find different things. */
    if (random_below(&coroutine_dice, 64) == 0)
        windows_per_switch = 1u << random_below(&coroutine_dice, 7);
    coroutine_go(to);
}

inlined void race_window(void)
{
    if (!coroutine_now || random_below(&coroutine_dice, windows_per_switch) > 0)
        return;
    if (random_below(&coroutine_dice, 8) == 0)
        coroutine_now->asleep = (unsigned)random_below(&coroutine_dice, LONGEST_SLEEP);
    coroutine_switch();
}

inlined void backoff_wait(uint64_t attempt)
{
    (void)attempt;
    coroutine_switch();
}

static void coroutine_main(void)
{
    struct coroutine *self = coroutine_now;
    self->main(self->argument);
    self->ended = true;
    if (--coroutines_running == 0)
        coroutine_go(main_coroutine);
    coroutine_switch();
}

static int coroutine_create(pthread_t *handle, const pthread_attr_t *attributes, void *(*main)(void *), void *argument)
{
    (void)attributes;
    struct coroutine *c = &coroutines[coroutine_count];
    if (coroutine_count == COROUTINES)
        fail(STATUS_UNSUPPORTED, "wanted at most %d threads, found more: raise COROUTINES", COROUTINES);
    *handle = coroutine_count++;
    coroutines_running++;
    getcontext(&c->context);
    c->context.uc_stack.ss_sp = coroutine_stacks[c - coroutines];
    c->context.uc_stack.ss_size = COROUTINE_STACK;
    c->main = main;
    c->argument = argument;
    makecontext(&c->context, coroutine_main, 0);
    return 0;
}

/* Waits for all; then the places are free again. */
static int coroutine_join(pthread_t handle, void **result)
{
    (void)handle, (void)result;
    if (coroutines_running) {
        coroutine_now = main_coroutine;
        coroutine_go(&coroutines[0]);
        coroutine_now = NULL;
        coroutine_count = 0;
        for (unsigned i = 0; i < COROUTINES; i++)
            coroutines[i].ended = false;
    }
    return 0;
}

#define pthread_create coroutine_create
#define pthread_join   coroutine_join
#define sched_yield    coroutine_switch

#endif
