/* visit.c - a rank in a bootstrap: it connects to the agent of its host, or becomes the agent.
 *
 * Idea       All ranks of a host derive the same name of a local socket from the key and the host. The rank that
 *            binds the name becomes the agent (agent.c); the others connect to it. When an agent serves the maximum
 *            number of ranks, or its bootstrap has begun, it releases the name, and the next rank becomes an agent.
 * Invariant  A rank only exchanges data with an agent of the same user that knows the key. If another user has taken
 *            the name, the rank starts an agent for itself.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "meet_line.h"

static const double GRACE = 5; /* in seconds */
enum { WAITING = 1024 /* ranks that can wait until an agent accepts them */, MOMENT_MS = 50 };

typedef struct visit {
  tt_meet_line line;
  tt_rendezvous at;
  struct sockaddr_un name;
  socklen_t name_bytes;
  bool alone, failed;
  tt_agent *agent; /* started by this rank; or NULL */
} visit;

/* ---- the agent ---- */

/* Makes the name of the agent's socket: an abstract name, which leaves no file behind, with 24 digits of a keyed digest. */
static void make_name(visit *v, uint64_t host) {
  const tt_piece pieces[] = {{"tutti agent 4", 14}, {&host, sizeof host}};
  unsigned char digest[TT_DIGEST];
  tt_hmac(v->line.key, TT_KEY, pieces, 2, digest);
  v->name.sun_family = AF_UNIX;
  int n = snprintf(v->name.sun_path + 1, sizeof v->name.sun_path - 1, "tutti-");
  for (int i = 0; i < 12; i++)
    n += snprintf(v->name.sun_path + 1 + n, sizeof v->name.sun_path - 1 - (size_t)n, "%02x",
                  digest[i]);
  v->name_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* Returns a socket that listens under the agent's name, or -1. *taken: set if another process already uses the name. */
static int bind_name(const visit *v, bool *taken) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  *taken = false;
  if (fd < 0) return -1;
  if (!bind(fd, (const struct sockaddr *)&v->name, v->name_bytes) && !listen(fd, WAITING))
    return fd;
  *taken = errno == EADDRINUSE;
  close(fd);
  return -1;
}

/* Starts an agent in this process. *taken: set if another process is already the agent of this host. If the name
 * cannot be bound for another reason, the agent serves this rank only. */
static tutti_status become_agent(visit *v, bool *taken) {
  int pair[2];
  *taken = false;
  const int listener = v->alone ? -1 : bind_name(v, taken);
  if (*taken) return TUTTI_OK;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair)) {
    const int why = errno;
    if (listener >= 0) close(listener);
    return tt_fail(TUTTI_ERR_SYSTEM, "rank %u cannot connect to others: no sockets: %s",
                   v->line.hello.rank, strerror(why));
  }
  const tutti_status status = tt_agent_start(&v->at, &v->line, listener, pair[1], &v->agent);
  if (status) {
    close(pair[0]);
    return status;
  }
  v->line.fd = pair[0];
  v->line.agent = (int)getpid();
  snprintf(v->line.at, sizeof v->line.at, "this process");
  return TUTTI_OK;
}

/* ---- connecting ---- */

/* Returns false if the process that listens under the agent's name belongs to another user. */
static bool is_own_user(visit *v) {
  struct ucred who;
  socklen_t n = sizeof who;
  if (getsockopt(v->line.fd, SOL_SOCKET, SO_PEERCRED, &who, &n) || who.uid != geteuid())
    return false;
  v->line.agent = who.pid;
  snprintf(v->line.at, sizeof v->line.at, "process %d on this host", (int)who.pid);
  return true;
}

/* Connects to the agent, if one is running. */
static bool find_agent(visit *v) {
  v->line.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (v->line.fd < 0) return false;
  const bool there = !connect(v->line.fd, (const struct sockaddr *)&v->name, v->name_bytes);
  const bool full = !there && errno == EAGAIN; /* too many ranks are waiting */
  if (there && is_own_user(v)) return true;
  v->alone |= there;
  close(v->line.fd);
  v->line.fd = -1;
  errno = full ? EAGAIN : ECONNREFUSED;
  return false;
}

/* Sends the greeting to the agent. The first reply of the agent contains the agent's proof. */
static tutti_status greet(tt_meet_line *l) {
  static const unsigned char none[TT_DIGEST];
  tt_greeting mine;
  const tutti_status status = tt_nonce(l->hello.nonce);
  if (status) return status;
  mine.hello = l->hello;
  tt_prove_key(TT_VISITOR, l->key, &l->hello, none, mine.proof);
  tt_meet_send(l, &mine, sizeof mine); /* on failure, read its reason */
  return TUTTI_OK;
}

/* Connects to the agent of this host, or starts an agent in this process if the host has none. */
static tutti_status join_host(visit *v) {
  tt_meet_line *l = &v->line;
  double asked = 0;
  l->gone = false;
  for (useconds_t pause = 500; tt_seconds() < l->until + GRACE;
       pause = pause < 20000 ? 2 * pause : pause) {
    tutti_status status = TUTTI_OK;
    bool taken = false;
    if ((v->alone || !find_agent(v)) && (v->alone || errno != EAGAIN))
      status = become_agent(v, &taken);
    if (status) return status;
    if (l->fd >= 0) return greet(l);
    if (tt_interrupted(&asked)) return tt_say_interrupted("tutti_comm_create");
    usleep(pause);
  }
  return tt_fail(TUTTI_ERR_TIMEOUT,
                 "rank %u could not connect to the other ranks of its host within the "
                 "time limit (TUTTI_CONNECT_TIMEOUT)",
                 l->hello.rank);
}

/* ---- rounds ---- */

static tutti_status send_row(visit *v, const void *mine, size_t bytes) {
  size_t n;
  tt_row *row = tt_row_new(TUTTI_OK, mine, bytes, &n);
  if (!row) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %zu bytes", bytes);
  row->of = (int32_t)v->line.hello.rank;
  const tutti_status status = tt_meet_send_frame(&v->line, TT_ROWS, row, n, NULL, 0);
  free(row);
  return status;
}

static void send_failure(visit *v, tutti_status status) {
  tt_refusal why = {.status = status};
  snprintf(why.text, sizeof why.text, "rank %u (%s): %.290s", v->line.hello.rank, v->line.hello.who,
           tutti_error());
  tt_meet_send_frame(&v->line, TT_CANNOT, &why, sizeof why, NULL, 0);
}

typedef struct first_reply {
  unsigned char proof[TT_DIGEST];
  tt_reply reply;
} first_reply;

static tutti_status check_agent(tt_meet_line *l, const unsigned char proof[TT_DIGEST]) {
  static const unsigned char none[TT_DIGEST];
  unsigned char right[TT_DIGEST];
  tt_prove_key(TT_RENDEZVOUS, l->key, &l->hello, none, right);
  l->greeted = tt_digest_same(right, proof);
  return l->greeted ? TUTTI_OK : tt_meet_unknowing(l);
}

/* Receives the header of a reply, and the descriptor sent along with it. In the first reply, the header follows the
 * agent's proof. *fd: set to -1 if no descriptor was sent. */
static tutti_status receive_header(tt_meet_line *l, tt_reply *reply, int *fd) {
  const double until = l->until + GRACE;
  first_reply first;
  char *to = l->greeted ? (char *)&first.reply : (char *)&first;
  const size_t bytes = sizeof first - (size_t)(to - (char *)&first);
  struct iovec part = {to, bytes};
  union {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
  } with;
  *fd = -1;
  tt_long_wait wait = tt_long_wait_begin("tutti_comm_create");
  for (;;) {
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &with, .msg_controllen = sizeof with};
    const ssize_t n = recvmsg(l->fd, &message, MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN && tt_meet_ready(l->fd, POLLIN, until, &wait)) continue;
    tt_long_wait_end(&wait);
    if (n < 0 && errno == ECANCELED) return tt_say_interrupted("tutti_comm_create");
    if (n <= 0) return tt_meet_recv(l, to, bytes, 0); /* sets the error */
    const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
      memcpy(fd, CMSG_DATA(c), sizeof *fd);
    tutti_status status = tt_meet_recv(l, to + n, bytes - (size_t)n, until);
    if (!status && !l->greeted) status = check_agent(l, first.proof);
    *reply = first.reply;
    return status;
  }
}

static tutti_status receive_table(visit *v, int ranks, tt_table *all) {
  tt_meet_line *l = &v->line;
  tt_reply reply;
  int fd;
  tutti_status status = receive_header(l, &reply, &fd);
  if (!status && reply.status) status = tt_meet_sentence(l, &reply, l->until + GRACE);
  if (!status && fd < 0) status = tt_meet_foreign(l);
  if (status) {
    if (fd >= 0) close(fd);
    return status;
  }
  status = tt_table_map(fd, reply.bytes, all);
  if (!status && !tt_table_valid(all, ranks)) status = tt_meet_foreign(l);
  if (status) tt_table_drop(all);
  return status;
}

/* Returns true if the process has ended or ends within MOMENT_MS. The sockets of a process are closed some time
 * before the system reports its end. */
static bool ends(int pid) {
#ifdef SYS_pidfd_open
  struct pollfd p = {.fd = pid ? (int)syscall(SYS_pidfd_open, pid, 0) : -1, .events = POLLIN};
  if (p.fd < 0) return pid && errno == ESRCH;
  const bool over = poll(&p, 1, MOMENT_MS) == 1;
  close(p.fd);
  return over;
#else
  return pid && kill(pid, 0) && errno == ESRCH;
#endif
}

/* Returns true if this rank should try another agent. An agent that already serves the maximum number of ranks closes the
 * connection. A rank whose agent has died must not try another one, because the dead agent may have forwarded the rank's row. */
static bool goes_to_another(visit *v) {
  tt_meet_line *l = &v->line;
  if (l->greeted || !l->gone || v->agent || tt_seconds() > l->until || ends(l->agent)) return false;
  close(l->fd);
  l->fd = -1;
  return true;
}

static tutti_status gather_at_host(tt_meeting *m, tutti_status failed, const void *mine,
                                   size_t bytes, tt_table *all) {
  visit *v = m->self;
  char why[300];
  tutti_status status;
  *all = (tt_table){.fd = -1};
  if (!failed && bytes > TT_MEET_MOST)
    failed = tt_fail(TUTTI_ERR_SYSTEM, "a rank sends %zu bytes, more than 1 MiB", bytes);
  if (failed) snprintf(why, sizeof why, "%s", tutti_error());
  do {
    status = v->line.fd >= 0 ? TUTTI_OK : join_host(v);
    if (status) break;
    if (failed) tt_fail(failed, "%s", why);
    const tutti_status unsent = failed ? failed : send_row(v, mine, bytes);
    if (unsent) send_failure(v, unsent);
    status = receive_table(v, m->ranks, all);
  } while (status && goes_to_another(v));
  v->failed = status != TUTTI_OK;
  return status;
}

static void end_visit(tt_meeting *m) {
  visit *v = m->self;
  if (v->line.fd >= 0) close(v->line.fd);
  if (v->agent) tt_agent_leave(v->agent, v->failed);
  free(v);
  m->self = NULL;
}

tutti_status tt_meet_visit(const tt_rendezvous *r, uint64_t host, int rank, int ranks, double limit,
                           tt_meeting *m) {
  visit *v = calloc(1, sizeof *v);
  if (!v) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a rendezvous");
  *m = (tt_meeting){.rank = rank,
                    .ranks = ranks,
                    .limit = limit,
                    .light = true,
                    .keyed = true,
                    .gather = gather_at_host,
                    .end = end_visit,
                    .self = v};
  v->at = *r;
  v->line = tt_meet_line_new(r, rank, ranks, limit);
  memcpy(m->key, r->key, TT_KEY);
  make_name(v, host);
  return TUTTI_OK;
}
