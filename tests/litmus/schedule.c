/* SPDX-License-Identifier: MIT */
/* A lock-free structure under random schedules, with a reclaimer that frees as early as its promise allows.
 *
 * The threads are coroutines of one thread: before each acquire, release or exchange another one may go on, and one may be left
 * behind for thousands of such points. So a run follows from its seed, thousands of runs take a second, and what needs a thread
 * to sleep at one place happens often. All is sequentially consistent: orders are not what is tested here.
 *
 * Schemes, by the second argument:
 *   epoch        a node is freed once all operations have ended that had begun when it was retired
 *   restartable  at once, unless a thread behind smr_commit has reserved it. Threads in a read phase begin again, as if
 *                by a signal, before they do anything else. What keeps the calls of reclaimer.h only by luck fails here
 *
 * Freed nodes are filled with poison. It must not be met by protections, exchanges and loads of words, and must still be there when
 * the memory is handed out again, which in half of the runs is at once. Each key belongs to one thread, which knows every answer; but
 * one key in THREADS + 1 is everybody's: there the successes must add up. At the end the structure is checked, all
 * nodes are accounted for.
 *
 * Compiled like model.c, with small nodes: -DDS=abtree -DFP=batch; no reclaimer. Arguments: first seed, scheme, runs. Exit
 * status 1 and the seed with what was wrong, or 0 and how many nodes were freed and how often a thread began again. */
#pragma GCC diagnostic ignored "-Wunused-function"

#include "compiler.h"

#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

/* Instead of atomics.h and race.h. */
#define RB_ATOMICS_H
#define RB_RACE_H
#define POISON        0xddddddddddddddddu
#define at_point(p)   (point(), sizeof *(p) == 8 ? must_live((const volatile void *)(p)) : (void)0)
#define race_window() point()

static void point(void);
static void must_live(const volatile void *word);

#define load_relaxed(p)             atomic_load_explicit((p), memory_order_relaxed)
#define load_acquire(p)             (at_point(p), atomic_load((p)))
#define store_relaxed(p, v)         atomic_store_explicit((p), (v), memory_order_relaxed)
#define store_release(p, v)         (at_point(p), atomic_store((p), (v)))
#define cas_acq_rel(p, expected, v) (at_point(p), atomic_compare_exchange_strong((p), (expected), (v)))
#define fence_acquire()             point()
#define fence_release()             point()
#define fence_seq_cst()             point()
#define fence_compiler()            ((void)0)

#define HEADER(name) STRING(name.h)
#include HEADER(FP)
#include "reclaimer.h"

#define SMR_CAPS (SMR_CONCURRENT_READERS | SMR_WALK_UNLINKED)

enum {
    THREADS = 4,
    KEYS = 24,
    OPERATIONS = 300,
    SLOTS = 4,
    ALIGNMENT = 64,
    STACK = 1 << 17,
    LIMBO = 4 * THREADS * OPERATIONS
};

struct smr_header {
};

struct smr_thread {
    struct fp_thread fp;
    uint64_t began; /* when its operation did; 0: in none */
    const void *reserved[SLOTS];
    bool reads; /* in a read phase of the restartable scheme */
    bool disturbed;
    jmp_buf checkpoint;
};

#define smr_move(t, to, from) ((void)(t))
#define smr_checkpoint(t)     (point(), (void)_setjmp((t)->checkpoint), read_phase(t))

static void read_phase(struct smr_thread *t);
static void smr_op_begin(struct smr_thread *t);
static void smr_op_end(struct smr_thread *t);
static link_word smr_protect(struct smr_thread *t, unsigned slot, _Atomic link_word *link, const void *owner);
static void smr_reserve(struct smr_thread *t, unsigned slot, const void *node);
static void smr_commit(struct smr_thread *t);
static void *smr_alloc(struct smr_thread *t, unsigned kind, size_t bytes, size_t align);
static void smr_discard(struct smr_thread *t, void *node);
static void smr_retire(struct smr_thread *t, unsigned kind, void *node);

#undef node_check_live
#define node_check_live(node) must_live(node)
#include HEADER(DS)
#include "random.h"

bool threads_oversubscribed; /* of backoff.h: nobody waits */

struct coroutine {
    ucontext_t context;
    bool alive;
    uint64_t left_behind; /* until this point */
    unsigned char stack[STACK];
};

static struct coroutine coroutines[THREADS];
static ucontext_t all_ended;
static unsigned current;
static bool running, restartable, reuses;
static uint64_t seed, points, now, freed, begun_again;
static uint64_t turns, sleeps, longest; /* one in so many points; points */
static struct random dice;
static struct smr_thread *smr[THREADS];
static struct ds *ds;
static int present[KEYS];

static struct {
    void *node;
    uint64_t retired;
} limbo[LIMBO];
static size_t in_limbo;
static void *idle[8 * LIMBO]; /* freed, filled with poison */
static size_t idle_nodes;

static void must(bool holds, const char *what)
{
    if (!holds)
        fail(STATUS_INVARIANT, "seed %lu, point %lu: %s", seed, points, what);
}

static void must_live(const volatile void *word)
{
    must(*(const volatile uint64_t *)word != POISON, "a freed node was touched");
}

/* ---- schedule ---- */

/* Those who are left behind, too, if there is nobody else. */
static void another(void)
{
    unsigned from = current, tries = 0;
    do
        current = (unsigned)(random_next(&dice) % THREADS);
    while (!coroutines[current].alive || (coroutines[current].left_behind > points && tries++ < 10 * THREADS));
    if (current != from)
        swapcontext(&coroutines[from].context, &coroutines[current].context);
}

static void point(void)
{
    if (!running)
        return;
    points++;
    if (random_next(&dice) % sleeps == 0)
        coroutines[current].left_behind = points + random_next(&dice) % longest;
    if (coroutines[current].left_behind > points || random_next(&dice) % turns == 0)
        another();
    struct smr_thread *t = smr[current];
    if (t->reads && t->disturbed) {
        begun_again++;
        _longjmp(t->checkpoint, 1);
    }
}

/* ---- reclaimer ---- */

static bool held(const struct smr_thread *t, const void *node, uint64_t retired)
{
    bool found = false;
    if (!restartable)
        return t->began && t->began < retired;
    for (unsigned slot = 0; slot < SLOTS; slot++)
        found |= t->began && !t->reads && t->reserved[slot] == node;
    return found;
}

static void give_back(void *node)
{
    memset(node, (int)(POISON & 0xff), DS_NODE_BYTES);
    must(idle_nodes < sizeof idle / sizeof *idle, "too many nodes");
    idle[idle_nodes++] = node;
    freed++;
}

static void reclaim(void)
{
    size_t kept = 0;
    for (size_t i = 0; i < in_limbo; i++) {
        bool keep = false;
        for (unsigned other = 0; other < THREADS; other++)
            keep |= held(smr[other], limbo[i].node, limbo[i].retired);
        if (keep)
            limbo[kept++] = limbo[i];
        else
            give_back(limbo[i].node);
    }
    for (unsigned other = 0; other < THREADS; other++)
        smr[other]->disturbed |= in_limbo > kept;
    in_limbo = kept;
}

static void read_phase(struct smr_thread *t)
{
    t->disturbed = false;
    t->reads = restartable;
    memset(t->reserved, 0, sizeof t->reserved);
}

static void smr_op_begin(struct smr_thread *t)
{
    t->began = ++now;
}

static void smr_op_end(struct smr_thread *t)
{
    t->began = 0;
    t->reads = false;
    reclaim();
}

static link_word smr_protect(struct smr_thread *t, unsigned slot, _Atomic link_word *link, const void *owner)
{
    (void)t;
    (void)slot;
    (void)owner;
    link_word word = load_acquire(link);
    must_live((const void *)(word & ~LINK_MARKS));
    return word;
}

static void smr_reserve(struct smr_thread *t, unsigned slot, const void *node)
{
    t->reserved[slot] = node;
}

static void smr_commit(struct smr_thread *t)
{
    point();
    t->reads = false;
}

static void *smr_alloc(struct smr_thread *t, unsigned kind, size_t bytes, size_t align)
{
    must(!t->reads && kind == 0 && align <= ALIGNMENT && bytes == DS_NODE_BYTES,
         "an allocation in a read phase, or of another kind");
    t->fp.account.allocated++;
    if (!reuses || idle_nodes == 0)
        return aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    uint64_t *node = idle[--idle_nodes];
    for (size_t i = 0; i < bytes / sizeof *node; i++)
        must(node[i] == POISON, "a freed node was written to");
    memset(node, 0, bytes);
    return node;
}

static void smr_discard(struct smr_thread *t, void *node)
{
    t->fp.account.discarded++;
    give_back(node);
}

static void smr_retire(struct smr_thread *t, unsigned kind, void *node)
{
    (void)kind;
    must(!t->reads, "a node was retired in a read phase");
    must_live(node);
    for (size_t i = 0; i < in_limbo; i++)
        must(limbo[i].node != node, "a node was retired twice");
    must(in_limbo < LIMBO, "too many nodes");
    t->fp.account.retired++;
    limbo[in_limbo].node = node;
    limbo[in_limbo++].retired = ++now;
    reclaim();
}

/* ---- operations ---- */

static void change(unsigned me, uint64_t key, bool inserts)
{
    bool was = present[key], shared = key % (THREADS + 1) == THREADS;
    bool done = inserts ? ds_insert(ds, smr[me], key, value_of(key)) : ds_remove(ds, smr[me], key);
    must(shared || done == (inserts != was), "a change gave a wrong answer");
    if (done)
        present[key] += inserts ? 1 : -1;
}

static void look(unsigned me, uint64_t key)
{
    uint64_t sum = 0, most = key % 7;
    bool was = present[key];
    struct found found = ds_contains(ds, smr[me], key);
    must(key % (THREADS + 1) != me || found.found == was, "a lookup gave a wrong answer");
    must(!found.found || found.value == value_of(key), "a lookup gave a wrong value");
    must(ds_scan(ds, smr[me], key, most, &sum) <= most, "a scan read too much");
}

/* Mostly inserts, or mostly removes, for a while. */
static void act(int me)
{
    uint64_t inserts = 0;
    for (unsigned i = 0; i < OPERATIONS; i++) {
        uint64_t key = random_next(&dice) % KEYS, owner = key % (THREADS + 1);
        if (i % 64 == 0)
            inserts = 1 + random_next(&dice) % 3;
        if (random_next(&dice) % 8 == 0)
            look((unsigned)me, key);
        else if (owner == (unsigned)me || owner == THREADS)
            change((unsigned)me, key, random_next(&dice) % 4 < inserts);
    }
    coroutines[me].alive = false;
    for (unsigned other = 0; other < THREADS; other++)
        if (coroutines[other].alive)
            another();
    setcontext(&all_ended);
}

static void check_at_rest(void)
{
    struct census census = {0};
    uint64_t keys = 0, nodes = 0;
    ds_check(ds, &census);
    must(!census.broken[0], census.broken);
    for (uint64_t key = 0; key < KEYS; key++) {
        must(present[key] == 0 || present[key] == 1, "changes of a shared key do not add up");
        must(ds_contains(ds, smr[0], key).found == (present[key] == 1), "a key was lost, or came back");
        keys += (uint64_t)present[key];
    }
    for (unsigned i = 0; i < THREADS; i++) {
        const struct account *a = &smr[i]->fp.account;
        nodes += a->allocated - a->discarded - a->retired;
    }
    must(keys == census.keys, "keys do not add up");
    must(nodes == census.nodes, "nodes do not add up");
    must(in_limbo == 0, "nodes are held at rest");
}

static void run(void)
{
    struct ds_parameters parameters = {.threads = THREADS, .rwlock_kind = "prefer-reader"};
    random_seed(&dice, seed, 0);
    turns = 2 + random_next(&dice) % 30;
    sleeps = 50 + random_next(&dice) % 1000;
    longest = 200 + random_next(&dice) % 8000;
    reuses = seed % 2;
    points = 0;
    memset(present, 0, sizeof present);
    memset(ds, 0, sizeof *ds);
    ds_create(ds, smr[0], &parameters);
    for (int i = 0; i < THREADS; i++) {
        coroutines[i].alive = true;
        coroutines[i].left_behind = 0;
        getcontext(&coroutines[i].context);
        coroutines[i].context.uc_stack.ss_sp = coroutines[i].stack;
        coroutines[i].context.uc_stack.ss_size = STACK;
        makecontext(&coroutines[i].context, (void (*)(void))act, 1, i);
    }
    current = 0;
    running = true;
    swapcontext(&all_ended, &coroutines[0].context);
    running = false;
    check_at_rest();
    ds_destroy(ds, smr[0]);
    for (; idle_nodes; free(idle[--idle_nodes]))
        for (size_t i = 0; i < DS_NODE_BYTES / sizeof(uint64_t); i++)
            must(((uint64_t *)idle[idle_nodes - 1])[i] == POISON, "a freed node was written to");
}

int main(int count, char **arguments)
{
    if (count != 4)
        return STATUS_UNSUPPORTED;
    uint64_t first = strtoul(arguments[1], NULL, 10) << 32, runs = strtoul(arguments[3], NULL, 10);
    restartable = strcmp(arguments[2], "restartable") == 0;
    meta_init();
    ds = meta_alloc(sizeof *ds);
    for (unsigned i = 0; i < THREADS; i++) {
        smr[i] = meta_alloc(sizeof *smr[i]);
        smr[i]->fp.account.index = i;
    }
    for (seed = first; seed < first + runs; seed++)
        run();
    printf("freed %lu, begun again %lu\n", freed, begun_again);
    return 0;
}
