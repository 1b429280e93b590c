/* recognise.c - recognises schedules that have a dedicated loop.
 *
 * Idea       Build the schedule that the loop executes and compare: if the two are equal, step for
 *            step, what was proven of one holds for the other. Names are not considered. One rank's
 *            schedule alone is not enough: a leaf of a tree has the same steps as a rank in naive.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "engine.h"

static void lift_one_shot(tt_builder *b, const tt_sched *like) {
  const tt_peers all = {0, like->ranks, 1};
  const tt_span src = tt_block(TT_SRC, 0), dst = tt_block(TT_DST, 0);
  const tt_span sum = like->in_place ? tt_block(TT_TMP, 0) : dst;
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
  tt_send_all(b, all, tt_block(TT_DST, own));
  tt_recv_split(b, all, tt_range(TT_DST, 0, P, P));
}

/* Ranks that differ in one digit are a group, the lowest digit first. How many values each digit has, and
 * where the sums are kept, is as in `like`. */
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
  if (like->rank == 0) {
    tt_recv_reduce_all(b, all, dst, src, TT_OWN_AMONG);
    tt_mark_completes(b);
    tt_send_all(b, all, dst);
  } else {
    tt_send(b, 0, src);
    tt_recv(b, 0, dst);
  }
}

static const struct {
  void (*lift)(tt_builder *b, const tt_sched *like);
  bool blocks; /* one per rank */
} shapes[] = {[TT_SHAPE_ONE_SHOT] = {lift_one_shot, false},
              [TT_SHAPE_ROUNDS] = {lift_rounds, false},
              [TT_SHAPE_TWO_SHOT] = {lift_two_shot, true},
              [TT_SHAPE_NAIVE] = {lift_naive, false}};

static bool has_loop_for(tt_shape shape, const tt_sched *like) {
  const bool line = shape == TT_SHAPE_ONE_SHOT || shape == TT_SHAPE_ROUNDS;
  if (shape == TT_SHAPE_NONE || like->blocks != (shapes[shape].blocks ? (uint32_t)like->ranks : 1))
    return false;
  return like->coll == TUTTI_ALLREDUCE || (line && like->coll == TUTTI_BARRIER);
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

tutti_status tt_has_loop(tt_sched *const *scheds, int n, uint64_t *most) {
  tt_shape shape;
  const tutti_status status = tt_shape_of(scheds, n, &shape);
  *most = shape == TT_SHAPE_NONE     ? 0
          : shape == TT_SHAPE_ROUNDS ? tt_later_bytes(scheds[0]->ranks)
                                     : UINT64_MAX;
  return status;
}
