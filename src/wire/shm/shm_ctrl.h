/* shm_ctrl.h - internals of the shared-memory wire: control blocks, and sleeping.
 *
 * Layout     control block (one per communicator and rank): abort word, call records, directory of
 *            channels, flag slots. Its header holds the offsets of the parts (tt_layout).
 *            channel (one per ordered pair and lane, made at first use, in the sender's heap):
 *            descriptors | acknowledgement
 * Cost       a control block has 8 bytes per rank; peers in use add the offsets of their channels, one per lane.
 * Invariant  A control block and its channels are freed when all of its ranks have left.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SHM_CTRL_H
#define TT_SHM_CTRL_H

#include "heap.h"
#include "wire.h"

typedef struct tt_call_record {  /* written by the control block's rank */
  alignas(64) atomic_ullong seq; /* of the operation; written last */
  atomic_uint hash, kind, root;
  atomic_ullong count;
} tt_call_record;

enum {
  TT_REASON = 320,
  TT_RECORDS = 64,           /* calls, and flag slots of the first round */
  TT_REUSED = 2 * TT_WINDOW, /* slots of a later round, and of data longer than TT_SMALL */
  TT_SLOTS = TT_RECORDS + (TT_ROUNDS - 1) * TT_REUSED,
  TT_SMALL = 1024,
  TT_BESIDE = 112
};

/* Where the parts of a control block lie: offsets in bytes from its beginning. It may be made for more ranks than its
 * communicator has in the end. */
typedef struct tt_layout {
  uint32_t ranks;       /* that there is room for */
  uint32_t later_bytes; /* of a slot of a later round, for data longer than TT_BESIDE */
  uint64_t vote;        /* tt_vote */
  uint64_t later;    /* char [TT_SLOTS - TT_RECORDS][later_bytes]: of the slots of later rounds */
  uint64_t own;      /* tt_flag_slot [TT_SLOTS], then tt_counters: of this rank */
  uint64_t slots;    /* tt_flag_slot [TT_SLOTS][ranks]: of all ranks; 0: not in this block */
  uint64_t counters; /* tt_counters [ranks], likewise */
  uint64_t bytes;    /* of the whole block */
} tt_layout;

/* shm_layout.c: the only place that computes offsets, when a block is allocated. first: with the parts that belong to
 * all ranks. */
tt_layout tt_shm_layout(int ranks, bool first);

/* One flag slot of an operation's round: the flag, followed by a few bytes. Longer data are in the
 * rank's own control block. Slots are reused in turn. Each round has at least twice as many slots as
 * the window, so the operation of an overwritten slot has usually ended long ago. All ranks' slots of
 * one operation are adjacent in the first rank's control block, so reading them touches one page. If
 * ranks are on several NUMA nodes, each writes slots and counters in its own control block instead,
 * in memory of its NUMA node. */
typedef struct tt_flag_slot {
  alignas(TT_PAIR) atomic_ullong seq; /* of the operation; written last */
  uint32_t hash;
  uint32_t under_way; /* operations before seq - under_way are over here */
  char beside[TT_BESIDE];
} tt_flag_slot;

typedef struct tt_ctrl {
  tt_layout layout;                    /* written once, before any peer knows of the block */
  alignas(TT_PAIR) atomic_int aborted; /* 0, or a status; first writer wins */
  atomic_int aborting_by;              /* 1 + heap of the rank that writes the reason; 0: none */
  char reason[TT_REASON];
  alignas(TT_PAIR) atomic_uint refs;      /* ranks that may still read this; each leaves once */
  alignas(TT_PAIR) atomic_ullong newest;  /* highest recorded seq, plus 1 */
  alignas(TT_PAIR) atomic_uint inside;    /* 1: inside a peer's memory (shm_guard.c) */
  alignas(TT_PAIR) atomic_ullong decided; /* first control block's: the decision (shm_agree.c) */
  atomic_ullong given_up;                 /* the rank that timed out, and the one it waited for */
  alignas(TT_PAIR) atomic_ullong proofs[TT_PROOFS]; /* first control block's: run/proof_table.c */
  alignas(TT_PAIR) atomic_ullong advice[TT_ADVICE]; /* rank 0's; 0: nothing yet */
  alignas(TT_PAIR) tt_shown shown;
  alignas(TT_PAIR) tt_call_record records[TT_RECORDS];
  alignas(TT_PAIR) char small[TT_RECORDS][TT_SMALL];     /* data longer than TT_BESIDE */
  alignas(TT_PAIR) char flags[TT_REUSED][TT_FLAG_BYTES]; /* and than TT_SMALL */
  alignas(TT_PAIR)
      atomic_ullong directory[]; /* [reader]: offset of its channels' offsets [lane]; 0: none yet */
  /* then what the layout says */
} tt_ctrl;

/* A rank's words in an agreement on the ranks that continue; written by that rank. */
typedef struct tt_vote {
  alignas(TT_PAIR) atomic_uint round; /* the last round it takes part in; written last */
  atomic_ullong ctrl, asks;           /* in that round */
  atomic_ullong proposal;             /* its proposal's offset, if this rank decides */
} tt_vote;

/* A rank's progress with the pieces of the arena's loops; written by that rank. */
typedef struct tt_counters {
  alignas(TT_PAIR) atomic_ullong of[TT_COUNTERS];
} tt_counters;

/* The part of a control block at an offset of its layout. */
static inline void *tt_ctrl_at(tt_ctrl *ctrl, uint64_t offset) {
  return (char *)ctrl + offset;
}

/* by: the heap of the rank that aborts. */
void tt_ctrl_abort(tt_ctrl *ctrl, int by, tutti_status status, const char *reason);
tutti_status tt_ctrl_aborted(tt_ctrl *ctrl, char *reason, size_t size);
/* If the rank that aborts died before it published the reason, `by` publishes that instead. */
void tt_ctrl_finish_abort(tt_ctrl *ctrl, const tt_segment *segment, int by);

/* stage.c: blocks for private bytes being sent; the owner frees `memory` (of the heap) and `spare`
 * (malloc). */
typedef struct tt_stage {
  char *memory, **spare; /* NULL: not opened */
  size_t block;
  uint32_t blocks, next, spares; /* next: the place of the block that has been spare for longest */
} tt_stage;
size_t tt_stage_bytes(int ranks);
bool tt_stage_open(tt_stage *s, tt_heap *heap, int ranks); /* false: out of memory */
static inline char *tt_stage_take(tt_stage *s) {
  if (!s->spares) return NULL;
  char *block = s->spare[s->next];
  s->next = (s->next + 1) % s->blocks;
  s->spares--;
  return block;
}
static inline void tt_stage_give(tt_stage *s, char *block) {
  s->spare[(s->next + s->spares++) % s->blocks] = block;
}

/* Make a control block visible from outside, or hide it again. */
void tt_shm_show(tt_head *head, uint64_t ctrl);
void tt_shm_hide(tt_head *head, uint64_t ctrl);

/* wake.c: a sleeper announces itself, polls once more, and sleeps on its futex word; a peer that
 * acts for it checks for sleepers and wakes them. */
void tt_futex_wake(tt_head *head);
/* The same for a rank that also sleeps on descriptors. open: a descriptor that becomes readable
 * when a peer signals it; poll once more before sleeping on it. -1: not available. */
int tt_wake_fd_open(tt_segment *segment, int index);
void tt_wake_fd_close(tt_segment *segment, int index, int fd);
void tt_wake_fd_signal(tt_segment *segment, tt_head *head, int index); /* head: of that heap */

#endif
