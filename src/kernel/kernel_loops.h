/* kernel_loops.h - the reduction loops, as templates; kernel_table.h instantiates them.
 *
 * Idea       A kernel has a loop over two inputs and one over three. More inputs are summed in an accumulator of a few
 *            KiB, in cache-sized chunks: first two or three inputs, then two at a time, and the last two directly into
 *            dst. dst and each input thus pass through memory once. Two inputs may be summed into two buffers in one
 *            pass.
 * Invariant  Operands stay in order. A chunk of dst is written after that chunk of every input has been read, so dst
 *            may be any input. The accumulator is not rounded, so the bits do not depend on the chunks.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_KERNEL_LOOPS_H
#define TT_KERNEL_LOOPS_H

#include <string.h>

#include "kernel_bits.h"
#include "kernel_set.h"

/* dst is an input or disjoint from it, so elements are independent. Without vectors the loops serve as a readable
 * reference. */
#if !defined(TT_VECTOR)
#define INDEPENDENT
#elif defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* no warning if a loop remains scalar */
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

enum { CHUNK = 4096 }; /* size of the accumulator, in bytes */

#define AS_IS(x) (x)

#define LOOP2(name, D, A, B, expression)                         \
  static void name(D *d, const A *a, const B *b, size_t count) { \
    INDEPENDENT                                                  \
    for (size_t i = 0; i < count; i++) d[i] = expression;        \
  }

#define LOOP3(name, D, A, B, C, expression)                                  \
  static void name(D *d, const A *a, const B *b, const C *c, size_t count) { \
    INDEPENDENT                                                              \
    for (size_t i = 0; i < count; i++) d[i] = expression;                    \
  }

#define LOOP_BOTH(name, T, expression)                                 \
  static void name(T *d, T *e, const T *a, const T *b, size_t count) { \
    INDEPENDENT                                                        \
    for (size_t i = 0; i < count; i++) d[i] = e[i] = expression;       \
  }

/* Defines a kernel from the loops above. T is the type of the elements in memory and A the type of the accumulator. The
 * first step takes two or three inputs, so that an even number of inputs remains. */
#define DRIVER(name, T, A, first2, first3, more, last)                                  \
  static void name##_many(T *dst, const void *const *in, int n, size_t count) {         \
    _Alignas(64) A acc[CHUNK / sizeof(A)];                                              \
    for (size_t at = 0; at < count; at += CHUNK / sizeof(A)) {                          \
      size_t len = tt_min(count - at, CHUNK / sizeof(A));                               \
      const T *a = (const T *)in[0] + at, *b = (const T *)in[1] + at;                   \
      int j = 2 + n % 2;                                                                \
      if (j == 2)                                                                       \
        first2(acc, a, b, len);                                                         \
      else                                                                              \
        first3(acc, a, b, (const T *)in[2] + at, len);                                  \
      for (; j + 2 < n; j += 2)                                                         \
        more(acc, acc, (const T *)in[j] + at, (const T *)in[j + 1] + at, len);          \
      last(dst + at, acc, (const T *)in[j] + at, (const T *)in[j + 1] + at, len);       \
    }                                                                                   \
  }                                                                                     \
  static void name(void *dst, void *also, const void *const *in, int n, size_t count) { \
    if (n == 2 && also) {                                                               \
      name##_both(dst, also, in[0], in[1], count);                                      \
      return;                                                                           \
    }                                                                                   \
    if (n == 2)                                                                         \
      name##_2(dst, in[0], in[1], count);                                               \
    else if (n == 3)                                                                    \
      name##_3(dst, in[0], in[1], in[2], count);                                        \
    else                                                                                \
      name##_many(dst, in, n, count);                                                   \
    if (also) memcpy(also, dst, count * sizeof(T));                                     \
  }

/* dst = put(expression of a and b), with type T in memory and in the accumulator. `put` makes a result canonical and leaves
 * a canonical one unchanged. */
#define KERNEL(name, T, put, expression)                                   \
  static inline T name##_op(T a, T b) {                                    \
    return expression;                                                     \
  }                                                                        \
  LOOP2(name##_2, T, T, T, put(name##_op(a[i], b[i])))                     \
  LOOP_BOTH(name##_both, T, put(name##_op(a[i], b[i])))                    \
  LOOP3(name##_3, T, T, T, T, put(name##_op(name##_op(a[i], b[i]), c[i]))) \
  DRIVER(name, T, T, name##_2, name##_3, name##_3, name##_3)

/* Defines sums and products of type T, an 8-bit or 16-bit float. The result is rounded only once, after the last input. */
#define SHORT_KERNEL(name, op, T, kind)                                                    \
  static inline float name##_of(T a, T b) {                                                \
    return tt_##kind##_float(a) op tt_##kind##_float(b);                                   \
  }                                                                                        \
  static inline float name##_and(float a, T b) {                                           \
    return a op tt_##kind##_float(b);                                                      \
  }                                                                                        \
  static inline T name##_put(float x) {                                                    \
    return tt_float_##kind(x);                                                             \
  }                                                                                        \
  LOOP2(name##_2, T, T, T, name##_put(name##_of(a[i], b[i])))                              \
  LOOP_BOTH(name##_both, T, name##_put(name##_of(a[i], b[i])))                             \
  LOOP3(name##_3, T, T, T, T, name##_put(name##_and(name##_of(a[i], b[i]), c[i])))         \
  LOOP2(name##_first2, float, T, T, name##_of(a[i], b[i]))                                 \
  LOOP3(name##_first3, float, T, T, T, name##_and(name##_of(a[i], b[i]), c[i]))            \
  LOOP3(name##_more, float, float, T, T, name##_and(name##_and(a[i], b[i]), c[i]))         \
  LOOP3(name##_last, T, float, T, T, name##_put(name##_and(name##_and(a[i], b[i]), c[i]))) \
  DRIVER(name, T, float, name##_first2, name##_first3, name##_more, name##_last)

/* With vectors, 16-bit floats have separate loops. */
#if defined(TT_VECTOR)
#include "kernel_halves.h"
#else
#define HALF_KERNEL SHORT_KERNEL
#endif

/* dst = x / ranks, computed in `wide`. */
#define SCALE(name, T, wide, get, put)                             \
  static void name(void *dst, size_t count, int ranks) {           \
    T *x = dst;                                                    \
    const wide by = (wide)ranks;                                   \
    INDEPENDENT                                                    \
    for (size_t i = 0; i < count; i++) x[i] = put(get(x[i]) / by); \
  }

/* dst = x * factor, computed in `wide`. */
#define TIMES(name, T, wide, get, put)                                        \
  static void name(void *dst, const void *src, size_t count, double factor) { \
    T *d = dst;                                                               \
    const T *x = src;                                                         \
    const wide by = (wide)factor;                                             \
    INDEPENDENT                                                               \
    for (size_t i = 0; i < count; i++) d[i] = put(get(x[i]) * by);            \
  }

#endif
