/* rendezvous.c - serves a bootstrap: a thread that accepts connections, reads and writes. The rendezvous is the root
 * of the tree of agents; an agent (agent.c) runs the same loop.
 *
 * Idea       This file handles sockets and timeouts; meet_peers.c and meet_rounds.c handle messages.
 * Cost       In each round, regardless of the number of ranks, a service sends the table to at most TT_FANOUT agents,
 *            and to agents that could not reach their parent. It receives the rows of all ranks below it once. Uses
 *            one descriptor per agent below it, per rank that an agent serves, and per unauthenticated connection.
 * Invariant  A peer that does not know the key can only send a hello and a proof, within STRANGER seconds, and at
 *            most STRANGERS such peers are connected. It can neither join nor stall a job. If a rank is missing after
 *            the time limit of the first rank, all ranks get an error that names it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "meet_service.h"
#include "quiet_thread.h"
#include "secure.h"

static const double STRANGER = 5, FAREWELL = 5; /* in seconds */

/* ---- timeouts ---- */

/* Writes which ranks are missing, such as "ranks 3, 5 of 8". Returns the number of ranks that have arrived. */
static int list_missing(const tt_service *s, char *words, size_t size) {
  char who[200] = "";
  size_t n = 0;
  int missing = 0;
  for (int r = 0; r < s->ranks; r++) {
    if (s->row && s->row[r]) continue;
    if (missing++ < 10 && n < sizeof who - 16)
      n += (size_t)snprintf(who + n, sizeof who - n, "%s%d", missing > 1 ? ", " : "", r);
  }
  snprintf(words, size, "rank%s %s%s of %d", missing > 1 ? "s" : "", who,
           missing > 10 ? ", ..." : "", s->ranks);
  return s->ranks - missing;
}

/* Warns about missing ranks after 10 s, and ends the bootstrap at the time limit. */
static void look_for_missing(tt_service *s, double now) {
  char words[260];
  const bool late = now - s->wait.since > s->limit;
  if (!late && tt_long_wait_due(&s->wait) > 0) return;
  const int came = list_missing(s, words, sizeof words);
  if (!late)
    tt_long_wait_for(&s->wait, "%s; %d came", words, came);
  else
    tt_service_fail(
        s, TUTTI_ERR_TIMEOUT,
        "%s did not come to the rendezvous within %.3g s (TUTTI_CONNECT_TIMEOUT); %d came%s", words,
        s->limit, came, s->other_tls ? s->other_tls : "");
}

static void look_at_clock(tt_service *s) {
  const double now = tt_seconds();
  for (int i = 0; i < s->npeers; i++) {
    tt_meet_peer *g = &s->peers[i];
    const double patience = g->local ? s->limit : STRANGER; /* local peers belong to this user */
    if (g->fd >= 0 && !g->knows && now - g->since > patience) tt_meet_peer_close(s, g);
  }
  if (!s->agent && !s->over && s->ranks) look_for_missing(s, now);
  if (s->over) tt_long_wait_end(&s->wait);
  if (s->told && !s->over && now - s->failed > FAREWELL) tt_service_end(s, &s->why);
  if (s->over && now - s->wait.since > s->limit + FAREWELL)
    for (int i = 0; i < s->npeers; i++)
      if (s->peers[i].state >= TT_MEMBER) tt_meet_peer_close(s, &s->peers[i]);
}

/* ---- the loop ---- */

static bool goes_on(const tt_service *s) {
  if (!s->over) return true;
  for (int i = 0; i < s->npeers; i++)
    if (s->peers[i].fd >= 0 && (s->peers[i].local || s->peers[i].state >= TT_MEMBER)) return true;
  if (s->agent || s->failed <= 0 || tt_seconds() - s->failed > FAREWELL) return false;
  return s->round == 0 && s->rows < s->ranks; /* missing ranks must also get the reason */
}

/* Returns true if data from this peer is already buffered, because poll does not report buffered data. */
static bool has_bytes(const tt_meet_peer *g) {
  return g->fd >= 0 && g->have < g->want && tt_secure_waiting(g->secure);
}

static short events_of(const tt_meet_peer *g) {
  const bool reads = g->state == TT_LEAVES || g->have < g->want;
  return (short)((reads ? POLLIN : POLLRDHUP) | (g->talks ? POLLOUT : 0));
}

/* Handles pending events once. If `waits`, first waits for an event, or until a time limit may have passed. */
static void wait_for_words(tt_service *s, bool waits) {
  struct pollfd *fds = calloc((size_t)s->npeers + 3, sizeof *fds);
  if (!fds) {
    usleep(1000);
    return;
  }
  const int n = s->npeers, soon = tt_room_due(s);
  int due = soon >= 0 ? soon : tt_agent_due(s);
  bool quiet = !s->ranks; /* no peer is connected or expected */
  for (int i = 0; i < n; i++) {
    quiet &= s->peers[i].fd < 0 || s->peers[i].state == TT_GUEST;
    if (has_bytes(&s->peers[i])) due = 0;
    fds[i] = (struct pollfd){.fd = s->peers[i].fd, .events = events_of(&s->peers[i])};
  }
  const bool room = tt_meet_has_room(s);
  fds[n] = (struct pollfd){.fd = room ? s->listener : -1, .events = POLLIN};
  fds[n + 1] = (struct pollfd){.fd = s->local, .events = POLLIN};
  fds[n + 2] = (struct pollfd){.fd = s->parent.fd, .events = events_of(&s->parent)};
  if (!waits) due = 0;
  if (poll(fds, (nfds_t)n + 3, due >= 0 ? due : quiet ? -1 : room ? 200 : 20) >= 0) {
    for (int i = 0; i < n; i++) {
      tt_meet_peer *g = &s->peers[i];
      if (fds[i].fd != g->fd || g->fd < 0) continue;
      const bool hung_up = fds[i].revents & (POLLRDHUP | POLLHUP | POLLERR);
      if (hung_up || fds[i].revents & POLLIN || has_bytes(g)) tt_meet_peer_read(s, g, hung_up);
    }
    if (fds[n].revents) tt_meet_peer_welcome(s, false);
    while (fds[n + 1].revents && s->local >= 0 && tt_meet_peer_welcome(s, true)) continue;
    if (fds[n + 2].revents & ~POLLOUT) tt_meet_peer_read(s, &s->parent, false);
  }
  free(fds);
  tt_agent_flush(s);
  tt_meet_peer_write(s, &s->parent);
  tt_room_look(s);
  bool busy = false;
  for (int i = 0; i < s->npeers; i++) {
    tt_meet_peer_write(s, &s->peers[i]);
    busy |= s->peers[i].talks;
  }
  /* order: what was sent is in the system's hands */
  if (s->self) atomic_store(&s->self->busy, busy);
}

void tt_service_free(tt_service *s) {
  if (s->bytes_out)
    tt_log(2, "%s sent %llu bytes", s->agent ? "an agent of a host" : "the rendezvous",
           (unsigned long long)s->bytes_out);
  tt_long_wait_end(&s->wait);
  for (int i = 0; i < s->npeers; i++) tt_meet_peer_close(s, &s->peers[i]);
  if (s->listener >= 0) close(s->listener);
  if (s->local >= 0) close(s->local);
  tt_meet_peer_close(s, &s->parent);
  tt_rounds_clear(s);
  tt_room_free(s);
  tt_agent_drop(s->self);
  free(s->peers);
  free(s);
}

bool tt_service_turn(tt_service *s, bool waits) {
  if (!goes_on(s)) tt_service_renew(s);
  wait_for_words(s, waits);
  look_at_clock(s);
  return s->lasting || goes_on(s);
}

void *tt_service_run(void *service) {
  tt_service *s = service;
  while (tt_service_turn(s, true)) continue;
  tt_service_free(s);
  return NULL;
}

/* ---- starting ---- */

tt_service *tt_service_new(const char key[TT_KEY]) {
  tt_service *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  memcpy(s->key, key, TT_KEY);
  s->listener = s->local = s->parent.fd = -1;
  s->table.fd = -1;
  return s;
}

tutti_status tt_service_thread(tt_service *s, pthread_t *thread) {
  const int error = tt_quiet_thread(thread, tt_service_run, s);
  return error ? tt_fail(TUTTI_ERR_SYSTEM, "no thread for a rendezvous: %s", strerror(error))
               : TUTTI_OK;
}

tutti_status tt_rendezvous_serve(tt_rendezvous *r, bool lasting, pthread_t *thread) {
  tutti_status status = tt_rendezvous_name(r);
  if (status) return status;
  tt_service *s = tt_service_new(r->key);
  if (!s) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a rendezvous");
  s->lasting = lasting;
  if (r->joiners) status = tt_room_new(s, r->ranks, r->joiners);
  s->open = r->open;
  if (!status)
    status = tt_listen("a rendezvous (TUTTI_PORT names its port)", &r->port, &s->listener);
  if (!status) status = tt_service_thread(s, thread);
  if (!status) return TUTTI_OK;
  tt_service_free(s);
  return status;
}

void tt_rendezvous_end(pthread_t thread) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_sec += (time_t)FAREWELL;
  if (pthread_timedjoin_np(thread, NULL, &t)) pthread_detach(thread);
}
