/* prove.h - checks that a set of schedules is correct, and derives its properties.
 *
 * Idea       Check every step separately (operands.c) and match the messages (graph.c). Run all ranks symbolically in one
 *            order, without any buffering (symbolic.c), on values that are hash-consed n-ary expressions (value.c). Show
 *            that every other order gives the same values, because conflicting accesses are ordered (conflict.c). Check
 *            the results leaf by leaf (prove.c), and check that a rank leaves a barrier only after every rank has entered
 *            it (barrier.c).
 * Invariant  The prover uses neither the algorithm nor the builder's order; it derives everything from the steps.
 * Source     SEMANTICS.md, which defines the meaning of a schedule.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PROVE_H
#define TT_PROVE_H

#include "schedule.h"

/* Proves that `all`, the schedules of one collective on `ranks` ranks, are correct. If it returns TUTTI_OK, either
 * report->proven is set, or report->witness explains the error in the schedules. May fail with TUTTI_ERR_MEMORY. */
tutti_status tt_prove(tt_sched *const *all, int ranks, tutti_report *report);

/* Returns true if the sum of each block is completed on exactly one rank, so that all ranks get the same bits. If not,
 * tt_prove must be used to find out whether they do. Fast for any number of ranks. The schedules must be correct. */
bool tt_summed_once(tt_sched *const *all, int ranks);

/* Returns true if each sum is computed by a single step that adds the inputs of all ranks. With rank_order, all such
 * schedules yield the same bits. For a prefix, returns true if each rank adds its input once, to the sum of the ranks
 * below it. The schedules must be correct. */
bool tt_sums_at_once(tt_sched *const *all, int ranks);

/* ---- for the prover itself, and for pictures (draw/) ---- */

/* An expression of value.c; 0 means that nothing was written. */
typedef uint32_t tt_value;
typedef struct tt_values tt_values;
tt_values *tt_values_new(void);
void tt_values_free(tt_values *v);
tt_value tt_value_input(tt_values *v, int rank, uint32_t block);
/* Returns the value of in[0] op in[1] op and so on. If `completes` is set, marks it as the complete sum, which avg
 * divides. */
tt_value tt_value_sum(tt_values *v, const tt_value *in, uint32_t n, bool completes);
bool tt_values_failed(const tt_values *v);
uint32_t tt_values_count(const tt_values *v); /* greater than every value */
/* Returns NULL if `value` contains each of the wanted inputs exactly once. If `marked` is set and there are several
 * inputs, it must also be marked as complete, and only at its root. Otherwise returns a description of the error in
 * `text`. Clears *ordered if the inputs are not in rank order. If it runs out of memory, the description says so and
 * tt_values_failed returns true. */
const char *tt_value_wrong(tt_values *v, tt_value value, const tt_wanted *wanted, bool marked,
                           bool *ordered, char *text, size_t size);
/* Finds the ranks whose inputs are in `value`. Sets seen[r] for each such rank r and returns their number, but stops at
 * a rank that was already set. If out of memory, the number is too low and tt_values_failed returns true. */
uint32_t tt_value_ranks(tt_values *v, tt_value value, unsigned char *seen);

/* A message from one step to another. graph.c numbers the steps of all ranks consecutively. */
typedef struct tt_message {
  uint32_t from, to;             /* the sending and the receiving step */
  int sender, reader;            /* their ranks */
  uint32_t entry_from, entry_to; /* index in the peer range of each step */
  uint32_t next;                 /* next message between the same ranks, or UINT32_MAX */
} tt_message;

typedef struct tt_graph {
  tt_sched *const *all;
  int ranks;
  uint32_t nsteps, nmessages;
  uint32_t *base;           /* for each rank, the number of its first step */
  int *rank_of;             /* for each step */
  tt_message *messages;     /* sorted by sending step */
  uint32_t *out_at;         /* for each step, the index of its first message in `messages` */
  uint32_t *in_at, *in;     /* for each step, its incoming messages in the order of the entries */
  uint32_t *before;         /* previous message between the same ranks, or UINT32_MAX */
  uint32_t *deps_at, *deps; /* for each step, the steps of its rank that wait for it */
  uint32_t *places;         /* for each block of a buffer; used by operands.c, 0 between steps */
  uint32_t nplaces;         /* number of blocks of the largest buffer */
  char *witness;            /* buffer for the error message */
  size_t witness_size;
  bool failed, refused;
} tt_graph;

/* Checks that all steps are well-formed and within bounds, and pairs their sends with receives. */
bool tt_graph_build(tt_graph *g, tt_sched *const *all, int ranks, char *witness, size_t size);
void tt_graph_free(tt_graph *g);
static inline const tt_step *tt_graph_step(const tt_graph *g, uint32_t step) {
  int r = g->rank_of[step];
  return &g->all[r]->steps[step - g->base[r]];
}
/* Records an error such as "rank 2 step 5 (send ->3 dst[1]): " and the reason, unless there already is an error. */
bool tt_graph_refuse(tt_graph *g, uint32_t step, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* operands.c: checks that the step's operands are within bounds, have the same shape and do not overlap. */
bool tt_operands_right(tt_graph *g, uint32_t step);
/* Compares n blocks of two spans, starting at these positions. Returns true if they have equal sizes in every partition. */
bool tt_same_shape(const tt_sched *s, const tt_span *a, uint32_t a_lo, const tt_span *b,
                   uint32_t b_lo, uint32_t n);

/* symbolic.c: executes the steps in dependency order. The memory then holds the final values by rank, buffer and block. */
typedef struct tt_memory {
  tt_value **at; /* [rank * TT_BUF_COUNT + buf][block] */
  int ranks;
} tt_memory;
/* Callbacks for the execution. `begins` is called when a step starts. `happens` is called when a step other than a send
 * has been executed and its results are in the memory. `depth` is the length of the longest chain of messages so far.
 * The calls for one block are in the order of its accesses. */
typedef struct tt_watch {
  void *ctx;
  void (*begins)(void *ctx, uint32_t step, uint32_t depth);
  void (*happens)(void *ctx, uint32_t step, uint32_t depth);
} tt_watch;
bool tt_symbolic_run(tt_graph *g, tt_values *v, tt_memory *m, const tt_watch *watch,
                     tutti_report *report);
/* Creates an empty memory. Returns false if out of memory. The caller must free the memory even then. */
bool tt_memory_new(tt_memory *m, tt_sched *const *all, int ranks);
void tt_memory_free(tt_memory *m);

/* conflict.c: returns true if every two conflicting accesses are ordered. */
bool tt_conflicts_ordered(tt_graph *g);

/* barrier.c: returns true if every rank leaves only after every rank has entered. */
bool tt_barrier_waits(tt_graph *g);

#endif
