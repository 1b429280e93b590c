/* ucx_rails.c - rails: a rail is UCX on one network device. A process has one rail for each device
 * in TUTTI_RAILS.
 *
 * Idea       UCX over TCP sends all eager messages of an endpoint through one device, even if it may use several.
 *            Each rail therefore has a separate context, restricted to one device, with its own worker and endpoints.
 *            The sender chooses the rail of each message (src/wire/net/net_send.c).
 * Cost       Without TUTTI_RAILS there is one rail, on the device that UCX selects. Every additional rail costs a
 *            context, a worker and an endpoint per peer in use, and progress polls every worker.
 * Invariant  Rail r of one process is connected to rail r of another, so the r-th devices of all hosts must share a network.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "ucx.h"

const char *ucx_rail_device(int rail, int *length) {
  const char *at = tt_env("TUTTI_RAILS");
  for (int r = 0; at && *at; r++) {
    *length = (int)strcspn(at, ",");
    if (r == rail) return at;
    at += *length + (at[*length] == ',');
  }
  return NULL;
}

/* Returns the UCX configuration for a device. Over TCP, a piece of a vector (32 KiB and a few bytes) must be passed to
 * the system in one call, as one part, because a message of several parts cannot be canceled once it has begun to arrive.
 * UCX's default limit is 8 KiB. The first variable name is that of UCX up to 1.13. The environment takes precedence. */
static ucp_config_t *configuration(const char *device) {
  ucp_config_t *c = NULL;
  if (ucp_config_read(NULL, NULL, &c)) return NULL;
  if (*device) ucp_config_modify(c, "NET_DEVICES", device);
  if (getenv("UCX_TCP_TX_SEG_SIZE")) return c;
  ucp_config_modify(c, "TX_SEG_SIZE", "40k");
  ucp_config_modify(c, "TCP_TX_SEG_SIZE", "40k");
  return c;
}

static ucs_status_t make_context(ucx_rail *r) {
  const ucp_params_t what = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                             .features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP};
  ucp_config_t *config = configuration(r->device);
  const ucs_status_t status = ucp_init(&what, config, &r->context);
  if (config) ucp_config_release(config);
  return status;
}

static ucs_status_t make_worker(ucx_rail *r) {
  const ucp_worker_params_t how = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                   .thread_mode = UCS_THREAD_MODE_SERIALIZED};
  const ucs_status_t status = ucp_worker_create(r->context, &how, &r->worker);
  if (status || ucp_worker_get_efd(r->worker, &r->wakes)) r->wakes = -1;
  return status;
}

static int open_rail(ucx_rail *r, char *why, size_t size) {
  char what[120];
  const char *on = *r->device ? " on the device " : "";
  ucs_status_t status = make_context(r);
  snprintf(what, sizeof what, "start%s%s", on, r->device);
  if (!status && (status = make_worker(r)))
    snprintf(what, sizeof what, "open a worker%s%s", on, r->device);
  if (status) ucx_why(what, status, why, size);
  return status != UCS_OK;
}

/* Returns a single descriptor that becomes readable when the descriptor of any rail does. Returns -1 on failure. */
static int join_wakes(const ucx_world *w) {
  if (w->rails == 1) return w->rail[0].wakes;
  const int all = epoll_create1(EPOLL_CLOEXEC);
  for (int r = 0; r < w->rails && all >= 0; r++) {
    struct epoll_event event = {.events = EPOLLIN};
    if (w->rail[r].wakes >= 0 && !epoll_ctl(all, EPOLL_CTL_ADD, w->rail[r].wakes, &event)) continue;
    close(all);
    return -1;
  }
  return all;
}

int ucx_rails_open(ucx_world *w, char *why, size_t size) {
  int n = 0, length = 0;
  for (const char *device; (device = ucx_rail_device(n, &length)); n++) {
    if (n == TUTTI_NET_RAILS) {
      snprintf(why, size, "TUTTI_RAILS names more than %d devices", (int)TUTTI_NET_RAILS);
      return 1;
    }
    snprintf(w->rail[n].device, sizeof w->rail[n].device, "%.*s", length, device);
  }
  w->rails = n ? n : 1;
  for (int r = 0; r < w->rails; r++)
    if (open_rail(&w->rail[r], why, size)) return 1;
  w->wakes = join_wakes(w);
  return 0;
}

void ucx_rails_close(ucx_world *w) {
  if (w->rails > 1 && w->wakes >= 0) close(w->wakes);
  for (int r = 0; r < w->rails; r++) {
    if (w->rail[r].worker) ucp_worker_destroy(w->rail[r].worker);
    if (w->rail[r].context) ucp_cleanup(w->rail[r].context);
  }
}

unsigned ucx_progress(ucx_world *w) {
  unsigned moved = 0;
  if (w->progresses) return 0;
  w->progresses = true;
  for (int r = 0; r < w->rails; r++) moved += ucp_worker_progress(w->rail[r].worker);
  w->progresses = false;
  return moved;
}

int ucx_rails_arm(const ucx_world *w) {
  for (int r = 0; r < w->rails; r++)
    if (ucp_worker_arm(w->rail[r].worker)) return -1;
  return w->wakes;
}

/* ---- addresses: those of all rails, one after another ---- */

enum { ALIGN = 8 };

int ucx_rails_address(ucx_world *w) {
  ucx_beacon *b = &w->watch.beacon;
  ucp_address_t *address[TUTTI_NET_RAILS] = {0};
  size_t bytes[TUTTI_NET_RAILS] = {0};
  ucs_status_t status = UCS_OK;
  w->own_bytes = sizeof *b;
  for (int r = 0; r < w->rails && !status; r++) {
    status = ucp_worker_get_address(w->rail[r].worker, &address[r], &bytes[r]);
    b->rail[r] = (uint32_t)w->own_bytes;
    w->own_bytes += (bytes[r] + ALIGN - 1) / ALIGN * ALIGN;
  }
  b->rails = (uint16_t)w->rails;
  w->own = status ? NULL : calloc(1, w->own_bytes);
  if (w->own) memcpy(w->own, b, sizeof *b);
  for (int r = 0; r < w->rails; r++) {
    if (w->own) memcpy(w->own + b->rail[r], address[r], bytes[r]);
    if (address[r]) ucp_worker_release_address(w->rail[r].worker, address[r]);
  }
  return !w->own;
}

const ucp_address_t *ucx_rail_address(const ucx_beacon *b, int rail) {
  return (const ucp_address_t *)((const char *)b + b->rail[rail]);
}
