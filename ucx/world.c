/* world.c - the processes of a job in UCX: one worker per rail, and a connection to each process,
 * made at the first message to it.
 *
 * Idea       All networks of a process share the worker: progress for one is progress for all. The
 *            addresses of all processes are in memory that the ranks of a host share.
 * Cost       8 bytes per process of the job, and a ucx_peer per process in use.
 * Invariant  A broken connection means one lost process. It is reported to every network, and
 *            nothing more is sent to that process.
 * The end    Outgoing messages get one second. Messages not received by then are abandoned together
 *            with their connections: waiting longer would be useless, and UCX terminates a process that
 *            does not abandon them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucs/debug/debug.h>
#include <ucs/debug/log_def.h>
#include <unistd.h>

#include "ucx.h"

enum { LOOKS = 16 };

const char *ucx_name(void) {
  static char name[40]; /* every thread writes the same text */
  unsigned major, minor, release;
  ucp_get_version(&major, &minor, &release);
  snprintf(name, sizeof name, "UCX %u.%u.%u", major, minor, release);
  return name;
}

/* ---- the library does not print, and does not catch the program's signals ---- */

static ucs_log_func_rc_t hush(const char *file, unsigned line, const char *function,
                              ucs_log_level_t level, const ucs_log_component_config_t *config,
                              const char *message, va_list ap) {
  (void)file, (void)line, (void)function, (void)level, (void)config, (void)message, (void)ap;
  return UCS_LOG_FUNC_RC_STOP;
}

static void behave(void) {
  static const int signals[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE};
  static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
  static int done;
  pthread_mutex_lock(&once);
  if (!done && !getenv("UCX_LOG_LEVEL")) ucs_log_push_handler(hush);
  for (size_t i = 0; !done && !getenv("UCX_ERROR_SIGNALS") && i < sizeof signals / sizeof *signals;
       i++)
    ucs_debug_disable_signal(signals[i]);
  done = 1;
  pthread_mutex_unlock(&once);
}

/* ---- opening and joining ---- */

void ucx_why(const char *what, ucs_status_t status, char *why, size_t size) {
  const char *tls = getenv("UCX_TLS"), *devices = getenv("UCX_NET_DEVICES");
  snprintf(why, size, "%s cannot %s: %s (UCX_TLS=%.60s, UCX_NET_DEVICES=%.60s)", ucx_name(), what,
           ucs_status_string(status), tls ? tls : "", devices ? devices : "");
}

ucx_world *ucx_world_open(int silence, char *why, size_t size) {
  ucx_world *w = calloc(1, sizeof *w);
  snprintf(why, size, "out of memory");
  if (!w) return NULL;
  behave();
  kit_world_open(&w->kit, &ucx_library);
  w->wakes = -1;
  ucx_watch_open(&w->watch, silence);
  if (!ucx_rails_open(w, why, size) && !ucx_rails_address(w)) return w;
  ucx_world_close(w);
  return NULL;
}

int ucx_world_join(ucx_world *w, int rank, int ranks, const tutti_net_addresses *addresses) {
  w->peers = calloc((size_t)ranks, sizeof(ucx_peer *));
  if (!w->peers) return 1;
  kit_world_join(&w->kit, rank, ranks, addresses);
  return ucx_watch_join(w);
}

const ucx_beacon *ucx_world_beacon(const ucx_world *w, int process) {
  static const ucx_beacon nowhere = {.home.host = KIT_NOWHERE, .board = -1};
  size_t bytes;
  const ucx_beacon *its = kit_address_of(&w->kit, process, sizeof *its, &bytes);
  bool whole = its && its->rails <= TUTTI_NET_RAILS;
  for (int r = 0; whole && r < its->rails; r++)
    whole = its->rail[r] >= sizeof *its && its->rail[r] < bytes;
  return whole ? its : &nowhere;
}

/* ---- connections ---- */

void ucx_world_lose(ucx_peer *p, ucs_status_t status) {
  if (p->lost) return;
  p->lost = status ? status : UCS_ERR_CONNECTION_RESET;
  kit_lose(&p->world->kit, p->process);
}

/* Called by UCX during progress, while the lock is held. */
static void broke(void *peer, ucp_ep_h end, ucs_status_t status) {
  (void)end;
  ucx_world_lose(peer, status);
}

ucx_peer *ucx_world_use(ucx_world *w, int process) {
  ucx_peer **p = &w->peers[process];
  if (*p || !(*p = malloc(sizeof **p))) return *p;
  **p = (ucx_peer){.process = process, .world = w};
  ucx_watch_peer(w, *p);
  return *p;
}

int ucx_world_unlike(const ucx_world *w, int process, char *words, size_t size) {
  const int its = ucx_world_beacon(w, process)->rails;
  if (its == w->rails) return 0;
  snprintf(words, size, "has %d devices of TUTTI_RAILS, and this rank %d", its, w->rails);
  return 1;
}

/* Connects to a peer over a rail. Before that, lets UCX handle connections that have ended. Otherwise UCX 1.13 aborts this
 * process if the connection from the peer has just been lost. */
static void connect_rail(ucx_world *w, ucx_peer *p, int rail) {
  for (int looks = 0; looks < LOOKS && ucx_progress(w);) looks++;
  if (p->end[rail] || p->lost) return;
  const ucx_beacon *b = ucx_world_beacon(w, p->process);
  const ucp_ep_params_t how = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                                             UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                                             UCP_EP_PARAM_FIELD_ERR_HANDLER,
                               .address = ucx_rail_address(b, rail),
                               .err_mode = UCP_ERR_HANDLING_MODE_PEER,
                               .err_handler = {.cb = broke, .arg = p}};
  const ucs_status_t status = b->rails != w->rails
                                  ? UCS_ERR_UNREACHABLE
                                  : ucp_ep_create(w->rail[rail].worker, &how, &p->end[rail]);
  if (!status) return;
  p->end[rail] = NULL;
  p->apart = 1;
  ucx_world_lose(p, status);
}

ucp_ep_h ucx_world_end(ucx_world *w, int process, int rail) {
  ucx_peer *p = ucx_world_use(w, process);
  if (!p) return NULL;
  p->idle = 0;
  if (!p->end[rail] && !p->lost) connect_rail(w, p, rail);
  return p->lost ? NULL : p->end[rail];
}

int ucx_world_reaches(ucx_world *w, char *why, size_t size) {
  const int rank = w->kit.rank, ranks = w->kit.ranks;
  int to = (rank + 1) % ranks;
  for (int k = ranks - 1; k > 0; k--) { /* the next rank on another host, or the next rank if there
                                           is none */
    const int r = (rank + k) % ranks;
    if (strcmp(ucx_world_beacon(w, r)->home.host, w->watch.beacon.home.host) != 0) to = r;
  }
  if (to == rank) return 1;
  int reached = 0;
  while (reached < w->rails && ucx_world_end(w, to, reached)) reached++;
  if (w->peers[to]) w->peers[to]->idle = 1;
  if (reached == w->rails) return 1;
  const ucx_beacon *b = ucx_world_beacon(w, to);
  char words[80], what[160];
  if (ucx_world_unlike(w, to, words, sizeof words)) {
    snprintf(why, size, "rank %d on %.63s %s", to, b->home.host, words);
    return 0;
  }
  const ucs_status_t lost = w->peers[to] ? w->peers[to]->lost : UCS_ERR_NO_MEMORY;
  if (lost == UCS_ERR_UNREACHABLE && IN6_IS_ADDR_LINKLOCAL(&b->home.addresses[0])) {
    snprintf(
        why, size,
        "%s cannot reach rank %d on %.63s, which has only link-local addresses (fe80::). UCX's "
        "TCP does not use these: give the hosts other addresses, or set TUTTI_NET=tcp",
        ucx_name(), to, b->home.host);
    return 0;
  }
  const char *device = w->rail[reached].device;
  snprintf(what, sizeof what, "reach rank %d on %.63s%s%.40s", to, b->home.host,
           *device ? " over the device " : "", device);
  ucx_why(what, lost, why, size);
  return 0;
}

/* ---- closing ---- */

/* Starts to close an endpoint. Returns the request, or NULL. */
static void *begin_to_close(ucp_ep_h end, unsigned flags) {
  const ucp_request_param_t how = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = flags};
  void *request = ucp_ep_close_nbx(end, &how);
  return UCS_PTR_IS_ERR(request) ? NULL : request;
}

void ucx_world_abandon(ucx_peer *p) {
  for (int r = 0; r < p->world->rails; r++) {
    if (p->end[r]) p->parting[r] = begin_to_close(p->end[r], UCP_EP_CLOSE_FLAG_FORCE);
    p->end[r] = NULL;
  }
}

/* Closes all connections gracefully, or by force if `flags` says so. Waits until they are closed, or until `limit` seconds
 * have passed. A connection that has carried no data is always closed by force, because UCX 1.13 aborts this process if the
 * peer exits while a new connection is shut down gracefully. */
static void part(ucx_world *w, unsigned flags, double limit) {
  const double since = tt_seconds();
  for (int i = 0; i < w->kit.ranks * w->rails; i++) {
    const int r = i % w->rails;
    ucx_peer *p = w->peers ? w->peers[i / w->rails] : NULL;
    if (!p || !p->end[r]) continue;
    if ((p->lost || p->stuck) && !(flags & UCP_EP_CLOSE_FLAG_FORCE)) continue;
    p->parting[r] = begin_to_close(p->end[r], p->idle ? UCP_EP_CLOSE_FLAG_FORCE : flags);
    p->end[r] = NULL;
  }
  for (int i = 0; i < w->kit.ranks * w->rails; i++) {
    ucx_peer *p = w->peers ? w->peers[i / w->rails] : NULL;
    void *going = p ? p->parting[i % w->rails] : NULL;
    while (going && ucp_request_check_status(going) == UCS_INPROGRESS &&
           tt_seconds() - since < limit)
      ucx_progress(w);
    if (!going) continue;
    ucp_request_free(going);
    p->parting[i % w->rails] = NULL;
  }
}

static bool all_over(const ucx_world *w) {
  const kit_net *n = w->kit.nets;
  while (n && ucx_net_over(n)) n = n->next;
  return !n;
}

void ucx_world_close(ucx_world *w) {
  const double since = tt_seconds();
  while (!all_over(w) && tt_seconds() - since < 1) ucx_progress(w);
  for (const kit_net *n = w->kit.nets; n; n = n->next) ucx_net_mark_stuck(n);
  part(w, 0, 1);
  part(w, UCP_EP_CLOSE_FLAG_FORCE, 1);
  ucx_rails_close(w);
  ucx_watch_close(&w->watch);
  for (int r = 0; w->peers && r < w->kit.ranks; r++) free(w->peers[r]);
  kit_world_close(&w->kit);
  free(w->peers);
  free(w->own);
  free(w);
}
