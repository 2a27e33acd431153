/* SPDX-License-Identifier: MIT */
/* The layout of swap_block without any synchronisation, so read-only: what a scan costs that protects nothing, the bound.
 * Its loads are relaxed atomics, plain loads to the processor, that no compiler may move out of the loop of scans. */
#include "parts/swap_record.h"

#define DS_NEEDS      0u
#define DS_RETIRES    DS_RETIRES_NOTHING
#define DS_THREADS    DS_READ_ONLY
#define DS_NODE_BYTES sizeof(struct value)
#define DS_KEY_BYTES  (sizeof(struct value) + sizeof(struct record) + 2 * sizeof(struct record *) + 2 * 16)

#include "parts/fixed_block.h"
