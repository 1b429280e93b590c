/* meet_line.h - the protocol of a bootstrap, and the calling end of a connection.
 *
 * Handshake  Between hosts, the caller sends a hello. The other end then proves that it knows the key, and the caller
 *            does the same. Neither sends the key, nor anything that would help in another bootstrap: a proof is a
 *            keyed digest of the hello and of the nonces of both sides. Finally the other end sends the magic alone,
 *            or a reply with the reason for a refusal. The hello is the same in all versions; challenge and proof
 *            exist since version 3. Earlier versions sent the key in the clear. Between hosts, TLS carries all of
 *            this (secure.h). Within a host, a rank sends its hello, its proof and its first row to the agent in one
 *            message. The agent's proof is in its first reply, so the rank sleeps only once. The agent needs no
 *            nonce: both are processes of one user, which the system confirms, and other processes cannot send
 *            through their socket.
 * Upwards    Frames: first the card of an agent; then the rows of a round, or the reason why a rank has failed.
 * Downwards  Replies: the position of an agent in the tree; the table of a round; the reason why the bootstrap has
 *            failed.
 * Paths      Ranks talk to the agent of their host over a local socket, which also carries the table's descriptor. An
 *            agent talks to its parent over TCP. The parent is the rendezvous or another agent.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_MEET_LINE_H
#define TT_MEET_LINE_H

#include <stdatomic.h>

#include "long_wait.h"
#include "meet.h"

enum { TT_MEET_PROTOCOL = 6, TT_MEET_PROVES = 3 };
#define TT_MEET_MAGIC "tutti\r\n"

typedef struct tt_hello { /* the first message of a caller */
  char magic[8];
  uint32_t protocol, rank, ranks;
  uint32_t limit_ms; /* the caller's time limit */
  unsigned char nonce[TT_DIGEST];
  char who[96]; /* "host, pid 123" */
} tt_hello;

typedef struct tt_challenge { /* the reply to a hello */
  char magic[8];
  unsigned char nonce[TT_DIGEST], proof[TT_DIGEST];
} tt_challenge;

typedef struct tt_greeting { /* the first message of a rank to the agent of its host */
  tt_hello hello;
  unsigned char proof[TT_DIGEST];
} tt_greeting;

typedef enum tt_meet_frame_kind { TT_CARD = 1, TT_ROWS, TT_CANNOT } tt_meet_frame_kind;
typedef struct tt_meet_frame { /* header of a frame, sent upwards */
  uint32_t kind, bytes;
} tt_meet_frame;

typedef struct tt_agent_place { /* addresses on which an agent accepts other agents */
  int32_t hosts, port;
  char host[TT_HOSTS][64];
} tt_agent_place;

typedef struct tt_agent_card { /* the first frame of an agent */
  tt_agent_place at;
  uint32_t direct, unused; /* direct: it could not connect to the parent that it was assigned to */
} tt_agent_card;

typedef struct tt_refusal { /* payload of TT_CANNOT */
  int32_t status;
  char text[400];
} tt_refusal;

/* The status of a reply: a negative error status, followed by its text, or one of these. */
enum { TT_TABLE = 0, TT_STAY = 1, TT_GO = 2 };
typedef struct tt_reply { /* header of a reply, before the table, the text or a tt_agent_place */
  int32_t status;
  uint32_t bytes;
} tt_reply;
_Static_assert(sizeof(tt_reply) == sizeof TT_MEET_MAGIC, "a caller reads either");

/* Draws a nonce. Returns TUTTI_ERR_SYSTEM if no random numbers are available (id.c). */
tutti_status tt_nonce(unsigned char nonce[TT_DIGEST]);
/* Computes the proof for this hello and nonce, which only a side that knows the key can do. Between a rank and its
 * agent, the nonce is all zeros. */
typedef enum tt_side_of { TT_RENDEZVOUS, TT_VISITOR } tt_side_of;
void tt_prove_key(tt_side_of side, const char key[TT_KEY], const tt_hello *hello,
                  const unsigned char nonce[TT_DIGEST], unsigned char proof[TT_DIGEST]);

/* ---- the calling end (meet_line.c) ---- */

typedef struct tt_meet_line {
  int fd;
  double until;  /* time limit, in seconds on the clock of tt_seconds */
  char at[100];  /* address of the other end, for messages */
  unsigned link; /* zone of the link-local address that it is connected to; or 0 */
  tt_hello hello;
  char key[TT_KEY];
  struct tt_secure *secure; /* the TLS state of a connection to another host; NULL: no TLS */
  bool open;                /* anyone can compute the key */
  bool greeted;             /* both sides have proven that they know the key */
  bool gone;                /* the other end has closed the connection */
  int agent;                /* pid of this host's agent if that is the other end, or 0 */
} tt_meet_line;

/* Opens a nonblocking TCP connection to one of the host's addresses. Returns -1 on failure, and writes the reason to
 * `why`. *link: which of this host's links to try first for a link-local address (reach.h), 0 for any; set to the
 * link of the connection. until: on the clock of tt_seconds. */
int tt_meet_connect(const char *host, int port, unsigned *link, double until, char *why,
                    size_t size);
/* Waits until the descriptor is ready. Returns false with errno ETIMEDOUT if it was not ready in time, or ECANCELED
 * if the caller was interrupted. If `wait` is not NULL, warns about long waits. */
bool tt_meet_ready(int fd, short events, double until, tt_long_wait *wait);
/* Connects to a rendezvous. It may not be open yet, so this retries until l->until. */
tutti_status tt_meet_dial(tt_meet_line *l, const tt_rendezvous *r);
/* Both sides prove that they know the key, the other side first. patience: time limit in seconds. */
tutti_status tt_meet_prove(tt_meet_line *l, double patience);
/* Returns the state of a rank that has not connected yet and gives up after `limit` seconds. ranks: 0 for a
 * connection to the waiting room. */
tt_meet_line tt_meet_line_new(const tt_rendezvous *r, int rank, int ranks, double limit);
/* Sends a frame whose payload is both parts. If it cannot be sent, the next reply contains the reason. Returns
 * TUTTI_ERR_MEMORY if out of memory. */
tutti_status tt_meet_send_frame(tt_meet_line *l, int kind, const void *head, size_t n,
                                const void *bytes, size_t more);
/* Returns false on failure; the other end may have sent the reason. */
bool tt_meet_send(tt_meet_line *l, const void *bytes, size_t n);
/* Receives n bytes. until: on the clock of tt_seconds. */
tutti_status tt_meet_recv(tt_meet_line *l, void *bytes, size_t n, double until);
/* Receives the text of a reply with an error status. Sets and returns that error. */
tutti_status tt_meet_sentence(tt_meet_line *l, const tt_reply *reply, double until);
/* Whether the other end of a connection is trusted if the key proves nothing: it must be a process of the same user on the
 * same host, unless TUTTI_INSECURE=1 allows others. TT_NOT_KNOWN: its listener has not accepted the connection yet (trust.c). */
typedef enum tt_trust { TT_UNTRUSTED, TT_NOT_KNOWN, TT_TRUSTED } tt_trust;
tt_trust tt_trust_of(int fd);
bool tt_trusts(int fd); /* returns true if tt_trust_of is TT_TRUSTED */
/* Does the same for this user, with tables of connections in the format of /proc/net/tcp and /proc/net/tcp6. */
tt_trust tt_trust_by(int fd, const char *tcp, const char *tcp6, long user);
/* Returns true if this connection does not leave the host (trust.c). */
bool tt_is_here(int fd);
/* Warns once if the text of this key is so short or simple that anyone who has captured a handshake can guess it. */
void tt_key_look(const char *name, const char *text);
/* Sets the error for a wrong proof from the other end, and returns it. */
tutti_status tt_meet_unknowing(const tt_meet_line *l);
/* Sets the error for data that does not belong to this protocol, and returns it. */
tutti_status tt_meet_foreign(const tt_meet_line *l);

/* ---- agents (agent.c) ---- */

/* State shared by the thread of an agent and its rank; the last user frees it. */
typedef struct tt_agent {
  pthread_t thread;
  atomic_int users;
  atomic_bool busy; /* replies are still being sent, so the process must not end */
} tt_agent;

/* Makes this process the agent of its host's ranks: connects it to a parent in the tree below the rendezvous, and
 * starts a thread that serves the ranks. Other ranks connect to `listener` (-1: no other ranks), and this rank uses
 * the connection `first`; the agent takes over both. like: this rank's line, without a descriptor. */
tutti_status tt_agent_start(const tt_rendezvous *r, const tt_meet_line *like, int listener,
                            int first, tt_agent **agent);
/* Called when the rank has left the bootstrap. If `failed`, waits until all others that the agent serves have been
 * notified; otherwise until their last tables have been sent. Waits at most 5 s. */
void tt_agent_leave(tt_agent *agent, bool failed);
void tt_agent_drop(tt_agent *agent); /* removes a user */

#endif
