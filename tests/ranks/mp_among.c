/* mp_among.c - communicators created by their members alone (tutti_comm_among): every subset, in both orders,
 * while the other ranks do something else; many, one after another, without a memory leak.
 *
 * Ranks: 1 2 3 4
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "start.h"
#include "tutti_message.h"
#include "tutti_net.h"

enum { MOST = 8, MANY = 300 };

static tutti_comm *whole;
static int rank, ranks;

/* The ranks of a communicator, and an all-gather among them by messages. */
typedef struct members {
  int list[MOST], n, mine;
} members;

static int by_messages(void *ctx, const void *mine, size_t bytes, void *all) {
  const members *m = ctx;
  int bad = 0;
  for (int i = 0; i < m->n && !bad; i++) {
    char *row = (char *)all + (size_t)i * bytes;
    if (i == m->mine) memcpy(row, mine, bytes);
    for (int j = 0; j < m->n && !bad; j++) {
      if (j == i) continue;
      if (m->mine == i)
        bad |= tutti_send(whole, mine, bytes, TUTTI_UINT8, m->list[j], 0) != TUTTI_OK;
      if (m->mine == j)
        bad |= tutti_recv(whole, row, bytes, TUTTI_UINT8, m->list[i], 0, NULL) != TUTTI_OK;
    }
  }
  return bad;
}

/* The ranks of a bit set, ascending or descending; false: this rank is not a member. */
static bool choose(members *m, unsigned set, bool down) {
  m->n = 0;
  m->mine = -1;
  for (int k = 0; k < ranks; k++) {
    const int r = down ? ranks - 1 - k : k;
    if (!(set & 1U << r)) continue;
    if (r == rank) m->mine = m->n;
    m->list[m->n++] = r;
  }
  return m->mine >= 0;
}

static bool works(tutti_comm *comm, const members *m) {
  double all[MOST], own = rank, sum, want = 0;
  bool good = tutti_comm_rank(comm) == m->mine && tutti_comm_size(comm) == m->n;
  for (int i = 0; i < m->n; i++) want += m->list[i];
  good = good && !tutti_allreduce(comm, &own, &sum, 1, TUTTI_DOUBLE, TUTTI_SUM) && sum == want;
  good = good && !tutti_allgather(comm, &own, all, 1, TUTTI_DOUBLE);
  for (int i = 0; good && i < m->n; i++) good = all[i] == m->list[i];
  return good;
}

static bool make_and_use(unsigned set, bool down) {
  members m;
  tutti_comm *comm;
  if (!choose(&m, set, down)) return true;
  if (tutti_comm_among(whole, m.list, m.n, by_messages, &m, NULL, &comm)) {
    printf("# rank %d: %s\n", rank, tutti_error());
    return false;
  }
  const bool good = works(comm, &m);
  return tutti_comm_free(comm) == TUTTI_OK && good;
}

static int verdict(bool good, const char *what) {
  double mine = !good, bad = 1;
  if (tutti_allreduce(whole, &mine, &bad, 1, TUTTI_DOUBLE, TUTTI_SUM)) bad = 1;
  if (rank == 0) printf("%s - %s\n", bad > 0 ? "not ok" : "ok", what);
  return bad > 0;
}

static bool refused(void) {
  members m = {.n = 1};
  tutti_comm *comm = whole;
  const int far[] = {rank, ranks}, other[] = {(rank + 1) % ranks};
  return tutti_comm_among(whole, far, 2, by_messages, &m, NULL, &comm) == TUTTI_ERR_ARG && !comm &&
         (ranks == 1 ||
          tutti_comm_among(whole, other, 1, by_messages, &m, NULL, &comm) == TUTTI_ERR_ARG) &&
         tutti_comm_among(whole, far, 0, by_messages, &m, NULL, &comm) == TUTTI_ERR_ARG &&
         tutti_comm_among(NULL, far, 1, by_messages, &m, NULL, &comm) == TUTTI_ERR_ARG &&
         tutti_comm_among(whole, far, 1, NULL, &m, NULL, &comm) == TUTTI_ERR_ARG;
}

int main(void) {
  if (start_comm(&whole)) return fprintf(stderr, "%s\n", tutti_error()), 1;
  rank = tutti_comm_rank(whole);
  ranks = tutti_comm_size(whole);
  bool subsets = true, many = true;
  for (unsigned set = 1; set < 1U << ranks; set++)
    for (int down = 0; down < 2; down++) subsets &= make_and_use(set, down);
  int bad = verdict(subsets, "every subset of the ranks, in both orders");
  for (int k = 0; k < MANY; k++) many &= make_and_use((1U << ranks) - 1, k % 2);
  bad |= verdict(many, "many, one after another");
  bad |= verdict(refused(), "wrong arguments");
  if (rank == 0) puts("1..3");
  tutti_comm_free(whole);
  return start_end() != TUTTI_OK || bad;
}
