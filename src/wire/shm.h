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
  TT_PAIR = 128,    /* two cache lines: what one flag has to itself */
  TT_DEPTH = 4,     /* pieces in flight per channel */
  TT_INLINE = 96,   /* bytes that travel beside the flag */
  TT_FIGURES = 1024,
  TT_LAYOUT = 3,    /* of the segment; changes with every change of it */
  TT_ROOMS = 64,    /* communicators of a rank that can be seen from outside */
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
  char figures[TT_FIGURES];           /* of the machine, as it knows them: tt_machine */
  alignas(TT_PAIR) atomic_uint reads; /* 1: it has read the private memory of all others */
  double remote_call, remote_byte, staged_byte; /* s and s/B, for its own use */
  alignas(TT_PAIR) atomic_ullong world;         /* offset of the first room, 0 until made */
  alignas(TT_PAIR) atomic_uint dozing;          /* in the first heap: sleepers of the whole job */
  alignas(TT_PAIR) atomic_uint sleepers;        /* how many threads of this rank doze */
  alignas(TT_PAIR) atomic_uint bell;            /* rung by peers */
  alignas(TT_PAIR) atomic_uint ended;           /* by the launcher (fate.c): how; 0: not yet */
  alignas(TT_PAIR) uint64_t plate[2];           /* of the first heap, by who makes the segment: what it
                                                   is, TT_LAYOUT and how many ranks it is for */
  uint64_t started;                             /* when the process began, as /proc has it */
  atomic_ullong rooms[TT_ROOMS];                /* offsets of its rooms; 0: free */
  atomic_uint rooms_made;                       /* so far */
} tt_head;

#define TT_PLATE 0x626f6a2d69747475u /* "utti-job" */

typedef struct tt_segment {
  char *base;
  size_t stride;
  int ranks;
  bool threads; /* ranks share this address space */
  int fd;       /* kept open, so that it can be found from outside, and closed with it; or -1 */
  atomic_int users;
} tt_segment;

/* A memfd for n ranks, sealed against growing and shrinking, with its plate. */
tutti_status tt_segment_create(int n, int *fd);
tutti_status tt_segment_map(int fd, int n, tt_segment **segment);
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
void tt_heap_withdraw(tt_heap *heap, void *memory, size_t bytes);
bool tt_heap_withdrawn(tt_heap *heap, const void *memory, size_t bytes);
/* Frees n pieces of memory once *guests is 0, which is looked at when this is called
 * again: a peer that is slower may still look at a communicator that is over here. */
void tt_heap_free_later(tt_heap *heap, atomic_uint *guests, void *const *memory, size_t n);

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

/* ---- what became of a rank's process (fate.c) ---- */

/* The launcher says that it has ended, with this status of waitpid. */
void tt_fate_tell(tt_head *head, int status);
/* False if it is known to be gone. */
bool tt_fate_alive(const tt_head *head);
bool tt_process_alive(int pid);
/* Of one that is gone, as a part of a sentence: ", killed by SIGKILL", or "" if nobody knows;
 * gives the launcher a moment to say. */
void tt_fate_words(const tt_head *head, char *words, size_t size);

/* ---- the wire (shm.c) ---- */

/* This rank's room for a communicator of `ranks`; the first rank's holds what is
 * common to all. 0 if out of memory. */
uint64_t tt_shm_room(tt_heap *heap, int ranks, bool first);
void tt_shm_room_free(tt_heap *heap, uint64_t room);
/* So many fewer ranks than it was made for come into it. */
void tt_shm_room_fewer(tt_heap *heap, uint64_t room, int by);
/* From now on, and no more, the room can be found from outside. */
void tt_shm_show(tt_head *head, uint64_t room);
void tt_shm_hide(tt_head *head, uint64_t room);
/* members[r], rooms[r]: heap index and room offset of rank r. Copies both. */
tutti_status tt_shm_wire(tt_heap *heap, int rank, int ranks, const int *members,
                         const uint64_t *rooms, tt_wire **wire);

/* ---- who survives (shm_council.c): of such a wire, though its communicator failed ---- */

typedef struct tt_decision {
  uint32_t round;
  int by;      /* rank, the first that lives; or who gave up, for good */
  int awaited; /* >= 0: by gave up, and waited for this one */
} tt_decision;

/* This rank is there, with a room (of any rank but the first) and a word for the others. */
void tt_council_come(tt_wire *w, uint32_t round, uint64_t room, uint64_t wise);
/* One that lives and is not there; -1: none. */
int tt_council_awaited(tt_wire *w, uint32_t round);
/* The first rank that lives: once nobody is awaited, it lists who lives, which returns how many
 * these are, and decides it, with the room of a first rank. */
int tt_council_first(tt_wire *w);
int tt_council_list(tt_wire *w, uint32_t round);
void tt_council_decide(tt_wire *w, uint32_t round, uint64_t room);
void tt_council_give_up(tt_wire *w, uint32_t round, int awaited);
/* Is there a decision? If nobody gave up: is this rank in it, its room, its word. */
bool tt_council_decided(tt_wire *w, uint32_t round, tt_decision *d);
bool tt_council_member(tt_wire *w, const tt_decision *d, int rank);
uint64_t tt_council_room(tt_wire *w, const tt_decision *d, int rank);
uint64_t tt_council_wise(tt_wire *w, const tt_decision *d, int rank);
/* To those in these rooms: what was to be made is over before it began. */
void tt_council_refuse(tt_wire *w, const uint64_t *rooms, int n, tutti_status status,
                       const char *reason);

#endif
