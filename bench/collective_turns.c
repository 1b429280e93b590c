/* collective_turns.c - times each collective with the MPI alone and with the drop-in, alternately in the same
 * processes.
 *
 *   tutti mpi mpirun -n N collective_turns LAST ROUNDS       (make bench-collectives)
 *
 * Method    A round is a block of calls with the MPI and a block with tutti, a few milliseconds each; the order alternates.
 *           The calls of a block follow each other without barriers, as in a program. The result is the median over the
 *           rounds of the slowest rank's mean.
 * Root      Always rank 0, or the next rank in each call.
 * Columns   collective, root, bytes of a rank's vector or block, us of the MPI, us of tutti, their ratio (MPI / tutti).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <mpi.h>

#include "timing.h"
#include "turns.h"

static const double BLOCK = 0.003; /* s */
enum { WARM = 20, TRIAL_CALLS = 5, MOST_RANKS = 64 };

typedef struct call {
  size_t bytes;
  int n, root, counts[MOST_RANKS], at[MOST_RANKS]; /* counts in floats */
  float *x, *y;
} call;

/* Defines a collective that can be called through the drop-in or through the MPI library itself, with the same arguments. The
 * MPI library's function is looked up with dlsym, because the drop-in also interposes the PMPI names. */
#define CALL(name, ...)                                           \
  static __typeof__(&MPI_##name) name##_own;                      \
  static void name##_by(int own, const call *c) {                 \
    (own ? name##_own : MPI_##name)(__VA_ARGS__, MPI_COMM_WORLD); \
  }
CALL(Bcast, c->x, c->n, MPI_FLOAT, c->root)
CALL(Reduce, c->x, c->y, c->n, MPI_FLOAT, MPI_SUM, c->root)
CALL(Allgather, c->x, c->n, MPI_FLOAT, c->y, c->n, MPI_FLOAT)
CALL(Allgatherv, c->x, c->n, MPI_FLOAT, c->y, c->counts, c->at, MPI_FLOAT)
CALL(Reduce_scatter, c->x, c->y, c->counts, MPI_FLOAT, MPI_SUM)
CALL(Allreduce, c->x, c->y, c->n, MPI_FLOAT, MPI_SUM)

static __typeof__(&MPI_Barrier) Barrier_own;
static void Barrier_by(int own, const call *c) {
  (void)c;
  (own ? Barrier_own : MPI_Barrier)(MPI_COMM_WORLD);
}

/* Looks up the functions of the MPI library. Returns false if no library with the name of a known MPI is loaded. */
static int find_own(void) {
  static const char *const names[] = {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12"};
  void *mpi = NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names && !mpi; i++)
    mpi = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
#define FIND(name) (name##_own = mpi ? (__typeof__(name##_own))dlsym(mpi, "PMPI_" #name) : NULL)
  return FIND(Bcast) && FIND(Reduce) && FIND(Allgather) && FIND(Allgatherv) &&
         FIND(Reduce_scatter) && FIND(Allreduce) && FIND(Barrier);
}

static const struct {
  const char *name;
  void (*by)(int own, const call *c);
  int rooted, sizes; /* rooted: it has a root; sizes: it has data */
} rows[] = {{"bcast", Bcast_by, 1, 1},         {"reduce", Reduce_by, 1, 1},
            {"allgather", Allgather_by, 0, 1}, {"allgatherv", Allgatherv_by, 0, 1},
            {"allreduce", Allreduce_by, 0, 1}, {"reduce_scatter", Reduce_scatter_by, 0, 1},
            {"barrier", Barrier_by, 0, 0}};
enum { ROWS = sizeof rows / sizeof *rows };

static int rank, ranks;

/* Returns the time per call in seconds on the slowest rank, as the average over a block of calls. */
static double time_block(int row, call *c, int own, int rotates, long calls) {
  floor_meet();
  const double from = timing_now();
  for (long i = 0; i < calls; i++) {
    c->root = rotates ? (int)(i % ranks) : 0;
    rows[row].by(own, c);
  }
  return floor_slowest((timing_now() - from) / (double)calls);
}

static void show(int row, call *c, int rotates, int rounds) {
  static double each[2][MOST_REPEATS];
  for (int own = 0; own < 2; own++) time_block(row, c, own, rotates, WARM);
  const double once = time_block(row, c, 1, rotates, TRIAL_CALLS);
  const long calls = timing_fit(BLOCK, once);
  for (int k = 0; k < rounds; k++)
    for (int turn = 0; turn < 2; turn++) {
      const int own = (turn + k) % 2;
      each[own][k] = time_block(row, c, own, rotates, calls);
    }
  const double mpi = timing_median(each[1], rounds), tutti = timing_median(each[0], rounds);
  if (rank) return;
  printf("%-15s %-7s %9zu %10.3f %10.3f %6.2f\n", rows[row].name,
         !rows[row].rooted ? "-"
         : rotates         ? "rotates"
                           : "0",
         c->bytes, 1e6 * mpi, 1e6 * tutti, mpi / tutti);
  fflush(stdout);
}

static int run(size_t last, int rounds) {
  call c = {.n = 0};
  c.x = calloc((size_t)ranks, last);
  c.y = calloc((size_t)ranks, last);
  if (!c.x || !c.y || !find_own() || floor_open(rank, ranks, last)) return 1;
  const double line = floor_line();
  if (rank == 0)
    printf(
        "# %d ranks; a cache line takes %.0f ns there and back\n"
        "# collective    root        bytes     MPI us   tutti us  MPI / tutti\n",
        ranks, line);
  for (int row = 0; row < ROWS; row++)
    for (int rotates = 0; rotates <= rows[row].rooted; rotates++)
      for (c.bytes = 4; c.bytes <= (rows[row].sizes ? last : 4); c.bytes *= 4) {
        c.n = (int)(c.bytes / sizeof(float));
        for (int r = 0; r < ranks; r++) c.counts[r] = c.n, c.at[r] = r * c.n;
        show(row, &c, rotates, rounds);
      }
  floor_close();
  free(c.x);
  free(c.y);
  return 0;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const size_t last = argc == 3 ? strtoull(argv[1], NULL, 10) : 0;
  const int rounds = argc == 3 ? atoi(argv[2]) : 0;
  int bad = last < 4 || rounds < 1 || rounds > MOST_REPEATS || ranks < 2 || ranks > MOST_RANKS;
  if (bad && rank == 0) fprintf(stderr, "usage: tutti mpi mpirun -n N collective_turns LAST ROUNDS\n");
  if (!bad && (bad = run(last, rounds)))
    fprintf(stderr, "collective_turns: the ranks share no memory, or the MPI's library is not known\n");
  MPI_Finalize();
  return bad ? 2 : 0;
}
