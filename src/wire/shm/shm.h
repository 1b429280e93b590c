/* shm.h - shared memory between the ranks of one machine: the segment, its heaps, and their layout.
 *
 * Idea       One unnamed, sealed segment for the whole job, mapped by every rank: rank r's heap is
 *            [r * stride, (r + 1) * stride). It is sparse: untouched memory costs nothing. Ranks
 *            that are threads use an anonymous mapping and the same code.
 * Layout     heap: tt_head | control blocks, channels, scratch, tutti_mem_alloc
 *            control block (one per communicator and rank): abort word, call records, directory of
 *            channels
 *            channel (one per ordered pair and lane, made at first use, in the sender's heap):
 *            descriptors | acknowledgement
 * Invariant  Every flag has one writer and a pair of cache lines of its own; bytes are written
 *            before the flag (release) and read after it (acquire). A control block and its
 *            channels are freed when all of its ranks have left. Other processes (job_look.c) read
 *            it starting from the heap headers: TT_LAYOUT is the version of the format of the
 *            headers and control blocks.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SHM_H
#define TT_SHM_H

#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>

#include "wire.h"

enum {
  TT_PAIR = 128,  /* two cache lines: each flag has them to itself */
  TT_DEPTH = 4,   /* pieces in flight per channel */
  TT_INLINE = 96, /* bytes that travel beside the flag */
  TT_FIGURES = 1280,
  TT_LAYOUT = 7, /* version of the segment's layout; increases with each change */
  TT_CTRLS = 64, /* communicators of a rank visible from outside */
  TT_JOB_WORDS = 5,
  TT_HUGE = 2 << 20 /* a huge page, where the system has them */
};

/* ---- the segment (segment.c) ---- */

typedef struct tt_head {              /* at the start of each heap; written by its rank */
  alignas(TT_PAIR) atomic_uint ready; /* 1 + layout version once all below is set */
  int pid;
  cpu_set_t cores;                    /* that this rank may use */
  uint64_t cookie_at, cookie;         /* a word of private memory, for trial reads */
  double quota;                       /* CPU quota, in cores */
  size_t l2;                          /* bytes of its core's second level cache */
  char figures[TT_FIGURES];           /* the machine's, as the rank knows them: tt_profile */
  alignas(TT_PAIR) atomic_uint reads; /* 1: this rank can read all others' private memory */
  struct {
    double remote_call, remote_byte, staged_byte;
  } copy;                                         /* s and s/B, for its own use (remote.c) */
  alignas(TT_PAIR) atomic_ullong world;           /* offset of the first control block, 0
                                                     until made */
  alignas(TT_PAIR) atomic_uint sleepers_anywhere; /* first heap's: sleepers of the whole job */
  alignas(TT_PAIR) atomic_uint sleepers;          /* sleeping threads of this rank */
  alignas(TT_PAIR) atomic_uint futex;             /* changed by peers that wake it */
  alignas(TT_PAIR) atomic_int wake_fd; /* fd + 1 that a thread sleeps on; 0: none; < 0: peers cannot
                                          open it */
  uint64_t wake_inode;                 /* its inode */
  alignas(TT_PAIR) atomic_uint ended;  /* exit status from the launcher (exit_status.c); 0:
                                          none yet */
  alignas(TT_PAIR) uint64_t
      job_header[TT_JOB_WORDS];  /* first heap's, by the segment's creator: magic; TT_LAYOUT
                                         and the number of heaps; the number of founders; launcher
                                         pid (0: none); its start time */
  uint64_t started;              /* start time of the process, from /proc */
  atomic_ullong ctrls[TT_CTRLS]; /* offsets of its control blocks; 0: free */
  atomic_uint ctrls_made;        /* so far */
  alignas(TT_PAIR) struct {
    atomic_uint owner;     /* pid of the heap's process; 0: none yet */
    uint32_t version;      /* of its tutti */
    atomic_ullong claimed; /* a joiner: the communicator that claims it */
    atomic_ullong invited; /* the proposal that admits it; 1: rejected */
  } join;                  /* joiners.c */
} tt_head;

#define TT_JOB_MAGIC 0x626f6a2d69747475u /* "utti-job" */

typedef struct tt_segment {
  char *base;
  size_t stride;
  int ranks; /* heaps: one per founder (the ranks at the start), then one per possible joiner */
  int founders;
  bool threads;           /* ranks share this address space */
  atomic_bool shuns_huge; /* huge pages took too long to make */
  long launcher;          /* pid of the process that waits for the ranks */
  int launcher_fd;        /* its pidfd; -1: none, or not visible here */
  int fd;                 /* kept open so that others can find it, closed on release; or -1 */
  /* Per heap: this process's fd of its wake_fd, plus one; 0: none yet; < 0: it has none. */
  atomic_int *wake_fds;
  atomic_int users;
} tt_segment;

/* A memfd for n ranks and up to `joiners` more, sealed against growing and shrinking, with its job
 * header. launcher: pid of the process that waits for the ranks; 0: none. */
tutti_status tt_segment_create(int n, int *fd);
tutti_status tt_segment_create_for(int n, int joiners, long launcher, int *fd);
tutti_status tt_segment_map(int fd, int n, tt_segment **segment);
/* Map another process's segment, by its descriptor number there; *segment keeps a
 * descriptor of it. */
tutti_status tt_segment_open(long pid, int fd, int n, tt_segment **segment);
/* Is the launcher known to be gone? *pid: its pid. */
bool tt_segment_orphaned(const tt_segment *segment, long *pid);
/* An anonymous segment, for threads or for one rank alone. */
tutti_status tt_segment_anonymous(int n, tt_segment **segment);
void tt_segment_release(tt_segment *segment); /* unmapped by the last user */

/* ---- huge pages (huge.c) ---- */

/* For huge pages that lie entirely inside [at, at + bytes). advise: request them before the bytes
 * are touched. make: collapse existing memory into them; true on success. */
void tt_huge_advise(char *at, size_t bytes);
bool tt_huge_make(char *at, size_t bytes);
/* Does the system provide huge pages? If not, why. */
bool tt_huge_here(char *why, size_t size);

/* ---- a rank's heap (heap.c); allocation is local ---- */

typedef struct tt_heap tt_heap;
/* Takes ownership of one use of the segment, which the heap's last user releases; on errors the
 * segment stays the caller's. */
tutti_status tt_heap_open(tt_segment *segment, int index, tt_heap **heap);
tt_heap *tt_heap_hold(tt_heap *heap); /* one more user */
void tt_heap_close(tt_heap *heap);
tt_head *tt_heap_head(const tt_segment *segment, int index);
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
/* Free n pieces of memory once *refs is 0, which each later call checks: a slower peer may still
 * read a communicator that is over here. */
void tt_heap_free_later(tt_heap *heap, atomic_uint *refs, void *const *memory, size_t n);
/* Bytes allocated, without those that wait to be freed. */
size_t tt_heap_used(tt_heap *heap);
/* Ranks per core that they may use; all ranks compute the same value. */
double tt_heap_ranks_per_core(const tt_segment *segment, const int *members, int ranks);

/* ---- processes (process_state.c) ---- */

/* State from /proc: 'R' runs, 'S' and 'D' sleep, 'T' and 't' are stopped, 'Z' and 'X' dead; 0: no
 * such process. *started, unless NULL: its start time, which tells it from later processes with
 * this pid. */
char tt_process_state(long pid, uint64_t *started);
static inline bool tt_state_stopped(char state) {
  return state == 'T' || state == 't';
}
static inline bool tt_state_dead(char state) {
  return !state || state == 'Z' || state == 'X';
}

/* Publish in this rank's heap header whether it can read the private memory of every rank of the
 * segment (remote.c). All headers must be complete. */
void tt_remote_probe(const tt_segment *segment, int index);
/* A nonzero word of this process's private memory, for the trial reads. */
const uint64_t *tt_heap_cookie(tt_heap *heap);

/* ---- exit status of ranks (exit_status.c) ---- */

/* Called by the launcher: the rank has ended, with this waitpid status. */
void tt_exit_publish(tt_head *head, int status);
/* False if the process is known to be gone. */
bool tt_rank_alive(const tt_head *head);
bool tt_process_alive(int pid);
/* How a dead rank ended, as the rest of a sentence: ", killed by SIGKILL", or "" if unknown. Waits
 * briefly for the launcher to publish the status. */
void tt_exit_words(const tt_head *head, char *words, size_t size);

/* ---- what ranks that continue agree on (agree.h) ---- */

/* The decision's contents, written by the decider in its heap. Order of members: ranks that
 * continue, joiners, then helpers, which stay last. */
enum { TT_SETTINGS = 8192, TT_PROPOSAL_WHY = 240 };
typedef struct tt_member {
  int32_t index;  /* of its heap */
  int32_t joiner; /* 1: it is a joiner */
  uint64_t ctrl;
} tt_member;
typedef struct tt_proposal {
  alignas(TT_PAIR) atomic_uint refs; /* ranks that may still read this */
  int32_t status;                    /* TUTTI_OK; else no result, see `why` */
  char why[TT_PROPOSAL_WHY];
  uint32_t bytes;             /* of settings */
  int32_t ranks;              /* members */
  uint64_t wisdom;            /* the leader's wisdom flags (comm_wisdom.h) */
  char settings[TT_SETTINGS]; /* of the new communicator */
  tt_member member[];
} tt_proposal;

/* ---- joiners (joiners.c): processes that join a running job ---- */

/* Number of joiners that are ready, of our version, and not claimed by others than `by`. */
int tt_joiners_ready(const tt_segment *segment, uint64_t by);
/* Upper bound of the joiners that can still come, including those already here. */
int tt_joiners_possible(const tt_segment *segment);
/* Claim up to `most` ready joiners and write them to `members`; returns their number. */
int tt_joiners_claim(const tt_segment *segment, uint64_t by, tt_member *members, int most);
/* Release the joiners that `by` has claimed and that are not in the proposal. */
void tt_joiners_release(const tt_segment *segment, uint64_t by, const tt_proposal *proposal);
/* Invite all joiners in the proposal. */
void tt_joiners_admit(const tt_segment *segment, const tt_proposal *proposal);
/* Called by a joiner before it is ready: take this heap; false if another process owns it. */
bool tt_heap_own(tt_head *head, int *owner);
/* Called by a ready joiner. NULL: not yet; TUTTI_ERR_SYSTEM: it cannot be admitted. */
tutti_status tt_joiner_admitted(const tt_segment *segment, int index, const tt_proposal **proposal);
/* Is any rank alive that could admit the joiner? */
bool tt_joiner_has_host(const tt_segment *segment, int index);
/* The caller will not read the proposal again. */
void tt_proposal_release(const tt_proposal *proposal);
/* Of this library, for heap headers. */
uint32_t tt_version_number(void);

#endif
