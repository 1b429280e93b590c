/* mp_stall.c - a rank is stopped at a random moment. After TUTTI_TIMEOUT the others fail; the error names the
 * rank, its process, the call and (on its host) that it is stopped. The rank gets the same error when it
 * resumes.
 *
 * Ranks: 2 4
 * SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "../../cli/configure.h"
#include "comm.h"
#include "cover.h"
#include "lot_calls.h"
#include "rounds.h"
#include "scenes.h"
#include "start.h"
#include "tell.h"
#include "tutti_plan.h"

enum { KINDS = 6, CALLS = 2000000 };
static const char limit[] = "0.5";
static int64_t pids[16];
static double x[CALL_BYTES / sizeof(double)], y[CALL_BYTES / sizeof(double)];

static void stop(int signal) {
  (void)signal;
  raise(SIGSTOP);
}

/* Stops this process in `us` microseconds. */
static void stop_soon(uint64_t us) {
  struct sigaction action = {.sa_handler = stop};
  const struct itimerval when = {.it_value = {.tv_usec = (suseconds_t)us}};
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &when, NULL);
}

/* In "... in CALL, operation N...", is CALL the call that all ranks make as operation N? */
static bool right_call(const char *sentence, const lot_call *kinds, unsigned first,
                       const char *before) {
  const char *at = strstr(sentence, before);
  char words[160];
  for (int k = 0; at && k < KINDS; k++) {
    unsigned number;
    call_words(&kinds[k], words, sizeof words);
    const size_t n = strlen(words);
    const char *call = at + strlen(before);
    if (strncmp(call, words, n) || sscanf(call + n, ", operation %u", &number) != 1) continue;
    if (number >= first && (number - first) % KINDS == (unsigned)k) return true;
  }
  return false;
}

/* Makes calls until one fails. *ms: duration of that call. */
static tutti_status calls(tutti_comm *comm, uint64_t seed, const lot_call *kinds, double *ms) {
  tutti_status status = TUTTI_OK;
  uint64_t before = 0;
  for (int i = 0; i < CALLS && !status; i++) {
    before = tell_ns();
    status = call_make(comm, &kinds[i % KINDS], x, y);
    if (!status && cover_mix(seed + (uint64_t)i) % 8 == 0)
      usleep((useconds_t)(cover_mix(seed + (uint64_t)(i + tutti_comm_rank(comm))) % 300));
  }
  *ms = (double)(tell_ns() - before) / 1e6;
  return status;
}

/* Returns where the message names the victim, or NULL. Ranks on another host cannot see that it is stopped. */
static const char *blamed(const tutti_comm *comm, int victim, const char *sentence) {
  char who[100];
  bool near = true;
  for (int r = 0; r < tutti_comm_size(comm); r++)
    near &= tutti_comm_apart(comm, r, victim, NULL) == 0;
  snprintf(who, sizeof who, " s for rank %d (pid %lld, stopped) in ", victim,
           (long long)pids[victim]);
  const char *at = strstr(sentence, who);
  snprintf(who, sizeof who, " s for rank %d (pid %lld) in ", victim, (long long)pids[victim]);
  return at || near ? at : strstr(sentence, who);
}

static bool play(tutti_comm *base, uint64_t seed, double *ms) {
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  const int victim = (int)(cover_mix(seed) % (uint64_t)P);
  lot_call kinds[KINDS];
  tutti_comm *comm;
  if (!CHECK(!tutti_comm_dup(base, &comm))) return false;
  bool ok = true;
  for (int k = 0; k < KINDS; k++) { /* each once, so that all plans exist */
    kinds[k] = call_drawn(seed * 11 + (uint64_t)k, P);
    for (int before = 0; before < k; before++)
      if (call_equal(&kinds[k], &kinds[before])) kinds[k].coll = TUTTI_BARRIER;
    ok = CHECK(!call_make(comm, &kinds[k], x, y)) && ok;
  }
  ok = CHECK(!tutti_barrier(comm)) && ok;
  const unsigned first = KINDS + 2; /* operations count from 1 */
  const bool own = seed % 2;        /* from the API or the environment */
  if (own) ok = CHECK(!comm_set_timeout(comm, atof(limit))) && ok;
  if (!own)
    comm->settings.plain.env_timeout =
        atof(limit); /* as if TUTTI_TIMEOUT had said so at the start */
  if (me == victim) stop_soon(1000 + cover_mix(seed + 1) % 60000);
  const tutti_status status = calls(comm, seed, kinds, ms);
  if (me == victim) *ms = 0;
  char sentence[500];
  snprintf(sentence, sizeof sentence, "%s", status ? tutti_error() : "");
  comm->settings.plain.env_timeout = 100;
  if (me == (victim + 1) % P) {
    usleep(200000);
    ok = CHECK(!kill((pid_t)pids[victim], SIGCONT)) && ok;
  }
  const char *named = blamed(comm, victim, sentence);
  const bool good = status == TUTTI_ERR_TIMEOUT && named &&
                    strstr(sentence, own ? "the timeout is 0.5 s" : "TUTTI_TIMEOUT=0.5") &&
                    right_call(named, kinds, first, ") in ");
  if (!good)
    printf("# rank %d, seed %llu, rank %d stopped: %s: %s\n", me, (unsigned long long)seed, victim,
           tutti_strerror(status), sentence);
  fflush(stdout);
  ok = CHECK(!tutti_barrier(base)) && ok;
  return CHECK(!tutti_comm_free(comm)) && good && ok;
}

int main(int argc, char **argv) {
  const char *all = getenv("TUTTI_TEST_ALL");
  const int rounds = argc > 1 ? atoi(argv[1]) : all && *all == '1' ? 50 : 10;
  int64_t mine = getpid();
  tutti_comm *base;
  if (start_comm(&base)) return printf("not ok - a communicator: %s\n", tutti_error()) > 0;
  tutti_allgather(base, &mine, pids, 1, TUTTI_INT64);
  const unsigned failed = rounds_play(base, rounds, argc > 2 ? argv[2] : NULL,
                                      "ranks that are stopped are named", play);
  return tutti_comm_free(base) || start_end() || failed;
}
