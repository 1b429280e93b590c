/* engine.h - runs a schedule on real buffers over a wire.
 *
 * Idea       A program is a schedule with its messages numbered and its dependences reversed: it lists the steps that wait
 *            for each step. It is built once per plan. A run executes it on one slice of the vector. An operation
 *            consists of up to TT_FLIGHT concurrent runs on consecutive slices.
 * Invariant  Nothing here blocks: `tt_operation_progress` does what is possible now. Messages of a pair leave and arrive
 *            in the order of their numbers, so a wire may be FIFO.
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
  TT_SHAPE_ROUNDS,   /* the same among the ranks of a group, in several rounds */
  TT_SHAPE_TWO_SHOT, /* every rank sums its own block in this way, then copies the other blocks */
  TT_SHAPE_NAIVE,    /* the root sums all vectors in this way, and the others copy the result */
  TT_SHAPE_DIRECT,   /* every block is read by its receiver */
  TT_SHAPE_COUNT
} tt_shape;

/* Finds the shape whose schedules match those of n ranks step for step. Either all ranks of a communicator run a loop, or no rank
 * does. Returns TUTTI_ERR_MEMORY if out of memory. */
tutti_status tt_shape_of(tt_sched *const *scheds, int n, tt_shape *shape);
/* Returns true if the loop for an allreduce computes each sum in one step, adding the operands of all ranks in rank order. All
 * such loops give the same bits. */
static inline bool tt_shape_sums_at_once(tt_shape shape) {
  return shape == TT_SHAPE_ONE_SHOT || shape == TT_SHAPE_TWO_SHOT || shape == TT_SHAPE_NAIVE;
}
/* Sets *most to the largest vector size, in bytes, for which a loop runs these schedules in shared memory, or to 0 if no loop
 * does. Returns TUTTI_ERR_MEMORY if out of memory. */
tutti_status tt_has_loop(tt_sched *const *scheds, int n, uint64_t *most);
/* Reconstructs the schedule that the loop for a shape executes. Returns NULL if the shape has no loop, or if out of memory. */
tt_sched *tt_shape_lift(tt_shape shape, const tt_sched *like);

/* ---- programs (program.c) ---- */

typedef struct tt_transfer { /* one message, from this rank's side */
  uint32_t step, entry;      /* its step; its entry in the step's peer range */
  uint32_t lo, hi;           /* its positions in the step's span */
  int32_t peer;
  uint32_t turn; /* its number within its pair and direction */
  uint32_t pair; /* index of (peer, direction) among this program's pairs */
} tt_transfer;

typedef struct tt_program {
  const tt_sched *sched;
  const int *order;    /* rank of the communicator for each rank of the schedule; NULL: the same */
  bool in_place_asked; /* requested by the caller; sched may not need it */
  tt_shape shape;
  bool alike; /* every rank has the same steps; set only if messages are paced */
  uint32_t ntransfers, npairs;
  tt_transfer *transfers;   /* sorted by step, then by entry */
  uint32_t *at;             /* offset of each step's transfers, and the end */
  uint32_t *next_at, *next; /* offsets into `next`, per step; the steps that wait for it */
  uint32_t *waits;          /* number of steps that each step waits for */
} tt_program;

/* Creates a program as a single allocation, to be released with free(). `sched` and `order` must outlive the program. `shape` is
 * the common shape of the schedules of all ranks. Returns NULL if out of memory. */
tt_program *tt_program_new(const tt_sched *sched, const int *order, tt_shape shape);

/* ---- operations (operation.c) ---- */

typedef struct tt_call { /* arguments of a collective */
  tutti_coll coll;
  const void *src;
  void *dst;
  size_t count; /* as passed by the caller */
  tutti_type type;
  tutti_op op;
  int root;
  bool everyone; /* all ranks contribute data, even helpers: an internal call */
  bool varied;   /* counts[r] elements for rank r, not count each; the call copies counts */
  const size_t *counts;
  const size_t *recv_counts; /* all-to-all: recv_counts[r] arrive from rank r, counts[r] go to it */
  uint32_t buffers;          /* 1 + length of the list that it belongs to; 0: a single call */
  /* The rounding error kept for each element of a call with compression, or NULL. Before an element is rounded, the error is
   * added to it. Afterwards the new error replaces the old one. */
  float *owed;
  uint32_t also; /* a hash of other arguments that must match on all ranks */
  /* The codes that the call's messages may use, and the plans that it may run. NULL stands for the settings of the communicator.
   * Both must outlive the call. */
  const tt_code_wish *code;
  const struct tt_override *override;
  const char *tag;            /* the caller's tag, or NULL; must outlive the call */
  const struct tt_call *said; /* the caller's call if this one implements it, or NULL */
  tt_staged *staged; /* device memory that src and dst stand for, copied in pieces; or NULL */
} tt_call;

/* Returns true if the call is an all-to-all with varying counts, which are different on each rank. */
static inline bool tt_call_is_alltoallv(const tt_call *c) {
  return c->varied && c->coll == TUTTI_ALLTOALL;
}

/* How a run compresses its messages to some of the ranks (coded.c). */
typedef struct tt_coding {
  tt_code code;       /* TT_CODE_NONE: not at all */
  const uint8_t *far; /* far[r] is 1 if messages to and from rank r are coded */
} tt_coding;

typedef struct tt_run tt_run;
typedef struct tt_operation tt_operation;

/* The callback for the `awaits` functions. A step waits for a peer if the peer's data or acknowledgement is missing. The
 * functions call it for each such peer and step until it returns true, and then return true themselves. */
typedef bool tt_awaits_fn(void *ctx, int peer, uint32_t step);

/* A specialized loop, which replaces the steps of a recognised schedule (line.c, arena.c). */
typedef struct tt_loop {
  bool (*fits)(const tt_operation *o);
  tutti_status (*begin)(tt_operation *o);
  bool (*progress)(tt_operation *o);
  bool (*awaits)(const tt_operation *o, tt_awaits_fn *show, void *ctx);
  /* Returns the number of bytes at the start of the result that are final. NULL if no bytes are final before the end. */
  uint64_t (*final)(const tt_operation *o);
} tt_loop;
extern const tt_loop tt_line_loop, tt_arena_loop;

/* The location of a rank's vectors. TT_HERE: in host memory. TT_COMES: on a device, copied to the host in pieces. TT_OFFERED: on
 * a device that can compute the sum if it can access the peers' memory. TT_REACHED: on a device that can access it. */
typedef enum tt_comes { TT_HERE, TT_COMES, TT_OFFERED, TT_REACHED } tt_comes;

/* What a rank publishes, and what it reads from other ranks, in a call that a loop runs. */
typedef struct tt_role {
  bool known;      /* set for this call */
  bool gives;      /* this rank publishes its data */
  tt_peers from;   /* the ranks whose data it reads */
  size_t own;      /* number of elements that this rank publishes */
  size_t slot;     /* size of a slot, in bytes: the most that any rank publishes */
  size_t at, part; /* start and length of its part in the data of each, in elements */
} tt_role;

/* The names under which other ranks can map a rank's vectors (wire.h: export). Each rank writes them to its flag slot. */
typedef struct tt_names {
  uint64_t src, dst, arena; /* 0: the vector goes through the arena */
  uint64_t staging;         /* name of the memory that stands for a device's, of `staged` bytes */
  uint64_t staged;
  uint32_t put; /* number of pieces already put */
  uint8_t in_place;
  uint8_t comes;        /* tt_comes: where its vectors are */
  tt_store_rule stores; /* determines the kind of stores that writes each piece */
} tt_names;

/* How the arena's loop divides a vector into pieces. All ranks divide it in the same way. */
typedef struct tt_cut {
  tt_partition at;
  uint32_t count;
  uint32_t at_once; /* pieces per batch; 1 if any vector goes through an arena */
  uint64_t first;   /* number of the first piece */
  size_t slot;      /* size of each of the `slots` slots of an arena, in bytes */
  uint32_t slots;
  uint64_t slots_from; /* number of the first piece since slots have had this size */
} tt_cut;

/* How a rank gets its result. */
typedef enum tt_gets {
  TT_GETS_COPIES,    /* it copies, or sums, the data that the others publish */
  TT_GETS_WRITTEN,   /* the peers write their sums into its dst */
  TT_GETS_RETURNED,  /* a peer writes its sum over the input that was put there for it */
  TT_GETS_FETCHES,   /* its device fetches the sums from the peers' memory (device_fetch.c) */
  TT_GETS_ON_DEVICES /* the devices of all ranks sum (device_sum.c) */
} tt_gets;

/* The place where a rank's published data stay until all peers have read them. */
typedef enum tt_shows { TT_SHOWS_NOTHING, TT_SHOWS_IN_ARENA, TT_SHOWS_IN_VECTORS } tt_shows;

/* The measured times of a call. */
typedef struct tt_call_cost {
  struct tt_cycles *timed; /* where rank 0 records the time of this call; or NULL */
  uint64_t spent;          /* ticks so far, without the wait for other ranks */
  tt_stores *stores;       /* estimates for vectors of this size that go through arenas */
  uint32_t counted;        /* number of pieces of earlier such vectors */
  tt_spent wrote[TT_STORES], read[TT_STORES];
} tt_call_cost;

/* The state of the arena's loop. Which vectors and arenas the ranks access is decided once the flags of all ranks are set. */
typedef struct tt_pieces {
  tt_shape shape;
  tt_cut cut;
  tt_names mine;
  tt_gets gets;
  tt_shows shows;
  tt_peers readers; /* the ranks that read this rank's vectors */
  int first_given;  /* the first peer whose dst it writes to; number of ranks: none */
  uint32_t done[TT_COUNTERS];
  uint32_t put_by_all; /* pieces that all ranks put before their flags; UINT32_MAX: unknown */
  struct {
    uint64_t target;
    int next; /* all peers before this entry have published at least `target` */
  } seen[TT_COUNTERS];
  struct {
    uint32_t asked; /* number of pieces that it was asked to fetch */
    bool mapped;    /* it can access the vectors of all ranks in this call */
    bool learns;    /* all ranks find out whether their devices can */
    int devices;    /* number of devices with the ranks' vectors, once known */
  } device;
  tt_call_cost cost;
} tt_pieces;

/* The stages of an agreement between the ranks of a host that kernels compute a sum (device_near.c). */
typedef enum tt_near_stage {
  TT_NEAR_SETTLED, /* kernels have computed the sum, or are not used */
  TT_NEAR_SHOWS,
  TT_NEAR_ASKS,
  TT_NEAR_MAPS,
  TT_NEAR_AGREES,
  TT_NEAR_SUMS,
  TT_NEAR_ENDS
} tt_near_stage;
typedef struct tt_near {
  tt_near_stage stage;
  bool kernels;       /* kernels have replaced the first two steps */
  bool tried, summed; /* within a stage: the work before publishing is done */
  uint8_t mapped;
  uint32_t brought; /* slices whose sums are being copied to the host, or have arrived */
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
  int window;          /* window slot, 0 to TT_WINDOW - 1 */
  uint64_t oldest;     /* operations before this number have ended on this rank */
  const tt_loop *loop; /* the loop that runs instead of the program's steps; or NULL */
  bool flag_get;       /* loop: this rank's flag is set */
  const void *own;     /* loop: this rank's own operand */
  uint32_t round;      /* loop: number of flag rounds that are complete */
  int next;            /* loop: entry of the peer whose flag is awaited */
  const void **slots;  /* loop: each entry's flag data; kept for reuse */
  const void **inputs; /* loop: room for as many operands */
  int inputs_capacity;
  tt_role role;
  tt_pieces pieces;
  tt_near near;
  int slices, finished;
  tt_partition slicing; /* division of the vector into slices, in elements */
  tt_run *runs[TT_FLIGHT];
  tutti_status status; /* if not TUTTI_OK, it has failed, with the message in tutti_error */
};

/* Returns the index of the first element in a slice. */
static inline uint64_t tt_slice_at(const tt_operation *o, uint32_t slice) {
  return tt_partition_at(&o->slicing, tt_slice_quarters((uint32_t)o->slices, slice));
}

/* For calls that give each rank a block: tt_block_at returns the index of its first element, tt_block_size its length. */
static inline size_t tt_block_at(const tt_operation *o, int rank) {
  return o->table ? o->table[rank] : o->call.count * (size_t)rank;
}
static inline size_t tt_block_size(const tt_operation *o, int rank) {
  return tt_block_at(o, rank + 1) - tt_block_at(o, rank);
}

/* How calls of one kind are executed. */
typedef struct tt_execution {
  const tt_program *program;
  tt_reducer reducer; /* for the call's type and op */
  int slices;
  /* The shape that runs if no vector has to be copied. It is the program's shape, or a cheaper shape that computes the same sums
   * in the same order. */
  tt_shape if_exported;
  const uint64_t *
      table; /* of a varied call: start of each block, and the end; of alltoallv also those of dst; or NULL */
  tt_coding coding;
} tt_execution;

/* Starts an operation in window slot stamp.seq mod TT_WINDOW, and reuses the memory of earlier operations. Operations
 * before `oldest` have ended on this rank. Fails before anything is sent, with TUTTI_ERR_MEMORY or, if the op was freed,
 * TUTTI_ERR_OP. */
tutti_status tt_operation_begin(tt_operation *o, tt_wire *wire, const tt_execution *how,
                                const tt_call *call, tt_stamp stamp, uint64_t oldest);
/* Repeats the operation that was started last in this slot, with the same plan. The operation must use a loop. */
tutti_status tt_operation_begin_again(tt_operation *o, tt_stamp stamp, uint64_t oldest);
/* Makes as much progress as is possible without waiting. Returns true if anything moved. When the operation has ended, finished
 * == slices. When it has failed, `status` is set. */
bool tt_operation_progress(tt_operation *o);
bool tt_operation_is_over(const tt_operation *o); /* the result is in the caller's buffer */
bool tt_operation_awaits(const tt_operation *o, tt_awaits_fn *show, void *ctx);
void tt_operation_release(tt_operation *o); /* frees the memory kept for reuse */

/* Functions that the loops use (line.c). tt_find_role fills in o->role. tt_flags_begin allocates the tables. tt_flags_ready
 * returns true once n bytes of flag data have arrived from each of these ranks in this round. tt_flags_await reports the ranks
 * whose flags are missing. */
void tt_find_role(tt_operation *o);
/* Returns the first step that receives or, if `receives` is false, that sends. Returns 0 if no step does. */
uint32_t tt_first_step(const tt_operation *o, bool receives);
tutti_status tt_flags_begin(tt_operation *o);
bool tt_flags_ready(tt_operation *o, const tt_peers *peers, size_t n, bool *moved);
bool tt_flags_await(const tt_operation *o, const tt_peers *peers, size_t n, tt_awaits_fn *show,
                    void *ctx);

/* ---- internals of a run (run.c) ---- */

typedef struct tt_cursor { /* a position in a span */
  uint32_t at, end;        /* positions */
  uint64_t used;           /* bytes of the current run of blocks that are done */
} tt_cursor;

struct tt_run {
  const tt_operation *o;
  const tt_program *program;
  int lane, slice;
  uintptr_t base[TT_BUF_COUNT]; /* address of block 0, real or hypothetical */
  uint64_t layer;               /* size of a layer of tmp, in bytes */
  tt_partition partition[TT_BUF_COUNT]; /* division of each buffer into blocks */
  uint32_t left;            /* steps that have not ended */
  uint32_t sent;   /* paced: all messages that this rank sends before this one have ended */
  uint32_t *waits; /* per step: number of steps that it waits for */
  uint32_t *open, nopen;    /* steps that have started */
  struct tt_moving *moving; /* per transfer */
  tt_cursor *own;           /* per step: the own operand */
  uint32_t *turn;           /* per pair: the number of the next message */
  const void **inputs;      /* capacity for the widest reduction */
  void *scratch;
  size_t scratch_bytes;
  size_t capacity; /* size of the allocation at `inputs`, in bytes */
  uint8_t *fresh;  /* per step: it sends numbers not yet rounded; NULL: no errors are kept */
  struct tt_coded **coded; /* per rank: the coder for its messages; or NULL */
  bool active;
};

tutti_status tt_run_begin(tt_run *r, int slice);
bool tt_moving_is_over(const tt_run *r, uint32_t k);
/* tt_share_begin announces the data of this run to a process outside the job (share.c). tt_share_over returns true once that
 * process has all data and this rank has its results, or if no such process exists. It sets *status to TUTTI_ERR_MISMATCH if the
 * ranks made different calls. */
void tt_share_begin(const tt_run *r);
bool tt_share_over(const tt_run *r, tutti_status *status);
bool tt_run_progress(tt_run *r, tutti_status *status);

/* Kernels within a host, and messages between hosts (device_near.c). tt_near_op returns the op of the sums on devices: a
 * mean is summed first, and divided at the end. tt_near_first returns true if kernels can replace the plan's first steps.
 * tt_near_progress makes one pass towards an agreement on this host; slices start once it is settled. tt_near_bring
 * copies sums to host memory, and tt_near_landed returns true once this slice's sum has arrived. tt_near_made returns
 * true if kernels have replaced this step. tt_near_awaits is like tt_operation_awaits. */
tutti_op tt_near_op(const tt_wire *wire, tutti_op op);
bool tt_near_first(const tt_program *program, const tt_wire *wire);
void tt_near_begin(tt_operation *o);
bool tt_near_progress(tt_operation *o);
bool tt_near_bring(tt_operation *o);
bool tt_near_landed(const tt_operation *o, int slice);
bool tt_near_made(tt_run *r, uint32_t step);
bool tt_near_awaits(const tt_operation *o, tt_awaits_fn *show, void *ctx);
/* Marks message k as finished. It is never sent. */
void tt_moving_pass(tt_run *r, uint32_t k);
void tt_run_free(tt_run *r, tt_wire *wire);
bool tt_run_awaits(const tt_run *r, tt_awaits_fn *show, void *ctx);

/* Returns the transport to a peer. Peers with numbers beyond the communicator's ranks are outside the job. */
static inline tt_wire *tt_wire_to(const tt_operation *o, int peer) {
  return peer < o->wire->ranks ? o->wire : o->wire->outside->wire;
}

/* Determines which sends add kept rounding errors to their numbers, if the call keeps them. Returns false if out of memory. */
bool tt_owed_begin(tt_run *r);
/* Rounds n floats as compression would. `owed` has the rounding errors that are kept for these numbers, or is NULL. */
void tt_owed_round(tt_code code, float *x, float *owed, size_t n);
/* Sending and receiving the messages of a run, with or without compression (coded.c). These functions work like those of a
 * channel (wire.h). tt_link_head sets *status if out of memory, or if the received bytes are not a valid code. `owed` has the
 * kept rounding errors, or is NULL. tt_link_came returns true if anything has arrived from a peer. */
size_t tt_link_push(tt_run *r, int peer, const void *bytes, float *owed, size_t n, size_t left,
                    uint64_t *ticket, tutti_status *status);
size_t tt_link_head(tt_run *r, int peer, tt_stamp *stamp, tutti_status *status);
bool tt_link_came(const tt_run *r, int peer);
const void *tt_link_view(tt_run *r, int peer, size_t *n, tutti_status *status);
void tt_link_release(tt_run *r, int peer, size_t n);
void tt_link_expect(tt_run *r, int peer, void *to, size_t n, size_t left);
bool tt_link_pull(tt_run *r, int peer, void *to, size_t n, tutti_status *status);
void tt_link_free(tt_run *r);

/* The order of sends on paced wires (pace.c). tt_pace_allows returns true if message k may be sent now. tt_pace_over records that
 * a message has ended. */
bool tt_pace_allows(const tt_run *r, uint32_t k);
void tt_pace_over(tt_run *r);

#endif
