/* meeting.c - the time that ranks on several hosts take to connect. They repeat the bootstrap through the
 * rendezvous of `tutti run --hosts`, each time starting simultaneously.
 *
 *   tutti run --hosts LIST meeting [TIMES]
 *
 * For each repetition, prints a line with the number of ranks and four times in ms. The first is the time
 * of the rendezvous, the second the time to open the network, both on the slowest rank. The third is the
 * time to exchange addresses after the last rank has opened the network. The fourth is tutti's share of
 * the total: the sum of the first and the third.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <tutti.h>
#include <tutti_create.h>

#include "timing.h"

typedef struct parts {
  double met, opened, exchanged; /* ms */
} parts;

static void hear(void *ctx, int level, const char *line) {
  parts *p = ctx;
  char made[2][32];
  int ranks;
  (void)level;
  sscanf(
      line,
      "%d ranks met in %lf ms; %31s %31s was opened in %lf ms; addresses were exchanged in %lf ms",
      &ranks, &p->met, made[0], made[1], &p->opened, &p->exchanged);
}

static int failed(void) {
  fprintf(stderr, "meeting: %s\n", tutti_error());
  return 1;
}

int main(int argc, char **argv) {
  const int times = argc > 1 ? atoi(argv[1]) : 7;
  const char *id = getenv("TUTTI_ID");
  tutti_comm *comm, *again;
  tutti_id at = {{0}};
  parts p = {0, 0, 0};
  if (id) snprintf(at.text, sizeof at.text, "%s", id);
  if (!id || tutti_comm_from_env(&comm))
    return id ? failed() : (fprintf(stderr, "meeting: tutti run --hosts starts this\n"), 2);
  const int rank = tutti_comm_rank(comm), ranks = tutti_comm_size(comm);
  tutti_log_set(hear, &p);
  for (int i = 0; i < times; i++) {
    p = (parts){0, 0, 0};
    if (tutti_barrier(comm) || tutti_comm_create(&again, &at, ranks, rank, NULL)) return failed();
    double most[3] = {p.met, p.opened, -p.exchanged};
    if (tutti_allreduce(comm, most, most, 3, TUTTI_DOUBLE, TUTTI_MAX)) return failed();
    if (rank == 0)
      printf("%d %.3f %.3f %.3f %.3f\n", ranks, most[0], most[1], -most[2], most[0] - most[2]);
    tutti_comm_free(again);
  }
  if (rank == 0) printf("done\n");
  tutti_comm_free(comm);
  return tutti_finalize() ? failed() : 0;
}
