/* request.h - a call in flight: a collective, a message, or one of several parts.
 *
 * Idea       a request has a table of functions, so that what drives requests knows neither lists
 *            of buffers nor exact sums nor messages.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_REQUEST_H
#define TT_REQUEST_H

#include "plan_cache.h"

typedef enum tt_state { TT_IDLE, TT_QUEUED, TT_RUNNING, TT_COMPLETE } tt_state;

/* What a kind of request does. Each kind is a struct that begins with its tutti_request. */
typedef struct tt_request_ops {
  /* Starts or queues it. */
  void (*issue)(tutti_request *r);
  /* The next part of a queued request, to start in this slot; NULL: no part can start now. *last: it was the
   * last part. A NULL function: the request is its own only part. */
  tutti_request *(*next_part)(tutti_request *r, size_t place, bool *last);
  /* Copies the result of a part out. NULL: it is already in the caller's buffer. */
  void (*unpack)(tutti_request *part);
  /* Records that a part has completed; returns whether the whole has completed. Called for wholes only. */
  bool (*part_done)(tutti_request *whole);
  /* Frees it. NULL: it is one piece of memory. */
  void (*free)(tutti_request *r);
  bool group; /* its parts may be messages */
} tt_request_ops;

struct tutti_request {
  const tt_request_ops *ops;
  tutti_comm *comm;
  tt_call call;
  tt_plan plan;      /* a copy, since the cache may drop the original */
  tt_code_wish wish; /* the call's own code, for plans that are made again (progress.c) */
  char tag[TT_WORDS]; /* the caller's word for it; of a part: its whole's */
  bool persistent;
  _Atomic tt_state state; /* read before the communicator is entered */
  tutti_status status;
  uint64_t seq;
  struct tutti_request *next;  /* in the queue */
  tutti_request *whole;        /* the request that this is a part of; or NULL */
  tt_p2p_message *message;     /* NULL: a collective */
  tt_staged *staged;           /* device memory that it represents; or NULL (device_call.c) */
  void *stream;                /* of the device: the call is ordered after the work enqueued so far */
  bool detached;               /* the stream waits for it, not the caller (device_stream.c) */
  struct tutti_request *later; /* the next one that a stream waits for */
};

/* ---- collectives (request.c) ---- */

extern const tt_request_ops tt_collective_ops;
/* Starts or queues the request. The comm is entered. */
void tt_request_issue(tutti_request *request);
/* Ends a request, and the one that it is a part of, with this status. */
void tt_request_complete(tutti_request *request, tutti_status status);
/* For tt_request_ops: appends it to the queue, and starts what can start. */
void tt_request_enqueue(tutti_request *request);
/* Waits until the request completes; returns its status. If interrupted, returns
 * TUTTI_ERR_INTERRUPTED and breaks the communicator for all ranks. The comm is entered. */
tutti_status tt_request_finish(tutti_request *request);
/* As tt_request_finish, but returns false if interrupted, and the request continues. deaf: ignores
 * interrupts. */
bool tt_request_await(tutti_request *request, bool deaf);
/* Keeps a copy of the call's tag; NULL: it has none. */
void tt_request_tag(tutti_request *request, const char *tag);
/* Frees a request that is not in flight. */
void tt_request_drop(tutti_request *request);

/* ---- vectors on a device (device_call.c) ---- */

/* If a vector of the checked call is on a device: the same call on host memory, and its copies in and out; otherwise
 * *staged is NULL, and *hosted is the call. */
tutti_status tt_device_call(tutti_comm *comm, const char *function, const tt_call *call,
                            bool in_place, tt_call *hosted, tt_staged **staged);
/* The same for a list, whose hosted arrays `hosted` allocates: tt_device_list_free. */
tutti_status tt_device_list(tutti_comm *comm, const char *function, const tt_list *list,
                            tt_list *hosted, tt_staged **staged);
void tt_device_list_free(tt_list *hosted);
/* Bytes that a call reads and writes on this rank. */
size_t tt_call_bytes(const tutti_comm *comm, const tt_call *call);
bool tt_call_on_device(const tt_call *call); /* does a vector of it lie on a device? */
/* device_way.c: is a sum by kernels cheaper, as far as it is known? */
bool tt_kernels_pay(const tutti_comm *comm, const tt_call *call, const tt_plan *plan);
/* The way of a call whose plan takes `seconds` on vectors of the host. The process has a device. */
tutti_status tt_device_way_of(tutti_comm *comm, const tt_call *call, const tt_plan_spec *plan,
                              double seconds, tt_device_way *way);
/* A run of the request begins: its input is under way, or has come. A device that fails breaks the comm. */
void tt_device_begin(tutti_request *r);
/* The run is over with this status; returns that of the copies, too. */
tutti_status tt_device_end(tutti_request *r, tutti_status status);

/* ---- exact sums (exact.c) ---- */

/* Creates the request of a checked call, or of a list whose hash is `also`. The comm is entered. */
tutti_status tt_exact_new(tutti_comm *comm, const char *function, const tt_call *call,
                          tutti_request **whole);
tutti_status tt_exact_list(tutti_comm *comm, const char *function, const tt_list *list,
                           uint32_t also, tutti_request **whole);

#endif
