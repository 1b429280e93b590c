/* tutti_net.h - what tutti needs of a network that carries messages.
 *
 * MPI is one (tutti_mpi.h, whose library is written against this header alone). Whoever
 * has another, and can send and receive messages with a tag between numbered ranks, gives
 * a table of seven functions and gets a communicator: all collectives, with shared memory
 * between the ranks of one node. docs/networks.md says more; mpi/net.c is an example.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_NET_H
#define TUTTI_NET_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TUTTI_NET_TAGS = 64,        /* tags are from 0 to 63 */
  TUTTI_NET_MOST = 1 << 30,   /* bytes of a message, at most */
  TUTTI_NET_ANY = -1,
  TUTTI_NET_LOST = 2, /* of a request that failed: its peer is gone, and the rest goes on */
  TUTTI_NET_TAKEN = 3 /* of `pick`: this process has had the number for another network */
};

/* A request that is complete; its slot is free again. After one that failed, only `error`
 * and `close` are called, and the communicator is over. Not so if it is TUTTI_NET_LOST: then
 * that peer counts as dead, and the others are told through the network. A peer's loss may be
 * reported by itself, of no request. */
typedef struct tutti_net_done {
  int slot;     /* -1: of no request; `peer` is lost */
  int peer;     /* of a receive: who sent it */
  size_t bytes; /* of a receive */
  int failed;   /* the message is lost; of a receive also: it was longer than n. TUTTI_NET_LOST */
} tutti_net_done;

/* Where a rank sits: equal numbers mean the same thing of a level (within equal outer
 * ones). An unknown level: the same number on all ranks; but `node` is always known. Ranks
 * of one node share memory where the system lets them, and else send messages. */
typedef struct tutti_net_site {
  int rack, node, package, cache;
} tutti_net_site;

/* Functions return 0, or not 0 if they failed; `error` then says why. None but `split` waits
 * for another rank. A network is called by one thread at a time, which need not be always
 * the same; two networks, also if one is a split of the other, by two threads at once. */
typedef struct tutti_net {
  size_t size;      /* of this struct */
  const char *name; /* "Open MPI 4.1.4" */
  int rank, ranks;
  void *self;
  int threads;         /* any thread may call it, whatever others call; 0: only the program's */
  int yields;          /* poll gives up the processor where nothing has come */
  /* Ranks are simulated: they are one process and share no memory, whatever their sites say;
   * time passes only in these functions. What a step sends to a peer is then one message,
   * however large, and a rank has one of each slice, and one to the peers of each level, on
   * its way: as the price has it (docs/prices.md). */
  int simulated;
  tutti_net_site site; /* of this rank */
  /* The same on all ranks; another one for each network that may receive messages of an
   * earlier one, which was closed before they came: these are dropped by it. */
  unsigned long long id;
  /* Start to send, or to receive, as request number `slot`, which is free; numbers are low,
   * without a bound. Messages of a pair and tag arrive in the order in which they were sent.
   * The bytes stay as they are until the request is complete; if it is to be sure, that is
   * not before its receive has begun (MPI_Issend). recv: TUTTI_NET_ANY takes a message from
   * anyone; there is room for n bytes, and a message may have fewer. */
  int (*send)(void *self, int slot, int peer, int tag, const void *bytes, size_t n, int sure);
  int (*recv)(void *self, int slot, int peer, int tag, void *bytes, size_t n);
  /* Make progress; report at most `most` requests that became complete, which frees their
   * slots. Slots from `slots` on are free. */
  int (*poll)(void *self, int slots, tutti_net_done *done, int most, int *n);
  /* The same, but do not return before a request is complete. NULL: there is no such. */
  int (*wait)(void *self, int slots, tutti_net_done *done, int most, int *n);
  /* Return after so many microseconds, or before that when there may be something to poll for, or
   * the descriptor `also` (-1: none) is readable. NULL: there is no such, and who waits sleeps and
   * polls in turn. */
  void (*doze)(void *self, int also, int microseconds);
  /* How many messages that were sent are still in this process, and may stay there until the
   * next poll: an operation is not over before they have left. NULL: they leave by themselves. */
  int (*leaving)(void *self);
  /* End a receive, within a second or two: 0, its slot is free, and poll does not report it; its
   * message, if it is there already, is lost. Else its slot is not free any more. */
  int (*cancel)(void *self, int slot);
  /* Collective: a network of the ranks of one color in the order of key (then of rank);
   * color < 0: none, *net is not touched. Its messages never meet those of this one. Fills
   * *net; site and id are not looked at. */
  int (*split)(void *self, int color, int key, struct tutti_net *net);
  /* In place of `split`, where a network can be made without a word to the others; else both are
   * NULL. fresh: the least number, from 1, that this process has not had for a network. pick: a
   * network of these n ranks (this one is among them) in this order, all of whom call it, with one
   * number, which is at least as high as `fresh` is at each; or TUTTI_NET_TAKEN: another thread
   * has had it since. n = 0: no network; the number counts as had. Fills *net as `split` does. */
  unsigned (*fresh)(void *self);
  int (*pick)(void *self, unsigned number, const int *ranks, int n, struct tutti_net *net);
  /* Over, for ever: nothing else is called, and `self` may be freed. Receives were cancelled,
   * if the network has not failed. If it is not clean, or sends are still on their way, there
   * are messages that nobody will receive: they must not be taken for those of another
   * network. */
  void (*close)(void *self, int clean);
  /* Why the last function that failed did so; until the next call. */
  const char *(*error)(void *self);
  /* How a peer that is lost came to be so, in up to 120 letters that go on after "rank 3 (pid 812) ":
   * 1; or 0, or NULL: it died. */
  int (*fate)(void *self, int peer, char *words, size_t size);
} tutti_net;

/* A communicator of all ranks of a network. Collective. The table is copied; `self` stays
 * the caller's until `close` is called: by tutti_comm_free, or at once if this fails.
 * TUTTI_TOPO and TUTTI_NODES say otherwise than the sites do (docs/mpi.md).
 * comm: freed by tutti_comm_free.
 * Errors, on all ranks: TUTTI_ERR_ARG, TUTTI_ERR_SYSTEM, TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_comm_from_net(const tutti_net *net, tutti_comm **comm);

/* How networks come about where no MPI starts the ranks. A library libtutti_NAME.so that has a
 * function `tutti_net_maker tutti_net_maker_of(void)` is what TUTTI_NET=NAME asks for
 * (tutti_create.h); libtutti_ucx.so is one. Each rank opens an end; when it knows the addresses of all ends, they are joined. */
typedef struct tutti_net_maker {
  size_t size;      /* of this struct */
  size_t table;     /* of a tutti_net */
  const char *name; /* "UCX 1.13.1" */
  /* Local; 0, or 1 and `why`. *address: of the end, *bytes long, the end's own. silence: after so
   * many seconds a host that does not answer counts as lost; 0: never. */
  int (*open)(void **end, int silence, const void **address, size_t *bytes, char *why, size_t size);
  /* `addresses`: of all ranks, `stride` bytes from one to the next; looked at during the call
   * only. Fills *net but for site and id, whose `close` ends `end`; or 1 and `why`, and `end` is
   * as it was. It waits for nobody. */
  int (*join)(void *end, int rank, int ranks, const void *addresses, size_t stride,
              tutti_net *net, char *why, size_t size);
  void (*drop)(void *end); /* that was not joined */
} tutti_net_maker;

/* Ranks that a launcher has started, which knows how they find each other. A library
 * libtutti_pmix.so that has `int tutti_launcher_of(tutti_launcher *l, double seconds, char *why,
 * size_t size)` is asked where the environment has PMIX_RANK: 0, or 1 and `why`. It finds `interrupted`
 * set (tutti_interrupted of tutti_interrupt.h): once that says 1, `gather` waits no longer. */
typedef struct tutti_launcher {
  size_t size; /* of this struct */
  int rank, ranks;
  void *ctx;
  /* As tutti_gather_fn of tutti_create.h; not 0 also if ranks are missing after `seconds`. */
  int (*gather)(void *ctx, const void *mine, size_t bytes, void *all);
  void (*end)(void *ctx);
  int (*interrupted)(void);
} tutti_launcher;

/* What else should go on while a rank waits, such as messages of the program's that go another
 * way: `idle` is called now and then by threads of the program's that wait in this library, by
 * several at once if several wait. It returns at once and calls nothing of this library. NULL
 * (the default): nothing. A communicator made from MPI with another network (TUTTI_NET) sets one
 * that moves MPI's messages. */
TUTTI_API void tutti_idle_set(void (*idle)(void));

/* For those who write networks: from now on tutti_error() says this. Returns status. */
TUTTI_API tutti_status tutti_net_refuse(tutti_status status, const char *sentence);

#ifdef __cplusplus
}
#endif
#endif
