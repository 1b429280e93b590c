/* kit_address.c - the addresses of this host's processes, and sockets to processes on other hosts.
 *
 * Idea       A process first tries those addresses of another host that are in a network of this host. Link-local
 *            addresses (reach.c) are published without a link; a process tries them on each link of its host.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kit.h"

void kit_home_find(kit_home *home, kit_links *own, kit_order_fn *order, const void *ctx) {
  struct ifaddrs *all = NULL;
  int count = 0;
  gethostname(home->host, sizeof home->host - 1);
  if (getifaddrs(&all)) return;
  for (int now = 0; now < 3 * KIT_ORDERS && !(count && now % KIT_ORDERS == 0); now++)
    for (const struct ifaddrs *i = all; i && count < KIT_ADDRESSES; i = i->ifa_next) {
      const tt_reach_kind reach = tt_reach_of(i);
      if (reach == TT_REACH_NONE || order(i, reach, ctx) != now) continue;
      tt_as_six(i->ifa_addr, &home->addresses[count]);
      snprintf(own->device[count], sizeof own->device[0], "%s", i->ifa_name);
      own->bits[count] = tt_network_bits(i->ifa_netmask);
      own->link[count++] = tt_link_of(i->ifa_addr);
    }
  freeifaddrs(all);
}

bool kit_same_host(const kit_home *a, const kit_home *b) {
  return strcmp(a->host, b->host) == 0 &&
         memcmp(a->addresses, b->addresses, sizeof a->addresses) == 0;
}

static bool is_near(const kit_home *home, const kit_links *own, const struct in6_addr *a) {
  for (int k = 0; k < KIT_ADDRESSES && kit_is_set(&home->addresses[k]); k++)
    if (tt_in_one_network(a, &home->addresses[k], own->bits[k])) return true;
  return false;
}

bool kit_place_at(const kit_home *home, const kit_links *own, const kit_home *of, int i,
                  kit_place *place) {
  const bool is_here = kit_same_host(of, home);
  for (int far = 0; far < 2; far++)
    for (int k = 0; k < KIT_ADDRESSES && kit_is_set(&of->addresses[k]); k++) {
      const struct in6_addr *a = &of->addresses[k];
      const bool of_link = IN6_IS_ADDR_LINKLOCAL(a) && !is_here;
      const int ways = of_link ? own->looks : 1;
      if ((is_near(home, own, a) && !of_link) == far) continue;
      if (i < ways) {
        *place = (kit_place){*a, of_link ? own->look[i] : is_here ? own->link[k] : 0};
        return true;
      }
      i -= ways;
    }
  return false;
}

int kit_dial(const kit_place *place, uint16_t port, int silence) {
  struct sockaddr_storage to;
  const socklen_t n = tt_as_socket(&place->address, place->link, htons(port), &to);
  const int one = 1, fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (silence) tt_reach_probe(fd, silence);
  if (!connect(fd, (struct sockaddr *)&to, n) || errno == EINPROGRESS) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}
