/* fuzz_aggregator.c - fuzzes a session of an aggregator: its members and the aggregator above it
 * send valid and invalid heads, any number of bytes, in any order. Members may also stop reading,
 * or leave.
 *
 * Idea       the session has sockets, and the input controls their other ends. Most fields of the
 *            heads are correct, so that sums complete and the ring of sums fills.
 * Invariant  the session does not overwrite sums that a member has not received, and ends when it
 *            receives invalid data.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aggregator_daemon.h"
#include "fuzz.h"
#include "tutti.h"

enum { MEMBERS = 2, ABOVE = MEMBERS, ENDS, BLOCK = 16 << 10 };

static const uint8_t *at, *end;
static int ours[ENDS], theirs[ENDS];

static unsigned byte(void) {
  return at < end ? *at++ : 0;
}

/* Connects the members. If `full` is true, the socket buffers are full, so sums stay in the aggregator's ring. */
static void open_ends(bool full) {
  static const char waste[BLOCK];
  const int room = 64 << 10;
  signal(SIGPIPE, SIG_IGN);
  for (int i = 0; i < ENDS; i++) {
    int pair[2];
    need(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair));
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    ours[i] = pair[0], theirs[i] = pair[1];
    for (size_t n = sizeof waste; full && n;)
      if (send(ours[i], waste, n, MSG_NOSIGNAL) < 0) n /= 2;
  }
}

/* Checks that the aggregator keeps each sum until all connected members have received it. */
static void look(const tt_session *s) {
  uint64_t least = s->made;
  for (uint32_t i = 0; i < MEMBERS; i++)
    if (s->member[i].fd >= 0 && s->member[i].out < least) least = s->member[i].out;
  need(s->over || s->made - least <= TT_AGGREGATOR_RING);
}

static uint64_t size_of_some(void) {
  static const uint64_t sizes[] = {0,
                                   4,
                                   64,
                                   4096,
                                   1 << 16,
                                   (1 << 16) + 4,
                                   1 << 20,
                                   2 << 20,
                                   UINT64_MAX,
                                   1ull << 62,
                                   UINT64_MAX - 3,
                                   5,
                                   TT_AGGREGATOR_RING - sizeof(tt_aggregator_sum)};
  return sizes[byte() % (sizeof sizes / sizeof *sizes)];
}

static void send_head(int who) {
  tt_aggregator_head h = {.stamp = {.seq = byte() % 4, .hash = byte() % 2},
                          .type = TUTTI_INT32,
                          .op = TUTTI_SUM,
                          .data = 2};
  const unsigned odd = byte();
  h.bytes = size_of_some();
  h.gives = h.wants = (tt_stretch){0, h.bytes};
  if (odd & 1) h.gives = (tt_stretch){size_of_some(), size_of_some()};
  if (odd & 2) h.wants = (tt_stretch){size_of_some(), size_of_some()};
  if (odd & 4) h.type = byte();
  if (odd & 8) h.op = byte();
  if (odd & 16) h.data = byte();
  (void)!write(theirs[who], &h, sizeof h);
}

static void send_sum(void) {
  tt_aggregator_sum sum = {.seq = byte() % 4, .bytes = size_of_some()};
  if (byte() % 8 == 0) sum.status = -(int)(byte() % 20);
  (void)!write(theirs[ABOVE], &sum, sizeof sum);
}

static void act(tt_session *s) {
  static char some[BLOCK];
  const unsigned what = byte();
  const int who = (int)(what >> 4) % ENDS;
  switch (what % 8) {
    case 0:
    case 1: who == ABOVE ? send_sum() : send_head(who); break;
    case 2: (void)!write(theirs[who], some, (size_t)byte() * 64); break;
    case 3:
      for (int k = (int)byte() % 64; k > 0; k--) {
        (void)!write(theirs[who], some, BLOCK);
        tt_session_go_on(s);
        look(s);
      }
      break;
    case 4:
      for (int k = (int)byte() % 8; k > 0 && read(theirs[who], some, BLOCK) > 0; k--)
        tt_session_go_on(s);
      break;
    case 5: (void)!write(theirs[who], at, tt_min((size_t)(end - at), (size_t)byte())); break;
    case 6:
      if (byte() % 16 == 0) shutdown(theirs[who], SHUT_RDWR);
      break;
    default: tt_session_go_on(s);
  }
  look(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  at = data;
  end = data + size;
  const unsigned kind = byte();
  open_ends(kind & 4);
  const tt_aggregator_seat seat = {.members = MEMBERS, .aboves = kind & 1 ? 2 : 0};
  tt_session *s = tt_session_new(&seat);
  need(s);
  if (seat.aboves) s->up = tt_uplink_new((tt_connection){.fd = ours[ABOVE]}, NULL);
  for (int i = 0; i < MEMBERS; i++) s->member[i].fd = ours[i];
  s->here = MEMBERS;
  for (int turn = 0; at < end && !s->over && turn < 200; turn++) act(s);
  tt_session_free(s);
  for (int i = 0; i < ENDS; i++) close(ours[i]), close(theirs[i]);
  return 0;
}
