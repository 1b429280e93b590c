/* kit.h - the common part of the libraries for networks between hosts.
 *
 * Layers     kit_net.c      the networks of a process: their numbers, requests, receipts, losses, and the check of
 *                           what arrives
 *            kit_address.c  addresses of this host, and sockets to those of others
 * Use        A library's own structs start with a kit_world, a kit_net and a kit_slot, so a pointer to one is also a
 *            pointer to the other.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef KIT_H
#define KIT_H

#include <ifaddrs.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "reach.h"
#include "tutti_net.h"

typedef struct kit_world kit_world;
typedef struct kit_net kit_net;
typedef struct kit_slot kit_slot;

/* ---- networks (kit_net.c) ---- */

typedef enum kit_kind {
  KIT_PLAIN,
  KIT_SURE,   /* requests a receipt, sent once its receive has begun */
  KIT_RECEIPT /* messages of one process and tag are answered in order */
} kit_kind;

/* The header of a message. */
typedef struct kit_head {
  uint32_t number; /* number of the network */
  uint32_t rank;   /* rank of the sender in that network */
  uint32_t bytes;  /* number of bytes that follow */
  uint8_t kind, tag, none[2];
} kit_head;

/* A request. */
struct kit_slot {
  kit_net *net;
  kit_slot *next;        /* next slot in its queue; a slot is in at most one queue */
  int number, peer, tag; /* tag: including the rail, as in tutti_net.h */
  int failed;
  bool taken;  /* the request has started, and was neither reported nor canceled */
  bool awaits; /* a send whose receipt has not arrived */
  size_t bytes;
};

typedef struct kit_queue { /* oldest slot first */
  kit_slot *first, **end;
} kit_queue;

/* The part that a library adds. */
typedef struct kit_library {
  size_t net_bytes, slot_bytes; /* sizes of its structs */
  /* Initializes the library's own fields in a new network, and in the network's function table. */
  void (*begin)(kit_net *n, tutti_net *net);
} kit_library;

/* State that is shared by all networks of a process. It is protected by `lock`. */
struct kit_world {
  pthread_mutex_t lock;
  const kit_library *library;
  int rank, ranks;
  tutti_net_addresses addresses;
  uint32_t next; /* number of the next network */
  kit_net *nets; /* linked list */
  int *lost;     /* lost processes, oldest loss first */
  int losses;
};

struct kit_net {
  kit_net *next; /* the world's next network */
  kit_world *world;
  uint32_t number;
  int rank, ranks;
  int *processes;  /* NULL if it has all processes */
  char **chunks;   /* memory of the slots */
  int slots;       /* number of slots in all chunks */
  int told;        /* number of the world's losses that have been reported */
  unsigned skips;  /* number of polls that found a completed request and skipped progress */
  atomic_int out;  /* number of messages that have not left */
  kit_queue done;  /* completed requests */
  kit_queue asked; /* sends that wait for a receipt */
  char error[200];
};

void kit_world_open(kit_world *w, const kit_library *library);
/* Called once all addresses are known. */
void kit_world_join(kit_world *w, int rank, int ranks, const tutti_net_addresses *addresses);
/* Frees the world, and any remaining networks. */
void kit_world_close(kit_world *w);
/* Returns the address of a process, which starts with a kit_home, or NULL if it is invalid or shorter than `least` bytes. */
const void *kit_address_of(const kit_world *w, int process, size_t least, size_t *bytes);
/* Records that a process is lost; every network reports it. */
void kit_lose(kit_world *w, int process);

/* Creates a network of some processes, or of all processes if `processes` is NULL. Returns 0, or 1 if out of memory. */
int kit_net_make(kit_world *w, uint32_t number, const int *processes, int rank, int ranks,
                 tutti_net *net);
void kit_net_free(kit_net *n);
/* Returns the network with this number, or NULL. */
kit_net *kit_net_of(const kit_world *w, uint32_t number);
static inline int kit_process(const kit_net *n, int rank) {
  return n->processes ? n->processes[rank] : rank;
}
/* Returns the rank of a process in this network, or -1 if the network does not contain the process. */
int kit_rank_of(const kit_net *n, int process);
/* Returns true if a message with this header may have come from `process`, or from any process if that is -1. n is
 * NULL if the network does not exist yet. */
bool kit_may_send(const kit_world *w, const kit_net *n, const kit_head *head, int process);

void kit_queue_clear(kit_queue *q);
void kit_append(kit_queue *q, kit_slot *s);
void kit_unlink(kit_queue *q, kit_slot *s); /* does nothing if the slot is not in the queue */
/* Returns a new, reset request, or NULL if out of memory. */
void *kit_begin(kit_net *n, int number, int peer, int tag);
/* Returns slot number i, below n->slots. */
void *kit_slot_at(const kit_net *n, int i);
void kit_complete(kit_slot *s, int failed);
/* kit_ask records that a send waits for a receipt. kit_unask records that the send no longer waits. */
void kit_ask(kit_slot *s);
void kit_unask(kit_slot *s);
/* Returns the send that is waiting for this receipt from `peer`, or NULL if no send is waiting for it. */
void *kit_receipt(kit_net *n, int peer, int tag);
/* Returns true if this poll should make progress. Polls that can already report a completed request usually skip that. */
static inline bool kit_progress_due(kit_net *n) {
  enum { SKIPS_MOST = 8 }; /* sends that complete immediately must not prevent progress */
  return !n->done.first || ++n->skips % SKIPS_MOST == 0;
}
/* Reports completed requests. Then reports lost ranks, even if no request depends on them. Returns the number of reports. */
int kit_report(kit_net *n, tutti_net_done *done, int most);
/* Sleeps until one of the two descriptors is readable or the timeout expires. A descriptor of -1 is ignored. */
void kit_sleep(int wakes, int also, int microseconds);
/* Writes that this host has not answered for `silence` seconds. Networks return this text from `fate`. */
int kit_say_silent(const char *host, int silence, char *words, size_t size);

/* ---- addresses (kit_address.c) ---- */

enum { KIT_ADDRESSES = 6, KIT_ORDERS = 10 };

/* The host name used for a process with an invalid address. */
#define KIT_NOWHERE "a host whose address makes no sense"
/* The first part of a process's address. */
typedef struct kit_home {
  char host[64];
  struct in6_addr addresses[KIT_ADDRESSES]; /* IPv4 addresses are mapped; zeros mark the end */
} kit_home;

/* This host's addresses, with their devices and networks. */
typedef struct kit_links {
  char device[KIT_ADDRESSES][16];
  int bits[KIT_ADDRESSES];      /* prefix length of each address's network */
  unsigned link[KIT_ADDRESSES]; /* the link of each link-local address */
  unsigned look[TT_LINKS];      /* the links on which to try link-local addresses of other hosts, in
                                   this order */
  int looks;
} kit_links;

/* An address of a process, and this host's link to it. */
typedef struct kit_place {
  struct in6_addr address;
  unsigned link; /* 0 if the address is not link-local */
} kit_place;

/* Returns the position of an address in the list that this host publishes, or -1 if the address is never published.
 * Addresses with lower numbers come first. The numbers form groups of KIT_ORDERS numbers, and a host publishes only
 * addresses from the first group that is not empty. */
typedef int kit_order_fn(const struct ifaddrs *a, tt_reach_kind reach, const void *ctx);

/* Finds the name and the addresses of this host. Leaves `look` empty. */
void kit_home_find(kit_home *home, kit_links *own, kit_order_fn *order, const void *ctx);
static inline bool kit_is_set(const struct in6_addr *a) {
  return !IN6_IS_ADDR_UNSPECIFIED(a);
}
bool kit_same_host(const kit_home *a, const kit_home *b);
/* Gets the i-th address under which another process may be reached. Returns false if there are at most i such addresses. */
bool kit_place_at(const kit_home *home, const kit_links *own, const kit_home *of, int i,
                  kit_place *place);
/* Opens a nonblocking socket and starts to connect it. `silence` is the keepalive timeout for tt_reach_probe, or 0
 * for none. Returns -1 with errno set on errors. */
int kit_dial(const kit_place *place, uint16_t port, int silence);

#endif
