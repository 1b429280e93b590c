/* tutti_interrupt.h - waits that end early, as by Ctrl-C. A part of tutti.h, which includes it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_INTERRUPT_H
#define TUTTI_INTERRUPT_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Is the calling thread to wait no longer? Not 0: it is not. */
typedef int tutti_interrupt_fn(void *ctx);

/** From now on the calling thread asks `fn` some 50 times a second while it waits for other ranks, in
 *  any call; NULL (the default): no function is asked. One thread of a process asks at a time: the last that
 *  called this. For interpreters, whose handlers of signals run only when somebody asks for them.
 *  If `fn` says that the wait is to end, the call returns TUTTI_ERR_INTERRUPTED, and
 *    tutti_request_wait, tutti_bucket_wait, tutti_buckets_wait and tutti_comm_free leave everything as
 *    it was: what runs goes on, and may be waited for again;
 *    a call that makes a communicator of no other (tutti_comm_from_env, _create) makes none;
 *    every other call cannot be taken back: its communicator is aborted on all ranks, which hear
 *    TUTTI_ERR_ABORTED: "rank 1 aborted: it was interrupted while it waited in recv". */
TUTTI_API void tutti_interrupt_set(tutti_interrupt_fn *fn, void *ctx);

/** Asks now, on behalf of the calling thread: 1 if it is to wait no longer, else 0. For who waits for
 *  other ranks by other means: a store, a gather, a launcher. */
TUTTI_API int tutti_interrupted(void);

/** For bindings of Python: a METH_VARARGS function, whose `self` is a pair (function, list). It calls
 *  the function with these arguments (both are objects of Python, and its lock is held). In callbacks
 *  a handler of a signal may raise before the function's first line, where no handler catches it; here
 *  nothing that is raised is lost. If the second of the pair is a list, the exception is appended, and
 *  the result is 1. If it is None, the function is called once more, and the main thread raises the
 *  exception as soon as it is back in Python. Returns the function's result. */
TUTTI_API void *tutti_python_guard(void *self, void *args);

#ifdef __cplusplus
}
#endif
#endif
