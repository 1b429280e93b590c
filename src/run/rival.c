/* rival.c - learns which of two plans that give the same bits is faster, from the duration of calls.
 *
 * Idea       Estimates can be far off. Therefore, if all ranks share memory, a plan of an allreduce has a
 *            rival: the plan with the best estimate among those that give the same bits. Rank 0 measures the time of
 *            calls with either plan (learn.h), and publishes in a word of its control block which one runs next.
 * Time       The time is measured on rank 0, within the call, because the caller may work between its calls. If ranks share
 *            cores, it is the time from the start of one call to the start of the next, because ranks use the time that
 *            others do not.
 * Agreement  Rank 0 writes the word during an allreduce. It takes effect TT_WINDOW operations later, and also contains the
 *            choice that is valid until then. A rank that has completed that allreduce has seen the word, and no rank starts
 *            an operation TT_WINDOW later without having completed it. A word is replaced only after it has taken effect on
 *            all ranks. If ranks disagreed nevertheless, the hashes of their calls would differ.
 * Same bits  Two loops give the same bits if both compute each sum in one step, from all ranks' operands in rank order
 *            (one-shot, two-shot, naive). If the op does not round, any two plans do.
 * Invariant  No result depends on timing. The call alone determines which rival a plan has, so all ranks find the same one.
 * Cost       One load per call of more than 1 KiB. The rival is searched for once per power of two, in the 32nd call.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rival.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flight.h"
#include "fp_state.h"
#include "remote.h"

/* Vectors of the first size class have at most 2^LEAST bytes. ESTIMATED as a `way` means the plan with the lower estimate. */
enum { LEAST = 11, SEEK = 32, RANKS = 64 };
enum { ESTIMATED = 2 };
static const double most = 3; /* maximum ratio of the rival's estimate to the usual plan's */

/* ---- the word ---- */

static uint64_t word_of(uint64_t from, uint16_t pair, unsigned before, unsigned then) {
  return from << 20 | (uint64_t)pair << 4 | before << 2 | then;
}
static uint16_t pair_of(uint64_t word) {
  return (uint16_t)(word >> 4);
}
static unsigned way_at(uint64_t word, uint64_t seq) {
  return seq >= word >> 20 ? word & 3 : word >> 2 & 3;
}

static uint64_t word_here(const tutti_comm *comm, int size) {
  return comm->wire->memory->advised(comm->wire, TT_PLAN_ADVICE + size);
}

/* Returns true if the word that rank 0 has published says that operation `seq` runs the rival plan. */
static bool runs(const tt_rival *x, uint64_t word, uint64_t seq) {
  const unsigned way = word && pair_of(word) == x->pair ? way_at(word, seq) : ESTIMATED;
  return way != ESTIMATED && way == x->second;
}

/* ---- finding the rival ---- */

static int size_of(uint64_t bytes) {
  const int k = tt_ceil_log2(bytes) - LEAST;
  return k < 0 || k >= TT_PLAN_SIZES ? -1 : k;
}

static bool may_have_rival(const tutti_comm *comm, const tt_call *call, const tt_choice *choice,
                           const tt_plan *plan) {
  return call->coll == TUTTI_ALLREDUCE && !call->varied &&
         tt_call_data(comm, call) == comm->ranks && comm->ranks > 1 && comm->ranks <= RANKS &&
         comm->wire->memory->advise && !choice->ext && !choice->wisdom && !choice->code &&
         !tt_call_override(comm, call)->n && plan->exec.slices == 1 && plan->exec.program->shape &&
         !tt_call_is_exact(comm, call);
}

tt_rival *tt_rival_for(tutti_comm *comm, const tt_call *call, const tt_choice *choice,
                       const tt_plan *plan) {
  if (!may_have_rival(comm, call, choice, plan)) return NULL;
  const tt_problem p = tt_problem_of(comm, call);
  const int size = size_of(p.bytes);
  if (size < 0) return NULL;
  tt_rival *x = comm->plans->rivals;
  while (x && (x->forgotten || x->usual != plan->prepared || x->needs != p.needs ||
               x->weight != p.weight || x->size != size))
    x = x->next;
  if (x || !(x = calloc(1, sizeof *x))) return x;
  *x = (tt_rival){.next = comm->plans->rivals,
                  .usual = plan->prepared,
                  .needs = p.needs,
                  .weight = p.weight,
                  .size = size};
  return comm->plans->rivals = x;
}

/* Returns true if this plan gives the same bits on all ranks as the usual plan. */
static bool fits(const tt_rival *x, const tt_prepared *other) {
  const tt_program *a = x->usual->program, *b = other->program;
  if (!b->shape || a->order != b->order || tt_sched_equal(x->usual->sched, other->sched))
    return false;
  if (!(x->needs & (TT_NEED_SAME | TT_NEED_ORDER | TT_NEED_ELEMENT)))
    return true; /* no grouping changes a bit */
  return tt_shape_sums_at_once(a->shape) && tt_shape_sums_at_once(b->shape);
}

/* If the plan in the quote gives the same bits as the usual plan, stores it as the rival and returns true. */
static bool try_quote(tutti_comm *comm, const tt_call *call, tt_rival *x, const tt_quote *quote) {
  tt_plan made = {0};
  const tt_choice choice = {.plan = quote->plan, .slices = 1};
  if (tt_plan_make(comm, call, x->usual->program->in_place_asked, &choice, &made) ||
      !fits(x, made.prepared))
    return false;
  const char *usual = x->usual->sched->name, *name = made.prepared->sched->name;
  x->program = made.prepared->program;
  x->second = strcmp(usual, name) < 0;
  const uint64_t both = tt_mix_text(tt_mix_text(7, x->second ? usual : name), x->second ? name : usual);
  x->pair = (uint16_t)(both % 65535 + 1);
  return true;
}

/* Finds the cheapest plan that can serve as the rival. Compares estimates for the largest vector of this size class. */
static void seek(tutti_comm *comm, const tt_call *call, tt_rival *x) {
  tt_chooser *c = tt_chooser_for(comm, call);
  const tt_override none = {0};
  const tt_plan_spec *usual;
  tt_problem p = tt_problem_of(comm, call);
  tt_quote quote;
  x->sought = true;
  p.bytes = (uint64_t)1 << (LEAST + x->size);
  if (tt_plan_spec_named(x->usual->sched->name, &usual)) return;
  double limit = most * tt_price_of(c, &p, usual, 1);
  if (limit < 0 || limit == HUGE_VAL) return; /* its estimate is not known */
  for (int i = 0; tt_quote_at(c, &p, &none, i, false, &quote); i++) {
    if (!quote.possible || quote.slices != 1 || quote.seconds >= limit) continue;
    if (!tt_quote_at(c, &p, &none, i, true, &quote) || quote.lacks) continue;
    if (try_quote(comm, call, x, &quote)) limit = quote.seconds;
  }
}

/* ---- calls ---- */

/* On rank 0, learns from the duration of the previous call, and publishes which plan runs in later calls. */
static void advise(tutti_comm *comm, tt_rival_size *s, const tt_rival *x) {
  const uint64_t seq = comm->flight->seq, word = word_here(comm, x->size);
  if (!(comm->wire->learns & TT_LEARNS_PLANS) || (s->pair && s->pair != x->pair)) {
    s->way = ESTIMATED;
    return;
  }
  if (!s->pair) {
    s->pair = x->pair;
    tt_learner_begin(&s->learner, !x->second);
    s->way = ESTIMATED;
  }
  const bool compares = !s->learner.period; /* otherwise no time is needed */
  const uint64_t ticks = compares ? tt_store_ticks() : 0;
  if (comm->load.crowded && s->since && ticks && s->seq + 1 == seq)
    s->took = ticks - s->since;
  if (s->way != ESTIMATED) tt_learn(&s->learner, s->way, s->took);
  s->took = 0;
  s->since = ticks;
  s->seq = seq;
  const unsigned now = word ? word & 3 : (unsigned)!x->second;
  if (s->learner.next != now && (!word || seq >= (word >> 20) + TT_WINDOW))
    comm->wire->memory->advise(comm->wire, TT_PLAN_ADVICE + x->size,
                               word_of(seq + TT_WINDOW, x->pair, word ? now : ESTIMATED,
                                       s->learner.next));
}

bool tt_rival_runs(tutti_comm *comm, const tt_call *call, const tt_plan *plan) {
  tt_rival *x = plan->rival;
  tt_rival_size *s = &comm->plans->size[x->size];
  if (!x->sought) {
    if (s->calls < SEEK) s->calls++;
    if (s->calls < SEEK) return false;
    const tt_fp_state state = tt_fp_pin(); /* all ranks estimate the same times */
    seek(comm, call, x);
    tt_fp_restore(state);
  }
  if (!x->program) return false;
  if (comm->rank == 0) advise(comm, s, x);
  const bool does = runs(x, word_here(comm, x->size), comm->flight->seq);
  if (comm->rank == 0 && s->pair == x->pair) s->way = does == x->second;
  return does;
}

void tt_rival_over(tutti_comm *comm, const tt_plan *plan) {
  tt_rival_size *s = &comm->plans->size[plan->rival->size];
  if (s->since && !comm->load.crowded) s->took = tt_store_ticks() - s->since;
}

void tt_rival_say(const tutti_comm *comm, const tt_problem *problem, tt_text *t) {
  const int size = size_of(problem->bytes);
  for (const tt_rival *x = comm->plans->rivals; x && size >= 0; x = x->next) {
    if (x->forgotten || !x->program || x->size != size || x->needs != problem->needs ||
        x->weight != problem->weight)
      continue;
    const uint64_t word = word_here(comm, size);
    if (!word || pair_of(word) != x->pair) continue;
    const bool does = runs(x, word, comm->flight->seq);
    const char *usual = x->usual->sched->name, *other = x->program->sched->name;
    tt_text_add(t, "learned in use: of %s and %s, which give the same bits, %s is faster here\n",
                usual, other, does ? other : usual);
    return;
  }
}

void tt_rivals_forget(tutti_comm *comm) {
  for (tt_rival *x = comm->plans->rivals; x; x = x->next) x->forgotten = true;
}

void tt_rivals_free(tutti_comm *comm) {
  for (tt_rival *x = comm->plans->rivals, *next; x; x = next) {
    next = x->next;
    free(x);
  }
  comm->plans->rivals = NULL;
}
