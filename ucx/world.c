/* world.c - the processes of a job in UCX: one worker, and a connection to each process at the
 * first message to it.
 *
 * Idea       All networks of a process share the worker: progress made for one is made for all. The
 *            addresses of all processes lie in memory that the ranks of a host share.
 * Cost       8 bytes per process of the job, and a ucx_peer per process in use.
 * Invariant  A broken connection means one lost process, reported to every network; nothing more is
 *            sent to it.
 * The end    Outgoing messages get a second. Messages not received by then are abandoned with their
 *            connections: waiting for them would be in vain, and UCX terminates a process that does
 *            not abandon them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucs/debug/debug.h>
#include <ucs/debug/log_def.h>
#include <unistd.h>

#include "ucx.h"

const char *ucx_name(void) {
  static char name[40]; /* any thread writes the same */
  unsigned major, minor, release;
  ucp_get_version(&major, &minor, &release);
  snprintf(name, sizeof name, "UCX %u.%u.%u", major, minor, release);
  return name;
}

/* ---- a library neither prints nor catches the program's signals ---- */

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

/* ---- this process's end ---- */

static ucs_status_t make_worker(ucx_world *w) {
  const ucp_worker_params_t how = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                   .thread_mode = UCS_THREAD_MODE_SERIALIZED};
  ucp_address_t *address = NULL;
  size_t bytes = 0;
  ucs_status_t status = ucp_worker_create(w->context, &how, &w->worker);
  if (!status) status = ucp_worker_get_address(w->worker, &address, &bytes);
  if (!status && ucp_worker_get_efd(w->worker, &w->wakes)) w->wakes = -1;
  if (status) return status;
  w->own_bytes = sizeof w->watch.beacon + bytes;
  w->own = malloc(w->own_bytes);
  if (w->own) {
    memcpy(w->own, &w->watch.beacon, sizeof w->watch.beacon);
    memcpy(w->own + sizeof w->watch.beacon, address, bytes);
  }
  ucp_worker_release_address(w->worker, address);
  return w->own ? UCS_OK : UCS_ERR_NO_MEMORY;
}

/* Over TCP a piece of a vector, 32 KiB and a few bytes, must go to the system in one call, as one
 * part, because a message of several parts that has begun to arrive cannot be taken back. UCX's own
 * setting is 8 KiB. The first name is that of UCX up to 1.13. The environment takes precedence. */
static ucp_config_t *configuration(void) {
  ucp_config_t *c = NULL;
  if (ucp_config_read(NULL, NULL, &c)) return NULL;
  if (getenv("UCX_TCP_TX_SEG_SIZE")) return c;
  ucp_config_modify(c, "TX_SEG_SIZE", "40k");
  ucp_config_modify(c, "TCP_TX_SEG_SIZE", "40k");
  return c;
}

void ucx_why(const char *what, ucs_status_t status, char *why, size_t size) {
  const char *tls = getenv("UCX_TLS"), *devices = getenv("UCX_NET_DEVICES");
  snprintf(why, size, "%s cannot %s: %s (UCX_TLS=%.60s, UCX_NET_DEVICES=%.60s)", ucx_name(), what,
           ucs_status_string(status), tls ? tls : "", devices ? devices : "");
}

ucx_world *ucx_world_open(int silence, char *why, size_t size) {
  const ucp_params_t what = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                             .features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP};
  ucx_world *w = calloc(1, sizeof *w);
  if (!w) {
    snprintf(why, size, "out of memory");
    return NULL;
  }
  behave();
  pthread_mutex_init(&w->lock, NULL);
  w->wakes = -1;
  ucx_watch_open(&w->watch, silence);
  ucp_config_t *config = configuration();
  ucs_status_t status = ucp_init(&what, config, &w->context);
  if (config) ucp_config_release(config);
  const char *step = "start";
  if (!status) status = make_worker(w), step = "open a worker";
  if (!status) return w;
  ucx_why(step, status, why, size);
  ucx_world_close(w);
  return NULL;
}

int ucx_world_join(ucx_world *w, int rank, int ranks, const tutti_net_addresses *addresses) {
  w->peers = calloc((size_t)ranks, sizeof(ucx_peer *));
  if (!w->peers) return 1;
  w->addresses = *addresses;
  w->rank = rank;
  w->ranks = ranks;
  w->next = 1; /* 0 is the network of all */
  return ucx_watch_join(w);
}

const ucx_beacon *ucx_world_beacon(const ucx_world *w, int process) {
  return w->addresses.of(w->addresses.ctx, process);
}

/* ---- connections ---- */

void ucx_world_lose(ucx_peer *p, ucs_status_t status) {
  ucx_world *w = p->world;
  if (p->lost) return;
  p->lost = status ? status : UCS_ERR_CONNECTION_RESET;
  int *lost = realloc(w->lost, (size_t)(w->losses + 1) * sizeof *lost);
  if (!lost) return; /* requests to it fail nevertheless */
  w->lost = lost;
  w->lost[w->losses++] = p->process;
}

/* UCX calls this during progress, while the lock is held. */
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

ucp_ep_h ucx_world_end(ucx_world *w, int process) {
  ucx_peer *p = ucx_world_use(w, process);
  if (p) p->idle = 0;
  if (!p || p->end || p->lost) return !p || p->lost ? NULL : p->end;
  const ucp_address_t *address = (const ucp_address_t *)(ucx_world_beacon(w, process) + 1);
  const ucp_ep_params_t how = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                                             UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                                             UCP_EP_PARAM_FIELD_ERR_HANDLER,
                               .address = address,
                               .err_mode = UCP_ERR_HANDLING_MODE_PEER,
                               .err_handler = {.cb = broke, .arg = p}};
  const ucs_status_t status = ucp_ep_create(w->worker, &how, &p->end);
  if (!status) return p->end;
  p->end = NULL;
  p->apart = 1;
  ucx_world_lose(p, status);
  return NULL;
}

int ucx_world_reaches(ucx_world *w, char *why, size_t size) {
  int to = (w->rank + 1) % w->ranks;
  for (int k = w->ranks - 1; k > 0; k--) { /* the next rank on another host, else the next one */
    const int r = (w->rank + k) % w->ranks;
    if (strcmp(ucx_world_beacon(w, r)->host, w->watch.beacon.host) != 0) to = r;
  }
  if (to == w->rank) return 1;
  if (ucx_world_end(w, to)) {
    w->peers[to]->idle = 1;
    return 1;
  }
  char what[120];
  snprintf(what, sizeof what, "reach rank %d on %.63s", to, ucx_world_beacon(w, to)->host);
  ucx_why(what, w->peers[to] ? w->peers[to]->lost : UCS_ERR_NO_MEMORY, why, size);
  return 0;
}

/* ---- the end ---- */

double ucx_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Close connections, until `limit` has passed or all are closed: those in order, or by force the
 * others. A connection that carried nothing is closed by force at once: UCX 1.13 aborts the process if
 * the other end goes while it closes a new one in order. */
static void part(ucx_world *w, unsigned flags, double limit) {
  const double since = ucx_seconds();
  void **going = calloc((size_t)w->ranks + 1, sizeof *going);
  for (int r = 0; going && r < w->ranks; r++) {
    ucx_peer *p = w->peers[r];
    if (!p) continue;
    if (p->parting) {
      going[r] = p->parting;
      p->parting = NULL;
    }
    if (!p->end) continue;
    if ((p->lost || p->stuck) && !(flags & UCP_EP_CLOSE_FLAG_FORCE)) continue;
    const ucp_request_param_t how = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                     .flags = p->idle ? UCP_EP_CLOSE_FLAG_FORCE : flags};
    going[r] = ucp_ep_close_nbx(p->end, &how);
    p->end = NULL;
    if (UCS_PTR_IS_ERR(going[r])) going[r] = NULL;
  }
  for (int r = 0; going && r < w->ranks; r++) {
    while (going[r] && ucp_request_check_status(going[r]) == UCS_INPROGRESS &&
           ucx_seconds() - since < limit)
      ucp_worker_progress(w->worker);
    if (going[r]) ucp_request_free(going[r]);
  }
  free(going);
}

static int all_over(const ucx_world *w) {
  for (const ucx_net *n = w->nets; n;) {
    if (!ucx_net_over(n)) return 0;
    n = ucx_net_next(n);
  }
  return 1;
}

void ucx_world_close(ucx_world *w) {
  const double since = ucx_seconds();
  if (w->worker) {
    while (!all_over(w) && ucx_seconds() - since < 1) ucp_worker_progress(w->worker);
    for (const ucx_net *n = w->nets; n; n = ucx_net_next(n)) ucx_net_mark_stuck(n);
    part(w, 0, 1);
    part(w, UCP_EP_CLOSE_FLAG_FORCE, 1);
    ucp_worker_destroy(w->worker);
  }
  if (w->context) ucp_cleanup(w->context);
  ucx_watch_close(&w->watch);
  for (int r = 0; w->peers && r < w->ranks; r++) free(w->peers[r]);
  for (ucx_net *n = w->nets; n;) n = ucx_net_free(n);
  pthread_mutex_destroy(&w->lock);
  free(w->peers);
  free(w->lost);
  free(w->own);
  if (w->addresses.drop) w->addresses.drop(w->addresses.ctx);
  free(w);
}
