/* shm_ctrl.h - declarations for the shared-memory wire: control blocks, and sleeping.
 *
 * Layout     A control block (one per communicator and rank) has an abort word, call records, a
 *            directory of channels, and flag slots. Its header holds the offsets of the parts
 *            (tt_layout). A channel (one per ordered pair and lane, made at first use, in the
 *            sender's heap) consists of descriptors and an acknowledgement.
 * Cost       A control block has 8 bytes per rank. Each peer in use adds the offsets of its channels, one per lane.
 * Invariant  A control block and its channels are freed when all of the block's ranks have left.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SHM_CTRL_H
#define TT_SHM_CTRL_H

#include "heap.h"
#include "wire.h"

typedef struct tt_call_record {  /* written only by the control block's rank */
  alignas(64) atomic_ullong seq; /* of the operation; written last */
  atomic_uint hash, kind, root;
  atomic_ullong count;
} tt_call_record;

enum {
  TT_REASON = 320,
  TT_RECORDS = 64,           /* number of call records, and of flag slots of the first round */
  TT_REUSED = 2 * TT_WINDOW, /* number of slots of each later round, and for data longer than
                                TT_SMALL */
  TT_SLOTS = TT_RECORDS + (TT_ROUNDS - 1) * TT_REUSED,
  TT_SMALL = 1024,
  TT_BESIDE = 112
};

/* Offsets of the parts of a control block, in bytes from its start. The block may have room for more ranks than its
 * communicator has when it starts. */
typedef struct tt_layout {
  uint32_t ranks;       /* number of ranks that fit */
  uint32_t later_bytes; /* size of a later round's slot, used for data longer than TT_BESIDE */
  uint64_t vote;        /* offset of a tt_vote */
  uint64_t later;       /* char [TT_SLOTS - TT_RECORDS][later_bytes]: data of later rounds */
  uint64_t own;         /* tt_flag_slot [TT_SLOTS], then tt_counters: for this rank */
  uint64_t slots;       /* tt_flag_slot [TT_SLOTS][ranks]: the slots of all ranks; 0 if not in this
                           block */
  uint64_t counters;    /* tt_counters [ranks]: those of all ranks; 0 if not in this block */
  uint64_t bytes;       /* size of the whole block */
} tt_layout;

/* Computes the layout of a new control block; only shm_layout.c computes offsets. first: include the parts shared by all
 * ranks. */
tt_layout tt_shm_layout(int ranks, bool first);

/* One flag slot of an operation's round: the flag, followed by a few bytes. Longer data is in the rank's own control block.
 * Slots are reused cyclically. Each round has at least twice as many slots as the window, so the operation of an overwritten
 * slot has usually ended long ago. All ranks' slots of one operation are adjacent in the first rank's control block, so
 * reading them touches one page. If the ranks are on several NUMA nodes, each writes slots and counters in its own control
 * block instead, in memory of its NUMA node. */
typedef struct tt_flag_slot {
  alignas(TT_PAIR) atomic_ullong seq; /* of the operation; written last */
  uint32_t hash;
  uint32_t under_way; /* operations before seq - under_way have ended on this rank */
  char beside[TT_BESIDE];
} tt_flag_slot;

typedef struct tt_ctrl {
  tt_layout layout;                    /* written once, before the block is published to peers */
  alignas(TT_PAIR) atomic_int aborted; /* 0, or a status; only the first writer sets it */
  atomic_int aborting_by;              /* 1 + the heap of the rank that writes the reason; 0 if
                                          none */
  char reason[TT_REASON];
  alignas(TT_PAIR) atomic_uint refs;      /* number of ranks that may still read this block; each
                                             rank drops its reference when it leaves */
  alignas(TT_PAIR) atomic_ullong newest;  /* highest recorded seq plus 1 */
  alignas(TT_PAIR) atomic_uint inside;    /* 1 while the rank is accessing a peer's memory
                                             (shm_memory.c) */
  alignas(TT_PAIR) atomic_ullong decided; /* the decision (shm_agree.c); used in the first control
                                             block */
  atomic_ullong given_up;                 /* the rank that timed out, and the rank it was waiting
                                             for */
  alignas(TT_PAIR) atomic_ullong proofs[TT_PROOFS]; /* for run/proof_table.c; used in the first
                                                       control block */
  alignas(TT_PAIR) atomic_ullong advice[TT_ADVICE]; /* words published by rank 0; 0 if not yet
                                                       set */
  alignas(TT_PAIR) tt_shown shown;
  alignas(TT_PAIR) tt_call_record records[TT_RECORDS];
  alignas(TT_PAIR) char small[TT_RECORDS][TT_SMALL];     /* for data longer than TT_BESIDE */
  alignas(TT_PAIR) char flags[TT_REUSED][TT_FLAG_BYTES]; /* for data longer than TT_SMALL */
  alignas(TT_PAIR)
      atomic_ullong directory[]; /* [reader]: offset of the array of its channels' offsets by lane;
                                    0 if none yet */
  /* followed by the parts listed in the layout */
} tt_ctrl;

/* The state that a rank publishes while the ranks agree on who continues. Only the rank itself writes this state. */
typedef struct tt_vote {
  alignas(TT_PAIR) atomic_uint round; /* the last round that the rank has entered; written last */
  atomic_ullong ctrl, asks;           /* of that round */
  atomic_ullong proposal;             /* offset of the rank's proposal, if the rank decides */
} tt_vote;

/* Counters that show how far a rank has processed the pieces in its arena. Only the rank itself writes them. */
typedef struct tt_counters {
  alignas(TT_PAIR) atomic_ullong of[TT_COUNTERS];
} tt_counters;

/* Returns the address of a part of a control block. The part's offset comes from the block's layout. */
static inline void *tt_ctrl_at(tt_ctrl *ctrl, uint64_t offset) {
  return (char *)ctrl + offset;
}

/* Announces in a control block that the communicator has ended. by: the number of the heap of the rank that ends it. */
void tt_ctrl_abort(tt_ctrl *ctrl, int by, tutti_status status, const char *reason);
tutti_status tt_ctrl_aborted(tt_ctrl *ctrl, char *reason, size_t size);
/* If a rank died while it announced that the communicator has ended, announces that rank's death as the reason. by: the
 * number of the calling rank's heap. */
void tt_ctrl_finish_abort(tt_ctrl *ctrl, const tt_segment *segment, int by);

/* Blocks with copies of private data, until it is read (stage.c). The owner frees `memory` to the heap, `spare` with
 * free(). */
typedef struct tt_stage {
  char *memory, **spare; /* NULL until opened */
  size_t block;
  uint32_t blocks, next, spares; /* next: index of the block that has been free for the longest
                                    time */
} tt_stage;
size_t tt_stage_bytes(int ranks);
bool tt_stage_open(tt_stage *s, tt_heap *heap, int ranks); /* returns false if out of memory */
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

/* Lists a control block in the heap's header, so that other processes can inspect it, or removes it from there. */
void tt_shm_show(tt_head *head, uint64_t ctrl);
void tt_shm_hide(tt_head *head, uint64_t ctrl);

/* wake.c: a sleeper announces itself, polls once more, and sleeps on its futex word. A peer that
 * changes something for it checks for sleepers and wakes them. */
void tt_futex_wake(tt_head *head);
/* Variants for a rank that also sleeps on file descriptors. tt_wake_fd_open returns a descriptor that becomes readable when a
 * peer signals it, or -1. The rank must poll once more before it sleeps on the descriptor. */
int tt_wake_fd_open(tt_segment *segment, int index);
void tt_wake_fd_close(tt_segment *segment, int index, int fd);
void tt_wake_fd_signal(tt_segment *segment, tt_head *head, int index); /* head: the header of that
                                                                          heap */

#endif
