/* chooser_of.h - creates the chooser of a machine from its levels and model parameters, given as
 * text; for tests of cost estimates.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHOOSER_OF_H
#define CHOOSER_OF_H

#include <stdio.h>

#include "candidates.h"
#include "engine.h"

/* Include cmocka.h before this file. */
static inline tt_chooser *chooser_of(const char *levels, const char *said) {
  tt_tree tree;
  tt_chooser *c;
  assert_int_equal(tt_tree_parse(levels, &tree), TUTTI_OK);
  tt_setting s = {.ranks = tree.ranks, .flight = TT_FLIGHT};
  snprintf(s.levels, sizeof s.levels, "%s", levels);
  tt_profile_net(&s.profile);
  if (tt_profile_parse(&s.profile, said, "the figures")) fail_msg("%s", tutti_error());
  if (tt_chooser_new(&s, &c)) fail_msg("%s: %s", levels, tutti_error());
  return c;
}

#endif
