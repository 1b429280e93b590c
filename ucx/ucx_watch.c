/* ucx_watch.c - detects silent hosts: hosts that lost power or their link without notice.
 *
 * Idea       One process of a host runs a thread that watches all other hosts in use, and records on the board
 *            (ucx_board.c) each host that has stopped answering. The thread opens an extra TCP connection to one process
 *            on each of these hosts. No data is ever sent on it, so the kernels exchange keepalive probes. A live
 *            kernel answers even if its processes are stopped or busy; a dead host does not answer. (On a connection with
 *            data in flight the kernel does not probe: it retransmits, for a quarter of an hour.)
 * Accept     The listener never calls accept: a connection is established once the listener's kernel has queued it.
 * Invariant  A host is considered silent only if a connection was established and the kernel has since given it up. A
 *            connection that was never established, or that the peer closed, proves nothing. If the process at its other
 *            end ends, the watcher connects to another process in use there. If the watcher ends, any process that makes
 *            progress on the network takes over within a second. Each rail has its own watch. A host that is silent on
 *            one rail is considered lost, because the messages in flight on that rail will never arrive.
 * Cost       One thread per host, one descriptor per remote host and rail in the watching process, and one probe every
 *            half of `silence`.
 * Source     RFC 1122, 4.2.3.6 (keep-alives); RFC 5482 (user timeout).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "listen.h"
#include "quiet_thread.h"
#include "ucx.h"

enum { LOOK_MS = 250 };
static const double TRY = 0.5; /* in seconds */

/* A connection that watches another host over one rail, because a process on that host is in use. Only the watching thread
 * accesses this struct. */
typedef struct host {
  const ucx_beacon *beacon; /* of a process on the host */
  int process;              /* at the other end of the watch */
  int rail;                 /* the rail that the watch uses */
  char stands;              /* the connection was established */
} host;

typedef struct watcher {
  const ucx_world *world;
  host *hosts;
  struct pollfd *fds; /* [0]: the eventfd that ends the thread; [1 + host]: the watch, or -1 */
  int n;
  unsigned uses; /* last seen value of the board's counter */
} watcher;

/* ---- opening this process's end ---- */

void ucx_watch_open(ucx_watch *h, int silence) {
  *h =
      (ucx_watch){.listener = -1, .end = -1, .fd = -1, .silence = silence, .beacon = {.board = -1}};
  int port = 0;
  ucx_addresses_find(h);
  if (!silence) return;
  ucx_board_make(h);
  if (kit_is_set(&h->beacon.home.addresses[0]))
    tt_listen("the watch of silent hosts", &port, &h->listener);
  h->beacon.port = htons((uint16_t)port);
}

/* ---- the watching thread ---- */

static bool same_host(const ucx_beacon *a, const ucx_beacon *b) {
  return kit_same_host(&a->home, &b->home);
}

/* Connects the watch of a host to a process on it. */
static void watch_by(watcher *x, int at, int process) {
  const ucx_watch *h = &x->world->watch;
  const ucx_beacon *b = ucx_world_beacon(x->world, process);
  kit_place to;
  x->hosts[at].process = process;
  x->hosts[at].stands = 0;
  x->fds[1 + at] = (struct pollfd){.fd = -1, .events = POLLOUT};
  if (b->port && ucx_place_of(x->world, b, x->hosts[at].rail, &to))
    x->fds[1 + at].fd = kit_dial(&to, ntohs(b->port), h->silence);
}

/* Returns the index of the watch over the first rail for the host of a process. The watches over the other rails follow. Adds
 * the host if it is new. Returns -1 if out of memory. */
static int host_of(watcher *x, int process) {
  const ucx_beacon *b = ucx_world_beacon(x->world, process);
  const int rails = x->world->rails, first = x->n;
  for (int i = 0; i < x->n; i += rails)
    if (same_host(x->hosts[i].beacon, b)) return i;
  host *hosts = realloc(x->hosts, (size_t)(x->n + rails) * sizeof *hosts);
  if (hosts) x->hosts = hosts;
  struct pollfd *fds = hosts ? realloc(x->fds, (size_t)(x->n + rails + 1) * sizeof *fds) : NULL;
  if (!fds) return -1;
  x->fds = fds;
  for (int r = 0; r < rails; r++) {
    hosts[x->n] = (host){.beacon = b, .process = -1, .rail = r};
    fds[1 + x->n++] = (struct pollfd){.fd = -1};
  }
  return first;
}

/* Watches the hosts of processes that have come into use. */
static void watch_used(watcher *x) {
  ucx_board *board = x->world->watch.board;
  const unsigned uses = atomic_load(&board->uses);
  if (uses == x->uses) return;
  x->uses = uses;
  for (int r = 0; r < x->world->kit.ranks; r++) {
    if (atomic_load(&board->of[r]) != UCX_USED) continue;
    const int at = host_of(x, r);
    for (int i = at; at >= 0 && i < at + x->world->rails; i++)
      if (x->fds[1 + i].fd < 0) watch_by(x, i, r);
  }
}

static int is_silence(int error) {
  return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH ||
         error == EHOSTDOWN || error == ENETDOWN;
}

static void publish_silence(const watcher *x, const host *o) {
  ucx_board *board = x->world->watch.board;
  for (int r = 0; r < x->world->kit.ranks; r++)
    if (same_host(ucx_world_beacon(x->world, r), o->beacon))
      atomic_store(&board->of[r], UCX_SILENT);
  atomic_fetch_add(&board->losses, 1);
}

/* Handles an event on the connection to a host. */
static void hear(watcher *x, int at) {
  host *o = &x->hosts[at];
  struct pollfd *p = &x->fds[1 + at];
  ucx_board *board = x->world->watch.board;
  int error = 0, other = -1;
  socklen_t size = sizeof error;
  getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (!error && !(p->revents & (POLLERR | POLLHUP))) {
    o->stands = 1;
    p->events = 0; /* wait for errors only */
    return;
  }
  close(p->fd);
  p->fd = -1;
  if (o->stands && is_silence(error)) {
    publish_silence(x, o);
    return;
  }
  for (int r = 0; r < x->world->kit.ranks && o->stands; r++)
    if (r != o->process && atomic_load(&board->of[r]) == UCX_USED &&
        same_host(ucx_world_beacon(x->world, r), o->beacon))
      other = r;
  if (other >= 0) watch_by(x, at, other);
}

static void *watch(void *world) {
  watcher x = {.world = world, .fds = malloc(sizeof *x.fds)};
  if (x.fds) x.fds[0] = (struct pollfd){.fd = x.world->watch.end, .events = POLLIN};
  while (x.fds && !x.fds[0].revents) {
    watch_used(&x);
    if (poll(x.fds, (nfds_t)x.n + 1, LOOK_MS) <= 0) continue;
    for (int i = 0; i < x.n; i++)
      if (x.fds[1 + i].fd >= 0 && x.fds[1 + i].revents) hear(&x, i);
  }
  for (int i = 0; i < x.n; i++)
    if (x.fds[1 + i].fd >= 0) close(x.fds[1 + i].fd);
  free(x.hosts);
  free(x.fds);
  return NULL;
}

/* ---- all processes of a host ---- */

/* Tries to make this process the one that watches other hosts. If the thread cannot be started, a later call tries again. */
static void try_to_watch(ucx_world *w) {
  ucx_watch *h = &w->watch;
  const double now = tt_seconds();
  if (h->watches || now - h->tried < TRY || !atomic_load(&h->board->uses)) return;
  h->tried = now;
  if (!ucx_board_lock(h)) return;
  if (h->end < 0) h->end = eventfd(0, EFD_CLOEXEC);
  h->watches = h->end >= 0 && !tt_quiet_thread(&h->thread, watch, w);
}

int ucx_watch_join(ucx_world *w) {
  int first = 0;
  if (!w->watch.silence) return 0;
  while (first != w->kit.rank && !same_host(ucx_world_beacon(w, first), &w->watch.beacon)) first++;
  return ucx_board_open(&w->watch, ucx_world_beacon(w, first), w->kit.ranks);
}

void ucx_watch_close(ucx_watch *h) {
  const uint64_t one = 1;
  if (h->watches && write(h->end, &one, sizeof one) == sizeof one) pthread_join(h->thread, NULL);
  if (h->end >= 0) close(h->end);
  if (h->listener >= 0) close(h->listener);
  h->watches = 0;
  h->end = h->listener = -1;
  ucx_board_close(h);
}

void ucx_watch_peer(ucx_world *w, ucx_peer *p) {
  ucx_board *board = w->watch.board;
  const ucx_beacon *b = ucx_world_beacon(w, p->process);
  unsigned char unused = UCX_UNUSED;
  if (!board || !b->port || same_host(b, &w->watch.beacon)) return;
  if (atomic_compare_exchange_strong(&board->of[p->process], &unused, UCX_USED))
    atomic_fetch_add(&board->uses, 1);
  p->silent = unused == UCX_SILENT;
  if (p->silent) ucx_world_lose(p, UCS_ERR_ENDPOINT_TIMEOUT);
  try_to_watch(w);
}

/* Marks a process on a host that does not answer as lost, and abandons the messages that are in flight to or from it. */
static void abandon(ucx_peer *p) {
  if (p->lost) return;
  p->silent = 1;
  ucx_world_lose(p, UCS_ERR_ENDPOINT_TIMEOUT);
  ucx_world_abandon(p);
}

void ucx_watch_look(ucx_world *w) {
  ucx_watch *h = &w->watch;
  if (!h->board) return;
  try_to_watch(w);
  if (!ucx_watch_news(h)) return;
  h->losses = atomic_load(&h->board->losses);
  for (int r = 0; r < w->kit.ranks; r++)
    if (w->peers[r] && atomic_load(&h->board->of[r]) == UCX_SILENT) abandon(w->peers[r]);
}
