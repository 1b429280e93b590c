/* kit.h - what the libraries of networks between hosts share.
 *
 * Layers     kit_net.c      the networks of a process: their numbers, requests, receipts, losses, and the check of
 *                           what arrives
 *            kit_address.c  addresses of this host, and sockets to those of others
 * Use        A library's own structs begin with a kit_world, a kit_net and a kit_slot, so a pointer to one is a pointer
 *            to the other.
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
  KIT_SURE,   /* asks for a receipt, once its receive has begun */
  KIT_RECEIPT /* messages of one process and tag are answered in their order */
} kit_kind;

/* The header of a message. */
typedef struct kit_head {
  uint32_t number; /* of the network */
  uint32_t rank;   /* of the sender, in that network */
  uint32_t bytes;  /* that follow */
  uint8_t kind, tag, none[2];
} kit_head;

/* A request. */
struct kit_slot {
  kit_net *net;
  kit_slot *next;        /* in the one queue that it is in */
  int number, peer, tag; /* tag: with its rail, as the table has it */
  int failed;
  bool taken;  /* it has begun, and was neither reported nor cancelled */
  bool awaits; /* a send's receipt has not come */
  size_t bytes;
};

typedef struct kit_queue { /* oldest first */
  kit_slot *first, **end;
} kit_queue;

/* What a library adds. */
typedef struct kit_library {
  size_t net_bytes, slot_bytes; /* of its structs */
  /* Set up the rest of a new network, and of its table. */
  void (*begin)(kit_net *n, tutti_net *net);
} kit_library;

/* State shared by the networks of a process, all of it under `lock`. */
struct kit_world {
  pthread_mutex_t lock;
  const kit_library *library;
  int rank, ranks;
  tutti_net_addresses addresses;
  uint32_t next; /* number of the next network */
  kit_net *nets; /* linked */
  int *lost;     /* processes that were lost, in this order */
  int losses;
};

struct kit_net {
  kit_net *next; /* of the world */
  kit_world *world;
  uint32_t number;
  int rank, ranks;
  int *processes;  /* NULL: all */
  char **chunks;   /* of slots */
  int slots;       /* in all chunks */
  int told;        /* how many of the world's losses were reported */
  unsigned skips;  /* polls that found something without progress */
  atomic_int out;  /* messages that have not left */
  kit_queue done;  /* completed */
  kit_queue asked; /* sends that await a receipt */
  char error[200];
};

void kit_world_open(kit_world *w, const kit_library *library);
/* All addresses are known. */
void kit_world_join(kit_world *w, int rank, int ranks, const tutti_net_addresses *addresses);
/* Frees the networks that are left. */
void kit_world_close(kit_world *w);
/* The address of a process, which has at least these bytes and begins with a kit_home; NULL: it makes no sense. */
const void *kit_address_of(const kit_world *w, int process, size_t least, size_t *bytes);
/* Record that a process is lost: every network reports it. */
void kit_lose(kit_world *w, int process);

/* A network of some processes; processes NULL: of all. 0, or 1: out of memory. */
int kit_net_make(kit_world *w, uint32_t number, const int *processes, int rank, int ranks,
                 tutti_net *net);
void kit_net_free(kit_net *n);
/* The network with this number; NULL: none. */
kit_net *kit_net_of(const kit_world *w, uint32_t number);
static inline int kit_process(const kit_net *n, int rank) {
  return n->processes ? n->processes[rank] : rank;
}
/* The rank of a process; -1: it is not in this network. */
int kit_rank_of(const kit_net *n, int process);
/* May this process, or any if -1, have sent a message with this header? n NULL: the network is not made yet. */
bool kit_may_send(const kit_world *w, const kit_net *n, const kit_head *head, int process);

void kit_queue_clear(kit_queue *q);
void kit_append(kit_queue *q, kit_slot *s);
void kit_unlink(kit_queue *q, kit_slot *s); /* nothing, if it is not in the queue */
/* A new request, reset; NULL: out of memory. */
void *kit_begin(kit_net *n, int number, int peer, int tag);
/* Slot number i, below n->slots. */
void *kit_slot_at(const kit_net *n, int i);
void kit_complete(kit_slot *s, int failed);
/* The send awaits a receipt, or none any more. */
void kit_ask(kit_slot *s);
void kit_unask(kit_slot *s);
/* A receipt has arrived: the send that it is for; NULL: none. */
void *kit_receipt(kit_net *n, int peer, int tag);
/* Should this poll make progress? Not every poll that has something to report does. */
static inline bool kit_progress_due(kit_net *n) {
  enum { SKIPS_MOST = 8 }; /* sends that complete immediately must not prevent progress */
  return !n->done.first || ++n->skips % SKIPS_MOST == 0;
}
/* Completed requests, then lost ranks, even if no request waits for them; returns their number. */
int kit_report(kit_net *n, tutti_net_done *done, int most);
/* Sleeps until one of the descriptors is readable (-1: none) or the timeout expires. */
void kit_sleep(int wakes, int also, int microseconds);
/* For `fate` of the table: this host has been silent for so long; s. */
int kit_say_silent(const char *host, int silence, char *words, size_t size);

/* ---- addresses (kit_address.c) ---- */

enum { KIT_ADDRESSES = 6, KIT_ORDERS = 10 };

/* The host of a process whose address makes no sense. */
#define KIT_NOWHERE "a host whose address makes no sense"
/* The beginning of a process's address. */
typedef struct kit_home {
  char host[64];
  struct in6_addr addresses[KIT_ADDRESSES]; /* IPv4 as mapped ones; zeros: no more */
} kit_home;

/* This host's addresses, with their devices and networks. */
typedef struct kit_links {
  char device[KIT_ADDRESSES][16];
  int bits[KIT_ADDRESSES];      /* of the network of each address */
  unsigned link[KIT_ADDRESSES]; /* of each that only its link knows */
  unsigned look[TT_LINKS];      /* over which to look for such addresses of others, in this order */
  int looks;
} kit_links;

/* An address of a process, and the link of this host to it. */
typedef struct kit_place {
  struct in6_addr address;
  unsigned link; /* 0: more than one link knows the address */
} kit_place;

/* The index of an address in the list that this host publishes; lower numbers come first. Numbers form groups of
 * KIT_ORDERS, and the host publishes the addresses of the first group that is not empty. -1: it never publishes this one. */
typedef int kit_order_fn(const struct ifaddrs *a, tt_reach_kind reach, const void *ctx);

/* Fills in the name and the addresses of this host. `look` stays empty. */
void kit_home_find(kit_home *home, kit_links *own, kit_order_fn *order, const void *ctx);
static inline bool kit_is_set(const struct in6_addr *a) {
  return !IN6_IS_ADDR_UNSPECIFIED(a);
}
bool kit_same_host(const kit_home *a, const kit_home *b);
/* Place number i of another process, in the order in which to try them; false: no more. */
bool kit_place_at(const kit_home *home, const kit_links *own, const kit_home *of, int i,
                  kit_place *place);
/* A nonblocking socket that connects; -1 and errno. silence: as tt_reach_probe; 0: none. */
int kit_dial(const kit_place *place, uint16_t port, int silence);

#endif
