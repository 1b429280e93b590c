/* tutti_net.h - the interface to a network that carries messages.
 *
 * MPI is one such network: tutti's MPI library uses only this header. A network must send and
 * receive tagged messages between numbered ranks. To add one, fill in a table of seven to thirteen
 * functions. You get a communicator with all collectives, and shared memory between the ranks of
 * one node. See docs/networks.md; mpi/net.c is an example.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_NET_H
#define TUTTI_NET_H

#include "tutti.h"
#include "tutti_create.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TUTTI_NET_TAGS = 64,      /* number of tags of each rail, numbered from 0 */
  TUTTI_NET_RAILS = 4,      /* maximum number of rails */
  TUTTI_NET_MOST = 1 << 30, /* maximum size of a message in bytes */
  TUTTI_NET_SECRET = 32,    /* size of a job's secret in bytes */
  TUTTI_NET_MORE = 2,       /* in `sure` of send: see `stream` */
  TUTTI_NET_ANY = -1,       /* recv: from any peer */
  TUTTI_NET_LOST = 2, /* a request failed because its peer is lost; all other requests continue */
  TUTTI_NET_TAKEN = 3 /* returned by `pick`: this process has used the number for another network */
};

/* A completed request, whose slot is free again. If a request fails, the communicator ends, and only `error` and `close` are
 * called after that. The exception is TUTTI_NET_LOST: then the peer is considered dead, and tutti notifies the other ranks
 * through the network. The loss of a peer may also be reported without a request. */
typedef struct tutti_net_done {
  int slot;     /* -1: not about a request, but `peer` is lost */
  int peer;     /* for a receive, the sender */
  size_t bytes; /* for a receive, the size of the message */
  int failed;   /* not 0: the message is lost, or was longer than n; or TUTTI_NET_LOST */
} tutti_net_done;

/* The placement of a rank. Ranks with equal numbers are in the same domain of that level (within equal outer
 * domains). `node` is always known. If `package`, `numa` and `cache` are 0, tutti determines them from the cores
 * that this process is bound to. An unknown level has the same number on all ranks. Ranks of one node share memory
 * if the system permits; otherwise they send messages. */
typedef struct tutti_net_site {
  int rack;    /* a domain of nodes */
  int node;    /* ranks of one node run under the same operating system */
  int package; /* a processor package */
  int numa;    /* a NUMA domain */
  int cache;   /* the last-level cache, shared by several cores */
} tutti_net_site;
/** Fill in `package`, `numa` and `cache` of `site` for a core, and set the other fields to 0. core: its number in the system.
 *  The results are the same in all processes of a node; 0 means unknown. system: the folder that describes the cores, or NULL
 *  for /sys/devices/system. */
TUTTI_API void tutti_net_site_of(int core, const char *system, tutti_net_site *site);

/* A network. Its functions return 0, or another number on failure; `error` then returns the reason. Only `split` waits for
 * other ranks. Any thread may call the functions of a network, but only one at a time. Two threads may use two networks
 * simultaneously, even if one network was split from the other. */
typedef struct tutti_net {
  size_t size;      /* size of this struct */
  const char *name; /* "Open MPI 4.1.4" */
  int rank;         /* of this process in this network */
  int ranks;        /* number of ranks in the network */
  void *self;       /* passed to all functions */
  int threads;         /* 1: any thread may call it at any time; 0: only the program's threads */
  int yields;          /* poll yields the processor if no message has arrived */
  /* Ranks are simulated: all are in one process and share no memory, regardless of their placement,
   * and time passes only inside these functions. A step then sends one message of any size to a
   * peer, and a rank has one message in flight per slice, and one to the peers of each level, as
   * the cost model assumes (docs/prices.md). */
  int simulated;
  tutti_net_site site; /* placement of this rank */
  /* The id of the network, which is the same on all ranks. If messages of an earlier, closed network may still arrive, the id
   * must be unique, because tutti discards messages with another id. */
  unsigned long long id;
  /* Starts a send or a receive as request `slot`, which is free. Slot numbers are small, but
   * unbounded. Messages with the same pair of ranks and the same tag arrive in the order sent. The
   * bytes do not change until the request completes. `sure`: the send must not complete before its
   * receive has begun (MPI_Issend). recv: TUTTI_NET_ANY accepts any sender; the buffer has n bytes,
   * and the message may be shorter. */
  int (*send)(void *self, int slot, int peer, int tag, const void *bytes, size_t n, int sure);
  /* See send. */
  int (*recv)(void *self, int slot, int peer, int tag, void *bytes, size_t n);
  /* Makes progress, and reports up to `most` completed requests in done[0..*n). The slots of these requests are then free.
   * All slots numbered `slots` and above are free. */
  int (*poll)(void *self, int slots, tutti_net_done *done, int most, int *n);
  /* Makes progress as `poll` does, but returns only after a request has completed. May be NULL. */
  int (*wait)(void *self, int slots, tutti_net_done *done, int most, int *n);
  /* Sleeps for `microseconds`. Returns early if there may be something to poll for, or if the descriptor `also` becomes
   * readable (-1: no descriptor). May be NULL; a rank that waits then alternates between sleeping and polling. */
  void (*doze)(void *self, int also, int microseconds);
  /* Returns the number of sent messages that are still in this process, and may remain there until the next poll. An
   * operation completes only after they have left. NULL if messages leave without being polled for. */
  int (*leaving)(void *self);
  /* Cancels a receive, within a second or two. Returns 0 if the slot of the receive is free and poll will not report it; if
   * its message had already arrived, the message is lost. On failure, the slot remains in use. */
  int (*cancel)(void *self, int slot);
  /* Makes a network for the ranks with the same color, ordered by key, then by rank. All ranks call this. A rank with color <
   * 0 gets no network, and *net is not changed. Messages of the two networks never match. Fills in *net; tutti ignores its
   * site and id. */
  int (*split)(void *self, int color, int key, struct tutti_net *net);
  /* Used instead of `split`, if a network can be made without communication; otherwise both are NULL. fresh
   * returns the smallest number, from 1, that this process has not used for a network. pick makes a network of
   * these n ranks in this order. This rank is among them, and all of them call pick with the same number, which
   * is at least each one's `fresh`. It returns TUTTI_NET_TAKEN if another thread has used the number since. If
   * n is 0, it makes no network, but the number counts as used. Fills in *net as `split` does. */
  unsigned (*fresh)(void *self);
  /* See fresh. */
  int (*pick)(void *self, unsigned number, const int *ranks, int n, struct tutti_net *net);
  /* Closes the network, after which `self` may be freed. Unless the network has failed, all receives have been canceled
   * before. If `clean` is 0, or if sends are still in flight, some messages will never be received, and these must not be
   * mistaken for messages of another network. */
  void (*close)(void *self, int clean);
  /* Returns the error message of the last function that failed. The text is valid until the next call. */
  const char *(*error)(void *self);
  /* Writes what happened to a lost peer, in up to 120 characters that continue "rank 3 (pid 812) ", and returns 1. If this
   * function returns 0, or is NULL, the peer is assumed to have died. */
  int (*fate)(void *self, int peer, char *words, size_t size);
  /* Number of rails, which are devices that carry messages simultaneously. 0 means 1. Rail r uses the tags starting at r *
   * TUTTI_NET_TAGS. The number is the same on all ranks. */
  int rails;
  /* 1: messages between processes are encrypted and authenticated, as required by TUTTI_TLS=all; 0: they are not */
  int secure;
  /* 1: one connection carries all messages between two processes, as a byte stream. tutti then sends long
   * vectors in larger pieces. `sure` also contains TUTTI_NET_MORE if another send to the same peer follows
   * immediately; the message may wait for it, or for the next poll. */
  int stream;
} tutti_net;

/** Create a communicator of all ranks of the network `net`. Collective. The table is copied. `self`
 *  belongs to the caller until `close` is called: by tutti_comm_free, or during this call if it fails.
 *  TUTTI_TOPO and TUTTI_NODES override `site` (docs/mpi.md).
 *  net   the table; copied.
 *  comm  receives the communicator; free it with tutti_comm_free.
 *  Returns the same on all ranks: TUTTI_OK; TUTTI_ERR_ARG, TUTTI_ERR_SYSTEM, TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_comm_from_net(const tutti_net *net, tutti_comm **comm);

/** Create a communicator of some ranks of another one. Only these ranks take part: the others need not call anything.
 *  Collective over these ranks. Calls on `old` may be in flight, and other threads may use it.
 *  old     must not be freed during the call.
 *  ranks   ranks of `old`, in the order of the new communicator; this rank is one of them.
 *  n       number of ranks.
 *  gather  an all-gather among them, in this order; receives `ctx`.
 *  ctx     passed to `gather`.
 *  net     a network among them, in this order; ownership is as in tutti_comm_from_net; site and id are ignored. NULL:
 *          they share memory, or the network of `old` makes another one without communication (`pick`).
 *  comm    receives the communicator; free it with tutti_comm_free.
 *  Returns the same on all these ranks: TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY; TUTTI_ERR_SYSTEM;
 *  TUTTI_ERR_UNSUPPORTED if `net` is NULL, but the network of `old` can be split only by all of its ranks. */
TUTTI_API tutti_status tutti_comm_among(tutti_comm *old, const int *ranks, int n,
                                        tutti_gather_fn *gather, void *ctx, const tutti_net *net,
                                        tutti_comm **comm);

/* The addresses of the endpoints of all ranks. They are in memory that the ranks of a host share. */
typedef struct tutti_net_addresses {
  size_t size; /* size of this struct */
  void *ctx;   /* passed to both functions */
  /* Returns the address of a rank's endpoint, aligned for any type. *bytes receives the size of the address. */
  const void *(*of)(void *ctx, int rank, size_t *bytes);
  void (*drop)(void *ctx);                /* the last call */
} tutti_net_addresses;

/* A plugin that makes networks for ranks that were not started by an MPI. TUTTI_NET=NAME loads the library libtutti_NAME.so
 * (tutti_create.h), such as libtutti_ucx.so, which exports the function `tutti_net_maker tutti_net_maker_of(void)`. Each rank
 * opens an endpoint, and connects it once it knows the addresses of all endpoints. */
typedef struct tutti_net_maker {
  size_t size;      /* size of this struct */
  size_t table;     /* size of a tutti_net */
  const char *name; /* "UCX 1.13.1" */
  /* Opens an endpoint, without communication. Returns 0, or writes the reason to `why` and returns 1. *address: the
   * endpoint's address, which has *bytes bytes and belongs to the endpoint. silence: seconds without an answer after which a
   * host is considered lost; 0: never. */
  int (*open)(void **end, int silence, const void **address, size_t *bytes, char *why, size_t size);
  /* Makes the network. `addresses` is copied; the network reads the addresses when it first needs them,
   * and drops them when its last split is closed. Fills in *net except site and id; its `close` frees
   * `end`. Returns 0, or writes the reason to `why` and returns 1; then `end` is unchanged, and the
   * caller still owns the addresses. Does not wait for other ranks. */
  int (*join)(void *end, int rank, int ranks, const tutti_net_addresses *addresses,
              tutti_net *net, char *why, size_t size);
  void (*drop)(void *end); /* frees an endpoint that was not joined */
  /* Sets a secret that only the ranks of the network know. Called once, before `join`. NULL if the network needs no
   * secret. */
  void (*secret)(void *end, const unsigned char secret[TUTTI_NET_SECRET]);
  /* 1: the network encrypts, so the secret is derived from a key that only the job has, and ranks without such a
   * key cannot use the network. 0: the secret is derived from a random number that the ranks exchanged. */
  int keyed;
} tutti_net_maker;

/* The connection to a launcher through which ranks find each other. If the environment has PMIX_RANK, tutti calls `int
 * tutti_launcher_of(tutti_launcher *l, double seconds, char *why, size_t size)` of the library libtutti_pmix.so. The
 * function fills in *l and returns 0, or writes the reason to `why` and returns 1. tutti sets `interrupted` before the
 * call (tutti_interrupted of tutti_interrupt.h): once it returns 1, `gather` must return. */
typedef struct tutti_launcher {
  size_t size; /* size of this struct */
  int rank;    /* of this process */
  int ranks;   /* number of ranks in the job */
  void *ctx;   /* passed to gather and end */
  /* A function that performs an allgather, as tutti_gather_fn of tutti_create.h does. It also fails if some ranks have not
   * called it after `seconds`. */
  int (*gather)(void *ctx, const void *mine, size_t bytes, void *all);
  void (*end)(void *ctx);   /* the last call */
  int (*interrupted)(void); /* set by tutti; see above */
} tutti_launcher;

/** Allocate the scratch memory of message-passing communicators with `take` and `give`: partial sums, received
 *  messages, and the memory that tutti_mem_alloc returns there. `take` returns NULL if out of memory; `give`
 *  frees. NULL, the default, means malloc and free. This is meant for simulators, which need not provide real
 *  memory. Call it before the first communicator is created. */
TUTTI_API void tutti_scratch_set(void *(*take)(size_t bytes), void (*give)(void *memory));

/** Let other work progress while a rank waits, such as the program's messages on another network. The
 *  program's threads call `idle` regularly while they wait in this library, simultaneously if several
 *  wait. It must return without waiting and must not call this library. NULL is the default. A
 *  communicator made from MPI with another network (TUTTI_NET) sets a function that progresses MPI. */
TUTTI_API void tutti_idle_set(void (*idle)(void));

/** For authors of networks: set the text that tutti_error() returns to `sentence`. Returns `status`. */
TUTTI_API tutti_status tutti_net_refuse(tutti_status status, const char *sentence);

/** For authors of networks: wait until `done(ctx)`, which is called repeatedly, returns a nonzero value. During the wait,
 *  `tutti doctor` shows that `call` waits for `whom`, and after 10 s the log has a warning. If gives_up is set,
 *  TUTTI_CONNECT_TIMEOUT (if set) and an interrupt (tutti_interrupt_set) end the wait with TUTTI_ERR_TIMEOUT and
 *  TUTTI_ERR_INTERRUPTED. */
TUTTI_API tutti_status tutti_net_await(const char *call, const char *whom, int gives_up,
                                       int (*done)(void *ctx), void *ctx);

#ifdef __cplusplus
}
#endif
#endif
