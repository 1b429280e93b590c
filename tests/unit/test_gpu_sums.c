/* test_gpu_sums.c - every kernel of libtutti_cuda.so, run by the simulated driver's interpreter and compared
 * with the kernels of libtutti; and assembled, if NVIDIA's assembler is installed.
 *
 * Idea       types x ops x operands x layouts x data. A layout says how vectors lie in lines of 16 bytes, how many elements
 *            they have, and which destinations there are. The expected bits are tt_reduce's on the host.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpu_play.h"
#include "kernel.h"
#include "kernel_reference.h"
#include "tutti_plan.h"

GPU_TEST_CASE
enum {
  OPERANDS = 64,
  MOST = 100,
  WIDEST = 16,
  GUARD = 64,
  ROOM = GUARD + MOST * WIDEST + 2 * GUARD
};

static uint64_t seed = 1;
static uint64_t any(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return seed >> 24 ^ seed << 20;
}

/* ---- data ---- */

static const uint64_t floats[] = {0x7fc00001, 0x7f800001, 0xffc00000, 0xffa12345, 0x7f800000,
                                  0xff800000, 0x80000000, 0,          1,          0x807fffff,
                                  0x00800000, 0x7f7fffff, 0xff7fffff, 0x3f800000};
static const uint64_t doubles[] = {0x7ff8000000000001,
                                   0x7ff0000000000001,
                                   0xfff8000000000000,
                                   0xfff4123456789abc,
                                   0x7ff0000000000000,
                                   0xfff0000000000000,
                                   0x8000000000000000,
                                   0,
                                   1,
                                   0x800fffffffffffff,
                                   0x0010000000000000,
                                   0x7fefffffffffffff,
                                   0xffefffffffffffff,
                                   0x3ff0000000000000};
static const uint64_t halves[] = {0x7e01, 0x7c01, 0xfe00, 0xfc55, 0x7c00, 0xfc00, 0x8000,
                                  0,      1,      0x83ff, 0x0400, 0x7bff, 0xfbff, 0x3c00};
static const uint64_t bfloats[] = {0x7fc1, 0x7f81, 0xffc0, 0xff81, 0x7f80, 0xff80, 0x8000,
                                   0,      1,      0x807f, 0x0080, 0x7f7f, 0xff7f, 0x3f80};
static const uint64_t integers[] = {
    0,          1,          2,      UINT64_MAX, UINT64_MAX - 1, INT64_MAX, 0x8000000000000000,
    0x7fffffff, 0x80000000, 0x7fff, 0x8000,     0x7f,           0x80,      3};
enum { SPECIALS = 14 };

static const uint64_t *specials(tutti_type type) {
  switch (type) {
    case TUTTI_FLOAT:
    case TUTTI_COMPLEX_FLOAT: return floats;
    case TUTTI_DOUBLE:
    case TUTTI_COMPLEX_DOUBLE: return doubles;
    case TUTTI_FLOAT16: return halves;
    case TUTTI_BFLOAT16: return bfloats;
    default: return integers;
  }
}

/* A number of moderate size, so that sums round and stay finite. */
static uint64_t moderate(tutti_type type) {
  const double x = ((double)(any() & 0xfffff) / 0x10000 - 8) * (any() % 4 ? 1 : 0.001);
  const float f = (float)x;
  uint64_t bits = 0;
  const format *few = format_of(type);
  if (few) return encode(*few, x);
  if (type == TUTTI_DOUBLE || type == TUTTI_COMPLEX_DOUBLE)
    memcpy(&bits, &x, 8);
  else if (type == TUTTI_FLOAT || type == TUTTI_COMPLEX_FLOAT)
    memcpy(&bits, &f, 4);
  else
    bits = any() % 7 - 3;
  return bits;
}

/* mode 0: random bits; 1: moderate numbers; 2: mostly special ones. */
static void fill(unsigned char *p, size_t reals, size_t size, tutti_type type, int mode) {
  for (size_t i = 0; i < reals; i++) {
    uint64_t u = mode == 1 ? moderate(type) : any();
    if (mode == 2 && any() % 4) u = specials(type)[any() % SPECIALS];
    memcpy(p + i * size, &u, size);
  }
}

/* ---- one sum ---- */

typedef struct layout {
  size_t count;
  int first, step; /* operand j begins first + step * j elements after a line's start */
  int nto;         /* destinations: */
  int own;         /* the first one is operand number `own`; -1: no operand */
} layout;

static void *lane;
static CUdeviceptr room; /* on the device, for operands and destinations */
static unsigned char inputs[OPERANDS][ROOM], outputs[4][ROOM], wanted[MOST * WIDEST];

/* The result of libtutti's kernels, and of their definition. */
static void expect(tutti_type type, tutti_op op, int n, const layout *l, const void *const *in) {
  const size_t size = tutti_type_size(type);
  const void *each[OPERANDS];
  unsigned char defined[WIDEST];
  tt_reducer r;
  CHECK(!tt_reducer_init(&r, type, op));
  tt_reduce(&r, wanted, in, n, l->count);
  if (op == TUTTI_AVG) tt_scale(type, wanted, l->count, n);
  for (size_t i = 0; i < l->count; i++) {
    for (int j = 0; j < n; j++) each[j] = (const unsigned char *)in[j] + i * size;
    one(type, op, defined, each, n);
    if (op == TUTTI_AVG) one_scale(type, defined, n);
    CHECK(memcmp(defined, wanted + i * size, size) == 0);
  }
}

static CUdeviceptr place_of(int slot) {
  return room + (CUdeviceptr)slot * ROOM;
}

static size_t start_of(const layout *l, int j, size_t size) {
  return GUARD + (size_t)((l->first + l->step * j) % 16) * size;
}

/* Checks that the bytes around a destination are unchanged. */
static void check_output(const unsigned char *got, size_t start, size_t bytes, const char *what) {
  bool same = memcmp(got + start, wanted, bytes) == 0;
  for (size_t i = 0; i < ROOM; i++) same &= (i >= start && i < start + bytes) || got[i] == 0xa5;
  if (same) return;
  size_t i = 0;
  while (i < bytes && got[start + i] == wanted[i]) i++;
  fprintf(stderr, "%s: %s at byte %zu of %zu: %02x, not %02x\n", what,
          i < bytes ? "another sum" : "written outside", i, bytes, i < bytes ? got[start + i] : 0,
          i < bytes ? wanted[i] : 0);
  gpu_failures++;
}

static void sum_once(tutti_type type, tutti_op op, int n, const layout *l, int mode) {
  const size_t size = tutti_type_size(type), bytes = l->count * size;
  const size_t parts = type == TUTTI_COMPLEX_FLOAT || type == TUTTI_COMPLEX_DOUBLE ? 2 : 1;
  const void *from[OPERANDS], *in[OPERANDS];
  void *to[4];
  char what[100];
  for (int j = 0; j < n; j++) {
    const size_t start = start_of(l, j, size);
    memset(inputs[j], 0xa5, ROOM);
    fill(inputs[j] + start, parts * l->count, size / parts, type, mode);
    CHECK(!cu.cuMemcpyHtoD(place_of(j), inputs[j], ROOM));
    in[j] = inputs[j] + start;
    from[j] = gpu_pointer(place_of(j) + start);
  }
  memset(outputs, 0xa5, sizeof outputs);
  for (int k = 0; k < l->nto; k++) {
    CHECK(!cu.cuMemcpyHtoD(place_of(OPERANDS + k), outputs[k], ROOM));
    to[k] = gpu_pointer(place_of(OPERANDS + k) + start_of(l, k, size));
  }
  const int own = l->own < n ? l->own : n - 1;
  if (own >= 0) to[0] = (void *)(uintptr_t)from[own];
  expect(type, op, n, l, in);
  WORKS(gpu.sum(lane, to, l->nto, from, n, l->count, type, op));
  gpu_drain(lane);
  snprintf(what, sizeof what, "%s %s n=%d count=%zu first=%d step=%d nto=%d own=%d mode=%d",
           tutti_type_name(type), tutti_op_name(op), n, l->count, l->first, l->step, l->nto, l->own,
           mode);
  for (int k = 0; k < l->nto; k++) {
    const bool in_place = k == 0 && own >= 0;
    CHECK(!cu.cuMemcpyDtoH(outputs[k], place_of(in_place ? own : OPERANDS + k), ROOM));
    check_output(outputs[k], start_of(l, in_place ? own : k, size), bytes, what);
  }
}

/* ---- the product ---- */

static const layout layouts[] = {
    {37, 0, 0, 1, -1}, /* lines, and a tail */
    {53, 3, 0, 2, 1},  /* the same, with a head */
    {33, 1, 1, 1, -1}, /* no common line */
    {3, 15, 0, 3, 0},  /* a head only, for short types */
    {64, 0, 0, 4, -1}, /* lines only */
    {1, 5, 2, 1, 0},   /* one */
    {0, 0, 0, 1, -1},  /* none */
};
static const int operands[] = {2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 64};

static void begin(void) {
  gpu_begin();
  room = gpu_alloc((OPERANDS + 4) * ROOM);
  WORKS(gpu.open(gpu.self, 0, &lane));
}

static void end(void) {
  gpu.close(lane);
  CHECK(!cu.cuMemFree(room));
}

static bool adds(tutti_op op) {
  return op == TUTTI_SUM || op == TUTTI_AVG;
}

/* Which types and ops have kernels: all ops on real numbers, sums only of complex ones. */
static bool expected(tutti_type type, tutti_op op) {
  if (!tutti_type_has_op(type, op) || is_pair_type(type)) return false;
  return (type != TUTTI_COMPLEX_FLOAT && type != TUTTI_COMPLEX_DOUBLE) || adds(op);
}

static void sums_of(tutti_type from, tutti_type to) {
  begin();
  for (tutti_type type = from; type <= to; type++)
    for (tutti_op op = 0; op < TUTTI_OP_COUNT; op++) {
      CHECK(gpu.sums(gpu.self, type, op) == expected(type, op));
      if (!expected(type, op)) continue;
      for (size_t i = 0; i < sizeof operands / sizeof *operands; i++)
        for (size_t l = 0; l < (operands[i] > 15 ? 1 : sizeof layouts / sizeof *layouts); l++)
          sum_once(type, op, operands[i], &layouts[l], (int)((i + l) % 3));
    }
  end();
}

static void short_integers(void) {
  sums_of(TUTTI_INT8, TUTTI_UINT16);
}
static void long_integers(void) {
  sums_of(TUTTI_INT32, TUTTI_UINT64);
}
static void short_floats(void) {
  sums_of(TUTTI_FLOAT16, TUTTI_BFLOAT16);
}
static void others(void) {
  sums_of(TUTTI_FLOAT, TUTTI_TYPE_COUNT - 1);
}

/* Every value of each 16-bit and 8-bit type, combined with other values, so that conversions are right for
 * each. */
static void all_values(void) {
  static const tutti_type types[] = {TUTTI_FLOAT16, TUTTI_BFLOAT16, TUTTI_FP8_E4M3, TUTTI_FP8_E5M2};
  static uint16_t in[2][65536], got[65536], want[65536];
  gpu_begin();
  const CUdeviceptr a = gpu_alloc(sizeof in[0]), b = gpu_alloc(sizeof in[0]);
  WORKS(gpu.open(gpu.self, 0, &lane));
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    const size_t size = tutti_type_size(types[t]), count = sizeof in[0] / size;
    for (int i = 0; i < 65536; i++) in[0][i] = (uint16_t)i, in[1][i] = (uint16_t)(i * 40503u + 77);
    for (tutti_op op = TUTTI_SUM; op <= TUTTI_AVG; op++) {
      tt_reducer r;
      CHECK(!cu.cuMemcpyHtoD(a, in[0], sizeof in[0]) && !cu.cuMemcpyHtoD(b, in[1], sizeof in[1]));
      CHECK(!tt_reducer_init(&r, types[t], op));
      tt_reduce(&r, want, (const void *[]){in[0], in[1]}, 2, count);
      if (op == TUTTI_AVG) tt_scale(types[t], want, count, 2);
      WORKS(gpu.sum(lane, (void *[]){gpu_pointer(b)}, 1,
                    (const void *[]){gpu_pointer(a), gpu_pointer(b)}, 2, count, types[t], op));
      gpu_drain(lane);
      CHECK(!cu.cuMemcpyDtoH(got, b, sizeof got) && memcmp(got, want, sizeof got) == 0);
    }
  }
  gpu.close(lane);
  CHECK(!cu.cuMemFree(a) && !cu.cuMemFree(b));
}

static void refusals(void) {
  begin();
  void *at = gpu_pointer(room);
  const void *in[OPERANDS + 1];
  void *to[OPERANDS + 1];
  for (int i = 0; i <= OPERANDS; i++) in[i] = to[i] = at;
  CHECK(!gpu.sums(gpu.self, TUTTI_TYPE_COUNT, TUTTI_SUM) &&
        !gpu.sums(gpu.self, TUTTI_FLOAT, TUTTI_OP_USER));
  CHECK(!gpu.sums(gpu.self, (tutti_type)-1, TUTTI_SUM) &&
        !gpu.sums(gpu.self, TUTTI_FLOAT, (tutti_op)-1));
  FAILS(gpu.sum(lane, to, 1, in, 1, 4, TUTTI_FLOAT, TUTTI_SUM), "from 2 to 64");
  FAILS(gpu.sum(lane, to, 1, in, OPERANDS + 1, 4, TUTTI_FLOAT, TUTTI_SUM), "from 2 to 64");
  FAILS(gpu.sum(lane, to, 0, in, 2, 4, TUTTI_FLOAT, TUTTI_SUM), "from 1 to 64");
  FAILS(gpu.sum(lane, to, OPERANDS + 1, in, 2, 4, TUTTI_FLOAT, TUTTI_SUM), "from 1 to 64");
  FAILS(gpu.sum(lane, to, 1, in, 2, 4, TUTTI_FLOAT_INT, TUTTI_MINLOC), "no kernel");
  FAILS(gpu.sum(lane, to, 1, in, 2, 4, TUTTI_FLOAT, TUTTI_OP_USER), "no such");
  in[1] = (char *)at + 2;
  FAILS(gpu.sum(lane, to, 1, in, 2, 4, TUTTI_FLOAT, TUTTI_SUM), "aligned");
  end();
}

/* A second lane reuses the kernels of the first. A lane that opens later has the kernels that were requested
 * earlier. */
static void asked_early(void) {
  gpu_begin();
  CHECK(gpu.sums(gpu.self, TUTTI_FLOAT, TUTTI_MAX) == 1); /* no lane yet: nothing is compiled */
  room = gpu_alloc((OPERANDS + 4) * ROOM);
  WORKS(gpu.open(gpu.self, 0, &lane));
  sum_once(TUTTI_FLOAT, TUTTI_MAX, 2, &layouts[0], 1);
  sum_once(TUTTI_FLOAT, TUTTI_MIN, 2, &layouts[0], 1); /* not requested */
  end();
}

/* Sums in the order of the queue: the second reads what the first wrote. */
static void in_order(void) {
  begin();
  int host[64];
  const void *from[] = {gpu_pointer(room), gpu_pointer(room)};
  for (int i = 0; i < 64; i++) host[i] = i;
  CHECK(!cu.cuMemcpyHtoD(room, host, sizeof host));
  for (int k = 0; k < 10; k++)
    WORKS(gpu.sum(lane, (void *[]){gpu_pointer(room)}, 1, from, 2, 64, TUTTI_INT32, TUTTI_SUM));
  gpu_drain(lane);
  CHECK(!cu.cuMemcpyDtoH(host, room, sizeof host));
  for (int i = 0; i < 64; i++) CHECK(host[i] == i << 10);
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      GPU_CASE("sums of short integers", short_integers, "CUDA_SIM_DELAY=0"),
      GPU_CASE("sums of long integers", long_integers, "CUDA_SIM_DELAY=0"),
      GPU_CASE("sums of short floats", short_floats, "CUDA_SIM_DELAY=0"),
      GPU_CASE("sums of the other types", others, "CUDA_SIM_DELAY=0"),
      GPU_CASE("all values of short floats", all_values, "CUDA_SIM_DELAY=0"),
      GPU_CASE("refused sums", refusals, NULL),
      GPU_CASE("kernels that were asked for early", asked_early, NULL),
      GPU_CASE("sums in order", in_order, "CUDA_SIM_DELAY=200"),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
