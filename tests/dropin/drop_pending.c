/* drop_pending.c - many non-blocking collectives in flight: all kinds, on several communicators, completed in
 * any order.
 *
 * Idea      All ranks start the same operations in the same order; each rank completes some in its
 *           own order and replaces them by new ones. The result of every kind can be computed. Everything that
 *           MPI allows a program to free early is freed immediately, including the arrays of counts and
 *           displacements of the operations that tutti takes over: bindings (mpi4py) free theirs,
 *           and both MPIs copy them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "drop.h"

enum { WINDOW = 12, FLIGHTS = 130, COMMS = 3, MOST = 2000 };

typedef struct flight {
  int kind; /* -1: none */
  unsigned seed;
  int n, rank, ranks, root;
  bool in_place;
  MPI_Comm comm;
  int *in, *out, *counts, *displs, *bytes;
  MPI_Datatype *types;
} flight;

static MPI_Comm comms[COMMS];

/* ---- a rank's data, and the results ---- */

static int item(const flight *f, int rank, int i) {
  return (int)(f->seed % 1000) + 3 * rank + i;
}
static int sum(const flight *f, int ranks, int i) {
  return ranks * item(f, 0, i) + 3 * ranks * (ranks - 1) / 2;
}
static int count_of(const flight *f, int rank) {
  return (f->n + rank) % (f->n + 2);
}
/* The number of elements of the preceding ranks. */
static int before(const flight *f, int rank) {
  int all = 0;
  for (int r = 0; r < rank; r++) all += count_of(f, r);
  return all;
}
/* The offset of a rank's block: blocks are in reverse rank order, with a gap after each. */
static int place_of(const flight *f, int rank) {
  return (f->ranks - 1 - rank) * (f->n + 3);
}
static int *from(const flight *f) {
  return f->in_place ? MPI_IN_PLACE : f->in;
}
static bool sums_at(const flight *f, const int *at, int n, int first) {
  bool good = true;
  for (int i = 0; i < n && good; i++) good = DROP_CHECK(at[i] == sum(f, f->ranks, first + i));
  return good;
}
static bool block_at(const flight *f, const int *at, int n, int rank, int first) {
  bool good = true;
  for (int i = 0; i < n && good; i++) good = DROP_CHECK(at[i] == item(f, rank, first + i));
  return good;
}

/* ---- the kinds ---- */

static bool start_allreduce(flight *f, MPI_Request *q) {
  if (f->in_place) memcpy(f->out, f->in, (size_t)f->n * sizeof *f->out);
  return DROP_CALL(MPI_Iallreduce(from(f), f->out, f->n, MPI_INT, MPI_SUM, f->comm, q));
}
static bool check_allreduce(const flight *f) {
  return sums_at(f, f->out, f->n, 0);
}

static bool start_reduce(flight *f, MPI_Request *q) {
  const bool in_place = f->in_place && f->rank == f->root;
  if (in_place) memcpy(f->out, f->in, (size_t)f->n * sizeof *f->out);
  return DROP_CALL(MPI_Ireduce(in_place ? MPI_IN_PLACE : f->in, f->out, f->n, MPI_INT, MPI_SUM,
                               f->root, f->comm, q));
}
static bool check_reduce(const flight *f) {
  return f->rank != f->root || sums_at(f, f->out, f->n, 0);
}

/* A user-defined op; the program frees op and type immediately. */
static void add_pairs(void *in_, void *inout_, int *n, MPI_Datatype *type) {
  const int *in = in_;
  int *inout = inout_;
  (void)type;
  for (int i = 0; i < 2 * *n; i++) inout[i] += in[i];
}
static bool start_own(flight *f, MPI_Request *q) {
  MPI_Op op;
  MPI_Datatype pair;
  bool good = DROP_CALL(MPI_Op_create(add_pairs, f->seed % 2, &op)) &&
              DROP_CALL(MPI_Type_contiguous(2, MPI_INT, &pair)) &&
              DROP_CALL(MPI_Type_commit(&pair));
  good &= DROP_CALL(MPI_Iallreduce(f->in, f->out, f->n / 2, pair, op, f->comm, q));
  return DROP_CALL(MPI_Op_free(&op)) && DROP_CALL(MPI_Type_free(&pair)) && good;
}
static bool check_own(const flight *f) {
  return sums_at(f, f->out, f->n / 2 * 2, 0);
}

static bool start_product(flight *f, MPI_Request *q) {
  double *x = (double *)f->in;
  for (int i = 0; i < f->n; i++) x[i] = 1 + (f->rank + i) % 2;
  return DROP_CALL(
      MPI_Iallreduce(x, f->out, f->n, MPI_DOUBLE, MPI_PROD, f->comm, q));
}
static bool check_product(const flight *f) {
  const double *x = (const double *)f->out;
  bool good = true;
  for (int i = 0; i < f->n && good; i++) {
    double product = 1;
    for (int r = 0; r < f->ranks; r++) product *= 1 + (r + i) % 2;
    good = DROP_CHECK(x[i] == product);
  }
  return good;
}

static bool start_scatter(flight *f, MPI_Request *q) {
  int *src = f->in_place ? f->out : f->in;
  for (int r = 0; r < f->ranks; r++) f->counts[r] = count_of(f, r);
  memcpy(src, f->in, (size_t)before(f, f->ranks) * sizeof *src);
  return DROP_CALL(
      MPI_Ireduce_scatter(from(f), f->out, f->counts, MPI_INT, MPI_SUM, f->comm, q));
}
static bool check_scatter(const flight *f) {
  return sums_at(f, f->out, count_of(f, f->rank), before(f, f->rank));
}

static bool start_block(flight *f, MPI_Request *q) {
  if (f->in_place) memcpy(f->out, f->in, (size_t)(f->n * f->ranks) * sizeof *f->out);
  return DROP_CALL(MPI_Ireduce_scatter_block(from(f), f->out, f->n, MPI_INT, MPI_SUM, f->comm, q));
}
static bool check_block(const flight *f) {
  return sums_at(f, f->out, f->n, f->n * f->rank);
}

static bool start_gather(flight *f, MPI_Request *q) {
  if (f->in_place) memcpy(f->out + f->n * f->rank, f->in, (size_t)f->n * sizeof *f->out);
  return DROP_CALL(MPI_Iallgather(from(f), f->n, MPI_INT, f->out, f->n, MPI_INT, f->comm, q));
}
static bool check_gather(const flight *f) {
  bool good = true;
  for (int r = 0; r < f->ranks; r++) good &= block_at(f, f->out + f->n * r, f->n, r, 0);
  return good;
}

static bool start_gatherv(flight *f, MPI_Request *q) {
  const int own = count_of(f, f->rank);
  for (int r = 0; r < f->ranks; r++) f->counts[r] = count_of(f, r), f->displs[r] = place_of(f, r);
  if (f->in_place) memcpy(f->out + place_of(f, f->rank), f->in, (size_t)own * sizeof *f->out);
  return DROP_CALL(MPI_Iallgatherv(from(f), own, MPI_INT, f->out, f->counts, f->displs, MPI_INT,
                                   f->comm, q));
}
static bool check_gatherv(const flight *f) {
  bool good = true;
  for (int r = 0; r < f->ranks; r++) {
    good &= block_at(f, f->out + place_of(f, r), count_of(f, r), r, 0);
    for (int i = count_of(f, r); i < f->n + 3; i++) /* the gap */
      good &= DROP_CHECK(f->out[place_of(f, r) + i] == -1);
  }
  return good;
}

/* Every other int, described by a type that is freed immediately. */
static bool start_bcast(flight *f, MPI_Request *q) {
  MPI_Datatype apart;
  bool good = DROP_CALL(MPI_Type_vector(f->n, 1, 2, MPI_INT, &apart)) &&
              DROP_CALL(MPI_Type_commit(&apart));
  for (int i = 0; i < f->n && f->rank == f->root; i++) f->out[2 * i] = item(f, f->root, i);
  good &= DROP_CALL(MPI_Ibcast(f->out, 1, apart, f->root, f->comm, q));
  return DROP_CALL(MPI_Type_free(&apart)) && good;
}
static bool check_bcast(const flight *f) {
  bool good = true;
  for (int i = 0; i < f->n && good; i++)
    good = DROP_CHECK(f->out[2 * i] == item(f, f->root, i) && f->out[2 * i + 1] == -1);
  return good;
}

static bool start_barrier(flight *f, MPI_Request *q) {
  return DROP_CALL(MPI_Ibarrier(f->comm, q));
}
static bool check_barrier(const flight *f) {
  return DROP_CHECK(f->out[0] == -1);
}

/* Collectives that tutti does not take over; in_place selects one of two. */
static bool start_rooted(flight *f, MPI_Request *q) {
  if (f->in_place)
    return DROP_CALL(
        MPI_Igather(f->in, f->n, MPI_INT, f->out, f->n, MPI_INT, f->root, f->comm, q));
  return DROP_CALL(MPI_Iscatter(f->in, f->n, MPI_INT, f->out, f->n, MPI_INT, f->root, f->comm, q));
}
static bool check_rooted(const flight *f) {
  if (!f->in_place) return block_at(f, f->out, f->n, f->root, f->n * f->rank);
  return f->rank != f->root || check_gather(f);
}

static bool start_alltoall(flight *f, MPI_Request *q) {
  if (f->in_place)
    return DROP_CALL(MPI_Ialltoall(f->in, f->n, MPI_INT, f->out, f->n, MPI_INT, f->comm, q));
  for (int r = 0; r < f->ranks; r++) {
    f->counts[r] = f->n;
    f->bytes[r] = r * f->n * (int)sizeof(int);
    f->types[r] = MPI_INT;
  }
  return DROP_CALL(MPI_Ialltoallw(f->in, f->counts, f->bytes, f->types, f->out, f->counts, f->bytes,
                                  f->types, f->comm, q));
}
static bool check_alltoall(const flight *f) {
  bool good = true;
  for (int r = 0; r < f->ranks; r++)
    good &= block_at(f, f->out + f->n * r, f->n, r, f->n * f->rank);
  return good;
}

static bool start_scan(flight *f, MPI_Request *q) {
  if (f->in_place)
    return DROP_CALL(MPI_Iscan(f->in, f->out, f->n, MPI_INT, MPI_SUM, f->comm, q));
  return DROP_CALL(MPI_Iexscan(f->in, f->out, f->n, MPI_INT, MPI_SUM, f->comm, q));
}
static bool check_scan(const flight *f) {
  const int ranks = f->rank + f->in_place;
  bool good = true;
  for (int i = 0; i < f->n && good && ranks; i++) good = DROP_CHECK(f->out[i] == sum(f, ranks, i));
  return good;
}

static const struct {
  bool (*start)(flight *f, MPI_Request *q);
  bool (*check)(const flight *f);
  bool arrays_go; /* the arrays are freed directly after the call */
} kinds[] = {{start_allreduce, check_allreduce, true}, {start_reduce, check_reduce, true},
             {start_own, check_own, true},             {start_product, check_product, true},
             {start_scatter, check_scatter, true},     {start_block, check_block, true},
             {start_gather, check_gather, true},       {start_gatherv, check_gatherv, true},
             {start_bcast, check_bcast, true},         {start_barrier, check_barrier, true},
             {start_rooted, check_rooted, false},      {start_alltoall, check_alltoall, false},
             {start_scan, check_scan, false}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- one operation under way ---- */

static void drop_arrays(flight *f) {
  const size_t bytes = (size_t)f->ranks * sizeof(int);
  if (!f->counts) return;
  memset(f->counts, 0x5a, bytes);
  memset(f->displs, 0x5a, bytes);
  free(f->counts);
  free(f->displs);
  f->counts = f->displs = NULL;
}

static bool begin(flight *f, int number, MPI_Request *q) {
  static const int sizes[] = {0, 1, 7, 60, MOST};
  const unsigned seed = drop_mix((unsigned)number, 77, 5);
  *f = (flight){.kind = number % KINDS, .seed = seed, .comm = comms[seed % COMMS]};
  MPI_Comm_rank(f->comm, &f->rank);
  MPI_Comm_size(f->comm, &f->ranks);
  f->n = sizes[seed / 7 % 5];
  f->root = (int)(seed / 64 % (unsigned)f->ranks);
  f->in_place = seed / 1024 % 2;
  const size_t all = (size_t)f->ranks * (size_t)(f->n + 3) * 2;
  f->in = malloc(all * sizeof *f->in);
  f->out = malloc(all * sizeof *f->out);
  f->counts = malloc((size_t)f->ranks * sizeof *f->counts);
  f->displs = malloc((size_t)f->ranks * sizeof *f->displs);
  f->bytes = malloc((size_t)f->ranks * sizeof *f->bytes);
  f->types = malloc((size_t)f->ranks * sizeof(MPI_Datatype));
  for (size_t i = 0; i < all; i++) f->in[i] = item(f, f->rank, (int)i), f->out[i] = -1;
  const bool good = kinds[f->kind].start(f, q);
  if (kinds[f->kind].arrays_go) drop_arrays(f);
  return good;
}

static bool end(flight *f) {
  const bool good = kinds[f->kind].check(f);
  if (!good) printf("# rank %d: kind %d, %d ints\n", drop_rank, f->kind, f->n);
  drop_arrays(f);
  free(f->in);
  free(f->out);
  free(f->bytes);
  free(f->types);
  f->kind = -1;
  return good;
}

/* ---- all operations ---- */

/* Completes some requests in one of MPI's ways; completed requests become MPI_REQUEST_NULL. */
static bool complete(int way, unsigned seed, MPI_Request *q) {
  MPI_Status status[WINDOW];
  int which[WINDOW], n = 0, done = 0;
  switch (way) {
    case 0: return DROP_CALL(MPI_Waitall(WINDOW, q, status));
    case 1: return DROP_CALL(MPI_Waitall(WINDOW, q, MPI_STATUSES_IGNORE));
    case 2: return DROP_CALL(MPI_Testall(WINDOW, q, &done, status));
    case 3: return DROP_CALL(MPI_Waitsome(WINDOW, q, &n, which, status));
    case 4: return DROP_CALL(MPI_Testsome(WINDOW, q, &n, which, MPI_STATUSES_IGNORE));
    case 5: return DROP_CALL(MPI_Waitany(WINDOW, q, which, status));
    case 6: return DROP_CALL(MPI_Testany(WINDOW, q, which, &done, MPI_STATUS_IGNORE));
    case 7: return DROP_CALL(MPI_Wait(&q[seed % WINDOW], status));
    default: return DROP_CALL(MPI_Test(&q[seed % WINDOW], &done, status));
  }
}

/* Every rank completes them in its own way. */
static bool all_ways(int first, int flights) {
  flight f[WINDOW];
  MPI_Request q[WINDOW];
  bool good = true;
  int begun = 0, over = 0;
  for (int k = 0; k < WINDOW; k++) f[k].kind = -1, q[k] = MPI_REQUEST_NULL;
  for (unsigned step = 0; over < flights; step++) {
    for (int k = 0; k < WINDOW; k++) {
      if (q[k] != MPI_REQUEST_NULL) continue;
      if (f[k].kind >= 0) good &= end(&f[k]), over++;
      /* now and then an entry stays empty */
      if (begun < flights && drop_mix(step, (unsigned)drop_rank, (unsigned)k) % 4)
        good &= begin(&f[k], first + begun++, &q[k]);
    }
    const unsigned seed = drop_mix(step, (unsigned)drop_rank, 991);
    good &= complete((int)(seed % 9), seed / 16, q);
  }
  return good;
}

/* MPI_Waitall with MPI_REQUEST_NULL among the requests. */
static bool holes(void) {
  flight f;
  bool good = true;
  for (int k = 0; k < 30; k++) {
    MPI_Request q[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status[3];
    int n = -1;
    good &= begin(&f, 13 * k + k % 10, &q[k % 3]) && DROP_CALL(MPI_Waitall(3, q, status));
    for (int i = 0; i < 3; i++) good &= DROP_CHECK(q[i] == MPI_REQUEST_NULL);
    const MPI_Status *none = &status[(k + 1) % 3];
    good &= DROP_CALL(MPI_Get_count(none, MPI_INT, &n)) && DROP_CHECK(n == 0) &&
            DROP_CHECK(none->MPI_SOURCE == MPI_ANY_SOURCE && none->MPI_TAG == MPI_ANY_TAG);
    good &= end(&f);
  }
  return good;
}

int main(int argc, char **argv) {
  drop_start(&argc, &argv, MPI_THREAD_MULTIPLE);
  bool good = DROP_CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0])) &&
              DROP_CALL(MPI_Comm_split(MPI_COMM_WORLD, 0, -drop_rank, &comms[1])) &&
              DROP_CALL(MPI_Comm_split(MPI_COMM_WORLD, drop_rank % 2, 0, &comms[2]));
  drop_tell("communicators", good);
  for (int k = 0; k < 2; k++) drop_tell("many at a time", all_ways(FLIGHTS * k, FLIGHTS));
  drop_tell("places without one", holes());
  for (int k = 0; k < COMMS; k++) good &= DROP_CALL(MPI_Comm_free(&comms[k]));
  drop_tell("communicators are freed", good);
  return drop_end();
}
