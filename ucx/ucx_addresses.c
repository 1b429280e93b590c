/* ucx_addresses.c - the addresses of this host at which others watch it, and sockets to theirs.
 *
 * Idea       Addresses of devices that UCX is to use come first; addresses that only their link knows (src/meet/reach.c)
 *            are told if there are no others. They travel without a link, and a watcher looks for them on the link of its own first one.
 *            TUTTI_INTERFACE, a device or an address, leaves out all others.
 * Invariant  With TUTTI_INTERFACE the port is open on that interface alone. A host without such an interface listens
 *            nowhere, and is not watched.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "reach.h"
#include "ucx.h"

enum { QUEUE = 4096 };

/* Is the device in UCX_NET_DEVICES? */
static int named(const char *device) {
  const char *list = getenv("UCX_NET_DEVICES");
  const size_t n = strlen(device);
  for (const char *at = list; at; at = strchr(at, ',')) {
    at += *at == ',';
    if (strncmp(at, device, n) == 0 && (!at[n] || at[n] == ',')) return 1;
  }
  return 0;
}

/* Does TUTTI_INTERFACE allow it? */
static int allowed(const struct ifaddrs *i) {
  const char *only = getenv("TUTTI_INTERFACE");
  return only && *only ? tt_reach_named(i, only) : tt_reach_of(i) <= TT_REACH_LINK;
}

/* The rail whose device this is; -1: none. */
static int rail_of(const char *device) {
  int n = 0;
  const char *at;
  for (int r = 0; r < TUTTI_NET_RAILS && (at = ucx_rail_device(r, &n)); r++)
    if ((int)strlen(device) == n && strncmp(at, device, (size_t)n) == 0) return r;
  return -1;
}

/* Named devices first, and of these IPv4; then addresses that only a link knows. */
static int pass_of(const char *device, tt_reach_kind reach) {
  const int other = !named(device);
  if (reach == TT_REACH_LINK) return 4 + other;
  return 2 * other + (reach == TT_REACH_6 || reach == TT_REACH_HERE6);
}

void ucx_addresses_find(ucx_watch *h) {
  struct ifaddrs *all;
  int count = 0;
  if (getifaddrs(&all)) return;
  for (int pass = 0; pass < 6; pass++) {
    if (pass == 4 && count) break;
    for (const struct ifaddrs *i = all; i && count < UCX_ADDRESSES; i = i->ifa_next) {
      struct in6_addr a;
      const tt_reach_kind reach = tt_reach_of(i);
      if (reach == TT_REACH_NONE || !tt_as_six(i->ifa_addr, &a) || !allowed(i)) continue;
      if (pass_of(i->ifa_name, reach) != pass) continue;
      const int rail = rail_of(i->ifa_name);
      if (rail >= 0 && IN6_IS_ADDR_UNSPECIFIED(&h->beacon.of_rail[rail]))
        h->beacon.of_rail[rail] = a;
      h->bits[count] = tt_network_bits(i->ifa_netmask);
      h->link[count] = tt_link_of(i->ifa_addr);
      h->beacon.addresses[count++] = a;
    }
  }
  freeifaddrs(all);
}

static int try_to_listen(const struct sockaddr_storage *at, socklen_t n) {
  const int off = 0, fd = socket(at->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (at->ss_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (!bind(fd, (const struct sockaddr *)at, n) && !listen(fd, QUEUE)) return fd;
  close(fd);
  return -1;
}

int ucx_address_listen(const ucx_watch *h, uint16_t *port) {
  static const struct in6_addr mapped = {{{[10] = 0xff, [11] = 0xff}}};
  const char *only = getenv("TUTTI_INTERFACE");
  struct sockaddr_storage at;
  if (IN6_IS_ADDR_UNSPECIFIED(&h->beacon.addresses[0])) return -1;
  const struct in6_addr *first = only && *only ? &h->beacon.addresses[0] : &in6addr_any;
  socklen_t n = tt_as_socket(first, first == &in6addr_any ? 0 : h->link[0], 0, &at);
  int fd = try_to_listen(&at, n);
  if (fd < 0 && first == &in6addr_any) fd = try_to_listen(&at, n = tt_as_socket(&mapped, 0, 0, &at));
  if (fd < 0 || getsockname(fd, (struct sockaddr *)&at, &n)) return fd;
  *port = ((const struct sockaddr_in *)(const void *)&at)->sin_port; /* the same offset in both */
  return fd;
}

int ucx_address_call(const ucx_watch *h, const struct in6_addr *a, uint16_t port,
                     void (*prepare)(int fd, int silence)) {
  struct sockaddr_storage to;
  unsigned link[TT_LINKS] = {0};
  if (IN6_IS_ADDR_LINKLOCAL(a)) tt_reach_links(h->link[0], link);
  const socklen_t n = tt_as_socket(a, link[0], port, &to);
  const int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  prepare(fd, h->silence);
  if (!connect(fd, (struct sockaddr *)&to, n) || errno == EINPROGRESS) return fd;
  close(fd);
  return -1;
}

/* ---- which one ---- */

static int is_set(const struct in6_addr *a) {
  return !IN6_IS_ADDR_UNSPECIFIED(a);
}

static int is_own(const ucx_watch *h, const struct in6_addr *a) {
  for (int i = 0; i < UCX_ADDRESSES; i++)
    if (memcmp(&h->beacon.addresses[i], a, sizeof *a) == 0) return 1;
  return 0;
}

const struct in6_addr *ucx_address_of(const ucx_watch *h, const ucx_beacon *b) {
  const struct in6_addr *any = NULL, *its = b->addresses, *own = h->beacon.addresses;
  for (int i = UCX_ADDRESSES; i-- > 0;)
    if (is_set(&its[i]) && !is_own(h, &its[i])) any = &its[i];
  for (int i = 0; i < UCX_ADDRESSES && is_set(&its[i]); i++)
    for (int k = 0; k < UCX_ADDRESSES && is_set(&own[k]); k++)
      if (!is_own(h, &its[i]) && tt_in_one_network(&its[i], &own[k], h->bits[k])) return &its[i];
  return any;
}
