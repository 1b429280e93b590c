/* bench_check.c - checks the results of a benchmark.
 *
 * Idea      element i of rank r is a small integer that depends on r and on i mod PERIOD. Every
 *           data type represents every partial result exactly, so combining integers in rank order
 *           yields the expected bits. PERIOD elements of the result are computed once and compared.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { PERIOD = 1021, ADDING = 100, ADDING_FP8 = 8, DOUBLING = 5, MOST_SIZE = 16 };

/* v: the value; w: its imaginary part, or its index. */
typedef struct value {
  int64_t v, w;
} value;

static bool is_complex(tutti_type type) {
  return type == TUTTI_COMPLEX_FLOAT || type == TUTTI_COMPLEX_DOUBLE;
}

static uint32_t mixed(uint32_t rank, uint32_t i) {
  uint32_t h = rank * 0x9e3779b9u + i * 0x85ebca6bu + 1;
  h = (h ^ (h >> 15)) * 0xc2b2ae35u;
  return h ^ (h >> 13);
}

static bool is_logical(tutti_op op) {
  return op == TUTTI_LAND || op == TUTTI_LOR || op == TUTTI_LXOR;
}

static bool is_fp8(tutti_type type) {
  return type == TUTTI_FP8_E4M3 || type == TUTTI_FP8_E5M2;
}

/* Returns element i of the input of rank r. For any number of ranks, a sum does not exceed ADDING (ADDING_FP8 for
 * 8-bit floats), and a product does not exceed 1 << DOUBLING. */
static value brought(const bench_call *c, int ranks, int rank, size_t i) {
  uint32_t h = mixed((uint32_t)rank, (uint32_t)i);
  value x = {(int64_t)(h % 100), rank};
  if (c->op == TUTTI_SUM || c->op == TUTTI_AVG) {
    const int adding = is_fp8(c->type) ? ADDING_FP8 : ADDING;
    int64_t most = adding / (ranks < adding ? ranks : adding);
    x.v = rank < adding ? h % (most + 1) : 0;
  } else if (c->op == TUTTI_PROD) {
    x.v = rank < DOUBLING ? 1 + (h & 1) : 1;
  } else if (is_logical(c->op)) {
    x.v = h % (uint32_t)(ranks + 1) == 0 ? 0 : 3;
  }
  if (is_complex(c->type)) x.w = c->op == TUTTI_PROD ? 0 : x.v / 2;
  return x;
}

static value fold(tutti_op op, value a, value b) {
  switch (op) {
    case TUTTI_PROD: return (value){a.v * b.v, 0};
    case TUTTI_MIN: return a.v < b.v ? a : b;
    case TUTTI_MAX: return a.v > b.v ? a : b;
    case TUTTI_BAND: return (value){a.v & b.v, 0};
    case TUTTI_BOR: return (value){a.v | b.v, 0};
    case TUTTI_BXOR: return (value){a.v ^ b.v, 0};
    case TUTTI_LAND: return (value){a.v && b.v, 0};
    case TUTTI_LOR: return (value){a.v || b.v, 0};
    case TUTTI_LXOR: return (value){!a.v != !b.v, 0};
    case TUTTI_MINLOC: return b.v < a.v || (b.v == a.v && b.w < a.w) ? b : a;
    case TUTTI_MAXLOC: return b.v > a.v || (b.v == a.v && b.w < a.w) ? b : a;
    default: return (value){a.v + b.v, a.w + b.w};
  }
}

/* Converts a float of moderate size to fp16 or bf16, rounding to nearest even. The exponent is first adjusted to the
 * bias of the narrow type, then the lowest `drop` bits are rounded away. */
static uint16_t narrow(float x, int drop, int bias) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (bits << 1 == 0) return (uint16_t)(bits >> 16);
  uint32_t sign = bits >> 31 << 15, rest = (bits & 0x7fffffff) - ((uint32_t)(127 - bias) << 23);
  rest += ((1u << (drop - 1)) - 1) + ((rest >> drop) & 1);
  return (uint16_t)(sign | rest >> drop);
}

/* Converts a nonnegative float to an 8-bit float with `fraction` fraction bits, rounding to nearest even. A value below the
 * smallest normal number, such as a mean over many ranks, becomes a multiple of the smallest subnormal number. */
static uint8_t narrow8(float x, int fraction, int bias) {
  const float normal = 1.0f / (float)(1 << (bias - 1));
  const float unit = normal / (float)(1 << fraction), shift = unit * 8388608.0f;
  volatile float shifted = x + shift;
  if (x >= normal) return (uint8_t)narrow(x, 23 - fraction, bias);
  return (uint8_t)((shifted - shift) / unit);
}

#define PUT(T, expression)        \
  do {                            \
    T put = (T)(expression);      \
    memcpy(to, &put, sizeof put); \
    to += sizeof put;             \
  } while (0)

/* Writes x / ranks as an element of the type to `to`. */
static void encode(tutti_type type, value x, int ranks, unsigned char *to) {
  memset(to, 0, tutti_type_size(type));
  switch (type) {
    case TUTTI_INT8:
    case TUTTI_UINT8: PUT(int8_t, x.v / ranks); break;
    case TUTTI_INT16:
    case TUTTI_UINT16: PUT(int16_t, x.v / ranks); break;
    case TUTTI_INT32:
    case TUTTI_UINT32: PUT(int32_t, x.v / ranks); break;
    case TUTTI_INT64:
    case TUTTI_UINT64: PUT(int64_t, x.v / ranks); break;
    case TUTTI_FLOAT16: PUT(uint16_t, narrow((float)x.v / (float)ranks, 13, 15)); break;
    case TUTTI_BFLOAT16: PUT(uint16_t, narrow((float)x.v / (float)ranks, 16, 127)); break;
    case TUTTI_FP8_E4M3: PUT(uint8_t, narrow8((float)x.v / (float)ranks, 3, 7)); break;
    case TUTTI_FP8_E5M2: PUT(uint8_t, narrow8((float)x.v / (float)ranks, 2, 15)); break;
    case TUTTI_COMPLEX_FLOAT: PUT(float, (float)x.v / (float)ranks); x.v = x.w; /* fall through */
    case TUTTI_FLOAT: PUT(float, (float)x.v / (float)ranks); break;
    case TUTTI_COMPLEX_DOUBLE: PUT(double, (double)x.v / ranks); x.v = x.w; /* fall through */
    case TUTTI_DOUBLE: PUT(double, (double)x.v / ranks); break;
    case TUTTI_FLOAT_INT:
      PUT(float, x.v);
      PUT(int, x.w);
      break;
    case TUTTI_DOUBLE_INT:
      PUT(double, x.v);
      PUT(int, x.w);
      break;
    case TUTTI_LONG_INT:
      PUT(long, x.v);
      PUT(int, x.w);
      break;
    case TUTTI_INT_INT:
      PUT(int, x.v);
      PUT(int, x.w);
      break;
    case TUTTI_SHORT_INT:
      PUT(short, x.v);
      to += 2;
      PUT(int, x.w);
      break;
    default: break;
  }
}

/* Computes one period of the expected result of a reduction over the ranks first to end - 1. `reduced` is true if
 * the collective reduces. A logical op then turns even the value of a single rank into 0 or 1. */
static void make_period(const bench_call *c, int ranks, int first, int end, bool reduced,
                        unsigned char *period) {
  size_t size = tutti_type_size(c->type);
  for (size_t i = 0; i < PERIOD; i++) {
    value x = brought(c, ranks, first, i);
    for (int r = first + 1; r < end; r++) x = fold(c->op, x, brought(c, ranks, r, i));
    if (reduced && is_logical(c->op)) x.v = x.v != 0;
    encode(c->type, x, c->op == TUTTI_AVG ? end - first : 1, period + i * size);
  }
}

static void fill(const unsigned char *period, size_t size, unsigned char *to, size_t count) {
  for (size_t at = 0; at < count; at += PERIOD)
    memcpy(to + at * size, period, (count - at < PERIOD ? count - at : PERIOD) * size);
}

/* Returns the number of elements in `got` that differ from the expected result, beginning at its element `from`. */
static int64_t differ(const unsigned char *period, size_t size, size_t from,
                      const unsigned char *got, size_t count) {
  int64_t wrong = 0;
  for (size_t at = 0; at < count;) {
    size_t place = (from + at) % PERIOD, n = PERIOD - place;
    if (n > count - at) n = count - at;
    if (memcmp(got + at * size, period + place * size, n * size) != 0)
      for (size_t i = 0; i < n; i++)
        wrong += memcmp(got + (at + i) * size, period + (place + i) * size, size) != 0;
    at += n;
  }
  return wrong;
}

/* Returns the number of wrong elements in dst, which holds one block from each rank. Every block begins with element
 * `from` of its rank's src. */
static int64_t judge_blocks(const bench_job *job, const bench_call *c, size_t from,
                            unsigned char *period) {
  size_t size = tutti_type_size(c->type), part = c->count * size;
  int64_t wrong = 0;
  for (int r = 0; r < job->data; r++) {
    make_period(c, job->data, r, r + 1, false, period);
    wrong += differ(period, size, from, (unsigned char *)c->dst + (size_t)r * part, c->count);
  }
  return wrong;
}

/* Returns the number of wrong elements on this rank. `period` is scratch memory for PERIOD elements. */
static int64_t judge(const bench_job *job, const bench_call *c, unsigned char *period) {
  const int me = job->rank, root = c->root;
  int first = 0, end = job->data; /* the result combines these ranks */
  size_t from = 0;                /* index of its first element */
  if (me >= job->data) return 0;
  switch (c->coll) {
    case TUTTI_ALLREDUCE: break;
    case TUTTI_REDUCE: end = me == root ? end : 0; break;
    case TUTTI_REDUCE_SCATTER: from = (size_t)me * c->count; break;
    case TUTTI_SCAN: end = me + 1; break;
    case TUTTI_EXSCAN: end = me; break;
    case TUTTI_SCATTER: from = (size_t)me * c->count; /* fall through */
    case TUTTI_BROADCAST: first = root, end = root + 1; break;
    case TUTTI_ALLGATHER: return judge_blocks(job, c, 0, period);
    case TUTTI_GATHER: return me == root ? judge_blocks(job, c, 0, period) : 0;
    case TUTTI_ALLTOALL: return judge_blocks(job, c, (size_t)me * c->count, period);
    default: return 0;
  }
  if (first == end) return 0;
  make_period(c, job->data, first, end, bench_reduces(c->coll), period);
  return differ(period, tutti_type_size(c->type), from, c->dst, c->count);
}

tutti_status bench_check(const bench_job *job, const bench_call *call, int64_t *wrong) {
  size_t size = tutti_type_size(call->type);
  unsigned char *period = malloc((size_t)PERIOD * MOST_SIZE);
  if (!period) {
    cli_fail(0, "bench", "out of memory");
    return TUTTI_ERR_MEMORY;
  }
  if (call->dst_bytes) memset(call->dst, 0xa5, call->dst_bytes);
  make_period(call, job->data, job->rank, job->rank + 1, false, period);
  if (call->src_bytes) fill(period, size, call->src, call->src_bytes / size);
  tutti_status status = bench_run(job, call);
  if (!status) {
    *wrong = judge(job, call, period);
    status = tutti_allreduce(job->talk, wrong, wrong, 1, TUTTI_INT64, TUTTI_SUM);
  }
  free(period);
  return status;
}
