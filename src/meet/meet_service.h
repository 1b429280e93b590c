/* meet_service.h - the serving end of a bootstrap: the common part of the rendezvous and of agents, shared by
 * rendezvous.c, agent.c, meet_peers.c, meet_entry.c and meet_rounds.c.
 *
 * Idea       A service collects the rows of its peers and replies to each with the table. The rendezvous makes the
 *            table; an agent forwards rows to its parent, and the parent's replies to its peers. The peers of both
 *            are agents, connected by TCP. An agent's peers also include the ranks of its host, connected by local
 *            sockets.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_MEET_SERVICE_H
#define TT_MEET_SERVICE_H

#include "listen.h"
#include "meet_line.h"

enum { TT_FANOUT = 7 /* maximum number of agents below the rendezvous or below an agent */ };

/* Sets the hosts and the key of a rendezvous, unless the caller has already set them (id.c). */
tutti_status tt_rendezvous_name(tt_rendezvous *r);
/* Adds the addresses at which other hosts may be able to reach this host, or only the address that TUTTI_INTERFACE
 * selects. Adds a loopback address if this host has no others (id.c). */
void tt_addresses_here(tt_rendezvous *r);

typedef enum tt_peer_state {
  TT_STRANGER,   /* it has to send a hello */
  TT_CHALLENGED, /* it has to send its proof */
  TT_WAITS,      /* it waits for this bootstrap to end and the next one to begin */
  TT_GUEST,      /* a guest of the waiting room (room.c), regardless of the bootstrap */
  TT_PARENT,     /* the parent of this agent: it sends tables */
  TT_MEMBER,     /* it sends rows; an agent sends its card first */
  TT_LEAVES      /* closes after the output; its input is discarded */
} tt_peer_state;

typedef struct tt_meet_peer { /* a connection; fd < 0: unused */
  int fd;
  tt_peer_state state;
  bool local;   /* a rank of this host; otherwise an agent */
  bool placed;  /* the agent is a child of this service */
  bool talks;   /* it has output, of which `sent` bytes have been sent */
  double since; /* time of the connection, in seconds */
  bool knows;   /* it has proven that it knows the key */
  /* The input from this peer: a hello, a proof or frames, or replies if the peer is the parent. room: size of the
   * memory at `in`, which grows with the input. */
  char *in;
  size_t have, want, room;
  /* The output to this peer: the header, followed by `to_send` bytes. own: the memory of the output if it belongs to
   * this peer. */
  tt_reply head;
  const char *out;
  char *own;
  size_t sent, to_send;
  int hands; /* descriptor to send along with the header; -1: none */
  tt_hello hello;
  unsigned char nonce[TT_DIGEST]; /* of its challenge; all zeros for a rank of this host */
  struct tt_secure *secure;       /* TLS state of a connection to another host; NULL: none yet */
  bool proves;                    /* this side must send its proof before the first reply */
  struct tt_guest *guest;         /* state of a guest of the waiting room, or NULL */
} tt_meet_peer;

typedef struct tt_room tt_room;
typedef struct tt_guest tt_guest;

typedef struct tt_service {
  int listener, local; /* sockets that accept agents, and ranks of this host; -1: closed */
  bool lasting, agent;
  bool open; /* anyone can compute the key, so agents that are not trusted are rejected */
  const char
      *other_tls; /* why a process with TLS, or one without, was refused; NULL: not refused */
  char key[TT_KEY];
  tt_meet_peer *peers;
  int npeers, members; /* members: number of peers that send rows */
  int locals, most_locals;
  int ranks;           /* as in the first hello; 0: no hello has arrived */
  tt_long_wait wait;   /* for the other ranks, since the first hello */
  double limit;        /* time limit for them, in seconds */
  int round;
  int rows, known; /* number of rows received in this round, and in the first round */
  int gone;        /* number of peers that left between rounds */
  char left[128];  /* name of the first of them */
  tt_table table;  /* table of the last round */
  tt_refusal why;  /* why the bootstrap has failed */
  bool over;       /* no more tables; ends when everything is sent */
  double failed;   /* time of the failure, in seconds; late peers then get the reason. 0: they do
                      not get it */

  /* Used only in the rendezvous: the rows of this round by rank. They point into the frames that the rendezvous has received. */
  const tt_row **row;
  char **frames;
  int nframes, agents;    /* agents: number of entries in `places` */
  tt_agent_place *places; /* addresses of agents, by number */

  tt_room *room;  /* of a lasting rendezvous, or NULL */
  tt_agent *self; /* state shared with the rank of this agent */
  /* Used only in an agent: the connection to its parent, and the rows that `batch` collects to be sent to the parent. */
  tt_meet_peer parent; /* fd -1: none, as in the rendezvous */
  char *batch;
  size_t batched;
  double batch_since;
  bool told, told_now; /* the parent must be notified that the bootstrap has failed; the
                          notification has been sent */

  uint64_t bytes_out; /* total sent, for measurements */
} tt_service;

/* ---- the service (rendezvous.c) ---- */

/* Handles pending events once. If `waits`, first waits for an event or for the next time limit. Returns false when
 * the bootstrap has ended. */
bool tt_service_turn(tt_service *s, bool waits);
/* Serves peers until the bootstrap has ended, and then frees the service. Runs in a separate thread. */
void *tt_service_run(void *service);
tt_service *tt_service_new(const char key[TT_KEY]); /* returns NULL if out of memory */
void tt_service_free(tt_service *s);
/* Starts the thread that runs the service. The thread blocks all signals. */
tutti_status tt_service_thread(tt_service *s, pthread_t *thread);

/* ---- peers (meet_peers.c) ---- */

/* Accepts a connection. Returns false if no connection is waiting, or if the process has no free file descriptors. */
bool tt_meet_peer_welcome(tt_service *s, bool local);
/* Adds a peer for this connection, and takes over the connection. If out of memory, closes the connection and returns false. */
bool tt_meet_peer_add(tt_service *s, int fd, bool local);
/* Returns true if one more unauthenticated connection can be accepted now. */
bool tt_meet_has_room(const tt_service *s);
/* Reads the input that has arrived from a peer. hung_up: the other end has closed the connection. */
void tt_meet_peer_read(tt_service *s, tt_meet_peer *g, bool hung_up);
void tt_meet_peer_write(tt_service *s, tt_meet_peer *g);
void tt_meet_peer_close(tt_service *s, tt_meet_peer *g);
/* Queues the table. */
void tt_meet_peer_serve(tt_meet_peer *g, const tt_table *table);
/* Queues a reply with these bytes. The bytes are copied. */
void tt_meet_peer_say(tt_meet_peer *g, int status, const void *bytes, size_t n);
/* Queues the last reply to a peer: the reason why the bootstrap has failed, or why the peer is refused. */
void tt_meet_peer_part(tt_meet_peer *g, const tt_refusal *why);
/* Queues a refusal for this peer alone. */
void tt_meet_peer_refuse(tt_meet_peer *g, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Ends this bootstrap, and starts the next one with the peers that have been waiting for it. */
void tt_service_renew(tt_service *s);
static inline bool tt_is_member(const tt_meet_peer *g) {
  return g->fd >= 0 && g->state == TT_MEMBER && (g->local || g->placed);
}

/* ---- becoming a member (meet_entry.c) ---- */

/* Peeks at the first byte that an agent has sent, to find out whether the agent uses TLS. */
void tt_entry_first_byte(tt_service *s, tt_meet_peer *g);
/* tt_entry_hello handles a complete hello in g->in, and tt_entry_proof handles a complete proof. */
void tt_entry_hello(tt_service *s, tt_meet_peer *g);
void tt_entry_proof(tt_service *s, tt_meet_peer *g, const unsigned char proof[TT_DIGEST]);
/* Adds the peer to the bootstrap. If that is not possible, queues the reason: the bootstrap has failed, or it has
 * started without this peer. */
void tt_entry_join(tt_service *s, tt_meet_peer *g);

/* ---- rounds (meet_rounds.c) ---- */

/* Makes the bootstrap fail. The rendezvous and any agent that has lost its parent notify all of their peers. Any
 * other agent notifies its parent, and notifies its peers when the parent replies. */
void tt_service_fail(tt_service *s, tutti_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Ends the bootstrap with a failure, and notifies all peers of the reason. */
void tt_service_end(tt_service *s, const tt_refusal *why);
/* Called when a complete frame from a member has arrived. Takes over the memory at `bytes`. */
void tt_rounds_frame(tt_service *s, const tt_meet_frame *head, char *bytes);
/* Called when a member has disconnected. unfinished: the member has sent only a part of a frame. */
void tt_rounds_left(tt_service *s, const tt_hello *hello, bool unfinished);
/* Called when the table of this round is complete. Sends the table to all members. Takes over the table. */
void tt_rounds_answer(tt_service *s, tt_table *table);
/* Frees all data that the bootstrap has collected. */
void tt_rounds_clear(tt_service *s);

/* ---- the waiting room (room.c) ---- */

/* Creates the waiting room of a rendezvous. The job has `ranks` ranks and admits up to `joiners` joiners. Returns
 * TUTTI_ERR_ARG or TUTTI_ERR_MEMORY on failure. */
tutti_status tt_room_new(tt_service *s, int ranks, int joiners);
void tt_room_free(tt_service *s);
/* Makes a guest of a peer that knows the key but is not a rank. Sends it an error if the service has no waiting room. */
void tt_room_enter(tt_service *s, tt_meet_peer *g);
/* Called when a guest has sent all bytes that were expected from it. */
void tt_room_said(tt_service *s, tt_meet_peer *g);
/* Called when a connection is closed. Does nothing if the connection did not belong to a guest. */
void tt_room_left(tt_service *s, tt_meet_peer *g);
/* Replies to the guests whose state has changed. */
void tt_room_look(tt_service *s);
/* Returns the time until the waiting room must be polled again, in milliseconds, or -1 if it only waits for events. */
int tt_room_due(const tt_service *s);

/* ---- an agent's parent (agent.c) ---- */

/* Sends the batch to the parent when it is due. In the first round this is after a short delay, and in later rounds
 * when all rows have arrived. */
void tt_agent_flush(tt_service *s);
/* tt_agent_heard is called when the bytes expected from the parent have arrived, and tt_agent_lost when the
 * connection to the parent is lost. changed: the reason is that data from the parent was changed in transit. */
void tt_agent_heard(tt_service *s);
void tt_agent_lost(tt_service *s, bool changed);
/* Returns the time until the batch is due, in milliseconds, or -1 if no time is set for it. */
int tt_agent_due(const tt_service *s);

#endif
