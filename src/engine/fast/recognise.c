/* recognise.c - recognises schedules that have a dedicated loop.
 *
 * Idea       The schedule that the loop executes is built and compared. If the two are equal, step for step, what was proven
 *            of one holds for the other. Names are not compared. The schedule of one rank is not enough: a leaf of a tree
 *            has the same steps as a rank in naive.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "engine.h"

/* Every rank publishes its vector, or its block, and reads those of all others. */
static void lift_one_shot(tt_builder *b, const tt_sched *like) {
  const tt_peers all = {0, like->ranks, 1};
  const uint32_t P = (uint32_t)like->ranks, own = (uint32_t)like->rank;
  const tt_span src = tt_block(TT_SRC, 0), dst = tt_block(TT_DST, 0);
  const tt_span sum = like->in_place ? tt_block(TT_TMP, 0) : dst;
  if (like->coll == TUTTI_ALLGATHER) {
    tt_send_all(b, all, tt_block(TT_SRC, own));
    tt_copy(b, tt_block(TT_DST, own), tt_block(TT_SRC, own));
    tt_recv_split(b, all, tt_range(TT_DST, 0, P, P));
    return;
  }
  tt_send_all(b, all, src);
  tt_recv_reduce_all(b, all, sum, src, TT_OWN_AMONG);
  tt_mark_completes(b);
  if (like->in_place) tt_copy(b, dst, sum); /* a flag slot serves as this tmp */
}

static void lift_two_shot(tt_builder *b, const tt_sched *like) {
  const uint32_t P = (uint32_t)like->ranks, own = (uint32_t)like->rank;
  const tt_peers all = {0, like->ranks, 1};
  tt_send_split(b, all, tt_range(TT_SRC, 0, P, P));
  tt_recv_reduce_all(b, all, tt_block(TT_DST, own), tt_block(TT_SRC, own), TT_OWN_AMONG);
  tt_mark_completes(b);
  if (like->coll == TUTTI_REDUCE_SCATTER) return;
  tt_send_all(b, all, tt_block(TT_DST, own));
  tt_recv_split(b, all, tt_range(TT_DST, 0, P, P));
}

/* Ranks that differ in one digit form a group, the lowest digit first. The number of values of each digit, and the
 * location of the sums, are taken from `like`. */
static void lift_rounds(tt_builder *b, const tt_sched *like) {
  const uint32_t rounds = like->nsteps / 2;
  tt_span have = tt_block(TT_SRC, 0);
  int apart = 1;
  for (uint32_t i = 0; i < rounds && i < TT_ROUNDS; i++) {
    const tt_step *step = &like->steps[2 * i + 1];
    const int n = step->peers.count;
    if (step->kind != TT_RECV_REDUCE || n < 2 || n > like->ranks / apart) return;
    const tt_peers group = {like->rank - like->rank / apart % n * apart, n, apart};
    tt_send_all(b, group, have);
    tt_recv_reduce_all(b, group, tt_block((tt_buf)step->dst.buf, step->dst.first), have,
                       TT_OWN_AMONG);
    have = step->dst;
    apart *= n;
  }
  if (apart != like->ranks || (like->nsteps % 2 == 0 && have.buf != TT_DST)) return;
  tt_mark_completes(b);
  if (like->nsteps % 2) tt_copy(b, tt_block(TT_DST, 0), have);
}

static void lift_naive(tt_builder *b, const tt_sched *like) {
  const tt_peers all = {0, like->ranks, 1};
  const tt_span src = tt_block(TT_SRC, 0), dst = tt_block(TT_DST, 0);
  const bool sums = like->coll != TUTTI_BROADCAST, answers = like->coll != TUTTI_REDUCE;
  if (like->rank == like->root) {
    if (sums) tt_recv_reduce_all(b, all, dst, src, TT_OWN_AMONG);
    if (sums) tt_mark_completes(b);
    if (answers) tt_send_all(b, all, sums ? dst : src);
    if (!sums) tt_copy(b, dst, src);
  } else {
    if (sums) tt_send(b, like->root, src);
    if (answers) tt_recv(b, like->root, dst);
  }
}

/* Sends each block directly to its receiver. In place, blocks from lower ranks are kept in tmp until this rank's blocks
 * have been sent; a flag slot serves as this tmp. */
static void lift_exchange_in_place(tt_builder *b, const tt_sched *like) {
  const uint32_t P = (uint32_t)like->ranks, own = (uint32_t)like->rank;
  const tt_peers lower = {0, like->rank, 1},
                 higher = {like->rank + 1, like->ranks - like->rank - 1, 1};
  const tt_span from_lower = tt_range(TT_DST, 0, own, P), aside = tt_range(TT_TMP, 0, own, P);
  const tt_span from_higher = tt_range(TT_DST, own + 1, P - own - 1, P);
  if (higher.count) tt_send_split(b, higher, from_higher);
  if (lower.count) tt_send_split(b, lower, from_lower);
  if (lower.count) tt_recv_split(b, lower, aside);
  if (higher.count) tt_recv_split(b, higher, from_higher);
  if (lower.count) tt_copy(b, from_lower, aside);
}

static void lift_direct(tt_builder *b, const tt_sched *like) {
  const uint32_t P = (uint32_t)like->ranks, own = (uint32_t)like->rank;
  const tt_peers all = {0, like->ranks, 1};
  const bool root = like->rank == like->root || like->coll == TUTTI_ALLTOALL;
  if (like->coll == TUTTI_ALLTOALL && like->in_place) {
    lift_exchange_in_place(b, like);
    return;
  }
  if (!root && like->coll == TUTTI_GATHER) tt_send(b, like->root, tt_block(TT_SRC, own));
  if (!root && like->coll == TUTTI_SCATTER) tt_recv(b, like->root, tt_block(TT_DST, own));
  if (!root) return;
  if (like->coll != TUTTI_GATHER) tt_send_split(b, all, tt_range(TT_SRC, 0, P, P));
  tt_copy(b, tt_block(TT_DST, own), tt_block(TT_SRC, own));
  if (like->coll != TUTTI_SCATTER) tt_recv_split(b, all, tt_range(TT_DST, 0, P, P));
}

#define IN(coll) (1u << TUTTI_##coll)
static const struct {
  void (*lift)(tt_builder *b, const tt_sched *like);
  unsigned whole, blocks; /* collectives with one block for the vector; with a block per rank */
} shapes[] = {[TT_SHAPE_ONE_SHOT] = {lift_one_shot, IN(ALLREDUCE) | IN(BARRIER), IN(ALLGATHER)},
              [TT_SHAPE_ROUNDS] = {lift_rounds, IN(ALLREDUCE) | IN(BARRIER), 0},
              [TT_SHAPE_TWO_SHOT] = {lift_two_shot, 0, IN(ALLREDUCE) | IN(REDUCE_SCATTER)},
              [TT_SHAPE_NAIVE] = {lift_naive, IN(ALLREDUCE) | IN(BROADCAST) | IN(REDUCE), 0},
              [TT_SHAPE_DIRECT] = {lift_direct, 0, IN(GATHER) | IN(SCATTER) | IN(ALLTOALL)}};

static bool has_loop_for(tt_shape shape, const tt_sched *like) {
  if (shape == TT_SHAPE_NONE || like->data < like->ranks) return false;
  const bool whole = shapes[shape].whole >> like->coll & 1;
  return (whole || shapes[shape].blocks >> like->coll & 1) &&
         like->blocks == (whole ? 1 : (uint32_t)like->ranks);
}

tt_sched *tt_shape_lift(tt_shape shape, const tt_sched *like) {
  if (!has_loop_for(shape, like)) return NULL;
  tt_builder b;
  tt_build_begin(&b, like->name, like->coll, like->ranks, like->rank, like->root, like->in_place,
                 like->blocks);
  if (!b.status) shapes[shape].lift(&b, like);
  return tt_build_end(&b);
}

static tutti_status compare_with_loop(tt_shape shape, tt_sched *const *scheds, int n, bool *same) {
  *same = true;
  for (int i = 0; i < n && *same; i++) {
    *same = has_loop_for(shape, scheds[i]);
    if (!*same) break;
    tt_sched *lifted = tt_shape_lift(shape, scheds[i]);
    if (!lifted)
      return tt_fail(TUTTI_ERR_MEMORY, "out of memory to see whether %s has a loop",
                     scheds[0]->name);
    *same = tt_sched_equal(lifted, scheds[i]);
    tt_sched_free(lifted);
  }
  return TUTTI_OK;
}

tutti_status tt_shape_of(tt_sched *const *scheds, int n, tt_shape *shape) {
  tutti_status status = TUTTI_OK;
  bool same = false;
  *shape = TT_SHAPE_NONE;
  if (scheds[0]->ranks == 1) return TUTTI_OK;
  for (int s = TT_SHAPE_NONE + 1; s < TT_SHAPE_COUNT && !same && !status; s++) {
    status = compare_with_loop((tt_shape)s, scheds, n, &same);
    if (same && !status) *shape = (tt_shape)s;
  }
  return status;
}

/* Returns the largest vector, in bytes, that line.c runs, for the collectives that have no other loop. */
static uint64_t most_in_line(tutti_coll coll, int ranks) {
  return coll == TUTTI_GATHER ? (uint64_t)ranks * TT_FLAG_BYTES /* a slot has one block */
                              : TT_FLAG_BYTES;
}

tutti_status tt_has_loop(tt_sched *const *scheds, int n, uint64_t *most) {
  tt_shape shape;
  const tt_sched *s = scheds[0];
  const tutti_status status = tt_shape_of(scheds, n, &shape);
  *most = shape == TT_SHAPE_NONE     ? 0
          : shape == TT_SHAPE_ROUNDS ? tt_later_bytes(s->ranks)
          : shape == TT_SHAPE_DIRECT ? most_in_line(s->coll, s->ranks)
                                     : UINT64_MAX;
  return status;
}
