/* ucx_net.c - a network of some processes of a UCX world: tagged messages.
 *
 * Idea       A UCX tag consists of the network's number, a kind, tutti's tag, and the sender's
 *            rank. Each rail has a UCX worker. The kit (net/kit/kit_net.c) numbers networks and keeps
 *            their requests.
 * Receipts   UCX does not offer synchronous sends if endpoints report errors. Messages that request a receipt
 *            are therefore marked in the tag's kind field; the receiver answers with an empty message.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "ucx.h"

enum { RANK_BITS = 24, TAG_AT = 24, KIND_AT = 30, NUMBER_AT = 32 };
#define ALL_RANKS (((ucp_tag_t)1 << RANK_BITS) - 1)
#define ALL_TAGS  ((ucp_tag_t)63 << TAG_AT)
#define SURE      ((ucp_tag_t)KIT_SURE << KIND_AT)

typedef struct ucx_slot {
  kit_slot kit;
  bool busy; /* UCX owns it */
  bool receives;
  void *request;
} ucx_slot;

typedef struct ucx_net {
  kit_net kit;
  int busy, losses; /* busy: number of requests that UCX owns; losses: number of losses processed,
                       compared with the world's */
  bool closed;
  ucx_slot receipt[TUTTI_NET_RAILS]; /* receives for the next receipts */
  double cancels;                    /* start of the first wait for a partial message; 0 if none */
} ucx_net;

static ucx_world *world_of(const ucx_net *n) {
  return (ucx_world *)(void *)n->kit.world;
}

static ucx_net *net_of(const ucx_slot *s) {
  return (ucx_net *)(void *)s->kit.net;
}

static int rail_of(int tag) {
  return tag / TUTTI_NET_TAGS;
}

static ucp_tag_t tag_of(const ucx_net *n, kit_kind kind, int tag, int rank) {
  return (ucp_tag_t)n->kit.number << NUMBER_AT | (ucp_tag_t)kind << KIND_AT |
         (ucp_tag_t)(tag % TUTTI_NET_TAGS) << TAG_AT | (ucp_tag_t)rank;
}

/* Decodes the header that a UCX tag contains. Returns false if no rank of the network may send a message with this header. */
static bool read_head(const ucx_net *n, const ucp_tag_recv_info_t *info, kit_head *head) {
  const ucp_tag_t tag = info->sender_tag;
  *head = (kit_head){.number = (uint32_t)(tag >> NUMBER_AT),
                     .rank = (uint32_t)(tag & ALL_RANKS),
                     .bytes = (uint32_t)info->length,
                     .kind = (uint8_t)(tag >> KIND_AT & 3),
                     .tag = (uint8_t)((tag & ALL_TAGS) >> TAG_AT)};
  return kit_may_send(n->kit.world, &n->kit, head, -1);
}

/* ---- completed requests ---- */

/* Determines whether a request has succeeded. When a connection breaks, UCX may report its messages before it reports the
 * connection, and may report some of them as canceled although this process did not cancel them. If this process cancels a
 * request, UCX does not report the request, or its peer was lost before. */
static int verdict(const ucx_slot *s, ucs_status_t status) {
  if (status == UCS_OK) return 0;
  if (s->kit.peer < 0) return 1;
  ucx_peer *p = ucx_world_use(world_of(net_of(s)), kit_process(s->kit.net, s->kit.peer));
  if (!p) return 1;
  if (status == UCS_ERR_ENDPOINT_TIMEOUT || status == UCS_ERR_CONNECTION_RESET ||
      status == UCS_ERR_UNREACHABLE || status == UCS_ERR_NOT_CONNECTED ||
      status == UCS_ERR_REJECTED || status == UCS_ERR_CANCELED)
    ucx_world_lose(p, status);
  return p->lost ? TUTTI_NET_LOST : 1;
}

static void note(ucx_net *n, ucs_status_t status) {
  if (status) snprintf(n->kit.error, sizeof n->kit.error, "%s", ucs_status_string(status));
}

static void forget(void *request, ucs_status_t status, void *data) {
  (void)status;
  ucx_net *n = data;
  n->busy--;
  n->kit.out--;
  ucp_request_free(request);
}

/* ---- sending ---- */

/* Called when UCX no longer owns the message. */
static void left(ucx_slot *s, ucs_status_t status) {
  s->busy = false;
  note(net_of(s), status);
  if (status) kit_unask(&s->kit);
  if (!s->kit.awaits) kit_complete(&s->kit, verdict(s, status));
}

static void sent(void *request, ucs_status_t status, void *slot) {
  ucx_net *n = net_of(slot);
  n->busy--;
  n->kit.out--;
  ucp_request_free(request);
  left(slot, status);
}

/* Sends a message eagerly. Otherwise UCX over TCP would first ask for permission to send a piece, which takes longer than
 * sending it. If the returned status is UCS_INPROGRESS, `done` is called later with `data`. */
static ucs_status_t post(ucx_net *n, kit_kind kind, int tag, int peer, const void *bytes,
                         size_t size, ucp_send_nbx_callback_t done, void *data) {
  const ucp_ep_h end = ucx_world_end(world_of(n), kit_process(&n->kit, peer), rail_of(tag));
  const ucp_request_param_t how = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                   UCP_OP_ATTR_FIELD_USER_DATA |
                                                   UCP_OP_ATTR_FLAG_FAST_CMPL,
                                   .cb = {.send = done},
                                   .user_data = data};
  if (!end) return UCS_ERR_CONNECTION_RESET;
  n->busy++;
  n->kit.out++;
  void *request = ucp_tag_send_nbx(end, bytes, size, tag_of(n, kind, tag, n->kit.rank), &how);
  if (request && !UCS_PTR_IS_ERR(request)) return UCS_INPROGRESS;
  n->busy--;
  n->kit.out--;
  return request ? UCS_PTR_STATUS(request) : UCS_OK;
}

/* Returns a new request, or NULL if out of memory. */
static ucx_slot *begin(ucx_net *n, int number, int peer, int tag, bool receives) {
  ucx_slot *s = kit_begin(&n->kit, number, peer, tag);
  if (s) s->receives = receives;
  return s;
}

static int net_send(void *self, int number, int peer, int tag, const void *bytes, size_t size,
                    int sure) {
  ucx_net *n = self;
  pthread_mutex_lock(&n->kit.world->lock);
  ucx_slot *s = begin(n, number, peer, tag, false);
  if (s) {
    s->busy = true;
    if (sure) kit_ask(&s->kit);
    const ucs_status_t status =
        post(n, sure ? KIT_SURE : KIT_PLAIN, tag, peer, bytes, size, sent, s);
    if (status != UCS_INPROGRESS) left(s, status);
  }
  pthread_mutex_unlock(&n->kit.world->lock);
  return !s;
}

/* ---- receiving ---- */

static ucp_worker_h worker_of(const ucx_slot *s) {
  return world_of(net_of(s))->rail[rail_of(s->kit.tag)].worker;
}

static void receipt_came(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info,
                         void *data);

static void listen_for_receipts(ucx_slot *s) {
  ucx_net *n = net_of(s);
  const ucp_request_param_t how = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                   UCP_OP_ATTR_FIELD_USER_DATA |
                                                   UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
                                   .cb = {.recv = receipt_came},
                                   .user_data = s};
  const int mine = ++s->kit.number;
  s->busy = true;
  n->busy++;
  void *request = ucp_tag_recv_nbx(worker_of(s), NULL, 0, tag_of(n, KIT_RECEIPT, 0, 0),
                                   ~(ALL_RANKS | ALL_TAGS), &how);
  if (UCS_PTR_IS_ERR(request)) {
    n->busy--;
    s->busy = false;
  } else if (s->busy && s->kit.number == mine) { /* otherwise it has already arrived */
    s->request = request;
  }
}

static void receipt_came(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info,
                         void *data) {
  ucx_slot *receipt = data;
  ucx_net *n = net_of(receipt);
  kit_head head;
  n->busy--;
  receipt->busy = false;
  receipt->request = NULL;
  const bool right = !status && read_head(n, info, &head);
  ucp_request_free(request);
  if (status || n->closed) return;
  ucx_slot *s = right ? kit_receipt(&n->kit, (int)head.rank, receipt->kit.tag + head.tag) : NULL;
  if (s && !s->busy) kit_complete(&s->kit, 0);
  listen_for_receipts(receipt);
}

static void received(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info,
                     void *data) {
  ucx_slot *s = data;
  ucx_net *n = net_of(s);
  kit_head head;
  s->busy = false;
  s->request = NULL;
  n->busy--;
  note(n, status);
  if (status == UCS_OK && !read_head(n, info, &head)) {
    snprintf(n->kit.error, sizeof n->kit.error, "tutti has not made what rank %u sends", head.rank);
    status = UCS_ERR_INVALID_PARAM;
  } else if (status == UCS_OK) {
    s->kit.peer = (int)head.rank;
    s->kit.bytes = head.bytes;
    if (head.kind == KIT_SURE) post(n, KIT_RECEIPT, s->kit.tag, s->kit.peer, NULL, 0, forget, n);
  }
  ucp_request_free(request);
  if (s->kit.taken) kit_complete(&s->kit, verdict(s, status));
}

/* Posts a receive. The slot is busy until it completes. */
static ucs_status_t receive(ucx_slot *s, ucp_tag_t tag, ucp_tag_t mask, void *bytes, size_t size) {
  ucx_net *n = net_of(s);
  const ucp_request_param_t how = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                   UCP_OP_ATTR_FIELD_USER_DATA |
                                                   UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
                                   .cb = {.recv = received},
                                   .user_data = s};
  s->busy = true;
  n->busy++;
  void *request = ucp_tag_recv_nbx(worker_of(s), bytes, size, tag, mask, &how);
  if (UCS_PTR_IS_ERR(request)) {
    s->busy = false;
    n->busy--;
    return UCS_PTR_STATUS(request);
  }
  if (s->busy) s->request = request; /* otherwise `received` has already been called */
  return UCS_OK;
}

/* Cancels a receive. This takes effect immediately. */
static void withdraw(ucx_slot *s) {
  if (s->busy && s->request) ucp_request_cancel(worker_of(s), s->request);
}

static int net_recv(void *self, int number, int peer, int tag, void *bytes, size_t size) {
  ucx_net *n = self;
  pthread_mutex_lock(&n->kit.world->lock);
  const int any = peer == TUTTI_NET_ANY;
  ucx_slot *s = begin(n, number, peer, tag, true);
  int failed = !s;
  if (s) {
    /* connect even if only receiving, because the connection reports when its other end is lost */
    const int gone = !any && peer != n->kit.rank &&
                     !ucx_world_end(world_of(n), kit_process(&n->kit, peer), rail_of(tag));
    const ucs_status_t status = receive(s, tag_of(n, KIT_PLAIN, tag, any ? 0 : peer),
                                        ~(SURE | (any ? ALL_RANKS : 0)), bytes, size);
    note(n, status);
    failed = status != UCS_OK;
    if (gone && !failed) withdraw(s); /* messages that it sent earlier have already arrived */
  }
  pthread_mutex_unlock(&n->kit.world->lock);
  return failed;
}

static bool is_lost(const ucx_slot *s) {
  return s->kit.peer >= 0 &&
         ucx_world_lost(world_of(net_of(s)), kit_process(s->kit.net, s->kit.peer));
}

/* Cancels a receive. This is impossible while its message has only partly arrived. All such messages together get one second
 * to arrive completely, unless the sender is lost. If the second is not enough, the sender is dead or stopped, and the slot
 * remains in use. */
static int net_cancel(void *self, int number) {
  ucx_net *n = self;
  pthread_mutex_lock(&n->kit.world->lock);
  ucx_slot *s = kit_slot_at(&n->kit, number);
  s->kit.taken = false;
  withdraw(s);
  if (s->busy && n->cancels <= 0) n->cancels = tt_seconds();
  while (s->busy && tt_seconds() - n->cancels < 1)
    if (!ucx_progress(world_of(n)) && is_lost(s)) break;
  const int stays = s->busy;
  if (stays) snprintf(n->kit.error, sizeof n->kit.error, "a message that has begun does not end");
  kit_unlink(&n->kit.done, &s->kit);
  pthread_mutex_unlock(&n->kit.world->lock);
  return stays;
}

/* Makes the requests that wait for a lost process fail. If the process was lost on one rail, its messages on the other rails
 * are abandoned, too. */
static void lose(ucx_net *n) {
  ucx_world *w = world_of(n);
  for (; n->losses < w->kit.losses; n->losses++)
    if (w->rails > 1) ucx_world_abandon(w->peers[w->kit.lost[n->losses]]);
  for (int i = 0; i < n->kit.slots; i++) {
    ucx_slot *s = kit_slot_at(&n->kit, i);
    if (!s->kit.taken || !(s->busy || s->kit.awaits) || !is_lost(s)) continue;
    if (s->receives) {
      withdraw(s);
    } else if (s->kit.awaits) {
      kit_unask(&s->kit);
      if (!s->busy) kit_complete(&s->kit, TUTTI_NET_LOST);
    }
  }
}

/* ---- progress ---- */

enum { LOOK_EVERY = 1024 };

static void advance(ucx_net *n) {
  ucx_world *w = world_of(n);
  if (++w->looks % LOOK_EVERY == 0 || ucx_watch_news(&w->watch)) ucx_watch_look(w);
  while (ucx_progress(w) && !n->kit.done.first) continue;
  if (n->losses != w->kit.losses) lose(n);
}

static int net_poll(void *self, int slots, tutti_net_done *done, int most, int *count) {
  ucx_net *n = self;
  (void)slots;
  pthread_mutex_lock(&n->kit.world->lock);
  if (kit_progress_due(&n->kit)) advance(n);
  *count = kit_report(&n->kit, done, most);
  pthread_mutex_unlock(&n->kit.world->lock);
  return 0;
}

static void net_doze(void *self, int also, int microseconds) {
  ucx_net *n = self;
  pthread_mutex_lock(&n->kit.world->lock);
  const int wakes = n->kit.done.first ? -1 : ucx_rails_arm(world_of(n));
  pthread_mutex_unlock(&n->kit.world->lock);
  if (wakes >= 0) kit_sleep(wakes, also, microseconds);
}

static int net_leaving(void *self) {
  return ((kit_net *)self)->out;
}

static int net_fate(void *self, int peer, char *words, size_t size) {
  const ucx_net *n = self;
  const ucx_world *w = world_of(n);
  const ucx_peer *p = w->peers[kit_process(&n->kit, peer)];
  if (!p) return 0;
  if (p->apart && ucx_world_unlike(w, p->process, words, size)) return 1;
  if (!p->apart && p->silent)
    return kit_say_silent(ucx_world_beacon(w, p->process)->home.host, w->watch.silence, words,
                          size);
  if (p->apart)
    snprintf(words, size, "cannot be reached by UCX: %s", ucs_status_string(p->lost));
  else if (p->lost && w->rails > 1)
    snprintf(words, size, "died, or has lost this rank on a device of TUTTI_RAILS");
  else
    return 0;
  return 1;
}

/* ---- making and closing a network ---- */

bool ucx_net_over(const kit_net *n) {
  return ((const ucx_net *)(const void *)n)->busy == 0;
}

void ucx_net_mark_stuck(const kit_net *n) {
  for (int i = 0; i < n->slots; i++) {
    const ucx_slot *s = kit_slot_at(n, i);
    ucx_peer *p = s->busy && s->kit.peer >= 0
                      ? ((ucx_world *)(void *)n->world)->peers[kit_process(n, s->kit.peer)]
                      : NULL;
    if (p) p->stuck = 1;
  }
}

/* Frees the closed networks that have no requests in flight. */
static void sweep(ucx_world *w) {
  for (kit_net *n = w->kit.nets, *next; n; n = next) {
    next = n->next;
    if (((ucx_net *)(void *)n)->closed && ucx_net_over(n)) kit_net_free(n);
  }
}

static void net_close(void *self, int clean) {
  ucx_net *n = self;
  ucx_world *w = world_of(n);
  (void)clean; /* the number is not reused by another network */
  pthread_mutex_lock(&w->kit.lock);
  n->closed = true;
  for (int r = 0; r < w->rails; r++) withdraw(&n->receipt[r]);
  for (int i = 0; i < n->kit.slots; i++) {
    ucx_slot *s = kit_slot_at(&n->kit, i);
    s->kit.taken = false;
    if (s->receives) withdraw(s);
  }
  const int last = --w->open == 0;
  sweep(w);
  pthread_mutex_unlock(&w->kit.lock);
  if (last) ucx_world_close(w);
}

static void begin_net(kit_net *kit, tutti_net *net) {
  ucx_net *n = (ucx_net *)(void *)kit;
  ucx_world *w = world_of(n);
  n->losses = kit->world->losses;
  w->open++;
  for (int r = 0; r < w->rails; r++) {
    n->receipt[r].kit = (kit_slot){.net = kit, .tag = r * TUTTI_NET_TAGS};
    listen_for_receipts(&n->receipt[r]);
  }
  net->name = ucx_name();
  net->rails = w->rails;
  net->send = net_send;
  net->recv = net_recv;
  net->poll = net_poll;
  net->doze = w->wakes >= 0 ? net_doze : NULL;
  net->leaving = net_leaving;
  net->cancel = net_cancel;
  net->close = net_close;
  net->fate = net_fate;
}

const kit_library ucx_library = {sizeof(ucx_net), sizeof(ucx_slot), begin_net};
