/* compare.c - `tutti bench --compare`: finds the libraries, measures each, and prints the results
 * side by side.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "peer.h"
#include "ranked.h"

enum { WRONG = 1, ROUNDS = 15 };

/* Sets the defaults for `--compare`. Called before the options are parsed, so that they can override these defaults. */
void bench_compare_defaults(bench_options *o, int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (strncmp(argv[i], "--compare", strlen("--compare")) != 0) continue;
    o->ranks = 2;
    o->cycle = true;
    o->side[0] = false;
    o->repeats = ROUNDS;
    o->budget = 0.004;
    o->last = 16 << 20;
  }
}

bool peer_in_place(const bench_options *o) {
  switch (o->coll) {
    case TUTTI_ALLREDUCE:
    case TUTTI_REDUCE:
    case TUTTI_SCAN:
    case TUTTI_EXSCAN: return !o->side[0];
    default: return o->coll == TUTTI_BROADCAST;
  }
}

static int fits(const bench_options *o) {
  if (job_inside())
    return cli_fail(CLI_USAGE, "bench",
                    "--compare starts its ranks itself, on this machine: leave out the launcher, "
                    "and use -n N");
  if (o->ranks < 2 || o->ranks > PEER_RANKS)
    return cli_fail(CLI_USAGE, "bench", "--compare needs 2 to %d ranks", PEER_RANKS);
  if (o->helpers) return cli_fail(CLI_USAGE, "bench", "--helpers does not go with --compare");
  if (o->spread)
    return cli_fail(CLI_USAGE, "bench",
                    "--compare shows quartiles with --format json; leave out --spread");
  if (o->repeats > PEER_ROUNDS)
    return cli_fail(CLI_USAGE, "bench", "--compare: at most %d rounds (--repeats)", PEER_ROUNDS);
  if (o->root >= o->ranks)
    return cli_fail(CLI_USAGE, "bench", "--root %ld, but the ranks are 0 to %ld", o->root,
                    o->ranks - 1);
  return bench_files_ready("bench", o);
}

/* Checks whether an installed library provides this call. */
static void judge(const bench_options *o, peer_place *p) {
  const char *why = p->kind == PEER_NONE    ? NULL
                    : p->kind == PEER_TORCH ? peer_torch_lacks(o)
                                            : peer_mpi_lacks(o);
  if (!why && p->kind == PEER_TORCH && strcmp(p->name, "nccl") == 0 && p->gpus < o->ranks)
    snprintf(p->why, sizeof p->why, "NCCL needs a GPU for each of the %ld ranks, and PyTorch finds %d", o->ranks,
             p->gpus);
  else if (!why)
    return;
  else
    snprintf(p->why, sizeof p->why, "%s", why);
  p->kind = PEER_NONE;
}

static int measure_all(const bench_options *o, peer_place *places, int n, peer_memory **all) {
  int found = 0, left = 0, done = 0;
  for (int i = 0; i < n; i++) {
    judge(o, &places[i]);
    left += places[i].kind != PEER_NONE;
  }
  for (int i = 0; i < n; i++) {
    peer_memory *m = places[i].kind == PEER_NONE ? NULL : peer_measure(o, &places[i], done++, left);
    if (m) all[found++] = m;
  }
  bench_progress(0, 0, 0);
  for (int i = 0; i < n; i++)
    if (*places[i].why)
      fprintf(bench_table(o) ? stdout : stderr, "# %s: %s\n", places[i].name, places[i].why);
  fflush(stdout);
  return found;
}

int bench_compare(const bench_options *o) {
  peer_place places[PEERS];
  peer_memory *all[PEERS];
  int n = 0, status = fits(o);
  if (!status) status = peer_list(o->compare, places, &n);
  if (status) return status;
  const int found = measure_all(o, places, n, all);
  if (!found)
    return cli_fail(CLI_FAILED, "bench", "--compare: none of these libraries could be measured");
  if (bench_table(o)) peer_show(o, all, found);
  for (int i = 0; i < found; i++)
    for (size_t k = 0; k < all[i]->sizes; k++)
      if (peer_rows(all[i])[k].wrong > 0) status = WRONG;
  if (fflush(stdout)) status = cli_fail(CLI_FAILED, "bench", "cannot write: %s", strerror(errno));
  int file = o->format ? peer_results(o, all, found) : 0;
  if (!file && o->plot) file = peer_plot(o, all, found);
  for (int i = 0; i < found; i++) peer_free(all[i]);
  return file ? file : status;
}
