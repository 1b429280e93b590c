/* plots.c - injects random faults: a wrong count, type, op, root or collective, or a wrong order.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "plots.h"

#include <stdlib.h>
#include <string.h>

#include "../../cli/configure.h"
#include "cover.h"
#include "lot_calls.h"
#include "scenes.h"
#include "tell.h"

enum { ORDER = 5, WAYS };
static const char *const way_names[] = {"count", "type", "op", "root", "collective", "order"};
static const char *const algos[] = {NULL, NULL, "fold(ring)", "doubling", "two-shot"};

/* The first and second calls of the faulty rank, and those of the other ranks. */
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

/* Makes the calls until one fails. */
static tutti_status calls(tutti_comm *comm, const plot *p, double *ms) {
  char *memory = calloc(2, CALL_BYTES); /* on the heap, because ranks may be threads */
  if (!memory) return TUTTI_ERR_MEMORY;
  void *x = memory, *y = memory + CALL_BYTES;
  const bool odd = tutti_comm_rank(comm) == p->odd;
  uint64_t before = tell_ns();
  tutti_status status = call_make(comm, odd ? &p->wrong : &p->right, x, y);
  if (!status) {
    before = tell_ns();
    status = call_make(comm, odd ? &p->wrong_then : &p->right_then, x, y);
  }
  for (int again = 0; again < 3 && !status; again++) {
    before = tell_ns();
    status = tutti_barrier(comm);
  }
  *ms = (double)(tell_ns() - before) / 1e6;
  free(memory);
  return status;
}

bool plot_play(tutti_comm *base, uint64_t seed, double *ms) {
  const plot p = drawn(seed, tutti_comm_size(base));
  tutti_comm *comm;
  if (!CHECK(!tutti_comm_dup(base, &comm))) return false;
  const tutti_status set = comm_set_algorithm(comm, p.algo); /* others may be in their call */
  bool ok = CHECK(!set || set == TUTTI_ERR_MISMATCH);
  const tutti_status status = calls(comm, &p, ms);
  const bool good = status == TUTTI_ERR_MISMATCH && named(&p, tutti_error());
  if (!good) {
    char right[120], wrong[120];
    call_words(&p.right, right, sizeof right);
    call_words(&p.wrong, wrong, sizeof wrong);
    printf("# rank %d, seed %llu: another %s, rank %d: %s, the others: %s: got %s: %s\n",
           tutti_comm_rank(base), (unsigned long long)seed, way_names[p.way], p.odd, wrong, right,
           tutti_strerror(status), status ? tutti_error() : "");
    fflush(stdout);
  }
  ok = CHECK(!tutti_barrier(base)) && ok;
  return CHECK(!tutti_comm_free(comm)) && good && ok;
}
