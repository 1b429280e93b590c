/* tracing.c - which communicators are traced, and under which names; marks of the program.
 *
 * Idea       The first communicator of a process claims the file. Communicators split from it inherit the rank's
 *            identity, combined with a number that is the same on all their ranks. A tape is written to the file when
 *            its communicator is freed, or when the process ends.
 * Clocks     Ranks of one machine read the same clock. All other ranks request the first rank's time, one rank after
 *            the other, several times each. The fastest round trip counts. The error of the difference is at most
 *            half of its duration.
 * Cost       ROUNDS round trips for each rank on another machine, when a communicator over a network is created and a
 *            trace was requested.
 * Invariant  No rank waits for another because of a trace, except to compare these clocks.
 * Source     Cristian, Distributed Computing 3, 1989 (clocks).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "tracing.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "comm.h"

/* Returns true if the tick counter of the processor runs at a constant rate. */
/* each lanes, forked: order: a separate number, a flag */

static bool has_counter(void) {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) && d >> 8 & 1;
#else
  return false;
#endif
}

/* ---- tapes ---- */

/* touch: touch the pages now, so that this takes no time later. */
static bool make_tape(tt_tape *tape, uint32_t capacity, bool touch) {
  void *events = mmap(NULL, capacity * sizeof *tape->events, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | (touch ? MAP_POPULATE : MAP_NORESERVE), -1, 0);
  if (events == MAP_FAILED) return false;
  *tape = (tt_tape){.events = events, .capacity = capacity};
  return true;
}

static void free_trace(tt_trace *t) {
  if (!t) return;
  if (t->steps.events) munmap(t->steps.events, t->steps.capacity * sizeof *t->steps.events);
  if (t->marks.events) munmap(t->marks.events, t->marks.capacity * sizeof *t->marks.events);
  for (uint32_t i = 0; i < t->ncalls; i++) free(t->calls[i].plan);
  free(t);
}

static tt_trace *new_trace(const tutti_comm *comm) {
  tt_trace *t = calloc(1, sizeof *t);
  const uint32_t capacity = (uint32_t)tt_env_int("TUTTI_TRACE_EVENTS", 16, 1 << 26, 100000);
  if (!t || !make_tape(&t->steps, capacity, true) || !make_tape(&t->marks, capacity, false)) {
    free_trace(t);
    tt_log(0, "no memory for a trace of %u events; rank %d writes none", capacity, comm->rank);
    return NULL;
  }
  t->awaits = -1;
  t->counter = has_counter();
  t->clock.tick0 = tt_trace_now(t);
  t->clock.ns0 = tt_trace_ns();
  strcpy(t->names[t->nnames++], "mark");
  t->ncalls++; /* call 0 means none */
  return t;
}

/* Starts a trace with the given identity, and adds the rank and the size of the communicator. */
static void begin_trace(tutti_comm *comm, tt_trace_id id, int64_t offset, int64_t error) {
  tt_trace *t = comm->trace = new_trace(comm);
  if (!t) return;
  t->id = id;
  t->id.rank = comm->rank;
  t->id.ranks = comm->ranks;
  t->id.lane = 1 + atomic_fetch_add(&tt_process.trace.lanes, 1);
  t->clock.offset = offset;
  t->clock.error = error;
  pthread_mutex_lock(&tt_process.trace.lock);
  t->next = tt_process.trace.list;
  tt_process.trace.list = t;
  pthread_mutex_unlock(&tt_process.trace.lock);
}

/* ---- identities ---- */

/* Returns the number of this rank in the whole job, which may have more ranks than the communicator. */
static int world_rank_of(const tutti_comm *comm) {
  static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
  for (size_t i = 0; comm->net && i < sizeof names / sizeof *names; i++) {
    const long rank = tt_env_int(names[i], 0, (1 << 24) - 1, -1);
    if (rank >= 0) return (int)rank;
  }
  return comm->rank;
}

/* Stores the trace path for the whole process. The path is made absolute, because the program may change directories. */
static bool keep_path(const char *path) {
  char folder[PATH_MAX] = "";
  if (path[0] != '/' && !getcwd(folder, sizeof folder)) return false;
  const size_t n = strlen(folder) + strlen(path) + 2;
  char *whole = malloc(n);
  if (!whole) return false;
  snprintf(whole, n, "%s%s%s", folder, *folder ? "/" : "", path);
  pthread_mutex_lock(&tt_process.trace.lock);
  if (!tt_process.trace.path)
    tt_process.trace.path = whole;
  else
    free(whole);
  pthread_mutex_unlock(&tt_process.trace.lock);
  return true;
}

void tt_trace_root(tutti_comm *comm, const char *path, uint64_t job, int64_t offset,
                   int64_t error) {
  if (!path) path = tt_env("TUTTI_TRACE");
  if (!path || comm->trace || !keep_path(path)) return;
  const uint64_t origin = tt_trace_ns() + (uint64_t)offset;
  if (!tt_trace_claim(tt_process.trace.path, job, origin)) return;
  begin_trace(
      comm, (tt_trace_id){.comm = job, .job = job, .job_rank = world_rank_of(comm), .whole = true},
      offset, error);
}

void tt_trace_child(tutti_comm *comm, const tutti_comm *old, uint64_t at, int color) {
  uint64_t job, id;
  tt_trace_names(old, at, color, &job, &id);
  tt_trace_heir(comm, old, job, id, comm->ranks == old->ranks && comm->rank == old->rank);
}

void tt_trace_names(const tutti_comm *old, uint64_t at, int color, uint64_t *job, uint64_t *id) {
  const tt_trace *from = old->trace;
  *job = from ? from->id.job : 0;
  *id = from ? tt_mix(tt_mix(from->id.comm + at) ^ (uint64_t)color) : 0;
}

void tt_trace_heir(tutti_comm *comm, const tutti_comm *old, uint64_t job, uint64_t id, bool same) {
  const tt_trace *from = old ? old->trace : NULL;
  const char *path = tt_env("TUTTI_TRACE");
  if (!job || (old && !from)) return;
  if (!old &&
      (!path || !keep_path(path) || !tt_trace_claim(tt_process.trace.path, job, tt_trace_ns())))
    return;
  begin_trace(comm,
              (tt_trace_id){.comm = id,
                            .job = job,
                            .job_rank = from ? from->id.job_rank : comm->info[comm->rank].index,
                            .whole = from && from->id.whole && same},
              from ? from->clock.offset : 0, from ? from->clock.error : 0);
}

/* ---- clocks of other machines ---- */

enum { ROUNDS = 16 };

typedef struct clock_sample { /* sent by each rank */
  uint64_t job;
  uint8_t far;
} clock_sample;

static tutti_status exchange(tutti_comm *comm, bool sends, uint64_t *time, int peer) {
  const tt_p2p_message m = {
      .peer = peer, .sends = sends, .type = TUTTI_UINT64, .count = 1, .at = time};
  return tt_message_run(comm, "TUTTI_TRACE", &m);
}

static tutti_status measure_clock_offset(tutti_comm *comm, int64_t *offset, int64_t *error) {
  *error = INT64_MAX;
  for (int i = 0; i < ROUNDS; i++) {
    uint64_t theirs = 0;
    const uint64_t begin = tt_trace_ns();
    tutti_status status = exchange(comm, true, &theirs, 0);
    if (!status) status = exchange(comm, false, &theirs, 0);
    if (status) return status;
    const uint64_t end = tt_trace_ns();
    if ((int64_t)((end - begin) / 2) >= *error) continue;
    *error = (int64_t)((end - begin) / 2);
    *offset = (int64_t)(theirs - (begin + (end - begin) / 2));
  }
  return TUTTI_OK;
}

static tutti_status answer_clock_queries(tutti_comm *comm, int rank) {
  tutti_status status = TUTTI_OK;
  for (int i = 0; i < ROUNDS && !status; i++) {
    uint64_t mine;
    status = exchange(comm, false, &mine, rank);
    mine = tt_trace_ns();
    if (!status) status = exchange(comm, true, &mine, rank);
  }
  return status;
}

tutti_status tt_trace_join(tutti_comm *comm, const char *path, bool near) {
  if (!path || !*path) return TUTTI_OK;
  clock_sample *all = malloc((size_t)comm->ranks * sizeof *all);
  const clock_sample mine = {.job = tt_mix(tt_trace_ns() ^ (uintptr_t)comm), .far = !near};
  int64_t offset = 0, error = 0;
  tutti_status status =
      all ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d clocks", comm->ranks);
  if (!status) status = tt_gather(comm, "TUTTI_TRACE", &mine, all, sizeof mine);
  if (!status && !near) status = measure_clock_offset(comm, &offset, &error);
  for (int r = 1; comm->rank == 0 && r < comm->ranks && !status; r++)
    if (all[r].far) status = answer_clock_queries(comm, r);
  if (!status) tt_trace_root(comm, path, all[0].job, offset, error);
  free(all);
  return status;
}

/* ---- marks ---- */

/* Returns 0 if there is no room for another name. */
static uint16_t mark_name_index(tt_trace *t, const char *name) {
  for (uint32_t i = 0; i < t->nnames; i++)
    if (strncmp(t->names[i], name, sizeof t->names[i] - 1) == 0) return (uint16_t)i;
  if (t->nnames == TT_TRACE_NAMES) return 0;
  strncpy(t->names[t->nnames], name, sizeof t->names[0] - 1);
  return (uint16_t)t->nnames++;
}

void tutti_trace_mark(tutti_comm *comm, const char *name, double begin, double end) {
  tt_trace *t = comm ? comm->trace : NULL;
  if (!t || !name || !(begin > 0 && end >= begin && end < 1e9)) return;
  const tt_event e = {.begin = (uint64_t)(begin * 1e9),
                      .end = (uint64_t)(end * 1e9),
                      .peer = -1,
                      .kind = TT_EVENT_MARK,
                      .what = mark_name_index(t, name)};
  tt_trace_add(&t->marks, &e);
}

/* ---- closing ---- */

void tt_trace_close(tutti_comm *comm) {
  tt_trace *t = comm->trace;
  if (!t) return;
  pthread_mutex_lock(&tt_process.trace.lock);
  tt_trace **link = &tt_process.trace.list;
  while (*link && *link != t) link = &(*link)->next;
  const bool listed = *link == t;
  if (listed) *link = t->next;
  pthread_mutex_unlock(&tt_process.trace.lock);
  comm->trace = NULL;
  if (listed) tt_trace_write(tt_process.trace.path, t);
  free_trace(t);
}

/* Writes the trace tapes of communicators that were not freed. The tapes are not freed here, because another thread
 * may be writing to them. */
void tt_trace_end(void) {
  for (;;) {
    pthread_mutex_lock(&tt_process.trace.lock);
    tt_trace *t = tt_process.trace.list;
    if (t) tt_process.trace.list = t->next;
    pthread_mutex_unlock(&tt_process.trace.lock);
    if (!t) return;
    tt_trace_write(tt_process.trace.path, t);
  }
}

/* Runs if the process exits without calling tutti_finalize, or if the library is unloaded. */
static void __attribute__((destructor)) at_end(void) {
  if (!tt_process.trace.list || atomic_load(&tt_process.forked)) return;
  tt_trace_end();
}
