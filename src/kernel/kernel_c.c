/* kernel_c.c - the kernels for any processor, in plain C.
 *
 * Invariant  needs nothing but the machine's baseline; the other sets are equal
 *            to this one, bit for bit.
 * SPDX-License-Identifier: BSD-3-Clause */
#define TT_KERNEL_SET  tt_kernels_c
#define TT_KERNEL_NAME "c"
#include "kernel_table.h"
