/* shm.h - shared memory between the ranks of one machine: the segment, the heaps
 * in it, and what lies where.
 *
 * Idea       one nameless, sealed segment for the whole job, mapped by every rank:
 *            rank r's heap is [r * stride, (r + 1) * stride). It is sparse: what
 *            nobody touches costs nothing. Threads as ranks use an anonymous
 *            mapping and the same code.
 * Layout     heap: tt_head | rooms, channels, scratch, tutti_mem_alloc
 *            room (one per communicator and rank): abort word, call records,
 *            directory of channels
 *            channel (one per ordered pair and lane, made at first use, in the
 *            sender's heap): descriptors | acknowledgement
 * Invariant  every flag has one writer and a pair of lines of its own; bytes are
 *            written before the flag (release) and read after it (acquire). A room and the
 *            channels behind it are freed when all of its ranks have left.
 *            From outside (job_look.c) it is read through the heads: what stands there, and in
 *            the rooms, has the form that TT_LAYOUT numbers.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SHM_H
#define TT_SHM_H

#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>

#include "wire.h"

enum {
  TT_PAIR = 128,  /* two cache lines: what one flag has to itself */
  TT_DEPTH = 4,   /* pieces in flight per channel */
  TT_INLINE = 96, /* bytes that travel beside the flag */
  TT_FIGURES = 1280,
  TT_LAYOUT = 7, /* of the segment; changes with every change of it */
  TT_CTRLS = 64, /* communicators of a rank that can be seen from outside */
  TT_JOB_WORDS = 5,
  TT_HUGE = 2 << 20 /* a huge page, where there are any */
};

/* ---- the segment (segment.c) ---- */

typedef struct tt_head {              /* at the start of each heap; written by its rank */
  alignas(TT_PAIR) atomic_uint ready; /* 1 + layout version once all below is set */
  int pid;
  cpu_set_t cores;                    /* that this rank may use */
  uint64_t cookie_at, cookie;         /* a word of its private memory, to try reading */
  double quota;                       /* cores worth of time it may use */
  size_t l2;                          /* bytes of its core's second level cache */
  char figures[TT_FIGURES];           /* of the machine, as it knows them: tt_profile */
  alignas(TT_PAIR) atomic_uint reads; /* 1: it has read the private memory of all others */
  double remote_call, remote_byte, staged_byte;   /* s and s/B, for its own use */
  alignas(TT_PAIR) atomic_ullong world;           /* offset of the first room, 0 until made */
  alignas(TT_PAIR) atomic_uint sleepers_anywhere; /* in the first heap: sleepers of the whole job */
  alignas(TT_PAIR) atomic_uint sleepers;          /* how many threads of this rank doze */
  alignas(TT_PAIR) atomic_uint futex;             /* rung by peers */
  alignas(TT_PAIR) atomic_int wake_fd; /* a thread sleeps at this descriptor, one higher; 0: none
                                       does; < 0: peers cannot reach it */
  uint64_t wake_inode;                 /* what it is */
  alignas(TT_PAIR) atomic_uint ended;  /* by the launcher (exit_status.c): how; 0: not yet */
  alignas(TT_PAIR) uint64_t
      job_header[TT_JOB_WORDS];       /* of the first heap, by who makes the segment:
                                                   what it is; TT_LAYOUT and how many heaps it has;
                                                   how many of them are founders'; its launcher, and
                                                   since when that runs (0: none) */
  uint64_t started;                   /* when the process began, as /proc has it */
  atomic_ullong ctrls[TT_CTRLS];      /* offsets of its rooms; 0: free */
  atomic_uint ctrls_made;             /* so far */
  alignas(TT_PAIR) atomic_uint owner; /* the process whose heap it is; 0: nobody has come yet */
  uint32_t version;                   /* of its tutti (joiners.c) */
  atomic_ullong claimed; /* a newcomer: the communicator that means to take it in ... */
  atomic_ullong invited; /* ... the terms on which it is in; or 1: it cannot be */
} tt_head;

#define TT_JOB_MAGIC 0x626f6a2d69747475u /* "utti-job" */

typedef struct tt_segment {
  char *base;
  size_t stride;
  int ranks; /* heaps: those of the founders, who begin the job, then one for each newcomer */
  int founders;
  bool threads;           /* ranks share this address space */
  atomic_bool shuns_huge; /* huge pages took too long to make */
  long launcher; /* the process that waits for the ranks, and a descriptor of it; -1: none, or none
                  */
  int launcher_fd; /* that is seen here */
  int fd;          /* kept open, so that it can be found from outside, and closed with it; or -1 */
  atomic_int
      *wake_fds; /* per heap: this process's descriptor of it, one higher; 0: none yet; < 0: it
                        has none */
  atomic_int users;
} tt_segment;

/* A memfd for n ranks, and so many that may join them later; sealed against growing and shrinking,
 * with its plate, which says who waits for the ranks (pid; 0: nobody). */
tutti_status tt_segment_create(int n, int *fd);
tutti_status tt_segment_create_for(int n, int joiners, long launcher, int *fd);
tutti_status tt_segment_map(int fd, int n, tt_segment **segment);
/* Another process's, by its descriptor there; *segment holds one of its own. */
tutti_status tt_segment_open(long pid, int fd, int n, tt_segment **segment);
/* Is the launcher known to be gone? *pid: who it was. */
bool tt_segment_orphaned(const tt_segment *segment, long *pid);
/* An anonymous one, for threads or for one rank alone. */
tutti_status tt_segment_anonymous(int n, tt_segment **segment);
void tt_segment_release(tt_segment *segment); /* unmapped by the last user */

/* ---- huge pages (huge.c) ---- */

/* Of those that lie whole in [at, at + bytes): ask for them before the bytes are
 * touched; make them of what is there, true if they are. */
void tt_huge_advise(char *at, size_t bytes);
bool tt_huge_make(char *at, size_t bytes);
/* Can they be had? If not, why. */
bool tt_huge_here(char *why, size_t size);

/* ---- a rank's heap (heap.c); allocation is local ---- */

typedef struct tt_heap tt_heap;
/* Takes over one use of the segment, which it releases when it is closed by its
 * last user; on errors the segment stays the caller's. */
tutti_status tt_heap_open(tt_segment *segment, int index, tt_heap **heap);
tt_heap *tt_heap_hold(tt_heap *heap); /* one more user */
void tt_heap_close(tt_heap *heap);
tt_head *tt_heap_head(const tt_segment *segment, int index);
tt_segment *tt_heap_segment(tt_heap *heap);
int tt_heap_index(const tt_heap *heap);
/* Zeroed, on `align` bytes (a power of two), committed so that touching it can
 * not fault for lack of memory; NULL if there is none. */
void *tt_heap_alloc(tt_heap *heap, size_t bytes, size_t align);
bool tt_heap_free(tt_heap *heap, void *memory); /* false: not from here */
/* These bytes are no longer what peers see: they are never lent again, nor handed out
 * when they are freed. */
void tt_heap_revoke(tt_heap *heap, void *memory, size_t bytes);
bool tt_heap_revoked(tt_heap *heap, const void *memory, size_t bytes);
/* Frees n pieces of memory once *guests is 0, which is looked at when this is called
 * again: a peer that is slower may still look at a communicator that is over here. */
void tt_heap_free_later(tt_heap *heap, atomic_uint *refs, void *const *memory, size_t n);
/* Bytes that are handed out, and not free nor about to be. */
size_t tt_heap_used(tt_heap *heap);

/* ---- processes (process_state.c) ---- */

/* As /proc says: 'R' runs, 'S' and 'D' sleep, 'T' and 't' are stopped, 'Z' and 'X' dead; 0: there
 * is none. *started, if wanted: when it began, which no other process of this number has. */
char tt_process_state(long pid, uint64_t *started);
static inline bool tt_state_stopped(char state) {
  return state == 'T' || state == 't';
}
static inline bool tt_state_dead(char state) {
  return !state || state == 'Z' || state == 'X';
}

/* Say in this rank's head whether it can read the private memory of every rank of
 * the segment (remote.c). All heads are complete. */
void tt_remote_probe(const tt_segment *segment, int index);
/* A word of this process's own memory that they try; not zero. */
const uint64_t *tt_heap_cookie(tt_heap *heap);

/* ---- what became of a rank's process (exit_status.c) ---- */

/* The launcher says that it has ended, with this status of waitpid. */
void tt_exit_publish(tt_head *head, int status);
/* False if it is known to be gone. */
bool tt_rank_alive(const tt_head *head);
bool tt_process_alive(int pid);
/* Of one that is gone, as a part of a sentence: ", killed by SIGKILL", or "" if nobody knows;
 * gives the launcher a moment to say. */
void tt_exit_words(const tt_head *head, char *words, size_t size);

/* ---- the wire (shm.c) ---- */

/* This rank's room for a communicator of `ranks`; the first rank's holds what is
 * common to all. 0 if out of memory. */
uint64_t tt_shm_ctrl_new(tt_heap *heap, int ranks, bool first);
void tt_shm_ctrl_free(tt_heap *heap, uint64_t ctrl);
/* So many fewer ranks than it was made for come into it. */
void tt_shm_ctrl_drop_refs(tt_heap *heap, uint64_t ctrl, int by);
/* A room of this rank's that others may be in: it does not come in, which they hear there, and why;
 * and the room is freed when all have left who do. */
void tt_shm_ctrl_abandon(tt_heap *heap, uint64_t ctrl, tutti_status status, const char *why);
/* From now on, and no more, the room can be found from outside. */
void tt_shm_show(tt_head *head, uint64_t ctrl);
void tt_shm_hide(tt_head *head, uint64_t ctrl);
/* Those ranks per core they may use; figures that all ranks see alike. */
double tt_shm_ranks_per_core(const tt_segment *segment, const int *members, int ranks);
/* members[r], rooms[r]: heap index and room offset of rank r. Copies both. */
tutti_status tt_shm_wire(tt_heap *heap, int rank, int ranks, const int *members,
                         const uint64_t *ctrls, tt_wire **wire);

/* ---- who goes on (shm_agree.c): of such a wire, though its communicator failed ---- */

/* What is decided, written by who decides it, in its heap. Those that go on come first; newcomers
 * before helpers, which stay the last ones. */
enum { TT_SETTINGS = 8192, TT_PROPOSAL_WHY = 240 };
typedef struct tt_member {
  int32_t index;  /* of its heap */
  int32_t joiner; /* 1: it is one */
  uint64_t ctrl;
} tt_member;
typedef struct tt_proposal {
  alignas(TT_PAIR) atomic_uint refs; /* ranks that may still look here */
  int32_t status;                    /* TUTTI_OK; or nothing comes of it, and why: */
  char why[TT_PROPOSAL_WHY];
  uint32_t bytes;             /* of settings */
  int32_t ranks;              /* seats */
  uint64_t wisdom;            /* the first one's word */
  char settings[TT_SETTINGS]; /* of the communicator to be */
  tt_member member[];
} tt_proposal;

typedef struct tt_decision {
  uint32_t round;
  int by;                /* rank, the first that lives; or who gave up, for good */
  int awaited;           /* >= 0: by gave up, and waited for this one */
  tt_proposal *proposal; /* NULL: who decided had no memory for them */
} tt_decision;

/* This rank is there: with a room (of any rank but the first; UINT64_MAX: it has none), and with
 * what it asks for. */
void tt_shm_agree_come(tt_wire *w, uint32_t round, uint64_t ctrl, uint64_t asks);
/* One that lives and is not there; -1: none. */
int tt_shm_agree_awaited(tt_wire *w, uint32_t round);
/* The first rank that lives: once nobody is awaited, it writes terms, with those that live, in
 * order, as their first ranks; has them completed; and decides it. */
int tt_shm_agree_leader(tt_wire *w);
tt_proposal *tt_shm_agree_propose(tt_wire *w, uint32_t round, int more);
void tt_shm_agree_decide(tt_wire *w, uint32_t round, tt_proposal *proposal);
void tt_shm_agree_give_up(tt_wire *w, uint32_t round, int awaited);
/* Is there a decision? */
bool tt_shm_agree_decided(tt_wire *w, uint32_t round, tt_decision *d);
/* What a rank asks for. */
uint64_t tt_shm_agree_asks(tt_wire *w, int rank);
/* To those in these seats: what was to be made is over before it began. */
void tt_shm_agree_refuse(tt_segment *segment, const tt_proposal *proposal, tutti_status status,
                         const char *reason);

/* ---- newcomers (joiners.c): processes that join while the job runs ---- */

/* Those that stand ready now, are like the others, and belong to nobody else than `by`: how many.
 */
int tt_joiners_ready(const tt_segment *segment, uint64_t by);
/* How many can still come, those that are there too: nobody says that they will. */
int tt_joiners_possible(const tt_segment *segment);
/* Claims up to `most` of those that are there, and puts them into seats; how many. */
int tt_joiners_claim(const tt_segment *segment, uint64_t by, tt_member *members, int most);
/* Those that are claimed by this one, and not in these terms, may be taken by others. */
void tt_joiners_release(const tt_segment *segment, uint64_t by, const tt_proposal *proposal);
/* All that are in the terms hear of it. */
void tt_joiners_admit(const tt_segment *segment, const tt_proposal *proposal);
/* One of them, before it is ready: this heap is its own, unless another process came first. */
bool tt_heap_own(tt_head *head, int *owner);
/* One that is ready. NULL: not yet; TUTTI_ERR_SYSTEM: it cannot be taken in. */
tutti_status tt_joiner_admitted(const tt_segment *segment, int index, const tt_proposal **proposal);
/* Does any rank live that could take it in? */
bool tt_joiner_has_host(const tt_segment *segment, int index);
/* It will look there no more. */
void tt_proposal_release(const tt_proposal *proposal);
/* Of this library, for heads. */
uint32_t tt_version_number(void);

#endif
