/* kernel_avx2.c - the kernels for x86-64 with AVX2.
 *
 * Idea       the same C, with wider vectors. The system's headers come first, so
 *            that only what is ours is compiled for AVX2.
 * Invariant  called only where the processor has AVX2 (kernel.c asks).
 * SPDX-License-Identifier: BSD-3-Clause */
#if defined(__x86_64__)
#include <float.h>
#include <string.h>

#include "kernel_set.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

#define TT_KERNEL_SET  tt_kernels_avx2
#define TT_KERNEL_NAME "avx2"
#include "kernel_table.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int tt_no_avx2; /* C has no empty files */
#endif
