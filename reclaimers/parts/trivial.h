/* SPDX-License-Identifier: MIT */
/* State and calls of a scheme that announces nothing (leak, immediate). */

struct smr_header {
};

struct smr_shared {
    struct smr_parameters parameters;
};

struct smr_thread {
    struct fp_thread fp;
};

inlined void smr_init(struct smr_shared *shared, const struct smr_parameters *parameters)
{
    shared->parameters = *parameters;
}

inlined void smr_thread_init(struct smr_thread *t, struct smr_shared *shared, unsigned index)
{
    (void)index;
    fp_init(&t->fp, &shared->parameters);
}

inlined void smr_online(struct smr_thread *t)
{
    (void)t;
}

inlined void smr_offline(struct smr_thread *t)
{
    (void)t;
}

inlined void smr_tick(struct smr_thread *t)
{
    fp_tick(&t->fp);
}

inlined void smr_op_begin(struct smr_thread *t)
{
    (void)t;
}

inlined void smr_op_end(struct smr_thread *t)
{
    (void)t;
}

inlined uint64_t smr_epoch(struct smr_shared *shared)
{
    (void)shared;
    return 0;
}

#include "plain_protect.h"
