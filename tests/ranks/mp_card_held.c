/* mp_card_held.c - a stream that never continues: the work before a call waits forever. The rank warns after 10
 * s, and the call ends at the time limit, on all ranks. The communicator can be freed while the device still
 * holds its work.
 *
 * Usage      TUTTI_CUDA_LIBRARY names a simulated driver (tests/gpu/).
 * Ranks: none; tests/sh/gpu.sh runs it
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "../../cli/configure.h"
#include "call_of.h"
#include "card.h"
#include "lists.h"
#include "pass_time.h"
#include "seconds.h"
#include "start.h"
#include "tutti_launch.h"
#include "tutti_plan.h"

enum { COUNT = 50000, LIMIT_S = 30 };

static tutti_comm *comm;
static int rank, tests, failed;
static atomic_bool warned;
static atomic_int reported, hidden; /* waits for the device, as shown by the doctor */
static void *stream;
static int32_t *src, *dst;

static void hear(void *ctx, int level, const char *line) {
  char *report = NULL;
  (void)ctx, (void)level;
  const bool device = strstr(line, "s for its device");
  if (!device && !strstr(line, "s for rank")) return;
  atomic_store(&warned, true);
  fly_on();
  if (!device) return;
  const bool shown = !tutti_job_report((long)getpid(), 0, &report) && strstr(report, "waits for its device");
  atomic_fetch_add(shown ? &reported : &hidden, 1);
  tutti_text_free(report);
}

/* ---- calls with an input that never arrives ---- */

static tutti_status sum(tutti_comm *on) {
  return tutti_allreduce(on, src, dst, COUNT, TUTTI_INT32, TUTTI_SUM);
}

static tutti_status give(
    tutti_comm *on) { /* rank 0's call needs nothing from the others */
  return tutti_broadcast(on, src, dst, COUNT, TUTTI_INT32, 0);
}

static tutti_status list(tutti_comm *on) {
  const size_t counts[] = {COUNT};
  return allreduce_many(on, 1, (const void *const[]){src}, (void *const[]){dst}, counts,
                        TUTTI_INT32, TUTTI_SUM);
}

static tutti_status in_stream(tutti_comm *on) {
  const tutti_status status =
      tutti_call_on_stream(on, CALL(ALLREDUCE, .src = src, .dst = dst, .count = COUNT,
                                    .type = TUTTI_INT32, .op = TUTTI_SUM, .stream = stream));
  return status ? status : tutti_stream_wait(on);
}

static const struct row {
  const char *name;
  tutti_status (*call)(tutti_comm *);
} rows[] = {{"an allreduce", sum},
            {"a broadcast", give},
            {"a list", list},
            {"a call on a stream", in_stream}};

static void judge(const char *what, const char *row, bool good) {
  unsigned char all = good;
  if (!good) printf("# rank %d: %s, %s: %s\n", rank, row, what, tutti_error());
  if (tutti_allreduce(comm, &all, &all, 1, TUTTI_UINT8, TUTTI_MIN)) all = 0;
  failed += !all;
  tests++;
  if (rank == 0) printf("%s - %s: %s\n", all ? "ok" : "not ok", row, what);
  fflush(stdout);
}

/* Rank 0's stream is held. */
static void play(const struct row *x) {
  tutti_comm *one = NULL;
  bool good = !tutti_comm_dup(comm, &one) && !x->call(one); /* the first call's allocations exist */
  good = good && !comm_set_timeout(one, LIMIT_S);
  judge("works", x->name, good);
  atomic_store(&warned, false);
  if (rank == 0) good = good && card_hold(x->call == in_stream ? stream : NULL);
  if (rank == 0) fly_time_for(12);
  const tutti_status status = good ? x->call(one) : TUTTI_OK;
  stop_time_flying();
  judge("ends at the time limit, with a sentence", x->name,
        status == TUTTI_ERR_TIMEOUT && strstr(tutti_error(), "the timeout is 30 s"));
  judge("a rank warned before", x->name, rank || atomic_load(&warned));
  if (rank == 0) fly_time();
  judge("is freed", x->name, one && !tutti_comm_free(one));
  stop_time_flying();
  if (rank == 0) card_release();
  judge("the GPU still works", x->name, card_settle(NULL) && card_settle(stream));
}

int main(void) {
  char why[200];
  end_after(120);
  tutti_log_set(hear, NULL);
  if (start_comm(&comm)) return fprintf(stderr, "%s\n", tutti_error()), 1;
  rank = tutti_comm_rank(comm);
  if (!card_open(rank, why, sizeof why)) return fprintf(stderr, "%s\n", why), 1;
  stream = card_stream();
  src = card_alloc(COUNT * sizeof *src);
  dst = card_alloc(COUNT * sizeof *dst);
  if (!stream || !src || !dst) return 1;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) play(&rows[i]);
  judge("the doctor shows them", "waits for the device", rank || (reported > 0 && hidden == 0));
  card_free(src);
  card_free(dst);
  if (tutti_comm_free(comm)) failed++;
  if (rank == 0) printf("1..%d\n", tests);
  return failed || start_end();
}
