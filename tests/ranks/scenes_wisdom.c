/* scenes_wisdom.c - calls that are measured before their first run, and wisdom that only some ranks have:
 * results are right, and all ranks run the same plan.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../cli/configure.h"
#include "cover.h"
#include "scenes.h"
#include "tutti_plan.h"

/* Do all ranks have the same text? */
static bool same_text(tutti_comm *side, const char *text) {
  uint64_t mine = 1, all[64];
  for (const char *c = text; *c; c++) mine = cover_mix(mine ^ (unsigned char)*c);
  if (!CHECK(!tutti_allgather(side, &mine, all, 1, TUTTI_UINT64))) return false;
  for (int r = 0; r < tutti_comm_size(side); r++)
    if (all[r] != all[0]) return scene_check(false, __FILE__, __LINE__, text);
  return true;
}

static bool same_plan(tutti_comm *comm, tutti_comm *side, const cover_case *c, tutti_op op,
                      char plan[160]) {
  return CHECK(!tutti_comm_plan(comm, c->coll, c->count, c->type, op, plan, 160)) &&
         same_text(side, plan);
}

/* Are the ranks threads of this process? */
static bool one_process(tutti_comm *side) {
  int64_t mine = getpid(), all[64];
  return CHECK(!tutti_allgather(side, &mine, all, 1, TUTTI_INT64)) && all[0] == mine &&
         all[tutti_comm_size(side) - 1] == mine;
}

/* Clears the wisdom of this rank's process; of ranks that are threads, only the first does. */
static bool forget(tutti_comm *side) {
  const bool threads = one_process(side);
  bool ok = CHECK(!tutti_barrier(side));
  if (tutti_comm_rank(side) == 0 || !threads) ok = CHECK(!tutti_wisdom_forget()) && ok;
  return CHECK(!tutti_barrier(side)) && ok;
}

/* ---- measuring ---- */

/* Runs cases of the covering table, with tutti's own choice or some plans excluded, blocking and
 * persistent; the case checks data, guards and src. */
static bool one_case(tutti_comm *comm, tutti_comm *side, size_t i, uint64_t seed, bool *over) {
  static const char *const algos[] = {"auto", "^fold;^one-shot", "^naive;^tree", "auto",
                                      "doubling"};
  static const cover_ops ops = {.user = TUTTI_SUM, .ordered = TUTTI_SUM};
  char why[600], plan[160];
  cover_case c = cover_case_at(tutti_comm_size(comm), seed, i);
  if (c.op >= COVER_USER || !cover_has_op(c.type, c.op)) return true;
  snprintf(c.algo, sizeof c.algo, "%s", c.helpers ? "auto" : algos[i % 5]);
  c.manner = i % 3 == 0 ? COVER_PERSISTENT : COVER_BLOCKING;
  c.slices = i % 11 == 0 ? 3 : 0;
  if (!cover_run(comm, side, &ops, &c, over, why, sizeof why)) {
    cover_print(&c, why + strlen(why), sizeof why - strlen(why));
    return scene_check(false, __FILE__, __LINE__, why);
  }
  return *over || cover_varied(&c) || same_plan(comm, side, &c, (tutti_op)c.op, plan);
}

/* The number of entries in the first rank's process, on all ranks. */
static int entries(tutti_comm *side) {
  int32_t n = 0;
  char *text = NULL;
  if (tutti_comm_rank(side) == 0 && CHECK(!tutti_wisdom_export(&text)))
    for (char *at = text; (at = strchr(at, '\n')); at++)
      n += at[1] >= 'a' && at[1] <= 'z' && at[2] != 'n';
  tutti_text_free(text);
  return CHECK(!tutti_broadcast(side, &n, &n, 1, TUTTI_INT32, 0)) ? n : -1;
}

bool scene_measure(tutti_comm *base, uint64_t seed) {
  tutti_comm *comm = NULL;
  bool over = false;
  bool ok =
      forget(base) && CHECK(!tutti_comm_dup(base, &comm)) && CHECK(!comm_set_measure(comm, 1));
  for (size_t i = 0; i < 60 && ok && !over; i++)
    ok = one_case(comm, base, (size_t)(seed % 97) + 7 * i, seed, &over);
  const int n = ok ? entries(base) : 0;
  ok = ok && CHECK(tutti_comm_size(base) == 1 ? n == 0 : n > 5);
  return forget(base) && CHECK(!tutti_comm_free(comm)) && ok;
}

/* ---- user-defined ops ---- */

static _Atomic int made_up; /* an op got an invalid input */

/* Keeps the left operand: it does not commute, and no rank's input has a 0. */
static void left(const void *a, const void *b, void *dst, size_t n, tutti_type t, void *ctx) {
  const uint32_t *x = a, *y = b;
  (void)t, (void)ctx;
  for (size_t i = 0; i < n; i++) {
    if (!x[i] || !y[i]) made_up = 1;
    ((uint32_t *)dst)[i] = x[i];
  }
}

bool scene_measure_ops(tutti_comm *base, uint64_t seed) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  enum { N = 3000 };
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  uint32_t *x = malloc(2 * N * sizeof *x), *y = x + N;
  char plan[160];
  tutti_comm *comm = NULL;
  tutti_op op;
  (void)seed;
  bool ok =
      CHECK(x != NULL) && CHECK(!tutti_comm_dup(base, &comm)) && CHECK(!comm_set_measure(comm, 1));
  pthread_mutex_lock(&lock);
  ok = ok && CHECK(!tutti_op_create(left, NULL, 0, &op));
  pthread_mutex_unlock(&lock);
  for (int i = 0; ok && i < N; i++) x[i] = (uint32_t)(me + 1);
  for (size_t n = 1; ok && n <= N; n = n * 7 + 1) {
    const cover_case c = {.coll = TUTTI_ALLREDUCE, .count = n, .type = TUTTI_UINT32};
    memset(y, 0, N * sizeof *y);
    ok = CHECK(!tutti_allreduce(comm, x, y, n, TUTTI_UINT32, op)) && CHECK(y[0] == 1) &&
         CHECK(y[n - 1] == 1) && same_plan(comm, base, &c, op, plan);
    for (int root = 0; root < P && ok; root++) { /* one entry for all roots */
      ok = CHECK(!tutti_reduce(comm, x, y, n, TUTTI_UINT32, op, root)) &&
           CHECK(me != root || (y[0] == 1 && y[n - 1] == 1)) &&
           CHECK(!tutti_broadcast(comm, x, y, n, TUTTI_UINT32, root)) &&
           CHECK(y[n / 2] == (uint32_t)root + 1);
    }
    ok = ok && CHECK(!tutti_scan(comm, x, y, n, TUTTI_UINT32, op)) && CHECK(y[n - 1] == 1);
  }
  ok = ok && CHECK(!made_up);
  free(x);
  return CHECK(!tutti_op_free(op)) && forget(base) && CHECK(!tutti_comm_free(comm)) && ok;
}

/* ---- wisdom that only some ranks have ---- */

/* Imports wisdom for this communicator's placement that names a plan; `when` is rank 0's time stamp. */
static bool claim(const char *on, const char *plan, const char *when) {
  char text[1000];
  snprintf(text, sizeof text,
           "tutti-wisdom 1, tutti %s\n%s\nallreduce int32 sum any 0 4000 %s 1 7.250 1%% 9 1 %s\n",
           tutti_version(NULL, NULL, NULL), on, plan, when);
  return CHECK(!tutti_wisdom_import(text));
}

/* The line that begins with "on", on all ranks. */
static bool place_of(tutti_comm *side, char on[300]) {
  char *text = NULL;
  memset(on, 0, 300);
  if (tutti_comm_rank(side) == 0 && CHECK(!tutti_wisdom_export(&text))) {
    const char *at = strstr(text, "\non ");
    if (CHECK(at != NULL)) snprintf(on, 300, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
  }
  tutti_text_free(text);
  return CHECK(!tutti_broadcast(side, on, on, 300, TUTTI_UINT8, 0)) && CHECK(*on);
}

/* Checks that a new communicator of these ranks runs this plan, and whether wisdom chose it. */
static bool runs(tutti_comm *base, int key, const char *plan, bool wisdom) {
  const cover_case c = {.coll = TUTTI_ALLREDUCE, .count = 1000, .type = TUTTI_INT32};
  int32_t x[1000], y[1000];
  char name[160], *text = NULL;
  tutti_comm *comm = NULL;
  bool ok =
      CHECK(!tutti_comm_split(base, 0, key, &comm)) && same_plan(comm, base, &c, TUTTI_SUM, name);
  if (ok && plan && strncmp(name, plan, strlen(plan)) != 0)
    ok = scene_check(false, __FILE__, __LINE__, name);
  ok = ok && CHECK((strstr(name, "measured 7.25 us") != NULL) == wisdom);
  ok = ok && CHECK(!tutti_comm_explain(comm, c.coll, 1000, c.type, TUTTI_SUM, 0, &text)) &&
       CHECK((strstr(text, "By wisdom: at 3.91 KiB it took 7.25 us") != NULL) == wisdom);
  tutti_text_free(text);
  for (int i = 0; i < 1000; i++) x[i] = i;
  ok = ok && CHECK(!tutti_allreduce(comm, x, y, 1000, TUTTI_INT32, TUTTI_SUM)) &&
       CHECK(y[999] == 999 * tutti_comm_size(base));
  return CHECK(!tutti_comm_free(comm)) && ok;
}

bool scene_wisdom(tutti_comm *base, uint64_t seed) {
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  const bool threads = one_process(base);
  tutti_measured m = {.size = sizeof m};
  tutti_comm *comm = NULL;
  char on[300], all[400], plan[160];
  int32_t x[1000] = {0}, y[1000];
  (void)seed;
  bool ok = forget(base) && CHECK(!tutti_comm_dup(base, &comm)) &&
            CHECK(!tutti_allreduce(comm, x, y, 1000, TUTTI_INT32, TUTTI_SUM)) &&
            CHECK(!tutti_comm_measure(comm, TUTTI_ALLREDUCE, 1000, TUTTI_INT32, TUTTI_SUM, &m));
  if (P == 1) return CHECK(m.candidates == 0) && CHECK(!tutti_comm_free(comm)) && ok;
  snprintf(all, sizeof all, "%s %d %.17g %.17g %d", m.plan, m.slices, m.seconds, m.own_seconds,
           m.candidates);
  ok = ok && same_text(base, all) && CHECK(m.candidates > 1) && CHECK(m.seconds > 0);
  /* replaces a plan that has already run */
  ok = ok &&
       CHECK(!tutti_comm_plan(comm, TUTTI_ALLREDUCE, 1000, TUTTI_INT32, TUTTI_SUM, plan, 160)) &&
       CHECK(strncmp(plan, m.plan, strlen(m.plan)) == 0) &&
       CHECK(strstr(plan, ", measured ") != NULL);
  ok = CHECK(!tutti_comm_free(comm)) && ok && place_of(base, on);
  const char *mine = strcmp(m.own, "naive") ? "naive" : "two-shot", *theirs = "doubling";
  /* only the first rank has wisdom; then the others have different wisdom, which is ignored */
  ok = forget(base) && ok;
  if (me == 0) ok = claim(on, mine, "2026-11-22T01:24:22Z") && ok;
  ok = CHECK(!tutti_barrier(base)) && ok && runs(base, me, mine, true);
  if (me && !threads) ok = claim(on, theirs, "2026-11-22T01:24:23Z") && ok;
  ok = CHECK(!tutti_barrier(base)) && ok && runs(base, me, mine, true);
  /* reverse rank order: the last rank's wisdom applies, if the placement is the same */
  if (!strstr(on, "over")) ok = ok && runs(base, -me, threads ? mine : theirs, true);
  /* only another rank has it */
  if (me == 0) ok = CHECK(!tutti_wisdom_forget()) && ok;
  ok = CHECK(!tutti_barrier(base)) && ok && runs(base, me, NULL, false);
  /* of another placement, or a plan that does not exist here */
  if (me == 0) ok = claim("on 00000001: elsewhere", mine, "2026-11-22T01:24:22Z") && ok;
  ok = CHECK(!tutti_barrier(base)) && ok && runs(base, me, NULL, false);
  if (me == 0) ok = claim(on, "fold(group=5x5)", "2026-11-22T01:24:22Z") && ok;
  ok = CHECK(!tutti_barrier(base)) && ok && runs(base, me, NULL, false);
  return forget(base) && ok;
}
