/* engine.h - runs a schedule on real buffers over a wire.
 *
 * Idea       a program is the schedule with its messages numbered and its order
 *            turned round (who waits for me); made once per plan. A run executes
 *            it on one slice of the vector; an operation is up to TT_FLIGHT runs at
 *            once on consecutive slices.
 * Invariant  nothing here blocks: `tt_operation_progress` does what can be done now.
 *            Messages of a pair go out and come in by their number, so a wire may
 *            be first in first out.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ENGINE_H
#define TT_ENGINE_H

#include "kernel.h"
#include "schedule.h"
#include "trace.h"
#include "wire.h"

/* ---- shapes (shape.c): schedules that have a loop of their own ---- */

typedef enum tt_shape {
  TT_SHAPE_NONE,     /* the generic engine runs it */
  TT_SHAPE_ONE_SHOT, /* everyone shows its vector, sums everybody's in rank order */
  TT_SHAPE_TWO_SHOT, /* everyone sums its own block so, then copies the others' */
  TT_SHAPE_NAIVE,    /* rank 0 sums everybody's so, the others copy it */
  TT_SHAPE_COUNT,    /* nobody knows: memory ran out */
} tt_shape;

/* The shape whose schedules are the same as these n ranks', step for step. All ranks
 * of a communicator run a loop, or none. */
tt_shape tt_shape_of(tt_sched *const *scheds, int n);
/* *has: they have a shape. TUTTI_ERR_MEMORY. */
tutti_status tt_has_loop(tt_sched *const *scheds, int n, bool *has);
/* The schedule that the loop for `shape` carries out, written down again: NULL if
 * the shape is none, or out of memory. */
tt_sched *tt_shape_lift(tt_shape shape, const tt_sched *like);

/* ---- programs (program.c) ---- */

typedef struct tt_transfer { /* one message, from this rank's side */
  uint32_t step, entry;      /* whose; which entry of its peer range */
  uint32_t lo, hi;           /* positions of the step's span */
  int32_t peer;
  uint32_t turn; /* it is the turn-th message of its pair and direction */
  uint32_t pair; /* index of (peer, direction) among this program's pairs */
} tt_transfer;

typedef struct tt_program {
  const tt_sched *sched;
  const int *order;    /* the rank for each of the schedule's; NULL: itself */
  bool in_place_asked; /* as the caller had it; sched may not need it */
  tt_shape shape;
  bool alike; /* every rank has the same steps; known where messages are paced */
  uint32_t ntransfers, npairs;
  tt_transfer *transfers;   /* by step, in entry order */
  uint32_t *at;             /* per step, + 1: offsets into transfers */
  uint32_t *next_at, *next; /* per step, + 1: the steps that wait for it */
  uint32_t *waits;          /* per step: how many it waits for */
} tt_program;

/* Keeps `sched` and `order`, which must live as long; `shape`: of all ranks' schedules. NULL:
 * out of memory. */
tt_program *tt_program_new(const tt_sched *sched, const int *order, tt_shape shape);
void tt_program_free(tt_program *program);

/* ---- operations (operation.c) ---- */

typedef struct tt_call { /* what a collective was called with */
  tutti_coll coll;
  const void *src;
  void *dst;
  size_t count; /* as the caller gave it */
  tutti_type type;
  tutti_op op;
  int root;
  bool everyone; /* brings data, helpers too: a call of tutti's own */
  bool varied;   /* counts[r] elements for rank r, instead of count each; the call copies them */
  const size_t *counts;
  uint32_t buffers;           /* 1 + how long the list is that it is a part of; 0: it is whole */
  uint32_t also;              /* a hash of what else is to be the same on all ranks */
  const struct tt_call *said; /* what was called, if this is tutti's way to do it; or NULL */
} tt_call;

typedef struct tt_run tt_run;
typedef struct tt_operation tt_operation;

/* Shows every peer whose bytes or acknowledgement it waits for, and for which step,
 * until `show` returns true; whether it did. */
typedef bool tt_awaits_fn(void *ctx, int peer, uint32_t step);

/* A loop that replaces the steps of a recognised schedule: line.c, arena.c. */
typedef struct tt_loop {
  bool (*fits)(const tt_operation *o);
  tutti_status (*begin)(tt_operation *o);
  bool (*progress)(tt_operation *o);
  bool (*awaits)(const tt_operation *o, tt_awaits_fn *show, void *ctx);
} tt_loop;
extern const tt_loop tt_line_loop, tt_arena_loop;

/* Where a rank's vectors are, as its peers know them (wire.h: lend); what it posts
 * when it begins. */
typedef struct tt_names {
  uint64_t src, dst, arena; /* 0: goes through the arena */
  uint32_t put;             /* pieces put in by then */
  uint32_t in_place;
} tt_names;

/* The arena loop's state; pieces are counted from `first` on. */
typedef struct tt_pieces {
  tt_shape shape;
  tt_partition cut; /* of the vector */
  uint32_t at_once; /* so many are taken together: one, if any goes through an arena */
  uint32_t first, count;
  uint32_t done[TT_COUNTERS];
  uint32_t put_by_all; /* as all posted; UINT32_MAX until they have */
  bool given;          /* the peers write their sums into dst */
  bool shows;          /* its sums go through the arena */
  bool looked_at;      /* peers may look at its vectors until they have got all */
  tt_names mine;
  struct {
    uint32_t target;
    int next; /* peers before it have told that much */
  } seen[TT_COUNTERS];
} tt_pieces;

struct tt_operation {
  tt_wire *wire;
  tt_trace *trace; /* where its steps are written down; NULL: nowhere */
  const tt_program *program;
  tt_shape if_exported;
  tt_call call;
  const uint64_t *table;
  tt_reducer reducer;
  tt_stamp stamp;
  int window;          /* which of TT_WINDOW places */
  uint32_t oldest;     /* operations before it are over on this rank */
  const tt_loop *loop; /* that runs, not the program's steps; or NULL */
  bool flag_get;       /* ... and this rank's post is on the board */
  const void *own;     /* ... what it sums of its own */
  int next;            /* ... and this peer's post is awaited */
  const void **slots;  /* ... what each rank posted; kept for reuse */
  const void **inputs; /* ... and room for as many */
  int inputs_capacity;
  tt_pieces pieces;
  int slices, finished;
  tt_partition slicing; /* the vector in slices, in elements */
  tt_run *runs[TT_FLIGHT];
  tutti_status status; /* not TUTTI_OK: failed, with the sentence in tutti_error */
};

/* How a kind of call is run. */
typedef struct tt_execution {
  const tt_program *program;
  tt_reducer reducer; /* of the call's type and op */
  int slices;
  tt_shape if_exported;  /* the program's, or what is cheaper if no memory has to be copied; the
                            same sums in the same order */
  const uint64_t *table; /* of a varied call: where each block begins, and the end; or NULL */
} tt_execution;

/* Takes place stamp.seq mod TT_WINDOW in the lanes; operations before `oldest` are
 * over on this rank. Memory of earlier operations is reused.
 * Fails with TUTTI_ERR_MEMORY before anything is sent. */
tutti_status tt_operation_begin(tt_operation *o, tt_wire *wire, const tt_execution *how,
                                const tt_call *call, tt_stamp stamp, uint32_t oldest);
/* The same call by the same plan in the same place again, of one that was begun there and has a
 * loop. */
tutti_status tt_operation_begin_again(tt_operation *o, tt_stamp stamp, uint32_t oldest);
/* Do what can be done; true if anything moved. Ends with finished == slices, or
 * a status. */
bool tt_operation_progress(tt_operation *o);
static inline bool tt_operation_done(const tt_operation *o) {
  return o->status || o->finished == o->slices;
}
bool tt_operation_awaits(const tt_operation *o, tt_awaits_fn *show, void *ctx);
void tt_operation_release(tt_operation *o); /* frees what it kept for reuse */

/* For the loops (line.c): room for posts and inputs; this rank's post, and those of
 * its peers, of n bytes; true once all are there. */
tutti_status tt_flags_begin(tt_operation *o);
bool tt_flags_ready(tt_operation *o, size_t n, bool *moved);
bool tt_flags_await(const tt_operation *o, size_t n, tt_awaits_fn *show, void *ctx);

/* ---- inside the room (run.c) ---- */

typedef struct tt_cursor { /* a place in a span */
  uint32_t at, end;        /* positions */
  uint64_t used;           /* bytes of the current run of blocks already done */
} tt_cursor;

struct tt_run {
  const tt_operation *o;
  const tt_program *program;
  int lane, slice;
  uintptr_t base[TT_BUF_COUNT]; /* address of block 0, real or imagined */
  uint64_t layer;               /* bytes of a layer of tmp */
  tt_partition partition;
  uint32_t left;   /* steps that have not ended */
  uint32_t sent;   /* messages before this one are over, if it sends them; where they are paced */
  uint32_t *waits; /* per step */
  uint32_t *open, nopen;    /* steps that have started */
  struct tt_moving *moving; /* per transfer */
  tt_cursor *own;           /* per step: the own operand */
  uint32_t *turn;           /* per pair: whose turn it is */
  const void **inputs;      /* room for the widest reduction */
  void *scratch;
  size_t scratch_bytes;
  size_t capacity; /* bytes behind `waits` */
  bool active;
};

tutti_status tt_run_begin(tt_run *r, int slice);
bool tt_moving_is_over(const tt_run *r, uint32_t k);
bool tt_run_progress(tt_run *r, tutti_status *status);
void tt_run_free(tt_run *r, tt_wire *wire);
bool tt_run_awaits(const tt_run *r, tt_awaits_fn *show, void *ctx);

/* Where messages are paced: may message k go now? And: another one is over. (pace.c) */
bool tt_pace_allows(const tt_run *r, uint32_t k);
void tt_pace_over(tt_run *r);

#endif
