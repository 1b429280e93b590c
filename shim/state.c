/* state.c - communicators by their handles, and the decision to serve one.
 *
 * Idea       A table that is searched without a lock: a writer makes the version odd during a
 *            change, and a reader retries if the version has changed.
 * Invariant  All ranks of a communicator agree whether it is served: each contributes whether it
 *            wants to, and afterwards whether it could (the minimum over all).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "state.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "async.h"
#include "net.h"
#include "tutti_mpi.h"

typedef struct place {
  _Atomic uintptr_t key;
  _Atomic(state *) state; /* NULL: free, or removed */
} place;

typedef struct table {
  size_t mask, used; /* used: places that have, or had, a state */
  struct table *older;
  place places[];
} table;

enum { FIRST_PLACES = 256 };

static _Atomic(table *) current; /* NULL: nothing is looked up */
static atomic_uint version;
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
static int on;
static shim_why off_because = WHY_BEFORE;

static size_t slot_of(uintptr_t key, const table *t) {
  return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) & t->mask;
}

static state *search(const table *t, uintptr_t key) {
  for (size_t i = slot_of(key, t);; i = (i + 1) & t->mask) {
    const uintptr_t at = atomic_load_explicit(&t->places[i].key, memory_order_relaxed);
    if (at == key) return atomic_load_explicit(&t->places[i].state, memory_order_relaxed);
    if (!at) return NULL;
  }
}

/* No handle is 0: MPICH's contain type bits, Open MPI's are addresses, the standard ABI's are neither. */
static uintptr_t key_of(MPI_Comm comm) {
  return (uintptr_t)comm;
}

static state *look_up(MPI_Comm comm) {
  for (;;) {
    const unsigned before = atomic_load_explicit(&version, memory_order_acquire);
    if (before & 1) continue;
    const table *t = atomic_load_explicit(&current, memory_order_acquire);
    state *s = t ? search(t, key_of(comm)) : NULL;
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&version, memory_order_relaxed) == before) return s;
  }
}

state *state_look(MPI_Comm comm, shim_why *why) {
  state *s = look_up(comm);
  if (s && s->comm) return s;
  *why = s ? s->why : on ? WHY_UNSEEN : off_because;
  return NULL;
}

static _Thread_local state *acts_as;
static _Thread_local bool asks;

state *state_find(MPI_Comm comm, shim_why *why) {
  if (acts_as) return acts_as;
  state *s = state_look(comm, why);
  if (s && s->async) async_drain(s);
  return s;
}

void state_act_as(state *s, bool only_asks) {
  acts_as = s;
  asks = only_asks;
}

bool state_only_asks(void) {
  return asks;
}

/* ---- changing the table ---- */

static void put(table *t, uintptr_t key, state *s) {
  size_t i = slot_of(key, t);
  while (atomic_load(&t->places[i].key) && atomic_load(&t->places[i].key) != key)
    i = (i + 1) & t->mask;
  if (!atomic_load(&t->places[i].key)) t->used++;
  atomic_store(&t->places[i].key, key);
  atomic_store(&t->places[i].state, s);
}

/* A table with more capacity and the existing states; readers may still use the old one. */
static table *renew(table *old) {
  size_t live = 0, places = FIRST_PLACES;
  for (size_t i = 0; old && i <= old->mask; i++) live += atomic_load(&old->places[i].state) != NULL;
  while (places < 4 * live) places *= 2;
  table *t = calloc(1, sizeof *t + places * sizeof t->places[0]);
  if (!t) return NULL;
  t->mask = places - 1;
  t->older = old;
  for (size_t i = 0; old && i <= old->mask; i++)
    if (atomic_load(&old->places[i].state))
      put(t, atomic_load(&old->places[i].key), atomic_load(&old->places[i].state));
  return t;
}

/* Set the communicator's state; NULL removes it. Returns the previous state, or `s` itself if out
 * of memory. */
static state *replace(MPI_Comm comm, state *s) {
  pthread_mutex_lock(&writing);
  table *t = atomic_load(&current);
  state *before = t ? search(t, key_of(comm)) : NULL;
  if (s || before) {
    if (!t || 2 * t->used > t->mask) t = renew(t);
    atomic_fetch_add(&version, 1);
    if (t) put(t, key_of(comm), s);
    if (t) atomic_store(&current, t);
    atomic_fetch_add(&version, 1);
  }
  pthread_mutex_unlock(&writing);
  return t ? before : s;
}

/* ---- serving a new communicator ---- */

static void release(state *s) {
  if (!s) return;
  async_stop(s);
  tutti_comm_free(s->comm);
  free(s->counts);
  free(s->scratch);
  free(s);
}

/* Do all ranks say yes? */
static int all_agree(MPI_Comm comm, int yes) {
  int all = 0;
  return next()->Allreduce(&yes, &all, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && all;
}

/* The reason why the communicator cannot be served, independent of this rank's resources;
 * WHY_SERVED: it can. */
static shim_why unfit(state *s) {
  const mpi_calls *mpi = &next()->net;
  int inter = 0;
  if (mpi->Comm_test_inter(s->mpi, &inter) || inter) return WHY_INTER;
  if (mpi->Comm_size(s->mpi, &s->ranks) || s->ranks < 2) return WHY_ALONE;
  return mpi->Comm_rank(s->mpi, &s->rank) ? WHY_UNSEEN : WHY_SERVED;
}

/* Keep the communicator if all ranks have what they need; else drop it on all ranks. */
static void settle(state *s) {
  if (s->comm && !s->counts) s->counts = malloc((size_t)s->ranks * sizeof *s->counts);
  if (all_agree(s->mpi, s->comm && s->counts)) return;
  tutti_comm_free(s->comm);
  s->comm = NULL;
  s->why = WHY_FAILED;
}

/* Does it have ranks outside MPI_COMM_WORLD (MPI_Comm_spawn)? Those are not asked to agree. */
static int has_others(const state *s) {
  MPI_Group mine, all;
  int *ranks = malloc(2 * (size_t)s->ranks * sizeof *ranks), others = 1;
  if (ranks && next()->Comm_group(s->mpi, &mine) == MPI_SUCCESS) {
    next()->Comm_group(MPI_COMM_WORLD, &all);
    for (int r = 0; r < s->ranks; r++) ranks[r] = r;
    others = next()->Group_translate_ranks(mine, s->ranks, ranks, all, ranks + s->ranks);
    for (int r = 0; r < s->ranks; r++) others |= ranks[s->ranks + r] == MPI_UNDEFINED;
    next()->Group_free(&all);
    next()->Group_free(&mine);
  }
  free(ranks);
  return others;
}

static void serve(state *s) {
  s->why = WHY_FOREIGN;
  if (s->mpi != MPI_COMM_WORLD && has_others(s)) return;
  s->why = WHY_OFF;
  if (!all_agree(s->mpi, on)) return;
  if (mpi_comm_from(&next()->net, TUTTI_MPI_FAMILY, &s->mpi, sizeof s->mpi, &s->comm))
    report_failure(tutti_error());
  settle(s);
}

/* ---- serving a communicator made from another ---- */

/* The first rank of a communicator, as a rank of the one that it was made from; -1: unknown. */
static int first_of(MPI_Comm comm, MPI_Comm old) {
  MPI_Group mine, all;
  const int first = 0;
  int is = -1;
  if (comm == MPI_COMM_NULL || next()->Comm_group(comm, &mine)) return -1;
  if (next()->Comm_group(old, &all) == MPI_SUCCESS) {
    if (next()->Group_translate_ranks(mine, 1, &first, all, &is) || is == MPI_UNDEFINED) is = -1;
    next()->Group_free(&all);
  }
  next()->Group_free(&mine);
  return is;
}

/* Split the tutti communicator of the old one: that needs no new shared memory. */
static void split(state *old, MPI_Comm comm, state *s) {
  tutti_comm *made = NULL;
  const int color = s && s->why == WHY_SERVED ? first_of(comm, old->mpi) : -1;
  if (tutti_comm_split(old->comm, color, color < 0 ? 0 : s->rank, &made))
    report_failure(tutti_error());
  if (!s || s->why != WHY_SERVED) return;
  s->comm = made;
  settle(s);
}

/* Describe the communicator to the report. */
static void tell_report(const state *s) {
  char name[40];
  if (s->mpi == MPI_COMM_WORLD)
    snprintf(name, sizeof name, "MPI_COMM_WORLD");
  else if (s->mpi == MPI_COMM_SELF)
    snprintf(name, sizeof name, "MPI_COMM_SELF");
  else if (s->ranks > 0)
    snprintf(name, sizeof name, "one of %d rank%s", s->ranks, s->ranks == 1 ? "" : "s");
  else
    snprintf(name, sizeof name, "one that the program made");
  report_communicator(name, s->comm ? WHY_SERVED : s->why);
}

void state_add(MPI_Comm old, MPI_Comm comm) {
  shim_why unused;
  state *s = NULL, none = {.mpi = comm};
  if (!atomic_load(&current)) return;
  state *of = old == MPI_COMM_NULL ? NULL : state_find(old, &unused);
  if (comm != MPI_COMM_NULL) {
    s = calloc(1, sizeof *s);
    none.why = unfit(&none);
    if (s) *s = none;
  }
  if (of)
    split(of, comm, s);
  else if (s && s->why == WHY_SERVED)
    serve(s);
  if (!s) { /* the other ranks wait for this rank's vote */
    if (comm != MPI_COMM_NULL && none.why == WHY_SERVED && !has_others(&none)) all_agree(comm, 0);
    return;
  }
  tell_report(s);
  release(replace(comm, s));
}

void state_remove(MPI_Comm comm) {
  if (!atomic_load(&current) || comm == MPI_COMM_NULL) return;
  if (comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF) release(replace(comm, NULL));
}

/* ---- begin and end ---- */

/* Is the running MPI the one that this library is for? If not, handles have another meaning. */
static int is_ours(void) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  return mpi_is_ours(&next()->net, text);
}

/* Print repeated lines once: a program may make a thousand communicators. */
static void to_stderr(void *unused, int level, const char *line) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static char last[200];
  (void)unused, (void)level;
  pthread_mutex_lock(&lock);
  if (strncmp(line, last, sizeof last - 1) != 0) fprintf(stderr, "tutti: %s\n", line);
  snprintf(last, sizeof last, "%s", line);
  pthread_mutex_unlock(&lock);
}

int state_begin(void) {
  const char *wanted = getenv("TUTTI_DROPIN"), *explain = getenv("TUTTI_EXPLAIN");
  int rank = 0;
  if (!is_ours()) {
    off_because = WHY_OTHER_MPI;
    return 0;
  }
  on = !wanted || strcmp(wanted, "0") != 0;
  off_because = WHY_OFF;
  atomic_store(&current, renew(NULL));
  next()->net.Comm_rank(MPI_COMM_WORLD, &rank);
  report_begin(rank);
  if (rank == 0 && (report_wanted || (explain && *explain && strcmp(explain, "0") != 0)))
    tutti_log_set(to_stderr, NULL);
  return 1;
}

void state_world(void) {
  state_add(MPI_COMM_NULL, MPI_COMM_WORLD);
  state_add(MPI_COMM_NULL, MPI_COMM_SELF);
}

void state_end(void) {
  table *t = atomic_exchange(&current, NULL);
  off_because = WHY_AFTER;
  on = 0;
  for (size_t i = 0; t && i <= t->mask; i++) release(atomic_load(&t->places[i].state));
  for (table *older; t; t = older) {
    older = t->older;
    free(t);
  }
}

char *state_scratch(state *s, size_t bytes) {
  if (bytes <= s->room && s->scratch) return s->scratch;
  free(s->scratch);
  s->room = bytes < 4096 ? 4096 : (bytes + 63) / 64 * 64;
  s->scratch = aligned_alloc(64, s->room);
  if (!s->scratch) s->room = 0;
  return s->scratch;
}
