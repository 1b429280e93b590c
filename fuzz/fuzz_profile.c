/* fuzz_profile.c - reads untrusted profiles (TUTTI_PROFILE, `--network`).
 *
 * Invariant  a profile is rejected with line and column, or writing it back yields the same
 *            parameters, and every estimate computed from them is a number.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "fuzz.h"
#include "profile.h"
#include "tutti_plan.h"

static char *written(const tt_profile *machine) {
  tt_text t = {0};
  tt_profile_print(&t, machine);
  need(t.at && !t.failed);
  return t.at;
}

static void reads_back(const tt_profile *machine) {
  tt_profile again;
  char *text = written(machine);
  tt_profile_net(&again);
  need(tt_profile_parse(&again, text, "the printed text") == TUTTI_OK);
  char *twice = written(&again);
  need(strcmp(text, twice) == 0);
  free(text);
  free(twice);
}

/* Estimates one plan on four ranks, two on each node. */
static void is_priced(const char *text) {
  const tutti_question question = {.size = sizeof question,
                                   .ranks = 4,
                                   .type = TUTTI_FLOAT,
                                   .net = text,
                                   .topo = "node:2 core:2",
                                   .only = "fold(ring)"};
  tutti_prices *prices;
  if (tutti_prices_make(&question, &prices)) return; /* a level has no parameters */
  for (uint64_t bytes = 1; bytes <= 1 << 20; bytes <<= 10) {
    tutti_offer offer = {.size = sizeof offer};
    need(tutti_prices_offer(prices, bytes, 0, 1, &offer) == TUTTI_OK);
    need(!isnan(offer.seconds) && offer.seconds >= 0);
  }
  tutti_prices_free(prices);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = fuzz_text(data, size);
  tt_profile machine;
  tt_profile_net(&machine);
  if (tt_profile_parse(&machine, text, "profile 'x'") == TUTTI_OK) {
    reads_back(&machine);
    is_priced(text);
  } else {
    need(strstr(tutti_error(), "profile 'x', line ") && strstr(tutti_error(), ", column "));
  }
  free(text);
  return 0;
}
