/* comm.h - inside the API: what a communicator and a request are.
 *
 * Idea       a collective becomes a call (checked), a plan (looked up), a number
 *            (its position in the communicator's order) and an operation in one of
 *            TT_WINDOW places. If all are in use, later requests queue in order.
 * Invariant  `busy` is held by the thread that touches a communicator: its caller, or a
 *            thread that waits for something else and meanwhile drives this one.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_COMM_H
#define TT_COMM_H

#include "choose.h"
#include "engine.h"
#include "heap.h"
#include "p2p.h"
#include "placement.h"
#include "process.h"
#include "wires.h"

enum { TT_PLANS = 64, TT_WHY = 320 };

/* A prepared schedule; looked up by name, collective, root and whether it is in place. */
typedef struct tt_prepared {
  tt_sched *sched;
  tt_program *program;
  struct tt_prepared *next;
} tt_prepared;

/* How one kind of call is run. */
typedef struct tt_plan {
  uint64_t key; /* of the call; 0: free */
  tt_prepared *prepared;
  tt_execution exec;
  uint32_t hash;    /* of call and plan: the same on all ranks */
  uint32_t counts;  /* of a call with varying counts: their hash, not 0 */
  uint64_t wisdom;  /* measured time (ns), if wisdom chose it; else 0 */
  tt_proven proven; /* proven before it ran, or what else is known */
  uint64_t *table;  /* offsets that exec uses */
} tt_plan;

typedef enum tt_state { TT_IDLE, TT_QUEUED, TT_RUNNING, TT_COMPLETE } tt_state;

/* A list of buffers in progress (many.c). Each part is a call of one buffer, or of several that are
 * packed in the window of the part's place. */
typedef struct tt_buffer {
  const void *src;
  void *dst;
  size_t bytes;
} tt_buffer;

typedef struct tt_many {
  tutti_request *parts;
  size_t nparts, left; /* left: parts not yet complete */
  tt_buffer *packed;   /* in the order of the parts */
} tt_many;

typedef struct tt_exact tt_exact; /* a sum computed as sums of integers (exact.c) */

struct tutti_request {
  tutti_comm *comm;
  tt_call call;
  const tt_plan *plan;
  tt_plan kept; /* a copy, since the cache may drop the original */
  bool persistent;
  _Atomic tt_state state; /* read before the communicator is entered */
  tutti_status status;
  uint32_t seq;
  struct tutti_request *next; /* in the queue */
  tt_many *many;              /* the parts of a list; or NULL */
  tt_exact *exact;            /* an exact sum, whose parts are made when they start; or NULL */
  tutti_request *whole;       /* the request that this is a part of; or NULL */
  const tt_buffer *packed;    /* a part: its packed buffers */
  size_t npacked;             /* their number */
  bool is_message;            /* then only `message` is used */
  tt_p2p_message message;
  uint64_t table[]; /* a copy of kept's table */
};

typedef struct tt_place {
  tt_operation operation;
  tutti_request *by; /* NULL: free */
  bool begun;        /* by tt_finish_at_once, for the next request */
  uint32_t holds;    /* value of comm->changes for which its operation is filled in; 0: none */
} tt_place;

typedef struct tt_wait_policy { /* of a waiting caller, while nothing moves */
  uint32_t looks;
  uint64_t since, looked; /* us */
  uint32_t sleep;         /* us */
  bool warned;
  bool shown;              /* its wait is published */
  const tutti_request *by; /* what is waited for; NULL: the caller only tests */
} tt_wait_policy;

/* Placement of a rank. */
typedef struct tt_rank_info {
  int32_t index; /* of its heap among those of its node, which share memory; -1: none */
  tt_placement placement;
  int64_t pid;
} tt_rank_info;

struct tutti_comm {
  int rank, ranks;
  tt_wire *wire;
  tt_wire *net; /* the message transport: the wire or a part of it; or beside the wire,
                    to make communicators and progress; NULL: none */
  bool beside;  /* `net` is not part of the wire */
  bool stuck;   /* nothing moves before a message arrives */
  bool waits;   /* its caller blocks in a network that supports that */
  tt_heap *heap;
  tt_rank_info *info;           /* per rank */
  double ranks_per_core;        /* if all share memory */
  double cores;                 /* of the first rank's node; 0: all are on one node */
  double host_ranks_per_core;   /* on the most loaded host */
  uint32_t spins;               /* polls before the first yield: adapted */
  int helpers;                  /* the last ranks, which bring no data */
  tt_setting setting;           /* the input of the cost model */
  tt_chooser *chooser, *helped; /* for calls with data of all ranks; or of all but helpers */
  int *order, *place;           /* rank at a place of the levels' tree; place of a rank; NULL:
                                   ranks are in the tree's order already */
  tt_chooser *flat;             /* if `order` is set: without levels, for plans made for ranks */
  tt_override override;
  tt_wisdom wisdom; /* the same on all ranks (comm_wisdom.c) */
  bool measures;    /* measures what wisdom does not cover, before it first runs (measure.c) */
  tutti_contract contract;
  int slices;
  double timeout;             /* s; 0: as TUTTI_TIMEOUT says */
  bool explains;              /* logs once per kind of call what runs, and why */
  uint32_t seq, oldest;       /* next number; the oldest that may still run */
  uint32_t chain;             /* hash of all calls so far */
  uint32_t shrinks;           /* calls to shrink or grow so far (shrink_shm.c) */
  int joiners;                /* ranks that joined when this one was made */
  tt_wait_policy wait_policy; /* of callers that test */
  tt_place places[TT_WINDOW];
  tutti_request *queue, *queue_end;
  int unfinished;           /* requests queued or running */
  int requests;             /* held by the user */
  tt_call last;             /* the last blocking call that passed its checks */
  uint32_t changes;         /* how often `last` changed */
  const tt_plan *last_plan; /* plan of `last`; NULL: none */
  tt_plan plans[TT_PLANS];
  tt_prepared *prepared;
  uint32_t warned; /* collectives whose forced algorithm was refused */
  tutti_status broken;
  char why[TT_WHY];
  tt_trace *trace;   /* NULL: not traced (tracing.h) */
  tt_p2p *p2p;       /* NULL before the first message */
  uint8_t token[1];  /* buffer of barriers */
  char *windows;     /* a window per place for packed buffers; NULL before the first */
  char *sums;        /* the same for exact sums */
  size_t alone_from; /* size (bytes) from which on a buffer is an operation; 0: not known yet */
  atomic_int busy;   /* 0 free, 1 held by its caller, 2 driven by another thread */
  atomic_int abort;  /* with a network: 0, 1 being written, 2 to be sent, 3 sent */
  char abort_why[120];
  atomic_bool listed; /* in flight: other threads may drive it */
  tutti_comm *next_listed;
};

/* ---- creating (attach.c) ---- */

/* Incomplete: the caller fills in `info`, attaches the wires and configures it. NULL: out of
 * memory. */
tutti_comm *tt_comm_new(int rank, int ranks);
/* Returns how many ranks share memory with this one, itself included. near (may be NULL): near[r]
 * is r's index among them, or -1. */
int tt_comm_near(const tutti_comm *comm, int *near);
/* Makes this rank's control block in shared memory; *ctrl is 0 if the rank shares none and has a
 * network. */
tutti_status tt_comm_ctrl_new(tutti_comm *comm, bool has_net, uint64_t *ctrl);
/* Builds the wires from the network's, which it takes over (may be NULL), and from all ranks'
 * control blocks. */
tutti_status tt_comm_attach(tutti_comm *comm, tt_wire *net, const uint64_t *ctrls);
/* Reads the environment and creates the chooser. */
tutti_status tt_comm_configure(tutti_comm *comm, const tt_profile *profile);
/* With several nodes: arranges ranks in levels. layout: their arrangement; NULL: found from the
 * placements. */
tutti_status tt_comm_place(tutti_comm *comm, const tt_layout *layout);
void tt_comm_destroy(tutti_comm *comm);
/* All-gather of `bytes` per rank; helpers contribute too. */
tutti_status tt_gather(tutti_comm *comm, const char *who, const void *src, void *dst, size_t bytes);
/* Broadcast from rank 0; `who` is the caller's name in error messages. */
tutti_status tt_broadcast(tutti_comm *comm, const char *who, void *bytes, size_t n);
/* Publishes this process's data in the head of its heap. */
void tt_heap_introduce(tt_heap *heap);

/* This machine's figures: from the profile found (settings.c), or built in. Warns about a profile
 * that cannot be used. tt_profile_path names its path, or says why none is used. */
void tt_profile_here(tt_profile *profile);
/* Puts the figures of the named network in effect; if the profile has none, warns once and uses the
 * built-in ones. */
void tt_profile_over(tt_profile *profile, const char *network);
const char *tt_profile_path(char *text, size_t size);
/* word: "same", "any", "run" or "exact"; NULL: same. TUTTI_ERR_ARG: another word, or a contract
 * that does not allow this number of ranks. */
tutti_status tt_contract_read(const char *word, int ranks, tutti_contract *contract);
tutti_status tt_contract_check(const char *who, tutti_contract contract, int ranks);
/* Reads a topology (placement.h): the value itself, or the file it names if it begins with '/' or
 * '.', or has no ':'. The caller frees *text. name: what messages call it, up to 170 characters.
 * TUTTI_ERR_ARG: it cannot be read. */
tutti_status tt_topology_read(const char *value, char **text, char *name, size_t size);

/* How long ranks wait for each other at the start, and for joiners, in s: TUTTI_CONNECT_TIMEOUT, or
 * `otherwise`. */
double tt_connect_timeout(double otherwise);

/* ---- entering and leaving ---- */

/* failed: also enters a communicator that has failed. */
tutti_status tt_comm_enter_with_care(tutti_comm *comm, const char *function, bool failed);
/* A communicator that is not listed and has no network is used by its caller alone, so a plain
 * store is enough. Two callers that enter at once are not always detected. */
static inline bool tt_comm_enter_simply(tutti_comm *comm) {
  /* order: acquire, of the lock that its last holder released (check-tsan) */
  const bool simple = atomic_load_explicit(&tt_process.usable, memory_order_relaxed) && comm &&
                      !comm->net && !comm->listed &&
                      atomic_load_explicit(&comm->busy, memory_order_acquire) == 0 &&
                      !comm->broken; /* read last: a thread that drives it may be breaking it */
  if (simple) atomic_store_explicit(&comm->busy, 1, memory_order_relaxed);
  return simple;
}
static inline tutti_status tt_comm_enter(tutti_comm *comm, const char *function) {
  return tt_comm_enter_simply(comm) ? TUTTI_OK : tt_comm_enter_with_care(comm, function, false);
}
/* Also enters a communicator that has failed. */
static inline tutti_status tt_comm_enter_failed_too(tutti_comm *comm, const char *function) {
  return tt_comm_enter_simply(comm) ? TUTTI_OK : tt_comm_enter_with_care(comm, function, true);
}
void tt_comm_leave_net(tutti_comm *comm);
static inline void tt_comm_leave(tutti_comm *comm) {
  if (comm->net)
    tt_comm_leave_net(comm);
  else
    /* order: releases the lock (check-tsan) */
    atomic_store_explicit(&comm->busy, 0, memory_order_release);
}
/* Sends an abort to the other ranks, if one was requested. `busy` is held. */
void tt_comm_send_abort(tutti_comm *comm);

/* Arranges the ranks of several nodes, which have at most `ranks_per_core` ranks per core; the same
 * on all ranks. Called once, before anything runs (arrange.c). */
struct tt_layout;
tutti_status tt_comm_arrange(tutti_comm *comm, const struct tt_layout *layout,
                             double ranks_per_core);
/* Is the call planned for places, not ranks? */
bool tt_call_arranged(const tutti_comm *comm, const tt_call *call);

/* ---- plans (plan.c) ---- */

tutti_status tt_plan_for(tutti_comm *comm, const tt_call *call, bool in_place,
                         const tt_plan **plan);
/* The problem that the chooser solves for a call. */
tt_problem tt_problem_of(const tutti_comm *comm, const tt_call *call);
tt_chooser *tt_chooser_for(const tutti_comm *comm, const tt_call *call);
/* Rank 0 logs what runs for such a call, and why (prices.c). */
void tt_comm_say_why(tutti_comm *comm, const tt_call *call);
/* Makes a plan from a choice and stores it in no table; its prepared schedules stay cached. */
tutti_status tt_plan_make(tutti_comm *comm, const tt_call *call, bool in_place,
                          const tt_choice *choice, tt_plan *plan);
/* proof_table.c: TUTTI_OK if what these ranks will run is proven, or too large to prove
 * (choose/proven.c); else TUTTI_ERR_SCHEDULE with the prover's message. *is: the result. */
tutti_status tt_proof_ask(tutti_comm *comm, const tt_ask *ask, const char *name, int slices,
                          tt_proven *is);
/* Has this process the answer already? */
bool tt_proof_known(const tt_ask *ask, const char *name, int slices);
tt_verify tt_proof_setting(void);       /* TUTTI_VERIFY */
void tt_plans_forget(tutti_comm *comm); /* choose again; prepared schedules stay */
void tt_plans_forget_coll(tutti_comm *comm, tutti_coll coll);
void tt_plans_drop(tutti_comm *comm); /* when the communicator is destroyed */

/* ---- starting and driving (progress.c) ---- */

/* Runs a whole operation without a request, if nothing else is in flight, the plan has a straight
 * loop and the peers arrive in time. Returns false if nothing was done, or if the operation is
 * under way in its place; then the request issued next takes it over. */
bool tt_finish_at_once(tutti_comm *comm, const tt_call *call, const tt_plan *plan);
/* Numbers the request, then starts or queues it. The comm is entered. */
void tt_request_issue(tutti_request *request);
/* One pass over all operations in flight, on this communicator and others. The comm is entered. */
bool tt_progress(tutti_comm *comm);
/* One pass over the other listed communicators that no thread is using. mine: NULL if the thread is
 * no caller. A communicator whose operations complete is unlisted by its own next call. */
bool tt_progress_others(const tutti_comm *mine);
/* Called when something is in flight: with TUTTI_PROGRESS_THREAD=1 tutti's own thread drives it
 * (thread.c) until tt_thread_end. The process's lock is held. */
void tt_thread_wake(void);
void tt_thread_end(void);
/* One pass over its p2p messages. */
bool tt_messages_progress(tutti_comm *comm);
/* Does the wire use the network? */
static inline bool tt_over_net(const tutti_comm *comm) {
  return comm->net && !comm->beside;
}
/* Lets the network progress; an error breaks the communicator. */
void tt_net_progress(tutti_comm *comm, bool *moved);
/* Lists or unlists it as one that other threads may drive. */
void tt_comm_list(tutti_comm *comm, bool on);

/* ---- lists of buffers (many.c) ---- */

static inline size_t tt_window_bytes(const tutti_comm *comm) {
  const size_t window = 4 * comm->wire->piece; /* small enough to stay in the cache */
  return window ? window : 1 << 20;
}
/* Copies buffers into the window of the part's place when it starts, and out when it completes. */
void tt_many_pack(tutti_request *part, char *window);
void tt_many_unpack(const tutti_request *part);

/* ---- waiting (wait.c) ---- */

/* Polls before the first yield, with one rank per core: maximum, minimum. */
enum { TT_SPINS = 4000, TT_SPINS_LEAST = 125 };
static inline void tt_relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}
/* Waits until the request completes; returns its status. If interrupted, returns
 * TUTTI_ERR_INTERRUPTED and breaks the communicator for all ranks. The comm is entered. */
tutti_status tt_request_finish(tutti_request *request);
/* The same for a started request, which it frees. The comm is not entered. */
tutti_status tt_request_end(tutti_request **request);
/* As tt_request_finish, but returns false if interrupted, and the request continues. */
bool tt_request_await(tutti_request *request);
/* One pass for a caller that tests; now and then it also checks the peers. */
void tt_progress_polled(tutti_comm *comm);
/* Something moved, whichever thread drives it: resets the wait of callers that test. The comm is
 * held. */
void tt_polled_anew(tutti_comm *comm);

/* ---- stragglers (straggler.c) ---- */

/* Publishes which rank this one waits for; or that it no longer waits. */
void tt_show_wait(tutti_comm *comm, tt_wait_policy *p);
void tt_show_moves(tutti_comm *comm);
/* Copies the settings of `old`, except its helpers. */
void tt_comm_take_after(tutti_comm *comm, const tutti_comm *old);
/* s after which a wait fails; 0: never. */
double tt_comm_timeout(const tutti_comm *comm);
/* An operation has waited `waited` us for `peer` in this step; or a message has. If it is time,
 * warns once, or breaks the communicator (TUTTI_TIMEOUT), and names the straggler. */
void tt_report_straggler(tutti_comm *comm, tt_wait_policy *p, uint64_t waited, int peer,
                         const tt_operation *o, uint32_t step);
void tt_report_late_message(tutti_comm *comm, tt_wait_policy *p, uint64_t waited,
                            const tt_p2p_message *m);
/* Formats a call: "allreduce of 10 int64, sum". */
int tt_record_words(const tt_record *r, char *text, size_t size);
enum { TT_RECALL = 15 }; /* how many operations back records are searched */

/* ---- failures (diagnose.c) ---- */

/* From now on every call fails with this status and comm->why. tell: also abort the other ranks. */
void tt_comm_break(tutti_comm *comm, tutti_status status, bool tell);
/* Breaks it with the operation's error. */
void tt_break_operation(tutti_comm *comm, const tt_operation *o);
/* Takes the status of a local step that peers do as well. TUTTI_ERR_MEMORY, of which they cannot
 * know, breaks the communicator, so that they do not wait. */
tutti_status tt_break_if_memory(tutti_comm *comm, tutti_status status);
/* Breaks it: this rank was interrupted in the call `name`. */
void tt_break_interrupted(tutti_comm *comm, const char *name);
/* Breaks it with the error of its messages. */
void tt_break_messages(tutti_comm *comm, tutti_status status);
/* Did some peer recently make a different call than this rank? */
bool tt_comm_differs(tutti_comm *comm);
/* The launcher ends its ranks. If the launcher is gone, this breaks the communicator, so that they
 * end. */
enum { TT_LOOK_FOR_LAUNCHER = 1024 }; /* looks at least once in this many operations */
void tt_look_for_launcher(tutti_comm *comm);
/* Checks whether the peers that operations wait for are alive and made the same calls, and how long
 * this rank has waited. */
void tt_look_after(tutti_comm *comm, tt_wait_policy *p, uint64_t now);

/* ---- calls (call.c) ---- */

/* The number of ranks that bring data to a call: the first ones. */
static inline int tt_call_data(const tutti_comm *comm, const tt_call *call) {
  return call->everyone ? comm->ranks : comm->ranks - comm->helpers;
}

/* Is it identical to the last call? Then it needs no check and no lookup. */
static inline bool tt_call_is_last(const tutti_comm *comm, const tt_call *c) {
  const tt_call *l = &comm->last;
  return comm->last_plan && c->src == l->src && c->dst == l->dst && c->count == l->count &&
         c->type == l->type && c->op == l->op && c->coll == l->coll && c->root == l->root &&
         c->everyone == l->everyone && !c->varied;
}
/* Checks a call without its buffers: collective, type and op. Fills in the buffers of a barrier. */
tutti_status tt_call_check_kind(const char *function, tt_call *call);
/* Checks that an array of `count` elements can exist at `at`. */
tutti_status tt_vector_check(const char *function, const char *name, const void *at, size_t count,
                             tutti_type type);
/* Checks the arguments; *in_place: whether they are in place. */
tutti_status tt_call_check(const tutti_comm *comm, const char *function, const tt_call *call,
                           bool *in_place);

#endif
