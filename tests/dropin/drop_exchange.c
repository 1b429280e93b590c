/* drop_exchange.c - gather, scatter, all-to-all and prefix sums: blocks of one size or of several, with holes, in any order,
 * in place, also empty ones; with the argument "multiple", in their non-blocking forms, too.
 *
 * Idea      Rank `from` has pair(from, to) numbers for rank `to`, namely value(from, to, i) for each i. Every collective
 *           moves a part of this matrix.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "drop.h"

enum { MOST = 300, RANKS = 16, ROOM = 2 * RANKS * (MOST + 1), EMPTY = -7 };
static int src[ROOM], dst[ROOM], want[ROOM];
static int src_counts[RANKS], src_at[RANKS], dst_counts[RANKS], dst_at[RANKS];
static MPI_Datatype holes; /* an int, and a hole of the same size */
static bool started;       /* the non-blocking forms */

typedef struct shape {
  int n, root;
  bool varied, src_holes, dst_holes, in_place;
} shape;

static int pair(const shape *x, int from, int to) {
  const int low = from < to ? from : to, high = from < to ? to : from;
  if (!x->varied) return x->n;
  return (
      int)(drop_mix((unsigned)(x->in_place ? low : from), (unsigned)(x->in_place ? high : to), 5) %
           (unsigned)(x->n + 1));
}

static int value(int from, int to, int i) {
  return (int)(drop_mix((unsigned)from, (unsigned)to, (unsigned)i) % 100000);
}

/* Where the blocks are: of one size one after the other, else in reverse, with a gap between them. */
static void place(const shape *x, int *counts, int *at, bool sends, int first, int end) {
  int next = 0;
  for (int k = first; k < end; k++) {
    const int r = x->varied ? end - 1 - (k - first) : k;
    counts[r] = sends ? pair(x, drop_rank, r) : pair(x, r, drop_rank);
    at[r] = next;
    next += counts[r] + x->varied;
  }
}

static void put(int *to, bool gaps, int at, int number) {
  to[gaps ? 2 * at : at] = number;
}

static void clear(void) {
  for (int i = 0; i < ROOM; i++) src[i] = dst[i] = want[i] = EMPTY;
}

#define RUN(name, lower, ...)                                     \
  (started ? DROP_CALL(MPI_I##lower(__VA_ARGS__, &request)) &&    \
                 DROP_CALL(MPI_Wait(&request, MPI_STATUS_IGNORE)) \
           : DROP_CALL(MPI_##name(__VA_ARGS__)))
static MPI_Request request;

static MPI_Datatype type_of(bool gaps) {
  return gaps ? holes : MPI_INT;
}

static bool same(const char *what) {
  return drop_same(what, dst, want, ROOM);
}

static bool alltoall(const shape *x) {
  const MPI_Datatype out = type_of(x->src_holes), in = type_of(x->dst_holes);
  clear();
  place(x, src_counts, src_at, true, 0, drop_ranks);
  place(x, dst_counts, dst_at, false, 0, drop_ranks);
  for (int r = 0; r < drop_ranks; r++) {
    for (int i = 0; i < src_counts[r]; i++)
      put(x->in_place ? dst : src, x->in_place ? x->dst_holes : x->src_holes, src_at[r] + i,
          value(drop_rank, r, i));
    for (int i = 0; i < dst_counts[r]; i++)
      put(want, x->dst_holes, dst_at[r] + i, value(r, drop_rank, i));
  }
  const void *from = x->in_place ? MPI_IN_PLACE : src;
  const bool good = x->varied
                        ? RUN(Alltoallv, alltoallv, from, src_counts, src_at, out, dst, dst_counts,
                              dst_at, in, MPI_COMM_WORLD)
                        : RUN(Alltoall, alltoall, from, x->n, out, dst, x->n, in, MPI_COMM_WORLD);
  return good && same("alltoall");
}

static bool gather(const shape *x) {
  const MPI_Datatype out = type_of(x->src_holes), in = type_of(x->dst_holes);
  const bool root = drop_rank == x->root, in_place = root && x->in_place;
  const int mine = pair(x, drop_rank, x->root);
  clear();
  if (root) place(x, dst_counts, dst_at, false, 0, drop_ranks);
  for (int i = 0; i < mine; i++) {
    const int number = value(drop_rank, x->root, i);
    if (in_place)
      put(dst, x->dst_holes, dst_at[drop_rank] + i, number);
    else
      put(src, x->src_holes, i, number);
  }
  for (int r = 0; root && r < drop_ranks; r++)
    for (int i = 0; i < dst_counts[r]; i++)
      put(want, x->dst_holes, dst_at[r] + i, value(r, x->root, i));
  const void *from = in_place ? MPI_IN_PLACE : src;
  int *counts = root ? dst_counts : NULL, *at = root ? dst_at : NULL;
  const bool good = x->varied ? RUN(Gatherv, gatherv, from, mine, out, root ? dst : NULL, counts,
                                    at, in, x->root, MPI_COMM_WORLD)
                              : RUN(Gather, gather, from, x->n, out, root ? dst : NULL, x->n, in,
                                    x->root, MPI_COMM_WORLD);
  return good && same("gather");
}

static bool scatter(const shape *x) {
  const MPI_Datatype out = type_of(x->src_holes), in = type_of(x->dst_holes);
  const bool root = drop_rank == x->root, in_place = root && x->in_place;
  const int mine = pair(x, x->root, drop_rank);
  clear();
  if (root) place(x, src_counts, src_at, true, 0, drop_ranks);
  for (int r = 0; root && r < drop_ranks; r++)
    for (int i = 0; i < src_counts[r]; i++)
      put(src, x->src_holes, src_at[r] + i, value(x->root, r, i));
  for (int i = 0; i < mine && !in_place; i++)
    put(want, x->dst_holes, i, value(x->root, drop_rank, i));
  void *to = in_place ? MPI_IN_PLACE : dst;
  int *counts = root ? src_counts : NULL, *at = root ? src_at : NULL;
  const bool good = x->varied ? RUN(Scatterv, scatterv, root ? src : NULL, counts, at, out, to,
                                    mine, in, x->root, MPI_COMM_WORLD)
                              : RUN(Scatter, scatter, root ? src : NULL, x->n, out, to, x->n, in,
                                    x->root, MPI_COMM_WORLD);
  bool kept = true; /* the root's own block, in place */
  for (int i = 0; in_place && i < mine; i++)
    kept &= src[(src_at[drop_rank] + i) * (x->src_holes ? 2 : 1)] == value(x->root, drop_rank, i);
  return good && DROP_CHECK(kept) && same("scatter");
}

static bool prefix(const shape *x, bool exclusive) {
  const int below = exclusive ? drop_rank : drop_rank + 1;
  clear();
  for (int i = 0; i < x->n; i++) {
    (x->in_place ? dst : src)[i] = value(drop_rank, 0, i);
    if (below || x->in_place) want[i] = below ? 0 : dst[i];
    for (int r = 0; r < below; r++) want[i] += value(r, 0, i);
  }
  const void *from = x->in_place ? MPI_IN_PLACE : src;
  const bool good = exclusive
                        ? RUN(Exscan, exscan, from, dst, x->n, MPI_INT, MPI_SUM, MPI_COMM_WORLD)
                        : RUN(Scan, scan, from, dst, x->n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return good && (!below || same(exclusive ? "exscan" : "scan"));
}

/* Both forms of every collective, on all shapes. */
static void all(const char *form) {
  static const int sizes[] = {0, 1, 3, MOST};
  static const char *const names[] = {"all-to-all", "gather", "scatter", "prefix sums"};
  for (int c = 0; c < 4; c++) {
    bool good = true;
    char what[80];
    for (unsigned k = 0; k < 4 * 16; k++) {
      const shape x = {sizes[k / 16], (int)(k % (unsigned)drop_ranks), k & 1, k & 2, k & 4, k & 8};
      good &= c == 0   ? alltoall(&x)
              : c == 1 ? gather(&x)
              : c == 2 ? scatter(&x)
                       : prefix(&x, k & 1);
    }
    snprintf(what, sizeof what, "%s, %s", names[c], form);
    drop_tell(what, good);
  }
}

int main(int argc, char **argv) {
  const bool multiple = argc > 1 && strcmp(argv[1], "multiple") == 0;
  const int level = drop_start(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  MPI_Type_create_resized(MPI_INT, 0, 2 * (MPI_Aint)sizeof(int), &holes);
  MPI_Type_commit(&holes);
  all("blocking");
  started = multiple && level == MPI_THREAD_MULTIPLE;
  if (started) all("non-blocking");
  MPI_Type_free(&holes);
  return drop_end();
}
