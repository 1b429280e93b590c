/* heap.h - a rank's part of the job's segment: the data that other ranks read, and an allocator.
 *
 * Layout     the job's header (tt_job_head), the introductions of all ranks (tt_intro), the headers of their
 *            heaps (tt_head), then each heap: control blocks, channels, scratch, tutti_mem_alloc.
 * Cost       A joining rank reads the introductions of all ranks. Each takes 64 bytes, so 2,048 ranks are 32 pages.
 *            It touches the header of a peer's heap only when it first wakes that peer.
 * Invariant  Other processes (job_look.c) read the job starting from these headers. TT_LAYOUT is the version of their
 *            format and of the format of the control blocks (shm_ctrl.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_HEAP_H
#define TT_HEAP_H

#include <stdalign.h>

#include "cpu_bits.h"
#include "process.h"
#include "segment.h"

enum {
  TT_LAYOUT = 29, /* version of the segment's layout; increases with each change */
  TT_FIGURES = 4096,
  TT_CTRLS = 64,             /* how many communicators of a rank other processes can see */
  TT_CTRL_LEAST = 36 * 4096, /* minimum size of a control block, in bytes */
  TT_JOB_WORDS = 6
};

typedef struct tt_job_head { /* at the start of the segment */
  uint64_t is[TT_JOB_WORDS]; /* set by the creator: magic; TT_LAYOUT and number of heaps; number of
                           founders; the launcher's pid and start time (segment.h); the job's id */
  alignas(TT_PAIR) atomic_uint sleepers_anywhere; /* sleeping threads in the whole job */
  /* All cores on which founders may run. The set is complete once all founders are ready. */
  alignas(TT_PAIR) atomic_ulong cores[TT_CPU_WORDS];
  atomic_uint arrived; /* founders whose cores are included */
  alignas(TT_PAIR) char figures
      [TT_FIGURES]; /* parameters of the machine, as read by the first rank: tt_profile */
} tt_job_head;

typedef struct tt_intro {        /* one per rank, read by all; each word is written once */
  alignas(64) atomic_uint ready; /* 1 + layout version, once all fields below but `ended` are set */
  int pid;
  atomic_uint ended;          /* exit status, set by the launcher (process_state.c); 0: none yet */
  uint32_t fenced;            /* 1: it executes a fence when its peers request one (fences.h) */
  uint64_t started;           /* start time of the process, from /proc; 0: unknown */
  uint64_t space;             /* its PID namespace (process_state.c); 0: unknown */
  atomic_ullong world;        /* offset of its first control block; 0: not created yet */
  uint64_t cookie_at, cookie; /* a private word that peers try to read: its address and its value */
  struct {
    int32_t package, numa, cache;
  } within; /* the package, NUMA node and cache that contain its cores, as in placement.h */
} tt_intro;

typedef struct tt_head {                 /* one per heap; written by its rank */
  tt_cpu_bits cores;                     /* cores that this rank may use */
  double quota;                          /* CPU quota, in cores */
  size_t l2;                             /* size of its core's second-level cache, in bytes */
  alignas(TT_PAIR) atomic_uint reads;    /* 1: this rank can read the private memory of all */
  tt_copy_costs copy;                    /* costs of a copy, used by this rank only (remote.c) */
  alignas(TT_PAIR) atomic_uint sleepers; /* sleeping threads of this rank */
  alignas(TT_PAIR) atomic_uint futex;    /* changed by peers that wake this rank */
  alignas(TT_PAIR) atomic_int wake_fd;   /* 1 + fd on which a thread sleeps; 0: none; < 0: peers
                                          cannot open it */
  uint64_t wake_inode;                   /* inode of that fd */
  alignas(TT_PAIR) atomic_ullong ctrls[TT_CTRLS]; /* offsets of its control blocks; 0: free */
  atomic_uint ctrls_made;                         /* number of control blocks created so far */
  alignas(TT_PAIR) struct {
    atomic_uint owner;     /* pid of the heap's process, in its own namespace; 0: none yet */
    uint32_t version;      /* its version of tutti */
    uint64_t space;        /* PID namespace of `owner` */
    atomic_ullong claimed; /* the communicator that has claimed this joiner */
    atomic_ullong invited; /* the proposal that admits this joiner; 1: rejected */
  } join;                  /* see joiners.c */
} tt_head;

/* ---- allocation (local) ---- */

typedef struct tt_heap tt_heap;
/* Opens a heap. Takes over one reference to the segment, and releases it when the last user closes the heap. On
 * errors the caller keeps the reference. */
tutti_status tt_heap_open(tt_segment *segment, int index, tt_heap **heap);
tt_heap *tt_heap_hold(tt_heap *heap); /* adds a user */
void tt_heap_close(tt_heap *heap);
static inline tt_job_head *tt_job_head_of(const tt_segment *segment) {
  return (tt_job_head *)(void *)segment->base;
}
tt_intro *tt_heap_intro(const tt_segment *segment, int index);
tt_head *tt_heap_head(const tt_segment *segment, int index);
/* Publishes the set of cores on which a rank may run. Called before the rank is ready. */
void tt_heap_publish_cores(const tt_segment *segment, int index, const tt_cpu_bits *cores);
/* These functions return the offsets of an introduction, a heap header and the first heap, in a segment of n heaps. */
size_t tt_intro_at(int index);
size_t tt_head_at(int n, int index);
size_t tt_heap_first(int n);
tt_segment *tt_heap_segment(tt_heap *heap);
int tt_heap_index(const tt_heap *heap);
/* Returns zeroed memory, aligned to `align` bytes (a power of two). Its pages are committed, so touching them cannot
 * fault for lack of memory. Returns NULL if out of memory. */
void *tt_heap_alloc(tt_heap *heap, size_t bytes, size_t align);
bool tt_heap_free(tt_heap *heap, void *memory); /* false if not allocated here */
/* Stops exporting these bytes to peers. They are not reused even after they have been freed. */
void tt_heap_revoke(tt_heap *heap, void *memory, size_t bytes);
bool tt_heap_revoked(tt_heap *heap, const void *memory, size_t bytes);
/* Returns a pointer to a flag that is true if any memory was revoked. Until then tt_heap_revoked need not be called. */
const atomic_bool *tt_heap_revokes(const tt_heap *heap);
/* Frees n pieces of memory once *refs is 0. Every later call of this function checks *refs again. Until then, a
 * slower peer may still be reading the memory of a communicator that has ended on this rank. */
void tt_heap_free_later(tt_heap *heap, atomic_uint *refs, void *const *memory, size_t n);
/* Returns the number of allocated bytes, not counting those that are waiting to be freed. */
size_t tt_heap_used(tt_heap *heap);
/* Returns the number of these ranks divided by the number of cores on which they may run. The result is the same on all ranks. */
double tt_heap_ranks_per_core(const tt_segment *segment, const int *members, int ranks);
/* Returns true if more ranks of the job have arrived than there are cores. A waiting rank must then not spin, even
 * if its communicator has only a few ranks. */
bool tt_heap_crowded(const tt_segment *segment);
/* Returns true if the control block at offset `ctrl` lies in heap `index`. Used to check an offset that another rank has sent. */
bool tt_heap_holds(const tt_segment *s, int64_t index, uint64_t ctrl);
/* Returns the address of a nonzero word in the private memory of this process. Peers read the word to find out
 * whether they can read this memory. */
const uint64_t *tt_heap_cookie(tt_heap *heap);

#endif
