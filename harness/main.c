/* SPDX-License-Identifier: MIT */
#include "build_info.h"
#include "clock.h"
#include "cpu_check.h"
#include "meta.h"
#include "plan.h"
#include "row.h"
#include "sampler.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_version(void)
{
    printf("reclaimbench %s, %s build for %s by %s\n", build_commit, build_variant, build_march, build_compiler);
}

static void print_allocators(void)
{
    size_t count;
    const struct allocator_listing *allocator = allocator_list(&count);
    puts("allocator,installed,path,package");
    for (size_t i = 0; i < count; i++)
        printf("%s,%d,%s,%s\n", allocator[i].name, allocator[i].path != NULL,
               allocator[i].path ? allocator[i].path : "", allocator[i].package);
}

/* Trace points exist in a binary of their own beside this one, so that this one's objects are free of them. */
static void exec_instrumented(char **argv)
{
    char path[PATH_MAX + 16];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    if (length > 0) {
        snprintf(path + length, sizeof path - (size_t)length, "-traced");
        execv(path, argv);
    }
    fail(STATUS_UNSUPPORTED, "wanted '%s' for --trace or --time-free, found '%s': run make",
         length > 0 ? path : "/proc/self/exe", strerror(errno));
}

/* What needs no plan. True: done. */
static bool answer(const struct options *o)
{
    if (o->help)
        options_help(stdout);
    else if (o->version)
        print_version();
    else if (strcmp(o->list, "allocators") == 0)
        print_allocators();
    else if (*o->list)
        plan_list(o->list);
    else
        return false;
    return true;
}

static void plan_only(const struct options *o)
{
    struct placement *machine = placement_open(*o->topology ? o->topology : NULL);
    plan_pinning(o, machine);
    placement_print(machine, stdout);
}

/* Output that a full disk or a closed pipe swallowed must not look like success; also what stdio wrote earlier. */
static int printed(void)
{
    bool lost = ferror(stdout) != 0;
    if (fflush(stdout) != 0 || lost)
        fail(STATUS_USAGE, "wanted to print the answer, found '%s': give standard output room",
             strerror(errno ? errno : ENOSPC));
    return 0;
}

static int run(const struct plan *plan)
{
    const struct options *o = plan->options;
    struct result *result = meta_alloc(sizeof *result);
    trial_run(plan, result);
    if (result->status == STATUS_OK)
        sampler_write(plan, result);
    if (*o->csv)
        row_write(plan, result, o->csv);
    else if (result->status == STATUS_OK)
        row_summary(plan, result);
    if (result->status != STATUS_OK)
        fail(result->status, "%s", result->why);
    return printed();
}

/* A trace replaces its file: rows that were there before would be gone. */
static void check_trace(const struct options *o)
{
    if (!*o->trace)
        return;
    if (strcmp(o->trace, "-") == 0 || strcmp(o->trace, o->csv) == 0 || strcmp(o->trace, o->samples) == 0)
        fail(STATUS_USAGE, "wanted --trace=FILE with a file of its own, found '%s': name another", o->trace);
    trace_check_file(o->trace);
}

int main(int argc, char **argv)
{
    static struct options options;
    struct plan plan;
    meta_init();
    /* A reader that has left is then an error of the write, which says so. */
    signal(SIGPIPE, SIG_IGN);
    options_parse(&options, argc, argv);
    if (answer(&options))
        return printed();
    if (*options.topology && !options.plan_pinning)
        fail(STATUS_USAGE, "wanted --plan-pinning with --topology, found a trial: another machine can only be planned");
    if (options.plan_pinning) {
        plan_only(&options);
        return printed();
    }
    if (!TRACE && (*options.trace || options.time_free) && !options.check)
        exec_instrumented(argv);
    preload_ensure(options.allocator, argv);
    clock_init();
    plan_make(&plan, &options, placement_open(NULL));
    plan.allocator = allocator_prove(options.allocator);
    plan_place(&plan);
    row_check_file(&plan, options.csv);
    sampler_check(&plan);
    check_trace(&options);
    if (options.check) {
        row_write(&plan, NULL, "-");
        return printed();
    }
    return run(&plan);
}
