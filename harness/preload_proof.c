/* SPDX-License-Identifier: MIT */
/* Which allocator really runs: looked up in the running process, not concluded from what was asked for. */
#include "preload.h"

#include "error.h"
#include "sha256.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* malloc first: where it is, the others must be. What a structure under test may call, and no more: an allocator
 * without, say, valloc is not refused. */
static const char *const family[] = {"malloc",         "calloc",        "realloc",           "free",
                                     "posix_memalign", "aligned_alloc", "malloc_usable_size"};
enum { FAMILY = sizeof family / sizeof *family };

static char path[PATH_MAX], version[128], sha256[SHA256_TEXT], build_id[129], options[1024];
static const struct allocator *running; /* NULL: none of the catalogue */

static bool object_of(const void *symbol, char *real)
{
    Dl_info info;
    return symbol && dladdr(symbol, &info) && realpath(info.dli_fname, real);
}

void *allocator_symbol(const char *name)
{
    char real[PATH_MAX];
    void *symbol = dlsym(RTLD_DEFAULT, name);
    return object_of(symbol, real) && !strcmp(real, path) ? symbol : NULL;
}

const char *allocator_path(void)
{
    return path;
}

void allocator_option(char *text, size_t size, const char *name, const char *value)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s=%s", used ? " " : "", name, value);
}

void allocator_option_ignored(const char *name, const char *wanted, const char *found)
{
    fail(STATUS_PRELOAD_FAILED,
         "wanted the allocator's option %s to be %s, found %s: do correct the environment or leave it out", name,
         wanted, found);
}

static void prove_one_object(const char *name)
{
    const char *wanted = preload_expected();
    for (int i = 0; i < FAMILY; i++) {
        char real[PATH_MAX] = "nowhere";
        object_of(dlsym(RTLD_DEFAULT, family[i]), real);
        if (!strcmp(real, wanted))
            continue;
        if (i == 0)
            fail(STATUS_PRELOAD_FAILED,
                 "wanted malloc from %s (%s), found it in %s: do name a shared object that defines malloc", wanted,
                 name, real);
        fail(STATUS_PRELOAD_FAILED,
             "wanted all of the malloc family from %s, found %s in %s: do use an allocator that defines it too", wanted,
             family[i], real);
    }
    snprintf(path, sizeof path, "%s", wanted);
}

/* Volatile: the compiler knows malloc and free, and would leave out what nobody looks at. */
static void check_block(void *volatile block, size_t bytes, size_t alignment, const char *function)
{
    if (!block || (uintptr_t)block % alignment || malloc_usable_size(block) < bytes)
        fail(STATUS_PRELOAD_FAILED,
             "wanted %zu bytes aligned to %zu from %s of %s, found %p with %zu usable: do use another allocator", bytes,
             alignment, function, path, block, block ? malloc_usable_size(block) : 0);
    memset(block, 0xa5, bytes);
}

static void prove_it_works(void)
{
    enum { BYTES = 200, LARGE = 100000 };
    void *block = malloc(BYTES);
    check_block(block, BYTES, _Alignof(max_align_t), "malloc");
    block = realloc(block, LARGE);
    check_block(block, LARGE, _Alignof(max_align_t), "realloc");
    free(block);

    unsigned char *volatile zeroed = calloc(BYTES, 2);
    for (int i = 0; zeroed && i < 2 * BYTES; i++)
        if (zeroed[i])
            fail(STATUS_PRELOAD_FAILED, "wanted zeros from calloc of %s, found %d: do use another allocator", path,
                 zeroed[i]);
    check_block(zeroed, 2 * BYTES, _Alignof(max_align_t), "calloc");
    free(zeroed);

    /* No structure aligns nodes to more than a pair of lines; beyond it mimalloc 2.0.9, which Debian 12 ships, does not
     * keep to the alignment (microsoft/mimalloc#700), and must not be refused for that. */
    for (size_t alignment = 16; alignment <= LINE_PAIR; alignment *= 2)
        for (size_t bytes = alignment; bytes <= 4096; bytes *= 2) {
            if (posix_memalign(&block, alignment, bytes))
                block = NULL;
            check_block(block, bytes, alignment, "posix_memalign");
            free(block);
            block = aligned_alloc(alignment, bytes);
            check_block(block, bytes, alignment, "aligned_alloc");
            free(block);
        }
}

/* An allocator of the catalogue must answer to its name. A path may be one of them too, and then has its options and
 * counters. */
static void ask_its_name(const char *name)
{
    size_t count;
    const char *const *names = allocator_names(&count);
    const struct allocator *wanted = allocator_find(name);
    for (size_t i = 0; i < count; i++) {
        const struct allocator *allocator = allocator_find(names[i]);
        if ((!wanted || wanted == allocator) && allocator->version(version, sizeof version)) {
            running = allocator;
            return;
        }
    }
    if (wanted)
        fail(STATUS_PRELOAD_FAILED,
             "wanted %s, found that %s does not answer as one: do install %s anew, or name its path", name, path,
             wanted->package);
}

/* Notes of one segment: name, type and bytes, each padded to four bytes. */
static bool find_build_id(const char *at, size_t size)
{
    while (size >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const void *)at;
        size_t name_bytes = (note->n_namesz + 3u) & ~3u, bytes = (note->n_descsz + 3u) & ~3u;
        const unsigned char *digits = (const unsigned char *)(note + 1) + name_bytes;
        if (sizeof *note + name_bytes + bytes > size)
            return false;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !memcmp(note + 1, "GNU", 4)) {
            for (size_t i = 0; i < note->n_descsz && 2 * i + 2 < sizeof build_id; i++)
                snprintf(build_id + 2 * i, 3, "%02x", digits[i]);
            return true;
        }
        at += sizeof *note + name_bytes + bytes;
        size -= sizeof *note + name_bytes + bytes;
    }
    return false;
}

/* Called for each object of the process; ends with the one that holds the address. */
static int look_at_object(struct dl_phdr_info *info, size_t size unused, void *address)
{
    bool here = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        here |=
            segment->p_type == PT_LOAD && (uintptr_t)address >= start && (uintptr_t)address < start + segment->p_memsz;
    }
    for (int i = 0; here && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE &&
            find_build_id((const char *)(info->dlpi_addr + segment->p_vaddr), segment->p_memsz))
            break;
    }
    return here;
}

const struct allocator_identity *allocator_prove(const char *name)
{
    static struct allocator_identity identity;
    const char *sanitizer = PRELOAD_SANITIZER;
    if (sanitizer) {
        /* Where its malloc lies depends on the compiler, and nobody will read its numbers. */
        snprintf(version, sizeof version, "%s", sanitizer);
    } else {
        prove_one_object(name);
        prove_it_works();
        ask_its_name(name);
        if (running && running->options)
            running->options(options, sizeof options);
        sha256_file(path, sha256);
        dl_iterate_phdr(look_at_object, dlsym(RTLD_DEFAULT, "malloc"));
    }
    identity = (struct allocator_identity){name, version, path, sha256, build_id, options};
    return &identity;
}

bool allocator_counters_read(struct allocator_counters *counters)
{
    *counters = (struct allocator_counters){0};
    return running && running->counters && running->counters(counters);
}

void allocator_counters_subtract(struct allocator_counters *later, const struct allocator_counters *earlier)
{
    later->flushes -= earlier->flushes;
    later->lock_ops -= earlier->lock_ops;
    later->lock_waits -= earlier->lock_waits;
    later->lock_wait_ns -= earlier->lock_wait_ns;
}
