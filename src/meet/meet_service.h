/* meet_service.h - the serving end of a meeting: what the rendezvous and an agent have in common, shared by
 * rendezvous.c, agent.c, meet_peers.c, meet_entry.c and meet_rounds.c.
 *
 * Idea       A service collects the rows of its peers and answers each with the table. The rendezvous makes
 *            the table; an agent passes rows up to its parent, and hands down what the parent answers. Peers
 *            are agents, by TCP, and an agent's peers also the ranks of its host, by a local socket.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_MEET_SERVICE_H
#define TT_MEET_SERVICE_H

#include "listen.h"
#include "meet_line.h"

enum { TT_FANOUT = 7 /* agents below the rendezvous, or below an agent */ };

/* id.c: sets hosts and a key, if it has none. */
tutti_status tt_rendezvous_name(tt_rendezvous *r);
/* id.c: adds the addresses that other hosts may reach, or the one that TUTTI_INTERFACE asks for; loopback if there
 * are no others. */
void tt_addresses_here(tt_rendezvous *r);

typedef enum tt_peer_state {
  TT_STRANGER,   /* its hello is awaited */
  TT_CHALLENGED, /* its proof is awaited */
  TT_WAITS,      /* an agent, for this meeting to end and the next one to begin */
  TT_GUEST,      /* of the waiting room (room.c), whatever happens in the meeting */
  TT_PARENT,     /* of an agent: it sends tables */
  TT_MEMBER,     /* it sends rows; an agent sends its address first */
  TT_LEAVES      /* after the output; its input is drained */
} tt_peer_state;

typedef struct tt_meet_peer { /* a connection; fd < 0: free */
  int fd;
  tt_peer_state state;
  bool local;   /* a rank of this host; else an agent */
  bool placed;  /* the agent has a place here */
  bool talks;   /* it has output, of which `sent` bytes have left */
  double since; /* s, time of the connection */
  bool knows;   /* it has proven the key */
  /* Its input: a hello, a proof, frames; a parent's replies. room: memory at `in`, which grows with the input. */
  char *in;
  size_t have, want, room;
  /* The output: the header and `to_send` bytes after it. own: the bytes belong to the peer. */
  tt_reply head;
  const char *out;
  char *own;
  size_t sent, to_send;
  int hands; /* the descriptor that goes with the header; -1: none */
  tt_hello hello;
  unsigned char nonce[TT_DIGEST]; /* of its challenge; for a rank of this host: zeros */
  struct tt_secure *secure; /* what protects the connection to another host; NULL: nothing yet */
  bool proves;              /* this side's proof is to go before the first reply */
  struct tt_guest *guest;   /* of the waiting room; or NULL */
} tt_meet_peer;

typedef struct tt_room tt_room;
typedef struct tt_guest tt_guest;

typedef struct tt_service {
  int listener, local; /* for agents; for ranks of this host. -1: closed */
  bool lasting, agent;
  bool open; /* anybody can compute the key: agents that are not trusted are sent away */
  const char
      *other_tls; /* why a process was refused that came with TLS, or without; NULL: none was */
  char key[TT_KEY];
  tt_meet_peer *peers;
  int npeers, members; /* members: peers that send rows */
  int locals, most_locals;
  int ranks;           /* as in the first hello; 0: no hello has arrived */
  tt_long_wait wait; /* for the others, since the first hello */
  double limit;      /* s: how long it waits for them */
  int round;
  int rows, known; /* received in this round; of the ranks that sent some in the first round */
  int gone;        /* peers that left between rounds */
  char left[128];  /* the first of them */
  tt_table table;  /* of the last round */
  tt_refusal why;  /* the meeting has failed */
  bool over;       /* no more tables; ends when all is sent */
  double failed;   /* s, since when late peers may get the reason; 0: they need not */

  /* The rendezvous: rows of this round, by rank, within the frames that contained them. */
  const tt_row **row;
  char **frames;
  int nframes, agents;    /* agents: that were placed */
  tt_agent_place *places; /* of agents, by number */

  tt_room *room;  /* a lasting rendezvous may have one */
  tt_agent *self; /* an agent's */
  /* An agent: its connection to its parent, and what goes up: `batch` collects rows. */
  tt_meet_peer parent; /* fd -1: none; the rendezvous has none */
  char *batch;
  size_t batched;
  double batch_since;
  bool told, told_now; /* the parent must be notified that the bootstrap failed; the message has been sent */

  uint64_t bytes_out; /* sent, for measurements */
} tt_service;

/* ---- the service (rendezvous.c) ---- */

/* Handles the events that have arrived, once. waits: for events, or for the next time limit. False: the bootstrap has ended. */
bool tt_service_turn(tt_service *s, bool waits);
/* Serves until the bootstrap has ended; a thread's function. Frees the service. */
void *tt_service_run(void *service);
tt_service *tt_service_new(const char key[TT_KEY]); /* NULL: out of memory */
void tt_service_free(tt_service *s);
/* Starts a thread that blocks all signals. */
tutti_status tt_service_thread(tt_service *s, pthread_t *thread);

/* ---- peers (meet_peers.c) ---- */

/* Accepts a connection; false: none waits, or descriptors are short. */
bool tt_meet_peer_welcome(tt_service *s, bool local);
/* Takes a connection over; false: out of memory, and it is closed. */
bool tt_meet_peer_add(tt_service *s, int fd, bool local);
/* May another stranger come now? */
bool tt_meet_has_room(const tt_service *s);
/* Reads what has come; hung_up: the other end is closed. */
void tt_meet_peer_read(tt_service *s, tt_meet_peer *g, bool hung_up);
void tt_meet_peer_write(tt_service *s, tt_meet_peer *g);
void tt_meet_peer_close(tt_service *s, tt_meet_peer *g);
/* Queue the table. */
void tt_meet_peer_serve(tt_meet_peer *g, const tt_table *table);
/* Queue a reply with these bytes, which are copied. */
void tt_meet_peer_say(tt_meet_peer *g, int status, const void *bytes, size_t n);
/* Queue the last reply: the reason why the meeting has failed, or the peer is refused. */
void tt_meet_peer_part(tt_meet_peer *g, const tt_refusal *why);
/* Queue a reason that this peer alone gets. */
void tt_meet_peer_refuse(tt_meet_peer *g, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The bootstrap has ended; start the next one with the peers that wait for it. */
void tt_service_renew(tt_service *s);
static inline bool tt_is_member(const tt_meet_peer *g) {
  return g->fd >= 0 && g->state == TT_MEMBER && (g->local || g->placed);
}

/* ---- becoming a member (meet_entry.c) ---- */

/* Peeks at the first byte of an agent, which shows whether it uses TLS. */
void tt_entry_first_byte(tt_service *s, tt_meet_peer *g);
/* Its hello has come, in g->in; a proof. */
void tt_entry_hello(tt_service *s, tt_meet_peer *g);
void tt_entry_proof(tt_service *s, tt_meet_peer *g, const unsigned char proof[TT_DIGEST]);
/* Add the peer to the meeting, or queue the reason why it has failed or does without the peer. */
void tt_entry_join(tt_service *s, tt_meet_peer *g);

/* ---- rounds (meet_rounds.c) ---- */

/* The bootstrap fails. The rendezvous, or an agent that has lost its parent, notifies all peers. Another
 * agent notifies its parent, and its peers when the parent answers. */
void tt_service_fail(tt_service *s, tutti_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The meeting has failed for this reason, which all peers get. */
void tt_service_end(tt_service *s, const tt_refusal *why);
/* A member's frame has come whole; takes its bytes over. */
void tt_rounds_frame(tt_service *s, const tt_meet_frame *head, char *bytes);
/* A member has left; unfinished: within a frame. */
void tt_rounds_left(tt_service *s, const tt_hello *hello, bool unfinished);
/* The table of this round is there: hand it to all. It is taken over. */
void tt_rounds_answer(tt_service *s, tt_table *table);
/* Frees all that a meeting has collected. */
void tt_rounds_clear(tt_service *s);

/* ---- the waiting room (room.c) ---- */

/* Gives a rendezvous a waiting room, for a job of that many ranks and up to that many joiners. TUTTI_ERR_ARG, TUTTI_ERR_MEMORY. */
tutti_status tt_room_new(tt_service *s, int ranks, int joiners);
void tt_room_free(tt_service *s);
/* A peer that is not a rank but knows the key becomes a guest, or gets the error that the service has no waiting room. */
void tt_room_enter(tt_service *s, tt_meet_peer *g);
/* A guest has sent the bytes that were expected. */
void tt_room_said(tt_service *s, tt_meet_peer *g);
/* A connection is closed; does nothing if it was not a guest's. */
void tt_room_left(tt_service *s, tt_meet_peer *g);
/* Answers the guests for which something has changed. */
void tt_room_look(tt_service *s);
/* ms until the next poll; -1: at the next event. */
int tt_room_due(const tt_service *s);

/* ---- an agent's parent (agent.c) ---- */

/* Sends the batch when it is due: in the first round soon, in later ones when all rows have arrived. */
void tt_agent_flush(tt_service *s);
/* The parent's bytes that were expected have come; it has left, because bytes were `changed` or for another reason. */
void tt_agent_heard(tt_service *s);
void tt_agent_lost(tt_service *s, bool changed);
/* ms until a batch is due; -1: no batch is due. */
int tt_agent_due(const tt_service *s);

#endif
