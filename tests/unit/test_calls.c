/* test_calls.c - collectives whose arguments are one struct (tutti_call): every mistake in the struct is named.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the first three headers above */
#include <cmocka.h>

#include "call_of.h"
#include "core.h"
#include "cover.h"
#include "refuse.h"
#include "three_ranks.h"

static void bad_structs(void **state) {
  double x[16] = {0}, y[16];
  const size_t counts[3] = {1, 1, 1};
  const void *srcs[1] = {x};
  void *dsts[1] = {y};
  tutti_comm *c = comms[1];
  tutti_request *r;
  const struct {
    tutti_call call;
    const char *words;
  } wrong[] = {
      {{.size = 8}, "call->size is 8"},
      {{.size = sizeof(tutti_call), .coll = (tutti_coll)77}, "coll 77 is none of tutti_coll"},
      {{.size = sizeof(tutti_call), .coll = (tutti_coll)-1}, "coll -1 is none of tutti_coll"},
      {*CALL(REDUCE, .n = 1, .srcs = srcs, .dsts = dsts, .counts = counts), "reduce takes no list"},
      {*CALL(BROADCAST, .src = x, .dst = y, .counts = counts), "broadcast takes no counts"},
      {*CALL(ALLGATHER, .src = x, .dst = y, .counts = counts, .compression = "lossless"),
       "allgather with counts takes no compression"},
      {*CALL(BARRIER, .compression = "lossless"), "barrier takes no compression"},
      {*CALL(ALLREDUCE, .src = x, .dst = y, .count = 1, .type = TUTTI_DOUBLE, .compression = "zip"),
       "expected 'lossless'"},
      {*CALL(ALLREDUCE, .src = x, .dst = y, .count = 1, .type = TUTTI_DOUBLE, .algorithm = "rign"),
       "call->algorithm|did you mean"},
      {*CALL(BARRIER, .algorithm = "ring"), "barrier takes no algorithm"},
      {*CALL(ALLREDUCE, .dst = y, .count = 1, .type = TUTTI_DOUBLE), "src is NULL"},
      {*CALL(BROADCAST, .src = x, .dst = y, .count = 1, .type = TUTTI_DOUBLE, .root = 3),
       "root 3 is not"},
  };
  (void)state;
  REFUSES(tutti_call_init(c, CALL(BARRIER, .n = 0), NULL), TUTTI_ERR_ARG,
          "tutti_call_init|request is NULL");
  REFUSES(tutti_call_start(c, CALL(ALLTOALL, .src = x, .dst = y, .count = 4, .type = TUTTI_DOUBLE),
                           NULL),
          TUTTI_ERR_ARG, "tutti_call_start|request is NULL");
  REFUSES(tutti_call_start(c, NULL, &r), TUTTI_ERR_ARG, "tutti_call_start: call is NULL");
  REFUSES(tutti_call_start(NULL, CALL(BARRIER, .n = 0), &r), TUTTI_ERR_ARG, "comm is NULL");
  REFUSES(tutti_call_start(NULL, CALL(ALLREDUCE, .algorithm = "ring"), &r), TUTTI_ERR_ARG, "comm is NULL");
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    REFUSES(tutti_call_start(c, &wrong[i].call, &r), TUTTI_ERR_ARG, wrong[i].words);
    REFUSES(tutti_call_init(c, &wrong[i].call, &r), TUTTI_ERR_ARG, wrong[i].words);
    REFUSES(tutti_call_on_stream(c, &wrong[i].call), TUTTI_ERR_ARG, wrong[i].words);
  }
  REFUSES(tutti_call_on_stream(c, CALL(BARRIER, .n = 0)), TUTTI_ERR_ARG, "takes no vectors");
  REFUSES(tutti_call_on_stream(
              c, CALL(ALLREDUCE, .n = 1, .srcs = srcs, .dsts = dsts, .counts = counts)),
          TUTTI_ERR_ARG, "takes no list");
  REFUSES(tutti_call_on_stream(
              c, CALL(ALLREDUCE, .src = x, .dst = y, .count = 1, .compression = "lossless")),
          TUTTI_ERR_ARG, "takes no compression");
  /* fields that a collective does not have */
  assert_int_equal(tutti_call_init(c,
                                   CALL(ALLGATHER, .src = x, .dst = y, .count = 1,
                                        .type = TUTTI_INT8, .op = (tutti_op)99, .root = 99),
                                   &r),
                   TUTTI_OK);
  assert_int_equal(tutti_request_free(&r), TUTTI_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(bad_structs, make, drop)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
