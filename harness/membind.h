/* SPDX-License-Identifier: MIT */
/* Where memory comes from: the NUMA policy of the process.
 *
 * The policy belongs to the calling thread and is inherited by every thread it creates later, and it decides at the
 * first touch of a page, whoever mapped it. So it is set on the main thread, before the first worker exists; pages that
 * an allocator has touched earlier stay where they are. */
#ifndef RB_MEMBIND_H
#define RB_MEMBIND_H

#include "placement.h"

/* Sets the policy named by word and reads it back; returns the effective name for the row.
 *   interleave  pages go round over all allowed nodes
 *   local       pages go to the node of the unit that touches them first; the kernel does not migrate them later
 *   none        the kernel's default, whatever the process inherited; automatic balancing may migrate pages
 * STATUS_USAGE for another word, STATUS_UNSUPPORTED where the kernel has no policies or does not permit them
 * (containers often do not), STATUS_BIND_FAILED if what is read back is not what was set. `none` asks for nothing, so
 * where it cannot be read back the answer is "unknown" and no failure. */
const char *membind_set(const struct placement *, const char *word);

/* The nodes that the kernel allows this process; false if it does not say. */
struct node_set;
bool membind_allowed(struct node_set *);

#endif
