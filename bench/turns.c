/* turns.c - compares the libraries that fit into one process, in alternating time slices of milliseconds.
 *
 *   mpirun ... turns loop|cycle FIRST LAST BUDGET ROUNDS SIDE,SIDE,...
 *
 * Idea       The hypervisor migrates virtual CPUs, and other programs start and stop, so the times of programs that
 *            run one after another differ by more than the libraries do. Therefore all sides run in the same
 *            processes, each for BUDGET seconds in each round. Each round begins with another side. Only times of the
 *            same round are compared.
 * Sides      own: the MPI's allreduce, looked up in the MPI's library, because a preloaded library interposes its names.
 *            tutti: tutti_comm_from_mpi, with shared memory if all ranks are on one host.
 *            alloc: the same, on a vector from tutti_mem_alloc.
 *            generic, generic-alloc: the same with TUTTI_ENGINE=generic.
 *            ucx, tcp: with this TUTTI_NET, and TURNS_UCX_PROFILE or TURNS_TCP_PROFILE as TUTTI_PROFILE.
 *            rails: ucx over all devices of TURNS_RAILS (TUTTI_RAILS), with TURNS_RAILS_PROFILE.
 *            shim: MPI_Allreduce, with tutti's library preloaded.
 *            gloo: the fastest of its algorithms, over TURNS_INTERFACE or the loopback.
 *            exchange, two-shot, stream: lower bounds on one host (turns_floor.c), for the sizes and numbers of ranks
 *            that they support.
 * Cycle      every rank writes its vector, makes the call, and reads the result; the accesses alone are subtracted.
 *            loop: one call after another.
 * Checked    the result, once per size and side, with integers.
 * Prints     a line of JSON per size. line_ns: the round trip of a cache line, before and after each round (0 on
 *            several hosts); us: the time of each side in each round, on the slowest rank; plan: the plan that ran.
 *            Then it prints `done`, before MPI_Finalize, where MPICH 4.0 over UCX can hang. An error ends all ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <ftw.h>
#include <mpi.h>
#include <unistd.h>

#include "timing.h"
#include "turns.h"
#include "tutti_mpi.h"
#include "tutti_plan.h"

static int rank, ranks, near; /* near: all ranks share memory */
static tutti_comm *comm, *ucx_comm, *tcp_comm, *rails_comm, *generic_comm;
#ifdef WITH_GLOO
static int gloo_best;
#endif
/* The MPI library's own function. It is looked up with dlsym, because a preloaded library may interpose its name. */
static int (*own_allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

static void check(int good, const char *what, const char *why) {
  if (good) return;
  fprintf(stderr, "turns: rank %d: %s: %s\n", rank, what, why);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- synchronization of all ranks, mostly without the MPI ---- */

static void meet(void) {
  if (near)
    floor_meet();
  else
    PMPI_Barrier(MPI_COMM_WORLD);
}

static double slowest(double seconds) {
  if (near) return floor_slowest(seconds);
  own_allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

/* ---- the sides ---- */

typedef struct side {
  const char *name;
  void (*sum)(float *x, size_t n); /* in place */
  int wanted;
} side;

static void own_sum(float *x, size_t n) {
  own_allreduce(MPI_IN_PLACE, x, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void shim_sum(float *x, size_t n) {
  MPI_Allreduce(MPI_IN_PLACE, x, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void tutti_sum(float *x, size_t n) {
  check(!tutti_allreduce(comm, x, x, n, TUTTI_FLOAT, TUTTI_SUM), "tutti", tutti_error());
}

static void generic_sum(float *x, size_t n) {
  check(!tutti_allreduce(generic_comm, x, x, n, TUTTI_FLOAT, TUTTI_SUM), "generic", tutti_error());
}

static void tcp_sum(float *x, size_t n) {
  check(!tutti_allreduce(tcp_comm, x, x, n, TUTTI_FLOAT, TUTTI_SUM), "tcp", tutti_error());
}

static void ucx_sum(float *x, size_t n) {
  check(!tutti_allreduce(ucx_comm, x, x, n, TUTTI_FLOAT, TUTTI_SUM), "ucx", tutti_error());
}

static void rails_sum(float *x, size_t n) {
  check(!tutti_allreduce(rails_comm, x, x, n, TUTTI_FLOAT, TUTTI_SUM), "rails", tutti_error());
}

static void gloo_best_sum(float *x, size_t n) {
#ifdef WITH_GLOO
  check(!gloo_sum(gloo_best, x, n), "gloo", gloo_name(gloo_best));
#else
  (void)x, (void)n;
#endif
}

enum {
  OWN,
  TUTTI,
  ALLOC,
  GENERIC,
  GENERIC_ALLOC,
  UCX,
  TCP,
  RAILS,
  GLOO,
  SHIM,
  EXCHANGE,
  TWO_SHOT,
  STREAM,
  SIDES
};
static side sides[SIDES] = {[OWN] = {"own", own_sum},
                            [TUTTI] = {"tutti", tutti_sum},
                            [ALLOC] = {"alloc", tutti_sum},
                            [GENERIC] = {"generic", generic_sum},
                            [GENERIC_ALLOC] = {"generic-alloc", generic_sum},
                            [UCX] = {"ucx", ucx_sum},
                            [TCP] = {"tcp", tcp_sum},
                            [RAILS] = {"rails", rails_sum},
                            [GLOO] = {"gloo", gloo_best_sum},
                            [SHIM] = {"shim", shim_sum},
                            [EXCHANGE] = {"exchange", floor_exchange},
                            [TWO_SHOT] = {"two-shot", floor_two_shot},
                            [STREAM] = {"stream", floor_stream}};

/* Returns true if side s was requested and can sum n elements on these ranks. */
static int plays(int s, size_t n) {
  if (s == EXCHANGE) return sides[s].wanted && n <= FLOOR_EXCHANGE;
  if (s == TWO_SHOT || s == STREAM) return sides[s].wanted && ranks == 2;
  return sides[s].wanted;
}

static tutti_comm *comm_of(int s) {
  if (s == UCX) return ucx_comm;
  if (s == TCP) return tcp_comm;
  if (s == RAILS) return rails_comm;
  if (s == GENERIC || s == GENERIC_ALLOC) return generic_comm;
  return s == TUTTI || s == ALLOC ? comm : NULL;
}

static float *vector_of(int s, size_t n) {
  void *x = NULL;
  if (s == TWO_SHOT) return floor_vector();
  if (s == ALLOC || s == GENERIC_ALLOC)
    check(!tutti_mem_alloc(comm_of(s), n * sizeof(float), &x), "tutti_mem_alloc", tutti_error());
  else
    check((x = malloc(n * sizeof(float))) != NULL, "malloc", "out of memory");
  return x;
}

static void free_vector(int s, float *x) {
  if (s == ALLOC || s == GENERIC_ALLOC)
    tutti_mem_free(comm_of(s), x);
  else if (s != TWO_SHOT)
    free(x);
}

static const char *plan_of(int s, size_t n, char *text, size_t room) {
  *text = 0;
  if (comm_of(s))
    tutti_comm_plan(comm_of(s), TUTTI_ALLREDUCE, n, TUTTI_FLOAT, TUTTI_SUM, text, room);
#ifdef WITH_GLOO
  if (s == GLOO) snprintf(text, room, "%s", gloo_name(gloo_best));
#endif
  return text;
}

/* ---- one size ---- */

/* Checks one sum. The vectors contain integers, so the result does not depend on the order. The first call also chooses the
 * plan and the engine. */
static void check_sum(int s, float *x, size_t n) {
  const size_t p = (size_t)ranks;
  size_t wrong = 0;
  for (size_t i = 0; i < n; i++) x[i] = (float)((size_t)rank + i % 7);
  if (comm_of(s) && comm_of(s) == generic_comm) setenv("TUTTI_ENGINE", "generic", 1);
  sides[s].sum(x, n);
  unsetenv("TUTTI_ENGINE");
  for (size_t i = 0; i < n; i++) wrong += x[i] != (float)(p * (p - 1) / 2 + p * (i % 7));
  check(!wrong, sides[s].name, "the sum is wrong");
  memset(x, 0, n * sizeof *x);
}

static double timed(int s, float *x, size_t n, long iterations, int touch, int with) {
  meet();
  const double from = timing_now();
  for (long i = 0; i < iterations; i++) {
    if (touch) touch_write(x, n * sizeof *x, i);
    if (with) sides[s].sum(x, n);
    if (touch) touch_read(x, n * sizeof *x);
  }
  return (timing_now() - from) / (double)iterations;
}

/* Returns the number of iterations in a time slice. The first calls are slow, so trials are repeated as long as each is much
 * faster than the previous one. */
static long settle(const timing_plan *plan, int s, float *x, size_t n) {
  double once = slowest(timed(s, x, n, LEAST_ITERATIONS, plan->cycle, 1));
  for (int k = 0, settled = 0; k < SETTLE && !settled; k++) {
    const long trial = timing_trial(plan->budget, once);
    const double again = slowest(timed(s, x, n, trial, plan->cycle, 1));
    settled = timing_settled(once, again);
    once = again;
  }
  return timing_fit(plan->budget, once);
}

/* Measures all of gloo's algorithms at this size, and sets gloo_best to the fastest. */
static void choose_gloo(const timing_plan *plan, float *x, size_t n) {
#ifdef WITH_GLOO
  double least = 0;
  int best = 0;
  for (gloo_best = 0; gloo_name(gloo_best); gloo_best++) {
    check_sum(GLOO, x, n);
    const long iterations = settle(plan, GLOO, x, n);
    const double each = slowest(timed(GLOO, x, n, iterations, plan->cycle, 1));
    if (!least || each < least) least = each, best = gloo_best;
  }
  gloo_best = best;
#else
  (void)plan, (void)x, (void)n;
#endif
}

typedef double rounds[MOST_REPEATS];

static void print_each(const double *each, int n) {
  for (int k = 0; k < n; k++) printf("%s%.4f", k ? ", " : "[", each[k]);
  printf("]");
}

static void show(size_t bytes, const rounds *us, const rounds *line, int n) {
  const char *between = "";
  if (rank == 0) {
    printf("{\"bytes\": %zu, \"line_ns\": [", bytes);
    print_each(line[0], n), printf(", "), print_each(line[1], n);
    printf("], \"us\": {");
  }
  for (int s = 0; s < SIDES && rank == 0; s++)
    if (plays(s, bytes / sizeof(float)))
      printf("%s\"%s\": ", between, sides[s].name), print_each(us[s], n), between = ", ";
  if (rank == 0) printf("}, \"plan\": {");
  between = "";
  for (int s = 0; s < SIDES; s++) {
    char plan[160];
    if (!plays(s, bytes / sizeof(float)) || !*plan_of(s, bytes / sizeof(float), plan, sizeof plan))
      continue;
    if (rank == 0) printf("%s\"%s\": \"%s\"", between, sides[s].name, plan), between = ", ";
  }
  if (rank == 0) puts("}}"), fflush(stdout);
}

static void size(const timing_plan *plan, size_t bytes) {
  static rounds us[SIDES], line[2];
  const size_t n = bytes / sizeof(float);
  long iterations[SIDES];
  float *x[SIDES];
  for (int s = 0; s < SIDES; s++) {
    if (!plays(s, n)) continue;
    x[s] = vector_of(s, n);
    if (s == GLOO) choose_gloo(plan, x[s], n);
    check_sum(s, x[s], n);
    iterations[s] = settle(plan, s, x[s], n);
  }
  for (int k = 0; k < plan->repeats; k++) {
    line[0][k] = near ? floor_line() : 0;
    for (int turn = 0; turn < SIDES; turn++) {
      const int s = (k + turn) % SIDES;
      if (!plays(s, n)) continue;
      const double without = plan->cycle ? timed(s, x[s], n, iterations[s], 1, 0) : 0;
      us[s][k] = 1e6 * slowest(timed(s, x[s], n, iterations[s], plan->cycle, 1) - without);
    }
    line[1][k] = near ? floor_line() : 0;
  }
  show(bytes, (const rounds *)us, (const rounds *)line, plan->repeats);
  for (int s = 0; s < SIDES; s++)
    if (plays(s, n)) free_vector(s, x[s]);
}

/* ---- opening and closing ---- */

#ifdef WITH_GLOO
static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at) {
  (void)st, (void)type, (void)at;
  return remove(path);
}

/* Connects the ranks through gloo. This needs a folder that all hosts share, as the hosts of netns.sh do. */
static void open_gloo(void) {
  const char *temporary = getenv("TMPDIR");
  char folder[200];
  snprintf(folder, sizeof folder, "%s/gloo.XXXXXX", temporary ? temporary : "/tmp");
  if (rank == 0) check(mkdtemp(folder) != NULL, "mkdtemp", folder);
  PMPI_Bcast(folder, sizeof folder, MPI_BYTE, 0, MPI_COMM_WORLD);
  check(!gloo_open(rank, ranks, folder, getenv("TURNS_INTERFACE")), "gloo", "it cannot be opened");
  PMPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
#endif

#ifdef OMPI_MAJOR_VERSION
#define MPI_LIBRARY "libmpi.so.40"
#else
#define MPI_LIBRARY "libmpich.so.12"
#endif

static void open_over(const char *net, const char *name, const char *profile, tutti_comm **over) {
  const char *path = getenv(profile);
  setenv("TUTTI_NET", net, 1);
  if (path) setenv("TUTTI_PROFILE", path, 1);
  check(!tutti_comm_from_mpi(MPI_COMM_WORLD, over), name, tutti_error());
}

static void open_sides(size_t last) {
  void *library = dlopen(MPI_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
  if (library) *(void **)&own_allreduce = dlsym(library, "PMPI_Allreduce");
  check(own_allreduce != NULL, MPI_LIBRARY, "the MPI has another library");
  near = floor_open(rank, ranks, last) == 0;
  if (sides[TUTTI].wanted || sides[ALLOC].wanted)
    check(!tutti_comm_from_mpi(MPI_COMM_WORLD, &comm), "tutti_comm_from_mpi", tutti_error());
  if (sides[GENERIC].wanted || sides[GENERIC_ALLOC].wanted)
    check(!tutti_comm_from_mpi(MPI_COMM_WORLD, &generic_comm), "generic", tutti_error());
  if (sides[UCX].wanted) open_over("ucx", "ucx", "TURNS_UCX_PROFILE", &ucx_comm);
  if (sides[TCP].wanted) open_over("tcp", "tcp", "TURNS_TCP_PROFILE", &tcp_comm);
  if (sides[RAILS].wanted) {
    const char *rails = getenv("TURNS_RAILS");
    check(rails && !setenv("TUTTI_RAILS", rails, 1), "rails", "TURNS_RAILS names no devices");
    open_over("ucx", "rails", "TURNS_RAILS_PROFILE", &rails_comm);
  }
  Dl_info from = {0};
  if (sides[SHIM].wanted)
    check(dladdr((void *)(size_t)MPI_Allreduce, &from) && strstr(from.dli_fname, "libtutti_pmpi"),
          "shim", "tutti's library is not preloaded");
#ifdef WITH_GLOO
  if (sides[GLOO].wanted) open_gloo();
#else
  check(!sides[GLOO].wanted, "gloo", "this program was built without it");
#endif
  for (int s = EXCHANGE; s <= STREAM; s++)
    check(near || !sides[s].wanted, sides[s].name, "it needs ranks that share memory");
}

static void close_sides(void) {
  tutti_comm_free(ucx_comm);
  tutti_comm_free(tcp_comm);
  tutti_comm_free(rails_comm);
  tutti_comm_free(generic_comm);
  tutti_comm_free(comm);
#ifdef WITH_GLOO
  if (sides[GLOO].wanted) gloo_close();
#endif
  if (near) floor_close();
}

/* Marks the sides whose names are in the list. Returns false if a name is unknown. */
static int want(char *names) {
  int known = 1;
  for (char *name = strtok(names, ","); name && known; name = strtok(NULL, ",")) {
    known = 0;
    for (int s = 0; s < SIDES; s++)
      if (strcmp(name, sides[s].name) == 0) known = sides[s].wanted = 1;
  }
  return known;
}

int main(int argc, char **argv) {
  timing_plan plan = {0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  check(argc == 7 && timing_parse(&plan, 5, argv + 1) && want(argv[6]), "usage",
        "turns " TIMING_USAGE
        " own,tutti,alloc,generic,generic-alloc,ucx,tcp,rails,gloo,shim,exchange,two-shot,stream");
  open_sides(plan.last);
  for (size_t b = plan.first; b <= plan.last; b *= 4) size(&plan, b);
  close_sides();
  PMPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("done"), fflush(stdout);
  MPI_Finalize();
  return 0;
}
