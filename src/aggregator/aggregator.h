/* aggregator.h - an aggregator: a process outside the job that sums the vectors of its hosts.
 *
 * Idea       The aggregator is a daemon (serve.c) on a host with a fast link. Each rank has one TCP connection to it:
 *            the rank's part of a sum travels there once, and the sum travels back once. The ranks whose parts are
 *            added up are the members of a session (session.c). In the job, the daemon appears as a wire to the last,
 *            virtual ranks of a schedule (aggregator_wire.c). With a daemon in each rack, these sum the vectors of
 *            their racks' hosts and send the results to one daemon above them (uplink.c).
 * Protocol   A visitor sends a hello. The daemon proves that it knows the key, then the visitor does (as in meet/id.c).
 *            The visitor names its session and its number there, and the daemon answers whether it has room; digests
 *            under the key protect both messages. With TUTTI_TLS the whole connection uses TLS, with a secret named after
 *            the session. Each following turn processes one vector. Every member sends a head, which states the ranges of
 *            the vector that it contributes and wants, followed by the bytes that it contributes. Each member receives a
 *            head and the bytes that it wants. Where several members contribute, these are sums.
 * Invariant  All members process their turns in the same order, so bytes need no label that names
 *            their operation. The head detects a violation.
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
  TT_AGGREGATOR_TLS = 1 << 16,  /* in the protocol field of a challenge: connect again with TLS */
  TT_AGGREGATOR_MEMBERS = 4096, /* maximum number of members of a session */
  TT_AGGREGATOR_WHERE = 80,     /* size of "HOST:PORT", in characters */
  TT_AGGREGATOR_WHY = 160,      /* size of the reason for a refusal, in characters */
  TT_AGGREGATOR_RING =
      2 << 20, /* bytes of sums that a session keeps until its members have received them */
  TT_AGGREGATOR_PIECE = 64 << 10 /* largest piece in bytes; a piece is summed in one pass */
};
#define TT_AGGREGATOR_MAGIC "tuttiag"

typedef struct tt_aggregator_hello { /* sent by the visitor */
  char magic[8];
  uint32_t protocol;
  uint32_t unused;
  uint64_t session; /* the first word of tt_aggregator_seat.session */
  unsigned char nonce[TT_DIGEST];
} tt_aggregator_hello;

typedef struct tt_aggregator_challenge { /* the daemon's answer to the hello */
  char magic[8];
  uint32_t protocol;
  uint32_t unused;
  unsigned char nonce[TT_DIGEST], proof[TT_DIGEST];
} tt_aggregator_challenge;

/* A member's seat in a session. */
typedef struct tt_aggregator_seat {
  uint64_t session[2]; /* a random number drawn for the communicator, and the number of its part */
  uint32_t member, members;
  /* This session's seat at the next aggregator up the tree, and the number of seats there. Both are 0 at the topmost
   * aggregator. */
  uint32_t above, aboves;
} tt_aggregator_seat;

typedef struct tt_aggregator_request { /* sent by the visitor */
  unsigned char proof[TT_DIGEST];      /* covers everything that follows */
  tt_aggregator_seat seat;
  char who[96]; /* "host, pid 123", for the log */
} tt_aggregator_request;

typedef struct tt_aggregator_answer {
  unsigned char proof[TT_DIGEST]; /* covers everything that follows */
  int32_t status;                 /* a tutti_status */
  char why[TT_AGGREGATOR_WHY];    /* the reason for a refusal */
} tt_aggregator_answer;

typedef struct tt_aggregator_head { /* sent before the bytes of a turn */
  tt_stamp stamp;
  uint32_t slice, type, op, data;
  uint64_t bytes;          /* size of the vector */
  tt_stretch gives, wants; /* the only fields that may differ between members; gives.bytes bytes
                              follow */
} tt_aggregator_head;

typedef struct tt_aggregator_sum { /* sent before the bytes that a member wants */
  int32_t status;                  /* TUTTI_ERR_MISMATCH if members made different calls; the
                                      session then ends */
  uint64_t seq;                    /* number of the operation */
  uint64_t bytes;                  /* size of the vector */
} tt_aggregator_sum;

/* tt_aggregator_key computes the key, in hexadecimal digits, from a text shared by daemon and job. If text
 * is NULL, it uses TUTTI_KEY. tt_aggregator_session_key derives the key of one communicator's sessions from
 * it, as each rank does. That key is useless for any other purpose. */
void tt_aggregator_key(const char *text, char key[TT_KEY + 1]);
void tt_aggregator_session_key(const char key[TT_KEY + 1], uint64_t session,
                               char of_session[TT_KEY + 1]);
/* Disables the delay of small packets (TCP_NODELAY). If the system permits, also selects a congestion control that gives all
 * members the same rate. BBR estimates each connection's rate separately, so some members would fall behind. */
void tt_aggregator_set_options(int fd);
/* Limits the number of bytes queued for the aggregator on a slow link, so that other messages need not wait behind a long
 * queue. beta: inverse bandwidth of the link, in s/B. */
void tt_aggregator_queue(int fd, double beta);
/* Limits later sends to `rate` B/s; 0 means no limit. */
void tt_aggregator_pace(int fd, double rate);
/* Computes the proof that a side knows the key. The proof covers the hello, the nonce, and the n bytes
 * at `text`, which follow the proof in its message. */
typedef enum tt_aggregator_word { TT_CHALLENGES, TT_REQUESTS, TT_ANSWERS } tt_aggregator_word;
void tt_aggregator_prove(tt_aggregator_word word, const char key[TT_KEY],
                         const tt_aggregator_hello *hello, const unsigned char nonce[TT_DIGEST],
                         const void *text, size_t n, unsigned char proof[TT_DIGEST]);
/* tt_aggregator_tls_name writes the name of a session's TLS secret. tt_aggregator_tls_session parses it, or returns false. */
void tt_aggregator_tls_name(uint64_t session, char name[TT_TLS_NAME]);
bool tt_aggregator_tls_session(const char *name, uint64_t *session);

/* ---- in the job ---- */

/* Parses an address of the form "HOST", "HOST:PORT" or "[ADDRESS]:PORT". Returns TUTTI_ERR_ARG if the text is invalid. */
tutti_status tt_aggregator_read(const char *text, char host[64], int *port);
/* Resolves "HOST:PORT", and writes its addresses as "ADDRESS:PORT" to `at`, up to TT_ABOVES of them; unused entries are "".
 * May take long, because it queries the name service. */
enum { TT_ABOVES = 4 };
tutti_status tt_aggregator_look_up(const char *where, char at[TT_ABOVES][TT_AGGREGATOR_WHERE]);
/* Connects to the daemon at `where` and waits for its answer, for at most `limit` seconds in total. key: the session's key.
 * *to receives the connection. Returns TUTTI_ERR_SYSTEM, TUTTI_ERR_TIMEOUT, TUTTI_ERR_ARG, or the daemon's error. */
/* open: the key is public, so the function accepts only an aggregator that tt_trusts accepts. */
tutti_status tt_aggregator_visit(const char *where, const tt_aggregator_seat *seat, bool open,
                                 const char key[TT_KEY + 1], double limit, tt_connection *to);
/* Makes a wire over a connection to the aggregator. Takes ownership of the connection, even if it fails. ranks: number of
 * ranks in the communicator. On failure, returns TUTTI_ERR_MEMORY or TUTTI_ERR_SYSTEM. */
tutti_status tt_aggregator_wire(tt_connection to, const char *where, int rank, int ranks,
                                tt_wire **wire);

#endif
