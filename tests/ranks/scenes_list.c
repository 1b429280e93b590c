/* scenes_list.c - lists of buffers as one operation: long ones and short ones, empty ones, in place and out of
 * place, with every kind of call, among other operations.
 *
 * Idea       a shared tag determines the list; each buffer is a case of
 *            the covering table, with its data and its reference loop.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "../../cli/configure.h"
#include "call_of.h"
#include "cover.h"
#include "lists.h"
#include "scenes.h"
#include "tutti_plan.h"

enum { MOST = 300, GUARD = 16 };

typedef struct list {
  tutti_comm *comm;
  tutti_request *request;
  size_t n, counts[MOST];
  const void *srcs[MOST];
  void *dsts[MOST];
  void *memory[MOST][2];
  cover_case like; /* type, op, ranks, helpers */
} list;

static cover_case case_of(const list *l, size_t i) {
  cover_case c = l->like;
  c.coll = TUTTI_ALLREDUCE;
  c.count = l->counts[i];
  c.seed = cover_mix(l->like.seed + i);
  return c;
}

static bool helps(const list *l) {
  return tutti_comm_rank(l->comm) >= l->like.ranks - l->like.helpers;
}

static size_t bytes_of(const list *l, size_t i) {
  return l->counts[i] * tutti_type_size(l->like.type);
}

/* The data repeat, as cover_fill makes them. */
static void fill(list *l) {
  for (size_t i = 0; i < l->n && !helps(l); i++) {
    const cover_case c = case_of(l, i);
    cover_fill(&c, tutti_comm_rank(l->comm), (void *)l->srcs[i], l->counts[i]);
    if (l->dsts[i] != l->srcs[i]) memset(l->dsts[i], 0xee, bytes_of(l, i));
  }
}

static size_t count_at(uint64_t u) {
  static const size_t most[] = {1, 20, 20, 20, 300, 300, 3000, 40000};
  return (size_t)(u >> 20) % most[u % 8];
}

/* Allocates buffers with malloc and with tutti; every second pair is in place. */
static bool make(list *l, tutti_comm *comm, const cover_case *like, size_t n, bool small) {
  *l = (list){.comm = comm, .n = n, .like = *like};
  for (size_t i = 0; i < n; i++) {
    const uint64_t u = cover_mix(like->seed ^ (i + 1) << 20);
    l->counts[i] = small ? (size_t)(u >> 8) % 9 : count_at(u);
    for (int k = 0; k < 2 && !helps(l); k++) {
      if (u >> 40 & 1)
        tutti_mem_alloc(comm, bytes_of(l, i) + GUARD, &l->memory[i][k]);
      else
        l->memory[i][k] = malloc(bytes_of(l, i) + GUARD);
      if (!CHECK(l->memory[i][k] != NULL)) return false;
      memset((char *)l->memory[i][k] + bytes_of(l, i), 0x77, GUARD);
    }
    l->dsts[i] = l->memory[i][0];
    l->srcs[i] = u >> 41 & 1 ? l->dsts[i] : l->memory[i][1];
  }
  return true;
}

static void drop(list *l) {
  for (size_t i = 0; i < l->n; i++)
    for (int k = 0; k < 2; k++)
      if (cover_mix(l->like.seed ^ (i + 1) << 20) >> 40 & 1)
        tutti_mem_free(l->comm, l->memory[i][k]);
      else
        free(l->memory[i][k]);
}

static bool right_at(const list *l, size_t i, void *want, double *sizes) {
  const cover_case c = case_of(l, i);
  const size_t size = tutti_type_size(c.type),
               period = c.count < COVER_PERIOD ? c.count : COVER_PERIOD;
  const char *got = l->dsts[i], *src = l->srcs[i];
  cover_reduce(&c, c.ranks - c.helpers, want, period, c.rough ? sizes : NULL);
  for (size_t k = 0; k < c.count; k++) {
    const size_t at = k % period;
    if (!cover_same(&c, got + k * size, (char *)want + at * size, sizes[at]))
      return CHECK(!"an element is wrong");
  }
  cover_fill(&c, tutti_comm_rank(l->comm), want, period);
  for (size_t k = 0; src != got && k < c.count; k += period)
    if (memcmp(src + k * size, want, size) != 0) return CHECK(!"src is not as it was");
  for (int k = 0; k < GUARD; k++)
    if (got[bytes_of(l, i) + (size_t)k] != 0x77) return CHECK(!"bytes behind a buffer changed");
  return true;
}

static bool right(const list *l) {
  static _Thread_local unsigned char want[COVER_PERIOD * 16];
  static _Thread_local double sizes[COVER_PERIOD];
  bool ok = true;
  for (size_t i = 0; i < l->n && ok && !helps(l); i++) ok = right_at(l, i, want, sizes);
  if (!ok) printf("# a list of %zu %s, op %d\n", l->n, tutti_type_name(l->like.type), l->like.op);
  return ok;
}

/* Do all ranks hold the same bits? */
static bool same_everywhere(const list *l, tutti_comm *side) {
  uint64_t mine = 1, all[64];
  for (size_t i = 0; i < l->n && !helps(l); i++)
    for (size_t k = 0; k < bytes_of(l, i); k++)
      mine = (mine ^ ((unsigned char *)l->dsts[i])[k]) * 0x100000001b3u;
  if (!CHECK(!tutti_allgather(side, &mine, all, 1, TUTTI_UINT64))) return false;
  for (int r = 0; r < l->like.ranks - l->like.helpers; r++)
    if (!CHECK(all[r] == all[0])) return false;
  return true;
}

static tutti_status blocking(list *l, tutti_op op) {
  const bool none = helps(l);
  return allreduce_many(l->comm, l->n, none ? NULL : l->srcs, none ? NULL : l->dsts, l->counts,
                        l->like.type, op);
}

/* ---- every kind of call ---- */

/* Started, with another vector's operation before and after; waited for in another order. */
static bool between(list *l) {
  const int P = l->like.ranks - l->like.helpers;
  uint32_t x = 1, y = 2;
  tutti_request *before, *behind;
  return CHECK(!tutti_allreduce_start(l->comm, &x, &x, 1, TUTTI_UINT32, TUTTI_SUM, &before)) &&
         CHECK(!allreduce_many_start(l->comm, l->n, l->srcs, l->dsts, l->counts, l->like.type,
                                     (tutti_op)l->like.op, &l->request)) &&
         CHECK(!tutti_allreduce_start(l->comm, &y, &y, 1, TUTTI_UINT32, TUTTI_SUM, &behind)) &&
         CHECK(!tutti_request_wait(&behind)) && CHECK(!tutti_request_wait(&l->request)) &&
         CHECK(!tutti_request_wait(&before)) && CHECK(helps(l) || (x == (uint32_t)P && y == 2 * x));
}

static bool many_times(list *l) {
  size_t counts[MOST];
  memcpy(counts, l->counts, sizeof counts);
  bool ok = CHECK(
      !tutti_call_init(l->comm,
                       CALL(ALLREDUCE, .n = l->n, .srcs = l->srcs, .dsts = l->dsts,
                            .counts = counts, .type = l->like.type, .op = (tutti_op)l->like.op),
                       &l->request));
  memset(counts, 0xff, sizeof counts); /* the library has its own copy */
  for (int round = 0; round < 3 && ok; round++) {
    int done = 0;
    l->like.seed = cover_mix(l->like.seed); /* counts and memory stay, data change */
    fill(l);
    ok = CHECK(!tutti_request_start(l->request));
    while (ok && !done) ok = CHECK(!tutti_request_test(&l->request, &done));
    ok = ok && CHECK(l->request != NULL) && right(l);
  }
  return CHECK(!tutti_request_free(&l->request)) && ok;
}

static bool one_list(tutti_comm *comm, tutti_comm *side, const cover_case *like, size_t n,
                     int manner) {
  list *l = malloc(sizeof *l);
  const uint64_t seed = like->seed;
  bool ok = CHECK(l != NULL) && make(l, comm, like, n, false);
  if (!ok) return false;
  fill(l);
  if (manner == 0) ok = CHECK(!blocking(l, (tutti_op)like->op));
  if (manner == 1) ok = between(l);
  if (manner == 2) ok = many_times(l);
  ok = ok && (manner == 2 || right(l)) && same_everywhere(l, side);
  l->like.seed = seed;
  drop(l);
  free(l);
  return ok;
}

bool scene_lists(tutti_comm *base, uint64_t seed) {
  static const size_t ns[] = {0, 1, 2, 7, 40, MOST};
  static const char *const algos[] = {NULL, NULL, "fold(ring)", "two-shot", "naive", "doubling"};
  const int P = tutti_comm_size(base);
  tutti_comm *comm;
  bool ok = CHECK(!tutti_comm_dup(base, &comm));
  for (uint64_t i = 0; i < 3 * sizeof ns / sizeof *ns && ok; i++) {
    const uint64_t u = cover_mix(seed + i);
    cover_case like = {.ranks = P, .type = TUTTI_UINT32, .op = TUTTI_SUM, .seed = u};
    like.rough = u >> 8 & 1;
    if (like.rough) like.type = TUTTI_FLOAT;
    like.helpers = (u >> 16) % 4 == 0 ? (int)((u >> 20) % (uint64_t)P) : 0;
    ok = CHECK(!comm_set_helpers(comm, like.helpers)) &&
         CHECK(!comm_set_algorithm(comm, like.helpers ? NULL : algos[(u >> 30) % 6])) &&
         CHECK(!comm_set_slices(comm, (int)(u >> 40) % 3)) &&
         one_list(comm, base, &like, ns[i / 3], (int)(i % 3));
  }
  return CHECK(!tutti_comm_free(comm)) && ok;
}

bool scene_list_types(tutti_comm *base, uint64_t seed) {
  list *l = malloc(sizeof *l);
  bool ok = CHECK(l != NULL);
  for (int type = 0; type < TUTTI_TYPE_COUNT; type++)
    for (int op = 0; op < TUTTI_OP_COUNT && ok; op++) {
      if (!cover_has_op((tutti_type)type, op)) continue;
      cover_case like = {.ranks = tutti_comm_size(base), .type = (tutti_type)type, .op = op};
      like.seed = cover_mix(seed + (uint64_t)(type * 100 + op));
      ok = make(l, base, &like, 6, true);
      if (ok) fill(l);
      ok = ok && CHECK(!blocking(l, (tutti_op)op)) && right(l);
      drop(l);
    }
  free(l);
  return ok;
}

/* ---- differences between ranks ---- */

static tutti_status differently(tutti_comm *comm, int way, bool other) {
  float x[3][8] = {{0}};
  const void *srcs[] = {x[0], x[1], x[2]};
  void *dsts[] = {x[0], x[1], x[2]};
  const size_t usual[] = {3, 5, 0}, swapped[] = {5, 3, 0}, more[] = {3, 5, 1};
  const size_t *counts = !other ? usual : way == 0 ? swapped : way == 1 ? more : usual;
  const size_t n = other && way == 2 ? 2 : 3;
  if (way == 3 && other) return tutti_allreduce(comm, x[0], x[0], 8, TUTTI_FLOAT, TUTTI_SUM);
  if (way == 4)
    return allreduce_many(comm, other ? 0 : 3, srcs, dsts, usual, TUTTI_FLOAT, TUTTI_SUM);
  return allreduce_many(comm, n, srcs, dsts, counts, TUTTI_FLOAT, TUTTI_SUM);
}

bool scene_list_mismatch(tutti_comm *base, uint64_t seed) {
  static const char *const words[] = {"allreduce of 8 float in a list of 3, sum|other counts",
                                      "of 9 float in a list of 3", "in a list of 2|in a list of 3",
                                      "called allreduce of 8 float, sum|in a list of 3",
                                      "allreduce of 0 float in a list of 0|in a list of 3"};
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  bool ok = true;
  for (int way = 0; way < 5 && P > 1; way++) {
    const int odd_one = (int)(cover_mix(seed + (uint64_t)way) % (uint64_t)P);
    tutti_comm *comm;
    if (!CHECK(!tutti_comm_dup(base, &comm))) return false;
    tutti_status status = differently(comm, way, me == odd_one);
    for (int again = 0; again < 3 && !status; again++) status = tutti_barrier(comm);
    ok = ERROR(status, TUTTI_ERR_MISMATCH, words[way]) && ok;
    if (!CHECK(!tutti_barrier(base)) || !CHECK(!tutti_comm_free(comm))) return false;
  }
  return ok;
}
