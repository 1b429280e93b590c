/* segment.h - the shared memory of a job: one segment, mapped by every rank of the machine.
 *
 * Idea       One unnamed, sealed segment for the whole job: headers (heap.h), and then the heaps of the ranks; rank r's
 *            is at first + r * stride. It is sparse: untouched memory costs nothing. Ranks that are
 *            threads use an anonymous mapping and the same code.
 * Invariant  Every flag in it has one writer and a separate pair of cache lines; bytes are written
 *            before the flag (release) and read after it (acquire).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SEGMENT_H
#define TT_SEGMENT_H

#include <pthread.h>
#include <stdatomic.h>

#include "core.h"

enum { TT_PAIR = 128 /* two cache lines: each flag has them to itself */ };

#define TT_JOB_MAGIC 0x626f6a2d69747475u /* "utti-job" */

typedef struct tt_segment {
  char *base;
  size_t first, stride;
  int ranks; /* heaps: one per founder (the ranks at the start), then one per possible joiner */
  int founders;
  bool threads;           /* ranks share this address space */
  atomic_bool shuns_huge; /* huge pages took too long to make */
  bool told;              /* the launcher publishes here how its ranks end */
  uint64_t id;            /* random, chosen by its creator; 0: of no job */
  long launcher;          /* pid of the process that waits for the ranks */
  int launcher_fd;        /* its pidfd; -1: none, or not visible here */
  int fd;                 /* kept open so that others can find it, closed on release; or -1 */
  atomic_int users;
  /* Memory of the caller that is part of it (lent.c); changed under `lending`. */
  _Atomic(struct tt_lent *) lent;
  pthread_mutex_t lending;
  /* Per heap: this process's fd of its wake_fd, plus one; 0: none yet; < 0: it has none. */
  atomic_int wake_fds[];
} tt_segment;

enum { TT_UNWATCHED = -1 };
/* A memfd for n ranks and up to `joiners` more, sealed against growing and shrinking, with its job
 * header, closed on exec. launcher: pid of the process that waits for the ranks; TT_UNWATCHED: ranks continue without it; 0:
 * none. id: a random number, by which other processes know it. */
tutti_status tt_segment_create(int n, int joiners, long launcher, uint64_t id, int *fd);
tutti_status tt_segment_map(int fd, int n, tt_segment **segment);
/* Map another process's segment, by its descriptor number there and its id: a pid may name another process here.
 * *segment keeps a descriptor of it. */
tutti_status tt_segment_open(long pid, int fd, int n, uint64_t id, tt_segment **segment);
/* Is the launcher known to be gone? *pid: its pid. */
bool tt_segment_orphaned(const tt_segment *segment, long *pid);
/* An anonymous segment, for threads or for one rank alone. */
tutti_status tt_segment_anonymous(int n, tt_segment **segment);
/* Bytes of all of it. */
static inline size_t tt_segment_bytes(const tt_segment *s) {
  return s->first + s->stride * (size_t)s->ranks;
}
void tt_segment_release(tt_segment *segment); /* unmapped by the last user */

/* Replaces the mapping at `at` by that of the `size` bytes at `from`, as one step. With `keeps`, shared memory at `from` remains
 * mapped there, too; without it, shared memory at `at` is replaced. False: nothing has changed. */
bool tt_map_over(void *from, size_t size, void *at, bool keeps);

#endif
