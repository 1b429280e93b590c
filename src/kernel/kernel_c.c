/* kernel_c.c - the kernels in plain C, one element at a time.
 *
 * Idea       what the other sets are compared with: the Makefile has it compiled
 *            without vectors, so that no compiler's cleverness is in it.
 * Invariant  needs nothing of the machine; the other sets are equal to this one,
 *            bit for bit.
 * SPDX-License-Identifier: BSD-3-Clause */
#define TT_KERNEL_SET  tt_kernels_c
#define TT_KERNEL_NAME "c"
#include "kernel_table.h"
