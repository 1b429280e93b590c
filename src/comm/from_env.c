/* from_env.c - creates communicators from the launcher's environment and for threads.
 *
 * Idea       The ranks of a job find each other through the headers of their heaps. Each writes its own data and then
 *            publishes its first control block. When all have done so, the hidden base communicator exists. All other
 *            communicators are split from an existing one (split.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build_comm.h"
#include "comm_wisdom.h"
#include "create.h"
#include "fences.h"
#include "guests.h"
#include "long_wait.h"
#include "process_state.h"
#include "proposal.h"
#include "remote.h"
#include "topo.h"
#include "tracing.h"

/* ---- levels within the machine ---- */

/* Returns the domains that contain these cores. The last result is cached, because ranks that are threads of one
 * process call this one after the other, usually with the same cores. */
static tt_domains domains_of(const tt_cpu_bits *cores) {
  static _Thread_local tt_cpu_bits last;
  static _Thread_local tt_domains found;
  if (!tt_cpus_same(&last, cores)) {
    found = tt_cores_within(NULL, cores);
    last = *cores;
  }
  return found;
}

static void publish_domains(tt_intro *intro, const tt_domains *d) {
  intro->within.package = d->package;
  intro->within.numa = d->numa;
  intro->within.cache = d->cache;
}

/* If all levels in TUTTI_TOPO are within a machine, they replace the placement derived from the cores of this rank.
 * Otherwise TUTTI_TOPO applies to communicators over a network (from_net.c). */
static tutti_status declare_domains(tt_intro *intro, int rank, int ranks) {
  const char *topology = tt_env("TUTTI_TOPO");
  if (!topology || !tt_topology_inside(topology)) return TUTTI_OK;
  tt_layout layout = {.order = NULL};
  tt_placement *all = calloc((size_t)ranks, sizeof *all);
  tutti_status status = all ? tt_layout_find(all, ranks, topology, "TUTTI_TOPO", &layout)
                            : tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", ranks);
  if (!status) status = tt_placement_color(&layout, ranks, all);
  if (!status)
    publish_domains(intro, &(tt_domains){all[rank].package, all[rank].numa, all[rank].cache});
  free(layout.order);
  free(layout.node_of);
  free(all);
  return status;
}

tt_colors tt_intro_colors(const tt_intro *intro) {
  return (tt_colors){
      .package = intro->within.package, .numa = intro->within.numa, .cache = intro->within.cache};
}

/* ---- connecting the ranks of a job ---- */

void tt_heap_introduce(tt_heap *heap) {
  tt_segment *segment = tt_heap_segment(heap);
  const int index = tt_heap_index(heap);
  tt_head *head = tt_heap_head(segment, index);
  tt_intro *intro = tt_heap_intro(segment, index);
  intro->pid = (int)getpid();
  head->join.version = tt_version_number();
  tt_process_state(intro->pid, &intro->started);
  intro->space = tt_pid_space();
  intro->cookie = *tt_heap_cookie(heap);
  const bool readable = tt_remote_readable(segment);
  intro->cookie_at = readable ? (uint64_t)(uintptr_t)tt_heap_cookie(heap) : 0;
  tt_cpu_bits cores;
  tt_cores_mine(&cores);
  tt_heap_publish_cores(segment, index, &cores);
  const tt_domains domains = domains_of(&cores);
  publish_domains(intro, &domains);
  head->quota = tt_cores_quota();
  head->l2 = tt_cache_l2();
  intro->fenced = tt_fences_join();
  if (index) return;
  tt_profile profile = {0}; /* all ranks use the first rank's profile */
  tt_profile_here(&profile);
  _Static_assert(sizeof profile <= TT_FIGURES, "room for the figures");
  memcpy(tt_job_head_of(segment)->figures, &profile, sizeof profile);
}

/* each ended, users, finalized, usable: order: a flag or a count, set alone */

static tutti_status introduce(tt_heap *heap, int ranks) {
  tt_intro *intro = tt_heap_intro(tt_heap_segment(heap), tt_heap_index(heap));
  const uint64_t ctrl = tt_shm_ctrl_new(heap, ranks, tt_heap_index(heap) == 0);
  if (!ctrl) return tt_fail(TUTTI_ERR_MEMORY, "no shared memory for a communicator");
  tt_heap_introduce(heap);
  const tutti_status status = declare_domains(intro, tt_heap_index(heap), ranks);
  atomic_store_explicit(&intro->world, ctrl, memory_order_relaxed);
  /* model: publish:set */
  atomic_store_explicit(&intro->ready, 1 + TT_LAYOUT, memory_order_release);
  return status;
}

tutti_status tt_job_over(const tt_segment *segment) {
  long launcher;
  if (!tt_segment_orphaned(segment, &launcher)) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_PEER_LOST, "the job is over: its launcher (pid %ld) is gone", launcher);
}

typedef struct founders {
  const tt_segment *segment;
  double limit; /* in seconds */
  int rank;     /* the rank to wait for */
  tt_long_wait wait;
} founders;

static bool founder_is_ready(void *ctx, unsigned turn, tutti_status *status) {
  founders *f = ctx;
  const tt_intro *intro = tt_heap_intro(f->segment, f->rank);
  /* model: publish:find */
  const unsigned ready = atomic_load_explicit(&intro->ready, memory_order_acquire);
  char words[64];
  if (ready && ready != 1 + TT_LAYOUT)
    *status =
        tt_fail(TUTTI_ERR_SYSTEM, "rank %d uses another version of tutti than this one", f->rank);
  if (ready || turn % 64) return ready;
  tt_long_wait_for(&f->wait, "rank %d of %d to call it", f->rank, f->segment->founders);
  if (atomic_load(&intro->ended)) {
    tt_exit_words(intro, f->segment->told, words, sizeof words);
    *status = tt_fail(TUTTI_ERR_PEER_LOST, "rank %d of %d died before tutti_comm_from_env%s",
                      f->rank, f->segment->founders, words);
  } else if (!(*status = tt_job_over(f->segment)) && tt_seconds() - f->wait.since > f->limit) {
    *status = tt_fail(TUTTI_ERR_TIMEOUT,
                      "rank %d of %d did not call tutti_comm_from_env within %.0f s "
                      "(TUTTI_CONNECT_TIMEOUT)",
                      f->rank, f->segment->founders, f->limit);
  }
  return false;
}

static tutti_status await_founders(const tt_segment *segment) {
  founders f = {segment, tt_connect_timeout(120), 0, tt_long_wait_begin("tutti_comm_from_env")};
  tutti_status status = TUTTI_OK;
  for (; f.rank < segment->founders && !status; f.rank++)
    status = tt_wait_until(f.wait.call, founder_is_ready, &f);
  tt_long_wait_end(&f.wait);
  return status;
}

/* ---- creating a communicator ---- */

static uint64_t ctrl_of(const tt_segment *segment, int rank) {
  return atomic_load_explicit(&tt_heap_intro(segment, rank)->world, memory_order_relaxed);
}

/* Creates the communicator for all ranks of a segment. The control blocks of the ranks already exist. */
static tutti_status create_base_comm(tt_heap *heap, int rank, tutti_comm **out) {
  tt_segment *segment = tt_heap_segment(heap);
  tutti_comm *comm = tt_comm_new(rank, segment->founders);
  if (!comm) return TUTTI_ERR_MEMORY;
  comm->heap = tt_heap_hold(heap);
  for (int r = 0; r < comm->ranks; r++) {
    const tt_intro *intro = tt_heap_intro(segment, r);
    comm->info[r] = (tt_rank_info){.index = r,
                                   .placement = tt_intro_colors(intro),
                                   .pid = intro->pid,
                                   .ctrl = ctrl_of(segment, r)};
  }
  tt_profile profile;
  memcpy(&profile, tt_job_head_of(segment)->figures, sizeof profile);
  tutti_status status = tt_comm_build(comm, &(tt_comm_spec){.profile = &profile});
  if (!status) tt_trace_root(comm, NULL, tt_heap_intro(segment, 0)->cookie, 0, 0);
  if (status)
    tt_comm_destroy(comm);
  else
    *out = comm;
  return status;
}

/* ---- from the environment ---- */

/* Only one process may use a heap, because a second process would overwrite the data that the first has published. */
static tutti_status claim_heap(tt_segment *segment, int index, int rank) {
  int owner;
  bool self;
  if (tt_heap_own(tt_heap_head(segment, index), &owner, &self)) return TUTTI_OK;
  if (self)
    return tt_fail(TUTTI_ERR_STATE,
                   "this process could not join its job before, and cannot try again: "
                   "the others have seen what is left of that");
  return tt_fail(
      TUTTI_ERR_STATE,
      "rank %d is already taken by process %d; a job runs one program per rank, once: start each "
      "program with a separate `tutti run`",
      rank, owner);
}

/* Maps the shared-memory segment of the job. Sets *index to the number of the heap that this process uses. */
static tutti_status job_segment(int *index, tt_segment **segment) {
  const char *fd = tt_env("TUTTI_SHM_FD");
  *index = 0;
  if (!fd && !tt_env("TUTTI_SIZE")) {
    const tutti_status status = tt_launch_alone();
    return status ? status : tt_segment_anonymous(1, segment);
  }
  const int ranks = (int)tt_env_int("TUTTI_SIZE", 1, 1 << 16, -1);
  const int rank = (int)tt_env_int("TUTTI_RANK", 0, (1 << 16) - 1, -1);
  const int joiner = (int)tt_env_int("TUTTI_NEWCOMER", 0, 1 << 16, 0);
  const int number = (int)tt_env_int("TUTTI_SHM_FD", 0, 1 << 20, -1);
  if (ranks < 1 || rank < 0 || rank >= ranks || number < 0)
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "TUTTI_RANK, TUTTI_SIZE and TUTTI_SHM_FD do not describe a rank of a job; "
                   "start ranks with `tutti run -n N program`");
  tutti_status status = tt_segment_map(number, ranks, segment);
  if (status) return status;
  *index = joiner ? ranks + joiner - 1 : rank;
  if (*index >= (*segment)->ranks)
    status = tt_fail(TUTTI_ERR_SYSTEM, "TUTTI_NEWCOMER=%d: this job has room for %d", joiner,
                     (*segment)->ranks - ranks);
  if (!status) status = claim_heap(*segment, *index, rank);
  if (!status) fcntl(number, F_SETFD, FD_CLOEXEC); /* programs that this one starts are not ranks */
  if (status) tt_segment_release(*segment);
  return status;
}

tutti_status tt_segment_enter(tt_segment *segment, int rank, tt_heap **heap) {
  *heap = NULL;
  tutti_status status = tt_heap_open(segment, rank, heap);
  if (status) {
    tt_segment_release(segment);
  } else if ((status = introduce(*heap, segment->founders))) {
    tt_heap_close(*heap);
    *heap = NULL;
  }
  return status;
}

tutti_status tt_segment_comm(tt_heap *heap, tutti_comm **base) {
  tt_segment *segment = tt_heap_segment(heap);
  const int rank = tt_heap_index(heap);
  tutti_status status = await_founders(segment);
  if (status) /* others may already be waiting for this rank */
    tt_shm_ctrl_abandon(heap, ctrl_of(segment, rank),
                        status == TUTTI_ERR_INTERRUPTED ? TUTTI_ERR_ABORTED : status,
                        tutti_error());
  if (!status) tt_remote_probe(segment, rank);
  if (!status) status = create_base_comm(heap, rank, base);
  tt_heap_close(heap);
  return status;
}

/* Returns true if the variables of a PMIx launcher indicate that it has started only one rank. */
static bool one_is_all(void) {
  return tt_env_int("OMPI_COMM_WORLD_SIZE", 1, 1 << 20, 0) == 1 ||
         tt_env_int("SLURM_STEP_NUM_TASKS", 1, 1 << 20, 0) == 1;
}

/* Creates the communicator of a program without MPI that was started by mpirun, prun or srun with PMIx. *base remains
 * NULL if the PMIx library of tutti is missing. only: PMIx is the only source for the rank of this process. */
static tutti_status from_pmix(tutti_comm **base, bool only) {
  const double limit = tt_create_limit(NULL);
  tutti_launcher l = {.end = NULL};
  tt_meeting m;
  char late[120];
  snprintf(late, sizeof late,
           "not all ranks that PMIx knows of came within %.3g s (TUTTI_CONNECT_TIMEOUT)", limit);
  tutti_status status = tt_launcher_open("pmix", limit, &l);
  if (status == TUTTI_ERR_UNSUPPORTED && (!only || one_is_all())) return TUTTI_OK;
  if (status == TUTTI_ERR_UNSUPPORTED)
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "PMIX_RANK says that a launcher started this process as one of several ranks, "
                   "and they cannot connect: %.200s; or call MPI_Init and "
                   "tutti_comm_from_mpi(MPI_COMM_WORLD, &comm), or start them with `tutti run`",
                   tutti_error());
  if (!status)
    status = tt_meet_gather(l.gather, l.ctx, l.rank, l.ranks, TUTTI_ERR_TIMEOUT, late, &m);
  if (!status) status = tt_create(&m, NULL, base);
  if (l.end) l.end(l.ctx);
  return status;
}

/* A joiner enters a job on one host through its heap in the segment, and a job on several hosts through the waiting room. */
typedef struct entrance {
  tt_segment *segment;
  int index;
  tt_rendezvous room; /* joiners 0: not used */
  int rank;
} entrance;

/* Detects the launcher: `tutti run` on one host or on several, another launcher, or none (one rank). For a joiner,
 * leaves *base NULL and fills in *e, through which the joiner enters the job. */
static tutti_status from_launcher(tutti_comm **base, entrance *e) {
  tt_meeting m;
  tt_launch l = {.by = NULL};
  const char *joiner = tt_env("TUTTI_NEWCOMER");
  tutti_status status = tt_env("TUTTI_SHM_FD") ? TUTTI_OK : tt_launch_find(&l);
  /* if mpirun starts its daemons with Slurm, its ranks inherit the Slurm variables of the daemons */
  const bool pmix = !tt_env("TUTTI_SHM_FD") && !tt_env("TUTTI_SIZE") && tt_env("PMIX_RANK") &&
                    tt_env("PMIX_NAMESPACE") && (!l.by || strcmp(l.by, "Slurm") == 0);
  if (!status && pmix) status = from_pmix(base, !l.by);
  if (status || *base) return status;
  if (l.by && tutti_newcomer()) {
    e->room = l.at;
    e->room.joiners = (int)tt_env_int("TUTTI_NEWCOMER", 1, 1 << 16, 1);
    e->rank = l.rank;
    return TUTTI_OK;
  }
  if (l.by) {
    pthread_t thread;
    if (l.serves && (status = tt_rendezvous_serve(&l.at, false, &thread))) return status;
    status =
        tt_meet_visit(&l.at, tt_host_number(l.rank), l.rank, l.ranks, tt_create_limit(NULL), &m);
    m.wide = joiner && tt_env("TUTTI_ID");
    if (!status) status = tt_create(&m, NULL, base);
    if (l.serves && status) tt_rendezvous_end(thread);
    if (l.serves && !status) pthread_detach(thread);
    return status;
  }
  status = job_segment(&e->index, &e->segment);
  if (status || e->index >= e->segment->founders) return status;
  tt_heap *heap;
  status = tt_segment_enter(e->segment, e->index, &heap);
  if (!status) status = tt_segment_comm(heap, base);
  return status;
}

tutti_status tutti_comm_from_env(tutti_comm **comm) {
  tutti_status status = tt_args_given("tutti_comm_from_env", "comm", comm, NULL, NULL);
  if (status) return status;
  *comm = NULL;
  entrance e = {.segment = NULL};
  tutti_comm *made = NULL;
  pthread_mutex_lock(&tt_process.starting); /* one thread at a time; waits for other ranks */
  pthread_mutex_lock(&tt_process.lock);
  tutti_comm *base = tt_process.base;
  const bool again = tt_process.joined;
  pthread_mutex_unlock(&tt_process.lock);
  if (!base && !again && !(status = from_launcher(&made, &e))) {
    pthread_mutex_lock(&tt_process.lock);
    base = tt_process.base = made;
    tt_process.joined = !made;
    pthread_mutex_unlock(&tt_process.lock);
  }
  pthread_mutex_unlock(&tt_process.starting);
  if (status) return status;
  if (again)
    return tt_fail(TUTTI_ERR_STATE,
                   "tutti_comm_from_env: this process has joined its job before; "
                   "use tutti_comm_dup");
  return tt_ended(base             ? tutti_comm_dup(base, comm)
                  : e.room.joiners ? tt_guest_join(&e.room, e.rank, e.room.joiners, comm)
                                   : tt_joiner_join(e.segment, e.index, comm));
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
  int opened = 0;
  if (!heaps) status = tt_fail(TUTTI_ERR_MEMORY, "out of memory");
  for (; !status && opened < n; opened++) {
    status = tt_heap_open(segment, opened, &heaps[opened]);
    if (status) break;
    status = introduce(heaps[opened], n);
  }
  for (int r = opened; r < n; r++) tt_segment_release(segment); /* not owned by a heap */
  for (int r = 0; !status && r < n; r++) status = create_base_comm(heaps[r], r, &comms[r]);
  if (!status) status = tt_wisdom_share_threads(comms, n);
  for (int r = 0; status && r < n; r++) {
    tt_comm_destroy(comms[r]);
    comms[r] = NULL;
  }
  for (int r = 0; heaps && r < opened; r++) tt_heap_close(heaps[r]);
  free(heaps);
  return tt_ended(status);
}

/* ---- finalizing ---- */

tutti_status tutti_finalize(void) {
  tutti_status status = tt_alive();
  if (status) return status;
  pthread_mutex_lock(&tt_process.lock);
  tutti_comm *base = tt_process.base;
  tt_process.base = NULL;
  pthread_mutex_unlock(&tt_process.lock);
  tt_thread_end();
  tt_comm_destroy(base);
  tt_wisdom_end();
  tt_trace_end();
  tt_long_waits_close();
  tt_unsent_free();
  free(tt_process.user_ops);
  tt_process.user_ops = NULL;
  atomic_store(&tt_process.finalized, 1);
  atomic_store(&tt_process.usable, false);
  return TUTTI_OK;
}
