/* tcp.h - declarations for the network between hosts over sockets: plain TCP, or TLS 1.3.
 *
 * Layers     tcp_net.c      the table of tutti_net.h: requests of one network
 *            tcp_match.c    matches incoming messages with receives
 *            tcp_line.c     one connection: messages as a stream of bytes, in records if TLS encrypts them
 *            tcp_plain.c    plain connections; those with TLS are in libtutti_tls.so
 *            tcp_call.c     connections: calls, welcomes, and the choice between two calls
 *            tcp_world.c    all processes of a job: progress, losses, shutdown
 *            tcp_address.c  where this process listens
 *            net/kit/       the common part of networks between hosts: numbers, requests, losses, addresses
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TCP_H
#define TCP_H

#include <errno.h>
#include <sys/uio.h>

#include "kit.h"
#include "secure.h"

enum {
  TCP_RECORD = 16 << 10, /* maximum size of a TLS record */
  TCP_HEAD = 16          /* size of a message's head */
};

typedef struct tcp_world tcp_world;
typedef struct tcp_net tcp_net;
typedef struct tcp_line tcp_line;
typedef struct tcp_slot tcp_slot;

/* A process's address, where it listens. */
typedef struct tcp_address {
  kit_home home;
  uint16_t port, watch; /* watch: port for connections that never carry data; 0 if none */
  int32_t pid;
} tcp_address;

_Static_assert(sizeof(kit_head) == TCP_HEAD, "one precedes each message");

/* An outgoing message. */
typedef struct tcp_out {
  struct tcp_out *next; /* the next message in the peer's queue */
  kit_head head;
  const char *bytes;
  size_t sent;    /* number of bytes sent, including the head */
  tcp_slot *slot; /* NULL if the message is a copy in separate memory, which is freed once the
                     message is sent */
} tcp_out;

typedef enum tcp_stage {
  TCP_NEW,
  TCP_POSTED, /* a receive that no message has matched yet */
  TCP_BEGUN,  /* a receive with a message that has begun to arrive */
  TCP_LEAVES, /* a send in its peer's queue */
  TCP_SENT,   /* a send that only waits for its receipt */
  TCP_DONE    /* completed or canceled */
} tcp_stage;

/* A request. */
struct tcp_slot {
  kit_slot kit; /* kit.bytes: the capacity of a receive; once its message has begun, the message's
                   size */
  tcp_stage stage;
  char *to; /* where a receive stores the message */
  tcp_out out;
};

/* A message that arrived before its receive was posted. */
typedef struct tcp_early {
  struct tcp_early *next; /* oldest message first */
  kit_head head;
  int process;
  bool whole, unwanted;
  tcp_slot *slot; /* the receive that it matches, or NULL */
  char *bytes;
  size_t room; /* size of the memory at `bytes`, which grows as data arrives */
} tcp_early;

typedef enum tcp_source_kind { TCP_LISTENER, TCP_LINE, TCP_WATCH } tcp_source_kind;

/* A source of epoll events. This is the listener, or the first member of a line or of a peer. */
typedef struct tcp_source {
  tcp_source_kind kind;
  int fd; /* -1 if none */
} tcp_source;

typedef enum tcp_fate { /* what happened to a process */
                        TCP_LIVES,
                        TCP_DIED,
                        TCP_SILENT,  /* its host stopped answering */
                        TCP_CHANGED, /* bytes of its connection were changed in transit */
                        TCP_APART    /* it cannot be reached; tcp_peer.error has the reason */
} tcp_fate;
/* Returns true if this error of a connection means that the other host does not answer, rather than that the process has
 * ended. */
static inline bool tcp_is_silence(int error) {
  return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH;
}

typedef enum tcp_state {
  TCP_CONNECTS, /* the socket of a call is connecting */
  TCP_SHAKES,   /* the call's handshake is in progress */
  TCP_ASKS,     /* the call waits for its welcome */
  TCP_HEARS,    /* an accepted connection whose hello has not arrived */
  TCP_HELD,     /* its hello has arrived, but this process's own call may be used instead */
  TCP_OPEN,
  TCP_OVER
} tcp_state;

/* A connection. */
struct tcp_line {
  tcp_source source;
  tcp_world *world;
  tcp_line *next; /* the world's next line */
  tcp_state state;
  int process;         /* the process at the other end; -1 if not known yet */
  void *end;           /* state of the TLS or plain connection; NULL if not started */
  bool due;            /* the queue has messages that wait for the next poll */
  bool writes;         /* epoll reports when the socket is writable */
  bool unread;         /* there may be unread data that epoll does not report */
  bool greets;         /* the record being sent is a hello or a welcome */
  tcp_fate broken;     /* why the line is no longer writable, if it is not */
  double since;        /* time of creation in seconds */
  char head[TCP_HEAD]; /* head of the message being received */
  size_t have, left;   /* bytes of the head received; bytes of the message still to be received */
  char *to;            /* NULL if the remaining bytes are dropped */
  tcp_slot *into;
  tcp_early *early;
  unsigned received;  /* number of messages received directly into a posted receive */
  int looks;          /* number of attempts to find a receive for the message whose head has
                         arrived */
  bool waits;         /* TLS has records that wait for the socket */
  const char *record; /* a record that TLS has not accepted yet, or NULL */
  size_t record_bytes;
  char stage[TCP_RECORD];
};

/* A process in use. */
typedef struct tcp_peer {
  tcp_source watch; /* a connection that never carries data */
  bool stands;      /* the watch has been established */
  int process;
  tcp_fate fate;
  tcp_line *line;        /* the line that carries messages, or NULL */
  tcp_line *call, *held; /* this process's own call, and the other side's held call: see
                            tcp_call.c */
  int tried, given_up;   /* number of addresses tried; number of calls that the other end closed */
  int error;             /* errno of the last call */
  tcp_out *first, **end; /* queue of messages that have not left */
} tcp_peer;

/* State that is shared by all networks of a process. Protected by `lock`. */
struct tcp_world {
  kit_world kit;
  const char *name; /* "TCP" */
  bool encrypts;
  const tt_tls *tls; /* functions for connections; tcp_plain() without encryption */
  unsigned char secret[TT_TLS_SECRET];
  tcp_address own;
  kit_links links;
  int silence; /* keepalive timeout in seconds; 0: unlimited */
  tcp_source listener;
  int watched; /* the socket that other processes watch, or -1 */
  int epoll;
  tcp_peer **peers; /* by process; NULL if not in use */
  tcp_line *lines;
  int strangers;      /* number of lines whose hello has not arrived */
  bool unread, due;   /* true if any line's is */
  bool over;          /* true if any line has ended */
  atomic_int waiting; /* number of lines with records that wait for their sockets */
  tcp_early *early, **early_end;
  unsigned looks, skips; /* counters of progress calls, and of those without a system call */
  char failed[120];      /* the reason the world has failed, or "" */
};

struct tcp_net {
  kit_net kit;
  kit_queue posted; /* receives that wait for a message */
};

static inline tcp_world *tcp_world_of(const kit_net *n) {
  return (tcp_world *)(void *)n->world;
}
static inline kit_queue *tcp_posted(kit_net *n) {
  return &((tcp_net *)(void *)n)->posted;
}

/* ---- the entry points (tcp_maker.c) ---- */

TUTTI_API tutti_net_maker tutti_net_maker_of(void);
TUTTI_API tutti_net_maker tutti_net_maker_tls(void); /* encrypts even if TUTTI_TLS does not request
                                                        it */

/* ---- requests (tcp_net.c) ---- */

extern const kit_library tcp_library;
void tcp_complete(tcp_slot *s, int failed);
/* Called when a message of this slot has left. */
void tcp_left(tcp_slot *s);
/* Completes the requests that wait for a lost process. */
void tcp_net_lose(kit_net *n, int process);

/* ---- incoming messages (tcp_match.c) ---- */

/* Returns true if a receive has been posted for this message. If not, the message needs separate memory. */
bool tcp_awaited(const tcp_line *line, const kit_head *head);
/* Handles the head of an incoming message. Sets line->to to the address where the data is to be stored. Failures are recorded
 * in the world. */
void tcp_begins(tcp_line *line, const kit_head *head);
/* Returns the number of bytes of the incoming message that can be stored at line->to. Returns 0 if out of memory, and records
 * this as a failure of the world. */
size_t tcp_room(tcp_line *line);
/* Handles the end of an incoming message. Called after its last byte has arrived. */
void tcp_ends(tcp_line *line);
/* Sends a message from this process to itself. Returns false if out of memory. */
bool tcp_send_self(tcp_world *w, kit_net *n, const kit_head *head, const void *bytes);
/* Matches a new receive with the oldest message that fits it and has already arrived. Returns false if no
 * message fits. */
bool tcp_take_early(tcp_slot *s);
/* Discards the remainder of the message that this receive has partly received. */
void tcp_forget_slot(tcp_slot *s);
/* Checks the messages that arrived before their network was made. Messages from processes that are not in the network are an
 * error. */
void tcp_early_check(const kit_net *n);
/* tcp_early_close drops the early messages of a closed network. tcp_early_lose drops the early messages of a lost process
 * that have not fully arrived. */
void tcp_early_close(tcp_world *w, uint32_t number);
void tcp_early_lose(tcp_world *w, int process);

/* ---- a connection (tcp_line.c) ---- */

/* Adds a connection to the world. fd is -1 if the connection has not been started yet. Returns NULL if out of memory. */
tcp_line *tcp_line_new(tcp_world *w, int fd, tcp_state state, int process);
/* Closes a line. The line's memory is freed at the end of the next call of tcp_progress. */
void tcp_line_end(tcp_line *line);
/* Selects whether epoll reports that the line can be read, and that it can be written. If both are false, epoll reports
 * nothing. */
void tcp_line_listen(tcp_line *line, bool reads, bool writes);
/* Sends the peer's queue, as much as the socket accepts. */
void tcp_pump(tcp_line *line);
/* Marks a line as no longer writable. When all data that has arrived on the line has been read, its process is marked as
 * lost, with this fate. */
void tcp_break(tcp_line *line, tcp_fate fate);
/* Sends the messages that have been added to queues since the last call. */
void tcp_pump_due(tcp_world *w);
/* Reads the data that has arrived. */
void tcp_feed(tcp_line *line);
/* Sends a hello or a welcome, before any messages. */
void tcp_greet(tcp_line *line, uint32_t magic);
/* Reads a hello or a welcome from the line into line->head. Returns 1 if it is valid, 0 if it is invalid, and -1 if it has
 * not fully arrived. */
int tcp_heard(tcp_line *line, uint32_t magic, uint32_t *from);
enum { TCP_HELLO = 0x74746831, TCP_WELCOME = 0x74747731 };

/* ---- plain connections (tcp_plain.c) ---- */

/* Returns a table with the same functions as TLS has. */
const tt_tls *tcp_plain(void);
/* Like sendmsg(2). `end` is a connection of tcp_plain. */
ssize_t tcp_plain_send(void *end, struct iovec *parts, size_t n);
#define TCP_SECRET_NAME "tutti data" /* the name of the job's secret */

/* ---- connections (tcp_call.c) ---- */

/* Starts to connect to a process. Does nothing if it is already connected or lost. */
void tcp_connect(tcp_world *w, tcp_peer *p);
void tcp_accept(tcp_world *w);
/* Handles an event on a line that is not open. */
void tcp_advance(tcp_line *line);
/* Ends calls that take too long. */
void tcp_check_calls(tcp_world *w);
/* Handles an event on a watch. */
void tcp_hear_watch(tcp_world *w, tcp_peer *p, unsigned events);

/* ---- all processes (tcp_world.c) ---- */

const tcp_address *tcp_address_of(const tcp_world *w, int process);
/* Marks a process as in use. Returns NULL if out of memory. */
tcp_peer *tcp_use(tcp_world *w, int process);
void tcp_lose(tcp_world *w, tcp_peer *p, tcp_fate fate);
/* Appends a message to a peer's queue. tcp_pump_due sends it. */
void tcp_queue(tcp_world *w, tcp_peer *p, tcp_out *out);
/* Appends a copy of a message to a peer's queue. Returns false if out of memory. */
bool tcp_queue_copy(tcp_world *w, tcp_peer *p, const kit_head *head, const void *bytes);
/* Replaces this network's messages in the queues by copies, because the memory of the caller becomes invalid. */
void tcp_keep_copies(tcp_world *w, const kit_net *n);
void tcp_progress(tcp_world *w);
/* Frees the world. Called after the last network is closed, or before the first one is made. */
void tcp_close(tcp_world *w);

/* ---- addresses (tcp_address.c) ---- */

/* Determines this host's addresses, and opens a listening socket. If this fails, returns false, and tutti_error() has the
 * reason. */
bool tcp_listen(tcp_world *w);
/* Returns the address at the other end of a line. */
kit_place tcp_far_end(const tcp_line *line);
/* Records that an address has answered. The addresses of other processes on the same link are then tried first. */
void tcp_found(tcp_world *w, const kit_place *place);

#endif
