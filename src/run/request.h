/* request.h - a call in flight: a collective, a message, or a request of several parts.
 *
 * Idea       A request has a table of functions, so that the code that drives requests does not depend on lists of buffers,
 *            exact sums or messages.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_REQUEST_H
#define TT_REQUEST_H

#include "plan_cache.h"

typedef enum tt_state { TT_IDLE, TT_QUEUED, TT_RUNNING, TT_COMPLETE } tt_state;

/* The functions of a kind of request. Each kind is a struct that starts with its tutti_request. */
typedef struct tt_request_ops {
  /* Starts or queues the request. */
  void (*issue)(tutti_request *r);
  /* Returns the next part of a queued request, to start in this slot, or NULL if no part can start now. Sets *last if it
   * is the last part. If the function is NULL, the request is its own only part. */
  tutti_request *(*next_part)(tutti_request *r, size_t place, bool *last);
  /* Copies the result of a part to the caller's buffer. NULL: it is already there. */
  void (*unpack)(tutti_request *part);
  /* Records that a part has completed. Returns true if the whole request has. Called only for requests with parts. */
  bool (*part_done)(tutti_request *whole);
  /* Frees the request. NULL: it is one piece of memory. */
  void (*free)(tutti_request *r);
  bool group; /* its parts may be messages */
} tt_request_ops;

struct tutti_request {
  const tt_request_ops *ops;
  tutti_comm *comm;
  tt_call call;
  tt_plan plan;      /* a copy, since the cache may drop the original */
  tt_code_wish wish; /* the call's own code, for plans that are made again (progress.c) */
  char tag[TT_WORDS]; /* the caller's tag; of a part: that of the whole request */
  bool persistent;
  _Atomic tt_state state; /* read before the communicator is entered */
  tutti_status status;
  uint64_t seq;
  struct tutti_request *next;  /* in the queue */
  tutti_request *whole;        /* the request that this one is a part of, or NULL */
  tt_p2p_message *message;     /* NULL: it is a collective */
  tt_staged *staged;           /* device memory that it represents, or NULL (device_call.c) */
  void *stream;  /* of the device; the call is ordered after the work enqueued on it so far */
  bool detached; /* the stream waits for it, instead of the caller (device_stream.c) */
  struct tutti_request *later; /* the next one that a stream waits for */
};

/* ---- collectives (request.c) ---- */

extern const tt_request_ops tt_collective_ops;
/* Starts or queues the request. The comm is entered. */
void tt_request_issue(tutti_request *request);
/* Completes a request with this status, and the one that it is a part of if all its parts have completed. */
void tt_request_complete(tutti_request *request, tutti_status status);
/* For tt_request_ops: appends the request to the queue, and starts queued requests that can start. */
void tt_request_enqueue(tutti_request *request);
/* Waits until the request completes; returns its status. If interrupted, returns
 * TUTTI_ERR_INTERRUPTED and breaks the communicator for all ranks. The comm is entered. */
tutti_status tt_request_finish(tutti_request *request);
/* Like tt_request_finish, but if it is interrupted, returns false, and the request continues. If `deaf`, ignores
 * interrupts. */
bool tt_request_await(tutti_request *request, bool deaf);
/* Keeps a copy of the call's tag, which may be NULL. */
void tt_request_tag(tutti_request *request, const char *tag);
/* Frees a request that is not in flight. */
void tt_request_drop(tutti_request *request);

/* ---- vectors on a device (device_call.c) ---- */

/* If a vector of the checked call is on a device, *hosted is the same call on host memory, and *staged its copies in and
 * out. Otherwise *staged is NULL, and *hosted is unchanged. */
tutti_status tt_device_call(tutti_comm *comm, const char *function, const tt_call *call,
                            bool in_place, tt_call *hosted, tt_staged **staged);
/* As above, for a list. Allocates the arrays of *hosted, which tt_device_list_free frees. */
tutti_status tt_device_list(tutti_comm *comm, const char *function, const tt_list *list,
                            tt_list *hosted, tt_staged **staged);
void tt_device_list_free(tt_list *hosted);
/* Returns the number of bytes that a call reads and writes on this rank. */
size_t tt_call_bytes(const tutti_comm *comm, const tt_call *call);
bool tt_call_on_device(const tt_call *call); /* one of its vectors lies on a device */
/* device_way.c: returns true if a sum by kernels is cheaper, or if that is not known yet. */
bool tt_kernels_pay(const tutti_comm *comm, const tt_call *call, const tt_plan *plan);
/* Decides whether kernels or the host sum a call whose plan takes `seconds` on host vectors. The process has a device. */
tutti_status tt_device_way_of(tutti_comm *comm, const tt_call *call, const tt_plan_spec *plan,
                              double seconds, tt_device_way *way);
/* Called when a run of the request starts: its input is being copied, or has arrived. A device that fails breaks the comm. */
void tt_device_begin(tutti_request *r);
/* Ends a run that has completed with this status. Returns this status, or that of the copies if they failed. */
tutti_status tt_device_end(tutti_request *r, tutti_status status);

/* ---- exact sums (exact.c) ---- */

/* Creates the request of a checked call, or of a list whose hash is `also`. The comm is entered. */
tutti_status tt_exact_new(tutti_comm *comm, const char *function, const tt_call *call,
                          tutti_request **whole);
tutti_status tt_exact_list(tutti_comm *comm, const char *function, const tt_list *list,
                           uint32_t also, tutti_request **whole);

#endif
