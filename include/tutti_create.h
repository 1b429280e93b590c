/* tutti_create.h - communicators of ranks that neither MPI nor `tutti run` started.
 *
 * The ranks find each other at a rendezvous, through a shared key-value store, or through an
 * allgather that the caller provides. Ranks of one node then share memory. Nodes talk through
 * UCX (libtutti_ucx.so), or through TCP (libtutti_tcp.so) if UCX is not installed, or through the network that
 * `config->net` or TUTTI_NET names. See docs/hosts.md. SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_CREATE_H
#define TUTTI_CREATE_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TUTTI_ID_BYTES = 512 /* of a tutti_id, the final zero included */ };

/** The name of a rendezvous: "HOST[,HOST...]:PORT:KEY", a line of text that may be copied.
 *  Any process that has it can join, so keep it as secret as the job. */
typedef struct tutti_id {
  char text[TUTTI_ID_BYTES]; /* ends in a zero */
} tutti_id;

/** How to make a communicator; all fields but the size may be 0. */
typedef struct tutti_config {
  size_t size;     /* of this struct */
  const char *net; /* "ucx", "tcp", "tls"; "name": libtutti_name.so; or a path with a '/'. NULL: TUTTI_NET, else ucx or tcp */
  double timeout;  /* s to wait for missing ranks; 0: TUTTI_CONNECT_TIMEOUT, else 120 */
} tutti_config;

/** Open a rendezvous for one communicator in this process, usually rank 0. The process must
 *  live until the communicator is made. The rendezvous listens on all addresses of this host,
 *  or on TUTTI_ADDR (names or addresses, separated by commas), and on TUTTI_PORT (0, the
 *  default: any free port).
 *  id  receives the name, which the other ranks need.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_SYSTEM (the port is taken, ...). */
TUTTI_API tutti_status tutti_unique_id(tutti_id *id);

/** As tutti_unique_id, with an `id` for any number of communicators of the same ranks, one after another,
 *  as long as this process lives. For launchers whose ranks run several programs in turn. */
TUTTI_API tutti_status tutti_unique_id_lasting(tutti_id *id);

/** For launchers on several hosts: as tutti_unique_id_lasting, for `ranks` ranks; and up to `newcomers` joiners (1 to 1000) may wait
 *  at the same id until tutti_comm_grow takes them in. A joiner has TUTTI_ID, TUTTI_RANK and TUTTI_SIZE as the rank that it
 *  replaces, and its number in TUTTI_NEWCOMER; the first ranks have TUTTI_NEWCOMER=0.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY; TUTTI_ERR_SYSTEM. */
TUTTI_API tutti_status tutti_unique_id_growing(int ranks, int newcomers, tutti_id *id);

/** What a launcher tells the process that opened the id. A part: what one launcher started on a host; its number is that of its
 *  first rank. Unused fields are as described at tutti_newcomer_ask. */
typedef struct tutti_newcomer_news {
  size_t size;    /* of this struct */
  int part;       /* who tells this */
  int rank;       /* this one of the first ranks has ended; -1: none */
  int newcomer;   /* this joiner's process has ended; 0: none */
  int lost_ranks; /* the part is gone: this number of the first ranks, and all its joiners; 0: it is not */
  int wants;      /* how many joiners this part wants to start */
} tutti_newcomer_news;

/** For launchers, in any process: tell who has ended, and ask for numbers of joiners to start. A joiner waits only while some rank
 *  lives that may take it in, and tutti_comm_grow waits only for joiners that can come: both follow from what launchers
 *  tell.
 *  first   receives the first number, from 1; the others follow.
 *  n       receives how many: fewer than wanted, if the id's newcomers are used up.
 *  Waits for the answer up to 10 s.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY; TUTTI_ERR_UNSUPPORTED: the id is not of tutti_unique_id_growing;
 *          TUTTI_ERR_SYSTEM, TUTTI_ERR_TIMEOUT: it cannot be reached. */
TUTTI_API tutti_status tutti_newcomer_ask(const tutti_id *id, const tutti_newcomer_news *news, int *first, int *n);

/** Make a communicator of `nranks` ranks. Collective: each rank calls it with the same id and
 *  its own rank.
 *  nranks  all ranks of the communicator.
 *  rank    this rank, from 0 to nranks-1.
 *  config  may be NULL; read during the call only.
 *  Returns the same on all ranks that reach the rendezvous: TUTTI_OK; TUTTI_ERR_ARG;
 *  TUTTI_ERR_TIMEOUT (tutti_error() names the missing ranks); TUTTI_ERR_PEER_LOST;
 *  TUTTI_ERR_SYSTEM (another version, one rank twice, no network, ...); TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_comm_create(tutti_comm **comm, const tutti_id *id, int nranks,
                                         int rank, const tutti_config *config);

/** A key-value store that all ranks share. The functions return 0, or another number on failure.
 *  put     store `n` bytes under a key ("tutti/..."); they replace an earlier value.
 *  get     wait up to `seconds` for a key, and copy at most `size` bytes of its value;
 *          *n: the value's size in bytes. */
typedef struct tutti_store {
  size_t size; /* of this struct */
  void *ctx;   /* passed on to put and get */
  int (*put)(void *ctx, const char *key, const void *bytes, size_t n); /* see above */
  int (*get)(void *ctx, const char *key, void *bytes, size_t size, size_t *n,
             double seconds); /* see above */
} tutti_store;

/** As tutti_comm_create, through a `store`. It may hold keys of communicators
 *  made before, also by processes that have ended. Communicators that are made at the same time need a prefix each. The store
 *  is not used after the return. */
TUTTI_API tutti_status tutti_comm_create_store(tutti_comm **comm, const tutti_store *store,
                                               int nranks, int rank, const tutti_config *config);

/** An allgather, such as MPI_Allgather: `all` receives `bytes` bytes
 *  from each rank, in rank order. It returns 0, or another number on failure, and is not called
 *  after the return. */
typedef int tutti_gather_fn(void *ctx, const void *mine, size_t bytes, void *all);
/** As tutti_comm_create, through `gather`, which receives `ctx`. */
TUTTI_API tutti_status tutti_comm_create_gather(tutti_comm **comm, tutti_gather_fn *gather,
                                                void *ctx, int nranks, int rank,
                                                const tutti_config *config);

/** An aggregator: a process outside the jobs that sums what their hosts send, so that each host's
 *  link carries a vector once each way (docs/aggregator.md). */
typedef struct tutti_aggregator {
  size_t size;     /* of this struct */
  int port;        /* where it listens; 0: any free port */
  int jobs;        /* most simultaneous sessions; 0: 64 */
  size_t memory;   /* bytes for them, at most; 0: 256 MiB */
  const char *key; /* a secret that jobs must have as TUTTI_KEY; NULL: this process's TUTTI_KEY */
  void (*ready)(void *ctx, int port); /* called once it listens; may be NULL */
  void *ctx;       /* passed on to ready */
  const char *above; /* "HOST" or "HOST:PORT" of the one that adds up what the racks' aggregators sum; NULL: none */
} tutti_aggregator;

/** Serve as an aggregator in this thread, until the function that tutti_interrupt_set gave the thread
 *  returns other than 0.
 *  aggregator  read at the start only; its key is copied, `above` is not.
 *  Returns TUTTI_OK when it was ended so; TUTTI_ERR_ARG; TUTTI_ERR_SYSTEM (the port is taken, ...). */
TUTTI_API tutti_status tutti_aggregator_serve(const tutti_aggregator *aggregator);

#ifdef __cplusplus
}
#endif
#endif
