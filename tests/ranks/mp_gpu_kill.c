/* mp_gpu_kill.c - ranks with vectors in device memory are killed at random moments, one after another. The
 * others get an error, their streams are released, and they continue. Used by gpu_kill.sh and on-gpu.sh; does
 * nothing when run by itself.
 *
 * Usage      tutti run -k -n P mp_gpu_kill SEED [KIB]      KIB: of the vectors (2048)
 * Idea       The seed determines in what order the ranks die, and when: each by its own timer, while it works. All except
 *            the last die. Blocking calls and calls on a stream alternate; a stream that waits for a call of a dead rank
 *            must be released. A survivor prints the duration of the longest call that detected a death.
 * Ranks: none
 * SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "call_of.h"
#include "card.h"
#include "cover.h"
#include "seconds.h"
#include "start.h"

enum { MOST = 32, SOONEST_US = 200, LATEST_US = 30000, LIMIT = 20 };

static int me, ranks, order[MOST];
static size_t count;
static int32_t *host;
static void *src, *dst, *stream;
static double longest;

static void die(int signal_number) {
  (void)signal_number;
  kill(getpid(), SIGKILL);
}

static void arm(uint64_t us) {
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  signal(SIGUSR1, die);
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &(struct itimerspec){.it_value = {0, 1000 * (long)us}}, NULL);
}

static void wrong(const char *what) {
  printf("# rank %d: %s: %s\n", me, what, tutti_error());
  fflush(stdout);
  _exit(9);
}

static void shuffle(uint64_t seed) {
  for (int r = 0; r < ranks; r++) order[r] = r;
  for (int r = ranks - 1; r > 0; r--) {
    const int with = (int)(cover_mix(seed + (uint64_t)r) % (uint64_t)(r + 1)), keep = order[r];
    order[r] = order[with];
    order[with] = keep;
  }
}

/* The sum over the ranks that remain after `dead` deaths. */
static int32_t sum_of(int dead, size_t i) {
  int32_t sum = 0;
  for (int k = dead; k < ranks; k++) sum += order[k] + 1 + (int32_t)(i % 1000);
  return sum;
}

static void check(int dead) {
  if (!card_get(host, dst, count * sizeof *host, stream)) wrong("the card is lost");
  for (size_t i = 0; i < count; i++)
    if (host[i] != sum_of(dead, i)) wrong("a sum is wrong");
}

/* A blocking call, or some in stream order. */
static tutti_status work(tutti_comm *comm, int dead, int turn) {
  tutti_status status = TUTTI_OK;
  if (turn % 2 == 0) {
    status = tutti_allreduce(comm, src, dst, count, TUTTI_INT32, TUTTI_SUM);
  } else {
    for (int i = 0; i < 3 && !status; i++)
      status =
          tutti_call_on_stream(comm, CALL(ALLREDUCE, .src = src, .dst = dst, .count = count,
                                          .type = TUTTI_INT32, .op = TUTTI_SUM, .stream = stream));
    if (!status) status = tutti_stream_wait(comm);
    if (!card_settle(stream)) wrong("the stream hangs");
  }
  if (!status && turn % 5 == 0) check(dead);
  return status;
}

/* Works until a rank dies. */
static tutti_comm *go_on(tutti_comm *comm, int dead, uint64_t seed) {
  tutti_comm *next;
  tutti_status status = tutti_barrier(comm);
  if (status) wrong("a barrier before the death");
  if (order[dead] == me)
    arm(SOONEST_US + cover_mix(seed ^ (uint64_t)dead << 32) % (LATEST_US - SOONEST_US));
  double from = seconds();
  for (int turn = 0; !status; turn++) {
    from = seconds();
    status = work(comm, dead, turn);
  }
  const double took = seconds() - from;
  if (took > longest) longest = took;
  if (status != TUTTI_ERR_PEER_LOST) wrong("another status");
  if (!strstr(tutti_error(), "died")) wrong("the sentence");
  if (tutti_comm_shrink(comm, &next)) wrong("shrink");
  if (tutti_comm_size(next) != ranks - dead - 1) wrong("the survivors");
  if (tutti_comm_free(comm)) wrong("free");
  return next;
}

static bool make_vectors(size_t bytes) {
  char why[200] = "";
  if (!card_open(me, why, sizeof why)) {
    printf("# no card: %s\n", why);
    return false;
  }
  src = card_alloc(bytes);
  dst = card_alloc(bytes);
  host = malloc(bytes);
  stream = card_stream();
  if (!src || !dst || !host || !stream) return false;
  for (size_t i = 0; i < count; i++) host[i] = me + 1 + (int32_t)(i % 1000);
  return card_put(src, host, bytes, NULL);
}

int main(int argc, char **argv) {
  tutti_comm *comm;
  if (argc < 2) return printf("ok - nothing to do\n1..1\n") < 0;
  if (start_comm(&comm)) return 1;
  me = tutti_comm_rank(comm);
  ranks = tutti_comm_size(comm);
  end_after((unsigned)(LIMIT * ranks));
  const uint64_t seed = cover_mix(strtoull(argv[1], NULL, 10));
  const size_t bytes = (argc > 2 ? strtoul(argv[2], NULL, 10) : 2048) << 10;
  count = bytes / sizeof *host;
  if (ranks > MOST || !make_vectors(bytes)) return 1;
  shuffle(seed);
  for (int dead = 0; dead + 1 < ranks; dead++) comm = go_on(comm, dead, seed);
  if (work(comm, ranks - 1, 0)) wrong("alone");
  printf("survived %.0f ms\n", 1000 * longest);
  card_free(src);
  card_free(dst);
  free(host);
  return tutti_comm_free(comm) || start_end() ? 9 : 0;
}
