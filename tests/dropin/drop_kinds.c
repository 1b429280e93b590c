/* drop_kinds.c - the table of predefined types: C's, Fortran's, pairs, complex numbers.
 *
 * Idea      Small whole numbers, so that every sum and product is exact in any order.
 *           Without MPI_REAL16, which Open MPI 4.1 treats as a long double.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "drop_kinds.h"

#include <complex.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#define PLAIN(word, T)                                               \
  static void put_##word(void *at, size_t i, int value) {            \
    ((T *)at)[i] = (T)value;                                         \
  }                                                                  \
  static bool equal_##word(const void *a, const void *b, size_t i) { \
    return ((const T *)a)[i] == ((const T *)b)[i];                   \
  }
#define COMPLEX(word, T)                                             \
  static void put_##word(void *at, size_t i, int value) {            \
    ((T complex *)at)[i] = value + 2 * I;                            \
  }                                                                  \
  static bool equal_##word(const void *a, const void *b, size_t i) { \
    return ((const T complex *)a)[i] == ((const T complex *)b)[i];   \
  }
/* The index decreases as the value grows, and values are often equal. */
#define PAIR(word, T, N)                                             \
  typedef struct word {                                              \
    T value;                                                         \
    N index;                                                         \
  } word;                                                            \
  static void put_##word(void *at, size_t i, int value) {            \
    ((word *)at)[i].value = (T)(value / 2);                          \
    ((word *)at)[i].index = (N)(100 - 7 * value);                    \
  }                                                                  \
  static bool equal_##word(const void *a, const void *b, size_t i) { \
    const word *x = a, *y = b;                                       \
    return x[i].value == y[i].value && x[i].index == y[i].index;     \
  }

PLAIN(plain_char, char)
PLAIN(i8, int8_t)
PLAIN(i16, int16_t)
PLAIN(i32, int32_t)
PLAIN(i64, int64_t)
PLAIN(u8, uint8_t)
PLAIN(u16, uint16_t)
PLAIN(u32, uint32_t)
PLAIN(u64, uint64_t)
PLAIN(wide, wchar_t)
PLAIN(f32, float)
PLAIN(f64, double)
PLAIN(f80, long double)
COMPLEX(c32, float)
COMPLEX(c64, double)
COMPLEX(c80, long double)
PAIR(float_int, float, int)
PAIR(double_int, double, int)
PAIR(long_int, long, int)
PAIR(short_int, short, int)
PAIR(two_int, int, int)
PAIR(long_double_int, long double, int)
PAIR(two_real, float, float)
PAIR(two_double, double, double)

/* A logical is 0 or 1. */
static void put_truth(void *at, size_t i, int value) {
  ((_Bool *)at)[i] = value & 1;
}
static void put_logical(void *at, size_t i, int value) {
  ((int32_t *)at)[i] = value & 1;
}

#define KIND(group, type, T, put, equal) \
  { #type, group, type, sizeof(T), put_##put, equal_##equal }
#define SAME(group, type, T, word) \
  { #type, group, type, sizeof(T), put_##word, equal_##word }

static const drop_kind all[] = {
    SAME('i', MPI_CHAR, char, plain_char),
    SAME('i', MPI_SIGNED_CHAR, int8_t, i8),
    SAME('i', MPI_UNSIGNED_CHAR, uint8_t, u8),
    SAME('b', MPI_BYTE, uint8_t, u8),
    SAME('x', MPI_WCHAR, wchar_t, wide),
    SAME('i', MPI_SHORT, int16_t, i16),
    SAME('i', MPI_UNSIGNED_SHORT, uint16_t, u16),
    SAME('i', MPI_INT, int32_t, i32),
    SAME('i', MPI_UNSIGNED, uint32_t, u32),
    SAME('i', MPI_LONG, int64_t, i64),
    SAME('i', MPI_UNSIGNED_LONG, uint64_t, u64),
    SAME('i', MPI_LONG_LONG_INT, int64_t, i64),
    SAME('i', MPI_UNSIGNED_LONG_LONG, uint64_t, u64),
    SAME('r', MPI_FLOAT, float, f32),
    SAME('r', MPI_DOUBLE, double, f64),
    SAME('r', MPI_LONG_DOUBLE, long double, f80),
    SAME('i', MPI_INT8_T, int8_t, i8),
    SAME('i', MPI_INT16_T, int16_t, i16),
    SAME('i', MPI_INT32_T, int32_t, i32),
    SAME('i', MPI_INT64_T, int64_t, i64),
    SAME('i', MPI_UINT8_T, uint8_t, u8),
    SAME('i', MPI_UINT16_T, uint16_t, u16),
    SAME('i', MPI_UINT32_T, uint32_t, u32),
    SAME('i', MPI_UINT64_T, uint64_t, u64),
    SAME('m', MPI_AINT, int64_t, i64),
    SAME('m', MPI_COUNT, int64_t, i64),
    SAME('m', MPI_OFFSET, int64_t, i64),
    KIND('l', MPI_C_BOOL, _Bool, truth, u8),
    SAME('c', MPI_C_COMPLEX, float complex, c32),
    SAME('c', MPI_C_DOUBLE_COMPLEX, double complex, c64),
    SAME('c', MPI_C_LONG_DOUBLE_COMPLEX, long double complex, c80),
    KIND('l', MPI_CXX_BOOL, _Bool, truth, u8),
    SAME('c', MPI_CXX_FLOAT_COMPLEX, float complex, c32),
    SAME('c', MPI_CXX_DOUBLE_COMPLEX, double complex, c64),
    SAME('c', MPI_CXX_LONG_DOUBLE_COMPLEX, long double complex, c80),
    SAME('p', MPI_FLOAT_INT, float_int, float_int),
    SAME('p', MPI_DOUBLE_INT, double_int, double_int),
    SAME('p', MPI_LONG_INT, long_int, long_int),
    SAME('p', MPI_SHORT_INT, short_int, short_int),
    SAME('p', MPI_2INT, two_int, two_int),
    SAME('p', MPI_LONG_DOUBLE_INT, long_double_int, long_double_int),
    SAME('x', MPI_CHARACTER, int8_t, i8),
    KIND('l', MPI_LOGICAL, int32_t, logical, i32),
    SAME('f', MPI_INTEGER, int32_t, i32),
    SAME('r', MPI_REAL, float, f32),
    SAME('r', MPI_DOUBLE_PRECISION, double, f64),
    SAME('c', MPI_COMPLEX, float complex, c32),
    SAME('c', MPI_DOUBLE_COMPLEX, double complex, c64),
    SAME('p', MPI_2INTEGER, two_int, two_int),
    SAME('p', MPI_2REAL, two_real, two_real),
    SAME('p', MPI_2DOUBLE_PRECISION, two_double, two_double),
#ifdef MPI_INTEGER1
    SAME('f', MPI_INTEGER1, int8_t, i8),
    SAME('f', MPI_INTEGER2, int16_t, i16),
    SAME('f', MPI_INTEGER4, int32_t, i32),
    SAME('f', MPI_INTEGER8, int64_t, i64),
#endif
    SAME('r', MPI_REAL4, float, f32),
    SAME('r', MPI_REAL8, double, f64),
    SAME('c', MPI_COMPLEX8, float complex, c32),
    SAME('c', MPI_COMPLEX16, double complex, c64),
};

int drop_kinds(const drop_kind **kinds) {
  static drop_kind found[80];
  int n = 0;
  const MPI_Comm fail_on[2] = {MPI_COMM_WORLD, MPI_COMM_SELF}; /* until MPI 3, and since MPI 4 */
  MPI_Errhandler before[2];
  for (int i = 0; i < 2; i++) {
    MPI_Comm_get_errhandler(fail_on[i], &before[i]);
    MPI_Comm_set_errhandler(fail_on[i], MPI_ERRORS_RETURN);
  }
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    MPI_Aint low, extent = 0;
    if (all[k].type == MPI_DATATYPE_NULL) continue;
    if (MPI_Type_get_extent(all[k].type, &low, &extent) || (size_t)extent != all[k].size) continue;
    found[n++] = all[k];
  }
  for (int i = 0; i < 2; i++) MPI_Comm_set_errhandler(fail_on[i], before[i]);
  *kinds = found;
  return n;
}
