/* Agreement over messages (net_agree.c). Ranks of a simulated network agree twice, while some die at random,
 * lose their last messages, or time out, and everything else arrives at any allowed time. Live ranks return the
 * same decision and are part of it, and no rank waits forever, even if the link between two ranks breaks.
 * models/net_agree.pml covers all orders of these cases, except for broken links.
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

enum { MOST = 5, ROUNDS = 2, JOBS = 200000, LINE = 64, SLOTS = 256, MOVES = 20000 };

typedef struct word { /* a message in flight */
  size_t n;
  char bytes[sizeof(tt_net_decision) + 2 * MOST];
} word;

typedef struct rank {
  tt_wire *wire;
  word line[MOST][LINE]; /* from each peer: sent[], of which got[] have arrived */
  size_t sent[MOST], got[MOST];
  bool dead, inside, apart[MOST], knows_lost[MOST]; /* apart: a link is cut */
  int listens;                                      /* slot of its agreement receive, or -1 */
  void *into;
  tutti_net_done done[SLOTS];
  int ndone;
  uint32_t round;
  struct {
    int status;
    uint8_t member[MOST];
  } result[ROUNDS + 1];
} rank;

static rank all[MOST];
static int ranks, deaths, quits, cuts;
static uint64_t lot;
static int late[MOST][MOST]; /* how rarely a peer's messages, and its loss, arrive */

static int draw(int n) {
  lot = lot * 6364136223846793005u + 1442695040888963407u;
  return (int)((lot >> 33) % (uint64_t)n);
}

/* ---- the network ---- */

static void complete(rank *me, tutti_net_done d) {
  assert_true(me->ndone < SLOTS);
  me->done[me->ndone++] = d;
}

static int net_send(void *self, int slot, int peer, int tag, const void *bytes, size_t n,
                    int sure) {
  rank *me = self, *to = &all[peer];
  const int mine = (int)(me - all);
  (void)tag, (void)sure;
  complete(me, (tutti_net_done){slot, peer, n, 0});
  if (to->dead || me->apart[peer]) return 0;
  assert_true(to->sent[mine] - to->got[mine] < LINE && n <= sizeof(word){0}.bytes);
  word *w = &to->line[mine][to->sent[mine]++ % LINE];
  w->n = n;
  memcpy(w->bytes, bytes, n);
  return 0;
}

static int net_recv(void *self, int slot, int peer, int tag, void *bytes, size_t n) {
  rank *me = self;
  (void)peer, (void)n;
  if (tag != TAG_AGREE) return 0; /* only agreement messages are sent */
  me->listens = slot;
  me->into = bytes;
  return 0;
}

static int net_poll(void *self, int slots, tutti_net_done *done, int most, int *n) {
  rank *me = self;
  (void)slots;
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
static unsigned net_fresh(void *self) {
  return 1 + (unsigned)((rank *)self - all);
}
static int net_pick(void *self, unsigned number, const int *list, int n, tutti_net *net) {
  (void)self, (void)number, (void)list, (void)n, (void)net;
  return 1;
}
/* ---- possible events; false: not now ---- */

static bool come(rank *me, int from) {
  const word *w = &me->line[from][me->got[from] % LINE];
  if (me->dead || me->listens < 0 || me->got[from] == me->sent[from]) return false;
  memcpy(me->into, w->bytes, w->n);
  me->got[from]++;
  complete(me, (tutti_net_done){me->listens, from, w->n, 0});
  me->listens = -1;
  return true;
}

static bool notice(rank *me, int peer) {
  if (me->dead || !(all[peer].dead || me->apart[peer]) || me->knows_lost[peer]) return false;
  me->knows_lost[peer] = true;
  complete(me, (tutti_net_done){-1, peer, 0, TUTTI_NET_LOST});
  return true;
}

static bool step(rank *me) {
  const tt_net_decision *d = NULL;
  if (me->dead) return false;
  if (!me->inside && me->round == ROUNDS) return false;
  if (!me->inside) {
    me->inside = true;
    assert_int_equal(me->wire->net_agree->enter(me->wire, ++me->round, -1), TUTTI_OK);
  }
  assert_int_equal(me->wire->net_agree->step(me->wire, &d), TUTTI_OK);
  if (!d) return true;
  me->inside = false;
  me->result[me->round].status = d->status;
  if (!d->status) memcpy(me->result[me->round].member, d->member, (size_t)ranks);
  return true;
}

static bool quit(rank *me) {
  if (me->dead || !me->inside || !quits) return false;
  quits--;
  me->wire->net_agree->quit(me->wire, me->wire->net_agree->awaited(me->wire));
  return true;
}

/* Loses some of the rank's last messages. */
static void cut_off(int from, int to) {
  rank *r = &all[to];
  if (draw(2)) r->sent[from] -= (size_t)draw((int)(r->sent[from] - r->got[from]) + 1);
}

static bool die(rank *me) {
  if (me->dead || !deaths) return false;
  deaths--;
  me->dead = true;
  for (int r = 0; r < ranks; r++) cut_off((int)(me - all), r);
  return true;
}

/* Between two live ranks. */
static bool cut(int a, int b) {
  if (!cuts || a == b || all[a].dead || all[b].dead) return false;
  cuts--;
  all[a].apart[b] = all[b].apart[a] = true;
  cut_off(a, b);
  cut_off(b, a);
  return true;
}

static bool happens(void) {
  const int who = draw(ranks), what = draw(64), peer = draw(ranks);
  rank *me = &all[who];
  if (what == 0) return die(me);
  if (what == 1) return quit(me);
  if (what == 2) return cut(who, peer);
  if (what > 32) return step(me);
  if (draw(late[who][peer])) return false;
  return what < 7 ? notice(me, peer) : come(me, peer);
}

/* ---- jobs ---- */

static void begin(uint64_t seed) {
  memset(all, 0, sizeof all);
  lot = seed;
  ranks = 2 + draw(MOST - 1);
  deaths = draw(ranks);
  quits = draw(3);
  cuts = draw(4) == 0;
  if (cuts) quits = 0;
  for (int r = 0; r < ranks; r++)
    for (int peer = 0; peer < ranks; peer++) late[r][peer] = draw(3) ? 1 : 1 + draw(100);
  for (int r = 0; r < ranks; r++) {
    const tutti_net net = {.size = sizeof net,
                           .name = "made up",
                           .rank = r,
                           .ranks = ranks,
                           .self = &all[r],
                           .send = net_send,
                           .recv = net_recv,
                           .poll = net_poll,
                           .cancel = net_cancel,
                           .fresh = net_fresh,
                           .pick = net_pick,
                           .close = stub_net_close,
                           .error = stub_net_error};
    all[r].listens = -1;
    assert_int_equal(tt_net_wire(&net, &all[r].wire), TUTTI_OK);
  }
}

/* No more deaths or timeouts; everything still in flight arrives. */
static void go_to_the_end(void) {
  for (int moved = 1, quiet = 0; quiet < 4; quiet = moved ? 0 : quiet + 1) {
    moved = 0;
    for (int r = 0; r < ranks; r++)
      for (int peer = 0; peer < ranks; peer++) {
        moved |= come(&all[r], peer);
        moved |= notice(&all[r], peer);
        step(&all[r]);
      }
  }
}

static void check(uint64_t seed) {
  bool one_cut = false;
  for (int r = 0; r < ranks; r++)
    for (int peer = 0; peer < ranks; peer++) one_cut |= all[r].apart[peer];
  for (int r = 0; r < ranks; r++) {
    rank *me = &all[r];
    if (me->dead) continue;
    if (me->inside || me->round < ROUNDS)
      fail_msg("job %llu of %d: rank %d waits for ever, in round %u", (unsigned long long)seed,
               ranks, r, me->round);
    for (int n = 1; n <= ROUNDS && !one_cut; n++) {
      if (!me->result[n].status && !me->result[n].member[r])
        fail_msg("job %llu of %d: rank %d is not in it", (unsigned long long)seed, ranks, r);
      for (int peer = 0; peer < r; peer++)
        if (!all[peer].dead && memcmp(&me->result[n], &all[peer].result[n], sizeof me->result[n]))
          fail_msg("job %llu of %d, round %d: ranks %d and %d returned with status %d and %d",
                   (unsigned long long)seed, ranks, n, peer, r, all[peer].result[n].status,
                   me->result[n].status);
    }
  }
}

static void those_who_live_agree(void **state) {
  (void)state;
  const char *one = getenv("JOB");
  const uint64_t first = one ? strtoull(one, NULL, 10) : 1;
  int agreed = 0, gave_up = 0;
  for (uint64_t seed = first; seed < (one ? first + 1 : JOBS); seed++) {
    begin(seed);
    for (int moves = draw(1000); moves > 0; moves--) happens();
    go_to_the_end();
    check(seed);
    for (int r = 0; r < ranks; r++) {
      if (!all[r].dead) *(all[r].result[1].status ? &gave_up : &agreed) += 1;
      all[r].wire->peer->close(all[r].wire);
    }
  }
  if (!one) assert_true(agreed > JOBS / 4 && gave_up > JOBS / 4); /* both are frequent enough */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(those_who_live_agree)};
  return cmocka_run_group_tests_name("survivors agree over messages", tests, NULL, NULL);
}
