/* soak_acts.c - the actions of a soak rank: calls of the covering table, singly and several in flight,
 * messages, delays, scenes, faults; and bit-exact sums if the contract is `exact`.
 *
 * Invariant  the random number and the communicator's size determine the calls on a communicator;
 *            the order of waiting, and the time before it, are each rank's own.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../cli/configure.h"
#include "build_comm.h"
#include "plots.h"
#include "scenes.h"
#include "soak.h"
#include "sums.h"
#include "tell.h"
#include "tutti_plan.h"

void soak_wrong(const soak *s, const char *what, const char *more) {
  tell("wrong %s: %s; it did %s", what, more, s->act);
  printf("# rank %d: %s: %s; it did %s\n", s->first, what, more, s->act);
  fflush(stdout);
  _exit(9);
}

tutti_status soak_note(soak *s, tutti_status status) {
  if (status) snprintf(s->why, sizeof s->why, "%s: %.600s", tutti_strerror(status), tutti_error());
  return status;
}

static cover_ops all_ops[SOAK_RANKS]; /* of the process: ranks that are threads share them */

const cover_ops *soak_make_ops(void) {
  tutti_op user, ordered;
  bool ok = !tutti_op_create(cover_user_op, NULL, 1, &user) &&
            !tutti_op_create(cover_ordered_op, NULL, 0, &ordered);
  for (int r = 0; ok && r < SOAK_RANKS; r++) {
    all_ops[r] = (cover_ops){.user = user, .ordered = ordered};
    ok = cover_make_scaled(&all_ops[r], r);
  }
  return ok ? all_ops : NULL;
}

bool soak_drop_ops(void) {
  for (int r = 0; r < SOAK_RANKS; r++) cover_drop_scaled(&all_ops[r]);
  return !tutti_op_free(all_ops[0].user) && !tutti_op_free(all_ops[0].ordered);
}

/* ---- a case of the covering table ---- */

/* The status that cover_run's sentence begins with; TUTTI_OK: none. */
static tutti_status status_of(const char *why) {
  for (int s = TUTTI_ERR_ARG; s >= TUTTI_ERR_UNSUPPORTED; s--) {
    const char *words = tutti_strerror((tutti_status)s);
    if (strncmp(why, words, strlen(words)) == 0 && why[strlen(words)] == ':')
      return (tutti_status)s;
  }
  return TUTTI_OK;
}

/* A vector of 4 B to 8 MiB at most, each order of magnitude equally often. */
enum { MOST = 21, MOST_OF_SEVERAL = 17 };
static void resize(cover_case *c, uint64_t u, int orders) {
  const bool blocks = c->coll == TUTTI_REDUCE_SCATTER || c->coll == TUTTI_ALLGATHER ||
                      c->coll == TUTTI_GATHER || c->coll == TUTTI_SCATTER ||
                      c->coll == TUTTI_ALLTOALL;
  const uint64_t bytes = ((uint64_t)4 << u % (uint64_t)orders) * (128 + (u >> 8) % 128) / 128;
  const size_t n = bytes / (tutti_type_size(c->type) * (size_t)(blocks ? c->ranks : 1));
  c->count = n ? n : 1;
}

/* Replaces cases that the contract `exact` refuses: products that round, user-defined ops. */
static void make_exact(cover_case *c) {
  const bool rounds = c->type >= TUTTI_FLOAT16 && c->op == TUTTI_PROD;
  if (rounds || c->op == COVER_USER || c->op == COVER_ORDERED)
    c->op = cover_has_op(c->type, TUTTI_SUM) ? TUTTI_SUM : TUTTI_MINLOC;
}

static tutti_status act_case(soak *s, uint64_t u) {
  const int of = s->alone ? 0 : (int)((u >> 32) % SOAK_COMMS);
  const tutti_contract contract = s->base->settings.plain.contract;
  tutti_comm *comm = s->comms[of];
  bool over;
  if (!comm) return TUTTI_OK;
  const int ranks = tutti_comm_size(comm);
  cover_case c = cover_case_at(ranks, u, (size_t)(cover_mix(u) % cover_cases(ranks)));
  if (s->alone || u % 3 == 0) resize(&c, u >> 12, MOST);
  /* bits are compared on another communicator of the same ranks, if the contract promises them */
  if (of || s->alone || contract == TUTTI_CONTRACT_ANY) c.rough = 0;
  if (contract == TUTTI_CONTRACT_EXACT) make_exact(&c);
  cover_print(&c, s->act, sizeof s->act);
  if (!cover_run(comm, s->parent, &s->ops[tutti_comm_rank(comm)], &c, &over, s->why,
                 sizeof s->why)) {
    const tutti_status status = status_of(s->why);
    if (!status) soak_wrong(s, "a result", s->why);
    return status;
  }
  s->calls += c.manner == COVER_PERSISTENT ? 2 : 1;
  s->bytes += cover_whole(&c) * tutti_type_size(c.type);
  return TUTTI_OK;
}

/* ---- messages ---- */

enum { LONGEST = 60000 };
struct soak_flight {
  uint64_t in[LONGEST], out[LONGEST];
};

bool soak_arm(soak *s) {
  s->flight = malloc(sizeof *s->flight);
  return s->flight;
}

void soak_disarm(soak *s) {
  free(s->flight);
}

static tutti_comm *pick(const soak *s, uint64_t u) {
  return s->comms[s->alone ? 0 : (u >> 32) % SOAK_COMMS];
}
static size_t length(uint64_t u) {
  return 1 + (size_t)((u >> 8) % (u >> 4 & 1 ? 40 : LONGEST));
}

/* Receives from the left and sends to the right; a single rank sends to itself. */
static tutti_status act_message(soak *s, uint64_t u) {
  tutti_comm *comm = pick(s, u);
  tutti_request *requests[2] = {NULL};
  tutti_status status, next;
  if (!comm) return TUTTI_OK;
  const int me = tutti_comm_rank(comm), P = tutti_comm_size(comm);
  const size_t n = length(u);
  uint64_t *in = s->flight->in, *out = s->flight->out;
  const uint64_t mine = u + (uint64_t)me * 0x100001, left = (uint64_t)((me + P - 1) % P);
  snprintf(s->act, sizeof s->act, "messages of %zu in the ring, %llu", n, (unsigned long long)u);
  for (size_t i = 0; i < n; i++) in[i] = mine + i, out[i] = 0;
  status =
      soak_note(s, tutti_recv_start(comm, out, n, TUTTI_UINT64, (int)left, 0, NULL, &requests[0]));
  if (!status)
    status =
        soak_note(s, tutti_send_start(comm, in, n, TUTTI_UINT64, (me + 1) % P, 0, &requests[1]));
  for (int i = 0; i < 2; i++) {
    const int k = (i + me) % 2;
    next = requests[k] ? tutti_request_wait(&requests[k]) : TUTTI_OK;
    if (next && !status) status = soak_note(s, next);
  }
  for (size_t i = 0; i < n && !status; i++)
    if (out[i] != u + left * 0x100001 + i) soak_wrong(s, "a message", "not what was sent");
  s->calls += 2;
  s->bytes += 2 * n * sizeof *in;
  return status;
}

/* ---- several calls in flight ---- */

enum { FLIGHT = 8 };

/* A case without helpers, drawn for this communicator. */
static cover_case any_case(const soak *s, const tutti_comm *comm, uint64_t u) {
  const int ranks = tutti_comm_size(comm);
  cover_case c = cover_case_at(ranks, u, cover_cases(ranks) - 1);
  if (u >> 24 & 1) resize(&c, u >> 25, MOST_OF_SEVERAL);
  c.rough = 0;
  if (s->base->settings.plain.contract == TUTTI_CONTRACT_EXACT) make_exact(&c);
  return c;
}

/* Sets the plan of all the calls on a communicator before the first starts. */
static tutti_status settle(soak *s, uint64_t u) {
  tutti_status status = TUTTI_OK;
  for (int i = 0; i < (s->alone ? 1 : SOAK_COMMS) && !status; i++) {
    if (!s->comms[i]) continue;
    const cover_case c = any_case(s, s->comms[i], u);
    status = soak_note(s, cover_settle(s->comms[i], &c));
  }
  return status;
}

static tutti_status begin(soak *s, uint64_t u, cover_flight **flight) {
  tutti_comm *comm = pick(s, u);
  tutti_status status;
  if (!comm) return TUTTI_OK;
  const cover_case c = any_case(s, comm, u);
  cover_print(&c, s->act, sizeof s->act);
  *flight = cover_begin(comm, &s->ops[tutti_comm_rank(comm)], &c, &status);
  s->calls++;
  s->bytes += cover_whole(&c) * tutti_type_size(c.type);
  return soak_note(s, status);
}

static tutti_status end(soak *s, cover_flight *flight, tutti_status before) {
  char why[SOAK_WORDS];
  if (cover_end(flight, why, sizeof why)) return before;
  const tutti_status status = status_of(why);
  if (!status) soak_wrong(s, "a result of overlapping operations", why);
  if (!before) snprintf(s->why, sizeof s->why, "%s", why);
  return before ? before : status;
}

static tutti_status act_burst(soak *s, uint64_t u) {
  cover_flight *flights[FLIGHT] = {NULL};
  const int n = 2 + (int)(u % (FLIGHT - 1));
  uint64_t mine = cover_mix(u + 0x10000 * ((uint64_t)s->first + 1));
  tutti_status status = settle(s, u);
  for (int k = 0; k < n && !status; k++) {
    if ((mine >> k & 7) == 0) usleep((useconds_t)(mine >> 50));
    status = begin(s, cover_mix(u + (uint64_t)k), &flights[k]);
  }
  snprintf(s->act, sizeof s->act, "%d overlapping, %llu", n, (unsigned long long)u);
  for (int left = n; left > 0; left--) {
    const int k = (int)((mine = cover_mix(mine)) % (uint64_t)left);
    if (flights[k]) status = end(s, flights[k], status);
    flights[k] = flights[left - 1];
  }
  return status;
}

/* ---- bit-exact sums ---- */

/* A sum, or a mean, of numbers that are hard to sum in any order. */
static tutti_status act_exact(soak *s, uint64_t u) {
  enum { ROW = 4 * SUMS_KINDS };
  static const tutti_type reals[] = {TUTTI_FLOAT16, TUTTI_BFLOAT16, TUTTI_FP8_E4M3, TUTTI_FP8_E5M2,
                                     TUTTI_FLOAT,   TUTTI_DOUBLE,   TUTTI_FLOAT,    TUTTI_DOUBLE};
  const tutti_type real = reals[u >> 39 & 7];
  const bool mean = u >> 42 & 1;
  tutti_comm *comm = pick(s, u);
  if (!comm) return TUTTI_OK;
  const int me = tutti_comm_rank(comm), P = tutti_comm_size(comm);
  const size_t n = length(u), from = (size_t)(u >> 44) / ROW * ROW;
  void *in = s->flight->in, *out = s->flight->out;
  snprintf(s->act, sizeof s->act, "an exact %s of %zu %s, %llu", mean ? "mean" : "sum", n,
           tutti_type_name(real), (unsigned long long)u);
  for (size_t i = 0; i < n; i++) sums_put(real, in, i, sums_number(real, from + i % ROW, me, P));
  comm_set_helpers(comm, 0);
  const tutti_status status =
      soak_note(s, tutti_allreduce(comm, in, out, n, real, mean ? TUTTI_AVG : TUTTI_SUM));
  for (size_t i = 0; i < n && i < ROW && !status; i++) {
    uint64_t all[SOAK_RANKS];
    for (int r = 0; r < P; r++) all[r] = sums_number(real, from + i, r, P);
    const uint64_t want = sums_exact(real, all, P, mean ? P : 1);
    for (size_t k = i; k < n; k += ROW)
      if (sums_get(real, out, k) != want) soak_wrong(s, "a sum", "it is not the exact one");
  }
  s->calls++;
  s->bytes += n * tutti_type_size(real);
  return status;
}

/* ---- other actions ---- */

/* A delay that each rank draws for itself: mostly none, rarely long. */
static tutti_status act_delay(soak *s, uint64_t u) {
  const uint64_t mine = cover_mix(u + (uint64_t)s->first);
  if (mine % 3 == 0) usleep((useconds_t)((mine >> 8) % (mine % 64 < 2 ? 30000 : 1500)));
  return TUTTI_OK;
}

static tutti_status act_scene(soak *s, uint64_t u) {
  static const scene list[] = {
      {"a storm", scene_storm},         {"persistent ones", scene_persistent},
      {"polling", scene_polling},       {"lists", scene_lists},
      {"groups", scene_groups},         {"several", scene_several},
      {"types", scene_list_types},      {"a ring of messages", scene_ring},
      {"a crowd", scene_many_messages}, {"letters", scene_messages_of_one},
      {"to oneself", scene_oneself},    {"threads", scene_threads},
  };
  const scene *play = &list[u % (sizeof list / sizeof *list)];
  snprintf(s->act, sizeof s->act, "%s, %llu", play->name, (unsigned long long)u);
  if (!play->play(s->parent, u)) soak_wrong(s, "a scene", "see what it printed");
  return TUTTI_OK;
}

static tutti_status act_mismatch(soak *s, uint64_t u) {
  const int P = tutti_comm_size(s->parent);
  double ms;
  if (P < 2 || P > 16) return TUTTI_OK;
  snprintf(s->act, sizeof s->act, "another call, %llu", (unsigned long long)(u % 1000000000));
  if (!plot_play(s->parent, u % 1000000000, &ms)) soak_wrong(s, "a mismatch", "not named");
  s->mismatches++;
  return TUTTI_OK;
}

tutti_status soak_act(soak *s, uint64_t u) {
  const int lot = (int)(u >> 58), most = s->calm ? 64 : 60;
  u = cover_mix(u);
  if (lot < 19 && s->base->settings.plain.contract == TUTTI_CONTRACT_EXACT) return act_exact(s, u);
  if (lot >= most || lot < 38) return act_case(s, u);
  if (lot < 44) return act_burst(s, u);
  if (lot < 50) return act_message(s, u);
  if (lot < 60) return act_delay(s, u);
  return lot < 62 ? act_scene(s, u) : act_mismatch(s, u);
}
