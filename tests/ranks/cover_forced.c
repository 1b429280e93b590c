/* cover_forced.c - checks which plan ran. A case that names an algorithm must run it. By the end every entry of
 * the table has run, with floats and with integers, if it supports any case on this number of ranks.
 *
 * Idea       the communicator's plans are dropped before the call, so the plans that it has
 *            afterwards are those that the call ran.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "build_comm.h"
#include "by_name.h"
#include "cover.h"
#include "tutti_plan.h"

enum { ENTRIES = 200 };
static atomic_uint ran[ENTRIES][2]; /* by entry of the table; integers, floats */

static int kind_of(tutti_type type) {
  if (type <= TUTTI_UINT64) return COVER_INTEGERS;
  return tutti_type_has_op(type, TUTTI_SUM) ? COVER_FLOATS : -1;
}

/* The entry of a name; an entry without parameters represents its family's other names. */
static int entry_of(const char *name) {
  static _Thread_local const char *entries[ENTRIES]; /* kept, because each name is searched */
  int family = -1;
  for (int i = 0; i < ENTRIES; i++) {
    const char *is = entries[i] ? entries[i] : (entries[i] = tutti_algo_name(i, NULL));
    if (!is) break;
    if (strcmp(is, name) == 0) return i;
    if (strlen(is) == strcspn(name, "(") && strncmp(is, name, strlen(is)) == 0) family = i;
  }
  return family;
}

/* ---- is it able to run? ---- */

static tt_ask ask_of(const cover_case *c) {
  return (tt_ask){.coll = c->coll,
                  .ranks = c->ranks,
                  .root = tt_coll_rooted(c->coll) ? c->root : 0,
                  .data = c->ranks - c->helpers};
}

static bool can_do(const cover_case *c, tutti_op op, tutti_contract contract) {
  const tt_ask ask = ask_of(c);
  const unsigned needs = tt_needs_of(contract, c->coll, c->type, op);
  tt_sched *s;
  if (tt_algo_build_named(c->algo, &ask, &s)) return false;
  tt_sched_free(s);
  unsigned met = 0;
  bool skipped;
  return !needs || (!meets_named(c->algo, &ask, needs, 1e18, &met, &skipped) && met == needs);
}

/* The n-th name to try for an entry: first its own, then names of its family with other parameters,
 * for example the machine levels that blueconnect needs. */
static bool name_at(const cover_case *c, int entry, int n, char *name, size_t size) {
  const char *own = tutti_algo_name(entry, NULL);
  const size_t length = strcspn(own, "(");
  snprintf(name, size, "%s", own);
  for (int f = 0; n > 0 && sampled_family(f); f++)
    if (strlen(sampled_family(f)) == length && strncmp(sampled_family(f), own, length) == 0)
      return strcmp(own, sampled_family(f)) == 0 && sample_named(f, c->ranks, n - 1, name, size);
  return n == 0;
}

/* Finds a collective, an op and a number of helpers that the named algorithm supports. */
static bool find_use(cover_case *c) {
  static const tutti_op ops[] = {TUTTI_SUM, TUTTI_MAX}; /* some algorithms lack ops that round */
  const int root = c->root;
  for (c->helpers = 0; c->helpers < c->ranks; c->helpers++)
    for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++)
      for (int i = 0; i < 2; i++) {
        c->root = root % (c->ranks - c->helpers);
        c->coll = (tutti_coll)coll;
        c->op = (int)ops[i];
        if (c->coll != TUTTI_BARRIER && can_do(c, ops[i], TUTTI_CONTRACT_SAME)) return true;
      }
  return false;
}

bool cover_force(cover_case *c, int entry, int kind) {
  c->type = kind == COVER_FLOATS ? TUTTI_FLOAT : TUTTI_INT32;
  c->count = 1 + c->seed % 200;
  c->spread = COVER_EVEN;
  for (int n = 0; name_at(c, entry, n, c->algo, sizeof c->algo); n++)
    if (find_use(c)) return true;
  return false;
}

/* ---- did it run? ---- */

void cover_watch(tutti_comm *comm) {
  tt_plans_forget(comm);
}

/* An exact sum begins with an allreduce of all ranks, a maximum of integers. Is it true that another algorithm
 * may run it, because the named one does not support it? */
static bool part_of_exact(const tutti_comm *comm, const cover_case *c, tutti_op op,
                          const tt_sched *ran_plan) {
  const tt_call call = {.coll = c->coll, .type = c->type, .op = op};
  cover_case part = *c;
  part.coll = TUTTI_ALLREDUCE;
  part.type = TUTTI_INT32;
  part.helpers = 0;
  return tt_call_is_exact(comm, &call) && ran_plan->coll == part.coll &&
         ran_plan->data == ran_plan->ranks && !can_do(&part, TUTTI_MAX, TUTTI_CONTRACT_SAME);
}

bool cover_ran_as_named(const tutti_comm *comm, const cover_case *c, tutti_op op, char *why,
                        size_t size) {
  const int entry = entry_of(c->algo), kind = kind_of(c->type);
  const bool direct = c->coll == TUTTI_ALLTOALL && cover_varied(c); /* whatever is named */
  const bool element = comm->settings.plain.contract == TUTTI_CONTRACT_ELEMENT;
  const tutti_contract contract = element ? TUTTI_CONTRACT_ELEMENT : TUTTI_CONTRACT_SAME;
  if (direct || strcmp(c->algo, "auto") == 0 || cover_whole(c) == 0 || !can_do(c, op, contract))
    return true;
  bool any = false;
  for (int i = 0; i < TT_PLANS; i++) {
    if (!comm->plans->plan[i].key) continue;
    const tt_sched *is = comm->plans->plan[i].prepared->sched;
    any = true;
    if (strcmp(is->name, c->algo) == 0 || part_of_exact(comm, c, op, is)) continue;
    snprintf(why, size, "%s was named and can do it, but %s ran", c->algo, is->name);
    return false;
  }
  if (!any && c->ranks > 1) snprintf(why, size, "no plan ran");
  if (any && entry >= 0 && kind >= 0) atomic_fetch_add(&ran[entry][kind], 1);
  return any || c->ranks == 1;
}

/* Entries without a case: on few ranks, and those that have one on another small number of ranks. */
static bool is_excused(int ranks, int entry, int kind) {
  cover_case c = {.ranks = ranks};
  if (cover_force(&c, entry, kind)) return false;
  bool elsewhere = ranks < COVER_ENOUGH;
  for (int few = COVER_SMALL; few > 1 && !elsewhere; few--) {
    c = (cover_case){.ranks = few};
    elsewhere = cover_force(&c, entry, kind);
  }
  return elsewhere;
}

int cover_never_ran(int ranks, char *why, size_t size) {
  static const char *const kinds[] = {[COVER_INTEGERS] = "integers", [COVER_FLOATS] = "floats"};
  int never = tutti_algo_name(ENTRIES, NULL) != NULL; /* more entries than the array counts */
  if (never) snprintf(why, size, "some of more than %d algorithms never ran", ENTRIES);
  for (int i = 0; i < ENTRIES && tutti_algo_name(i, NULL) && ranks > 1; i++)
    for (int kind = 0; kind < 2; kind++) {
      if (ran[i][kind] || is_excused(ranks, i, kind)) continue;
      if (!never++)
        snprintf(why, size, "%s never ran with %s", tutti_algo_name(i, NULL), kinds[kind]);
    }
  return never;
}
