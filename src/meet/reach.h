/* reach.h - uniform handling of IPv4 and IPv6 addresses: which hosts can reach an address of this host, and over
 * which link this host reaches a link-local address. The network libraries contain reach.c as well; it needs nothing
 * else of tutti.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_REACH_H
#define TT_REACH_H

#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdbool.h>

enum { TT_LINKS = 8 };

/* Converts an address to IPv6. Returns false for address families other than IPv4 and IPv6. */
bool tt_as_six(const struct sockaddr *a, struct in6_addr *to);
/* Converts an address to a form that can be passed to connect or bind. An IPv4 address is converted back to an IPv4
 * socket address, because the system may lack IPv6. link: the zone of a link-local address, or 0 for other
 * addresses. port: in network byte order. */
socklen_t tt_as_socket(const struct in6_addr *a, unsigned link, in_port_t port,
                       struct sockaddr_storage *to);
/* Returns the number of leading bits, out of 128, that an address shares with all other addresses of its network.
 * Returns 128 if `mask` is NULL. */
int tt_network_bits(const struct sockaddr *mask);
bool tt_in_one_network(const struct in6_addr *a, const struct in6_addr *b, int bits);

/* Kinds of addresses. A host publishes its addresses sorted by kind. */
typedef enum tt_reach_kind {
  TT_REACH_4,     /* IPv4 */
  TT_REACH_6,     /* IPv6 */
  TT_REACH_LINK,  /* IPv6, link-local: fe80:: */
  TT_REACH_HERE4, /* loopback device: this host only */
  TT_REACH_HERE6,
  TT_REACH_NONE /* another family, or the device is down */
} tt_reach_kind;
tt_reach_kind tt_reach_of(const struct ifaddrs *a);
/* Returns the zone of a link-local address, which is the number of a link of this host. Returns 0 for all other addresses. */
unsigned tt_link_of(const struct sockaddr *at);
/* Returns true if the address `a` matches the text. The text is the name of a device that has the address, such as
 * "eth1", or an address such as "10.0.0.3", "fe80::1" or "fe80::1%eth1". */
bool tt_reach_named(const struct ifaddrs *a, const char *name);
/* Lists the links of this host on which to try a link-local address of another host, and returns their number. If
 * TUTTI_INTERFACE is set, this is only its link. first: the link to put first in the list, or 0 for none. */
int tt_reach_links(unsigned first, unsigned link[TT_LINKS]);
/* Removes the zones from a list of addresses such as "[fe80::1%eth1]:4747,...". A zone has no meaning on other hosts. */
void tt_reach_strip(char *addresses);
/* Turns on TCP keepalive. The kernel then probes an idle connection, and closes it if the other host has not
 * answered for `silence` seconds. */
void tt_reach_probe(int fd, int silence);

#endif
