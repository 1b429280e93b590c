/* Model parameters of a machine: the text is read back unchanged, errors give their position, and each
 * parameter applies where it should.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"

static void figures_read_back(void **state) {
  tt_profile m, again;
  tt_text t = {0}, twice = {0};
  (void)state;
  tt_profile_shm(&m);
  assert_int_equal(
      tt_profile_parse(&m,
                       "node.alpha=1.5us, node.beta = 10Gbit/s\n# x\n gamma=3e-11 "
                       "# y\nports=2,half=1,apart=1,rack.beta=1GiB/s,rack.ports=4,burst=128KiB\n"
                       "shm.crowd.copy=1e-10,gamma.bf16 = 4e-11\n"
                       " machine = 2 x A Processor (R)  # here\nnetwork = A Net 1.2 , alpha=7us",
                       "test"),
      TUTTI_OK);
  assert_true(m.level[0].is.alpha == 1.5e-6 && m.level[0].is.beta == 8 / 10e9 && m.net.ports == 2);
  assert_true(m.level[1].is.beta == 1 / 1073741824.0 && m.level[1].is.alpha < 0);
  assert_true(m.oversubscribed.copy == 1e-10 && m.oversubscribed.o_next < 0 && m.shm.copy != 1e-10);
  assert_true(m.gamma_of[TUTTI_BFLOAT16] == 4e-11 && m.gamma_of[TUTTI_FLOAT] == 0);
  assert_string_equal(m.of, "2 x A Processor (R)");
  assert_string_equal(m.over, "A Net 1.2");
  int column;
  assert_true(tt_profile_said("a=1\n# machine\n  machine = x", &column) == 3 && column == 3);
  assert_true(tt_profile_said("a=1\nmachines = x", &column) == 0);
  assert_true(m.net.burst == 131072 && m.level[0].is.burst < 0);
  tt_profile_print(&t, &m);
  tt_profile_net(&again);
  again.levels = 0;
  assert_int_equal(tt_profile_parse(&again, t.at, "test"), TUTTI_OK);
  tt_profile_print(&twice, &again);
  assert_string_equal(t.at, twice.at);
  assert_true(again.level[1].is.ports == 4 && again.level[0].is.ports < 0);
  free(t.at), free(twice.at);
  tt_profile_shm(&again); /* all network parameters are reset, the others stay */
  tt_profile_forget_net(&m);
  assert_true(m.levels == 0 && m.net.ports == 1 && !m.half && !*m.over && m.net.burst == 0);
  assert_true(m.net.alpha == again.net.alpha && m.level[1].is.beta == again.level[1].is.beta);
  assert_true(m.gamma == 3e-11 && m.gamma_of[TUTTI_BFLOAT16] == 4e-11 &&
              m.oversubscribed.copy == 1e-10);
  assert_string_equal(m.of, "2 x A Processor (R)");
}

/* Each further message of a step costs what the level's or the network's parameter says; by default, as much as
 * the first. */
static void further_messages_cost_what_is_said(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double o, o_next;
  } cases[] = {{"processor=2us", 2e-6, 2e-6},
               {"processor=2us,again=1us", 2e-6, 1e-6},
               {"processor=2us,again=1us,node.alpha=1us", 2e-6, 1e-6},
               {"processor=2us,again=1us,node.processor=3us", 3e-6, 3e-6},
               {"processor=2us,again=1us,node.again=0", 2e-6, 0},
               {"again=1us", 0, 1e-6}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tt_profile m;
    tt_cost_model p;
    tt_tree tree = {.levels = 1, .ranks = 3, .even = true};
    snprintf(tree.level[0].name, sizeof tree.level[0].name, "node");
    tree.level[0].each = tree.level[0].most = 3;
    tt_profile_net(&m);
    assert_int_equal(tt_profile_parse(&m, cases[i].text, "test"), TUTTI_OK);
    tt_cost_net(&m, 3, &tree, &p);
    if (p.link[0].o != cases[i].o || p.link[0].o_next != cases[i].o_next)
      fail_msg("%s: %g and %g s", cases[i].text, p.link[0].o, p.link[0].o_next);
  }
}

/* Parameters for shared cores apply only where ranks share cores. */
static void shared_cores_have_figures_of_their_own(void **state) {
  (void)state;
  for (int loop = 0; loop < 2; loop++)
    for (int said = 0; said < 2; said++) {
      tt_profile m;
      tt_cost_model alone, shared;
      tt_profile_shm(&m);
      const char *text =
          "shm.turn=3us,shm.crowd.message=5e-6,shm.crowd.again=6e-6,shm.crowd.copy=7e-9,"
          "shm.crowd.loop.message=8e-6,shm.crowd.loop.again=9e-6,shm.crowd.loop.copy=1e-8";
      if (said) assert_int_equal(tt_profile_parse(&m, text, "test"), TUTTI_OK);
      tt_cost_shm(&m, 8, NULL, 1, loop, &alone);
      tt_cost_shm(&m, 8, NULL, 4, loop, &shared);
      assert_true(alone.shm.o == (loop ? m.shm.loop_message : m.shm.message));
      assert_true(alone.link[0].L == m.shm.wait && shared.link[0].L == 3 * m.oversubscribed.wait);
      assert_true(shared.shm.piece == 0 && (loop ? 0 : m.shm.piece) == alone.shm.piece);
      if (!said) {
        assert_true(shared.shm.o == alone.shm.o && shared.shm.o_next == alone.shm.o_next &&
                    shared.shm.copy == alone.shm.copy);
        continue;
      }
      assert_true(shared.shm.o == (loop ? 8e-6 : 5e-6) &&
                  shared.shm.o_next == (loop ? 9e-6 : 6e-6));
      assert_true(shared.shm.copy == (loop ? 1e-8 : 7e-9));
    }
}

/* Copies beyond the cache have their own parameter, if it is set. Ranks that share a core also share its cache. */
static void copies_have_another_figure_beyond_the_cache(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double alone[2], shared[2]; /* the parameter, step by step and in a loop; 0: unchanged */
  } cases[] = {
      {"shm.copy=1e-10", {0, 0}, {0, 0}},
      {"shm.far=4e-10,shm.loop.far=3e-10", {4e-10, 3e-10}, {4e-10, 3e-10}},
      {"shm.far=4e-10,shm.crowd.copy=2e-10,shm.crowd.loop.copy=1e-10", {4e-10, 0}, {0, 0}},
      {"shm.far=4e-10,shm.crowd.copy=2e-10,shm.crowd.far=6e-10,shm.crowd.loop.far=7e-10",
       {4e-10, 0},
       {6e-10, 7e-10}},
  };
  for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
    const int loop = i % 2;
    tt_profile m;
    tt_cost_model p[2];
    tt_profile_shm(&m);
    assert_int_equal(tt_profile_parse(&m, cases[i / 2].text, "test"), TUTTI_OK);
    assert_int_equal(tt_profile_parse(&m, "shm.cache=512KiB", "test"), TUTTI_OK);
    for (int crowd = 0; crowd < 2; crowd++) {
      tt_cost_shm(&m, 8, NULL, crowd ? 4 : 1, loop, &p[crowd]);
      const double far = crowd ? cases[i / 2].shared[loop] : cases[i / 2].alone[loop];
      assert_true(p[crowd].shm.cache == (far > 0 ? crowd ? 131072 : 524288 : 0));
      if (far > 0) assert_true(fabs(p[crowd].shm.far_ratio * p[crowd].shm.copy - far) < 1e-6 * far);
    }
  }
}

static void wrong_figures_say_where(void **state) {
  static const struct {
    const char *text, *says;
  } cases[] = {
      {"alpha", "line 1, column 6: expected ="},
      {"alpha=", "column 7: expected a time"},
      {"beta=10Gb", "column 6: expected seconds per byte"},
      {"gamma=1e-9\n\nalpha = 5 m", "line 3, column 9: expected a time"},
      {"alhpa=1us", "column 1: expected a parameter"},
      {"node.gamma=1", "column 1: expected a parameter"},
      {"ports=0", "from 1 to 16"},
      {"node.ports=17", "column 12: expected a number from 1 to 16"},
      {"half=2", "0 or 1"},
      {"alpha=-1us", "a time"},
      {"alpha=nan", "a time"},
      {"alpha=inf", "a time"},
      {"shm.x=1", "expected a parameter"},
      {"shm.crowd.piece=1", "expected a parameter"},
      {"gamma.quad=1e-11", "column 1: expected a parameter"},
      {"gamma.=1e-11", "expected a parameter"},
      {"gamma.bf16=x", "column 12: expected seconds per byte"},
      {"machine = ", "column 11: expected the name of a machine"},
      {"machine = a\x01", "expected the name of a machine"},
      {"network = , alpha=1us", "column 11: expected the name of a network"},
      {"machine = "
       "0123456789012345678901234567890123456789012345678901234567890123456789012345678901",
       "expected the name of a machine"},
      {".alpha=1", "expected a parameter"},
      {"=1", "expected a parameter"},
      {"a.alpha=1,b.alpha=1,c.alpha=1,d.alpha=1,e.alpha=1,f.alpha=1,g.alpha=1,h.alpha=1,i.alpha=1",
       "column 81"},
      {"averyverylongnameindeed.alpha=1us", "expected a parameter"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tt_profile m, same;
    tt_profile_net(&m);
    same = m;
    assert_int_equal(tt_profile_parse(&m, cases[i].text, "test"), TUTTI_ERR_ARG);
    if (!strstr(tutti_error(), cases[i].says)) fail_msg("%s: %s", cases[i].text, tutti_error());
    assert_memory_equal(&m, &same, sizeof m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(figures_read_back),
      cmocka_unit_test(further_messages_cost_what_is_said),
      cmocka_unit_test(shared_cores_have_figures_of_their_own),
      cmocka_unit_test(copies_have_another_figure_beyond_the_cache),
      cmocka_unit_test(wrong_figures_say_where),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
