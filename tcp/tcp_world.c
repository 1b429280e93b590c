/* tcp_world.c - the processes of a job in the network over sockets: progress, losses, and shutdown.
 *
 * Idea       All networks of a process share its connections, and one epoll descriptor reports events on all of them.
 *            Progress happens only inside calls of the network, without a thread.
 * Cost       One system call per poll; 8 bytes per process of the job; about 60 KB per process in use, mostly for OpenSSL.
 * Invariant  A broken connection means one lost process. It is reported to every network, and nothing more is
 *            sent to that process.
 * The end    Outgoing messages get one second to leave this process and to be acknowledged by the other hosts' kernels,
 *            because a socket that is closed with unread bytes drops its unsent data.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <linux/sockios.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tcp.h"

enum { EVENTS = 32, CHECK_EVERY = 256, SKIPS_MOST = 8 };
static const double END_S = 1;

/* ---- processes ---- */

const tcp_address *tcp_address_of(const tcp_world *w, int process) {
  static const tcp_address nowhere = {.home.host = KIT_NOWHERE};
  size_t bytes;
  const tcp_address *its = kit_address_of(&w->kit, process, sizeof *its, &bytes);
  return its ? its : &nowhere;
}

tcp_peer *tcp_use(tcp_world *w, int process) {
  tcp_peer **p = &w->peers[process];
  if (*p || !(*p = malloc(sizeof **p))) return *p;
  **p = (tcp_peer){.watch = {TCP_WATCH, -1}, .process = process};
  (*p)->end = &(*p)->first;
  return *p;
}

static void end_connections(tcp_peer *p) {
  tcp_line **lines[] = {&p->line, &p->call, &p->held};
  for (int i = 0; i < 3; i++) {
    if (*lines[i]) tcp_line_end(*lines[i]);
    *lines[i] = NULL;
  }
  if (p->watch.fd >= 0) close(p->watch.fd);
  p->watch.fd = -1;
}

/* Drops the messages to a lost process that have not been sent. */
static void drop_queue(tcp_peer *p) {
  while (p->first) {
    tcp_out *o = p->first;
    p->first = o->next;
    if (!o->slot) free(o);
  }
  p->end = &p->first;
}

void tcp_lose(tcp_world *w, tcp_peer *p, tcp_fate fate) {
  if (p->fate) return;
  p->fate = fate;
  for (tcp_line *line = w->lines; line; line = line->next)
    if (line->state == TCP_OPEN && line->process == p->process) line->into = NULL;
  end_connections(p);
  drop_queue(p);
  tcp_early_lose(w, p->process);
  for (kit_net *n = w->kit.nets; n; n = n->next) tcp_net_lose(n, p->process);
  kit_lose(&w->kit, p->process);
}

/* ---- outgoing messages ---- */

void tcp_queue(tcp_world *w, tcp_peer *p, tcp_out *out) {
  out->next = NULL;
  *p->end = out;
  p->end = &out->next;
  if (p->line)
    w->due = p->line->due = true;
  else
    tcp_connect(w, p);
}

void tcp_pump_due(tcp_world *w) {
  w->due = false;
  for (tcp_line *line = w->lines; line; line = line->next) {
    if (!line->due) continue;
    line->due = false;
    if (line->state == TCP_OPEN) tcp_pump(line);
  }
}

bool tcp_queue_copy(tcp_world *w, tcp_peer *p, const kit_head *head, const void *bytes) {
  if (p->fate) return true;
  tcp_out *out = malloc(sizeof *out + head->bytes);
  if (!out) return false;
  *out = (tcp_out){.head = *head, .bytes = (const char *)(out + 1)};
  if (head->bytes) memcpy(out + 1, bytes, head->bytes);
  tcp_queue(w, p, out);
  return true;
}

/* Replaces a message in a peer's queue by a copy of it. Returns false if out of memory. */
static bool own_message(tcp_peer *p, tcp_out **link) {
  const tcp_out *old = *link;
  tcp_out *copy = malloc(sizeof *copy + old->head.bytes);
  if (!copy) return false;
  *copy = *old;
  copy->slot = NULL;
  copy->bytes = (const char *)(copy + 1);
  memcpy(copy + 1, old->bytes, old->head.bytes);
  *link = copy;
  if (!copy->next) p->end = &copy->next;
  return true;
}

void tcp_keep_copies(tcp_world *w, const kit_net *n) {
  for (int r = 0; r < w->kit.ranks; r++) {
    tcp_peer *p = w->peers[r];
    for (tcp_out **link = p ? &p->first : NULL; link && *link; link = &(*link)->next)
      if ((*link)->slot && (*link)->slot->kit.net == n && !own_message(p, link)) {
        tcp_lose(w, p, TCP_DIED); /* the stream to it cannot continue */
        break;
      }
  }
}

/* ---- progress ---- */

/* Frees the lines that have ended. Called at the end of a round of progress, because events of the round may refer to these
 * lines. */
static void sweep(tcp_world *w) {
  w->over = false;
  for (tcp_line **link = &w->lines; *link;) {
    tcp_line *line = *link;
    if (line->state != TCP_OVER) {
      link = &line->next;
      continue;
    }
    *link = line->next;
    free(line);
  }
}

static void hear_line(tcp_line *line, unsigned events) {
  if (line->state == TCP_OPEN && events & ~(unsigned)EPOLLOUT)
    tcp_feed(line);
  else if (line->state != TCP_OPEN && line->state != TCP_OVER)
    tcp_advance(line);
  if (line->state == TCP_OPEN && events & EPOLLOUT) tcp_pump(line);
}

/* Reads data that epoll does not report. */
static void feed_unread(tcp_world *w) {
  w->unread = false;
  for (tcp_line *line = w->lines; line; line = line->next)
    if (line->unread) tcp_feed(line);
}

void tcp_progress(tcp_world *w) {
  struct epoll_event events[EVENTS];
  if (w->due) tcp_pump_due(w);
  const bool asks = !w->unread || ++w->skips % SKIPS_MOST == 0;
  const int n = asks ? epoll_wait(w->epoll, events, EVENTS, 0) : 0;
  for (int i = 0; i < n; i++) {
    tcp_source *source = events[i].data.ptr;
    if (source->fd < 0) continue;
    switch (source->kind) {
      case TCP_LISTENER: tcp_accept(w); break;
      case TCP_LINE: hear_line((tcp_line *)(void *)source, events[i].events); break;
      case TCP_WATCH: tcp_hear_watch(w, (tcp_peer *)(void *)source, events[i].events);
    }
  }
  if (w->unread) feed_unread(w);
  if (w->due) tcp_pump_due(w);
  if (++w->looks % CHECK_EVERY == 0) tcp_check_calls(w);
  if (w->over) sweep(w);
}

/* ---- shutdown ---- */

static bool all_left(const tcp_world *w) {
  if (w->waiting) return false;
  for (int r = 0; w->peers && r < w->kit.ranks; r++)
    if (w->peers[r] && w->peers[r]->first) return false;
  return true;
}

/* Returns true if the hosts of all peers have acknowledged all data that was sent to them. */
static bool all_taken(const tcp_world *w) {
  int waits = 0;
  for (const tcp_line *line = w->lines; line && !waits; line = line->next)
    if (line->state == TCP_OPEN && ioctl(line->source.fd, SIOCOUTQ, &waits)) waits = 0;
  return !waits;
}

static void free_world(tcp_world *w) {
  for (int r = 0; w->peers && r < w->kit.ranks; r++) {
    if (!w->peers[r]) continue;
    end_connections(w->peers[r]);
    drop_queue(w->peers[r]);
    free(w->peers[r]);
  }
  for (tcp_line *line = w->lines; line; line = line->next) tcp_line_end(line);
  sweep(w);
  for (tcp_early *e = w->early, *next; e; e = next) {
    next = e->next;
    free(e->bytes);
    free(e);
  }
  const int fds[] = {w->listener.fd, w->watched, w->epoll};
  for (int i = 0; i < 3; i++)
    if (fds[i] >= 0) close(fds[i]);
  kit_world_close(&w->kit);
  explicit_bzero(w->secret, sizeof w->secret);
  free(w->peers);
  free(w);
}

void tcp_close(tcp_world *w) {
  const double until = tt_seconds() + END_S;
  struct pollfd p = {.fd = w->epoll, .events = POLLIN};
  while (!all_left(w) && tt_seconds() < until) {
    poll(&p, 1, 1);
    tcp_progress(w);
  }
  while (!all_taken(w) && tt_seconds() < until) poll(NULL, 0, 1);
  free_world(w);
}
