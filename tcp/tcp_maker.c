/* tcp_maker.c - the entry points that libtutti looks up in this library: networks over TCP, and over TLS 1.3 (tutti_net.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tcp.h"

/* The names of the networks. The name for TLS has no version number, because all versions of OpenSSL interoperate. */
static const char PLAIN_NAME[] = "TCP", TLS_NAME[] = "TLS 1.3";

static bool open_world(tcp_world *w, bool encrypts) {
  struct epoll_event e = {.events = EPOLLIN, .data.ptr = &w->listener};
  w->own.pid = (int32_t)getpid();
  w->name = encrypts ? TLS_NAME : PLAIN_NAME;
  w->encrypts = encrypts;
  if (!encrypts) w->tls = tcp_plain();
  if ((encrypts && tt_tls_load(&w->tls)) || !tcp_listen(w)) return false;
  w->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (w->epoll >= 0 && !epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->listener.fd, &e)) return true;
  tt_fail(TUTTI_ERR_SYSTEM, "a rank's network cannot have an epoll: too many open files?");
  return false;
}

static int end_open(void **end, int silence, const void **address, size_t *bytes, char *why,
                    size_t size, bool encrypts) {
  tcp_world *w = calloc(1, sizeof *w);
  snprintf(why, size, "out of memory for a network");
  if (!w) return 1;
  kit_world_open(&w->kit, &tcp_library);
  w->listener = (tcp_source){TCP_LISTENER, -1};
  w->watched = w->epoll = -1;
  w->silence = silence;
  w->early_end = &w->early;
  if (!open_world(w, encrypts)) {
    snprintf(why, size, "%s", tutti_error());
    tcp_close(w);
    return 1;
  }
  *end = w;
  *address = &w->own;
  *bytes = sizeof w->own;
  return 0;
}

static int open_plain(void **end, int silence, const void **address, size_t *bytes, char *why,
                      size_t size) {
  return end_open(end, silence, address, bytes, why, size, false);
}

static int open_tls(void **end, int silence, const void **address, size_t *bytes, char *why,
                    size_t size) {
  return end_open(end, silence, address, bytes, why, size, true);
}

static void end_secret(void *end, const unsigned char secret[TUTTI_NET_SECRET]) {
  tcp_world *w = end;
  _Static_assert((int)TUTTI_NET_SECRET == (int)TT_TLS_SECRET, "one secret");
  memcpy(w->secret, secret, sizeof w->secret);
}

static int end_join(void *end, int rank, int ranks, const tutti_net_addresses *addresses,
                    tutti_net *net, char *why, size_t size) {
  tcp_world *w = end;
  snprintf(why, size, "out of memory for %d ranks", ranks);
  w->peers = calloc((size_t)ranks, sizeof *w->peers);
  if (!w->peers) return 1;
  kit_world_join(&w->kit, rank, ranks, addresses);
  if (!kit_net_make(&w->kit, 0, NULL, rank, ranks, net)) return 0;
  w->kit.addresses.drop = NULL; /* the caller keeps ownership of the addresses */
  return 1;
}

static void end_drop(void *end) {
  tcp_close(end);
}

tutti_net_maker tutti_net_maker_tls(void) {
  return (tutti_net_maker){.size = sizeof(tutti_net_maker),
                           .table = sizeof(tutti_net),
                           .name = TLS_NAME,
                           .open = open_tls,
                           .join = end_join,
                           .drop = end_drop,
                           .secret = end_secret,
                           .keyed = 1};
}

tutti_net_maker tutti_net_maker_of(void) {
  const char *asked = tt_env("TUTTI_TLS");
  tutti_net_maker maker = tutti_net_maker_tls();
  if (asked && strcmp(asked, "all") == 0) return maker;
  maker.name = PLAIN_NAME;
  maker.open = open_plain;
  maker.keyed = 0;
  return maker;
}
