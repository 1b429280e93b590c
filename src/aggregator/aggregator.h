/* aggregator.h - an aggregator: a process outside the job that sums what hosts send.
 *
 * Idea       A daemon (serve.c) on a host with a wide link. Each rank has one TCP connection to the
 *            daemon: its part of a sum goes there once, and the sum comes back once.
 *            The ranks whose parts are added up are the members of a session (session.c). In the
 *            job, the daemon appears as a wire to the last, virtual ranks of a schedule
 *            (aggregator_wire.c). With a daemon in each rack these sum for their racks' hosts, and send their sums to
 *            one daemon above (uplink.c).
 * Protocol   A visitor says hello; the daemon proves that it knows the key, then the visitor does
 *            (as in meet/id.c). The visitor names its session and its number there, and the daemon
 *            answers whether it has room; digests under the key cover both messages. With TUTTI_TLS the whole
 *            connection is TLS's, whose secret has the session's name. Each turn that follows has a vector. Every
 *            member sends a head, which says what it gives of the vector and what it wants, and the bytes that it
 *            gives; each gets a head and the bytes that it wants. Where several give, these are sums.
 * Invariant  members take their turns in the same order, so bytes need no label with their operation;
 *            the head detects a violation.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_AGGREGATOR_H
#define TT_AGGREGATOR_H

#include "hmac.h"
#include "meet_line.h"
#include "secure.h"
#include "wire.h"

enum {
  TT_AGGREGATOR_PORT = 4747,
  TT_AGGREGATOR_PROTOCOL = 6,
  TT_AGGREGATOR_TLS = 1 << 16,  /* the protocol of a challenge: come again with TLS */
  TT_AGGREGATOR_MEMBERS = 4096, /* of a session */
  TT_AGGREGATOR_WHERE = 80,     /* characters of "HOST:PORT" */
  TT_AGGREGATOR_WHY = 160,      /* of a refusal */
  TT_AGGREGATOR_RING =
      2 << 20, /* B of sums that a session keeps until its members have taken them */
  TT_AGGREGATOR_PIECE = 64 << 10 /* B of a piece, which is summed in one pass, at most */
};
#define TT_AGGREGATOR_MAGIC "tuttiag"

typedef struct tt_aggregator_hello { /* from the visitor */
  char magic[8];
  uint32_t protocol;
  uint32_t unused;
  uint64_t session; /* the first word of the seat's */
  unsigned char nonce[TT_DIGEST];
} tt_aggregator_hello;

typedef struct tt_aggregator_challenge { /* the answer */
  char magic[8];
  uint32_t protocol;
  uint32_t unused;
  unsigned char nonce[TT_DIGEST], proof[TT_DIGEST];
} tt_aggregator_challenge;

/* A member's place in a session. */
typedef struct tt_aggregator_seat {
  uint64_t session[2]; /* drawn at random for a communicator, and the number of its part */
  uint32_t member, members;
  /* The session's own seat at the aggregator above, and how many have seats there; 0: this one is the top. */
  uint32_t above, aboves;
} tt_aggregator_seat;

typedef struct tt_aggregator_request { /* from the visitor */
  unsigned char proof[TT_DIGEST];      /* of all that follows */
  tt_aggregator_seat seat;
  char who[96]; /* "host, pid 123", for the log */
} tt_aggregator_request;

typedef struct tt_aggregator_answer {
  unsigned char proof[TT_DIGEST]; /* of all that follows */
  int32_t status;                 /* of tutti_status */
  char why[TT_AGGREGATOR_WHY];    /* of a refusal */
} tt_aggregator_answer;

typedef struct tt_aggregator_head { /* before the bytes of a turn */
  tt_stamp stamp;
  uint32_t slice, type, op, data;
  uint64_t bytes;          /* of the vector */
  tt_stretch gives, wants; /* the only part in which members differ; gives.bytes bytes follow */
} tt_aggregator_head;

typedef struct tt_aggregator_sum { /* before the bytes that a member wants */
  int32_t status;                  /* TUTTI_ERR_MISMATCH: members differ, and the session ends */
  uint64_t seq;                    /* of the operation */
  uint64_t bytes;                  /* of the vector */
} tt_aggregator_sum;

/* The key in hexadecimal digits, from a text that daemon and job share; NULL: TUTTI_KEY. And the key of one
 * communicator's sessions, which each rank derives from it: it is good for nothing else. */
void tt_aggregator_key(const char *text, char key[TT_KEY + 1]);
void tt_aggregator_session_key(const char key[TT_KEY + 1], uint64_t session,
                               char of_session[TT_KEY + 1]);
/* Sends without delay, and with the congestion control that keeps members together, if the system allows it: BBR paces
 * each connection by a separate estimate, so some members fall behind all others. */
void tt_aggregator_set_options(int fd);
/* Bounds what waits on its way to the aggregator, on slow links: other messages would have to wait behind it. beta: of
 * the link, s/B. */
void tt_aggregator_queue(int fd, double beta);
/* Limits later sends to `rate` B/s; 0: no limit. */
void tt_aggregator_pace(int fd, double rate);
/* The proof that a side knows the key: of the hello, the nonce, and the message that it is in. text, n: what follows it
 * there. */
typedef enum tt_aggregator_word { TT_CHALLENGES, TT_REQUESTS, TT_ANSWERS } tt_aggregator_word;
void tt_aggregator_prove(tt_aggregator_word word, const char key[TT_KEY],
                         const tt_aggregator_hello *hello, const unsigned char nonce[TT_DIGEST],
                         const void *text, size_t n, unsigned char proof[TT_DIGEST]);
/* The name of a session's secret in TLS, and the session of a name; false: not such a name. */
void tt_aggregator_tls_name(uint64_t session, char name[TT_TLS_NAME]);
bool tt_aggregator_tls_session(const char *name, uint64_t *session);

/* ---- in the job ---- */

/* Reads "HOST", "HOST:PORT" or "[ADDRESS]:PORT". TUTTI_ERR_ARG. */
tutti_status tt_aggregator_read(const char *text, char host[64], int *port);
/* "ADDRESS:PORT" of each address of "HOST:PORT", as many as fit; the others are "". May take long: the system asks others. */
enum { TT_ABOVES = 4 };
tutti_status tt_aggregator_look_up(const char *where, char at[TT_ABOVES][TT_AGGREGATOR_WHERE]);
/* Connects to the daemon at `where`, waits for its answer, `limit` seconds in all. key: of the session. *to:
 * the connection.
 * TUTTI_ERR_SYSTEM, TUTTI_ERR_TIMEOUT, TUTTI_ERR_ARG; or what the daemon answers. */
/* open: anybody can compute the key, so only an aggregator that tt_trusts accepts will do. */
tutti_status tt_aggregator_visit(const char *where, const tt_aggregator_seat *seat, bool open,
                                 const char key[TT_KEY + 1], double limit, tt_connection *to);
/* The wire over this connection, which it takes over, also on errors. ranks: of the communicator.
 * TUTTI_ERR_MEMORY, TUTTI_ERR_SYSTEM. */
tutti_status tt_aggregator_wire(tt_connection to, const char *where, int rank, int ranks,
                                tt_wire **wire);

#endif
