/* test_alone.c - on one rank an op combines nothing: values, including NaNs, are passed on unchanged, except
 * where a logical op, a scaled op or an exact sum changes them. For every type and every collective that
 * reduces.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>

#include "../../cli/configure.h"
#include "call_of.h"
#include "lists.h"
#include "tutti.h"
#include "tutti_plan.h"

enum { N = 5 };
static const uint64_t said[N] = {0, 1, 2, 0x8000000000000080u, 0xfffffffffffffffeu};

typedef tutti_status call(tutti_comm *c, const void *src, void *dst, tutti_type t, tutti_op op);

static tutti_status allreduce(tutti_comm *c, const void *src, void *dst, tutti_type t,
                              tutti_op op) {
  return tutti_allreduce(c, src, dst, N, t, op);
}
static tutti_status many(tutti_comm *c, const void *src, void *dst, tutti_type t, tutti_op op) {
  const size_t first = 2, each = tutti_type_size(t), counts[] = {first, N - first};
  const void *srcs[] = {src, (const char *)src + first * each};
  void *dsts[] = {dst, (char *)dst + first * each};
  return allreduce_many(c, 2, srcs, dsts, counts, t, op);
}
static tutti_status reduce(tutti_comm *c, const void *src, void *dst, tutti_type t, tutti_op op) {
  return tutti_reduce(c, src, dst, N, t, op, 0);
}
static tutti_status scatter(tutti_comm *c, const void *src, void *dst, tutti_type t, tutti_op op) {
  return tutti_reduce_scatter(c, src, dst, N, t, op);
}
static tutti_status scatter_v(tutti_comm *c, const void *src, void *dst, tutti_type t,
                              tutti_op op) {
  return tutti_reduce_scatterv(c, src, dst, (const size_t[]){N}, t, op);
}
static tutti_status scan(tutti_comm *c, const void *src, void *dst, tutti_type t, tutti_op op) {
  return tutti_scan(c, src, dst, N, t, op);
}
static tutti_status started(tutti_comm *c, const void *src, void *dst, tutti_type t, tutti_op op) {
  tutti_request *r;
  tutti_status status = tutti_allreduce_start(c, src, dst, N, t, op, &r);
  return status ? status : tutti_request_wait(&r);
}
static tutti_status persistent(tutti_comm *c, const void *src, void *dst, tutti_type t,
                               tutti_op op) {
  tutti_request *r;
  tutti_status status =
      tutti_call_init(c, CALL(SCAN, .src = src, .dst = dst, .count = N, .type = t, .op = op), &r);
  for (int i = 0; i < 2 && !status; i++) {
    status = tutti_request_start(r);
    if (!status) status = tutti_request_wait(&r);
  }
  return status ? status : tutti_request_free(&r);
}

static const struct {
  const char *name;
  call *call;
} calls[] = {{"allreduce", allreduce},
             {"many", many},
             {"reduce", reduce},
             {"reduce_scatter", scatter},
             {"reduce_scatterv", scatter_v},
             {"scan", scan},
             {"started", started},
             {"persistent", persistent}};

static void fill(unsigned char *to, size_t each) {
  for (size_t i = 0; i < N; i++) memcpy(to + i * each, &said[i], each < 8 ? each : 8);
}

/* The result of the op on these bytes. */
static void expect(unsigned char *x, size_t each, bool logical) {
  for (size_t i = 0; logical && i < N; i++) {
    bool is = false;
    for (size_t k = 0; k < each; k++) is = is || x[i * each + k];
    memset(x + i * each, 0, each);
    x[i * each + (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : each - 1)] = is;
  }
}

static void check(tutti_comm *c, size_t k, tutti_type t, tutti_op op, bool in_place) {
  _Alignas(16) unsigned char in[16 * N] = {0}, out[16 * N] = {0}, want[16 * N] = {0};
  const size_t each = tutti_type_size(t);
  fill(in, each);
  fill(want, each);
  expect(want, each, op >= TUTTI_LAND && op <= TUTTI_LXOR);
  const tutti_status status = calls[k].call(c, in, in_place ? in : out, t, op);
  if (status || memcmp(in_place ? in : out, want, each * N) != 0)
    fail_msg("%s of %s, %s%s: %s", calls[k].name, tutti_type_name(t), tutti_op_name(op),
             in_place ? ", in place" : "", status ? tutti_error() : "another result");
}

static void alone(void **state) {
  static const tutti_op ops[] = {TUTTI_LAND, TUTTI_LOR,  TUTTI_LXOR, TUTTI_BAND,
                                 TUTTI_BOR,  TUTTI_BXOR, TUTTI_SUM,  TUTTI_MAX};
  tutti_comm *c;
  (void)state;
  assert_int_equal(tutti_comm_from_threads(1, &c), TUTTI_OK);
  for (size_t k = 0; k < sizeof calls / sizeof *calls; k++)
    for (int t = TUTTI_INT8; t <= TUTTI_UINT64; t++)
      for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
        for (int in_place = 0; in_place < 2; in_place++)
          check(c, k, (tutti_type)t, ops[o], in_place);
  assert_int_equal(tutti_comm_free(c), TUTTI_OK);
}

/* ---- floating point: bits that an op would change ---- */

/* A NaN with a sign and a payload, a signalling NaN, -0, the least denormal, -infinity; and the one
 * quiet NaN. */
static const struct {
  tutti_type type;
  size_t part;
  uint64_t bits[N], quiet;
} real[] = {
    {TUTTI_FP8_E4M3, 1, {0xff, 0x7f, 0x80, 1, 0xfe}, 0x7f},
    {TUTTI_FP8_E5M2, 1, {0xff, 0x7d, 0x80, 1, 0xfc}, 0x7e},
    {TUTTI_FLOAT16, 2, {0xfe01, 0x7c01, 0x8000, 1, 0xfc00}, 0x7e00},
    {TUTTI_BFLOAT16, 2, {0xffc1, 0x7f81, 0x8000, 1, 0xff80}, 0x7fc0},
    {TUTTI_FLOAT, 4, {0xffc00001, 0x7f800001, 0x80000000, 1, 0xff800000}, 0x7fc00000},
    {TUTTI_DOUBLE,
     8,
     {0xfff8000000000001, 0x7ff0000000000001, 0x8000000000000000, 1, 0xfff0000000000000},
     0x7ff8000000000000},
    {TUTTI_COMPLEX_FLOAT, 4, {0xffc00001, 0x7f800001, 0x80000000, 1, 0xff800000}, 0x7fc00000},
    {TUTTI_COMPLEX_DOUBLE,
     8,
     {0xfff8000000000001, 0x7ff0000000000001, 0x8000000000000000, 1, 0xfff0000000000000},
     0x7ff8000000000000},
    {TUTTI_FLOAT_INT, 4, {0xffc00001, 0x7f800001, 0x80000000, 1, 0xff800000}, 0x7fc00000},
    {TUTTI_DOUBLE_INT,
     8,
     {0xfff8000000000001, 0x7ff0000000000001, 0x8000000000000000, 1, 0xfff0000000000000},
     0x7ff8000000000000},
};

/* The result. KEPT: unchanged. QUIET: NaNs become the quiet NaN. NEGATED: in addition, all other values change
 * sign. */
typedef enum { KEPT, QUIET, NEGATED } fate;

static bool is_pair(size_t f) {
  return real[f].type >= TUTTI_FLOAT_INT && real[f].type <= TUTTI_SHORT_INT;
}

/* Writes the numbers to each part of an element (of a pair: to the first). */
static void fill_real(unsigned char *to, size_t f, fate what) {
  const size_t part = real[f].part, each = tutti_type_size(real[f].type);
  const size_t parts = is_pair(f) ? 1 : each / part;
  for (size_t i = 0; i < N; i++)
    for (size_t k = 0; k < parts; k++) {
      uint64_t bits = what && i < 2 ? real[f].quiet : real[f].bits[i];
      if (what == NEGATED && i >= 2) bits ^= (uint64_t)1 << (8 * part - 1);
      const unsigned shift =
          __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 64 - 8 * (unsigned)part;
      memcpy(to + i * each + k * part, &(uint64_t){bits << shift}, part);
    }
}

static void check_real(tutti_comm *c, size_t k, size_t f, tutti_op op, bool in_place, fate what) {
  _Alignas(16) unsigned char in[16 * N] = {0}, out[16 * N] = {0}, want[16 * N] = {0};
  const size_t each = tutti_type_size(real[f].type);
  fill_real(in, f, KEPT);
  fill_real(want, f, what);
  const tutti_status status = calls[k].call(c, in, in_place ? in : out, real[f].type, op);
  if (status || memcmp(in_place ? in : out, want, each * N) != 0)
    fail_msg("%s of %s, %s%s: %s", calls[k].name, tutti_type_name(real[f].type), tutti_op_name(op),
             in_place ? ", in place" : "", status ? tutti_error() : "another result");
}

/* In every call: with the type's ops, and with a factor of -1. */
static void check_reals(tutti_comm *c, size_t k, size_t f, tutti_op minus, bool exact) {
  const bool sums = !is_pair(f);
  const bool scan_it = calls[k].call == scan || calls[k].call == persistent;
  for (int in_place = 0; in_place < 2; in_place++) {
    for (tutti_op op = TUTTI_SUM; op <= TUTTI_MAXLOC; op++) {
      const bool adds = op == TUTTI_SUM || op == TUTTI_AVG;
      if (!tutti_type_has_op(real[f].type, op) || (op == TUTTI_AVG && scan_it)) continue;
      if (exact && op == TUTTI_PROD) continue; /* refused */
      check_real(c, k, f, op, in_place, exact && adds ? QUIET : KEPT);
    }
    const bool again = in_place && calls[k].call == persistent; /* it was started twice */
    if (sums) check_real(c, k, f, minus, in_place, again ? QUIET : NEGATED);
  }
}

static void floating(void **state) {
  tutti_comm *c;
  tutti_op minus;
  (void)state;
  assert_int_equal(tutti_comm_from_threads(1, &c), TUTTI_OK);
  assert_int_equal(tutti_op_create_scaled(-1, &minus), TUTTI_OK);
  for (tutti_contract contract = TUTTI_CONTRACT_SAME; contract <= TUTTI_CONTRACT_EXACT;
       contract++) {
    assert_int_equal(comm_set_contract(c, contract), TUTTI_OK);
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++)
      for (size_t f = 0; f < sizeof real / sizeof *real; f++)
        check_reals(c, k, f, minus, contract == TUTTI_CONTRACT_EXACT);
  }
  assert_int_equal(tutti_op_free(minus), TUTTI_OK);
  assert_int_equal(tutti_comm_free(c), TUTTI_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(alone), cmocka_unit_test(floating)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
