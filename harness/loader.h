/* SPDX-License-Identifier: MIT */
/* Questions to the dynamic loader and to other programs, before a trial. */
#ifndef RB_LOADER_H
#define RB_LOADER_H

#include "compiler.h"

/* Runs a program (found along PATH) with `settings` ("NAME=value", NULL at the end; they replace what the environment
 * says) and collects what it writes to stdout and stderr. False: it could not be started. Its exit status is of no
 * interest. */
bool loader_run(const char *program, char *const *argv, const char *const *settings, char *text, size_t size);

/* Which file the loader would take for an LD_PRELOAD entry, by a soname or a path, into path (PATH_MAX bytes), real
 * path. The loader itself is asked, by starting this program as far as its list of libraries; so the answer includes
 * the cache, LD_LIBRARY_PATH, wrong architectures, broken files and missing dependencies. False: it would take none,
 * and why is in reason. */
bool loader_finds(const char *object, char *path, char *reason, size_t reason_size);

#endif
