/* comm_view.h - what other rooms do with a communicator without seeing inside it (comm.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_COMM_VIEW_H
#define TT_COMM_VIEW_H

#include "choose.h"
#include "engine.h"
#include "p2p.h"

enum { TT_WHY = 320 };

tutti_contract tt_comm_contract(const tutti_comm *comm);
/* Does every call on it fail? */
bool tt_comm_failed(const tutti_comm *comm);
tt_chooser *tt_chooser_for(const tutti_comm *comm, const tt_call *call);
/* Formats a call: "allreduce of 10 int64, sum" (diagnose.c). */
int tt_record_words(const tt_record *r, char *text, size_t size);

/* ---- tutti's own collectives (gather.c) ---- */

/* All-gather of `bytes` per rank; helpers contribute too. */
tutti_status tt_gather(tutti_comm *comm, const char *who, const void *src, void *dst, size_t bytes);
/* Broadcast from rank 0; `who` is the caller's name in error messages. */
tutti_status tt_broadcast(tutti_comm *comm, const char *who, void *bytes, size_t n);

/* ---- requests (request.c) ---- */

/* Makes a request, started or idle; `ready` checks the arguments `what` and creates it. */
typedef tutti_status tt_ready_fn(tutti_comm *comm, const char *function, const void *what,
                                 tutti_request **request);
tutti_status tt_request_make(tutti_comm *comm, const char *function, tt_ready_fn *ready,
                             const void *what, bool persistent, tutti_request **request);
/* Waits until a started request completes, frees it and returns its status; as tt_request_finish. The comm is not entered. */
tutti_status tt_request_end(tutti_request **request);

/* ---- messages (message.c) ---- */

/* Sends or receives, and waits until the caller may use its memory, which it has checked. */
tutti_status tt_message_run(tutti_comm *comm, const char *function, const tt_p2p_message *what);
/* A tt_ready_fn: `what` is a tt_p2p_message. */
tutti_status tt_message_new(tutti_comm *comm, const char *function, const void *what,
                            tutti_request **request);

#endif
