/* agent.c - the agent of a host: a thread in the first of the host's ranks to arrive, which connects these ranks to
 * the rendezvous.
 *
 * Idea       Agents form a tree with the rendezvous as its root. An agent first connects to the rendezvous, and sends
 *            its card, with the addresses on which it accepts other agents. The rendezvous keeps it, or assigns it to
 *            an agent that arrived earlier. If it cannot connect to that agent, it returns to the rendezvous and
 *            stays there. It then serves its peers as the rendezvous does (rendezvous.c), forwards their rows to its
 *            parent, and passes on the tables that it receives.
 * Cost       A thread until the bootstrap has ended; a descriptor for each rank of its host and for each agent below
 *            it, at most TT_FANOUT; memory for one table.
 * Invariant  An agent and its parent have proven to each other that they know the key before any data of the job is
 *            sent. If the parent ends, all ranks and agents below are notified.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "meet_service.h"
#include "secure.h"

enum { LOCALS = 4096, FEW_LOCALS = 256, DELAY_MS = 3 };
static const double GRACE = 5, GREETING = 20, NEAR = 4; /* in seconds */
static const double LATE =
    0.5; /* seconds after which incomplete rows are forwarded, so that missing ranks can be named */

/* ---- joining the tree ---- */

/* Fills in the addresses on the card. The first one is the address that this host uses to reach the rendezvous, unless the
 * rendezvous is on this host. If TUTTI_INTERFACE is set, it selects the only address, because the agent listens on no other. */
static void fill_card(tt_agent_card *card, int up, int port) {
  tt_rendezvous here = {.port = port};
  struct sockaddr_storage a;
  socklen_t n = sizeof a;
  if (!tt_env("TUTTI_INTERFACE") && !getsockname(up, (struct sockaddr *)&a, &n)) {
    const struct in6_addr *six = &((struct sockaddr_in6 *)(void *)&a)->sin6_addr;
    const struct in_addr *four = &((struct sockaddr_in *)(void *)&a)->sin_addr;
    const bool apart =
        a.ss_family == AF_INET ? ntohl(four->s_addr) >> 24 != 127 : !IN6_IS_ADDR_LOOPBACK(six);
    here.hosts = apart && tt_address_text((struct sockaddr *)&a, here.host[0]);
  }
  tt_addresses_here(&here);
  card->at.hosts = here.hosts;
  card->at.port = port;
  memcpy(card->at.host, here.host, sizeof card->at.host);
}

/* Proves to a parent that this agent knows the key, and sends the card. *answer: a reply with the status TT_STAY or TT_GO. */
static tutti_status present(tt_meet_line *up, tt_agent_card *card, tt_reply *answer) {
  tutti_status status = tt_meet_prove(up, GREETING);
  if (status) return status;
  fill_card(card, up->fd, card->at.port);
  status = tt_meet_send_frame(up, TT_CARD, card, sizeof *card, NULL, 0);
  if (!status) status = tt_meet_recv(up, answer, sizeof *answer, up->until + GRACE);
  if (status) return status;
  if (answer->status < 0) return tt_meet_sentence(up, answer, up->until + GRACE);
  const uint32_t bytes = answer->status == TT_GO ? sizeof(tt_agent_place) : 0;
  return answer->status > TT_GO || answer->status == TT_TABLE || answer->bytes != bytes
             ? tt_meet_foreign(up)
             : TUTTI_OK;
}

static void hang_up(tt_meet_line *up) {
  if (up->fd >= 0) close(up->fd);
  tt_secure_drop(&up->secure);
  up->fd = -1;
  up->greeted = up->gone = false;
}

/* Connects to another agent. Returns false if the other agent cannot be reached, or does not accept this one. */
static bool move_to(tt_meet_line *up, const tt_agent_place *to, tt_agent_card *card) {
  const double until = up->until, soon = tt_seconds() + NEAR;
  char why[100];
  tt_reply answer;
  up->until = soon < until ? soon : until;
  for (int i = 0; i < to->hosts && i < TT_HOSTS && up->fd < 0; i++) {
    char host[sizeof to->host[0]];
    snprintf(host, sizeof host, "%.*s", (int)sizeof host - 1, to->host[i]);
    up->fd = tt_meet_connect(host, to->port, &up->link, up->until, why, sizeof why);
    tt_port_text(host, to->port, up->at, sizeof up->at);
  }
  const bool stays = up->fd >= 0 && !present(up, card, &answer) && answer.status == TT_STAY;
  up->until = until;
  if (!stays) hang_up(up);
  return stays;
}

/* Connects to the rendezvous. The rendezvous drops connections that do not authenticate in time, and this process may be
 * too slow for that on a busy machine, so it tries several times. If all attempts fail, reports the first failure. */
static tutti_status dial_root(tt_meet_line *up, const tt_rendezvous *r, tt_agent_card *card,
                              tt_reply *answer) {
  char why[400];
  tutti_status first = TUTTI_OK;
  for (int tries = 0; tries < 3; tries++) {
    tutti_status status = tt_meet_dial(up, r);
    if (!status) status = present(up, card, answer);
    if (!status) return TUTTI_OK;
    if (up->greeted || !up->gone) return first ? tt_fail(first, "%s", why) : status;
    if (!first) snprintf(why, sizeof why, "%s", tutti_error());
    if (!first) first = status;
    hang_up(up);
  }
  return tt_fail(first, "%s", why);
}

static tutti_status find_place(tt_meet_line *up, const tt_rendezvous *r, int port) {
  tt_agent_card card = {.at.port = port};
  tt_reply answer = {0, 0};
  for (int again = 0; again < 2; again++) {
    tt_agent_place to;
    tutti_status status = dial_root(up, r, &card, &answer);
    if (status || answer.status == TT_STAY) return status;
    status = tt_meet_recv(up, &to, sizeof to, up->until + GRACE);
    if (status) return status;
    hang_up(up);
    if (move_to(up, &to, &card)) return TUTTI_OK;
    card.direct = 1;
  }
  return tt_meet_foreign(up);
}

/* Returns the maximum number of ranks that one agent serves. The limit leaves enough file descriptors for the
 * program. Further ranks are served by another agent. */
static int locals_here(void) {
  struct rlimit most;
  if (getrlimit(RLIMIT_NOFILE, &most)) return FEW_LOCALS;
  return (int)tt_max(tt_min(most.rlim_cur / 4, LOCALS), 4);
}

/* Creates a service that waits for the ranks of this host. Returns NULL if out of memory. */
static tt_service *new_agent(const tt_meet_line *like, int listener) {
  tt_service *s = tt_service_new(like->key);
  if (!s) {
    if (listener >= 0) close(listener);
    return NULL;
  }
  s->agent = true;
  s->open = like->open;
  s->local = listener;
  s->most_locals = locals_here();
  s->ranks = (int)like->hello.ranks;
  s->wait = tt_long_wait_begin("the agent of a host");
  s->limit = like->hello.limit_ms / 1e3;
  s->self = calloc(1, sizeof *s->self);
  if (s->self) atomic_init(&s->self->users, 2);
  if (s->self) return s;
  tt_service_free(s);
  return NULL;
}

tutti_status tt_agent_start(const tt_rendezvous *r, const tt_meet_line *like, int listener,
                            int first, tt_agent **agent) {
  tt_meet_line up = *like;
  int port = 0;
  up.agent = 0;
  tt_service *s = new_agent(like, listener);
  if (!s) {
    close(first);
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for an agent");
  }
  tutti_status status = tt_listen("an agent", &port, &s->listener);
  if (!status) status = find_place(&up, r, port);
  s->parent = (tt_meet_peer){
      .fd = up.fd, .state = TT_PARENT, .want = sizeof(tt_reply), .hands = -1, .secure = up.secure};
  if (status)
    close(first);
  else if (!tt_meet_peer_add(s, first, true))
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for an agent");
  tt_agent *self = s->self;
  if (!status) status = tt_service_thread(s, &self->thread);
  if (status) {
    tt_agent_drop(self);
    tt_service_free(s);
  } else {
    *agent = self;
  }
  return status;
}

void tt_agent_drop(tt_agent *agent) {
  /* order: the last one frees; nothing is read behind it */
  if (agent && atomic_fetch_sub(&agent->users, 1) == 1) free(agent);
}

void tt_agent_leave(tt_agent *agent, bool failed) {
  const double since = tt_seconds();
  if (failed) {
    tt_rendezvous_end(agent->thread);
  } else {
    /* order: a flag; the system has all bytes that were sent before it */
    while (atomic_load(&agent->busy) && tt_seconds() - since < GRACE) usleep(200);
    pthread_detach(agent->thread);
  }
  tt_agent_drop(agent);
}

/* ---- towards the parent ---- */

int tt_agent_due(const tt_service *s) {
  if (!s->batched || s->parent.talks || s->round) return -1;
  const double left = DELAY_MS - 1e3 * (tt_seconds() - s->batch_since);
  return left <= 0 ? 0 : (int)left + 1;
}

void tt_agent_flush(tt_service *s) {
  if (!s->agent || s->parent.fd < 0 || s->parent.talks || s->over) return;
  if (s->told) {
    if (!s->told_now) tt_meet_peer_say(&s->parent, TT_CANNOT, &s->why, sizeof s->why);
    s->told_now = true;
    return;
  }
  const bool whole = s->rows == s->known, late = tt_seconds() - s->batch_since > LATE;
  if (!s->batched || (s->round ? !whole && !late : tt_agent_due(s) > 0)) return;
  tt_meet_peer_say(&s->parent, TT_ROWS, s->batch, s->batched);
  s->batched = 0;
}

void tt_agent_lost(tt_service *s, bool changed) {
  tt_meet_peer_close(s, &s->parent);
  const bool met = s->round && !s->rows; /* the parent left after the bootstrap */
  s->over |= met && !s->members;
  if (s->over || met) return;
  s->told = false;
  if (changed)
    tt_service_fail(s, TUTTI_ERR_SYSTEM,
                    "bytes that the rendezvous or an agent on another host sent were changed or "
                    "repeated on their way, so the bootstrap was stopped: somebody between the hosts "
                    "tampers with packets");
  else
    tt_service_fail(
        s, TUTTI_ERR_PEER_LOST,
        "the process that connects this host with the others has ended: an agent on another host, "
        "or the rendezvous");
}

/* ---- from the parent ---- */

static void take_table(tt_service *s, const char *bytes, size_t n) {
  tt_table table;
  tutti_status status = tt_table_new(n, &table);
  if (!status) {
    memcpy(table.base, bytes, n);
    status = tt_table_seal(&table);
  }
  if (status) {
    tt_service_fail(s, TUTTI_ERR_MEMORY, "an agent of a host: %s", tutti_error());
  } else if (!tt_table_valid(&table, s->ranks)) {
    tt_table_drop(&table);
    tt_service_fail(s, TUTTI_ERR_SYSTEM,
                    "an agent received a malformed table of %d ranks: does the rendezvous run "
                    "another version of tutti?",
                    s->ranks);
  } else {
    tt_rounds_answer(s, &table);
  }
}

static void take_reason(tt_service *s, const tt_reply *head, const char *bytes) {
  tt_refusal why = {.status = head->status};
  if (why.status >= 0 || head->bytes > sizeof why.text || !head->bytes) {
    why.status = TUTTI_ERR_SYSTEM;
    snprintf(why.text, sizeof why.text,
             "an agent received a malformed message: does the rendezvous run another version of "
             "tutti?");
  } else {
    memcpy(why.text, bytes, head->bytes);
    why.text[head->bytes - 1] = 0;
  }
  tt_service_end(s, &why);
}

void tt_agent_heard(tt_service *s) {
  tt_meet_peer *g = &s->parent;
  tt_reply head;
  memcpy(&head, g->in, sizeof head);
  const bool table = head.status == TT_TABLE;
  if (g->want == sizeof head && head.bytes && (table || head.bytes <= sizeof(tt_refusal))) {
    g->want += head.bytes;
    return;
  }
  char *in = g->in;
  g->in = NULL;
  g->have = g->room = 0;
  g->want = sizeof head;
  if (table)
    take_table(s, in + sizeof head, head.bytes);
  else
    take_reason(s, &head, in + sizeof head);
  free(in);
}
