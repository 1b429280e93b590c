/* maker.c - the entry points that libtutti looks up in this library, as defined in tutti_net.h.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "ucx.h"

static int end_open(void **end, int silence, const void **address, size_t *bytes, char *why,
                    size_t size) {
  ucx_world *w = ucx_world_open(silence, why, size);
  if (!w) return 1;
  *end = w;
  *address = w->own;
  *bytes = w->own_bytes;
  return 0;
}

static int end_join(void *end, int rank, int ranks, const tutti_net_addresses *addresses,
                    tutti_net *net, char *why, size_t size) {
  ucx_world *w = end;
  snprintf(why, size, "out of memory for %d ranks", ranks);
  if (!ucx_world_join(w, rank, ranks, addresses) && ucx_world_reaches(w, why, size) &&
      !kit_net_make(&w->kit, 0, NULL, rank, ranks, net))
    return 0;
  ucx_watch_close(&w->watch);   /* its thread reads the addresses */
  w->kit.addresses.drop = NULL; /* the caller keeps ownership of the addresses */
  return 1;
}

static void end_drop(void *end) {
  ucx_world_close(end);
}

TUTTI_API tutti_net_maker tutti_net_maker_of(void);

tutti_net_maker tutti_net_maker_of(void) {
  return (tutti_net_maker){.size = sizeof(tutti_net_maker),
                           .table = sizeof(tutti_net),
                           .name = ucx_name(),
                           .open = end_open,
                           .join = end_join,
                           .drop = end_drop};
}
