/* tcp_play.c - for tests: simulates processes of a job that uses the socket network (tcp_play.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tcp_play.h"

enum { DONE = 8 };

/* does not use cmocka, because programs without it also link this file */
static void must(bool holds, const char *why) {
  if (holds) return;
  fprintf(stderr, "tcp_play: %s\n", why);
  abort();
}

static const void *their_address(void *ctx, int rank, size_t *bytes) {
  *bytes = sizeof(tcp_address);
  return (const tcp_address *)ctx + rank;
}

static void drop_nothing(void *ctx) {
  (void)ctx;
}

static tutti_net_maker maker_of(const ends *j) {
  return j->encrypts ? tutti_net_maker_tls() : tutti_net_maker_of();
}

void ends_open(ends *j, int n, int silence, bool encrypts) {
  *j = (ends){.n = n, .encrypts = encrypts};
  const tutti_net_maker maker = maker_of(j);
  for (int r = 0; r < n; r++) {
    const void *address;
    size_t bytes;
    char why[240];
    must(!maker.open(&j->end[r], silence, &address, &bytes, why, sizeof why), why);
    must(bytes == sizeof j->at[0][0], "an address of another size");
    for (int who = 0; who < n; who++) memcpy(&j->at[who][r], address, bytes);
  }
}

void ends_join(ends *j, int stranger) {
  const tutti_net_maker maker = maker_of(j);
  for (int r = 0; r < j->n; r++) {
    unsigned char secret[TUTTI_NET_SECRET] = {7, r == stranger};
    char why[240];
    const tutti_net_addresses addresses = {sizeof addresses, j->at[r], their_address, drop_nothing};
    maker.secret(j->end[r], secret);
    must(!maker.join(j->end[r], r, j->n, &addresses, &j->net[r], why, sizeof why), why);
    j->net[r].site.node = r;
    j->net[r].id = 1;
  }
}

void ends_close(const ends *j) {
  for (int r = 0; r < j->n; r++) j->net[r].close(j->net[r].self, 1);
}

tutti_net_done ends_await(const ends *j, int rank, int slot) {
  static tutti_net_done kept[ENDS][64];
  static int n[ENDS];
  const double until = tt_seconds() + 20;
  while (tt_seconds() < until) {
    for (int i = 0; i < n[rank]; i++) {
      const tutti_net_done d = kept[rank][i];
      if (d.slot != slot) continue;
      kept[rank][i] = kept[rank][--n[rank]];
      return d;
    }
    for (int r = j->first; r < j->n; r++) {
      int come = 0;
      must(!j->net[r].poll(j->net[r].self, 64, kept[r] + n[r], DONE, &come), "poll failed");
      n[r] += come;
      must(n[r] < 64 - DONE, "the test awaits none of many requests that have ended");
    }
  }
  char why[60];
  snprintf(why, sizeof why, "request %d of rank %d does not end", slot, rank);
  must(false, why);
  return (tutti_net_done){.slot = -2};
}

int ends_send(const ends *j, int from, int slot, int to, int tag, const void *bytes, size_t n,
              int sure) {
  return j->net[from].send(j->net[from].self, slot, to, tag, bytes, n, sure);
}

int ends_recv(const ends *j, int at, int slot, int from, int tag, void *bytes, size_t n) {
  return j->net[at].recv(j->net[at].self, slot, from, tag, bytes, n);
}

bool ends_have_tls(void) {
  const tt_tls *tls;
  return !tt_tls_load(&tls);
}
