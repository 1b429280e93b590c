/* cover_card.c - cases with vectors in device memory (support/card.h), if TUTTI_TEST_CARD is set.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "card.h"
#include "cover.h"

bool cover_cards(void) {
  return getenv("TUTTI_TEST_CARD") != NULL;
}

/* A device is opened once per process; ranks that are threads share it. */
bool cover_open_card(int rank) {
  char why[200];
  if (!cover_cards() || card_open(rank, why, sizeof why)) return true;
  printf("# no card: %s\n", why);
  return false;
}

tutti_status cover_on_stream(tutti_comm *m, tutti_op op, const cover_case *c, const size_t *counts,
                             const void *src, void *dst, void *stream) {
  tutti_call call = cover_call(op, c, counts, src, dst);
  call.stream = stream;
  return c->coll == TUTTI_BARRIER ? tutti_barrier(m) : tutti_call_on_stream(m, &call);
}
