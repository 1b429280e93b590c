/* Queries about plans in C: predicted times, explanations, contracts. Invalid queries get an error message;
 * valid answers agree with each other and with the plan that runs.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "../../cli/configure.h"
#include "tutti.h"
#include "tutti_plan.h"

static const tutti_question good = {.size = sizeof good, .ranks = 7, .type = TUTTI_FLOAT};

static void refused(const tutti_question *q, tutti_status status, const char *says) {
  tutti_prices *p;
  const tutti_status got = tutti_prices_make(q, &p);
  if (got != status || !strstr(tutti_error(), says))
    fail_msg("expected %s with '%s', got %s: %s", tutti_strerror(status), says, tutti_strerror(got),
             tutti_error());
}

static void wrong_questions(void **state) {
  tutti_question q;
  tutti_prices *p;
  (void)state;
#define WRONG(member, value, status, says) (q = good, q.member = (value), refused(&q, status, says))
  refused(NULL, TUTTI_ERR_ARG, "question is NULL");
  assert_int_equal(tutti_prices_make(&good, NULL), TUTTI_ERR_ARG);
  WRONG(size, 8, TUTTI_ERR_ARG, "question->size is 8");
  WRONG(coll, (tutti_coll)99, TUTTI_ERR_ARG, "no such collective");
  WRONG(ranks, 0, TUTTI_ERR_ARG, "0 ranks");
  WRONG(ranks, 1 << 21, TUTTI_ERR_ARG, "1048576");
  WRONG(root, 7, TUTTI_ERR_ARG, "root 7 is not in 0..6");
  WRONG(type, (tutti_type)99, TUTTI_ERR_TYPE, "type 99");
  WRONG(op, TUTTI_BAND, TUTTI_ERR_OP, "has no op band");
  WRONG(crowd, -2, TUTTI_ERR_ARG, "ranks per core");
  WRONG(crowd, NAN, TUTTI_ERR_ARG, "ranks per core");
  WRONG(net, "alpha=1u", TUTTI_ERR_ARG, "line 1, column 7");
  WRONG(net, "node.alpha=1us", TUTTI_ERR_ARG, "no such level");
  WRONG(topo, "node:3", TUTTI_ERR_ARG, "holds 3 ranks, not 7");
  WRONG(topo, "node", TUTTI_ERR_ARG, "character 1");
  WRONG(algorithm, "rign", TUTTI_ERR_ARG, "did you mean");
  WRONG(algorithm, "naive:2-1", TUTTI_ERR_ARG, "sizes such as");
  WRONG(only, "rign", TUTTI_ERR_ARG, "did you mean");
  WRONG(only, "fold(group=2x2)", TUTTI_ERR_ARG, "whose product is P");
  q = good;
  q.crowd = 2;
  q.topo = "node:7";
  refused(&q, TUTTI_ERR_ARG, "no level of 'node:7' is within a machine");
  q.crowd = TUTTI_CROWD_HERE;
  refused(&q, TUTTI_ERR_ARG, "another placement than the one here");
  assert_int_equal(tutti_prices_make(&good, &p), TUTTI_OK);
  tutti_offer o = {.size = 3};
  char *text;
  assert_int_equal(tutti_prices_offer(p, 8, 0, 0, &o), TUTTI_ERR_ARG);
  assert_int_equal(tutti_prices_chosen(p, 8, NULL), TUTTI_ERR_ARG);
  o.size = sizeof o;
  assert_int_equal(tutti_prices_offer(p, 8, -1, 0, &o), TUTTI_ERR_ARG);
  assert_int_equal(tutti_prices_offer(p, 8, 100000, 0, &o), TUTTI_ERR_ARG);
  assert_int_equal(tutti_prices_offer(NULL, 8, 0, 0, &o), TUTTI_ERR_ARG);
  assert_int_equal(tutti_prices_explain(NULL, 8, 0, &text), TUTTI_ERR_ARG);
  assert_int_equal(tutti_prices_explain(p, 8, 0, NULL), TUTTI_ERR_ARG);
  assert_int_equal(tutti_profile_text(NULL), TUTTI_ERR_ARG);
  tutti_prices_free(p);
  tutti_prices_free(NULL);
}

/* The parts add up to the total, the chosen plan is the cheapest admissible one, and every refusal has a
 * reason. */
static void offers_agree(void **state) {
  static const char *const topos[] = {"", "node:3 core:4", "node:(5,7)"};
  (void)state;
  for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++)
    for (int k = 0; k < 4; k++) {
      tutti_question q = good;
      tutti_prices *p;
      q.coll = (tutti_coll)coll;
      q.ranks = 12;
      q.topo = k < 3 ? topos[k] : NULL;
      q.crowd = k < 3 ? 0 : 3;
      assert_int_equal(tutti_prices_make(&q, &p), TUTTI_OK);
      for (uint64_t bytes = 16; bytes < 1 << 28; bytes *= 256) {
        tutti_offer best = {.size = sizeof best}, o = {.size = sizeof o};
        assert_int_equal(tutti_prices_chosen(p, bytes, &best), TUTTI_OK);
        for (int i = 0; !tutti_prices_offer(p, bytes, i, 1, &o); i++) {
          assert_true(o.admissible ? o.possible && !*o.why : *o.why);
          if (!o.possible) continue;
          const double parts = o.latency + o.transfer + o.arithmetic + o.processor + o.copying;
          assert_true(fabs(parts - o.seconds) <= 1e-9 * o.seconds);
          assert_true(!o.admissible || o.seconds >= best.seconds * (1 - 0.15));
          assert_true(o.messages > 0 && *o.bound);
        }
      }
      char *text;
      for (int json = 0; json < 2; json++) {
        assert_int_equal(tutti_prices_explain(p, 4096, json, &text), TUTTI_OK);
        assert_non_null(strstr(text, tutti_coll_name(q.coll)));
        tutti_text_free(text);
      }
      tutti_prices_free(p);
    }
}

static void what_a_communicator_says(void **state) {
  tutti_comm *comms[3];
  char plan[200], *text;
  (void)state;
  assert_int_equal(tutti_comm_from_threads(3, comms), TUTTI_OK);
  for (size_t count = 1; count < 1 << 22; count *= 64) {
    assert_int_equal(tutti_comm_plan(comms[0], TUTTI_ALLREDUCE, count, TUTTI_FLOAT, TUTTI_SUM, plan,
                                     sizeof plan),
                     TUTTI_OK);
    assert_int_equal(
        tutti_comm_explain(comms[0], TUTTI_ALLREDUCE, count, TUTTI_FLOAT, TUTTI_SUM, 0, &text),
        TUTTI_OK);
    char *line = strstr(text, "ranks: ") + strlen("ranks: ");
    line[strcspn(line, "\n")] = 0;
    if (strncmp(plan, line, strlen(line)) != 0) fail_msg("%s runs, %s is explained", plan, line);
    tutti_text_free(text);
  }
  assert_int_equal(
      tutti_comm_explain(comms[0], (tutti_coll)77, 1, TUTTI_FLOAT, TUTTI_SUM, 0, &text),
      TUTTI_ERR_ARG);
  assert_int_equal(
      tutti_comm_explain(comms[0], TUTTI_ALLREDUCE, 1, TUTTI_FLOAT, TUTTI_BOR, 0, &text),
      TUTTI_ERR_OP);
  assert_int_equal(
      tutti_comm_explain(comms[0], TUTTI_ALLREDUCE, 1, TUTTI_FLOAT, TUTTI_SUM, 0, NULL),
      TUTTI_ERR_ARG);
  assert_int_equal(tutti_comm_explain(NULL, TUTTI_ALLREDUCE, 1, TUTTI_FLOAT, TUTTI_SUM, 0, &text),
                   TUTTI_ERR_ARG);
  for (int i = 0; i < 3; i++) tutti_comm_free(comms[i]);
}

/* A plan that groups differently on some ranks runs for floats only if the contract allows it. */
static void the_contract_admits(void **state) {
  tutti_comm *comms[7];
  char plan[200];
  (void)state;
  assert_int_equal(tutti_comm_from_threads(7, comms), TUTTI_OK);
  tutti_comm *c = comms[0];
  assert_int_equal(comm_set_contract(NULL, TUTTI_CONTRACT_ANY), TUTTI_ERR_ARG);
  assert_int_equal(comm_set_contract(c, (tutti_contract)6), TUTTI_ERR_ARG);
  assert_non_null(strstr(tutti_error(), "unknown contract 6"));
  assert_int_equal(comm_set_algorithm(c, "generalized(r=1)"), TUTTI_OK);
  for (int any = 0; any < 2; any++) {
    assert_int_equal(comm_set_contract(c, any ? TUTTI_CONTRACT_ANY : TUTTI_CONTRACT_SAME),
                     TUTTI_OK);
    assert_int_equal(
        tutti_comm_plan(c, TUTTI_ALLREDUCE, 99, TUTTI_FLOAT, TUTTI_SUM, plan, sizeof plan),
        TUTTI_OK);
    assert_int_equal(strcmp(plan, "generalized(r=1)") == 0, any);
    assert_int_equal(
        tutti_comm_plan(c, TUTTI_ALLREDUCE, 99, TUTTI_INT32, TUTTI_SUM, plan, sizeof plan),
        TUTTI_OK);
    assert_string_equal(plan, "generalized(r=1)");
  }
  for (int i = 0; i < 7; i++) tutti_comm_free(comms[i]);
}

/* Every rank needs the others' data and must send its own: with any plan, (h - 1) / h of the vector must enter
 * and leave the links of h nodes twice. */
static void no_plan_is_cheaper_than_the_links(void **state) {
  (void)state;
  static const struct {
    const char *topo;
    int ranks, nodes;
  } shapes[] = {
      {"node:3 core:2", 6, 3}, {"node:4 core:3", 12, 4}, {"node:2 core:4", 8, 2}, {"node:5", 5, 5}};
  const uint64_t bytes = 4 << 20;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const tutti_question q = {.size = sizeof q,
                              .ranks = shapes[i].ranks,
                              .type = TUTTI_INT32,
                              .net = shapes[i].nodes == shapes[i].ranks
                                         ? "alpha=0,beta=4e-8,gamma=0"
                                         : "alpha=0,beta=4e-8,gamma=0,processor=6us,core.processor="
                                           "0,core.alpha=0.5us,core.beta=6e-11",
                              .topo = shapes[i].topo};
    const double nodes = shapes[i].nodes, least = 2 * (nodes - 1) / nodes * (double)bytes * 4e-8;
    tutti_prices *p;
    tutti_offer o = {.size = sizeof o};
    assert_int_equal(tutti_prices_make(&q, &p), TUTTI_OK);
    for (int k = 0; !tutti_prices_offer(p, bytes, k, 0, &o); k++)
      if (o.possible && o.seconds < least * (1 - 1e-9))
        fail_msg("%s on %s: %g s, less than %g s", o.name, q.topo, o.seconds, least);
    tutti_prices_free(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_questions),
      cmocka_unit_test(offers_agree),
      cmocka_unit_test(what_a_communicator_says),
      cmocka_unit_test(the_contract_admits),
      cmocka_unit_test(no_plan_is_cheaper_than_the_links),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
