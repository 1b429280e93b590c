/* fuzz_tcp.c - fuzzes the socket network between hosts: failing handshakes, hellos and welcomes,
 * receipts, and messages for receives that are posted, not posted yet, or whose network does not
 * exist yet. Data arrives whole or in parts, in any order.
 *
 * Idea       TLS is a table of functions, which are plain socket functions here. Data received over
 *            TLS is from processes of the job, and the input controls these processes. They connect
 *            to this process, or it connects to them. Heads are correct except for some fields. In
 *            between, this process starts receives and sends, and creates and closes networks.
 * Invariant  A receive gets only data that a rank of its network has sent for it. Nothing is
 *            written outside of its memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tcp.h"
#include "fuzz.h"

enum { RANKS = 4, ME = 1, LINES = 4, NETS = 3, SLOTS_USED = 12, ROOM = 600, STEPS = 300 };

static const uint8_t *at, *end;

static unsigned byte(void) {
  return at < end ? *at++ : 0;
}

/* ---- TLS without encryption ---- */

typedef struct bare { /* an end of a connection; its first byte determines how the handshake ends */
  int fd, shaken;
} bare;

static void *bare_new(int fd) {
  bare *b = malloc(sizeof *b);
  need(b);
  *b = (bare){.fd = fd};
  return b;
}

static void *bare_call(int fd, const char *name, const unsigned char secret[TT_TLS_SECRET]) {
  (void)name, (void)secret;
  return bare_new(fd);
}

static void *bare_serve(int fd, tt_tls_find_fn *find, const void *ctx) {
  unsigned char secret[TT_TLS_SECRET];
  need(!find(ctx, "another name", secret));
  return bare_new(fd);
}

static int bare_greet(void *self) {
  bare *b = self;
  unsigned char how;
  const ssize_t n = b->shaken ? 1 : recv(b->fd, &how, 1, MSG_DONTWAIT);
  if (n < 0 && errno == EAGAIN) return TT_TLS_READ;
  if (n <= 0) return TT_TLS_CLOSED;
  if (!b->shaken && how % (TT_TLS_FOREIGN + 1)) return how % (TT_TLS_FOREIGN + 1);
  b->shaken = 1;
  return TT_TLS_DONE;
}

static ssize_t bare_send(void *self, const void *bytes, size_t n) {
  return send(((bare *)self)->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static ssize_t bare_recv(void *self, void *bytes, size_t n) {
  return recv(((bare *)self)->fd, bytes, n, MSG_DONTWAIT);
}

static size_t bare_waiting(void *self) {
  (void)self;
  return 0;
}

static int bare_bulk(void *self) {
  (void)self;
  return 1;
}

static int bare_flush(void *self) {
  (void)self;
  return 0;
}

static const tt_tls bare_tls = {.size = sizeof bare_tls,
                                .name = "bare",
                                .call = bare_call,
                                .serve = bare_serve,
                                .greet = bare_greet,
                                .send = bare_send,
                                .recv = bare_recv,
                                .waiting = bare_waiting,
                                .bulk = bare_bulk,
                                .flush = bare_flush,
                                .drop = free};

/* ---- this process ---- */

typedef struct request {
  bool begun, receives;
  int peer, tag; /* TUTTI_NET_ANY for any peer */
  size_t n;
  char *bytes; /* allocated with exactly that size */
} request;

typedef struct mine { /* a network of this process */
  bool open;
  int ranks;
  const int *members; /* NULL for all ranks */
  tutti_net net;
  request slot[SLOTS_USED];
} mine;

static tcp_world *world;
static mine nets[NETS];
static tcp_address addresses[RANKS];
static int called,
    line[LINES]; /* called: its peers' listener; line: the peers' ends of connections, or -1 */
static uint32_t who[LINES]; /* the rank that the other end claims to be */
static bool sincere;        /* messages contain only bytes that identify their sender */

static const void *address_of(void *ctx, int rank, size_t *bytes) {
  (void)ctx;
  *bytes = sizeof *addresses;
  return &addresses[rank];
}

static void drop_nothing(void *ctx) {
  (void)ctx;
}

/* Sets up the TCP library as tcp_maker.c does, but without TLS and with a listener of another address family. */
static void open_world(void) {
  world = calloc(1, sizeof *world);
  need(world);
  kit_world_open(&world->kit, &tcp_library);
  world->listener =
      (tcp_source){TCP_LISTENER, socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)};
  world->watched = -1;
  world->early_end = &world->early;
  world->name = "bare";
  world->encrypts = true;
  world->tls = &bare_tls;
  need(!bind(world->listener.fd, &(struct sockaddr){.sa_family = AF_UNIX}, sizeof(sa_family_t)));
  need(!listen(world->listener.fd, LINES));
  world->epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event e = {.events = EPOLLIN, .data.ptr = &world->listener};
  need(!epoll_ctl(world->epoll, EPOLL_CTL_ADD, world->listener.fd, &e));
  world->peers = calloc(RANKS, sizeof *world->peers);
  need(world->peers);
  kit_world_join(&world->kit, ME, RANKS,
                 &(tutti_net_addresses){sizeof(tutti_net_addresses), NULL, address_of, drop_nothing});
}

static void listen_for_calls(void) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t n = sizeof a;
  called = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  need(called >= 0 && !bind(called, (struct sockaddr *)&a, n) && !listen(called, LINES));
  getsockname(called, (struct sockaddr *)&a, &n);
  memset(addresses, 0, sizeof addresses);
  for (int r = 0; r < RANKS; r++) {
    strcpy(addresses[r].home.host, "host");
    addresses[r].port = ntohs(a.sin_port);
    need(tt_as_six((const struct sockaddr *)&a, &addresses[r].home.addresses[0]));
  }
}

/* ---- operations of this process ---- */

static void make_net(void) {
  for (int i = 1; i < NETS; i++) {
    static const int lists[][RANKS] = {{0, ME}, {ME, 3, 2}, {3, 2, ME, 0}};
    if (nets[i].open) continue;
    const unsigned which = byte() % 3;
    const unsigned number = nets[0].net.fresh(nets[0].net.self) + byte() % 2;
    const int n = (int)which + 2;
    nets[i] = (mine){.ranks = n, .members = lists[which]};
    nets[i].open = !nets[0].net.pick(nets[0].net.self, number, lists[which], n, &nets[i].net);
    return;
  }
}

static void free_requests(mine *m) {
  for (int k = 0; k < SLOTS_USED; k++) free(m->slot[k].bytes);
  *m = (mine){.open = false};
}

static void close_net(mine *m) {
  if (!m->open) return;
  m->net.close(m->net.self, 1);
  free_requests(m);
}

static void begin_request(mine *m, bool receives) {
  static const size_t sizes[] = {0, 1, 16, 100, ROOM};
  const unsigned number = byte() % SLOTS_USED;
  request *r = &m->slot[number];
  if (!m->open || r->begun) return;
  free(r->bytes);
  *r = (request){.begun = true,
                 .receives = receives,
                 .peer = (int)byte() % m->ranks,
                 .tag = (int)byte() % 3,
                 .n = sizes[byte() % 5]};
  if (receives && byte() % 4 == 0) r->peer = TUTTI_NET_ANY;
  r->bytes = calloc(1, r->n + !r->n);
  need(r->bytes);
  if (receives)
    m->net.recv(m->net.self, (int)number, r->peer, r->tag, r->bytes, r->n);
  else
    m->net.send(m->net.self, (int)number, r->peer, r->tag, r->bytes, r->n, byte() % 2);
}

static void cancel(mine *m) {
  const unsigned number = byte() % SLOTS_USED;
  request *r = &m->slot[number];
  if (!m->open || !r->begun || !r->receives) return;
  m->net.cancel(m->net.self, (int)number);
  r->begun = false;
}

/* Polls the network, and checks that it reports plausible results for the requests. */
static void poll_net(mine *m) {
  tutti_net_done done[8];
  int n = 0;
  if (!m->open) return;
  const int failed = m->net.poll(m->net.self, SLOTS_USED, done, 8, &n);
  need(!failed || *m->net.error(m->net.self));
  for (int i = 0; i < n; i++) {
    need(done[i].peer >= 0 && done[i].peer < m->ranks);
    if (done[i].slot < 0) continue;
    need(done[i].slot < SLOTS_USED);
    request *r = &m->slot[done[i].slot];
    need(r->begun && (r->peer == TUTTI_NET_ANY || r->peer == done[i].peer));
    need(done[i].failed || done[i].bytes <= r->n);
    const int from = m->members ? m->members[done[i].peer] : done[i].peer;
    for (size_t b = 0; sincere && r->receives && !done[i].failed && b < done[i].bytes; b++)
      need(r->bytes[b] == (from == ME ? 0 : from + 1));
    r->begun = false;
  }
}

static void ask_fate(mine *m) {
  char words[100];
  if (!m->open) return;
  poll_net(m);
  m->net.fate(m->net.self, (int)byte() % m->ranks, words, sizeof words);
}

/* ---- operations of other processes ---- */

static void hang_up(int *fd) {
  const struct linger now = {.l_onoff = 1}; /* closes with a reset, so that no port stays in use */
  if (*fd < 0) return;
  setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(*fd);
  *fd = -1;
}

/* Connects to this process, or accepts a connection from it. */
static void come(int *fd) {
  struct sockaddr_un {
    sa_family_t family;
    char path[108];
  } name;
  socklen_t n = sizeof name;
  hang_up(fd);
  *fd = accept4(called, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (*fd >= 0) return;
  getsockname(world->listener.fd, (struct sockaddr *)(void *)&name, &n);
  *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  need(*fd >= 0);
  if (connect(*fd, (const struct sockaddr *)(const void *)&name, n)) hang_up(fd);
}

static void say(int fd, const void *bytes, size_t n) {
  if (fd >= 0 && send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n) sincere = false;
}

static void say_anything(int fd) {
  const size_t n = tt_min((size_t)byte(), (size_t)(end - at));
  say(fd, at, tt_min(n, (size_t)(end - at)));
  at += tt_min(n, (size_t)(end - at));
}

static uint32_t number_of_some(void) {
  static const uint32_t numbers[] = {0,          1,         2,          RANKS, RANKS + 1, 255,
                                     256,        100,       ROOM,       1000,  1 << 20,   1u << 30,
                                     UINT32_MAX, 1u << 31u, 0x7fffffff, 5};
  return numbers[byte() % (sizeof numbers / sizeof *numbers)];
}

static void say_hello(int k, uint32_t magic) {
  const unsigned odd = byte();
  uint32_t says[4] = {magic, odd % RANKS, ME};
  if (odd & 8) says[byte() % 3] = number_of_some();
  sincere &= !who[k] && !(odd & 16);
  who[k] = says[1] + 1;
  say(line[k], says, odd & 16 ? byte() % sizeof says : sizeof says);
}

static void say_message(int k) {
  char bytes[ROOM + 100];
  const unsigned odd = byte();
  const unsigned mix = byte();
  kit_head head = {.number = mix % 4,
                   .rank = mix / 4 % RANKS,
                   .kind = (uint8_t)(mix / 16 % 3),
                   .tag = (uint8_t)(mix / 64 % 3)};
  head.bytes = head.kind == KIT_RECEIPT ? 0 : byte();
  if (odd & 1) head.rank = number_of_some();
  if (odd & 2) head.number = number_of_some();
  if (odd & 4) head.kind = (uint8_t)byte();
  if (odd & 8) head.tag = (uint8_t)byte();
  size_t n = head.bytes;
  if (odd & 16) head.bytes = number_of_some();
  if (odd & 32) n = tt_min((size_t)head.bytes, sizeof bytes);
  sincere &= !(odd & 64) && head.bytes == n && who[k];
  memset(bytes, (int)who[k], sizeof bytes);
  say(line[k], &head, odd & 64 ? byte() % sizeof head : sizeof head);
  say(line[k], bytes, n);
}

static void act(void) {
  static char waste[1 << 16];
  const unsigned what = byte();
  const int k = (int)(what >> 4) % LINES;
  int *fd = &line[k];
  mine *m = &nets[(what >> 6) % NETS];
  switch (what % 16) {
    case 0:
      come(fd);
      who[k] = 0;
      break;
    case 1: /* determines how a handshake ends */
      sincere &= !who[k];
      say(*fd, &(char){(char)byte()}, 1);
      break;
    case 2: say_hello(k, TCP_HELLO); break;
    case 3: say_hello(k, TCP_WELCOME); break;
    case 4:
      sincere = false;
      say_anything(*fd);
      break;
    case 5: (void)!(*fd >= 0 ? recv(*fd, waste, sizeof waste, MSG_DONTWAIT) : 0); break;
    case 6: byte() % 2 ? hang_up(fd) : (void)(*fd >= 0 && shutdown(*fd, SHUT_WR)); break;
    case 7: begin_request(m, true); break;
    case 8: begin_request(m, false); break;
    case 9: cancel(m); break;
    case 10: make_net(); break;
    case 11:
      if (m != nets) close_net(m);
      break;
    case 12: ask_fate(m); break;
    default: say_message(k);
  }
  for (int n = (int)byte() % 4; n >= 0; n--) poll_net(&nets[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  at = data;
  end = data + size;
  signal(SIGPIPE, SIG_IGN);
  open_world();
  listen_for_calls();
  for (int i = 0; i < LINES; i++) line[i] = -1, who[i] = 0;
  sincere = true;
  need(!kit_net_make(&world->kit, 0, NULL, ME, RANKS, &nets[0].net));
  nets[0].open = true;
  nets[0].ranks = RANKS;
  for (int step = 0; at < end && step < STEPS; step++) act();
  for (int i = 0; i < LINES; i++) hang_up(&line[i]);
  close(called); /* resets pending connections */
  for (int r = 0; r < RANKS; r++)
    if (world->peers[r]) tcp_lose(world, world->peers[r], TCP_DIED);
  for (int i = 0; i < NETS; i++) poll_net(&nets[i]);
  for (int i = NETS - 1; i >= 0; i--) close_net(&nets[i]);
  return 0;
}
