/* ucx_addresses.c - the addresses of this host at which others watch it, and the addresses at which
 * to watch other hosts.
 *
 * Idea       A host publishes the addresses of devices that UCX uses first. It publishes link-local addresses
 *            (src/meet/reach.c) only if it has no others; a watcher tries them on the link of its first link-local
 *            address. TUTTI_INTERFACE, a device or an address, excludes all others.
 * Invariant  With TUTTI_INTERFACE, the port is open only on that interface. A host that does not have it opens no
 *            port, and is not watched.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "ucx.h"

/* Returns 1 if the device is in UCX_NET_DEVICES. */
static int named(const char *device) {
  const char *list = getenv("UCX_NET_DEVICES");
  const size_t n = strlen(device);
  for (const char *at = list; at; at = strchr(at, ',')) {
    at += *at == ',';
    if (strncmp(at, device, n) == 0 && (!at[n] || at[n] == ',')) return 1;
  }
  return 0;
}

/* Returns the rail that uses this device, or -1. */
static int rail_of(const char *device) {
  int n = 0;
  const char *at;
  for (int r = 0; r < TUTTI_NET_RAILS && (at = ucx_rail_device(r, &n)); r++)
    if ((int)strlen(device) == n && strncmp(at, device, (size_t)n) == 0) return r;
  return -1;
}

/* Returns the position of an address in the order of preference, or -1 if it is not used. The devices named by the user come
 * first, IPv4 comes before IPv6, and link-local addresses come last. */
static int order_of(const struct ifaddrs *i, tt_reach_kind reach, const void *ctx) {
  const char *only = tt_env("TUTTI_INTERFACE");
  const int other = !named(i->ifa_name);
  (void)ctx;
  if (only ? !tt_reach_named(i, only) : reach > TT_REACH_LINK) return -1;
  if (reach == TT_REACH_LINK) return KIT_ORDERS + other;
  return 2 * other + (reach == TT_REACH_6 || reach == TT_REACH_HERE6);
}

void ucx_addresses_find(ucx_watch *h) {
  ucx_beacon *b = &h->beacon;
  const struct in6_addr *a = b->home.addresses;
  kit_home_find(&b->home, &h->links, order_of, NULL);
  h->links.looks = tt_reach_links(h->links.link[0], h->links.look);
  for (int k = 0; k < KIT_ADDRESSES && kit_is_set(&a[k]); k++) {
    const int rail = rail_of(h->links.device[k]);
    if (rail >= 0 && !kit_is_set(&b->of_rail[rail])) b->of_rail[rail] = a[k];
  }
}

static bool is_own(const ucx_watch *h, const struct in6_addr *a) {
  for (int i = 0; i < KIT_ADDRESSES; i++)
    if (memcmp(&h->beacon.home.addresses[i], a, sizeof *a) == 0) return true;
  return false;
}

bool ucx_place_of(const ucx_world *w, const ucx_beacon *b, int rail, kit_place *place) {
  const ucx_watch *h = &w->watch;
  bool found;
  int i = 0;
  do found = kit_place_at(&h->beacon.home, &h->links, &b->home, i++, place);
  while (found && is_own(h, &place->address));
  if (!found || w->rails == 1) return found;
  place->address = b->of_rail[rail];
  place->link = IN6_IS_ADDR_LINKLOCAL(&place->address) ? h->links.look[0] : 0;
  return kit_is_set(&place->address);
}
