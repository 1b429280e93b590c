/* ucx_net.c - some processes of a UCX world as a network: messages by tag.
 *
 * Idea       A UCX tag consists of the network's number, a kind, tutti's tag, and the sender's
 *            rank. The rail is a worker of its own. Completed requests go into a queue that poll drains.
 * Receipts   UCX has no synchronous sends when it reports broken connections. So the kind marks a
 *            message that asks for a receipt, and its receiver answers with an empty message;
 *            messages of one process and tag are answered in their order.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ucx_net.h"

/* ---- completed requests ---- */

static void append(ucx_slot ***end, ucx_slot *s) {
  s->next = NULL;
  **end = s;
  *end = &s->next;
}

static void complete(ucx_slot *s, int failed) {
  ucx_net *n = s->net;
  s->failed = failed;
  append(&n->end, s);
}

static void leave_line(ucx_slot **first, ucx_slot ***end, ucx_slot *s) {
  ucx_slot **link = first;
  while (*link && *link != s) link = &(*link)->next;
  if (*link) *link = s->next;
  if (*end == &s->next) *end = link;
}

/* UCX may report the messages of a broken connection before the connection itself; it reports some
 * as cancelled, though this side did not cancel them. A request that this side cancels is not
 * reported, or its peer is lost already. */
static int verdict(const ucx_slot *s, ucs_status_t status) {
  if (status == UCS_OK) return 0;
  if (s->peer < 0) return 1;
  ucx_peer *p = ucx_world_use(s->net->world, ucx_process(s->net, s->peer));
  if (!p) return 1;
  if (status == UCS_ERR_ENDPOINT_TIMEOUT || status == UCS_ERR_CONNECTION_RESET ||
      status == UCS_ERR_UNREACHABLE || status == UCS_ERR_NOT_CONNECTED ||
      status == UCS_ERR_REJECTED || status == UCS_ERR_CANCELED)
    ucx_world_lose(p, status);
  return p->lost ? TUTTI_NET_LOST : 1;
}

static void note(ucx_net *n, ucs_status_t status) {
  if (status) snprintf(n->error, sizeof n->error, "%s", ucs_status_string(status));
}

static void forget(void *request, ucs_status_t status, void *data) {
  (void)status;
  ucx_net *n = data;
  n->busy--;
  n->out--;
  ucp_request_free(request);
}

/* ---- sending ---- */

static void sent(void *request, ucs_status_t status, void *data) {
  ucx_slot *s = data;
  s->busy = 0;
  s->net->busy--;
  s->net->out--;
  ucp_request_free(request);
  note(s->net, status);
  if (!s->awaits || status) {
    if (s->awaits) leave_line(&s->net->asked, &s->net->asked_end, s);
    s->awaits = 0;
    complete(s, verdict(s, status));
  }
}

/* Send eagerly: over TCP UCX would else first ask whether a piece may come, which takes longer than
 * the piece. `done` is called with `data` unless the send is complete already, or failed: see the
 * status. */
static ucs_status_t post(ucx_net *n, int kind, int tag, int peer, const void *bytes, size_t size,
                         ucp_send_nbx_callback_t done, void *data) {
  const ucp_ep_h end = ucx_world_end(n->world, ucx_process(n, peer), ucx_rail_of(tag));
  const ucp_request_param_t how = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                   UCP_OP_ATTR_FIELD_USER_DATA |
                                                   UCP_OP_ATTR_FLAG_FAST_CMPL,
                                   .cb = {.send = done},
                                   .user_data = data};
  if (!end) return UCS_ERR_CONNECTION_RESET;
  n->busy++;
  n->out++;
  void *request = ucp_tag_send_nbx(end, bytes, size, ucx_tag(n, kind, tag, n->rank), &how);
  if (request && !UCS_PTR_IS_ERR(request)) return UCS_INPROGRESS;
  n->busy--;
  n->out--;
  return request ? UCS_PTR_STATUS(request) : UCS_OK;
}

static ucx_slot *slot_at(ucx_net *n, int number) {
  const int chunk = number / CHUNK;
  if (chunk >= n->nchunks) {
    ucx_slot **chunks = realloc(n->chunks, (size_t)(chunk + 1) * sizeof *chunks);
    if (!chunks) return NULL;
    n->chunks = chunks;
    for (; n->nchunks <= chunk; n->nchunks++)
      if (!(chunks[n->nchunks] = calloc(CHUNK, sizeof(ucx_slot)))) return NULL;
  }
  return &n->chunks[chunk][number % CHUNK];
}

/* Reset and return the slot; NULL: out of memory. */
static ucx_slot *begin(ucx_net *n, int number, int peer, int tag, int receives) {
  ucx_slot *s = slot_at(n, number);
  if (s)
    *s = (ucx_slot){
        .net = n, .number = number, .peer = peer, .tag = tag, .taken = 1, .receives = receives};
  else
    snprintf(n->error, sizeof n->error, "out of memory for requests");
  return s;
}

static int net_send(void *self, int number, int peer, int tag, const void *bytes, size_t size,
                    int sure) {
  ucx_net *n = self;
  pthread_mutex_lock(&n->world->lock);
  ucx_slot *s = begin(n, number, peer, tag, 0);
  if (s) {
    s->awaits = sure;
    s->busy = 1;
    if (sure) append(&n->asked_end, s);
    const ucs_status_t status =
        post(n, sure ? SURE : PLAIN, tag, peer, bytes, size, sent, s);
    if (status != UCS_INPROGRESS) {
      s->busy = 0;
      note(n, status);
      if (sure && status) leave_line(&n->asked, &n->asked_end, s);
      if (status) s->awaits = 0;
      if (!s->awaits) complete(s, verdict(s, status));
    }
  }
  pthread_mutex_unlock(&n->world->lock);
  return !s;
}

/* ---- receiving ---- */

static ucp_worker_h worker_of(const ucx_slot *s) {
  return s->net->world->rail[ucx_rail_of(s->tag)].worker;
}

static void receipt_came(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info,
                         void *data);

static void listen_for_receipts(ucx_slot *s) {
  ucx_net *n = s->net;
  const ucp_request_param_t how = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                   UCP_OP_ATTR_FIELD_USER_DATA |
                                                   UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
                                   .cb = {.recv = receipt_came},
                                   .user_data = s};
  const int mine = ++s->number;
  s->busy = 1;
  n->busy++;
  void *request = ucp_tag_recv_nbx(worker_of(s), NULL, 0, ucx_tag(n, RECEIPT, 0, 0),
                                   ~(UCX_ALL_RANKS | UCX_ALL_TAGS), &how);
  if (UCS_PTR_IS_ERR(request)) {
    n->busy--;
    s->busy = 0;
  } else if (s->busy && s->number == mine) { /* else it has come already */
    s->request = request;
  }
}

static void receipt_came(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info,
                         void *data) {
  ucx_slot *receipt = data;
  ucx_net *n = receipt->net;
  n->busy--;
  receipt->busy = 0;
  receipt->request = NULL;
  const int peer = (int)(info->sender_tag & UCX_ALL_RANKS);
  const int tag = receipt->tag + (int)((info->sender_tag & UCX_ALL_TAGS) >> TAG_AT);
  ucp_request_free(request);
  if (status || n->closed) return;
  ucx_slot *s = n->asked;
  while (s && (s->peer != peer || s->tag != tag)) s = s->next;
  if (s) {
    leave_line(&n->asked, &n->asked_end, s);
    s->awaits = 0;
    if (!s->busy) complete(s, 0);
  }
  listen_for_receipts(receipt);
}

static void received(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info,
                     void *data) {
  ucx_slot *s = data;
  ucx_net *n = s->net;
  s->busy = 0;
  s->request = NULL;
  n->busy--;
  if (status == UCS_OK) {
    s->peer = (int)(info->sender_tag & UCX_ALL_RANKS);
    s->bytes = info->length;
    if (info->sender_tag & UCX_SURE && s->peer < n->ranks)
      post(n, RECEIPT, s->tag, s->peer, NULL, 0, forget, n);
  }
  ucp_request_free(request);
  s->failed = status != UCS_OK;
  note(n, status);
  if (s->taken) complete(s, verdict(s, status));
}

/* Post a receive; the slot is busy until it completes. */
static ucs_status_t receive(ucx_slot *s, ucp_tag_t tag, ucp_tag_t mask, void *bytes, size_t size) {
  ucx_net *n = s->net;
  const ucp_request_param_t how = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                   UCP_OP_ATTR_FIELD_USER_DATA |
                                                   UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
                                   .cb = {.recv = received},
                                   .user_data = s};
  s->busy = 1;
  n->busy++;
  void *request = ucp_tag_recv_nbx(worker_of(s), bytes, size, tag, mask, &how);
  if (UCS_PTR_IS_ERR(request)) {
    s->busy = 0;
    n->busy--;
    return UCS_PTR_STATUS(request);
  }
  if (s->busy) s->request = request; /* else `received` was called already */
  return UCS_OK;
}

/* Cancel a receive; takes effect immediately. */
static void withdraw(ucx_slot *s) {
  if (s->busy && s->request) ucp_request_cancel(worker_of(s), s->request);
}

static int net_recv(void *self, int number, int peer, int tag, void *bytes, size_t size) {
  ucx_net *n = self;
  pthread_mutex_lock(&n->world->lock);
  const int any = peer == TUTTI_NET_ANY;
  ucx_slot *s = begin(n, number, peer, tag, 1);
  int failed = !s;
  if (s) {
    /* connect even to receive only: the connection reports when its other end is gone */
    const int gone = !any && peer != n->rank && !ucx_world_end(n->world, ucx_process(n, peer), ucx_rail_of(tag));
    const ucs_status_t status = receive(s, ucx_tag(n, PLAIN, tag, any ? 0 : peer),
                                        ~(UCX_SURE | (any ? UCX_ALL_RANKS : 0)), bytes, size);
    note(n, status);
    failed = status != UCS_OK;
    if (gone && !failed) withdraw(s); /* messages that it sent before are here already */
  }
  pthread_mutex_unlock(&n->world->lock);
  return failed;
}

static int is_lost(const ucx_slot *s) {
  return s->peer >= 0 && ucx_world_lost(s->net->world, ucx_process(s->net, s->peer));
}

/* A message that has arrived in part cannot be taken back: all such messages together get a second
 * for the rest, unless the sender is lost. If the rest has not come, the sender is dead or stopped,
 * and the slot stays. */
static int net_cancel(void *self, int number) {
  ucx_net *n = self;
  pthread_mutex_lock(&n->world->lock);
  ucx_slot *s = slot_at(n, number);
  s->taken = 0;
  withdraw(s);
  if (s->busy && n->cancels <= 0) n->cancels = ucx_seconds();
  while (s->busy && ucx_seconds() - n->cancels < 1)
    if (!ucx_progress(n->world) && is_lost(s)) break;
  const int stays = s->busy;
  if (stays) snprintf(n->error, sizeof n->error, "a message that has begun does not end");
  leave_line(&n->first, &n->end, s);
  pthread_mutex_unlock(&n->world->lock);
  return stays;
}

/* Fail the requests that wait for a lost process. Where it was lost on one rail, what is in flight on the others is
 * abandoned. */
static void lose(ucx_net *n) {
  for (; n->losses < n->world->losses; n->losses++)
    if (n->world->rails > 1) ucx_world_abandon(n->world->peers[n->world->lost[n->losses]]);
  for (int i = 0; i < n->nchunks * CHUNK; i++) {
    ucx_slot *s = &n->chunks[i / CHUNK][i % CHUNK];
    const int concerns = s->taken && s->peer >= 0 && (s->busy || s->awaits) &&
                         ucx_world_lost(n->world, ucx_process(n, s->peer));
    if (!concerns) continue;
    if (s->receives) {
      withdraw(s);
    } else if (s->awaits) {
      leave_line(&n->asked, &n->asked_end, s);
      s->awaits = 0;
      if (!s->busy) complete(s, TUTTI_NET_LOST);
    }
  }
}

/* ---- progress ---- */

enum { LOOK_EVERY = 1024, SKIPS_MOST = 8 };

static void advance(ucx_net *n) {
  if (++n->world->looks % LOOK_EVERY == 0 || ucx_watch_news(&n->world->watch))
    ucx_watch_look(n->world);
  while (ucx_progress(n->world) && !n->first) continue;
  if (n->losses != n->world->losses) lose(n);
}

/* The rank of a process; -1: it is not in this network. */
static int rank_of(const ucx_net *n, int process) {
  if (!n->processes) return process;
  for (int r = 0; r < n->ranks; r++)
    if (n->processes[r] == process) return r;
  return -1;
}

/* Report lost ranks, even if no request waits for them; returns their number. */
static int tell_losses(ucx_net *n, tutti_net_done *done, int most) {
  int count = 0;
  while (n->told < n->world->losses && count < most) {
    const int r = rank_of(n, n->world->lost[n->told++]);
    if (r >= 0) done[count++] = (tutti_net_done){.slot = -1, .peer = r, .failed = TUTTI_NET_LOST};
  }
  return count;
}

static int net_poll(void *self, int slots, tutti_net_done *done, int most, int *count) {
  ucx_net *n = self;
  (void)slots;
  *count = 0;
  pthread_mutex_lock(&n->world->lock);
  if (!n->first || ++n->skips % SKIPS_MOST == 0)
    advance(n); /* sends that complete at once must not
                                                                prevent polling */
  while (n->first && *count < most) {
    ucx_slot *s = n->first;
    leave_line(&n->first, &n->end, s);
    s->taken = 0;
    done[(*count)++] = (tutti_net_done){
        .slot = s->number, .peer = s->peer, .bytes = s->bytes, .failed = s->failed};
  }
  if (n->told < n->world->losses && *count < most)
    *count += tell_losses(n, done + *count, most - *count);
  pthread_mutex_unlock(&n->world->lock);
  return 0;
}

static void net_doze(void *self, int also, int microseconds) {
  ucx_net *n = self;
  pthread_mutex_lock(&n->world->lock);
  const int wakes = n->first ? -1 : ucx_rails_arm(n->world);
  pthread_mutex_unlock(&n->world->lock);
  const struct timespec limit = {microseconds / 1000000, microseconds % 1000000 * 1000L};
  struct pollfd fds[] = {{.fd = wakes, .events = POLLIN}, {.fd = also, .events = POLLIN}};
  if (wakes >= 0) ppoll(fds, 2, &limit, NULL);
}

static int net_leaving(void *self) {
  return ((ucx_net *)self)->out;
}

static int net_fate(void *self, int peer, char *words, size_t size) {
  const ucx_net *n = self;
  const ucx_peer *p = n->world->peers[ucx_process(n, peer)];
  if (!p) return 0;
  if (p->apart && ucx_world_unlike(n->world, p->process, words, size)) return 1;
  if (p->apart)
    snprintf(words, size, "cannot be reached by UCX: %s", ucs_status_string(p->lost));
  else if (p->silent)
    snprintf(words, size, "is lost: its host, %s, has been silent for %d s (TUTTI_SILENCE)",
             ucx_world_beacon(n->world, p->process)->host, n->world->watch.silence);
  else if (p->lost && n->world->rails > 1)
    snprintf(words, size, "died, or has lost this rank on a device of TUTTI_RAILS");
  else
    return 0;
  return 1;
}

static const char *net_error(void *self) {
  return ((ucx_net *)self)->error;
}

/* ---- making a network, and its end ---- */

int ucx_net_over(const ucx_net *n) {
  return n->busy == 0;
}

void ucx_net_mark_stuck(const ucx_net *n) {
  for (int i = 0; i < n->nchunks * CHUNK; i++) {
    const ucx_slot *s = &n->chunks[i / CHUNK][i % CHUNK];
    ucx_peer *p = s->busy && s->peer >= 0 ? n->world->peers[ucx_process(n, s->peer)] : NULL;
    if (p) p->stuck = 1;
  }
}

const ucx_net *ucx_net_next(const ucx_net *n) {
  return n->next;
}

ucx_net *ucx_net_free(ucx_net *n) {
  ucx_net *next = n->next;
  for (int c = 0; c < n->nchunks; c++) free(n->chunks[c]);
  free(n->chunks);
  free(n->processes);
  free(n);
  return next;
}

/* Free the closed networks with no requests in flight. */
static void sweep(ucx_world *w) {
  for (ucx_net **link = &w->nets; *link;)
    if ((*link)->closed && ucx_net_over(*link))
      *link = ucx_net_free(*link);
    else
      link = &(*link)->next;
}

static void net_close(void *self, int clean) {
  ucx_net *n = self;
  ucx_world *w = n->world;
  (void)clean; /* no other network has its number */
  pthread_mutex_lock(&w->lock);
  n->closed = 1;
  for (int r = 0; r < w->rails; r++) withdraw(&n->receipt[r]);
  for (int i = 0; i < n->nchunks * CHUNK; i++) {
    ucx_slot *s = &n->chunks[i / CHUNK][i % CHUNK];
    s->taken = 0;
    if (s->receives) withdraw(s);
  }
  const int last = --w->open == 0;
  sweep(w);
  pthread_mutex_unlock(&w->lock);
  if (last) ucx_world_close(w);
}

int ucx_net_make(ucx_world *w, uint32_t number, const int *processes, int rank, int ranks,
                 tutti_net *net) {
  ucx_net *n = calloc(1, sizeof *n);
  int *copy = processes ? malloc((size_t)ranks * sizeof *copy) : NULL;
  if (!n || (processes && !copy)) {
    free(n);
    free(copy);
    return 1;
  }
  if (processes) memcpy(copy, processes, (size_t)ranks * sizeof *copy);
  *n = (ucx_net){.next = w->nets,
                 .world = w,
                 .number = number,
                 .rank = rank,
                 .ranks = ranks,
                 .processes = copy,
                 .losses = w->losses};
  n->end = &n->first;
  n->asked_end = &n->asked;
  w->nets = n;
  w->open++;
  for (int r = 0; r < w->rails; r++) {
    n->receipt[r] = (ucx_slot){.net = n, .tag = r * TUTTI_NET_TAGS};
    listen_for_receipts(&n->receipt[r]);
  }
  *net = (tutti_net){.size = sizeof *net,
                     .name = ucx_name(),
                     .rank = rank,
                     .ranks = ranks,
                     .self = n,
                     .threads = 1,
                     .rails = w->rails,
                     .send = net_send,
                     .recv = net_recv,
                     .poll = net_poll,
                     .doze = w->wakes >= 0 ? net_doze : NULL,
                     .leaving = net_leaving,
                     .cancel = net_cancel,
                     .fresh = ucx_net_fresh,
                     .pick = ucx_net_pick,
                     .close = net_close,
                     .error = net_error,
                     .fate = net_fate};
  return 0;
}
