/* SPDX-License-Identifier: MIT */
/* "Did you mean": the known word that takes the fewest typing errors to become the wanted one (a letter too many, too
 * few, wrong, or two swapped; upper case is not an error); a word that begins with it counts as right. The first of several; NULL only if n is 0. Words beyond 63
 * letters are compared by their first 63. No malloc. */
#ifndef RB_NEAREST_H
#define RB_NEAREST_H

#include <stddef.h>

const char *nearest_word(const char *wanted, const char *const *known, size_t n);

/* The number of errors. */
unsigned nearest_distance(const char *a, const char *b);

#endif
