/* drop_user.c - user-defined ops: commutative and not, on ints, on contiguous derived types and on types with
 * holes.
 *
 * Idea      Composing affine maps x -> a x + b is associative and depends on the order, so a
 *           result in any order other than the ranks' differs.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "drop.h"

enum { MOST = 3000 };

typedef struct map {
  int a, b;
} map;
typedef struct gappy { /* the type describes a and b only */
  int a, hole, b, gap;
} gappy;

static MPI_Datatype pair, holes;
static long called;

/* `in` comes first: (in o inout) (x) = inout (in (x)). */
static void compose(void *in, void *inout, int *n, MPI_Datatype *type) {
  (void)type;
  called++;
  const unsigned *x = in;
  unsigned *y = inout;
  for (int i = 0; i < *n; i++, x += 2, y += 2) {
    y[1] += y[0] * x[1];
    y[0] *= x[0];
  }
}

static void compose_gappy(void *in, void *inout, int *n, MPI_Datatype *type) {
  (void)type;
  called++;
  const gappy *x = in;
  gappy *y = inout;
  for (int i = 0; i < *n; i++) {
    y[i].b = (int)((unsigned)y[i].b + (unsigned)y[i].a * (unsigned)x[i].b);
    y[i].a = (int)((unsigned)y[i].a * (unsigned)x[i].a);
  }
}

/* The length of an element follows from the type. */
static void add_typed(void *in, void *inout, int *n, MPI_Datatype *type) {
  int bytes;
  called++;
  MPI_Type_size(*type, &bytes);
  for (int i = 0; i < *n * bytes / (int)sizeof(int); i++) ((int *)inout)[i] += ((int *)in)[i];
}

static void sum(void *in, void *inout, int *n, MPI_Datatype *type) {
  (void)type;
  called++;
  for (int i = 0; i < *n; i++) ((int *)inout)[i] += ((int *)in)[i];
}

/* Every second int is an element; a hole follows each. */
static void sum_apart(void *in, void *inout, int *n, MPI_Datatype *type) {
  (void)type;
  called++;
  for (int i = 0; i < *n; i++) ((int *)inout)[2 * i] += ((int *)in)[2 * i];
}

static map of(int rank, size_t i) {
  return (map){(int)(drop_mix((unsigned)rank, (unsigned)i, 1) % 1000) + 2,
               (int)(drop_mix((unsigned)rank, (unsigned)i, 2) % 1000)};
}

static map composed(size_t i) {
  map all = of(0, i);
  for (int r = 1; r < drop_ranks; r++) {
    const map next = of(r, i);
    all.b = (int)((unsigned)next.b + (unsigned)next.a * (unsigned)all.b);
    all.a = (int)((unsigned)next.a * (unsigned)all.a);
  }
  return all;
}

static bool right(const char *what, const map *got, size_t from, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const map want = composed(from + i);
    if (!drop_same(what, &got[i].a, &want.a, 2)) return false;
  }
  return true;
}

static bool in_order(MPI_Op op, size_t n) {
  static map mine[MOST * 8], got[MOST * 8];
  const size_t all = n * (size_t)drop_ranks, from = n * (size_t)drop_rank;
  const int root = (int)n % drop_ranks;
  for (size_t i = 0; i < all; i++) mine[i] = got[i] = of(drop_rank, i);
  bool good = DROP_CALL(MPI_Allreduce(MPI_IN_PLACE, got, (int)n, pair, op, MPI_COMM_WORLD)) &&
              right("allreduce in place", got, 0, n);
  good &= DROP_CALL(MPI_Allreduce(mine, got, (int)n, pair, op, MPI_COMM_WORLD)) &&
          right("allreduce", got, 0, n);
  good &= DROP_CALL(MPI_Reduce(mine, got, (int)n, pair, op, root, MPI_COMM_WORLD));
  good &= drop_rank != root || right("reduce", got, 0, n);
  good &= DROP_CALL(MPI_Reduce_scatter_block(mine, got, (int)n, pair, op, MPI_COMM_WORLD)) &&
          right("reduce_scatter_block", got, from, n);
  return good;
}

static bool with_holes(MPI_Op op, size_t n) {
  static gappy mine[MOST], got[MOST];
  bool good = true;
  for (size_t i = 0; i < n; i++) {
    const map m = of(drop_rank, i);
    mine[i] = (gappy){m.a, -1, m.b, -2};
    got[i] = (gappy){0, -7, 0, -8};
  }
  good &= DROP_CALL(MPI_Allreduce(mine, got, (int)n, holes, op, MPI_COMM_WORLD));
  for (size_t i = 0; i < n && good; i++) {
    const map want = composed(i), is = {got[i].a, got[i].b};
    good &= drop_same("a type with holes", &is.a, &want.a, 2);
    good &= DROP_CHECK(got[i].hole == -7); /* no rank writes the hole */
  }
  return good;
}

/* The elements themselves have no holes, but there is one between two elements. */
static bool apart(MPI_Op op, MPI_Datatype type, size_t n) {
  static int mine[2 * MOST], got[2 * MOST];
  bool good = true;
  for (size_t i = 0; i < n; i++) {
    mine[2 * i] = drop_rank + (int)i;
    mine[2 * i + 1] = -1;
    got[2 * i + 1] = -7;
  }
  good &= DROP_CALL(MPI_Allreduce(mine, got, (int)n, type, op, MPI_COMM_WORLD));
  for (size_t i = 0; i < n && good; i++) {
    const int want[2] = {drop_ranks * (int)i + drop_ranks * (drop_ranks - 1) / 2, -7};
    good &= drop_same("ints that stand apart", &got[2 * i], want, 2);
  }
  return good;
}

/* The op sums `ints` ints per element. */
static bool contiguous(MPI_Op op, int ints, size_t n) {
  static int mine[MOST * 8], got[MOST * 8], want[MOST * 8];
  MPI_Datatype type;
  const size_t all = n * (size_t)ints;
  MPI_Type_contiguous(ints, MPI_INT, &type);
  MPI_Type_commit(&type);
  for (size_t i = 0; i < all; i++) {
    mine[i] = got[i] = want[i] = drop_rank == 0 ? (int)i : 0;
    for (int r = 0; r < drop_ranks; r++) want[i] = r ? want[i] + 3 * r * r : (int)i;
    if (drop_rank > 0) mine[i] = got[i] = 3 * drop_rank * drop_rank;
  }
  bool good = DROP_CALL(MPI_Allreduce(MPI_IN_PLACE, got, (int)n, type, op, MPI_COMM_WORLD));
  good &= drop_same("contiguous, in place", got, want, all);
  memset(got, 0, all * sizeof *got);
  good &= DROP_CALL(MPI_Allreduce(mine, got, (int)n, type, op, MPI_COMM_WORLD));
  good &= drop_same("contiguous", got, want, all);
  MPI_Type_free(&type);
  return good;
}

/* An op may be freed right after the call, and a new one created with the same handle. */
static bool short_lives(void) {
  bool good = true;
  for (int k = 0; k < 40; k++) {
    MPI_Op op;
    int x = drop_rank + k, want = 0;
    MPI_Op_create(k % 2 ? sum : add_typed, 1, &op);
    good &= DROP_CALL(MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, op, MPI_COMM_WORLD));
    MPI_Op_free(&op);
    for (int r = 0; r < drop_ranks; r++) want += r + k;
    good &= drop_same("a short-lived op", &x, &want, 1);
  }
  return good;
}

/* On floats a user-defined sum must give the same result on all ranks. */
static void sum_floats(void *in, void *inout, int *n, MPI_Datatype *type) {
  (void)type;
  called++;
  for (int i = 0; i < *n; i++) ((float *)inout)[i] += ((float *)in)[i];
}

static bool alike(void) {
  static float x[MOST], first[MOST];
  MPI_Op op;
  MPI_Op_create(sum_floats, 1, &op);
  for (int i = 0; i < MOST; i++)
    x[i] = 1.0f / (float)(1 + (drop_mix((unsigned)i, (unsigned)drop_rank, 3) % 99));
  bool good = DROP_CALL(MPI_Allreduce(MPI_IN_PLACE, x, MOST, MPI_FLOAT, op, MPI_COMM_WORLD));
  MPI_Op_free(&op);
  for (int r = 1; r < drop_ranks; r++) {
    if (drop_rank == 0) MPI_Send(x, MOST, MPI_FLOAT, r, 5, MPI_COMM_WORLD);
    if (drop_rank == r) {
      MPI_Recv(first, MOST, MPI_FLOAT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      good &= DROP_CHECK(memcmp(x, first, sizeof x) == 0);
    }
  }
  return good;
}

int main(int argc, char **argv) {
  MPI_Op ordered, ordered_gappy, any, spaced;
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {offsetof(gappy, a), offsetof(gappy, b)};
  const MPI_Datatype types[] = {MPI_INT, MPI_INT};
  MPI_Datatype bare, second;
  static const size_t sizes[] = {1, 7, 300, MOST};
  bool good[4] = {true, true, true, true};
  drop_start(&argc, &argv, MPI_THREAD_SINGLE);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_create_struct(2, lengths, places, types, &bare);
  MPI_Type_create_resized(bare, 0, sizeof(gappy), &holes);
  MPI_Type_commit(&holes);
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &second);
  MPI_Type_commit(&second);
  MPI_Op_create(sum_apart, 1, &spaced);
  MPI_Op_create(compose, 0, &ordered);
  MPI_Op_create(compose_gappy, 0, &ordered_gappy);
  MPI_Op_create(add_typed, 1, &any);
  for (int s = 0; s < 4; s++) {
    good[0] &= in_order(ordered, sizes[s]);
    good[1] &= with_holes(ordered_gappy, sizes[s]) && apart(spaced, second, sizes[s]);
    good[2] &= contiguous(any, 1 + s, sizes[s]);
  }
  good[3] &= short_lives() && alike();
  drop_tell("an op whose order matters, on a contiguous type", good[0]);
  drop_tell("ops on types with holes, in and between the elements", good[1]);
  drop_tell("a commutative op on contiguous types", good[2]);
  drop_tell("ops that do not live long, and the same bits on all ranks", good[3]);
  drop_tell("the program's functions were called", DROP_CHECK(called > 0 || drop_ranks == 1));
  MPI_Op_free(&ordered);
  MPI_Op_free(&ordered_gappy);
  MPI_Op_free(&any);
  MPI_Op_free(&spaced);
  MPI_Type_free(&pair);
  MPI_Type_free(&holes);
  MPI_Type_free(&bare);
  MPI_Type_free(&second);
  return drop_end();
}
