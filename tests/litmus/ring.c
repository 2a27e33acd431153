/* SPDX-License-Identifier: MIT */
/* The token's ring with threads that come late, leave, sleep and return at any time. Again and again all of them meet
 * at a barrier, where nobody has the token in its hands: then there is exactly one, in a state or in the gate, and in the gate
 * only if nobody is online. Every fourth meeting is one of sleepers, behind which one thread comes online alone: it must have
 * the token at once, and its garbage is freed. Behind every fourth, all are online, and rounds must go on. Behind every
 * fourth, two come and go as fast as they can, so that one parks the token while the other arrives.
 *
 * Meanwhile they exchange nodes and read them, so that a checking build, or the thread sanitizer, finds what is freed too
 * early. Compiled like combo.c: -DSMR=token_naive -DFP=batch. Argument: the seed. Exit status 1 and what is wrong, or 0. */
#pragma GCC diagnostic ignored "-Wunused-function"

#include "compiler.h"
#define HEADER(name) STRING(name.h)
#include HEADER(FP)
#include HEADER(SMR)
#include "random.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 6, LINKS = 2, MEETINGS = 120, TURNS = 200, FIRST = 3, LATE = 5, ERRANDS = 1000 };
/* No round in so many turns of a thread that gives its processor away after each: there will be none. */
enum { PATIENCE = 200000 };
enum { ALL_SLEEP, ALL_WORK, ERRAND, KINDS = 4 };

struct node {
    struct smr_header smr;
    uint64_t content;
};

struct member {
    struct smr_thread smr;
    struct random random;
    unsigned index;
    bool online;
};

static struct smr_shared *shared;
static struct member *members;
static line_pair_align _Atomic link_word links[LINKS];
static pthread_barrier_t barrier;
static uint64_t rounds_at_meeting;

static void set_online(struct member *m, bool online)
{
    if (m->online == online)
        return;
    m->online = online;
    if (online)
        smr_online(&m->smr);
    else
        smr_offline(&m->smr);
}

static void operate(struct member *m)
{
    uint64_t dice = random_next(&m->random);
    _Atomic link_word *link = &links[dice % LINKS];
    smr_tick(&m->smr);
    smr_op_begin(&m->smr);
    struct node *held = (struct node *)smr_protect(&m->smr, 0, link, NULL);
    if (dice / 4 % 2) {
        struct node *fresh = smr_alloc(&m->smr, 0, sizeof *fresh, _Alignof(struct node));
        fresh->content = dice;
        smr_retire(&m->smr, 0, (struct node *)exchange_acq_rel(link, (link_word)fresh));
    }
    race_window();
    node_check_live(held);
    static _Thread_local uint64_t sum;
    sum += held->content;
    smr_op_end(&m->smr);
}

static void turn(struct member *m)
{
    uint64_t dice = random_next(&m->random);
    if (!m->online && dice % 4 == 0)
        usleep((unsigned)(dice / 16 % 64));
    else if (dice % 8 == 1)
        set_online(m, !m->online);
    else if (m->online)
        operate(m);
    else
        sched_yield();
}

/* Everybody is at the barrier. */
static void check_one_token(void)
{
    unsigned parked = load_acquire(&shared->gate) & GATE_PARKED ? 1 : 0, tokens = parked, online = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        tokens += token_here(&members[i].smr);
        online += members[i].online;
    }
    if (tokens != 1)
        fail(STATUS_INVARIANT, "%u tokens with %u of %u threads online", tokens, online, THREADS);
    if (parked && online)
        fail(STATUS_INVARIANT, "the token is parked although %u threads are online", online);
}

/* The others sleep. */
static void work_alone(struct member *m)
{
    uint64_t round = smr_epoch(shared);
    set_online(m, true);
    for (unsigned i = 0; i < 8; i++)
        operate(m);
    smr_tick(&m->smr);
    smr_tick(&m->smr);
    if (smr_epoch(shared) == round || m->smr.current.nodes || m->smr.previous.nodes)
        fail(STATUS_INVARIANT, "a thread that is alone has no token");
}

/* Until two rounds are complete, the same two for all of them: who stopped earlier would stop the ring. */
static void work_together(struct member *m)
{
    set_online(m, true);
    for (unsigned i = 0; smr_epoch(shared) < rounds_at_meeting + 2; i++) {
        operate(m);
        sched_yield();
        if (i == PATIENCE)
            fail(STATUS_INVARIANT, "the token no longer goes round");
    }
}

/* Comes online, waits for the token and goes. */
static void errand(struct member *m)
{
    set_online(m, true);
    for (unsigned i = 0; !token_here(&m->smr); i++) {
        if (load_acquire(&shared->gate) & GATE_PARKED)
            fail(STATUS_INVARIANT, "the token is parked although a thread is online");
        sched_yield();
        if (i == PATIENCE)
            fail(STATUS_INVARIANT, "the token does not come");
    }
    set_online(m, false);
    sched_yield(); /* so that the other sees how it was left */
}

static void meet(struct member *m)
{
    pthread_barrier_wait(&barrier);
    if (m->index == 0) {
        check_one_token();
        rounds_at_meeting = smr_epoch(shared);
    }
    pthread_barrier_wait(&barrier);
}

static void *member_main(void *argument)
{
    struct member *m = argument;
    for (unsigned meeting = 0; meeting < MEETINGS; meeting++) {
        bool here = m->index < FIRST || meeting >= LATE * m->index;
        for (unsigned i = 0; here && i < TURNS; i++)
            turn(m);
        unsigned chosen = meeting / KINDS % THREADS, kind = meeting % KINDS;
        if (kind == ALL_SLEEP || kind == ERRAND)
            set_online(m, false);
        meet(m);
        if (kind == ALL_SLEEP) {
            if (m->index == chosen) {
                work_alone(m);
                set_online(m, here);
            }
            meet(m);
        } else if (kind == ALL_WORK && here) {
            work_together(m);
        } else if (kind == ERRAND) {
            for (unsigned i = 0; i < ERRANDS && m->index / 2 == chosen / 2; i++)
                errand(m);
            meet(m);
        }
    }
    set_online(m, false);
    meet(m);
    smr_drain(&m->smr);
    return NULL;
}

int main(int count, char **arguments)
{
    struct smr_parameters parameters = {.threads = THREADS, .frees_per_tick = 1, .token_check_every = 3};
    pthread_t handles[THREADS];
    uint64_t freed = 0;
    meta_init();
    shared = meta_alloc(sizeof *shared);
    members = meta_alloc(THREADS * sizeof *members);
    smr_init(shared, &parameters);
    for (unsigned i = 0; i < THREADS; i++) {
        members[i].index = i;
        random_seed(&members[i].random, count > 1 ? strtoul(arguments[1], NULL, 10) : 1, i);
        smr_thread_init(&members[i].smr, shared, i);
    }
    for (unsigned i = 0; i < LINKS; i++) {
        struct node *node = smr_alloc(&members[0].smr, 0, sizeof *node, _Alignof(struct node));
        node->content = i;
        store_release(&links[i], (link_word)node);
    }
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&handles[i], NULL, member_main, &members[i]);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(handles[i], NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        freed += members[i].smr.fp.account.freed;
        if (members[i].smr.fp.account.freed != members[i].smr.fp.account.retired)
            fail(STATUS_INVARIANT, "thread %u left nodes behind", i);
    }
    printf("freed %lu\n", freed);
    return 0;
}
