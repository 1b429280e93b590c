/* drop_ops.c - every predefined type with every predefined op, in every reduction.
 *
 * Idea      All ranks compute all ranks' inputs and fold them with MPI_Reduce_local. If
 *           MPI_Reduce_local refuses a pair, the collectives must refuse it: the class of
 *           the error is printed and compared with the run without tutti.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "drop.h"
#include "drop_kinds.h"

/* Open MPI accepts more pairs than the standard defines and refuses the others; MPICH 4.0 ends the program on
 * some. */
#ifdef OPEN_MPI
enum { BEYOND = 1 };
#else
enum { BEYOND = 0 };
#endif
enum { MOST = 700 };

static const struct {
  const char *name;
  int value;          /* bound of a rank's element, so that products stay exact */
  const char *groups; /* of the types for which the standard defines it */
} op_entries[] = {{"MAX", 50, "ifrm"},  {"MIN", 50, "ifrm"}, {"SUM", 9, "ifrcm"},
                  {"PROD", 2, "ifrcm"}, {"LAND", 1, "il"},   {"BAND", 50, "ifbm"},
                  {"LOR", 1, "il"},     {"BOR", 50, "ifbm"}, {"LXOR", 1, "il"},
                  {"BXOR", 50, "ifbm"}, {"MAXLOC", 9, "p"},  {"MINLOC", 9, "p"}};
enum { OPS = sizeof op_entries / sizeof *op_entries };

static MPI_Op op_number(int i) {
  const MPI_Op ops[OPS] = {MPI_MAX, MPI_MIN, MPI_SUM,  MPI_PROD, MPI_LAND,   MPI_BAND,
                           MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
  return ops[i];
}

typedef struct bench {
  const drop_kind *kind;
  int op;
  char *mine, *got, *want, *other;
} bench;

static void fill(const bench *b, char *at, int rank, size_t n) {
  memset(at, 0, n * b->kind->size);
  for (size_t i = 0; i < n; i++)
    b->kind->put(at, i,
                 (int)(drop_mix((unsigned)rank, (unsigned)i, (unsigned)b->op) %
                       (unsigned)(op_entries[b->op].value + 1)));
}

static int fold(const bench *b, size_t n) {
  fill(b, b->want, drop_ranks - 1, n);
  for (int r = drop_ranks - 2; r >= 0; r--) {
    fill(b, b->other, r, n);
    const int error = MPI_Reduce_local(b->other, b->want, (int)n, b->kind->type, op_number(b->op));
    if (error) return error;
  }
  return MPI_SUCCESS;
}

static bool equal(const bench *b, const char *what, const char *got, size_t from, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (b->kind->equal(got - from * b->kind->size, b->want, from + i)) continue;
    printf("# rank %d: %s, %s, %s: element %zu of %zu is wrong\n", drop_rank, what, b->kind->name,
           op_entries[b->op].name, i, n);
    return false;
  }
  return true;
}

static bool allreduce(const bench *b, size_t n) {
  const MPI_Datatype type = b->kind->type;
  const MPI_Op op = op_number(b->op);
  fill(b, b->mine, drop_rank, n);
  fill(b, b->got, drop_rank, n);
  bool good = DROP_CALL(MPI_Allreduce(MPI_IN_PLACE, b->got, (int)n, type, op, MPI_COMM_WORLD));
  good &= equal(b, "allreduce in place", b->got, 0, n);
  memset(b->got, 0, n * b->kind->size);
  good &= DROP_CALL(MPI_Allreduce(b->mine, b->got, (int)n, type, op, MPI_COMM_WORLD));
  return good && equal(b, "allreduce", b->got, 0, n);
}

static bool reduce(const bench *b, size_t n) {
  int root = (int)(n + (size_t)b->op) % drop_ranks;
  const MPI_Datatype type = b->kind->type;
  const MPI_Op op = op_number(b->op);
  fill(b, b->mine, drop_rank, n);
  memset(b->got, 0, n * b->kind->size);
  bool good = DROP_CALL(MPI_Reduce(b->mine, b->got, (int)n, type, op, root, MPI_COMM_WORLD));
  if (drop_rank == root) good &= equal(b, "reduce", b->got, 0, n);
  if (!BEYOND) root = 0; /* with another root, MPICH 4.0 itself fails in place */
  good &= DROP_CALL(MPI_Reduce(drop_rank == root ? MPI_IN_PLACE : b->mine, b->mine, (int)n, type,
                               op, root, MPI_COMM_WORLD));
  return good && (drop_rank != root || equal(b, "reduce in place", b->mine, 0, n));
}

static bool scatter(const bench *b, size_t each) {
  const size_t n = each * (size_t)drop_ranks;
  const MPI_Op op = op_number(b->op);
  const MPI_Datatype type = b->kind->type;
  int counts[64];
  size_t from = 0, all = 0;
  for (int r = 0; r < drop_ranks; r++) { /* unequal, and 0 for some */
    counts[r] = r % 3 == 1 ? 0 : (int)each / (1 + r % 2);
    if (r < drop_rank) from += (size_t)counts[r];
    all += (size_t)counts[r];
  }
  fill(b, b->mine, drop_rank, n);
  bool good =
      DROP_CALL(MPI_Reduce_scatter_block(b->mine, b->got, (int)each, type, op, MPI_COMM_WORLD));
  good &= equal(b, "reduce_scatter_block", b->got, (size_t)drop_rank * each, each);
  good &= DROP_CALL(MPI_Reduce_scatter(b->mine, b->got, counts, type, op, MPI_COMM_WORLD));
  good &= equal(b, "reduce_scatter", b->got, from, (size_t)counts[drop_rank]);
  fill(b, b->got, drop_rank, all);
  good &= DROP_CALL(MPI_Reduce_scatter(MPI_IN_PLACE, b->got, counts, type, op, MPI_COMM_WORLD));
  good &= equal(b, "reduce_scatter in place", b->got, from, (size_t)counts[drop_rank]);
  fill(b, b->got, drop_rank, n);
  good &= DROP_CALL(
      MPI_Reduce_scatter_block(MPI_IN_PLACE, b->got, (int)each, type, op, MPI_COMM_WORLD));
  return good && equal(b, "reduce_scatter_block in place", b->got, (size_t)drop_rank * each, each);
}

static int class_of(int error) {
  int class = 0;
  if (error) MPI_Error_class(error, &class);
  return class;
}

/* Checks the MPI's answer to a pair that it does not support. Some MPIs have names of types without reductions, such as
 * Fortran's if they were built without Fortran. */
static void refused(const bench *b) {
  const int all =
      MPI_Allreduce(b->mine, b->got, 3, b->kind->type, op_number(b->op), MPI_COMM_WORLD);
  const int one =
      MPI_Reduce(b->mine, b->got, 3, b->kind->type, op_number(b->op), 0, MPI_COMM_WORLD);
  if (drop_rank == 0)
    printf("# %s %s: refused with class %d, %d\n", b->kind->name, op_entries[b->op].name,
           class_of(all), class_of(one));
}

int main(int argc, char **argv) {
  const drop_kind *kinds;
  static const size_t sizes[] = {1, 13, 130};
  char line[128];
  drop_start(&argc, &argv, MPI_THREAD_SINGLE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  bench b = {.mine = malloc(MOST * 32),
             .got = malloc(MOST * 32),
             .want = malloc(MOST * 32),
             .other = malloc(MOST * 32)};
  const int n = drop_kinds(&kinds);
  for (b.op = 0; b.op < OPS; b.op++) {
    bool good = true;
    int accepted = 0;
    for (int k = 0; k < n; k++) {
      b.kind = &kinds[k];
      if (!strchr(op_entries[b.op].groups, b.kind->group) && !BEYOND) continue;
      fill(&b, b.mine, drop_rank, 3);
      fill(&b, b.got, drop_rank, 3);
      if (MPI_Reduce_local(b.mine, b.got, 1, b.kind->type, op_number(b.op))) {
        refused(&b);
        continue;
      }
      accepted++;
      for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        good &= DROP_CHECK(fold(&b, sizes[s] * (size_t)drop_ranks) == MPI_SUCCESS);
        good &= allreduce(&b, sizes[s]);
        good &= reduce(&b, sizes[s]);
        good &= scatter(&b, sizes[s]);
      }
    }
    snprintf(line, sizeof line, "MPI_%s with the %d types that it takes", op_entries[b.op].name,
             accepted);
    drop_tell(line, good && DROP_CHECK(accepted > 0));
  }
  return drop_end();
}
