/* prove.h - is a set of schedules right, and what can it do?
 *
 * Idea       check every step by itself (operands.c) and match the messages (graph.c);
 *            run all ranks symbolically in one order, with no buffering at all
 *            (symbolic.c), on values that are hash-consed n-ary expressions (value.c);
 *            show that every other order gives the same, because accesses that conflict
 *            are ordered (conflict.c); look at the results leaf by leaf (prove.c); and
 *            see that a rank that leaves a barrier has heard of all (barrier.c).
 * Invariant  it never sees an algorithm, nor the builder's order: it derives everything
 *            from the steps.
 * Source     SEMANTICS.md, which says what a schedule means.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PROVE_H
#define TT_PROVE_H

#include "schedule.h"

/* TUTTI_OK and report->proven, or not proven and report->witness says why.
 * TUTTI_ERR_MEMORY. `all` holds `ranks` schedules of one collective. */
tutti_status tt_prove(tt_sched *const *all, int ranks, tutti_report *report);

/* Blocks whose sums this rank completes. */
uint64_t tt_completed(const tt_sched *s);
/* Of schedules that are right: is every block's sum completed on one rank only, so
 * that all ranks hold the same bits? False: tt_prove knows. Quick, at any size. */
bool tt_summed_once(tt_sched *const *all, int ranks);

/* ---- inside the room, and for pictures (draw/) ---- */

/* value.c: 0 is "nothing was written here". */
typedef uint32_t tt_value;
typedef struct tt_values tt_values;
tt_values *tt_values_new(void);
void tt_values_free(tt_values *v);
tt_value tt_value_input(tt_values *v, int rank, uint32_t block);
/* in[0] op in[1] op ...; `last` marks the complete sum (avg divides here). */
tt_value tt_value_sum(tt_values *v, const tt_value *in, uint32_t n, bool completes);
bool tt_values_failed(const tt_values *v);
uint32_t tt_values_count(const tt_values *v); /* every value is below */
/* NULL if `value` holds the wanted inputs once each and, if it is to be marked and they
 * are several, is marked as complete at its root alone; else what is wrong (in `text`).
 * *ordered is cleared if the ranks stand in another order than they are numbered. Where there is no
 * memory to look it says that, and so does tt_values_failed. */
const char *tt_value_wrong(tt_values *v, tt_value value, const tt_wanted *wanted, bool marked,
                           bool *ordered, char *text, size_t size);
/* Sets seen[r] for every rank r whose input `value` holds; how many were not set before. */
uint32_t tt_value_ranks(const tt_values *v, tt_value value, unsigned char *seen);

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
  uint32_t *base;           /* per rank: its first step */
  int *rank_of;             /* per step */
  tt_message *messages;     /* those of one step lie together on the sender's side */
  uint32_t *out_at;         /* per step, offsets into messages (sends) */
  uint32_t *in_at, *in;     /* per step, its incoming messages in entry order */
  uint32_t *before;         /* per message, the pair's message before it, or UINT32_MAX */
  uint32_t *deps_at, *deps; /* per step, who waits for it on its own rank */
  uint32_t *places;         /* per block of a buffer: a note of operands.c, 0 between steps */
  uint32_t nplaces;         /* blocks of the largest buffer */
  char *witness;            /* where a complaint goes */
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
/* Refuse, once: "rank 2 step 5 (send ->3 dst[1]): " and the reason. */
bool tt_graph_refuse(tt_graph *g, uint32_t step, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* operands.c: the step's operands lie in bounds, are of one shape, and do not overlap. */
bool tt_operands_right(tt_graph *g, uint32_t step);
/* n blocks of each span, from a position on, have the same sizes, whatever the partition. */
bool tt_same_shape(const tt_sched *s, const tt_span *a, uint32_t a_lo, const tt_span *b,
                   uint32_t b_lo, uint32_t n);

/* symbolic.c: execute in dependency order; values at the end per rank, buffer, block. */
typedef struct tt_memory {
  tt_value **at; /* [rank * TT_BUF_COUNT + buf][block] */
  int ranks;
} tt_memory;
/* Who is told what goes on: a step begins, and (not a send) it happens, when the memory
 * holds its results. `depth` counts the messages on the longest chain to there. The
 * order of the calls is, block by block, the order of what happens to the block. */
typedef struct tt_watch {
  void *ctx;
  void (*begins)(void *ctx, uint32_t step, uint32_t depth);
  void (*happens)(void *ctx, uint32_t step, uint32_t depth);
} tt_watch;
bool tt_symbolic_run(tt_graph *g, tt_values *v, tt_memory *m, const tt_watch *watch,
                     tutti_report *report);
void tt_memory_free(tt_memory *m);

/* conflict.c: every two conflicting accesses are ordered. */
bool tt_conflicts_ordered(tt_graph *g);

/* barrier.c: nobody leaves before all have come. */
bool tt_barrier_waits(tt_graph *g);

#endif
