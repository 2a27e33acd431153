/* SPDX-License-Identifier: MIT */
#include "cpu_check.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>

/* Register state that the operating system saves; without it the instructions fault on any CPU. */
static unsigned saved_state(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return a;
}

static bool has(const struct cpu_feature *feature)
{
    unsigned words[4] = {0};
    /* The subleaf must exist too: CPUs answer for leaf 7 with the largest subleaf they know. */
    if (feature->subleaf && (!__get_cpuid_count(feature->leaf, 0, &words[0], &words[1], &words[2], &words[3]) ||
                             words[0] < feature->subleaf))
        return false;
    if (!__get_cpuid_count(feature->leaf, feature->subleaf, &words[0], &words[1], &words[2], &words[3]))
        return false;
    return words[feature->word] >> feature->bit & 1 && (saved_state() & feature->state) == feature->state;
}

static const char *buildable(void)
{
    static const char *const names[] = {"x86-64", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
    unsigned missing = 5;
    for (size_t i = 0; i < cpu_feature_count; i++)
        if (cpu_features[i].level && cpu_features[i].level < missing && !has(&cpu_features[i]))
            missing = cpu_features[i].level;
    return names[missing - 1];
}
#else
#include <sys/auxv.h>

static bool has(const struct cpu_feature *feature)
{
    return getauxval(feature->leaf) >> feature->bit & 1;
}

static const char *buildable(void)
{
    return "armv8-a";
}
#endif

void cpu_check(const struct cpu_feature *features, size_t count)
{
    char missing[512] = "";
    for (size_t i = 0; i < count; i++) {
        if (*features[i].macro == '_' || has(&features[i]))
            continue;
        size_t used = strlen(missing);
        snprintf(missing + used, sizeof missing - used, " %s", features[i].name);
    }
    if (!*missing)
        return;
    /* Not by fail: that was compiled for the machine that is missing. */
    char line[768];
    int length = snprintf(
        line, sizeof line,
        "reclaimbench: unsupported: wanted a CPU with the instructions this binary was built for, found one without"
        "%s: do `make MARCH=%s`, or `make MARCH=native` on this machine\n",
        missing, buildable());
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        _exit(2);
    _exit(2);
}

/* 101 is the first priority that is not the compiler's own. */
__attribute__((constructor(101))) static void check_build(void)
{
    cpu_check(cpu_features, cpu_feature_count);
}
