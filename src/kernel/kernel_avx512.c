/* kernel_avx512.c - the kernels for x86-64 with AVX-512 (F, BW, DQ, VL).
 *
 * Idea       the same C, with wider vectors. The system's headers come first, so
 *            that only what is ours is compiled for AVX-512.
 * Invariant  called only where the processor has these (kernel.c asks).
 * SPDX-License-Identifier: BSD-3-Clause */
#if defined(__x86_64__)
#include <float.h>
#include <string.h>

#include "kernel_set.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl")
#endif

#define TT_KERNEL_SET  tt_kernels_avx512
#define TT_KERNEL_NAME "avx512"
#include "kernel_table.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int tt_no_avx512; /* C has no empty files */
#endif
