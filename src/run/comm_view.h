/* comm_view.h - operations on a communicator, for code that does not access its fields (comm.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_COMM_VIEW_H
#define TT_COMM_VIEW_H

#include "choose.h"
#include "engine.h"
#include "p2p.h"

enum { TT_WHY = 320 };

/* ---- entering and leaving (enter.c) ---- */

/* Enters a communicator. Only one thread at a time may be inside. A communicator that has failed cannot be entered. */
tutti_status tt_comm_enter(tutti_comm *comm, const char *function);
void tt_comm_leave(tutti_comm *comm);
/* Handles the status of a local step that every rank executes. If memory ran out here, breaks the communicator, because the other
 * ranks cannot detect this and would wait for this rank (diagnose.c). */
tutti_status tt_break_if_memory(tutti_comm *comm, tutti_status status);

/* ---- properties (comm_view.c) ---- */

tutti_contract tt_comm_contract(const tutti_comm *comm);
/* Returns the codes that messages may use. The call's own setting takes precedence over that of the communicator. */
const tt_code_wish *tt_call_wish(const tutti_comm *comm, const tt_call *call);
tt_code_wish tt_comm_wish(const tutti_comm *comm);
const tt_override *tt_comm_override(const tutti_comm *comm);
int tt_comm_helpers(const tutti_comm *comm); /* number of helpers */
/* Returns the plans that the user requires or excludes. The call's own setting takes precedence over that of the communicator. */
const tt_override *tt_call_override(const tutti_comm *comm, const tt_call *call);
/* Returns true if the communicator has failed, so that every call on it returns an error. */
bool tt_comm_failed(const tutti_comm *comm);
/* Returns true if the call is a sum that would normally round, but must be exact under the contract 'exact'. */
bool tt_call_is_exact(const tutti_comm *comm, const tt_call *call);
/* Describes a call as a schedule without steps, which has only the ranks that take part and the blocks of the vector. */
tt_sched tt_call_outline(const tutti_comm *comm, const tt_call *call);
/* Returns the call that implements a barrier. It is an allreduce of one byte, and its result is ignored. If comm is NULL, the
 * call has no buffer. */
tt_call tt_barrier_call(tutti_comm *comm);
tt_chooser *tt_chooser_for(const tutti_comm *comm, const tt_call *call);
/* Describes a recorded call in words, such as "allreduce of 10 int64, sum" (diagnose.c). */
int tt_record_words(const tt_record *r, char *text, size_t size);

/* Returns true if other ranks can directly read and write the caller's memory at this address. */
bool tt_comm_exports(const tutti_comm *comm, const void *at);
/* Allocates memory that replaces the caller's buffers in a trial. If `exportable`, other ranks can read this memory as they can
 * read the caller's. Returns NULL if there is not enough memory for all ranks of this node. */
char *tt_trial_take(tutti_comm *comm, size_t bytes, bool exportable);
void tt_trial_give(tutti_comm *comm, char *memory, bool exportable);

/* ---- blocking calls (blocking.c) ---- */

/* Checks the arguments of a call. Sets *in_place to whether the call is in place. */
typedef tutti_status tt_check_fn(tutti_comm *comm, const char *function, const tt_call *call,
                                 bool *in_place);
/* Runs a blocking call, including entering and leaving the communicator. A call that equals a recent call is neither checked nor
 * planned again. */
tutti_status tt_call_block(tutti_comm *comm, const char *function, const tt_call *call,
                           tt_check_fn *check);

/* ---- tutti's own collectives (gather.c) ---- */

/* Runs an internal call, to which helpers contribute data too. The caller has entered the communicator. */
tutti_status tt_call_own(tutti_comm *comm, tt_call call, bool in_place);
/* Gathers `bytes` bytes from every rank, including helpers, on all ranks. */
tutti_status tt_gather(tutti_comm *comm, const char *who, const void *src, void *dst, size_t bytes);
/* Gathers `bytes` bytes from every rank on rank 0, where dst has room for the data of all ranks. */
tutti_status tt_gather_first(tutti_comm *comm, const char *who, const void *src, void *dst,
                             size_t bytes);
/* Broadcasts n bytes from rank `root`. `who` is the name of the calling function in error messages. */
tutti_status tt_broadcast(tutti_comm *comm, const char *who, int root, void *bytes, size_t n);

/* ---- requests (request.c) ---- */

/* Creates a request with `ready`, which also checks the arguments in `what`. Starts the request unless it is persistent. */
typedef tutti_status tt_ready_fn(tutti_comm *comm, const char *function, const void *what,
                                 tutti_request **request);
tutti_status tt_request_make(tutti_comm *comm, const char *function, tt_ready_fn *ready,
                             const void *what, bool persistent, tutti_request **request);
/* Creates the request for a call that the caller has checked. Functions of type tt_ready_fn use it. */
tutti_status tt_collective_new(tutti_comm *comm, const char *function, const tt_call *call,
                               bool in_place, tutti_request **request);
/* Enters the communicator, waits for a started request, and frees it. Returns its status. An interrupt breaks the
 * communicator. */
tutti_status tt_request_end(tutti_request **request);

/* ---- vectors on a device (device_call.c) ---- */

/* Frees the host memory and the lanes that calls on device vectors keep for reuse. */
void tt_device_calls_free(tutti_comm *comm);
enum { TT_STREAM_CALLS = 8 }; /* maximum number of calls that streams wait for */
/* Enters the communicator, starts a call in stream order, and leaves. The stream waits for the call (device_stream.c). */
tutti_status tt_call_on_stream(tutti_comm *comm, const char *function, const tt_call *call,
                               void *stream, tt_check_fn *check);
/* Waits until no stream is waiting for a call on this communicator. The caller has entered the communicator. */
tutti_status tt_streams_wait(tutti_comm *comm, const char *function);
void tt_streams_drop(tutti_comm *comm); /* called when it is destroyed */
/* Called when a communicator starts or stops needing the progress thread. The process's lock is not held. */
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
/* Creates the request for a list that the caller has checked. Functions of type tt_ready_fn use it. */
tutti_status tt_list_new(tutti_comm *comm, const char *function, const tt_list *list,
                         tutti_request **whole);

/* ---- groups (call_group.c) ---- */

/* Opens a group. Blocking calls in an open group are kept until the group ends. */
tutti_status tt_group_begin(tutti_comm *comm, const char *function);
bool tt_group_open(const tutti_comm *comm);
/* Adds a call to the open group. The caller has checked the call and entered the communicator. */
tutti_status tt_group_keep_call(tutti_comm *comm, const char *function, const tt_call *call,
                                bool in_place);
/* Adds a message to the open group. The function `ready` creates the message from `what`. */
tutti_status tt_group_keep(tutti_comm *comm, const char *function, tt_ready_fn *ready,
                           const void *what);
/* Closes the group and starts all of its calls as one request. Sets *request to NULL if the group has no calls. The function
 * `ready` checks a tt_list and creates its request. */
tutti_status tt_group_end(tutti_comm *comm, const char *function, tt_ready_fn *ready,
                          tutti_request **request);
/* Discards the open group, together with all calls that it has kept. */
void tt_group_drop(tutti_comm *comm);

/* ---- messages (message.c) ---- */

/* Sends or receives a message, and waits until the caller may reuse the buffer. The address has been checked. */
tutti_status tt_message_run(tutti_comm *comm, const char *function, const tt_p2p_message *what);
/* A function of type tt_ready_fn that creates the request for a message. `what` points to a tt_p2p_message. */
tutti_status tt_message_new(tutti_comm *comm, const char *function, const void *what,
                            tutti_request **request);

#endif
