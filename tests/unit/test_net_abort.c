/* test_net_abort.c - ending a communicator over a network: one rank tells the others. In a large job each rank
 * sends to only some ranks, which forward the message, and all live ranks receive it although some ranks are
 * dead. Ranks are tables in one process, and messages are queues.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "net_parts.h"
#include "stub_net.h"
#include "wires.h"

enum { MOST = 600, QUEUE = 4096 };

typedef struct rank {
  tt_wire *wire;
  bool dead;
  int sends, listens; /* slot of its receive of control messages; -1: none */
  void *into;
  struct {
    int from;
    tt_net_control what;
  } * queue; /* [QUEUE], incoming messages */
  size_t came, taken;
  tutti_net_done done[QUEUE];
  int ndone;
} rank;

static rank all[MOST];

static int net_send(void *self, int slot, int peer, int tag, const void *bytes, size_t n,
                    int sure) {
  rank *me = self, *to = &all[peer];
  (void)sure;
  assert_int_equal(tag, TAG_CONTROL);
  assert_int_equal(n, sizeof(tt_net_control));
  assert_true(me->ndone < QUEUE && to->came - to->taken < QUEUE);
  me->sends++;
  me->done[me->ndone++] = (tutti_net_done){slot, peer, n, 0};
  to->queue[to->came % QUEUE].from = (int)(me - all);
  memcpy(&to->queue[to->came++ % QUEUE].what, bytes, n);
  return 0;
}

static int net_recv(void *self, int slot, int peer, int tag, void *bytes, size_t n) {
  rank *me = self;
  (void)peer, (void)n;
  assert_int_equal(tag, TAG_CONTROL);
  me->listens = slot;
  me->into = bytes;
  return 0;
}

static int net_poll(void *self, int slots, tutti_net_done *done, int most, int *n) {
  rank *me = self;
  (void)slots;
  if (me->listens >= 0 && me->taken < me->came) {
    const size_t at = me->taken++ % QUEUE;
    memcpy(me->into, &me->queue[at].what, sizeof me->queue[at].what);
    me->done[me->ndone++] =
        (tutti_net_done){me->listens, me->queue[at].from, sizeof(tt_net_control), 0};
    me->listens = -1;
  }
  *n = me->ndone < most ? me->ndone : most;
  memcpy(done, me->done, (size_t)*n * sizeof *done);
  me->ndone -= *n;
  memmove(me->done, me->done + *n, (size_t)me->ndone * sizeof *done);
  return 0;
}

static int net_cancel(void *self, int slot) {
  (void)self, (void)slot;
  return 0;
}

static void begin(int ranks, unsigned *seed, int dead_in_100) {
  for (int r = 0; r < ranks; r++) {
    const tutti_net net = {.size = sizeof net,
                           .name = "queues",
                           .rank = r,
                           .ranks = ranks,
                           .self = &all[r],
                           .send = net_send,
                           .recv = net_recv,
                           .poll = net_poll,
                           .cancel = net_cancel,
                           .close = stub_net_close,
                           .error = stub_net_error};
    all[r] = (rank){.listens = -1, .dead = rand_r(seed) % 100 < dead_in_100};
    all[r].queue = calloc(QUEUE, sizeof *all[r].queue);
    assert_non_null(all[r].queue);
    assert_int_equal(tt_net_wire(&net, &all[r].wire), TUTTI_OK);
  }
}

/* Live ranks poll until no message is left. */
static void settle(int ranks) {
  for (bool moved = true; moved;) {
    moved = false;
    for (int r = 0; r < ranks; r++) {
      bool did = false;
      if (all[r].dead || (all[r].taken == all[r].came && !all[r].ndone)) continue;
      assert_int_equal(tt_net_poll(all[r].wire, &did), TUTTI_OK);
      moved = true;
    }
  }
}

static void end(int ranks) {
  for (int r = 0; r < ranks; r++) all[r].taken = all[r].came; /* dead ranks read nothing */
  for (int r = 0; r < ranks; r++) tt_net_close(all[r].wire);
  for (int r = 0; r < ranks; r++) free(all[r].queue);
}

static void all_hear_it(void **state) {
  static const struct {
    int ranks, dead_in_100, most; /* messages that a rank sends */
  } cases[] = {{2, 0, 1},    {64, 0, 63},   {64, 30, 63}, {65, 0, 14},
               {256, 0, 16}, {256, 30, 16}, {600, 0, 20}, {600, 30, 20}};
  unsigned seed = 7;
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int P = cases[i].ranks, first = P / 3;
    char reason[320];
    begin(P, &seed, cases[i].dead_in_100);
    all[first].dead = false;
    all[first].wire->peer->abort(all[first].wire, TUTTI_ERR_PEER_LOST, "rank 9 is gone");
    settle(P);
    for (int r = 0; r < P; r++) {
      if (all[r].dead) continue;
      assert_int_equal(all[r].wire->peer->aborted(all[r].wire, reason, sizeof reason),
                       TUTTI_ERR_PEER_LOST);
      assert_string_equal(reason, "rank 9 is gone");
      if (all[r].sends > cases[i].most)
        fail_msg("%d ranks: rank %d sends %d messages", P, r, all[r].sends);
    }
    end(P);
  }
}

/* A rank dies while it tells the others: the first messages arrive, the rest do not. Those that were told learn of
 * the death, and tell the others. */
static void who_tells_dies(void **state) {
  static const int cases[] = {2, 3, 5, 8, 64};
  unsigned seed = 3;
  char reason[320];
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int P = cases[i], arrive = 1; arrive < P; arrive += 1 + P / 8) {
      begin(P, &seed, 0);
      rank *dies = &all[P / 2];
      dies->wire->peer->abort(dies->wire, TUTTI_ERR_PEER_LOST, "rank 9 is gone");
      dies->dead = true;
      for (int r = 0, told = 0; r < P; r++)
        if (&all[r] != dies && told++ >= arrive) all[r].taken = all[r].came;
      if (arrive % 2) settle(P); /* else the loss is known first */
      for (int r = 0; r < P; r++)
        all[r].done[all[r].ndone++] = (tutti_net_done){.slot = -1, .peer = P / 2, .failed = TUTTI_NET_LOST};
      settle(P);
      for (int r = 0; r < P; r++)
        if (&all[r] != dies)
          assert_int_equal(all[r].wire->peer->aborted(all[r].wire, reason, sizeof reason),
                           TUTTI_ERR_PEER_LOST);
      end(P);
    }
}

/* A rank that has received one reason aborts for another, and its message arrives first. */
static void the_first_reason_counts(void **state) {
  unsigned seed = 1;
  char reason[320];
  bool moved = false;
  (void)state;
  begin(3, &seed, 0);
  all[0].wire->peer->abort(all[0].wire, TUTTI_ERR_PEER_LOST, "rank 9 is gone");
  while (all[1].taken < all[1].came) assert_int_equal(tt_net_poll(all[1].wire, &moved), TUTTI_OK);
  assert_int_equal(tt_net_poll(all[1].wire, &moved), TUTTI_OK);
  all[1].wire->peer->abort(all[1].wire, TUTTI_ERR_ABORTED, "the others call shrink");
  assert_int_equal(all[2].came, 2);
  assert_int_equal(all[2].queue[1].from, 1);
  all[2].queue[0] = all[2].queue[1];
  settle(3);
  assert_int_equal(all[2].wire->peer->aborted(all[2].wire, reason, sizeof reason),
                   TUTTI_ERR_PEER_LOST);
  assert_string_equal(reason, "rank 9 is gone");
  end(3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_hear_it),
                                     cmocka_unit_test(who_tells_dies),
                                     cmocka_unit_test(the_first_reason_counts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
