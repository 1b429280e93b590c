/* schedule.h - a schedule: what one rank does, as data.
 *
 * Idea       steps on block spans of three symbolic buffers. No addresses, tags,
 *            counts or types: one schedule serves every size.
 * Spans      block i of a span, i = repeat_index * count + k, is
 *              base + stride * ((first + k) mod ring + ring * repeat_index),
 *            a range with at most one wrap, repeated for product groups.
 * Buffers    src and dst have `blocks` blocks. tmp block t is as large as block
 *            t mod `blocks`, so tmp consists of layers of the vector's shape. In place,
 *            src is always called dst.
 * Peers      a range of ranks; an entry that is the rank itself is skipped.
 *            Split: the i-th entry of the range has the i-th part of the span.
 *            Not split: all have the whole span (several readers, or inputs).
 * Order      a step may start when all steps of its `after` list have ended. A
 *            send holds its span from its start until every reader has consumed it.
 * Matching   the k-th send from a to b, in the order of the steps, matches the
 *            k-th receive on b from a.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SCHEDULE_H
#define TT_SCHEDULE_H

#include "core.h"
#include "partition.h"

typedef enum tt_buf { TT_SRC, TT_DST, TT_TMP, TT_BUF_COUNT } tt_buf;
extern const char *const tt_buf_names[TT_BUF_COUNT]; /* src, dst, tmp (text.c) */

typedef struct tt_span {
  uint32_t buf;
  uint32_t base, first, count, ring, stride, repeat;
} tt_span;

typedef enum tt_kind {
  TT_SEND,        /* src -> peers */
  TT_RECV,        /* dst = in */
  TT_RECV_REDUCE, /* dst = own op in, for the inputs of all peers in one pass */
  TT_COPY,        /* dst = own */
  TT_REDUCE,      /* dst = own op in0 op in1 ..., local inputs */
  TT_KIND_COUNT
} tt_kind;

/* The position of the rank's own operand among the inputs. */
typedef enum tt_side {
  TT_OWN_FIRST,
  TT_OWN_LAST,
  TT_OWN_AMONG /* at the position of the rank's own entry in the peer range */
} tt_side;

typedef struct tt_peers {
  int32_t first, count, stride; /* ranks (first + i * stride) mod P */
} tt_peers;

typedef struct tt_step {
  uint8_t kind;      /* tt_kind */
  uint8_t side;      /* tt_side, for TT_RECV_REDUCE */
  uint8_t split;     /* each peer has its own part */
  uint8_t completes; /* the result is the complete sum: avg divides here */
  tt_peers peers;
  tt_span dst;      /* written; unused by sends */
  tt_span own;      /* read: a send's span, a copy's source, the own operand */
  tt_span in;       /* TT_REDUCE: the first input */
  uint32_t inputs;  /* number of inputs */
  uint32_t in_step; /* blocks from one input to the next */
} tt_step;

typedef struct tt_sched {
  char *name; /* algorithm and parameters */
  tutti_coll coll;
  int ranks, rank, root;
  int data; /* lower ranks bring data and get results; the others only help */
  bool in_place;
  uint32_t blocks, tmp_blocks;
  uint32_t nsteps;
  tt_step *steps;
  uint32_t *after_at; /* nsteps + 1 offsets into `after` */
  uint32_t *after;    /* the steps that each step waits for, ascending, all earlier */
} tt_sched;

void tt_sched_free(tt_sched *s);
bool tt_sched_equal(const tt_sched *a, const tt_sched *b);

/* ---- spans (span.c) ---- */

tt_span tt_block(tt_buf buf, uint32_t block);
/* `count` blocks from `first`, wrapping at `ring`. */
tt_span tt_range(tt_buf buf, uint32_t first, uint32_t count, uint32_t ring);
/* The same blocks in layer `layer` of tmp; a layer has `blocks` blocks. */
tt_span tt_layer(tt_span span, uint32_t layer, uint32_t blocks);
/* Normalizes a list of blocks: without a wrap, base is 0 and ring is first + count. */
void tt_span_tidy(tt_span *span);
static inline uint32_t tt_span_size(const tt_span *s) {
  return s->count * s->repeat;
}
static inline uint32_t tt_span_block(const tt_span *s, uint32_t i) {
  const uint32_t ring = s->repeat == 1 ? 0 : i / s->count; /* avoids a slow division */
  uint32_t k = s->first + i - ring * s->count;
  if (k >= s->ring) k -= s->ring;
  return s->base + s->stride * (k + s->ring * ring);
}
/* Is every block of b `by` blocks after that of a, in the same buffer? */
bool tt_span_shifted(const tt_span *a, const tt_span *b, uint32_t by);
/* The length of the run of neighbouring blocks that starts at position i, at most to `end`. */
uint32_t tt_span_run(const tt_span *s, uint32_t i, uint32_t end);

/* ---- peers (span.c) ---- */

static inline tt_peers tt_peer(int rank) {
  return (tt_peers){rank, 1, 1};
}
static inline int tt_peer_rank(const tt_peers *p, int i, int ranks) {
  return tt_mod((int64_t)p->first + (int64_t)i * p->stride, ranks);
}
/* The entry that the i-th message goes to: a rank that is in the range itself begins after its own
 * entry, so that not all ranks begin with the same peer. */
int tt_send_turn(const tt_sched *s, const tt_step *step, int i);
/* Positions [lo, hi) of the step's message span that belong to entry i. */
void tt_part_of(const tt_step *step, int i, uint32_t *lo, uint32_t *hi);
/* The positions of a split step's span that belong to the rank itself: these are neither sent nor
 * received, neither read nor written. None: (0, 0). */
typedef struct tt_gap {
  uint32_t lo, hi;
} tt_gap;
tt_gap tt_self_part(const tt_sched *s, const tt_step *step);
/* The span whose blocks are sent or received: a send's own, a receive's dst. */
static inline const tt_span *tt_step_cargo(const tt_step *step) {
  return step->kind == TT_SEND ? &step->own : &step->dst;
}
static inline bool tt_step_receives(const tt_step *step) {
  return step->kind == TT_RECV || step->kind == TT_RECV_REDUCE;
}
static inline bool tt_step_local(const tt_step *step) {
  return step->kind == TT_COPY || step->kind == TT_REDUCE;
}
/* The spans that a step reads: its own operand, unless it only receives, then its inputs. */
static inline uint32_t tt_step_operands(const tt_step *step) {
  return step->kind == TT_RECV ? 0 : 1 + (step->kind == TT_REDUCE ? step->inputs : 0);
}
static inline tt_span tt_step_operand(const tt_step *step, uint32_t k) {
  tt_span span = k ? step->in : step->own;
  if (k) span.base += (k - 1) * step->in_step;
  return span;
}

/* ---- builder (build.c): for algorithms ---- */

typedef struct tt_builder {
  tt_sched *s;
  uint32_t capacity;
  tutti_status status; /* sticky */
  const char *refused; /* why it cannot be built, if TUTTI_ERR_UNSUPPORTED */
} tt_builder;

/* `in_place` is ignored if a rank has only one of src and dst. */
void tt_build_begin(tt_builder *b, const char *name, tutti_coll coll, int ranks, int rank, int root,
                    bool in_place, uint32_t blocks);
/* Ranks `data` and above only help: they have only tmp. */
void tt_build_data(tt_builder *b, int data);
/* Cuts the vector into another number of blocks; before the first step. */
void tt_build_cut(tt_builder *b, uint32_t blocks);
/* Ends: it cannot be built. The text is static or the thread's (tt_thread_text). */
void tt_build_refuse(tt_builder *b, const char *why);
/* Derives the dependencies and returns the schedule; NULL: the builder's status says why. */
tt_sched *tt_build_end(tt_builder *b);

void tt_send(tt_builder *b, int peer, tt_span what);
void tt_send_all(tt_builder *b, tt_peers to, tt_span what);   /* several readers */
void tt_send_split(tt_builder *b, tt_peers to, tt_span what); /* a part each */
void tt_recv(tt_builder *b, int peer, tt_span dst);
void tt_recv_split(tt_builder *b, tt_peers from, tt_span dst);
void tt_recv_reduce(tt_builder *b, int peer, tt_span dst, tt_span own, tt_side side);
void tt_recv_reduce_all(tt_builder *b, tt_peers from, tt_span dst, tt_span own, tt_side side);
void tt_copy(tt_builder *b, tt_span dst, tt_span from);
void tt_reduce_local(tt_builder *b, tt_span dst, tt_span left, tt_span right);
/* The last step written yields complete sums, if the collective has them. */
void tt_mark_completes(tt_builder *b);
/* Appends a step unchanged (for the parser and mutants). */
void tt_build_step(tt_builder *b, const tt_step *step);
/* Interleaves `parts` parts of equal length, on disjoint blocks; part k is the steps from[k] .. from[k + 1] - 1, and the
 * last part ends with the last step. The first steps of all parts come first, then the second ones, and so on, because
 * messages of a pair leave in the order of the steps. */
void tt_build_weave(tt_builder *b, const uint32_t *from, int parts);
/* Makes *array, which has *capacity items of this size, large enough for n. False: out of memory,
 * and it stays as it is. `array` is the address of a pointer. */
bool tt_grow(void *array, uint32_t *capacity, uint32_t n, size_t size);

/* The other way round: the steps that wait for each step, ascending, for the schedules of n ranks,
 * whose steps are numbered one rank after the other. There is an offset for each step and for the
 * end; the caller frees both. False: out of memory. */
bool tt_sched_followers(tt_sched *const *all, int n, uint32_t **at, uint32_t **followers);
/* Fills in after_at and after, from the blocks that the steps read and write. */
tutti_status tt_derive_order(tt_sched *s);

/* ---- input and result of a collective (coll.c) ---- */

/* Blocks [lo, hi) of src that hold this rank's input; of dst that it may write and that must hold
 * results at the end. Empty if lo == hi. */
void tt_coll_src(const tt_sched *s, uint32_t *lo, uint32_t *hi);
void tt_coll_dst(const tt_sched *s, uint32_t *lo, uint32_t *hi);
/* What dst's block must hold at the end, if the rank gets it: the sum of `block` of src over ranks
 * first .. end - 1. */
typedef struct tt_wanted {
  int first, end;
  uint32_t block;
} tt_wanted;
tt_wanted tt_coll_wanted(const tt_sched *s, uint32_t block);
bool tt_coll_reduces(tutti_coll coll);
bool tt_coll_rooted(tutti_coll coll);
/* Each rank gets the sum over other ranks, so no sum is ever complete. */
bool tt_coll_prefix(tutti_coll coll);
/* False for the first rank of a sum over the ranks below. */
bool tt_coll_has_result(tutti_coll coll, int rank);
/* There is one block for each rank (reduce-scatter, all-gather, etc.): blocks == ranks. */
bool tt_coll_owned(tutti_coll coll);
/* All blocks have one size, so that they may trade places. */
bool tt_coll_alike(tutti_coll coll);

/* ---- text (text.c, parse.c) ---- */

/* The length of a text up to one of `stops` that is not inside parentheses, or to its end. */
size_t tt_text_until(const char *text, const char *stops);

typedef struct tt_text { /* growing string */
  char *at;
  size_t length, capacity;
  bool failed;
} tt_text;
void tt_text_add(tt_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tt_step_print(tt_text *t, const tt_sched *s, uint32_t i);
/* A header line and the given ranks' steps. */
void tt_sched_print(tt_text *t, const tt_sched *const *all, int n);
/* Parses the text of tt_sched_print or of a person: up to `ranks` schedules, NULL for ranks that
 * are not in the text. Errors name line and column. */
tutti_status tt_sched_parse(const char *text, tt_sched ***all, int *ranks);
void tt_sched_free_all(tt_sched **all, int ranks);

/* ---- slices (slice.c) ---- */

/* A schedule of `slices` copies of s, each on its own part of the vector and with its own tmp, at most `flight`
 * in parallel: the execution of the engine, written out for the prover. */
tt_sched *tt_sched_sliced(const tt_sched *s, int slices, int flight);

#endif
