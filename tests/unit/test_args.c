/* test_args.c - bad arguments: every invalid call returns a status and an error message that names the mistake.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the first three headers above */
#include <cmocka.h>

#include "../../cli/configure.h"
#include "call_of.h"
#include "core.h"
#include "cover.h"
#include "lists.h"
#include "refuse.h"
#include "three_ranks.h"
#include "tutti_launch.h"
#include "tutti_plan.h"

/* ---- arguments of collectives ---- */

static void null_pointers(void **state) {
  double x[12] = {0}, y[12];
  tutti_comm *c = comms[1];
  tutti_request *r;
  int done;
  (void)state;
  REFUSES(tutti_allreduce(NULL, x, y, 4, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "tutti_allreduce|comm is NULL");
  REFUSES(tutti_barrier(NULL), TUTTI_ERR_ARG, "tutti_barrier|comm is NULL");
  REFUSES(tutti_barrier_start(NULL, &r), TUTTI_ERR_ARG, "tutti_barrier_start|comm is NULL");
  REFUSES(tutti_allreduce(c, NULL, y, 4, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "tutti_allreduce|src is NULL");
  REFUSES(tutti_allreduce(c, x, NULL, 4, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "tutti_allreduce|dst is NULL");
  REFUSES(tutti_reduce_scatter(c, NULL, y, 4, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "tutti_reduce_scatter|src is NULL");
  REFUSES(tutti_allgather(c, x, NULL, 4, TUTTI_DOUBLE), TUTTI_ERR_ARG,
          "tutti_allgather|dst is NULL");
  REFUSES(tutti_broadcast(c, NULL, y, 4, TUTTI_DOUBLE, 1), TUTTI_ERR_ARG,
          "tutti_broadcast|src is NULL");
  REFUSES(tutti_broadcast(c, NULL, NULL, 4, TUTTI_DOUBLE, 0), TUTTI_ERR_ARG,
          "tutti_broadcast|dst is NULL");
  REFUSES(tutti_reduce(c, x, NULL, 4, TUTTI_DOUBLE, TUTTI_SUM, 1), TUTTI_ERR_ARG,
          "tutti_reduce|dst is NULL");
  REFUSES(tutti_scan(c, NULL, y, 4, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "tutti_scan|src is NULL");
  REFUSES(tutti_exscan(c, x, NULL, 4, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "tutti_exscan|dst is NULL");
  REFUSES(tutti_gather(c, x, NULL, 4, TUTTI_DOUBLE, 1), TUTTI_ERR_ARG, "tutti_gather|dst is NULL");
  REFUSES(tutti_gather(c, NULL, y, 4, TUTTI_DOUBLE, 0), TUTTI_ERR_ARG, "tutti_gather|src is NULL");
  REFUSES(tutti_scatter(c, NULL, y, 4, TUTTI_DOUBLE, 1), TUTTI_ERR_ARG,
          "tutti_scatter|src is NULL");
  REFUSES(tutti_scatter(c, NULL, NULL, 4, TUTTI_DOUBLE, 0), TUTTI_ERR_ARG,
          "tutti_scatter|dst is NULL");
  REFUSES(tutti_alltoall(c, x, NULL, 4, TUTTI_DOUBLE), TUTTI_ERR_ARG, "tutti_alltoall|dst is NULL");
  REFUSES(tutti_allreduce_start(c, x, y, 4, TUTTI_DOUBLE, TUTTI_SUM, NULL), TUTTI_ERR_ARG,
          "tutti_allreduce_start|request is NULL");
  REFUSES(tutti_request_start(NULL), TUTTI_ERR_ARG, "tutti_request_start|request is NULL");
  REFUSES(tutti_request_wait(NULL), TUTTI_ERR_ARG, "tutti_request_wait|request is NULL");
  REFUSES(tutti_request_test(NULL, &done), TUTTI_ERR_ARG, "tutti_request_test|request is NULL");
  r = NULL;
  REFUSES(tutti_request_test(&r, NULL), TUTTI_ERR_ARG, "tutti_request_test|done is NULL");
  assert_int_equal(tutti_request_test(&r, &done), TUTTI_OK);
  assert_int_equal(done, 1);
  assert_int_equal(tutti_request_wait(&r), TUTTI_OK);
  assert_int_equal(tutti_request_free(&r), TUTTI_OK);
  assert_int_equal(tutti_request_free(NULL), TUTTI_OK);
  assert_int_equal(tutti_comm_free(NULL), TUTTI_OK);
  assert_int_equal(tutti_comm_rank(NULL), -1);
  assert_int_equal(tutti_comm_size(NULL), -1);
  assert_int_equal(comm_helpers(NULL), -1);
}

static void numbers(void **state) {
  double x[12] = {0}, y[12];
  char name[80];
  tutti_comm *c = comms[1];
  tutti_request *r;
  const size_t minus = (size_t)-1, huge = SIZE_MAX / 16 + 1;
  (void)state;
  REFUSES(tutti_allreduce(c, x, y, minus, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "count|negative");
  REFUSES(tutti_allreduce(c, x, y, huge, TUTTI_COMPLEX_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "count 1152921504606846976");
  REFUSES(tutti_allreduce(c, x, y, (size_t)1 << 60, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "count");
  REFUSES(tutti_allgather(c, x, y, SIZE_MAX / 24, TUTTI_DOUBLE), TUTTI_ERR_ARG, "count");
  REFUSES(tutti_reduce_scatter(c, x, y, (size_t)INT64_MAX / 8, TUTTI_DOUBLE, TUTTI_SUM),
          TUTTI_ERR_ARG, "count");
  REFUSES(tutti_allreduce(c, x, y, 4, (tutti_type)TUTTI_TYPE_COUNT, TUTTI_SUM), TUTTI_ERR_TYPE,
          "type 21");
  REFUSES(tutti_allreduce(c, x, y, 4, (tutti_type)-1, TUTTI_SUM), TUTTI_ERR_TYPE, "type -1");
  REFUSES(tutti_broadcast(c, x, y, 4, (tutti_type)77, 0), TUTTI_ERR_TYPE, "type 77");
  REFUSES(tutti_allreduce(c, x, y, 4, TUTTI_DOUBLE, (tutti_op)TUTTI_OP_COUNT), TUTTI_ERR_OP,
          "op 13");
  REFUSES(tutti_allreduce(c, x, y, 4, TUTTI_DOUBLE, (tutti_op)-3), TUTTI_ERR_OP, "op -3");
  REFUSES(tutti_allreduce(c, x, y, 4, TUTTI_DOUBLE, (tutti_op)1999), TUTTI_ERR_OP, "op 1999");
  REFUSES(tutti_allreduce(c, x, y, 4, TUTTI_DOUBLE, TUTTI_BAND), TUTTI_ERR_OP,
          "double has no op band");
  REFUSES(tutti_reduce(c, x, y, 4, TUTTI_COMPLEX_FLOAT, TUTTI_MAX, 0), TUTTI_ERR_OP,
          "complex_float has no op max");
  REFUSES(tutti_reduce_scatter(c, x, y, 1, TUTTI_INT_INT, TUTTI_SUM), TUTTI_ERR_OP,
          "int_int has no op sum");
  REFUSES(tutti_alltoall(c, x, y, SIZE_MAX / 24, TUTTI_DOUBLE), TUTTI_ERR_ARG, "count");
  REFUSES(tutti_gather(c, x, y, SIZE_MAX / 24, TUTTI_DOUBLE, 0), TUTTI_ERR_ARG, "count");
  REFUSES(tutti_scan(c, x, y, 4, TUTTI_DOUBLE, TUTTI_AVG), TUTTI_ERR_OP, "tutti_scan|avg|divide");
  REFUSES(tutti_exscan_start(c, x, y, 4, TUTTI_INT8, TUTTI_AVG, &r), TUTTI_ERR_OP, "avg");
  REFUSES(tutti_comm_plan(c, TUTTI_SCAN, 4, TUTTI_INT8, TUTTI_AVG, name, 80), TUTTI_ERR_OP, "avg");
  REFUSES(tutti_exscan(c, x, y, 4, TUTTI_FLOAT, TUTTI_BAND), TUTTI_ERR_OP, "no op band");
  REFUSES(tutti_gather(c, x, y, 4, TUTTI_DOUBLE, 3), TUTTI_ERR_ARG, "root 3|0..2");
  REFUSES(tutti_scatter(c, x, y, 4, TUTTI_DOUBLE, -1), TUTTI_ERR_ARG, "root -1");
  REFUSES(tutti_broadcast(c, x, y, 4, TUTTI_DOUBLE, 3), TUTTI_ERR_ARG, "root 3|0..2");
  REFUSES(tutti_broadcast(c, x, y, 4, TUTTI_DOUBLE, -1), TUTTI_ERR_ARG, "root -1");
  REFUSES(tutti_reduce(c, x, y, 4, TUTTI_DOUBLE, TUTTI_SUM, 1 << 30), TUTTI_ERR_ARG,
          "root 1073741824");
  REFUSES(tutti_comm_plan(c, TUTTI_COLL_COUNT, 1, TUTTI_INT8, TUTTI_SUM, name, 80), TUTTI_ERR_ARG,
          "no such collective");
  REFUSES(tutti_comm_plan(c, TUTTI_REDUCE, 1, TUTTI_INT8, TUTTI_SUM, NULL, 80), TUTTI_ERR_ARG,
          "room");
  REFUSES(tutti_comm_plan(c, TUTTI_REDUCE, 1, (tutti_type)50, TUTTI_SUM, name, 80), TUTTI_ERR_TYPE,
          "type 50");
  REFUSES(tutti_comm_plan(c, TUTTI_REDUCE, 1, TUTTI_FLOAT, TUTTI_BOR, name, 80), TUTTI_ERR_OP,
          "float has no op bor");
  REFUSES(tutti_comm_plan(c, TUTTI_REDUCE, 1, TUTTI_INT8, TUTTI_SUM, name, 3), TUTTI_ERR_ARG,
          "room for 3");
  assert_int_equal(tutti_type_size((tutti_type)99), 0);
  assert_string_equal(tutti_type_name((tutti_type)-9), "?");
  assert_string_equal(tutti_op_name((tutti_op)999), "?");
  assert_string_equal(tutti_coll_name(TUTTI_COLL_COUNT), "?");
  assert_int_equal(tutti_type_has_op((tutti_type)99, TUTTI_SUM), 0);
  assert_string_equal(tutti_strerror((tutti_status)7), "unknown status");
}

static void measuring(void **state) {
  char name[80];
  tutti_comm *c = comms[1];
  (void)state;
  tutti_measured none = {.size = 1}, measured = {.size = sizeof measured};
  REFUSES(tutti_comm_measure(c, TUTTI_REDUCE, 1, TUTTI_FLOAT, TUTTI_BOR, NULL), TUTTI_ERR_OP,
          "tutti_comm_measure: type float has no op bor");
  REFUSES(tutti_comm_measure(c, TUTTI_COLL_COUNT, 1, TUTTI_FLOAT, TUTTI_SUM, &measured),
          TUTTI_ERR_ARG, "tutti_comm_measure: no such collective");
  REFUSES(tutti_comm_measure(c, TUTTI_REDUCE, 1, TUTTI_FLOAT, TUTTI_SUM, &none), TUTTI_ERR_ARG,
          "tutti_comm_measure|measured");
  REFUSES(tutti_comm_measure(c, TUTTI_REDUCE, SIZE_MAX, TUTTI_FLOAT, TUTTI_SUM, NULL),
          TUTTI_ERR_ARG, "count");
  REFUSES(tutti_wisdom_here(0, name, 80), TUTTI_ERR_ARG, "no ranks");
  REFUSES(tutti_wisdom_here(3, NULL, 80), TUTTI_ERR_ARG, "no room");
  REFUSES(tutti_wisdom_save(NULL), TUTTI_ERR_ARG, "no path");
}

static void buffers(void **state) {
  _Alignas(16) char room[800] = {0};
  double *x = (double *)(void *)room;
  tutti_comm *c = comms[1];
  (void)state;
  REFUSES(tutti_allreduce(c, x, x + 1, 4, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_OVERLAP,
          "tutti_allreduce|overlap");
  REFUSES(tutti_allreduce(c, x + 3, x, 4, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_OVERLAP, "overlap");
  REFUSES(tutti_allgather(c, x, x, 4, TUTTI_DOUBLE), TUTTI_ERR_OVERLAP,
          "overlap"); /* rank 1's place is x + 4 */
  REFUSES(tutti_allgather(c, x + 11, x, 4, TUTTI_DOUBLE), TUTTI_ERR_OVERLAP, "overlap");
  REFUSES(tutti_reduce_scatter(c, x, x, 4, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_OVERLAP, "overlap");
  REFUSES(tutti_reduce_scatter(c, x, x + 11, 4, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_OVERLAP,
          "overlap");
  REFUSES(tutti_broadcast(c, x, x + 3, 4, TUTTI_DOUBLE, 1), TUTTI_ERR_OVERLAP, "overlap");
  REFUSES(tutti_reduce(c, x, x + 3, 4, TUTTI_DOUBLE, TUTTI_SUM, 1), TUTTI_ERR_OVERLAP, "overlap");
  REFUSES(tutti_scan(c, x, x + 3, 4, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_OVERLAP, "overlap");
  REFUSES(tutti_gather(c, x, x, 4, TUTTI_DOUBLE, 1), TUTTI_ERR_OVERLAP,
          "overlap"); /* rank 1's place is x + 4 */
  REFUSES(tutti_scatter(c, x, x, 4, TUTTI_DOUBLE, 1), TUTTI_ERR_OVERLAP, "overlap");
  REFUSES(tutti_alltoall(c, x, x + 11, 4, TUTTI_DOUBLE), TUTTI_ERR_OVERLAP, "overlap");
  const int side_by_side[][2] = {{0, 4}, {4, 0}};
  for (int i = 0; i < 2; i++) { /* adjacent is not overlapping */
    const double *src = x + side_by_side[i][0];
    tutti_request *r;
    assert_int_equal(tutti_call_init(c,
                                     CALL(ALLREDUCE, .src = src, .dst = x + side_by_side[i][1],
                                          .count = 4, .type = TUTTI_DOUBLE, .op = TUTTI_SUM),
                                     &r),
                     TUTTI_OK);
    assert_int_equal(tutti_request_free(&r), TUTTI_OK);
  }
  REFUSES(tutti_allreduce(c, room + 1, room + 400, 4, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "src|aligned to 8");
  REFUSES(tutti_allreduce(c, room, room + 402, 4, TUTTI_FLOAT, TUTTI_SUM), TUTTI_ERR_ARG,
          "dst|aligned to 4");
  REFUSES(tutti_allreduce(c, room + 4, room + 400, 4, TUTTI_LONG_INT, TUTTI_MINLOC), TUTTI_ERR_ARG,
          "src|aligned to 8");
  REFUSES(tutti_allreduce(c, (void *)(UINTPTR_MAX - 15), room, 4, TUTTI_DOUBLE, TUTTI_SUM),
          TUTTI_ERR_ARG, "src|address space");
}

/* Counts per rank; a thread that makes bad calls is rank 1 of 3. */
static void counts(void **state) {
  double x[12] = {0}, y[12];
  tutti_comm *c = comms[1];
  const size_t four[] = {4, 4, 4}, minus[] = {4, 4, (size_t)-1}, hole[] = {4, 0, 4};
  const size_t wraps[] = {(size_t)1 << 63, (size_t)1 << 63, 4};
  const size_t above[] = {(size_t)INT64_MAX / 8, 0, 1};
  (void)state;
  REFUSES(tutti_reduce_scatterv(c, x, y, NULL, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "tutti_reduce_scatterv|counts is NULL");
  REFUSES(tutti_allgatherv(c, x, y, NULL, TUTTI_DOUBLE), TUTTI_ERR_ARG,
          "tutti_allgatherv|counts is NULL");
  REFUSES(tutti_allgatherv(NULL, x, y, NULL, TUTTI_DOUBLE), TUTTI_ERR_ARG, "comm is NULL");
  REFUSES(tutti_allgatherv(c, x, y, minus, TUTTI_DOUBLE), TUTTI_ERR_ARG, "counts[2]|negative");
  REFUSES(tutti_reduce_scatterv(c, x, y, wraps, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "counts[0] 9223372036854775808 is larger");
  REFUSES(tutti_reduce_scatterv(c, x, y, above, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "counts[2]|with those before it");
  REFUSES(tutti_allgatherv(c, NULL, y, four, TUTTI_DOUBLE), TUTTI_ERR_ARG, "src is NULL");
  REFUSES(tutti_reduce_scatterv(c, x, NULL, four, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "dst is NULL");
  REFUSES(tutti_allgatherv(c, NULL, NULL, hole, TUTTI_DOUBLE), TUTTI_ERR_ARG, "dst is NULL");
  REFUSES(tutti_reduce_scatterv(c, x, x + 5, four, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_OVERLAP,
          "overlap"); /* rank 1's place is x + 4 */
  REFUSES(tutti_allgatherv(c, y + 3, y, four, TUTTI_DOUBLE), TUTTI_ERR_OVERLAP, "overlap");
  REFUSES(tutti_reduce_scatterv(c, x, y, four, TUTTI_DOUBLE, TUTTI_BAND), TUTTI_ERR_OP, "no op");
  REFUSES(tutti_allgatherv_start(c, x, y, four, TUTTI_DOUBLE, NULL), TUTTI_ERR_ARG,
          "tutti_allgatherv_start|request is NULL");
}

static void lists(void **state) {
  double x[40] = {0}, y[40] = {0};
  const void *srcs[] = {x, x + 10, x + 20}, *bad[] = {x, NULL, x + 20};
  void *dsts[] = {y, y + 10, x + 20}, *over[] = {y, y + 3, x + 20}, *into[] = {y, x + 25, x + 20};
  const size_t counts[] = {10, 4, 6}, huge[] = {10, SIZE_MAX / 8, 6},
               all[] = {(size_t)1 << 59, 4, (size_t)1 << 59};
  const void *here[] = {(void *)8, x, (void *)8}; /* not accessed */
  void *there[] = {(void *)(UINTPTR_MAX / 2 + 1), y, (void *)(UINTPTR_MAX / 2 + 1)};
  tutti_request *r;
  tutti_comm *c = comms[1];
  const tutti_type t = TUTTI_DOUBLE;
  (void)state;
#define MANY(n, srcs, dsts, counts, type, op) allreduce_many(c, n, srcs, dsts, counts, type, op)
  REFUSES(allreduce_many(NULL, 3, srcs, dsts, counts, t, TUTTI_SUM), TUTTI_ERR_ARG,
          "tutti_call_start: comm is NULL");
  REFUSES(MANY(3, NULL, dsts, counts, t, TUTTI_SUM), TUTTI_ERR_ARG, "srcs is NULL");
  REFUSES(MANY(3, srcs, NULL, counts, t, TUTTI_SUM), TUTTI_ERR_ARG, "dsts is NULL");
  REFUSES(MANY(3, srcs, dsts, NULL, t, TUTTI_SUM), TUTTI_ERR_ARG, "counts is NULL");
  REFUSES(MANY(3, bad, dsts, counts, t, TUTTI_SUM), TUTTI_ERR_ARG, "buffer 1: src is NULL");
  REFUSES(MANY((size_t)-1, srcs, dsts, counts, t, TUTTI_SUM), TUTTI_ERR_ARG, "n 1844|negative");
  REFUSES(MANY(3, srcs, dsts, huge, t, TUTTI_SUM), TUTTI_ERR_ARG, "buffer 1: count 2305");
  REFUSES(MANY(3, here, there, all, t, TUTTI_SUM), TUTTI_ERR_ARG, "buffers 0 to 2 are larger");
  REFUSES(MANY(0, NULL, NULL, NULL, (tutti_type)99, TUTTI_SUM), TUTTI_ERR_TYPE, "type 99");
  REFUSES(MANY(3, srcs, dsts, counts, t, TUTTI_BAND), TUTTI_ERR_OP, "no op band");
  REFUSES(MANY(3, srcs, over, counts, t, TUTTI_SUM), TUTTI_ERR_OVERLAP, "a dst overlaps another");
  REFUSES(MANY(3, srcs, into, counts, t, TUTTI_SUM), TUTTI_ERR_OVERLAP, "a dst overlaps another");
  srcs[1] = y + 12;
  REFUSES(MANY(3, srcs, dsts, counts, t, TUTTI_SUM), TUTTI_ERR_OVERLAP, "buffer 1: src and dst");
  srcs[1] = (char *)x + 1;
  REFUSES(MANY(3, srcs, dsts, counts, t, TUTTI_SUM), TUTTI_ERR_ARG, "buffer 1: src is not aligned");
  srcs[1] = y + 10; /* adjacent to one dst, and directly before another */
  dsts[1] = y + 14;
  assert_int_equal(tutti_call_init(c,
                                   CALL(ALLREDUCE, .n = 3, .srcs = srcs, .dsts = dsts,
                                        .counts = counts, .type = t, .op = TUTTI_SUM),
                                   &r),
                   TUTTI_OK);
  assert_int_equal(tutti_request_free(&r), TUTTI_OK);
  REFUSES(allreduce_many_start(c, 3, srcs, dsts, counts, t, TUTTI_SUM, NULL), TUTTI_ERR_ARG,
          "tutti_call_start: request is NULL");
  REFUSES(tutti_call_init(c,
                          CALL(ALLREDUCE, .n = 3, .srcs = NULL, .dsts = dsts, .counts = counts,
                               .type = t, .op = TUTTI_SUM),
                          &r),
          TUTTI_ERR_ARG, "tutti_call_init: srcs is NULL");
  assert_null(r);
}

static void messages(void **state) {
  double x[4] = {0};
  tutti_comm *c = comms[1];
  tutti_request *r;
  (void)state;
  REFUSES(tutti_send(NULL, x, 4, TUTTI_DOUBLE, 0, 0), TUTTI_ERR_ARG, "tutti_send: comm is NULL");
  REFUSES(tutti_recv(NULL, x, 4, TUTTI_DOUBLE, 0, 0, NULL), TUTTI_ERR_ARG,
          "tutti_recv: comm is NULL");
  REFUSES(tutti_send(c, NULL, 4, TUTTI_DOUBLE, 0, 0), TUTTI_ERR_ARG, "tutti_send: src is NULL");
  REFUSES(tutti_recv(c, NULL, 4, TUTTI_DOUBLE, 0, 0, NULL), TUTTI_ERR_ARG,
          "tutti_recv: dst is NULL");
  REFUSES(tutti_send(c, x, 4, TUTTI_DOUBLE, 3, 0), TUTTI_ERR_ARG, "dest 3 is not a rank of 0..2");
  REFUSES(tutti_recv(c, x, 4, TUTTI_DOUBLE, -2, 0, NULL), TUTTI_ERR_ARG,
          "source -2 is not a rank of 0..2, or TUTTI_ANY_SOURCE");
  REFUSES(tutti_send(c, x, (size_t)-1, TUTTI_DOUBLE, 0, 0), TUTTI_ERR_ARG, "count|negative");
  REFUSES(tutti_send(c, x, 4, (tutti_type)88, 0, 0), TUTTI_ERR_TYPE, "type 88");
  REFUSES(tutti_recv(c, (char *)x + 1, 1, TUTTI_DOUBLE, 0, 0, NULL), TUTTI_ERR_ARG,
          "dst is not aligned");
  REFUSES(tutti_send_start(c, x, 4, TUTTI_DOUBLE, 3, 0, &r), TUTTI_ERR_ARG,
          "tutti_send_start: dest");
  assert_null(r);
  REFUSES(tutti_recv_start(c, x, 4, TUTTI_DOUBLE, 0, 0, NULL, NULL), TUTTI_ERR_ARG,
          "request is NULL");
  REFUSES(tutti_recv_init(c, NULL, 4, TUTTI_DOUBLE, 0, 0, NULL, &r), TUTTI_ERR_ARG,
          "tutti_recv_init: dst");
}

static void others(void **state) {
  tutti_comm *c, *out[1];
  tutti_op op;
  void *memory = &op, *inside;
  tutti_job *job;
  (void)state;
  REFUSES(tutti_comm_from_env(NULL), TUTTI_ERR_ARG, "tutti_comm_from_env|comm is NULL");
  REFUSES(tutti_comm_from_threads(0, out), TUTTI_ERR_ARG, "n must be from 1");
  REFUSES(tutti_comm_from_threads(-4, out), TUTTI_ERR_ARG, "n must be from 1");
  REFUSES(tutti_comm_from_threads(1 << 30, out), TUTTI_ERR_ARG, "n must be from 1 to 4096");
  REFUSES(tutti_comm_from_threads(2, NULL), TUTTI_ERR_ARG, "comms is NULL");
  REFUSES(tutti_comm_split(NULL, 0, 0, &c), TUTTI_ERR_ARG, "comm is NULL");
  REFUSES(tutti_comm_split(comms[0], 0, 0, NULL), TUTTI_ERR_ARG, "out is NULL");
  REFUSES(tutti_comm_dup(NULL, &c), TUTTI_ERR_ARG, "tutti_comm_dup|comm is NULL");
  REFUSES(tutti_comm_dup(comms[0], NULL), TUTTI_ERR_ARG, "tutti_comm_dup|out is NULL");
  REFUSES(tutti_comm_abort(NULL, ""), TUTTI_ERR_ARG, "tutti_comm_abort|comm is NULL");
  REFUSES(comm_set_algorithm(NULL, ""), TUTTI_ERR_ARG, "comm is NULL");
  REFUSES(comm_set_algorithm(comms[0], "rign"), TUTTI_ERR_ARG, "'rign'|did you mean");
  REFUSES(comm_set_algorithm(comms[0], "fold(nonsense)"), TUTTI_ERR_ARG, "nonsense");
  REFUSES(comm_set_algorithm(comms[0], "fold(ring"), TUTTI_ERR_ARG, "parenthes");
  REFUSES(comm_set_algorithm(comms[0], ")("), TUTTI_ERR_ARG, "no algorithm");
  REFUSES(comm_set_slices(comms[0], -1), TUTTI_ERR_ARG, "-1|0 to");
  REFUSES(comm_set_slices(comms[0], INT32_MAX), TUTTI_ERR_ARG, "2147483647");
  REFUSES(comm_set_helpers(NULL, 1), TUTTI_ERR_ARG, "comm is NULL");
  REFUSES(comm_set_helpers(comms[0], -1), TUTTI_ERR_ARG, "-1 is not from 0 to 2");
  REFUSES(comm_set_helpers(comms[0], 3), TUTTI_ERR_ARG, "3 is not from 0 to 2");
  REFUSES(tutti_op_create(NULL, NULL, 1, &op), TUTTI_ERR_ARG, "fn is NULL");
  REFUSES(tutti_op_create(cover_user_op, NULL, 1, NULL), TUTTI_ERR_ARG, "op is NULL");
  REFUSES(tutti_op_free(TUTTI_SUM), TUTTI_ERR_OP, "0 is not a user-defined op");
  REFUSES(tutti_op_free((tutti_op)1500), TUTTI_ERR_OP, "1500");
  REFUSES(tutti_mem_alloc(NULL, 8, &memory), TUTTI_ERR_ARG, "comm is NULL");
  REFUSES(tutti_mem_alloc(comms[0], 8, NULL), TUTTI_ERR_ARG, "memory is NULL");
  REFUSES(tutti_mem_alloc(comms[0], SIZE_MAX, &memory), TUTTI_ERR_MEMORY,
          "18446744073709551615 bytes");
  REFUSES(tutti_mem_alloc(comms[0], SIZE_MAX / 2, &memory), TUTTI_ERR_MEMORY, "bytes");
  REFUSES(tutti_mem_alloc(comms[0], (size_t)1 << 50, &memory), TUTTI_ERR_MEMORY, "bytes");
  assert_null(memory);
  assert_int_equal(tutti_mem_alloc(comms[0], 0, &memory), TUTTI_OK);
  assert_null(memory);
  assert_int_equal(tutti_mem_free(comms[0], NULL), TUTTI_OK);
  REFUSES(tutti_mem_free(comms[0], &op), TUTTI_ERR_ARG, "not from tutti_mem_alloc");
  REFUSES(tutti_mem_free(NULL, &op), TUTTI_ERR_ARG, "comm is NULL");
  assert_int_equal(tutti_mem_alloc(comms[0], 100, &memory), TUTTI_OK);
  inside = (char *)memory + 64;
  REFUSES(tutti_mem_free(comms[0], inside), TUTTI_ERR_ARG, "not from");
  REFUSES(tutti_mem_free(comms[1], memory), TUTTI_ERR_ARG, "not from");
  assert_int_equal(tutti_mem_free(comms[0], memory), TUTTI_OK);
  REFUSES(tutti_mem_free(comms[0], memory), TUTTI_ERR_ARG, "not from");
  REFUSES(tutti_job_create(0, &job), TUTTI_ERR_ARG, "0 ranks");
  REFUSES(tutti_job_create(1 << 20, &job), TUTTI_ERR_ARG, "1048576 ranks");
  REFUSES(tutti_job_create(2, NULL), TUTTI_ERR_ARG, "job is NULL");
  assert_int_equal(tutti_job_fd(NULL), -1);
  assert_null(tutti_job_env(NULL, 0, 0));
  tutti_job_free(NULL);
}

static void launchers(void **state) {
  (void)state;
  tutti_job *job;
  REFUSES(tutti_job_create_watched(0, 1, &job), TUTTI_ERR_ARG, "0 ranks");
  REFUSES(tutti_job_create_watched(1, -1, &job), TUTTI_ERR_ARG, "-1 joiners");
  REFUSES(tutti_job_create_watched(1, 1, NULL), TUTTI_ERR_ARG, "job is NULL");
  assert_int_equal(tutti_job_create_watched(2, 1, &job), TUTTI_OK);
  assert_string_equal(tutti_job_env(job, 1, 3), "TUTTI_NEWCOMER=0");
  assert_string_equal(tutti_job_newcomer_env(job, 1, 0, 0), "TUTTI_RANK=1");
  assert_string_equal(tutti_job_newcomer_env(job, 1, 0, 3), "TUTTI_NEWCOMER=1");
  assert_null(tutti_job_newcomer_env(job, 1, 0, 4));
  assert_null(tutti_job_newcomer_env(job, 1, 1, 0));
  assert_null(tutti_job_newcomer_env(NULL, 1, 0, 0));
  assert_int_equal(tutti_job_ended(job, 2, 0), TUTTI_OK);
  REFUSES(tutti_job_ended(job, 3, 0), TUTTI_ERR_ARG, "no such rank");
  tutti_job_free(job);
  assert_int_equal(tutti_comm_newcomers(NULL), -1);
  assert_int_equal(tutti_newcomer(), 0);
}

/* ---- premultiplied sums ---- */

static void scaled_sums(void **state) {
  float x[] = {1, 2, 3}, y[] = {0, 0, 0};
  tutti_comm *alone;
  tutti_request *r;
  tutti_op op, again;
  (void)state;
  REFUSES(tutti_op_create_scaled(2, NULL), TUTTI_ERR_ARG, "tutti_op_create_scaled: op is NULL");
  REFUSES(tutti_op_create_scaled(NAN, &op), TUTTI_ERR_ARG, "nan, is not a finite number");
  REFUSES(tutti_op_create_scaled(-INFINITY, &op), TUTTI_ERR_ARG, "-inf, is not a finite number");
  assert_int_equal(tutti_op_create_scaled(2, &op), TUTTI_OK);
  assert_string_equal(tutti_op_name(op), "scaled");
  for (int t = 0; t < TUTTI_TYPE_COUNT; t++)
    assert_int_equal(tutti_type_has_op((tutti_type)t, op),
                     (t >= TUTTI_FLOAT16 && t <= TUTTI_COMPLEX_DOUBLE) || t > TUTTI_SHORT_INT);
  REFUSES(tutti_allreduce(comms[1], x, y, 3, TUTTI_INT32, op), TUTTI_ERR_OP,
          "type int32 has no op scaled");
  REFUSES(tutti_reduce(comms[1], x, y, 1, TUTTI_FLOAT_INT, op, 1), TUTTI_ERR_OP,
          "float_int has no op scaled");
  /* a plan that used the op must not use another op behind the same handle */
  assert_int_equal(tutti_comm_from_threads(1, &alone), TUTTI_OK);
  assert_int_equal(tutti_allreduce(alone, x, y, 3, TUTTI_FLOAT, op), TUTTI_OK);
  assert_true(x[2] == 3 && y[2] == 6);
  assert_int_equal(
      tutti_call_init(
          alone, CALL(ALLREDUCE, .src = x, .dst = y, .count = 3, .type = TUTTI_FLOAT, .op = op),
          &r),
      TUTTI_OK);
  assert_int_equal(tutti_op_free(op), TUTTI_OK);
  REFUSES(tutti_allreduce(alone, x, y, 3, TUTTI_FLOAT, op), TUTTI_ERR_OP, "nor registered");
  assert_int_equal(tutti_op_create_scaled(-5, &again), TUTTI_OK);
  assert_int_equal(again, op);
  assert_int_equal(tutti_allreduce(alone, x, x, 3, TUTTI_FLOAT, again), TUTTI_OK);
  assert_true(x[0] == -5 && x[2] == -15);
  assert_int_equal(tutti_request_start(r), TUTTI_OK);
  REFUSES(tutti_request_wait(&r), TUTTI_ERR_OP, "has been freed");
  assert_int_equal(tutti_request_free(&r), TUTTI_OK);
  assert_int_equal(tutti_comm_free(alone), TUTTI_OK);
  assert_int_equal(tutti_op_free(again), TUTTI_OK);
}

/* ---- a thousand ops, and no more ---- */

static void too_many_ops(void **state) {
  static tutti_op ops[1001];
  int n = 0;
  (void)state;
  while (n < 1001 && tutti_op_create(cover_user_op, NULL, 1, &ops[n]) == TUTTI_OK) n++;
  assert_int_equal(n, 1000);
  REFUSES(tutti_op_create(cover_user_op, NULL, 1, &ops[n]), TUTTI_ERR_MEMORY, "free some");
  while (n > 0) assert_int_equal(tutti_op_free(ops[--n]), TUTTI_OK);
  REFUSES(tutti_op_free(ops[0]), TUTTI_ERR_OP, "not a user-defined op");
}

/* ---- settings ---- */

static void count_line(void *ctx, int level, const char *line) {
  *(int *)ctx += level == 0 && strstr(line, "TUTTI_TIMEOUT") != NULL;
}

static void a_wrong_setting_is_said_once(void **state) {
  static const char *const wrong[] = {"soon", "-1", "1e10", "1 s"};
  int lines = 0;
  (void)state;
  setenv("TUTTI_TIMEOUT", wrong[0], 1);
  assert_true(tt_env_seconds("TUTTI_TIMEOUT") == 0); /* not logged */
  tutti_log_set(count_line, &lines);
  for (int i = 0; i < 4; i++) {
    setenv("TUTTI_TIMEOUT", wrong[i], 1);
    for (int k = 0; k < 3; k++) assert_true(tt_env_seconds("TUTTI_TIMEOUT") == 0);
    assert_int_equal(lines, i + 1);
  }
  for (int k = 0; k < 3; k++) assert_int_equal(tt_env_int("TUTTI_TIMEOUT", 1, 9, 7), 7);
  assert_int_equal(lines, 4);
  tutti_log_set(NULL, NULL);
  unsetenv("TUTTI_TIMEOUT");
}

/* After a successful call no error message remains from an alternative that tutti tried and dropped. */
static void a_success_leaves_no_sentence(void **state) {
  float x = 1;
  tutti_comm *pair[2], *copy;
  (void)state;
  assert_int_equal(tutti_comm_from_threads(0, pair), TUTTI_ERR_ARG);
  assert_int_equal(tutti_comm_from_threads(1, pair), TUTTI_OK);
  assert_string_equal(tutti_error(), "no error");
  for (int coll = 0; coll < 3; coll++) { /* each call makes a plan and refuses others */
    assert_int_equal(tutti_comm_from_threads(-1, pair + 1), TUTTI_ERR_ARG);
    if (coll == 0) assert_int_equal(tutti_allreduce(pair[0], &x, &x, 1, TUTTI_FLOAT, TUTTI_SUM), 0);
    if (coll == 1) assert_int_equal(tutti_broadcast(pair[0], &x, &x, 1, TUTTI_FLOAT, 0), 0);
    if (coll == 2) assert_int_equal(tutti_comm_dup(pair[0], &copy), 0);
    assert_string_equal(tutti_error(), "no error");
  }
  tutti_comm_free(copy);
  tutti_comm_free(pair[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(null_pointers, make, drop),
      cmocka_unit_test_setup_teardown(numbers, make, drop),
      cmocka_unit_test_setup_teardown(measuring, make, drop),
      cmocka_unit_test_setup_teardown(buffers, make, drop),
      cmocka_unit_test_setup_teardown(counts, make, drop),
      cmocka_unit_test_setup_teardown(lists, make, drop),
      cmocka_unit_test_setup_teardown(messages, make, drop),
      cmocka_unit_test_setup_teardown(others, make, drop),
      cmocka_unit_test(launchers),
      cmocka_unit_test_setup_teardown(scaled_sums, make, drop),
      cmocka_unit_test(too_many_ops),
      cmocka_unit_test(a_wrong_setting_is_said_once),
      cmocka_unit_test(a_success_leaves_no_sentence),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
