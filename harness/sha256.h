/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4) of a file, for the row: the same digits as sha256sum prints. An own one, because the choice is
 * between 80 lines and a crypto library in the process whose allocator is measured. No malloc. False: the file cannot
 * be read. */
#ifndef RB_SHA256_H
#define RB_SHA256_H

#include "compiler.h"

#define SHA256_TEXT 65 /* 64 hexadecimal digits and NUL */

bool sha256_file(const char *path, char text[SHA256_TEXT]);

#endif
