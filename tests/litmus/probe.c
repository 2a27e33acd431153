/* SPDX-License-Identifier: MIT */
/* Orders that this machine cannot be caught without, to be looked up in the assembly: each function is one use of a fence,
 * between two accesses that must not pass it. Compiled to assembly like combo.c, for x86-64 and aarch64; the mutants in
 * tests/mutants say what each must contain. */
#pragma GCC diagnostic ignored "-Wunused-function"

#include "compiler.h"
#define HEADER(name) STRING(name.h)
#include HEADER(FP)
#include HEADER(SMR)
#include HEADER(DS)

/* Announce, then read: nothing weaker than a full fence keeps a load behind a store. */
link_word probe_announce(struct smr_thread *t, _Atomic link_word *link);
link_word probe_announce(struct smr_thread *t, _Atomic link_word *link)
{
    smr_op_begin(t);
    return load_relaxed(link);
}

/* Read, validate: the read must not be satisfied after the second load of the version. */
bool probe_validate(struct bptree_node *node, uint64_t version, _Atomic uint64_t *read, uint64_t *value);
bool probe_validate(struct bptree_node *node, uint64_t version, _Atomic uint64_t *read, uint64_t *value)
{
    uint64_t seen = load_relaxed(read);
    bool valid = olc_valid(node, version);
    *value = seen;
    return valid;
}

/* What the compiler read before a validation it must read again behind it. */
uint64_t probe_reread(struct bptree_node *node, uint64_t version, const uint64_t *plain);
uint64_t probe_reread(struct bptree_node *node, uint64_t version, const uint64_t *plain)
{
    uint64_t before = *plain;
    if (!olc_valid(node, version))
        return 0;
    return *plain - before;
}

/* Lock, change: nobody may see the change without the lock. */
bool probe_lock(struct bptree_node *node, uint64_t version, _Atomic uint64_t *changed);
bool probe_lock(struct bptree_node *node, uint64_t version, _Atomic uint64_t *changed)
{
    if (!olc_lock(node, version))
        return false;
    store_relaxed(changed, 1);
    return true;
}

/* Change, unlock. */
void probe_unlock(struct bptree_node *node, _Atomic uint64_t *changed);
void probe_unlock(struct bptree_node *node, _Atomic uint64_t *changed)
{
    store_relaxed(changed, 1);
    olc_unlock(node);
}
