/* comm.h - inside the API: what a communicator and a request are.
 *
 * Idea       a collective becomes a call (checked), a plan (looked up), a number
 *            (its place in the communicator's order) and an operation in one of
 *            TT_WINDOW places. A full window makes later ones queue in order.
 * Invariant  `busy` is held by whoever touches a communicator: its caller, or a
 *            thread that waits for something else and drives this one on the way.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_COMM_H
#define TT_COMM_H

#include "choose.h"
#include "engine.h"
#include "net_wire.h"
#include "p2p.h"
#include "placement.h"
#include "process.h"
#include "shm.h"

enum { TT_PLANS = 64, TT_WHY = 320 };

/* A schedule made ready, by name, collective, root and in place. */
typedef struct tt_prepared {
  tt_sched *sched;
  tt_program *program;
  struct tt_prepared *next;
} tt_prepared;

/* What runs for one kind of call. */
typedef struct tt_plan {
  uint64_t key; /* of the call; 0: free */
  tt_prepared *prepared;
  tt_execution exec;
  uint32_t hash;    /* of the call and the plan: the same on all ranks */
  uint32_t counts;  /* of a varied call: a number made of its counts, not 0 */
  uint64_t wisdom;  /* ns that wisdom says it takes; 0: its price chose it, or somebody */
  tt_proven proven; /* before it ran, or what else is known */
  uint64_t *table;  /* ... and how's table */
} tt_plan;

typedef enum tt_state { TT_IDLE, TT_QUEUED, TT_RUNNING, TT_COMPLETE } tt_state;

/* A list of buffers under way (many.c): calls of one buffer, or of several that are packed in
 * the window of the place that they run in. */
typedef struct tt_buffer {
  const void *src;
  void *dst;
  size_t bytes;
} tt_buffer;

typedef struct tt_many {
  tutti_request *parts;
  size_t nparts, left; /* left: that are not complete */
  tt_buffer *packed;   /* part by part */
} tt_many;

typedef struct tt_exact tt_exact; /* a sum as sums of integers (exact.c) */

struct tutti_request {
  tutti_comm *comm;
  tt_call call;
  const tt_plan *plan;
  tt_plan kept; /* a copy: the cache may move on */
  bool persistent;
  _Atomic tt_state state; /* looked at before the communicator is entered */
  tutti_status status;
  uint32_t seq;
  struct tutti_request *next; /* in the queue */
  tt_many *many;              /* its parts; NULL: it has none */
  tt_exact *exact;            /* it has parts that are made when their turn comes; or NULL */
  tutti_request *whole;       /* that it is a part of; NULL: of none */
  const tt_buffer *packed;    /* a part: the buffers that are packed ... */
  size_t npacked;             /* ... so many */
  bool is_message;            /* then that is all there is */
  tt_p2p_message message;
  uint64_t table[]; /* a copy too, of what `kept` says */
};

typedef struct tt_place {
  tt_operation operation;
  tutti_request *by; /* NULL: free */
  bool begun;        /* by tt_finish_at_once, for the request that comes next */
  uint32_t holds; /* what its operation is filled in for: comm->last, so many changes ago; or 0 */
} tt_place;

typedef struct tt_wait_policy { /* of one who waits and sees nothing move */
  uint32_t looks;
  uint64_t since, looked; /* us */
  uint32_t sleep;         /* us */
  bool warned;
  bool shown;              /* that it waits */
  const tutti_request *by; /* what is waited for, by one who does not just test */
} tt_wait_policy;

/* Where a rank is. */
typedef struct tt_rank_info {
  int32_t index; /* of its heap among those of its node, which share memory; -1: it has none */
  tt_placement placement;
  int64_t pid;
} tt_rank_info;

struct tutti_comm {
  int rank, ranks;
  tt_wire *wire;
  tt_wire *net; /* over messages: all of it or a part of it, or beside it to
                                   make communicators and progress; NULL: there is none */
  bool beside;  /* it stands beside */
  bool stuck;   /* nothing can move before something comes */
  bool waits;   /* its caller waits for it, in a network that can */
  tt_heap *heap;
  tt_rank_info *info;           /* per rank */
  double ranks_per_core;        /* ranks per core, where all share memory */
  double cores;                 /* of a node, the first rank's; 0: one node */
  double host_ranks_per_core;   /* of the fullest machine, its ranks per core */
  uint32_t spins;               /* looks before the first yield: more while that helps */
  int helpers;                  /* ranks, the last ones, that bring no data */
  tt_setting setting;           /* what the price knows of the machine */
  tt_chooser *chooser, *helped; /* for calls to which all bring data; or not all do */
  int *order, *place;           /* the rank at a place of the levels' tree, a rank's place; NULL:
                                   ranks stand as the tree does */
  tt_chooser *flat;             /* then: without levels, for what must go by ranks */
  tt_override override;
  tt_wisdom wisdom; /* of this communicator, the same on all ranks (comm_wisdom.c) */
  bool measures;    /* what wisdom does not cover, before it first runs (measure.c) */
  tutti_contract contract;
  int slices;
  double timeout;             /* s; 0: TUTTI_TIMEOUT's */
  bool explains;              /* says once per kind of call what runs, and why */
  uint32_t seq, oldest;       /* next number; the oldest that may still run */
  uint32_t chain;             /* hash of all calls so far */
  uint32_t shrinks;           /* that were called, and calls to grow (shrink_shm.c) */
  int joiners;                /* ranks that joined when it was made */
  tt_wait_policy wait_policy; /* of those who test */
  tt_place places[TT_WINDOW];
  tutti_request *queue, *queue_end;
  int unfinished;           /* requests queued or running */
  int requests;             /* that the user holds */
  tt_call last;             /* the last blocking call, which was found right */
  uint32_t changes;         /* how often it became another one */
  const tt_plan *last_plan; /* what ran it; NULL: none */
  tt_plan plans[TT_PLANS];
  tt_prepared *prepared;
  uint32_t warned; /* collectives whose forced algorithm was refused */
  tutti_status broken;
  char why[TT_WHY];
  tt_trace *trace;   /* NULL: nobody wants to know (tracing.h) */
  tt_p2p *p2p;       /* NULL until there is a message */
  uint8_t token[1];  /* what barriers exchange */
  char *windows;     /* a window per place, for what is packed; NULL until there is any */
  char *sums;        /* the same for exact sums */
  size_t alone_from; /* bytes that are worth an operation of their own; 0: not known yet */
  atomic_int busy;   /* 0 free, 1 its caller, 2 driven from elsewhere */
  atomic_int abort;  /* over messages: 0, 1 being written, 2 to be told by who is inside, 3 told */
  char abort_why[120];
  atomic_bool listed; /* others may drive it: it has requests in flight */
  tutti_comm *next_listed;
};

/* ---- making (attach.c) ---- */

/* Not yet complete: it lacks `where`, its wires, and what is set. NULL: out of memory. */
tutti_comm *tt_comm_new(int rank, int ranks);
/* How many ranks share memory with this one, itself too; near[r], if wanted: which of
 * those rank r is, or -1. */
int tt_comm_near(const tutti_comm *comm, int *near);
/* This rank's room in shared memory, which it needs where it shares any, or there is no
 * network; else 0. */
tutti_status tt_comm_ctrl_new(tutti_comm *comm, bool has_net, uint64_t *ctrl);
/* Makes the wires, of the network's, which it takes over (or NULL), and of all ranks' rooms. */
tutti_status tt_comm_attach(tutti_comm *comm, tt_wire *net, const uint64_t *ctrls);
/* Reads what the environment sets, and makes the chooser. */
tutti_status tt_comm_configure(tutti_comm *comm, const tt_profile *profile);
/* Of several nodes: by where its ranks are, in levels. `seats`: how they sit, or NULL to be
 * found out. */
tutti_status tt_comm_place(tutti_comm *comm, const tt_layout *layout);
void tt_comm_destroy(tutti_comm *comm);
/* Every rank's bytes, to all; helpers' too. */
tutti_status tt_gather(tutti_comm *comm, const void *src, void *dst, size_t bytes);
/* The first rank's bytes, to all; `who` asks, for sentences. */
tutti_status tt_broadcast(tutti_comm *comm, const char *who, void *bytes, size_t n);
/* Say in the head of a rank's heap what it is. */
void tt_heap_introduce(tt_heap *heap);

/* The figures of this machine: of the profile that is found (settings.c), or built-in, with a
 * warning where there is one that cannot be used. And its path, or why there is none. */
void tt_profile_here(tt_profile *profile);
/* Its figures of a network hold over the one of that name; else, after a warning that is said once,
 * they are the built-in ones. */
void tt_profile_over(tt_profile *profile, const char *network);
const char *tt_profile_path(char *text, size_t size);
/* "same", "any", "run" or "exact"; NULL: same. TUTTI_ERR_ARG: it is another word, or so many
 * ranks cannot have it. */
tutti_status tt_contract_read(const char *word, int ranks, tutti_contract *contract);
tutti_status tt_contract_check(const char *who, tutti_contract contract, int ranks);
/* The text of a topology (placement.h): the value itself, or the file it names if it begins with
 * '/' or '.', or has no ':'; freed by the caller. `name` is what sentences call it, of up to
 * 170 characters. TUTTI_ERR_ARG: it cannot be read. */
tutti_status tt_topology_read(const char *value, char **text, char *name, size_t size);

/* ---- entering and leaving ---- */

/* failed: a communicator that has failed will do. */
tutti_status tt_comm_enter_with_care(tutti_comm *comm, const char *function, bool failed);
/* Nobody drives a communicator that is not listed (and over a network tells of an abort), so a
 * store will do; two threads that use one at once are not always caught. */
static inline bool tt_comm_enter_simply(tutti_comm *comm) {
  /* order: acquire, of the lock that its last holder released (check-tsan) */
  const bool simple = atomic_load_explicit(&tt_process.usable, memory_order_relaxed) && comm &&
                      !comm->net && !comm->listed &&
                      atomic_load_explicit(&comm->busy, memory_order_acquire) == 0 &&
                      !comm->broken; /* last: a thread that drives it may be breaking it */
  if (simple) atomic_store_explicit(&comm->busy, 1, memory_order_relaxed);
  return simple;
}
static inline tutti_status tt_comm_enter(tutti_comm *comm, const char *function) {
  return tt_comm_enter_simply(comm) ? TUTTI_OK : tt_comm_enter_with_care(comm, function, false);
}
/* The same, but one that has failed will do. */
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
/* Tells the other ranks of an abort, if one was asked for. `busy` is held. */
void tt_comm_send_abort(tutti_comm *comm);

/* How the ranks of several nodes sit, whose cores have so many ranks each, at most; the same on
 * all ranks. Once, before anything runs (arrange.c). */
struct tt_layout;
tutti_status tt_comm_arrange(tutti_comm *comm, const struct tt_layout *layout,
                             double ranks_per_core);
/* Is the plan of a call made for places? */
bool tt_call_arranged(const tutti_comm *comm, const tt_call *call);

/* ---- plans (plan.c) ---- */

tutti_status tt_plan_for(tutti_comm *comm, const tt_call *call, bool in_place,
                         const tt_plan **plan);
/* What is to be chosen for a call. */
tt_problem tt_problem_of(const tutti_comm *comm, const tt_call *call);
tt_chooser *tt_chooser_for(const tutti_comm *comm, const tt_call *call);
/* To the log, on rank 0: what runs for such a call, and why (prices.c). */
void tt_comm_say_why(tutti_comm *comm, const tt_call *call);
/* Makes a plan of a choice, in no table; what it prepares stays. */
tutti_status tt_plan_make(tutti_comm *comm, const tt_call *call, bool in_place,
                          const tt_choice *choice, tt_plan *plan);
/* proof_table.c: what these ranks will run is proven, or too large for that (choose/proven.c); or
 * TUTTI_ERR_SCHEDULE and the prover's sentence. *is: what was found. */
tutti_status tt_proof_ask(tutti_comm *comm, const tt_ask *ask, const char *name, int slices,
                          tt_proven *is);
/* Has this process an answer already? */
bool tt_proof_known(const tt_ask *ask, const char *name, int slices);
tt_verify tt_proof_setting(void);       /* TUTTI_VERIFY */
void tt_plans_forget(tutti_comm *comm); /* choose anew; what is prepared stays */
void tt_plans_forget_coll(tutti_comm *comm, tutti_coll coll);
void tt_plans_drop(tutti_comm *comm); /* when the communicator goes */

/* ---- starting and driving (progress.c) ---- */

/* If nothing else is in flight, the plan has a straight loop and the peers are as
 * quick: the whole operation, without a request. False: nothing was done, or it is
 * under way in its place and the request that is issued next takes it over. */
bool tt_finish_at_once(tutti_comm *comm, const tt_call *call, const tt_plan *plan);
/* Number the request and start it, or queue it. The comm is entered. */
void tt_request_issue(tutti_request *request);
/* One pass over this and everything else in flight. The comm is entered. */
bool tt_progress(tutti_comm *comm);
/* One pass over the others that are in flight and that nobody is using right now; `mine`
 * NULL: by a thread that is no caller. One that completes is unlisted by its own next call. */
bool tt_progress_others(const tutti_comm *mine);
/* There is something in flight: with TUTTI_PROGRESS_THREAD=1 a thread of tutti's drives it
 * (thread.c), until tt_thread_end. The process's lock is held. */
void tt_thread_wake(void);
void tt_thread_end(void);
/* One pass over its messages. */
bool tt_messages_progress(tutti_comm *comm);
/* Do its operations use the network? */
static inline bool tt_over_net(const tutti_comm *comm) {
  return comm->net && !comm->beside;
}
/* Let the network go on; what fails breaks the communicator. */
void tt_net_progress(tutti_comm *comm, bool *moved);
/* List or unlist for being driven from elsewhere. */
void tt_comm_list(tutti_comm *comm, bool on);

/* ---- lists of buffers (many.c) ---- */

static inline size_t tt_window_bytes(const tutti_comm *comm) {
  const size_t window = 4 * comm->wire->piece; /* it stays in the cache */
  return window ? window : 1 << 20;
}
/* Into the window of the place that a part begins in; out of it when it is complete. */
void tt_many_pack(tutti_request *part, char *window);
void tt_many_unpack(const tutti_request *part);

/* ---- waiting (wait.c) ---- */

/* Looks before the first yield, one rank per core: at most, at least. */
enum { TT_SPINS = 4000, TT_SPINS_LEAST = 125 };
static inline void tt_relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}
/* Until the request is complete; its status. If the caller is to wait no longer, TUTTI_ERR_INTERRUPTED,
 * and the communicator is broken for all. The comm is entered. */
tutti_status tt_request_finish(tutti_request *request);
/* The same, of one that was started, and given back. The comm is not entered. */
tutti_status tt_request_end(tutti_request **request);
/* As tt_request_finish, but false if the caller is to wait no longer: then the request goes on. */
bool tt_request_await(tutti_request *request);
/* One pass, by one who tests: looks after its peers now and then. */
void tt_progress_polled(tutti_comm *comm);
/* Something moves, whoever drives it: those who test have not waited. The comm is held. */
void tt_polled_anew(tutti_comm *comm);

/* ---- who is late (straggler.c) ---- */

/* Show peers, and who looks from outside, for whom this rank waits; or that it does not any more. */
void tt_show_wait(tutti_comm *comm, tt_wait_policy *p);
void tt_show_moves(tutti_comm *comm);
/* What was set on the old one, but for its helpers. */
void tt_comm_take_after(tutti_comm *comm, const tutti_comm *old);
/* s after which a wait fails; 0: never. */
double tt_comm_timeout(const tutti_comm *comm);
/* An operation has waited so long (us) for `peer` in this step; a message so long. If it is time
 * to: warn, once, or break the communicator (TUTTI_TIMEOUT), with a sentence about who is late. */
void tt_report_straggler(tutti_comm *comm, tt_wait_policy *p, uint64_t waited, int peer,
                         const tt_operation *o, uint32_t step);
void tt_report_late_message(tutti_comm *comm, tt_wait_policy *p, uint64_t waited,
                            const tt_p2p_message *m);
/* A call in words: "allreduce of 10 int64, sum". */
int tt_record_words(const tt_record *r, char *text, size_t size);
enum { TT_RECALL = 15 }; /* how many operations back records are looked for */

/* ---- what went wrong (diagnose.c) ---- */

/* From now on everything fails with this status and comm->why. */
void tt_comm_break(tutti_comm *comm, tutti_status status, bool tell);
/* Break it with what the operation failed with. */
void tt_break_operation(tutti_comm *comm, const tt_operation *o);
/* The status of a step of this rank alone, while its peers call the same or soon will: if it is
 * TUTTI_ERR_MEMORY, which they cannot know, it is broken, so that they hear of it and do not wait. */
tutti_status tt_break_if_memory(tutti_comm *comm, tutti_status status);
/* Break it: this rank waits no longer in a call of that name. */
void tt_break_interrupted(tutti_comm *comm, const char *name);
/* Break it with what its messages failed with. */
void tt_break_messages(tutti_comm *comm, tutti_status status);
/* Did some peer make another call than this rank, lately? */
bool tt_comm_differs(tutti_comm *comm);
/* Who started the ranks ends them; if that is gone they do it themselves: breaks it then. */
enum { TT_LOOK_FOR_LAUNCHER = 1024 }; /* once in so many operations, at least */
void tt_look_for_launcher(tutti_comm *comm);
/* Do those that operations wait for still live, did they call the same, and since
 * when have we waited? */
void tt_look_after(tutti_comm *comm, tt_wait_policy *p, uint64_t now);

/* ---- calls (call.c) ---- */

/* So many ranks, the first ones, bring data to a call. */
static inline int tt_call_data(const tutti_comm *comm, const tt_call *call) {
  return call->everyone ? comm->ranks : comm->ranks - comm->helpers;
}

/* Is it the last one again, word for word? Then it needs no check and no search. */
static inline bool tt_call_is_last(const tutti_comm *comm, const tt_call *c) {
  const tt_call *l = &comm->last;
  return comm->last_plan && c->src == l->src && c->dst == l->dst && c->count == l->count &&
         c->type == l->type && c->op == l->op && c->coll == l->coll && c->root == l->root &&
         c->everyone == l->everyone && !c->varied;
}
/* A call without buffers: does its collective exist, its type, its op? For a barrier fills
 * in what it exchanges. */
tutti_status tt_call_check_kind(const char *function, tt_call *call);
/* Is it an array that can be one of so many elements? */
tutti_status tt_vector_check(const char *function, const char *name, const void *at, size_t count,
                             tutti_type type);
/* Checks the arguments; *in_place as they say. */
tutti_status tt_call_check(const tutti_comm *comm, const char *function, const tt_call *call,
                           bool *in_place);

#endif
