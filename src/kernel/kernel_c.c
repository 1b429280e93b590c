/* kernel_c.c - the kernels in plain C, one element at a time.
 *
 * Idea       The reference for the other sets. The Makefile compiles it without vectorisation, so that no such
 *            optimisation affects it.
 * Invariant  Needs no special instructions. The results of the other sets are bitwise equal to those of this one.
 * SPDX-License-Identifier: BSD-3-Clause */
#define TT_KERNEL_SET  tt_kernels_c
#define TT_KERNEL_NAME "c"
#include "kernel_table.h"
