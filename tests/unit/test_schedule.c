/* Schedules as data: partitions cover every vector exactly, spans and their runs agree, and the text form
 * parses back to the same schedule or gives an error with line and column.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "names.h"
#include "short.h"

static void partitions_cut_whole(void **state) {
  (void)state;
  const size_t elements[] = {1, 2, 4, 8, 16};
  for (uint32_t blocks = 1; blocks <= 70; blocks++)
    for (size_t e = 0; e < 5; e++)
      for (uint64_t total = 0; total < 4000; total = total < 140 ? total + 1 : total * 3 / 2 + 1) {
        const tt_partition p = tt_partition_even(total, elements[e], blocks);
        uint64_t most = 0, least = UINT64_MAX;
        assert_int_equal(tt_partition_at(&p, 0), 0);
        assert_int_equal(tt_partition_at(&p, blocks), total);
        for (uint32_t b = 0; b < blocks; b++) {
          uint64_t lo = tt_partition_at(&p, b), hi = tt_partition_at(&p, b + 1);
          assert_true(lo <= hi);
          if (total / blocks * elements[e] > 1024 && lo < total)
            assert_int_equal(lo * elements[e] % 64, 0);
          most = tt_max(most, hi - lo);
          least = tt_min(least, hi - lo);
        }
        const bool lines = total / blocks * elements[e] > 1024;
        assert_true((most - least) * elements[e] <= (lines ? 2 * 64 : elements[e])); /* evenly */
      }
  const uint64_t table[] = {0, 3, 3, 10};
  tt_partition p = tt_partition_table(table, 3);
  assert_int_equal(tt_partition_at(&p, 2), 3);
  p = tt_partition_fixed(7, 5);
  assert_int_equal(tt_partition_at(&p, 3), 21);
  p = tt_partition_fixed(0, 5);
  assert_int_equal(tt_partition_at(&p, 5), 0);
  const uint64_t huge = ((uint64_t)1 << 40) + 7;
  p = tt_partition_even(huge, 1, 3);
  assert_int_equal(tt_partition_at(&p, 3), huge);
}

static tt_span random_span(uint64_t *random) {
  uint32_t ring = 1 + (uint32_t)((*random = tt_mix(*random + 1)) % 9);
  tt_span s = {TT_DST,
               (uint32_t)(*random >> 8) % 5,
               (uint32_t)(*random >> 16) % ring,
               1 + (uint32_t)(*random >> 24) % ring,
               ring,
               1 + (uint32_t)(*random >> 32) % 3,
               1 + (uint32_t)(*random >> 40) % 3};
  return s;
}

static void runs_and_tidying_keep_the_blocks(void **state) {
  (void)state;
  uint64_t random = 7;
  for (int trial = 0; trial < 20000; trial++) {
    tt_span s = random_span(&random), tidy = s;
    tt_span_tidy(&tidy);
    assert_int_equal(tt_span_size(&s), tt_span_size(&tidy));
    for (uint32_t i = 0; i < tt_span_size(&s); i++)
      assert_int_equal(tt_span_block(&s, i), tt_span_block(&tidy, i));
    for (uint32_t lo = 0, hi = tt_span_size(&s); lo < hi;) {
      uint32_t n = tt_span_run(&s, lo, hi);
      assert_true(n >= 1 && lo + n <= hi);
      for (uint32_t i = 1; i < n; i++)
        assert_int_equal(tt_span_block(&s, lo + i), tt_span_block(&s, lo) + i);
      lo += n;
      assert_true(lo == hi || tt_span_block(&s, lo) != tt_span_block(&s, lo - 1) + 1);
    }
  }
}

static void round_trip(tt_sched **all, int ranks) {
  tt_text text = {0};
  tt_sched **back;
  int n;
  tt_sched_print(&text, (const tt_sched *const *)all, ranks);
  assert_false(text.failed);
  if (tt_sched_parse(text.at, &back, &n)) fail_msg("%s in\n%s", tutti_error(), text.at);
  assert_int_equal(n, ranks);
  for (int r = 0; r < ranks; r++)
    if (!tt_sched_equal(all[r], back[r])) fail_msg("another schedule comes back from\n%s", text.at);
  free(text.at);
  tt_sched_free_all(back, n);
}

static void text_parses_back(void **state) {
  (void)state;
  for (int P = 1; P <= shorter(33, 8); P += P < 9 ? 1 : 8) {
    names list = names_for(P, 12, P);
    for (int a = 0; a < list.n; a++)
      for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++)
        for (int in_place = 0; in_place < 2; in_place++) {
          tt_ask ask = {.coll = (tutti_coll)coll, .ranks = P, .in_place = in_place};
          tt_sched **all;
          if (tt_algo_build_all_named(list.at[a], &ask, &all)) continue;
          round_trip(all, P);
          for (int r = 0; r < P && !tt_coll_owned(ask.coll); r++) {
            tt_sched *sliced = tt_sched_sliced(all[r], 4, 2);
            tt_sched_free(all[r]);
            all[r] = sliced;
          }
          round_trip(all, P);
          tt_sched_free_all(all, P);
        }
    names_free(&list);
  }
}

/* Spans that no current algorithm uses: strides, repeats, several inputs. */
static void the_whole_language_parses_back(void **state) {
  (void)state;
  uint64_t random = 11;
  for (int trial = 0; trial < 2000; trial++) {
    tt_builder b;
    tt_build_begin(&b, "any(x=1)", TUTTI_ALLREDUCE, 7, 3, 0, trial % 2, 128);
    tt_step step = {.kind = TT_REDUCE, .inputs = 1 + (uint32_t)trial % 3, .in_step = 7};
    step.dst = random_span(&random);
    step.own = step.in = step.dst;
    step.in.buf = TT_TMP;
    step.completes = trial % 2;
    tt_build_step(&b, &step);
    tt_send_all(&b, (tt_peers){5, 1 + trial % 6, 3}, random_span(&random));
    tt_send_split(&b, (tt_peers){4, 2, -1}, random_span(&random));
    tt_recv_reduce(&b, 6, step.dst, step.dst, trial % 2 ? TT_OWN_FIRST : TT_OWN_LAST);
    tt_recv_reduce_all(&b, (tt_peers){0, 7, 1}, step.dst, step.dst, TT_OWN_AMONG);
    tt_sched *one = tt_build_end(&b);
    assert_non_null(one);
    tt_text text = {0};
    tt_sched **back;
    int n;
    tt_sched_print(&text, (const tt_sched *const *)&one, 1);
    if (tt_sched_parse(text.at, &back, &n)) fail_msg("%s in\n%s", tutti_error(), text.at);
    if (!tt_sched_equal(one, back[3])) fail_msg("another schedule comes back from\n%s", text.at);
    free(text.at);
    tt_sched_free_all(back, n);
    tt_sched_free(one);
  }
}

static const struct {
  const char *text, *complaint;
} nonsense[] = {
    {"", "line 1, column 1: expected 'tutti-schedule 1'"},
    {"tutti-schedule 2 allreduce x P=2\n", "expected 'tutti-schedule 1', found '2'"},
    {"tutti-schedule 1 everything x P=2\n", "line 1, column 18: expected a collective"},
    {"tutti-schedule 1 allreduce x P=0\n", "expected at least one rank"},
    {"tutti-schedule 1 allreduce x P=2 blocks=0\n", "expected at least one block"},
    {"tutti-schedule 1 allgather x P=2 blocks=3\n", "expected blocks=P"},
    {"tutti-schedule 1 alltoall x P=2 blocks=1\n", "expected blocks=P"},
    {"tutti-schedule 1 scanx x P=2\n", "expected a collective"},
    {"tutti-schedule 1 allreduce x P=2 data=3\n", "a number of ranks"},
    {"tutti-schedule 1 reduce x P=2 root=1 data=1\n", "data on at least one rank, and on the root"},
    {"tutti-schedule 1 allreduce x P=99999999999\n", "of at most 65536"},
    {"tutti-schedule 1 allreduce x P=2\nrank 2\n", "line 2, column 6"},
    {"tutti-schedule 1 allreduce x P=2\nrank 0\nrank 0\n", "each rank once"},
    {"tutti-schedule 1 allreduce x P=2\nrank 0\n 0 fly ->1 src[0]\n",
     "line 3, column 4: expected send"},
    {"tutti-schedule 1 allreduce x P=2\nrank 0\n 1 send ->1 src[0]\n", "expected step number 0"},
    {"tutti-schedule 1 allreduce x P=2\nrank 0\n 0 send <-1 src[0]\n", "expected '->' and a rank"},
    {"tutti-schedule 1 allreduce x P=2\nrank 0\n 0 send ->1 src[2]\n", "a span inside its buffer"},
    {"tutti-schedule 1 allreduce x P=2\nrank 0\n 0 send ->1 src[0] after 0\n", "after"},
    {"tutti-schedule 1 allreduce x P=2\nrank 0\n 0 send ->1 src[0\n", "expected ']'"},
    {"tutti-schedule 1 allreduce x P=2\nrank 0\n 0 recv_reduce <-1 dst[0] = src[0]\n",
     "expected 'op in'"},
    {"tutti-schedule 1 allreduce x P=2\nrank 0\n 0 reduce dst[0] = src[0]\n", "another operand"},
    {"tutti-schedule 1 allreduce x P=2\n# nothing else\n", "expected 'rank 0'"},
    {"tutti-schedule 1 allreduce x P=2\nrank 0\n 0 send ->1 tmp[99999999]\n", "of at most"},
    {"tutti-schedule 1 allreduce x P=4\nrank 0\n 0 send ->0..3:2 src[0]\n", "stride reaches"},
};

static void nonsense_gets_line_and_column(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
    tt_sched **all;
    int n;
    assert_int_equal(tt_sched_parse(nonsense[i].text, &all, &n), TUTTI_ERR_SCHEDULE);
    if (!strstr(tutti_error(), nonsense[i].complaint) || !strstr(tutti_error(), "line "))
      fail_msg("case %zu: '%s' does not say '%s'", i, tutti_error(), nonsense[i].complaint);
  }
}

static void wrong_names_get_suggestions(void **state) {
  (void)state;
  const struct {
    const char *name, *says;
    tutti_status status;
  } wrong[] = {
      {"rign", "no algorithm", TUTTI_ERR_ARG},
      {"two_shot", "did you mean 'two-shot'", TUTTI_ERR_ARG},
      {"fold(rings)", "none of: ring halving", TUTTI_ERR_ARG},
      {"fold(ring", "parentheses", TUTTI_ERR_ARG},
      {"fold(seq=4.1)", "at least half", TUTTI_ERR_UNSUPPORTED},
      {"fold(seq=8.4.2.1)", "fall from P to 1", TUTTI_ERR_UNSUPPORTED},
      {"fold(stride=2)", "no common factor", TUTTI_ERR_UNSUPPORTED},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = 4};
    tt_sched *s;
    assert_int_equal(tt_algo_build_named(wrong[i].name, &ask, &s), wrong[i].status);
    if (!strstr(tutti_error(), wrong[i].says))
      fail_msg("'%s' does not say '%s'", tutti_error(), wrong[i].says);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(partitions_cut_whole),
      cmocka_unit_test(runs_and_tidying_keep_the_blocks),
      cmocka_unit_test(text_parses_back),
      cmocka_unit_test(the_whole_language_parses_back),
      cmocka_unit_test(nonsense_gets_line_and_column),
      cmocka_unit_test(wrong_names_get_suggestions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
