/* flight.h - the operations in flight on a communicator; used by run/, comm/ and fault/ only.
 *
 * Idea       a call gets a number (its position in the communicator's order) and an operation in
 *            one of TT_WINDOW places. If all are in use, later requests queue in order.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_FLIGHT_H
#define TT_FLIGHT_H

#include "long_wait.h"
#include "request.h"

typedef struct tt_place {
  tt_operation operation;
  tutti_request *by; /* NULL: free */
  tt_record record;  /* of its operation's call */
  bool begun;        /* by blocking.c, for the next request */
  uint32_t holds;    /* serial of the recent call that filled in both; 0: none */
  bool rival;        /* the rival of its plan runs (rival.c) */
} tt_place;

/* A blocking call that passed its checks; it is remembered at a place that its arguments give. */
enum { TT_RECENT = 8 };
typedef struct tt_recent {
  tt_call call;
  const tt_plan *plan; /* NULL: no call is remembered here */
  uint32_t serial;     /* of all that were remembered */
} tt_recent;

typedef struct tt_wait_policy { /* of a waiting caller, while nothing moves */
  uint32_t looks;
  uint64_t since, looked; /* us */
  uint32_t sleep;         /* us */
  uint32_t losses;        /* that the network had reported when it last checked its peers */
  bool warned;
  bool shown;              /* its wait is published */
  tt_long_wait note;       /* of a communicator that is not in a job's memory */
  const tutti_request *by; /* what is waited for; NULL: the caller only tests */
} tt_wait_policy;

typedef struct tt_flight {
  uint64_t seq, oldest; /* next number; the oldest that may still run */
  uint32_t chain;       /* hash of all calls so far */
  tt_place places[TT_WINDOW];
  tutti_request *queue, *queue_end;
  int unfinished; /* requests queued or running */
  int requests;   /* held by the user */
  tt_recent recent[TT_RECENT];
  uint32_t remembered;        /* serial of the newest of them */
  uint32_t spins;             /* polls before the first yield: adapted */
  tt_wait_policy wait_policy; /* of callers that test */
  bool stuck;                 /* nothing moves before a message arrives */
  bool waits;                 /* its caller blocks in a network that supports that */
  tt_p2p *p2p;                /* NULL before the first message */
  struct tt_group *group;     /* open (call_group.c); or NULL */
  uint32_t shrinks;           /* calls to shrink or grow so far (shrink.c) */
  atomic_int abort;           /* with a network: 0, 1 being written, 2 to be sent, 3 sent */
  char abort_why[120];
  tutti_comm *next_listed;
  int on_devices;    /* calls on device vectors, which move without a message */
  tt_stager *stager; /* of calls on device vectors; NULL before the first */
  struct {
    tutti_request *first, *last; /* that streams wait for, and that were not freed yet */
    int n;
    bool thread; /* wants tutti's thread */
  } on_streams;
} tt_flight;

/* Sends an abort to the other ranks, if one was requested. `busy` is held. */
void tt_comm_send_abort(tutti_comm *comm);

/* ---- starting (blocking.c) ---- */

/* Publishes the call as operation flight->seq, and begins it in its place. serial: of a recent call; else 0. */
void tt_place_begin(tutti_comm *comm, tt_place *place, const tt_call *call, const tt_plan *plan,
                    uint32_t serial);
/* Forgets the recent calls, whose plans may be gone. */
void tt_recent_forget(tutti_comm *comm);
/* Publishes which operations have completed on this rank. */
void tt_show_over(tutti_comm *comm, bool wakes);

/* ---- driving (progress.c) ---- */

/* One pass over the other listed communicators that no thread is using. mine: NULL if the thread is
 * no caller. A communicator whose operations complete is unlisted by its own next call. */
bool tt_progress_others(const tutti_comm *mine);
/* Called when something is in flight: with TUTTI_PROGRESS_THREAD=1 tutti's own thread drives it
 * (thread.c) until tt_thread_end. The process's lock is held. */
void tt_thread_wake(void);
void tt_thread_end(void);
/* One pass over its p2p messages. */
bool tt_messages_progress(tutti_comm *comm);
/* Lets the network progress; an error breaks the communicator. */
void tt_net_progress(tutti_comm *comm, bool *moved);
/* Lists or unlists it as one that other threads may drive. */
void tt_comm_list(tutti_comm *comm, bool on);

/* ---- events for the trace (trace_call.c) ---- */

/* An operation of a traced communicator begins. Returns where its steps are recorded, or NULL. */
tt_trace *tt_trace_begin(tutti_comm *comm, const tt_call *call, const tt_plan *plan, bool rival);
/* The operation has ended, outside the call that began it. */
void tt_trace_over(tt_trace *trace, uint64_t seq);

/* ---- waiting (wait.c) ---- */

/* Polls before the first yield, with one rank per core: maximum, minimum. */
enum { TT_SPINS = 4000, TT_SPINS_LEAST = 125 };
void tt_relax(void); /* a pause of a spinning rank, for its core's other thread */
/* One pass for a caller that tests; now and then it also checks the peers. */
void tt_progress_polled(tutti_comm *comm);
/* Nothing moved, and no caller waits, but a stream does: now and then checks the peers. */
void tt_watch_peers(tutti_comm *comm);
/* Something has progressed, by whichever thread: restarts the wait's timers. The communicator is held. */
void tt_wait_anew(tutti_comm *comm, tt_wait_policy *p);
/* One poll of a rank that frees the communicator and waits until `peer` has received its messages: shows the wait, warns,
 * and breaks the communicator at the time limit. */
void tt_wait_for_taker(tutti_comm *comm, tt_wait_policy *p, int peer);

/* ---- stragglers (straggler.c) ---- */

/* An operation has waited `waited` us for `peer` in this step; or a message has. If it is time,
 * warns once, or breaks the communicator (TUTTI_TIMEOUT), and names the straggler. */
void tt_report_straggler(tutti_comm *comm, tt_wait_policy *p, uint64_t waited, int peer,
                         const tt_operation *o, uint32_t step);
void tt_report_late_message(tutti_comm *comm, tt_wait_policy *p, uint64_t waited,
                            const tt_p2p_message *m);
/* The rank whose last message of a finished operation has not left this process; -1: none. */
int tt_leaving_to(const tutti_comm *comm, const tt_operation *o);
void tt_report_leaving(tutti_comm *comm, tt_wait_policy *p, uint64_t waited, int peer,
                       const tt_operation *o);
/* A call waits for the device on which its vectors lie, since w->since: shows it, warns once; TUTTI_ERR_TIMEOUT at the time limit. */
tutti_status tt_report_device(const tutti_comm *comm, const tt_call *call, tt_long_wait *w);
/* tutti_comm_free waits for a peer that has to take what this rank sent. */
void tt_report_undelivered(tutti_comm *comm, tt_wait_policy *p, uint64_t waited, int peer);
enum { TT_RECALL = 15 }; /* how many operations back records are searched */

/* ---- failures (diagnose.c) ---- */

/* Breaks it with this thread's last error. */
void tt_break_by_error(tutti_comm *comm, tutti_status status);
/* Breaks it with the operation's error. */
void tt_break_operation(tutti_comm *comm, const tt_operation *o);
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

#endif
