/* SPDX-License-Identifier: MIT */
/* LINK: harness/placement_*.c harness/membind.c harness/meta.c harness/error.c */
/* Plans against golden files (tests/topologies/cases), properties of the orders on many machines, and refusals; nothing
 * here binds. Run from the root of the repository. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "in_child.h"
#include "../../harness/meta.h"
#include "../../harness/placement.h"

#include <stdlib.h>

enum { PATH_BYTES = 256, TEXT_BYTES = 65536, MOST_LISTED = 4096 };

static void read_file(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fail_msg("cannot open %s: run from the root of the repository", path);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

static void print_to(char *text, const struct placement *p)
{
    FILE *out = fmemopen(text, TEXT_BYTES, "w");
    placement_print(p, out);
    assert_true(ftell(out) < TEXT_BYTES - 1);
    fclose(out);
}

/* ---- plans ---- */

static struct placement *open_machine(const char *name)
{
    char *text = meta_alloc(PATH_BYTES), path[PATH_BYTES];
    snprintf(text, PATH_BYTES, "tests/topologies/%s.xml", name);
    if (access(text, F_OK) == 0)
        return placement_open(text);
    snprintf(path, sizeof path, "tests/topologies/%s.synthetic", name);
    read_file(path, text, PATH_BYTES);
    text[strcspn(text, "\n")] = '\0';
    return placement_open(text);
}

static void goldens(void **state)
{
    (void)state;
    static char cases[8192], golden[TEXT_BYTES], found[TEXT_BYTES];
    read_file("tests/topologies/cases", cases, sizeof cases);
    unsigned compared = 0;
    for (char *rest, *line = strtok_r(cases, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char file[64], machine[64], order[64], threads[16], word[32] = "", path[PATH_BYTES];
        if (*line == '#')
            continue;
        assert_true(sscanf(line, "%63s %63s %63s %15s %31s", file, machine, order, threads, word) >= 4);
        struct placement *p = open_machine(machine);
        placement_plan(p, order, placement_threads(p, "threads", threads), 0, *word != '\0');
        snprintf(path, sizeof path, "tests/topologies/%s", file);
        read_file(path, golden, sizeof golden);
        print_to(found, p);
        if (strcmp(found, golden) != 0)
            fail_msg("%s differs; found:\n%s", path, found);
        compared++;
    }
    assert_true(compared >= 19);
}

static void words(void **state)
{
    (void)state;
    struct placement *p = placement_open("pack:4 core:24 pu:2");
    assert_int_equal(placement_threads(p, "threads", "1"), 1);
    assert_int_equal(placement_threads(p, "threads", "007"), 7);
    assert_int_equal(placement_threads(p, "threads", "core"), 2);
    assert_int_equal(placement_threads(p, "threads", "socket"), 48);
    assert_int_equal(placement_threads(p, "threads", "all"), 192);
    assert_int_equal(placement_threads(p, "threads", "1x"), 192);
    assert_int_equal(placement_threads(p, "threads", "3x"), 576);
    assert_int_equal(placement_threads(p, "threads", "65536"), 65536);
    assert_int_equal(placement_sockets(p), 4);
    assert_int_equal(placement_cores(p), 96);
    assert_int_equal(placement_nodes(p), 1);
    assert_int_equal(placement_kinds(p), 1);
    assert_true(placement_foreign(p));

    struct placement *half = open_machine("half-core-cgroup");
    assert_int_equal(placement_threads(half, "threads", "core"), 2);
    assert_int_equal(placement_threads(half, "threads", "socket"), 4);
    assert_int_equal(placement_threads(half, "threads", "2x"), 10);
    assert_int_equal(placement_kinds(open_machine("hybrid")), 2);
}

/* ---- properties ---- */

/* As the plan's text says, which is all that leaves the harness. */
static unsigned socket_of(const struct placement *p, unsigned thread)
{
    static char text[TEXT_BYTES];
    char start[64];
    unsigned unit, core, socket;
    print_to(text, p);
    snprintf(start, sizeof start, "\nthread %u -> ", thread);
    int read = sscanf(strstr(text, start) + strlen(start), "unit %u core %u socket %u", &unit, &core, &socket);
    assert_int_equal(read, 3);
    return socket;
}

static void check_permutation(const struct placement *p)
{
    bool seen[MOST_LISTED] = {false};
    for (unsigned t = 0; t < placement_units(p); t++) {
        int unit = placement_unit(p, t);
        assert_in_range(unit, 0, MOST_LISTED - 1);
        assert_false(seen[unit]);
        seen[unit] = true;
    }
}

/* Uniform machines: scatter keeps the sockets within one thread of each other at every length. */
static void check_scatter(const struct placement *p)
{
    for (unsigned t = 0; t < placement_units(p); t++)
        assert_int_equal(socket_of(p, t), t % placement_sockets(p));
}

static void check_fill(const struct placement *p)
{
    unsigned share = placement_units(p) / placement_sockets(p);
    for (unsigned t = 0; t < placement_units(p); t++)
        assert_int_equal(socket_of(p, t), t / share);
}

static void properties(void **state)
{
    (void)state;
    static const char *const machines[] = {"pu:1",
                                           "pu:7",
                                           "numa:2 pu:3",
                                           "pack:3 core:5 pu:1",
                                           "pack:2 core:3 pu:4",
                                           "pack:2 die:2 core:2 pu:2",
                                           "numa:3 pack:1 core:2 pu:2",
                                           "pack:4 [numa] core:4 pu:2(indexes=2*16:16*1)"};
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct placement *p = placement_open(machines[i]);
        unsigned all = placement_threads(p, "threads", "all");
        placement_plan(p, "cores", all, 0, false);
        check_permutation(p);
        placement_plan(p, "scatter", all, 0, false);
        check_permutation(p);
        check_scatter(p);
        placement_plan(p, "fill", all, 0, false);
        check_permutation(p);
        check_fill(p);
        assert_false(placement_oversubscribed(p));
        assert_int_equal(placement_helper_unit(p), -1);
        placement_plan(p, "fill", all + 1, 0, true);
        assert_true(placement_oversubscribed(p));
        assert_int_equal(placement_unit(p, all), placement_unit(p, 0));
    }
}

/* What the row records can be given back as --pin=list:... and is the same plan. */
static void format_is_a_list(void **state)
{
    (void)state;
    static const char *const orders[] = {"fill", "cores", "scatter"};
    for (size_t i = 0; i < 3; i++) {
        struct placement *p = open_machine("4x24x2-far-siblings"), *again = open_machine("4x24x2-far-siblings");
        char word[PLACEMENT_FORMAT_BYTES(384) + 8] = "list:", second[PLACEMENT_FORMAT_BYTES(384)];
        placement_plan(p, orders[i], 384, 0, true);
        placement_format(p, word + strlen(word), PLACEMENT_FORMAT_BYTES(384));
        placement_plan(again, word, 384, 0, true);
        placement_format(again, second, sizeof second);
        assert_string_equal(word + strlen("list:"), second);
        for (unsigned t = 0; t < 384; t++)
            assert_int_equal(placement_unit(p, t), placement_unit(again, t));
    }
    char any[8];
    struct placement *p = placement_open("pu:2");
    placement_plan(p, "none", 2, 0, false);
    placement_format(p, any, sizeof any);
    assert_string_equal(any, "any");
}

/* ---- refusals ---- */

struct refusal {
    const char *topology, *order, *threads;
    bool oversubscribe;
    const char *says;
};

static const struct refusal refusals[] = {
    {"pack:1 core:2 pu:2", "fill", "5", false, "wanted 5 threads on the units of --pin=fill, found 4 units"},
    {"pack:1 core:2 pu:2", "none", "2x", false, "wanted 8 threads on the units of --pin=none, found 4 units"},
    {"pack:1 core:2 pu:2", "list:0,1", "3", false, "wanted 3 threads on the units of --pin=list:0,1, found 2 units"},
    {"pack:1 core:2 pu:2", "list:0,1,0", "2", false, "found unit 0 twice"},
    {"pack:1 core:2 pu:2", "list:0,4", "2", true, "allowed 0-3 for --pin=list:0,4, found unit 4"},
    {"pack:1 core:2 pu:2", "list:", "1", true, "found 'list:'"},
    {"pack:1 core:2 pu:2", "list:0,", "1", true, "found 'list:0,'"},
    {"pack:1 core:2 pu:2", "list:2-1", "1", true, "found 'list:2-1'"},
    {"pack:1 core:2 pu:2", "list:1-", "1", true, "found 'list:1-'"},
    {"pack:1 core:2 pu:2", "list:-1", "1", true, "found 'list:-1'"},
    {"pack:1 core:2 pu:2", "list:0 1", "1", true, "found 'list:0 1'"},
    {"pack:1 core:2 pu:2", "list:99999999999999999999", "1", true, "found 'list:99999999999999999999'"},
    {"pack:1 core:2 pu:2", "filled", "1", true, "wanted fill, cores, scatter, none or list:UNITS"},
    {"pack:1 core:2 pu:2", "", "1", true, "found ''"},
    {"pack:1 core:2 pu:2", "fill", "0", true, "for --threads, found '0'"},
    {"pack:1 core:2 pu:2", "fill", "0x", true, "for --threads, found '0x'"},
    {"pack:1 core:2 pu:2", "fill", "-1", true, "for --threads, found '-1'"},
    {"pack:1 core:2 pu:2", "fill", "2 x", true, "for --threads, found '2 x'"},
    {"pack:1 core:2 pu:2", "fill", "sockets", true, "for --threads, found 'sockets'"},
    {"pack:1 core:2 pu:2", "fill", "65537", true, "for --threads, found '65537'"},
    {"pack:1 core:2 pu:2", "fill", "16385x", true, "for --threads, found '16385x'"},
    {"tests/topologies/half-core-cgroup.xml", "list:2", "1", true, "allowed 1,3,9-10,13 for"},
    {"tests/topologies/2x8x1-offline.xml", "fill", "13", false, "found 12 units"},
    {"tests/topologies/cases", "fill", "1", false, "XML file for --topology, found 'tests/topologies/cases'"},
    {"/nowhere/machine.xml", "fill", "1", false, "found '/nowhere/machine.xml'"},
    {"", "fill", "1", false, "for --topology, found ''"},
};

static void plan_refused(const void *argument)
{
    const struct refusal *refusal = argument;
    struct placement *p = placement_open(refusal->topology);
    placement_plan(p, refusal->order, placement_threads(p, "threads", refusal->threads), 0, refusal->oversubscribe);
}

static void refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        check_refused(in_child(plan_refused, &refusals[i]), refusals[i].says);
}

static long resident_kb(void)
{
    char text[4096];
    read_file("/proc/self/status", text, sizeof text);
    return strtol(strstr(text, "VmRSS:") + strlen("VmRSS:"), NULL, 10);
}

/* The harness may occupy 16 MB in all; hwloc's libraries, its tables and 192 planned threads must leave most of that.
 */
static void small(void **state)
{
    (void)state;
    long before = resident_kb();
    struct placement *p = open_machine("4x24x2-far-siblings");
    placement_plan(p, "scatter", 192, 0, false);
    long grown = resident_kb() - before;
    print_message("192 planned threads: %ld kB\n", grown);
    assert_true(grown < 4096);
}

int main(void)
{
    meta_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small),      cmocka_unit_test(goldens),          cmocka_unit_test(words),
        cmocka_unit_test(properties), cmocka_unit_test(format_is_a_list), cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
