/* SPDX-License-Identifier: MIT */
#include "nearest.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

enum { LONGEST = 63 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static int letter(char c)
{
    return tolower((unsigned char)c);
}

/* Damerau-Levenshtein distance (optimal string alignment): cost[i][j] turns the first i letters of a into the first j
 * of b. */
unsigned nearest_distance(const char *a, const char *b)
{
    size_t rows = strnlen(a, LONGEST), columns = strnlen(b, LONGEST);
    unsigned cost[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= rows; i++)
        cost[i][0] = (unsigned)i;
    for (size_t j = 0; j <= columns; j++)
        cost[0][j] = (unsigned)j;
    for (size_t i = 1; i <= rows; i++)
        for (size_t j = 1; j <= columns; j++) {
            unsigned wrong = letter(a[i - 1]) != letter(b[j - 1]);
            unsigned best = least(cost[i - 1][j] + 1, cost[i][j - 1] + 1);
            best = least(best, cost[i - 1][j - 1] + wrong);
            if (i > 1 && j > 1 && letter(a[i - 1]) == letter(b[j - 2]) && letter(a[i - 2]) == letter(b[j - 1]))
                best = least(best, cost[i - 2][j - 2] + 1);
            cost[i][j] = best;
        }
    return cost[rows][columns];
}

const char *nearest_word(const char *wanted, const char *const *known, size_t n)
{
    const char *nearest = NULL;
    unsigned fewest = UINT_MAX;
    for (size_t i = 0; i < n; i++) {
        /* A beginning is an abbreviation, whatever is missing. */
        bool begins = *wanted && strncmp(wanted, known[i], strlen(wanted)) == 0;
        unsigned errors = begins ? 0 : nearest_distance(wanted, known[i]);
        if (errors < fewest) {
            fewest = errors;
            nearest = known[i];
        }
    }
    return nearest;
}
