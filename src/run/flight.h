/* flight.h - the operations in flight on a communicator; used by run/, comm/ and fault/ only.
 *
 * Idea       A call gets a number (its position in the communicator's order) and an operation in one of TT_WINDOW slots. If
 *            all are in use, later requests are queued in order.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_FLIGHT_H
#define TT_FLIGHT_H

#include "long_wait.h"
#include "request.h"

typedef struct tt_place {
  tt_operation operation;
  tutti_request *by; /* NULL: free */
  tt_record record;  /* record of the operation's call */
  bool begun;        /* started by blocking.c, for the next request */
  uint32_t holds;    /* serial of the recent call whose operation and record these are; 0: none */
  bool rival;        /* the rival of the plan runs (rival.c) */
} tt_place;

/* A blocking call that passed its checks. Its arguments determine in which slot it is remembered. */
enum { TT_RECENT = 8 };
typedef struct tt_recent {
  tt_call call;
  const tt_plan *plan; /* NULL: no call is remembered here */
  uint32_t serial;     /* number of this call among all remembered ones */
} tt_recent;

typedef struct tt_wait_policy { /* state of a waiting caller while nothing moves */
  uint32_t looks;
  uint64_t since, looked; /* us */
  uint32_t sleep;         /* us */
  uint32_t losses;        /* that the network had reported when the peers were last checked */
  bool warned;
  bool shown;              /* its wait is published */
  tt_long_wait note;       /* for a communicator that is not in a job's memory */
  const tutti_request *by; /* the awaited request; NULL: the caller only tests */
} tt_wait_policy;

typedef struct tt_flight {
  uint64_t seq, oldest; /* next number; oldest operation that may still run */
  uint32_t chain;       /* hash of all calls so far */
  tt_place places[TT_WINDOW];
  tutti_request *queue, *queue_end;
  int unfinished; /* requests queued or running */
  int requests;   /* held by the user */
  tt_recent recent[TT_RECENT];
  uint32_t remembered;        /* serial of the newest of them */
  uint32_t spins;             /* number of polls before the first yield (adaptive) */
  tt_wait_policy wait_policy; /* for callers that test */
  bool stuck;                 /* nothing can move before a message arrives */
  bool waits;                 /* its caller blocks in a network that supports that */
  tt_p2p *p2p;                /* NULL before the first message */
  struct tt_group *group;     /* the open group (call_group.c), or NULL */
  uint32_t shrinks;           /* calls to shrink or grow so far (shrink.c) */
  atomic_int abort; /* an abort over a network: 0: none, 1: being written, 2: to be sent, 3: sent */
  char abort_why[120];
  tutti_comm *next_listed;
  int on_devices;    /* number of calls on device vectors, which move without a message */
  tt_stager *stager; /* for calls on device vectors; NULL before the first */
  struct {
    tutti_request *first, *last; /* calls that streams wait for, and that were not freed yet */
    int n;
    bool thread; /* tutti's thread was requested for them */
  } on_streams;
} tt_flight;

/* Sends an abort to the other ranks, if one was requested. `busy` is held. */
void tt_comm_send_abort(tutti_comm *comm);

/* ---- starting (blocking.c) ---- */

/* Publishes the call as operation flight->seq, and starts it in its slot. `serial` is that of a recent call, or 0. */
void tt_place_begin(tutti_comm *comm, tt_place *place, const tt_call *call, const tt_plan *plan,
                    uint32_t serial);
/* Forgets the recent calls, whose plans may be gone. */
void tt_recent_forget(tutti_comm *comm);
/* Publishes which operations have completed on this rank. */
void tt_show_over(tutti_comm *comm, bool wakes);

/* ---- driving (progress.c) ---- */

/* Makes one pass over the other listed communicators that no thread is using. `mine` is NULL if the thread is not a
 * caller. A communicator whose operations complete is unlisted by its own next call. */
bool tt_progress_others(const tutti_comm *mine);
/* Called when an operation is in flight. With TUTTI_PROGRESS_THREAD=1, tutti's own thread drives it (thread.c) until
 * tt_thread_end. The process's lock is held. */
void tt_thread_wake(void);
void tt_thread_end(void);
/* Makes one pass over its p2p messages. */
bool tt_messages_progress(tutti_comm *comm);
/* Lets the network progress; an error breaks the communicator. */
void tt_net_progress(tutti_comm *comm, bool *moved);
/* Adds it to the list of communicators that other threads may drive, or removes it. */
void tt_comm_list(tutti_comm *comm, bool on);

/* ---- events for the trace (trace_call.c) ---- */

/* Called when an operation of a traced communicator starts. Returns where its steps are recorded, or NULL. */
tt_trace *tt_trace_begin(tutti_comm *comm, const tt_call *call, const tt_plan *plan, bool rival);
/* Called when the operation has ended, outside of the call that started it. */
void tt_trace_over(tt_trace *trace, uint64_t seq);

/* ---- waiting (wait.c) ---- */

/* Number of polls before the first yield, with one rank per core: maximum, minimum. */
enum { TT_SPINS = 4000, TT_SPINS_LEAST = 125 };
void tt_relax(void); /* a pause while a rank spins: favors the core's other hardware thread */
/* Makes one pass for a caller that tests. From time to time it also checks the peers. */
void tt_progress_polled(tutti_comm *comm);
/* Called when nothing has moved, and a stream waits but no caller does. From time to time, checks the peers. */
void tt_watch_peers(tutti_comm *comm);
/* Called after any thread has made progress: restarts the wait's timers. The communicator is held. */
void tt_wait_anew(tutti_comm *comm, tt_wait_policy *p);
/* Called once per poll of a rank that frees the communicator and waits until `peer` has received its messages: publishes the
 * wait, warns, and breaks the communicator at the time limit. */
void tt_wait_for_taker(tutti_comm *comm, tt_wait_policy *p, int peer);

/* ---- stragglers (straggler.c) ---- */

/* Called when an operation, or a message, has waited `waited` us for `peer` (in this step). After long waits, warns once,
 * or breaks the communicator (TUTTI_TIMEOUT), and names the straggler. */
void tt_report_straggler(tutti_comm *comm, tt_wait_policy *p, uint64_t waited, int peer,
                         const tt_operation *o, uint32_t step);
void tt_report_late_message(tutti_comm *comm, tt_wait_policy *p, uint64_t waited,
                            const tt_p2p_message *m);
/* Returns the receiver of a finished operation's last message if that has not left this process yet, or -1. */
int tt_leaving_to(const tutti_comm *comm, const tt_operation *o);
void tt_report_leaving(tutti_comm *comm, tt_wait_policy *p, uint64_t waited, int peer,
                       const tt_operation *o);
/* Called when a call has waited since w->since for the device with its vectors: publishes the wait, warns once, and returns
 * TUTTI_ERR_TIMEOUT at the time limit. */
tutti_status tt_report_device(const tutti_comm *comm, const tt_call *call, tt_long_wait *w);
/* Called when tutti_comm_free waits for a peer that has not received what this rank sent. */
void tt_report_undelivered(tutti_comm *comm, tt_wait_policy *p, uint64_t waited, int peer);
enum { TT_RECALL = 15 }; /* how many operations back records are searched */

/* ---- failures (diagnose.c) ---- */

/* Breaks the communicator with this thread's last error. */
void tt_break_by_error(tutti_comm *comm, tutti_status status);
/* Breaks the communicator with the operation's error. */
void tt_break_operation(tutti_comm *comm, const tt_operation *o);
/* Breaks the communicator because this rank was interrupted in the call `name`. */
void tt_break_interrupted(tutti_comm *comm, const char *name);
/* Breaks the communicator with the error of its messages. */
void tt_break_messages(tutti_comm *comm, tutti_status status);
/* Returns true if some peer recently made a different call than this rank. */
bool tt_comm_differs(tutti_comm *comm);
/* The launcher normally ends its ranks. If it is gone, this breaks the communicator, so that they end. */
enum { TT_LOOK_FOR_LAUNCHER = 1024 }; /* checks at least once in this many operations */
void tt_look_for_launcher(tutti_comm *comm);
/* Checks whether the peers that operations wait for are alive and made the same calls, and how long
 * this rank has waited. */
void tt_look_after(tutti_comm *comm, tt_wait_policy *p, uint64_t now);

#endif
