/* wire.h - the wire, which moves bytes between two ranks of a communicator.
 *
 * Idea       Each ordered pair of ranks has a FIFO stream of pieces per lane. The engine pushes
 *            bytes, looks at arrived bytes through a borrowed view, and releases them. Lanes keep
 *            concurrent operations separate.
 * Stamp      Every piece carries the number and hash of its operation, so one comparison detects
 *            that two ranks made different calls.
 * Invariant  No call except `sleep`, `inquire` and `quiesce` blocks. A piece never becomes visible
 *            before its bytes.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_WIRE_H
#define TT_WIRE_H

#include <stdatomic.h>

#include "core.h"
#include "tutti_net.h"

/* TT_ROUNDS: number of rounds in an operation, one for each level within a machine (package, NUMA node, cache, core). In each
 * round, a rank publishes bytes for its peers in a flag slot. TT_FLAG_BYTES and TT_LATER_BYTES: size of a flag slot in the
 * first round, and in later rounds. */
enum { TT_ROUNDS = 4, TT_FLAG_BYTES = 4096, TT_LATER_BYTES = 512 };
/* Size of a later round's slot, in bytes, for a communicator created with `ranks` ranks. It is a multiple of
 * TT_LATER_BYTES and shrinks as the number of ranks grows, because every rank needs memory for its slots. Use
 * tt_wire.size.later for an existing wire: its communicator may have been created for more ranks than it has. */
static inline size_t tt_later_bytes(int ranks) {
  const size_t fair = 16 * (size_t)TT_FLAG_BYTES / (size_t)ranks;
  return tt_max(TT_LATER_BYTES, tt_min(TT_FLAG_BYTES, fair / TT_LATER_BYTES * TT_LATER_BYTES));
}

/* Operations, messages and pieces are numbered with 64 bits, so the numbers never wrap around. Messages between hosts may
 * carry only the low 32 bits; tt_widen restores the full number. */
typedef struct tt_stamp {
  uint64_t seq;
  uint32_t hash;
} tt_stamp;

/* Returns the 64-bit number closest to `near` that has these low 32 bits. Exchanged numbers differ by far less than 2^31. */
static inline uint64_t tt_widen(uint32_t low, uint64_t near) {
  return near + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)near);
}

/* The signature of a collective call. A rank publishes the signature before the first step of the operation. */
typedef struct tt_record {
  tt_stamp stamp;
  uint32_t coll, type, op;
  uint32_t root; /* for collectives without a root: 0, or a hash of the ranks' counts */
  uint64_t count;
} tt_record;

/* The state of a rank in a communicator, which its peers and `tutti doctor` can read. Only the rank itself writes this state.
 * It updates `over` after every operation, and the other fields only after it has waited for a while. */
enum { TT_WORDS = 48 }; /* size of a name or a tag in bytes, including the terminating zero */
#define TT_ANY_RANK UINT32_MAX /* the rank is waiting for a message from any rank */
typedef struct tt_shown {
  atomic_ullong over;     /* all operations before this one have ended on this rank */
  atomic_ullong waits_in; /* the operation that this rank is waiting in, or the tag of the message
                             it is waiting for */
  atomic_uint waits_at;   /* the step it is waiting at */
  atomic_uint waits_for;  /* the rank (in the communicator) that it is waiting for, or
                             TT_ANY_RANK */
  atomic_uint waits_near; /* that rank's heap; UINT32_MAX if it is on another node */
  atomic_uint message;    /* 0: waiting in an operation; 1: waiting to receive a message; 2: waiting
                             to send one */
  atomic_uint type;       /* element type */
  atomic_ullong count;    /* number of elements */
  atomic_ullong seen;     /* time of the last poll, in us of CLOCK_MONOTONIC */
  atomic_ullong since;    /* start of the wait, written last; 0 if not waiting */
  uint32_t ranks, rank;   /* of the communicator; written once */
  uint64_t home;          /* offset of the first rank's control block, equal on all ranks that share
                             memory */
  char name[TT_WORDS],
      tag[TT_WORDS]; /* name of the communicator; tag of the current call; empty if unset */
} tt_shown;

/* Counters of the pieces that a rank has written to its arena, the blocks it has summed, and the results it has fetched. */
typedef enum tt_counter { TT_PUT, TT_SUM, TT_GOT, TT_COUNTERS } tt_counter;

/* Indices of the words that rank 0 publishes for all ranks (tt_memory_ops). The words below TT_PLAN_ADVICE are routes
 * (fast/route.h), and the others are plans (run/rival.c). */
enum { TT_PLAN_ADVICE = 128, TT_PLAN_SIZES = 24, TT_ADVICE = TT_PLAN_ADVICE + TT_PLAN_SIZES };

typedef struct tt_wire tt_wire;

/* ---- a channel per peer and lane: bytes ---- */

typedef struct tt_channel_ops {
  /* Accepts up to n bytes of the stream to `peer`. They belong to a message of which `left` bytes remain, including these.
   * Returns the number of bytes accepted (0 if it has no capacity now). *ticket is 0 if they were copied; otherwise it is the
   * ticket to pass to `consumed`, and the bytes must not change until that returns true. *status is set if out of memory. */
  size_t (*push)(tt_wire *w, int peer, int lane, tt_stamp stamp, const void *bytes, size_t n,
                 size_t left, uint64_t *ticket, tutti_status *status);
  bool (*consumed)(tt_wire *w, int peer, int lane, uint64_t ticket);
  /* Returns the number of bytes that have arrived from `peer` and can be read now. */
  size_t (*head)(tt_wire *w, int peer, int lane, tt_stamp *stamp);
  /* Returns a pointer to the first bytes at the head of a stream. *n is the maximum number of bytes, and receives the number
   * available there, which is at least one. If the peer's memory cannot be read, returns NULL and sets *status. */
  const void *(*view)(tt_wire *w, int peer, int lane, size_t *n, tutti_status *status);
  /* Releases the first n bytes at the head. */
  void (*release)(tt_wire *w, int peer, int lane, size_t n);
  /* Announces that the next n bytes from `peer` for this operation will be pulled to `to` or, if `to` is NULL, viewed. They
   * belong to a message of which `left` bytes remain. The function pointer is NULL if the wire does not need this call. */
  void (*expect)(tt_wire *w, int peer, int lane, void *to, size_t n, size_t left);
  /* Copies the first n bytes of a stream to `to` and releases them. This avoids the extra copy that `view` would need. */
  bool (*pull)(tt_wire *w, int peer, int lane, void *to, size_t n, tutti_status *status);
  /* Returns a peer that has not yet received all bytes that this rank pushed to it, or -1. These bytes would be lost if the
   * wire were closed now. The function pointer is NULL if pushed bytes are delivered even after the wire is closed. */
  int (*owed)(tt_wire *w);
} tt_channel_ops;

/* ---- memory that ranks share: flag slots, the arena, allocation ---- */

typedef struct tt_memory_ops {
  /* Flag slots hold bytes that every rank can read once they are set. An operation has one slot in each of TT_ROUNDS rounds.
   * flag_slot: returns where to write the bytes of operation `seq`, or NULL while a peer may still read the slot's previous
   * operation.
   * flag_set: publishes these bytes; all operations before `oldest` have ended on this rank.
   * flag_get: returns a peer's bytes, valid until this rank reports that `seq` has ended, or NULL if they are not set yet.
   * flag_ahead: prefetches the cache lines of a later slot for writing; peers have read them before.
   * flag_keeper: returns a peer that may still read the previous bytes of the first round's slot, or -1. */
  void *(*flag_slot)(tt_wire *w, uint64_t seq, uint32_t round, size_t bytes);
  void (*flag_set)(tt_wire *w, tt_stamp stamp, uint32_t round, uint64_t oldest);
  const void *(*flag_get)(tt_wire *w, int peer, uint64_t seq, uint32_t round, size_t bytes,
                          uint32_t *hash);
  void (*flag_ahead)(tt_wire *w, uint64_t seq, uint32_t round, size_t bytes);
  int (*flag_keeper)(tt_wire *w, uint64_t seq, size_t bytes);

  /* Memory that peers read.
   * arena: returns this rank's arena of `slots` slots of `piece` bytes, or NULL if out of memory.
   * export: returns a name for n bytes of this rank's memory, valid on every peer, or 0 if they must go through the arena.
   * worth: returns true if reading the n bytes behind a name is expected to be faster there than through the arena.
   * map: returns a view of at most *n of a peer's bytes, starting `from` bytes past the name; NULL and *status on errors.
   * fetch: copies such bytes. publish: sets this rank's progress counter. published: reads a peer's counter. */
  void *(*arena)(tt_wire *w);
  uint64_t (*export)(tt_wire *w, const void *bytes, size_t n);
  bool (*worth)(tt_wire *w, uint64_t name, size_t n);
  const void *(*map)(tt_wire *w, int peer, uint64_t name, size_t from, size_t *n,
                     tutti_status *status);
  bool (*fetch)(tt_wire *w, int peer, uint64_t name, size_t from, void *to, size_t n,
                tutti_status *status);
  /* writable: returns a peer's memory behind a name if this rank may write to it, or NULL. */
  void *(*writable)(tt_wire *w, uint64_t name);
  void (*publish)(tt_wire *w, tt_counter counter, uint64_t value);
  uint64_t (*published)(tt_wire *w, int peer, tt_counter counter);
  /* advise: rank 0 publishes a word under `index` (below TT_ADVICE). advised: returns the last word published, or 0.
   * Both are NULL if not all ranks share memory. */
  void (*advise)(tt_wire *w, int index, uint64_t word);
  uint64_t (*advised)(tt_wire *w, int index);

  /* A rank reads or writes its peers' memory only between enter and leave. enter returns false if the communicator has ended.
   * After that, quiesce waits until no rank is inside. It returns false if a live rank does not leave in time and may still
   * write; then call revoke on the memory it may write to. revoke is NULL if no peer writes. */
  bool (*enter)(tt_wire *w);
  void (*leave)(tt_wire *w);
  bool (*quiesce)(tt_wire *w);
  void (*revoke)(tt_wire *w, void *memory, size_t bytes);

  /* Allocates zeroed memory that peers can read directly. Returns NULL if out of memory. */
  void *(*alloc)(tt_wire *w, size_t bytes);
  bool (*free)(tt_wire *w, void *memory);
} tt_memory_ops;

/* ---- the other ranks: their calls, whether they are alive, and waiting for them ---- */

typedef struct tt_peer_ops {
  /* record: publishes this rank's record.
   * over: all operations before `oldest` have ended on this rank; wakes: peers that wait for this may be asleep.
   * read_record: reads a peer's record of operation `seq`. Returns 1 if it was read, 0 if it is not yet published, -1 if the
   * peer is already far ahead, TT_UNKNOWN if it was not reported.
   * ask: requests a peer's records and sends it this rank's.
   * inquire: asks all peers and waits up to `most` seconds for answers.
   * silent: returns true if the peer has not answered. The last three are NULL if records are always readable. */
  void (*record)(tt_wire *w, const tt_record *record);
  void (*over)(tt_wire *w, uint64_t oldest, bool wakes);
  int (*read_record)(tt_wire *w, int peer, uint64_t seq, tt_record *record);
  void (*ask)(tt_wire *w, int peer, uint64_t seq);
  void (*inquire)(tt_wire *w, uint64_t seq, double most);
  bool (*silent)(tt_wire *w, int peer, uint64_t seq);

  /* To sleep, a rank calls sleep_begin, polls once more, calls sleep, and then calls sleep_end. The function sleep returns
   * when a peer acts, or after `limit_us` microseconds. */
  uint32_t (*sleep_begin)(tt_wire *w);
  void (*sleep)(tt_wire *w, uint32_t futex, uint32_t limit_us);
  void (*sleep_end)(tt_wire *w);
  /* Variants of sleep_begin and sleep_end for a rank that sleeps on file descriptors. wake_fd_open returns a descriptor that
   * becomes readable when a peer acts, or -1. The pointers are NULL if the wire has no variants. */
  int (*wake_fd_open)(tt_wire *w);
  void (*wake_fd_close)(tt_wire *w, int wake_fd);

  /* abort: announces to all ranks that the communicator has ended. aborted: returns the status that a
   * peer has announced (TUTTI_OK if none) and, if size is not 0, the reason. With a reason requested,
   * it also reports a rank that died while announcing the failure. */
  void (*abort)(tt_wire *w, tutti_status status, const char *reason);
  tutti_status (*aborted)(tt_wire *w, char *reason, size_t size);
  /* Returns false if the peer's process is known to have ended. */
  bool (*alive)(tt_wire *w, int peer);
  /* Returns true if the peer's process is known to be stopped (by SIGSTOP or a debugger). NULL if the wire cannot tell. */
  bool (*stopped)(tt_wire *w, int peer);
  long (*pid)(tt_wire *w, int peer);
  /* Returns a peer's state, or NULL if it is not visible. */
  const tt_shown *(*shown)(tt_wire *w, int peer);
  /* Disconnects from all peers and frees the wire. */
  void (*close)(tt_wire *w);
} tt_peer_ops;

/* ---- the network, if the wire has one ---- */

/* The arguments for splitting a wire's network. If the new network has a number, only its ranks call `split`.
 * Otherwise all ranks of the wire call it. */
typedef struct tt_split {
  int color, key;
  int32_t asks;       /* smallest request of all ranks, for tutti_comm_grow */
  uint32_t number;    /* used if the network needs one */
  const int *members; /* ranks of the color, in order */
  int n;              /* number of members; 0 if this rank is not in a new network */
  uint64_t id; /* of the new network; 0 derives it from the number of earlier splits, which requires
                  that all ranks took part in them */
} tt_split;

typedef struct tt_net_ops {
  /* Makes progress and processes the messages that have arrived. Every waiting thread must call this. Sets *moved if anything
   * arrived. An error means that the network has failed; tutti_error() then has the reason. */
  tutti_status (*poll)(tt_wire *w, bool *moved);
  /* Makes progress, and blocks until something has arrived. Available only if traits.can_wait is true. */
  tutti_status (*wait)(tt_wire *w, bool *moved);
  /* Sleeps until a message arrives, `limit_us` microseconds have passed, or descriptor `also` (unless -1) becomes
   * readable. */
  void (*sleep)(const tt_wire *w, int also, uint32_t limit_us);
  /* Returns true if some sent messages remain in this process until a thread polls. */
  bool (*has_unsent)(const tt_wire *w);
  /* Returns the number that this rank proposes for a new network; 0: it needs no number. The highest proposal is used. */
  uint32_t (*fresh_number)(const tt_wire *w);
  /* Makes a network for the ranks with the same color (tutti_net.h). On failure, returns TUTTI_ERR_SYSTEM and the network's
   * reason. *taken is set if the proposed number is already in use; all ranks must then agree on another number. */
  tutti_status (*split)(tt_wire *w, const tt_split *s, tutti_net *net, bool *taken);
  /* Sets the process id of each rank, for error messages. Copies the array. */
  tutti_status (*set_pids)(tt_wire *w, const int64_t *pids);
  /* Sets the network level for each peer, i.e. the level that separates the peer from this rank. Only for simulated networks. Copies the
   * array. at_once: see tt_pacing. */
  tutti_status (*set_levels)(tt_wire *w, const uint8_t *level, bool at_once);
  /* Makes the table of proofs that simulated ranks share, because they are in the same process. `ranks` is the number of
   * wires that will use the table. Returns NULL if out of memory. */
  atomic_ullong *(*make_proofs)(int ranks);
  /* Attaches the wire to a table of proofs. `joins`: the wire was not counted when the table was made, so a reference is
   * added. The last wire that is closed frees the table. */
  void (*share_proofs)(tt_wire *w, atomic_ullong *proofs, bool joins);
  /* Writes how a lost peer's process ended, as the end of a sentence. This is "died" if the network has no details. */
  void (*exit_words)(tt_wire *w, int peer, char *words, size_t size);
} tt_net_ops;

/* ---- outside: a process outside the job that acts as the last ranks of a schedule (run/ext.h) ---- */

/* The data that one run of an operation exchanges with the outside process. Runs are served in the order of operations and
 * slices, which is the same on all ranks. Within a run, virtual ranks are served in numerical order, and their parts in this
 * order make up the vector. */
enum { TT_PARTS = 16 };     /* maximum number of virtual ranks */
typedef struct tt_stretch { /* a range of a vector, in bytes */
  uint64_t at, bytes;
} tt_stretch;
typedef struct tt_share {
  int lane;
  int first; /* of the virtual ranks that this rank exchanges data with */
  tt_stamp stamp;
  uint32_t slice, slices;
  uint32_t type, op;       /* tutti_type and tutti_op */
  uint32_t data;           /* number of ranks whose vectors are summed */
  uint64_t bytes;          /* size of the vector, the same on all ranks */
  tt_stretch gives, wants; /* the ranges that this rank sends and receives */
  uint64_t beside;         /* bytes that it sends to ranks on other hosts at the same time */
  uint64_t given[TT_PARTS], wanted[TT_PARTS]; /* bytes of `gives` and `wants` for each virtual
                                                 rank */
} tt_share;

typedef struct tt_outside_ops {
  const char *name; /* what it is, for messages */
  /* begin: starts a run; its bytes are transferred when the earlier runs have finished. over: returns true once
   * they have been transferred in both directions; only then may another run use the lane. *status is
   * TUTTI_ERR_MISMATCH if ranks made different calls. */
  void (*begin)(tt_wire *w, const tt_share *share);
  bool (*over)(const tt_wire *w, int lane, tutti_status *status);
  /* Transfers messages that contain no data, because no run pushes or pulls them. Returns true if it made progress. */
  bool (*drive)(tt_wire *w);
  /* Called after the connection to the outside process was lost. Returns true if the process still accepts connections; in
   * that case the outside process may have closed the connection because a rank died. Waits for at most 0.1 s. */
  bool (*answers)(const tt_wire *w);
  /* The communicator has ended: ends its sums on all members. */
  void (*quit)(tt_wire *w);
  /* Returns a descriptor that becomes readable when the connection can be read or written, or when the descriptor `also`
   * becomes readable (-1: no descriptor). Returns -1 if this is not available. */
  int (*sleep_fd)(tt_wire *w, int also);
  /* where: the address, "HOST:PORT". why: the reason the connection was lost. */
  const char *(*where)(const tt_wire *w);
  const char *(*why)(const tt_wire *w);
} tt_outside_ops;

typedef struct tt_outside {
  const tt_outside_ops *ops;
  tt_wire *wire; /* to the outside process, with channels to rank `ranks` of a schedule and above */
  /* True if all ranks are members of one session. Each host then has a whole vector. Otherwise, there is a session for each
   * part of the vector, and its members are the ranks that have this part on their hosts. */
  bool one_session;
  double link;  /* bandwidth of this host's link in B/s; 0 if unknown */
  int sessions; /* if blocks belong to ranks, rank r is in session r mod `sessions` */
} tt_outside;

/* Properties of a network. */
typedef struct tt_net_traits {
  const char *name;
  bool simulated;  /* its ranks are simulated */
  bool can_wait;   /* net->wait blocks */
  bool yields;     /* polling yields the CPU */
  bool wakes;      /* an arriving message wakes a sleeper */
  bool any_thread; /* thread-safe: any thread may call it at any time */
} tt_net_traits;

/* The wire among the ranks of this host, for communicators on several hosts. Rank r has the number rank[r] on this wire; a
 * negative number means that rank r is on another host. `wire` is NULL if all ranks use the same kind of wire. */
typedef struct tt_near_wire {
  tt_wire *wire;
  const int *rank;
} tt_near_wire;

/* Sizes in bytes, the same on all ranks. */
typedef struct tt_wire_sizes {
  size_t flag;    /* maximum size of a flag slot of the first round; 0 if the wire has no flag
                     slots */
  size_t later;   /* size of a slot of a later round */
  size_t piece;   /* size of an arena slot; 0 if the wire has no arena */
  uint32_t slots; /* number of arena slots */
  size_t beside;  /* up to this size, `push` copies a message, entirely or not at all */
} tt_wire_sizes;

/* Pacing: when messages may leave (engine/pace.c). */
typedef struct tt_pacing {
  const uint8_t
      *level;   /* for each peer, the level that separates it from this rank; NULL if messages are
                   not paced */
  bool at_once; /* all messages of a step leave simultaneously */
} tt_pacing;

struct tt_wire {
  const tt_channel_ops *channel;
  const tt_memory_ops *memory;
  const tt_peer_ops *peer;
  const tt_net_ops *net; /* NULL unless all messages use a network */
  /* The functions of the agreement to continue after a failure (agree.h). A table is NULL if the wire is of the other kind,
   * or if the network does not support this. */
  const struct tt_shm_agree_ops *shm_agree;
  const struct tt_net_agree_ops *net_agree;
  tt_outside *outside; /* NULL if no outside process is used */
  tt_near_wire near;
  int rank, ranks;
  tt_wire_sizes size;
  tt_pacing paced;
  tt_shown *shown;      /* of this rank; never NULL */
  uint32_t losses;      /* number of ranks that the network has reported as lost */
  /* TT_PROOFS words for run/proof_table.c, which the ranks of a node, or all simulated ranks, share. May be NULL. */
  atomic_ullong *proofs;
  const atomic_int *over; /* if nonzero, call `aborted`; if the pointer is NULL, always call it */
  uint64_t first;         /* number of the first piece and message: tt_first_number */
  struct tt_arena_state
      *arena_state;     /* owned by the engine, freed with the wire; NULL before the first use */
  unsigned learns;      /* TT_LEARNS_ROUTES, TT_LEARNS_PLANS */
  tt_net_traits traits; /* of `net` */
};

/* Size of an arena in bytes. An arena that is cut into many small slots is twice as large as the L2 cache. A slot has then
 * left its readers' caches when it is written again; a store to a line in another core's cache takes several times as
 * long. */
static inline size_t tt_arena_bytes(const tt_wire *w) {
  return 4 * w->size.slots * w->size.piece;
}

/* Returns the second descriptor, besides the network's, that must wake a sleeping rank. This is `also` (-1: none), or a
 * descriptor that covers both `also` and the outside process. */
static inline int tt_extra_fd(const tt_wire *w, int also) {
  return w->outside ? w->outside->ops->sleep_fd(w->outside->wire, also) : also;
}

/* TT_NAP_US: the longest time, in microseconds, that a waiting rank sleeps before it polls for messages again. */
enum { TT_UNKNOWN = 2, TT_PROOFS = 64, TT_NAP_US = 50 };
/* The last lane is reserved for point-to-point messages. */
enum { TT_WINDOW = 8, TT_FLIGHT = 3, TT_LANE_P2P = TT_WINDOW * TT_FLIGHT, TT_LANES };

#endif
