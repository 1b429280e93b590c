/* ucx.h - internals of the library for UCX: a world of processes, and networks in it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_UCX_H
#define TUTTI_UCX_H

#include <ucp/api/ucp.h>

#include "core.h"
#include "kit.h"

typedef struct ucx_world ucx_world;

/* Precedes a process's address: where it can be watched. */
typedef struct ucx_beacon {
  kit_home home;
  uint16_t port;                  /* network byte order; 0: no listener */
  uint16_t rails;                 /* of the process */
  uint32_t rail[TUTTI_NET_RAILS]; /* where the address of each begins, in bytes from here */
  struct in6_addr of_rail[TUTTI_NET_RAILS]; /* of its device; zeros: unknown */
  int32_t pid, board; /* descriptor of memory for its host's processes; -1: none */
  uint64_t id;        /* that memory begins with */
} ucx_beacon;

/* UCX on one network device (ucx_rails.c). */
typedef struct ucx_rail {
  char device[64]; /* "": UCX chooses */
  ucp_context_h context;
  ucp_worker_h worker;
  int wakes; /* the descriptor that becomes readable; -1: none */
} ucx_rail;

typedef struct ucx_peer {         /* a process in use */
  ucp_ep_h end[TUTTI_NET_RAILS];  /* NULL: not connected yet, or lost */
  void *parting[TUTTI_NET_RAILS]; /* requests that close them */
  ucs_status_t lost;              /* UCS_OK: not lost */
  int process;
  int stuck; /* at the end, requests are still in flight */
  ucx_world *world;
  char silent; /* its host is */
  char apart;  /* UCX knows no route to it */
  char idle;   /* connected to see whether it can be reached, and for nothing else yet */
} ucx_peer;

typedef enum ucx_use { UCX_UNUSED, UCX_USED, UCX_SILENT } ucx_use;

/* What the processes of a host know of all others (ucx_board.c). */
typedef struct ucx_board {
  uint64_t id;
  atomic_uint uses,
      losses;        /* changes so far: processes that came into use, hosts that fell silent */
  atomic_uchar of[]; /* [process]: a ucx_use; that of processes of other hosts */
} ucx_board;

typedef struct ucx_watch {
  int listener; /* descriptor; -1: none */
  int silence;  /* s that a host may be silent; 0: unlimited */
  kit_links links;
  ucx_beacon beacon; /* this process's */
  ucx_board *board;  /* NULL: nothing is watched */
  size_t bytes;
  int fd; /* of the board; -1: it is this process's alone */
  unsigned losses;
  double tried;     /* when this process last tried to become the watcher; s */
  int watches, end; /* this process is the watcher; an eventfd that ends its thread */
  pthread_t thread;
} ucx_watch;

/* State shared by the networks of a process, all of it under `lock`. */
struct ucx_world {
  kit_world kit;
  ucx_rail rail[TUTTI_NET_RAILS];
  int rails;
  char *own; /* the beacon, and the addresses of all rails */
  size_t own_bytes;
  ucx_watch watch;
  unsigned looks;
  bool progresses;  /* in ucx_progress */
  int wakes;        /* of all rails; -1: none */
  ucx_peer **peers; /* by process; NULL: not in use */
  int open;         /* networks that are not closed */
};

/* Local: open this process's end; its address for the others is in `own`. NULL on failure:
 * see why. */
ucx_world *ucx_world_open(int silence, char *why, size_t size);
/* All addresses are known. 0, or 1: out of memory. */
int ucx_world_join(ucx_world *w, int rank, int ranks, const tutti_net_addresses *addresses);
/* Where a process can be watched. */
const ucx_beacon *ucx_world_beacon(const ucx_world *w, int process);
/* Marks a process as in use and returns its peer; NULL: out of memory. */
ucx_peer *ucx_world_use(ucx_world *w, int process);
/* Is a process lost, as far as this one knows? */
static inline int ucx_world_lost(const ucx_world *w, int process) {
  return w->peers[process] && w->peers[process]->lost;
}
/* Has a process another number of rails than this one? Then *words continue "rank 3 on n1 ". */
int ucx_world_unlike(const ucx_world *w, int process, char *words, size_t size);
/* The endpoint to a process on a rail, connected if needed; NULL: the process is lost. The caller holds the lock. */
ucp_ep_h ucx_world_end(ucx_world *w, int process, int rail);
/* Close the endpoints to a process that is not connected to any more, and abandon the messages in flight. */
void ucx_world_abandon(ucx_peer *p);
/* Is there a route to a process on another host? 1, or 0 and why not. */
int ucx_world_reaches(ucx_world *w, char *why, size_t size);
/* Formats UCX's reason for a failure, with the relevant settings. */
void ucx_why(const char *what, ucs_status_t status, char *why, size_t size);
/* Mark a peer as lost: no more messages from it or to it. */
void ucx_world_lose(ucx_peer *p, ucs_status_t status);
/* Call after the last network is closed. */
void ucx_world_close(ucx_world *w);

/* ---- rails (ucx_rails.c) ---- */

/* The device of a rail in TUTTI_RAILS, *length long; NULL: it names fewer. */
const char *ucx_rail_device(int rail, int *length);
/* Open all rails. 0, or 1 and why not. */
int ucx_rails_open(ucx_world *w, char *why, size_t size);
void ucx_rails_close(ucx_world *w);
/* Fill in `own`. 0, or 1: UCX has no address, or there is no memory. */
int ucx_rails_address(ucx_world *w);
const ucp_address_t *ucx_rail_address(const ucx_beacon *b, int rail);
/* Make progress on all rails: 0: there was nothing to do, or UCX makes it already, and has called the caller. */
unsigned ucx_progress(ucx_world *w);
/* Before sleep: the descriptor that becomes readable once there is something to do; -1: do not sleep. */
int ucx_rails_arm(const ucx_world *w);

/* ---- silent hosts (ucx_watch.c) ---- */

void ucx_watch_open(ucx_watch *h, int silence);
/* All addresses are known. 0, or 1: out of memory. */
int ucx_watch_join(ucx_world *w);
void ucx_watch_close(ucx_watch *h); /* once or more */
/* Have the host of a process that comes into use watched, unless it is this host. */
void ucx_watch_peer(ucx_world *w, ucx_peer *p);
/* Mark the processes on silent hosts as lost. Where no process watches, this one becomes the watcher. */
void ucx_watch_look(ucx_world *w);
static inline int ucx_watch_news(const ucx_watch *h) {
  return h->board && atomic_load_explicit(&h->board->losses, memory_order_acquire) != h->losses;
}

/* ---- addresses (ucx_addresses.c) ---- */

/* Fills in this host's, those of devices that UCX is to use first. */
void ucx_addresses_find(ucx_watch *h);
/* The place at which to watch a process's host over a rail. Addresses that this host has as well are skipped. False: no address is
 * left. */
bool ucx_place_of(const ucx_world *w, const ucx_beacon *b, int rail, kit_place *place);

/* ---- memory for the processes of a host (ucx_board.c) ---- */

/* Fills in the beacon. */
void ucx_board_make(ucx_watch *h);
/* first: the beacon of this host's first process. 0, or 1: out of memory. */
int ucx_board_open(ucx_watch *h, const ucx_beacon *first, int ranks);
/* 1: this process has the lock, and keeps it until the board is closed; 0: another process has it. */
int ucx_board_lock(const ucx_watch *h);
void ucx_board_close(ucx_watch *h);

/* ---- networks (ucx_net.c) ---- */

extern const kit_library ucx_library;
/* Has the network no requests in flight, so that it can be freed? */
bool ucx_net_over(const kit_net *n);
/* Mark the processes with requests in flight. */
void ucx_net_mark_stuck(const kit_net *n);

/* UCX's name and version. */
const char *ucx_name(void);

#endif
