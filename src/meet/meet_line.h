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

/* The status of a reply is either a negative error status, followed by the text of the error, or one of these values. */
enum { TT_TABLE = 0, TT_STAY = 1, TT_GO = 2 };
typedef struct tt_reply { /* header of a reply, before the table, the text or a tt_agent_place */
  int32_t status;
  uint32_t bytes;
} tt_reply;
_Static_assert(sizeof(tt_reply) == sizeof TT_MEET_MAGIC, "a caller reads either");

/* Sets a nonce to random bits. Returns TUTTI_ERR_SYSTEM if no random numbers are available (id.c). */
tutti_status tt_nonce(unsigned char nonce[TT_DIGEST]);
/* Computes the proof that this side knows the key, for a hello and a nonce. A rank and its agent use a nonce of zeros. */
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

/* Opens a nonblocking TCP connection to one of the host's addresses. On failure returns -1, and writes the reason to
 * `why`. *link: for a link-local address (reach.h), the link of this host to try first, or 0 for any; set to the
 * link that the connection uses. until: time limit on the clock of tt_seconds. */
int tt_meet_connect(const char *host, int port, unsigned *link, double until, char *why,
                    size_t size);
/* Waits until the descriptor is ready. Returns false with errno ETIMEDOUT after the time limit, or ECANCELED if the
 * caller was interrupted. Warns about a long wait if `wait` is not NULL. */
bool tt_meet_ready(int fd, short events, double until, tt_long_wait *wait);
/* Connects to a rendezvous. Tries again until l->until, because the rendezvous may not be open yet. */
tutti_status tt_meet_dial(tt_meet_line *l, const tt_rendezvous *r);
/* Makes both sides prove that they know the key. The other side proves it first. patience: time limit in seconds. */
tutti_status tt_meet_prove(tt_meet_line *l, double patience);
/* Initializes the calling end of a connection, without connecting it. limit: time in seconds after which the rank
 * gives up. ranks: 0 for a connection to the waiting room. */
tt_meet_line tt_meet_line_new(const tt_rendezvous *r, int rank, int ranks, double limit);
/* Sends one frame, whose payload is the `n` bytes at `head` and the `more` bytes at `bytes`. If sending fails, the
 * next reply contains the reason. Returns TUTTI_ERR_MEMORY if out of memory. */
tutti_status tt_meet_send_frame(tt_meet_line *l, int kind, const void *head, size_t n,
                                const void *bytes, size_t more);
/* Sends n bytes. Returns false on failure. The other end may then have sent the reason. */
bool tt_meet_send(tt_meet_line *l, const void *bytes, size_t n);
/* Receives n bytes. until: time limit on the clock of tt_seconds. */
tutti_status tt_meet_recv(tt_meet_line *l, void *bytes, size_t n, double until);
/* Receives the text of a reply that has an error status. Sets the error from the status and the text, and returns the status. */
tutti_status tt_meet_sentence(tt_meet_line *l, const tt_reply *reply, double until);
/* Tells whether the other end of a connection can be trusted if the key is not secret. It must then be a process of
 * the same user on the same host, unless TUTTI_INSECURE=1 allows others. TT_NOT_KNOWN: the other end has not
 * accepted the connection yet (trust.c). */
typedef enum tt_trust { TT_UNTRUSTED, TT_NOT_KNOWN, TT_TRUSTED } tt_trust;
tt_trust tt_trust_of(int fd);
bool tt_trusts(int fd); /* returns true if tt_trust_of is TT_TRUSTED */
/* Computes tt_trust_of for the given user, and for tables of connections in the format of /proc/net/tcp and /proc/net/tcp6. */
tt_trust tt_trust_by(int fd, const char *tcp, const char *tcp6, long user);
/* Returns true if both ends of this connection are on this host (trust.c). */
bool tt_is_here(int fd);
/* Warns once if the text of a key is so short or simple that someone who has captured a handshake can guess it. */
void tt_key_look(const char *name, const char *text);
/* Sets the error for an invalid proof from the other end, and returns its status. */
tutti_status tt_meet_unknowing(const tt_meet_line *l);
/* Sets an error that says that the other end does not speak this protocol, and returns its status. */
tutti_status tt_meet_foreign(const tt_meet_line *l);

/* ---- agents (agent.c) ---- */

/* The state shared by an agent's thread and the rank in the same process. The last of them to finish frees it. */
typedef struct tt_agent {
  pthread_t thread;
  atomic_int users;
  atomic_bool busy; /* replies are still being sent, so the process must not end */
} tt_agent;

/* Makes this process the agent for the ranks of its host. Connects the agent to a parent in the tree below the
 * rendezvous, and starts a thread that serves the ranks. Other ranks connect to `listener` (-1: no other ranks), and
 * this rank uses the connection `first`. Takes over both. like: the line of this rank, without a descriptor. */
tutti_status tt_agent_start(const tt_rendezvous *r, const tt_meet_line *like, int listener,
                            int first, tt_agent **agent);
/* Called when the rank has left the bootstrap. Waits until the agent has sent the last tables to the ranks that it
 * serves, or, if `failed`, until the agent has notified these ranks of the failure. Waits at most 5 s. */
void tt_agent_leave(tt_agent *agent, bool failed);
void tt_agent_drop(tt_agent *agent); /* removes a user */

#endif
