/* test_pairs.c - messages between two ranks are sent in the order of their steps. In no schedule does a message
 * wait long for an earlier one that its data does not depend on. Such a wait would serialize links that the
 * estimate counts as busy simultaneously.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>

#include "algo.h"
#include "by_name.h"

enum { MOST = 16, EACH = 12 };

/* A message: its step on the sender and on the receiver, and when it is sent and received, in messages since
 * the start. */
typedef struct message {
  uint32_t from, to;
  int leaves, taken;
} message;

typedef struct game {
  tt_sched **all;
  int ranks;
  message *message[MOST][MOST]; /* by sender and reader, in order */
  uint32_t sent[MOST][MOST], read[MOST][MOST], capacity[MOST][MOST];
  int *end[MOST]; /* per step */
} game;

static void note(game *g, int from, int to, uint32_t step, bool reads) {
  uint32_t *n = reads ? &g->read[from][to] : &g->sent[from][to];
  assert_true(tt_grow(&g->message[from][to], &g->capacity[from][to], *n + 1, sizeof(message)));
  message *m = &g->message[from][to][(*n)++];
  *(reads ? &m->to : &m->from) = step;
  m->leaves = m->taken = 0;
}

static void list_messages(game *g) {
  for (int r = 0; r < g->ranks; r++) {
    const tt_sched *s = g->all[r];
    g->end[r] = calloc(s->nsteps + 1, sizeof **g->end);
    assert_non_null(g->end[r]);
    for (uint32_t i = 0; i < s->nsteps; i++)
      for (int k = 0; !tt_step_local(&s->steps[i]) && k < s->steps[i].peers.count; k++) {
        const int peer = tt_peer_rank(&s->steps[i].peers, k, g->ranks);
        const bool reads = tt_step_receives(&s->steps[i]);
        if (peer != r) note(g, reads ? peer : r, reads ? r : peer, i, reads);
      }
  }
}

static int begin_of(const game *g, int rank, uint32_t step) {
  const tt_sched *s = g->all[rank];
  int begin = 0;
  for (uint32_t k = s->after_at[step]; k < s->after_at[step + 1]; k++)
    begin = (int)tt_max((size_t)begin, (size_t)g->end[rank][s->after[k]]);
  return begin;
}

static bool later(int *at, int than) {
  if (*at >= than) return false;
  *at = than;
  return true;
}

/* One pass over all steps and messages; true: some time increased. */
static bool pass(game *g, bool in_order) {
  bool moved = false;
  for (int r = 0; r < g->ranks; r++)
    for (uint32_t i = 0; i < g->all[r]->nsteps; i++)
      moved |= later(&g->end[r][i], begin_of(g, r, i));
  for (int a = 0; a < g->ranks; a++)
    for (int b = 0; b < g->ranks; b++)
      for (uint32_t k = 0; k < g->sent[a][b]; k++) {
        message *m = &g->message[a][b][k];
        moved |= later(&m->leaves, begin_of(g, a, m->from));
        moved |= later(&m->taken, begin_of(g, b, m->to));
        moved |= later(&m->taken, m->leaves + 1);
        if (in_order && k) moved |= later(&m->leaves, m[-1].leaves);
        if (in_order && k) moved |= later(&m->taken, m[-1].taken);
        moved |= later(&g->end[b][m->to], m->taken);
      }
  return moved;
}

/* Messages on the longest chain. */
static int chain(const char *name, int ranks, bool in_order) {
  const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = ranks};
  game *g = calloc(1, sizeof *g);
  int most = 0;
  assert_non_null(g);
  g->ranks = ranks;
  assert_int_equal(tt_algo_build_all_named(name, &ask, &g->all), TUTTI_OK);
  list_messages(g);
  while (pass(g, in_order)) {
  }
  for (int r = 0; r < ranks; r++) {
    for (uint32_t i = 0; i < g->all[r]->nsteps; i++)
      most = (int)tt_max((size_t)most, (size_t)g->end[r][i]);
    free(g->end[r]);
    for (int p = 0; p < ranks; p++) {
      assert_int_equal(g->sent[r][p], g->read[r][p]);
      free(g->message[r][p]);
    }
  }
  tt_sched_free_all(g->all, ranks);
  free(g);
  return most;
}

static void no_message_waits_for_another(void **state) {
  static const int counts[] = {4, 6, 8, 12, 16};
  (void)state;
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
    for (int family = 0; sampled_family(family); family++)
      for (int i = 0; i < EACH; i++) {
        char name[NAME];
        const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = counts[c]};
        tt_sched *s;
        if (!sample_named(family, counts[c], i, name, sizeof name)) break;
        if (tt_algo_build_named(name, &ask, &s))
          continue; /* no allreduce for this number of ranks */
        tt_sched_free(s);
        const int needs = chain(name, counts[c], false), takes = chain(name, counts[c], true);
        /* two trees share pairs of ranks, and a sum may wait for the other tree's */
        const int most = strncmp(name, "tree(double", 11) ? needs + needs / 4 + 1 : 3 * needs;
        if (takes > most)
          fail_msg("%s on %d ranks: %d messages one after the other, and its data need %d", name,
                   counts[c], takes, needs);
      }
}

/* Sums travel in the direction of their operands: on each circle a rank sends to one neighbour only, and never
 * back. */
static void a_ring_turns_one_way(void **state) {
  static const struct {
    const char *name;
    int readers[3]; /* of rank 0 of 12 */
  } rings[] = {{"fold(ring)", {11}},
               {"fold(ring,stride=-1)", {1}},
               {"fold(ring,stride=5)", {7}},
               {"fold(group=3x4,ring)", {8, 3}},
               {"fold(group=3x4,ring,inner)", {3, 8}},
               {"blueconnect(node:3 core:4,seq=ring/ring)", {3, 8}},
               {"blueconnect(node:3 core:4,seq=halving/ring)", {3, 8, 4}}};
  (void)state;
  for (size_t i = 0; i < sizeof rings / sizeof *rings; i++) {
    const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = 12};
    tt_sched **all;
    assert_int_equal(tt_algo_build_all_named(rings[i].name, &ask, &all), TUTTI_OK);
    for (uint32_t k = 0; k < all[0]->nsteps; k++) {
      const tt_step *step = &all[0]->steps[k];
      bool known = step->kind != TT_SEND;
      for (int n = 0; n < 3; n++) known |= tt_peer_rank(&step->peers, 0, 12) == rings[i].readers[n];
      if (!known)
        fail_msg("%s: rank 0 sends to %d", rings[i].name, tt_peer_rank(&step->peers, 0, 12));
    }
    tt_sched_free_all(all, 12);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_message_waits_for_another),
                                     cmocka_unit_test(a_ring_turns_one_way)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
