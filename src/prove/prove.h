/* prove.h - checks that a set of schedules is correct, and derives its properties.
 *
 * Idea       check every step by itself (operands.c) and match the messages (graph.c).
 *            Run all ranks symbolically in one order, without any buffering
 *            (symbolic.c), on values that are hash-consed n-ary expressions (value.c).
 *            Show that every other order gives the same, because conflicting accesses
 *            are ordered (conflict.c). Check the results leaf by leaf (prove.c), and
 *            that a rank leaves a barrier only after every rank has entered it (barrier.c).
 * Invariant  it never sees an algorithm, nor the builder's order: it derives everything
 *            from the steps.
 * Source     SEMANTICS.md, which defines the meaning of a schedule.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PROVE_H
#define TT_PROVE_H

#include "schedule.h"

/* Proves `all`, the schedules of one collective on `ranks` ranks. TUTTI_OK: report->proven is set,
 * or report->witness says why not. TUTTI_ERR_MEMORY. */
tutti_status tt_prove(tt_sched *const *all, int ranks, tutti_report *report);

/* For correct schedules: is every block's sum completed on one rank only, so that all ranks hold
 * the same bits? False: only tt_prove can tell. Fast at any size. */
bool tt_summed_once(tt_sched *const *all, int ranks);

/* For correct schedules: is every sum formed in one step that adds all ranks' inputs, so that with rank_order its bits are the
 * same by each such schedule? Of a prefix: does each rank add its own input to the sum below it, once? */
bool tt_sums_at_once(tt_sched *const *all, int ranks);

/* ---- for the prover itself, and for pictures (draw/) ---- */

/* value.c: 0 means that nothing was written. */
typedef uint32_t tt_value;
typedef struct tt_values tt_values;
tt_values *tt_values_new(void);
void tt_values_free(tt_values *v);
tt_value tt_value_input(tt_values *v, int rank, uint32_t block);
/* in[0] op in[1] op ...; completes: it is the complete sum (avg divides here). */
tt_value tt_value_sum(tt_values *v, const tt_value *in, uint32_t n, bool completes);
bool tt_values_failed(const tt_values *v);
uint32_t tt_values_count(const tt_values *v); /* every value is less */
/* NULL if `value` contains the wanted inputs once each, and, if it must be marked and there are
 * several inputs, is marked as complete only at its root. Otherwise the mistake (in `text`). Clears
 * *ordered if the inputs are not in rank order. If memory runs out, the text says that, and
 * tt_values_failed is true. */
const char *tt_value_wrong(tt_values *v, tt_value value, const tt_wanted *wanted, bool marked,
                           bool *ordered, char *text, size_t size);
/* Sets seen[r] for every rank r whose input `value` contains, up to the first that was set before; returns
 * how many. Out of memory: fewer, and tt_values_failed says so. */
uint32_t tt_value_ranks(tt_values *v, tt_value value, unsigned char *seen);

/* graph.c: steps of all ranks under one numbering, and their messages. */
typedef struct tt_message {
  uint32_t from, to;             /* steps */
  int sender, reader;            /* ranks */
  uint32_t entry_from, entry_to; /* which entry of each step's peer range */
  uint32_t next;                 /* the pair's next message, or UINT32_MAX */
} tt_message;

typedef struct tt_graph {
  tt_sched *const *all;
  int ranks;
  uint32_t nsteps, nmessages;
  uint32_t *base;           /* per rank: the number of its first step */
  int *rank_of;             /* per step */
  tt_message *messages;     /* sorted by sending step */
  uint32_t *out_at;         /* per step, offsets into messages (sends) */
  uint32_t *in_at, *in;     /* per step, its incoming messages in entry order */
  uint32_t *before;         /* per message, the pair's previous message, or UINT32_MAX */
  uint32_t *deps_at, *deps; /* per step, the steps of its rank that wait for it */
  uint32_t *places;         /* per block of a buffer: used by operands.c, 0 between steps */
  uint32_t nplaces;         /* blocks of the largest buffer */
  char *witness;            /* receives the error message */
  size_t witness_size;
  bool failed, refused;
} tt_graph;

/* Checks shape and bounds and matches messages. */
bool tt_graph_build(tt_graph *g, tt_sched *const *all, int ranks, char *witness, size_t size);
void tt_graph_free(tt_graph *g);
static inline const tt_step *tt_graph_step(const tt_graph *g, uint32_t step) {
  int r = g->rank_of[step];
  return &g->all[r]->steps[step - g->base[r]];
}
/* Records an error, the first only: "rank 2 step 5 (send ->3 dst[1]): " and the reason. */
bool tt_graph_refuse(tt_graph *g, uint32_t step, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* operands.c: checks that the step's operands are in bounds, of one shape, and do not overlap. */
bool tt_operands_right(tt_graph *g, uint32_t step);
/* Do the n blocks of each span that begin at these positions have the same sizes, whatever the
 * partition? */
bool tt_same_shape(const tt_sched *s, const tt_span *a, uint32_t a_lo, const tt_span *b,
                   uint32_t b_lo, uint32_t n);

/* symbolic.c: executes in dependency order; the values at the end per rank, buffer, block. */
typedef struct tt_memory {
  tt_value **at; /* [rank * TT_BUF_COUNT + buf][block] */
  int ranks;
} tt_memory;
/* Callbacks: a step begins; a step other than a send happens, and the memory then holds its
 * results. `depth` is the number of messages on the longest chain to that point. For each block,
 * calls come in the order of its accesses. */
typedef struct tt_watch {
  void *ctx;
  void (*begins)(void *ctx, uint32_t step, uint32_t depth);
  void (*happens)(void *ctx, uint32_t step, uint32_t depth);
} tt_watch;
bool tt_symbolic_run(tt_graph *g, tt_values *v, tt_memory *m, const tt_watch *watch,
                     tutti_report *report);
/* Nothing is written yet; false: out of memory. Free in each case. */
bool tt_memory_new(tt_memory *m, tt_sched *const *all, int ranks);
void tt_memory_free(tt_memory *m);

/* conflict.c: are every two conflicting accesses ordered? */
bool tt_conflicts_ordered(tt_graph *g);

/* barrier.c: does every rank leave only after every rank has entered? */
bool tt_barrier_waits(tt_graph *g);

#endif
