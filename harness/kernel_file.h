/* SPDX-License-Identifier: MIT */
/* Small text files of the kernel (/proc, /sys, cgroups), read without malloc: the allocator under test must not see it.
 *
 * All return false where the file, the field or the number is not there or may not be read; nothing fails louder than
 * that. */
#ifndef RB_KERNEL_FILE_H
#define RB_KERNEL_FILE_H

#include "compiler.h"

/* Reads up to size - 1 bytes, ends them with NUL, drops a final newline. */
bool kernel_file_read(const char *path, char *text, size_t size);

/* The decimal number at the start of the file. "max" and the like: false. */
bool kernel_file_number(const char *path, long long *number);

/* The number of the line "key: number ..." or "key number" in a text. Bytes, if the line ends in "kB"; else as it
 * stands. */
bool kernel_text_field(const char *text, const char *key, long long *number);

#endif
