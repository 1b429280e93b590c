/* tcp_address.c - the addresses on which this process listens, and the links on which others
 * answer.
 *
 * Idea       IPv4 addresses come first. Link-local and loopback addresses are published if the host has no others. The link on
 *            which another process has answered is tried first.
 * Invariant  Both ports are open only on the interface that TUTTI_INTERFACE selects (listen.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
#include <sys/socket.h>

#include "listen.h"
#include "tcp.h"

static kit_place place_of(const struct sockaddr *at) {
  kit_place place = {.link = tt_link_of(at)};
  tt_as_six(at, &place.address);
  return place;
}

static int order_of(const struct ifaddrs *i, tt_reach_kind reach, const void *only) {
  static const int orders[] = {0, 1, KIT_ORDERS, 2 * KIT_ORDERS, 2 * KIT_ORDERS + 1};
  const kit_place its = place_of(i->ifa_addr);
  return only && memcmp(only, &its, sizeof its) ? -1 : orders[reach];
}

bool tcp_listen(tcp_world *w) {
  struct sockaddr_storage asked;
  char text[TT_ADDRESS];
  int port = 0, watch = 0;
  if (tt_interface(&asked, text)) return false;
  const kit_place only = *text ? place_of((const struct sockaddr *)&asked) : (kit_place){.link = 0};
  kit_home_find(&w->own.home, &w->links, order_of, *text ? &only : NULL);
  w->links.looks = tt_reach_links(0, w->links.look);
  if (tt_listen("a rank's network", &port, &w->listener.fd)) return false;
  if (w->silence && tt_listen("the watch of silent hosts", &watch, &w->watched)) return false;
  w->own.port = (uint16_t)port;
  w->own.watch = (uint16_t)watch;
  return true;
}

kit_place tcp_far_end(const tcp_line *line) {
  struct sockaddr_storage at = {.ss_family = AF_INET};
  socklen_t n = sizeof at;
  getpeername(line->source.fd, (struct sockaddr *)&at, &n);
  return place_of((const struct sockaddr *)&at);
}

void tcp_found(tcp_world *w, const kit_place *place) {
  kit_links *l = &w->links;
  for (int k = 1; k < l->looks; k++)
    if (l->look[k] == place->link) {
      l->look[k] = l->look[0];
      l->look[0] = place->link;
      for (int r = 0; r < w->kit.ranks; r++) /* the order of their addresses has changed */
        if (w->peers[r]) w->peers[r]->tried = 0;
    }
}
