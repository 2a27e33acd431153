/* SPDX-License-Identifier: MIT */
#include "host.h"

#include "cgroup.h"
#include "kernel_file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { LENGTH = 256 };

/* A reader leaves value as it is, empty, where there is nothing to read. */
static void read_kernel(char *value)
{
    struct utsname name;
    if (!uname(&name))
        snprintf(value, LENGTH, "%s", name.release);
}

/* The text after "key<blanks>:" in the first processor's paragraph of /proc/cpuinfo. */
static bool cpuinfo(const char *key, char *value, size_t size)
{
    char text[4096];
    if (!kernel_file_read("/proc/cpuinfo", text, sizeof text))
        return false;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char *colon = strchr(line, ':');
        if (colon && !strncmp(line, key, strlen(key)) && strspn(line + strlen(key), " \t:")) {
            snprintf(value, size, "%s", colon + 1 + strspn(colon + 1, " "));
            return true;
        }
    }
    return false;
}

static void read_cpu_model(char *value)
{
    if (cpuinfo("model name", value, LENGTH))
        return;
    /* Arm gives numbers only; they identify the core all the same. */
    char implementer[32], part[32];
    if (cpuinfo("CPU implementer", implementer, sizeof implementer) && cpuinfo("CPU part", part, sizeof part))
        snprintf(value, LENGTH, "implementer %s part %s", implementer, part);
}

static void read_hypervisor(char *value)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return;
    if (!(c >> 31 & 1)) {
        snprintf(value, LENGTH, "none");
        return;
    }
    /* Leaf 0x40000000 is outside of what __get_cpuid accepts; bit 31 says that it exists. */
    unsigned name[4] = {0};
    __cpuid(0x40000000, a, name[0], name[1], name[2]);
    snprintf(value, LENGTH, "%s", *(const char *)name ? (const char *)name : "unknown");
#else
    kernel_file_read("/sys/hypervisor/type", value, LENGTH);
#endif
}

static void read_smt(char *value)
{
    kernel_file_read("/sys/devices/system/cpu/smt/control", value, LENGTH);
}

/* One governor for all CPUs, or "mixed". */
static void read_governor(char *value)
{
    for (int cpu = 0; cpu < get_nprocs_conf(); cpu++) {
        char path[96], governor[64];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu);
        if (!kernel_file_read(path, governor, sizeof governor))
            continue;
        bool differs = *value && strcmp(value, governor);
        snprintf(value, LENGTH, "%s", differs ? "mixed" : governor);
        if (differs)
            return;
    }
}

static void read_turbo(char *value)
{
    long long number;
    if (kernel_file_number("/sys/devices/system/cpu/intel_pstate/no_turbo", &number))
        snprintf(value, LENGTH, "%s", number ? "off" : "on");
    else if (kernel_file_number("/sys/devices/system/cpu/cpufreq/boost", &number))
        snprintf(value, LENGTH, "%s", number ? "on" : "off");
}

static void read_clocksource(char *value)
{
    kernel_file_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", value, LENGTH);
}

/* Such files list all choices with the one in force in brackets. */
static void read_bracketed(const char *path, char *value)
{
    char text[256];
    if (!kernel_file_read(path, text, sizeof text))
        return;
    char *from = strchr(text, '['), *to = from ? strchr(from, ']') : NULL;
    if (to)
        snprintf(value, LENGTH, "%.*s", (int)(to - from - 1), from + 1);
}

static void read_thp(char *value)
{
    read_bracketed("/sys/kernel/mm/transparent_hugepage/enabled", value);
}

static void read_thp_defrag(char *value)
{
    read_bracketed("/sys/kernel/mm/transparent_hugepage/defrag", value);
}

static void read_numa_balancing(char *value)
{
    kernel_file_read("/proc/sys/kernel/numa_balancing", value, LENGTH);
}

static void read_aslr(char *value)
{
    /* `setarch -R` turns it off for one process, whatever the system says. */
    int persona = personality(0xffffffff);
    if (persona != -1 && persona & ADDR_NO_RANDOMIZE)
        snprintf(value, LENGTH, "0");
    else
        kernel_file_read("/proc/sys/kernel/randomize_va_space", value, LENGTH);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* "on: spectre_v1 spectre_v2; vulnerable: mds": what costs time, and what is left out; what does not concern this CPU
 * is not listed. */
static void read_mitigations(char *value)
{
    enum { MOST = 64, NAME = 64 };
    static const char folder[] = "/sys/devices/system/cpu/vulnerabilities";
    char names[MOST][NAME];
    size_t count = 0;
    DIR *directory = opendir(folder);
    if (!directory)
        return;
    for (struct dirent *entry; (entry = readdir(directory)) && count < MOST;)
        if (*entry->d_name != '.')
            snprintf(names[count++], NAME, "%.*s", NAME - 1, entry->d_name);
    closedir(directory);
    qsort(names, count, NAME, compare_names);

    char lists[2][LENGTH] = {"", ""};
    for (size_t i = 0; i < count; i++) {
        char path[sizeof folder + NAME + 1], text[256];
        snprintf(path, sizeof path, "%s/%.*s", folder, NAME - 1, names[i]);
        if (!kernel_file_read(path, text, sizeof text))
            continue;
        /* A mitigation may leave a variant open: "Mitigation: ...; BHI: Vulnerable". */
        int which = strstr(text, "Vulnerable") ? 1 : !strncmp(text, "Mitigation", 10) ? 0 : -1;
        if (which < 0)
            continue;
        size_t used = strlen(lists[which]);
        snprintf(lists[which] + used, LENGTH - used, " %s", names[i]);
    }
    snprintf(value, LENGTH, "on:%.120s; vulnerable:%.100s", *lists[0] ? lists[0] : " none",
             *lists[1] ? lists[1] : " none");
}

/* The smallest quota on the way up, in CPUs. */
static void read_cgroup_cpus(char *value)
{
    double least = -1;
    bool found = false;
    struct cgroup group;
    for (bool there = cgroup_of_self(&group, "cpu"); there; there = cgroup_parent(&group)) {
        char text[64];
        long long quota = -1, period = 0;
        if (group.version2) {
            if (!cgroup_read(&group, "cpu.max", text, sizeof text))
                continue;
            found = true;
            if (sscanf(text, "%lld %lld", &quota, &period) != 2)
                continue;
        } else if (cgroup_number(&group, "cpu.cfs_quota_us", &quota) &&
                   cgroup_number(&group, "cpu.cfs_period_us", &period)) {
            found = true;
        }
        if (quota > 0 && period > 0 && (least < 0 || (double)quota / (double)period < least))
            least = (double)quota / (double)period;
    }
    if (least >= 0)
        snprintf(value, LENGTH, "%.2f", least);
    else if (found)
        snprintf(value, LENGTH, "max");
}

static const struct {
    const char *name, *meaning;
    void (*read)(char *value);
} readers[] = {
    {"host_kernel", "kernel release", read_kernel},
    {"host_cpu_model", "CPU model", read_cpu_model},
    {"host_hypervisor", "hypervisor's name, or none", read_hypervisor},
    {"host_smt", "simultaneous multithreading: on, off, notsupported", read_smt},
    {"host_governor", "frequency governor of all CPUs, or mixed", read_governor},
    {"host_turbo", "turbo or boost: on, off", read_turbo},
    {"host_clocksource", "the kernel's clock source", read_clocksource},
    {"host_thp", "transparent huge pages: always, madvise, never", read_thp},
    {"host_thp_defrag", "when a huge page may be waited for", read_thp_defrag},
    {"host_numa_balancing", "automatic NUMA balancing: 0 is off", read_numa_balancing},
    {"host_aslr", "address space randomisation of this process: 0, 1, 2", read_aslr},
    {"host_mitigations", "mitigations of CPU vulnerabilities in force, and vulnerabilities left open",
     read_mitigations},
    {"host_cgroup_cpus", "CPU quota of the control group in CPUs, or max", read_cgroup_cpus},
};

enum { FACTS = sizeof readers / sizeof *readers };

const struct host_fact *host_facts(size_t *count)
{
    static struct host_fact facts[FACTS];
    static char values[FACTS][LENGTH];
    *count = FACTS;
    if (facts[0].name)
        return facts;
    for (size_t i = 0; i < FACTS; i++) {
        readers[i].read(values[i]);
        /* What the contract keeps out, a CPU vendor may have put in. */
        for (char *c = values[i]; *c; c++)
            if (strchr(",\"\n\r", *c))
                *c = ' ';
        facts[i] = (struct host_fact){readers[i].name, readers[i].meaning, values[i]};
    }
    return facts;
}

struct host_throttling host_throttling(void)
{
    struct host_throttling sum = {-1, -1};
    struct cgroup group;
    /* A quota anywhere above stops us too. */
    for (bool there = cgroup_of_self(&group, "cpu"); there; there = cgroup_parent(&group)) {
        char text[4096];
        long long count, time;
        if (!cgroup_read(&group, "cpu.stat", text, sizeof text) || !kernel_text_field(text, "nr_throttled", &count))
            continue;
        if (!kernel_text_field(text, "throttled_usec", &time)) {
            if (!kernel_text_field(text, "throttled_time", &time))
                continue;
            time /= 1000; /* version 1 counts nanoseconds */
        }
        sum.periods_throttled = count + (sum.periods_throttled < 0 ? 0 : sum.periods_throttled);
        sum.throttled_us = time + (sum.throttled_us < 0 ? 0 : sum.throttled_us);
    }
    return sum;
}

void host_throttling_subtract(struct host_throttling *later, const struct host_throttling *earlier)
{
    bool available = later->throttled_us >= 0 && earlier->throttled_us >= 0;
    later->periods_throttled = available ? later->periods_throttled - earlier->periods_throttled : -1;
    later->throttled_us = available ? later->throttled_us - earlier->throttled_us : -1;
}
