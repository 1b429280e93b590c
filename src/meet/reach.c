/* reach.c - addresses of hosts, including IPv6 link-local addresses (fe80::).
 *
 * Idea       An IPv4 address is stored as the corresponding IPv6 address (::ffff:a.b.c.d).
 * Links      A link-local address needs a zone, and every host numbers its links differently. The address is
 *            therefore sent without a zone, and the host that connects adds one: the link that TUTTI_INTERFACE names,
 *            or each of its links in turn, starting with the one that worked for another such address.
 * Invariant  A zone is never used on another host. A host publishes link-local addresses only if it has no others, or
 *            if TUTTI_INTERFACE selects one.
 * Source     RFC 4007, 6 and 9 (zones are local to a host); RFC 4291, 2.5.5.2 (IPv4-mapped addresses) and 2.5.6; RFC 1122,
 *            4.2.3.6 (keep-alives); RFC 5482 (user timeout).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "reach.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "core.h"

typedef struct sockaddr_in6 v6;
typedef struct sockaddr_in v4;

bool tt_as_six(const struct sockaddr *a, struct in6_addr *to) {
  if (a->sa_family == AF_INET6) {
    *to = ((const v6 *)(const void *)a)->sin6_addr;
    return true;
  }
  if (a->sa_family != AF_INET) return false;
  *to = (struct in6_addr){{{[10] = 0xff, [11] = 0xff}}};
  memcpy(to->s6_addr + 12, &((const v4 *)(const void *)a)->sin_addr, 4);
  return true;
}

socklen_t tt_as_socket(const struct in6_addr *a, unsigned link, in_port_t port,
                       struct sockaddr_storage *to) {
  memset(to, 0, sizeof *to);
  if (IN6_IS_ADDR_V4MAPPED(a)) {
    v4 *four = (v4 *)(void *)to;
    *four = (v4){.sin_family = AF_INET, .sin_port = port};
    memcpy(&four->sin_addr, a->s6_addr + 12, 4);
    return sizeof *four;
  }
  *(v6 *)(void *)to = (v6){.sin6_family = AF_INET6, .sin6_port = port, .sin6_addr = *a, .sin6_scope_id = link};
  return sizeof(v6);
}

int tt_network_bits(const struct sockaddr *mask) {
  struct in6_addr m;
  int bits = 0;
  if (!mask || !tt_as_six(mask, &m)) return 128;
  for (int k = mask->sa_family == AF_INET ? 96 : 0; k < 128 && m.s6_addr[k / 8] & 0x80 >> k % 8; k++)
    bits = k + 1;
  return bits;
}

bool tt_in_one_network(const struct in6_addr *a, const struct in6_addr *b, int bits) {
  const int rest = bits % 8 ? 0xff << (8 - bits % 8) : 0;
  return !memcmp(a, b, (size_t)bits / 8) &&
         (!rest || !((a->s6_addr[bits / 8] ^ b->s6_addr[bits / 8]) & rest));
}

tt_reach_kind tt_reach_of(const struct ifaddrs *a) {
  if (!a->ifa_addr || !(a->ifa_flags & IFF_UP)) return TT_REACH_NONE;
  const bool here = a->ifa_flags & IFF_LOOPBACK;
  if (a->ifa_addr->sa_family == AF_INET) return here ? TT_REACH_HERE4 : TT_REACH_4;
  if (a->ifa_addr->sa_family != AF_INET6) return TT_REACH_NONE;
  if (here) return TT_REACH_HERE6;
  return tt_link_of(a->ifa_addr) ? TT_REACH_LINK : TT_REACH_6;
}

unsigned tt_link_of(const struct sockaddr *at) {
  const v6 *six = (const v6 *)(const void *)at;
  return at->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr) ? six->sin6_scope_id : 0;
}

bool tt_reach_named(const struct ifaddrs *a, const char *name) {
  char bare[64];
  struct in6_addr wanted;
  if (!a->ifa_addr) return false;
  if (strcmp(a->ifa_name, name) == 0) return true;
  const size_t n = strcspn(name, "%");
  if (name[n] && strcmp(a->ifa_name, name + n + 1) != 0) return false;
  snprintf(bare, sizeof bare, "%.*s", (int)(n < sizeof bare ? n : sizeof bare - 1), name);
  const int family = a->ifa_addr->sa_family;
  if (family == AF_INET && inet_pton(AF_INET, bare, &wanted) == 1)
    return !memcmp(&wanted, &((const v4 *)(const void *)a->ifa_addr)->sin_addr, 4);
  return family == AF_INET6 && inet_pton(AF_INET6, bare, &wanted) == 1 &&
         !memcmp(&wanted, &((const v6 *)(const void *)a->ifa_addr)->sin6_addr, sizeof wanted);
}

/* Returns the link that this address belongs to, or 0 if other hosts cannot be reached over the link. */
static unsigned usable_link(const struct ifaddrs *a) {
  const char *only = tt_env("TUTTI_INTERFACE");
  const tt_reach_kind reach = tt_reach_of(a);
  const bool asked =
      only ? reach <= TT_REACH_LINK && tt_reach_named(a, only) : reach == TT_REACH_LINK;
  return asked ? if_nametoindex(a->ifa_name) : 0;
}

int tt_reach_links(unsigned first, unsigned link[TT_LINKS]) {
  struct ifaddrs *all = NULL;
  int n = 0;
  if (getifaddrs(&all)) return 0;
  for (const struct ifaddrs *a = all; a && n < TT_LINKS; a = a->ifa_next) {
    const unsigned one = usable_link(a);
    int k = 0;
    while (k < n && link[k] != one) k++;
    if (one && k == n) link[n++] = one;
  }
  for (int k = 1; k < n; k++)
    if (link[k] == first) {
      link[k] = link[0];
      link[0] = first;
    }
  freeifaddrs(all);
  return n;
}

void tt_reach_strip(char *addresses) {
  for (char *at = addresses; (at = strchr(at, '%'));) {
    const size_t n = strcspn(at, ",]");
    memmove(at, at + n, strlen(at + n) + 1);
  }
}

void tt_reach_probe(int fd, int silence) {
  const int on = 1, idle = silence / 2 > 1 ? silence / 2 : 1, interval = 1, count = 127;
  const unsigned limit = 1000 * (unsigned)silence;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
}
