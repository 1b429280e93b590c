/* meet.h - how ranks find each other before they have a communicator.
 *
 * Idea       A meeting is a sequence of gather rounds: each rank contributes bytes and gets the
 *            bytes of all ranks. It uses TCP to a rendezvous (visit.c, rendezvous.c), a store, or
 *            the caller's gather.
 * Invariant  A round ends on all ranks within the meeting's limit, and with the same status on all
 *            that can be reached.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_MEET_H
#define TT_MEET_H

#include <pthread.h>

#include "core.h"
#include "hmac.h"
#include "tutti_create.h"

enum {
  TT_MEET_MOST = 1 << 20, /* bytes of a rank in a round */
  TT_KEY = 32,            /* characters */
  TT_HOSTS = 8            /* addresses of a rendezvous */
};

typedef struct tt_meeting {
  int rank, ranks;
  double limit; /* s, for the first round; later ones need no more */
  tutti_status (*gather)(struct tt_meeting *m, const void *mine, void *all, size_t bytes);
  void (*end)(struct tt_meeting *m);
  void *self;
} tt_meeting;

/* A parsed id. */
typedef struct tt_rendezvous {
  int hosts;
  char host[TT_HOSTS][64];
  int port;
  char key[TT_KEY + 1];
} tt_rendezvous;

/* TUTTI_ERR_ARG, with the reason. */
tutti_status tt_rendezvous_read(const char *text, tt_rendezvous *r);
/* Start a rendezvous: a thread that serves it until all have met, or the process ends. port 0: any
 * free port, which is returned in *r. A key and hosts already in *r are kept. lasting: when all
 * have met and left, they may meet again. *thread: detach it, or pass it to
 * tt_rendezvous_end. */
tutti_status tt_rendezvous_serve(tt_rendezvous *r, bool lasting, pthread_t *thread);
/* Returns when all peers were told of the failure, or after 5 s. */
void tt_rendezvous_end(pthread_t thread);
/* Set its key, in hexadecimal digits, from these bits. */
void tt_rendezvous_key(tt_rendezvous *r, const unsigned char bits[TT_KEY / 2]);
void tt_rendezvous_write(const tt_rendezvous *r, tutti_id *id);

/* Meetings; freed by `end`. */
tutti_status tt_meet_visit(const tt_rendezvous *r, int rank, int ranks, double limit,
                           tt_meeting *m);
tutti_status tt_meet_store(const tutti_store *store, int rank, int ranks, double limit,
                           tt_meeting *m);
/* fails, why: the status and message when the caller's gather fails; `why` must outlive the
 * meeting. */
tutti_status tt_meet_gather(tutti_gather_fn *gather, void *ctx, int rank, int ranks,
                            tutti_status fails, const char *why, tt_meeting *m);

/* A nonblocking TCP connection to one of the host's addresses, or -1: *why says what failed. until: on
 * tt_seconds' clock. */
int tt_meet_connect(const char *host, int port, double until, char *why, size_t size);

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

/* ---- protocol between visit.c and rendezvous.c ---- */

/* A visitor sends a hello; the rendezvous proves that it knows the key; then the visitor does.
 * Neither sends the key, nor anything that helps in another meeting: a proof is a keyed digest of
 * the hello and of both sides' nonces. The rendezvous then sends the magic alone, or a reply with
 * the reason for a refusal. In each round follow a number of bytes and these bytes; then a reply
 * and the bytes of all. The hello is the same in all versions; challenge and proof are since
 * version 3. Earlier versions sent the key in clear. */
enum { TT_MEET_PROTOCOL = 3, TT_MEET_PROVES = 3 };
#define TT_MEET_MAGIC "tutti\r\n"

typedef struct tt_hello { /* a visitor's first message */
  char magic[8];
  uint32_t protocol, rank, ranks;
  uint32_t limit_ms; /* ms */
  unsigned char nonce[TT_DIGEST];
  char who[96]; /* "host, pid 123" */
} tt_hello;

typedef struct tt_challenge { /* the answer of the rendezvous */
  char magic[8];
  unsigned char nonce[TT_DIGEST], proof[TT_DIGEST];
} tt_challenge;

typedef struct tt_reply { /* before the bytes of all, or an error message */
  int32_t status;
  uint32_t bytes;
} tt_reply;
_Static_assert(sizeof(tt_reply) == sizeof TT_MEET_MAGIC, "a visitor reads either");

/* id.c: TUTTI_ERR_SYSTEM: no random numbers. */
tutti_status tt_nonce(unsigned char nonce[TT_DIGEST]);
/* The proof for this hello and nonce, which only a side that knows the key can compute. */
typedef enum tt_side_of { TT_RENDEZVOUS, TT_VISITOR } tt_side_of;
void tt_prove_key(tt_side_of side, const char key[TT_KEY], const tt_hello *hello,
                  const unsigned char nonce[TT_DIGEST], unsigned char proof[TT_DIGEST]);

#endif
