/* remote.c - reads of a peer's private memory, with process_vm_readv.
 *
 * Idea       Every byte is moved twice instead of four times, but each piece takes a system call. The system may
 *            forbid the call. Therefore each rank tries it once on a word of every other rank and publishes the
 *            result in the header of its heap. A sender exports private memory only to ranks that can read it. In
 *            large jobs, each rank tries only the ranks at a distance that is a power of two, and a process whose
 *            memory others may not read (prctl) reports that itself. The word is random, and a pid is used only in
 *            its own PID namespace, because in another namespace it names another process.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "process.h"
#include "process_state.h"
#include "remote.h"

/* Size of the trial copies, in bytes. The source and the destination of a copy together exceed a second-level cache. */
enum { TRIAL = 1 << 20, SMALL = 4096, TRIES_ALL = 64 /* max ranks for trying all pairs */ };

/* Cost per byte of a staged copy relative to a plain copy by the CPU, and of a remote read relative to a copy by the
 * kernel. A staged copy writes the bytes, moves them between caches and reads them. A remote read reads them once
 * more after they have arrived. The ratios were measured on two machines. */
/* each reads: order: a flag, nothing is read behind it */

static const double staged_copies = 2.7, remote_reads = 1.5;

bool tt_remote_reads(const tt_head *peer) {
  return atomic_load_explicit(&peer->reads, memory_order_relaxed);
}

bool tt_remote_cheaper(const tt_head *mine, size_t bytes) {
  double n = (double)bytes;
  return mine->copy.remote_call + n * mine->copy.remote_byte <= n * mine->copy.staged_byte;
}

tt_copies tt_copies_wanted(void) {
  static const char *const words[] = {"cheapest", "none", "private", "all", NULL};
  const int k = tt_env_word("TUTTI_COPIES", words);
  return k < 0 ? TT_COPIES_CHEAPEST : (tt_copies)k;
}

unsigned tt_learns_wanted(void) {
  static const char *const words[] = {"0", NULL};
  if (tt_env_word("TUTTI_LEARN", words) == 0) return 0;
  return TT_LEARNS_PLANS | (tt_copies_wanted() == TT_COPIES_CHEAPEST ? TT_LEARNS_ROUTES : 0);
}

/* Typical costs in seconds and in seconds per byte, measured on two machines. Used in large jobs, where ranks would
 * disturb each other's measurements if they all measured at the same time. */
static const struct {
  double remote_call, remote_byte, staged_byte;
} typical = {0.5e-6, 1.5 * 5e-11, 2.7 * 5e-11};

/* Measures the time to copy n bytes, by the CPU or (if `remote`) by the kernel. Returns the best of three runs, in seconds. */
static double trial(char *to, const char *from, size_t n, bool remote) {
  double best = 1;
  for (int k = 0; k < 3; k++) {
    double since = tt_seconds();
    if (!remote)
      memcpy(to, from, n);
    else if (tt_remote_read(getpid(), (uint64_t)(uintptr_t)from, to, n))
      return 1;
    __asm__ volatile("" : : "r"(to) : "memory");
    double took = tt_seconds() - since;
    if (took < best) best = took;
  }
  return best;
}

/* Measures the cost of copies by the CPU and by the kernel on this machine. */
static tt_copy_costs measure_copy_paths(void) {
  tt_copy_costs c = {.remote_call = 1}; /* so that remote is never cheaper */
  char *from = malloc(TRIAL), *to = malloc(TRIAL);
  if (from && to) {
    memset(from, 1, TRIAL);
    memset(to, 1, TRIAL);
    double small = trial(to, from, SMALL, true), large = trial(to, from, TRIAL, true);
    double byte = (large - small) / (TRIAL - SMALL);
    c.remote_byte = remote_reads * byte;
    c.remote_call = small > SMALL * byte ? small - SMALL * byte : 1e-9;
    c.staged_byte = staged_copies * trial(to, from, TRIAL, false) / TRIAL;
  }
  free(from);
  free(to);
  return c;
}

/* Returns the costs of copies, which are measured once per process. The measurement takes milliseconds if other
 * ranks measure at the same time. A disturbed measurement affects only speed, not correctness. */
static tt_copy_costs copy_costs(void) {
  pthread_mutex_lock(&tt_process.lock);
  if (tt_process.copy.remote_call <= 0) tt_process.copy = measure_copy_paths();
  const tt_copy_costs c = tt_process.copy;
  pthread_mutex_unlock(&tt_process.lock);
  return c;
}

static void take_typical(tt_head *head) {
  head->copy.remote_call = typical.remote_call;
  head->copy.remote_byte = typical.remote_byte;
  head->copy.staged_byte = typical.staged_byte;
}

/* Returns the number of bytes to read at a time, such that all inputs of a reduction fit into half of the second-level cache. */
size_t tt_remote_gulp(int ranks) {
  long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
  size_t half = (l2 > 0 ? (size_t)l2 : (size_t)1 << 20) / 2;
  size_t share = half / (size_t)(ranks + 1) / 4096 * 4096;
  return tt_max(16 << 10, tt_min(share, 128 << 10));
}

tutti_status tt_remote_read(int pid, uint64_t at, void *to, size_t n) {
  const size_t most = 128 << 10; /* one large call is far slower than several small ones */
  for (size_t done = 0; done < n;) {
    size_t size = tt_min(n - done, most);
    struct iovec local = {(char *)to + done, size};
    struct iovec remote = {(void *)(uintptr_t)(at + done), size};
    ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (got <= 0)
      return tt_fail(errno == ESRCH ? TUTTI_ERR_PEER_LOST : TUTTI_ERR_SYSTEM,
                     "process %d's memory cannot be read: %s", pid, strerror(errno));
    done += (size_t)got;
  }
  return TUTTI_OK;
}

bool tt_remote_readable(const tt_segment *segment) {
  return segment->ranks <= TRIES_ALL || prctl(PR_GET_DUMPABLE) == 1;
}

static bool is_tried(const tt_segment *segment, int index, int r) {
  const int away = r > index ? r - index : index - r;
  return segment->ranks <= TRIES_ALL || !(away & (away - 1));
}

void tt_remote_probe(const tt_segment *segment, int index) {
  const tt_copies wanted = tt_copies_wanted();
  bool all = !segment->threads && wanted <= TT_COPIES_NONE;
  for (int r = 0; all && r < segment->ranks; r++) {
    const tt_intro *its = tt_heap_intro(segment, r);
    uint64_t word = 0;
    if (r == index || !its->pid) continue; /* not attached yet */
    if (!is_tried(segment, index, r) && its->cookie_at && tt_rank_visible(its)) continue;
    all = its->cookie_at && tt_rank_visible(its) &&
          tt_remote_read(its->pid, its->cookie_at, &word, sizeof word) == 0 && word == its->cookie;
    all = all || !tt_rank_alive(its);
  }
  if (all && wanted == TT_COPIES_CHEAPEST && segment->ranks > TRIES_ALL)
    take_typical(tt_heap_head(segment, index));
  else if (all && wanted == TT_COPIES_CHEAPEST)
    tt_heap_head(segment, index)->copy = copy_costs();
  /* otherwise the costs stay 0, so remote is always cheaper */
  atomic_store(&tt_heap_head(segment, index)->reads, all);
}
