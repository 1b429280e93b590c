/* comm_view.h - operations on a communicator, for code that does not access its fields (comm.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_COMM_VIEW_H
#define TT_COMM_VIEW_H

#include "choose.h"
#include "engine.h"
#include "p2p.h"

enum { TT_WHY = 320 };

/* ---- entering and leaving (enter.c) ---- */

/* Only one thread at a time may be inside. A communicator that has failed cannot be entered. */
tutti_status tt_comm_enter(tutti_comm *comm, const char *function);
void tt_comm_leave(tutti_comm *comm);
/* Takes the status of a local step that peers also execute. TUTTI_ERR_MEMORY breaks the communicator, because peers cannot
 * detect it here and would wait for this rank (diagnose.c). */
tutti_status tt_break_if_memory(tutti_comm *comm, tutti_status status);

/* ---- properties (comm_view.c) ---- */

tutti_contract tt_comm_contract(const tutti_comm *comm);
/* The codes that messages may use: the call's own argument, or the communicator's setting. */
const tt_code_wish *tt_call_wish(const tutti_comm *comm, const tt_call *call);
tt_code_wish tt_comm_wish(const tutti_comm *comm);
const tt_override *tt_comm_override(const tutti_comm *comm);
int tt_comm_helpers(const tutti_comm *comm); /* number of helpers */
/* The call's own argument, or the communicator's setting. */
const tt_override *tt_call_override(const tutti_comm *comm, const tt_call *call);
/* Returns true if every call on it fails. */
bool tt_comm_failed(const tutti_comm *comm);
/* Returns true if the call is a sum that would round, under the contract 'exact'. */
bool tt_call_is_exact(const tutti_comm *comm, const tt_call *call);
/* A call as a schedule without steps: the ranks that take part, and its blocks. */
tt_sched tt_call_outline(const tutti_comm *comm, const tt_call *call);
/* A barrier is an allreduce of one byte whose result is ignored. If comm is NULL, the call has no buffer. */
tt_call tt_barrier_call(tutti_comm *comm);
tt_chooser *tt_chooser_for(const tutti_comm *comm, const tt_call *call);
/* Formats a call: "allreduce of 10 int64, sum" (diagnose.c). */
int tt_record_words(const tt_record *r, char *text, size_t size);

/* Returns true if peers can access the caller's memory directly, and write to it. */
bool tt_comm_exports(const tutti_comm *comm, const void *at);
/* Memory that replaces the caller's in a trial. If `exportable`, peers can read it like the caller's. Returns NULL if memory
 * does not suffice for all ranks of this node. */
char *tt_trial_take(tutti_comm *comm, size_t bytes, bool exportable);
void tt_trial_give(tutti_comm *comm, char *memory, bool exportable);

/* ---- blocking calls (blocking.c) ---- */

/* Checks the arguments of a call. Sets *in_place to whether the call is in place. */
typedef tutti_status tt_check_fn(tutti_comm *comm, const char *function, const tt_call *call,
                                 bool *in_place);
/* Enters the comm, runs a call, and leaves the comm. A call that equals a recent one is neither checked nor planned
 * again. */
tutti_status tt_call_block(tutti_comm *comm, const char *function, const tt_call *call,
                           tt_check_fn *check);

/* ---- tutti's own collectives (gather.c) ---- */

/* Runs a call in which helpers contribute data, too. The comm is entered. */
tutti_status tt_call_own(tutti_comm *comm, tt_call call, bool in_place);
/* All-gather of `bytes` per rank, including helpers. */
tutti_status tt_gather(tutti_comm *comm, const char *who, const void *src, void *dst, size_t bytes);
/* Gather of `bytes` per rank to rank 0, where dst has room for all. */
tutti_status tt_gather_first(tutti_comm *comm, const char *who, const void *src, void *dst,
                             size_t bytes);
/* Broadcast of n bytes from `root`. `who` is the caller's name in error messages. */
tutti_status tt_broadcast(tutti_comm *comm, const char *who, int root, void *bytes, size_t n);

/* ---- requests (request.c) ---- */

/* Creates a request, and starts it unless it is persistent. `ready` checks the arguments `what` and creates the request. */
typedef tutti_status tt_ready_fn(tutti_comm *comm, const char *function, const void *what,
                                 tutti_request **request);
tutti_status tt_request_make(tutti_comm *comm, const char *function, tt_ready_fn *ready,
                             const void *what, bool persistent, tutti_request **request);
/* For a tt_ready_fn: creates the request of a checked call. */
tutti_status tt_collective_new(tutti_comm *comm, const char *function, const tt_call *call,
                               bool in_place, tutti_request **request);
/* Like tt_request_finish for a started request, but also frees the request. The comm is not entered. */
tutti_status tt_request_end(tutti_request **request);

/* ---- vectors on a device (device_call.c) ---- */

/* Frees the host memory and the lanes that such calls keep. */
void tt_device_calls_free(tutti_comm *comm);
enum { TT_STREAM_CALLS = 8 }; /* maximum number of calls that streams wait for */
/* Enters the comm, runs a call in the order of a stream, which waits for it, and leaves the comm (device_stream.c). */
tutti_status tt_call_on_stream(tutti_comm *comm, const char *function, const tt_call *call,
                               void *stream, tt_check_fn *check);
/* Waits until no stream waits for a call of this communicator. The comm is entered. */
tutti_status tt_streams_wait(tutti_comm *comm, const char *function);
void tt_streams_drop(tutti_comm *comm); /* called when it is destroyed */
/* Called when one more communicator needs the progress thread, or one less. The process's lock is not held. */
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
  const char *tag; /* as in tt_call */
} tt_list;
/* For a tt_ready_fn: creates the request of a checked list. */
tutti_status tt_list_new(tutti_comm *comm, const char *function, const tt_list *list,
                         tutti_request **whole);

/* ---- groups (call_group.c) ---- */

/* Opens a group, in which blocking calls are kept. */
tutti_status tt_group_begin(tutti_comm *comm, const char *function);
bool tt_group_open(const tutti_comm *comm);
/* Keeps a checked call; the comm is entered. */
tutti_status tt_group_keep_call(tutti_comm *comm, const char *function, const tt_call *call,
                                bool in_place);
/* Keeps the message that `ready` creates from `what`. */
tutti_status tt_group_keep(tutti_comm *comm, const char *function, tt_ready_fn *ready,
                           const void *what);
/* Closes the group, and starts all kept calls as one request, or sets *request to NULL if no call was kept. `ready` checks a
 * tt_list, and creates its request. */
tutti_status tt_group_end(tutti_comm *comm, const char *function, tt_ready_fn *ready,
                          tutti_request **request);
/* Drops the group, with all kept calls. */
void tt_group_drop(tutti_comm *comm);

/* ---- messages (message.c) ---- */

/* Sends or receives a message, and waits until the caller may use its memory again. The caller has checked that memory. */
tutti_status tt_message_run(tutti_comm *comm, const char *function, const tt_p2p_message *what);
/* A tt_ready_fn. `what` points to a tt_p2p_message. */
tutti_status tt_message_new(tutti_comm *comm, const char *function, const void *what,
                            tutti_request **request);

#endif
