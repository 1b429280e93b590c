/* run_joiners.c - `tutti run --hosts --respawn`: reports ranks that have ended, and requests
 * joiners that replace them.
 *
 * Idea       The guard of a host's part restarts its own ranks as joiners. If the part has ended,
 *            with or without its host, the guard that called it starts as many joiners on the host
 *            with the fewest ranks. The job's rendezvous assigns the numbers of joiners. It also
 *            counts the live ranks, so that no joiner waits for ranks that do not exist.
 * Invariant  The number of joiners on all hosts together does not exceed --respawn.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "run.h"
#include "tutti_create.h"
#include "tutti_launch.h"

bool run_joins(const run_options *o) {
  return o->respawns && (o->hosts || o->total);
}

static const double reach_s = 30; /* the network may be interrupted for this long */

/* Asks the rendezvous for news->wants joiner numbers, which begin with *first. Returns how many were granted. */
static int ask(const tutti_newcomer_news *news, int *first) {
  tutti_id id = {""};
  int n = 0;
  const char *text = getenv("TUTTI_ID");
  *first = 0;
  if (!text || strlen(text) >= sizeof id.text) return 0;
  memcpy(id.text, text, strlen(text));
  const double until = cli_now() + reach_s;
  tutti_status status;
  while ((status = tutti_newcomer_ask(&id, news, first, &n)) == TUTTI_ERR_TIMEOUT)
    if (cli_now() > until) break;
  return status ? 0 : n;
}

int run_joiner_ended(const run_options *o, int rank, int newcomer, bool again) {
  int first;
  const tutti_newcomer_news news = {.size = sizeof news,
                                    .part = o->first,
                                    .rank = newcomer < 0 ? o->first + rank : -1,
                                    .newcomer = newcomer + 1,
                                    .wants = again};
  return ask(&news, &first) > 0 ? first - 1 : -1;
}

/* Returns the host with the fewest ranks among those that are alive or unused, or -1 if no host qualifies. */
static int least_loaded(const run_options *o, int lost, const bool *lives) {
  int best = -1, fewest = 0;
  for (int i = 0; i < o->nhosts; i++) {
    int ranks = 0;
    if (i == lost || (!lives[i] && o->hosts[i].ranks)) continue;
    for (int k = 0; k < o->nhosts; k++)
      if (lives[k] && strcmp(o->hosts[k].name, o->hosts[i].name) == 0) ranks += o->hosts[k].ranks;
    if (best < 0 || ranks < fewest) best = i, fewest = ranks;
  }
  return best;
}

bool run_host_lost(const run_options *o, int h, bool again, const bool *lives) {
  run_host *host = &o->hosts[h];
  int first;
  const int to = least_loaded(o, h, lives);
  const tutti_newcomer_news news = {.size = sizeof news,
                                    .part = host->first,
                                    .rank = -1,
                                    .lost_ranks = host->ranks,
                                    .wants = again && to >= 0 ? host->ranks : 0};
  const int n = ask(&news, &first);
  if (n < 1) return false;
  host->to = to;
  host->ranks = n;
  host->newcomer = first;
  return true;
}

void run_host_move(const run_options *o, int h) {
  if (o->hosts[h].to != h)
    memcpy(o->hosts[h].name, o->hosts[o->hosts[h].to].name, sizeof o->hosts[h].name);
}
