/* segment.h - the shared memory of a job: one segment, mapped by every rank of the machine.
 *
 * Idea       The whole job shares one unnamed, sealed segment. It contains headers (heap.h), and then the heaps of
 *            the ranks: the heap of rank r starts at first + r * stride. The segment is sparse, so untouched memory
 *            costs nothing. Ranks that are threads use an anonymous mapping and the same code.
 * Invariant  Every flag in the segment has one writer and its own pair of cache lines. Data is written before the
 *            flag (release) and read after it (acquire).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SEGMENT_H
#define TT_SEGMENT_H

#include <pthread.h>
#include <stdatomic.h>

#include "core.h"

enum { TT_PAIR = 128 /* two cache lines; each flag has a pair to itself */ };

#define TT_JOB_MAGIC 0x626f6a2d69747475u /* "utti-job" */

typedef struct tt_segment {
  char *base;
  size_t first, stride;
  int ranks; /* number of heaps, one per founder (rank at the start) and per possible joiner */
  int founders;
  bool threads;           /* ranks are threads of this process */
  atomic_bool shuns_huge; /* do not make huge pages, because that once took too long */
  bool told;              /* the launcher publishes here how its ranks have ended */
  uint64_t id;            /* random, chosen by the creator; 0: not part of a job */
  long launcher;          /* pid of the process that waits for the ranks */
  int launcher_fd;        /* pidfd of the launcher; -1: none, or not visible in this namespace */
  int fd;                 /* kept open so that others can open it, closed on release; or -1 */
  atomic_int users;
  /* List of the program's memory that has become part of the segment (lent.c). Protected by the lock `lending`. */
  _Atomic(struct tt_lent *) lent;
  pthread_mutex_t lending;
  /* One entry per heap: 1 + the descriptor of this process for the heap's wake_fd. 0 means not opened yet, and a
   * negative entry means that it cannot be opened. */
  atomic_int wake_fds[];
} tt_segment;

enum { TT_UNWATCHED = -1 };
/* Creates a memfd for n ranks and up to `joiners` joiners, and writes the job header. The memfd is sealed against growing
 * and shrinking, and is closed on exec. launcher: pid of the process that waits for the ranks; 0 if no process waits;
 * TT_UNWATCHED if the ranks continue when it ends. id: a random number by which other processes recognize the segment. */
tutti_status tt_segment_create(int n, int joiners, long launcher, uint64_t id, int *fd);
tutti_status tt_segment_map(int fd, int n, tt_segment **segment);
/* Maps the segment that process `pid` has open as descriptor `fd`. Fails if the segment has another id, because the
 * pid may name a different process here. *segment keeps an open descriptor of the segment. */
tutti_status tt_segment_open(long pid, int fd, int n, uint64_t id, tt_segment **segment);
/* Returns true if the launcher is known to have ended. Sets *pid to the pid of the launcher. */
bool tt_segment_orphaned(const tt_segment *segment, long *pid);
/* Creates an anonymous segment, for a single rank or for ranks that are threads of one process. */
tutti_status tt_segment_anonymous(int n, tt_segment **segment);
/* Returns the size of the whole segment, in bytes. */
static inline size_t tt_segment_bytes(const tt_segment *s) {
  return s->first + s->stride * (size_t)s->ranks;
}
void tt_segment_release(tt_segment *segment); /* the last user unmaps it */

/* Atomically replaces the mapping at `at` with the mapping of the `size` bytes at `from`. If `keeps`, `from` is
 * shared memory and also stays mapped at its old address. Otherwise the memory at `at` must be shared. Returns false
 * if the call has failed and nothing has changed. */
bool tt_map_over(void *from, size_t size, void *at, bool keeps);

#endif
