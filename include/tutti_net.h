/* tutti_net.h - what tutti needs from a network that carries messages.
 *
 * MPI is one such network: tutti's MPI library is written against this header alone. To add
 * another network, which must send and receive tagged messages between numbered ranks, fill in
 * a table of seven functions, or up to thirteen. You get a communicator with all collectives, and
 * shared memory between the ranks of one node. See docs/networks.md; mpi/net.c is an example.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_NET_H
#define TUTTI_NET_H

#include "tutti.h"
#include "tutti_create.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TUTTI_NET_TAGS = 64,        /* tags of a rail are from 0 to 63 */
  TUTTI_NET_RAILS = 4,        /* most rails */
  TUTTI_NET_MOST = 1 << 30,   /* most bytes of one message */
  TUTTI_NET_SECRET = 32,      /* bytes of a job's secret */
  TUTTI_NET_MORE = 2,         /* in `sure` of send: see `stream` */
  TUTTI_NET_ANY = -1,         /* recv: from any peer */
  TUTTI_NET_LOST = 2, /* a request failed because its peer is gone; all other requests continue */
  TUTTI_NET_TAKEN = 3 /* from `pick`: this process has used the number for another network */
};

/* A completed request; its slot is free again. After a failed request the communicator ends, and
 * only `error` and `close` are called. Exception: after TUTTI_NET_LOST that peer counts as dead,
 * and tutti tells the others through the network. A peer's loss may also be reported without a
 * request. */
typedef struct tutti_net_done {
  int slot;     /* -1: no request; `peer` is lost */
  int peer;     /* of a receive: the sender */
  size_t bytes; /* of a receive: the message's size */
  int failed;   /* not 0: the message is lost, or was longer than n; or TUTTI_NET_LOST */
} tutti_net_done;

/* The placement of a rank. Ranks with equal numbers are in the same domain of that level (within
 * equal outer ones). `node` is always known. Where `package`, `numa` and `cache` are 0, tutti finds those that this
 * process is bound to. An unknown level has the same number on all ranks.
 * Ranks of one node share memory if the system permits, and else send messages. */
typedef struct tutti_net_site {
  int rack;    /* outside the node */
  int node;    /* ranks of one node share an operating system */
  int package; /* of processors */
  int numa;    /* a domain of memory */
  int cache;   /* the last level that several cores share */
} tutti_net_site;
/** Fills `package`, `numa` and `cache` of `site` for a core by its number in the system, the rest with 0; the
 * same numbers in all processes of a node. 0: unknown. system: the folder that describes the cores;
 * NULL: /sys/devices/system. */
TUTTI_API void tutti_net_site_of(int core, const char *system, tutti_net_site *site);

/* Functions return 0, or another number on failure; `error` then says why. Only `split` waits
 * for other ranks. Any thread may call a network, but only one at a time. Two networks may be
 * called by two threads simultaneously, even if one is a split of the other. */
typedef struct tutti_net {
  size_t size;      /* of this struct */
  const char *name; /* "Open MPI 4.1.4" */
  int rank;         /* of this process, in this network */
  int ranks;        /* of the network */
  void *self;       /* passed on to all functions */
  int threads;         /* 1: any thread may call it at any time; 0: only the program's threads */
  int yields;          /* poll yields the processor if no message has come */
  /* Ranks are simulated: all in one process, sharing no memory whatever their placement; time
   * passes only inside these functions. A step then sends one message to a peer, however large,
   * and a rank has one message per slice, and one to the peers of each level, in flight: as the
   * price assumes (docs/prices.md). */
  int simulated;
  tutti_net_site site; /* placement of this rank */
  /* The same on all ranks. A network that may receive late messages of an earlier, closed network
   * needs a unique id: tutti drops messages with another id. */
  unsigned long long id;
  /* Start a send or a receive as request `slot`, which is free; slot numbers are small, but have
   * no bound. Messages with the same pair of ranks and tag arrive in the order sent. The bytes stay
   * unchanged until the request completes. `sure`: the send must not complete before its receive
   * has begun (MPI_Issend). recv: TUTTI_NET_ANY accepts any sender; the buffer has n bytes, and
   * the message may have fewer. */
  int (*send)(void *self, int slot, int peer, int tag, const void *bytes, size_t n, int sure);
  /* As send. */
  int (*recv)(void *self, int slot, int peer, int tag, void *bytes, size_t n);
  /* Make progress. Report at most `most` completed requests in done[0..*n), which frees their
   * slots. Slots with a number of `slots` and above are free. */
  int (*poll)(void *self, int slots, tutti_net_done *done, int most, int *n);
  /* As poll, but return only once a request is complete. May be NULL. */
  int (*wait)(void *self, int slots, tutti_net_done *done, int most, int *n);
  /* Sleep for this many microseconds, but return early when there may be something to poll for, or
   * when the descriptor `also` (-1: none) is readable. May be NULL: a rank that waits then sleeps
   * and polls in turn. */
  void (*doze)(void *self, int also, int microseconds);
  /* The number of sent messages that are still in this process and may stay there until the next
   * poll; an operation does not complete before they have left. NULL: they leave by themselves. */
  int (*leaving)(void *self);
  /* Cancel a receive, within a second or two. 0: its slot is free and poll does not report it; its
   * message is lost if it was there already. On failure the slot stays in use. */
  int (*cancel)(void *self, int slot);
  /* Collective: a network of the ranks with the same color, ordered by key, then by rank. With
   * color < 0 a rank gets none, and *net is not touched. Messages of the two networks never match.
   * Fills *net; site and id are ignored. */
  int (*split)(void *self, int color, int key, struct tutti_net *net);
  /* In place of `split`, if a network can be made without communication; else both are NULL.
   * fresh: the least number, from 1, that this process has not used for a network. pick: make a
   * network of these n ranks in this order. This rank is among them, and all of them call it with
   * the same number, at least as high as each one's `fresh`. TUTTI_NET_TAKEN: another thread has
   * used it since. n = 0: no network, but the number counts as used. Fills *net as `split` does. */
  unsigned (*fresh)(void *self);
  /* See fresh. */
  int (*pick)(void *self, unsigned number, const int *ranks, int n, struct tutti_net *net);
  /* The last call; `self` may be freed. Unless the network has failed, all receives were cancelled
   * before. If `clean` is 0, or sends are still in flight, some messages will never be received:
   * they must not be taken for messages of another network. */
  void (*close)(void *self, int clean);
  /* Why the last failed function failed; valid until the next call. */
  const char *(*error)(void *self);
  /* How a lost peer was lost, in up to 120 letters that continue "rank 3 (pid 812) "; returns 1.
   * If it returns 0, or is NULL: the peer died. */
  int (*fate)(void *self, int peer, char *words, size_t size);
  /* How many devices carry messages at the same time; 0 is as 1. Rail r has the tags from
   * r * TUTTI_NET_TAGS on. The same on all ranks. */
  int rails;
  /* 1: messages between processes are encrypted and authenticated, as TUTTI_TLS=all asks; 0: they are not. */
  int secure;
  /* 1: one connection carries all messages between two processes, as a stream of bytes. Then tutti sends long
   * vectors in larger pieces. `sure` also contains TUTTI_NET_MORE if another send to the same peer follows
   * immediately; the message may wait for it, or for the next poll. */
  int stream;
} tutti_net;

/** Make a communicator of all ranks of the network `net`. Collective. The table is copied. `self` stays
 * the caller's until `close` is called: by tutti_comm_free, or during this call if it fails.
 * TUTTI_TOPO and TUTTI_NODES override `site` (docs/mpi.md).
 *  net   the table; copied.
 *  comm  receives the communicator; freed by tutti_comm_free.
 *  Returns the same on all ranks: TUTTI_OK; TUTTI_ERR_ARG, TUTTI_ERR_SYSTEM, TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_comm_from_net(const tutti_net *net, tutti_comm **comm);

/** Make a communicator of some ranks of another one, by these ranks alone: the others need not call anything. Collective over
 * these ranks. Calls on `old` may be in flight, and other threads may use it.
 *  old     it must not be freed during the call.
 *  ranks   of `old`, in the order of the new communicator; this rank is one of them.
 *  n       how many.
 *  gather  an all-gather among them, in this order, which receives `ctx`.
 *  ctx     passed on to `gather`.
 *  net     a network among them, in this order, which is taken over as by tutti_comm_from_net; site and id are ignored. NULL: they
 *          share memory, or the network of `old` makes another one without communication (`pick`).
 *  comm    receives the communicator; freed by tutti_comm_free.
 *  Returns the same on all these ranks: TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY; TUTTI_ERR_SYSTEM;
 *  TUTTI_ERR_UNSUPPORTED: `net` must not be NULL, because the network of `old` is split by all of its ranks. */
TUTTI_API tutti_status tutti_comm_among(tutti_comm *old, const int *ranks, int n,
                                        tutti_gather_fn *gather, void *ctx, const tutti_net *net,
                                        tutti_comm **comm);

/* The addresses of all ranks' ends, in memory that the ranks of a host share. */
typedef struct tutti_net_addresses {
  size_t size; /* of this struct */
  void *ctx;   /* passed on to both functions */
  /* A rank's address, aligned for any number; *bytes: how many that rank has sent. */
  const void *(*of)(void *ctx, int rank, size_t *bytes);
  void (*drop)(void *ctx);                /* the last call */
} tutti_net_addresses;

/* A plugin that makes networks where no MPI starts the ranks. TUTTI_NET=NAME loads the library
 * libtutti_NAME.so (tutti_create.h), which has a function `tutti_net_maker tutti_net_maker_of(void)`;
 * An example: libtutti_ucx.so. Each rank opens an end, and joins them once it knows all ends' addresses. */
typedef struct tutti_net_maker {
  size_t size;      /* of this struct */
  size_t table;     /* of a tutti_net */
  const char *name; /* "UCX 1.13.1" */
  /* Open an end. Local. Returns 0, or 1 and `why`. *address: the end's address, *bytes long, owned
   * by the end. silence: seconds after which a host that does not answer is lost; 0: never. */
  int (*open)(void **end, int silence, const void **address, size_t *bytes, char *why, size_t size);
  /* Make the network. `addresses`: copied; the network reads them when it first needs them, and drops
   * them when its last split is closed. Fills *net except site and id; its `close` frees `end`. Returns
   * 0, or 1 and `why`; then `end` is unchanged, and the addresses are the caller's. Does not wait for
   * other ranks. */
  int (*join)(void *end, int rank, int ranks, const tutti_net_addresses *addresses,
              tutti_net *net, char *why, size_t size);
  void (*drop)(void *end); /* free an end that was not joined */
  /* A secret that only the ranks of the network have; called once before `join`. NULL: the network
   * needs none. */
  void (*secret)(void *end, const unsigned char secret[TUTTI_NET_SECRET]);
  /* 1: the network encrypts, so the secret is derived from a key that only the job knows, and ranks without
   * such a key cannot use the network. 0: the secret is derived from a random number that the ranks exchanged. */
  int keyed;
} tutti_net_maker;

/* The ranks of a launcher that tells them how to find each other. Where the environment has
 * PMIX_RANK, tutti calls `int tutti_launcher_of(tutti_launcher *l, double seconds, char *why, size_t
 * size)` of the library libtutti_pmix.so. It fills *l and returns 0, or 1 and `why`. `interrupted` is
 * set before (tutti_interrupted of tutti_interrupt.h): once that returns 1, `gather` must return. */
typedef struct tutti_launcher {
  size_t size; /* of this struct */
  int rank;    /* of this process */
  int ranks;   /* of the job */
  void *ctx;   /* passed on to gather and end */
  /* As tutti_gather_fn of tutti_create.h; fails also if ranks are missing after `seconds`. */
  int (*gather)(void *ctx, const void *mine, size_t bytes, void *all);
  void (*end)(void *ctx);   /* the last call */
  int (*interrupted)(void); /* set by tutti; see above */
} tutti_launcher;

/** Allocate scratch memory of message-passing communicators with `take` and `give`: partial
 *  sums, received messages, and the memory that tutti_mem_alloc returns there. `take` returns NULL
 *  if it has no memory; `give` frees. NULL, the default: malloc and free. Meant for simulators,
 *  where such memory need not be real. Set it before the first communicator is made. */
TUTTI_API void tutti_scratch_set(void *(*take)(size_t bytes), void (*give)(void *memory));

/** Let other work progress while a rank waits, such as the program's messages on another network.
 * The program's threads call `idle` now and then while they wait in this library, simultaneously
 * if several wait. It must return without waiting and must not call this library. NULL: the default. A
 * communicator made from MPI with another network (TUTTI_NET) sets one that progresses MPI. */
TUTTI_API void tutti_idle_set(void (*idle)(void));

/** For authors of networks: make `sentence` the text of tutti_error(). Returns `status`. */
TUTTI_API tutti_status tutti_net_refuse(tutti_status status, const char *sentence);

/** For authors of networks: wait until `done(ctx)`, which is called again and again, returns other than 0. During the
 * wait `tutti doctor` shows that `call` waits for `whom`, and after 10 s the log warns. gives_up: TUTTI_CONNECT_TIMEOUT, if it is
 * set, and an interrupt (tutti_interrupt_set) end the wait, with TUTTI_ERR_TIMEOUT and TUTTI_ERR_INTERRUPTED. */
TUTTI_API tutti_status tutti_net_await(const char *call, const char *whom, int gives_up,
                                       int (*done)(void *ctx), void *ctx);

#ifdef __cplusplus
}
#endif
#endif
