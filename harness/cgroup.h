/* SPDX-License-Identifier: MIT */
/* Where this process's control group lies in the file system, for both cgroup versions, in and out of containers.
 *
 *     struct cgroup group;
 *     for (bool there = cgroup_of_self(&group, "memory"); there; there = cgroup_parent(&group))
 *         ... cgroup_read(&group, "memory.max", ...) ...
 *
 * visits the group and then its parents, whose limits hold for it too. No malloc; what cannot be found gives false. */
#ifndef RB_CGROUP_H
#define RB_CGROUP_H

#include "compiler.h"

struct cgroup {
    bool version2;
    size_t root_length; /* of the mount point in path: parents end there */
    char path[512];
};

bool cgroup_of_self(struct cgroup *, const char *controller);
bool cgroup_parent(struct cgroup *);

bool cgroup_read(const struct cgroup *, const char *file, char *text, size_t size);
bool cgroup_number(const struct cgroup *, const char *file, long long *number);

#endif
