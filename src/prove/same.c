/* same.c - do two plans form every result in the same way, and so with the same bits?
 *
 * Idea       Run both symbolically on one table of values, and compare what each rank holds at the end, operand by operand.
 *            One plan may cut the vector in blocks that the other leaves whole: an element's inputs are the
 *            same, so which block an input is of does not matter here.
 * Invariant  Both are proven: a result contains each rank's input once.
 * Cost       As two proofs; then P operands for each rank and block.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "prove.h"

typedef struct ran { /* symbolically */
  tt_graph g;
  tt_memory m;
  tutti_report report;
  bool right;
} ran;

static void run(ran *x, tt_values *v, tt_sched *const *all, int ranks) {
  char *witness = x->report.witness;
  x->right = tt_graph_build(&x->g, all, ranks, witness, sizeof x->report.witness) &&
             tt_symbolic_run(&x->g, v, &x->m, NULL, &x->report);
}

static bool results_alike(const tt_values *v, const ran *a, const ran *b, int rank) {
  const tt_sched *x = a->g.all[rank], *y = b->g.all[rank];
  const tt_value *in_x = a->m.at[(uint32_t)rank * TT_BUF_COUNT + TT_DST],
                 *in_y = b->m.at[(uint32_t)rank * TT_BUF_COUNT + TT_DST];
  const uint32_t n = tt_max(x->blocks, y->blocks);
  for (uint32_t i = 0; i < n; i++)
    if (!tt_values_alike(v, in_x[x->blocks == 1 ? 0 : i], in_y[y->blocks == 1 ? 0 : i]))
      return false;
  return true;
}

tutti_status tt_same_results(tt_sched *const *a, tt_sched *const *b, int ranks, bool *same) {
  ran x = {0}, y = {0};
  const uint32_t m = a[0]->blocks, n = b[0]->blocks;
  *same = a[0]->coll == TUTTI_ALLREDUCE && b[0]->coll == TUTTI_ALLREDUCE &&
          (m == n || m == 1 || n == 1);
  if (!*same) return TUTTI_OK;
  tt_values *v = tt_values_new();
  if (v) run(&x, v, a, ranks);
  if (v) run(&y, v, b, ranks);
  const bool failed = !v || tt_values_failed(v) || x.g.failed || y.g.failed;
  *same = !failed && x.right && y.right;
  for (int r = 0; r < ranks && *same; r++) *same = results_alike(v, &x, &y, r);
  tt_graph_free(&x.g);
  tt_graph_free(&y.g);
  tt_memory_free(&x.m);
  tt_memory_free(&y.m);
  tt_values_free(v);
  return failed ? tt_fail(TUTTI_ERR_MEMORY, "out of memory while comparing %s and %s", a[0]->name,
                          b[0]->name)
                : TUTTI_OK;
}
