/* meet.h - the bootstrap: how ranks find each other before they have a communicator.
 *
 * Idea       A bootstrap (tt_meeting) is a sequence of gather rounds: each rank contributes a row of bytes, and
 *            receives the table of all rows (table.h). The ranks of a host connect to its agent (agent.c), and the
 *            agents form a tree below the rendezvous (rendezvous.c). A store or a gather function of the caller can
 *            be used instead (store.c).
 * Invariant  A round ends on all ranks within the time limit, and with the same status on all ranks that can be
 *            reached.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_MEET_H
#define TT_MEET_H

#include <pthread.h>

#include "core.h"
#include "hmac.h"
#include "table.h"
#include "tutti_create.h"

enum {
  TT_MEET_MOST = 1 << 20, /* maximum size of a row, in bytes */
  TT_MEET_RANKS = 1 << 20,
  TT_KEY = 32, /* number of characters */
  TT_HOSTS = 8 /* maximum number of addresses of a rendezvous */
};

typedef struct tt_meeting {
  int rank, ranks;
  double limit; /* time limit for the first round, in seconds; later rounds need no more */
  bool light;   /* a round is cheap even in a large job */
  bool keyed;   /* `key` is a secret shared by the job's ranks; otherwise it is not set */
  char key[TT_KEY];
  bool wide; /* build a network even for a single host: ranks on other hosts may join */
  /* Executes a round. mine: the row of this rank, which has `bytes` bytes; rows of different ranks may differ in size. If
   * `failed` is not TUTTI_OK, this rank cannot continue, and tutti_error() contains the reason; all ranks then get this
   * status and the reason. *all receives the rows of all ranks. The caller frees it with tt_table_drop. */
  tutti_status (*gather)(struct tt_meeting *m, tutti_status failed, const void *mine, size_t bytes,
                         tt_table *all);
  void (*end)(struct tt_meeting *m); /* may be NULL */
  void *self;
} tt_meeting;

/* A parsed id. */
typedef struct tt_rendezvous {
  int hosts;
  char host[TT_HOSTS][64];
  int port;
  char key[TT_KEY + 1];
  bool open;          /* anyone can compute the key: see tt_trusts */
  int ranks, joiners; /* number of ranks at the start of the job; number of joiners that its waiting
                         room (room.h) admits, or 0 */
} tt_rendezvous;

/* Parses an id. If it is malformed, returns TUTTI_ERR_ARG, with the reason in tutti_error. */
tutti_status tt_rendezvous_read(const char *text, tt_rendezvous *r);
/* Starts a thread that serves a rendezvous until all ranks have connected, or until the process ends. If r->port is 0, the system
 * chooses a port, which is stored there. If *r already has a key and hosts, they are kept. If `lasting`, the ranks may bootstrap
 * again after every rank has connected and left. The caller detaches *thread or passes it to tt_rendezvous_end. */
tutti_status tt_rendezvous_serve(tt_rendezvous *r, bool lasting, pthread_t *thread);
/* Waits until all peers have been notified of the failure, but at most 5 s. */
void tt_rendezvous_end(pthread_t thread);
/* Sets the key of a rendezvous to these bits, written as hexadecimal digits. */
void tt_rendezvous_key(tt_rendezvous *r, const unsigned char bits[TT_KEY / 2]);
void tt_rendezvous_write(const tt_rendezvous *r, tutti_id *id);

/* These functions create bootstraps. The caller frees them by calling `end`. host: ranks that pass the same number,
 * and share a network namespace of one host, share an agent. The first round opens the connection. */
tutti_status tt_meet_visit(const tt_rendezvous *r, uint64_t host, int rank, int ranks, double limit,
                           tt_meeting *m);
tutti_status tt_meet_store(const tutti_store *store, int rank, int ranks, double limit,
                           tt_meeting *m);
/* fails, why: the status and message to use if the caller's gather fails. `why` must outlive the bootstrap. */
tutti_status tt_meet_gather(tutti_gather_fn *gather, void *ctx, int rank, int ranks,
                            tutti_status fails, const char *why, tt_meeting *m);

/* The data about a job from the environment variables of its launcher. */
typedef struct tt_launch {
  const char *by; /* "torchrun", etc.; NULL: no launcher */
  int rank, ranks;
  bool serves; /* this rank opens the rendezvous */
  tt_rendezvous at;
} tt_launch;
tutti_status tt_launch_find(tt_launch *l);
/* Returns TUTTI_ERR_SYSTEM if the variables of a launcher indicate that the job has more than one rank. The other
 * ranks cannot be reached, so a communicator of one rank would compute wrong results. */
tutti_status tt_launch_alone(void);

#endif
