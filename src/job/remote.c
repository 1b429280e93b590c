/* remote.c - reading a peer's private memory with process_vm_readv.
 *
 * Idea       Every byte moves twice instead of four times, at the price of a system call per piece.
 *            The system may forbid the call, so each rank tries it once on a word of every other
 *            rank and publishes the result in its heap's header. A sender exports private memory only
 *            to ranks that can read it. Among many ranks, each tries those whose numbers are a power of two
 *            away; a process whose memory no other may read (prctl) says so. The word is random, and the pid is used only in
 *            the PID namespace that it belongs to: in another one it names another process.
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

/* Bytes of the trial copies: source and destination together exceed a second level cache. */
enum { TRIAL = 1 << 20, SMALL = 4096, TRIES_ALL = 64 /* ranks */ };

/* Cost per byte of each path, as a multiple of a plain copy by the CPU or the kernel: staged bytes
 * are written, moved between caches and read; remote bytes are read once more after they have
 * arrived. Ratios measured on two machines. */
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

/* s and s/B, measured on two machines. Many ranks that measure simultaneously delay each other, and measure those delays. */
static const struct {
  double remote_call, remote_byte, staged_byte;
} typical = {0.5e-6, 1.5 * 5e-11, 2.7 * 5e-11};

/* Seconds of the best of three runs: copy n bytes by the CPU, or by the kernel. */
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

/* Measure this machine's costs of the two paths. */
static tt_copy_costs measure_copy_paths(void) {
  tt_copy_costs c = {.remote_call = 1}; /* so remote is never cheaper */
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

/* Measured once per process, which takes milliseconds where its peers measure too. A disturbed trial costs speed, never
 * correctness. */
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

/* Bytes per read, such that all inputs of a reduction fit in half of the second level cache. */
size_t tt_remote_gulp(int ranks) {
  long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
  size_t half = (l2 > 0 ? (size_t)l2 : (size_t)1 << 20) / 2;
  size_t share = half / (size_t)(ranks + 1) / 4096 * 4096;
  return tt_max(16 << 10, tt_min(share, 128 << 10));
}

tutti_status tt_remote_read(int pid, uint64_t at, void *to, size_t n) {
  const size_t most = 128 << 10; /* one large call is far slower than several */
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
  /* else its figures stay 0, so remote is always cheaper */
  atomic_store(&tt_heap_head(segment, index)->reads, all);
}
