/* SPDX-License-Identifier: MIT */
#include "cgroup.h"

#include "kernel_file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Is `word` one of the words between commas from `list` to `end`? */
static bool in_list(const char *list, const char *end, const char *word)
{
    size_t length = strlen(word);
    while (list < end) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        const char *stop = comma ? comma : end;
        if ((size_t)(stop - list) == length && !memcmp(list, word, length))
            return true;
        list = stop + 1;
    }
    return false;
}

/* Lines of /proc/self/cgroup are "number:controllers:path"; version 2 is the one line without controllers. */
static bool path_in_hierarchy(const char *text, const char *controller, char *path, size_t size)
{
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *list = strchr(line, ':');
        const char *at = list ? strchr(list + 1, ':') : NULL;
        if (!at)
            return false;
        list++;
        if (controller ? !in_list(list, at, controller) : list != at)
            continue;
        size_t length = strcspn(at + 1, "\n");
        snprintf(path, size, "%.*s", (int)length, at + 1);
        return true;
    }
    return false;
}

static bool locate(struct cgroup *group, const char *mount, const char *path)
{
    if (access(mount, F_OK))
        return false;
    group->root_length = strlen(mount);
    int length = snprintf(group->path, sizeof group->path, "%s%s", mount, strcmp(path, "/") ? path : "");
    /* In a container without a cgroup namespace the path is the host's, and the mount point is already the group. */
    if (length >= (int)sizeof group->path || access(group->path, F_OK))
        snprintf(group->path, sizeof group->path, "%s", mount);
    return true;
}

bool cgroup_of_self(struct cgroup *group, const char *controller)
{
    char text[4096], path[384], mount[64];
    if (!kernel_file_read("/proc/self/cgroup", text, sizeof text))
        return false;
    if (path_in_hierarchy(text, controller, path, sizeof path)) {
        group->version2 = false;
        snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", controller);
        return locate(group, mount, path);
    }
    if (!path_in_hierarchy(text, NULL, path, sizeof path))
        return false;
    group->version2 = true;
    bool unified = !access("/sys/fs/cgroup/cgroup.controllers", F_OK);
    return locate(group, unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/unified", path);
}

bool cgroup_parent(struct cgroup *group)
{
    if (strlen(group->path) <= group->root_length)
        return false;
    *strrchr(group->path, '/') = 0;
    return true;
}

bool cgroup_read(const struct cgroup *group, const char *file, char *text, size_t size)
{
    char path[sizeof group->path + 64];
    snprintf(path, sizeof path, "%s/%s", group->path, file);
    return kernel_file_read(path, text, size);
}

bool cgroup_number(const struct cgroup *group, const char *file, long long *number)
{
    char path[sizeof group->path + 64];
    snprintf(path, sizeof path, "%s/%s", group->path, file);
    return kernel_file_number(path, number);
}
