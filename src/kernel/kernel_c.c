/* kernel_c.c - the kernels in plain C, one element at a time.
 *
 * Idea       The reference for the other sets: the Makefile compiles it without vectorisation, so
 *            that no compiler optimisation affects it.
 * Invariant  Needs no special instructions; the other sets are equal to this one, bit for bit.
 * SPDX-License-Identifier: BSD-3-Clause */
#define TT_KERNEL_SET  tt_kernels_c
#define TT_KERNEL_NAME "c"
#include "kernel_table.h"
