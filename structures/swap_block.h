/* SPDX-License-Identifier: MIT */
/* Block of records with an atomic pointer each; a writer swaps in new metrics and retires the old ones. One operation is
 * one pin around the whole scan: under an epoch scheme a reader announces itself once for all elements and then only loads.
 * Pointer-based schemes protect element by element. Proof: parts/swap_record.h. */
#include "parts/swap_record.h"

#define DS_NEEDS   SMR_CONCURRENT_READERS
#define DS_THREADS DS_ANY

#include "parts/fixed_block.h"
