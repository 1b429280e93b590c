/* comm.h - a communicator, for the parts of tutti above the transports.
 *
 * Idea       A communicator consists of its ranks, their transports, its settings, its plans (plan_cache.h), and the
 *            operations in flight (flight.h). Only run/, comm/ and fault/ access its fields.
 * Invariant  `busy` is held by the thread that accesses a communicator: its caller, or a thread that drives it while it
 *            waits for something else.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_COMM_H
#define TT_COMM_H

#include "comm_view.h"
#include "heap.h"
#include "placement.h"
#include "process.h"
#include "wires.h"

/* A rank's entry in the communicator's table of all ranks. Entries are small because a job may have very many ranks. */
typedef struct tt_rank_info {
  int32_t index; /* of its heap among those of its node, which share memory; -1: none */
  tt_colors placement;
  int32_t pid;
  uint32_t host; /* hash of its host's name and its PID namespace */
  uint64_t ctrl; /* its control block in shared memory, used to create the transport */
} tt_rank_info;
_Static_assert(sizeof(tt_rank_info) == 40, "a job may have very many ranks");

/* The number of ranks per core. It determines how ranks wait, and is an input of the cost model. */
typedef struct tt_load {
  double ranks_per_core;      /* if all ranks share memory */
  bool crowded;               /* the job has more ranks than cores here, so waiting ranks do not spin */
  double cores; /* number of cores of the first rank's node; 0: all ranks are on one node */
  double host_ranks_per_core; /* on the most loaded host */
} tt_load;

/* Settings without pointers. They are sent to joining ranks as raw bytes. */
typedef struct tt_plain_settings {
  tutti_contract contract;
  tt_code_wish wish; /* how messages between nodes may be coded */
  int slices;
  double timeout;     /* in s; 0: env_timeout applies */
  double env_timeout; /* TUTTI_TIMEOUT when the communicator was created; 0: not set */
  bool generic;       /* TUTTI_ENGINE=generic */
  bool measures; /* measures plans before a call first runs, unless wisdom covers it (measure.c) */
  bool env_measures;   /* TUTTI_MEASURE of the first rank */
  char name[TT_WORDS]; /* empty: none */
} tt_plain_settings;

/* Settings from the caller or the environment. Duplicates and successors inherit all of them except `explains`. */
typedef struct tt_settings {
  tt_plain_settings plain;
  tt_override override; /* plans that this process requires or excludes */
  bool explains;        /* logs, once per kind of call, which plan runs, and why */
} tt_settings;

/* The kind of thread that holds a communicator. The flag TT_ASKED asks the holder to send an abort before it leaves. */
typedef enum tt_hold { TT_FREE, TT_CALLER, TT_DRIVER, TT_ASKED = 4 } tt_hold;

struct tutti_comm {
  int rank, ranks;
  int helpers; /* the last ranks, which contribute no data */
  int joiners; /* ranks that joined when this one was made */
  tt_wire *wire;
  /* The transport for messages. It is `wire`, a part of `wire`, a separate transport for creating and progressing communicators,
   * or NULL. */
  tt_wire *net;
  bool beside;  /* `net` is not part of the wire */
  /* True if communicators that are made from this one use no process outside the job. Either this communicator uses none, or it
   * has failed because it lost that process, as far as this rank has noticed. */
  bool no_outside;
  tt_heap *heap;
  tt_rank_info *info; /* per rank */
  tt_load load;
  tt_settings settings;
  char *config_text; /* the texts that tutti_comm_config returned last, or NULL */
  struct tt_plan_cache *plans;
  struct tt_flight *flight;
  tt_trace *trace;     /* NULL: not traced (tracing.h) */
  uint8_t token[1];    /* buffer of barriers */
  char *windows;       /* one window per slot for packed buffers; NULL until it is needed */
  char *sums;          /* the same for exact sums */
  tutti_status broken; /* if it is an error, every call fails with it, and with `why` */
  char why[TT_WHY];
  atomic_int busy;    /* its holder: tt_hold */
  atomic_bool listed; /* it has operations in flight, so other threads may drive it */
};

/* ---- properties ---- */

/* Returns the number of ranks that share memory with this rank, including itself. If `near` is not NULL, sets near[r] to the
 * index of rank r among these ranks, or to -1. */
int tt_comm_near(const tutti_comm *comm, int *near);
/* Returns true if the communicator's wire sends messages over the network. */
static inline bool tt_over_net(const tutti_comm *comm) {
  return comm->net && !comm->beside;
}
/* Returns true if this rank was notified that another rank has ended the communicator. */
static inline bool tt_comm_is_over(const tutti_comm *comm) {
  tt_wire *w = comm->wire;
  /* model: abort:hear, wake:last */
  if (w->over && !atomic_load_explicit(w->over, memory_order_acquire)) return false;
  return w->peer->aborted(w, NULL, 0);
}
/* Returns the timeout for waits, in seconds, or 0 if waits never time out. */
double tt_comm_timeout(const tutti_comm *comm);
/* Returns the number of ranks that contribute data to a call. They are the lowest-numbered ranks. */
static inline int tt_call_data(const tutti_comm *comm, const tt_call *call) {
  return call->everyone ? comm->ranks : comm->ranks - comm->helpers;
}

static inline size_t tt_window_bytes(const tutti_comm *comm) {
  const size_t window = comm->wire->size.piece; /* small enough to stay in the cache */
  return window ? window : 1 << 20;
}

/* ---- entering and leaving ---- */

/* Enters a communicator with a plain store. This suffices if the communicator has no network and is not listed, because then only
 * its caller uses it. Two callers that enter at the same time are not always detected. */
static inline bool tt_comm_enter_simply(tutti_comm *comm) {
  /* order: acquire, of the lock that its last holder released (check-tsan) */
  const bool simple = atomic_load_explicit(&tt_process.usable, memory_order_relaxed) && comm &&
                      !comm->net && !comm->listed &&
                      atomic_load_explicit(&comm->busy, memory_order_acquire) == TT_FREE &&
                      !comm->broken; /* read last: a thread that drives it may be breaking it */
  if (simple) atomic_store_explicit(&comm->busy, TT_CALLER, memory_order_relaxed);
  return simple;
}
/* Leaves a communicator without a network. */
static inline void tt_comm_leave_simply(tutti_comm *comm) {
  /* order: releases the lock (check-tsan) */
  atomic_store_explicit(&comm->busy, TT_FREE, memory_order_release);
}
/* Tries once to acquire a communicator as `by`. If another thread holds it, returns false and sets *held to that holder. */
static inline bool tt_comm_hold(tutti_comm *comm, tt_hold by, int *held) {
  *held = TT_FREE;
  /* order: seq_cst, a lock of one process (check-tsan) */
  return atomic_compare_exchange_strong(&comm->busy, held, (int)by);
}
/* Acquires the communicator for a caller once no other thread drives it. Returns false if another caller is inside. */
bool tt_comm_hold_for_caller(tutti_comm *comm);
/* Called by a thread that does not hold the communicator. Requests that the abort in `flight` be sent. The thread that holds the
 * communicator sends it. If no thread holds the communicator, the calling thread sends the abort itself. */
void tt_comm_ask_abort(tutti_comm *comm);
/* Enters a communicator even if it has failed. */
tutti_status tt_comm_enter_failed_too(tutti_comm *comm, const char *function);

/* ---- failures (diagnose.c) ---- */

/* Breaks the communicator: every later call fails with this status and the message in comm->why. If `tell`, also aborts the other
 * ranks. Returns false if the communicator had already failed for another reason. */
bool tt_comm_break(tutti_comm *comm, tutti_status status, bool tell);
/* ---- progress (progress.c) ---- */

/* Makes one pass over all operations in flight, on this communicator and on others. Returns true if anything moved. The caller
 * has entered the communicator. */
bool tt_progress(tutti_comm *comm);

#endif
