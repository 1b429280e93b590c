/* cipher.h - internals of tutti's own network between hosts, whose messages TLS encrypts and authenticates.
 *
 * Layers     cipher_net.c      the table of tutti_net.h: requests of one network
 *            cipher_match.c    messages that come, and the receives that they are for
 *            cipher_line.c     one connection: messages as a stream of bytes in TLS records
 *            cipher_call.c     connections: calls, welcomes, and which of two calls stays
 *            cipher_world.c    all processes of a job: progress, losses, the end
 *            cipher_address.c  addresses of this host, and sockets to those of others
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CIPHER_H
#define TT_CIPHER_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cipher_maker.h"
#include "reach.h"
#include "secure.h"
#include "tutti_net.h"

enum {
  CIPHER_ADDRESSES = 6,
  CIPHER_RECORD = 16 << 10, /* most bytes of a TLS record */
  CIPHER_HEAD = 16,         /* bytes */
  CIPHER_CHUNK = 64         /* slots */
};

typedef struct cipher_world cipher_world;
typedef struct cipher_net cipher_net;
typedef struct cipher_line cipher_line;
typedef struct cipher_slot cipher_slot;

/* A process's address: where it listens. */
typedef struct cipher_address {
  char host[64];
  struct in6_addr addresses[CIPHER_ADDRESSES]; /* IPv4 as mapped ones; zeros: no more */
  uint16_t port, watch;                        /* watch: of the connections on which nothing is sent; 0: none */
  int32_t pid;
} cipher_address;

/* An address of a process, and the link of this host to it. */
typedef struct cipher_place {
  struct in6_addr address;
  unsigned link; /* 0: more than one link knows the address */
} cipher_place;

typedef enum cipher_kind { CIPHER_PLAIN, CIPHER_SURE, CIPHER_RECEIPT } cipher_kind;

/* Precedes each message. */
typedef struct cipher_head {
  uint32_t number; /* of the network */
  uint32_t rank;   /* of the sender, in that network */
  uint32_t bytes;  /* that follow */
  uint8_t kind, tag, none[2];
} cipher_head;
_Static_assert(sizeof(cipher_head) == CIPHER_HEAD, "each message has one");

/* A message on its way out. */
typedef struct cipher_out {
  struct cipher_out *next; /* in its peer's queue */
  cipher_head head;
  const char *bytes;
  size_t sent;       /* of the head and the bytes */
  cipher_slot *slot; /* NULL: this is memory of its own, with the bytes behind it, and is freed once sent */
} cipher_out;

typedef enum cipher_stage {
  CIPHER_FREE,   /* it is no request, or one that was forgotten */
  CIPHER_POSTED, /* a receive: its message has not begun */
  CIPHER_BEGUN,  /* ... has */
  CIPHER_LEAVES, /* a send, in its peer's queue */
  CIPHER_SENT,   /* ... that awaits its receipt alone */
  CIPHER_DONE    /* not reported yet */
} cipher_stage;

/* A request. */
struct cipher_slot {
  cipher_net *net;
  cipher_slot *next; /* in the one queue that it is in: posted, asked or done */
  int number, peer, tag;
  cipher_stage stage;
  bool awaits; /* a send's receipt has not come */
  int failed;
  char *to;     /* of a receive */
  size_t bytes; /* room; once the message has begun: its size */
  cipher_out out;
};

/* A message that came before its receive began. */
typedef struct cipher_early {
  struct cipher_early *next; /* oldest first */
  cipher_head head;
  int process;
  bool whole, unwanted;
  cipher_slot *slot; /* the receive that it is for; NULL: none yet */
  char *bytes;
  size_t room; /* memory at `bytes`, which grows with what comes */
} cipher_early;

typedef enum cipher_source_kind { CIPHER_LISTENER, CIPHER_LINE, CIPHER_WATCH } cipher_source_kind;

/* What epoll reports: the beginning of a line, a peer's watch, or the listener. */
typedef struct cipher_source {
  cipher_source_kind kind;
  int fd; /* -1: none */
} cipher_source;

typedef enum cipher_fate { /* of a process */
  CIPHER_LIVES,
  CIPHER_DIED,
  CIPHER_SILENT,  /* its host */
  CIPHER_CHANGED, /* bytes of its connection were changed on their way */
  CIPHER_APART    /* it cannot be reached: `why` */
} cipher_fate;

typedef enum cipher_state {
  CIPHER_CONNECTS, /* the socket of a call */
  CIPHER_SHAKES,   /* the call's handshake */
  CIPHER_ASKS,     /* the call awaits its welcome */
  CIPHER_HEARS,    /* a connection that was accepted: its hello has not come */
  CIPHER_HELD,     /* its hello has come, but this process's own call may stay instead */
  CIPHER_OPEN,
  CIPHER_OVER
} cipher_state;

/* A connection. */
struct cipher_line {
  cipher_source source;
  cipher_world *world;
  cipher_line *next; /* of the world */
  cipher_state state;
  int process;   /* at the other end; -1: unknown yet */
  void *end;     /* TLS; NULL: not yet */
  bool writes;   /* epoll reports when it can be written */
  bool unread;   /* there may be more to read, which epoll does not report */
  bool greets;   /* the record on its way is a hello or welcome */
  cipher_fate broken; /* it cannot be written any more, for this reason */
  double since;  /* s */
  char head[CIPHER_HEAD]; /* of the message that comes */
  size_t have, left;      /* bytes of the head; of the message, still to come */
  char *to;               /* NULL: the rest is dropped */
  cipher_slot *into;
  cipher_early *early;
  unsigned received; /* messages that a receive had asked for */
  int looks;         /* for the receive of the message whose head is here */
  bool waits;         /* records that TLS has made wait for the socket */
  const char *record; /* that TLS has not taken; NULL: none */
  size_t record_bytes;
  char stage[CIPHER_RECORD];
};

/* A process in use. */
typedef struct cipher_peer {
  cipher_source watch; /* a connection on which nothing is sent */
  bool stands;         /* the watch was established */
  int process;
  cipher_fate fate;
  cipher_line *line;        /* that carries messages; NULL: none yet */
  cipher_line *call, *held; /* its own call; the other one's: see cipher_call.c */
  int tried, given_up;      /* addresses; calls that the other end has ended */
  int error;                /* errno of the last call */
  cipher_out *first, **end; /* messages that have not left */
} cipher_peer;

/* State shared by the networks of a process, all of it under `lock`. */
struct cipher_world {
  pthread_mutex_t lock;
  const tt_tls *tls;
  unsigned char secret[TT_TLS_SECRET];
  cipher_address own;
  int bits[CIPHER_ADDRESSES]; /* of the network of each address */
  unsigned own_link[CIPHER_ADDRESSES]; /* of each that only its link knows */
  unsigned link[TT_LINKS];             /* over which to look for such addresses of others, in this order */
  int links;
  int silence;                /* s; 0: unlimited */
  cipher_source listener;
  int watched; /* the socket that others watch; -1: none */
  int epoll;
  int rank, ranks;
  cipher_peer **peers; /* by process; NULL: not in use */
  cipher_line *lines;
  int strangers; /* lines whose hello has not come */
  bool unread;   /* of some line */
  bool over;     /* some line is */
  atomic_int waiting; /* lines with records that wait for their sockets */
  tutti_net_addresses addresses;
  uint32_t next; /* number of the next network */
  cipher_net *nets;
  cipher_early *early, **early_end;
  int *lost; /* processes that were lost, in this order */
  int losses;
  unsigned looks, skips; /* of progress; those without a system call */
  char failed[120]; /* "": this process can go on */
};

struct cipher_net {
  cipher_net *next; /* of the world */
  cipher_world *world;
  uint32_t number;
  int rank, ranks;
  int *processes; /* NULL: all */
  cipher_slot **chunks;
  int nchunks;
  atomic_int out; /* messages that have not left */
  int told;       /* how many of the world's losses were reported */
  unsigned skips; /* polls that found something without progress */
  cipher_slot *done, **done_end;     /* completed */
  cipher_slot *asked, **asked_end;   /* sends that await a receipt */
  cipher_slot *posted, **posted_end; /* receives that await a message */
  char error[160];
};

static inline int cipher_process(const cipher_net *n, int rank) {
  return n->processes ? n->processes[rank] : rank;
}

/* ---- requests (cipher_net.c) ---- */

void tt_cipher_append(cipher_slot ***end, cipher_slot *s);
void tt_cipher_unlink(cipher_slot **first, cipher_slot ***end, cipher_slot *s);
void tt_cipher_complete(cipher_slot *s, int failed);
/* A message of this slot has left. */
void tt_cipher_left(cipher_slot *s);
/* Complete the requests that wait for a lost process. */
void tt_cipher_net_lose(cipher_net *n, int process);
/* A network of some processes; processes NULL: of all. 0, or 1: out of memory. */
int tt_cipher_net_make(cipher_world *w, uint32_t number, const int *processes, int rank, int ranks,
                       tutti_net *net);

/* ---- messages that come (cipher_match.c) ---- */

/* Can the message go to its place at once? False: it would need memory of its own. */
bool tt_cipher_awaited(const cipher_line *line, const cipher_head *head);
/* The head of a message from a process: where its bytes go is in line->to. A failure is the world's. */
void tt_cipher_begins(cipher_line *line, const cipher_head *head);
/* How many bytes of it line->to has room for. 0: out of memory, which is a failure of the world. */
size_t tt_cipher_room(cipher_line *line);
/* Its last byte is there. */
void tt_cipher_ends(cipher_line *line);
/* A message from this process to itself. False: out of memory. */
bool tt_cipher_send_self(cipher_world *w, cipher_net *n, const cipher_head *head, const void *bytes);
/* Give a new receive the oldest message that has come for it. False: none has. */
bool tt_cipher_take_early(cipher_slot *s);
/* The rest of the message that this receive has begun to take is dropped. */
void tt_cipher_forget_slot(cipher_slot *s);
/* The network is made: which of its messages that came before may its ranks have sent? */
void tt_cipher_early_check(const cipher_net *n);
/* Drop the messages of a network that is closed, and those of a lost process that have come in part. */
void tt_cipher_early_close(cipher_world *w, uint32_t number);
void tt_cipher_early_lose(cipher_world *w, int process);

/* ---- a connection (cipher_line.c) ---- */

/* Fd -1: a call that is not connected yet. NULL: out of memory. */
cipher_line *tt_cipher_line_new(cipher_world *w, int fd, cipher_state state, int process);
/* Close it; its memory is freed at the end of the next progress. */
void tt_cipher_line_end(cipher_line *line);
/* What epoll reports; neither: nothing. */
void tt_cipher_line_listen(cipher_line *line, bool reads, bool writes);
/* Send what its peer's queue has, as far as the socket takes it. */
void tt_cipher_pump(cipher_line *line);
/* Read what has come. */
void tt_cipher_feed(cipher_line *line);
/* Send a hello or a welcome, before all else. */
void tt_cipher_greet(cipher_line *line, uint32_t magic);
/* A hello or welcome that has come in line->head: 1: it is right; 0: it is foreign; -1: not whole yet. */
int tt_cipher_heard(cipher_line *line, uint32_t magic, uint32_t *from);
enum { CIPHER_HELLO = 0x74746831, CIPHER_WELCOME = 0x74747731 };

/* ---- connections (cipher_call.c) ---- */

/* Connect to a process, unless it is connected or lost. */
void tt_cipher_connect(cipher_world *w, cipher_peer *p);
void tt_cipher_accept(cipher_world *w);
/* Something has happened to a line that is not open. */
void tt_cipher_advance(cipher_line *line);
/* Calls that take too long. */
void tt_cipher_check_calls(cipher_world *w);
/* Something has happened to a watch. */
void tt_cipher_hear_watch(cipher_world *w, cipher_peer *p, unsigned events);

/* ---- all processes (cipher_world.c) ---- */

const cipher_address *tt_cipher_address_of(const cipher_world *w, int process);
/* A process from now on in use; NULL: out of memory. */
cipher_peer *tt_cipher_use(cipher_world *w, int process);
void tt_cipher_lose(cipher_world *w, cipher_peer *p, cipher_fate fate);
/* Put a message in a peer's queue, and send as much as can be sent at once. */
void tt_cipher_queue(cipher_world *w, cipher_peer *p, cipher_out *out);
/* A message of its own memory; bytes are copied. False: out of memory. */
bool tt_cipher_queue_copy(cipher_world *w, cipher_peer *p, const cipher_head *head, const void *bytes);
/* What this network has in peers' queues becomes memory of its own. */
void tt_cipher_keep_copies(cipher_world *w, const cipher_net *n);
void tt_cipher_progress(cipher_world *w);
/* Call after the last network is closed, or before the first one is made. */
void tt_cipher_close(cipher_world *w);

/* ---- addresses (cipher_address.c) ---- */

/* Fills in this host's, and listens. False: tutti_error() says why. */
bool tt_cipher_listen(cipher_world *w);
/* The other one's place number i, in the order in which to try them; false: no more. */
bool tt_cipher_place_at(const cipher_world *w, const cipher_address *of, int i, cipher_place *place);
/* The place at the other end of a line. */
cipher_place tt_cipher_far_end(const cipher_line *line);
/* This place has answered: its link comes first for other processes, too. */
void tt_cipher_found(cipher_world *w, const cipher_place *place);
/* A nonblocking socket that connects; -1 and errno. silence: as of a watch; 0: none. */
int tt_cipher_dial(const cipher_place *place, uint16_t port, int silence);
bool tt_cipher_same_host(const cipher_address *a, const cipher_address *b);

#endif
