/* ucx.h - inside the library for UCX: a world of processes, and networks in it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_UCX_H
#define TUTTI_UCX_H

#include <pthread.h>
#include <stdint.h>
#include <ucp/api/ucp.h>

#include "tutti_net.h"

typedef struct ucx_world ucx_world;
typedef struct ucx_net ucx_net;

enum { UCX_ADDRESSES = 8 };

/* What stands before a process's address: where it can be watched. */
typedef struct ucx_beacon {
  char host[64];
  uint32_t addresses[UCX_ADDRESSES]; /* IPv4, as on the wire; 0: no more */
  uint16_t port, unused;             /* as on the wire; 0: nobody listens */
} ucx_beacon;

typedef struct ucx_peer { /* a process */
  const ucp_address_t *address;
  ucp_ep_h end;      /* NULL: not connected yet, or lost */
  ucs_status_t lost; /* UCS_OK: it is not */
  int stuck;         /* at the end something is still on its way */
  void *parting;     /* the end is being closed */
  ucx_world *world;
  ucx_beacon beacon;
  int watch;           /* descriptor; -1: it is not watched */
  char stands, silent; /* the watch has been there; its host has gone without a word */
  char apart;          /* UCX knows no way to it */
} ucx_peer;

typedef struct ucx_watch {
  int listener, events; /* descriptors; -1: none */
  int silence;          /* s that a host may be silent; 0: for ever */
  uint32_t masks[UCX_ADDRESSES];
  ucx_beacon beacon; /* the own one */
} ucx_watch;

/* What the networks of a process have in common. All of it under `lock`. */
struct ucx_world {
  pthread_mutex_t lock;
  ucp_context_h context;
  ucp_worker_h worker;
  char *own; /* the beacon, and the worker's address */
  size_t own_bytes;
  ucx_watch watch;
  unsigned looks;
  int rank, ranks, wakes; /* wakes: the descriptor that becomes readable; -1: none */
  ucx_peer *peers;
  char *addresses;
  uint32_t next;    /* number of the next network */
  ucx_net *nets;    /* linked */
  int losses, open; /* peers that were lost; networks that are not closed */
};

/* Local: the end of a process, which is told to the others by `own`. NULL: why. */
ucx_world *ucx_world_open(int silence, char *why, size_t size);
/* All ends are known. 0, or 1: out of memory. */
int ucx_world_join(ucx_world *w, int rank, int ranks, const void *addresses, size_t stride);
/* Connected to a process, or NULL: it is lost. The lock is held. */
ucp_ep_h ucx_world_end(ucx_world *w, int process);
/* Is there a way to a process on another host? 1, or 0: why not. */
int ucx_world_reaches(ucx_world *w, char *why, size_t size);
/* Why UCX cannot do that, with the settings that may have to do with it. */
void ucx_why(const char *what, ucs_status_t status, char *why, size_t size);
/* Nothing more comes from it, nor goes to it. */
void ucx_world_lose(ucx_peer *p, ucs_status_t status);
/* Once its last network is closed. */
void ucx_world_close(ucx_world *w);

/* ---- hosts that fall silent (ucx_watch.c) ---- */

void ucx_watch_open(ucx_watch *h, int silence);
void ucx_watch_close(ucx_watch *h);
/* From now on, if it is on another host. */
void ucx_watch_peer(ucx_world *w, int process);
/* Loses those that are silent. `events` becomes readable when there may be any. */
void ucx_watch_look(ucx_world *w);

/* ---- networks ---- */

/* A network of some processes of a world; processes == NULL: of all. 0, or 1: out of memory. */
int ucx_net_make(ucx_world *w, uint32_t number, const int *processes, int rank, int ranks,
                 tutti_net *net);
/* A network may go: nothing of it is on its way. */
int ucx_net_over(const ucx_net *n);
/* Marks the processes that something is on its way to, or from. */
void ucx_net_mark_stuck(const ucx_net *n);
const ucx_net *ucx_net_next(const ucx_net *n);
ucx_net *ucx_net_free(ucx_net *n); /* the next one */

double ucx_seconds(void); /* that only go forward */
/* A name for what UCX is. */
const char *ucx_name(void);

#endif
