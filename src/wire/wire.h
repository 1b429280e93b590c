/* wire.h - the wire: moves bytes between two ranks of a communicator.
 *
 * Idea       Per ordered pair and lane, a FIFO stream of pieces. The engine pushes bytes, peeks at
 *            arrived bytes as a borrowed view, and releases them; lanes keep concurrent operations
 *            separate.
 * Stamp      Every piece carries the number and hash of its operation: one comparison detects that
 *            two ranks made different calls.
 * Invariant  No call blocks but `sleep`, `inquire` and `quiesce`; a piece is never visible before
 *            its bytes.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_WIRE_H
#define TT_WIRE_H

#include <stdatomic.h>

#include "core.h"
#include "tutti_net.h"

/* TT_ROUNDS: rounds of an operation; in each, a rank publishes bytes for its peers in a flag slot. There is one round per level
 * within a machine (package, NUMA node, cache, core). The others: bytes of a slot of the first round, and of a later one. */
enum { TT_ROUNDS = 4, TT_FLAG_BYTES = 4096, TT_LATER_BYTES = 512 };
/* The bytes of a slot of a later round in a communicator that is made for `ranks`, a multiple of TT_LATER_BYTES: fewer
 * on many ranks, because every rank pays for its slots in memory. A wire has tt_wire.later_bytes: its communicator may
 * have been made for more ranks than it has. */
static inline size_t tt_later_bytes(int ranks) {
  const size_t fair = 16 * (size_t)TT_FLAG_BYTES / (size_t)ranks;
  return tt_max(TT_LATER_BYTES, tt_min(TT_FLAG_BYTES, fair / TT_LATER_BYTES * TT_LATER_BYTES));
}

/* Operations, messages and pieces are numbered by 64 bits, which never wrap around. What travels between hosts may carry
 * the low 32 bits: tt_widen finds the rest. */
typedef struct tt_stamp {
  uint64_t seq;
  uint32_t hash;
} tt_stamp;

/* The number with these low 32 bits that is nearest to `near`: the numbers that ranks exchange differ by far less than
 * 2^31. */
static inline uint64_t tt_widen(uint32_t low, uint64_t near) {
  return near + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)near);
}

/* The record of its operation `seq` that a rank publishes before its first step. */
typedef struct tt_record {
  tt_stamp stamp;
  uint32_t coll, type, op;
  uint32_t root; /* without a root: 0, or a hash of the ranks' counts */
  uint64_t count;
} tt_record;

/* The state of a rank in a communicator, as its peers and `tutti doctor` see it. Only the rank
 * writes it: `over` after every operation, the rest when it has waited for a while. */
enum { TT_WORDS = 48 }; /* bytes of a name or a tag, the final zero included */
#define TT_ANY_RANK UINT32_MAX /* a message of any rank is awaited */
typedef struct tt_shown {
  atomic_ullong over;     /* operations before it are over here */
  atomic_ullong waits_in; /* the operation it waits in, or the tag of the message it waits for */
  atomic_uint waits_at;   /* the step it waits at */
  atomic_uint waits_for;  /* the rank of the communicator it waits for; or TT_ANY_RANK */
  atomic_uint waits_near; /* that rank's heap; UINT32_MAX: of another node */
  atomic_uint message;    /* 0: waits in an operation; 1: to receive a message; 2: to send one */
  atomic_uint type;       /* element type */
  atomic_ullong count;    /* number of elements */
  atomic_ullong seen;     /* last poll, us of CLOCK_MONOTONIC */
  atomic_ullong since;    /* start of the wait, written last; 0: not waiting */
  uint32_t ranks, rank;   /* of the communicator; written once */
  uint64_t home;          /* offset of the first rank's control block, the same for all that share
                             memory */
  char name[TT_WORDS],
      tag[TT_WORDS]; /* of the communicator; of the call it waits in. Empty: none */
} tt_shown;

/* A rank's progress with the pieces that pass through its arena, counted over all operations:
 * pieces put in, blocks summed, results fetched. */
typedef enum tt_counter { TT_PUT, TT_SUM, TT_GOT, TT_COUNTERS } tt_counter;

/* Words that rank 0 publishes (tt_memory_ops): of routes (fast/route.h); at TT_PLAN_ADVICE and up, of plans (run/rival.c). */
enum { TT_PLAN_ADVICE = 128, TT_PLAN_SIZES = 24, TT_ADVICE = TT_PLAN_ADVICE + TT_PLAN_SIZES };

typedef struct tt_wire tt_wire;

/* ---- a channel per peer and lane: bytes ---- */

typedef struct tt_channel_ops {
  /* Take up to n bytes of the stream to `peer`, part of a message of which `left` bytes remain,
   * these included. Returns how many were taken (0: no capacity now). *ticket: 0 if they were
   * copied, else the ticket to pass to `consumed`; the bytes must not change until it returns true.
   * *status: set if out of memory. */
  size_t (*push)(tt_wire *w, int peer, int lane, tt_stamp stamp, const void *bytes, size_t n,
                 size_t left, uint64_t *ticket, tutti_status *status);
  bool (*consumed)(tt_wire *w, int peer, int lane, uint64_t ticket);
  /* Bytes at the head of the stream from `peer` (0: none yet). */
  size_t (*head)(tt_wire *w, int peer, int lane, tt_stamp *stamp);
  /* A view of the first bytes at the head, at least one and at most *n; NULL (and *status) if the
   * peer's memory turns out to be unreadable. */
  const void *(*view)(tt_wire *w, int peer, int lane, size_t *n, tutti_status *status);
  /* Release the first n bytes at the head. */
  void (*release)(tt_wire *w, int peer, int lane, size_t n);
  /* Announce that the next n bytes from `peer` for this operation, part of a message of which
   * `left` bytes remain, will be pulled to `to`; to == NULL: they will be viewed. NULL: the wire
   * has no use for this. */
  void (*expect)(tt_wire *w, int peer, int lane, void *to, size_t n, size_t left);
  /* Move n bytes from the head to `to` and release them: like view, without an extra copy. */
  bool (*pull)(tt_wire *w, int peer, int lane, void *to, size_t n, tutti_status *status);
  /* A peer that has to take something yet that operations of this rank pushed, or else it is lost when the wire closes;
   * -1: none. NULL: what was pushed outlives the wire. */
  int (*owed)(tt_wire *w);
} tt_channel_ops;

/* ---- memory that ranks share: flag slots, the arena, allocation ---- */

typedef struct tt_memory_ops {
  /* Flag slots: bytes that every rank can read once they are set; an operation has one in each of
   * TT_ROUNDS rounds. flag_slot: where to write the bytes of operation `seq`; NULL while a peer may
   * still read the slot's previous operation. flag_set: publish them; all operations before `oldest`
   * have ended on this rank. flag_get: a peer's bytes, valid until this rank reports that `seq` has
   * ended; NULL if they are not set yet. flag_ahead: fetch the lines of a later slot, which peers have
   * read before, for writing. flag_keeper: a peer that may still read the previous bytes of the slot of
   * the first round; -1: none. */
  void *(*flag_slot)(tt_wire *w, uint64_t seq, uint32_t round, size_t bytes);
  void (*flag_set)(tt_wire *w, tt_stamp stamp, uint32_t round, uint64_t oldest);
  const void *(*flag_get)(tt_wire *w, int peer, uint64_t seq, uint32_t round, size_t bytes,
                          uint32_t *hash);
  void (*flag_ahead)(tt_wire *w, uint64_t seq, uint32_t round, size_t bytes);
  int (*flag_keeper)(tt_wire *w, uint64_t seq, size_t bytes);

  /* Memory that peers read. arena: this rank's, `slots` slots of `piece` bytes; NULL if out of
   * memory. export: a name for n bytes of this rank's memory, valid on every peer; 0 if they must
   * go through the arena. worth: are the n bytes behind a name expected to be read faster there than in the arena? map: a view of a peer's bytes, `from` bytes past the name, at most *n;
   * NULL and a status on errors. fetch: copy them. publish, published: this rank's progress
   * counter, a peer's. */
  void *(*arena)(tt_wire *w);
  uint64_t (*export)(tt_wire *w, const void *bytes, size_t n);
  bool (*worth)(tt_wire *w, uint64_t name, size_t n);
  const void *(*map)(tt_wire *w, int peer, uint64_t name, size_t from, size_t *n,
                     tutti_status *status);
  bool (*fetch)(tt_wire *w, int peer, uint64_t name, size_t from, void *to, size_t n,
                tutti_status *status);
  /* writable: a peer's memory behind a name if this rank may write to it; else NULL. */
  void *(*writable)(tt_wire *w, uint64_t name);
  void (*publish)(tt_wire *w, tt_counter counter, uint64_t value);
  uint64_t (*published)(tt_wire *w, int peer, tt_counter counter);
  /* advise: rank 0 shows a word under `index`, below TT_ADVICE. advised: the last one; 0: none yet. NULL: not all ranks
   * share memory. */
  void (*advise)(tt_wire *w, int index, uint64_t word);
  uint64_t (*advised)(tt_wire *w, int index);

  /* A rank reads or writes its peers' memory only between enter and leave; enter returns false when
   * the communicator has ended. quiesce: after that, wait until no rank is inside; false if a live
   * rank does not leave in time and may still write: then revoke the memory it may write to (NULL:
   * no peer writes). */
  bool (*enter)(tt_wire *w);
  void (*leave)(tt_wire *w);
  bool (*quiesce)(tt_wire *w);
  void (*revoke)(tt_wire *w, void *memory, size_t bytes);

  /* Memory that peers read without a copy, zeroed; NULL if out of memory. */
  void *(*alloc)(tt_wire *w, size_t bytes);
  bool (*free)(tt_wire *w, void *memory);
} tt_memory_ops;

/* ---- the other ranks: their calls, whether they live, waiting for them ---- */

typedef struct tt_peer_ops {
  /* record: publish this rank's record. over: all operations before `oldest` have ended on this rank;
   * wakes: peers may be asleep that wait for that. read_record: a peer's record of operation `seq`: 1
   * read, 0 not yet published, -1 the peer is already far ahead, TT_UNKNOWN not reported. ask: request
   * a peer's records and send it this rank's. inquire: ask all and wait up to `most` seconds for
   * answers. silent: the peer has not answered. NULL: records are always readable. */
  void (*record)(tt_wire *w, const tt_record *record);
  void (*over)(tt_wire *w, uint64_t oldest, bool wakes);
  int (*read_record)(tt_wire *w, int peer, uint64_t seq, tt_record *record);
  void (*ask)(tt_wire *w, int peer, uint64_t seq);
  void (*inquire)(tt_wire *w, uint64_t seq, double most);
  bool (*silent)(tt_wire *w, int peer, uint64_t seq);

  /* Sleep protocol: sleep_begin; poll once more; sleep until a peer acts or `limit_us` has passed;
   * sleep_end. */
  uint32_t (*sleep_begin)(tt_wire *w);
  void (*sleep)(tt_wire *w, uint32_t futex, uint32_t limit_us);
  void (*sleep_end)(tt_wire *w);
  /* Replaces sleep_begin for a rank that sleeps on descriptors: returns one that becomes readable when
   * a peer acts; -1: unavailable now. wake_fd_close replaces sleep_end. NULL: not supported. */
  int (*wake_fd_open)(tt_wire *w);
  void (*wake_fd_close)(tt_wire *w, int wake_fd);

  /* abort: announce to all ranks that the communicator has ended. aborted: the status that a peer has
   * announced (TUTTI_OK if none) and, if requested, the reason; on request, also reports a rank that
   * died while announcing the failure. */
  void (*abort)(tt_wire *w, tutti_status status, const char *reason);
  tutti_status (*aborted)(tt_wire *w, char *reason, size_t size);
  /* False if the peer's process is known to be gone. */
  bool (*alive)(tt_wire *w, int peer);
  /* True if the peer's process is known to be stopped (SIGSTOP, a debugger). NULL: never known. */
  bool (*stopped)(tt_wire *w, int peer);
  long (*pid)(tt_wire *w, int peer);
  /* A peer's state; NULL: not visible. */
  const tt_shown *(*shown)(tt_wire *w, int peer);
  /* Leave all peers, and free the wire. */
  void (*close)(tt_wire *w);
} tt_peer_ops;

/* ---- the network, if there is one ---- */

/* Arguments for a new network among the ranks of a wire; all of them call `split`, or, with a number, those of the network
 * alone. */
typedef struct tt_split {
  int color, key;
  int32_t asks;       /* smallest request of all ranks, for tutti_comm_grow */
  uint32_t number;    /* if the network needs one */
  const int *members; /* ranks of the color, in order */
  int n;              /* how many; 0: this rank is in none */
  uint64_t id; /* of the new network; 0: as the splits before say, if all ranks took part in them */
} tt_split;

typedef struct tt_net_ops {
  /* Let the network make progress and process arrived messages; each waiting thread must call this.
   * An error means that the network failed; tutti_error() says how. *moved: set if anything
   * came. */
  tutti_status (*poll)(tt_wire *w, bool *moved);
  /* The same, but block until something has come; only if traits.can_wait. */
  tutti_status (*wait)(tt_wire *w, bool *moved);
  /* Sleep until a message arrives, descriptor `also` becomes readable (-1: none), or the limit
   * passes. */
  void (*sleep)(const tt_wire *w, int also, uint32_t limit_us);
  /* Do sent messages stay in this process until some thread polls? */
  bool (*has_unsent)(const tt_wire *w);
  /* A number for `split`: the ranks use the highest of theirs; 0: the network needs none. */
  uint32_t (*fresh_number)(const tt_wire *w);
  /* A network of the ranks of one color (tutti_net.h); TUTTI_ERR_SYSTEM with the network's reason.
   * *taken: the number is in use, so all ranks must agree on another. */
  tutti_status (*split)(tt_wire *w, const tt_split *s, tutti_net *net, bool *taken);
  /* Process ids by rank, for error messages; copied. */
  tutti_status (*set_pids)(tt_wire *w, const int64_t *pids);
  /* Simulated networks: per peer, the level that separates it from this rank; copied. at_once: as below. */
  tutti_status (*set_levels)(tt_wire *w, const uint8_t *level, bool at_once);
  /* Of simulated ranks, which are one process: a table of proofs of `ranks` wires; NULL: out of memory. */
  atomic_ullong *(*make_proofs)(int ranks);
  /* Takes one's own, or one more wire's (joins) place at it. The last wire that closes frees it. */
  void (*share_proofs)(tt_wire *w, atomic_ullong *proofs, bool joins);
  /* How a lost peer ended, as the rest of a sentence: "died", unless the network knows more. */
  void (*exit_words)(tt_wire *w, int peer, char *words, size_t size);
} tt_net_ops;

/* ---- outside: a process that is not in the job, and stands for the last ranks of a schedule (aggregator/) ---- */

/* What one run of an operation sends outside, and gets back. Runs take their turns in the order
 * of operations and slices, which is the same on all ranks; and in each, the virtual ranks theirs in
 * the order of their numbers: their parts, one after the other, are the vector. */
enum { TT_PARTS = 16 };     /* virtual ranks at most */
typedef struct tt_stretch { /* of a vector; bytes */
  uint64_t at, bytes;
} tt_stretch;
typedef struct tt_share {
  int lane;
  int first; /* of the virtual ranks that this rank trades with */
  tt_stamp stamp;
  uint32_t slice, slices;
  uint32_t type, op;       /* of tutti_type and tutti_op */
  uint32_t data;           /* ranks whose vectors are summed */
  uint64_t bytes;          /* of the vector, the same on all ranks */
  tt_stretch gives, wants; /* what this rank sends of it, and gets */
  uint64_t beside;         /* B that it sends to ranks of other hosts at the same time */
  uint64_t given[TT_PARTS], wanted[TT_PARTS]; /* of these, per virtual rank */
} tt_share;

typedef struct tt_outside_ops {
  /* A run begins: its bytes pass when its turn comes. over: they have, both ways; only then may another run use
   * the lane. *status: TUTTI_ERR_MISMATCH if ranks made different calls. */
  void (*begin)(tt_wire *w, const tt_share *share);
  bool (*over)(const tt_wire *w, int lane, tutti_status *status);
  /* Passes messages without bytes, which no run pushes or pulls; true: something moved. */
  bool (*drive)(tt_wire *w);
  /* Once it is lost: does it still accept connections? Then it may have ended the sums because a rank died. Waits for at
   * most 0.1 s. */
  bool (*answers)(const tt_wire *w);
  /* The communicator has ended; its sums end on all members. */
  void (*quit)(tt_wire *w);
  /* A descriptor that becomes readable when the connection has data to read or space to write, or
   * when `also` becomes readable (-1: none). -1: unavailable. */
  int (*sleep_fd)(tt_wire *w, int also);
  /* Where it is, "HOST:PORT", and why it is lost. */
  const char *(*where)(const tt_wire *w);
  const char *(*why)(const tt_wire *w);
} tt_outside_ops;

typedef struct tt_outside {
  const tt_outside_ops *ops;
  tt_wire *wire; /* to it, with a channel to rank `ranks` of a schedule and those above */
  /* All ranks are members of one session, and each host has a whole vector. Otherwise each rank is in the
   * session of the ranks that have the same part of it on their hosts. */
  bool one_session;
  double link;  /* B/s of this host's link; 0: not known */
  int sessions; /* if blocks belong to ranks, rank r is in session r mod `sessions` */
} tt_outside;

/* What a network is like. */
typedef struct tt_net_traits {
  const char *name;
  bool simulated;  /* its ranks are */
  bool can_wait;   /* net->wait blocks */
  bool yields;     /* polling yields the CPU */
  bool wakes;      /* an arriving message wakes a sleeper */
  bool any_thread; /* any thread may call it, whatever the other threads call */
} tt_net_traits;

/* Of ranks on several hosts, some of which share memory: the wire among those of this rank's host, where rank r is
 * rank[r]; < 0: of another host. NULL: the wire is of one kind. */
typedef struct tt_near_wire {
  tt_wire *wire;
  const int *rank;
} tt_near_wire;

/* Bytes, the same on all ranks. */
typedef struct tt_wire_sizes {
  size_t flag;    /* most of a flag slot of the first round; 0: the wire has none */
  size_t later;   /* of a slot of a later round */
  size_t piece;   /* of a slot of the arena; 0: no arena */
  uint32_t slots; /* number of these slots */
  size_t beside;  /* that `push` takes whole or not at all, and copies */
} tt_wire_sizes;

/* Messages wait for their turn (engine/pace.c). */
typedef struct tt_pacing {
  const uint8_t
      *level;   /* per peer, the level that separates it from this rank; NULL: they are not paced */
  bool at_once; /* messages of a step leave together */
} tt_pacing;

struct tt_wire {
  const tt_channel_ops *channel;
  const tt_memory_ops *memory;
  const tt_peer_ops *peer;
  const tt_net_ops *net; /* NULL: not over a network alone */
  /* For ranks that continue after a failure (agree.h); NULL: the wire is of another kind, or the
   * network cannot do it. */
  const struct tt_shm_agree_ops *shm_agree;
  const struct tt_net_agree_ops *net_agree;
  tt_outside *outside; /* NULL: the ranks are alone */
  tt_near_wire near;
  int rank, ranks;
  tt_wire_sizes size;
  tt_pacing paced;
  tt_shown *shown;      /* of this rank; never NULL */
  uint32_t losses;      /* over a network: ranks that it has reported as lost, so far */
  /* TT_PROOFS words shared by the ranks of one node, or by all simulated ones, for run/proof_table.c; or NULL */
  atomic_ullong *proofs;
  const atomic_int *over; /* nonzero: call `aborted`; NULL: call it always */
  uint64_t first;         /* the number of the first piece and message: tt_first_number */
  struct tt_arena_state
      *arena_state;     /* the engine's, freed with the wire; NULL before the first use */
  unsigned learns;      /* TT_LEARNS_ROUTES, TT_LEARNS_PLANS */
  tt_net_traits traits; /* of `net` */
};

/* Bytes of an arena. If it is cut into many small slots, they are together twice as large as the second level cache, so
 * that a slot is no longer in its readers' caches when it is written again. A store to a line in another core's cache
 * takes several times as long. */
static inline size_t tt_arena_bytes(const tt_wire *w) {
  return 4 * w->size.slots * w->size.piece;
}

/* The descriptor that wakes a sleeping rank next to its network's: `also` (-1: none), or one for that and the outside. */
static inline int tt_extra_fd(const tt_wire *w, int also) {
  return w->outside ? w->outside->ops->sleep_fd(w->outside->wire, also) : also;
}

/* TT_NAP_US: a waiting rank that naps polls for messages at least this often. */
enum { TT_UNKNOWN = 2, TT_PROOFS = 64, TT_NAP_US = 50 };
/* The last lane is of point-to-point messages. */
enum { TT_WINDOW = 8, TT_FLIGHT = 3, TT_LANE_P2P = TT_WINDOW * TT_FLIGHT, TT_LANES };

#endif
