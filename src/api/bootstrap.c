/* bootstrap.c - how communicators come about: from the launcher's environment,
 * for threads, and out of another communicator.
 *
 * Idea       the job's ranks meet in the heads of their heaps: each writes what it
 *            is, then publishes its first room; when all have, the hidden base
 *            communicator stands. All others are split from one that exists, by
 *            all-gathering who wants what.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collective.h"
#include "topo.h"

enum { LAYOUT = 1 };

/* ---- meeting ---- */

static tutti_status introduce(tt_heap *heap, int ranks, uint64_t *room) {
  tt_head *head = tt_heap_head(tt_heap_segment(heap), tt_heap_index(heap));
  *room = tt_shm_room(heap, ranks, tt_heap_index(heap) == 0);
  if (!*room) return tt_fail(TUTTI_ERR_MEMORY, "no shared memory for a communicator");
  head->pid = (int)getpid();
  head->cookie = *tt_heap_cookie(heap);
  head->cookie_at = (uint64_t)(uintptr_t)tt_heap_cookie(heap);
  tt_cores_mine(&head->cores);
  head->quota = tt_cores_quota();
  head->l2 = tt_cache_l2();
  tt_machine machine;
  tt_machine_here(&machine);
  _Static_assert(sizeof machine <= sizeof head->figures, "room for the figures");
  memcpy(head->figures, &machine, sizeof machine);
  atomic_store_explicit(&head->world, *room, memory_order_relaxed);
  atomic_store_explicit(&head->ready, 1 + LAYOUT, memory_order_release);
  return TUTTI_OK;
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tutti_status meet(const tt_segment *segment, uint64_t *rooms) {
  const double limit = (double)tt_env_int("TUTTI_CONNECT_TIMEOUT", 1, 86400, 120);
  const double since = seconds();
  for (int r = 0; r < segment->ranks; r++) {
    const tt_head *head = tt_heap_head(segment, r);
    unsigned ready;
    for (int look = 0; !(ready = atomic_load_explicit(&head->ready, memory_order_acquire));
         look++) {
      if (look < 100)
        sched_yield();
      else
        usleep(200);
      if (look % 64 == 0 && seconds() - since > limit)
        return tt_fail(TUTTI_ERR_TIMEOUT,
                       "rank %d of %d did not call tutti_comm_from_env within %.0f s "
                       "(TUTTI_CONNECT_TIMEOUT)",
                       r, segment->ranks, limit);
    }
    if (ready != 1 + LAYOUT)
      return tt_fail(TUTTI_ERR_SYSTEM, "rank %d uses another version of tutti than this one", r);
    rooms[r] = atomic_load_explicit(&head->world, memory_order_relaxed);
  }
  return TUTTI_OK;
}

/* ---- making one ---- */

/* Ranks of this group per core they may use; figures that all ranks see alike. */
static double crowd_of(const tt_segment *segment, const int *members, int ranks) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int r = 0; r < ranks; r++) CPU_OR(&all, &all, &tt_heap_head(segment, members[r])->cores);
  double cores = CPU_COUNT(&all), quota = tt_heap_head(segment, members[0])->quota;
  if (quota < cores) cores = quota;
  return ranks / (cores > 0 ? cores : 1);
}

static tutti_status settings(tutti_comm *comm, const tt_head *first) {
  comm->setting = (tt_setting){.ranks = comm->ranks,
                               .crowd = comm->crowd,
                               .has_loop = tt_has_loop,
                               .flight = TT_FLIGHT};
  memcpy(&comm->setting.machine, first->figures, sizeof comm->setting.machine);
  comm->slices = (int)tt_env_int("TUTTI_SLICES", 0, 1 << 20, 0);
  comm->explains = tt_env_int("TUTTI_EXPLAIN", 0, 1, 0);
  const char *contract = tt_env("TUTTI_CONTRACT");
  if (contract && strcmp(contract, "same") != 0 && strcmp(contract, "any") != 0)
    return tt_fail(TUTTI_ERR_ARG, "TUTTI_CONTRACT is '%.40s'; it can be same or any", contract);
  if (contract && strcmp(contract, "any") == 0) comm->contract = TUTTI_CONTRACT_ANY;
  tutti_status status = tt_wish_parse(tt_env("TUTTI_ALGO"), comm->ranks, &comm->wish);
  if (status) return tt_fail(status, "TUTTI_ALGO: %.300s", tutti_error());
  return tt_chooser_new(&comm->setting, &comm->chooser);
}

tutti_status tt_comm_make(tt_heap *heap, int rank, int ranks, const int *members,
                          const uint64_t *rooms, tutti_comm **out) {
  tutti_comm *comm = calloc(1, sizeof *comm);
  if (!comm) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a communicator");
  comm->rank = rank;
  comm->ranks = ranks;
  comm->seq = comm->oldest = 1; /* 0 is what an empty board says */
  comm->heap = tt_heap_hold(heap);
  comm->crowd = crowd_of(tt_heap_segment(heap), members, ranks);
  comm->spins = TT_SPINS;
  tutti_status status = settings(comm, tt_heap_head(tt_heap_segment(heap), members[0]));
  if (!status) status = tt_shm_wire(heap, rank, ranks, members, rooms, &comm->wire);
  if (status) {
    tt_shm_room_free(heap, rooms[rank]);
    tt_comm_destroy(comm);
    return status;
  }
  *out = comm;
  return TUTTI_OK;
}

void tt_comm_destroy(tutti_comm *comm) {
  if (!comm) return;
  for (int i = 0; i < TT_WINDOW; i++)
    if (comm->wire) tt_operation_release(&comm->places[i].operation);
  tt_plans_drop(comm);
  tt_mail_free(comm->mail);
  if (comm->windows) comm->wire->ops->free(comm->wire, comm->windows);
  tt_chooser_free(comm->chooser);
  tt_chooser_free(comm->helped);
  tt_chooser_free(comm->flat);
  free(comm->order);
  free(comm->place);
  if (comm->wire) comm->wire->ops->close(comm->wire);
  tt_heap_close(comm->heap);
  free(comm);
}

/* ---- from the environment ---- */

static tutti_status job_segment(int *rank, int *ranks, tt_segment **segment) {
  const char *fd = tt_env("TUTTI_SHM_FD");
  *rank = 0;
  *ranks = 1;
  if (!fd && !tt_env("TUTTI_SIZE")) return tt_segment_anonymous(1, segment);
  *ranks = (int)tt_env_int("TUTTI_SIZE", 1, 1 << 16, -1);
  *rank = (int)tt_env_int("TUTTI_RANK", 0, (1 << 16) - 1, -1);
  int number = (int)tt_env_int("TUTTI_SHM_FD", 0, 1 << 20, -1);
  if (*ranks < 1 || *rank < 0 || *rank >= *ranks || number < 0)
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "TUTTI_RANK, TUTTI_SIZE and TUTTI_SHM_FD do not describe a rank of a job; "
                   "start ranks with `tutti run -n N program`");
  return tt_segment_map(number, *ranks, segment);
}

static tutti_status stand_up(tt_segment *segment, int rank, tutti_comm **base) {
  const int ranks = segment->ranks;
  uint64_t *rooms = malloc((size_t)ranks * sizeof *rooms), room;
  int *members = malloc((size_t)ranks * sizeof *members);
  tt_heap *heap = NULL;
  tutti_status status = TUTTI_OK;
  if (!rooms || !members) status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", ranks);
  if (!status) status = tt_heap_open(segment, rank, &heap);
  if (status) tt_segment_release(segment);
  if (!status) status = introduce(heap, ranks, &room);
  if (!status) status = meet(segment, rooms);
  if (!status) tt_remote_probe(segment, rank);
  for (int r = 0; !status && r < ranks; r++) members[r] = r;
  if (!status) status = tt_comm_make(heap, rank, ranks, members, rooms, base);
  tt_heap_close(heap);
  free(rooms);
  free(members);
  return status;
}

tutti_status tutti_comm_from_env(tutti_comm **comm) {
  tutti_status status = tt_alive();
  if (status) return status;
  if (!comm) return tt_fail(TUTTI_ERR_ARG, "tutti_comm_from_env: comm is NULL");
  *comm = NULL;
  pthread_mutex_lock(&tt_process.lock);
  tutti_comm *base = tt_process.base;
  if (!base) {
    int rank, ranks;
    tt_segment *segment;
    status = job_segment(&rank, &ranks, &segment);
    if (!status) status = stand_up(segment, rank, &base);
    if (!status) tt_process.base = base;
  }
  pthread_mutex_unlock(&tt_process.lock);
  return status ? status : tutti_comm_dup(base, comm);
}

/* ---- for threads ---- */

tutti_status tutti_comm_from_threads(int n, tutti_comm **comms) {
  tutti_status status = tt_alive();
  if (status) return status;
  if (n < 1 || n > 4096 || !comms)
    return tt_fail(TUTTI_ERR_ARG, "tutti_comm_from_threads: %s",
                   comms ? "n must be from 1 to 4096" : "comms is NULL");
  memset(comms, 0, (size_t)n * sizeof *comms);
  tt_segment *segment;
  if ((status = tt_segment_anonymous(n, &segment))) return status;
  atomic_store(&segment->users, n);
  tt_heap **heaps = calloc((size_t)n, sizeof *heaps);
  uint64_t *rooms = calloc((size_t)n, sizeof *rooms);
  int *members = calloc((size_t)n, sizeof *members), opened = 0;
  if (!heaps || !rooms || !members) status = tt_fail(TUTTI_ERR_MEMORY, "out of memory");
  for (; !status && opened < n; opened++) {
    status = tt_heap_open(segment, opened, &heaps[opened]);
    if (status) break;
    members[opened] = opened;
    status = introduce(heaps[opened], n, &rooms[opened]);
  }
  for (int r = opened; r < n; r++) tt_segment_release(segment); /* uses nobody took over */
  for (int r = 0; !status && r < n; r++)
    status = tt_comm_make(heaps[r], r, n, members, rooms, &comms[r]);
  for (int r = 0; status && r < n; r++) {
    tt_comm_destroy(comms[r]);
    comms[r] = NULL;
  }
  for (int r = 0; heaps && r < opened; r++) tt_heap_close(heaps[r]);
  free(heaps);
  free(rooms);
  free(members);
  return status;
}

/* ---- out of another ---- */

typedef struct wish {
  int64_t color, key, index; /* index: of the heap */
} wish;

static int by_key(const void *a, const void *b) {
  const int64_t *x = a, *y = b; /* key, old rank */
  if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
  return (x[1] > y[1]) - (x[1] < y[1]);
}

/* Of all ranks, helpers too. */
static tutti_status gather(tutti_comm *comm, const void *src, void *dst, size_t count) {
  const tt_call call = {.coll = TUTTI_ALL_GATHER,
                        .src = src,
                        .dst = dst,
                        .count = count,
                        .type = TUTTI_INT64,
                        .everyone = true};
  return tt_collective(comm, "tutti_comm_split", &call);
}

/* The ranks of my color, ordered: their old ranks, and mine in the new group. */
static int choose_members(const wish *wishes, int ranks, int me, int64_t (*order)[2], int *mine) {
  int n = 0;
  for (int r = 0; r < ranks; r++) {
    if (wishes[r].color != wishes[me].color) continue;
    order[n][0] = wishes[r].key;
    order[n++][1] = r;
  }
  qsort(order, (size_t)n, sizeof *order, by_key);
  for (int i = 0; i < n; i++)
    if (order[i][1] == me) *mine = i;
  return n;
}

static tutti_status split(tutti_comm *comm, int color, int key, tutti_comm **out) {
  const size_t P = (size_t)comm->ranks;
  wish *wishes = malloc(P * sizeof *wishes);
  int64_t(*order)[2] = malloc(P * sizeof *order), *all = malloc(P * sizeof *all);
  uint64_t *rooms = malloc(P * sizeof *rooms);
  int *members = malloc(P * sizeof *members), mine = 0, n = 0;
  bool room_kept = false;
  tutti_status status = TUTTI_OK;
  if (!wishes || !order || !all || !rooms || !members)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for a communicator of %d ranks", comm->ranks);
  wish my = {color < 0 ? -1 : color, key, tt_heap_index(comm->heap)};
  if (!status) status = gather(comm, &my, wishes, 3);
  int64_t room = 0;
  if (!status && color >= 0) {
    n = choose_members(wishes, comm->ranks, comm->rank, order, &mine);
    room = (int64_t)tt_shm_room(comm->heap, n, mine == 0);
  }
  if (!status) status = gather(comm, &room, all, 1);
  for (int i = 0; !status && i < n; i++) {
    int old = (int)order[i][1];
    members[i] = (int)wishes[old].index;
    rooms[i] = (uint64_t)all[old];
    if (!rooms[i]) status = tt_fail(TUTTI_ERR_MEMORY, "rank %d has no shared memory left", old);
  }
  if (!status && n) {
    room_kept = true;
    status = tt_comm_make(comm->heap, mine, n, members, rooms, out);
  }
  if (!room_kept && room) tt_shm_room_free(comm->heap, (uint64_t)room);
  free(wishes);
  free(order);
  free(all);
  free(rooms);
  free(members);
  return status;
}

tutti_status tutti_comm_split(tutti_comm *comm, int color, int key, tutti_comm **out) {
  tutti_status status = tt_alive();
  if (status) return status;
  if (!comm || !out)
    return tt_fail(TUTTI_ERR_ARG, "tutti_comm_split: %s is NULL", comm ? "out" : "comm");
  *out = NULL;
  return split(comm, color, key, out);
}

tutti_status tutti_comm_dup(tutti_comm *comm, tutti_comm **out) {
  tutti_status status = tt_alive();
  if (status) return status;
  if (!comm || !out)
    return tt_fail(TUTTI_ERR_ARG, "tutti_comm_dup: %s is NULL", comm ? "out" : "comm");
  status = tutti_comm_split(comm, 0, comm->rank, out);
  if (!status) {
    (*out)->wish = comm->wish;
    (*out)->slices = comm->slices;
    (*out)->contract = comm->contract;
    if (comm->helpers) status = tutti_comm_set_helpers(*out, comm->helpers);
  }
  return status;
}

tutti_status tutti_finalize(void) {
  tutti_status status = tt_alive();
  if (status) return status;
  pthread_mutex_lock(&tt_process.lock);
  tutti_comm *base = tt_process.base;
  tt_process.base = NULL;
  pthread_mutex_unlock(&tt_process.lock);
  tt_comm_destroy(base);
  free(tt_process.user_ops);
  tt_process.user_ops = NULL;
  atomic_store(&tt_process.finalized, 1);
  return TUTTI_OK;
}
