/* test_alone.c - one rank's values meet no op: what is handed on as it is, and what a logical op
 * makes of them, for every type, in every collective that reduces.
 * Alone: no
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants those above */
#include <cmocka.h>

#include "tutti.h"

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
  return tutti_allreduce_many(c, 2, srcs, dsts, counts, t, op);
}
static tutti_status reduce(tutti_comm *c, const void *src, void *dst, tutti_type t, tutti_op op) {
  return tutti_reduce(c, src, dst, N, t, op, 0);
}
static tutti_status scatter(tutti_comm *c, const void *src, void *dst, tutti_type t, tutti_op op) {
  return tutti_reduce_scatter(c, src, dst, N, t, op);
}
static tutti_status scatter_v(tutti_comm *c, const void *src, void *dst, tutti_type t,
                              tutti_op op) {
  return tutti_reduce_scatter_v(c, src, dst, (const size_t[]){N}, t, op);
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
  tutti_status status = tutti_scan_init(c, src, dst, N, t, op, &r);
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
             {"reduce_scatter_v", scatter_v},
             {"scan", scan},
             {"started", started},
             {"persistent", persistent}};

static void fill(unsigned char *to, size_t each) {
  for (size_t i = 0; i < N; i++) memcpy(to + i * each, &said[i], each < 8 ? each : 8);
}

/* The bytes that the op makes of those. */
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
