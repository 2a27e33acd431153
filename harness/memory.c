/* SPDX-License-Identifier: MIT */
#include "memory.h"

#include "cgroup.h"
#include "kernel_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct memory_usage memory_usage(void)
{
    struct memory_usage usage = {-1, -1};
    char text[4096];
    if (kernel_file_read("/proc/self/status", text, sizeof text)) {
        kernel_text_field(text, "VmRSS", &usage.resident);
        kernel_text_field(text, "VmHWM", &usage.peak);
    }
    /* Since kernel 6.2 VmRSS may leave out what each CPU has not yet added to the common sum: up to 2 * CPUs^2 pages,
     * 288 MB with 192 CPUs. smaps_rollup counts the pages. VmHWM has no exact sibling, but the peak was never less than
     * what is there now. */
    long long exact;
    if (kernel_file_read("/proc/self/smaps_rollup", text, sizeof text) && kernel_text_field(text, "Rss", &exact)) {
        usage.resident = exact;
        if (usage.peak >= 0 && usage.peak < exact)
            usage.peak = exact;
    }
    return usage;
}

const char *memory_reset_peak(void)
{
    int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return strerror(errno);
    ssize_t written = write(file, "5", 1);
    int error = errno;
    close(file);
    return written == 1 ? NULL : strerror(error);
}

/* What a group has left: its page cache counts as used, but gives way. */
static long long left_in(const struct cgroup *group)
{
    long long limit, used, cache = 0, part;
    if (!cgroup_number(group, group->version2 ? "memory.max" : "memory.limit_in_bytes", &limit) ||
        !cgroup_number(group, group->version2 ? "memory.current" : "memory.usage_in_bytes", &used))
        return -1;
    char text[8192];
    if (cgroup_read(group, "memory.stat", text, sizeof text)) {
        if (kernel_text_field(text, group->version2 ? "inactive_file" : "total_inactive_file", &part))
            cache += part;
        if (kernel_text_field(text, group->version2 ? "active_file" : "total_active_file", &part))
            cache += part;
    }
    long long left = limit - used + cache;
    return left > 0 ? left : 0;
}

long long memory_available(void)
{
    long long available = -1;
    char text[4096];
    if (kernel_file_read("/proc/meminfo", text, sizeof text))
        kernel_text_field(text, "MemAvailable", &available);
    struct cgroup group;
    for (bool there = cgroup_of_self(&group, "memory"); there; there = cgroup_parent(&group)) {
        long long left = left_in(&group);
        if (left >= 0 && (available < 0 || left < available))
            available = left;
    }
    return available;
}

long long memory_max_mappings(void)
{
    long long most = -1;
    kernel_file_number("/proc/sys/vm/max_map_count", &most);
    return most;
}

long long memory_mappings(void)
{
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    long long lines = 0;
    char part[4096];
    for (;;) {
        ssize_t got = read(file, part, sizeof part);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        for (ssize_t i = 0; i < got; i++)
            lines += part[i] == '\n';
    }
    close(file);
    return lines;
}
