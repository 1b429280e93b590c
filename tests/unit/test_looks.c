/* test_looks.c - ranks that share memory, whose peers act just before or just after each of their looks.
 *
 * Idea       A rank looks at its peers' counters, flags and streams, and then acts on what it saw. On busy
 *            cores its peers may have gone on by as much as they can in between. Here one thread drives all
 *            ranks, and at each look some peers go on, before the answer is read or after it. So a hand-over
 *            that holds only if looks and acts follow each other quickly fails within a few rounds.
 * Cases      Plans, numbers of ranks, vectors that peers can map or not, in place or not, lengths to a few
 *            pieces of a small arena, one to three operations in flight.
 * Usage      test_looks [SEED]
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "comm.h"
#include "flight.h"

enum { RANKS = 5, FLIGHT = 3, PIECE = 4096, LONGEST = 12 * PIECE / 4, ROUNDS = 500 };

typedef struct rank {
  tutti_comm *comm;
  bool maps; /* peers can map its vectors */
  tutti_request *request[FLIGHT];
  int32_t src[FLIGHT][LONGEST], dst[FLIGHT][LONGEST];
} rank;

static struct operation {
  size_t count;
  bool in_place[RANKS];
} ops[FLIGHT];

static rank ranks[RANKS];
static int size;
static uint64_t state, seed = 1;
static char played[100]; /* the round */

static uint32_t draw(uint32_t below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % below;
}

/* ---- one operation of a rank ---- */

static int32_t input(int r, int op, size_t i) {
  return (int32_t)((uint32_t)i * 2654435761u + (uint32_t)(r * 977 + op * 131071)) >> 8;
}

static int32_t *result(rank *me, int i) {
  return ops[i].in_place[me - ranks] ? me->src[i] : me->dst[i];
}

/* Its caller looks at the sums, and may then use the vectors for something else. */
static void end_operation(rank *me, int i) {
  const int32_t *got = result(me, i);
  for (size_t k = 0; k < ops[i].count; k++) {
    int32_t sum = 0;
    for (int r = 0; r < size; r++) sum += input(r, i, k);
    if (got[k] != sum)
      fail_msg("%s: operation %d of %zu elements: rank %d has %d at %zu, not %d", played, i,
               ops[i].count, (int)(me - ranks), (int)got[k], k, (int)sum);
  }
  memset(me->src[i], 0x5a, ops[i].count * sizeof **me->src);
  memset(me->dst[i], 0x5a, ops[i].count * sizeof **me->dst);
}

static void go_on(rank *me) {
  int done;
  for (int i = 0; i < FLIGHT && !atomic_load(&me->comm->busy);
       i++) { /* busy: in a look, or behind one */
    if (!me->request[i]) continue;
    assert_int_equal(tutti_request_test(&me->request[i], &done), TUTTI_OK);
    if (!me->request[i]) end_operation(me, i);
  }
}

static void others_go_on(void) {
  const uint32_t first = draw((uint32_t)size), times = 1 + draw(3);
  for (uint32_t t = 0; t < times; t++)
    for (int i = 0; i < size; i++) go_on(&ranks[(first + (uint32_t)i) % (uint32_t)size]);
}

/* ---- a memory and a channel whose looks take long ---- */

static const tt_memory_ops *memory;
static const tt_channel_ops *channel;

/* Peers go on before a look. Returns whether they do after it. */
static bool before(void) {
  const uint32_t x = draw(4);
  if (x == 0) others_go_on();
  return x == 1;
}

static uint64_t published(tt_wire *w, int peer, tt_counter counter) {
  const bool after = before();
  const uint32_t seen = memory->published(w, peer, counter);
  if (after) others_go_on();
  return seen;
}

static const void *flag_get(tt_wire *w, int peer, uint64_t seq, uint32_t round, size_t bytes,
                            uint32_t *hash) {
  const bool after = before();
  const void *seen = memory->flag_get(w, peer, seq, round, bytes, hash);
  if (after) others_go_on();
  return seen;
}

static void *flag_slot(tt_wire *w, uint64_t seq, uint32_t round, size_t bytes) {
  const bool after = before();
  void *seen = memory->flag_slot(w, seq, round, bytes);
  if (after) others_go_on();
  return seen;
}

static size_t head(tt_wire *w, int peer, int lane, tt_stamp *stamp) {
  const bool after = before();
  const size_t seen = channel->head(w, peer, lane, stamp);
  if (after) others_go_on();
  return seen;
}

static uint64_t export_some(tt_wire *w, const void *bytes, size_t n) {
  if (bytes == memory->arena(w) || ranks[w->rank].maps) return memory->export(w, bytes, n);
  return 0;
}

static tt_memory_ops slow_memory;
static tt_channel_ops slow_channel;

static void slow_down(tt_wire *w) {
  memory = w->memory;
  channel = w->channel;
  slow_memory = *memory;
  slow_memory.published = published;
  slow_memory.flag_get = flag_get;
  slow_memory.flag_slot = flag_slot;
  slow_memory.export = export_some;
  slow_channel = *channel;
  slow_channel.head = head;
}

/* ---- a round: some operations of all ranks ---- */

static void start(rank *me, int i) {
  const size_t n = ops[i].count;
  for (size_t k = 0; k < n; k++) me->dst[i][k] = -1;
  for (size_t k = 0; k < n; k++) me->src[i][k] = input((int)(me - ranks), i, k);
  assert_int_equal(tutti_allreduce_start(me->comm, me->src[i], result(me, i), n, TUTTI_INT32,
                                         TUTTI_SUM, &me->request[i]),
                   TUTTI_OK);
  tt_comm_list(me->comm, false); /* no other rank drives it, too */
}

static bool all_over(void) {
  for (int r = 0; r < size; r++)
    for (int i = 0; i < FLIGHT; i++)
      if (ranks[r].request[i]) return false;
  return true;
}

static void play(void) {
  const int n = 1 + (int)draw(FLIGHT);
  const bool mixed = draw(2), maps = draw(2);
  for (int r = 0; r < size; r++) ranks[r].maps = mixed ? draw(2) : maps;
  for (int i = 0; i < n; i++) {
    ops[i].count = 1 + draw(draw(3) ? LONGEST : 64);
    for (int r = 0; r < size; r++) ops[i].in_place[r] = draw(2);
  }
  for (int i = 0; i < n; i++)
    for (int r = 0; r < size; r++) start(&ranks[r], i);
  for (int turn = 0; !all_over(); turn++) {
    if (turn > 100000) fail_msg("%s: no end", played);
    go_on(&ranks[draw((uint32_t)size)]);
  }
}

static const char *const plans[] = {"one-shot",   "two-shot", "naive",
                                    "fold(ring)", "doubling", NULL};
enum { PLANS = sizeof plans / sizeof *plans };

static void test_all_shapes(void **unused) {
  (void)unused;
  for (size = 2; size <= RANKS; size++)
    for (int p = 0; p < PLANS; p++) {
      tutti_comm *comms[RANKS];
      assert_int_equal(tutti_comm_from_threads(size, comms), TUTTI_OK);
      for (int r = 0; r < size; r++) {
        tt_wire *w = comms[r]->wire;
        ranks[r].comm = comms[r];
        assert_int_equal(tutti_comm_set_algo(comms[r], plans[p]), TUTTI_OK);
        w->piece = PIECE;
        slow_down(w);
      }
      for (int r = 0; r < size; r++) {
        comms[r]->wire->memory = &slow_memory;
        comms[r]->wire->channel = &slow_channel;
      }
      for (int k = 0; k < ROUNDS; k++) {
        state = seed * 1000003u + (uint64_t)(size * 100 + p) * 10007u + (uint64_t)k;
        snprintf(played, sizeof played, "seed %d: %s, %d ranks, round %d", (int)seed,
                 plans[p] ? plans[p] : "chosen", size, k);
        play();
      }
      for (int r = 0; r < size; r++) {
        comms[r]->wire->memory = memory;
        comms[r]->wire->channel = channel;
      }
      for (int r = 0; r < size; r++) assert_int_equal(tutti_comm_free(comms[r]), TUTTI_OK);
    }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_shapes)};
  if (argc > 1) seed = strtoull(argv[1], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
