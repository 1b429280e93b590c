/* tcp.h - internals of the network between hosts over sockets: plain TCP, or TLS 1.3.
 *
 * Layers     tcp_net.c      the table of tutti_net.h: requests of one network
 *            tcp_match.c    messages that come, and the receives that they are for
 *            tcp_line.c     one connection: messages as a stream of bytes, in records if TLS encrypts them
 *            tcp_plain.c    the ends of a plain connection; those of a TLS connection are in libtutti_tls.so
 *            tcp_call.c     connections: calls, welcomes, and which of two calls stays
 *            tcp_world.c    all processes of a job: progress, losses, the end
 *            tcp_address.c  where this process listens
 *            net/kit/       what networks between hosts share: numbers, requests, losses, addresses
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TCP_H
#define TCP_H

#include <errno.h>
#include <sys/uio.h>

#include "kit.h"
#include "secure.h"

enum {
  TCP_RECORD = 16 << 10, /* most bytes of a TLS record */
  TCP_HEAD = 16          /* bytes */
};

typedef struct tcp_world tcp_world;
typedef struct tcp_net tcp_net;
typedef struct tcp_line tcp_line;
typedef struct tcp_slot tcp_slot;

/* A process's address: where it listens. */
typedef struct tcp_address {
  kit_home home;
  uint16_t port, watch; /* watch: of the connections on which nothing is sent; 0: none */
  int32_t pid;
} tcp_address;

_Static_assert(sizeof(kit_head) == TCP_HEAD, "one precedes each message");

/* A message on its way out. */
typedef struct tcp_out {
  struct tcp_out *next; /* in its peer's queue */
  kit_head head;
  const char *bytes;
  size_t sent;    /* of the head and the bytes */
  tcp_slot *slot; /* NULL: separate memory that also contains the bytes, freed once sent */
} tcp_out;

typedef enum tcp_stage {
  TCP_NEW,
  TCP_POSTED, /* a receive: its message has not begun */
  TCP_BEGUN,  /* ... has */
  TCP_LEAVES, /* a send, in its peer's queue */
  TCP_SENT,   /* ... that awaits its receipt alone */
  TCP_DONE    /* or cancelled */
} tcp_stage;

/* A request. */
struct tcp_slot {
  kit_slot kit; /* bytes: the room of a receive; once its message has begun: its size */
  tcp_stage stage;
  char *to; /* of a receive */
  tcp_out out;
};

/* A message that came before its receive began. */
typedef struct tcp_early {
  struct tcp_early *next; /* oldest first */
  kit_head head;
  int process;
  bool whole, unwanted;
  tcp_slot *slot; /* the receive that it is for; NULL: none yet */
  char *bytes;
  size_t room; /* memory at `bytes`, which grows with the input */
} tcp_early;

typedef enum tcp_source_kind { TCP_LISTENER, TCP_LINE, TCP_WATCH } tcp_source_kind;

/* What epoll reports: the beginning of a line, a peer's watch, or the listener. */
typedef struct tcp_source {
  tcp_source_kind kind;
  int fd; /* -1: none */
} tcp_source;

typedef enum tcp_fate { /* of a process */
                        TCP_LIVES,
                        TCP_DIED,
                        TCP_SILENT,  /* its host */
                        TCP_CHANGED, /* bytes of its connection were changed on their way */
                        TCP_APART    /* it cannot be reached: `why` */
} tcp_fate;
/* Does this error of a connection mean that the other host is silent, not that its process has ended? */
static inline bool tcp_is_silence(int error) {
  return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH;
}

typedef enum tcp_state {
  TCP_CONNECTS, /* the socket of a call */
  TCP_SHAKES,   /* the call's handshake */
  TCP_ASKS,     /* the call awaits its welcome */
  TCP_HEARS,    /* a connection that was accepted: its hello has not come */
  TCP_HELD,     /* its hello has come, but this process's own call may stay instead */
  TCP_OPEN,
  TCP_OVER
} tcp_state;

/* A connection. */
struct tcp_line {
  tcp_source source;
  tcp_world *world;
  tcp_line *next; /* of the world */
  tcp_state state;
  int process;         /* at the other end; -1: unknown yet */
  void *end;           /* TLS; NULL: not yet */
  bool due;            /* its queue has messages that wait for the next poll */
  bool writes;         /* epoll reports when it can be written */
  bool unread;         /* there may be more to read, which epoll does not report */
  bool greets;         /* the record on its way is a hello or welcome */
  tcp_fate broken;     /* it cannot be written any more, for this reason */
  double since;        /* s */
  char head[TCP_HEAD]; /* of the message that comes */
  size_t have, left;   /* bytes of the head; of the message, still to come */
  char *to;            /* NULL: the rest is dropped */
  tcp_slot *into;
  tcp_early *early;
  unsigned received;  /* messages that a receive had asked for */
  int looks;          /* for the receive of the message whose head is here */
  bool waits;         /* records that TLS has made wait for the socket */
  const char *record; /* that TLS has not taken; NULL: none */
  size_t record_bytes;
  char stage[TCP_RECORD];
};

/* A process in use. */
typedef struct tcp_peer {
  tcp_source watch; /* a connection on which nothing is sent */
  bool stands;      /* the watch was established */
  int process;
  tcp_fate fate;
  tcp_line *line;        /* that carries messages; NULL: none yet */
  tcp_line *call, *held; /* its own call; the other one's: see tcp_call.c */
  int tried, given_up;   /* addresses; calls that the other end has ended */
  int error;             /* errno of the last call */
  tcp_out *first, **end; /* messages that have not left */
} tcp_peer;

/* State shared by the networks of a process, all of it under `lock`. */
struct tcp_world {
  kit_world kit;
  const char *name; /* "TCP" */
  bool encrypts;
  const tt_tls *tls; /* the ends of connections; tcp_plain() if they are not encrypted */
  unsigned char secret[TT_TLS_SECRET];
  tcp_address own;
  kit_links links;
  int silence; /* s; 0: unlimited */
  tcp_source listener;
  int watched; /* the socket that others watch; -1: none */
  int epoll;
  tcp_peer **peers; /* by process; NULL: not in use */
  tcp_line *lines;
  int strangers;      /* lines whose hello has not come */
  bool unread, due;   /* of some line */
  bool over;          /* some line is */
  atomic_int waiting; /* lines with records that wait for their sockets */
  tcp_early *early, **early_end;
  unsigned looks, skips; /* of progress; those without a system call */
  char failed[120];      /* "": the process has not failed */
};

struct tcp_net {
  kit_net kit;
  kit_queue posted; /* receives that await a message */
};

static inline tcp_world *tcp_world_of(const kit_net *n) {
  return (tcp_world *)(void *)n->world;
}
static inline kit_queue *tcp_posted(kit_net *n) {
  return &((tcp_net *)(void *)n)->posted;
}

/* ---- the entry points (tcp_maker.c) ---- */

TUTTI_API tutti_net_maker tutti_net_maker_of(void);
TUTTI_API tutti_net_maker tutti_net_maker_tls(void); /* also if TUTTI_TLS does not ask for TLS */

/* ---- requests (tcp_net.c) ---- */

extern const kit_library tcp_library;
void tcp_complete(tcp_slot *s, int failed);
/* A message of this slot has left. */
void tcp_left(tcp_slot *s);
/* Complete the requests that wait for a lost process. */
void tcp_net_lose(kit_net *n, int process);

/* ---- messages that come (tcp_match.c) ---- */

/* Does a receive wait for the message? Otherwise it needs separate memory. */
bool tcp_awaited(const tcp_line *line, const kit_head *head);
/* The head of a message from a process: where its bytes go is in line->to. A failure is the world's. */
void tcp_begins(tcp_line *line, const kit_head *head);
/* How many bytes of it line->to has room for. 0: out of memory, which is a failure of the world. */
size_t tcp_room(tcp_line *line);
/* Its last byte has arrived. */
void tcp_ends(tcp_line *line);
/* A message from this process to itself. False: out of memory. */
bool tcp_send_self(tcp_world *w, kit_net *n, const kit_head *head, const void *bytes);
/* Give a new receive the oldest message that has come for it. False: no message has come. */
bool tcp_take_early(tcp_slot *s);
/* The rest of the message that this receive has begun to take is dropped. */
void tcp_forget_slot(tcp_slot *s);
/* The network is made: which of its messages that came before may its ranks have sent? */
void tcp_early_check(const kit_net *n);
/* Drop the messages of a closed network, and those of a lost process that have arrived in part. */
void tcp_early_close(tcp_world *w, uint32_t number);
void tcp_early_lose(tcp_world *w, int process);

/* ---- a connection (tcp_line.c) ---- */

/* Fd -1: a call that is not connected yet. NULL: out of memory. */
tcp_line *tcp_line_new(tcp_world *w, int fd, tcp_state state, int process);
/* Close it; its memory is freed at the end of the next progress. */
void tcp_line_end(tcp_line *line);
/* What epoll reports; neither: nothing. */
void tcp_line_listen(tcp_line *line, bool reads, bool writes);
/* Send what its peer's queue has, as far as the socket takes it. */
void tcp_pump(tcp_line *line);
/* It cannot be written any more: once what has come is read, its process is lost, for this reason. */
void tcp_break(tcp_line *line, tcp_fate fate);
/* Send the contents of the queues that have received messages since the last call. */
void tcp_pump_due(tcp_world *w);
/* Read what has come. */
void tcp_feed(tcp_line *line);
/* Send a hello or a welcome, before all else. */
void tcp_greet(tcp_line *line, uint32_t magic);
/* A received hello or welcome in line->head: 1: valid; 0: foreign; -1: incomplete. */
int tcp_heard(tcp_line *line, uint32_t magic, uint32_t *from);
enum { TCP_HELLO = 0x74746831, TCP_WELCOME = 0x74747731 };

/* ---- the ends of a plain connection (tcp_plain.c) ---- */

/* The same functions as for TLS. */
const tt_tls *tcp_plain(void);
/* As sendmsg(2); `end`: one of tcp_plain. */
ssize_t tcp_plain_send(void *end, struct iovec *parts, size_t n);
#define TCP_SECRET_NAME "tutti data" /* the name of the job's secret */

/* ---- connections (tcp_call.c) ---- */

/* Connect to a process, unless it is connected or lost. */
void tcp_connect(tcp_world *w, tcp_peer *p);
void tcp_accept(tcp_world *w);
/* Something has happened to a line that is not open. */
void tcp_advance(tcp_line *line);
/* Calls that take too long. */
void tcp_check_calls(tcp_world *w);
/* Something has happened to a watch. */
void tcp_hear_watch(tcp_world *w, tcp_peer *p, unsigned events);

/* ---- all processes (tcp_world.c) ---- */

const tcp_address *tcp_address_of(const tcp_world *w, int process);
/* Mark a process as used; NULL: out of memory. */
tcp_peer *tcp_use(tcp_world *w, int process);
void tcp_lose(tcp_world *w, tcp_peer *p, tcp_fate fate);
/* Put a message in a peer's queue: tcp_pump_due sends it. */
void tcp_queue(tcp_world *w, tcp_peer *p, tcp_out *out);
/* As tcp_queue, with a copy of the message. False: out of memory. */
bool tcp_queue_copy(tcp_world *w, tcp_peer *p, const kit_head *head, const void *bytes);
/* Copy the messages of this network that are still in queues: the caller's memory ends. */
void tcp_keep_copies(tcp_world *w, const kit_net *n);
void tcp_progress(tcp_world *w);
/* Call after the last network is closed, or before the first one is made. */
void tcp_close(tcp_world *w);

/* ---- addresses (tcp_address.c) ---- */

/* Fills in this host's addresses, and listens. False: tutti_error() says why. */
bool tcp_listen(tcp_world *w);
/* The place at the other end of a line. */
kit_place tcp_far_end(const tcp_line *line);
/* This place has answered: its link comes first for other processes, too. */
void tcp_found(tcp_world *w, const kit_place *place);

#endif
