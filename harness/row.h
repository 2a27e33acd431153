/* SPDX-License-Identifier: MIT */
/* The result as one CSV row, and as a summary for people. docs/row.md says what each column means.
 *
 * Statuses in the `status` column: ok; bind_failed, invariant (by this program); crash:SIGNAL, timeout, usage,
 * preload_failed, oom, unsupported (by scripts/run, for trials that could not write their row). Measurements are empty
 * unless it is ok. What this machine cannot give is empty, never 0. */
#ifndef RB_ROW_H
#define RB_ROW_H

#include "trial.h"

/* Before the trial: ends the process with exit status 2 if the row could not be appended to the file later (not
 * writable, other columns, no room). path: as --csv. */
void row_check_file(const struct plan *, const char *path);

/* Appends header (if the file is empty) and row in one write, or nothing. "-" is standard output. result may be NULL:
 * then only what the options say is filled (--check). */
void row_write(const struct plan *, const struct result *, const char *path);

/* What the options say and the commit, as the beginning of a header and of the lines below it: two malloced strings
 * without newlines, for tables that hold several lines of a trial. */
void row_identity(const struct plan *, char **header, char **values);

/* A few lines for a terminal. */
void row_summary(const struct plan *, const struct result *);

#endif
