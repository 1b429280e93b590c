/* aggregator_wire.c - the connection to an aggregator, which runs use one after another.
 *
 * Idea       Runs have their turns in the order of operations and, within an operation, of slices. In a turn, the rank
 *            sends a head and the bytes that the run contributes, and receives a head and the bytes that it wants.
 *            Pushed bytes are passed to the system immediately; arrived bytes are buffered until their run pulls them.
 *            A head without bytes needs no run: such heads are sent and received whenever the rank makes progress.
 * Cost       One copy into the system, as for any socket, and one out of the buffer.
 * Invariant  A run pushes only in its turn, so all members of a session send the same turns in the same
 *            order. Results have separate turns, in the same order.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aggregator.h"

enum { BUFFER = 256 << 10, ANSWER_MS = 100 };

/* The current turn in one of the two directions. */
typedef struct turns {
  uint64_t op;      /* index in the queue of operations */
  uint32_t slice;   /* of that operation */
  uint64_t moved;   /* bytes of this turn that have been transferred, without its head */
  uint32_t part;    /* index of the virtual rank whose bytes are being transferred */
  uint64_t of_part; /* bytes of that part that have been transferred */
  size_t head;      /* bytes of the turn's head that have been transferred */
} turns;

typedef struct member {
  tt_wire wire; /* its `outside` points to the next field */
  tt_outside outside;
  tt_secure *secure;   /* of fd */
  int fd, epoll, also; /* also: the second descriptor in `epoll`, or -1 */
  uint32_t events;
  char where[TT_AGGREGATOR_WHERE], why[TT_AGGREGATOR_WHY];
  bool lost;    /* the connection has ended, or carries invalid data */
  bool closed;  /* the other end has closed it */
  bool differs; /* members made different calls */
  bool blocked; /* the system accepted fewer bytes than were pushed */
  struct {
    uint64_t seq;
    uint32_t window;
  } queue[2 * TT_WINDOW]; /* operations, indexed by their number modulo the length of the queue */
  uint64_t queued;        /* number of operations so far */
  tt_share share[TT_LANE_P2P];
  uint8_t ways[TT_LANE_P2P]; /* number of directions (out, in) that a share still has to be
                                transferred in */
  turns out, in;
  tt_aggregator_head head;      /* of the turn being sent */
  double pace;                  /* sending rate limit in B/s; 0 means no limit */
  long silence;                 /* seconds without an answer after which the host is considered
                                   lost; 0 means never */
  struct sockaddr_storage peer; /* address of the aggregator */
  socklen_t peer_bytes;
  tt_aggregator_sum sum; /* the head of this turn's sum */
  char *buffer;
  size_t from, to; /* the part of the buffer in use */
} member;

static member *of(const tt_wire *w) {
  return (member *)(uintptr_t)w;
}

/* Marks the connection as lost, unless it already is, and keeps the reason. Data that has arrived can still be pulled. */
static void lose(member *a, const char *why) {
  if (!a->lost) snprintf(a->why, sizeof a->why, "%s", why);
  a->lost = true;
}

static void end_there(member *a) {
  a->closed = true;
  lose(a, "it has closed the connection");
}

static void lose_by_errno(member *a) {
  if (errno == EPIPE || errno == ECONNRESET)
    end_there(a);
  else
    lose(a, strerror(errno));
}

/* ---- turns ---- */

/* Returns the run that a turn belongs to, or NULL if this rank has not started that run yet. */
static const tt_share *run_of(const member *a, const turns *x) {
  if (x->op == a->queued) return NULL;
  const uint32_t at = x->op % (2 * TT_WINDOW);
  const tt_share *s = &a->share[a->queue[at].window * TT_FLIGHT + x->slice % TT_FLIGHT];
  return s->stamp.seq == a->queue[at].seq && s->slice == x->slice ? s : NULL;
}

/* Returns how many bytes may be exchanged with this peer now. */
static uint64_t left_of_part(const member *a, const tt_share *s, turns *x, int peer) {
  const uint64_t *part = x == &a->in ? s->wanted : s->given;
  while (x->part < TT_PARTS && x->of_part == part[x->part]) x->part++, x->of_part = 0;
  if (x->part == TT_PARTS || s->first + (int)x->part != peer) return 0;
  return part[x->part] - x->of_part;
}

/* Returns true if the head of a turn and all its data have been transferred. */
static bool has_passed(const member *a, const turns *x, const tt_share *s) {
  const bool in = x == &a->in;
  return x->head == (in ? sizeof a->sum : sizeof a->head) &&
         x->moved == (in ? s->wants.bytes : s->gives.bytes);
}

/* Advances to the next turn once all data of the current turn has been transferred. Empty vectors have no turn. */
static void end_turns(member *a, turns *x) {
  for (const tt_share *s; (s = run_of(a, x)) && (!s->bytes || has_passed(a, x, s));) {
    const bool last = x->slice + 1 == s->slices;
    if (s->bytes) a->ways[s->lane]--;
    *x = (turns){.op = x->op + last, .slice = last ? 0 : x->slice + 1};
  }
}

static bool is_over(const tt_wire *w, int lane, tutti_status *status) {
  const member *a = of(w);
  if (a->differs && a->ways[lane])
    *status = TUTTI_ERR_MISMATCH; /* the communicator finds out which calls were made */
  return !a->ways[lane];
}

static bool pass_heads(member *a);

static void begin_run(tt_wire *w, const tt_share *share) {
  member *a = of(w);
  a->share[share->lane] = *share;
  a->ways[share->lane] = share->bytes ? 2 : 0;
  if (share->slice == 0) {
    a->queue[a->queued % (2 * TT_WINDOW)].window = (uint32_t)share->lane / TT_FLIGHT;
    a->queue[a->queued % (2 * TT_WINDOW)].seq = share->stamp.seq;
    a->queued++;
  }
  end_turns(a, &a->out);
  end_turns(a, &a->in);
  pass_heads(a);
}

/* ---- to the aggregator ---- */

static tt_aggregator_head head_of(const tt_share *s) {
  return (tt_aggregator_head){.stamp = s->stamp,
                              .slice = s->slice,
                              .type = s->type,
                              .op = s->op,
                              .data = s->data,
                              .bytes = s->bytes,
                              .gives = s->gives,
                              .wants = s->wants};
}

/* Limits the sending rate to the aggregator to its share of the link, as long as the rank also sends data to other ranks.
 * Without the limit, a rank that waits for the other data would leave its link idle. */
static void keep_pace(member *a, const tt_share *s) {
  static const double more =
      1.05; /* factor above its share, because the last byte returns later than it was sent */
  const double all = (double)(s->gives.bytes + s->beside);
  const double pace = s->beside ? more * a->outside.link * (double)s->gives.bytes / all : 0;
  if (pace != a->pace) tt_aggregator_pace(a->fd, pace);
  a->pace = pace;
}

/* Sends the parts one after another. Behaves like sendmsg. */
static ssize_t send_secured(const member *a, const struct iovec parts[2]) {
  size_t sent = 0;
  for (int i = 0; i < 2; i++)
    for (size_t at = 0; at < parts[i].iov_len;) {
      const ssize_t n = tt_secure_send(a->secure, a->fd, (const char *)parts[i].iov_base + at,
                                       parts[i].iov_len - at);
      if (n < 0) return sent ? (ssize_t)sent : n;
      at += (size_t)n;
      sent += (size_t)n;
    }
  return (ssize_t)sent;
}

/* Sends as many bytes of both parts as the socket accepts. Returns the number of bytes sent. */
static size_t send_parts(member *a, struct iovec parts[2]) {
  const size_t n = parts[0].iov_len + parts[1].iov_len;
  const bool one = !parts[0].iov_len;
  const struct msghdr m = {.msg_iov = parts + one, .msg_iovlen = one ? 1 : 2};
  ssize_t sent;
  do sent = a->secure ? send_secured(a, parts) : sendmsg(a->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  a->blocked = sent < (ssize_t)n;
  if (sent >= 0) return (size_t)sent;
  /* data that has arrived is read first; reading then reports the end */
  if (errno != EAGAIN && errno != EPIPE && errno != ECONNRESET) lose_by_errno(a);
  return 0;
}

/* Sends the remainder of the head of a share, followed by n bytes of its data. Returns how many of the n bytes were sent. */
static size_t send_share(member *a, const tt_share *s, const void *bytes, size_t n) {
  if (a->lost) return 0;
  if (!a->out.head) {
    a->head = head_of(s);
    keep_pace(a, s);
  }
  const size_t rest = sizeof a->head - a->out.head;
  struct iovec parts[] = {{(char *)&a->head + a->out.head, rest}, {(void *)(uintptr_t)bytes, n}};
  const size_t sent = send_parts(a, parts), of_head = tt_min(sent, rest), taken = sent - of_head;
  a->out.head += of_head;
  a->out.moved += taken;
  a->out.of_part += taken;
  end_turns(a, &a->out);
  return taken;
}

static size_t push(tt_wire *w, int peer, int lane, tt_stamp stamp, const void *bytes, size_t n,
                   size_t left, uint64_t *ticket, tutti_status *status) {
  member *a = of(w);
  const tt_share *s = run_of(a, &a->out);
  (void)stamp, (void)left, (void)status;
  *ticket = 0;
  if (!s || s->lane != lane || !left_of_part(a, s, &a->out, peer)) return 0;
  return send_share(a, s, bytes, n);
}

/* ---- from the aggregator ---- */

static void fill(member *a) {
  if (a->from == a->to) a->from = a->to = 0;
  if (a->to == BUFFER || a->lost) return;
  const ssize_t n = tt_secure_recv(a->secure, a->fd, a->buffer + a->to, BUFFER - a->to);
  if (n > 0) a->to += (size_t)n;
  if (n < 0 && errno != EAGAIN && errno != EINTR) lose_by_errno(a);
  if (!n) end_there(a);
}

/* Gives up the connection, because the aggregator has sent wrong data. The data received so far is discarded. */
static void drop_nonsense(member *a) {
  lose(a, "it has sent data that is not the sum of this operation");
  a->from = a->to = a->in.head = 0;
}

/* Reads the head that precedes a sum. Returns false if the head has not fully arrived, or if no valid sum follows it. */
static bool read_sum_head(member *a, const tt_share *s) {
  if (a->in.head == sizeof a->sum) return true;
  const size_t n = tt_min(sizeof a->sum - a->in.head, a->to - a->from);
  memcpy((char *)&a->sum + a->in.head, a->buffer + a->from, n);
  a->from += n;
  a->in.head += n;
  if (a->in.head < sizeof a->sum) return false;
  a->differs = a->sum.status == TUTTI_ERR_MISMATCH;
  if (a->differs) return false;
  const bool right = !a->sum.status && a->sum.seq == s->stamp.seq && a->sum.bytes == s->bytes;
  if (!right) drop_nonsense(a);
  return right;
}

/* Sends the heads of runs without data from this rank. Returns true if anything was sent. */
static bool send_heads(member *a) {
  bool moved = false;
  for (const tt_share *s; (s = run_of(a, &a->out)) && !s->gives.bytes;) {
    const size_t before = a->out.head;
    send_share(a, s, NULL, 0);
    moved |= a->out.head != before;
    if (run_of(a, &a->out) == s) break;
  }
  return moved;
}

/* Reads such heads. Returns true if one was read. */
static bool read_heads(member *a) {
  bool moved = false;
  for (const tt_share *s; (s = run_of(a, &a->in)) && !s->wants.bytes && !a->differs;) {
    if (a->from == a->to) fill(a);
    if (!read_sum_head(a, s)) break;
    end_turns(a, &a->in);
    moved = true;
  }
  return moved;
}

static bool pass_heads(member *a) {
  return send_heads(a) | read_heads(a);
}

static size_t head(tt_wire *w, int peer, int lane, tt_stamp *stamp) {
  member *a = of(w);
  const tt_share *s = run_of(a, &a->in);
  if (!s || s->lane != lane || a->differs || !left_of_part(a, s, &a->in, peer)) return 0;
  *stamp = s->stamp;
  if (a->from == a->to) fill(a);
  if (!read_sum_head(a, s)) return 0;
  if (a->from == a->to) fill(a);
  return tt_min(a->to - a->from, (size_t)left_of_part(a, s, &a->in, peer));
}

static const void *view(tt_wire *w, int peer, int lane, size_t *n, tutti_status *status) {
  tt_stamp stamp;
  (void)status;
  *n = tt_min(*n, head(w, peer, lane, &stamp));
  return of(w)->buffer + of(w)->from;
}

static void release(tt_wire *w, int peer, int lane, size_t n) {
  member *a = of(w);
  (void)peer, (void)lane;
  a->from += n;
  a->in.moved += n;
  a->in.of_part += n;
  end_turns(a, &a->in);
}

static bool pull(tt_wire *w, int peer, int lane, void *to, size_t n, tutti_status *status) {
  (void)status;
  memcpy(to, of(w)->buffer + of(w)->from, n);
  release(w, peer, lane, n);
  return true;
}

/* ---- waiting, and closing ---- */

static int sleep_fd(tt_wire *w, int also) {
  member *a = of(w);
  if (a->lost) return also; /* a closed connection would wake the sleeper again and again */
  const uint32_t want = (a->to < BUFFER ? EPOLLIN : 0u) | (a->blocked ? EPOLLOUT : 0u);
  struct epoll_event e = {.events = want, .data = {.fd = a->fd}};
  if (want != a->events) epoll_ctl(a->epoll, EPOLL_CTL_MOD, a->fd, &e);
  a->events = want;
  if (also == a->also) return a->epoll;
  if (a->also >= 0) epoll_ctl(a->epoll, EPOLL_CTL_DEL, a->also, NULL);
  e = (struct epoll_event){.events = EPOLLIN, .data = {.fd = also}};
  a->also = also >= 0 && !epoll_ctl(a->epoll, EPOLL_CTL_ADD, also, &e) ? also : -1;
  return a->also == also ? a->epoll : -1;
}

/* Returns true if sent data has been unacknowledged by the aggregator's host for too long. */
static bool is_silent(const member *a) {
  const long silence = a->silence;
  struct tcp_info info;
  socklen_t n = sizeof info;
  if (!silence || getsockopt(a->fd, IPPROTO_TCP, TCP_INFO, &info, &n)) return false;
  return info.tcpi_unacked && info.tcpi_last_ack_recv > 1000 * (uint32_t)silence;
}

static bool alive(tt_wire *w, int peer) {
  member *a = of(w);
  (void)peer;
  if (a->from == a->to && !a->differs) fill(a); /* detects the end of the connection */
  if (!a->lost && is_silent(a)) lose(a, "its host has been silent too long (TUTTI_SILENCE)");
  return !a->lost || a->differs;
}

/* Opens a second connection to the aggregator. If it is accepted, the process is alive, and may have ended the session
 * because a member died. */
static bool answers(const tt_wire *w) {
  const member *a = of(w);
  if (!a->closed) return false;
  const int fd = socket(a->peer.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  struct pollfd p = {.fd = fd, .events = POLLOUT};
  int error = -1;
  socklen_t n = sizeof error;
  if (fd < 0) return false;
  const bool begins =
      !connect(fd, (const struct sockaddr *)&a->peer, a->peer_bytes) || errno == EINPROGRESS;
  const bool ends = begins && poll(&p, 1, ANSWER_MS) == 1 &&
                    !getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) && !error;
  close(fd);
  return ends;
}

static int read_record(tt_wire *w, int peer, uint64_t seq, tt_record *record) {
  (void)w, (void)peer, (void)seq, (void)record;
  return TT_UNKNOWN;
}

static long pid(tt_wire *w, int peer) {
  (void)w, (void)peer;
  return 0;
}

static const tt_shown *shown(tt_wire *w, int peer) {
  (void)w, (void)peer;
  return NULL;
}

static void quit(tt_wire *w) {
  lose(of(w), "the communicator has ended");
  shutdown(of(w)->fd, SHUT_RDWR);
}

static bool drive(tt_wire *w) {
  return pass_heads(of(w));
}

static void close_wire(tt_wire *w) {
  member *a = of(w);
  if (a->epoll >= 0) close(a->epoll);
  close(a->fd);
  tt_secure_drop(&a->secure);
  free(a->buffer);
  free(a);
}

static const char *where(const tt_wire *w) {
  return of(w)->where;
}

static const char *why(const tt_wire *w) {
  return of(w)->why;
}

static const tt_channel_ops channel_ops = {
    .push = push, .head = head, .view = view, .release = release, .pull = pull};
static const tt_peer_ops peer_ops = {
    .read_record = read_record, .alive = alive, .pid = pid, .shown = shown, .close = close_wire};
static const tt_outside_ops outside_ops = {.name = "aggregator",
                                           .begin = begin_run,
                                           .over = is_over,
                                           .drive = drive,
                                           .answers = answers,
                                           .quit = quit,
                                           .sleep_fd = sleep_fd,
                                           .where = where,
                                           .why = why};

tutti_status tt_aggregator_wire(tt_connection to, const char *name, int rank, int ranks,
                                tt_wire **wire) {
  member *a = calloc(1, sizeof *a);
  char *buffer = malloc(BUFFER);
  struct epoll_event e = {.events = EPOLLIN, .data = {.fd = to.fd}};
  if (!a || !buffer) {
    free(a);
    free(buffer);
    tt_secure_drop(&to.secure);
    close(to.fd);
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the connection to an aggregator");
  }
  *a = (member){.wire = {.channel = &channel_ops,
                         .peer = &peer_ops,
                         .outside = &a->outside,
                         .rank = rank,
                         .ranks = ranks},
                .outside = {.ops = &outside_ops, .wire = &a->wire},
                .fd = to.fd,
                .secure = to.secure,
                .epoll = epoll_create1(EPOLL_CLOEXEC),
                .also = -1,
                .silence = tt_env_int("TUTTI_SILENCE", 0, 86400, 30),
                .events = EPOLLIN,
                .peer_bytes = sizeof a->peer,
                .buffer = buffer};
  snprintf(a->where, sizeof a->where, "%s", name);
  getpeername(to.fd, (struct sockaddr *)&a->peer, &a->peer_bytes);
  if (a->epoll >= 0 && !epoll_ctl(a->epoll, EPOLL_CTL_ADD, to.fd, &e)) {
    *wire = &a->wire;
    return TUTTI_OK;
  }
  close_wire(&a->wire);
  return tt_fail(TUTTI_ERR_SYSTEM, "no descriptors to wait for an aggregator: %s", strerror(errno));
}
