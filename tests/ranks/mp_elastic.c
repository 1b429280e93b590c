/* mp_elastic.c - ranks on several hosts die, and joining ranks replace them. Used by elastic.sh and
 * bench/elastic.py; does nothing when run by itself.
 *
 * Usage      tutti run --hosts LIST -r R mp_elastic SCENE [SEED [DEATHS]]
 *            lot: DEATHS of the processes that may ever run die at random; the others grow to the full size again
 *            plain: the last rank dies, one rank joins, and all sum
 *            host: the test kills a host; its ranks are replaced on another one
 *            kills N: bench/bars/elastic.py kills ranks, N times; the others report when they work again, and when they
 *            are complete again
 *            late: no rank joins in time; none: the job allows no joining ranks
 * Idea       every process derives from the seed whether it dies, and after how long: at work, while it grows, or while
 *            it waits. After each growth the ranks sum vectors and check the sums.
 * Prints     `grown MS ms SIZE` per growth: the time from the failed call to the first right sum.
 * Ranks: none
 * SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cover.h"
#include "lifetime.h"
#include "regrow.h"
#include "seconds.h"
#include "start.h"

enum { STEPS = 40 };

static int P;      /* ranks at the start */
static int joiner; /* number of this joining rank, from 1; 0: it started with the job */

/* Sums until the size is P and all steps are done; grows whenever a rank is lost. */
static void go_on(tutti_comm *comm, uint64_t seed) {
  tutti_comm *next;
  int64_t step = 0;
  double since = 0;
  if (!joiner) regrow_set_settings(comm);
  for (;;) {
    tutti_status status = tutti_broadcast(comm, &step, &step, 1, TUTTI_INT64, 0);
    for (bool first = true; !status && step < STEPS; step += !status, first = false) {
      status = regrow_sum(comm, cover_mix(seed + (uint64_t)step));
      if (!status && first && since > 0)
        printf("grown %.0f ms %d\n", 1e3 * (seconds() - since), tutti_comm_size(comm));
    }
    if (status && status != TUTTI_ERR_PEER_LOST) regrow_wrong("another status", tutti_error());
    const bool whole = !status && tutti_comm_size(comm) == P;
    since = status ? seconds() : 0;
    if (!status) step = 0;
    regrow_spare(whole); /* others may detect the end in the next call */
    if (tutti_comm_grow(comm, status ? 0 : P - tutti_comm_size(comm), &next))
      regrow_wrong("grow", tutti_error());
    if (tutti_comm_free(comm)) regrow_wrong("free", tutti_error());
    comm = next;
    if (whole && tutti_comm_size(comm) == P && !tutti_comm_newcomers(comm))
      break; /* all ranks decide the same */
  }
  regrow_check_settings(comm);
  printf("done\n");
  if (tutti_comm_free(comm)) regrow_wrong("free", tutti_error());
}

/* The last rank dies, and the others detect it. */
static void lose_one(tutti_comm *comm) {
  if (tutti_comm_rank(comm) == P - 1) kill(getpid(), SIGKILL);
  tutti_status status = TUTTI_OK;
  while (!status) status = tutti_barrier(comm);
  if (status != TUTTI_ERR_PEER_LOST) regrow_wrong("another status", tutti_error());
}

static void plain(tutti_comm *comm) {
  tutti_comm *next = comm;
  if (!joiner) {
    lose_one(comm);
    if (tutti_comm_grow(comm, 1, &next)) regrow_wrong("grow", tutti_error());
    tutti_comm_free(comm);
  }
  if (tutti_comm_size(next) != P || tutti_comm_newcomers(next) != 1) regrow_wrong("the size", "");
  if (joiner && tutti_comm_rank(next) != P - 1) regrow_wrong("its place", "");
  for (uint64_t i = 0; i < 20; i++)
    if (regrow_sum(next, cover_mix(i))) regrow_wrong("a sum", tutti_error());
  tutti_comm_free(next);
  printf("fine\n");
}

/* A host with several ranks dies: the test kills it when it reads `ready`. */
static void host(tutti_comm *comm) {
  tutti_comm *rest, *next = comm;
  if (!joiner) {
    printf("ready\n");
    tutti_status status = TUTTI_OK;
    while (!status) status = tutti_barrier(comm);
    if (status != TUTTI_ERR_PEER_LOST) regrow_wrong("another status", tutti_error());
    if (tutti_comm_shrink(comm, &rest)) regrow_wrong("shrink", tutti_error());
    tutti_comm_free(comm);
    /* the ranks of a host do not die simultaneously */
    while (tutti_comm_size(rest) > P - 2) {
      if (tutti_comm_shrink(comm = rest, &rest)) regrow_wrong("shrink", tutti_error());
      tutti_comm_free(comm);
    }
    if (tutti_comm_grow(rest, P - tutti_comm_size(rest), &next))
      regrow_wrong("grow", tutti_error());
    tutti_comm_free(rest);
  }
  if (tutti_comm_size(next) != P || tutti_comm_newcomers(next) != 2) regrow_wrong("the size", "");
  for (uint64_t i = 0; i < 20; i++)
    if (regrow_sum(next, cover_mix(i))) regrow_wrong("a sum", tutti_error());
  tutti_comm_free(next);
  printf("fine\n");
}

static long long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1000000000LL * t.tv_sec + t.tv_nsec;
}

/* Sums until `kills` ranks have been replaced. The survivors first continue without the lost rank, and then
 * admit joining ranks. After each loss a rank reports the first right sum of the survivors, and the first of P
 * ranks. */
static void kills(tutti_comm *comm, int kills) {
  tutti_comm *next;
  int64_t replaced = 0;
  for (;;) {
    tutti_status status = tutti_broadcast(comm, &replaced, &replaced, 1, TUTTI_INT64, 0);
    if (!status) status = regrow_sum(comm, 1 + 2 * (uint64_t)replaced);
    const int size = tutti_comm_size(comm);
    if (!status)
      printf("%s %lld %d %lld\n", size == P ? "whole" : "back", (long long)replaced, (int)getpid(),
             now_ns());
    while (!status && size == P && replaced < kills) status = regrow_sum(comm, 1);
    if (!status && size == P) break;
    if (status && status != TUTTI_ERR_PEER_LOST) regrow_wrong("another status", tutti_error());
    if (status ? tutti_comm_shrink(comm, &next) : tutti_comm_grow(comm, P - size, &next))
      regrow_wrong(status ? "shrink" : "grow", tutti_error());
    replaced += tutti_comm_newcomers(next);
    if (tutti_comm_free(comm)) regrow_wrong("free", tutti_error());
    comm = next;
  }
  tutti_comm_free(comm);
}

/* A rank dies, and the others do not admit the joining rank. It gets an error when they have ended. */
static void ignored(tutti_comm *comm) {
  lose_one(comm);
  usleep(500000);
  tutti_comm_free(comm);
  printf("fine\n");
}

/* Growing by one fails with this reason; growing by zero succeeds. */
static void refused(tutti_comm *comm, tutti_status want, const char *words) {
  tutti_comm *next = comm;
  const tutti_status status = tutti_comm_grow(comm, 1, &next);
  if (status != want || !strstr(tutti_error(), words) || next)
    regrow_wrong("it should have said", status ? tutti_error() : words);
  if (tutti_comm_grow(comm, 0, &next) || tutti_comm_size(next) != P)
    regrow_wrong("growing by none", tutti_error());
  if (regrow_sum(next, 1)) regrow_wrong("a sum", tutti_error());
  tutti_comm_free(next);
  tutti_comm_free(comm);
  printf("fine\n");
}

/* The only joining rank dies before it joins. */
static void used_up(tutti_comm *comm) {
  tutti_comm *next;
  lose_one(comm);
  const tutti_status status = tutti_comm_grow(comm, 1, &next);
  if (status != TUTTI_ERR_STATE || !strstr(tutti_error(), "0 can still come"))
    regrow_wrong("it should have said", tutti_error());
  if (tutti_comm_grow(comm, 0, &next) || tutti_comm_size(next) != P - 1)
    regrow_wrong("growing by none", tutti_error());
  if (regrow_sum(next, 1)) regrow_wrong("a sum", tutti_error());
  tutti_comm_free(next);
  tutti_comm_free(comm);
  printf("fine\n");
}

int main(int argc, char **argv) {
  tutti_comm *comm;
  lifetime(50);
  if (argc < 2) return printf("ok - nothing to do\n1..1\n") < 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  joiner = regrow_number("TUTTI_NEWCOMER");
  P = regrow_number("TUTTI_SIZE");
  const char *scene = argv[1];
  const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
  const int deaths = argc > 3 ? atoi(argv[3]) : 0;
  const bool lot = strcmp(scene, "lot") == 0;
  if (lot && joiner) regrow_draw(seed, P, joiner, deaths, 60000);
  if (joiner && strcmp(scene, "used-up") == 0) return 5;
  if (start_comm(&comm)) return printf("# %s\n", tutti_error()), 1;
  if (lot && !joiner) regrow_draw(seed, P, joiner, deaths, 60000);
  if (lot)
    go_on(comm, seed);
  else if (strcmp(scene, "plain") == 0)
    plain(comm);
  else if (strcmp(scene, "host") == 0)
    host(comm);
  else if (strcmp(scene, "kills") == 0)
    kills(comm, (int)seed);
  else if (strcmp(scene, "ignored") == 0)
    ignored(comm);
  else if (strcmp(scene, "used-up") == 0)
    used_up(comm);
  else if (strcmp(scene, "late") == 0)
    refused(comm, TUTTI_ERR_TIMEOUT, "0 of 1 joiners came within 1 s (TUTTI_CONNECT_TIMEOUT)");
  else
    refused(comm, TUTTI_ERR_UNSUPPORTED, "without tutti run --respawn");
  return start_end() ? 9 : 0;
}
