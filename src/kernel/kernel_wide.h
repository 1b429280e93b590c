/* kernel_wide.h - the kernels for x86-64 with vectors wider than the baseline's.
 *
 * Idea       The same C code, compiled for the instructions TT_TARGET. The system's headers are included first, so that
 *            only tutti's code is compiled for these. A file per set defines TT_TARGET, TT_VECTOR, TT_KERNEL_SET,
 *            TT_KERNEL_NAME, and the conversions of fp16 for half a vector: WIDEN(address) and NARROW(address, floats).
 * Invariant  Called only if the CPU has the instructions (kernel.c checks).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <float.h>
#include <string.h>

#include "kernel_set.h"

#define PRAGMA_OF(x) _Pragma(#x)
#define PRAGMA(x)    PRAGMA_OF(x)
#if defined(__clang__)
PRAGMA(clang attribute push(__attribute__((target(TT_TARGET))), apply_to = function))
#else
PRAGMA(GCC push_options)
PRAGMA(GCC target(TT_TARGET))
#endif

#define TT_FP16
typedef float wide_floats __attribute__((vector_size(TT_VECTOR)));
static inline wide_floats widen_fp16(const void *p) {
  return (wide_floats)WIDEN(p);
}
static inline void narrow_fp16(void *p, wide_floats x) {
  NARROW(p, x);
}
#include "kernel_table.h"

#if defined(__clang__)
PRAGMA(clang attribute pop)
#else
PRAGMA(GCC pop_options)
#endif
