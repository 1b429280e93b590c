/* price.c - plays the schedules of all ranks against a clock.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "price.h"

#include <stdlib.h>

tt_profile tt_profile_shm(int ranks, double crowd, bool loop) {
  /* With more ranks than cores, a round is a turn of the scheduler for each rank. */
  tt_profile p = {.round = crowd > 1 ? 0.7e-6 * crowd : 0.1e-6,
                  .message = 0.25e-6,
                  .again = 0.25e-6,
                  .beta = 0.03e-9,
                  .gamma = 0.01e-9,
                  .cores = crowd > 1 ? ranks / crowd : ranks};
  if (loop) {
    p.message = 0.08e-6;
    p.again = 0.02e-6;
    p.beta = 0.0145e-9;
    p.published = true;
  }
  return p;
}

/* When the messages of one ordered pair left their sender, in order. */
typedef struct pair {
  double *left;
  uint32_t sent, taken, room;
} pair;

typedef struct player {
  tt_sched *const *all;
  const tt_profile *p;
  int ranks;
  double bytes; /* of the whole vector */
  double *clock;
  double *waited; /* rounds of each rank */
  uint32_t *step;
  double work; /* of all ranks, without waiting */
  pair *pairs; /* [sender * ranks + reader] */
  bool failed;
} player;

static double share_of(const tt_sched *s, const tt_step *step) {
  double blocks = tt_span_size(tt_step_cargo(step));
  return blocks / (step->split ? step->peers.count : 1) / s->blocks;
}

static void busy(player *g, int rank, double time) {
  g->clock[rank] += time;
  g->work += time;
}

static void leave(player *g, int from, int to, double at) {
  pair *x = &g->pairs[from * g->ranks + to];
  if (x->sent == x->room) {
    x->room = x->room ? 2 * x->room : 4;
    double *more = realloc(x->left, x->room * sizeof *more);
    if (!more) {
      g->failed = true;
      return;
    }
    x->left = more;
  }
  x->left[x->sent++] = at;
}

static void play_send(player *g, int rank, const tt_step *step, double bytes) {
  bool first = true;
  for (int i = 0; i < step->peers.count && !g->failed; i++) {
    int peer = tt_peer_rank(&step->peers, i, g->ranks);
    if (peer == rank) continue;
    busy(g, rank, first ? g->p->message : g->p->again);
    if (!g->p->lent && (first || step->split || !g->p->published))
      busy(g, rank, bytes * g->p->beta);
    first = false;
    leave(g, rank, peer, g->clock[rank]);
  }
}

/* False: some message has not been sent yet. */
static bool play_recv(player *g, int rank, const tt_step *step, double bytes) {
  for (int i = 0; i < step->peers.count; i++) {
    int peer = tt_peer_rank(&step->peers, i, g->ranks);
    const pair *x = &g->pairs[peer * g->ranks + rank];
    if (peer != rank && x->taken == x->sent) return false;
  }
  double *now = &g->clock[rank];
  for (int i = 0; i < step->peers.count; i++) {
    int peer = tt_peer_rank(&step->peers, i, g->ranks);
    if (peer == rank) continue;
    pair *x = &g->pairs[peer * g->ranks + rank];
    double left = x->left[x->taken++];
    if (left + g->p->round > *now) *now = left + g->p->round;
  }
  g->waited[rank] += g->p->round;
  for (int i = 0; i < step->peers.count; i++) {
    if (tt_peer_rank(&step->peers, i, g->ranks) == rank) continue;
    busy(g, rank, step->peers.count > 1 ? g->p->again : g->p->message);
    busy(g, rank, bytes * (g->p->beta + (step->kind == TT_RECV_REDUCE ? g->p->gamma : 0)));
  }
  return true;
}

/* As many steps of a rank as can be played now; true if there was one. */
static bool play_rank(player *g, int rank) {
  const tt_sched *s = g->all[rank];
  uint32_t first = g->step[rank];
  for (; g->step[rank] < s->nsteps && !g->failed; g->step[rank]++) {
    const tt_step *step = &s->steps[g->step[rank]];
    double bytes = g->bytes * share_of(s, step);
    if (step->kind == TT_SEND)
      play_send(g, rank, step, bytes);
    else if (tt_step_local(step))
      busy(g, rank, 2 * bytes * g->p->beta + bytes * step->inputs * g->p->gamma);
    else if (!play_recv(g, rank, step, bytes))
      break;
  }
  return g->step[rank] > first;
}

static double play(player *g, double bytes) {
  size_t pairs = (size_t)g->ranks * (size_t)g->ranks;
  double end = 0;
  g->bytes = bytes;
  g->work = 0;
  g->clock = calloc((size_t)g->ranks, sizeof *g->clock);
  g->waited = calloc((size_t)g->ranks, sizeof *g->waited);
  g->step = calloc((size_t)g->ranks, sizeof *g->step);
  g->pairs = calloc(pairs, sizeof *g->pairs);
  g->failed = !g->clock || !g->waited || !g->step || !g->pairs;
  for (bool moved = true; moved && !g->failed;) {
    moved = false;
    for (int r = 0; r < g->ranks; r++) moved |= play_rank(g, r);
  }
  for (int r = 0; r < g->ranks && !g->failed; r++) {
    if (g->step[r] < g->all[r]->nsteps) g->failed = true;
    if (g->clock[r] > end) end = g->clock[r];
    double shared = g->work / g->p->cores + g->waited[r];
    if (shared > end) end = shared;
  }
  for (size_t i = 0; g->pairs && i < pairs; i++) free(g->pairs[i].left);
  free(g->clock);
  free(g->waited);
  free(g->step);
  free(g->pairs);
  return end;
}

bool tt_price(tt_sched *const *all, int ranks, const tt_profile *profile, tt_line *line) {
  const double vector = 1 << 20;
  player g = {.all = all, .p = profile, .ranks = ranks};
  line->fixed = play(&g, 0);
  if (g.failed) return false;
  line->slope = (play(&g, vector) - line->fixed) / vector;
  return !g.failed;
}
