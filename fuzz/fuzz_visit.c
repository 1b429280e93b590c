/* fuzz_visit.c - fuzzes the replies to a process that connects to the bootstrap: those of a
 * rendezvous, of the agent of its host, of an agent on another host, or of a waiting room; or of a
 * process that has replaced one of them.
 *
 * Idea       A thread listens where the process connects. The input controls this end: it sends a
 *            handshake, replies, tables and descriptors, each correct except for some fields, and
 *            then closes the connection, so that no run waits for a time limit.
 * Invariant  The process trusts nothing before the other end has proven the key. It fails with an
 *            error message, and leaves no descriptor open.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fuzz.h"
#include "guests.h"
#include "meet_line.h"
#include "room.h"

enum { RANKS = 3, CALLS = 16, HOST = 5 };

static const uint8_t *at, *end;
static char key[TT_KEY + 1]; /* unique to this process, because several may run */
static int port, listener;

static unsigned byte(void) {
  return at < end ? *at++ : 0;
}

/* ---- the other end ---- */

typedef struct other { /* the other end of one connection */
  int fd;
} other;

static void say(const other *o, const void *bytes, size_t n) {
  for (const char *from = bytes; n;) {
    const ssize_t part = send(o->fd, from, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (part <= 0) return; /* the peer has closed the connection, or does not read */
    from += part, n -= (size_t)part;
  }
}

static bool hear(const other *o, void *bytes, size_t n) {
  return recv(o->fd, bytes, n, MSG_WAITALL) == (ssize_t)n;
}

static uint32_t number_of_some(void) {
  static const uint32_t numbers[] = {0,        1,          2,  RANKS,       RANKS + 1, 1 << 20,
                                     1u << 31, UINT32_MAX, 8,  400,         404,       1u << 30,
                                     65536,    0x7fffffff, 16, (uint32_t)-3};
  return numbers[byte() % (sizeof numbers / sizeof *numbers)];
}

/* Acts as a rendezvous during the handshake. Returns false if the handshake fails. */
static bool greet(other *o) {
  const unsigned odd = byte();
  tt_hello hello;
  tt_challenge c = {.magic = TT_MEET_MAGIC, .nonce = {odd & 1}};
  unsigned char proof[TT_DIGEST];
  if (!hear(o, &hello, sizeof hello)) return false;
  tt_prove_key(TT_RENDEZVOUS, key, &hello, c.nonce, c.proof);
  if (odd & 2) ((char *)&c)[byte() % sizeof c] ^= (char)byte();
  if (odd & 4) { /* a refusal, or data of another protocol */
    tt_reply reply = {-(int)(byte() % 20), byte() * 2u};
    if (odd & 8) reply.bytes = number_of_some();
    char words[600];
    memset(words, 'w', sizeof words);
    say(o, &reply, sizeof reply);
    say(o, words, byte() * 2u);
    return false;
  }
  say(o, &c, sizeof c);
  if (!hear(o, proof, sizeof proof)) return false;
  if (odd & 16) return false;
  say(o, TT_MEET_MAGIC, 8);
  return true;
}

static char body[1 << 13];

static void put_numbers(size_t n) {
  for (size_t k = 0; k < n; k++) {
    const uint32_t x = byte() % 2 ? number_of_some() : byte() % 4;
    memcpy(body + 4 * k, &x, sizeof x);
  }
}

/* Writes a table of all ranks in which only some bytes are incorrect. Returns the size of the table in bytes. */
static size_t put_table(char *to, int ranks) {
  uint32_t offset = (uint32_t)tt_row_bytes(((size_t)ranks + 1) * sizeof offset);
  for (int r = 0; r <= ranks; r++) {
    memcpy(to + r * (int)sizeof offset, &offset, sizeof offset);
    if (r < ranks) offset += (uint32_t)tt_row_bytes(byte() % 128);
  }
  for (unsigned k = byte() % 4; k > 0; k--) to[byte() * 2u % offset] ^= (char)byte();
  return offset;
}

/* ---- a waiting room ---- */

static size_t put_invitation(char *to) {
  tt_invitation i = {.ranks = RANKS, .first = RANKS - 1, .joiners = 1, .limit = 1};
  const unsigned odd = byte();
  if (odd & 1) i.ranks = (int32_t)number_of_some();
  if (odd & 2) i.first = (int32_t)number_of_some();
  if (odd & 4) i.joiners = (int32_t)number_of_some();
  if (odd & 8) i.helpers = (int32_t)number_of_some();
  if (odd & 16) memset(&i.limit, (int)byte(), sizeof i.limit);
  if (odd & 32) ((char *)&i.settings)[byte() % sizeof i.settings] = (char)byte();
  memcpy(to, &i, sizeof i);
  return odd & 64 ? byte() : sizeof i;
}

static void play_room(other *o) {
  for (int k = 0; at < end && k < 8; k++) {
    const unsigned what = byte();
    const tt_handed handed = {1, what & 8 ? number_of_some() : 0};
    tt_reply reply = {TT_HANDED, 0};
    memset(body, 0, sizeof body);
    memcpy(body, &handed, sizeof handed);
    switch (what % 8) {
      case 0:
      case 1: reply.bytes = (uint32_t)(sizeof handed + put_invitation(body + sizeof handed)); break;
      case 2:
      case 3:
        reply.bytes = (uint32_t)(sizeof handed + put_table(body + sizeof handed, RANKS));
        break;
      case 4: reply = (tt_reply){TT_ADMITTED, sizeof handed}; break;
      case 5: reply.status = TT_ALONE; break;
      case 6: reply = (tt_reply){-(int)(byte() % 20), byte()}; break;
      default:
        put_numbers(8);
        reply = (tt_reply){TT_CLAIMED + (int)(byte() % 8), byte() % 40};
        break;
    }
    const size_t n = tt_min(reply.bytes, sizeof body);
    if (what & 64) reply.bytes = number_of_some();
    say(o, &reply, sizeof reply);
    say(o, body, what & 128 ? tt_min(n, (size_t)byte()) : n);
  }
}

/* ---- above an agent ---- */

static void play_above(other *o) {
  tt_agent_place place = {.hosts = 1, .port = port, .host = {"127.0.0.1"}};
  const unsigned what = byte();
  tt_reply reply = {what & 1 ? TT_STAY : TT_GO, what & 1 ? 0 : sizeof place};
  if (what & 2) reply.status = (int)byte() - 20;
  if (what & 4) reply.bytes = number_of_some();
  if (what & 8) place.hosts = (int32_t)number_of_some();
  if (what & 16) place.port = (int32_t)number_of_some();
  say(o, &reply, sizeof reply);
  say(o, &place, what & 32 ? byte() : reply.status == TT_STAY ? 0 : sizeof place);
  if (!(what & 1)) return;
  reply.status = what & 64 ? TT_TABLE : -(int)(byte() % 20);
  reply.bytes = (uint32_t)(what & 64 ? put_table(body, RANKS) : byte());
  say(o, &reply, sizeof reply);
  say(o, body, reply.bytes);
}

/* ---- the agent of a host ---- */

/* Returns a descriptor of a table, or of something else. */
static int descriptor_of(size_t n, unsigned odd) {
  const int fd = odd & 1 ? open("/dev/null", O_RDWR | O_CLOEXEC)
                         : memfd_create("table", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  need(fd >= 0);
  (void)!write(fd, body, n);
  if (!(odd & 2)) fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  return fd;
}

static void hand_out(const other *o, void *bytes, size_t n, int fd) {
  struct iovec part = {bytes, n};
  union {
    struct cmsghdr head;
    char room[CMSG_SPACE(2 * sizeof(int))];
  } with = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
                     .cmsg_level = SOL_SOCKET,
                     .cmsg_type = SCM_RIGHTS}};
  struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
  const int both[2] = {fd, fd};
  const int count = 1 + (byte() % 4 == 1);
  with.head.cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
  memcpy(CMSG_DATA(&with.head), both, (size_t)count * sizeof *both);
  if (fd >= 0) {
    m.msg_control = &with;
    m.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
  }
  (void)!sendmsg(o->fd, &m, MSG_NOSIGNAL);
}

static void play_agent(other *o) {
  static const unsigned char none[TT_DIGEST];
  tt_greeting greeting;
  struct {
    unsigned char proof[TT_DIGEST];
    tt_reply reply;
  } first;
  if (!hear(o, &greeting, sizeof greeting)) return;
  tt_prove_key(TT_RENDEZVOUS, key, &greeting.hello, none, first.proof);
  for (int round = 0; at < end && round < 2; round++) {
    const unsigned what = byte();
    const size_t n = put_table(body, RANKS);
    first.reply = (tt_reply){TT_TABLE, (uint32_t)n};
    const int fd = what & 1 ? -1 : descriptor_of(n, what >> 6);
    if (what & 2) first.reply.status = -(int)(byte() % 20);
    if (what & 4) first.reply.bytes = number_of_some();
    if (what & 8) first.proof[0] ^= 1;
    char *from = (char *)(round ? &first.reply : (void *)&first);
    const size_t all = (size_t)((char *)(&first + 1) - from);
    hand_out(o, from, what & 16 ? tt_min(all, (size_t)byte()) : all, fd);
    if (what & 2) say(o, body, byte() * 2u);
    if (fd >= 0) close(fd);
  }
}

/* ---- connections ---- */

typedef enum part { ROOM, ABOVE, AGENT, PARTS } part;

static void *listen_on(void *arg) {
  static void (*const play[])(other *) = {play_room, play_above, play_agent};
  const part which = *(const part *)arg;
  int open[CALLS], n = 0;
  while (n < CALLS) {
    other o = {.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)};
    if (o.fd < 0) break; /* the listener was shut down */
    open[n++] = o.fd;
    if (which == AGENT || greet(&o)) play[which](&o);
    shutdown(o.fd, SHUT_WR);
  }
  while (n) { /* closes with a reset, so that no port stays in use */
    const struct linger now = {.l_onoff = 1};
    setsockopt(open[--n], SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(open[n]);
  }
  return NULL;
}

/* Binds a socket to the name of the agent's socket. The name is computed in the same way as in visit.c. */
static void listen_as_agent(void) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  const uint64_t host = HOST;
  const tt_piece pieces[] = {{"tutti agent 4", 14}, {&host, sizeof host}};
  unsigned char digest[TT_DIGEST];
  tt_hmac(key, TT_KEY, pieces, 2, digest);
  int n = sprintf(name.sun_path + 1, "tutti-");
  for (int i = 0; i < 12; i++) n += sprintf(name.sun_path + 1 + n, "%02x", digest[i]);
  listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  need(!bind(listener, (const struct sockaddr *)&name,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)));
}

static void listen_here(part which) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t n = sizeof a;
  if (which == AGENT) {
    listen_as_agent();
  } else {
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(!bind(listener, (const struct sockaddr *)&a, n));
    getsockname(listener, (struct sockaddr *)&a, &n);
    port = ntohs(a.sin_port);
  }
  need(!listen(listener, CALLS));
}

/* ---- the connecting process ---- */

static tutti_status come_to_room(const tt_rendezvous *r) {
  tutti_comm *comm = NULL;
  const tutti_status status = tt_guest_join(r, 1, 1, &comm);
  need(!comm);
  return status;
}

static tutti_status come_as_agent(const tt_rendezvous *r) {
  tt_meet_line like = {.fd = -1,
                       .until = tt_seconds() + 1,
                       .hello = {.magic = TT_MEET_MAGIC,
                                 .protocol = TT_MEET_PROTOCOL,
                                 .rank = 1,
                                 .ranks = RANKS,
                                 .limit_ms = 1000}};
  int pair[2];
  tt_agent *agent;
  memcpy(like.key, key, TT_KEY);
  need(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair));
  const tutti_status status = tt_agent_start(r, &like, -1, pair[1], &agent);
  close(pair[0]);
  if (!status) tt_agent_leave(agent, true);
  return status ? status : tt_fail(TUTTI_ERR_SYSTEM, "it has served");
}

static tutti_status come_to_agent(const tt_rendezvous *r) {
  tt_meeting m;
  tutti_status status = tt_meet_visit(r, HOST, 1, RANKS, 0, &m);
  for (int round = 0; !status && round < 2; round++) {
    tt_table all;
    size_t n, sum = 0;
    status = m.gather(&m, TUTTI_OK, "a row", 6, &all);
    for (int k = 0; !status && k < RANKS; k++) {
      const char *row = tt_table_row(&all, k, &n);
      for (size_t b = 0; b < n; b++) sum += (unsigned char)row[b];
    }
    need(sum < SIZE_MAX);
    tt_table_drop(&all);
  }
  m.end(&m);
  return status;
}

/* Returns the number that the next descriptor will get. */
static int next_descriptor(void) {
  const int fd = dup(STDERR_FILENO);
  close(fd);
  return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static tutti_status (*const come[])(const tt_rendezvous *) = {come_to_room, come_as_agent,
                                                                come_to_agent};
  pthread_t thread;
  tt_rendezvous r = {.hosts = 1, .host = {"127.0.0.1"}};
  at = data;
  end = data + size;
  signal(SIGPIPE, SIG_IGN);
  setenv("TUTTI_NET", "none", 1);
  setenv("TUTTI_CONNECT_TIMEOUT", "2", 1);
  snprintf(key, sizeof key, "%032d", (int)getpid());
  part which = (part)(byte() % PARTS);
  const int before = next_descriptor();
  listen_here(which);
  memcpy(r.key, key, TT_KEY);
  r.port = port;
  need(!pthread_create(&thread, NULL, listen_on, &which));
  const tutti_status status = come[which](&r);
  need(!status || *tutti_error());
  shutdown(listener, SHUT_RDWR);
  pthread_join(thread, NULL);
  close(listener);
  need(next_descriptor() == before);
  return 0;
}
