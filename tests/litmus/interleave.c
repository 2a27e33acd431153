/* SPDX-License-Identifier: MIT */
/* A reclaimer's logic under random interleavings: several virtual threads, each a little script of the calls that a
 * structure makes, run by one real thread that chooses at each step whose turn it is. Nothing depends on timing, so a
 * stall between any two calls, however long, is as likely as none; memory order is the litmus test's (announce.c).
 *
 * After every step each node that some virtual thread still holds must be live. Built with CHECK=1 like combo.c:
 * -DSMR=ebr -DFP=batch. Argument: the seed. Exit status 1 and the invariant of account.h when a node was freed too early. */
#pragma GCC diagnostic ignored "-Wunused-function"

#include "compiler.h"
#define HEADER(name) STRING(name.h)
#include HEADER(FP)
#include HEADER(SMR)
#include "random.h"

#include <stdio.h>

enum { THREADS = 4, LINKS = 2, STEPS = 100000, SLOTS = 2 };

struct node {
    struct smr_header smr;
    uint64_t content;
};

/* What a virtual thread calls next. */
enum step { JOIN, TICK, BEGIN, WORK, END };

struct virtual_thread {
    struct smr_thread smr;
    enum step next;
    struct node *held[SLOTS];
};

static struct smr_shared *shared;
static struct virtual_thread *threads;
static _Atomic link_word links[LINKS];

static void replace(struct virtual_thread *v, _Atomic link_word *link)
{
    struct node *fresh = smr_alloc(&v->smr, 0, sizeof *fresh, _Alignof(struct node));
    struct node *old = (struct node *)exchange_acq_rel(link, (link_word)fresh);
    if (old)
        smr_retire(&v->smr, 0, old);
}

/* One turn inside an operation: read a link, write one, or come to the end. */
static void work(struct virtual_thread *v, uint64_t dice)
{
    _Atomic link_word *link = &links[dice / 8 % LINKS];
    unsigned slot = (unsigned)(dice / 16 % SLOTS);
    switch (dice % 8) {
    case 0:
    case 1:
    case 2:
        v->held[slot] = (struct node *)smr_protect(&v->smr, slot, link, NULL);
        break;
    case 3:
    case 4:
        replace(v, link);
        break;
    default:
        v->next = END;
    }
}

static void step(struct virtual_thread *v, uint64_t dice)
{
    switch (v->next) {
    case JOIN:
        smr_online(&v->smr);
        v->next = TICK;
        break;
    case TICK:
        if (dice % 32 == 0) {
            smr_offline(&v->smr);
            v->next = JOIN;
            break;
        }
        smr_tick(&v->smr);
        v->next = BEGIN;
        break;
    case BEGIN:
        smr_op_begin(&v->smr);
        v->next = WORK;
        break;
    case WORK:
        work(v, dice);
        break;
    case END:
        for (unsigned slot = 0; slot < SLOTS; slot++)
            v->held[slot] = NULL;
        smr_op_end(&v->smr);
        v->next = TICK;
    }
}

static void check_held(void)
{
    for (unsigned i = 0; i < THREADS; i++)
        for (unsigned slot = 0; slot < SLOTS; slot++)
            if (threads[i].held[slot])
                node_check_live(threads[i].held[slot]);
}

int main(int count, char **arguments)
{
    struct smr_parameters parameters = {
        .threads = THREADS, .batch_size = 1, .epoch_frequency = 1, .frees_per_tick = 1, .token_check_every = 1};
    struct random random;
    uint64_t freed = 0;
    random_seed(&random, count > 1 ? strtoul(arguments[1], NULL, 10) : 1, 0);
    meta_init();
    shared = meta_alloc(sizeof *shared);
    threads = meta_alloc(THREADS * sizeof *threads);
    smr_init(shared, &parameters);
    for (unsigned i = 0; i < THREADS; i++)
        smr_thread_init(&threads[i].smr, shared, i);
    for (unsigned at = 0; at < STEPS; at++) {
        /* Mostly another turn of the same thread: runs that are long enough for epochs to pass while the others stall. */
        static unsigned turn;
        uint64_t dice = random_next(&random);
        if (dice % 16 < 3)
            turn = (unsigned)(dice / 16 % THREADS);
        step(&threads[turn], dice >> 32);
        check_held();
    }
    for (unsigned i = 0; i < THREADS; i++)
        freed += threads[i].smr.fp.account.freed;
    printf("freed %lu\n", freed);
    return 0;
}
