/* tcp_address.c - the addresses of this host's processes, and sockets to those of others.
 *
 * Idea       A process first tries the addresses of another host that are in a network of this host. Addresses that
 *            only their link knows (reach.c) travel without a link; a process tries them on each link of its host, the link
 *            first on which another process has answered.
 * Invariant  Both ports are open only where TUTTI_INTERFACE says (listen.h).
 * Source     RFC 1122, 4.2.3.6 (keep-alives); RFC 5482 (user timeout).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "listen.h"
#include "tcp.h"

static bool same_place(const tcp_place *a, const tcp_place *b) {
  return a->link == b->link && !memcmp(&a->address, &b->address, sizeof a->address);
}

/* Those of IPv4 first; those that only a link knows, and those of the loopback device, if there are no others. */
static void find_addresses(tcp_world *w, const tcp_place *only) {
  struct ifaddrs *all = NULL;
  int count = 0;
  if (getifaddrs(&all)) return;
  for (tt_reach_kind reach = TT_REACH_4; reach < TT_REACH_NONE; reach++) {
    if (count && (reach == TT_REACH_LINK || reach == TT_REACH_HERE4)) break;
    for (const struct ifaddrs *i = all; i && count < TCP_ADDRESSES; i = i->ifa_next) {
      tcp_place place;
      if (tt_reach_of(i) != reach || !tt_as_six(i->ifa_addr, &place.address)) continue;
      place.link = tt_link_of(i->ifa_addr);
      if (only && !same_place(only, &place)) continue;
      w->bits[count] = tt_network_bits(i->ifa_netmask);
      w->own_link[count] = place.link;
      w->own.addresses[count++] = place.address;
    }
  }
  freeifaddrs(all);
  w->links = tt_reach_links(0, w->link);
}

bool tcp_listen(tcp_world *w) {
  struct sockaddr_storage asked;
  tcp_place only;
  char text[TT_ADDRESS];
  int port = 0, watch = 0;
  if (tt_interface(&asked, text)) return false;
  if (*text && !tt_as_six((const struct sockaddr *)&asked, &only.address)) *text = 0;
  if (*text) only.link = tt_link_of((const struct sockaddr *)&asked);
  find_addresses(w, *text ? &only : NULL);
  if (tt_listen("a rank's network", &port, &w->listener.fd)) return false;
  if (w->silence && tt_listen("the watch of silent hosts", &watch, &w->watched)) return false;
  w->own.port = (uint16_t)port;
  w->own.watch = (uint16_t)watch;
  return true;
}

/* ---- those of others ---- */

static bool is_set(const struct in6_addr *a) {
  return !IN6_IS_ADDR_UNSPECIFIED(a);
}

static bool is_near(const tcp_world *w, const struct in6_addr *a) {
  for (int k = 0; k < TCP_ADDRESSES && is_set(&w->own.addresses[k]); k++)
    if (tt_in_one_network(a, &w->own.addresses[k], w->bits[k])) return true;
  return false;
}

bool tcp_place_at(const tcp_world *w, const tcp_address *of, int i, tcp_place *place) {
  const bool is_here = tcp_same_host(of, &w->own);
  for (int far = 0; far < 2; far++)
    for (int k = 0; k < TCP_ADDRESSES && is_set(&of->addresses[k]); k++) {
      const struct in6_addr *a = &of->addresses[k];
      const bool of_link = IN6_IS_ADDR_LINKLOCAL(a) && !is_here;
      const int ways = of_link ? w->links : 1;
      if ((is_near(w, a) && !of_link) == far) continue;
      if (i < ways) {
        *place = (tcp_place){*a, of_link ? w->link[i] : is_here ? w->own_link[k] : 0};
        return true;
      }
      i -= ways;
    }
  return false;
}

tcp_place tcp_far_end(const tcp_line *line) {
  struct sockaddr_storage at = {.ss_family = AF_INET};
  socklen_t n = sizeof at;
  tcp_place place;
  getpeername(line->source.fd, (struct sockaddr *)&at, &n);
  tt_as_six((const struct sockaddr *)&at, &place.address);
  place.link = tt_link_of((const struct sockaddr *)&at);
  return place;
}

void tcp_found(tcp_world *w, const tcp_place *place) {
  for (int k = 1; k < w->links; k++)
    if (w->link[k] == place->link) {
      w->link[k] = w->link[0];
      w->link[0] = place->link;
      for (int r = 0; r < w->ranks; r++) /* whose places have other numbers now */
        if (w->peers[r]) w->peers[r]->tried = 0;
    }
}

bool tcp_same_host(const tcp_address *a, const tcp_address *b) {
  return strcmp(a->host, b->host) == 0 &&
         memcmp(a->addresses, b->addresses, sizeof a->addresses) == 0;
}

/* The kernel probes the other one's, and gives the connection up when that one has been silent for so long. */
static void probe(int fd, int silence) {
  const int on = 1, idle = silence / 2 > 1 ? silence / 2 : 1, interval = 1, count = 127;
  const unsigned limit = 1000 * (unsigned)silence;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
}

int tcp_dial(const tcp_place *place, uint16_t port, int silence) {
  struct sockaddr_storage to;
  const socklen_t n = tt_as_socket(&place->address, place->link, htons(port), &to);
  const int one = 1, fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (silence) probe(fd, silence);
  if (!connect(fd, (struct sockaddr *)&to, n) || errno == EINPROGRESS) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}
