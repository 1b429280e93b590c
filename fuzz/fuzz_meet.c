/* fuzz_meet.c - fuzzes the services of the bootstrap: a rendezvous, the agent of a host, and a
 * waiting room, which receive data from strangers and members, and an agent that receives data from
 * the agent above it.
 *
 * Idea       The service has sockets, and the input controls their other ends. It connects, sends a
 *            hello, proves the key, and sends frames. Each step is correct except for
 *            some fields, or consists of bytes of the input.
 * Invariant  Only a process that has proven the key takes part. The service counts its members and
 *            strangers correctly.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "meet_service.h"
#include "room.h"

enum { ENDS = 4, RANKS = 3, STEPS = 300 };
static const char KEY[TT_KEY] = "0123456789abcdef0123456789abcde";

typedef struct far_end { /* a process that the input controls; fd is -1 if it is not connected */
  int fd;
  bool local, greeted;
  tt_hello hello;
} far_end;

static const uint8_t *at, *end;
static far_end ends[ENDS], above; /* above: the agent's parent */
static int proofs;                /* number of correct proofs */

static unsigned byte(void) {
  return at < end ? *at++ : 0;
}

/* ---- connections ---- */

static int connect_to(tt_service *s, bool local, bool up) {
  int pair[2];
  need(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair));
  if (up)
    s->parent =
        (tt_meet_peer){.fd = pair[0], .state = TT_PARENT, .want = sizeof(tt_reply), .hands = -1};
  else
    need(tt_meet_peer_add(s, pair[0], local));
  return pair[1];
}

static void hang_up(far_end *e) {
  if (e->fd >= 0) close(e->fd);
  *e = (far_end){.fd = -1};
}

static void say(far_end *e, const void *bytes, size_t n) {
  if (e->fd >= 0 && n) send(e->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Sends bytes of the input unchanged. */
static void say_anything(far_end *e) {
  const size_t n = tt_min((size_t)(end - at), (size_t)byte());
  const uint8_t *from = at;
  at += tt_min(n, (size_t)(end - at));
  say(e, from, (size_t)(at - from));
}

static size_t hear(far_end *e, void *bytes, size_t n) {
  const ssize_t come = e->fd >= 0 ? recv(e->fd, bytes, n, MSG_DONTWAIT) : 0;
  return come > 0 ? (size_t)come : 0;
}

/* ---- strangers ---- */

static uint32_t number_of_some(void) {
  static const uint32_t numbers[] = {0,       1,         2,          RANKS,      RANKS + 1,
                                     1 << 20, 1u << 31,  UINT32_MAX, 0x7fffffff, (1 << 20) + 1,
                                     8,       1u << 30u, 400,        404,        1000};
  return numbers[byte() % (sizeof numbers / sizeof *numbers)];
}

static void say_hello(far_end *e) {
  const unsigned odd = byte();
  tt_greeting g = {.hello = {.magic = TT_MEET_MAGIC,
                             .protocol = TT_MEET_PROTOCOL,
                             .rank = odd % RANKS,
                             .ranks = RANKS,
                             .limit_ms = 2000,
                             .who = "host, pid 1"}};
  static const unsigned char none[TT_DIGEST];
  if (odd & 4) g.hello.ranks = number_of_some();
  if (odd & 8) g.hello.rank = number_of_some();
  if (odd & 16) g.hello.protocol = byte() % 8;
  if (odd & 32) memset(g.hello.who, 'w', sizeof g.hello.who);
  if (odd & 64) g.hello.magic[byte() % 8] ^= (char)byte();
  e->hello = g.hello;
  tt_prove_key(TT_VISITOR, KEY, &g.hello, none, g.proof);
  if (odd & 128) g.proof[0] ^= (unsigned char)byte();
  proofs += e->local && !e->greeted;
  e->greeted = true;
  say(e, &g, e->local ? sizeof g : sizeof g.hello);
}

/* Answers a challenge, if one has arrived. */
static void say_proof(far_end *e) {
  const unsigned wrong = byte() % 4 ? 0 : byte();
  tt_challenge c;
  unsigned char proof[TT_DIGEST];
  if (e->local || hear(e, &c, sizeof c) != sizeof c) return;
  tt_prove_key(TT_VISITOR, KEY, &e->hello, c.nonce, proof);
  proof[0] ^= (unsigned char)wrong;
  say(e, proof, sizeof proof);
  proofs += !wrong;
}

/* ---- members and guests ---- */

static char body[4096];

/* Writes rows, each correct except for some bytes. */
static size_t put_rows(void) {
  size_t n = 0;
  for (unsigned k = byte() % 4 + 1; k > 0; k--) {
    tt_row row = {(int32_t)byte() % (RANKS + 1), byte() % 32};
    const size_t has = tt_row_bytes(row.bytes);
    if (byte() % 4 == 0) row.bytes = number_of_some();
    memcpy(body + n, &row, sizeof row);
    memset(body + n + sizeof row, (int)k, has);
    n += sizeof row + has;
  }
  return n;
}

static size_t put_card(void) {
  tt_agent_card card = {.at = {.hosts = 1, .port = 1, .host = {"127.0.0.1"}}};
  const unsigned odd = byte();
  card.direct = odd & 1;
  if (odd & 2) memset(card.at.host, 'h', sizeof card.at.host);
  if (odd & 4) card.at.hosts = (int32_t)number_of_some();
  memcpy(body, &card, sizeof card);
  return sizeof card;
}

static size_t put_numbers(size_t n) {
  for (size_t k = 0; k < n; k++) {
    const uint32_t x = byte() % 2 ? number_of_some() : byte() % 4;
    memcpy(body + 4 * k, &x, sizeof x);
  }
  return 4 * n;
}

static size_t put_frame(uint32_t kind) {
  tt_refusal why = {.status = -(int)(byte() % 20), .text = "this rank cannot continue"};
  switch (kind) {
    case TT_CARD: return put_card();
    case TT_ROWS: return put_rows();
    case TT_CANNOT: memcpy(body, &why, sizeof why); return sizeof why;
    case TT_WAIT: return put_numbers(sizeof(tt_wait) / 4);
    case TT_CLAIM: return put_numbers(sizeof(tt_claim) / 4);
    case TT_NEWS: return put_numbers(sizeof(tt_news_of) / 4);
    default: return put_numbers(byte() % 8);
  }
}

static void say_frame(far_end *e) {
  static const uint32_t kinds[] = {TT_CARD,  TT_ROWS,  TT_ROWS, TT_CANNOT, TT_WAIT,
                                   TT_CLAIM, TT_BRING, TT_HAND, TT_ADMIT,  TT_NEWS};
  const uint32_t kind = kinds[byte() % (sizeof kinds / sizeof *kinds)];
  const unsigned odd = byte();
  size_t n = put_frame(kind);
  tt_meet_frame head = {kind, (uint32_t)n};
  if (odd % 8 == 1) head.bytes = number_of_some();
  if (odd % 8 == 2) head.kind = number_of_some();
  if (odd % 8 == 3) n = tt_min(n, (size_t)byte());
  say(e, &head, sizeof head);
  say(e, body, n);
}

/* ---- the agent above ---- */

/* Writes a table of all ranks, correct except for some bytes. */
static size_t put_table(void) {
  uint32_t offset = (uint32_t)tt_row_bytes((RANKS + 1) * sizeof offset);
  for (int r = 0; r <= RANKS; r++) {
    memcpy(body + r * (int)sizeof offset, &offset, sizeof offset);
    if (r < RANKS) offset += (uint32_t)tt_row_bytes(byte() % 32);
  }
  const unsigned odd = byte();
  if (odd % 4 == 1) body[byte() % offset] ^= (char)byte();
  return odd % 4 == 2 ? number_of_some() % sizeof body : offset;
}

static void say_reply(void) {
  const unsigned what = byte();
  tt_reply reply = {TT_TABLE, 0};
  size_t n;
  memset(body, 0, sizeof body);
  if (what % 4 < 2) {
    n = put_table();
  } else {
    reply.status = what % 4 == 2 ? -(int)(byte() % 20) : (int)byte() - 20;
    n = byte() * 2u;
    memset(body, 'w', n);
  }
  reply.bytes = (uint32_t)n;
  if (what & 64) reply.bytes = number_of_some();
  say(&above, &reply, sizeof reply);
  say(&above, body, what & 128 ? tt_min(n, (size_t)byte()) : n);
}

/* ---- steps ---- */

static void look(const tt_service *s) {
  int members = 0, know = 0;
  for (int i = 0; i < s->npeers; i++) {
    const tt_meet_peer *g = &s->peers[i];
    if (g->fd < 0) continue;
    members += tt_is_member(g);
    know += g->knows;
    need(g->knows || g->state < TT_WAITS || g->state == TT_LEAVES);
    need(g->have <= g->want);
  }
  need(s->over || members == s->members);
  need(know <= proofs);
}

/* Lets some seconds pass. */
static void pass_time(tt_service *s) {
  const double some = byte() % 16 / 2.0;
  s->wait.since -= some;
  s->batch_since -= some;
  if (s->failed > 0) s->failed -= some;
  for (int i = 0; i < s->npeers; i++) s->peers[i].since -= some;
}

static void come(tt_service *s, far_end *e) {
  const bool local = s->agent && byte() % 2;
  hang_up(e);
  *e = (far_end){.fd = connect_to(s, local, false), .local = local};
}

/* Returns false if the bootstrap has ended. */
static bool act(tt_service *s) {
  static char waste[1 << 16];
  const unsigned what = byte();
  far_end *e = &ends[(what >> 4) % ENDS];
  if (e->fd < 0) come(s, e);
  switch (what % 16) {
    case 0: come(s, e); break;
    case 1:
    case 2: say_hello(e); break;
    case 3: say_proof(e); break;
    case 4: say_anything(e); break;
    case 5: hear(e, waste, sizeof waste); break;
    case 6: shutdown(e->fd, byte() % 2 ? SHUT_WR : SHUT_RDWR); break;
    case 7: pass_time(s); break;
    case 8:
    case 9:
      if (s->agent) say_reply();
      break;
    case 10:
      if (s->agent && byte() % 4 == 0) say_anything(&above);
      break;
    default: say_frame(e);
  }
  const bool goes_on = tt_service_turn(s, false);
  look(s);
  return goes_on;
}

/* Creates an agent or a rendezvous, which can be permanent and have a waiting room, depending on `kind`. */
static tt_service *begin(unsigned kind) {
  tt_service *s = tt_service_new(KEY);
  need(s);
  if (kind % 4 == 0) {
    s->agent = true;
    s->ranks = RANKS;
    s->most_locals = kind & 4 ? RANKS : 1;
    s->wait = tt_long_wait_begin("the rendezvous");
    s->limit = 2;
    s->self = calloc(1, sizeof *s->self);
    need(s->self);
    atomic_init(&s->self->users, 1);
    above.fd = connect_to(s, false, true);
  }
  s->lasting = kind % 4 >= 2;
  if (kind % 4 == 3) need(!tt_room_new(s, RANKS, 4));
  return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  at = data;
  end = data + size;
  proofs = 0;
  signal(SIGPIPE, SIG_IGN);
  for (int i = 0; i < ENDS; i++) ends[i].fd = -1;
  above.fd = -1;
  tt_service *s = begin(byte());
  bool goes_on = true;
  for (int step = 0; goes_on && at < end && step < STEPS; step++) goes_on = act(s);
  for (int i = 0; i < ENDS; i++) hang_up(&ends[i]);
  hang_up(&above);
  if (goes_on) tt_service_turn(s, false);
  look(s);
  tt_service_free(s);
  return 0;
}
