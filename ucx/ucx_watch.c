/* ucx_watch.c - detects silent hosts: those that lost power or link without any notice.
 *
 * Idea       One more connection goes to each process on another host, and nothing is ever sent on
 *            it. So the kernels probe each other now and then (keep-alive). The kernel of a host
 *            whose processes are stopped, or compute, answers; that of a dead host does not. (On a
 *            connection with data in flight the kernel does not probe: it retransmits, for a
 *            quarter of an hour.)
 * Accept     Never called: a connection is established once the listener's kernel has queued it.
 * Invariant  A host is silent only if a connection was established and the kernel has given it up
 *            since. A connection that was never established, or that the peer closed, indicates
 *            nothing.
 * Cost       A descriptor per process on another host; a probe per half of `silence`.
 * Source     RFC 1122, 4.2.3.6 (keep-alives); RFC 5482 (user timeout).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ucx.h"

enum { QUEUE = 4096, EVENTS = 16 };

/* ---- this process's end ---- */

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

/* This host's addresses, those of devices that UCX is to use first. */
static void find_addresses(ucx_watch *h) {
  struct ifaddrs *all;
  int count = 0;
  if (getifaddrs(&all)) return;
  for (int pass = 1; pass >= 0; pass--)
    for (const struct ifaddrs *i = all; i && count < UCX_ADDRESSES; i = i->ifa_next) {
      struct sockaddr_in address, mask;
      if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || !i->ifa_netmask) continue;
      if (!(i->ifa_flags & IFF_UP) || i->ifa_flags & IFF_LOOPBACK) continue;
      if (named(i->ifa_name) != pass) continue;
      memcpy(&address, i->ifa_addr, sizeof address);
      memcpy(&mask, i->ifa_netmask, sizeof mask);
      h->masks[count] = mask.sin_addr.s_addr;
      h->beacon.addresses[count++] = address.sin_addr.s_addr;
    }
  freeifaddrs(all);
}

void ucx_watch_open(ucx_watch *h, int silence) {
  struct sockaddr_in at = {.sin_family = AF_INET};
  socklen_t size = sizeof at;
  *h = (ucx_watch){.listener = -1, .events = -1, .silence = silence};
  gethostname(h->beacon.host, sizeof h->beacon.host - 1);
  if (!silence) return;
  find_addresses(h);
  h->events = epoll_create1(EPOLL_CLOEXEC);
  h->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (h->listener >= 0 && !bind(h->listener, (struct sockaddr *)&at, sizeof at) &&
      !listen(h->listener, QUEUE) && !getsockname(h->listener, (struct sockaddr *)&at, &size))
    h->beacon.port = at.sin_port;
}

void ucx_watch_close(ucx_watch *h) {
  if (h->listener >= 0) close(h->listener);
  if (h->events >= 0) close(h->events);
}

/* ---- the peers ---- */

static int is_own(const ucx_watch *h, uint32_t address) {
  for (int i = 0; i < UCX_ADDRESSES; i++)
    if (h->beacon.addresses[i] == address) return 1;
  return 0;
}

/* An address of another host, preferably in a network of this host; 0: none. */
static uint32_t address_of(const ucx_watch *h, const ucx_beacon *b) {
  uint32_t any = 0;
  for (int i = UCX_ADDRESSES; i-- > 0;)
    if (b->addresses[i] && !is_own(h, b->addresses[i])) any = b->addresses[i];
  for (int i = 0; i < UCX_ADDRESSES && b->addresses[i]; i++)
    for (int k = 0; k < UCX_ADDRESSES && h->beacon.addresses[k]; k++)
      if (!is_own(h, b->addresses[i]) &&
          !((b->addresses[i] ^ h->beacon.addresses[k]) & h->masks[k]))
        return b->addresses[i];
  return any;
}

static void patience(int fd, int silence) {
  const int on = 1, idle = silence / 2 > 1 ? silence / 2 : 1, interval = 1, count = 127;
  const unsigned limit = 1000 * (unsigned)silence;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
}

void ucx_watch_peer(ucx_world *w, int process) {
  ucx_watch *h = &w->watch;
  ucx_peer *p = &w->peers[process];
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = p->beacon.port};
  struct epoll_event event = {.events = EPOLLOUT, .data.u32 = (uint32_t)process};
  to.sin_addr.s_addr = address_of(h, &p->beacon);
  if (!h->silence || !to.sin_port || !to.sin_addr.s_addr || w->ranks > QUEUE) return;
  p->watch = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (p->watch < 0) return;
  patience(p->watch, h->silence);
  if ((!connect(p->watch, (struct sockaddr *)&to, sizeof to) || errno == EINPROGRESS) &&
      !epoll_ctl(h->events, EPOLL_CTL_ADD, p->watch, &event))
    return;
  close(p->watch);
  p->watch = -1;
}

static int is_silence(int error) {
  return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH ||
         error == EHOSTDOWN || error == ENETDOWN;
}

/* Handle an event on the peer's connection. */
static void hear(ucx_world *w, ucx_peer *p, uint32_t events, int process) {
  struct epoll_event quiet = {.events = 0, .data.u32 = (uint32_t)process}; /* report errors only */
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(p->watch, SOL_SOCKET, SO_ERROR, &error, &size);
  if (!error && !(events & (EPOLLERR | EPOLLHUP))) {
    p->stands = 1;
    epoll_ctl(w->watch.events, EPOLL_CTL_MOD, p->watch, &quiet);
    return;
  }
  close(p->watch);
  p->watch = -1;
  if (!p->stands || !is_silence(error) || p->lost) return;
  const ucp_request_param_t how = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                   .flags = UCP_EP_CLOSE_FLAG_FORCE};
  p->silent = 1;
  ucx_world_lose(p, UCS_ERR_ENDPOINT_TIMEOUT);
  if (!p->end) return; /* abandons the messages in flight to it */
  p->parting = ucp_ep_close_nbx(p->end, &how);
  p->end = NULL;
  if (UCS_PTR_IS_ERR(p->parting)) p->parting = NULL;
}

void ucx_watch_look(ucx_world *w) {
  struct epoll_event events[EVENTS];
  const int n = w->watch.events < 0 ? 0 : epoll_wait(w->watch.events, events, EVENTS, 0);
  for (int i = 0; i < n; i++) {
    const int process = (int)events[i].data.u32;
    hear(w, &w->peers[process], events[i].events, process);
  }
}
