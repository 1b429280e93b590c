/* mp_helpers.c - ranks in racks and nodes, with helpers among them. The chosen plan and every plan with their
 * levels run on real ranks. Sums of integers are right, sums of floats have the same bits on all ranks, and the
 * ranks of a rack exchange messages only with the helpers of that rack.
 *
 * Ranks: 7 8 12
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../cli/configure.h"
#include "build_comm.h"
#include "by_name.h"
#include "candidates.h"
#include "plan_cache.h"
#include "seconds.h"
#include "start.h"
#include "tutti_plan.h"

enum { MOST = 3000, RANKS = 12 };

/* The rack and the node of each rank; those after the bar are helpers. own: with this plan, helpers below the
 * top serve their own racks, or nodes if racks hold one each. */
static const struct {
  const char *ranks, *levels, *own;
} layouts[] = {
    {"a0 a0 a1 a1 | a1 a0 c2", "node:2 core:2", "aggregate(node:2 core:2,per=node)"},
    {"a0 a1 a0 a1 | b2 b2 b2", "node:2 core:2", NULL},
    {"a0 a0 a0 a1 a1 | c2 c2", "node:2 core:(3,2)", NULL},
    {"a0 b1 a0 b1 a0 | b2 a3 c4", "node:2 core:(3,2)", "aggregate(node:2 core:(3,2),per=node)"},
    {"a0 a0 a1 a1 b2 | b3 a4 c5", "rack:2 node:(2,1) core:(2,2,1)",
     "aggregate(rack:2 node:(2,1) core:(2,2,1),per=rack)"},
    {"a0 a0 a1 b2 b2 | b2 b2 a0", "rack:2 node:(2,1) core:(2,1,2)", NULL},
    {"a0 b2 a1 b3 a0 b2 a1 b3 | b4 b4 a5 c6", "rack:2 node:2 core:2", NULL},
    {"a0 b2 a1 b3 a0 b2 a1 b3 a0 | b4 a5 c6", "rack:2 node:2 core:(3,2*3)",
     "aggregate(rack:2 node:2 core:(3,2*3),per=rack)"},
    {"a0 a1 b2 b3 a0 a1 | b4 a5 b6 a7 c8 c9", "rack:2 node:2 core:(2,2,1,1)",
     "aggregate(rack:2 node:2 core:(2,2,1,1),per=rack)"},
};

typedef struct team {
  tutti_comm *comm, *side;
  int data;
  tt_placement at[RANKS];
} team;

static int count_ranks(const char *words) {
  int n = 0;
  for (; *words; words++) n += *words >= 'a' && *words <= 'z';
  return n;
}

/* Places each rank as the words say. */
static tutti_status take_seats(team *t, const char *words) {
  const int P = tutti_comm_size(t->side);
  tt_layout layout = {.order = NULL};
  tutti_status status = tutti_comm_dup(t->side, &t->comm);
  int r = 0;
  for (; *words; words++) {
    if (*words == '|') t->data = r;
    if (*words >= 'a' && *words <= 'z')
      t->at[r++] = (tt_placement){.rack = words[0], .node = words[1]};
  }
  for (r = 0; !status && r < P; r++) t->comm->info[r].placement = t->at[r].colors;
  if (!status) status = tt_layout_find(t->at, P, NULL, "", &layout);
  if (!status) status = tt_comm_arrange(t->comm, &layout, 1);
  free(layout.order);
  free(layout.node_of);
  return status ? status : comm_set_helpers(t->comm, P - t->data);
}

static float part_of(int rank, size_t i) {
  return (float)(1 + (rank * 31 + (int)(i % 97)) % 1009) / 1013.0f;
}

/* Compares this rank's result with rank 0's, bit by bit. */
static const char *same_bits(const team *t, size_t n, bool in_place) {
  static float src[MOST], dst[MOST], first[MOST];
  const int me = tutti_comm_rank(t->comm);
  const bool helps = me >= t->data;
  for (size_t i = 0; i < n; i++) src[i] = part_of(me, i);
  if (in_place) memcpy(dst, src, n * sizeof *dst);
  if (tutti_allreduce(t->comm,
                      helps      ? NULL
                      : in_place ? dst
                                 : src,
                      helps ? NULL : dst, n, TUTTI_FLOAT, TUTTI_AVG))
    return tutti_error();
  memcpy(first, dst, n * sizeof *dst);
  if (tutti_broadcast(t->side, first, first, n, TUTTI_FLOAT, 0)) return tutti_error();
  if (!helps && memcmp(first, dst, n * sizeof *dst)) return "rank 0 has other bits";
  for (size_t i = 0; i < n && !helps; i++) {
    double sum = 0;
    for (int r = 0; r < t->data; r++) sum += (double)part_of(r, i);
    const double off = (double)dst[i] * t->data - sum;
    if (off > 1e-5 || off < -1e-5) return "a wrong average";
  }
  return NULL;
}

static const char *right_sum(const team *t, tutti_coll coll, size_t n, int root) {
  static int64_t src[MOST], dst[MOST];
  const int me = tutti_comm_rank(t->comm), D = t->data;
  const void *from = me < D ? src : NULL;
  void *to = me < D ? dst : NULL;
  for (size_t i = 0; i < n; i++) src[i] = (me + 1) * (int64_t)(i + 1), dst[i] = -1;
  const tutti_status status =
      coll == TUTTI_REDUCE      ? tutti_reduce(t->comm, from, to, n, TUTTI_INT64, TUTTI_SUM, root)
      : coll == TUTTI_BROADCAST ? tutti_broadcast(t->comm, from, to, n, TUTTI_INT64, root)
                                : tutti_allreduce(t->comm, from, to, n, TUTTI_INT64, TUTTI_SUM);
  if (status) return tutti_error();
  const int64_t all = coll == TUTTI_BROADCAST ? root + 1 : D * (D + 1) / 2;
  for (size_t i = 0; i < n && me < D && (coll != TUTTI_REDUCE || me == root); i++)
    if (dst[i] != all * (int64_t)(i + 1)) return "a wrong sum";
  return NULL;
}

/* Blocks of the ranks with data; rank r's has n + r % 2 elements if they vary. */
static const char *right_blocks(const team *t, tutti_coll coll, size_t n, bool varies) {
  static int64_t src[MOST * 2], dst[MOST * 2];
  const int me = tutti_comm_rank(t->comm), D = t->data;
  size_t counts[RANKS], all = 0, before = 0;
  for (int r = 0; r < D; r++) {
    if (r == me) before = all;
    all += counts[r] = n + (size_t)(varies && r % 2);
  }
  const size_t own = me < D ? counts[me] : 0;
  const bool gathers = coll == TUTTI_ALLGATHER;
  for (size_t i = 0; i < all; i++) src[i] = (me + 1) * (int64_t)(i + 1), dst[i] = -1;
  const void *from = me < D ? src : NULL;
  void *to = me < D ? dst : NULL;
  const tutti_status status =
      gathers  ? varies ? tutti_allgatherv(t->comm, from, to, counts, TUTTI_INT64)
                        : tutti_allgather(t->comm, from, to, n, TUTTI_INT64)
       : varies ? tutti_reduce_scatterv(t->comm, from, to, counts, TUTTI_INT64, TUTTI_SUM)
               : tutti_reduce_scatter(t->comm, from, to, n, TUTTI_INT64, TUTTI_SUM);
  if (status) return tutti_error();
  for (size_t i = 0; i < own && !gathers; i++)
    if (dst[i] != (int64_t)(before + i + 1) * D * (D + 1) / 2) return "a wrong sum of a block";
  for (int r = 0, at = 0; r < D && gathers && me < D; at += (int)counts[r++])
    for (size_t i = 0; i < counts[r]; i++)
      if (dst[(size_t)at + i] != (r + 1) * (int64_t)(i + 1)) return "a wrong block";
  return NULL;
}

/* Under the contract `exact`, sums of floats are computed from their words. */
static const char *exact_blocks(const team *t) {
  float src[4 * RANKS], dst[4] = {0};
  const int me = tutti_comm_rank(t->comm), D = t->data;
  const tutti_contract before = tt_comm_contract(t->comm);
  for (int i = 0; i < 4 * D; i++) src[i] = (float)(me + 1) * (float)(i + 1);
  if (comm_set_contract(t->comm, TUTTI_CONTRACT_EXACT)) return tutti_error();
  const tutti_status status = tutti_reduce_scatter(t->comm, me < D ? src : NULL,
                                                   me < D ? dst : NULL, 4, TUTTI_FLOAT, TUTTI_SUM);
  if (status || comm_set_contract(t->comm, before)) return tutti_error();
  for (int i = 0; i < 4 && me < D; i++)
    if (dst[i] != (float)(D * (D + 1) / 2 * (4 * me + i + 1))) return "a wrong exact sum";
  return NULL;
}

static const char *is_taken(const team *t, const char *plan) {
  char name[NAME];
  if (tutti_comm_plan(t->comm, TUTTI_ALLREDUCE, MOST, TUTTI_FLOAT, TUTTI_SUM, name, sizeof name))
    return tutti_error();
  return strncmp(name, plan, strlen(plan)) ? "another plan runs instead" : NULL;
}

/* Runs one plan on some lengths, until a result is wrong on this rank. NULL: tutti chooses. */
static const char *run(const team *t, const char *plan) {
  static const tutti_coll colls[] = {TUTTI_ALLREDUCE, TUTTI_REDUCE, TUTTI_BROADCAST};
  static const size_t lengths[] = {1, 7, 60, MOST};
  const bool uneven = plan && strchr(strchr(plan, '(') + 1, '('); /* no blocks per rank there */
  const char *wrong = comm_set_algorithm(t->comm, plan) ? tutti_error() : NULL;
  if (plan && !wrong) wrong = is_taken(t, plan);
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths && !wrong; k++) {
    for (size_t c = 0; c < sizeof colls / sizeof *colls && !wrong; c++)
      wrong = right_sum(t, colls[c], lengths[k], (int)k % t->data);
    for (int in_place = 0; in_place < 2 && !wrong; in_place++)
      wrong = same_bits(t, lengths[k], in_place);
    for (int way = 0; way < 4 && !wrong && !uneven; way++)
      wrong = right_blocks(t, way / 2 ? TUTTI_ALLGATHER : TUTTI_REDUCE_SCATTER, lengths[k] / RANKS,
                           way % 2);
    if (!wrong && tutti_barrier(t->comm)) wrong = tutti_error();
  }
  return wrong || plan ? wrong : exact_blocks(t);
}

/* Is a helper on a node with data? */
static bool sits_with_data(const team *t, int helper) {
  bool with = false;
  for (int r = 0; r < t->data; r++)
    with |= t->at[r].rack == t->at[helper].rack && t->at[r].node == t->at[helper].node;
  return with;
}

/* A rank exchanges messages only with ranks of its node and helpers of its rack; a helper on a node serves that
 * node. */
static const char *stays_at_home(const team *t, const char *plan) {
  const int me = tutti_comm_rank(t->comm);
  const tt_call call = {.coll = TUTTI_ALLREDUCE, .count = 60, .type = TUTTI_FLOAT};
  const tt_plan *p;
  if (!plan || me >= t->data) return NULL;
  if (comm_set_algorithm(t->comm, plan) || tt_plan_for(t->comm, &call, false, &p))
    return tutti_error();
  const tt_program *program = p->exec.program;
  if (strcmp(program->sched->name, plan) != 0) return "another plan runs";
  for (uint32_t i = 0; i < program->ntransfers; i++) {
    const int peer = program->transfers[i].peer;
    const bool near = t->at[peer].node == t->at[me].node;
    if (t->at[peer].rack != t->at[me].rack) return "it talks to another rack";
    if (!near && (peer < t->data || sits_with_data(t, peer))) return "it talks to another node";
  }
  return NULL;
}

/* Runs the chosen plan, and all that are proposed for these levels; returns how many failed on this rank. */
static int run_all(const team *t, const char *levels, int *ran) {
  const int P = tutti_comm_size(t->comm);
  const tt_setting *s = &t->comm->plans->helped.chooser->setting;
  char name[NAME];
  if (strcmp(s->data_levels, levels) != 0) {
    printf("# levels '%s'\n", s->data_levels);
    return 1;
  }
  const char *wrong = run(t, NULL);
  int failed = wrong != NULL;
  if (wrong) printf("# rank %d, as chosen: %s\n", tutti_comm_rank(t->comm), wrong);
  tt_plan_walk at = {0};
  while (next_named(P, levels, &at, name, sizeof name)) {
    if (strncmp(name, "aggregate(", 10) != 0 || !strchr(name, ':')) continue;
    wrong = run(t, name);
    ++*ran;
    failed += wrong != NULL;
    if (wrong) printf("# rank %d: %s: %s\n", tutti_comm_rank(t->comm), name, wrong);
  }
  return failed;
}

/* Returns how many of the plans failed, on all ranks together. */
static int32_t play(tutti_comm *side, size_t k, int *ran) {
  team t = {.side = side};
  int32_t failed = 1;
  if (take_seats(&t, layouts[k].ranks)) {
    printf("# %s\n", tutti_error());
  } else {
    const char *wrong = stays_at_home(&t, layouts[k].own);
    failed = run_all(&t, layouts[k].levels, ran) + (wrong != NULL);
    if (wrong) printf("# rank %d: %s: %s\n", tutti_comm_rank(side), layouts[k].own, wrong);
  }
  if (tutti_allreduce(side, &failed, &failed, 1, TUTTI_INT32, TUTTI_SUM)) failed = 1;
  tutti_comm_free(t.comm);
  return failed;
}

int main(void) {
  tutti_comm *side;
  end_after(200);
  if (start_comm(&side)) return 1;
  for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++) {
    int ran = 0;
    if (count_ranks(layouts[k].ranks) != tutti_comm_size(side)) continue;
    const int32_t failed = play(side, k, &ran);
    if (tutti_comm_rank(side)) continue;
    printf("%s - %d plans, ranks at %s\n", failed || !ran ? "not ok" : "ok", ran, layouts[k].ranks);
    fflush(stdout);
  }
  tutti_comm_free(side);
  return start_end() ? 1 : 0;
}
