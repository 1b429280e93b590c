/* takeover.c - an aggregator is lost: the ranks agree where to go on, and make the sums that are missing.
 *
 * Idea       Some members may have a sum already that others wait for. Every rank tells the first one how many sums
 *            it has, and which operation is its next one. The first rank answers: from the highest of these
 *            operations on, plans do without an aggregator; and sums are made again from the first that
 *            some member of a session has not got. The first member's rank sums for its session, as the
 *            daemon does (session.c). The bytes go over the job's network instead of a connection: a relay moves
 *            them between a lane and a socket, at both ends.
 * Cost       nothing before the loss but kept_shares.c. Then three short messages per rank, and the sums under
 *            way take as long as they take among P members that send to one.
 * Invariant  Between its answer and the decision a rank starts no operation, so all ranks plan each operation
 *            alike. A sum that is made twice has the same bits, and a rank that has it skips the second.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aggregator_daemon.h"
#include "aggregator_member.h"

/* Bytes of a relay's packet; of a note's reason, with which a wire takes notes whole, and copies them. */
enum { PACKET = 4096, REASON = 64 };

typedef enum word { LOST = 1, STATE, GO_ON } word;

typedef struct note {
  uint32_t word;
  uint64_t
      op; /* STATE: the next one to start; GO_ON: the first that is planned without an aggregator */
  uint64_t turn;  /* STATE: turns whose sum has come; GO_ON: the first that is made again */
  int32_t status; /* not TUTTI_OK: the sums under way cannot be made */
  char why[REASON];
} note;
_Static_assert(sizeof(note) <= 96, "more may travel by its address (tt_wire.beside)");

typedef struct state { /* what the first rank has heard of a rank */
  bool said;
  uint64_t op;
  uint64_t turn;
} state;

typedef struct relay { /* between a socket and the lane to a rank */
  int fd, peer;
  size_t out, taken; /* bytes of the outgoing packet; that the wire has taken */
  uint64_t ticket;   /* 0: it has copied them; else they must stay until the peer has them */
  size_t from, to;
  char outgoing[PACKET], incoming[PACKET];
} relay;

struct tt_takeover {
  tt_wire *among;
  int ranks, *session, *member; /* per rank */
  int rack;                     /* as in tt_session_map */
  tt_sums_by by;
  uint64_t from;
  char why[TT_AGGREGATOR_WHY];
  bool said;
  note decision;        /* of the first rank */
  state *heard;         /* on the first rank: per rank */
  int told, instructed; /* on the first rank: the next to be told LOST, and GO_ON */
  relay *relays;
  int nrelays;
  tt_session *sums; /* on the rank that sums */
};

tt_takeover *tt_takeover_new(const tt_session_map *map, int ranks) {
  const size_t each = 2 * sizeof(int) + sizeof(state);
  tt_takeover *t = calloc(1, sizeof *t + (size_t)ranks * each);
  if (!t) return NULL;
  t->ranks = ranks;
  t->rack = map->rack;
  t->heard = (state *)(void *)(t + 1);
  t->session = (int *)(void *)(t->heard + ranks);
  t->member = t->session + ranks;
  memcpy(t->session, map->session, (size_t)ranks * sizeof(int));
  memcpy(t->member, map->member, (size_t)ranks * sizeof(int));
  return t;
}

void tt_takeover_free(tt_takeover *t) {
  if (!t) return;
  for (int i = 0; i < t->nrelays; i++) close(t->relays[i].fd);
  for (uint32_t i = 0; t->sums && i < t->sums->seat.members; i++)
    if (t->sums->member[i].fd >= 0) close(t->sums->member[i].fd);
  tt_session_free(t->sums);
  free(t->relays);
  free(t);
}

void tt_takeover_begin(tt_aggregator_member *a, const char *why) {
  tt_takeover *t = a->takeover;
  if (t->by != TT_BY_AGGREGATOR || a->lost) return;
  t->by = TT_BY_NOBODY;
  snprintf(t->why, sizeof t->why, "%s", why);
  if (a->fd >= 0) close(a->fd);
  tt_secure_drop(&a->secure);
  a->fd = -1;
}

tt_sums_by tt_takeover_by(const tt_takeover *t, uint64_t *from) {
  *from = t->from;
  return t->by;
}

bool tt_takeover_alive(const tt_takeover *t) {
  for (int r = 0; t->among && r < t->ranks; r++)
    if (r != t->among->rank && !t->among->peer->alive(t->among, r)) return false;
  return true;
}

/* ---- notes ---- */

static bool send_note(tt_aggregator_member *a, int peer, const note *n) {
  tt_wire *w = a->takeover->among;
  uint64_t ticket;
  tutti_status status = TUTTI_OK;
  const bool sent = w->channel->push(w, peer, TT_LANE_SUMS, (tt_stamp){0, 0}, n, sizeof *n,
                                     sizeof *n, &ticket, &status) == sizeof *n;
  if (status) tt_member_lose(a, tutti_error());
  return sent;
}

static bool read_note(tt_aggregator_member *a, int peer, note *n) {
  tt_wire *w = a->takeover->among;
  tt_stamp stamp;
  tutti_status status = TUTTI_OK;
  if (w->channel->head(w, peer, TT_LANE_SUMS, &stamp) < sizeof *n) return false;
  const bool read = w->channel->pull(w, peer, TT_LANE_SUMS, n, sizeof *n, &status);
  n->why[sizeof n->why - 1] = 0;
  if (status) tt_member_lose(a, tutti_error());
  return read;
}

/* ---- the first rank asks all, and decides ---- */

static void learn(tt_aggregator_member *a, int rank, const note *n) {
  tt_takeover *t = a->takeover;
  t->heard[rank] = (state){true, n->op, n->turn};
  if (n->status && !t->decision.status) t->decision = *n;
  tt_takeover_begin(a, n->why);
}

static bool hear_states(tt_aggregator_member *a) {
  bool moved = false;
  note n;
  for (int r = 1; r < a->takeover->ranks; r++) {
    if (a->takeover->heard[r].said || !read_note(a, r, &n)) continue;
    learn(a, r, &n);
    moved = true;
  }
  return moved;
}

/* Tells all ranks from *next on, as far as the wire takes it. */
static bool tell(tt_aggregator_member *a, word what, int *next) {
  tt_takeover *t = a->takeover;
  const int before = *next;
  for (; *next < t->ranks; ++*next) {
    note n = {.word = what, .op = t->from, .status = t->decision.status};
    snprintf(n.why, sizeof n.why, "%.*s", REASON - 1, what == LOST ? t->why : t->decision.why);
    bool first = true;
    for (int r = 0; r < t->ranks && what == GO_ON; r++) {
      if (t->session[r] != t->session[*next]) continue;
      if (first || t->heard[r].turn < n.turn) n.turn = t->heard[r].turn;
      first = false;
    }
    if (*next == 0)
      t->decision = n;
    else if (!send_note(a, *next, &n))
      break;
  }
  return *next != before;
}

static bool all_said(const tt_takeover *t) {
  int r = 0;
  while (r < t->ranks && t->heard[r].said) r++;
  return r == t->ranks;
}

int tt_takeover_awaits(const tt_takeover *t) {
  int r = 0;
  while (t->among && !t->among->rank && r + 1 < t->ranks && t->heard[r].said) r++;
  return r;
}

/* ---- a rank takes its part ---- */

static tutti_status make_pair(int fd[2]) {
  if (!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd)) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_SYSTEM, "no sockets for the sums: %s", strerror(errno));
}

/* The rank of a member of this rank's session. */
static int rank_of_member(const tt_takeover *t, int me, int member) {
  int r = 0;
  while (r < t->ranks && (t->session[r] != t->session[me] || t->member[r] != member)) r++;
  return r;
}

static int members_of(const tt_takeover *t, int me) {
  int n = 0;
  for (int r = 0; r < t->ranks; r++) n += t->session[r] == t->session[me];
  return n;
}

/* This rank sums: the sums' ends of the sockets belong to the session. */
static tutti_status become_summer(tt_aggregator_member *a, int n) {
  tt_takeover *t = a->takeover;
  const tt_aggregator_seat seat = {.members = (uint32_t)n};
  t->sums = tt_session_new(&seat, (uint32_t)t->rack);
  tutti_status status =
      t->sums ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "out of memory for the sums of %d ranks", n);
  for (int i = 0, fd[2]; i < n && !status; i++) {
    status = make_pair(fd);
    if (status) break;
    t->sums->member[i].fd = fd[1];
    t->sums->here++;
    if (i == 0) {
      a->fd = fd[0];
      continue;
    }
    t->relays[t->nrelays].fd = fd[0];
    t->relays[t->nrelays++].peer = rank_of_member(t, a->wire.rank, i);
  }
  return status;
}

static tutti_status become_member(tt_aggregator_member *a) {
  tt_takeover *t = a->takeover;
  int fd[2];
  const tutti_status status = make_pair(fd);
  if (status) return status;
  a->fd = fd[0];
  t->relays[0].fd = fd[1];
  t->relays[0].peer = rank_of_member(t, a->wire.rank, 0);
  t->nrelays = 1;
  return TUTTI_OK;
}

/* Sends again from this turn on, and skips what comes for the second time. */
static tutti_status go_back(tt_aggregator_member *a, uint64_t turn) {
  size_t sums;
  if (!tt_kept_find(&a->kept, turn, a->got, &a->again, &sums))
    return tt_fail(TUTTI_ERR_MEMORY,
                   "this rank does not keep any more the bytes that it sent there");
  a->skip = sums + a->in.head + (size_t)a->in.moved;
  a->from = a->to = 0;
  a->blocked = false;
  return TUTTI_OK;
}

static void follow(tt_aggregator_member *a, const note *n) {
  tt_takeover *t = a->takeover;
  const int members = members_of(t, a->wire.rank);
  t->by = TT_BY_RANKS;
  t->from = n->op;
  t->relays = calloc((size_t)members, sizeof *t->relays);
  tutti_status status =
      t->relays ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", members);
  if (n->status) status = tt_fail((tutti_status)n->status, "%s", n->why);
  if (!status && t->member[a->wire.rank])
    status = become_member(a);
  else if (!status)
    status = become_summer(a, members);
  if (!status) status = go_back(a, n->turn);
  if (status) tt_member_lose(a, tutti_error());
  if (a->wire.rank == 0)
    tt_log(0,
           "the aggregator at %s is lost: %s; from operation %" PRIu64 " on calls run without it",
           a->where, t->why, t->from);
}

static void describe(const tt_aggregator_member *a, uint64_t seq, note *n) {
  *n = (note){.word = STATE, .op = seq, .turn = a->got};
  snprintf(n->why, sizeof n->why, "%.*s", REASON - 1, a->takeover->why);
  if (!a->kept.failed) return;
  n->status = TUTTI_ERR_MEMORY;
  snprintf(n->why, sizeof n->why, "rank %d has no memory for what it sent there", a->wire.rank);
}

static bool decide(tt_aggregator_member *a, uint64_t seq) {
  tt_takeover *t = a->takeover;
  bool moved = hear_states(a);
  if (t->by == TT_BY_NOBODY && !t->said) {
    note mine;
    describe(a, seq, &mine);
    learn(a, 0, &mine);
    t->said = true;
    t->told = 1;
  }
  if (t->said && t->told < t->ranks) moved |= tell(a, LOST, &t->told);
  if (t->by != TT_BY_NOBODY || t->told < t->ranks || !all_said(t)) return moved;
  t->from = t->heard[0].op;
  for (int r = 1; r < t->ranks; r++)
    if (t->heard[r].op > t->from) t->from = t->heard[r].op;
  tell(a, GO_ON, &t->instructed); /* this rank first */
  follow(a, &t->decision);
  return true;
}

static bool obey(tt_aggregator_member *a, uint64_t seq) {
  tt_takeover *t = a->takeover;
  note n;
  bool moved = false;
  while (t->by != TT_BY_RANKS && read_note(a, 0, &n)) {
    moved = true;
    if (n.word == LOST) tt_takeover_begin(a, n.why);
    if (n.word == GO_ON) follow(a, &n);
  }
  if (t->by != TT_BY_NOBODY || t->said) return moved;
  describe(a, seq, &n);
  t->said = send_note(a, 0, &n);
  return true;
}

/* ---- the sums ---- */

/* From the socket to the rank. */
static bool relay_out(tt_wire *w, relay *p, tutti_status *status) {
  if (p->ticket && w->channel->consumed(w, p->peer, TT_LANE_SUMS, p->ticket)) p->ticket = 0;
  if (p->ticket) return false;
  if (p->taken == p->out) {
    const ssize_t n = recv(p->fd, p->outgoing, sizeof p->outgoing, MSG_DONTWAIT);
    p->taken = 0;
    p->out = n > 0 ? (size_t)n : 0;
  }
  const size_t rest = p->out - p->taken;
  if (!rest) return false;
  const size_t n = w->channel->push(w, p->peer, TT_LANE_SUMS, (tt_stamp){0, 0},
                                    p->outgoing + p->taken, rest, rest, &p->ticket, status);
  if (!n) p->ticket = 0;
  p->taken += n;
  return n;
}

/* One packet each way; false: nothing moved. */
static bool relay_some(tt_aggregator_member *a, relay *p) {
  tt_wire *w = a->takeover->among;
  tutti_status status = TUTTI_OK;
  bool moved = relay_out(w, p, &status);
  tt_stamp stamp;
  if (p->from == p->to && !status) {
    size_t n = w->channel->head(w, p->peer, TT_LANE_SUMS, &stamp);
    n = tt_min(n, sizeof p->incoming);
    p->from = p->to = 0;
    if (n && w->channel->pull(w, p->peer, TT_LANE_SUMS, p->incoming, n, &status)) p->to = n;
  }
  if (p->from < p->to) {
    const ssize_t n =
        send(p->fd, p->incoming + p->from, p->to - p->from, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) p->from += (size_t)n;
    moved |= n > 0;
  }
  if (status) tt_member_lose(a, tutti_error());
  return moved;
}

static bool pass_on(tt_aggregator_member *a) {
  tt_takeover *t = a->takeover;
  bool moved = false, some = true;
  while (some && !a->lost) {
    some = tt_member_send_again(a) | tt_member_skip(a);
    for (int i = 0; i < t->nrelays; i++) some |= relay_some(a, &t->relays[i]);
    if (t->sums) {
      const uint64_t made = t->sums->made;
      tt_session_go_on(t->sums);
      some |= t->sums->made != made || t->sums->more;
    }
    moved |= some;
  }
  return moved;
}

bool tt_takeover_drive(tt_aggregator_member *a, tt_wire *among, uint64_t seq) {
  tt_takeover *t = a->takeover;
  t->among = among;
  if (a->lost) return false;
  bool moved = false;
  if (t->by != TT_BY_RANKS) moved = a->wire.rank ? obey(a, seq) : decide(a, seq);
  if (t->by != TT_BY_RANKS || a->lost) return moved;
  if (a->wire.rank == 0 && t->instructed < t->ranks && tell(a, GO_ON, &t->instructed)) moved = true;
  if (a->wire.rank == 0 && t->instructed < t->ranks) return moved;
  return pass_on(a) || moved;
}

bool tt_takeover_owes(const tt_aggregator_member *a) {
  const tt_takeover *t = a->takeover;
  if (t->by != TT_BY_RANKS || a->lost) return false;
  bool owes = a->again < a->kept.to || (a->wire.rank == 0 && t->instructed < t->ranks);
  for (int i = 0; i < t->nrelays; i++)
    owes |= t->relays[i].taken < t->relays[i].out || t->relays[i].ticket;
  for (uint32_t i = 0; t->sums && i < t->sums->seat.members; i++)
    owes |= t->sums->member[i].fd >= 0 && t->sums->member[i].out < t->sums->made;
  return owes;
}
