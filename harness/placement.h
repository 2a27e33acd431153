/* SPDX-License-Identifier: MIT */
/* Where threads run: which units (logical CPUs) this process may use, in which order they are given to threads, and the
 * proof that each thread is where it was put.
 *
 * Order of calls, all on the main thread unless said otherwise:
 *   meta_init, placement_open, placement_threads, placement_plan, membind_set (membind.h), placement_bind_main,
 *   placement_attributes for every worker; each worker calls placement_verify first and last.
 * hwloc is loaded, read into plain tables and destroyed inside placement_open: nothing of it
 * is left when they return, so no worker ever meets it. A placement lies in the arena (meta.h) and is never given back;
 * there is nothing to close. After placement_plan it is read-only: every function that takes a const placement is
 * thread-safe.
 *
 * Numbers. A unit and a node are the operating system's numbers (what taskset and numactl take). A core and a socket
 * are counted over the whole machine that is online (hwloc's logical indices), so that a unit's line is the same
 * whether or not a cgroup or taskset hides its neighbours. Counts (placement_units ...) are those of the allowed set
 * only.
 *
 * Errors end the process through fail(): STATUS_USAGE for options, STATUS_BIND_FAILED where the kernel refuses a place,
 * STATUS_UNSUPPORTED where this machine cannot be read. */
#ifndef RB_PLACEMENT_H
#define RB_PLACEMENT_H

#include "compiler.h"

#include <pthread.h>
#include <stdio.h>

struct placement;

/* NULL: this machine, restricted to what sched_getaffinity allows the caller now (it knows cgroups, taskset and offline
 * units), so call it before anything binds the main thread. Otherwise another machine: the path of an hwloc XML file,
 * or an hwloc synthetic description such as "pack:4 core:24 pu:2". */
struct placement *placement_open(const char *topology);

/* True if it was opened from a description: it can be planned and printed, and binding to it is refused. */
bool placement_foreign(const struct placement *);

unsigned placement_sockets(const struct placement *);
unsigned placement_cores(const struct placement *);
unsigned placement_units(const struct placement *);
unsigned placement_nodes(const struct placement *);
unsigned placement_kinds(const struct placement *); /* of cores; 1 unless the machine is a hybrid */

/* A thread count from the word of an option: a number, `core` (allowed units of the core that `fill` takes first), `socket` (of its
 * socket), `all`, or `2x`, `3x` ... (so many times all). */
unsigned placement_threads(const struct placement *, const char *option, const char *word);

/* Assigns a unit to each of the threads 0..threads-1. order is one of
 *   fill     a core with all its SMT siblings, then the next core, then the next socket
 *   cores    one thread on every core, socket by socket; then every second sibling, and so on
 *   scatter  round over the sockets, distinct cores first, siblings last
 *   none     no unit; each thread may run on the whole allowed set
 *   list:0,2-5  these units in this order; each must be allowed and, without oversubscribe, named once
 * Within a socket the faster kind of core comes first on hybrid machines. More threads than units (than list entries)
 * need oversubscribe, which starts again at the order's first unit; otherwise the call fails. The last `guests` of the
 * threads are paced: mostly asleep, they need no unit of their own, and wrap around without being asked. May be called
 * again. */
void placement_plan(struct placement *, const char *order, unsigned threads, unsigned guests, bool oversubscribe);

/* True if two threads of the plan share a unit, or, with order none, must. */
bool placement_oversubscribed(const struct placement *);

/* The unit of a thread; -1 with order none. */
int placement_unit(const struct placement *, unsigned thread);

/* Puts the thread's place into the attributes with which it will be created, so that its first touch of memory already
 * happens there. With order none that place is the allowed set, spelled out, because threads inherit the main thread's.
 */
void placement_attributes(const struct placement *, unsigned thread, pthread_attr_t *);

/* In the worker itself: compares sched_getaffinity and sched_getcpu with the plan. False with one sentence in why. No
 * locks and no malloc; two system calls. */
bool placement_verify(const struct placement *, unsigned thread, char *why, size_t size);

/* The place of threads that are no workers (main, sampler): an allowed unit that no worker has, on an otherwise idle
 * core if there is one; -1 and the whole allowed set if the plan leaves no unit free or the order is none. */
int placement_helper_unit(const struct placement *);
void placement_helper_attributes(const struct placement *, pthread_attr_t *);
void placement_bind_main(const struct placement *);

/* The plan as text, one line a thread; docs/placement.md has the format. */
void placement_print(const struct placement *, FILE *);

/* The plan as one word for the row: units in thread order, runs that climb by one as FIRST-LAST, separated by commas
 * ("0-23,96-119"); `any` with order none. It is what `list:` accepts. PLACEMENT_FORMAT_BYTES(threads) always suffice; a
 * smaller buffer that does not is a broken invariant, never a shortened list. */
#define PLACEMENT_FORMAT_BYTES(threads) (8 * (size_t)(threads) + 8)
void placement_format(const struct placement *, char *buffer, size_t size);

#endif
