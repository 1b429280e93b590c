/* mp_grow.c - ranks die and others join to replace them. Used by grow.sh; does nothing when run by itself.
 *
 * Usage      tutti run -r R -n P mp_grow lot SEED       random deaths, R at most
 *            tutti run -r R -n P mp_grow SCENE          a scene below; the last rank dies
 * Idea       in `lot`, every process (an initial rank, or a numbered joining rank) derives from the seed
 *            whether it dies, and after how long: at work, while it shrinks or grows, or while it waits to
 *            join. The others sum and share their position. At the end of an epoch they wait until there are
 *            as many ranks as at the start. All sums are checked.
 * Ranks: none
 * SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../cli/configure.h"
#include "cover.h"
#include "lifetime.h"
#include "process_state.h"
#include "proposal.h"
#include "regrow.h"
#include "seconds.h"
#include "start.h"

enum { EPOCHS = 4, STEPS = 60 };

static int P;      /* ranks at the start */
static int joiner; /* number of this joining rank, from 1; 0: it started with the job */

/* ---- work ---- */

typedef struct place {
  int64_t epoch, step;
} place;

/* The ranks that this process saw at its last check and that still live come first, in the same order; ranks
 * that joined since then follow. */
static void in_their_order(const int32_t *who, int n) {
  static int32_t before[64];
  static int nbefore;
  int r = 0;
  for (int i = 0; i < nbefore; i++) r += r < n && who[r] == before[i];
  for (; nbefore && r < n; r++)
    for (int i = 0; i < nbefore; i++)
      if (who[r] == before[i]) regrow_wrong("the order of ranks", "");
  memcpy(before, who, (size_t)n * sizeof *who);
  nbefore = n;
}

/* All ranks take the first rank's position. */
static tutti_status share(tutti_comm *comm, place *at) {
  tutti_status status = tutti_broadcast(comm, at, at, 2, TUTTI_INT64, 0);
  int32_t who[64], mine = joiner ? P + joiner : regrow_number("TUTTI_RANK");
  if (!status) status = tutti_allgather(comm, &mine, who, 1, TUTTI_INT32);
  if (!status) in_their_order(who, tutti_comm_size(comm));
  return status;
}

/* ---- random deaths ---- */

static void go_on(tutti_comm *comm, uint64_t seed) {
  place at = {0, 0};
  tutti_comm *next;
  double longest = 0;
  bool failed = false;
  for (bool over = false; !over;) {
    tutti_status status = share(comm, &at);
    for (; !status && at.step < STEPS; at.step += !status)
      status = regrow_sum(comm, cover_mix(seed + (uint64_t)(100 * at.epoch + at.step)));
    if (status && status != TUTTI_ERR_PEER_LOST) regrow_wrong("another status", tutti_error());
    failed = status != TUTTI_OK;
    over = !failed && at.epoch == EPOCHS && tutti_comm_size(comm) == P;
    if (over) break;
    const double since = seconds();
    const int missing = P - tutti_comm_size(comm);
    status = failed && at.epoch % 2 ? tutti_comm_shrink(comm, &next)
                                    : tutti_comm_grow(comm, failed ? 0 : missing, &next);
    if (status) regrow_wrong(failed ? "shrink" : "grow", tutti_error());
    if (seconds() - since > longest) longest = seconds() - since;
    if (tutti_comm_free(comm)) regrow_wrong("free", tutti_error());
    comm = next;
    if (!failed && at.epoch < EPOCHS) at = (place){at.epoch + 1, 0};
    if (!failed && at.epoch == EPOCHS) at.step = 0;
  }
  printf("done %.0f ms\n", 1000 * longest);
  if (tutti_comm_free(comm)) regrow_wrong("free", tutti_error());
}

/* ---- scenes ---- */

static void says(tutti_status status, tutti_status want, const char *words) {
  if (status != want || (status && !strstr(tutti_error(), words)))
    regrow_wrong("it should have said", status ? tutti_error() : words);
}

/* Checks that the communicator has `ranks` ranks and sums right. */
static void in_order(tutti_comm *comm, int ranks) {
  if (tutti_comm_size(comm) != ranks) regrow_wrong("the size", "");
  for (uint64_t i = 0; i < 20; i++)
    if (regrow_sum(comm, cover_mix(i))) regrow_wrong("in order", tutti_error());
}

/* The last rank dies, and the others make a communicator without it. */
static void lose_one(tutti_comm **comm) {
  tutti_comm *rest;
  if (tutti_comm_rank(*comm) == P - 1) kill(getpid(), SIGKILL);
  says(tutti_barrier(*comm), TUTTI_ERR_PEER_LOST, " died, ");
  if (tutti_comm_shrink(*comm, &rest)) regrow_wrong("shrink", tutti_error());
  tutti_comm_free(*comm);
  *comm = rest;
}

/* Growing fails, no rank joins, and the old communicator still works. */
static void can_not_grow(tutti_comm *comm, tutti_status want, const char *words) {
  tutti_comm *more = comm;
  says(tutti_comm_grow(comm, 1, &more), want, words);
  if (more) regrow_wrong("there should be none", "");
  in_order(comm, tutti_comm_size(comm));
  if (tutti_comm_grow(comm, 0, &more)) regrow_wrong("growing by none", tutti_error());
  in_order(more, tutti_comm_size(comm));
  tutti_comm_free(more);
}

static void grown(tutti_comm **comm, int ranks) {
  tutti_comm *more;
  if (tutti_comm_grow(*comm, 1, &more)) regrow_wrong("grow", tutti_error());
  if (tutti_comm_newcomers(more) != 1 || tutti_comm_newcomers(*comm)) regrow_wrong("newcomers", "");
  in_order(more, ranks);
  tutti_comm_free(*comm);
  *comm = more;
}

static void nobody_dies(tutti_comm **comm) {
  can_not_grow(*comm, TUTTI_ERR_TIMEOUT, "0 of 1 joiners came within 1 s (TUTTI_CONNECT_TIMEOUT)");
}

static void no_respawn(tutti_comm **comm) {
  can_not_grow(*comm, TUTTI_ERR_UNSUPPORTED, "without tutti run --respawn");
}

static void silent(tutti_comm **comm) {
  lose_one(comm);
  can_not_grow(*comm, TUTTI_ERR_TIMEOUT, "0 of 1 joiners came");
}

static void not_like_us(tutti_comm **comm) {
  lose_one(comm);
  can_not_grow(*comm, TUTTI_ERR_STATE, "have ended, or are of another version of tutti");
}

static void all_used_up(tutti_comm **comm) {
  lose_one(comm);
  can_not_grow(*comm, TUTTI_ERR_STATE, "0 can still come");
}

static void joined(tutti_comm **comm) {
  if (!joiner) lose_one(comm), regrow_set_settings(*comm), grown(comm, P);
  regrow_check_settings(*comm);
  if (joiner) in_order(*comm, P);
  if (joiner && tutti_comm_rank(*comm) != P - 1) regrow_wrong("its place", "");
}

/* Some ranks have not detected a death and grow while the others shrink; helpers stay last. */
static void mixed(tutti_comm **comm) {
  tutti_comm *out;
  if (joiner) {
    if (tutti_comm_rank(*comm) != P - 2 || comm_helpers(*comm) != 1) regrow_wrong("its place", "");
    return in_order(*comm, P);
  }
  const int me = tutti_comm_rank(*comm);
  lose_one(comm);
  if (comm_set_helpers(*comm, 1)) regrow_wrong("helpers", tutti_error());
  if (me % 2 ? tutti_comm_shrink(*comm, &out) : tutti_comm_grow(*comm, 1, &out))
    regrow_wrong("mixed", tutti_error());
  if (tutti_comm_size(out) != P - 1 || comm_helpers(out) != 1)
    regrow_wrong("mixed", "another size");
  tutti_comm_free(out);
  grown(comm, P);
}

/* The others do not admit the joining rank, and then exit: after its time limit, if it has one. */
static void ignored(tutti_comm **comm) {
  lose_one(comm);
  usleep(getenv("TUTTI_CONNECT_TIMEOUT") ? 6000000 : 1300000);
}

/* Sums until the launcher has exited. */
static void for_ever(tutti_comm **comm) {
  tutti_status status = TUTTI_OK;
  printf("ready\n");
  fflush(stdout);
  for (uint64_t i = 0; !status; i++) status = regrow_sum(*comm, 2 * cover_mix(i) + 1);
  says(status, TUTTI_ERR_PEER_LOST, "its launcher");
}

static void say(void *ctx, int level, const char *line) {
  (void)ctx, (void)level;
  printf("# %s\n", line);
}

static void once(tutti_comm **comm) {
  in_order(*comm, P);
}

static void again(tutti_comm **comm) {
  joined(comm);
  for_ever(comm);
}

static int left_out(const char *words) {
  tutti_comm *comm;
  const double since = seconds();
  const tutti_status status = tutti_comm_from_env(&comm);
  says(status, strstr(words, "within") ? TUTTI_ERR_TIMEOUT : TUTTI_ERR_PEER_LOST, words);
  printf("left out after %.1f s\n", seconds() - since);
  return 3;
}

/* A process of the job that misbehaves: it writes a forged header. */
static int forge(int kind) {
  tt_segment *s;
  const int index = P + joiner - 1;
  if (tt_segment_map(regrow_number("TUTTI_SHM_FD"), P, &s)) return 1;
  tt_head *head = tt_heap_head(s, index);
  tt_intro *intro = tt_heap_intro(s, index);
  intro->pid = getpid();
  intro->space = tt_pid_space();
  head->join.version = tt_version_number() + (kind == 1);
  const uint64_t low = s->first + s->stride * (uint64_t)index;
  const uint64_t worlds[] = {low + 65536, low + 65536,      low + 65536,          0,
                             low + 65537, UINT64_MAX - 127, low + s->stride - 128};
  atomic_store(&intro->world, worlds[kind]);
  if (kind)
    atomic_store(&intro->ready, 1 + TT_LAYOUT + (kind == 2)); /* 0: it never reports ready */
  for (int ms = 0; ms < 5000 && !atomic_load(&head->join.invited); ms++) usleep(1000);
  tt_segment_release(s);
  return 3;
}

static int joiner_of(const char *name) {
  if (strcmp(name, "ignored") == 0) return left_out("no rank is alive that could take it in");
  if (strcmp(name, "ignored-long") == 0) return left_out("within 1 s (TUTTI_CONNECT_TIMEOUT)");
  if (strcmp(name, "used-up") == 0 && !getenv("TUTTI_ALGO")) return 5;
  if (strncmp(name, "forged-", 7) == 0) return forge(atoi(name + 7));
  return -1; /* the process joins */
}

static const struct {
  const char *name;
  void (*plays)(tutti_comm **comm);
} scenes[] = {{"nobody-dies", nobody_dies},
              {"no-respawn", no_respawn},
              {"forged-0", silent},
              {"forged-", not_like_us},
              {"used-up", all_used_up},
              {"joined", joined},
              {"mixed", mixed},
              {"ignored", ignored},
              {"for-ever", for_ever},
              {"again", again},
              {"once", once},
              {"", NULL}};

static int play(const char *name) {
  tutti_comm *comm;
  tutti_log_set(say, NULL);
  const int early = joiner ? joiner_of(name) : -1;
  if (early >= 0) return early;
  if (start_comm(&comm)) return printf("# %s\n", tutti_error()), 1;
  size_t i = 0;
  while (strncmp(name, scenes[i].name, strlen(scenes[i].name)) != 0) i++;
  scenes[i].plays(&comm);
  if (tutti_comm_free(comm) || start_end()) return 9;
  printf("fine\n");
  return 0;
}

int main(int argc, char **argv) {
  tutti_comm *comm;
  lifetime(50);
  if (argc < 2) return printf("ok - nothing to do\n1..1\n") < 0;
  joiner = regrow_number("TUTTI_NEWCOMER");
  P = regrow_number("TUTTI_SIZE");
  const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
  const int deaths = argc > 3 ? atoi(argv[3]) : 0;
  if ((joiner != 0) != tutti_newcomer()) return 1;
  const bool lot = strcmp(argv[1], "lot") == 0;
  if (!lot) return play(argv[1]);
  if (joiner) regrow_draw(seed, P, joiner, deaths, 15000);
  if (start_comm(&comm)) return 1;
  if (!joiner) regrow_draw(seed, P, joiner, deaths, 15000);
  go_on(comm, seed);
  return start_end() ? 9 : 0;
}
