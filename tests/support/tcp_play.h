/* tcp_play.h - for tests: some processes of a job in the network over sockets, all simulated in the test's
 * process.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TCP_PLAY_H
#define TCP_PLAY_H

#include "tcp.h"

enum { ENDS = 3 };

/* Each end has its own table of the others' addresses. */
typedef struct ends {
  bool encrypts;
  int n, first; /* those before `first` are closed */
  void *end[ENDS];
  tcp_address at[ENDS][ENDS]; /* [owner of the table][peer] */
  tutti_net net[ENDS];
} ends;

/* A cmocka test with plain connections, and with TLS; *state is NULL for plain ones. */
#define OVER_BOTH(test)                         \
  {#test " (TCP)", test, NULL, NULL, NULL}, {   \
#test " (TLS)", test, NULL, NULL, (void *)1 \
  }
bool ends_have_tls(void);
/* silence: s, as TUTTI_SILENCE. encrypts: by TLS. */
void ends_open(ends *j, int n, int silence, bool encrypts);
/* stranger: this end has a different secret; -1: none. */
void ends_join(ends *j, int stranger);
void ends_close(const ends *j);
int ends_send(const ends *j, int from, int slot, int to, int tag, const void *bytes, size_t n,
              int sure);
int ends_recv(const ends *j, int at, int slot, int from, int tag, void *bytes, size_t n);
/* Polls all ends until end `rank` has reported request `slot`, or the loss of a peer with slot -1. */
tutti_net_done ends_await(const ends *j, int rank, int slot);

#endif
