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

/* A recent blocking call with valid arguments. The arguments determine the slot that remembers the call. */
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

/* Sends an abort to the other ranks if a thread has requested one. The calling thread holds `busy`. */
void tt_comm_send_abort(tutti_comm *comm);

/* ---- starting (blocking.c) ---- */

/* Publishes a call as operation flight->seq and starts it in its slot. `serial` identifies a remembered call, or is 0. */
void tt_place_begin(tutti_comm *comm, tt_place *place, const tt_call *call, const tt_plan *plan,
                    uint32_t serial);
/* Forgets all recent calls. Used when their plans may have been freed. */
void tt_recent_forget(tutti_comm *comm);
/* Tells the other ranks which operations have completed on this rank. */
void tt_show_over(tutti_comm *comm, bool wakes);

/* ---- driving (progress.c) ---- */

/* Makes one pass over all listed communicators that no thread is using, except `mine`, which is NULL unless the thread is inside
 * a call. A communicator stays in the list until the next call on it, even if all of its operations complete. */
bool tt_progress_others(const tutti_comm *mine);
/* Called when an operation is in flight. If TUTTI_PROGRESS_THREAD=1, the progress thread then drives it (thread.c) until
 * tt_thread_end. The caller holds the process's lock. */
void tt_thread_wake(void);
void tt_thread_end(void);
/* Makes one pass over the point-to-point messages of a communicator. Returns true if anything moved. */
bool tt_messages_progress(tutti_comm *comm);
/* Makes the network progress. An error breaks the communicator. */
void tt_net_progress(tutti_comm *comm, bool *moved);
/* Adds the communicator to the list of communicators that other threads may drive, or removes it. */
void tt_comm_list(tutti_comm *comm, bool on);

/* ---- events for the trace (trace_call.c) ---- */

/* Called when an operation starts on a traced communicator. Returns the trace for the steps, or NULL. */
tt_trace *tt_trace_begin(tutti_comm *comm, const tt_call *call, const tt_plan *plan, bool rival);
/* Called when an operation has completed, but not within the call that started it. */
void tt_trace_over(tt_trace *trace, uint64_t seq);

/* ---- waiting (wait.c) ---- */

/* Maximum and minimum number of polls before the first yield, if there is one rank per core. */
enum { TT_SPINS = 4000, TT_SPINS_LEAST = 125 };
void tt_relax(void); /* a pause while a rank spins: favors the core's other hardware thread */
/* Makes one pass over the operations for a caller that tests a request. Periodically checks the peers too. */
void tt_progress_polled(tutti_comm *comm);
/* Called when nothing has moved and only a stream is waiting. Periodically checks whether the peers are alive. */
void tt_watch_peers(tutti_comm *comm);
/* Restarts the timers of a wait. Called after any thread has made progress, while the communicator is held. */
void tt_wait_anew(tutti_comm *comm, tt_wait_policy *p);
/* Called at each poll while tutti_comm_free waits until `peer` has received this rank's messages. Publishes the wait, warns, and
 * breaks the communicator when the time limit is reached. */
void tt_wait_for_taker(tutti_comm *comm, tt_wait_policy *p, int peer);

/* Returns the end of an error message, which advises the user what to do after losing the process outside the job
 * (diagnose.c). */
const char *tt_without_outside(const tutti_comm *comm);

/* ---- stragglers (straggler.c) ---- */

/* Called when an operation or a message has waited `waited` microseconds for `peer` in this step. After a long wait, warns once
 * or, at the time limit (TUTTI_TIMEOUT), breaks the communicator. Both name the straggler. */
void tt_report_straggler(tutti_comm *comm, tt_wait_policy *p, uint64_t waited, int peer,
                         const tt_operation *o, uint32_t step);
void tt_report_late_message(tutti_comm *comm, tt_wait_policy *p, uint64_t waited,
                            const tt_p2p_message *m);
/* If the last message of a finished operation has not left this process yet, returns its receiver, otherwise -1. */
int tt_leaving_to(const tutti_comm *comm, const tt_operation *o);
void tt_report_leaving(tutti_comm *comm, tt_wait_policy *p, uint64_t waited, int peer,
                       const tt_operation *o);
/* Called when a call has waited since w->since for the device that has its vectors. Publishes the wait, and warns once. At the
 * time limit, returns TUTTI_ERR_TIMEOUT. */
tutti_status tt_report_device(const tutti_comm *comm, const tt_call *call, tt_long_wait *w);
/* Called when tutti_comm_free waits for a peer that has not received all messages from this rank. */
void tt_report_undelivered(tutti_comm *comm, tt_wait_policy *p, uint64_t waited, int peer);
enum { TT_RECALL = 15 }; /* how many operations back records are searched */

/* ---- failures (diagnose.c) ---- */

/* Breaks the communicator with this status, and with the error message that this thread set last. */
void tt_break_by_error(tutti_comm *comm, tutti_status status);
/* Breaks the communicator because one of its operations has failed. */
void tt_break_operation(tutti_comm *comm, const tt_operation *o);
/* Breaks the communicator because this rank was interrupted in a call. `name` is the function that was called. */
void tt_break_interrupted(tutti_comm *comm, const char *name);
/* Breaks the communicator because one of its messages has failed. */
void tt_break_messages(tutti_comm *comm, tutti_status status);
/* Returns true if the recent calls of some peer differ from those of this rank. */
bool tt_comm_differs(tutti_comm *comm);
/* Breaks the communicator if the launcher is gone, so that its ranks end. Normally the launcher ends them itself. */
enum { TT_LOOK_FOR_LAUNCHER = 1024 }; /* checks at least once in this many operations */
void tt_look_for_launcher(tutti_comm *comm);
/* Checks whether the peers that this rank waits for are alive and made the same calls, and how long the wait has lasted. */
void tt_look_after(tutti_comm *comm, tt_wait_policy *p, uint64_t now);

#endif
