/* meet_peers.c - the connections of a service: input, output, and the positions of agents in the tree.
 *
 * Idea       A peer becomes a member (meet_entry.c), and then sends frames. An agent sends its card first. The
 *            rendezvous keeps the first TT_FANOUT agents, and assigns every later one to an agent that arrived
 *            before: agent number k is assigned to number k / TT_FANOUT - 1.
 * Invariant  If a peer sends an invalid value, only that peer gets an error message, unless the job cannot continue
 *            without it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "meet_service.h"
#include "secure.h"

enum { STRANGERS = 64, STEP = 64 << 10 };
static const double YOUNG = 0.1; /* minimum age, in seconds, of an unauthenticated connection that
                                    is dropped for another */

/* ---- connections ---- */

static tt_meet_peer *free_peer(tt_service *s) {
  for (int i = 0; i < s->npeers; i++)
    if (s->peers[i].fd < 0) return &s->peers[i];
  const int before = s->npeers, n = 2 * before + 16;
  tt_meet_peer *more = realloc(s->peers, (size_t)n * sizeof *more);
  if (!more) return NULL;
  s->peers = more;
  for (int i = before; i < n; i++) more[i] = (tt_meet_peer){.fd = -1};
  s->npeers = n;
  return &more[before];
}

/* Finds the oldest connection that is not authenticated. *n: the number of such connections. */
static tt_meet_peer *oldest_stranger(const tt_service *s, int *n) {
  tt_meet_peer *oldest = NULL;
  *n = 0;
  for (int i = 0; i < s->npeers; i++) {
    tt_meet_peer *g = &s->peers[i];
    if (g->fd < 0 || g->local || g->knows) continue;
    ++*n;
    if (!oldest || g->since < oldest->since) oldest = g;
  }
  return oldest;
}

bool tt_meet_has_room(const tt_service *s) {
  int n;
  const tt_meet_peer *oldest = oldest_stranger(s, &n);
  return n < STRANGERS || tt_seconds() - oldest->since > YOUNG;
}

bool tt_meet_peer_add(tt_service *s, int fd, bool local) {
  tt_meet_peer *g = free_peer(s);
  const size_t first = local ? sizeof(tt_greeting) : sizeof(tt_hello);
  char *in = g ? malloc(first) : NULL;
  if (!in) {
    close(fd);
    return false;
  }
  *g = (tt_meet_peer){.fd = fd, .local = local, .since = tt_seconds(), .hands = -1};
  g->in = in;
  g->want = g->room = first;
  return true;
}

bool tt_meet_peer_welcome(tt_service *s, bool local) {
  const int one = 1;
  const int fd = accept4(local ? s->local : s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) {
    if (errno == EMFILE || errno == ENFILE) usleep(1000); /* wait until others have left */
    return false;
  }
  struct ucred who;
  socklen_t n = sizeof who;
  if (local && (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) || who.uid != geteuid())) {
    close(fd);
    return true;
  }
  if (!local && s->open && !tt_trusts(fd)) {
    close(fd);
    return true;
  }
  if (!local) {
    int strangers;
    tt_meet_peer *oldest = oldest_stranger(s, &strangers);
    if (strangers >= STRANGERS) tt_meet_peer_close(s, oldest);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
  }
  tt_meet_peer_add(s, fd, local);
  return true;
}

void tt_meet_peer_close(tt_service *s, tt_meet_peer *g) {
  if (g->fd < 0) return;
  tt_room_left(s, g);
  close(g->fd);
  tt_secure_drop(&g->secure);
  free(g->in);
  free(g->own);
  s->members -= tt_is_member(g);
  *g = (tt_meet_peer){.fd = -1, .hands = -1};
}

static void left(tt_service *s, tt_meet_peer *g) {
  if (g->state == TT_PARENT) {
    tt_agent_lost(s, false);
    return;
  }
  const bool was = tt_is_member(g), unfinished = g->have > 0;
  const tt_hello hello = g->hello;
  tt_meet_peer_close(s, g);
  if (was) tt_rounds_left(s, &hello, unfinished);
}

/* ---- output ---- */

static void reply(tt_meet_peer *g, int status, const void *bytes, size_t n) {
  g->head = (tt_reply){status, (uint32_t)n};
  g->out = bytes;
  g->to_send = n;
  g->sent = 0;
  g->talks = true;
}

void tt_meet_peer_say(tt_meet_peer *g, int status, const void *bytes, size_t n) {
  free(g->own);
  g->own = n ? malloc(n) : NULL;
  if (g->own) memcpy(g->own, bytes, n);
  reply(g, status, g->own, g->own ? n : 0);
}

void tt_meet_peer_part(tt_meet_peer *g, const tt_refusal *why) {
  tt_meet_peer_say(g, why->status, why->text, strlen(why->text) + 1);
  g->state = TT_LEAVES;
}

void tt_meet_peer_serve(tt_meet_peer *g, const tt_table *table) {
  reply(g, TT_TABLE, table->base, table->bytes);
  if (!g->local) return;
  g->to_send = 0; /* the descriptor replaces the bytes */
  g->hands = table->fd;
}

void tt_meet_peer_refuse(tt_meet_peer *g, const char *format, ...) {
  tt_refusal why = {.status = TUTTI_ERR_SYSTEM};
  va_list ap;
  va_start(ap, format);
  vsnprintf(why.text, sizeof why.text, format, ap);
  va_end(ap);
  tt_meet_peer_part(g, &why);
}

/* Sends to another host. */
static ssize_t send_far(tt_meet_peer *g) {
  const bool heads = g->sent < sizeof g->head;
  const size_t at = heads ? g->sent : g->sent - sizeof g->head;
  return tt_secure_send(g->secure, g->fd, (heads ? (const char *)&g->head : g->out) + at,
                        (heads ? sizeof g->head : g->to_send) - at);
}

/* Sends data to a rank of this host. If the data starts with the proof, the whole proof is sent, because the
 * socket's buffer is still empty. */
static ssize_t send_near(tt_meet_peer *g, const char key[TT_KEY]) {
  const bool heads = g->sent < sizeof g->head;
  const size_t at = heads ? g->sent : g->sent - sizeof g->head;
  unsigned char proof[TT_DIGEST];
  struct iovec parts[] = {{proof, sizeof proof},
                          {heads ? (char *)&g->head + at : (char *)(uintptr_t)g->out + at,
                           heads ? sizeof g->head - at : g->to_send - at}};
  union {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
  } with = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
                     .cmsg_level = SOL_SOCKET,
                     .cmsg_type = SCM_RIGHTS}};
  struct msghdr message = {.msg_iov = parts + !g->proves, .msg_iovlen = 1 + g->proves};
  if (g->proves) tt_prove_key(TT_RENDEZVOUS, key, &g->hello, g->nonce, proof);
  if (g->hands >= 0 && !g->sent) {
    memcpy(CMSG_DATA(&with.head), &g->hands, sizeof g->hands);
    message.msg_control = &with;
    message.msg_controllen = sizeof with;
  }
  const ssize_t n = sendmsg(g->fd, &message, MSG_NOSIGNAL);
  if (n < 0 || !g->proves) return n;
  g->proves = false;
  return n - (ssize_t)sizeof proof;
}

void tt_meet_peer_write(tt_service *s, tt_meet_peer *g) {
  while (g->fd >= 0 && g->talks) {
    const ssize_t n = g->local ? send_near(g, s->key) : send_far(g);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n < 0) {
      g->talks = false;
      if (g->state != TT_PARENT) left(s, g); /* the parent's reason can still be read */
      return;
    }
    g->sent += (size_t)n;
    s->bytes_out += (uint64_t)n;
    if (g->sent < sizeof g->head + g->to_send) continue;
    g->talks = false;
    g->hands = -1;
    if (g->state == TT_LEAVES)
      shutdown(g->fd, SHUT_WR);
    else if (s->over && s->why.status && g->state == TT_MEMBER)
      tt_meet_peer_part(g, &s->why); /* the failure was reported while the table was being sent */
  }
}

/* ---- the tree ---- */

/* Handles the card of an agent. The agent either stays here or is sent to another agent. */
static void place_agent(tt_service *s, tt_meet_peer *g, const tt_agent_card *card) {
  /* rank 0's process may be the one that runs this service, so no agent is assigned to it */
  const bool leaf = card->direct || g->hello.rank == 0;
  const int number = s->agents;
  tt_agent_place *places =
      s->agent || leaf ? s->places : realloc(s->places, (size_t)(number + 1) * sizeof *places);
  if (!s->agent && !leaf) {
    if (!places) {
      tt_service_fail(s, TUTTI_ERR_MEMORY, "the rendezvous is out of memory");
      return;
    }
    s->places = places;
    s->places[s->agents++] = card->at;
  }
  if (s->agent || leaf || number < TT_FANOUT) {
    g->placed = true;
    s->members++;
    reply(g, TT_STAY, NULL, 0);
  } else {
    tt_meet_peer_say(g, TT_GO, &s->places[number / TT_FANOUT - 1], sizeof *s->places);
    g->state = TT_LEAVES;
  }
}

/* ---- input ---- */

static void take_frame(tt_service *s, tt_meet_peer *g) {
  tt_meet_frame head;
  memcpy(&head, g->in, sizeof head);
  const size_t most = tt_min((size_t)s->ranks * (sizeof(tt_row) + TT_MEET_MOST), 1u << 31);
  if (g->want == sizeof head && head.bytes) {
    if (head.bytes > most)
      tt_service_fail(s, TUTTI_ERR_SYSTEM,
                      "rank %u (%s) sends %u bytes: is it another version of tutti?",
                      g->hello.rank, g->hello.who, head.bytes);
    else
      g->want += head.bytes;
    return;
  }
  char *in = g->in;
  g->in = NULL;
  g->have = g->room = 0;
  g->want = sizeof head;
  if (head.kind == TT_CARD && head.bytes == sizeof(tt_agent_card) && !g->local &&
             !g->placed) {
    tt_agent_card card;
    memcpy(&card, in + sizeof head, sizeof card);
    free(in);
    place_agent(s, g, &card);
  } else {
    tt_rounds_frame(s, &head, in);
  }
}

static void said(tt_service *s, tt_meet_peer *g) {
  if (g->state == TT_STRANGER)
    tt_entry_hello(s, g);
  else if (g->state == TT_CHALLENGED)
    tt_entry_proof(s, g, (const unsigned char *)g->in);
  else if (g->state == TT_GUEST)
    tt_room_said(s, g);
  else if (g->state == TT_PARENT)
    tt_agent_heard(s);
  else if (g->state == TT_MEMBER && !s->over)
    take_frame(s, g);
}

/* Reads and discards the input of a peer that is about to be disconnected. If the connection were closed with unread
 * input, the system could discard the reply. The service itself no longer needs any input from this peer. */
static void hear_out(tt_service *s, tt_meet_peer *g) {
  char words[4096];
  const ssize_t n = read(g->fd, words, sizeof words);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) tt_meet_peer_close(s, g);
}

/* Disconnects a peer. Called when data from this peer was changed in transit. */
static void cut_off(tt_service *s, tt_meet_peer *g) {
  if (g->state == TT_PARENT) {
    tt_agent_lost(s, true);
    return;
  }
  if (g->state == TT_MEMBER && !s->over)
    tt_service_fail(
        s, TUTTI_ERR_SYSTEM,
        "bytes that rank %u (%s) sent were changed or repeated on their way, so the bootstrap has ended: somebody between the hosts tampers with packets",
        g->hello.rank, g->hello.who);
  left(s, g);
}

/* Allocates memory for the next bytes. The memory grows with the number of bytes received, because a header may
 * announce a much larger size than the peer ever sends. */
static bool make_room(tt_meet_peer *g) {
  if (g->have < g->room) return true;
  const size_t room = tt_min(g->want, 2 * g->have + STEP);
  char *in = realloc(g->in, room);
  if (!in) return false;
  g->in = in;
  g->room = room;
  return true;
}

static void lack_memory(tt_service *s, tt_meet_peer *g) {
  if (g->state == TT_MEMBER && !s->over)
    tt_service_fail(s, TUTTI_ERR_MEMORY, "the rendezvous is out of memory");
  if (g->state == TT_PARENT)
    tt_service_fail(s, TUTTI_ERR_MEMORY, "an agent of a host is out of memory for %zu bytes",
                    g->want);
  left(s, g);
}

void tt_meet_peer_read(tt_service *s, tt_meet_peer *g, bool hung_up) {
  if (g->state == TT_LEAVES) {
    hear_out(s, g);
    return;
  }
  if (g->state == TT_STRANGER && !g->local && !g->have && !g->secure) tt_entry_first_byte(s, g);
  if (g->want == g->have && hung_up) left(s, g);
  while (g->fd >= 0 && g->want > g->have && g->state != TT_LEAVES) {
    if (!make_room(g)) {
      lack_memory(s, g);
      return;
    }
    const size_t most = tt_min(g->want, g->room) - g->have;
    const ssize_t n = tt_secure_recv(g->secure, g->fd, g->in + g->have, most);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
      (n < 0 && errno == EBADMSG ? cut_off : left)(s, g);
      return;
    }
    g->have += (size_t)n;
    if (g->have == g->want) said(s, g);
  }
}

void tt_service_renew(tt_service *s) {
  for (int i = 0; i < s->npeers; i++)
    if (s->peers[i].state >= TT_MEMBER) tt_meet_peer_close(s, &s->peers[i]);
  tt_rounds_clear(s);
  for (int i = 0; i < s->npeers; i++) {
    tt_meet_peer *g = &s->peers[i];
    if (g->fd < 0 || g->state != TT_WAITS) continue;
    g->state = TT_STRANGER;
    tt_entry_join(s, g);
    if (g->state == TT_MEMBER && g->have == g->want) said(s, g);
  }
}
