/* tcp_play.h - for tests: simulates, in the test's process, several processes of a job that uses
 * the socket network.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TCP_PLAY_H
#define TCP_PLAY_H

#include "tcp.h"

enum { ENDS = 3 };

/* Each end has a separate table of the others' addresses. */
typedef struct ends {
  bool encrypts;
  int n, first; /* the ends before `first` are closed */
  void *end[ENDS];
  tcp_address at[ENDS][ENDS]; /* [owner of the table][peer] */
  tutti_net net[ENDS];
} ends;

/* A cmocka test that runs with plain connections and with TLS. *state is NULL for plain connections. */
#define OVER_BOTH(test)                         \
  {#test " (TCP)", test, NULL, NULL, NULL}, {   \
#test " (TLS)", test, NULL, NULL, (void *)1 \
  }
bool ends_have_tls(void);
/* silence: the keepalive timeout in s, as in TUTTI_SILENCE. encrypts: use TLS. */
void ends_open(ends *j, int n, int silence, bool encrypts);
/* stranger: the end that has a different secret, or -1. */
void ends_join(ends *j, int stranger);
void ends_close(const ends *j);
int ends_send(const ends *j, int from, int slot, int to, int tag, const void *bytes, size_t n,
              int sure);
int ends_recv(const ends *j, int at, int slot, int from, int tag, void *bytes, size_t n);
/* Polls all ends until end `rank` has reported request `slot`, or, as slot -1, the loss of a peer. */
tutti_net_done ends_await(const ends *j, int rank, int slot);

#endif
