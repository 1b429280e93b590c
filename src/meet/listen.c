/* listen.c - a port on which this process accepts connections: on all addresses, or on the interface that the user
 * selects.
 *
 * Idea       An IPv6 socket accepts IPv4 connections as well. If the system has no IPv6, an IPv4 socket is used.
 *            TUTTI_INTERFACE names a device or one of this host's addresses. A device means its first IPv4 address,
 *            or, if it has none, its first IPv6 address, preferably not a link-local one (reach.c).
 * Invariant  If TUTTI_INTERFACE is set, the port is open on no other address.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "reach.h"

enum { QUEUE = 4096 /* connections waiting to be accepted */ };

bool tt_address_text(const struct sockaddr *at, char text[TT_ADDRESS]) {
  const void *bytes =
      at->sa_family == AF_INET6
          ? (const void *)&((const struct sockaddr_in6 *)(const void *)at)->sin6_addr
          : &((const struct sockaddr_in *)(const void *)at)->sin_addr;
  return inet_ntop(at->sa_family, bytes, text, TT_ADDRESS) != NULL;
}

void tt_port_text(const char *host, int port, char *text, size_t size) {
  const bool six = strchr(host, ':');
  snprintf(text, size, "%s%s%s:%d", six ? "[" : "", host, six ? "]" : "", port);
}

/* ---- the interface ---- */

static socklen_t bytes_of_address(int family) {
  return family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

tutti_status tt_interface(struct sockaddr_storage *at, char text[TT_ADDRESS]) {
  const char *name = tt_env("TUTTI_INTERFACE");
  struct ifaddrs *all = NULL;
  *text = 0;
  if (!name) return TUTTI_OK;
  if (getifaddrs(&all)) all = NULL;
  for (tt_reach_kind reach = 0; reach < TT_REACH_NONE && !*text; reach++)
    for (const struct ifaddrs *a = all; a && !*text; a = a->ifa_next) {
      if (tt_reach_of(a) != reach || !tt_reach_named(a, name)) continue;
      memset(at, 0, sizeof *at);
      memcpy(at, a->ifa_addr, bytes_of_address(a->ifa_addr->sa_family));
      tt_address_text(a->ifa_addr, text);
    }
  if (all) freeifaddrs(all);
  if (*text) return TUTTI_OK;
  return tt_fail(
      TUTTI_ERR_ARG,
      "TUTTI_INTERFACE=%.60s is neither a device of this host with an address nor an address of "
      "it; `ip address` lists both",
      name);
}

/* ---- the port ---- */

/* Returns a socket that listens on this address, or -1 with errno on failure. An IPv6 socket accepts IPv4
 * connections as well, if possible. */
static int bound(struct sockaddr_storage *at, int port) {
  const int off = 0, one = 1;
  const bool is_six = at->ss_family == AF_INET6;
  const int fd = socket(at->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (is_six)
    ((struct sockaddr_in6 *)(void *)at)->sin6_port = htons((uint16_t)port);
  else
    ((struct sockaddr_in *)(void *)at)->sin_port = htons((uint16_t)port);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if ((!is_six || !setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off)) &&
      !bind(fd, (const struct sockaddr *)at, bytes_of_address(at->ss_family)) && !listen(fd, QUEUE))
    return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

tutti_status tt_listen(const char *what, int *port, int *fd) {
  struct sockaddr_storage at;
  char text[TT_ADDRESS];
  socklen_t n = sizeof at;
  *fd = -1;
  const tutti_status status = tt_interface(&at, text);
  if (status) return status;
  if (!*text) at = (struct sockaddr_storage){.ss_family = AF_INET6};
  *fd = bound(&at, *port);
  if (*fd < 0 && !*text && errno != EADDRINUSE && errno != EACCES) { /* a system without IPv6 */
    at = (struct sockaddr_storage){.ss_family = AF_INET};
    *fd = bound(&at, *port);
  }
  if (*fd < 0)
    return tt_fail(TUTTI_ERR_SYSTEM, "%s cannot listen on port %d%s%s: %s", what, *port,
                   *text ? " of " : "", text, strerror(errno));
  getsockname(*fd, (struct sockaddr *)&at, &n);
  *port = ntohs(
      ((const struct sockaddr_in *)(const void *)&at)->sin_port); /* same offset in sockaddr_in6 */
  return TUTTI_OK;
}
