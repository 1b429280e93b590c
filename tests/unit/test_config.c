/* test_config.c - the settings of a communicator: what is set is what is asked for, a mistake changes nothing, and a field that
 * is 0 has what the environment says.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs setjmp.h, stdarg.h and stddef.h */
#include <cmocka.h>

#include "core.h"
#include "cover.h"
#include "refuse.h"
#include "three_ranks.h"
#include "tutti_plan.h"

#define CONFIG(...) (&(tutti_config){.size = sizeof(tutti_config), __VA_ARGS__})

/* The settings of comms[1] must be these; NULL of a text: any. */
static void has(const tutti_config *want) {
  tutti_config got = {.size = sizeof got};
  assert_int_equal(tutti_comm_config(comms[1], &got), TUTTI_OK);
  assert_int_equal(got.contract, want->contract);
  assert_int_equal(got.slices, want->slices);
  assert_int_equal(got.helpers, want->helpers);
  assert_int_equal(got.measure, want->measure);
  assert_true(got.timeout == want->timeout);
  assert_string_equal(got.algorithm, want->algorithm);
  assert_string_equal(got.compression, want->compression);
  if (want->name)
    assert_string_equal(got.name, want->name);
  else
    assert_null(got.name);
}

#define DEFAULTS \
  .contract = TUTTI_CONTRACT_SAME, .measure = -1, .algorithm = "", .compression = "none"

static void what_is_set(void **state) {
  const struct {
    tutti_config set, has;
  } rows[] = {
      {*CONFIG(.slices = 0), *CONFIG(DEFAULTS)},
      {*CONFIG(.contract = TUTTI_CONTRACT_ANY, .slices = 3, .helpers = 1, .timeout = 2.5,
               .measure = 1, .name = "x"),
       *CONFIG(.contract = TUTTI_CONTRACT_ANY, .slices = 3, .helpers = 1, .timeout = 2.5,
               .measure = 1, .name = "x", .algorithm = "", .compression = "none")},
      {*CONFIG(.algorithm = "ring; ^tree:1k-"),
       *CONFIG(.contract = TUTTI_CONTRACT_SAME, .measure = -1, .compression = "none",
               .algorithm = "fold(ring);^tree:1024-")},
      {*CONFIG(.algorithm = "doubling:-64k"),
       *CONFIG(.contract = TUTTI_CONTRACT_SAME, .measure = -1, .compression = "none",
               .algorithm = "doubling:0-65536")},
      {*CONFIG(.compression = "error=0.1,code=fp8_e4m3"),
       *CONFIG(.contract = TUTTI_CONTRACT_SAME, .measure = -1, .algorithm = "",
               .compression = "error=0.10000000000000001,code=fp8_e4m3")},
      {*CONFIG(.compression = "lossless", .contract = TUTTI_CONTRACT_EXACT),
       *CONFIG(.contract = TUTTI_CONTRACT_EXACT, .measure = -1, .algorithm = "",
               .compression = "lossless")},
      {*CONFIG(.algorithm = "", .compression = ""), *CONFIG(DEFAULTS)},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    tutti_config again = {.size = sizeof again};
    assert_int_equal(tutti_comm_configure(comms[1], &rows[i].set), TUTTI_OK);
    has(&rows[i].has);
    assert_int_equal(tutti_comm_config(comms[1], &again), TUTTI_OK); /* and back */
    assert_int_equal(tutti_comm_configure(comms[1], &again), TUTTI_OK);
    has(&rows[i].has);
  }
}

static void mistakes(void **state) {
  char too_long[49];
  memset(too_long, 'n', 48);
  too_long[48] = 0;
  const struct {
    tutti_config set;
    const char *words;
    tutti_status status;
  } rows[] = {
      {{.size = 8}, "config->size is 8", TUTTI_ERR_ARG},
      {*CONFIG(.contract = (tutti_contract)77), "unknown contract 77", TUTTI_ERR_ARG},
      {*CONFIG(.slices = -1), "config->slices: -1 is not from 0", TUTTI_ERR_ARG},
      {*CONFIG(.helpers = 3), "config->helpers: 3 is not from 0 to 2", TUTTI_ERR_ARG},
      {*CONFIG(.measure = 2), "config->measure", TUTTI_ERR_ARG},
      {*CONFIG(.timeout = -1), "config->timeout: -1", TUTTI_ERR_ARG},
      {*CONFIG(.timeout = NAN), "config->timeout: nan", TUTTI_ERR_ARG},
      {*CONFIG(.connect_timeout = INFINITY), "config->connect_timeout: inf", TUTTI_ERR_ARG},
      {*CONFIG(.name = too_long), "config->name is longer than 47 bytes", TUTTI_ERR_ARG},
      {*CONFIG(.algorithm = "rign"), "config->algorithm|did you mean", TUTTI_ERR_ARG},
      {*CONFIG(.compression = "zip"), "config->compression|lossless", TUTTI_ERR_ARG},
      {*CONFIG(.compression = "error=1", .contract = TUTTI_CONTRACT_EXACT), "exact",
       TUTTI_ERR_UNSUPPORTED},
  };
  const tutti_config *before =
      CONFIG(.contract = TUTTI_CONTRACT_RUN, .slices = 2, .helpers = 1, .timeout = 9,
             .name = "kept", .measure = -1, .algorithm = "fold(ring)", .compression = "lossless");
  (void)state;
  assert_int_equal(tutti_comm_configure(comms[1], before), TUTTI_OK);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    REFUSES(tutti_comm_configure(comms[1], &rows[i].set), rows[i].status, "tutti_comm_configure");
    REFUSES(tutti_comm_configure(comms[1], &rows[i].set), rows[i].status, rows[i].words);
    has(before);
  }
  REFUSES(tutti_comm_configure(NULL, before), TUTTI_ERR_ARG, "comm is NULL");
  REFUSES(tutti_comm_configure(comms[1], NULL), TUTTI_ERR_ARG, "config is NULL");
  REFUSES(tutti_comm_config(comms[1], NULL), TUTTI_ERR_ARG, "config is NULL");
  REFUSES(tutti_comm_config(comms[1], &(tutti_config){.size = 1}), TUTTI_ERR_ARG,
          "config->size is 1");
  REFUSES(tutti_comm_async_error(NULL), TUTTI_ERR_ARG, "comm is NULL");
}

/* A field that is 0 is read from the environment at each call; one that is set is not. */
static void the_environment(void **state) {
  static const char *const names[] = {"TUTTI_ALGO", "TUTTI_CONTRACT", "TUTTI_CODE", "TUTTI_SLICES"};
  static const char *const values[] = {"doubling", "any", "lossless", "5"};
  (void)state;
  for (int i = 0; i < 4; i++) setenv(names[i], values[i], 1);
  assert_int_equal(tutti_comm_configure(comms[1], CONFIG(.timeout = 1)), TUTTI_OK);
  has(CONFIG(.timeout = 1, .contract = TUTTI_CONTRACT_ANY, .slices = 5, .measure = -1,
             .algorithm = "doubling", .compression = "lossless"));
  assert_int_equal(
      tutti_comm_configure(comms[1], CONFIG(.contract = TUTTI_CONTRACT_SAME, .slices = 1,
                                            .algorithm = "", .compression = "none")),
      TUTTI_OK);
  has(CONFIG(DEFAULTS, .slices = 1));
  setenv("TUTTI_ALGO", "rign", 1);
  REFUSES(tutti_comm_configure(comms[1], CONFIG(.timeout = 2)), TUTTI_ERR_ARG, "TUTTI_ALGO|rign");
  for (int i = 0; i < 4; i++) unsetenv(names[i]);
}

/* Only what plans depend on must wait for requests. */
static void in_flight(void **state) {
  tutti_request *r[3];
  (void)state;
  for (int i = 0; i < 3; i++)
    assert_int_equal(tutti_comm_configure(comms[i], CONFIG(.name = "a")), TUTTI_OK);
  assert_int_equal(tutti_barrier_start(comms[1], &r[1]), TUTTI_OK);
  REFUSES(tutti_comm_configure(comms[1], CONFIG(.slices = 2)), TUTTI_ERR_STATE, "in flight");
  REFUSES(tutti_comm_configure(comms[1], CONFIG(.contract = TUTTI_CONTRACT_ANY)), TUTTI_ERR_STATE,
          "in flight");
  assert_int_equal(tutti_comm_configure(comms[1], CONFIG(.timeout = 30, .name = "b")), TUTTI_OK);
  has(CONFIG(DEFAULTS, .timeout = 30, .name = "b"));
  for (int i = 0; i < 3; i += 2) assert_int_equal(tutti_barrier_start(comms[i], &r[i]), TUTTI_OK);
  for (int i = 0; i < 3; i++) assert_int_equal(tutti_request_wait(&r[i]), TUTTI_OK);
}

int main(void) {
#define WITH_RANKS(test) cmocka_unit_test_setup_teardown(test, make, drop)
  const struct CMUnitTest tests[] = {WITH_RANKS(what_is_set), WITH_RANKS(mistakes),
                                     WITH_RANKS(the_environment), WITH_RANKS(in_flight)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
