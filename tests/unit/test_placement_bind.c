/* SPDX-License-Identifier: MIT */
/* LINK: harness/placement_*.c harness/membind.c harness/meta.c harness/error.c */
/* Threads and memory of this machine really bound: every order on the allowed units, a thread that strays, helpers,
 * taskset, memory policies; and other machines, to which nothing may be bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "in_child.h"
#include "../../harness/membind.h"
#include "../../harness/meta.h"
#include "../../harness/placement.h"

#include <err.h>
#include <sched.h>
#include <stdlib.h>

struct worker {
    const struct placement *placement;
    unsigned thread;
    bool stray; /* widens its own affinity before it looks */
    bool good;
    char why[256];
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    if (worker->stray) {
        cpu_set_t none_of_these;
        CPU_ZERO(&none_of_these);
        for (unsigned t = 0; t < placement_units(worker->placement); t++)
            CPU_SET(placement_unit(worker->placement, t), &none_of_these);
        sched_setaffinity(0, sizeof none_of_these, &none_of_these);
    }
    worker->good = placement_verify(worker->placement, worker->thread, worker->why, sizeof worker->why);
    return NULL;
}

static struct worker run_worker(const struct placement *p, unsigned thread, bool stray)
{
    struct worker worker = {.placement = p, .thread = thread, .stray = stray};
    pthread_attr_t attributes;
    pthread_t id;
    pthread_attr_init(&attributes);
    placement_attributes(p, thread, &attributes);
    assert_int_equal(pthread_create(&id, &attributes, work, &worker), 0);
    pthread_attr_destroy(&attributes);
    pthread_join(id, NULL);
    return worker;
}

/* In a child, so that the main thread's affinity does not follow the other tests around. */
static void bind_all(const void *order)
{
    struct placement *p = placement_open(NULL);
    unsigned all = placement_threads(p, "threads", "all");
    placement_plan(p, order, all, 0, false);
    placement_bind_main(p);
    for (unsigned t = 0; t < all; t++) {
        struct worker worker = run_worker(p, t, false);
        if (!worker.good)
            errx(1, "%s", worker.why);
    }
    if (all > 1 && strcmp(order, "none") != 0 && run_worker(p, 0, true).good)
        errx(1, "a thread that left its unit was not noticed");
}

static void bound_and_verified(void **state)
{
    (void)state;
    static const char *const orders[] = {"fill", "cores", "scatter", "none"};
    for (size_t i = 0; i < 4; i++) {
        struct ending ending = in_child(bind_all, orders[i]);
        if (ending.status != 0)
            fail_msg("%s: %s", orders[i], ending.text);
    }
}

/* A main thread on the helper's unit must not hand that unit on to unpinned workers. */
static void helper_apart(const void *unused_argument)
{
    (void)unused_argument;
    struct placement *p = placement_open(NULL);
    placement_plan(p, "fill", 1, 0, false);
    placement_bind_main(p);
    if (sched_getcpu() != placement_helper_unit(p) || placement_helper_unit(p) == placement_unit(p, 0))
        errx(1, "main is on unit %d, its worker on %d", sched_getcpu(), placement_unit(p, 0));
    placement_plan(p, "none", 1, 0, false);
    if (!run_worker(p, 0, false).good)
        errx(1, "an unpinned worker inherited the main thread's unit");
}

static void helper_has_a_place(void **state)
{
    (void)state;
    if (placement_units(placement_open(NULL)) < 2) {
        print_message("skipped: one allowed unit leaves no place for helpers\n");
        skip();
    }
    struct ending ending = in_child(helper_apart, NULL);
    if (ending.status != 0)
        fail_msg("%s", ending.text);
}

static void open_on_last(const void *unused_argument)
{
    (void)unused_argument;
    struct placement *whole = placement_open(NULL);
    placement_plan(whole, "fill", placement_units(whole), 0, false);
    int last = placement_unit(whole, placement_units(whole) - 1);
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(last, &only);
    sched_setaffinity(0, sizeof only, &only);
    struct placement *p = placement_open(NULL);
    placement_plan(p, "scatter", placement_threads(p, "threads", "all"), 0, false);
    if (placement_units(p) != 1 || placement_unit(p, 0) != last)
        errx(1, "allowed unit %d, planned %u units from %d", last, placement_units(p), placement_unit(p, 0));
}

static void affinity_respected(void **state)
{
    (void)state;
    struct ending ending = in_child(open_on_last, NULL);
    if (ending.status != 0)
        fail_msg("%s", ending.text);
}

static void set_policies(const void *unused_argument)
{
    (void)unused_argument;
    struct placement *p = placement_open(NULL);
    static const char *const policies[] = {"interleave", "local", "none"};
    for (size_t i = 0; i < 3; i++)
        if (strcmp(membind_set(p, policies[i]), policies[i]) != 0)
            errx(1, "another policy than %s", policies[i]);
}

static void policies(void **state)
{
    (void)state;
    struct ending ending = in_child(set_policies, NULL);
    if (ending.status == 2 && strstr(ending.text, ": unsupported: ") != NULL) {
        print_message("skipped: %s", ending.text);
        skip();
    }
    if (ending.status != 0)
        fail_msg("%s", ending.text);
}

static void bind_foreign(const void *unused_argument)
{
    (void)unused_argument;
    struct placement *p = placement_open("pu:1");
    placement_plan(p, "fill", 1, 0, false);
    placement_bind_main(p);
}

static void open_substitute(const void *unused_argument)
{
    (void)unused_argument;
    setenv("HWLOC_SYNTHETIC", "pu:4", 1);
    placement_open(NULL);
}

static void membind_misspelt(const void *unused_argument)
{
    (void)unused_argument;
    membind_set(placement_open(NULL), "interleaved");
}

static void other_machines_refused(void **state)
{
    (void)state;
    check_refused(in_child(bind_foreign, NULL), "found --topology=pu:1");
    check_refused(in_child(open_substitute, NULL), "unset HWLOC_XMLFILE");
    check_refused(in_child(membind_misspelt, NULL), "for --membind, found 'interleaved'");
}

int main(void)
{
    meta_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_and_verified),     cmocka_unit_test(helper_has_a_place),
        cmocka_unit_test(affinity_respected),     cmocka_unit_test(policies),
        cmocka_unit_test(other_machines_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
