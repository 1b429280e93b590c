/* schedule.h - a schedule: the actions of one rank, as data.
 *
 * Idea       Steps on block spans of three symbolic buffers. A schedule has no addresses, tags, counts or types, so it
 *            can be used for every size.
 * Spans      block i of a span, i = repeat_index * count + k, is
 *              base + stride * ((first + k) mod ring + ring * repeat_index),
 *            a range with at most one wrap, repeated for product groups.
 * Buffers    src and dst have `blocks` blocks. tmp block t is as large as block
 *            t mod `blocks`, so tmp consists of layers of the vector's shape. In place,
 *            src is always called dst.
 * Peers      A range of ranks. An entry that is the rank itself is skipped. If `split` is set, the i-th entry of the
 *            range has the i-th part of the span; otherwise each entry has the whole span (several readers, or inputs).
 * Order      A step may start when all steps in its `after` list have ended. A send step does not end, and its span must
 *            not change, until every reader has consumed the span.
 * Matching   The k-th send from a to b, in the order of the steps of a, matches the k-th receive from a on b.
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

/* The position of the rank's operand among the inputs. */
typedef enum tt_side {
  TT_OWN_FIRST,
  TT_OWN_LAST,
  TT_OWN_AMONG /* at the position of the rank's entry in the peer range */
} tt_side;

typedef struct tt_peers {
  int32_t first, count, stride; /* ranks (first + i * stride) mod P */
} tt_peers;

typedef struct tt_step {
  uint8_t kind;      /* tt_kind */
  uint8_t side;      /* tt_side, for TT_RECV_REDUCE */
  uint8_t split;     /* each peer has a separate part */
  uint8_t completes; /* the result is the complete sum, which avg divides */
  tt_peers peers;
  tt_span dst;      /* written span; unused by sends */
  tt_span own;      /* read span: data of a send, source of a copy, own operand of a reduction */
  tt_span in;       /* first input of a TT_REDUCE */
  uint32_t inputs;  /* number of inputs */
  uint32_t in_step; /* distance of two inputs, in blocks */
} tt_step;

typedef struct tt_sched {
  char *name; /* of the plan: algorithm and parameters */
  tutti_coll coll;
  int ranks, rank, root;
  int data; /* ranks below `data` contribute data and receive results; the others only help */
  bool in_place;
  uint32_t blocks, tmp_blocks;
  uint32_t nsteps;
  tt_step *steps;
  uint32_t *after_at; /* nsteps + 1 offsets into `after` */
  uint32_t *after;    /* earlier steps that each step waits for, in ascending order */
} tt_sched;

void tt_sched_free(tt_sched *s);
bool tt_sched_equal(const tt_sched *a, const tt_sched *b);

/* ---- spans (span.c) ---- */

tt_span tt_block(tt_buf buf, uint32_t block);
/* Returns a span of `count` blocks. It starts at block `first`, and after block `ring` - 1 it continues with block 0. */
tt_span tt_range(tt_buf buf, uint32_t first, uint32_t count, uint32_t ring);
/* Returns a span of the same blocks in a different layer of tmp. Each layer has `blocks` blocks. */
tt_span tt_layer(tt_span span, uint32_t layer, uint32_t blocks);
/* Normalizes a span that does not wrap, by setting base to 0 and ring to first + count. */
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
/* Returns true if each block of span b is `by` blocks after the corresponding block of a, in the same buffer. */
bool tt_span_shifted(const tt_span *a, const tt_span *b, uint32_t by);
/* Returns the number of neighbouring blocks in the span from position i up, at most up to position `end`. */
uint32_t tt_span_run(const tt_span *s, uint32_t i, uint32_t end);

/* ---- peers (span.c) ---- */

static inline tt_peers tt_peer(int rank) {
  return (tt_peers){rank, 1, 1};
}
static inline int tt_peer_rank(const tt_peers *p, int i, int ranks) {
  return tt_mod((int64_t)p->first + (int64_t)i * p->stride, ranks);
}
/* Returns the index of the peer that gets the i-th message. A rank that is one of the peers starts with the next peer,
 * so that ranks do not all send to the same peer first. */
int tt_send_turn(const tt_sched *s, const tt_step *step, int i);
/* Computes which positions [lo, hi) of a step's message are for peer i. */
void tt_part_of(const tt_step *step, int i, uint32_t *lo, uint32_t *hi);
/* The positions of a split step's span that belong to this rank. They are not sent, received, read or written. If there
 * are none, both fields are 0. */
typedef struct tt_gap {
  uint32_t lo, hi;
} tt_gap;
tt_gap tt_self_part(const tt_sched *s, const tt_step *step);
/* Returns the span that a step transfers: `own` for a send, `dst` for a receive. */
static inline const tt_span *tt_step_cargo(const tt_step *step) {
  return step->kind == TT_SEND ? &step->own : &step->dst;
}
static inline bool tt_step_receives(const tt_step *step) {
  return step->kind == TT_RECV || step->kind == TT_RECV_REDUCE;
}
static inline bool tt_step_local(const tt_step *step) {
  return step->kind == TT_COPY || step->kind == TT_REDUCE;
}
/* tt_step_operands returns how many spans a step reads, and tt_step_operand the k-th of them: its own operand, except for
 * TT_RECV, followed by its inputs. */
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
  const char *refused; /* the reason, if status is TUTTI_ERR_UNSUPPORTED */
} tt_builder;

/* Starts a schedule. `in_place` is ignored on ranks that do not have both src and dst. */
void tt_build_begin(tt_builder *b, const char *name, tutti_coll coll, int ranks, int rank, int root,
                    bool in_place, uint32_t blocks);
/* Declares that ranks `data` and above do not contribute data. They only help, and their only buffer is tmp. */
void tt_build_data(tt_builder *b, int data);
/* Changes the number of blocks that the vector is divided into. Must be called before the first step is added. */
void tt_build_cut(tt_builder *b, uint32_t blocks);
/* Stops building because the schedule is not possible. `why` must be a constant string or from tt_thread_text. */
void tt_build_refuse(tt_builder *b, const char *why);
/* Computes the dependencies and returns the schedule. If this fails, returns NULL, and the builder's status is the error. */
tt_sched *tt_build_end(tt_builder *b);

void tt_send(tt_builder *b, int peer, tt_span what);
void tt_send_all(tt_builder *b, tt_peers to, tt_span what);   /* for several readers */
void tt_send_split(tt_builder *b, tt_peers to, tt_span what); /* one part for each reader */
void tt_recv(tt_builder *b, int peer, tt_span dst);
void tt_recv_split(tt_builder *b, tt_peers from, tt_span dst);
void tt_recv_reduce(tt_builder *b, int peer, tt_span dst, tt_span own, tt_side side);
void tt_recv_reduce_all(tt_builder *b, tt_peers from, tt_span dst, tt_span own, tt_side side);
void tt_copy(tt_builder *b, tt_span dst, tt_span from);
void tt_reduce_local(tt_builder *b, tt_span dst, tt_span left, tt_span right);
/* Marks the last step as the one that completes sums. Has no effect if the collective has no sums. */
void tt_mark_completes(tt_builder *b);
/* Appends a step unchanged (for the parser and mutants). */
void tt_build_step(tt_builder *b, const tt_step *step);
/* Interleaves `parts` parts of the schedule, which have equal lengths and use different blocks. Part k has steps
 * from[k] .. from[k + 1] - 1, and the last part ends with the last step. First come the first steps of all parts, then
 * the second steps, and so on, because messages between two ranks are sent in the order of the steps. */
void tt_build_weave(tt_builder *b, const uint32_t *from, int parts);
/* Enlarges an array of *capacity items to at least n items of the given size. `array` is the address of the pointer to
 * the array. Returns false if out of memory, and leaves the array unchanged. */
bool tt_grow(void *array, uint32_t *capacity, uint32_t n, size_t size);

/* For each step of n schedules, lists the steps that wait for it, in ascending order. Steps are numbered rank by rank.
 * *at has the offset of each step's list and a final offset for the end. The caller frees both arrays. Returns false if
 * out of memory. */
bool tt_sched_followers(tt_sched *const *all, int n, uint32_t **at, uint32_t **followers);
/* Computes after_at and after, the dependencies of steps, from the blocks that they read and write. */
tutti_status tt_derive_order(tt_sched *s);

/* ---- input and result of a collective (coll.c) ---- */

/* tt_coll_src computes the blocks [lo, hi) of src that have the input of this rank. tt_coll_dst computes the blocks of
 * dst that the rank may write and that have its result at the end. An empty range has lo == hi. */
void tt_coll_src(const tt_sched *s, uint32_t *lo, uint32_t *hi);
void tt_coll_dst(const tt_sched *s, uint32_t *lo, uint32_t *hi);
/* The required result of a block in dst, on a rank that has a result: the sum of block `block` in src over ranks first
 * to end - 1. */
typedef struct tt_wanted {
  int first, end;
  uint32_t block;
} tt_wanted;
tt_wanted tt_coll_wanted(const tt_sched *s, uint32_t block);
bool tt_coll_reduces(tutti_coll coll);
bool tt_coll_rooted(tutti_coll coll);
/* Returns true if each rank receives a sum over some of the ranks only. Such a collective has no complete sums. */
bool tt_coll_prefix(tutti_coll coll);
/* Returns false if the rank has no result. This is the first rank, if each rank receives the sum of the ranks below it. */
bool tt_coll_has_result(tutti_coll coll, int rank);
/* Returns true if every rank owns one block, as in reduce-scatter and all-gather. There are then as many blocks as ranks. */
bool tt_coll_owned(tutti_coll coll);
/* Returns true if all blocks of the collective have the same size, which makes them interchangeable. */
bool tt_coll_alike(tutti_coll coll);

/* ---- text (text.c, parse.c) ---- */

/* Returns the length of a text up to the first character in `stops`, ignoring characters in parentheses. If there is
 * none, returns the length of the whole text. */
size_t tt_text_until(const char *text, const char *stops);

typedef struct tt_text { /* a string that grows */
  char *at;
  size_t length, capacity;
  bool failed;
} tt_text;
void tt_text_add(tt_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tt_step_print(tt_text *t, const tt_sched *s, uint32_t i);
/* Prints a header line and the steps of the given ranks. */
void tt_sched_print(tt_text *t, const tt_sched *const *all, int n);
/* Parses the text of schedules, either from tt_sched_print or written by a person. Stores an array of *ranks schedules, which
 * tt_sched_free_all frees. It has NULL for each rank that is not in the text. Error messages contain the line and column. */
tutti_status tt_sched_parse(const char *text, tt_sched ***all, int *ranks);
void tt_sched_free_all(tt_sched **all, int ranks);

/* ---- slices (slice.c) ---- */

/* Creates a schedule that runs s on each of `slices` slices of the vector, with separate blocks of tmp. At most `flight` slices
 * are in progress at the same time. The engine executes slices in this way, and the prover checks the expanded schedule. */
tt_sched *tt_sched_sliced(const tt_sched *s, int slices, int flight);

#endif
