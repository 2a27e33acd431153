/* SPDX-License-Identifier: MIT */
/* LINK: harness/preload*.c harness/loader.c harness/sha256.c harness/nearest.c harness/error.c allocators/[a-z]*.c */
/* Started with words, this program is a small driver: it puts the allocator of that name in place and prints who runs.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../harness/loader.h"
#include "../../harness/nearest.h"
#include "../../harness/preload.h"
#include "../../harness/sha256.h"
#include "in_child.h"

/* --- the small driver --- */

enum { BLOCKS = 5000, ROUNDS = 40 };

/* Fills and empties a cache often enough that every allocator with one flushes. */
static void *churn(void *unused_argument unused)
{
    static _Thread_local void *volatile blocks[BLOCKS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BLOCKS; i++)
            blocks[i] = malloc(200);
        for (int i = 0; i < BLOCKS; i++)
            free(blocks[i]);
    }
    return NULL;
}

static int drive(char **words)
{
    struct allocator_counters before, between, after;
    preload_ensure(words[1], words);
    const struct allocator_identity *it = allocator_prove(words[1]);
    bool counts = allocator_counters_read(&before);
    allocator_counters_read(&between);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, churn, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    allocator_counters_read(&after);
    allocator_counters_subtract(&after, &between);
    allocator_counters_subtract(&between, &before);
    printf("name=%s\nversion=%s\npath=%s\nsha256=%s\nbuild_id=%s\noptions=%s\n", it->name, it->version, it->path,
           it->sha256, it->build_id, it->options);
    printf("counts=%d\nidle=%lu %lu\nflushes=%lu\nlock_ops=%lu\n", counts, (unsigned long)between.flushes,
           (unsigned long)between.lock_ops, (unsigned long)after.flushes, (unsigned long)after.lock_ops);
    printf("preload=%s\nguard=%s\n", getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "",
           getenv("RECLAIMBENCH_PRELOADED") ? getenv("RECLAIMBENCH_PRELOADED") : "");
    return 0;
}

static void run(const char *name, const char *setting, char *text, size_t size)
{
    char *const argv[] = {(char *)"test_preload", (char *)name, NULL};
    const char *const settings[] = {setting, NULL};
    assert_true(loader_run("/proc/self/exe", argv, settings, text, size));
}

static void assert_line(const char *text, const char *line)
{
    char whole[512];
    snprintf(whole, sizeof whole, "\n%s\n", line);
    if (!strstr(text, whole))
        fail_msg("wanted the line '%s' in:\n%s", line, text);
}

static bool starts_with_failure(const char *text)
{
    return !strncmp(text, "reclaimbench: preload_failed: wanted ", 37) && strstr(text, ", found ") &&
           strstr(text, ": do ") && strchr(text, '\n') == text + strlen(text) - 1;
}

/* --- tests --- */

static void catalogue_starts_with_glibc(void **state unused)
{
    size_t count;
    const char *const *names = allocator_names(&count);
    assert_true(count >= 4);
    assert_string_equal(names[0], "glibc");
    for (size_t i = 2; i < count; i++)
        assert_true(strcmp(names[i - 1], names[i]) < 0);
}

static void every_installed_allocator_is_proven(void **state unused)
{
    size_t count;
    const struct allocator_listing *list = allocator_list(&count);
    for (size_t i = 0; i < count; i++) {
        char text[4096] = "\n", line[512];
        if (!list[i].path) {
            print_message("skipped: %s is not installed (%s)\n", list[i].name, list[i].package);
            continue;
        }
        bool refused = PRELOAD_SANITIZER && i > 0;
        run(list[i].name, "IRRELEVANT=1", text + 1, sizeof text - 1);
        print_message("%s", text + 1);
        assert_int_equal(starts_with_failure(text + 1), refused);
        if (refused)
            continue;
        snprintf(line, sizeof line, "name=%s", list[i].name);
        assert_line(text, line);
        if (!PRELOAD_SANITIZER) {
            snprintf(line, sizeof line, "path=%s", list[i].path);
            assert_line(text, line);
            assert_null(strstr(text, "\nversion=\n"));
            assert_null(strstr(text, "\nsha256=\n"));
        }
        assert_line(text, "preload=");
        assert_line(text, "guard=");
    }
}

/* jemalloc's counters: nothing happens between two readings but the second one, which does not count itself; then
 * flushes do. */
static void counters_count_flushes_and_not_themselves(void **state unused)
{
    char text[4096] = "\n", path[4096], reason[512];
    if (PRELOAD_SANITIZER || !loader_finds("libjemalloc.so.2", path, reason, sizeof reason)) {
        print_message("skipped: no jemalloc, or a sanitizer build\n");
        skip();
    }
    run("jemalloc", "IRRELEVANT=1", text + 1, sizeof text - 1);
    assert_line(text, "counts=1");
    assert_line(text, "idle=0 0");
    unsigned long flushes = strtoul(strstr(text, "\nflushes=") + 9, NULL, 10);
    unsigned long lock_ops = strtoul(strstr(text, "\nlock_ops=") + 10, NULL, 10);
    /* 4 threads x 40 rounds x 5000 blocks, of which a cache holds at most 200. */
    assert_true(flushes > 4000 && flushes < 800000 && lock_ops > flushes);
}

static void options_are_read_back(void **state unused)
{
    static const struct {
        const char *name, *object, *setting, *option; /* NULL: must be refused */
    } cases[] = {
        {"jemalloc", "libjemalloc.so.2", "MALLOC_CONF=narenas:3,tcache:false", "narenas=3 tcache=false"},
        {"jemalloc", "libjemalloc.so.2", "MALLOC_CONF=lg_extent_max_active_fit:4", "lg_extent_max_active_fit=4"},
        {"jemalloc", "libjemalloc.so.2", "MALLOC_CONF=percpu_arena:percpu", "percpu_arena=percpu"},
        {"jemalloc", "libjemalloc.so.2", "MALLOC_CONF=tcache:true,narenas:2,tcache:false", "tcache=false"},
        {"jemalloc", "libjemalloc.so.2", "MALLOC_CONF=bin_shards:1-128:4", "bin_shards=1-128:4(not_read_back)"},
        {"jemalloc", "libjemalloc.so.2", "MALLOC_CONF=tcahe:false", NULL},
        {"jemalloc", "libjemalloc.so.2", "MALLOC_CONF=narenas:many", NULL},
        {"mimalloc", "libmimalloc.so.2", "MIMALLOC_EAGER_COMMIT=0", "eager_commit=0"},
        {"mimalloc", "libmimalloc.so.2", "MIMALLOC_MAX_ERRORS=7", "max_errors=7"},
        {"mimalloc", "libmimalloc.so.2", "MIMALLOC_EAGER_COMIT=0", NULL},
        {"mimalloc", "libmimalloc.so.2", "MIMALLOC_MAX_ERRORS=seven", NULL},
        {"tcmalloc", "libtcmalloc_minimal.so.4", "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=67108864",
         "max_total_thread_cache_bytes=67108864"},
        {"tcmalloc", "libtcmalloc_minimal.so.4", "TCMALLOC_AGGRESSIVE_DECOMMIT=t", "aggressive_memory_decommit=1"},
        {"tcmalloc", "libtcmalloc_minimal.so.4", "TCMALLOC_RELEASE_RATE=2", "TCMALLOC_RELEASE_RATE=2(not_read_back)"},
        {"tcmalloc", "libtcmalloc_minimal.so.4", "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=1", NULL},
        {"tcmalloc", "libtcmalloc_minimal.so.4", "TCMALLOC_NO_SUCH_THING=1", NULL},
        {"glibc", "libc.so.6", "GLIBC_TUNABLES=glibc.malloc.tcache_count=3:glibc.malloc.arena_max=2",
         "tcache_count=3 arena_max=2"},
        {"glibc", "libc.so.6", "MALLOC_ARENA_MAX=5", "arena_max=5"},
        {"glibc", "libc.so.6", "GLIBC_TUNABLES=glibc.malloc.tcache_counts=3", NULL},
        {"glibc", "libc.so.6", "GLIBC_TUNABLES=glibc.malloc.perturb=700", NULL},
    };
    if (PRELOAD_SANITIZER)
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[4096], path[4096], reason[512];
        if (!loader_finds(cases[i].object, path, reason, sizeof reason)) {
            print_message("skipped: %s is not installed\n", cases[i].name);
            continue;
        }
        run(cases[i].name, cases[i].setting, text, sizeof text);
        const char *options = strstr(text, "\noptions=");
        /* jemalloc also complains itself, on the line before ours. */
        const char *failure = strstr(text, "reclaimbench: preload_failed: wanted ");
        if (cases[i].option ? failure || !options || !strstr(options, cases[i].option) : !failure)
            fail_msg("%s with %s: %s", cases[i].name, cases[i].setting, text);
    }
}

static void preload_of_the_user(void **state unused)
{
    char text[4096] = "\n", path[4096], reason[512];
    if (PRELOAD_SANITIZER || !loader_finds("libjemalloc.so.2", path, reason, sizeof reason)) {
        print_message("skipped: no jemalloc, or a sanitizer build\n");
        skip();
    }
    run("jemalloc", "LD_PRELOAD=libjemalloc.so.2", text + 1, sizeof text - 1);
    assert_line(text, "name=jemalloc");
    assert_line(text, "preload=");
    run("glibc", "LD_PRELOAD=libjemalloc.so.2", text, sizeof text);
    assert_true(starts_with_failure(text));
    run("jemalloc", "LD_PRELOAD=libm.so.6", text, sizeof text);
    assert_true(starts_with_failure(text));
    run("jemalloc", "LD_PRELOAD=libjemalloc.so.2:libm.so.6", text, sizeof text);
    assert_true(starts_with_failure(text));
    *text = '\n';
    run("jemalloc", "RECLAIMBENCH_PRELOADED=1:/lib/libstale.so", text + 1, sizeof text - 1);
    assert_line(text, "name=jemalloc");
}

static void ensure(const void *name)
{
    char *argv[] = {(char *)"test_preload", NULL};
    preload_ensure(name, argv);
    allocator_prove(name);
}

static void unusable_objects_are_refused(void **state unused)
{
    check_refused(in_child(ensure, "jemaloc"), "do you mean jemalloc?");
    check_refused(in_child(ensure, "/nonexistent/libmalloc.so"), PRELOAD_SANITIZER ? "sanitizer" : "No such file");
    check_refused(in_child(ensure, "/etc/passwd"), PRELOAD_SANITIZER ? "sanitizer" : "invalid ELF header");
    check_refused(in_child(ensure, "/etc"), PRELOAD_SANITIZER ? "sanitizer" : "cannot be preloaded");
}

static void nearest_is_a_typing_error_away(void **state unused)
{
    static const char *const known[] = {"glibc", "jemalloc", "mimalloc", "tcmalloc"};
    assert_string_equal(nearest_word("JEMALOC", known, 4), "jemalloc");
    assert_string_equal(nearest_word("mmialloc", known, 4), "mimalloc");
    assert_string_equal(nearest_word("libc", known, 4), "glibc");
    assert_null(nearest_word("x", known, 0));
    assert_int_equal(nearest_distance("", "abc"), 3);
    assert_int_equal(nearest_distance("ab", "ba"), 1);
    assert_int_equal(nearest_distance("kitten", "sitting"), 3);
    char longer[200];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_int_equal(nearest_distance(longer, "a"), 62);
}

/* FIPS 180-4's examples, and lengths around the ends of blocks and of the read buffer against sha256sum. */
static void sha256_is_sha256sums(void **state unused)
{
    static const size_t lengths[] = {0, 1, 55, 56, 63, 64, 65, 119, 120, 16383, 16384, 16385, 100000};
    char path[] = "/tmp/reclaimbench-sha256-XXXXXX", text[SHA256_TEXT], theirs[256];
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, "abc", 3), 3);
    assert_true(sha256_file(path, text));
    assert_string_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        assert_int_equal(ftruncate(file, 0), 0);
        for (size_t j = 0; j < lengths[i]; j++)
            assert_int_equal(pwrite(file, &(char){(char)(j * 7 + i)}, 1, (off_t)j), 1);
        char *const argv[] = {(char *)"sha256sum", path, NULL};
        const char *const settings[] = {"LC_ALL=C", NULL};
        assert_true(loader_run("sha256sum", argv, settings, theirs, sizeof theirs));
        assert_true(sha256_file(path, text));
        assert_memory_equal(text, theirs, 64);
    }
    close(file);
    unlink(path);
    assert_false(sha256_file(path, text));
}

int main(int count, char **words)
{
    if (count == 2)
        return drive(words);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(catalogue_starts_with_glibc),
        cmocka_unit_test(every_installed_allocator_is_proven),
        cmocka_unit_test(counters_count_flushes_and_not_themselves),
        cmocka_unit_test(options_are_read_back),
        cmocka_unit_test(preload_of_the_user),
        cmocka_unit_test(unusable_objects_are_refused),
        cmocka_unit_test(nearest_is_a_typing_error_away),
        cmocka_unit_test(sha256_is_sha256sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
