/* tutti_create.h - communicators of ranks that neither MPI nor `tutti run` started.
 *
 * The ranks find each other at a rendezvous, through a shared key-value store, or through an
 * allgather that the caller provides. Ranks of one node then share memory. Nodes talk through
 * UCX (libtutti_ucx.so), or through TCP (libtutti_tcp.so) if UCX is not installed, or through the network that
 * `config->net` or TUTTI_NET names. See docs/hosts.md. SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_CREATE_H
#define TUTTI_CREATE_H

#include "tutti_config.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TUTTI_ID_BYTES = 512 /* of a tutti_id, the final zero included */ };

/** The name of a rendezvous: "HOST[,HOST...]:PORT:KEY", a line of text that may be copied.
 *  Any process that has it can join, so keep it as secret as the job. */
typedef struct tutti_id {
  char text[TUTTI_ID_BYTES]; /* ends in a zero */
} tutti_id;

/** Open a rendezvous for one communicator in this process, usually rank 0. The process must
 *  live until the communicator is made. The rendezvous listens on all addresses of this host,
 *  or on TUTTI_ADDR (names or addresses, separated by commas), and on TUTTI_PORT (0, the
 *  default: any free port).
 *  id  receives the name, which the other ranks need.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_SYSTEM (the port is taken, ...). */
TUTTI_API tutti_status tutti_unique_id(tutti_id *id);

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

#ifdef __cplusplus
}
#endif
#endif
