/* SPDX-License-Identifier: MIT */
/* Compiled once for each combination: -DDS=olc_bptree -DSMR=debra -DFP=amortized. The three headers are static inline,
 * so the measured loop holds no indirect call. */
#pragma GCC diagnostic ignored "-Wunused-function" /* a contract's unused calls vanish */

#define COMBO_HEADER(name) STRING(name.h)
#include "compiler.h"
#include COMBO_HEADER(FP)
#include COMBO_HEADER(SMR)
#include COMBO_HEADER(DS)
#include "combo.h"

#define LOOP_HEADER_(kind) STRING(kind##_loop.h)
#define LOOP_HEADER(kind)  LOOP_HEADER_(kind)

/* A reclaimer that hands no nodes to a policy is built once, with the policy that would free directly; and a structure that
 * retires less than others with the reclaimers that do no more than it needs. */
#ifndef DS_RETIRES
#define DS_RETIRES 0
#endif
#ifndef DS_GROWS
#define DS_GROWS 0
#endif
#define NEVER_WAITS     (!(SMR_CAPS & SMR_CONCURRENT_READERS))
#define POLICY_MEANS    (SMR_POLICY == SMR_POLICY_ANY || FP_DIRECT)
#define NOTHING_TO_WAIT (DS_RETIRES == DS_RETIRES_UNHELD && !NEVER_WAITS)
#define NOTHING_TO_RETIRE                                                                                              \
    (DS_RETIRES == DS_RETIRES_NOTHING && !(FP_DIRECT && (NEVER_WAITS || SMR_POLICY == SMR_POLICY_NONE)))
#define MEANINGFUL (POLICY_MEANS && !NOTHING_TO_WAIT && !NOTHING_TO_RETIRE)

#if MEANINGFUL
#include LOOP_HEADER(DS_KIND)
#endif

#define LACKS(promise) (DS_NEEDS & ~SMR_CAPS & (promise))

static const struct combo combo = {
    .structure = STRING(DS),
    .kind = STRING(DS_KIND),
    .reclaimer = STRING(SMR),
    .policy = STRING(FP),
    .node_bytes = DS_NODE_BYTES,
    .key_bytes = DS_KEY_BYTES,
    .fenced = (SMR_CAPS & SMR_NO_FENCE) == 0,
    .releases = SMR_POLICY == SMR_POLICY_ANY,
    .threads = DS_THREADS,
    .grows = DS_GROWS,
    /* The first promise that the structure needs and the reclaimer does not keep. */
    .refused = !POLICY_MEANS       ? STRING(SMR) " hands no node to a policy, so only batch means something"
               : NOTHING_TO_WAIT   ? STRING(DS) " retires only what nobody holds, so only immediate means something"
               : NOTHING_TO_RETIRE ? STRING(DS) " retires nothing, so only immediate with batch means something"
               : LACKS(SMR_CONCURRENT_READERS)
                   ? STRING(DS) " retires nodes that others may be reading and " STRING(SMR) " would free them"
               : LACKS(SMR_WALK_UNLINKED) ? STRING(DS) " follows links out of unlinked nodes and " STRING(
                                                SMR) " does not protect their targets"
                                          : NULL,
    .built = MEANINGFUL,
#if MEANINGFUL
    .create = loop_create,
    .prefill = loop_prefill,
    .window = loop_window,
    .drain = loop_drain,
    .held = loop_held,
    .check = loop_check,
    .epoch = loop_epoch,
    .destroy = loop_destroy,
#endif
};

__attribute__((section("combos"), used)) static const struct combo *const entry = &combo;
