/* engine.h - runs a schedule on real buffers over a wire.
 *
 * Idea       A program is the schedule with its messages numbered and its dependences reversed (the
 *            steps that wait for this one); made once per plan. A run executes it on one slice of
 *            the vector; an operation is up to TT_FLIGHT concurrent runs on consecutive slices.
 * Invariant  Nothing here blocks: `tt_operation_progress` does what can be done now. Messages of a
 *            pair leave and arrive in the order of their numbers, so a wire may be FIFO.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ENGINE_H
#define TT_ENGINE_H

#include "code.h"
#include "device.h"
#include "kernel.h"
#include "schedule.h"
#include "stores.h"
#include "trace.h"
#include "wire.h"

/* ---- shapes (recognise.c): schedules with a dedicated loop ---- */

typedef enum tt_shape {
  TT_SHAPE_NONE,     /* the generic engine runs it */
  TT_SHAPE_ONE_SHOT, /* every rank publishes its vector and sums all vectors in rank order */
  TT_SHAPE_ROUNDS,   /* the same among the ranks of a group, round after round */
  TT_SHAPE_TWO_SHOT, /* every rank sums its own block likewise, then copies the other blocks */
  TT_SHAPE_NAIVE,    /* the root sums all vectors likewise, the others copy the result */
  TT_SHAPE_DIRECT,   /* every block is read by the rank that it is for */
  TT_SHAPE_COUNT
} tt_shape;

/* The shape whose schedules equal those of these n ranks, step for step. Either all ranks of a
 * communicator run a loop, or none. TUTTI_ERR_MEMORY. */
tutti_status tt_shape_of(tt_sched *const *scheds, int n, tt_shape *shape);
/* Does the loop of an allreduce form each sum in one step, of all ranks' operands in rank order? Such loops give the same bits. */
static inline bool tt_shape_sums_at_once(tt_shape shape) {
  return shape == TT_SHAPE_ONE_SHOT || shape == TT_SHAPE_TWO_SHOT || shape == TT_SHAPE_NAIVE;
}
/* *most: the largest number of bytes for which a loop runs them in shared memory; 0: no loop does. TUTTI_ERR_MEMORY. */
tutti_status tt_has_loop(tt_sched *const *scheds, int n, uint64_t *most);
/* Rebuild the schedule that the loop for `shape` executes; NULL if the shape is none, or out of
 * memory. */
tt_sched *tt_shape_lift(tt_shape shape, const tt_sched *like);

/* ---- programs (program.c) ---- */

typedef struct tt_transfer { /* one message, from this rank's side */
  uint32_t step, entry;      /* its step; its entry in the step's peer range */
  uint32_t lo, hi;           /* positions of the step's span */
  int32_t peer;
  uint32_t turn; /* its number within its pair and direction */
  uint32_t pair; /* index of (peer, direction) among this program's pairs */
} tt_transfer;

typedef struct tt_program {
  const tt_sched *sched;
  const int *order;    /* the rank for each of the schedule's; NULL: itself */
  bool in_place_asked; /* as the caller requested; sched may not need it */
  tt_shape shape;
  bool alike; /* every rank has the same steps; set where messages are paced */
  uint32_t ntransfers, npairs;
  tt_transfer *transfers;   /* by step, in entry order */
  uint32_t *at;             /* per step, + 1: offsets into transfers */
  uint32_t *next_at, *next; /* per step, + 1: the steps that wait for it */
  uint32_t *waits;          /* per step: how many steps it waits for */
} tt_program;

/* Keeps references to `sched` and `order`, which must outlive the program; `shape`: of all ranks'
 * schedules. One piece of memory, for free(). NULL: out of memory. */
tt_program *tt_program_new(const tt_sched *sched, const int *order, tt_shape shape);

/* ---- operations (operation.c) ---- */

typedef struct tt_call { /* arguments of a collective */
  tutti_coll coll;
  const void *src;
  void *dst;
  size_t count; /* as the caller gave it */
  tutti_type type;
  tutti_op op;
  int root;
  bool everyone; /* all ranks contribute data, even helpers: an internal call */
  bool varied;   /* counts[r] elements for rank r, not count each; the call copies counts */
  const size_t *counts;
  const size_t
      *recv_counts; /* of a varied all-to-all: how many come from each rank; `counts` go to each */
  uint32_t buffers; /* 1 + length of the list it is part of; 0: a single call */
  float *owed;   /* a coded call's rounding errors so far, by element of the vector: added before a
                                 number is rounded, and replaced by what is then left; or NULL */
  uint32_t also; /* a hash of other arguments that must match on all ranks */
  const tt_code_wish *
      code; /* how its messages may be coded; NULL: as on the communicator. Lives as long as the call */
  const struct tt_override
      *override;              /* which plans may run; NULL and how long it lives as for `code` */
  const char *tag;            /* the caller's word for it, or NULL; lives as long as the call */
  const struct tt_call *said; /* the caller's call, if this one implements it; or NULL */
  tt_staged
      *staged; /* src and dst represent device memory, which is copied in and out piece by piece; or NULL */
} tt_call;

/* An all-to-all with varying counts, which differ between ranks. */
static inline bool tt_call_is_alltoallv(const tt_call *c) {
  return c->varied && c->coll == TUTTI_ALLTOALL;
}

/* A run of a program whose messages to some ranks are coded (coded.c). */
typedef struct tt_coding {
  tt_code code;       /* TT_CODE_NONE: as they are */
  const uint8_t *far; /* per rank: 1: messages to it and from it are coded */
} tt_coding;

typedef struct tt_run tt_run;
typedef struct tt_operation tt_operation;

/* Calls `show` for every peer whose bytes or acknowledgement it waits for, with the step, until
 * `show` returns true; returns whether it did. */
typedef bool tt_awaits_fn(void *ctx, int peer, uint32_t step);

/* A loop that replaces the steps of a recognised schedule: line.c, arena.c. */
typedef struct tt_loop {
  bool (*fits)(const tt_operation *o);
  tutti_status (*begin)(tt_operation *o);
  bool (*progress)(tt_operation *o);
  bool (*awaits)(const tt_operation *o, tt_awaits_fn *show, void *ctx);
  uint64_t (*final)(
      const tt_operation *o); /* bytes at the start of the result that are final; NULL: none before
                                               the end */
} tt_loop;
extern const tt_loop tt_line_loop, tt_arena_loop;

/* Where a rank's vectors are: in host memory; on a device, and copied from it in pieces; on a device that could sum, if it can
 * access the peers' memory; on a device that can access it. */
typedef enum tt_comes { TT_HERE, TT_COMES, TT_OFFERED, TT_REACHED } tt_comes;

/* What a rank shows and takes in a call that a loop runs. */
typedef struct tt_role {
  bool known;      /* for this call */
  bool gives;      /* this rank publishes its data */
  tt_peers from;   /* the ranks whose bytes it takes */
  size_t own;      /* elements that this rank has to show */
  size_t slot;     /* bytes of a slot: the most that any rank shows */
  size_t at, part; /* elements: start of its part in the bytes that each of them shows, and the part's length */
} tt_role;

/* The names of a rank's vectors (wire.h: export), as it puts them in its flag slot. */
typedef struct tt_names {
  uint64_t src, dst, arena; /* 0: goes through the arena */
  uint64_t staging; /* of the memory that stands for a device's, which is `staged` bytes long */
  uint64_t staged;
  uint32_t put; /* pieces already put */
  uint8_t in_place;
  uint8_t comes;        /* tt_comes: where its vectors are */
  tt_store_rule stores; /* by which kind of stores it writes each piece */
} tt_names;

/* How the arena's loop cuts a vector into pieces; the same on all ranks. */
typedef struct tt_cut {
  tt_partition at;
  uint32_t count;
  uint32_t at_once; /* pieces per batch: one, if any vector goes through an arena */
  uint64_t first;   /* number of the first piece */
  size_t slot;      /* bytes of each of the `slots` slots of the arenas */
  uint32_t slots;
  uint64_t slots_from; /* the first piece since they have that size */
} tt_cut;

/* How a rank gets its result. */
typedef enum tt_gets {
  TT_GETS_COPIES,    /* it copies, or sums, what the others show */
  TT_GETS_WRITTEN,   /* the peers write their sums into its dst */
  TT_GETS_RETURNED,  /* a peer's sum takes the place of what was put there for it */
  TT_GETS_FETCHES,   /* its device fetches the sums out of the peers' memory (device_fetch.c) */
  TT_GETS_ON_DEVICES /* the devices of all ranks sum (device_sum.c) */
} tt_gets;

/* Where peers read what it shows until they have fetched everything. */
typedef enum tt_shows { TT_SHOWS_NOTHING, TT_SHOWS_IN_ARENA, TT_SHOWS_IN_VECTORS } tt_shows;

/* What a call's times say of it. */
typedef struct tt_call_cost {
  struct tt_cycles *timed; /* rank 0 takes the time of this call for these; or NULL */
  uint64_t spent;          /* ticks so far, without the wait for other ranks */
  tt_stores *stores;       /* estimates for vectors of this size that go through arenas */
  uint32_t counted;        /* pieces of earlier such vectors */
  tt_spent wrote[TT_STORES], read[TT_STORES];
} tt_call_cost;

/* The state of the arena's loop: the cut; the access to vectors and arenas, which is decided once the flags of all ranks are
 * set; the progress; the cost. */
typedef struct tt_pieces {
  tt_shape shape;
  tt_cut cut;
  tt_names mine;
  tt_gets gets;
  tt_shows shows;
  tt_peers readers; /* the ranks that read what is shown in its vectors */
  int first_given;  /* the first peer whose dst it writes to; ranks: none */
  uint32_t done[TT_COUNTERS];
  uint32_t put_by_all; /* pieces all put before their flags; UINT32_MAX: not known yet */
  struct {
    uint64_t target;
    int next; /* entries of the peers before it have published that much */
  } seen[TT_COUNTERS];
  struct {
    uint32_t asked; /* pieces that it was asked to fetch */
    bool mapped;    /* it reaches the vectors of all ranks in this call */
    bool learns;    /* all ranks find out whether they could */
    int devices;    /* on which the ranks' vectors lie, once it has learnt that */
  } device;
  tt_call_cost cost;
} tt_pieces;

/* How far the ranks of a host are with a sum that kernels make among them (device_near.c). */
typedef enum tt_near_stage {
  TT_NEAR_SETTLED, /* kernels have made the sum, or are not used */
  TT_NEAR_SHOWS,
  TT_NEAR_ASKS,
  TT_NEAR_MAPS,
  TT_NEAR_AGREES,
  TT_NEAR_SUMS,
  TT_NEAR_ENDS
} tt_near_stage;
typedef struct tt_near {
  tt_near_stage stage;
  bool kernels;       /* they have made the first stage */
  bool tried, summed; /* within a stage: what was done before it can be shown */
  uint8_t mapped;
  uint32_t brought; /* slices whose sums are on their way to the host, or there */
} tt_near;

struct tt_operation {
  tt_wire *wire;
  tt_trace *trace; /* records its steps; NULL: no tracing */
  const tt_program *program;
  tt_shape if_exported;
  tt_call call;
  const uint64_t *table;
  tt_coding coding;
  tt_reducer reducer;
  tt_stamp stamp;
  int window;          /* which of TT_WINDOW places */
  uint64_t oldest;     /* operations before it are over on this rank */
  const tt_loop *loop; /* the loop that runs instead of the program's steps; or NULL */
  bool flag_get;       /* loop: this rank's flag is set */
  const void *own;     /* loop: this rank's own operand */
  uint32_t round;      /* loop: flags that were complete before this one */
  int next;            /* loop: the entry of the peers whose flag is awaited */
  const void **slots;  /* loop: each entry's flag data; kept for reuse */
  const void **inputs; /* loop: capacity for as many operands */
  int inputs_capacity;
  tt_role role;
  tt_pieces pieces;
  tt_near near;
  int slices, finished;
  tt_partition slicing; /* the vector in slices, in elements */
  tt_run *runs[TT_FLIGHT];
  tutti_status status; /* not TUTTI_OK: failed, with the message in tutti_error */
};

/* The element where a slice begins. */
static inline uint64_t tt_slice_at(const tt_operation *o, uint32_t slice) {
  return tt_partition_at(&o->slicing, tt_slice_quarters((uint32_t)o->slices, slice));
}

/* If each rank has a block: the element at the start of a rank's block, and the number of elements in it. */
static inline size_t tt_block_at(const tt_operation *o, int rank) {
  return o->table ? o->table[rank] : o->call.count * (size_t)rank;
}
static inline size_t tt_block_size(const tt_operation *o, int rank) {
  return tt_block_at(o, rank + 1) - tt_block_at(o, rank);
}

/* How a kind of call is executed. */
typedef struct tt_execution {
  const tt_program *program;
  tt_reducer reducer; /* of the call's type and op */
  int slices;
  /* The program's shape, or a cheaper one if no memory has to be copied, with the same sums in the
   * same order. */
  tt_shape if_exported;
  const uint64_t *
      table; /* of a varied call: where each block begins, and the end; of alltoallv those of dst follow; or NULL */
  tt_coding coding;
} tt_execution;

/* Uses place stamp.seq mod TT_WINDOW in the lanes; operations before `oldest` are over on
 * this rank. Reuses memory of earlier operations. Fails with TUTTI_ERR_MEMORY before
 * anything is sent. */
tutti_status tt_operation_begin(tt_operation *o, tt_wire *wire, const tt_execution *how,
                                const tt_call *call, tt_stamp stamp, uint64_t oldest);
/* Repeat the call, with the same plan and place, of an operation that was begun there and has a
 * loop. */
tutti_status tt_operation_begin_again(tt_operation *o, tt_stamp stamp, uint64_t oldest);
/* Do what can be done now; true if anything moved. At the end finished == slices, or status
 * is set. */
bool tt_operation_progress(tt_operation *o);
bool tt_operation_is_over(const tt_operation *o); /* and the result is in the caller's buffer */
bool tt_operation_awaits(const tt_operation *o, tt_awaits_fn *show, void *ctx);
void tt_operation_release(tt_operation *o); /* frees the memory kept for reuse */

/* For the loops (line.c). find_role: fills o->role. begin: allocate the tables. ready: true once the flag data (n bytes) of
 * these ranks have arrived for this round. await: show the ranks with missing flags. */
void tt_find_role(tt_operation *o);
/* The first step that receives, or sends; 0: the schedule has no such step. */
uint32_t tt_first_step(const tt_operation *o, bool receives);
tutti_status tt_flags_begin(tt_operation *o);
bool tt_flags_ready(tt_operation *o, const tt_peers *peers, size_t n, bool *moved);
bool tt_flags_await(const tt_operation *o, const tt_peers *peers, size_t n, tt_awaits_fn *show,
                    void *ctx);

/* ---- internals of a run (run.c) ---- */

typedef struct tt_cursor { /* a position in a span */
  uint32_t at, end;        /* positions */
  uint64_t used;           /* bytes of the current run of blocks already done */
} tt_cursor;

struct tt_run {
  const tt_operation *o;
  const tt_program *program;
  int lane, slice;
  uintptr_t base[TT_BUF_COUNT]; /* address of block 0, real or hypothetical */
  uint64_t layer;               /* bytes of a layer of tmp */
  tt_partition partition[TT_BUF_COUNT]; /* of each buffer in blocks */
  uint32_t left;            /* steps that have not ended */
  uint32_t sent;            /* paced: all messages this rank sends before this one are over */
  uint32_t *waits;          /* per step */
  uint32_t *open, nopen;    /* steps that have started */
  struct tt_moving *moving; /* per transfer */
  tt_cursor *own;           /* per step: the own operand */
  uint32_t *turn;           /* per pair: the number of the next message */
  const void **inputs;      /* capacity for the widest reduction */
  void *scratch;
  size_t scratch_bytes;
  size_t capacity; /* bytes allocated at `inputs` */
  uint8_t
      *fresh; /* per step: does it send numbers that were not rounded yet? NULL: nothing is owed */
  struct tt_coded **coded; /* per rank: the coder between the steps and its messages; or NULL */
  bool active;
};

tutti_status tt_run_begin(tt_run *r, int slice);
bool tt_moving_is_over(const tt_run *r, uint32_t k);
/* Announces the bytes of this run to the process outside (share.c). over: that process has received all of them, and this
 * rank has its results; always true if there is none. *status: TUTTI_ERR_MISMATCH if ranks made different calls. */
void tt_share_begin(const tt_run *r);
bool tt_share_over(const tt_run *r, tutti_status *status);
bool tt_run_progress(tt_run *r, tutti_status *status);

/* Kernels within a host, and messages between hosts (device_near.c). first: can kernels replace the plan's first steps?
 * progress: one pass towards an agreement on this host; slices begin when it is settled. bring: the sums are copied to the
 * host's memory; landed: has this slice's sum arrived? made: has a step ended, because kernels have made it? awaits: as
 * tt_operation_awaits. */
/* op: of the sums that devices make over this wire: within a host they are parts of a mean, which is divided at the end. */
tutti_op tt_near_op(const tt_wire *wire, tutti_op op);
bool tt_near_first(const tt_program *program, const tt_wire *wire);
void tt_near_begin(tt_operation *o);
bool tt_near_progress(tt_operation *o);
bool tt_near_bring(tt_operation *o);
bool tt_near_landed(const tt_operation *o, int slice);
bool tt_near_made(tt_run *r, uint32_t step);
bool tt_near_awaits(const tt_operation *o, tt_awaits_fn *show, void *ctx);
/* Message k was never sent, nor will be. */
void tt_moving_pass(tt_run *r, uint32_t k);
void tt_run_free(tt_run *r, tt_wire *wire);
bool tt_run_awaits(const tt_run *r, tt_awaits_fn *show, void *ctx);

/* The wire to a peer: ranks beyond those of the communicator are outside the job. */
static inline tt_wire *tt_wire_to(const tt_operation *o, int peer) {
  return peer < o->wire->ranks ? o->wire : o->wire->outside->wire;
}

/* Finds out where rounding errors are owed, if the call keeps them. False: out of memory. */
bool tt_owed_begin(tt_run *r);
/* Rounds n floats as their codes do; owed: of these floats, or NULL. */
void tt_owed_round(tt_code code, float *x, float *owed, size_t n);
/* Messages of a run, compressed or not (coded.c): as the functions of a channel (wire.h). head: *status: out of memory, or the
 * received bytes are not a valid code. push: owed: of these numbers, or NULL. came: has anything arrived from this peer? */
size_t tt_link_push(tt_run *r, int peer, const void *bytes, float *owed, size_t n, size_t left,
                    uint64_t *ticket, tutti_status *status);
size_t tt_link_head(tt_run *r, int peer, tt_stamp *stamp, tutti_status *status);
bool tt_link_came(const tt_run *r, int peer);
const void *tt_link_view(tt_run *r, int peer, size_t *n, tutti_status *status);
void tt_link_release(tt_run *r, int peer, size_t n);
void tt_link_expect(tt_run *r, int peer, void *to, size_t n, size_t left);
bool tt_link_pull(tt_run *r, int peer, void *to, size_t n, tutti_status *status);
void tt_link_free(tt_run *r);

/* Paced messages (pace.c): may message k be sent now? Record that a message has ended. */
bool tt_pace_allows(const tt_run *r, uint32_t k);
void tt_pace_over(tt_run *r);

#endif
