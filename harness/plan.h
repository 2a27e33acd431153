/* SPDX-License-Identifier: MIT */
/* From options to a plan: everything that can be wrong is found here, before anything runs. */
#ifndef RB_PLAN_H
#define RB_PLAN_H

#include "trial.h"

/* Ends the process with exit status 2 and one line where the options do not make a trial. `placement` is planned, bound
 * and its memory policy set by plan_place, which only a trial that will run calls. */
void plan_make(struct plan *, const struct options *, struct placement *);
void plan_place(struct plan *);
/* The same of the threads' units alone, for a structure of that kind. */
void plan_pinning(const struct options *, struct placement *);

/* --list: every combination, with the reason where it is refused. form: text or csv. */
void plan_list(const char *form);

#endif
