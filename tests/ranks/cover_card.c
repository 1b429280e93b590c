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
  if (counts)
    return c->coll == TUTTI_ALL_GATHER
               ? tutti_all_gather_v_on(m, src, dst, counts, c->type, stream)
               : tutti_reduce_scatter_v_on(m, src, dst, counts, c->type, op, stream);
  switch (c->coll) {
    case TUTTI_ALLREDUCE: return tutti_allreduce_on(m, src, dst, c->count, c->type, op, stream);
    case TUTTI_REDUCE_SCATTER:
      return tutti_reduce_scatter_on(m, src, dst, c->count, c->type, op, stream);
    case TUTTI_ALL_GATHER: return tutti_all_gather_on(m, src, dst, c->count, c->type, stream);
    case TUTTI_BROADCAST:
      return tutti_broadcast_on(m, src, dst, c->count, c->type, c->root, stream);
    case TUTTI_REDUCE: return tutti_reduce_on(m, src, dst, c->count, c->type, op, c->root, stream);
    case TUTTI_SCAN: return tutti_scan_on(m, src, dst, c->count, c->type, op, stream);
    case TUTTI_EXSCAN: return tutti_exscan_on(m, src, dst, c->count, c->type, op, stream);
    case TUTTI_GATHER: return tutti_gather_on(m, src, dst, c->count, c->type, c->root, stream);
    case TUTTI_SCATTER: return tutti_scatter_on(m, src, dst, c->count, c->type, c->root, stream);
    case TUTTI_ALL_TO_ALL: return tutti_all_to_all_on(m, src, dst, c->count, c->type, stream);
    default: return tutti_barrier(m);
  }
}
