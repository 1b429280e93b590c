/* heap.h - a rank's part of the job's segment: what other ranks read of it, and an allocator.
 *
 * Layout     the job's header (tt_job_head), the introductions of all ranks (tt_intro), the headers of their
 *            heaps (tt_head), then each heap: control blocks, channels, scratch, tutti_mem_alloc.
 * Cost       A rank that joins reads the introductions of all: 64 bytes each, so 2,048 ranks are 32 pages. It
 *            touches the header of a peer's heap when it first wakes that peer.
 * Invariant  Other processes (job_look.c) read the job starting from these headers: TT_LAYOUT is
 *            the version of their format and of that of the control blocks (shm_ctrl.h).
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
  TT_CTRLS = 64,             /* communicators of a rank visible from outside */
  TT_CTRL_LEAST = 36 * 4096, /* fewest bytes that a control block takes */
  TT_JOB_WORDS = 6
};

typedef struct tt_job_head { /* of the segment; at its start */
  uint64_t
      is[TT_JOB_WORDS]; /* by its creator: magic; TT_LAYOUT and the number of heaps; the number of
                                    founders; launcher pid (segment.h); its start time; the job's id */
  alignas(TT_PAIR) atomic_uint sleepers_anywhere; /* of the whole job */
  /* That any founder may use: complete when all are ready. */
  alignas(TT_PAIR) atomic_ulong cores[TT_CPU_WORDS];
  atomic_uint arrived; /* founders whose cores are in it */
  alignas(TT_PAIR) char figures
      [TT_FIGURES]; /* the machine's, as the first rank has read them: tt_profile */
} tt_job_head;

typedef struct tt_intro {        /* of a rank, read by all others; each word is written once */
  alignas(64) atomic_uint ready; /* 1 + layout version once all below but `ended` is set */
  int pid;
  atomic_uint ended;          /* exit status from the launcher (process_state.c); 0: none yet */
  uint32_t fenced;            /* 1: it passes its peers' fences (fences.h) */
  uint64_t started;           /* start time of the process, from /proc; 0: not known */
  uint64_t space;             /* its PID namespace (process_state.c); 0: not known */
  atomic_ullong world;        /* offset of its first control block; 0 until made */
  uint64_t cookie_at, cookie; /* a word of private memory, for trial reads */
  struct {
    int32_t package, numa, cache;
  } within; /* that contain its cores, as in placement.h */
} tt_intro;

typedef struct tt_head {                 /* of each heap; written by its rank */
  tt_cpu_bits cores;                     /* that this rank may use */
  double quota;                          /* CPU quota, in cores */
  size_t l2;                             /* bytes of its core's second level cache */
  alignas(TT_PAIR) atomic_uint reads;    /* 1: this rank can read all others' private memory */
  tt_copy_costs copy;                    /* for its own use (remote.c) */
  alignas(TT_PAIR) atomic_uint sleepers; /* sleeping threads of this rank */
  alignas(TT_PAIR) atomic_uint futex;    /* changed by peers that wake it */
  alignas(TT_PAIR) atomic_int wake_fd; /* fd + 1 that a thread sleeps on; 0: none; < 0: peers cannot
                                          open it */
  uint64_t wake_inode;                 /* its inode */
  alignas(TT_PAIR) atomic_ullong ctrls[TT_CTRLS]; /* offsets of its control blocks; 0: free */
  atomic_uint ctrls_made;                         /* so far */
  alignas(TT_PAIR) struct {
    atomic_uint owner;     /* pid of the heap's process, as it knows itself; 0: none yet */
    uint32_t version;      /* of its tutti */
    uint64_t space;        /* that pid's namespace */
    atomic_ullong claimed; /* a joiner: the communicator that claims it */
    atomic_ullong invited; /* the proposal that admits it; 1: rejected */
  } join;                  /* joiners.c */
} tt_head;

/* ---- allocation is local ---- */

typedef struct tt_heap tt_heap;
/* Takes ownership of one use of the segment, which the heap's last user releases; on errors the
 * segment stays the caller's. */
tutti_status tt_heap_open(tt_segment *segment, int index, tt_heap **heap);
tt_heap *tt_heap_hold(tt_heap *heap); /* one more user */
void tt_heap_close(tt_heap *heap);
static inline tt_job_head *tt_job_head_of(const tt_segment *segment) {
  return (tt_job_head *)(void *)segment->base;
}
tt_intro *tt_heap_intro(const tt_segment *segment, int index);
tt_head *tt_heap_head(const tt_segment *segment, int index);
/* A rank publishes the cores that it may use, before it is ready. */
void tt_heap_publish_cores(const tt_segment *segment, int index, const tt_cpu_bits *cores);
/* Where the introduction and the header of a heap lie in a segment of n heaps, and where the first heap begins. */
size_t tt_intro_at(int index);
size_t tt_head_at(int n, int index);
size_t tt_heap_first(int n);
tt_segment *tt_heap_segment(tt_heap *heap);
int tt_heap_index(const tt_heap *heap);
/* Zeroed, aligned to `align` bytes (a power of two), committed so that touching it cannot fault for
 * lack of memory; NULL if out of memory. */
void *tt_heap_alloc(tt_heap *heap, size_t bytes, size_t align);
bool tt_heap_free(tt_heap *heap, void *memory); /* false: not from here */
/* Peers no longer see these bytes: they are never exported again, nor reused after they are
 * freed. */
void tt_heap_revoke(tt_heap *heap, void *memory, size_t bytes);
bool tt_heap_revoked(tt_heap *heap, const void *memory, size_t bytes);
/* Whether any were revoked. While it is false, tt_heap_revoked need not be called. */
const atomic_bool *tt_heap_revokes(const tt_heap *heap);
/* Free n pieces of memory once *refs is 0, which each later call checks: a slower peer may still
 * read a communicator that has ended on this rank. */
void tt_heap_free_later(tt_heap *heap, atomic_uint *refs, void *const *memory, size_t n);
/* Bytes allocated, without those that wait to be freed. */
size_t tt_heap_used(tt_heap *heap);
/* Ranks per core that they may use; all ranks compute the same value. */
double tt_heap_ranks_per_core(const tt_segment *segment, const int *members, int ranks);
/* Have more ranks of the job arrived than there are cores? Then a rank that waits must not spin, in a communicator of few
 * ranks either. */
bool tt_heap_crowded(const tt_segment *segment);
/* Is the control block, whose offset another rank has sent, in the heap with that number? */
bool tt_heap_holds(const tt_segment *s, int64_t index, uint64_t ctrl);
/* A nonzero word of this process's private memory, for the trial reads. */
const uint64_t *tt_heap_cookie(tt_heap *heap);

#endif
