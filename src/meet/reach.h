/* reach.h - addresses of both families as one, which hosts know an address of this host, and over which of its links this host reaches an address that only
 * one link knows. The libraries of networks contain reach.c, too: it needs nothing else of tutti.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_REACH_H
#define TT_REACH_H

#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdbool.h>

enum { TT_LINKS = 8 };

/* The address as one of IPv6; false: it is of another family. */
bool tt_as_six(const struct sockaddr *a, struct in6_addr *to);
/* For connecting or binding: an address of IPv4 as such, because a system may lack IPv6. link: 0 if more than one knows
 * it. port: in network byte order. */
socklen_t tt_as_socket(const struct in6_addr *a, unsigned link, in_port_t port,
                       struct sockaddr_storage *to);
/* Of 128, how many an address shares with all others of its network; NULL: all. */
int tt_network_bits(const struct sockaddr *mask);
bool tt_in_one_network(const struct in6_addr *a, const struct in6_addr *b, int bits);

/* Kinds of addresses. A host publishes its addresses sorted by kind. */
typedef enum tt_reach_kind {
  TT_REACH_4,     /* IPv4 */
  TT_REACH_6,     /* IPv6 */
  TT_REACH_LINK,  /* IPv6, on one link alone: fe80:: */
  TT_REACH_HERE4, /* the loopback device's: this host alone */
  TT_REACH_HERE6,
  TT_REACH_NONE /* of another family, or its device is down */
} tt_reach_kind;
tt_reach_kind tt_reach_of(const struct ifaddrs *a);
/* The link of a socket's address, as the system numbers this host's links; 0: all know the address. */
unsigned tt_link_of(const struct sockaddr *at);
/* Is it the device "eth1", or the address "10.0.0.3", "fe80::1" or "fe80::1%eth1"? */
bool tt_reach_named(const struct ifaddrs *a, const char *name);
/* This host's links on which to look for another host's fe80:: address, in this order; returns how many: that of
 * TUTTI_INTERFACE alone, or all. first: a link to begin with; 0: none. */
int tt_reach_links(unsigned first, unsigned link[TT_LINKS]);
/* Take the names of links out of a list of addresses, "[fe80::1%eth1]:4747,...", because no other host knows them. */
void tt_reach_strip(char *addresses);
/* Turns on TCP keepalive: the kernel probes an idle connection, and closes it after `silence` seconds without an answer from
 * the other host. */
void tt_reach_probe(int fd, int silence);

#endif
