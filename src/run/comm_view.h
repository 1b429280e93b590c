/* comm_view.h - what other rooms do with a communicator without seeing inside it (comm.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_COMM_VIEW_H
#define TT_COMM_VIEW_H

#include "choose.h"
#include "engine.h"
#include "p2p.h"

enum { TT_WHY = 320 };

/* ---- entering and leaving (enter.c) ---- */

/* One thread at a time is inside; a communicator that has failed is not entered. */
tutti_status tt_comm_enter(tutti_comm *comm, const char *function);
void tt_comm_leave(tutti_comm *comm);
/* Takes the status of a local step that peers also execute. Peers cannot detect TUTTI_ERR_MEMORY here, so it breaks the
 * communicator; otherwise they would wait for this rank (diagnose.c). */
tutti_status tt_break_if_memory(tutti_comm *comm, tutti_status status);

/* ---- its properties (comm_view.c) ---- */

tutti_contract tt_comm_contract(const tutti_comm *comm);
/* How messages may be coded: the call's own argument, or the communicator's setting. */
const tt_code_wish *tt_call_wish(const tutti_comm *comm, const tt_call *call);
tt_code_wish tt_comm_wish(const tutti_comm *comm);
const tt_override *tt_comm_override(const tutti_comm *comm);
int tt_comm_helpers(const tutti_comm *comm); /* how many ranks help */
/* The call's own; else the communicator's. */
const tt_override *tt_call_override(const tutti_comm *comm, const tt_call *call);
/* Does every call on it fail? */
bool tt_comm_failed(const tutti_comm *comm);
/* Is it a sum that would round, under the contract 'exact'? */
bool tt_call_is_exact(const tutti_comm *comm, const tt_call *call);
/* A call as a schedule without steps: the ranks that take part, and its blocks. */
tt_sched tt_call_outline(const tutti_comm *comm, const tt_call *call);
/* A barrier is an allreduce of one byte whose result is ignored. comm NULL: without the byte. */
tt_call tt_barrier_call(tutti_comm *comm);
tt_chooser *tt_chooser_for(const tutti_comm *comm, const tt_call *call);
/* Formats a call: "allreduce of 10 int64, sum" (diagnose.c). */
int tt_record_words(const tt_record *r, char *text, size_t size);

/* Can peers access the caller's memory directly, and write to it? */
bool tt_comm_exports(const tutti_comm *comm, const void *at);
/* Memory that replaces the caller's in a trial; exportable: like the caller's, peers can read it. NULL: memory does not
 * suffice for all ranks of this node. */
char *tt_trial_take(tutti_comm *comm, size_t bytes, bool exportable);
void tt_trial_give(tutti_comm *comm, char *memory, bool exportable);

/* ---- blocking calls (blocking.c) ---- */

/* Checks the arguments of a call. *in_place: whether they are in place. */
typedef tutti_status tt_check_fn(tutti_comm *comm, const char *function, const tt_call *call,
                                 bool *in_place);
/* Runs a call from entering to leaving. One that equals the last one is neither checked nor
 * planned again. */
tutti_status tt_call_block(tutti_comm *comm, const char *function, const tt_call *call,
                           tt_check_fn *check);

/* ---- tutti's own collectives (gather.c) ---- */

/* Runs a call in which helpers contribute data, too. The comm is entered. */
tutti_status tt_call_own(tutti_comm *comm, tt_call call, bool in_place);
/* All-gather of `bytes` per rank; helpers contribute too. */
tutti_status tt_gather(tutti_comm *comm, const char *who, const void *src, void *dst, size_t bytes);
/* Gather of `bytes` per rank to rank 0, where dst has room for all. */
tutti_status tt_gather_first(tutti_comm *comm, const char *who, const void *src, void *dst,
                             size_t bytes);
/* Broadcast from rank 0; `who` is the caller's name in error messages. */
tutti_status tt_broadcast(tutti_comm *comm, const char *who, int root, void *bytes, size_t n);

/* ---- requests (request.c) ---- */

/* Makes a request, started or idle; `ready` checks the arguments `what` and creates it. */
typedef tutti_status tt_ready_fn(tutti_comm *comm, const char *function, const void *what,
                                 tutti_request **request);
tutti_status tt_request_make(tutti_comm *comm, const char *function, tt_ready_fn *ready,
                             const void *what, bool persistent, tutti_request **request);
/* For a tt_ready_fn: creates the request of a checked call. */
tutti_status tt_collective_new(tutti_comm *comm, const char *function, const tt_call *call,
                               bool in_place, tutti_request **request);
/* Waits until a started request completes, frees it and returns its status; as tt_request_finish. The comm is not entered. */
tutti_status tt_request_end(tutti_request **request);

/* ---- vectors on a device (device_call.c) ---- */

/* Gives back the host memory and the lanes that such calls keep. */
void tt_device_calls_free(tutti_comm *comm);
enum { TT_STREAM_CALLS = 8 }; /* calls that streams wait for, at most */
/* Runs a call in the order of a stream, which waits for it, from entering to leaving (device_stream.c). */
tutti_status tt_call_on_stream(tutti_comm *comm, const char *function, const tt_call *call,
                               void *stream, tt_check_fn *check);
/* Waits until no stream waits for the communicator; it is entered. */
tutti_status tt_streams_wait(tutti_comm *comm, const char *function);
void tt_streams_drop(tutti_comm *comm); /* when it is destroyed */
/* One more communicator needs the progress thread, or one less. The process's lock is not held. */
void tt_thread_want(bool on);

/* ---- lists (list.c) ---- */

/* A list of buffers that are summed as one operation. */
typedef struct tt_list {
  size_t n;
  const void *const *srcs;
  void *const *dsts;
  const size_t *counts;
  tutti_type type;
  tutti_op op;
  const char *tag; /* as of a tt_call */
} tt_list;
/* For a tt_ready_fn: creates the request of a checked list. */
tutti_status tt_list_new(tutti_comm *comm, const char *function, const tt_list *list,
                         tutti_request **whole);

/* ---- groups (call_group.c) ---- */

/* From now on blocking calls are kept. */
tutti_status tt_group_begin(tutti_comm *comm, const char *function);
bool tt_group_open(const tutti_comm *comm);
/* Keeps a checked call; the comm is entered. */
tutti_status tt_group_keep_call(tutti_comm *comm, const char *function, const tt_call *call,
                                bool in_place);
/* Keeps the message that `ready` makes of `what`. */
tutti_status tt_group_keep(tutti_comm *comm, const char *function, tt_ready_fn *ready,
                           const void *what);
/* Starts all that was kept, as one request; NULL: nothing was. ready: makes the request of a tt_list, and checks it. */
tutti_status tt_group_end(tutti_comm *comm, const char *function, tt_ready_fn *ready,
                          tutti_request **request);
/* Forgets what was kept. */
void tt_group_drop(tutti_comm *comm);

/* ---- messages (message.c) ---- */

/* Sends or receives, and waits until the caller may use its memory, which it has checked. */
tutti_status tt_message_run(tutti_comm *comm, const char *function, const tt_p2p_message *what);
/* A tt_ready_fn: `what` is a tt_p2p_message. */
tutti_status tt_message_new(tutti_comm *comm, const char *function, const void *what,
                            tutti_request **request);

#endif
