/* SPDX-License-Identifier: MIT */
/* The calls of a scheme that protects whole operations and not single nodes: a read of a link is a load, and there is
 * no read phase to leave. Used by leak, immediate, the epoch-based and the token schemes. Needs struct smr_thread with its
 * fp. */

#define smr_checkpoint(t) ((void)(t))

inlined link_word smr_protect(struct smr_thread *t, unsigned slot, _Atomic link_word *link, const void *owner)
{
    (void)t;
    (void)slot;
    (void)owner;
    return load_acquire(link);
}

inlined void smr_move(struct smr_thread *t, unsigned to, unsigned from)
{
    (void)t;
    (void)to;
    (void)from;
}

inlined void smr_reserve(struct smr_thread *t, unsigned slot, const void *node)
{
    (void)t;
    (void)slot;
    (void)node;
}

inlined void smr_commit(struct smr_thread *t)
{
    (void)t;
}

inlined void *smr_alloc(struct smr_thread *t, unsigned kind, size_t bytes, size_t align)
{
    return fp_alloc(&t->fp, kind, bytes, align);
}

inlined void smr_discard(struct smr_thread *t, void *node)
{
    smr_discard_node(&t->fp, node);
}
