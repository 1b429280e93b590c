/* mp_soak.c - ranks that call anything, on communicators that come and go, and check what they
 * get, while somebody kills and stops them: bench/faults.py. Run by itself it has nothing to do.
 *
 * Usage      mp_soak FILE SEED SECONDS DEATHS MANNER [THREADS]
 *            MANNER: calm (nobody dies), deaths (DEATHS ranks will), makers (the same, and nothing
 *            is called but what makes communicators), alone (they will, and all is called on one),
 *            ends (they will, and those who live end when they have heard of it), doomed (one will,
 *            and its MPI ends the others). THREADS: this process alone, so many ranks in it.
 *            It ends when so many have died and so long has passed.
 * Idea       what is called follows from the seed and the number of the act, so ranks need not
 *            talk to agree. Each call on `base` is the same one, so whoever fails elsewhere can
 *            come there and hear who died, whatever the others do. Then those who live make a
 *            communicator of themselves, and begin anew.
 * Tells      in FILE (tell.h): at PID RANKS; error STATUS WHY, lost WHY, shrunk RANKS; wrong WHAT;
 *            count GENERATION CALLS BYTES MISMATCHES MALLOC OWN HEAP SHARED FILES
 *            MEMBERS; done.
 * Ranks: 2
 * SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm.h"
#include "lifetime.h"
#include "soak.h"
#include "start.h"
#include "tell.h"

enum { ACTS = 12, MEETINGS = 20, COUNT_NS = 20000000 };
static const char elsewhere[] = "somebody died elsewhere";

/* Of the job; of this rank, which may be a thread; members: a bit for each that lives, by its first
 * rank. */
static const char *file, *manner;
static bool doomed, makers, ends;
static uint64_t seed, until;
static int threads, deaths;
static _Thread_local soak self;
static _Thread_local uint64_t members;
static _Thread_local int ranks, generation;

/* ---- what it holds ---- */

/* Bytes of resident pages: its own, and those it shares. */
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

/* How many; and the bytes of the job's shared memory that are there, whoever touched them. */
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

/* Ranks that are threads count what their process holds while none of them holds anything. */
static void threads_meet(void) {
  if (threads && tutti_barrier(self.base)) soak_wrong(&self, "a barrier", tutti_error());
}

/* Where it holds nothing that it will not hold the next time; now and then. What malloc has from
 * the system and keeps, free in pieces, is the program's pattern of calls: it is no memory of its
 * own. Shared pages come when they are touched, late perhaps: those that are there bound them. */
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

static tutti_status make_comms(uint64_t u) {
  const int me = tutti_comm_rank(self.parent), P = tutti_comm_size(self.parent);
  const int mine = (int)(cover_mix(u + (uint64_t)me) % 3), out = (int)(u % (uint64_t)P);
  tutti_comm **c = self.comms;
  self.comms[0] = self.base;
  if (self.alone) return TUTTI_OK;
  self.comms[0] = NULL;
  snprintf(self.act, sizeof self.act, "dup, split");
  tutti_status status = soak_note(&self, tutti_comm_dup(self.parent, &c[0]));
  if (!status) status = soak_note(&self, tutti_comm_split(self.parent, 0, -me, &c[1]));
  if (!status) status = soak_note(&self, tutti_comm_split(self.parent, mine, me, &c[2]));
  if (!status)
    status = soak_note(&self, tutti_comm_split(self.parent, me == out ? -1 : 7, 3, &c[3]));
  for (int i = 0; i < SOAK_COMMS && !status; i++)
    if (c[i]) status = soak_note(&self, tutti_comm_set_contract(c[i], self.base->contract));
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

/* What a case has set on base, where it is all there is; it may have failed. */
static void settle_base(void) {
  tutti_comm_set_algo(self.base, NULL);
  tutti_comm_set_helpers(self.base, 0);
  tutti_comm_set_slices(self.base, 0);
}

/* Who lives; is it over: for one of them it is; has a call failed somewhere: then here, too, or
 * those where it has not would use what the others do not have. */
enum { OVER = 1, FAILED = 2 };
static tutti_status meet(bool failed, bool *over) {
  const bool mine = ranks - tutti_comm_size(self.base) >= deaths && tell_ns() >= until;
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
  return TUTTI_ERR_ABORTED;
}

/* ---- a life ---- */

/* Until it is over, or a call fails. */
static tutti_status go_on(void) {
  tutti_status status = TUTTI_OK;
  bool over = false, unused;
  self.parent = self.base;
  if (!self.alone) status = soak_note(&self, tutti_comm_dup(self.base, &self.parent));
  if (status) self.parent = NULL;
  if (!status && !self.alone) /* scenes compare bits, and multiply */
    status = soak_note(&self, tutti_comm_set_contract(self.parent, TUTTI_CONTRACT_SAME));
  if (!status) status = meet(false, &unused);
  for (uint64_t cycle = 0; !status && !over; cycle++) {
    const uint64_t u = cover_mix(seed + ((uint64_t)generation << 48) + (cycle << 8));
    status = make_comms(u);
    if (!status && !self.alone) status = meet(false, &unused);
    for (uint64_t i = 0; i < ACTS && !makers && !status; i++)
      status = soak_act(&self, cover_mix(u + i));
    if (status) return status;
    drop_comms();
    status = meet(false, &over);
    if (status) return status;
    threads_meet();
    tell_count(over);
    threads_meet();
  }
  return status;
}

/* A call has failed: base says who died. */
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
    status = TUTTI_OK; /* who died may have done his part of some meeting */
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

/* ---- one rank, and all of this process ---- */

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

/* So many ranks in this process. */
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
  lifetime(300 + (unsigned)atof(argv[3])); /* if nobody looks after it */
  file = argv[1];
  seed = cover_mix(strtoull(argv[2], NULL, 10));
  until = tell_ns() + (uint64_t)(1e9 * atof(argv[3]));
  deaths = atoi(argv[4]);
  manner = argv[5];
  doomed = strcmp(manner, "doomed") == 0;
  makers = strcmp(manner, "makers") == 0;
  ends = strcmp(manner, "ends") == 0;
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
