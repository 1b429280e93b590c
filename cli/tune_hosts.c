/* tune_hosts.c - measures the link of each host.
 *
 * Idea      Each host receives a stream from the first, second and third host before it, while it
 *           sends to those after it. The two directions are independent, so a slow reader does not
 *           delay what a host receives. Then the same pairs of hosts exchange short messages, one
 *           pair after the other.
 * Cost      a few seconds, in which slow hosts receive three megabytes several times.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tune.h"
#include "tutti_plan.h"

enum { PIECE = 32768, WINDOW = 4, PIECES = 32, LEAST = 3, REPEATS = 7, TRIPS = 200 };
#define ENOUGH 1.0 /* in s, for all repeats with one partner */

/* ---- times ---- */

typedef struct hosts { /* the first rank of each host */
  tutti_comm *comm;
  int at, of;
  char *out, *in; /* have WINDOW pieces */
} hosts;

/* One direction of a stream, with its pieces in flight. */
typedef struct way {
  tutti_request *piece[WINDOW];
  int begun, done;
} way;

static tutti_status move_on(const hosts *l, way *w, bool sends, int peer, bool *moved) {
  tutti_status status = TUTTI_OK;
  for (int i = 0; i < WINDOW && !status; i++) {
    int done = 0;
    if (w->piece[i]) status = tutti_request_test(&w->piece[i], &done);
    w->done += done;
    *moved |= done;
    if (status || w->piece[i] || w->begun == PIECES) continue;
    status = sends ? tutti_send_start(l->comm, l->out + i * PIECE, PIECE, TUTTI_UINT8, peer, 0,
                                      &w->piece[i])
                   : tutti_recv_start(l->comm, l->in + i * PIECE, PIECE, TUTTI_UINT8, peer, 0, NULL,
                                      &w->piece[i]);
    w->begun++;
    *moved = true;
  }
  return status;
}

/* Receives a stream from the k-th host before this one, and sends a stream to the k-th host after it. Neither stream
 * waits for the other. Sets *seconds to the time until everything was received. */
static tutti_status receive_stream(const hosts *l, int k, double *seconds) {
  way in = {.begun = 0}, out = in;
  tutti_status status = tutti_barrier(l->comm);
  const double from = cli_now();
  *seconds = 0;
  while (!status && (in.done < PIECES || out.done < PIECES)) {
    bool moved = false;
    status = move_on(l, &in, false, (l->at + l->of - k) % l->of, &moved);
    if (!status) status = move_on(l, &out, true, (l->at + k) % l->of, &moved);
    if (*seconds <= 0 && in.done == PIECES) *seconds = cli_now() - from;
    if (!moved) sched_yield();
  }
  return status;
}

/* Exchanges a few messages between the two hosts of each pair. Sets *seconds to 0 on a host that is not in a pair. */
static tutti_status trips(const hosts *l, int k, int phase, double *seconds) {
  const bool first = l->at / k % 2 == phase && l->at + k < l->of;
  const bool second = !first && l->at >= k && (l->at - k) / k % 2 == phase;
  tutti_status status = tutti_barrier(l->comm);
  const double from = cli_now();
  *seconds = 0;
  for (int i = 0; i < 2 * TRIPS && (first || second) && !status; i++) {
    tutti_request *r;
    const int peer = first ? l->at + k : l->at - k;
    status = (i % 2 == 0) == first
                 ? tutti_send_start(l->comm, l->out, 1, TUTTI_UINT8, peer, 0, &r)
                 : tutti_recv_start(l->comm, l->in, 1, TUTTI_UINT8, peer, 0, NULL, &r);
    if (!status) status = tutti_request_wait(&r);
  }
  if (first) *seconds = (cli_now() - from) / (2 * TRIPS);
  return status;
}

/* Repeats a measurement until it has taken long enough. All hosts use the same times to decide this, so they stop
 * together. Sets *seconds to the median for streams, and to the minimum for messages, because it is disturbed least. */
static tutti_status repeat(const hosts *l, int k, int phase, double *seconds) {
  double each[REPEATS], took = 0, slowest = 0;
  tutti_status status = TUTTI_OK;
  int n = 0;
  while (!status && n < REPEATS && (n < LEAST || took < ENOUGH)) {
    double one = 0;
    status = phase < 0 ? receive_stream(l, k, &one) : trips(l, k, phase, &one);
    if (!status) status = tutti_allreduce(l->comm, &one, &slowest, 1, TUTTI_DOUBLE, TUTTI_MAX);
    took += slowest * (phase < 0 ? 1 : 2 * TRIPS);
    each[n++] = one;
  }
  cli_sort(each, (size_t)n);
  *seconds = status ? 0 : phase < 0 ? each[n / 2] : each[0];
  return status;
}

/* Measures the times between this host and all its partners, and gathers the times of all hosts. */
static tutti_status all_times(const hosts *l, int partners, double *stream, double *message) {
  const size_t n = (size_t)l->of * (size_t)partners;
  tutti_status status = TUTTI_OK;
  for (int k = 1; k <= partners && !status; k++) {
    double *own = &message[l->at * partners + k - 1], one;
    status = repeat(l, k, -1, &stream[l->at * partners + k - 1]);
    stream[l->at * partners + k - 1] /= (double)PIECES * PIECE;
    for (int phase = 0; phase < 2 && !status; phase++) {
      status = repeat(l, k, phase, &one);
      if (one > 0) *own = one;
    }
    if (l->at == 0) tune_progress((double)k / partners, "hosts");
  }
  if (!status) status = tutti_allreduce(l->comm, stream, stream, n, TUTTI_DOUBLE, TUTTI_SUM);
  if (!status) status = tutti_allreduce(l->comm, message, message, n, TUTTI_DOUBLE, TUTTI_SUM);
  return status;
}

static tutti_status all_names(const hosts *l, tune_host *names) {
  gethostname(names[l->at].name, sizeof names->name - 1);
  names[l->at].name[strcspn(names[l->at].name, ".")] = 0;
  return tutti_allreduce(l->comm, names, names, (size_t)l->of * sizeof *names, TUTTI_UINT8,
                         TUTTI_MAX);
}

/* Returns the factor that corrects the time of a stream for burst credit. Every stream follows a pause, so its first
 * bytes are sent faster than the link's sustained rate. */
static double without_burst(const tune_result *r, const char *level) {
  const double bytes = (double)PIECES * PIECE;
  char name[40];
  double burst = 0;
  snprintf(name, sizeof name, "%s%sburst", level, *level ? "." : "");
  for (int i = 0; i < r->figures; i++)
    if (strcmp(r->figure[i].name, name) == 0) burst = r->figure[i].value;
  return burst < bytes / 2 ? bytes / (bytes - burst) : 1;
}

static tutti_status compare_hosts(const hosts *l, const char *level, tune_result *r) {
  const int partners = l->of - 1 < TUNE_PARTNERS ? l->of - 1 : TUNE_PARTNERS;
  const size_t n = (size_t)l->of;
  double *times = calloc(2 * n * (size_t)partners + 2 * n, sizeof *times);
  tune_host *names = calloc(n, sizeof *names);
  tutti_status status = times && names ? TUTTI_OK : TUTTI_ERR_MEMORY;
  double *message = times ? times + n * (size_t)partners : NULL;
  if (!status) status = all_names(l, names);
  if (!status) status = all_times(l, partners, times, message);
  if (!status && l->at == 0) {
    double *beta = message + n * (size_t)partners, *seconds = beta + n;
    tune_links(times, message, l->of, partners, beta, seconds);
    for (int h = 0; h < l->of; h++) beta[h] *= without_burst(r, level);
    tune_differing(beta, seconds, names, l->of, level, r);
    r->host = names;
    r->hosts = l->of;
    names = NULL;
  }
  free(times);
  free(names);
  return status;
}

/* Returns the name of the level whose domains are hosts, or "" if there is only one level. */
static const char *level_of_hosts(tutti_comm *comm) {
  const char *name, *level = "";
  int most = 0;
  for (int r = 0; r < tutti_comm_size(comm); r++) {
    const int apart = tutti_comm_apart(comm, 0, r, &name);
    if (apart == 1) level = name;
    if (apart > most) most = apart;
  }
  return most > 1 ? level : "";
}

tutti_status tune_hosts(tutti_comm *comm, tune_result *r) {
  const int rank = tutti_comm_rank(comm);
  hosts l = {.out = calloc(WINDOW, PIECE), .in = calloc(WINDOW, PIECE)};
  bool is = true;
  for (int before = 0; before < rank && is; before++)
    is = tutti_comm_apart(comm, before, rank, NULL) > 0;
  tutti_status status = l.out && l.in ? TUTTI_OK : TUTTI_ERR_MEMORY;
  if (!status) status = tutti_comm_split(comm, is ? 0 : -1, rank, &l.comm);
  if (!status && is) {
    l.at = tutti_comm_rank(l.comm);
    l.of = tutti_comm_size(l.comm);
    if (l.of >= LEAST) status = compare_hosts(&l, level_of_hosts(comm), r);
  }
  tutti_comm_free(l.comm);
  free(l.out);
  free(l.in);
  return status ? status : tune_sleep(comm);
}
