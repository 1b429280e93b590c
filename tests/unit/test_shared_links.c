/* A rank with several ports sends several messages simultaneously. Those that leave its node through the node's
 * single link share it: they take as long as one message with all their bytes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "choose.h"
#include "priced.h"

static const double alpha = 1e-6, wide = 1e-11, narrow = 1e-9, bytes = 6e6;

/* The links of nodes are narrow. Each port of a rank is a separate wide link. */
static tt_cost_model nodes_of(const char *text, int ports) {
  tt_cost_model p;
  tt_tree tree;
  assert_int_equal(tt_tree_parse(text, &tree), TUTTI_OK);
  tt_cost_flat(&p, tree.ranks);
  p.tree = tree;
  p.levels = tree.levels;
  for (int l = 0; l < p.levels; l++)
    p.link[l] = (tt_link){.alpha = alpha, .beta = l ? wide : narrow, .ports = ports};
  return p;
}

/* Five messages of a sixth of the vector leave every node, and five arrive, in both rounds. */
static void messages_of_a_step_share_the_link(void **state) {
  const tt_cost_model one = nodes_of("node:6 core:1", 1), two = nodes_of("node:6 core:1", 2);
  const tt_cost_model five = nodes_of("node:6 core:1", 5), more = nodes_of("node:6 core:1", 16);
  const double all = 5 * bytes / 6 * narrow;
  (void)state;
  about("one port", priced("two-shot", &one, bytes, false), 2 * (5 * alpha + all));
  about("two ports", priced("two-shot", &two, bytes, false), 2 * (3 * alpha + all));
  about("five ports", priced("two-shot", &five, bytes, false), 2 * (alpha + all));
  about("16 ports", priced("two-shot", &more, bytes, false), 2 * (alpha + all));
}

/* Two rings in opposite directions; every rank of a node sends in both. */
static void one_rank_for_all_shares_it_too(void **state) {
  const tt_cost_model p = nodes_of("node:6 core:1", 2);
  (void)state;
  for (int uniform = 0; uniform < 2; uniform++)
    about("fold(ring,rings=2)", priced("fold(ring,rings=2)", &p, bytes, uniform),
          10 * (alpha + bytes / 6 * narrow));
}

/* The root's five children send whole vectors into its node simultaneously, and receive the result the same
 * way. */
static void links_in_and_out_are_busy_in_turn(void **state) {
  const tt_cost_model p = nodes_of("node:6 core:1", 5);
  (void)state;
  about("tree(radix=6)", priced("tree(radix=6)", &p, bytes, false),
        2 * (alpha + 5 * bytes * narrow));
}

/* Within a node each port is a separate link. */
static void ports_of_a_node_alone_are_links(void **state) {
  const tt_cost_model p = nodes_of("node:1 core:6", 5);
  (void)state;
  about("five ports", priced("two-shot", &p, bytes, false), 2 * (alpha + bytes / 6 * wide));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(messages_of_a_step_share_the_link),
      cmocka_unit_test(one_rank_for_all_shares_it_too),
      cmocka_unit_test(links_in_and_out_are_busy_in_turn),
      cmocka_unit_test(ports_of_a_node_alone_are_links),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
