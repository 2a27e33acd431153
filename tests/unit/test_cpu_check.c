/* SPDX-License-Identifier: MIT */
/* LINK: harness/cpu_check.c harness/cpu_features.c */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../harness/cpu_check.h"

/* Runs cpu_check in a child; its exit status, and what it wrote to stderr. */
static int check_in_child(const struct cpu_feature *features, size_t count, char *text, size_t size)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (!child) {
        dup2(ends[1], STDERR_FILENO);
        cpu_check(features, count);
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], text + length, size - 1 - length)) > 0;)
        length += (size_t)got;
    text[length] = 0;
    close(ends[0]);
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

/* This program got as far as main, so the build's own features are there. */
static void own_build_passes(void **state unused)
{
    char text[1024];
    assert_int_equal(check_in_child(cpu_features, cpu_feature_count, text, sizeof text), 0);
    assert_string_equal(text, "");
}

static void table_follows_the_flags(void **state unused)
{
    for (size_t i = 0; i < cpu_feature_count; i++) {
        bool used = *cpu_features[i].macro != '_';
#if defined(__AVX2__)
        if (!strcmp(cpu_features[i].name, "avx2"))
            assert_true(used);
#endif
#if !defined(__AVX512F__)
        assert_false(used && !strncmp(cpu_features[i].name, "avx512", 6));
#endif
        (void)used;
    }
}

/* Bits that no CPU sets: x86's leaf 1, ecx bit 16 is reserved; Arm's AT_HWCAP2 (26) has no bit 63 yet. */
static const struct cpu_feature impossible = {
    .name = "unobtainium",
    .macro = "1",
#if defined(__x86_64__)
    .leaf = 1,
    .word = 2,
    .bit = 16,
#else
    .leaf = 26,
    .bit = 63,
#endif
};

static void missing_feature_ends_with_one_line(void **state unused)
{
    char text[1024];
    assert_int_equal(check_in_child(&impossible, 1, text, sizeof text), 2);
    assert_non_null(strstr(text, "reclaimbench: unsupported: wanted "));
    assert_non_null(strstr(text, ", found "));
    assert_non_null(strstr(text, "unobtainium"));
    assert_non_null(strstr(text, ": do `make MARCH="));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void unused_feature_is_not_asked_for(void **state unused)
{
    struct cpu_feature not_built = impossible;
    not_built.macro = "__UNOBTAINIUM__";
    char text[1024];
    assert_int_equal(check_in_child(&not_built, 1, text, sizeof text), 0);
}

#if defined(__x86_64__)
static void registers_the_system_does_not_save_are_missing(void **state unused)
{
    /* SSE2 is in every x86-64; state bit 31 of XCR0 is not. */
    const struct cpu_feature unsaved = {
        .name = "unsaved", .macro = "1", .leaf = 1, .word = 3, .bit = 26, .state = 1u << 31};
    char text[1024];
    assert_int_equal(check_in_child(&unsaved, 1, text, sizeof text), 2);
    assert_non_null(strstr(text, "unsaved"));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_build_passes),
        cmocka_unit_test(table_follows_the_flags),
        cmocka_unit_test(missing_feature_ends_with_one_line),
        cmocka_unit_test(unused_feature_is_not_asked_for),
#if defined(__x86_64__)
        cmocka_unit_test(registers_the_system_does_not_save_are_missing),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
