/* state.c - finds communicators by their handles, and decides whether to serve them.
 *
 * Idea       A table is searched without a lock: a writer makes the version odd during a change,
 *            and a reader retries if the version has changed.
 * Invariant  All ranks of a communicator agree whether it is served: each contributes whether it can (the
 *            result is the minimum). For MPI_COMM_WORLD, each also contributes whether it wants to.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "state.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "async.h"
#include "members.h"
#include "net.h"
#include "request_lanes.h"
#include "tutti_mpi.h"
#include "tutti_plan.h"

typedef struct place {
  _Atomic uintptr_t key;
  _Atomic(state *) state; /* NULL if free or removed */
} place;

typedef struct table {
  size_t mask, used; /* used: number of places that have, or had, a state */
  struct table *older;
  place places[];
} table;

enum { FIRST_PLACES = 256 };

static _Atomic(table *) current; /* if NULL, no communicator is looked up */
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

/* MPI handles are never 0. MPICH's handles contain bits for the kind of object, Open MPI's are addresses, and those of the
 * standard ABI are nonzero constants or addresses. */
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

static state *meet(MPI_Comm comm);

state *state_look(MPI_Comm comm, shim_why *why) {
  state *s = look_up(comm);
  if (!s && on && comm != MPI_COMM_NULL) s = meet(comm);
  if (s && s->why == WHY_SERVED) return s;
  *why = s ? s->why : on ? WHY_REFUSED : off_because;
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

/* Returns a larger table with a copy of the existing states. The old table is not freed, because readers may still use it. */
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

/* Sets the state of a communicator, or removes it if `s` is NULL. Returns the previous state. If out of memory, returns `s`
 * instead. */
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

/* ---- a communicator's first collective ---- */

static void release(state *s) {
  if (!s) return;
  async_stop(s);
  lanes_leave(s->lanes);
  tutti_comm_free(s->comm);
  free(s->counts);
  free(s->scratch);
  free(s);
}

/* Translates the ranks of a communicator to ranks in MPI_COMM_WORLD. Returns false if some belong to another world
 * (MPI_Comm_spawn), where this library may not be loaded. */
static bool find_in_world(state *s) {
  MPI_Group mine, all;
  int *places = s->world + s->ranks, error = next()->Comm_group(s->mpi, &mine);
  if (error) return false;
  error = next()->Comm_group(MPI_COMM_WORLD, &all);
  for (int r = 0; r < s->ranks; r++) places[r] = r;
  if (!error) error = next()->Group_translate_ranks(mine, s->ranks, places, all, s->world);
  if (!error) next()->Group_free(&all);
  next()->Group_free(&mine);
  for (int r = 0; r < s->ranks && !error; r++) error = s->world[r] == MPI_UNDEFINED;
  return !error;
}

/* Returns the reason why tutti cannot serve a communicator, or WHY_SERVED. The result is the same on all ranks of the
 * communicator, and is found without communication. Sets *memory to false if this rank is out of memory. */
static shim_why unfit(state *s, bool *memory) {
  const mpi_calls *mpi = &next()->net;
  int inter = 0;
  if (mpi->Comm_test_inter(s->mpi, &inter)) return WHY_REFUSED;
  if (inter) return WHY_INTER;
  if (mpi->Comm_size(s->mpi, &s->ranks) || mpi->Comm_rank(s->mpi, &s->rank)) return WHY_REFUSED;
  if (s->ranks < 2) return WHY_ALONE;
  s->counts = malloc((size_t)s->ranks * (2 * sizeof *s->counts + 2 * sizeof *s->world));
  *memory = s->counts != NULL;
  if (!*memory) return WHY_FAILED;
  s->world = (int *)(s->counts + 2 * s->ranks);
  return find_in_world(s) ? WHY_SERVED : WHY_FOREIGN;
}

/* Describes the communicator in the report. */
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

/* Creates the state of a communicator that the program uses for the first time. Returns NULL if this rank is out of memory.
 * The job then ends, unless the program handles MPI errors. */
static state *meet(MPI_Comm comm) {
  bool memory = true;
  state *s = calloc(1, sizeof *s);
  if (s) {
    s->mpi = comm;
    s->numbering = MPI_REQUEST_NULL;
    s->why = unfit(s, &memory);
    if (memory && replace(comm, s) != s) {
      if (s->why != WHY_SERVED) tell_report(s);
      return s;
    }
    release(s);
  }
  next()->Comm_call_errhandler(comm, MPI_ERR_NO_MEM);
  return NULL;
}

static state *whole; /* the state of MPI_COMM_WORLD */

/* Starts to agree on the communicator's number, which its first rank chooses. A later call of state_serves waits for the
 * number. */
bool state_number(state *s) {
  if (s->comm || s->numbered) return true;
  if (s->rank == 0) s->number = members_number();
  s->numbered = next()->Ibcast(&s->number, sizeof s->number, MPI_BYTE, 0, s->mpi, &s->numbering) ==
                MPI_SUCCESS;
  return s->numbered;
}

static int has_number(void *ctx) {
  state *s = ctx;
  int done = 0;
  net_enter(&next()->net, MPI_THREAD_MULTIPLE, 1);
  if (next()->Test(&s->numbering, &done, MPI_STATUS_IGNORE)) s->numbered = false;
  net_leave();
  return done || !s->numbered;
}

static bool numbered(state *s) {
  if (state_number(s)) members_await(has_number, s);
  return s->numbered;
}

bool state_serves(state *s) {
  if (s->comm) return true;
  if (s->why != WHY_SERVED) return false;
  tutti_comm *made = NULL;
  if (numbered(s)) {
    const members m = {.list = s->world, .n = s->ranks, .mine = s->rank, .number = s->number};
    members_comm(&m, whole->comm, &made);
  }
  s->comm = made;
  if (!made) s->why = WHY_FAILED;
  tell_report(s);
  return made != NULL;
}

void state_remove(MPI_Comm comm) {
  if (comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF || comm == MPI_COMM_NULL) return;
  if (look_up(comm)) release(replace(comm, NULL));
}

/* ---- initialization and finalization ---- */

/* Returns true if this library was made for the running MPI. If not, MPI handles would have other values than this library
 * expects. */
static char running[MPI_VERSION_ROOM];
static int is_ours(void) {
  return mpi_is_ours(&next()->net, running);
}

static void say_whose(void) {
  char why[300];
  running[strcspn(running, ",\n")] = 0;
  snprintf(why, sizeof why, "this library is for %s, but the program runs %.150s (see tutti mpi --family)",
           TUTTI_MPI_FAMILY, *running ? running : "an unknown MPI");
  report_nothing(why);
}

/* Prints a line, unless the same line was printed before. A program may create a thousand communicators. */
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
  const char *wanted = tutti_setting("TUTTI_DROPIN"), *explain = tutti_setting("TUTTI_EXPLAIN");
  int rank = 0;
  if (mpi_two()) fprintf(stderr, "tutti: %s\n", mpi_two());
  if (!is_ours()) {
    off_because = WHY_OTHER_MPI;
    say_whose();
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

/* Returns true if all ranks pass true. */
static bool all_agree(bool yes) {
  int mine = yes, all = 0;
  return next()->Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS && all;
}

/* Creates tutti's communicator for all ranks immediately, because all other communicators are derived from it. */
static shim_why serve_whole(bool wanted) {
  if (!all_agree(wanted)) return WHY_OFF;
  tutti_comm *made = NULL;
  const bool begun = members_begin(whole->rank, whole->ranks);
  if (mpi_comm_from(&next()->net, TUTTI_MPI_FAMILY, &whole->mpi, sizeof whole->mpi, &made))
    report_failure(tutti_error());
  if (all_agree(begun && made))
    whole->comm = made;
  else
    tutti_comm_free(made);
  return whole->comm ? WHY_SERVED : WHY_FAILED;
}

void state_world(void) {
  const bool wanted = on;
  const char *word = tutti_setting("TUTTI_DROPIN");
  on = 1;
  whole = meet(MPI_COMM_WORLD);
  if (whole && whole->why == WHY_SERVED) {
    whole->why = serve_whole(wanted);
    turns_wanted = all_agree(!word || strcmp(word, "always") != 0);
    tell_report(whole);
  }
  meet(MPI_COMM_SELF);
  on = whole && whole->comm;
  if (!on && whole) off_because = whole->why;
}

void state_end(void) {
  table *t = atomic_exchange(&current, NULL);
  off_because = WHY_AFTER;
  on = 0;
  for (size_t i = 0; t && i <= t->mask; i++) release(atomic_load(&t->places[i].state));
  whole = NULL;
  members_end();
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
