/* request.h - a call in flight: a collective, a message, or a request of several parts.
 *
 * Idea       A request has a table of functions, so that the code that drives requests does not depend on lists of buffers,
 *            exact sums or messages.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_REQUEST_H
#define TT_REQUEST_H

#include "plan_cache.h"

typedef enum tt_state { TT_IDLE, TT_QUEUED, TT_RUNNING, TT_COMPLETE } tt_state;

/* The functions of one kind of request. Each kind is a struct whose first member is a tutti_request. */
typedef struct tt_request_ops {
  /* Starts the request, or adds it to the queue. */
  void (*issue)(tutti_request *r);
  /* Returns the next part of a queued request, which will start in this slot. Returns NULL if no part can start now. Sets *last
   * for the last part. If the function pointer is NULL, the request has only one part, which is the request itself. */
  tutti_request *(*next_part)(tutti_request *r, size_t place, bool *last);
  /* Copies the result of a part to the caller's buffer. The function pointer is NULL if the result is already there. */
  void (*unpack)(tutti_request *part);
  /* Records that a part has completed. Returns true if all parts have. Called only for requests with several parts. */
  bool (*part_done)(tutti_request *whole);
  /* Frees the request. The function pointer is NULL if free() is enough. */
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
/* Starts the request, or adds it to the queue. The caller has entered the communicator. */
void tt_request_issue(tutti_request *request);
/* Completes a request with this status. If all parts of a larger request have now completed, completes that request too. */
void tt_request_complete(tutti_request *request, tutti_status status);
/* Adds the request to the queue, and starts all queued requests that can start. Serves as a function in tt_request_ops. */
void tt_request_enqueue(tutti_request *request);
/* Waits until the request completes, and returns its status. If interrupted, returns TUTTI_ERR_INTERRUPTED and breaks the
 * communicator on all ranks. The caller has entered the communicator. */
tutti_status tt_request_finish(tutti_request *request);
/* Waits until the request completes. If interrupted, returns false, and the request continues. If `deaf`, ignores interrupts. */
bool tt_request_await(tutti_request *request, bool deaf);
/* Stores a copy of the call's tag in the request. The tag may be NULL. */
void tt_request_tag(tutti_request *request, const char *tag);
/* Frees a request that is not in flight. */
void tt_request_drop(tutti_request *request);

/* ---- vectors on a device (device_call.c) ---- */

/* If the call has a vector on a device, sets *hosted to the same call on host memory, and *staged to the copies between the two.
 * Otherwise sets *staged to NULL, and leaves *hosted unchanged. */
tutti_status tt_device_call(tutti_comm *comm, const char *function, const tt_call *call,
                            bool in_place, tt_call *hosted, tt_staged **staged);
/* If a list has buffers on a device, sets *hosted to a copy of the list in host memory, and *staged to the transfers. Otherwise
 * sets *staged to NULL. tt_device_list_free frees the arrays of *hosted. */
tutti_status tt_device_list(tutti_comm *comm, const char *function, const tt_list *list,
                            tt_list *hosted, tt_staged **staged);
void tt_device_list_free(tt_list *hosted);
/* Returns the number of bytes that a call reads and writes on this rank, in total. */
size_t tt_call_bytes(const tutti_comm *comm, const tt_call *call);
bool tt_call_on_device(const tt_call *call); /* one of its vectors lies on a device */
/* device_way.c: Returns true if kernels are cheaper than the host for a sum, or if that is not known yet. */
bool tt_kernels_pay(const tutti_comm *comm, const tt_call *call, const tt_plan *plan);
/* Decides whether kernels or the host sum a call. `seconds` is the time of the plan on host vectors. The process has a device. */
tutti_status tt_device_way_of(tutti_comm *comm, const tt_call *call, const tt_plan_spec *plan,
                              double seconds, tt_device_way *way);
/* Called when a request on device vectors starts. Its input is being copied, or has arrived. Breaks the comm on failure. */
void tt_device_begin(tutti_request *r);
/* Called when a request on device vectors has completed. Returns `status`, or the error of the copies if they failed. */
tutti_status tt_device_end(tutti_request *r, tutti_status status);

/* ---- exact sums (exact.c) ---- */

/* Creates the request for an exact sum of one vector, or of a list whose hash is `also`. The caller has entered the
 * communicator. */
tutti_status tt_exact_new(tutti_comm *comm, const char *function, const tt_call *call,
                          tutti_request **whole);
tutti_status tt_exact_list(tutti_comm *comm, const char *function, const tt_list *list,
                           uint32_t also, tutti_request **whole);

#endif
