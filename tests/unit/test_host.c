/* SPDX-License-Identifier: MIT */
/* LINK: harness/host.c harness/cgroup.c harness/kernel_file.c */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>
#include <sys/personality.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../harness/cgroup.h"
#include "../../harness/host.h"

static const char *fact(const char *name)
{
    size_t count;
    const struct host_fact *facts = host_facts(&count);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(facts[i].name, name))
            return facts[i].value;
    fail_msg("no fact %s", name);
    return NULL;
}

static void values_fit_into_a_row(void **state unused)
{
    size_t count, again;
    const struct host_fact *facts = host_facts(&count);
    assert_ptr_equal(host_facts(&again), facts);
    assert_int_equal(count, again);
    for (size_t i = 0; i < count; i++) {
        print_message("%s = %s\n", facts[i].name, facts[i].value);
        assert_null(strpbrk(facts[i].value, ",\"\n\r"));
        assert_true(strlen(facts[i].name) > 0 && strlen(facts[i].meaning) > 0);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(facts[i].name, facts[j].name);
    }
}

static void what_can_be_checked_is_right(void **state unused)
{
    struct utsname name;
    uname(&name);
    assert_string_equal(fact("host_kernel"), name.release);
    const char *thp = fact("host_thp");
    assert_true(!*thp || !strcmp(thp, "always") || !strcmp(thp, "madvise") || !strcmp(thp, "never"));
    assert_true(strlen(fact("host_cpu_model")) > 0);
}

/* `setarch -R` for this process only. */
static void own_aslr_is_what_counts(void **state unused)
{
    if (personality(ADDR_NO_RANDOMIZE) == -1) {
        print_message("skipped: personality() is not permitted here\n");
        skip();
    }
    pid_t child = fork();
    if (!child) {
        execl("/proc/self/exe", "test_host", "aslr", (char *)NULL);
        _exit(127);
    }
    int status;
    waitpid(child, &status, 0);
    personality(0);
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void throttling_never_shrinks(void **state unused)
{
    struct host_throttling first = host_throttling(), second = host_throttling();
    assert_true(first.periods_throttled >= -1 && second.periods_throttled >= first.periods_throttled);
    assert_true(first.throttled_us >= -1 && second.throttled_us >= first.throttled_us);
    assert_int_equal(first.periods_throttled < 0, first.throttled_us < 0);
}

static void unavailable_throttling_stays_unavailable(void **state unused)
{
    struct host_throttling none = {-1, -1}, before = {3, 50}, after = {5, 80};
    host_throttling_subtract(&after, &before);
    assert_true(after.periods_throttled == 2 && after.throttled_us == 30);
    host_throttling_subtract(&after, &none);
    assert_true(after.periods_throttled == -1 && after.throttled_us == -1);
}

static void groups_end_at_the_mount_point(void **state unused)
{
    struct cgroup group;
    int steps = 0;
    for (bool there = cgroup_of_self(&group, "memory"); there; there = cgroup_parent(&group)) {
        assert_int_equal(access(group.path, F_OK), 0);
        assert_true(++steps < 64);
    }
    if (steps)
        assert_int_equal(strlen(group.path), group.root_length);
}

int main(int count, char **words)
{
    if (count == 2 && !strcmp(words[1], "aslr"))
        return strcmp(fact("host_aslr"), "0") != 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_fit_into_a_row),
        cmocka_unit_test(what_can_be_checked_is_right),
        cmocka_unit_test(own_aslr_is_what_counts),
        cmocka_unit_test(throttling_never_shrinks),
        cmocka_unit_test(unavailable_throttling_stays_unavailable),
        cmocka_unit_test(groups_end_at_the_mount_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
