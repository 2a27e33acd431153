/* SPDX-License-Identifier: MIT */
/* What a placement holds. Shared by placement_topology.c (fills the tables), placement_plan.c (orders them),
 * placement_bind.c (gives them to the kernel) and membind.c; nobody else includes it. */
#ifndef RB_PLACEMENT_STATE_H
#define RB_PLACEMENT_STATE_H

#include "compiler.h"

#include <sched.h>

/* The kernel's own upper bounds (NR_CPUS and MAX_NUMNODES of the largest configurations): fixed sets need no sizing
 * loop, and sched_getaffinity refuses sets smaller than the kernel's. */
enum { MOST_UNITS = 8192, MOST_NODES = 1024 };

struct unit_set {
    cpu_set_t part[MOST_UNITS / CPU_SETSIZE];
};

enum { NODE_WORD_BITS = 8 * sizeof(unsigned long), NODE_WORDS = MOST_NODES / NODE_WORD_BITS };

struct node_set {
    unsigned long word[NODE_WORDS];
};

struct unit {
    int os;
    unsigned core;
    unsigned socket;
    int node;         /* the nearest; -1 if no node is near */
    int kind;         /* of core: higher is faster; 0 where all are alike or nobody knows */
    unsigned sibling; /* 0 for the first allowed unit of its core, 1 for the second ... */
};

struct placement {
    const char *topology; /* as given to placement_open */
    struct unit *unit;    /* the allowed ones, in the order of `fill` */
    unsigned units, cores, sockets, nodes, kinds;
    struct unit_set allowed;
    struct node_set memory; /* nodes whose memory is allowed */

    const char *order;
    unsigned threads;
    bool oversubscribed;
    const struct unit **plan; /* by thread; NULL with order none */
    const struct unit *helper;
};

inlined void unit_set_add(struct unit_set *set, int unit)
{
    CPU_SET_S((size_t)unit, sizeof *set, set->part);
}

inlined bool unit_set_has(const struct unit_set *set, int unit)
{
    return CPU_ISSET_S((size_t)unit, sizeof *set, set->part);
}

/* In placement_plan.c: brings the units into the order of `fill`. */
void placement_sort(struct placement *);

/* In placement_print.c: the set as a list of ranges, by the same rule as placement_format. */
void unit_set_format(const struct unit_set *, char *buffer, size_t size);

/* In placement_bind.c: ends the process if the placement describes another machine. */
void placement_refuse_foreign(const struct placement *);

#endif
