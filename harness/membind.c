/* SPDX-License-Identifier: MIT */
/* Two system calls and nothing else: libnuma and hwloc would each add a library that allocates while the policy
 * changes. */
#include "membind.h"

#include "error.h"
#include "placement_state.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct policy {
    const char *word;
    int mode;
};

static const struct policy policies[] = {
    {"interleave", MPOL_INTERLEAVE},
    {"local", MPOL_LOCAL},
    {"none", MPOL_DEFAULT},
};

/* The kernel reads one bit less than it is told. */
static long get_policy(int *mode, struct node_set *nodes, unsigned long flags)
{
    return syscall(SYS_get_mempolicy, mode, nodes->word, (unsigned long)MOST_NODES + 1, NULL, flags);
}

static long set_policy(int mode, const struct node_set *nodes)
{
    return syscall(SYS_set_mempolicy, mode, nodes ? nodes->word : NULL, nodes ? (unsigned long)MOST_NODES + 1 : 0);
}

bool membind_allowed(struct node_set *nodes)
{
    *nodes = (struct node_set){0};
    return get_policy(NULL, nodes, MPOL_F_MEMS_ALLOWED) == 0;
}

static const struct policy *find(const char *word)
{
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (strcmp(policies[i].word, word) == 0)
            return &policies[i];
    fail(STATUS_USAGE, "wanted interleave, local or none for --membind, found '%s': choose one", word);
}

/* The kernel drops nodes without memory from an interleave set, so a part of what was wanted is right; nothing is not.
 */
static bool part_of(const struct node_set *found, const struct node_set *wanted)
{
    unsigned long any_wanted = 0, any_found = 0;
    for (unsigned w = 0; w < NODE_WORDS; w++) {
        if (found->word[w] & ~wanted->word[w])
            return false;
        any_wanted |= wanted->word[w];
        any_found |= found->word[w];
    }
    return any_found || !any_wanted;
}

/* Kernels before 5.14 answer MPOL_LOCAL with its implementation, a preference for no node in particular. */
static bool same_mode(int found, int wanted)
{
    return found == wanted || (wanted == MPOL_LOCAL && found == MPOL_PREFERRED);
}

const char *membind_set(const struct placement *p, const char *word)
{
    const struct policy *policy = find(word);
    placement_refuse_foreign(p);
    struct node_set wanted = {0}, found = {0};
    if (policy->mode == MPOL_INTERLEAVE)
        wanted = p->memory;
    int mode = -1;
    if (set_policy(policy->mode, policy->mode == MPOL_INTERLEAVE ? &wanted : NULL) != 0 ||
        get_policy(&mode, &found, 0) != 0) {
        if (policy->mode == MPOL_DEFAULT)
            return "unknown";
        fail(STATUS_UNSUPPORTED,
             "wanted --membind=%s over %u nodes, the kernel says '%s': use --membind=none, or give the container "
             "CAP_SYS_NICE",
             word, p->nodes, strerror(errno));
    }
    if (!same_mode(mode, policy->mode) || !part_of(&found, &wanted))
        fail(STATUS_BIND_FAILED,
             "wanted --membind=%s over %u nodes, get_mempolicy reads back mode %d: use --membind=none", word, p->nodes,
             mode);
    return policy->word;
}
