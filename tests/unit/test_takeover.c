/* test_takeover.c - the ranks make the sums of an aggregator that is lost: at every stage of a sum, in place.
 *
 * The ranks are wires of one thread, and the wire among them is a queue per pair, so the test says who has
 * got what when the aggregator ends.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* cmocka.h needs four of these headers first */
#include <cmocka.h>

#include "aggregator_member.h"
#include "aggregator_play.h"
#include "seconds.h"

enum { RANKS = 6, PACKETS = 8, PACKET = 8192 };

/* ---- the wire among the ranks ---- */

typedef struct lane {
  size_t n[PACKETS], used;
  uint32_t first, last;
  char bytes[PACKETS][PACKET];
  const char *at[PACKETS]; /* the packets */
} lane;

static lane lanes[RANKS][RANKS]; /* from, to */
static bool dead[RANKS];
static bool
    borrows; /* what is longer than NOTE stays where it is until the peer has it, as between ranks of a host */
enum { NOTE = 96 };

static size_t push(tt_wire *w, int peer, int number, tt_stamp stamp, const void *bytes, size_t n,
                   size_t left, uint64_t *ticket, tutti_status *status) {
  lane *l = &lanes[w->rank][peer];
  (void)stamp, (void)left, (void)status;
  assert_int_equal(number, TT_LANE_SUMS);
  assert_true(n > 0 && n <= PACKET);
  *ticket = 0;
  if (l->last - l->first == PACKETS) return 0;
  const uint32_t k = l->last++ % PACKETS;
  l->n[k] = n;
  l->at[k] = borrows && n > NOTE ? bytes : l->bytes[k];
  if (l->at[k] == bytes)
    *ticket = l->last;
  else
    memcpy(l->bytes[k], bytes, n);
  return n;
}

static bool consumed(tt_wire *w, int peer, int number, uint64_t ticket) {
  (void)number;
  return lanes[w->rank][peer].first >= ticket;
}

static size_t head(tt_wire *w, int peer, int number, tt_stamp *stamp) {
  const lane *l = &lanes[peer][w->rank];
  (void)number, (void)stamp;
  return l->first == l->last ? 0 : l->n[l->first % PACKETS] - l->used;
}

static bool pull(tt_wire *w, int peer, int number, void *to, size_t n, tutti_status *status) {
  lane *l = &lanes[peer][w->rank];
  tt_stamp stamp;
  (void)status;
  assert_true(n <= head(w, peer, number, &stamp));
  memcpy(to, l->at[l->first % PACKETS] + l->used, n);
  l->used += n;
  if (l->used < l->n[l->first % PACKETS]) return true;
  l->used = 0;
  l->first++;
  return true;
}

static bool alive(tt_wire *w, int peer) {
  (void)w;
  return !dead[peer];
}

static const tt_channel_ops channel = {
    .push = push, .consumed = consumed, .head = head, .pull = pull};
static const tt_peer_ops peers = {.alive = alive};
static tt_wire among[RANKS];

/* ---- the ranks: two to a host, each pair's ranks in sessions of their own ---- */

static tt_wire *wire[RANKS];
static int session[RANKS], member[RANKS];

static void gather(const running *d) {
  const tt_session_map map = {session, member, 0};
  char key[TT_KEY + 1], of_session[TT_KEY + 1];
  memset(lanes, 0, sizeof lanes);
  memset(dead, 0, sizeof dead);
  tt_aggregator_key(NULL, key);
  tt_aggregator_session_key(key, 5, of_session);
  for (int r = 0; r < RANKS; r++) {
    session[r] = r % 2;
    member[r] = r / 2;
    among[r] = (tt_wire){.channel = &channel, .peer = &peers, .rank = r, .ranks = RANKS};
  }
  for (int r = 0; r < RANKS; r++) {
    tt_connection to;
    const tt_aggregator_seat seat = {
        .session = {5, (uint64_t)session[r]}, .member = (uint32_t)member[r], .members = RANKS / 2};
    assert_int_equal(tt_aggregator_visit(d->where, &seat, false, of_session, LIMIT, &to), TUTTI_OK);
    assert_int_equal(tt_aggregator_wire(to, d->where, r, RANKS, &map, &wire[r]), TUTTI_OK);
  }
}

static bool drive(int rank, uint64_t seq) {
  return wire[rank]->aggregates->drive(wire[rank], &among[rank], seq);
}

enum { TURNS = 3, COUNT = 100000, FIRST = 40 }; /* a sum is longer than what a socket keeps */
static int32_t x[TURNS][RANKS][COUNT];
static const char *stage_name = "";
static bool reduces; /* the first member of each session alone wants the sums */

static bool wants(int rank) {
  return !reduces || member[rank] == 0;
}

static void begin(run *r, int turn, int rank) {
  for (int k = 0; k < COUNT; k++) x[turn][rank][k] = 1000 * turn + 10 * rank + k;
  *r = (run){.wire = wire[rank],
             .share = play_share((uint32_t)(FIRST + turn), TUTTI_INT32, TUTTI_SUM, COUNT, 4, 3),
             .src = (const char *)x[turn][rank],
             .dst = (char *)x[turn][rank]};
  if (!wants(rank)) {
    memset(r->share.wanted, 0, sizeof r->share.wanted);
    r->share.wants.bytes = 0;
  }
  play_begin(r);
}

/* Takes what has come; the head of a sum that the rank does not want passes when it looks. */
static void take(run *r, int rank, uint64_t seq) {
  if (wants(rank))
    play_take(r);
  else
    drive(rank, seq);
}

/* In place: what was sent is gone. */
static void is_right(run *r, int turn, int rank) {
  assert_true(play_over(r));
  for (int k = 0; k < COUNT && wants(rank); k++)
    if (x[turn][rank][k] != 3 * (1000 * turn + k) + 10 * (3 * (rank % 2) + 6))
      fail_msg("%s: turn %d, rank %d, element %d: %d", stage_name, turn, rank, k, x[turn][rank][k]);
}

/* When the aggregator ends, how far the ranks are: all have `sums` sums; then of the next turn each rank of
 * `sent` has sent `of_it` bytes at least, and each of `got` has got its sum, whole or some of it. */
typedef struct stage {
  const char *name;
  int sums;
  unsigned sent;
  size_t of_it;
  unsigned got;
  size_t of_sum;
  unsigned late; /* ranks that have taken nothing of the last of these sums */
} stage;

static void take_turn(run *r, int turn, unsigned late) {
  const double until = seconds() + LIMIT;
  for (bool over = false; !over;) {
    assert_true(seconds() < until);
    over = true;
    for (int k = 0; k < RANKS; k++) {
      play_send(&r[k]);
      if (!(late >> k & 1)) take(&r[k], k, (uint32_t)(FIRST + turn));
      over &= late >> k & 1 ? r[k].sent == r[k].share.bytes : play_over(&r[k]);
    }
  }
}

static void go_to(const stage *s, run r[TURNS][RANKS]) {
  const double until = seconds() + LIMIT;
  for (int turn = 0; turn < s->sums; turn++) {
    for (int k = 0; k < RANKS; k++) begin(&r[turn][k], turn, k);
    take_turn(r[turn], turn, turn + 1 == s->sums ? s->late : 0);
  }
  for (int k = 0; k < RANKS; k++)
    if (s->sent >> k & 1) begin(&r[s->sums][k], s->sums, k);
  for (bool there = false; !there; usleep(100)) {
    there = true;
    assert_true(seconds() < until);
    for (int k = 0; k < RANKS; k++) {
      run *now = &r[s->sums][k];
      if (s->sent >> k & 1 && now->sent < s->of_it) there = play_send(now) && false;
      if (s->got >> k & 1 && now->got < s->of_sum) there = play_take(now) && false;
    }
  }
}

/* Drives all ranks until these runs are over; ranks that have not called begin late. */
static void finish(run r[TURNS][RANKS], int turns, unsigned sent) {
  double since = seconds();
  bool over = false, late = false;
  uint64_t from;
  for (int look = 0; !over; look++) {
    if (seconds() > since + LIMIT) fail_msg("%s: a sum never comes", stage_name);
    over = true;
    for (int k = 0; k < RANKS; k++) {
      bool waits =
          false; /* a rank that has all its sums may wait elsewhere, and only drives this wire */
      for (int t = 0; t < turns; t++) {
        if (t + 1 == turns && !(sent >> k & 1) && !late) {
          over = false;
          continue;
        }
        play_send(&r[t][k]);
        if (wants(k)) play_take(&r[t][k]);
        waits |= !play_over(&r[t][k]);
      }
      const bool knows = wire[k]->aggregates->by(wire[k], &from) == TT_BY_RANKS;
      if (waits || !knows) wire[k]->peer->alive(wire[k], RANKS);
      over &= !waits && knows;
      drive(k, (uint32_t)(FIRST + turns) - !(sent >> k & 1));
    }
    for (int k = 0; look == 200 && k < RANKS; k++) {
      if (!(sent >> k & 1)) begin(&r[turns - 1][k], turns - 1, k);
      late = true;
    }
  }
}

/* What the summing ranks owe arrives at a rank that does not wait for it, too. */
static void deliver(uint64_t from) {
  const double until = seconds() + LIMIT;
  for (bool owes = true; owes;) {
    owes = false;
    for (int k = 0; k < RANKS; k++) {
      drive(k, from);
      owes |= wire[k]->aggregates->owes(wire[k]);
    }
    if (seconds() > until) fail_msg("%s: some sum is never delivered", stage_name);
  }
}

static void sums_are_made_from_every_stage(void **state) {
  static const stage stages[] = {
      {"before any call", 0, 0, 0, 0, 0, 0},
      {"some have called", 0, 0x15, 1, 0, 0, 0},
      {"a share is half sent", 0, 0x3f, COUNT * 2, 0, 0, 0},
      {"all is sent", 0, 0x3f, COUNT * 4, 0, 0, 0},
      {"the one that will sum has the sum", 0, 0x3f, COUNT * 4, 0x01, COUNT * 4, 0},
      {"the last has the sum", 0, 0x3f, COUNT * 4, 0x20, COUNT * 4, 0},
      {"all but one have the sum", 0, 0x3f, COUNT * 4, 0x3d, COUNT * 4, 0},
      {"some have a part of the sum", 0, 0x3f, COUNT * 4, 0x0a, COUNT, 0},
      {"between two calls", 1, 0, 0, 0, 0, 0},
      {"in the second call", 1, 0x37, COUNT * 4, 0, 0, 0},
      {"in the third, some have its sum", 2, 0x3f, COUNT * 4, 0x12, COUNT * 4, 0},
      {"one has not taken the sum before", 1, 0x3f, COUNT * 4, 0x1f, COUNT * 4, 0x20},
  };
  running d;
  static run r[TURNS][RANKS];
  uint64_t from;
  (void)state;
  enum { STAGES = sizeof stages / sizeof *stages };
  for (size_t i = 0; i < 2 * STAGES; i++) {
    const stage *s = &stages[i % STAGES];
    borrows = i >= STAGES;
    stage_name = s->name;
    memset(r, 0, sizeof r);
    play_serve(&d, 0, 0);
    gather(&d);
    go_to(s, r);
    play_end(&d);
    finish(r, s->sums + 1, s->sent);
    for (int k = 0; k < RANKS; k++) {
      for (int t = 0; t <= s->sums; t++) is_right(&r[t][k], t, k);
      assert_int_equal(wire[k]->aggregates->by(wire[k], &from), TT_BY_RANKS);
      assert_int_equal(from, FIRST + s->sums + (s->sent != 0));
    }
    deliver(from);
    for (int k = 0; k < RANKS; k++) play_leave(&wire[k]);
  }
}

/* Those that do not want a sum get its head alone, and mostly before they have sent all that they give. */
static void a_sum_has_come_before_all_is_sent(void **state) {
  running d;
  static run r[TURNS][RANKS];
  (void)state;
  reduces = true;
  for (int sums = 0; sums < TURNS; sums++) {
    const stage s = {.sums = sums, .sent = 0x3f, .of_it = 1};
    memset(r, 0, sizeof r);
    play_serve(&d, 0, 0);
    gather(&d);
    go_to(&s, r);
    const double until = seconds() + LIMIT;
    for (int k = RANKS / 3; k < RANKS; k++) {
      const tt_aggregator_member *a = (const tt_aggregator_member *)wire[k];
      while (a->got == (uint64_t)sums && seconds() < until) drive(k, (uint32_t)(FIRST + sums + 1));
      assert_int_equal(a->got, sums + 1);
      assert_true(r[sums][k].sent < r[sums][k].share.bytes);
    }
    play_end(&d);
    finish(r, sums + 1, 0x3f);
    for (int k = 0; k < RANKS; k++)
      for (int t = 0; t <= sums; t++) is_right(&r[t][k], t, k);
    for (int k = 0; k < RANKS; k++) play_leave(&wire[k]);
  }
  reduces = false;
}

/* One rank gives up, and all hear of it; a rank that is dead is noticed by those that wait. */
static void giving_up(void **state) {
  running d;
  static run r[TURNS][RANKS];
  (void)state;
  play_serve(&d, 0, 0);
  gather(&d);
  for (int k = 0; k < RANKS; k++) begin(&r[0][k], 0, k);
  assert_true(wire[3]->aggregates->give_up(wire[3], "it is too slow"));
  assert_false(wire[3]->aggregates->give_up(wire[3], "it is too slow"));
  finish(r, 1, 0x3f);
  for (int k = 0; k < RANKS; k++) {
    is_right(&r[0][k], 0, k);
    assert_true(wire[k]->peer->alive(wire[k], RANKS));
  }
  dead[2] = true;
  for (int k = 0; k < RANKS; k++)
    if (k != 2) assert_false(wire[k]->peer->alive(wire[k], RANKS));
  for (int k = 0; k < RANKS; k++) play_leave(&wire[k]);
  play_end(&d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_are_made_from_every_stage),
      cmocka_unit_test(a_sum_has_come_before_all_is_sent),
      cmocka_unit_test(giving_up),
  };
  setenv("TUTTI_KEY", "of the tests", 1);
  setenv("TUTTI_LOG", "off", 1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
