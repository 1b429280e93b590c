/* test_looks.c - ranks that share memory: all interleavings of their reads and writes, up to a number of
 * preemptions.
 *
 * Idea       A rank reads its peers' counters, flags, streams and call signatures, and then acts on what it saw. In between,
 *            its peers may have advanced as far as they can. A handshake that is correct only if the read and the act
 *            follow each other quickly fails in one of the orders that tests/support/interleave.h generates.
 * Scenes     A row says which operations how many ranks call, by which plan, and whether peers can map their vectors or a copy
 *            goes through the arena or the stage. Ranks test their requests in turn; or they block, and sleep until a peer
 *            wakes them, however long that takes. At any point one rank may abort or die: the others then end with an error,
 *            or with the right data, and no peer writes to their vectors afterwards.
 * Output     the number of orders per scene. TEST_SHORT=1: fewer preemptions.
 * Usage      test_looks [SEED]    with a seed: scenes and orders at random
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
/* cmocka.h needs some of the headers above */
#include <cmocka.h>

#include "../../cli/configure.h"
#include "arena_state.h"
#include "comm.h"
#include "flight.h"
#include "interleave.h"
#include "short.h"
#include "slow_wire.h"

/* The thread sanitizer does not follow a rank from stack to stack. It is not needed here, because there is only
 * one thread. */
#ifdef __SANITIZE_THREAD__
enum { THREADS_ARE_WATCHED = true };
#else
enum { THREADS_ARE_WATCHED = false };
#endif

/* LONG: the elements of three pieces, one more than there are slots. A piece is 128 bytes smaller than its
 * slot. */
enum {
  RANKS = INTERLEAVE_RANKS,
  OPS = 20,
  PIECE = 4096,
  FAR = 300, /* elements: too long for the 64 small slots */
  LONG = 2 * PIECE / 4 + 52,
  ROUNDS = 5000
};

/* Which vectors peers can map: all, rank 0's, all inputs, all results, none. WIDE: none, and long pieces of a
 * sum. STAGED: none, and channels copy them, too. */
typedef enum way { MAPPED, MIXED, INPUTS, RESULTS, COPIED, WIDE, STAGED, WAYS } way;
/* LATE: a waiting rank waits long, and checks on its peers, before another rank continues. */
typedef enum event { NONE, LATE, ABORT, DEATH, ANOTHER_CALL } event;

typedef struct operation {
  tutti_coll coll;
  size_t count;
  int root;
  uint32_t in_place; /* a bit per rank */
  int times;         /* number of calls; 0: one */
} operation;

typedef struct scene {
  const char *name, *plan; /* NULL: tutti chooses */
  int ranks;
  way way;
  operation op[3];
  int together; /* operations in flight simultaneously; 0: blocking calls */
  event event;
  int brief, full; /* preemptions */
} scene;

#define SUM(n) \
  { TUTTI_ALLREDUCE, n, 0, 0, 1 }
#define IN_PLACE(n) \
  { TUTTI_ALLREDUCE, n, 0, ~0u, 1 }
#define CAST(n, root) \
  { TUTTI_BROADCAST, n, root, 0, 1 }
#define CASTS(n, root, times) \
  { TUTTI_BROADCAST, n, root, 0, times }
#define REDUCE(n, root) \
  { TUTTI_REDUCE, n, root, 0, 1 }
#define MANY(coll, n, times) \
  { TUTTI_##coll, n, 0, 0, times }

/* clang-format off */
static const scene scenes[] = {
  {"short vectors in flag lines", "one-shot", 2, MAPPED, {SUM(4), SUM(40)}, 2, NONE, 2, 3},
  {"short vectors in flag lines", "one-shot", 3, MAPPED, {SUM(4), SUM(40)}, 1, NONE, 1, 2},
  {"groups in rounds", "multiplying(radix=2)", 4, MAPPED, {SUM(4), SUM(60)}, 1, NONE, 1, 2},
  {"one-shot, mapped", "one-shot", 2, MAPPED, {SUM(LONG), IN_PLACE(LONG)}, 2, NONE, 2, 3},
  {"one-shot, copied", "one-shot", 2, COPIED, {SUM(LONG), SUM(LONG)}, 2, NONE, 2, 2},
  {"one-shot, copied", "one-shot", 3, COPIED, {SUM(LONG)}, 1, NONE, 1, 2},
  {"two-shot, mapped", "two-shot", 2, MAPPED, {SUM(LONG), IN_PLACE(LONG)}, 1, NONE, 2, 3},
  {"two-shot, mapped", "two-shot", 3, MAPPED, {SUM(LONG)}, 1, NONE, 1, 2},
  {"two-shot, mapped by some", "two-shot", 2, MIXED, {SUM(LONG), SUM(LONG)}, 1, NONE, 2, 2},
  {"two-shot, mapped by some", "two-shot", 3, MIXED, {SUM(LONG)}, 1, NONE, 1, 2},
  {"two-shot, inputs mapped", "two-shot", 2, INPUTS, {SUM(LONG), SUM(LONG)}, 1, NONE, 1, 2},
  {"two-shot, inputs mapped", "two-shot", 3, INPUTS, {SUM(LONG)}, 1, NONE, 1, 2},
  {"two-shot, results mapped", "two-shot", 2, RESULTS, {SUM(LONG), SUM(LONG)}, 1, NONE, 1, 2},
  {"two-shot, returned sums", "two-shot", 2, COPIED, {SUM(LONG), SUM(LONG)}, 2, NONE, 2, 2},
  {"two-shot, returned sums", "two-shot", 3, COPIED, {SUM(LONG)}, 1, NONE, 1, 2},
  {"naive, mapped", "naive", 3, MAPPED, {SUM(LONG), IN_PLACE(LONG)}, 1, NONE, 1, 2},
  {"naive, mapped by some", "naive", 2, MIXED, {SUM(LONG), SUM(LONG)}, 2, NONE, 2, 2},
  {"naive, inputs mapped", "naive", 2, INPUTS, {SUM(LONG), SUM(LONG)}, 2, NONE, 1, 2},
  {"naive, copied", "naive", 2, COPIED, {SUM(LONG), SUM(LONG)}, 2, NONE, 2, 2},
  {"a ring of channels", "fold(ring)", 2, MAPPED, {SUM(LONG), SUM(20)}, 1, NONE, 2, 2},
  {"recursive doubling", "doubling", 3, MAPPED, {SUM(LONG), SUM(20)}, 1, NONE, 1, 2},
  {"a ring of staged bytes", "fold(ring)", 3, STAGED, {SUM(LONG)}, 1, NONE, 1, 2},
  {"reduce", NULL, 3, MAPPED, {REDUCE(4, 1), REDUCE(400, 0)}, 1, NONE, 1, 2},
  {"reduce, staged", "tree(binomial)", 2, STAGED, {REDUCE(LONG, 1), REDUCE(LONG, 0)}, 2, NONE, 2, 2},
  {"broadcast", NULL, 3, MAPPED, {CAST(4, 0), CAST(400, 2)}, 1, NONE, 1, 2},
  {"broadcast, staged", "tree(binomial)", 2, STAGED, {CAST(LONG, 1), CAST(LONG, 1)}, 1, NONE, 2, 3},
  {"broadcast in pieces", "tree(binomial)", 2, STAGED, {CAST(90000, 0)}, 1, NONE, 1, 2},
  {"broadcast, through arenas", "naive", 3, COPIED, {CAST(4 * LONG, 1)}, 1, NONE, 1, 1},
  {"reduce, through arenas", "naive", 3, COPIED, {REDUCE(4 * LONG, 1)}, 1, NONE, 1, 1},
  {"reduce, mapped", "naive", 3, MAPPED, {REDUCE(LONG, 1)}, 1, NONE, 1, 2},
  {"fewer slots, and more", "naive", 2, COPIED, {MANY(ALLREDUCE, LONG, 2), SUM(1500), CAST(LONG, 0)}, 1, NONE, 1, 1},
  {"slots of several sizes", "naive", 2, WIDE, {SUM(LONG), CAST(2 * LONG, 0), REDUCE(LONG, 1)}, 2, NONE, 1, 2},
  {"slots of several sizes", "two-shot", 3, WIDE, {CAST(2 * LONG, 0), SUM(LONG)}, 1, NONE, 1, 1},
  {"a root far ahead", NULL, 2, MAPPED, {SUM(4), MANY(BROADCAST, FAR, 15), SUM(4)}, 1, NONE, 1, 2},
  {"a root far ahead", NULL, 3, MAPPED, {SUM(4), MANY(BROADCAST, FAR, 15), SUM(40)}, 1, NONE, 1, 1},
  {"a root far ahead of two sums", NULL, 2, MAPPED, {MANY(ALLREDUCE, 4, 2), MANY(BROADCAST, FAR, 14), SUM(4)}, 2, NONE, 1, 2},
  {"a root far ahead of one rank", NULL, 3, MAPPED, {MANY(BROADCAST, FAR, 18)}, 1, NONE, 1, 1},
  {"a root that hears of a later call first", NULL, 2, MAPPED, {CASTS(FAR, 1, 2), REDUCE(4, 1), CASTS(FAR, 1, 16)}, 3, NONE, 0, 1},
  {"a full window", NULL, 2, STAGED, {MANY(BROADCAST, FAR, 18)}, OPS, NONE, 1, 2},
  {"ranks that sleep", "one-shot", 2, MAPPED, {SUM(4), SUM(40)}, 0, NONE, 2, 3},
  {"ranks that sleep", "two-shot", 3, COPIED, {SUM(LONG)}, 0, NONE, 1, 1},
  {"ranks that sleep", NULL, 2, STAGED, {MANY(BROADCAST, 200, 10)}, 0, NONE, 1, 2},
  {"a root that sleeps, far ahead", NULL, 2, MAPPED, {MANY(BROADCAST, FAR, 18)}, 0, NONE, 1, 1},
  {"a sender that sleeps", "tree(binomial)", 2, STAGED, {CAST(90000, 0)}, 0, NONE, 0, 1},
  {"ranks that sleep", NULL, 2, MAPPED, {CAST(400, 0), CAST(400, 1)}, 0, NONE, 2, 3},
  {"ranks that sleep, and an abort", "two-shot", 2, COPIED, {SUM(LONG)}, 0, ABORT, 1, 1},
  {"peers that are late", "one-shot", 2, MAPPED, {SUM(4), SUM(40)}, 0, LATE, 2, 2},
  {"peers that are late", "two-shot", 2, COPIED, {SUM(LONG)}, 0, LATE, 1, 1},
  {"peers that are late", NULL, 3, STAGED, {CAST(400, 0), REDUCE(400, 1)}, 0, LATE, 1, 1},
  {"abort", "one-shot", 2, MAPPED, {SUM(4), SUM(40)}, 1, ABORT, 2, 2},
  {"abort, mapped", "two-shot", 2, MAPPED, {SUM(LONG)}, 1, ABORT, 2, 2},
  {"abort, mapped", "two-shot", 3, MAPPED, {SUM(LONG)}, 1, ABORT, 1, 2},
  {"abort, copied", "two-shot", 2, COPIED, {SUM(LONG)}, 1, ABORT, 1, 2},
  {"abort of a broadcast", NULL, 3, STAGED, {CAST(LONG, 0)}, 1, ABORT, 1, 2},
  {"death", "one-shot", 2, MAPPED, {SUM(4), SUM(40)}, 1, DEATH, 2, 2},
  {"death, mapped", "two-shot", 3, MAPPED, {SUM(LONG)}, 1, DEATH, 1, 2},
  {"death, copied", "two-shot", 2, COPIED, {SUM(LONG)}, 1, DEATH, 1, 2},
  {"death in a reduce", NULL, 3, MAPPED, {REDUCE(400, 0)}, 1, DEATH, 1, 2},
  {"another call", NULL, 2, MAPPED, {SUM(4), SUM(40)}, 1, ANOTHER_CALL, 2, 2},
  {"another call", NULL, 3, MAPPED, {SUM(LONG)}, 1, ANOTHER_CALL, 1, 1},
};
/* clang-format on */
enum { SCENES = sizeof scenes / sizeof *scenes };

/* ---- vectors ---- */

typedef struct call { /* of all ranks */
  operation op;
  size_t bytes;
  int32_t *input[RANKS], *wanted[RANKS], *src[RANKS], *dst[RANKS]; /* wanted: NULL: nothing comes */
} call;

typedef struct rank {
  tutti_comm *comm;
  tutti_request *request[OPS];
  bool failed;
} rank;

static scene played;
static call calls[OPS];
static int ncalls;
static rank ranks[RANKS];
static bool fresh;    /* the communicators are usable */
static uint32_t salt; /* added to the inputs of this run, so that old data are wrong data */

static void fill_call(call *c, int index) {
  c->bytes = c->op.count * sizeof(int32_t);
  int32_t *memory = malloc(5 * RANKS * c->bytes);
  for (int r = 0; r < played.ranks; r++) {
    int32_t **all[] = {&c->input[r], &c->wanted[r], &c->src[r], &c->dst[r]};
    for (int i = 0; i < 4; i++) *all[i] = memory + (size_t)(4 * r + i) * c->op.count;
    if (c->op.in_place >> r & 1) c->dst[r] = c->src[r];
    for (size_t i = 0; i < c->op.count; i++)
      c->input[r][i] =
          (int32_t)((uint32_t)i * 2654435761u + (uint32_t)(r * 977 + index * 131071)) >> 8;
  }
  for (int r = 0; r < played.ranks; r++) {
    if (c->op.coll == TUTTI_REDUCE && r != c->op.root) c->wanted[r] = NULL;
    for (size_t i = 0; c->wanted[r] && i < c->op.count; i++) {
      int32_t sum = 0;
      for (int k = 0; k < played.ranks; k++) sum += c->input[k][i];
      c->wanted[r][i] = c->op.coll == TUTTI_BROADCAST ? c->input[c->op.root][i] : sum;
    }
  }
}

static void fill_calls(void) {
  for (int i = 0; i < ncalls; i++) free(calls[i].input[0]);
  ncalls = 0;
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < played.op[i].times && ncalls < OPS; k++) {
      calls[ncalls] = (call){.op = played.op[i]};
      fill_call(&calls[ncalls], ncalls);
      ncalls++;
    }
}

static bool is_used(const call *c, int r) { /* unchanged since the caller overwrote it */
  const int32_t *vectors[] = {c->src[r], c->dst[r]};
  for (int i = 0; i < 2; i++) {
    const char *at = (const char *)vectors[i];
    if (*at != 0x5a || memcmp(at, at + 1, c->bytes - 1)) return false;
  }
  return true;
}

/* ---- what a rank does ---- */

static void begin_call(int r, int i) {
  const call *c = &calls[i];
  memset(c->dst[r], 0xa5, c->bytes);
  for (size_t k = 0; k < c->op.count; k++)
    c->src[r][k] = (int32_t)((uint32_t)c->input[r][k] + salt);
}

static void end_call(int r, int i, tutti_status status) {
  const call *c = &calls[i];
  const int32_t *got = c->dst[r], *wanted = c->wanted[r];
  const uint32_t more = c->op.coll == TUTTI_BROADCAST ? salt : salt * (uint32_t)played.ranks;
  if (interleave_is_dead(r)) return; /* its peers reused their vectors */
  for (size_t k = 0; !status && wanted && k < c->op.count; k++)
    if ((uint32_t)got[k] != (uint32_t)wanted[k] + more)
      interleave_fail("operation %d of %zu elements: rank %d has %d at %zu, not %d", i, c->op.count,
                      r, (int)got[k], k, (int)((uint32_t)wanted[k] + more));
  if (status && played.event <= LATE)
    interleave_fail("operation %d of rank %d: %s", i, r, tutti_error());
  if (status) ranks[r].failed = true;
  interleave_moved();
  memset(c->src[r], 0x5a, c->bytes);
  memset(c->dst[r], 0x5a, c->bytes);
}

/* In ANOTHER_CALL one rank passes one element less. */
static size_t count_of(int r, int i) {
  return calls[i].op.count -
         (played.event == ANOTHER_CALL && r == played.ranks - 1 && i == ncalls - 1);
}

static tutti_status start(int r, int i) {
  const call *c = &calls[i];
  tutti_request **request = &ranks[r].request[i];
  const size_t n = count_of(r, i);
  begin_call(r, i);
  tutti_comm *comm = ranks[r].comm;
  const tutti_status status =
      c->op.coll == TUTTI_ALLREDUCE
          ? tutti_allreduce_start(comm, c->src[r], c->dst[r], n, TUTTI_INT32, TUTTI_SUM, request)
      : c->op.coll == TUTTI_REDUCE
          ? tutti_reduce_start(comm, c->src[r], c->dst[r], n, TUTTI_INT32, TUTTI_SUM, c->op.root,
                               request)
          : tutti_broadcast_start(comm, c->src[r], c->dst[r], n, TUTTI_INT32, c->op.root, request);
  tt_comm_list(comm, false); /* only this rank drives it */
  return status;
}

static tutti_status block(int r, int i) {
  const call *c = &calls[i];
  begin_call(r, i);
  tutti_comm *comm = ranks[r].comm;
  return c->op.coll == TUTTI_ALLREDUCE
             ? tutti_allreduce(comm, c->src[r], c->dst[r], c->op.count, TUTTI_INT32, TUTTI_SUM)
         : c->op.coll == TUTTI_REDUCE
             ? tutti_reduce(comm, c->src[r], c->dst[r], c->op.count, TUTTI_INT32, TUTTI_SUM,
                            c->op.root)
             : tutti_broadcast(comm, c->src[r], c->dst[r], c->op.count, TUTTI_INT32, c->op.root);
}

/* Tests all requests once, starting at the first that is not complete. */
static void test_all(int r, int *first, int end) {
  int done;
  for (int i = *first; i < end; i++) {
    if (!ranks[r].request[i]) continue;
    const tutti_status status = tutti_request_test(&ranks[r].request[i], &done);
    if (done) end_call(r, i, status);
  }
  while (*first < end && !ranks[r].request[*first]) ++*first;
}

static void act(int r) {
  int first = 0, next = 0;
  for (int i = 0; !played.together && i < ncalls; i++) end_call(r, i, block(r, i));
  if (!played.together) return;
  while (first < ncalls) {
    const uint64_t moves = interleave_moves();
    while (next < ncalls && next - first < played.together) {
      const tutti_status status = start(r, next++);
      if (status) end_call(r, next - 1, status);
    }
    test_all(r, &first, next);
    if (interleave_moves() == moves) interleave_idle();
  }
}

/* Time advances as interleave.h describes. */
int clock_gettime(clockid_t clock, struct timespec *t) {
  if (clock != CLOCK_MONOTONIC) return (int)syscall(SYS_clock_gettime, clock, t);
  const uint64_t ns = interleave_time();
  *t = (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
  return 0;
}
int sched_yield(void) {
  return interleave_idle() ? 0 : (int)syscall(SYS_sched_yield);
}

/* ---- a run ---- */

static bool is_input(int r, const void *bytes) {
  bool any = false;
  for (int i = 0; i < ncalls; i++) any |= bytes == calls[i].src[r];
  return any;
}

/* Can peers map this vector? */
static bool maps(int r, const void *bytes) {
  switch (played.way) {
    case MAPPED: return true;
    case MIXED: return r == 0;
    case INPUTS: return is_input(r, bytes);
    case RESULTS: return !is_input(r, bytes);
    default: return false;
  }
}

static void leave_all(void) {
  for (int r = 0; r < RANKS; r++)
    if (ranks[r].comm) wire_free(ranks[r].comm->wire);
  for (int r = 0; r < RANKS; r++)
    if (ranks[r].comm) assert_int_equal(tutti_comm_free(ranks[r].comm), TUTTI_OK);
  memset(ranks, 0, sizeof ranks);
  fresh = false;
}

static void meet_all(void) {
  tutti_comm *comms[RANKS];
  setenv("TUTTI_COPIES", played.way == STAGED ? "all" : "private", 1);
  assert_int_equal(tutti_comm_from_threads(played.ranks, comms), TUTTI_OK);
  wire_maps = maps;
  wire_time_wakes = played.event == LATE || played.event >= DEATH;
  for (int r = 0; r < played.ranks; r++) {
    ranks[r].comm = comms[r];
    assert_int_equal(comm_set_algorithm(comms[r], played.plan), TUTTI_OK);
    comms[r]->wire->size.piece = played.way == WIDE ? 4 * PIECE : PIECE;
    wire_slow(comms[r]->wire);
    comms[r]->load.crowded = true; /* waiting ranks do not spin */
  }
  fresh = true;
}

static void begin(void) {
  if (!fresh) {
    leave_all();
    meet_all();
  }
  salt += 2654435761u;
  for (int r = 0; r < played.ranks; r++) {
    ranks[r].failed = false;
    if (ranks[r].comm->wire->arena_state)
      ranks[r].comm->wire->arena_state->slot =
          0; /* in every run the next operation divides the arenas */
  }
}

static void happens(int r) {
  if (played.event == DEATH) interleave_die();
  if (played.event == ABORT) tutti_comm_abort(ranks[r].comm, "the test says so");
}

static void end(void) {
  for (int r = 0; r < played.ranks; r++)
    for (int i = 0; i < ncalls && !interleave_is_dead(r); i++)
      if (!is_used(&calls[i], r))
        interleave_fail("operation %d: a peer wrote to the vectors of rank %d after its end", i, r);
  if (played.event == ANOTHER_CALL) {
    for (int r = 0; r < played.ranks; r++)
      if (!ranks[r].failed) interleave_fail("rank %d does not know that the calls differ", r);
  }
  interleave_finish();
  for (int r = 0; r < played.ranks; r++)
    if (wire_counts_sleepers(ranks[r].comm->wire))
      interleave_fail("rank %d is counted as asleep after its end", r);
  fresh = played.event <= LATE; /* all runs start in the same state */
}

static uint64_t play(int bound, uint64_t seed, uint32_t *points) {
  const bool events = played.event == ABORT || played.event == DEATH;
  const interleaving all = {played.ranks, bound, !played.together,        begin,
                            act,          end,   events ? happens : NULL, wire_awake,
                            seed};
  fill_calls();
  fresh = false;
  const uint64_t runs = interleave(&all, points);
  if (*interleave_wrong)
    fail_msg("%s (%s, %d ranks): %s", played.name, played.plan ? played.plan : "chosen",
             played.ranks, interleave_wrong);
  return runs;
}

static void test_all_orders(void **unused) {
  (void)unused;
  if (THREADS_ARE_WATCHED) skip();
  uint64_t orders = 0;
  for (int i = 0; i < SCENES; i++) {
    uint32_t points;
    played = scenes[i];
    const int bound = shorter(played.full, played.brief);
    const uint64_t runs = play(bound, 0, &points);
    printf("# %s (%s), %d ranks: %llu orders, at most %d preemptions of %u points\n", played.name,
           played.plan ? played.plan : "chosen", played.ranks, (unsigned long long)runs, bound,
           points);
    fflush(stdout);
    orders += runs;
  }
  printf("# %llu orders in all\n", (unsigned long long)orders);
  leave_all();
}

/* ---- at random ---- */

static uint64_t seed;

static uint32_t draw(uint32_t below) {
  static uint64_t state;
  if (!state) state = seed;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % below;
}

static void test_random_orders(void **unused) {
  (void)unused;
  static const char *const plans[] = {"one-shot",   "two-shot", "naive",
                                      "fold(ring)", "doubling", NULL};
  char name[60];
  uint32_t points;
  if (THREADS_ARE_WATCHED) skip();
  for (int k = 0; k < ROUNDS; k++) {
    static const tutti_coll colls[] = {TUTTI_ALLREDUCE, TUTTI_ALLREDUCE, TUTTI_REDUCE,
                                       TUTTI_BROADCAST};
    snprintf(name, sizeof name, "seed %llu, round %d", (unsigned long long)seed, k);
    played = (scene){.name = name,
                     .plan = plans[draw(6)],
                     .ranks = 2 + (int)draw(RANKS - 1),
                     .way = (way)draw(WAYS),
                     .together = (int)draw(4),
                     .event = (event)(draw(2) * draw(4))};
    for (uint32_t i = 0, n = 1 + draw(3); i < n; i++)
      played.op[i] =
          (operation){colls[played.plan ? 0 : draw(4)], 1 + draw(draw(3) ? 2 * LONG : 64),
                      (int)draw((uint32_t)played.ranks), draw(1 << RANKS), 1 + (int)draw(3)};
    play(0, (uint64_t)draw(1u << 30) + 1, &points);
  }
  leave_all();
}

int main(int argc, char **argv) {
  const struct CMUnitTest orders[] = {cmocka_unit_test(test_all_orders)};
  const struct CMUnitTest at_random[] = {cmocka_unit_test(test_random_orders)};
  if (argc > 1) seed = strtoull(argv[1], NULL, 10);
  return seed ? cmocka_run_group_tests(at_random, NULL, NULL)
              : cmocka_run_group_tests(orders, NULL, NULL);
}
