/* SPDX-License-Identifier: MIT */
/* A shared object without an allocator. */
int nothing(void);

int nothing(void)
{
    return 0;
}
