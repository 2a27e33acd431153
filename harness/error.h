/* SPDX-License-Identifier: MIT */
/* The one way to fail: a line on stderr, "reclaimbench: STATUS: wanted ..., found ...: do ...", an exit status, no row.
 *
 * STATUS is one of the row's words (see row.h); scripts/run reads it to fill the `status` column of a trial that could
 * not write a row itself. Exit status: 2 for what the user can set right (options, missing packages, missing
 * permission), 1 for a broken invariant or binding. */
#ifndef RB_ERROR_H
#define RB_ERROR_H

enum status {
    STATUS_OK,
    STATUS_USAGE,          /* options that do not fit together or do not parse */
    STATUS_PRELOAD_FAILED, /* the allocator asked for is not the one that runs */
    STATUS_BIND_FAILED,    /* a thread or its memory is not where it was put */
    STATUS_OOM,            /* would not fit, or did not */
    STATUS_INVARIANT,      /* the structure, the accounting or a reclaimer is wrong */
    STATUS_UNSUPPORTED,    /* this machine or this combination cannot do it */
};

/* "ok", "usage", "preload_failed" ... */
const char *status_name(enum status);

_Noreturn void fail(enum status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A line that starts with "reclaimbench: note:"; only for what cannot falsify a number. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
