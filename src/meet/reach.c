/* reach.c - addresses of IPv6 that only the hosts of one link know (fe80::), and the links of this host.
 *
 * Idea       Such an address means nothing without a link, and each host numbers and names its links itself. So it travels
 *            bare, and the host that uses it adds a link of its own: the one that TUTTI_INTERFACE names; or it tries all
 *            its links, one after the other, the one first that has led to another such address.
 * Invariant  No link of one host is used on another one. A host tells such addresses only if it has no others, or if
 *            TUTTI_INTERFACE asks for one.
 * Source     RFC 4007, 6 and 9 (zones are local to a host); RFC 4291, 2.5.6.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "reach.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

typedef struct sockaddr_in6 v6;
typedef struct sockaddr_in v4;

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

/* The link of an address of this host, if others may be looked for there; or 0. */
static unsigned usable_link(const struct ifaddrs *a) {
  const char *only = getenv("TUTTI_INTERFACE");
  const tt_reach_kind reach = tt_reach_of(a);
  const bool asked = only && *only ? reach <= TT_REACH_LINK && tt_reach_named(a, only) : reach == TT_REACH_LINK;
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
