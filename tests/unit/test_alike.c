/* Arguments on which ranks must agree, and plans that must not be mixed up. A rank that runs a different plan,
 * loop or number of slices gets an error. In place differs from out of place. An op that was freed differs from
 * a later op with the same handle. A message is complete only when its data belongs to the receiver. One thread
 * runs both ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "../../cli/configure.h"
#include "call_of.h"
#include "comm.h"
#include "tutti.h"
#include "tutti_fault.h"
#include "tutti_message.h"

enum { MOST = 3, MANY = 60000, LONG = 1 << 18 };
static tutti_comm *comms[MOST];

static void open_comms(int n) {
  assert_int_equal(tutti_comm_from_threads(n, comms), TUTTI_OK);
  for (int r = 0; r < n; r++) assert_int_equal(comm_set_timeout(comms[r], 10), TUTTI_OK);
}

static void close_comms(int n) {
  for (int r = 0; r < n; r++) tutti_comm_free(comms[r]);
}

/* Completes all requests; returns the first error. */
static tutti_status finish(tutti_request **requests, int n) {
  tutti_status first = TUTTI_OK;
  for (int left = n, over; left;) {
    left = 0;
    for (int r = 0; r < n; r++) {
      if (!requests[r]) continue;
      const tutti_status status = tutti_request_test(&requests[r], &over);
      if (!first) first = status;
      if (requests[r]) left++;
      if (first) return first;
    }
  }
  return first;
}

/* ---- ranks that run different plans get an error ---- */

static const struct {
  const char *what;
  struct {
    const char *engine, *algo;
    int slices;
  } of[2];
  tutti_status status;
} pairs[] = {
    {"the same", {{NULL, "one-shot", 1}, {NULL, "one-shot", 1}}, TUTTI_OK},
    {"one without the loop",
     {{NULL, "one-shot", 1}, {"generic", "one-shot", 1}},
     TUTTI_ERR_MISMATCH},
    {"plans whose names are as long",
     {{"generic", "one-shot", 1}, {"generic", "two-shot", 1}},
     TUTTI_ERR_MISMATCH},
    {"another number of slices",
     {{"generic", "one-shot", 2}, {"generic", "one-shot", 3}},
     TUTTI_ERR_MISMATCH},
};

static void ranks_run_the_same_plan(void **state) {
  static float src[2][64], dst[2][64];
  (void)state;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    tutti_request *requests[2] = {NULL, NULL};
    open_comms(2);
    for (int r = 0; r < 2; r++) {
      comms[r]->settings.plain.generic = pairs[i].of[r].engine != NULL;
      assert_int_equal(comm_set_algorithm(comms[r], pairs[i].of[r].algo), TUTTI_OK);
      assert_int_equal(comm_set_slices(comms[r], pairs[i].of[r].slices), TUTTI_OK);
      assert_int_equal(
          tutti_allreduce_start(comms[r], src[r], dst[r], 64, TUTTI_FLOAT, TUTTI_SUM, &requests[r]),
          TUTTI_OK);
    }
    const tutti_status status = finish(requests, 2);
    if (status != pairs[i].status) fail_msg("%s: status %d", pairs[i].what, status);
    for (int r = 0; r < 2; r++) tutti_request_free(&requests[r]);
    close_comms(2);
  }
}

/* ---- in place after out of place, and the reverse ---- */

static void in_place_is_not_apart(void **state) {
  static const char *const algos[] = {"one-shot", "fold(halving)", "doubling", "tree(binomial)"};
  static int64_t src[MOST][MANY], dst[MOST][MANY];
  (void)state;
  setenv("TUTTI_ENGINE", "generic", 1);
  for (size_t a = 0; a < sizeof algos / sizeof *algos; a++)
    for (int first = 0; first < 2; first++) {
      open_comms(MOST);
      for (int r = 0; r < MOST; r++)
        assert_int_equal(comm_set_algorithm(comms[r], algos[a]), TUTTI_OK);
      for (int call = 0; call < 2; call++) {
        const int in_place = call ? !first : first;
        tutti_request *requests[MOST];
        for (int r = 0; r < MOST; r++) {
          for (int k = 0; k < MANY; k++) src[r][k] = dst[r][k] = 1000 * r + k;
          assert_int_equal(tutti_allreduce_start(comms[r], in_place ? dst[r] : src[r], dst[r], MANY,
                                                 TUTTI_INT64, TUTTI_SUM, &requests[r]),
                           TUTTI_OK);
        }
        assert_int_equal(finish(requests, MOST), TUTTI_OK);
        for (int r = 0; r < MOST; r++)
          for (int k = 0; k < MANY; k++)
            if (dst[r][k] != 3000 + 3 * k || src[r][k] != 1000 * r + k)
              fail_msg("%s, call %d, rank %d: dst[%d] is %lld", algos[a], call, r, k,
                       (long long)dst[r][k]);
      }
      close_comms(MOST);
    }
  unsetenv("TUTTI_ENGINE");
}

/* ---- a handle that now means another op ---- */

static void larger(const void *a, const void *b, void *dst, size_t n, tutti_type type, void *ctx) {
  (void)type, (void)ctx;
  for (size_t i = 0; i < n; i++) {
    const int32_t x = ((const int32_t *)a)[i], y = ((const int32_t *)b)[i];
    ((int32_t *)dst)[i] = x > y ? x : y;
  }
}

static void a_freed_op_is_no_other_one(void **state) {
  int32_t src[8] = {0}, dst[8];
  tutti_op op, other;
  tutti_request *request;
  (void)state;
  open_comms(1);
  assert_int_equal(tutti_op_create(larger, NULL, 1, &op), TUTTI_OK);
  assert_int_equal(tutti_call_init(comms[0],
                                   CALL(ALLREDUCE, .src = src, .dst = dst, .count = 8,
                                        .type = TUTTI_INT32, .op = op),
                                   &request),
                   TUTTI_OK);
  assert_int_equal(tutti_op_free(op), TUTTI_OK);
  assert_int_equal(tutti_op_create(larger, NULL, 1, &other), TUTTI_OK);
  assert_int_equal(op, other); /* the handle is used again */
  tutti_status status = tutti_request_start(request);
  if (!status) status = tutti_request_wait(&request);
  assert_int_equal(status, TUTTI_ERR_OP);
  tutti_request_free(&request);
  tutti_op_free(other);
  close_comms(1);
}

/* ---- messages ---- */

/* The sender may overwrite its buffer as soon as the send is complete, whether or not the wire has copied the
 * data. */
static void a_sent_message_is_the_readers(void **state) {
  static int32_t src[LONG], dst[LONG];
  (void)state;
  for (size_t n = 1; n <= LONG; n *= 4) {
    tutti_request *sends[1], *receives[1];
    int over = 0;
    open_comms(2);
    for (size_t i = 0; i < n; i++) src[i] = (int32_t)i;
    assert_int_equal(tutti_send_start(comms[0], src, n, TUTTI_INT32, 1, 0, &sends[0]), TUTTI_OK);
    for (int i = 0; i < 1000 && !over; i++)
      assert_int_equal(tutti_request_test(&sends[0], &over), TUTTI_OK);
    if (over) memset(src, 0xee, n * sizeof *src);
    assert_int_equal(tutti_recv_start(comms[1], dst, n, TUTTI_INT32, 0, 0, NULL, &receives[0]),
                     TUTTI_OK);
    tutti_request *both[2] = {over ? NULL : sends[0], receives[0]};
    assert_int_equal(finish(both, 2), TUTTI_OK);
    for (size_t i = 0; i < n; i++)
      if (dst[i] != (int32_t)i) fail_msg("%zu numbers: number %zu is %d", n, i, (int)dst[i]);
    close_comms(2);
  }
}

/* A rank that sends to itself must also receive the same type, and have room. */
static void own_messages_agree(void **state) {
  static const struct {
    size_t sent, received;
    tutti_type type;
    tutti_status status;
  } cases[] = {{4, 4, TUTTI_INT32, TUTTI_OK},
               {4, 3, TUTTI_INT32, TUTTI_ERR_MISMATCH},
               {4, 5, TUTTI_INT32, TUTTI_OK},
               {4, 4, TUTTI_UINT32, TUTTI_ERR_MISMATCH}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int32_t src[8] = {1, 2, 3, 4, 5, 6, 7, 8}, dst[8] = {0};
    tutti_request *both[2];
    open_comms(1);
    assert_int_equal(tutti_send_start(comms[0], src, cases[i].sent, TUTTI_INT32, 0, 0, &both[0]),
                     TUTTI_OK);
    tutti_status status =
        tutti_recv_start(comms[0], dst, cases[i].received, cases[i].type, 0, 0, NULL, &both[1]);
    if (!status) status = finish(both, 2);
    if (status != cases[i].status) fail_msg("case %zu: status %d", i, status);
    for (int r = 0; r < 2; r++) tutti_request_free(&both[r]);
    close_comms(1);
  }
}

/* Two messages that arrive in parts, at a rank that receives from any: each receive takes one of them, and is not taken back
 * once its message has begun to arrive. */
static void long_messages_of_any_rank(void **state) {
  enum { COUNT = 1 << 20 };
  int32_t *from[3], *to[2];
  tutti_received got[2];
  tutti_request *all[4];
  int over = 0;
  (void)state;
  open_comms(3);
  for (int r = 1; r < 3; r++) {
    from[r] = malloc(COUNT * sizeof *from[r]);
    to[r - 1] = calloc(COUNT, sizeof *to[r - 1]);
    for (int i = 0; i < COUNT; i++) from[r][i] = r * COUNT + i;
    assert_int_equal(tutti_recv_start(comms[0], to[r - 1], COUNT, TUTTI_INT32, TUTTI_ANY_SOURCE, 7,
                                      &got[r - 1], &all[r - 1]),
                     TUTTI_OK);
  }
  for (int r = 1; r < 3; r++)
    assert_int_equal(tutti_send_start(comms[r], from[r], COUNT, TUTTI_INT32, 0, 7, &all[r + 1]),
                     TUTTI_OK);
  assert_int_equal(tutti_request_test(&all[0], &over), TUTTI_OK);
  assert_false(over);
  assert_int_equal(tutti_request_free(&all[0]), TUTTI_ERR_STATE);
  assert_int_equal(finish(all, 4), TUTTI_OK);
  assert_int_equal(got[0].source + got[1].source, 3);
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < COUNT; i++)
      if (to[k][i] != got[k].source * COUNT + i)
        fail_msg("receive %d: number %d is %d", k, i, (int)to[k][i]);
  close_comms(3);
  for (int k = 0; k < 2; k++) free(from[k + 1]), free(to[k]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranks_run_the_same_plan),    cmocka_unit_test(in_place_is_not_apart),
      cmocka_unit_test(a_freed_op_is_no_other_one), cmocka_unit_test(a_sent_message_is_the_readers),
      cmocka_unit_test(own_messages_agree),         cmocka_unit_test(long_messages_of_any_rank),
  };
  return cmocka_run_group_tests_name("calls of two ranks", tests, NULL, NULL);
}
