/* meet.h - how ranks find each other before they have a communicator.
 *
 * Idea       a meeting is gathers in rounds: each rank brings bytes, all get everybody's. Over
 *            TCP to a rendezvous (visit.c, rendezvous.c), over a store, or by the caller.
 * Invariant  a round ends on all ranks, with the same verdict where they can be reached at all,
 *            and within the meeting's limit.
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

/* An id, read. */
typedef struct tt_rendezvous {
  int hosts;
  char host[TT_HOSTS][64];
  int port;
  char key[TT_KEY + 1];
} tt_rendezvous;

/* TUTTI_ERR_ARG: what is wrong with it. */
tutti_status tt_rendezvous_read(const char *text, tt_rendezvous *r);
/* Opens one: a thread that serves it until all have met, or the process ends. port 0: any that is
 * free, which is then in *r; its key and hosts, if there are any, stay. lasting: when all have met
 * and left, they may meet again. *thread: to be given to one of the next two. */
tutti_status tt_rendezvous_serve(tt_rendezvous *r, bool lasting, pthread_t *thread);
void tt_rendezvous_leave(pthread_t thread); /* it goes on by itself */
void tt_rendezvous_end(pthread_t thread);   /* when all have heard why it failed, or after 5 s */
/* Its key, in hexadecimal digits: these bits. */
void tt_rendezvous_key(tt_rendezvous *r, const unsigned char bits[TT_KEY / 2]);
void tt_rendezvous_write(const tt_rendezvous *r, tutti_id *id);

/* Meetings; freed by `end`. */
tutti_status tt_meet_visit(const tt_rendezvous *r, int rank, int ranks, double limit,
                           tt_meeting *m);
tutti_status tt_meet_store(const tutti_store *store, int rank, int ranks, double limit,
                           tt_meeting *m);
/* fails, why: what it is when the caller's gather fails; `why` must outlive the meeting. */
tutti_status tt_meet_gather(tutti_gather_fn *gather, void *ctx, int rank, int ranks,
                            tutti_status fails, const char *why, tt_meeting *m);

/* What a launcher that is not ours says in the environment. */
typedef struct tt_launch {
  const char *by; /* "torchrun", ...; NULL: nobody */
  int rank, ranks;
  bool serves; /* this rank opens the rendezvous */
  tt_rendezvous at;
} tt_launch;
tutti_status tt_launch_find(tt_launch *l);
/* TUTTI_ERR_SYSTEM if a launcher's variables say that there are other ranks: without a way to meet
 * them, a communicator of one rank would give wrong answers. */
tutti_status tt_launch_alone(void);

/* ---- between visit.c and rendezvous.c: what goes over the line ---- */

/* A visitor says hello; the rendezvous proves that it knows the key; then the visitor does. Neither
 * sends the key, nor anything that helps in another meeting: a proof is a keyed digest of the hello
 * and of both sides' nonces. The visitor is greeted with the magic alone, or hears a reply: why not.
 * Then in each round a number of bytes and these bytes; a reply, and the bytes of all. A hello is
 * the same in all versions; challenge and proof are, since version 3, before which the key went in
 * clear. */
enum { TT_MEET_PROTOCOL = 3, TT_MEET_PROVES = 3 };
#define TT_MEET_MAGIC "tutti\r\n"

typedef struct tt_hello { /* what a visitor says first */
  char magic[8];
  uint32_t protocol, rank, ranks;
  uint32_t limit_ms; /* ms */
  unsigned char nonce[TT_DIGEST];
  char who[96]; /* "host, pid 123" */
} tt_hello;

typedef struct tt_challenge { /* what the rendezvous answers */
  char magic[8];
  unsigned char nonce[TT_DIGEST], proof[TT_DIGEST];
} tt_challenge;

typedef struct tt_reply { /* before the bytes of all, or a sentence */
  int32_t status;
  uint32_t bytes;
} tt_reply;
_Static_assert(sizeof(tt_reply) == sizeof TT_MEET_MAGIC, "a visitor reads either");

/* proof.c: TUTTI_ERR_SYSTEM: no random numbers. */
tutti_status tt_nonce(unsigned char nonce[TT_DIGEST]);
/* What only a side that knows the key can say, of this hello and this nonce. */
typedef enum tt_side_of { TT_RENDEZVOUS, TT_VISITOR } tt_side_of;
void tt_prove_key(tt_side_of side, const char key[TT_KEY], const tt_hello *hello,
                  const unsigned char nonce[TT_DIGEST], unsigned char proof[TT_DIGEST]);

#endif
