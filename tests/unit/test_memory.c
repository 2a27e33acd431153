/* SPDX-License-Identifier: MIT */
/* LINK: harness/memory.c harness/cgroup.c harness/kernel_file.c */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../harness/kernel_file.h"
#include "../../harness/memory.h"

enum { MB = 1 << 20, BLOCK = 64 * MB };

static void *map_touched(void)
{
    char *block = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(block, MAP_FAILED);
    memset(block, 1, BLOCK);
    return block;
}

static void resident_and_peak_follow_the_pages(void **state unused)
{
    if (UNDER_TSAN) {
        print_message("skipped: the thread sanitizer's shadow memory is resident too\n");
        skip();
    }
    struct memory_usage before = memory_usage();
    void *block = map_touched();
    struct memory_usage with = memory_usage();
    munmap(block, BLOCK);
    struct memory_usage after = memory_usage();
    assert_true(llabs(with.resident - before.resident - BLOCK) < MB);
    assert_true(llabs(after.resident - before.resident) < MB);
    assert_true(after.peak >= with.resident - MB && after.peak >= after.resident);
}

static void peak_can_be_reset(void **state unused)
{
    munmap(map_touched(), BLOCK);
    const char *problem = memory_reset_peak();
    if (problem) {
        print_message("skipped: this system does not let the peak be reset: %s\n", problem);
        skip();
    }
    struct memory_usage usage = memory_usage();
    assert_true(usage.peak - usage.resident < 4 * MB);
    munmap(map_touched(), BLOCK);
    assert_true(memory_usage().peak - usage.resident > BLOCK - 4 * MB);
}

/* P8: ru_maxrss is inherited across exec; ours is not. */
static void peak_is_this_programs_own(void **state unused)
{
    void *block = map_touched();
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        execl("/proc/self/exe", "test_memory", "peak", (char *)NULL);
        _exit(127);
    }
    int status;
    waitpid(child, &status, 0);
    munmap(block, BLOCK);
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void available_is_plausible(void **state unused)
{
    long long available = memory_available(), total = (long long)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    assert_true(available > 0 && available <= total);
}

static void mappings_are_counted(void **state unused)
{
    long long before = memory_mappings();
    assert_true(before > 5 && before < memory_max_mappings());
    char *block = mmap(NULL, 9 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int page = 1; page < 9; page += 2)
        mprotect(block + page * 4096, 4096, PROT_READ);
    assert_true(memory_mappings() - before >= 8);
    munmap(block, 9 * 4096);
}

static void fields_are_found_and_scaled(void **state unused)
{
    static const char text[] = "VmPeak:\t  12 kB\nVmRSS:\t 7 kB\nnr_throttled 3\nmax max";
    long long number = -5;
    assert_true(kernel_text_field(text, "VmRSS", &number) && number == 7 * 1024);
    assert_true(kernel_text_field(text, "nr_throttled", &number) && number == 3);
    assert_false(kernel_text_field(text, "Vm", &number));
    assert_false(kernel_text_field(text, "max", &number));
    assert_false(kernel_file_number("/nonexistent", &number));
    assert_int_equal(number, 3);
}

int main(int count, char **words)
{
    if (count == 2 && !strcmp(words[1], "peak"))
        return memory_usage().peak < BLOCK / 2 ? 0 : 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resident_and_peak_follow_the_pages),
        cmocka_unit_test(peak_can_be_reset),
        cmocka_unit_test(peak_is_this_programs_own),
        cmocka_unit_test(available_is_plausible),
        cmocka_unit_test(mappings_are_counted),
        cmocka_unit_test(fields_are_found_and_scaled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
