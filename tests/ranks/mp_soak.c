/* mp_soak.c - ranks that call anything, on communicators that come and go, and check the results,
 * while bench/faults.py kills and stops them. Does nothing when run by itself.
 *
 * Usage      mp_soak FILE SEED SECONDS|CYCLESx DEATHS MANNER [THREADS]
 *            MANNER: calm (no rank dies), deaths (DEATHS ranks die), makers (the same, but ranks
 *            only make communicators), alone (ranks die, and all calls are on one communicator),
 *            ends (ranks die, and the others end when they have noticed), doomed (one dies,
 *            and its MPI ends the others), losses (their aggregator ends, again and again). THREADS: run this many ranks in this process.
 *            It ends after DEATHS deaths and SECONDS seconds, or CYCLES cycles of calls.
 * Idea       the calls follow from the seed and the number of the step, so the ranks agree without
 *            communication. All ranks make the same calls on `base`; a rank whose call fails
 *            elsewhere goes there and learns which rank died, whatever the others do. Then the
 *            live ranks make a new communicator and begin again.
 * Writes     to FILE (tell.h): at PID RANKS; error STATUS WHY, lost WHY, shrunk RANKS; wrong WHAT;
 *            count GENERATION CALLS BYTES MISMATCHES MALLOC OWN HEAP SHARED FILES
 *            MEMBERS; cycle NUMBER, if CYCLES count; done.
 * Ranks: none
 * SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../cli/configure.h"
#include "build_comm.h"
#include "lifetime.h"
#include "soak.h"
#include "start.h"
#include "tell.h"

enum { ACTS = 12, MEETINGS = 20, COUNT_NS = 20000000 };
static const char elsewhere[] = "somebody died elsewhere";

/* Per job; the thread-local ones per rank, which may be a thread. members: a bit for each live
 * rank, by its number in the first communicator. */
static const char *file, *manner;
static bool doomed, makers, ends, losses;
static uint64_t seed, until;
static long cycles; /* 0: seconds count */
static int threads, deaths;
static _Thread_local soak self;
static _Thread_local uint64_t members;
static _Thread_local int ranks, generation;
static _Thread_local long past; /* cycles */
static _Thread_local bool told; /* on base: a call has failed on some rank */

/* ---- resource use ---- */

/* Bytes of resident pages: private and shared. */
static void resident(unsigned long long *own, unsigned long long *shared) {
  char line[128];
  FILE *f = fopen("/proc/self/status", "r");
  *own = *shared = 0;
  while (f && fgets(line, sizeof line, f)) {
    sscanf(line, "RssAnon: %llu", own);
    sscanf(line, "RssShmem: %llu", shared);
  }
  if (f) fclose(f);
  *own *= 1024;
  *shared *= 1024;
}

/* Returns the number of descriptors. *there: bytes of the job's shared memory that are resident,
 * whichever process touched them. */
static int descriptors(unsigned long long *there) {
  struct stat st;
  char name[64];
  int n = 0;
  DIR *d = opendir("/proc/self/fd");
  *there = 0;
  for (const struct dirent *e; d && (e = readdir(d)); n++) {
    const ssize_t got = readlinkat(dirfd(d), e->d_name, name, sizeof name - 1);
    name[got > 0 ? got : 0] = 0;
    if (strncmp(name, "/memfd:tutti", 12) == 0 && fstat(atoi(e->d_name), &st) == 0)
      *there += (unsigned long long)st.st_blocks * 512;
  }
  if (d) closedir(d);
  return n;
}

/* Ranks that are threads count their process's resources while none of them holds any. */
static void threads_meet(void) {
  if (threads && tutti_barrier(self.base)) soak_wrong(&self, "a barrier", tutti_error());
}

/* Called now and then, where everything temporary has been freed. Memory that malloc keeps in free
 * pieces depends on the program's pattern of calls and does not count. Shared pages appear when
 * first touched, perhaps late, so the resident ones bound them. */
static void tell_count(bool now) {
  static _Thread_local uint64_t last;
  unsigned long long own, shared, there;
  if (!now && tell_ns() - last < COUNT_NS) return;
  last = tell_ns();
  const struct mallinfo2 m = mallinfo2();
  const int files = descriptors(&there);
  resident(&own, &shared);
  tell("count %d %llu %llu %llu %zu %llu %zu %llu %d %llx", generation,
       (unsigned long long)self.calls, (unsigned long long)self.bytes,
       (unsigned long long)self.mismatches, m.uordblks + m.hblkhd,
       own > m.arena ? own - m.arena : 0, self.base->heap ? tt_heap_used(self.base->heap) : 0,
       shared > there ? shared : there, files, (unsigned long long)members);
}

/* ---- communicators ---- */

/* Makes a communicator of all ranks: duplicates it or, in jobs without deaths, shrinks or grows it by zero ranks. Over
 * an MPI tutti cannot shrink. */
static tutti_status again(uint64_t u, tutti_comm **out) {
  tutti_status status = TUTTI_ERR_UNSUPPORTED;
  if (self.calm && u % 4 == 1) status = tutti_comm_shrink(self.parent, out);
  if (self.calm && u % 4 == 2) status = tutti_comm_grow(self.parent, 0, out);
  if (status == TUTTI_ERR_UNSUPPORTED) status = tutti_comm_dup(self.parent, out);
  return soak_note(&self, status);
}

static tutti_status make_comms(uint64_t u) {
  const int me = tutti_comm_rank(self.parent), P = tutti_comm_size(self.parent);
  const int mine = (int)(cover_mix(u + (uint64_t)me) % 3), out = (int)(u % (uint64_t)P);
  tutti_comm **c = self.comms;
  self.comms[0] = self.base;
  if (self.alone) return TUTTI_OK;
  self.comms[0] = NULL;
  snprintf(self.act, sizeof self.act, "dup, split");
  tutti_status status = again(u >> 32, &c[0]);
  if (!status) status = soak_note(&self, tutti_comm_split(self.parent, 0, -me, &c[1]));
  if (!status) status = soak_note(&self, tutti_comm_split(self.parent, mine, me, &c[2]));
  if (!status)
    status = soak_note(&self, tutti_comm_split(self.parent, me == out ? -1 : 7, 3, &c[3]));
  for (int i = 0; i < SOAK_COMMS && !status; i++)
    if (c[i])
      status = soak_note(&self, comm_set_contract(c[i], self.base->settings.plain.contract));
  return status;
}

static void drop(tutti_comm **comm) {
  if (*comm && *comm != self.base && tutti_comm_free(*comm))
    soak_wrong(&self, "free", tutti_error());
  *comm = NULL;
}

static void drop_comms(void) {
  for (int i = 0; i < SOAK_COMMS; i++) drop(&self.comms[i]);
}

/* Undoes a case's settings on base if it is the only communicator; the case may have failed. */
static void settle_base(void) {
  comm_set_algorithm(self.base, NULL);
  comm_set_helpers(self.base, 0);
  comm_set_slices(self.base, 0);
}

/* Exchanges the live ranks, whether the run is over (if it is for one rank), and whether a call
 * failed on any rank. If one did, the call fails here, too: otherwise ranks would use communicators
 * that others lack. */
enum { OVER = 1, FAILED = 2 };
static tutti_status meet(bool failed, bool *over) {
  const bool late = cycles ? past >= cycles : tell_ns() >= until;
  const bool mine = late && ranks - tutti_comm_size(self.base) >= deaths;
  const uint64_t say[2] = {(uint64_t)1 << self.first, (mine ? OVER : 0) | (failed ? FAILED : 0)};
  uint64_t all[2];
  if (self.alone) settle_base();
  snprintf(self.act, sizeof self.act, "the meeting");
  tutti_status status =
      soak_note(&self, tutti_allreduce(self.base, say, all, 2, TUTTI_UINT64, TUTTI_BOR));
  if (status) return status;
  members = all[0];
  if (__builtin_popcountll(members) != tutti_comm_size(self.base))
    soak_wrong(&self, "the meeting", "another number of ranks");
  *over = all[1] & OVER;
  if (!(all[1] & FAILED)) return TUTTI_OK;
  snprintf(self.why, sizeof self.why, "%s", elsewhere);
  told = true;
  return TUTTI_ERR_ABORTED;
}

/* A duplicate of base. If aggregators end, base itself uses none, and the duplicate the one that runs now. */
static tutti_status make_parent(void) {
  if (self.parent != self.base) drop(&self.parent);
  self.parent = NULL;
  tutti_status status = soak_note(&self, tutti_comm_dup(self.base, &self.parent));
  if (!status && losses) status = soak_note(&self, comm_set_algorithm(self.parent, "aggregate"));
  if (!status) /* scenes compare bits, and multiply */
    status = soak_note(&self, comm_set_contract(self.parent, TUTTI_CONTRACT_SAME));
  return status;
}

/* ---- the main loop ---- */

/* Sums that the aggregator makes, if one runs. The covering table's cases name other algorithms. */
static tutti_status sum_all(uint64_t u) {
  enum { MOST = 1 << 19, SUMS = 8 };
  static _Thread_local int32_t x[MOST];
  tutti_status status = TUTTI_OK;
  for (int i = 0; i < SUMS && !status; i++) {
    const size_t n = cover_mix(u + (uint64_t)i) % MOST + 1;
    snprintf(self.act, sizeof self.act, "a sum of %zu", n);
    for (size_t k = 0; k < n; k++) x[k] = (int32_t)k;
    status = soak_note(&self, tutti_allreduce(self.parent, x, x, n, TUTTI_INT32, TUTTI_SUM));
    for (size_t k = 0; k < n && !status; k++)
      if (x[k] != ranks * (int32_t)k) soak_wrong(&self, self.act, "the result");
    self.calls++;
    self.bytes += n * sizeof *x;
  }
  return status;
}

/* Runs until the time is over or a call fails. */
static tutti_status go_on(void) {
  tutti_status status = TUTTI_OK;
  bool over = false, unused;
  self.parent = self.base;
  if (losses) status = soak_note(&self, comm_set_algorithm(self.base, "^aggregate"));
  if (!status && !self.alone) status = make_parent();
  if (!status) status = meet(false, &unused);
  for (uint64_t cycle = 0; !status && !over; cycle++) {
    const uint64_t u = cover_mix(seed + ((uint64_t)generation << 48) + (cycle << 8));
    if (losses && cycle) status = make_parent();
    if (losses && !status) status = sum_all(u);
    if (!status) status = make_comms(u);
    if (!status && !self.alone) status = meet(false, &unused);
    for (uint64_t i = 0; i < ACTS && !makers && !status; i++)
      status = soak_act(&self, cover_mix(u + i));
    if (status) return status;
    drop_comms();
    past++;
    if (cycles) tell("cycle %ld", past);
    status = meet(false, &over);
    if (status) return status;
    threads_meet();
    tell_count(over);
    threads_meet();
  }
  return status;
}

/* After a call has failed: learns on base which rank died. */
static void hear(tutti_status status) {
  bool over;
  tell("error %d %s", (int)status, self.why);
  if (status == TUTTI_ERR_ABORTED ? !strstr(self.why, elsewhere) : status != TUTTI_ERR_PEER_LOST)
    soak_wrong(&self, "another status", self.why);
  while (doomed) pause();
  if (!self.alone) {
    for (int i = 0; i < SOAK_COMMS; i++)
      if (self.comms[i]) tutti_comm_abort(self.comms[i], elsewhere);
    if (self.parent) tutti_comm_abort(self.parent, elsewhere);
    if (losses && (told || meet(true, &over) == TUTTI_ERR_ABORTED)) return;
    status = TUTTI_OK; /* the dead rank may have taken part in some meetings */
    for (int i = 0; i < MEETINGS && (!status || status == TUTTI_ERR_ABORTED); i++)
      status = meet(true, &over);
  }
  if (status != TUTTI_ERR_PEER_LOST) soak_wrong(&self, "base", status ? self.why : "is in order");
  tell("lost %s", self.why);
}

static void shrink(void) {
  tutti_comm *next;
  snprintf(self.act, sizeof self.act, "shrink");
  drop_comms();
  drop(&self.parent);
  if (tutti_comm_shrink(self.base, &next)) soak_wrong(&self, "shrink", tutti_error());
  if (tutti_comm_size(next) >= tutti_comm_size(self.base))
    soak_wrong(&self, "shrink", "it is as large as before");
  if (tutti_comm_free(self.base)) soak_wrong(&self, "free", tutti_error());
  self.base = next;
  if (self.alone) settle_base();
  generation++;
  tell("shrunk %d", tutti_comm_size(next));
}

/* An aggregator is lost: shrinking a communicator that has failed gives the same ranks. */
static void leave_aggregator(void) {
  tutti_comm *next;
  const int32_t one = 1;
  int32_t sum = 0;
  snprintf(self.act, sizeof self.act, "shrink without an aggregator");
  told = false;
  drop_comms();
  if (tutti_comm_shrink(self.parent, &next)) soak_wrong(&self, "shrink", tutti_error());
  if (tutti_allreduce(next, &one, &sum, 1, TUTTI_INT32, TUTTI_SUM) || sum != ranks)
    soak_wrong(&self, "shrink", "it has other ranks, or fails");
  drop(&next);
  drop(&self.parent);
  generation++;
  tell("shrunk %d", ranks);
}

/* ---- one rank, and the whole process ---- */

static bool end_process(void) {
  return soak_drop_ops() && start_end() == TUTTI_OK;
}

static void live(void) {
  tutti_status status;
  self.first = tutti_comm_rank(self.base);
  ranks = tutti_comm_size(self.base);
  self.calm = strcmp(manner, "calm") == 0;
  self.alone = strcmp(manner, "alone") == 0;
  if (ranks > SOAK_RANKS || !soak_arm(&self) || !tell_to(file, self.first))
    soak_wrong(&self, "the start", "too many ranks, no memory, or no file");
  tell("at %d %d", (int)getpid(), ranks);
  while ((status = go_on())) {
    hear(status);
    if (ends) break;
    if (losses)
      leave_aggregator();
    else
      shrink();
  }
  drop_comms();
  drop(&self.parent);
  soak_disarm(&self);
  if (tutti_comm_free(self.base) || (!threads && !end_process()))
    soak_wrong(&self, "the end", tutti_error());
  tell("done");
}

typedef struct life {
  pthread_t thread;
  tutti_comm *base;
  const cover_ops *ops;
} life;

static void *live_in_thread(void *arg) {
  const life *l = arg;
  self.base = l->base;
  self.ops = l->ops;
  live();
  return NULL;
}

/* Runs the given number of ranks as threads of this process. */
static bool live_in_threads(const cover_ops *ops) {
  tutti_comm *comms[SOAK_RANKS];
  life lives[SOAK_RANKS];
  if (threads > SOAK_RANKS || tutti_comm_from_threads(threads, comms)) return false;
  for (int r = 0; r < threads; r++) {
    lives[r] = (life){.base = comms[r], .ops = ops};
    if (pthread_create(&lives[r].thread, NULL, live_in_thread, &lives[r])) return false;
  }
  for (int r = 0; r < threads; r++) pthread_join(lives[r].thread, NULL);
  return true;
}

int main(int argc, char **argv) {
  if (argc < 6) return printf("ok - nothing to do\n1..1\n") < 0;
  lifetime(strchr(argv[3], 'x') ? 300 : 300 + (unsigned)atof(argv[3])); /* if its parent is gone */
  (void)mallinfo2(); /* under a sanitizer its first call makes the arena, and threads would race */
  file = argv[1];
  seed = cover_mix(strtoull(argv[2], NULL, 10));
  until = tell_ns() + (uint64_t)(1e9 * atof(argv[3]));
  cycles = strchr(argv[3], 'x') ? atol(argv[3]) : 0;
  deaths = atoi(argv[4]);
  manner = argv[5];
  doomed = strcmp(manner, "doomed") == 0;
  makers = strcmp(manner, "makers") == 0;
  ends = strcmp(manner, "ends") == 0;
  losses = strcmp(manner, "losses") == 0;
  threads = argc > 6 ? atoi(argv[6]) : 0;
  self.ops = threads || start_comm(&self.base) == TUTTI_OK ? soak_make_ops() : NULL;
  bool well = self.ops;
  if (well && threads)
    well = live_in_threads(self.ops) && end_process();
  else if (well)
    live();
  if (!well) fprintf(stderr, "mp_soak: the start, or the end: %s\n", tutti_error());
  return !well;
}
