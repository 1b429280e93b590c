/* wire.h - what carries bytes between two ranks of a communicator.
 *
 * Idea       per ordered pair and lane a stream of pieces, first in first out. The
 *            engine pushes bytes, peeks at what arrived as a borrowed view, and
 *            releases it; lanes keep concurrent operations out of each other's way.
 * Stamp      every piece carries the number and hash of the operation it belongs
 *            to: one comparison tells that two ranks made different calls.
 * Invariant  no call blocks but `doze`; a piece is never seen before its bytes.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_WIRE_H
#define TT_WIRE_H

#include <stdatomic.h>

#include "core.h"

typedef struct tt_stamp {
  uint32_t seq, hash;
} tt_stamp;

/* What a rank published about its operation `seq` before its first step. */
typedef struct tt_record {
  tt_stamp stamp;
  uint32_t coll, type, op;
  uint32_t root; /* without a root: 0, or a number made of the counts of the ranks */
  uint64_t count;
} tt_record;

/* What a rank shows of itself in a communicator, to its peers and to `tutti doctor`. Only the
 * rank writes it: `over` after every operation, the rest when it has waited for a while. */
typedef struct tt_shown {
  atomic_uint over;       /* operations before it are over here */
  atomic_uint waits_in;   /* it waits in this operation, or for the message of this number */
  atomic_uint waits_at;   /* ... in this step */
  atomic_uint waits_for;  /* ... for this rank of the communicator */
  atomic_uint waits_near; /* ... whose heap this is; UINT32_MAX: of another node */
  atomic_uint message;    /* ... 0: it is an operation; 1: to receive a message, 2: to send one */
  atomic_uint type;       /* ... of such elements ... */
  atomic_ullong count;    /* ... so many */
  atomic_ullong seen;     /* ... and last looked, us of CLOCK_MONOTONIC */
  atomic_ullong since;    /* ... since; written last. 0: it does not wait */
  uint32_t ranks, rank;   /* of the communicator; written once */
  uint64_t home;          /* where the first one's room is: the same for all that share memory */
} tt_shown;

/* How far a rank is with the pieces that go through its arena, counted over all
 * operations: put in, block summed, all that it needed got. */
typedef enum tt_counter { TT_PUT, TT_SUM, TT_GOT, TT_COUNTERS } tt_counter;

typedef struct tt_wire tt_wire;

typedef struct tt_wire_ops {
  const char *name;
  /* Take up to n bytes of the stream to `peer`, of a message of which `left` are to go,
   * these included; returns how many (0: no room now). *ticket: 0 if they were copied, else
   * what `consumed` asks about; the bytes must then stay as they are until it says yes.
   * *status: set if there is no memory for it. */
  size_t (*push)(tt_wire *w, int peer, int lane, tt_stamp stamp, const void *bytes, size_t n,
                 size_t left, uint32_t *ticket, tutti_status *status);
  bool (*consumed)(tt_wire *w, int peer, int lane, uint32_t ticket);
  /* How many bytes are at the head of the stream from `peer` (0: none yet). */
  size_t (*head)(tt_wire *w, int peer, int lane, tt_stamp *stamp);
  /* A view of the first bytes at the head, *n of them at most and at least one;
   * NULL (a status in *status) if the peer's memory cannot be read after all. */
  const void *(*view)(tt_wire *w, int peer, int lane, size_t *n, tutti_status *status);
  /* Done with the first n bytes at the head. */
  void (*release)(tt_wire *w, int peer, int lane, size_t n);
  /* What comes next from `peer` for this operation will be pulled to `to`, n bytes of it,
   * of a message of which `left` are to come; to == NULL: it will be looked at. NULL: the
   * wire has no use for that. */
  void (*expect)(tt_wire *w, int peer, int lane, void *to, size_t n, size_t left);
  /* Move n bytes from the head to `to` and release them: as view, but straight. */
  bool (*pull)(tt_wire *w, int peer, int lane, void *to, size_t n, tutti_status *status);
  /* True once everything that was pushed, but on TT_LANE_P2P, has been consumed. */
  bool (*drained)(tt_wire *w);

  /* The board: bytes that every rank may look at, posted at once. flag_slot: where
   * to write the bytes of operation `seq`, NULL while a peer may still look at the
   * operation that had the place before. post: publish them; `oldest` says that all
   * earlier operations are over here. posted: the bytes of a peer, NULL if it has not
   * posted them yet. Valid until this rank says that `seq` is over. */
  void *(*flag_slot)(tt_wire *w, uint32_t seq, size_t bytes);
  void (*flag_set)(tt_wire *w, tt_stamp stamp, uint32_t oldest);
  const void *(*flag_get)(tt_wire *w, int peer, uint32_t seq, size_t bytes, uint32_t *hash);

  /* Memory that peers look into. arena: this rank's, `slots` places of `piece` bytes,
   * NULL if there is none. lend: the name under which every peer finds n bytes of this
   * rank's, 0 if it has to go through the arena. reach: where a peer's bytes are,
   * `from` behind the name, *n of them at most; or NULL and a status. fetch: copy
   * them. tell, told: this rank's tally, a peer's. */
  void *(*arena)(tt_wire *w);
  uint64_t (*export)(tt_wire *w, const void *bytes, size_t n);
  const void *(*map)(tt_wire *w, int peer, uint64_t name, size_t from, size_t *n,
                     tutti_status *status);
  bool (*fetch)(tt_wire *w, int peer, uint64_t name, size_t from, void *to, size_t n,
                tutti_status *status);
  /* writable: where a peer's bytes behind a name are, if this rank may write to them;
   * else NULL. */
  void *(*writable)(tt_wire *w, uint64_t name);
  void (*publish)(tt_wire *w, tt_counter counter, uint32_t value);
  uint32_t (*published)(tt_wire *w, int peer, tt_counter counter);

  /* Only between enter and leave does a rank look into its peers' memory, or write to
   * it; enter says no once the communicator is over. settle: it is over; wait until
   * nobody is inside; false if someone lives but does not leave in time, and may still
   * write: then withdraw what it may write to, and it never will. */
  bool (*enter)(tt_wire *w);
  void (*leave)(tt_wire *w);
  bool (*quiesce)(tt_wire *w);
  void (*revoke)(tt_wire *w, void *memory, size_t bytes);

  /* Publish this rank's record; read a peer's of operation `seq`. read: 1 there,
   * 0 not yet published, -1 the peer is already far beyond, TT_UNKNOWN it has not said.
   * ask: it is to say, and is told this rank's. inquire: ask all, and wait for their
   * answers for `most` seconds. silent: it has not answered that. NULL: records are always known. */
  void (*record)(tt_wire *w, const tt_record *record, uint32_t oldest);
  int (*read_record)(tt_wire *w, int peer, uint32_t seq, tt_record *record);
  void (*ask)(tt_wire *w, int peer, uint32_t seq);
  void (*inquire)(tt_wire *w, uint32_t seq, double most);
  bool (*silent)(tt_wire *w, int peer, uint32_t seq);

  /* Sleep protocol: sleep_begin; poll once more; doze(w, bell, limit) sleeps until
   * a peer acts or `limit_us` passed; sleep_end. */
  uint32_t (*sleep_begin)(tt_wire *w);
  void (*sleep)(tt_wire *w, uint32_t futex, uint32_t limit_us);
  void (*sleep_end)(tt_wire *w);
  /* In place of sleep_begin, for who sleeps on descriptors: one that becomes readable when a peer
   * acts; -1: there is none now. In place of sleep_end: wake_fd_close. NULL: there is no such. */
  int (*wake_fd_open)(tt_wire *w);
  void (*wake_fd_close)(tt_wire *w, int wake_fd);

  /* Tell all ranks that the communicator is over; what a rank was told (TUTTI_OK
   * if nothing), with the reason: who wants that hears also of one who died over telling. */
  void (*abort)(tt_wire *w, tutti_status status, const char *reason);
  tutti_status (*aborted)(tt_wire *w, char *reason, size_t size);
  /* False if the peer's process is known to be gone. */
  bool (*alive)(tt_wire *w, int peer);
  long (*pid)(tt_wire *w, int peer);
  /* What a peer shows; NULL: nothing of it can be seen. */
  const tt_shown *(*shown)(tt_wire *w, int peer);

  /* Memory that peers read without a copy; NULL if there is none. Zeroed. */
  void *(*alloc)(tt_wire *w, size_t bytes);
  bool (*free)(tt_wire *w, void *memory);
  void (*close)(tt_wire *w);
} tt_wire_ops;

struct tt_wire {
  const tt_wire_ops *ops;
  int rank, ranks;
  size_t flag_bytes; /* most bytes that can be posted at once; 0: there is no board */
  size_t piece;      /* bytes of a place of the arena, the same on all ranks; 0: there is none */
  uint32_t slots; /* places, the same on all ranks; a power of two, for pieces are counted round */
  size_t beside;  /* bytes that `push` takes whole or not at all, and copies */
  const uint8_t *level; /* messages are paced (engine/pace.c): at which level each peer and this
                           rank part; or NULL */
  tt_shown *shown;      /* of this rank; never NULL */
  atomic_ullong
      *proofs; /* TT_PROOFS words, shared by ranks of one node, for api/proof_table.c; or NULL */
  const atomic_int *over;             /* while it is 0 `aborted` has nothing to say; or NULL: ask */
  uint32_t pieces_begun, pieces_over; /* of this rank's operations; kept by arena.c */
};

/* Was this rank told that the communicator is over? */
static inline bool tt_wire_is_over(tt_wire *w) {
  /* model: abort:hear, wake:last */
  if (w->over && !atomic_load_explicit(w->over, memory_order_acquire)) return false;
  return w->ops->aborted(w, NULL, 0);
}

enum { TT_UNKNOWN = 2, TT_PROOFS = 64 };
/* TT_LANE_P2P: the lane of messages between two ranks, which no operation uses. */
enum { TT_WINDOW = 8, TT_FLIGHT = 3, TT_LANE_P2P = TT_WINDOW * TT_FLIGHT, TT_LANES };

#endif
