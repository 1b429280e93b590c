/* plan_cache.c - finds or makes the plan of a call, and caches it.
 *
 * Idea       A small table is indexed by a 64-bit hash of the call. In addition, schedules are kept by name, collective,
 *            root and whether they are in place.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "flight.h"
#include "fp_state.h"

/* The maximum size of a slice, in bytes. Longer vectors are divided, which limits scratch memory to TT_FLIGHT times two layers of
 * this size. */
enum { SLICE_BYTES = 8 << 20 };

/* Returns the count, or a hash of all counts if they vary. */
static uint64_t counts_key(const tutti_comm *comm, const tt_call *c) {
  uint64_t h = 1;
  for (int r = 0; c->varied && r < tt_call_data(comm, c); r++) {
    h = tt_mix(h + c->counts[r] + 0x9e3779b97f4a7c15u);
    if (c->recv_counts) h = tt_mix(h + c->recv_counts[r] + 0x9e3779b97f4a7c15u);
  }
  return c->varied ? h : c->count;
}

static uint64_t plan_key(const tutti_comm *comm, const tt_call *c, bool in_place) {
  uint64_t what = (uint64_t)c->coll | (uint64_t)c->type << 8 | (uint64_t)c->op << 16 |
                  (uint64_t)in_place << 28 | (uint64_t)c->everyone << 30 |
                  (uint64_t)c->varied << 31 | (uint64_t)(uint32_t)c->root << 32;
  /* a freed handle may be reused for another op */
  const tt_user_op *user = tt_coll_reduces(c->coll) ? tt_op_user(c->op) : NULL;
  if (user) what = tt_mix(what) ^ user->serial;
  what ^= tt_code_hash(tt_call_wish(comm, c));
  if (c->override) what = tt_mix(what) ^ tt_override_hash(c->override);
  uint64_t key = tt_mix(tt_mix(what + 0x9e3779b97f4a7c15u) ^ counts_key(comm, c));
  return key ? key : 1;
}

/* Hashes the properties of a call and its plan that must be the same on all ranks. Handles of user ops may differ. */
static uint32_t hash_plan(const tutti_comm *comm, const tt_call *c, const tt_program *program,
                          int slices, tt_code code) {
  const tt_sched *sched = program->sched;
  uint64_t h = tt_mix((uint64_t)c->coll | (uint64_t)c->type << 8 |
                      (uint64_t)tt_op_kind(c->op) << 16 | (uint64_t)(program->order != NULL) << 30 |
                      (uint64_t)c->varied << 31 | (uint64_t)(uint32_t)c->root << 32);
  if (!tt_call_is_alltoallv(c)) h = tt_mix(h ^ counts_key(comm, c));
  h = tt_mix(h ^ (uint64_t)sched->data);
  h = tt_mix_text(h, sched->name);
  h = tt_mix(h ^ (uint64_t)code);
  return (uint32_t)tt_mix(h ^ (uint64_t)slices ^ (uint64_t)program->shape << 32);
}

/* Finds a specialized loop that can run both in place and out of place, because ranks may differ in this. Sets *shape to
 * TT_SHAPE_NONE if no loop qualifies. The result is the same on all ranks. */
static tutti_status shape_for_all_ranks(const tt_ask *ask, bool generic, tt_sched *mine,
                                        tt_shape *shape) {
  *shape = TT_SHAPE_NONE;
  tutti_status status = generic ? TUTTI_OK : tt_shape_of(&mine, 1, shape);
  for (int in_place = 0; in_place < 2 && *shape && !status; in_place++) {
    tt_ask other = *ask;
    tt_sched **all;
    tt_shape theirs;
    other.in_place = in_place;
    status = tt_algo_build_all(&other, &all);
    if (status) return status;
    status = tt_shape_of(all, ask->ranks, &theirs);
    tt_sched_free_all(all, ask->ranks);
    if (theirs != *shape) *shape = TT_SHAPE_NONE;
  }
  return status;
}

static tutti_status find_or_prepare(tutti_comm *comm, const tt_ask *ask, const int *order,
                                    tt_prepared **out) {
  for (tt_prepared *p = comm->plans->prepared; p; p = p->next)
    if (p->sched->coll == ask->coll && p->sched->root == ask->root && p->sched->data == ask->data &&
        p->program->in_place_asked == ask->in_place && p->program->order == order &&
        strcmp(p->sched->name, ask->plan->text) == 0) {
      *out = p;
      return TUTTI_OK;
    }
  tt_prepared *p = calloc(1, sizeof *p);
  if (!p) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a plan");
  tutti_status status = tt_algo_build(ask, &p->sched);
  tt_shape shape = TT_SHAPE_NONE;
  if (!status && (!order || comm->plans->setting.has_loop))
    status = shape_for_all_ranks(ask, comm->settings.plain.generic, p->sched, &shape);
  /* a loop would refer to the order, which lasts only as long as the number of helpers stays the same */
  if (order && (shape != TT_SHAPE_ROUNDS || ask->data < ask->ranks)) shape = TT_SHAPE_NONE;
  if (!status && !(p->program = tt_program_new(p->sched, order, shape)))
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for a plan of %u steps", p->sched->nsteps);
  if (status) {
    tt_sched_free(p->sched);
    free(p);
    return status;
  }
  p->program->alike = comm->wire->paced.level && tt_algo_uniform(ask, NULL);
  p->program->in_place_asked = ask->in_place;
  p->next = comm->plans->prepared;
  comm->plans->prepared = p;
  *out = p;
  return TUTTI_OK;
}

/* Finds or prepares a schedule whose ranks are arranged in the given order. If all ranks share memory, first tries to do without
 * the order, because only the fast path for groups of ranks (TT_SHAPE_ROUNDS) needs it. In other fast paths every rank reads from
 * all other ranks. */
static tutti_status prepare_arranged(tutti_comm *comm, const tt_ask *ask, const int *order,
                                     const tt_call *c, tt_prepared **out) {
  if (order && comm->plans->setting.has_loop) {
    tt_ask plain = *ask;
    plain.rank = comm->rank;
    plain.root = c->root;
    const tutti_status status = find_or_prepare(comm, &plain, NULL, out);
    const tt_shape shape = status ? TT_SHAPE_NONE : (*out)->program->shape;
    if (status || (shape && shape != TT_SHAPE_ROUNDS)) return status;
  }
  return find_or_prepare(comm, ask, order, out);
}

/* Returns the number of slices. A number that the user has set takes precedence. Otherwise it is the chosen number, or more if
 * that is necessary to limit scratch memory. */
static int slices_for(const tutti_comm *comm, const tt_call *c, int chosen) {
  if (tt_coll_owned(c->coll)) return 1;
  uint64_t bytes = (uint64_t)c->count * tutti_type_size(c->type);
  uint64_t slices = 1;
  if (bytes > TT_FLIGHT * SLICE_BYTES) /* the first and the last are a quarter as long */
    slices = (bytes + 3 * SLICE_BYTES / 2 + SLICE_BYTES - 1) / SLICE_BYTES;
  slices = tt_max(slices, (uint64_t)chosen);
  if (comm->settings.plain.slices) slices = (uint64_t)comm->settings.plain.slices;
  return (int)tt_max(1, tt_min(slices, tt_min(tt_max(c->count, 1), 1 << 20)));
}

static void warn_refused(tutti_comm *comm, tutti_coll coll, const char *refusal, const char *name) {
  if (comm->plans->warned >> coll & 1) return;
  comm->plans->warned |= 1u << coll;
  tt_log(0, "%s; %s runs %s instead", refusal, tutti_coll_name(coll), name);
}

static bool is_helped(const tutti_comm *comm, const tt_call *call) {
  return tt_call_data(comm, call) < comm->ranks;
}

bool tt_goes_by_places(tutti_coll coll, unsigned needs) {
  switch (coll) {
    case TUTTI_BROADCAST:
    case TUTTI_BARRIER: return true;
    case TUTTI_ALLREDUCE:
    case TUTTI_REDUCE: return !(needs & (TT_NEED_ORDER | TT_NEED_ELEMENT));
    default: return false;
  }
}

static unsigned needs_of(const tutti_comm *comm, const tt_call *call) {
  return tt_needs_of(comm->settings.plain.contract, call->coll, call->type, call->op);
}

static bool goes_by_places(const tutti_comm *comm, const tt_call *call) {
  return tt_goes_by_places(call->coll, needs_of(comm, call));
}

/* order_for returns the rank at each place, or NULL if the plan is made for ranks. place_for returns the place of a rank. */
static const int *order_for(const tutti_comm *comm, const tt_call *c) {
  if (!goes_by_places(comm, c)) return NULL;
  return is_helped(comm, c) ? comm->plans->helped.order : comm->plans->order;
}

static int place_for(const tutti_comm *comm, const tt_call *c, int rank) {
  if (!order_for(comm, c)) return rank;
  return (is_helped(comm, c) ? comm->plans->helped.place : comm->plans->place)[rank];
}

bool tt_planned_for_ranks(const tutti_comm *comm, const tt_call *c) {
  return comm->plans->order && !goes_by_places(comm, c);
}

tt_chooser *tt_chooser_for(const tutti_comm *comm, const tt_call *c) {
  const bool by_ranks = !goes_by_places(comm, c);
  if (is_helped(comm, c))
    return comm->plans->helped.order && by_ranks ? comm->plans->helped.flat
                                                 : comm->plans->helped.chooser;
  return comm->plans->order && by_ranks ? comm->plans->flat : comm->plans->chooser;
}

tt_problem tt_problem_of(const tutti_comm *comm, const tt_call *c) {
  tt_problem p = {.coll = c->coll,
                  .bytes = (uint64_t)c->count * tutti_type_size(c->type),
                  .needs = needs_of(comm, c),
                  .root = place_for(comm, c, c->root)};
  if (tt_coll_owned(c->coll)) p.bytes *= (uint64_t)tt_call_data(comm, c);
  if (c->varied) p.bytes = 0;
  for (int r = 0; c->varied && r < tt_call_data(comm, c); r++)
    p.bytes += (uint64_t)c->counts[r] * tutti_type_size(c->type);
  if (tt_coll_reduces(c->coll)) p.weight = tt_weight_of(tt_chooser_for(comm, c), c->type);
  if (tt_call_is_exact(comm, c)) tt_exact_problem(c->type, comm->ranks, &p);
  tt_wisdom_key_set(&p.key, c->coll, c->type, c->op, p.needs, comm->ranks - tt_call_data(comm, c));
  if (tt_wisdom_applies(comm, c)) p.wisdom = &comm->plans->wisdom;
  return p;
}

tutti_status tt_plan_make(tutti_comm *comm, const tt_call *c, bool in_place,
                          const tt_choice *choice, tt_plan *plan) {
  const uint64_t bytes = tt_problem_of(comm, c).bytes;
  const tt_ext_ranks its =
      choice->ext ? choice->ext->ranks(comm, choice->way)
                  : (tt_ext_ranks){.order = order_for(comm, c), .chooser = tt_chooser_for(comm, c)};
  /* if numbers are multiplied first, the products are not in the buffer of the sum */
  const bool apart = tt_coll_reduces(c->coll) && tt_op_factor(c->op) != 1;
  tt_ask ask = {.plan = choice->plan,
                .coll = c->coll,
                .ranks = comm->ranks + its.more,
                .rank = place_for(comm, c, comm->rank),
                .root = place_for(comm, c, c->root),
                .data = tt_call_data(comm, c),
                .in_place = in_place && !apart};
  plan->exec.slices = slices_for(comm, c, choice->slices);
  plan->exec.reducer = (tt_reducer){.type = c->type, .element = tutti_type_size(c->type)};
  tutti_status status = TUTTI_OK;
  if (tt_coll_reduces(c->coll)) status = tt_reducer_init(&plan->exec.reducer, c->type, c->op);
  if (status) return status;
  status = tt_proof_ask(comm, &ask, plan->exec.slices, &plan->proven);
  if (!status) status = prepare_arranged(comm, &ask, its.order, c, &plan->prepared);
  if (status) return status;
  const tt_program *program = plan->exec.program = plan->prepared->program;
  plan->exec.if_exported = program->shape;
  bool two_shot = false;
  status = tt_plan_spec_named("two-shot", &ask.plan);
  if (!status && program->shape == TT_SHAPE_ONE_SHOT && c->coll == TUTTI_ALLREDUCE &&
      !choice->overridden && !tt_override_forbids(tt_call_override(comm, c), ask.plan, bytes))
    status =
        tt_two_shot_if_exported(comm->plans->chooser, choice->plan, ask.plan, bytes, &two_shot);
  tt_proven other;
  if (!status && two_shot) status = tt_proof_ask(comm, &ask, plan->exec.slices, &other);
  if (status) return status;
  if (two_shot) plan->exec.if_exported = TT_SHAPE_TWO_SHOT;
  plan->chooser = its.chooser;
  plan->exec.coding = (tt_coding){choice->code, comm->plans->coded.far};
  plan->hash = hash_plan(comm, c, program, plan->exec.slices, choice->code);
  plan->wisdom = choice->wisdom ? choice->wisdom->took : 0;
  return TUTTI_OK;
}

static tutti_status choose_and_make_plan(tutti_comm *comm, const tt_call *c, bool in_place,
                                         tt_plan *plan) {
  tt_choice choice = {.slices = 1};
  const tt_problem problem = tt_problem_of(comm, c);
  plan->rival = NULL;
  plan->wisdom = 0;
  plan->seconds = 0;
  if (tt_call_is_alltoallv(c)) { /* sizes differ between ranks, so choices would, too */
    const tutti_status status = tt_plan_spec_named("direct", &choice.plan);
    return status ? status : tt_plan_make(comm, c, in_place, &choice, plan);
  }
  tutti_status status =
      tt_choose(tt_chooser_for(comm, c), &problem, tt_call_override(comm, c), &choice);
  if (!status) status = tt_exts_choose(comm, c, &problem, &choice);
  if (status) return status;
  if (*choice.refusal && !c->everyone)
    warn_refused(comm, c->coll, choice.refusal, choice.plan->text);
  if (!choice.ext) status = tt_coding_choose(comm, c, &problem, &choice);
  if (status) return status;
  status = tt_plan_make(comm, c, in_place, &choice, plan);
  if (!status) plan->rival = tt_rival_for(comm, c, &choice, plan);
  if (!status && tt_device())
    plan->seconds = choice.wisdom
                        ? 1e-9 * (double)choice.wisdom->took
                        : tt_price_of(plan->chooser, &problem, choice.plan, choice.slices);
  if (plan->seconds < 0) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the choice of a plan");
  if (!status && comm->settings.explains && !c->everyone && !c->said) tt_comm_say_why(comm, c);
  return status;
}

static bool has_counts(const uint64_t *table, const size_t *counts, int ranks) {
  int r = 0;
  while (r < ranks && table[r + 1] - table[r] == counts[r]) r++;
  return r == ranks;
}

static bool same_counts(const tutti_comm *comm, const tt_call *c, const tt_plan *plan) {
  const int data = c->varied ? tt_call_data(comm, c) : 0;
  return has_counts(plan->table, c->counts, data) &&
         (!c->recv_counts || has_counts(plan->table + comm->ranks + 1, c->recv_counts, data));
}

static void add_up(uint64_t *table, const size_t *counts, int data, int ranks) {
  table[0] = 0;
  for (int r = 0; r < ranks; r++) table[r + 1] = table[r] + (r < data ? counts[r] : 0);
}

static tutti_status make_table(const tutti_comm *comm, const tt_call *c, tt_plan *plan) {
  free(plan->table);
  plan->exec.table = plan->table = NULL;
  if (!c->varied) return TUTTI_OK;
  const int data = tt_call_data(comm, c);
  const size_t n = (size_t)comm->ranks + 1;
  uint64_t *table = malloc((c->recv_counts ? 2 : 1) * n * sizeof *table);
  if (!table) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a plan of %d ranks", comm->ranks);
  add_up(table, c->counts, data, comm->ranks);
  if (c->recv_counts) add_up(table + n, c->recv_counts, data, comm->ranks);
  plan->exec.table = plan->table = table;
  plan->counts = tt_call_is_alltoallv(c) ? 1 : (uint32_t)counts_key(comm, c) | 1;
  return TUTTI_OK;
}

tutti_status tt_plan_for(tutti_comm *comm, const tt_call *call, bool in_place,
                         const tt_plan **plan) {
  uint64_t key = plan_key(comm, call, in_place);
  tt_plan *p = &comm->plans->plan[key % TT_PLANS];
  *plan = p;
  if (p->key == key && same_counts(comm, call, p)) return TUTTI_OK;
  p->key = 0;
  tt_recent_forget(comm);
  tutti_status status = make_table(comm, call, p);
  const tt_fp_state state = tt_fp_pin(); /* all ranks estimate the same times */
  if (!status) status = choose_and_make_plan(comm, call, in_place, p);
  tt_fp_restore(state);
  if (!status) p->key = key;
  return tt_ended(status);
}

void tt_plans_forget(tutti_comm *comm) {
  for (int i = 0; i < TT_PLANS; i++) free(comm->plans->plan[i].table);
  memset(comm->plans->plan, 0, sizeof comm->plans->plan);
  comm->plans->alone_from = 0;
  tt_rivals_forget(comm);
  tt_recent_forget(comm);
  comm->plans->warned = 0;
}

void tt_plans_drop(tutti_comm *comm) {
  tt_plans_forget(comm);
  tt_rivals_free(comm);
  while (comm->plans->prepared) {
    tt_prepared *p = comm->plans->prepared;
    comm->plans->prepared = p->next;
    free(p->program);
    tt_sched_free(p->sched);
    free(p);
  }
}
