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

/* Converts the address to IPv6. Returns false for other address families. */
bool tt_as_six(const struct sockaddr *a, struct in6_addr *to);
/* Converts an address to one for connecting or binding. IPv4 addresses become IPv4 sockets, because a system may lack
 * IPv6. link: the zone of a link-local address, otherwise 0. port: in network byte order. */
socklen_t tt_as_socket(const struct in6_addr *a, unsigned link, in_port_t port,
                       struct sockaddr_storage *to);
/* Returns how many of its 128 bits an address shares with all others of its network. If mask is NULL, returns 128. */
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
/* Returns the zone of a link-local address, which is the system's number of this host's link; 0 for all other
 * addresses. */
unsigned tt_link_of(const struct sockaddr *at);
/* Returns true if `a` belongs to the device "eth1", or has the address "10.0.0.3", "fe80::1" or "fe80::1%eth1". */
bool tt_reach_named(const struct ifaddrs *a, const char *name);
/* Lists the links of this host on which to try a link-local address of another host, in this order: only that of
 * TUTTI_INTERFACE, or all. Returns their number. first: the link to try first; 0: none. */
int tt_reach_links(unsigned first, unsigned link[TT_LINKS]);
/* Removes the zones from a list of addresses, "[fe80::1%eth1]:4747,...", because they have no meaning on other
 * hosts. */
void tt_reach_strip(char *addresses);
/* Turns on TCP keepalive: the kernel probes an idle connection, and closes it after `silence` seconds without an
 * answer from the other host. */
void tt_reach_probe(int fd, int silence);

#endif
