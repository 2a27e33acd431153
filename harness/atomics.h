/* SPDX-License-Identifier: MIT */
/* C11 atomics with the memory order in the name. Every word that two threads may touch at once is accessed through
 * these (or through search.h, which says why it may do otherwise). */
#ifndef RB_ATOMICS_H
#define RB_ATOMICS_H

#include <stdatomic.h>
#include "compiler.h"

#define load_relaxed(p)         atomic_load_explicit((p), memory_order_relaxed)
#define load_seq_cst(p)         atomic_load_explicit((p), memory_order_seq_cst)
#define load_acquire(p)         atomic_load_explicit((p), memory_order_acquire)
#define store_relaxed(p, v)     atomic_store_explicit((p), (v), memory_order_relaxed)
#define store_release(p, v)     atomic_store_explicit((p), (v), memory_order_release)
#define exchange_acq_rel(p, v)  atomic_exchange_explicit((p), (v), memory_order_acq_rel)
#define fetch_add_relaxed(p, v) atomic_fetch_add_explicit((p), (v), memory_order_relaxed)
#define fetch_add_acq_rel(p, v) atomic_fetch_add_explicit((p), (v), memory_order_acq_rel)
#define exchange_seq_cst(p, v)  atomic_exchange_explicit((p), (v), memory_order_seq_cst)
#define fetch_sub_release(p, v) atomic_fetch_sub_explicit((p), (v), memory_order_release)
#define fetch_sub_acq_rel(p, v) atomic_fetch_sub_explicit((p), (v), memory_order_acq_rel)

/* Success order in the name; a failed exchange loads with relaxed (or acquire) order and updates *expected. */
#define cas_acquire(p, expected, v)                                                                                    \
    atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_acquire, memory_order_relaxed)
#define cas_acq_rel(p, expected, v)                                                                                    \
    atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_acq_rel, memory_order_acquire)

/* Thread sanitizers execute fences but do not model them: the accesses around a fence are all atomic, and each user's
 * proof sketch says which release and acquire pair carries the happens-before that a sanitizer needs to see. */
#define fence_acquire()  atomic_thread_fence(memory_order_acquire)
#define fence_release()  atomic_thread_fence(memory_order_release)
#define fence_seq_cst()  atomic_thread_fence(memory_order_seq_cst)
#define fence_compiler() atomic_signal_fence(memory_order_seq_cst)

/* One turn of a spin loop: tells the core to let its sibling run. */
inlined void spin_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#else
    fence_compiler();
#endif
}

#endif
