/* fp_state.h - makes sums independent of the state of the floating-point unit.
 *
 * Idea       Each thread has its rounding mode, flush-to-zero and denormals-are-zero. A program or a library linked
 *            with -ffast-math may have changed them on a single rank. Code that computes results common to all ranks
 *            therefore runs between tt_fp_pin and tt_fp_restore, which round to nearest and keep denormals. A user's op
 *            runs in the caller's state.
 * Cost       About a nanosecond if the state is the usual one.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_FP_STATE_H
#define TT_FP_STATE_H

#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#define TT_FP_UNUSUAL 0xe040u /* in MXCSR: flush to zero, rounding control, denormals are zero */
typedef unsigned tt_fp_state;
static inline tt_fp_state tt_fp_get(void) {
  return _mm_getcsr();
}
static inline void tt_fp_set(tt_fp_state s) {
  _mm_setcsr(s);
}
#elif defined(__aarch64__)
#define TT_FP_UNUSUAL 0x3c80003u /* in FPCR: FIZ, AH, FZ16, rounding mode, FZ, default NaN */
typedef uint64_t tt_fp_state;
static inline tt_fp_state tt_fp_get(void) {
  tt_fp_state s;
  __asm__ volatile("mrs %0, fpcr" : "=r"(s));
  return s;
}
static inline void tt_fp_set(tt_fp_state s) {
  __asm__ volatile("msr fpcr, %0" : : "r"(s));
}
#else
#define TT_FP_UNUSUAL 0u
typedef unsigned tt_fp_state;
static inline tt_fp_state tt_fp_get(void) {
  return 0;
}
static inline void tt_fp_set(tt_fp_state s) {
  (void)s;
}
#endif

/* Sets the usual floating-point state. Returns the previous state, which is the argument for tt_fp_restore. */
static inline tt_fp_state tt_fp_pin(void) {
  const tt_fp_state s = tt_fp_get();
  if (__builtin_expect((s & TT_FP_UNUSUAL) != 0, 0)) tt_fp_set(s & ~(tt_fp_state)TT_FP_UNUSUAL);
  return s;
}
static inline void tt_fp_restore(tt_fp_state s) {
  if (__builtin_expect((s & TT_FP_UNUSUAL) != 0, 0)) tt_fp_set(s);
}

#endif
