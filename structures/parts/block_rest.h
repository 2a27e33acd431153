/* SPDX-License-Identifier: MIT */
/* What a block does before and after all windows, if its struct ds has a member `struct records records`. */

static void ds_fill(struct ds *ds, struct smr_thread *t)
{
    records_fill(&ds->records, t);
}

static void ds_check(struct ds *ds, struct census *census)
{
    records_check(&ds->records, census);
}

static void ds_destroy(struct ds *ds, struct smr_thread *t)
{
    records_destroy(&ds->records, t);
}
