/* tune_net.c - the model parameters of a network, from messages between ranks that share no memory.
 *
 * Idea      a schedule's step is a round of a ring: a rank sends a message to the next host while it
 *           receives one from the previous host. A message to every other host (one-shot) takes
 *           longer by the cost of each additional message. That cost is alpha, the cost at a port.
 *           If hosts share processors, it is `processor`, the cost at a core of either end (o of
 *           LogP). Rounds of two hosts, while the other hosts sleep, show whether processors are
 *           shared. The remainder of a round is `delay` (L): the route, and the time slices of ranks
 *           that poll. A stream yields beta. If a shaped link carries more after a pause, it has
 *           burst credit (`burst`). If two simultaneous streams are as fast as one, there are more
 *           ports. If a stream slows down one in the other direction, the link is half-duplex
 *           (`half`).
 * Levels    are measured by one host of each domain, within one domain of the next level.
 * Repeats   A measurement is repeated until its quartiles are close to each other, or for ENOUGH
 *           seconds. The sum of times that decides this is the same on all ranks. The result is the
 *           median.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "configure.h"
#include "tune.h"
#include "tutti_plan.h"

enum { PIECE = 32768, WINDOW = 4, PIECES = 32, PORTS = 4 };
enum { LEAST = 7, REPEATS = 41, RESTS = 50000 /* RESTS in us */ };
#define BUDGET 0.05 /* in s, for each repeat */
#define ENOUGH 1.5  /* in s, for all repeats of a measurement */
#define NARROW 0.1  /* distance of the quartiles, relative to the median */

typedef struct score { /* statistics of the measurements of a level */
  int games, wide;
  double spread;     /* the sum of the spreads */
  double from, part; /* share of the progress: when it began, and in total */
} score;

typedef struct line {     /* a row of hosts that measure */
  tutti_comm *comm, *all; /* comm: the ranks that measure; all: all ranks */
  int at, of;
  char *out, *in; /* have WINDOW pieces */
  score *score;
} line;

static int after(const line *l, int k) {
  return (l->at + k) % l->of;
}

/* Begins to exchange messages. `ways` is 1 to receive from the k-th host before this one, 2 to send to the k-th host
 * after it, and 3 to do both. */
static tutti_status begin(const line *l, int k, int slot, size_t bytes, int ways,
                          tutti_request *r[2]) {
  tutti_status status = TUTTI_OK;
  r[0] = r[1] = NULL;
  if (ways & 1)
    status = tutti_recv_start(l->comm, l->in + slot * PIECE, bytes, TUTTI_UINT8,
                              after(l, l->of - k), 0, NULL, &r[0]);
  if (!status && (ways & 2))
    status = tutti_send_start(l->comm, l->out, bytes, TUTTI_UINT8, after(l, k), 0, &r[1]);
  return status;
}

static tutti_status end(tutti_request *r[2]) {
  tutti_status status = r[0] ? tutti_request_wait(&r[0]) : TUTTI_OK;
  return !status && r[1] ? tutti_request_wait(&r[1]) : status;
}

/* Transfers PIECES pieces, alternating between `hosts` hosts. At most WINDOW pieces are in flight. */
static tutti_status stream(const line *l, int hosts, int ways) {
  tutti_request *r[WINDOW][2];
  tutti_status status = TUTTI_OK;
  for (int i = 0; i < PIECES + WINDOW && !status; i++) {
    const int w = i % WINDOW;
    if (i >= WINDOW) status = end(r[w]);
    if (i < PIECES && !status) status = begin(l, 1 + i % hosts, w, PIECE, ways, r[w]);
  }
  return status;
}

/* The plans that the kinds ROUNDS and EACH use. ROUNDS reduces one int32 per host, and EACH a single int32. */
#define PLANS "one-shot:0-5;fold(ring):5-"

typedef struct game {
  enum { STREAM, ROUNDS, EACH } kind;
  int streams, ways; /* of a stream: the number of target hosts; 1 to receive, 2 to send */
} game;

static tutti_status once(const line *l, const game *g) {
  if (g->kind == STREAM) return stream(l, g->streams, g->ways);
  const size_t n = g->kind == ROUNDS ? (size_t)l->of : 1;
  return tutti_allreduce(l->comm, l->in, l->in, n, TUTTI_INT32, TUTTI_MAX);
}

/* Measures the seconds for a stream, for a round, or for sending a message to each host. */
static tutti_status play(const line *l, const game *g, long n, double *seconds) {
  tutti_status status = tutti_barrier(l->comm);
  const double from = cli_now();
  for (long i = 0; i < n && !status; i++) status = once(l, g);
  *seconds = (cli_now() - from) / (double)n / (g->kind == ROUNDS ? 2 * (l->of - 1) : 1);
  if (!status) status = tutti_allreduce(l->comm, seconds, seconds, 1, TUTTI_DOUBLE, TUTTI_MAX);
  return status;
}

/* Returns the number of measurements at a level. Streams are measured to 1, 2, ... hosts, up to PORTS hosts. */
static int games_of(const line *l) {
  const int others = l->of - 1;
  return 5 + (others < PORTS ? others : PORTS);
}

/* Returns the median of n times, and adds the spread of the times to the level's score, which is reported later. */
static double add_up(const line *l, double *each, int n) {
  score *s = l->score;
  const double spread = cli_spread(each, (size_t)n);
  s->spread += spread;
  s->wide += spread > TUNE_WIDE;
  s->games++;
  if (l->at == 0) tune_progress(s->from + s->part * s->games / games_of(l), "messages");
  return each[n / 2];
}

/* Measures the median time in seconds. If `rest` is true, measures individual calls, with a pause before each call. */
static tutti_status median(const line *l, game g, bool rest, double *seconds) {
  double each[REPEATS], once = BUDGET / 5, took = 0;
  tutti_status status = TUTTI_OK;
  int n = 0;
  for (int k = -2; n < REPEATS && !status; k++) {
    const long times = rest || once > BUDGET   ? 1
                       : BUDGET / once > 10000 ? 10000
                                               : (long)(BUDGET / once);
    if (rest) usleep(RESTS);
    status = play(l, &g, times, &once);
    took += once * (double)times + (rest ? 1e-6 * RESTS : 0);
    if (k >= 0) each[n++] = once;
    if (n >= LEAST && (took > ENOUGH || cli_spread(each, (size_t)n) < NARROW)) break;
  }
  *seconds = add_up(l, each, n);
  return status;
}

/* ---- one level ---- */

typedef struct found {
  double alone, one, all;    /* in s: a round of 2 hosts, of all hosts; a message to each */
  double many, rested, way;  /* times of streams */
  double streams[PORTS + 1]; /* index: the number of simultaneous target hosts */
} found;

tutti_status tune_sleep(tutti_comm *comm) {
  tutti_request *r;
  int done = 0;
  tutti_status status = tutti_barrier_start(comm, &r);
  while (!status && !done) {
    status = tutti_request_test(&r, &done);
    if (!done) usleep(5000);
  }
  return status;
}

/* Measures rounds of two hosts while the others sleep. */
static tutti_status two_alone(const line *l, double *seconds) {
  line two = *l;
  tutti_status status = tutti_comm_split(l->comm, l->at < 2 ? 0 : -1, l->at, &two.comm);
  two.of = 2;
  if (!status && l->at < 2) {
    status = median(&two, (game){.kind = ROUNDS}, false, seconds);
    tutti_comm_free(two.comm);
  }
  return status ? status : tune_sleep(l->all);
}

static tutti_status measure(const line *l, found *f) {
  tutti_status status = two_alone(l, &f->alone);
  if (!status) status = median(l, (game){.kind = ROUNDS}, false, &f->one);
  if (!status) status = median(l, (game){.kind = EACH}, false, &f->all);
  if (!status) status = median(l, (game){.streams = 1, .ways = 3}, false, &f->many);
  if (!status) status = median(l, (game){.streams = 1, .ways = 3}, true, &f->rested);
  for (int p = 2; p <= PORTS && p < l->of && !status; p++)
    status = median(l, (game){.streams = p, .ways = 3}, false, &f->streams[p]);
  /* one direction: even hosts send to odd ones */
  const game way = {.streams = 1, .ways = l->at % 2 ? 1 : l->at + 1 < l->of ? 2 : 0};
  if (!status) status = median(l, way, false, &f->way);
  return status;
}

static double above(double a, double b) {
  return a > b ? a - b : 0;
}

static void figures_of(const line *l, const found *f, const char *level, tune_result *r) {
  const double cores = (double)sysconf(_SC_NPROCESSORS_ONLN), bytes = (double)PIECES * PIECE;
  const bool shared = f->one > 1.5 * f->alone; /* processors are shared; crowd: hosts on each */
  const double crowd = l->of > cores ? l->of / cores : 1;
  const double another = l->of > 2 ? above(f->all, f->one) / (l->of - 2) : f->one;
  const double more = another < f->one ? another : f->one;
  const double burst = above(bytes, f->rested * bytes / f->many);
  int ports = 1;
  for (int p = 2; p <= PORTS; p++)
    if (f->streams[p] > 0 && f->streams[p] < 1.4 * f->many / p) ports = p;
  char name[40];
  const struct {
    const char *name;
    double value;
    const char *meaning;
  } all[] = {
      {"alpha", shared ? 0 : more, "s: a port is busy with each message"},
      {"processor", shared ? more / (2 * crowd) : 0,
       "s: of a core for each message at either end, where hosts share cores"},
      {"delay", f->one - more, "s: the rest of a message's time"},
      {"beta", f->many / bytes,
       "s/B: per byte through the link, in both directions simultaneously"},
      {"burst", burst >= PIECE ? (double)(long)burst : 0,
       "B: that an idle link sends without delay"},
      {"ports", ports, "streams to different hosts that are as fast together"},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    snprintf(name, sizeof name, "%s%s%s", level, *level ? "." : "", all[i].name);
    tune_add(r, name, all[i].value, "%s", all[i].meaning);
  }
  tune_note(r,
            "%s%s%d hosts: a message %.3g us; all one each %.3g; one to each other %.3g; %.4g MB/s",
            level, *level ? ", " : "", l->of, 1e6 * f->alone, 1e6 * f->one, 1e6 * f->all,
            1e-6 * bytes / f->many);
  tune_note(r, "%s%srepeats of a game differ by %.0f %% in the mean%s", level, *level ? ": " : "",
            100 * l->score->spread / l->score->games,
            l->score->wide * 4 > l->score->games ? TUNE_NOISY : "");
}

/* ---- all levels ---- */

/* Returns true if this rank is the first in its domain of the k-th level, within the first domain of the next level. */
static bool plays(tutti_comm *comm, int k, const char **level) {
  const int rank = tutti_comm_rank(comm), ranks = tutti_comm_size(comm);
  const char *name;
  bool is = tutti_comm_apart(comm, 0, rank, NULL) == k || rank == 0;
  for (int r = 0; r < rank && is; r++) is = tutti_comm_apart(comm, r, rank, NULL) >= k;
  for (int r = 0; r < ranks; r++)
    if (tutti_comm_apart(comm, 0, r, &name) == k) *level = name;
  return is;
}

static int levels_of(tutti_comm *comm) {
  int most = 0;
  for (int r = 0; r < tutti_comm_size(comm); r++) {
    const int apart = tutti_comm_apart(comm, 0, r, NULL);
    if (apart > most) most = apart;
  }
  return most;
}

static tutti_status one_level(tutti_comm *comm, int k, int levels, tune_result *r) {
  const char *level = "";
  score s = {.from = (double)(levels - k) / levels, .part = 1.0 / levels};
  line l = {.all = comm, .out = calloc(WINDOW, PIECE), .in = calloc(WINDOW, PIECE), .score = &s};
  found f = {0};
  bool is = plays(comm, k, &level);
  tutti_status status = l.out && l.in ? TUTTI_OK : TUTTI_ERR_MEMORY;
  if (!status) status = tutti_comm_split(comm, is ? 0 : -1, tutti_comm_rank(comm), &l.comm);
  if (!status && is) {
    l.at = tutti_comm_rank(l.comm);
    l.of = tutti_comm_size(l.comm);
    status = comm_set_algorithm(l.comm, PLANS);
    if (!status) status = measure(&l, &f);
    if (!status && l.at == 0) figures_of(&l, &f, levels > 1 ? level : "", r);
    if (k == levels) r->message = f.one;
    if (!status && l.at == 0 && k == 1)
      tune_add(r, "half", f.many > 1.7 * f.way, "1: incoming streams slow down outgoing ones");
  } else if (!status) {
    status = tune_sleep(comm);
  }
  tutti_comm_free(l.comm);
  free(l.out);
  free(l.in);
  return status ? status : tune_sleep(comm);
}

tutti_status tune_network(tutti_comm *comm, tune_result *r) {
  const int levels = levels_of(comm);
  if (levels) snprintf(r->network, sizeof r->network, "%s", tutti_comm_network(comm));
  tutti_status status = TUTTI_OK;
  for (int k = levels; k >= 1 && !status; k--) status = one_level(comm, k, levels, r);
  return status;
}
