/* ucx_watch.c - detects silent hosts: those that lost power or link without any notice.
 *
 * Idea       One more connection goes to each other host, to the first process on it that this one uses, and
 *            nothing is ever sent on it. So the kernels probe each other now and then (keep-alive). The kernel of a host
 *            whose processes are stopped, or compute, answers; that of a dead host does not. (On a
 *            connection with data in flight the kernel does not probe: it retransmits, for a
 *            quarter of an hour.)
 * Accept     Never called: a connection is established once the listener's kernel has queued it.
 * Invariant  A host is silent only if a connection was established and the kernel has given it up
 *            since. A connection that was never established, or that the peer closed, indicates
 *            nothing.
 *            If that process ends, the connection goes to another one in use there.
 * Cost       A descriptor per other host with processes in use; a probe per half of `silence`.
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

/* Lead the watch of a host to a process on it. */
static void watch_by(ucx_world *w, ucx_host *o, int process) {
  ucx_watch *h = &w->watch;
  const ucx_beacon *b = ucx_world_beacon(w, process);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = b->port};
  struct epoll_event event = {.events = EPOLLOUT, .data.ptr = o};
  to.sin_addr.s_addr = address_of(h, b);
  o->process = process;
  o->stands = 0;
  if (!to.sin_port || !to.sin_addr.s_addr) return;
  o->watch = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (o->watch < 0) return;
  patience(o->watch, h->silence);
  if ((!connect(o->watch, (struct sockaddr *)&to, sizeof to) || errno == EINPROGRESS) &&
      !epoll_ctl(h->events, EPOLL_CTL_ADD, o->watch, &event))
    return;
  close(o->watch);
  o->watch = -1;
}

static int same_host(const ucx_beacon *a, const ucx_beacon *b) {
  return strcmp(a->host, b->host) == 0 &&
         memcmp(a->addresses, b->addresses, sizeof a->addresses) == 0;
}

void ucx_watch_peer(ucx_world *w, ucx_peer *p) {
  const ucx_beacon *b = ucx_world_beacon(w, p->process);
  ucx_host *o = w->hosts;
  if (!w->watch.silence || !b->port || same_host(b, &w->watch.beacon)) return;
  while (o && !same_host(o->beacon, b)) o = o->next;
  if (!o && (o = malloc(sizeof *o))) {
    *o = (ucx_host){.next = w->hosts, .beacon = b, .watch = -1};
    w->hosts = o;
  }
  p->host = o;
  if (o && o->silent)
    ucx_world_lose(p, UCS_ERR_ENDPOINT_TIMEOUT);
  else if (o && o->watch < 0)
    watch_by(w, o, p->process);
}

void ucx_watch_end(ucx_world *w) {
  for (ucx_host *o = w->hosts, *next; o; o = next) {
    next = o->next;
    if (o->watch >= 0) close(o->watch);
    free(o);
  }
}

static int is_silence(int error) {
  return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH ||
         error == EHOSTDOWN || error == ENETDOWN;
}

/* Abandon the messages in flight to a process on a silent host. */
static void abandon(ucx_peer *p) {
  const ucp_request_param_t how = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                   .flags = UCP_EP_CLOSE_FLAG_FORCE};
  if (p->lost) return;
  ucx_world_lose(p, UCS_ERR_ENDPOINT_TIMEOUT);
  if (!p->end) return;
  p->parting = ucp_ep_close_nbx(p->end, &how);
  p->end = NULL;
  if (UCS_PTR_IS_ERR(p->parting)) p->parting = NULL;
}

/* Handle an event on the connection to a host. */
static void hear(ucx_world *w, ucx_host *o, uint32_t events) {
  struct epoll_event quiet = {.events = 0, .data.ptr = o}; /* report errors only */
  int error = 0, other = -1;
  socklen_t size = sizeof error;
  getsockopt(o->watch, SOL_SOCKET, SO_ERROR, &error, &size);
  if (!error && !(events & (EPOLLERR | EPOLLHUP))) {
    o->stands = 1;
    epoll_ctl(w->watch.events, EPOLL_CTL_MOD, o->watch, &quiet);
    return;
  }
  close(o->watch);
  o->watch = -1;
  o->silent = o->stands && is_silence(error);
  for (int r = 0; r < w->ranks; r++) {
    ucx_peer *p = w->peers[r];
    if (!p || p->host != o) continue;
    if (o->silent) abandon(p);
    if (!p->lost && r != o->process) other = r;
  }
  if (!o->silent && o->stands && other >= 0) watch_by(w, o, other);
}

void ucx_watch_look(ucx_world *w) {
  struct epoll_event events[EVENTS];
  const int n = w->watch.events < 0 ? 0 : epoll_wait(w->watch.events, events, EVENTS, 0);
  for (int i = 0; i < n; i++) hear(w, events[i].data.ptr, events[i].events);
}
