/* peer_rank.c - `tutti bench-peer MEMORY`: a rank of a comparison, which times both libraries alternately.
 *
 * Idea      As in bench/turns.c: at each size, both sides first determine their number of calls per time
 *           slice. Then each round has a slice of each side, and each round begins with the other side. A
 *           round does not count if the distance of the cores changed during it (peer_state_of). Rounds
 *           are added until enough of them have the same distance.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "configure.h"
#include "cpus.h"
#include "peer.h"
#include "ranked.h"
#include "touch.h"
#include "tutti_create.h"

enum { LEAST_CALLS = 3, MOST_CALLS = 20000, SETTLE = 12, TRIAL = 24 };

/* The state of a rank: its membership in the tutti job, and its connection to the other library. */
typedef struct rank_state {
  bench_job job[PEER_SIDES]; /* the `other` of PEER_OTHER calls that library */
  peer_sync sync;
  peer_other other;
  bench_options o;
} rank_state;

void peer_fail(peer_memory *m, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (atomic_exchange_explicit(&m->failed, 1, memory_order_acq_rel) == 0)
    vsnprintf(m->failure, sizeof m->failure, format, args);
  va_end(args);
  _exit(CLI_FAILED); /* the launcher ends the other ranks */
}

/* ---- time slices ---- */

static double slice(rank_state *r, int side, const bench_call *c, long n, bool with) {
  peer_memory *m = r->sync.m;
  const bool cycle = r->o.cycle && c->coll != TUTTI_BARRIER;
  tutti_status status = TUTTI_OK;
  if (side == PEER_OTHER && !r->other.call) return r->other.time(&r->sync, n, cycle, with);
  peer_meet(&r->sync);
  const double from = cli_now();
  for (long i = 0; i < n && !status; i++) {
    if (cycle) touch_write(c->src, c->src_bytes, i);
    if (with) status = bench_run(&r->job[side], c);
    if (cycle) touch_read(c->dst, c->dst_bytes);
  }
  const double took = (cli_now() - from) / (double)n;
  if (status && side == PEER_TUTTI) peer_fail(m, "tutti: %s", tutti_error());
  if (status) peer_fail(m, "%s returned an error", m->name);
  return took;
}

static long fit(double budget, double once) {
  const double n = once > 0 ? budget / once : MOST_CALLS;
  return n < LEAST_CALLS ? LEAST_CALLS : n > MOST_CALLS ? MOST_CALLS : (long)n;
}

/* Determines the number of calls in a time slice, so that the slices of both sides take equally long. The first
 * calls are slow, and other programs may disturb a trial. Trials are therefore repeated until three in a row are not
 * much faster, and only the fastest trial counts. */
static long settle(rank_state *r, int side, const bench_call *c) {
  if (r->o.iterations) return r->o.iterations;
  double once = peer_slowest(&r->sync, slice(r, side, c, LEAST_CALLS, true));
  for (int k = 0, same = 0; k < SETTLE && same < 3; k++) {
    const long n = fit(r->o.budget, once), trial = n < TRIAL && once * TRIAL < 1 ? TRIAL : n;
    const double again = peer_slowest(&r->sync, slice(r, side, c, trial, true));
    same = again > once / 1.5 ? same + 1 : 0;
    if (again < once) once = again;
  }
  return fit(r->o.budget, once);
}

/* ---- one size ---- */

typedef struct side_call {
  bench_buffers m;
  bench_call call;
  long calls;
} side_call;

static void begin_side(rank_state *r, int side, peer_row *row, side_call *s) {
  bench_job *job = &r->job[side];
  bench_options o = r->o;
  int64_t wrong = -1;
  o.alloc = o.alloc && side == PEER_TUTTI;
  tutti_status status = bench_acquire(job, &o, row->bytes, &s->m);
  if (status) peer_fail(r->sync.m, "no memory for %zu bytes", row->bytes);
  s->call = bench_call_of(job, &o, row->count, row->bytes, &s->m, peer_in_place(&o));
  if (side == PEER_OTHER && !r->other.call) {
    r->other.size(&r->sync, row->bytes);
  } else if (o.check && o.coll != TUTTI_BARRIER) {
    status = bench_check(job, &s->call, &wrong);
    if (status) peer_fail(r->sync.m, "%s", tutti_error());
  }
  if (side == PEER_OTHER) row->wrong = wrong;
  if (side == PEER_TUTTI && wrong > 0)
    peer_fail(r->sync.m, "tutti: %lld elements of the result are wrong", (long long)wrong);
  memset(s->m.a, 0, row->bytes);
  memset(s->m.b, 0, row->bytes);
  s->calls = settle(r, side, &s->call);
  if (r->sync.rank == 0) row->calls[side] = s->calls;
}

/* Returns the number of rounds in the most frequent state. */
static int counted(const peer_memory *m, const peer_row *row) {
  int n[PEER_MOVED + 1] = {0}, most = 0;
  for (int k = 0; k < row->rounds; k++) n[peer_state_of(m, row, k)]++;
  for (int s = 0; s < PEER_STATES; s++)
    if (n[s] > most) most = n[s];
  return most;
}

static void round_of(rank_state *r, peer_row *row, side_call *sides) {
  const int k = row->rounds;
  const double before = peer_line(&r->sync);
  double took[PEER_SIDES];
  for (int turn = 0; turn < PEER_SIDES; turn++) {
    const int side = (k + turn) % PEER_SIDES;
    const side_call *s = &sides[side];
    double without = 0;
    if (r->o.cycle && r->o.coll != TUTTI_BARRIER)
      without = slice(r, side, &s->call, s->calls, false);
    took[side] = peer_slowest(&r->sync, slice(r, side, &s->call, s->calls, true) - without);
  }
  const double after = peer_line(&r->sync);
  if (r->sync.rank == 0) {
    row->line[0][k] = before;
    row->line[1][k] = after;
    for (int side = 0; side < PEER_SIDES; side++) row->seconds[side][k] = took[side];
    row->rounds = k + 1;
    atomic_fetch_add_explicit(&r->sync.m->alive, 1, memory_order_relaxed);
  }
  peer_meet(&r->sync);
}

static void measure(rank_state *r, peer_row *row, size_t bytes) {
  side_call sides[PEER_SIDES];
  peer_memory *m = r->sync.m;
  size_t whole = 0;
  const size_t count = bench_count(r->sync.m->ranks, &r->o, bytes, &whole);
  if (r->sync.rank == 0) *row = (peer_row){.bytes = whole, .count = count, .wrong = -1};
  peer_meet(&r->sync);
  for (int side = 0; side < PEER_SIDES; side++) begin_side(r, side, row, &sides[side]);
  while (row->rounds < PEER_ROUNDS && counted(m, row) < r->o.repeats) round_of(r, row, sides);
  if (r->sync.rank == 0 && tutti_comm_plan(r->job[PEER_TUTTI].comm, r->o.coll, count, r->o.type,
                                           r->o.op, row->plan, sizeof row->plan))
    snprintf(row->plan, sizeof row->plan, "?");
  bench_options plain = r->o;
  for (int side = 0; side < PEER_SIDES; side++) {
    plain.alloc = r->o.alloc && side == PEER_TUTTI;
    bench_release(&r->job[side], &plain, &sides[side].m);
  }
}

/* ---- the job ---- */

static void open_both(rank_state *r, peer_memory *m) {
  int rank = job_rank(), ranks = m->ranks;
  bench_job *job = &r->job[PEER_TUTTI];
  r->other = m->kind == PEER_TORCH ? peer_torch_open(m, rank) : peer_mpi_open(m, &rank, &ranks);
  if (ranks != m->ranks)
    peer_fail(m, "the launcher started %d ranks instead of %d", ranks, m->ranks);
  r->sync = (peer_sync){.m = m, .rank = rank, .crowded = m->ranks > m->cores};
  tutti_comm *comm = NULL;
  if (tutti_comm_create_gather(&comm, peer_gather, &r->sync, ranks, rank, NULL) ||
      tutti_comm_dup(comm, &job->talk))
    peer_fail(m, "tutti: %s", tutti_error());
  job->comm = comm;
  job->rank = rank;
  job->size = job->data = ranks;
  if (*m->algo && comm_set_algorithm(comm, m->algo)) peer_fail(m, "tutti: %s", tutti_error());
  r->job[PEER_OTHER] = *job;
  r->job[PEER_OTHER].other = r->other.call;
  if (rank == 0) {
    size_t bytes;
    cpu_set_t *mine = cpus_mask(0, &bytes);
    m->bound = mine ? CPU_COUNT_S(bytes, mine) : 0;
    CPU_FREE(mine);
  }
}

static int work(peer_memory *m) {
  rank_state r = {.o = m->o};
  size_t bytes = m->o.first;
  open_both(&r, m);
  for (size_t i = 0; i < m->sizes; i++, bytes = bench_next(&r.o, bytes)) {
    measure(&r, &peer_rows(m)[i], bytes);
    if (r.sync.rank == 0) atomic_fetch_add_explicit(&m->rows, 1, memory_order_release);
  }
  peer_meet(&r.sync);
  tutti_comm_free(r.job[PEER_TUTTI].talk);
  tutti_comm_free(r.job[PEER_TUTTI].comm);
  tutti_finalize();
  r.other.close();
  return 0;
}

static int run(int argc, char **argv) {
  struct stat st;
  const int fd = argc == 2 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0 || fstat(fd, &st))
    return cli_fail(CLI_USAGE, "bench-peer", "`tutti bench --compare` starts this itself");
  peer_memory *m = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (m == MAP_FAILED) return cli_fail(CLI_FAILED, "bench-peer", "%s", strerror(errno));
  return work(m);
}

const cli_command cmd_bench_peer = {"bench-peer", "", "", run, false};
