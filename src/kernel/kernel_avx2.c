/* kernel_avx2.c - the kernels for x86-64 with AVX2 and F16C (kernel_wide.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#if defined(__x86_64__)
#include <immintrin.h>

#define TT_TARGET      "avx2,f16c"
#define TT_VECTOR      32
#define TT_KERNEL_SET  tt_kernels_avx2
#define TT_KERNEL_NAME "avx2"
#define WIDEN(p)       _mm256_cvtph_ps(_mm_loadu_si128(p))
#define NARROW(p, x)   _mm_storeu_si128(p, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT))
#include "kernel_wide.h"
#else
typedef int tt_no_avx2; /* a C file must not be empty */
#endif
