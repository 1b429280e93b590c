/* ucx.h - declarations for the UCX library: a world of processes, and networks in it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_UCX_H
#define TUTTI_UCX_H

#include <ucp/api/ucp.h>

#include "core.h"
#include "kit.h"

typedef struct ucx_world ucx_world;

/* The beginning of a process's address. It tells other hosts how to watch the host of this process. */
typedef struct ucx_beacon {
  kit_home home;
  uint16_t port;                  /* in network byte order; 0 if the process does not listen */
  uint16_t rails;                 /* number of rails of the process */
  uint32_t rail[TUTTI_NET_RAILS]; /* offset of each rail's address, in bytes from the start of the
                                     beacon */
  struct in6_addr of_rail[TUTTI_NET_RAILS]; /* address of each rail's device; zeros if unknown */
  int32_t pid, board; /* board: descriptor of the memory for its host's processes, or -1 */
  uint64_t id;        /* the first word of that memory */
} ucx_beacon;

/* UCX on one network device (ucx_rails.c). */
typedef struct ucx_rail {
  char device[64]; /* "" if UCX chooses */
  ucp_context_h context;
  ucp_worker_h worker;
  int wakes; /* descriptor that becomes readable on events, or -1 */
} ucx_rail;

typedef struct ucx_peer {         /* a process in use */
  ucp_ep_h end[TUTTI_NET_RAILS];  /* NULL: not connected yet, or lost */
  void *parting[TUTTI_NET_RAILS]; /* requests that close the endpoints */
  ucs_status_t lost;              /* the reason the process was lost; UCS_OK if it is not lost */
  int process;
  int stuck; /* requests were still in flight when the world was closed */
  ucx_world *world;
  char silent; /* the process's host does not answer */
  char apart;  /* UCX has no route to the process */
  char idle;   /* connected only to test whether the process can be reached */
} ucx_peer;

typedef enum ucx_use { UCX_UNUSED, UCX_USED, UCX_SILENT } ucx_use;

/* Memory that the processes of a host use to share their knowledge of processes on other hosts (ucx_board.c). */
typedef struct ucx_board {
  uint64_t id;
  atomic_uint uses, losses; /* counters of processes that came into use, and of hosts that stopped
                               answering */
  atomic_uchar of[];        /* [process]: a ucx_use; used for processes on other hosts */
} ucx_board;

typedef struct ucx_watch {
  int listener; /* descriptor of the listening socket, or -1 */
  int silence;  /* keepalive timeout of a host in seconds; 0: unlimited */
  kit_links links;
  ucx_beacon beacon; /* this process's */
  ucx_board *board;  /* NULL if hosts are not watched */
  size_t bytes;
  int fd; /* descriptor of the board; -1 if the board is private to this process */
  unsigned losses;
  double tried;     /* time in seconds when this process last tried to become the watcher */
  int watches, end; /* watches: this process is the watcher; end: an eventfd that stops its
                       thread */
  pthread_t thread;
} ucx_watch;

/* State that is shared by all networks of a process. Protected by `lock`. */
struct ucx_world {
  kit_world kit;
  ucx_rail rail[TUTTI_NET_RAILS];
  int rails;
  char *own; /* the beacon, followed by the addresses of all rails */
  size_t own_bytes;
  ucx_watch watch;
  unsigned looks;
  bool progresses;  /* set while ucx_progress runs */
  int wakes;        /* descriptor for the events of all rails, or -1 */
  ucx_peer **peers; /* by process; NULL if not in use */
  int open;         /* number of networks that are not closed */
};

/* Opens the endpoint of this process, and stores the address for the other processes in `own`. Does not communicate. On
 * failure, returns NULL and writes the reason to `why`. */
ucx_world *ucx_world_open(int silence, char *why, size_t size);
/* Gives the addresses of all processes to the world, once they are known. Returns 0, or 1 if out of memory. */
int ucx_world_join(ucx_world *w, int rank, int ranks, const tutti_net_addresses *addresses);
/* Returns the beacon of a process. The beacon tells where the host of that process can be watched. */
const ucx_beacon *ucx_world_beacon(const ucx_world *w, int process);
/* Marks a process as in use, and returns its peer object. Returns NULL if out of memory. */
ucx_peer *ucx_world_use(ucx_world *w, int process);
/* Returns 1 if this process considers the other process lost. */
static inline int ucx_world_lost(const ucx_world *w, int process) {
  return w->peers[process] && w->peers[process]->lost;
}
/* Returns 1 if the other process has a different number of rails than this one. In that case, *words receives an explanation
 * that continues "rank 3 on n1 ". */
int ucx_world_unlike(const ucx_world *w, int process, char *words, size_t size);
/* Returns the endpoint that connects this process to another one over a rail. Creates the endpoint if needed. Returns NULL if
 * the other process is lost. The caller holds the lock. */
ucp_ep_h ucx_world_end(ucx_world *w, int process, int rail);
/* Closes all endpoints to a lost process, and abandons the messages that are in flight to or from it. */
void ucx_world_abandon(ucx_peer *p);
/* Tests whether this process has a route to a process on another host. Returns 1 if it has; otherwise returns 0 and writes
 * the reason to `why`. */
int ucx_world_reaches(ucx_world *w, char *why, size_t size);
/* Writes UCX's reason for a failure to `why`, together with the settings that may have caused it. */
void ucx_why(const char *what, ucs_status_t status, char *why, size_t size);
/* Marks a peer as lost. After this, no messages are sent to it or received from it. */
void ucx_world_lose(ucx_peer *p, ucs_status_t status);
/* Closes the world. Call it after the last network is closed. */
void ucx_world_close(ucx_world *w);

/* ---- rails (ucx_rails.c) ---- */

/* Returns the name of a rail's device, from the list in TUTTI_RAILS. The name has *length characters. Returns NULL if the
 * list has fewer rails. */
const char *ucx_rail_device(int rail, int *length);
/* Opens all rails. Returns 0, or 1 with the reason in *why. */
int ucx_rails_open(ucx_world *w, char *why, size_t size);
void ucx_rails_close(ucx_world *w);
/* Stores the address of this process in `own`. Returns 0, or 1 if UCX has no address, or if out of memory. */
int ucx_rails_address(ucx_world *w);
const ucp_address_t *ucx_rail_address(const ucx_beacon *b, int rail);
/* Makes progress on all rails. Returns 0 if there was nothing to do, or if UCX called this from its own progress function. */
unsigned ucx_progress(ucx_world *w);
/* Prepares all rails for sleeping. Returns a descriptor that becomes readable when there is work to do, or -1 if the caller
 * must not sleep. */
int ucx_rails_arm(const ucx_world *w);

/* ---- silent hosts (ucx_watch.c) ---- */

void ucx_watch_open(ucx_watch *h, int silence);
/* Opens the board of this host, once the addresses of all processes are known. Returns 0, or 1 if out of memory. */
int ucx_watch_join(ucx_world *w);
void ucx_watch_close(ucx_watch *h); /* may be called more than once */
/* Called when communication with a process begins. Requests that its host be watched. Does nothing if the process is on this
 * host. */
void ucx_watch_peer(ucx_world *w, ucx_peer *p);
/* Marks all processes on hosts that do not answer as lost. If no process of this host watches other hosts, this process
 * starts to do so. */
void ucx_watch_look(ucx_world *w);
static inline int ucx_watch_news(const ucx_watch *h) {
  return h->board && atomic_load_explicit(&h->board->losses, memory_order_acquire) != h->losses;
}

/* ---- addresses (ucx_addresses.c) ---- */

/* Determines the addresses of this host. The addresses of the devices that UCX uses come first. */
void ucx_addresses_find(ucx_watch *h);
/* Finds an address for watching the host of a process over a rail. Addresses that this host has as well are not
 * used. Returns false if no address remains. */
bool ucx_place_of(const ucx_world *w, const ucx_beacon *b, int rail, kit_place *place);

/* ---- memory for the processes of a host (ucx_board.c) ---- */

/* Creates a board and fills in the beacon. */
void ucx_board_make(ucx_watch *h);
/* Opens the board of this host. first: the beacon of the first process on this host. Returns 0, or 1 if out of memory. */
int ucx_board_open(ucx_watch *h, const ucx_beacon *first, int ranks);
/* Tries to lock the board. Returns 1 if this process now has the lock, which it keeps until it closes the board. Returns 0 if
 * another process has it. */
int ucx_board_lock(const ucx_watch *h);
void ucx_board_close(ucx_watch *h);

/* ---- networks (ucx_net.c) ---- */

extern const kit_library ucx_library;
/* Returns true if none of the network's requests is in flight, so that the network can be freed. */
bool ucx_net_over(const kit_net *n);
/* Marks the processes with requests in flight as stuck. */
void ucx_net_mark_stuck(const kit_net *n);

/* Returns UCX's name and version. */
const char *ucx_name(void);

#endif
