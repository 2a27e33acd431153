/* SPDX-License-Identifier: MIT */
/* LINK: harness/account.c harness/error.c harness/meta.c */
/* VARIANTS: -DFREES=3 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#undef fail

#include "../../reclaimers/policies/amortized.h"

#ifndef FREES
#define FREES 1
#endif
#define NODES 1000

/* Every call that reaches the allocator under test, whoever makes it. */
static uint64_t mallocs, frees;

void *__libc_malloc(size_t bytes);
void __libc_free(void *memory);

void *malloc(size_t bytes)
{
    mallocs++;
    return __libc_malloc(bytes);
}

void free(void *memory)
{
    frees++;
    __libc_free(memory);
}

static void make_bag(struct fp_thread *fp, struct bag *bag)
{
    for (int i = 0; i < NODES; i++)
        bag_push(bag, &fp->account, (uintptr_t)fp_alloc(fp, 0, 64, 16));
    fp->account.retired += NODES;
}

/* Amortized means all of it: neither nodes nor what holds the list of them may go in a burst. */
static void an_operation_frees_k_and_nothing_else(void **state unused)
{
    struct fp_thread fp = {0};
    struct bag bag = {0};
    fp_init(&fp, &(struct smr_parameters){.frees_per_tick = FREES});
    make_bag(&fp, &bag);
    mallocs = frees = 0;

    fp_release(&fp, &bag);
    assert_int_equal(frees, 0);
    assert_int_equal(bag.nodes, 0);
    assert_int_equal(fp_held(&fp), NODES);

    uint64_t ticks = 0;
    for (uint64_t before = 0; fp_held(&fp); before = frees, ticks++) {
        fp_tick(&fp);
        assert_true(frees - before == FREES || fp_held(&fp) == 0);
    }
    assert_int_equal(ticks, (NODES + FREES - 1) / FREES);
    assert_int_equal(frees, NODES);
    assert_int_equal(fp.account.freed, NODES);
    fp_tick(&fp);
    assert_int_equal(frees, NODES);
    assert_int_equal(mallocs, 0);
}

/* What becomes safe meanwhile waits its turn, and draining leaves nothing. */
static void a_second_bag_queues_behind_the_first(void **state unused)
{
    struct fp_thread fp = {0};
    struct bag first = {0}, second = {0};
    fp_init(&fp, &(struct smr_parameters){.frees_per_tick = FREES});
    make_bag(&fp, &first);
    make_bag(&fp, &second);
    fp_release(&fp, &first);
    fp_tick(&fp);
    fp_release(&fp, &second);
    assert_int_equal(fp_held(&fp), 2 * NODES - FREES);
    fp_drain(&fp);
    assert_int_equal(fp_held(&fp), 0);
    assert_int_equal(fp.account.freed, 2 * NODES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operation_frees_k_and_nothing_else),
        cmocka_unit_test(a_second_bag_queues_behind_the_first),
    };
    meta_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
