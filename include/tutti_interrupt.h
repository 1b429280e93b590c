/* tutti_interrupt.h - ends waits early, for example on Ctrl-C. A part of tutti.h, which includes
 * it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_INTERRUPT_H
#define TUTTI_INTERRUPT_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A function that decides whether the calling thread continues to wait. It returns 0 to continue; any other number ends the
 *  wait. */
typedef int tutti_interrupt_fn(void *ctx);

/** Make the calling thread call `fn` about 50 times per second while it waits for other ranks, in any call. NULL, the
 *  default, disables this. Only one thread of a process has such a function: the last one that called this. It is meant for
 *  interpreters, which run signal handlers only when they get control.
 *  If `fn` ends the wait, the call returns TUTTI_ERR_INTERRUPTED, and
 *    tutti_request_wait, tutti_bucket_wait, tutti_buckets_wait and tutti_comm_free change nothing: the
 *    operations continue, and you may wait for them again;
 *    a call that creates a communicator, but not from another one (tutti_comm_from_env, _create), creates none;
 *    every other call cannot be undone, so its communicator is aborted on all ranks. They get
 *    TUTTI_ERR_ABORTED: "rank 1 aborted: it was interrupted while it waited in recv". */
TUTTI_API void tutti_interrupt_set(tutti_interrupt_fn *fn, void *ctx);

/** Call the function that the calling thread has set with tutti_interrupt_set. Returns 1 if it ends the wait, otherwise 0.
 *  Useful in code that waits for other ranks without tutti, for example in a store or a launcher. */
TUTTI_API int tutti_interrupted(void);

/** For Python bindings: a METH_VARARGS function whose `self` is a pair (function, list). It calls the
 *  function with `args`; the caller holds the GIL. It is needed because a signal handler may raise in a
 *  callback before the function's first line, where no `except` catches it; with this function, no
 *  exception is lost. If the pair's second item is a list, the exception is appended to it, and the result
 *  is 1. If it is None, the function is called once more, and the main thread raises the exception as soon
 *  as it returns to Python. Returns the function's result. */
TUTTI_API void *tutti_python_guard(void *self, void *args);

#ifdef __cplusplus
}
#endif
#endif
