/* SPDX-License-Identifier: MIT */
/* A whole allocator in a page, and by -D flags the broken ones of tests/test_allocators.py:
 *   -DNO_PLAIN          no malloc, calloc, realloc, free
 *   -DNO_ALIGNED_ALLOC  no aligned_alloc
 *   -DNO_ALIGNED        neither posix_memalign, aligned_alloc nor malloc_usable_size
 *   -DMISALIGNED        posix_memalign forgets the alignment
 *   -DSMALL             malloc_usable_size tells less than was asked for
 *   -DDIRTY             calloc does not clear
 *   -DANSWERS           answers like gperftools' tcmalloc
 * Blocks are cut from one array and never reused; sixteen bytes before each hold its size. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 16 };

size_t malloc_usable_size(void *block);

static _Alignas(4096) char arena[(size_t)1 << 28];
static atomic_size_t used;

__attribute__((unused)) static void *cut(size_t alignment, size_t bytes)
{
    size_t take = (bytes + alignment + 2 * HEADER - 1) / HEADER * HEADER;
    size_t at = atomic_fetch_add(&used, take);
    if (at > sizeof arena - take)
        return NULL;
    char *block = arena + (at + HEADER + alignment - 1) / alignment * alignment;
    memcpy(block - HEADER, &bytes, sizeof bytes);
    return block;
}

#ifndef NO_PLAIN
void *malloc(size_t bytes)
{
    return cut(HEADER, bytes);
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t count, size_t bytes)
{
    void *block = cut(HEADER, count * bytes);
#ifdef DIRTY
    if (block && count > 1)
        memset(block, 1, count * bytes);
#endif
    return block; /* the array is zero, and nothing comes back to it */
}

void *realloc(void *old, size_t bytes)
{
    void *block = cut(HEADER, bytes);
    size_t before = 0;
    if (old)
        memcpy(&before, (char *)old - HEADER, sizeof before);
    if (block && old)
        memcpy(block, old, before < bytes ? before : bytes);
    return block;
}
#endif

#ifndef NO_ALIGNED
int posix_memalign(void **block, size_t alignment, size_t bytes)
{
#ifdef MISALIGNED
    *block = cut(HEADER, bytes + 0 * alignment);
#else
    *block = cut(alignment < HEADER ? HEADER : alignment, bytes);
#endif
    return *block ? 0 : ENOMEM;
}

#ifndef NO_ALIGNED_ALLOC
void *aligned_alloc(size_t alignment, size_t bytes)
{
    return cut(alignment < HEADER ? HEADER : alignment, bytes);
}
#endif

size_t malloc_usable_size(void *block)
{
    size_t bytes = 0;
    if (block)
        memcpy(&bytes, (char *)block - HEADER, sizeof bytes);
#ifdef SMALL
    return bytes / 2;
#else
    return bytes;
#endif
}
#endif

#ifdef ANSWERS
const char *tc_version(int *major, int *minor, const char **patch);

const char *tc_version(int *major, int *minor, const char **patch)
{
    *major = 47;
    *minor = 11;
    *patch = "stub";
    return "";
}
#endif
