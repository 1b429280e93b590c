/* cipher_maker.c - opens a process's end of tutti's own network, and joins all ends to a network (tutti_net.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cipher.h"

static bool open_world(cipher_world *w) {
  struct epoll_event e = {.events = EPOLLIN, .data.ptr = &w->listener};
  gethostname(w->own.host, sizeof w->own.host - 1);
  w->own.pid = (int32_t)getpid();
  if (tt_tls_load(&w->tls) || !tt_cipher_listen(w)) return false;
  w->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (w->epoll >= 0 && !epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->listener.fd, &e)) return true;
  tt_fail(TUTTI_ERR_SYSTEM, "a rank's network cannot have an epoll: too many open files?");
  return false;
}

static int end_open(void **end, int silence, const void **address, size_t *bytes, char *why,
                    size_t size) {
  cipher_world *w = calloc(1, sizeof *w);
  snprintf(why, size, "out of memory for a network");
  if (!w) return 1;
  pthread_mutex_init(&w->lock, NULL);
  w->listener = (cipher_source){CIPHER_LISTENER, -1};
  w->watched = w->epoll = -1;
  w->silence = silence;
  w->early_end = &w->early;
  if (!open_world(w)) {
    snprintf(why, size, "%s", tutti_error());
    tt_cipher_close(w);
    return 1;
  }
  if (tt_env("TUTTI_RAILS") && tt_news("TUTTI_RAILS", "tls"))
    tt_log(0, "TUTTI_RAILS is not used: with TLS, one connection carries what two ranks exchange");
  *end = w;
  *address = &w->own;
  *bytes = sizeof w->own;
  return 0;
}

static void end_secret(void *end, const unsigned char secret[TUTTI_NET_SECRET]) {
  cipher_world *w = end;
  _Static_assert((int)TUTTI_NET_SECRET == (int)TT_TLS_SECRET, "one secret");
  memcpy(w->secret, secret, sizeof w->secret);
}

static int end_join(void *end, int rank, int ranks, const tutti_net_addresses *addresses,
                    tutti_net *net, char *why, size_t size) {
  cipher_world *w = end;
  snprintf(why, size, "out of memory for %d ranks", ranks);
  w->peers = calloc((size_t)ranks, sizeof *w->peers);
  if (!w->peers) return 1;
  w->rank = rank;
  w->ranks = ranks;
  w->next = 1; /* 0 is the network of all */
  if (tt_cipher_net_make(w, 0, NULL, rank, ranks, net)) return 1;
  w->addresses = *addresses;
  return 0;
}

static void end_drop(void *end) {
  tt_cipher_close(end);
}

tutti_net_maker tt_cipher_maker(void) {
  return (tutti_net_maker){.size = sizeof(tutti_net_maker),
                           .table = sizeof(tutti_net),
                           .name = TT_CIPHER_NAME,
                           .open = end_open,
                           .join = end_join,
                           .drop = end_drop,
                           .secret = end_secret};
}
