/* fuzz_network.c - fuzzes the data that a broken or hostile peer may send over a network: packets
 * and the bytes that follow them, control messages, agreements, messages of programs, from any
 * rank, of any length, in any order.
 *
 * Idea       a network without a physical link: each receive that the wire posts is completed with
 *            bytes of the input. The input is a list of deliveries: which receive, from which rank,
 *            how many bytes, and whether the headers are correct or bytes of the input. Between
 *            deliveries, the wire is used as by its users: look, view, pull, agree, ask.
 * Invariant  no delivery makes the wire read or write outside its buffers. Invalid data is reported
 *            as an error with a message.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "agree.h"
#include "fuzz.h"
#include "net_parts.h"
#include "p2p.h"
#include "posted_net.h"
#include "stub_net.h"
#include "wires.h"

enum { RANKS = 3, ID = 77, COUNT = 40, LANES_USED = 3 };

static const uint8_t *at, *end;

static unsigned byte(void) {
  return at < end ? *at++ : 0;
}

/* ---- the network ---- */

static int net_send(void *self, int slot, int peer, int tag, const void *bytes, size_t n,
                    int sure) {
  (void)self, (void)sure;
  need(peer >= 0 && peer < RANKS);
  post(slot, true, tag, (void *)(uintptr_t)bytes, n);
  complete(slot, peer, n, 0);
  return 0;
}

static unsigned net_fresh(void *self) {
  (void)self;
  return 1;
}

static int net_pick(void *self, unsigned number, const int *ranks, int n, tutti_net *net) {
  (void)self, (void)number, (void)net;
  for (int i = 0; i < n; i++) need(ranks[i] >= 0 && ranks[i] < RANKS);
  return TUTTI_NET_TAKEN;
}

/* ---- deliveries ---- */

/* Writes a message header that is correct, except that some of its bytes come from the fuzzer's input. */
static void write_head(const posted *p, size_t n) {
  uint8_t whole[sizeof(tt_heading) + sizeof(tt_net_control)] = {0};
  const tt_heading head = {.net = ID,
                           .seq = byte(),
                           .hash = byte(),
                           .behind = byte() % 4 ? 0 : byte(),
                           .coll = NO_RECORD};
  const uint64_t id = ID;
  memcpy(whole, p->tag >= TAG_CONTROL ? (const void *)&id : (const void *)&head,
         p->tag >= TAG_CONTROL ? sizeof id : sizeof head);
  if (p->tag == TT_LANE_P2P) { /* also the message's own header, as in the receive */
    const struct {
      uint64_t count;
      uint32_t type, inside;
    } own = {COUNT, TUTTI_UINT8, byte() % 4 ? byte() : COUNT};
    memcpy(whole + sizeof head, &own, sizeof own);
  }
  memcpy(p->bytes, whole, tt_min(n, sizeof whole));
}

static void deliver(void) {
  const unsigned which = byte(), how = byte(), length = byte();
  int slot = -1;
  for (int i = 0, k = 0; i < SLOTS && slot < 0; i++)
    if (asked[i].begun && !asked[i].sends && k++ == (int)(which % 16)) slot = i;
  if (slot < 0 || ndone == SLOTS) return;
  const posted *p = &asked[slot];
  const size_t n = how & 1 ? p->n : tt_min(p->n, (size_t)length * (how & 2 ? 1 : 37));
  memset(p->bytes, 0, n);
  if (how & 4) write_head(p, n);
  for (size_t i = how & 4 ? tt_min(n, (size_t)byte()) : 0; i < n && at < end && i < 400; i++)
    ((uint8_t *)p->bytes)[i] = (uint8_t)byte();
  complete(slot, how & 8 ? (int)(byte() % 8) - 2 : 1 + (int)(how >> 4) % 2, n,
           how >> 6 == 3 ? TUTTI_NET_LOST : 0);
}

/* ---- operations of users of the wire ---- */

static void look(tt_wire *w, int peer, int lane) {
  tt_stamp stamp;
  tutti_status status = TUTTI_OK;
  char to[200];
  size_t n = w->channel->head(w, peer, lane, &stamp);
  if (!n) return;
  size_t seen = tt_min(n, sizeof to);
  const uint8_t *bytes = w->channel->view(w, peer, lane, &seen, &status);
  volatile uint8_t sum = 0;
  for (size_t i = 0; bytes && i < seen; i++) sum ^= bytes[i];
  if (n <= sizeof to)
    w->channel->pull(w, peer, lane, to, n, &status);
  else
    w->channel->release(w, peer, lane, n);
}

static void act(tt_wire *w, tt_p2p *p2p, bool *agrees, tutti_status *status) {
  bool moved = false;
  const tt_net_decision *decision = NULL;
  switch (byte() % 6) {
    case 0: deliver(); break;
    case 1: *status = w->net->poll(w, &moved); break;
    case 2: look(w, 1 + (int)(byte() % 2), (int)(byte() % LANES_USED)); break;
    case 3: tt_p2p_progress(p2p, &moved, status); break;
    case 4: w->peer->ask(w, 1, byte()); break;
    default:
      if (!*agrees) *status = w->net_agree->enter(w, 1, 0);
      *agrees = true;
      if (!*status) *status = w->net_agree->step(w, &decision);
      if (decision) { /* among these ranks */
        int list[RANKS], mine;
        tutti_net net;
        if (!decision->status) w->net_agree->network(w, decision, list, &mine, &net);
      }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const tutti_net net = {.size = sizeof net,
                         .name = "made up",
                         .id = ID,
                         .ranks = RANKS,
                         .send = net_send,
                         .recv = posted_net_recv,
                         .poll = posted_net_poll,
                         .cancel = posted_net_cancel,
                         .close = stub_net_close,
                         .error = stub_net_error,
                         .fresh = net_fresh,
                         .pick = net_pick};
  char into[2][COUNT];
  tt_p2p_message messages[2];
  tt_wire *w;
  tutti_status status = TUTTI_OK;
  bool agrees = false;
  at = data;
  end = data + size;
  posted_net_begin();
  need(tt_net_wire(&net, &w) == TUTTI_OK);
  tt_p2p *p2p = tt_p2p_new(w);
  need(p2p);
  for (int i = 0; i < 2; i++) {
    messages[i] = (tt_p2p_message){
        .peer = 1 + i, .type = TUTTI_UINT8, .count = COUNT, .bytes = COUNT, .at = into[i]};
    tt_p2p_post(p2p, &messages[i]);
  }
  for (int turn = 0; at < end && !status && turn < 300; turn++) act(w, p2p, &agrees, &status);
  need(!status || *tutti_error());
  bool moved = false;
  for (int k = 0; ndone && k < 100; k++) w->net->poll(w, &moved); /* sends the remaining data */
  tt_p2p_free(p2p);
  w->peer->close(w);
  return 0;
}
