/* SPDX-License-Identifier: MIT */
/* Is a recorded history of a set linearizable? Exact, for short histories of calls that have all returned.
 *
 * Order. Each call notes, before it begins, how many calls each other thread has completed (`seen`): those came before
 * it, and nothing else did. The counters are stored with release after a call and loaded with acquire before one, so
 * "before" means happens-before. A clock would ask for more than the memory model gives: a store that is still in its
 * store buffer when the clock is read is not yet seen by whoever begins later. Nor do plain stores and loads hide races
 * as an atomic increment of a shared clock would.
 *
 * What is assumed. insert, remove and find each take effect at one moment between begin and end. A scan looks at each key
 * from `low` upwards, until `most` were found or no keys are left: each look is right at one moment, these moments lie between
 * the scan's begin and end, and they do not go back from one key to the next, as if each look were an operation of its own.
 * That is less than a snapshot, and less than atomic steps from a key to its successor: a tree that reads leaf after leaf may
 * pass an empty leaf, then see a key go from the next one after another has come into the empty one.
 *
 * The search (J. Wing, C. Gong, "Testing and verifying concurrent objects", JPDC 1993) puts calls into an order, one
 * thread's in their own order, each only after all that came before it, and goes back where no call's answer fits. Never
 * twice from the same place (G. Lowe, "Testing for linearizability", CCPE 2017): which calls have been taken is how far each
 * thread is, and the set's content is one word. A look that fits is taken at once: as it changes nothing, whatever order
 * exists remains one when it moves to the front. So only updates that overlap make branches, and splitting the history by
 * key (A. Horn, D. Kroening, "Faster linearizability checking via P-compositionality", FORTE 2015), which scans forbid, is
 * not needed.
 *
 * Content. The set has HISTORY_KEYS keys, named by index, and between them fillers that are always there. A key's value is a tag
 * in a byte of its own of the word, a filler's is 0: so the sum that a scan returns says which values it read. A tag is given
 * to one insert only: a find that returns an older value of a key that is there again is wrong, and is seen. */
#ifndef RB_HISTORY_H
#define RB_HISTORY_H

#include "error.h"
#include "random.h"

#include <stdio.h>
#include <string.h>

enum {
    HISTORY_THREADS = 4,
    HISTORY_CALLS = 48, /* of one thread */
    HISTORY_KEYS = 8,
    HISTORY_PLACES = 1 << 18, /* that a search may come to */
};

enum call_kind { CALL_INSERT, CALL_REMOVE, CALL_FIND, CALL_SCAN };

struct call {
    uint8_t kind;
    uint8_t key;     /* of a scan: where it begins */
    uint16_t most;   /* of a scan */
    uint16_t answer; /* did it succeed; a scan: pairs read */
    uint8_t seen
        [HISTORY_THREADS]; /* calls of each thread that had returned when this one began; the own entry is ignored */
    uint64_t value;        /* inserted, or found; a scan: the sum */
};

struct history {
    __attribute__((aligned(LINE_PAIR))) struct call call[HISTORY_THREADS][HISTORY_CALLS];
    unsigned threads;
    unsigned calls[HISTORY_THREADS];
    unsigned fillers[HISTORY_KEYS + 1]; /* between a key and the one before it; behind the last */
};

inlined uint64_t history_value(unsigned key, unsigned tag)
{
    return (uint64_t)tag << 8 * key;
}

inlined uint64_t history_field_(unsigned key)
{
    return history_value(key, 255);
}

/* ---- what an answer says ---- */

/* Of some keys, and what the call then did to its only one. */
struct step {
    uint8_t looks;   /* at these keys */
    bool any;        /* they were there, whatever the value; else: */
    bool changes;    /* from now on the key holds `leaves` */
    bool impossible; /* no set gives this answer */
    uint64_t wanted; /* their values; 0: it was not there */
    uint64_t leaves;
};

/* Without padding: places are compared byte by byte. */
struct place {
    uint8_t at[HISTORY_THREADS];     /* calls taken of each thread */
    uint8_t looked[HISTORY_THREADS]; /* at these keys, for its next one */
    uint64_t content;
};

struct search {
    const struct history *history;
    struct step step[HISTORY_THREADS][HISTORY_CALLS];
    /* Places that lead nowhere. An entry counts if its generation is the present one. */
    struct place been[HISTORY_PLACES];
    uint32_t generation[HISTORY_PLACES], now;
    unsigned places;
    /* Threads in the order in which their calls were taken: now, and for as long as it ever got. */
    uint8_t order[HISTORY_THREADS * HISTORY_CALLS], longest[HISTORY_THREADS * HISTORY_CALLS];
    unsigned length, longest_length;
};

/* The pairs read are the first so many of all fillers and the keys whose bytes in the sum are not 0. */
static inline struct step history_scan_step_(const struct history *h, const struct call *scan)
{
    struct step step = {.wanted = scan->value};
    uint64_t sum = scan->value;
    int left = scan->answer;
    bool full = scan->answer == scan->most;
    unsigned key = scan->key;
    for (; key < HISTORY_KEYS; key++) {
        if (key > scan->key)
            left -= (int)h->fillers[key];
        if (full && left <= 0)
            break;
        uint64_t read = sum & history_field_(key);
        sum -= read;
        left -= read != 0;
        step.looks |= (uint8_t)(1u << key);
    }
    if (key == HISTORY_KEYS)
        left -= (int)h->fillers[key];
    step.impossible = sum || scan->answer > scan->most || (full ? left > 0 : left != 0);
    return step;
}

static inline struct step history_step_(const struct history *h, const struct call *call)
{
    struct step step = {.looks = (uint8_t)(1u << call->key)};
    switch (call->kind) {
    case CALL_INSERT:
        step.changes = call->answer;
        step.any = !call->answer;
        step.leaves = call->value;
        return step;
    case CALL_REMOVE:
        step.changes = step.any = call->answer;
        return step;
    case CALL_FIND:
        step.wanted = call->answer ? call->value : 0;
        step.impossible = call->answer && (!call->value || call->value & ~history_field_(call->key));
        return step;
    default:
        return history_scan_step_(h, call);
    }
}

/* ---- the search ---- */

/* What the thread's next call says, NULL if there is none. */
inlined const struct step *history_next_(const struct search *s, const struct place *place, unsigned thread)
{
    return place->at[thread] < s->history->calls[thread] ? &s->step[thread][place->at[thread]] : NULL;
}

/* Has all been taken that came before the thread's next call? */
inlined bool history_in_order_(const struct search *s, const struct place *place, unsigned thread)
{
    const uint8_t *seen = s->history->call[thread][place->at[thread]].seen;
    for (unsigned other = 0; other < s->history->threads; other++)
        if (other != thread && place->at[other] < seen[other])
            return false;
    return true;
}

inlined bool history_fits_(const struct step *step, unsigned key, uint64_t content)
{
    uint64_t holds = content & history_field_(key);
    return !step->impossible && (step->any ? holds != 0 : holds == (step->wanted & history_field_(key)));
}

inlined void history_take_(struct search *s, struct place *place, unsigned thread)
{
    const struct step *step = history_next_(s, place, thread);
    if (step->changes)
        place->content = (place->content & ~history_field_((unsigned)__builtin_ctz(step->looks))) | step->leaves;
    place->at[thread]++;
    place->looked[thread] = 0;
    s->order[s->length++] = (uint8_t)thread;
}

/* Takes the thread's next call if it changes nothing and all its looks fit, and otherwise the first of its looks that do. */
static inline bool history_look_(struct search *s, struct place *place, unsigned thread)
{
    const struct step *step = history_next_(s, place, thread);
    if (!step || step->changes || !history_in_order_(s, place, thread))
        return false;
    for (unsigned left = step->looks & ~place->looked[thread]; left; left &= left - 1) {
        if (!history_fits_(step, (unsigned)__builtin_ctz(left), place->content))
            return false;
        place->looked[thread] |= (uint8_t)(left & -left);
    }
    history_take_(s, place, thread);
    return true;
}

/* True: nothing is left to be taken. */
static inline bool history_look_all_(struct search *s, struct place *place)
{
    bool moved = true, done = true;
    while (moved) {
        moved = false;
        done = true;
        for (unsigned thread = 0; thread < s->history->threads; thread++) {
            while (history_look_(s, place, thread))
                moved = true;
            done &= place->at[thread] == s->history->calls[thread];
        }
    }
    return done;
}

inlined bool history_may_change_(const struct search *s, const struct place *place, unsigned thread)
{
    const struct step *step = history_next_(s, place, thread);
    return step && step->changes && history_fits_(step, (unsigned)__builtin_ctz(step->looks), place->content) &&
           history_in_order_(s, place, thread);
}

/* False: it has been there. */
static inline bool history_is_new_(struct search *s, const struct place *place)
{
    uint64_t hash = place->content;
    for (unsigned thread = 0; thread < HISTORY_THREADS; thread++)
        hash = random_mix(hash + place->at[thread] + ((uint64_t)place->looked[thread] << 8));
    for (;; hash++) {
        uint64_t i = hash % HISTORY_PLACES;
        if (s->generation[i] != s->now) {
            if (++s->places == HISTORY_PLACES)
                fail(STATUS_OOM, "wanted a history whose search ends within %d places, found none: make it shorter",
                     HISTORY_PLACES);
            s->generation[i] = s->now;
            s->been[i] = *place;
            return true;
        }
        if (memcmp(&s->been[i], place, sizeof *place) == 0)
            return false;
    }
}

static inline bool history_search_(struct search *s, struct place place)
{
    unsigned length = s->length;
    if (history_look_all_(s, &place))
        return true;
    if (history_is_new_(s, &place))
        for (unsigned thread = 0; thread < s->history->threads; thread++)
            if (history_may_change_(s, &place, thread)) {
                struct place next = place;
                unsigned here = s->length;
                history_take_(s, &next, thread);
                if (history_search_(s, next))
                    return true;
                s->length = here;
            }
    if (s->length > s->longest_length) {
        s->longest_length = s->length;
        memcpy(s->longest, s->order, s->length);
    }
    s->length = length;
    return false;
}

/* `s` is the caller's, zeroed before its first use only. Where this says no, history_print tells why. */
static inline bool history_is_linearizable(struct search *s, const struct history *history)
{
    struct place start = {0};
    s->history = history;
    s->now++;
    s->places = s->length = s->longest_length = 0;
    for (unsigned thread = 0; thread < history->threads; thread++)
        for (unsigned i = 0; i < history->calls[thread]; i++)
            s->step[thread][i] = history_step_(history, &history->call[thread][i]);
    return history_search_(s, start);
}

/* ---- for people ---- */

static inline void history_print_content_(FILE *to, uint64_t content)
{
    fprintf(to, "{");
    for (unsigned key = 0; key < HISTORY_KEYS; key++)
        if (content & history_field_(key))
            fprintf(to, " %u:%u", key, (unsigned)((content & history_field_(key)) >> 8 * key));
    fprintf(to, " }");
}

static inline void history_print_call_(FILE *to, const struct history *h, unsigned thread, unsigned index)
{
    static const char *const names[] = {"insert", "remove", "find", "scan"};
    const struct call *call = &h->call[thread][index];
    fprintf(to, "thread %u call %2u, after", thread, index);
    for (unsigned other = 0; other < h->threads; other++)
        fprintf(to, " %2u", other == thread ? index : call->seen[other]);
    fprintf(to, ": %s %u", names[call->kind], call->key);
    if (call->kind == CALL_SCAN)
        fprintf(to, ", most %u = %u pairs", call->most, call->answer);
    else
        fprintf(to, " = %s", call->answer ? "true" : "false");
    if (call->kind != CALL_REMOVE && (call->answer || call->kind == CALL_INSERT)) {
        fprintf(to, " ");
        history_print_content_(to, call->value);
    }
    fprintf(to, "\n");
}

/* The longest order that was found, a call a line, then what cannot come next, then the rest. "after" are the calls of
 * each thread that had returned when it began; {key:tag} is what was put in or read. */
static inline void history_print(FILE *to, struct search *s)
{
    const struct history *h = s->history;
    struct place place = {0};
    fprintf(to, "fillers between the keys:");
    for (unsigned key = 1; key <= HISTORY_KEYS; key++)
        fprintf(to, " %u", h->fillers[key]);
    fprintf(to, "\nthese can have come in this order:\n");
    s->length = 0;
    for (unsigned i = 0; i < s->longest_length; i++) {
        unsigned thread = s->longest[i];
        history_print_call_(to, h, thread, place.at[thread]);
        history_take_(s, &place, thread);
    }
    fprintf(to, "then there is ");
    history_print_content_(to, place.content);
    fprintf(to, ", and none of these fits next:\n");
    for (unsigned thread = 0; thread < h->threads; thread++)
        if (history_next_(s, &place, thread)) {
            fprintf(to, "%s: ", history_in_order_(s, &place, thread) ? "wrong" : "too early");
            history_print_call_(to, h, thread, place.at[thread]);
        }
    fprintf(to, "and the rest:\n");
    for (unsigned thread = 0; thread < h->threads; thread++)
        for (unsigned call = place.at[thread] + 1u; call < h->calls[thread]; call++)
            history_print_call_(to, h, thread, call);
}

#endif
