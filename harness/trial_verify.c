/* SPDX-License-Identifier: MIT */
#include "stage.h"

#include <stdarg.h>
#include <stdio.h>

void stage_add_up(const struct stage *stage, struct totals *sum)
{
    *sum = (struct totals){0};
    for (unsigned i = 0; i < stage->plan->threads; i++) {
        const struct worker *w = &stage->trial->workers[i];
        const struct account *a = w->account;
        for (int operation = 0; operation < OPERATIONS; operation++) {
            sum->done[operation] += w->tally.done[operation];
            sum->succeeded[operation] += w->tally.succeeded[operation];
            sum->wanted[operation] += w->tally.wanted[operation];
        }
        sum->allocated += a->allocated;
        sum->discarded += a->discarded;
        sum->retired += a->retired;
        sum->released += a->released;
        sum->freed += a->freed;
        sum->reused += a->reused;
        sum->pooled += a->pooled;
        sum->backlog_peak += a->backlog_peak;
        sum->limbo_peak += a->limbo_peak;
        sum->restarts += a->restarts;
        sum->free_ticks += a->free_ticks;
        sum->net_keys += w->net_keys;
        sum->net_key_sum += w->net_key_sum;
    }
}

void stage_broken(struct result *result, enum status status, const char *format, ...)
{
    if (result->status != STATUS_OK)
        return;
    va_list arguments;
    result->status = status;
    va_start(arguments, format);
    vsnprintf(result->why, sizeof result->why, format, arguments);
    va_end(arguments);
}

/* ---- verification, at rest ---- */

static uint64_t held_nodes(const struct stage *stage)
{
    uint64_t held = 0;
    for (unsigned i = 0; i < stage->plan->threads; i++)
        held += stage->plan->combo->held(&stage->trial->workers[i]);
    return held;
}

void stage_verify(const struct stage *stage, struct result *result)
{
    struct totals now;
    struct census *census = &result->census;
    stage_add_up(stage, &now);
    for (unsigned i = 0; i < stage->plan->threads; i++)
        if (!stage->seats[i].bound)
            stage_broken(result, STATUS_BIND_FAILED, "%s", stage->seats[i].why);
    stage->plan->combo->check(stage->trial, census);
    if (census->broken[0])
        stage_broken(result, STATUS_INVARIANT, "%s", census->broken);
    if (census->keys != now.net_keys)
        stage_broken(result, STATUS_INVARIANT, "%lu keys were inserted and not removed, the structure holds %lu",
                     now.net_keys, census->keys);
    if (census->key_sum != now.net_key_sum)
        stage_broken(result, STATUS_INVARIANT, "the keys in the structure sum up to %lu instead of %lu",
                     census->key_sum, now.net_key_sum);
    if (now.allocated - now.discarded - now.freed != census->nodes + (now.retired - now.freed))
        stage_broken(result, STATUS_INVARIANT,
                     "%lu nodes allocated, %lu discarded, %lu freed, %lu retired, but %lu reachable", now.allocated,
                     now.discarded, now.freed, now.retired, census->nodes);
    uint64_t held = held_nodes(stage);
    if (now.retired != now.freed + held)
        stage_broken(result, STATUS_INVARIANT, "%lu nodes retired, %lu freed, but %lu in limbo and queues", now.retired,
                     now.freed, held);
}

void stage_verify_nothing_left(const struct stage *stage, struct result *result)
{
    struct totals now;
    stage->plan->combo->destroy(stage->trial);
    stage_add_up(stage, &now);
    /* Only a reclaimer that leaks still holds any, and that has never released one. */
    uint64_t left = now.allocated - now.discarded - now.freed, held = held_nodes(stage);
    if (left != held || (held && now.released) || now.pooled)
        stage_broken(result, STATUS_INVARIANT,
                     "at the end %lu nodes were not freed, the reclaimer holds %lu, %lu are pooled", left, held,
                     now.pooled);
}
