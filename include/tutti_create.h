/* tutti_create.h - communicators of ranks that neither MPI nor `tutti run` started.
 *
 * The ranks find each other at a rendezvous, through a shared key-value store, or through an
 * allgather that the caller provides. Ranks of one node then share memory. Nodes communicate over
 * UCX (libtutti_ucx.so), over TCP (libtutti_tcp.so) if UCX is not installed, or over the network selected by
 * `config->net` or TUTTI_NET. See docs/hosts.md. SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_CREATE_H
#define TUTTI_CREATE_H

#include "tutti_config.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TUTTI_ID_BYTES = 512 /* size of a tutti_id, including the terminating zero */ };

/** The name of a rendezvous, "HOST[,HOST...]:PORT:KEY". This is a line of text that may be copied. Any process that has the
 *  name can join, so keep it as secret as the job's data. */
typedef struct tutti_id {
  char text[TUTTI_ID_BYTES]; /* zero-terminated */
} tutti_id;

/** Open a rendezvous for one communicator in this process, usually rank 0. The process must live
 *  until the communicator is created. The rendezvous listens on all addresses of this host, or on
 *  that of TUTTI_INTERFACE, and on port TUTTI_PORT (0, the default, means any free port). The id
 *  contains the addresses of this host, or those of TUTTI_ADDR (separated by commas).
 *  id  receives the name, which the other ranks need.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_SYSTEM (the port is in use, ...). */
TUTTI_API tutti_status tutti_unique_id(tutti_id *id);

/** Create a communicator of `nranks` ranks. Collective: each rank calls it with the same id and its
 *  own rank.
 *  nranks  number of ranks in the communicator.
 *  rank    this rank, from 0 to nranks-1.
 *  config  may be NULL; read only during the call.
 *  Returns the same on all ranks that reach the rendezvous: TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_TIMEOUT (tutti_error() names
 *  the missing ranks); TUTTI_ERR_PEER_LOST; TUTTI_ERR_SYSTEM (versions differ, a rank number is used twice, no network is
 *  available, ...); TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_comm_create(tutti_comm **comm, const tutti_id *id, int nranks,
                                         int rank, const tutti_config *config);

/** A key-value store that all ranks share. The functions return 0, or another number on failure.
 *  put     stores `n` bytes under a key ("tutti/..."), replacing any earlier value.
 *  get     waits up to `seconds` for a key, and copies at most `size` bytes of its value;
 *          *n receives the size of the value in bytes. */
typedef struct tutti_store {
  size_t size;                                                         /* size of this struct */
  void *ctx;                                                           /* passed to put and get */
  int (*put)(void *ctx, const char *key, const void *bytes, size_t n); /* see above */
  int (*get)(void *ctx, const char *key, void *bytes, size_t size, size_t *n,
             double seconds); /* see above */
} tutti_store;

/** Create a communicator as tutti_comm_create does, but let the ranks find each other through `store`, a key-value store. The
 *  store may hold keys of earlier communicators, even from processes that have ended. Communicators that are created
 *  concurrently need different prefixes. The store is not used after the call returns. */
TUTTI_API tutti_status tutti_comm_create_store(tutti_comm **comm, const tutti_store *store,
                                               int nranks, int rank, const tutti_config *config);

/** A function that performs an allgather, as MPI_Allgather does. `all` receives `bytes` bytes from each rank, in rank order.
 *  The function returns 0, or another number on failure. It is called only until the function that it was passed to
 *  returns. */
typedef int tutti_gather_fn(void *ctx, const void *mine, size_t bytes, void *all);
/** Create a communicator as tutti_comm_create does, but let the ranks find each other through `gather`, called with `ctx`. */
TUTTI_API tutti_status tutti_comm_create_gather(tutti_comm **comm, tutti_gather_fn *gather,
                                                void *ctx, int nranks, int rank,
                                                const tutti_config *config);

#ifdef __cplusplus
}
#endif
#endif
