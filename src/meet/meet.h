/* meet.h - how ranks find each other before they have a communicator.
 *
 * Idea       A meeting is a sequence of gather rounds: each rank contributes a row of bytes, and gets
 *            the table of all rows (table.h). The ranks of a host meet at its agent (agent.c); agents
 *            form a tree below the rendezvous (rendezvous.c). A store or the caller's gather can
 *            take their place (store.c).
 * Invariant  A round ends on all ranks within the meeting's limit, and with the same status on all
 *            that can be reached.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_MEET_H
#define TT_MEET_H

#include <pthread.h>

#include "core.h"
#include "hmac.h"
#include "table.h"
#include "tutti_create.h"

enum {
  TT_MEET_MOST = 1 << 20, /* bytes of a row */
  TT_MEET_RANKS = 1 << 20,
  TT_KEY = 32,            /* characters */
  TT_HOSTS = 8            /* addresses of a rendezvous */
};

typedef struct tt_meeting {
  int rank, ranks;
  double limit; /* s, for the first round; later ones need no more */
  bool light;   /* a round costs little, also in a large job */
  bool keyed;   /* `key` is the job's secret, known only to its ranks; else the bootstrap has no key */
  char key[TT_KEY];
  bool wide;    /* over a network, also where all ranks are on one host: others may come on other hosts */
  /* A round. mine: this rank's row, of `bytes` bytes, which may differ from rank to rank. `failed`
   * not TUTTI_OK: this rank cannot continue, for the reason in tutti_error(); then all ranks get this
   * status and the reason. *all: the rows of all, for the caller to drop. */
  tutti_status (*gather)(struct tt_meeting *m, tutti_status failed, const void *mine, size_t bytes,
                         tt_table *all);
  void (*end)(struct tt_meeting *m); /* NULL: nothing to do */
  void *self;
} tt_meeting;

/* A parsed id. */
typedef struct tt_rendezvous {
  int hosts;
  char host[TT_HOSTS][64];
  int port;
  char key[TT_KEY + 1];
  bool open;          /* anybody can compute the key: see tt_trusts */
  int ranks, joiners; /* ranks that the job begins with; joiners that its waiting room (room.h) admits, or 0 */
} tt_rendezvous;

/* TUTTI_ERR_ARG, with the reason. */
tutti_status tt_rendezvous_read(const char *text, tt_rendezvous *r);
/* Start a rendezvous: a thread that serves it until all have met, or the process ends. port 0: any
 * free port, which is returned in *r. A key and hosts already in *r are kept. lasting: when all
 * have met and left, they may meet again. *thread: detach it, or pass it to
 * tt_rendezvous_end. */
tutti_status tt_rendezvous_serve(tt_rendezvous *r, bool lasting, pthread_t *thread);
/* Returns when all peers have been notified of the failure, or after 5 s. */
void tt_rendezvous_end(pthread_t thread);
/* Set its key, in hexadecimal digits, from these bits. */
void tt_rendezvous_key(tt_rendezvous *r, const unsigned char bits[TT_KEY / 2]);
void tt_rendezvous_write(const tt_rendezvous *r, tutti_id *id);

/* Meetings; freed by `end`. host: ranks with the same number, in one network namespace of one host,
 * share an agent. Connects in the first round. */
tutti_status tt_meet_visit(const tt_rendezvous *r, uint64_t host, int rank, int ranks, double limit,
                           tt_meeting *m);
tutti_status tt_meet_store(const tutti_store *store, int rank, int ranks, double limit,
                           tt_meeting *m);
/* fails, why: the status and message when the caller's gather fails; `why` must outlive the
 * meeting. */
tutti_status tt_meet_gather(tutti_gather_fn *gather, void *ctx, int rank, int ranks,
                            tutti_status fails, const char *why, tt_meeting *m);

/* The environment set by another launcher than tutti run. */
typedef struct tt_launch {
  const char *by; /* "torchrun", etc.; NULL: no launcher */
  int rank, ranks;
  bool serves; /* this rank opens the rendezvous */
  tt_rendezvous at;
} tt_launch;
tutti_status tt_launch_find(tt_launch *l);
/* TUTTI_ERR_SYSTEM if a launcher's variables indicate other ranks: without a way to meet them, a
 * communicator of one rank would give wrong answers. */
tutti_status tt_launch_alone(void);

#endif
