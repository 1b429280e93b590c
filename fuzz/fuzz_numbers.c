/* fuzz_numbers.c - passes numbers of every size to the public functions that take numbers.
 *
 * Idea       the first byte of an input selects a function. Each other byte is one of its numbers:
 *            an index into a table of extreme values, or a small number. Functions that access
 *            vectors get as many elements as fit, or a count whose size in bytes overflows.
 * Invariant  each call returns in time, with a finite estimate or an error message.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <math.h>
#include <stdbool.h>

#include "../cli/configure.h"
#include "../tests/support/lists.h"
#include "fuzz.h"
#include "tutti.h"
#include "tutti_bucket.h"
#include "tutti_create.h"
#include "tutti_fault.h"
#include "tutti_launch.h"
#include "tutti_message.h"
#include "tutti_plan.h"

enum { RANKS = 4, ROOM = 64 };

static const uint8_t *at, *end;

static uint64_t number(void) {
  static const uint64_t extreme[] = {UINT64_MAX,
                                     UINT64_MAX - 1,
                                     INT64_MAX,
                                     (uint64_t)INT64_MIN,
                                     UINT32_MAX,
                                     (uint64_t)INT32_MAX,
                                     0xffffffff80000000,
                                     UINT64_C(1) << 32,
                                     UINT64_C(1) << 60,
                                     UINT64_C(1) << 40,
                                     1 << 20,
                                     (1 << 20) + 1,
                                     (1 << 20) - 1,
                                     1 << 24,
                                     1 << 30,
                                     65536,
                                     UINT64_MAX / 2 + 2,
                                     UINT64_MAX / 4 + 1,
                                     UINT64_MAX / 8 + 1,
                                     UINT64_MAX / 16 + 1,
                                     UINT64_MAX / 16 - 3,
                                     4095,
                                     4097,
                                     1000};
  const uint8_t byte = at < end ? *at++ : 0;
  return byte < 128 ? byte : extreme[byte % (sizeof extreme / sizeof *extreme)];
}

static int whole(void) {
  return (int)(uint32_t)number();
}

static double real(void) {
  static const double extreme[] = {INFINITY, -INFINITY, NAN, 1e308, 1e-308, -1, 1e18, 0, 1e6};
  const uint64_t n = number();
  return n < 128 ? (double)n / 16 : extreme[n % (sizeof extreme / sizeof *extreme)];
}

/* Returns a number of elements that either fits into the buffer, or is so large that the size in bytes overflows a size_t. */
static size_t count(tutti_type type) {
  const uint64_t n = number(), size = tutti_type_size(type) ? tutti_type_size(type) : 16;
  return n <= ROOM / 16 || n > SIZE_MAX / size ? n : n % (ROOM / 16);
}

static tutti_comm *comms[RANKS];
static char room[2][ROOM * RANKS];

static void said(tutti_status status) {
  need(status == TUTTI_OK || strlen(tutti_error()) > 3);
}

/* ---- one rank of several; nothing is sent ---- */

static void prices_of_calls(void) {
  double seconds = 0;
  char plan[TUTTI_PLAN_TEXT], *text = NULL;
  const tutti_coll coll = (tutti_coll)(number() % (TUTTI_COLL_COUNT + 1));
  said(comm_set_slices(comms[0], whole()));
  const size_t n = number();
  const tutti_type type = (tutti_type)whole();
  const tutti_op op = (tutti_op)whole();
  said(tutti_comm_plan(comms[0], coll, n, type, op, plan, sizeof plan));
  const tutti_status status = tutti_comm_price(comms[0], coll, n, type, op, &seconds);
  said(status);
  need(status || (seconds >= 0 && !isnan(seconds)));
  if (!tutti_comm_explain(comms[0], coll, n, type, op, whole(), &text)) tutti_text_free(text);
  said(comm_set_slices(comms[0], 0));
}

static void prices_of_machines(void) {
  static const char *const plans[] = {"fold(ring)", "fold(halving)", "two-shot", "tree(chain)",
                                      "circulant(n=99)"};
  tutti_question q = {.size = sizeof q,
                      .coll = (tutti_coll)(number() % (TUTTI_COLL_COUNT + 1)),
                      .only = plans[number() % 5]};
  tutti_prices *prices = NULL;
  q.ranks = whole();
  q.root = whole();
  q.type = (tutti_type)whole();
  q.op = (tutti_op)whole();
  q.contract = (tutti_contract)whole();
  q.crowd = real();
  if (q.ranks > 64 && q.ranks <= 1 << 20) q.ranks = 1 + q.ranks % 64;
  const tutti_status status = tutti_prices_make(&q, &prices);
  said(status);
  if (status) return;
  const uint64_t bytes = number();
  const int i = whole(), detail = whole();
  tutti_offer offer = {.size = sizeof offer};
  if (!tutti_prices_offer(prices, bytes, i, detail, &offer)) need(!isnan(offer.seconds));
  offer.size = sizeof offer;
  if (!tutti_prices_chosen(prices, bytes, &offer)) need(offer.seconds >= 0);
  tutti_prices_free(prices);
}

static void schedules(void) {
  static const char *const names[] = {"fold(ring)", "tree(chain,segments=256)", "bruck", "two-shot",
                                      "circulant(n=99)"};
  char *text = NULL, *picture = NULL;
  const char *name = names[number() % 5];
  int ranks = whole();
  const int rank = whole(), root = whole();
  if (ranks > 64 && ranks <= 1 << 24) ranks = ranks % 64;
  const tutti_coll coll = (tutti_coll)(number() % (TUTTI_COLL_COUNT + 1));
  if (ranks > 1 << 24 && rank >= 0) return; /* valid, but the schedules are too long */
  if (tutti_schedule_text(name, coll, ranks, rank, root, whole(), &text)) return;
  const tutti_drawing drawing = {.size = sizeof drawing,
                                 .picture = (tutti_picture)(number() % (TUTTI_PICTURE_COUNT + 1)),
                                 .rank = whole(),
                                 .width = whole(),
                                 .color = whole()};
  if (strlen(text) < 4000 && !tutti_schedule_draw(text, &drawing, &picture))
    tutti_text_free(picture);
  tutti_text_free(text);
}

static void settings(void) {
  const int helpers = whole(), contract = whole();
  said(comm_set_timeout(comms[0], real()));
  said(comm_set_helpers(comms[0], helpers));
  said(comm_set_helpers(comms[0], 0));
  said(comm_set_contract(comms[0], (tutti_contract)contract));
  said(comm_set_contract(comms[0], TUTTI_CONTRACT_SAME));
  const char *level;
  const int a = whole(), b = whole();
  tutti_comm_apart(comms[0], a, b, &level);
}

static void names(void) {
  const int i = whole();
  const char *sentence;
  tutti_algo_name(i, &sentence);
  tutti_algo_source(i);
  tutti_info(i);
  tutti_coll_name((tutti_coll)i);
  tutti_op_name((tutti_op)i);
  tutti_type_name((tutti_type)i);
  tutti_strerror((tutti_status)i);
  need(tutti_type_size((tutti_type)i) < 64);
  tutti_type_has_op((tutti_type)whole(), (tutti_op)whole());
}

static void jobs(void) {
  tutti_job *job = NULL;
  int n = whole();
  if (n > 64) n = INT_MAX;
  said(tutti_job_create(n, &job));
  if (!job) return;
  const int rank = whole(), i = whole();
  tutti_job_env(job, rank, i);
  tutti_job_newcomer_env(job, rank, whole(), i);
  said(tutti_job_ended(job, whole(), whole()));
  tutti_job_free(job);
}

static void ids(void) {
  tutti_id id;
  const int ranks = whole(), newcomers = whole();
  const bool serves = ranks > 0 && ranks <= 1 << 20 && newcomers > 0 && newcomers <= 1000;
  if (!serves)
    said(tutti_unique_id_growing(ranks, newcomers, &id)); /* otherwise its thread would remain */
}

/* ---- one rank, on which every call completes immediately ---- */

static void vectors(void) {
  tutti_comm *one;
  const tutti_type type = (tutti_type)whole();
  const tutti_op op = (tutti_op)whole();
  const size_t n = count(type), counts[] = {count(type)};
  const int root = whole();
  void *dsts[] = {room[1]};
  const void *srcs[] = {room[0]};
  if (tutti_comm_from_threads(1, &one)) return;
  said(tutti_allreduce(one, room[0], room[1], n, type, op));
  said(allreduce_many(one, 1, srcs, dsts, counts, type, op));
  said(allreduce_many(one, SIZE_MAX / (1 + number() % 16), NULL, NULL, NULL, type, op));
  said(tutti_reduce_scatter(one, room[0], room[1], n, type, op));
  said(tutti_allgather(one, room[0], room[1], n, type));
  said(tutti_reduce_scatterv(one, room[0], room[1], counts, type, op));
  said(tutti_allgatherv(one, room[0], room[1], counts, type));
  said(tutti_broadcast(one, room[0], room[1], n, type, root));
  said(tutti_reduce(one, room[0], room[1], n, type, op, root));
  said(tutti_scan(one, room[0], room[1], n, type, op));
  said(tutti_gather(one, room[0], room[1], n, type, root));
  said(tutti_scatter(one, room[0], room[1], n, type, root));
  said(tutti_alltoall(one, room[0], room[1], n, type));
  said(tutti_reduce_local(room[0], room[1], room[1], n, type, op));
  size_t bytes = 0;
  said(tutti_code_local("int8", room[0], NULL, n, type, &bytes));
  if (root) said(tutti_send(one, room[0], n, type, root, 0));
  if (root) said(tutti_recv(one, room[1], n, type, root, 0, NULL));
  tutti_comm_free(one);
}

static void memory(void) {
  tutti_comm *one;
  void *of = NULL;
  size_t n = number();
  if (n > 1 << 20 && n < UINT64_C(1) << 60) n = 1 << 20;
  if (tutti_comm_from_threads(1, &one)) return;
  if (!tutti_mem_alloc(one, n, &of)) tutti_mem_free(one, of);
  int many = whole();
  if (many > 0) many = 1;
  tutti_comm *none = NULL, *part = NULL;
  if (many < 1) said(tutti_comm_from_threads(many, &none));
  if (!tutti_comm_split(one, whole(), whole(), &part)) tutti_comm_free(part);
  tutti_comm_free(one);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static void (*const calls[])(void) = {
      prices_of_calls, prices_of_machines, schedules, settings, names, jobs, ids, vectors, memory};
  at = data;
  end = data + size;
  if (!size) return 0;
  if (!comms[0]) need(tutti_comm_from_threads(RANKS, comms) == TUTTI_OK);
  calls[*at++ % (sizeof calls / sizeof *calls)]();
  return 0;
}
