/* tutti_create.h - communicators of ranks that no MPI and no `tutti run` has started.
 *
 * The ranks find each other at a rendezvous, by a store that they have in common, or by a
 * gather of the caller's. Ranks of one node then share memory; between nodes goes a network
 * of its own: UCX (libtutti_ucx.so; `config->net` or TUTTI_NET names another). docs/hosts.md
 * says more. SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_CREATE_H
#define TUTTI_CREATE_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TUTTI_ID_BYTES = 512 };

/** The name of a rendezvous: "HOST[,HOST...]:PORT:KEY", a line of text that may be copied.
 *  Who has it can join: it is as secret as the job. */
typedef struct tutti_id {
  char text[TUTTI_ID_BYTES];
} tutti_id;

typedef struct tutti_config {
  size_t size;     /* of this struct */
  const char *net; /* "ucx": libtutti_ucx.so; or a path with a '/'. NULL: TUTTI_NET's, or ucx */
  double timeout;  /* s until ranks that are missing are given up; 0: TUTTI_CONNECT_TIMEOUT, 120 */
} tutti_config;

/** Open a rendezvous in this process, for one communicator: any process that outlives the
 *  meeting, as a rule rank 0. It hears on all addresses of this host, or on TUTTI_ADDR (names
 *  or addresses, apart by commas) and TUTTI_PORT (0, the default: any that is free).
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_SYSTEM (the port is taken, ...). */
TUTTI_API tutti_status tutti_unique_id(tutti_id *id);

/** As tutti_unique_id, for one communicator after another of the same ranks, as long as this
 *  process lives: for launchers, whose ranks may run several programs in turn. */
TUTTI_API tutti_status tutti_unique_id_lasting(tutti_id *id);

/** A communicator of `nranks` ranks, each of which calls this with the same id and its own
 *  rank. Collective. config: may be NULL; looked at during the call only.
 *  Returns, on all ranks that reach the rendezvous alike: TUTTI_OK; TUTTI_ERR_ARG;
 *  TUTTI_ERR_TIMEOUT (who is missing); TUTTI_ERR_PEER_LOST; TUTTI_ERR_SYSTEM (another version,
 *  a rank that is there twice, no network, ...); TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_comm_create(tutti_comm **comm, const tutti_id *id, int nranks,
                                         int rank, const tutti_config *config);

/** A store that all ranks see. Functions return 0, or not 0 if they failed.
 *  put     so many bytes under a key ("tutti/...", a new one each time).
 *  get     what was put under a key: waits for it up to `seconds`; at most `size` bytes, *n:
 *          how many there were. */
typedef struct tutti_store {
  size_t size; /* of this struct */
  void *ctx;
  int (*put)(void *ctx, const char *key, const void *bytes, size_t n);
  int (*get)(void *ctx, const char *key, void *bytes, size_t size, size_t *n, double seconds);
} tutti_store;

/** As tutti_comm_create, by a store, which must hold no keys of an earlier communicator: give
 *  each a prefix of its own. It is not called after the return. */
TUTTI_API tutti_status tutti_comm_create_store(tutti_comm **comm, const tutti_store *store,
                                               int nranks, int rank, const tutti_config *config);

/** As tutti_comm_create, by a gather: `all` gets `bytes` of each rank, in order; it returns 0,
 *  or not 0 if it failed. (MPI_Allgather is one.) It is not called after the return. */
typedef int tutti_gather_fn(void *ctx, const void *mine, size_t bytes, void *all);
TUTTI_API tutti_status tutti_comm_create_gather(tutti_comm **comm, tutti_gather_fn *gather,
                                                void *ctx, int nranks, int rank,
                                                const tutti_config *config);

#ifdef __cplusplus
}
#endif
#endif
