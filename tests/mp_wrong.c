/* mp_wrong.c - one rank calls something else: another count, type, op, root, collective, or in
 * another order. All ranks fail, with one sentence that names it and both calls.
 *
 * Ranks: 2 3 4
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lot_calls.h"
#include "cover.h"
#include "scenes.h"
#include "start.h"

enum { ORDER = 5, WAYS };
static const char *const way_names[] = {"count", "type", "op", "root", "collective", "order"};
static const char *const algos[] = {NULL, NULL, "fold(ring)", "doubling", "two-shot"};

/* The first calls of the odd one and of the others, the second ones. */
typedef struct plot {
  int odd, way;
  const char *algo;
  lot_call right, wrong, right_then, wrong_then;
} plot;

static plot drawn(uint64_t seed, int ranks) {
  const uint64_t lot = cover_mix(seed);
  plot p = {.odd = (int)(lot % (uint64_t)ranks), .way = (int)(lot / 64 % WAYS)};
  p.algo = algos[lot / 4096 % (sizeof algos / sizeof *algos)];
  p.right = call_drawn(seed * 7 + 1, ranks);
  p.wrong = call_changed(p.right, p.way == ORDER ? 4 : p.way, seed * 7 + 2, ranks);
  if (p.way == ORDER) p.wrong.count = call_drawn(seed * 7 + 3, ranks).count;
  p.right_then = p.way == ORDER ? p.wrong : p.right;
  p.wrong_then = p.right;
  return p;
}

static bool named(const plot *p, const char *sentence) {
  char right[120], wrong[120], who[160];
  call_words(&p->right, right, sizeof right);
  call_words(&p->wrong, wrong, sizeof wrong);
  snprintf(who, sizeof who, "rank %d called %s", p->odd, wrong);
  const char *both = strstr(sentence, "but rank "), *at = strstr(sentence, who);
  snprintf(who, sizeof who, "called %s", right);
  return both && at && strstr(sentence, who);
}

static bool play(tutti_comm *base, uint64_t seed) {
  static double x[CALL_BYTES / sizeof(double)], y[CALL_BYTES / sizeof(double)];
  const int me = tutti_comm_rank(base);
  const plot p = drawn(seed, tutti_comm_size(base));
  tutti_comm *comm;
  if (!CHECK(!tutti_comm_dup(base, &comm))) return false;
  bool ok = CHECK(!tutti_comm_set_algo(comm, p.algo));
  tutti_status status = call_make(comm, me == p.odd ? &p.wrong : &p.right, x, y);
  if (!status) status = call_make(comm, me == p.odd ? &p.wrong_then : &p.right_then, x, y);
  for (int again = 0; again < 3 && !status; again++) status = tutti_barrier(comm);
  const bool good = status == TUTTI_ERR_MISMATCH && named(&p, tutti_error());
  if (!good) {
    char right[120], wrong[120];
    call_words(&p.right, right, sizeof right);
    call_words(&p.wrong, wrong, sizeof wrong);
    printf("# rank %d, seed %llu: another %s, rank %d: %s, the others: %s: got %s: %s\n", me,
           (unsigned long long)seed, way_names[p.way], p.odd, wrong, right, tutti_strerror(status),
           status ? tutti_error() : "");
    fflush(stdout);
  }
  ok = CHECK(!tutti_barrier(base)) && ok;
  return CHECK(!tutti_comm_free(comm)) && good && ok;
}

int main(int argc, char **argv) {
  const char *all = getenv("TUTTI_TEST_ALL");
  const int rounds = argc > 1 ? atoi(argv[1]) : all && *all == '1' ? 70 : 10;
  tutti_comm *base;
  alarm(20 + 12 * (unsigned)rounds);
  if (start_comm(&base)) return printf("not ok - a communicator: %s\n", tutti_error()) > 0;
  uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : cover_seed();
  uint32_t failed = 0;
  tutti_broadcast(base, &seed, &seed, 1, TUTTI_UINT64, 0);
  if (tutti_comm_rank(base) == 0) printf("# seed %llu\n", (unsigned long long)seed);
  for (int i = 0; i < rounds; i++) {
    uint32_t bad = !play(base, seed % 1000000000 + (uint64_t)i);
    if (tutti_allreduce(base, &bad, &bad, 1, TUTTI_UINT32, TUTTI_SUM)) bad = 1;
    failed += bad != 0;
  }
  if (tutti_comm_rank(base) == 0)
    printf("%s - %d of %d mismatches are named, with both calls\n1..1\n", failed ? "not ok" : "ok",
           rounds - (int)failed, rounds);
  return tutti_comm_free(base) || start_end() || failed;
}
