/* meet_line.h - the protocol of a bootstrap, and the calling end of a connection.
 *
 * Handshake  Between hosts the caller sends a hello; the other end proves that it knows the key; then the caller does.
 *            Neither sends the key, nor anything that helps in another bootstrap: a proof is a keyed
 *            digest of the hello and of both sides' nonces. The other end then sends the magic alone,
 *            or a reply with the reason for a refusal. The hello is the same in all versions; challenge
 *            and proof exist since version 3. Earlier versions sent the key in clear.
 *            Between hosts TLS carries all of it (secure.h).
 *            A rank sends its hello, its proof and its first row to the agent of its host in one message. The agent's
 *            proof is in its first reply, so the rank sleeps once. The agent needs no nonce: both are processes of one
 *            user, which the system confirms, and other processes cannot send through their socket.
 * Upwards    Frames: an agent's card, first of all; rows of a round; the reason why a rank fails.
 * Downwards  Replies: where an agent belongs in the tree; the table of a round; the reason why all fail.
 * Paths      Ranks to the agent of their host by a local socket, which also carries the table's
 *            descriptor; an agent to its parent by TCP. The parent is the rendezvous or another agent.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_MEET_LINE_H
#define TT_MEET_LINE_H

#include <stdatomic.h>

#include "long_wait.h"
#include "meet.h"

enum { TT_MEET_PROTOCOL = 6, TT_MEET_PROVES = 3 };
#define TT_MEET_MAGIC "tutti\r\n"

typedef struct tt_hello { /* a caller's first message */
  char magic[8];
  uint32_t protocol, rank, ranks;
  uint32_t limit_ms; /* ms */
  unsigned char nonce[TT_DIGEST];
  char who[96]; /* "host, pid 123" */
} tt_hello;

typedef struct tt_challenge { /* the answer to it */
  char magic[8];
  unsigned char nonce[TT_DIGEST], proof[TT_DIGEST];
} tt_challenge;

typedef struct tt_greeting { /* a rank's first message to the agent of its host */
  tt_hello hello;
  unsigned char proof[TT_DIGEST];
} tt_greeting;

typedef enum tt_meet_frame_kind { TT_CARD = 1, TT_ROWS, TT_CANNOT } tt_meet_frame_kind;
typedef struct tt_meet_frame { /* upwards, before its bytes */
  uint32_t kind, bytes;
} tt_meet_frame;

typedef struct tt_agent_place { /* where an agent accepts other agents */
  int32_t hosts, port;
  char host[TT_HOSTS][64];
} tt_agent_place;

typedef struct tt_agent_card { /* of an agent */
  tt_agent_place at;
  uint32_t direct, unused; /* direct: it could not reach the parent that it was sent to */
} tt_agent_card;

typedef struct tt_refusal { /* the bytes of TT_CANNOT */
  int32_t status;
  char text[400];
} tt_refusal;

/* Downwards: a status and its text; or one of these. */
enum { TT_TABLE = 0, TT_STAY = 1, TT_GO = 2 };
typedef struct tt_reply { /* before the table, the text, or a tt_agent_place */
  int32_t status;
  uint32_t bytes;
} tt_reply;
_Static_assert(sizeof(tt_reply) == sizeof TT_MEET_MAGIC, "a caller reads either");

/* id.c: TUTTI_ERR_SYSTEM: no random numbers. */
tutti_status tt_nonce(unsigned char nonce[TT_DIGEST]);
/* The proof for this hello and nonce, which only a side that knows the key can compute. nonce: of zeros between
 * a rank and its agent. */
typedef enum tt_side_of { TT_RENDEZVOUS, TT_VISITOR } tt_side_of;
void tt_prove_key(tt_side_of side, const char key[TT_KEY], const tt_hello *hello,
                  const unsigned char nonce[TT_DIGEST], unsigned char proof[TT_DIGEST]);

/* ---- the calling end (meet_line.c) ---- */

typedef struct tt_meet_line {
  int fd;
  double until; /* s, on tt_seconds' clock */
  char at[100]; /* for messages */
  unsigned link; /* the link of this host that leads to a link-local address it has connected to; or 0 */
  tt_hello hello;
  char key[TT_KEY];
  struct tt_secure *secure; /* what protects the connection to another host; NULL: nothing */
  bool open;                /* anybody can compute the key */
  bool greeted;             /* both sides know the key */
  bool gone;                /* it was closed by the other end */
  int agent;                /* pid of this host's agent, if that is the other end; or 0 */
} tt_meet_line;

/* A nonblocking TCP connection to one of the host's addresses, or -1: *why says what failed. *link: over which of this
 * host's links to look first for an address that only its link knows (reach.h), 0: any; and then that of the
 * connection. until: on tt_seconds' clock. */
int tt_meet_connect(const char *host, int port, unsigned *link, double until, char *why,
                    size_t size);
/* False, and errno: not ready in time; ECANCELED: the caller was interrupted. */
bool tt_meet_ready(int fd, short events, double until, tt_long_wait *wait);
/* A connection to a rendezvous, which may not be open yet: retries until l->until. */
tutti_status tt_meet_dial(tt_meet_line *l, const tt_rendezvous *r);
/* Each side proves that it knows the key; this side does so after the other side. patience: s. */
tutti_status tt_meet_prove(tt_meet_line *l, double patience);
/* Of a rank that has not connected yet, and gives up after `limit` s. ranks 0: for the waiting room. */
tt_meet_line tt_meet_line_new(const tt_rendezvous *r, int rank, int ranks, double limit);
/* A frame with both parts, in one piece. If it cannot be sent, the next reply says why. TUTTI_ERR_MEMORY. */
tutti_status tt_meet_send_frame(tt_meet_line *l, int kind, const void *head, size_t n,
                                const void *bytes, size_t more);
/* False: the other end may have sent the reason. */
bool tt_meet_send(tt_meet_line *l, const void *bytes, size_t n);
/* until: on tt_seconds' clock. */
tutti_status tt_meet_recv(tt_meet_line *l, void *bytes, size_t n, double until);
/* The sentence of a reply with an error status: both become this rank's error. */
tutti_status tt_meet_sentence(tt_meet_line *l, const tt_reply *reply, double until);
/* Where a key proves nothing: whether the other end of this connection is a process of the same user on the same host, or the
 * user allows others by TUTTI_INSECURE=1 (trust.c). TT_NOT_KNOWN: its listener has not accepted the connection yet. */
typedef enum tt_trust { TT_UNTRUSTED, TT_NOT_KNOWN, TT_TRUSTED } tt_trust;
tt_trust tt_trust_of(int fd);
bool tt_trusts(int fd);
/* The same by these tables of connections, which have the form of /proc/net/tcp and tcp6, and for that user. */
tt_trust tt_trust_by(int fd, const char *tcp, const char *tcp6, long user);
/* Does this connection stay within this host? (trust.c) */
bool tt_is_here(int fd);
/* Warns once if the text of this key is so short or plain that somebody who has captured a handshake can guess it. */
void tt_key_look(const char *name, const char *text);
/* The other end's proof is wrong. */
tutti_status tt_meet_unknowing(const tt_meet_line *l);
/* What the other end sends is not of this protocol. */
tutti_status tt_meet_foreign(const tt_meet_line *l);

/* ---- agents (agent.c) ---- */

/* What the thread of an agent and its rank share; the last one frees it. */
typedef struct tt_agent {
  pthread_t thread;
  atomic_int users;
  atomic_bool busy; /* replies are on their way: the process must not end */
} tt_agent;

/* Make this process the agent of its host's ranks: find a place in the tree below the rendezvous,
 * then a thread serves. Ranks come to `listener` (-1: none but this one), this one by `first`; both
 * are taken over. like: this rank's line, without a descriptor. */
tutti_status tt_agent_start(const tt_rendezvous *r, const tt_meet_line *like, int listener,
                            int first, tt_agent **agent);
/* The rank has left the meeting. failed: waits until all others that it serves know; else until their
 * last tables are sent. At most 5 s. */
void tt_agent_leave(tt_agent *agent, bool failed);
void tt_agent_drop(tt_agent *agent); /* one user less */

#endif
