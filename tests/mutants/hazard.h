/* SPDX-License-Identifier: MIT */
/* Hazard pointers in their plainest form, for the mutants only: a scheme that protects single nodes, under which a
 * structure that does not re-validate what it protects frees under its readers. Whole-operation schemes forgive that.
 *
 * protect: publish (1), full fence (2), read the link again. scan: full fence (3), then look at every slot (4). If (4)
 * misses (1), then (2) and (3) make the second look at the link see the unlink that came before the retire. Slots are looked
 * at in ascending order and structures move protections to higher ones only, so none slips by.
 * Source: M. Michael, "Hazard pointers: safe memory reclamation for lock-free objects", IEEE TPDS 2004. */
#include "race.h"
#include "reclaimer.h"

#define SMR_CAPS     SMR_CONCURRENT_READERS
#define SMR_POLICY   SMR_POLICY_ANY
#define HAZARD_SLOTS 3

struct smr_header {
};

struct hazards {
    line_pair_align _Atomic link_word slot[HAZARD_SLOTS];
};

struct smr_shared {
    struct hazards *hazards;
    struct smr_parameters parameters;
};

struct smr_thread {
    struct fp_thread fp;
    struct smr_shared *shared;
    struct hazards *own;
    struct bag retired;
};

#define smr_checkpoint(t)               ((void)(t))
#define smr_reserve(t, slot, node)      ((void)(t), (void)(node))
#define smr_commit(t)                   ((void)(t))
#define smr_online(t)                   ((void)(t))
#define smr_offline(t)                  ((void)(t))
#define smr_op_begin(t)                 ((void)(t))
#define smr_epoch(shared)               ((void)(shared), (uint64_t)0)
#define smr_tick(t)                     fp_tick(&(t)->fp)
#define smr_alloc(t, kind, size, align) fp_alloc(&(t)->fp, kind, size, align)
#define smr_discard(t, node)            smr_discard_node(&(t)->fp, node)

inlined void smr_init(struct smr_shared *shared, const struct smr_parameters *parameters)
{
    shared->parameters = *parameters;
    shared->hazards = meta_alloc(parameters->threads * sizeof *shared->hazards);
}

inlined void smr_thread_init(struct smr_thread *t, struct smr_shared *shared, unsigned index)
{
    t->shared = shared;
    t->own = &shared->hazards[index];
    fp_init(&t->fp, &shared->parameters);
}

inlined link_word smr_protect(struct smr_thread *t, unsigned slot, _Atomic link_word *link, const void *owner)
{
    (void)owner;
    for (;;) {
        link_word word = load_acquire(link);
        race_window();
        store_release(&t->own->slot[slot], word & ~LINK_MARKS); /* (1) */
        fence_seq_cst();                                        /* (2) */
        if (load_acquire(link) == word)
            return word;
    }
}

inlined void smr_move(struct smr_thread *t, unsigned to, unsigned from)
{
    store_release(&t->own->slot[to], load_relaxed(&t->own->slot[from]));
}

inlined void smr_op_end(struct smr_thread *t)
{
    for (unsigned slot = 0; slot < HAZARD_SLOTS; slot++)
        store_release(&t->own->slot[slot], 0);
}

static bool hazard_protects(const struct smr_shared *shared, link_word node)
{
    for (unsigned i = 0; i < shared->parameters.threads; i++)
        for (unsigned slot = 0; slot < HAZARD_SLOTS; slot++)
            if (load_acquire(&shared->hazards[i].slot[slot]) == node) /* (4) */
                return true;
    return false;
}

static noinline void hazard_scan(struct smr_thread *t)
{
    struct bag safe = {0}, held = {0};
    fence_seq_cst(); /* (3) */
    while (t->retired.nodes) {
        uintptr_t entry = bag_pop(&t->retired, &t->fp.account);
        bag_push(hazard_protects(t->shared, (link_word)bag_node(entry)) ? &held : &safe, &t->fp.account, entry);
    }
    t->retired = held;
    fp_release(&t->fp, &safe);
}

inlined void smr_retire(struct smr_thread *t, unsigned kind, void *node)
{
    account_retire(&t->fp.account);
    bag_push(&t->retired, &t->fp.account, (uintptr_t)node | kind);
    if (t->retired.nodes >= t->shared->parameters.batch_size)
        hazard_scan(t);
}

inlined uint64_t smr_held(struct smr_thread *t)
{
    return t->retired.nodes + fp_held(&t->fp);
}

static noinline void smr_drain(struct smr_thread *t)
{
    fp_release(&t->fp, &t->retired);
    fp_drain(&t->fp);
}
