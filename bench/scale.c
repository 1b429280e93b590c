/* scale.c - predicts the times of plans on more ranks than fit on this machine, and measures the
 * resources that one of these ranks needs before its first message.
 *
 *   scale prices P TOPO FIGURES TYPE PLAN SIZE ...   the predicted seconds of a plan (with `all`,
 *                                                    of the plan that would be chosen), one line
 *                                                    per size
 *   scale setup P TOPO FIGURES HOSTS          creates one rank's communicator over a network that
 *                                             moves no data, and its plans
 *   scale schedule P PLAN [COLLECTIVE]        builds one rank's schedule, and prepares it to run
 *
 * Each line consists of a word and numbers, for scale.py. Memory is the amount requested from
 * malloc.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "build_comm.h"
#include "placement.h"
#include "tutti_plan.h"

/* ---- malloc with counters, on top of glibc's __libc_ functions ---- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *at, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *at);

static size_t held, most, peak; /* most: the peak since the current step began */

static void *gained(void *at) {
  held += at ? malloc_usable_size(at) : 0;
  if (held > most) most = held;
  if (held > peak) peak = held;
  return at;
}
void *malloc(size_t size) {
  return gained(__libc_malloc(size));
}
void *calloc(size_t n, size_t size) {
  return gained(__libc_calloc(n, size));
}
void *realloc(void *at, size_t size) {
  const size_t before = at ? malloc_usable_size(at) : 0;
  void *moved = __libc_realloc(at, size);
  if (moved || !size) held -= before;
  return gained(moved);
}
void *aligned_alloc(size_t align, size_t size) {
  return gained(__libc_memalign(align, size));
}
void free(void *at) {
  held -= at ? malloc_usable_size(at) : 0;
  __libc_free(at);
}

/* ---- a step: its time, the memory that it keeps, and its peak memory ---- */

typedef struct step {
  double since;
  size_t held;
} step;

/* Returns the CPU time in seconds, which does not depend on other programs on the machine. */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static step begin(void) {
  most = held;
  return (step){now(), held};
}

static void end(step s, const char *what) {
  const double took = now() - s.since;
  if (strcmp(what, "all") == 0) most = peak;
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  printf("%s %.9f %zd %zu %ld\n", what, took, (ssize_t)(held - s.held), most - s.held,
         use.ru_maxrss);
}

static void check(tutti_status status) {
  if (!status) return;
  fprintf(stderr, "scale: %s\n", tutti_error());
  exit(1);
}

/* ---- predicted times ---- */

static void prices(int ranks, char **argv, int sizes) {
  const tutti_question q = {.size = sizeof q,
                            .ranks = ranks,
                            .topo = argv[0],
                            .net = argv[1],
                            .type = strcmp(argv[2], "int32") == 0 ? TUTTI_INT32 : TUTTI_FLOAT,
                            .only = strcmp(argv[3], "all") == 0 ? NULL : argv[3]};
  tutti_prices *p;
  tutti_offer o = {.size = sizeof o};
  const step s = begin();
  check(tutti_prices_make(&q, &p));
  check(q.only ? tutti_prices_offer(p, 1 << 20, 0, 0, &o) : tutti_prices_chosen(p, 8, &o));
  end(s, "first");
  for (int i = 0; i < sizes && !q.only; i++)
    check(tutti_prices_chosen(p, strtoull(argv[4 + i], NULL, 10), &o));
  end(s, "priced");
  for (int i = 0; i < sizes; i++) {
    const uint64_t bytes = strtoull(argv[4 + i], NULL, 10);
    /* for a named plan: its variant with one slice, even if the op does not allow the plan */
    check(q.only ? tutti_prices_offer(p, bytes, 0, 0, &o) : tutti_prices_chosen(p, bytes, &o));
    printf("price %llu %d %.12g %d %d %.9g %s\n", (unsigned long long)bytes, o.possible, o.seconds,
           o.slices, o.messages, o.vectors, o.name);
  }
  tutti_prices_free(p);
}

/* ---- a network that moves no data ---- */

static int no_send(void *self, int slot, int peer, int tag, const void *bytes, size_t n, int sure) {
  (void)self, (void)slot, (void)peer, (void)tag, (void)bytes, (void)n, (void)sure;
  return 0;
}
static int no_recv(void *self, int slot, int peer, int tag, void *bytes, size_t n) {
  (void)self, (void)slot, (void)peer, (void)tag, (void)bytes, (void)n;
  return 0;
}
static int no_poll(void *self, int slots, tutti_net_done *done, int at_most, int *n) {
  (void)self, (void)slots, (void)done, (void)at_most;
  *n = 0;
  return 0;
}
static int no_cancel(void *self, int slot) {
  (void)self, (void)slot;
  return 0;
}
static int no_split(void *self, int color, int key, tutti_net *net) {
  (void)self, (void)color, (void)key, (void)net;
  return 1;
}
static void no_close(void *self, int clean) {
  (void)self, (void)clean;
}
static const char *no_error(void *self) {
  (void)self;
  return "it carries nothing";
}

/* ---- one of many ranks ---- */

static void plan_of(tutti_comm *comm, size_t count, tutti_type type, const char *what) {
  const tt_call call = {.coll = TUTTI_ALLREDUCE, .count = count, .type = type, .op = TUTTI_SUM};
  const tt_plan *plan;
  const step s = begin();
  check(tt_plan_for(comm, &call, false, &plan));
  end(s, what);
  printf("runs %s\n", plan->exec.program->sched->name);
}

static void gather_of(tutti_comm *comm) {
  const tt_call call = {
      .coll = TUTTI_ALLGATHER, .count = 100, .type = TUTTI_UINT8, .everyone = true};
  const tt_plan *plan;
  const step s = begin();
  check(tt_plan_for(comm, &call, false, &plan));
  end(s, "exchange");
  printf("runs %s\n", plan->exec.program->sched->name);
}

/* Creates a communicator as tutti_comm_from_net does, but without the exchange between ranks. Each host has `per_host`
 * consecutive ranks, which do not share memory. */
static void setup(int ranks, char **argv) {
  const int per_host = atoi(argv[2]);
  const tutti_net net = {.size = sizeof net,
                         .name = "none",
                         .rank = ranks / 2,
                         .ranks = ranks,
                         .yields = 1,
                         .id = 1,
                         .send = no_send,
                         .recv = no_recv,
                         .poll = no_poll,
                         .cancel = no_cancel,
                         .split = no_split,
                         .close = no_close,
                         .error = no_error};
  tt_profile machine;
  tt_profile_net(&machine);
  const step all = begin();
  step s = begin();
  tutti_comm *comm = tt_comm_new(net.rank, ranks);
  if (!comm) check(TUTTI_ERR_MEMORY);
  check(tt_net_wire(&net, &comm->wire));
  comm->net = comm->wire;
  for (int r = 0; r < ranks; r++)
    comm->info[r] = (tt_rank_info){.index = -1, .placement = {.node = r / per_host}};
  end(s, "tables");
  s = begin();
  check(tt_comm_configure(comm, &machine));
  end(s, "alone");
  gather_of(comm);
  comm->load.cores = 1;
  check(tt_profile_parse(&machine, argv[1], "the figures"));
  s = begin();
  tt_layout layout;
  tt_placement *placements = malloc((size_t)ranks * sizeof *placements);
  if (!placements) exit(1);
  for (int r = 0; r < ranks; r++) placements[r] = (tt_placement){.colors = comm->info[r].placement};
  check(tt_layout_find(placements, ranks, *argv[0] ? argv[0] : NULL, "the topology", &layout));
  check(tt_comm_build(comm,
                      &(tt_comm_spec){.net = comm->net, .profile = &machine, .layout = &layout}));
  free(layout.order);
  free(layout.node_of);
  free(placements);
  end(s, "places");
  plan_of(comm, 2, TUTTI_FLOAT, "first");
  plan_of(comm, 1 << 18, TUTTI_FLOAT, "second");
  plan_of(comm, 2, TUTTI_INT32, "integers");
  end(all, "all");
}

static tutti_coll coll_of(const char *name) {
  int coll = 0;
  while (coll < TUTTI_COLL_COUNT && strcmp(tutti_coll_name((tutti_coll)coll), name) != 0) coll++;
  return (tutti_coll)coll;
}

static void schedule(int ranks, const char *name, tutti_coll coll) {
  const tt_ask ask = {.coll = coll, .ranks = ranks, .rank = tt_coll_rooted(coll) ? 0 : ranks - 1};
  tt_sched *sched;
  step s = begin();
  check(tt_algo_build_named(name, &ask, &sched));
  end(s, "built");
  s = begin();
  const tt_program *program = tt_program_new(sched, NULL, TT_SHAPE_NONE);
  if (!program) exit(1);
  end(s, "lowered");
  printf("steps %u %u\n", sched->nsteps, program->ntransfers);
}

int main(int argc, char **argv) {
  const int ranks = argc > 2 ? atoi(argv[2]) : 0;
  if (argc > 7 && strcmp(argv[1], "prices") == 0)
    prices(ranks, argv + 3, argc - 7);
  else if (argc == 6 && strcmp(argv[1], "setup") == 0)
    setup(ranks, argv + 3);
  else if ((argc == 4 || (argc == 5 && coll_of(argv[4]) < TUTTI_COLL_COUNT)) &&
           strcmp(argv[1], "schedule") == 0)
    schedule(ranks, argv[3], argc == 5 ? coll_of(argv[4]) : TUTTI_ALLREDUCE);
  else
    return fprintf(stderr, "scale: its first lines say how to call it\n"), 2;
  return 0;
}
