/* Messages that cannot be cancelled (net_recv.c), over a simulated network. Data in flight may arrive after a
 * call has failed and the wire is closed. It must be written neither to the caller's memory nor to freed memory
 * (which the address sanitizer detects).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "net_parts.h"
#include "stub_net.h"
#include "wires.h"

enum { MOST = 256, VECTOR = 1 << 18 };

typedef struct message { /* or the request that waits for one */
  int slot, peer, tag;
  char *at;
  size_t n;
  bool over;
} message;

typedef struct end { /* one rank's end */
  tt_wire *wire;
  message sent[MOST], wanted[MOST];
  int nsent, nwanted;
  tutti_net_done done[MOST];
  int ndone;
} end;

static end ends[2];
static bool holds; /* no bytes arrive: the sender is stopped */
static char vector[VECTOR];

static bool carries_bytes(const message *m) {
  return m->tag >= TAG_BYTES && m->tag < TAG_BYTES + TT_LANES;
}

static int net_send(void *self, int slot, int peer, int tag, const void *bytes, size_t n,
                    int sure) {
  end *e = self;
  (void)sure;
  assert_true(e->nsent < MOST);
  e->sent[e->nsent++] = (message){slot, peer, tag, (char *)(uintptr_t)bytes, n, false};
  return 0;
}

static int net_recv(void *self, int slot, int peer, int tag, void *bytes, size_t n) {
  end *e = self;
  assert_true(e->nwanted < MOST);
  assert_true((char *)bytes + n <= vector || (char *)bytes >= vector + VECTOR);
  e->wanted[e->nwanted++] = (message){slot, peer, tag, bytes, n, false};
  return 0;
}

/* The first message sent with a tag matches the first receive posted with it. */
static void match(end *from, end *to) {
  for (int i = 0; i < from->nsent; i++) {
    message *s = &from->sent[i];
    if (s->over || (holds && carries_bytes(s))) continue;
    for (int k = 0; k < to->nwanted && !s->over; k++) {
      message *w = &to->wanted[k];
      if (w->over || w->tag != s->tag) continue;
      assert_true(s->n <= w->n);
      memcpy(w->at, s->at, s->n);
      s->over = w->over = true;
      from->done[from->ndone++] = (tutti_net_done){.slot = s->slot, .peer = s->peer};
      to->done[to->ndone++] = (tutti_net_done){.slot = w->slot, .peer = w->peer, .bytes = s->n};
    }
  }
}

static int net_poll(void *self, int slots, tutti_net_done *done, int most, int *n) {
  end *e = self;
  (void)slots;
  match(&ends[0], &ends[1]);
  match(&ends[1], &ends[0]);
  *n = e->ndone < most ? e->ndone : most;
  memcpy(done, e->done, (size_t)*n * sizeof *done);
  e->ndone -= *n;
  memmove(e->done, e->done + *n, (size_t)e->ndone * sizeof *done);
  return 0;
}

/* A receive of a header can be cancelled; a receive of data cannot, because it is already in progress. */
static int net_cancel(void *self, int slot) {
  end *e = self;
  for (int i = 0; i < e->nwanted; i++) {
    message *w = &e->wanted[i];
    if (w->over || w->slot != slot) continue;
    w->over = !carries_bytes(w);
    return !w->over;
  }
  return 0;
}

static void begin(void) {
  memset(ends, 0, sizeof ends);
  for (int r = 0; r < 2; r++) {
    const tutti_net net = {.size = sizeof net,
                           .name = "made up",
                           .rank = r,
                           .ranks = 2,
                           .self = &ends[r],
                           .send = net_send,
                           .recv = net_recv,
                           .poll = net_poll,
                           .cancel = net_cancel,
                           .close = stub_net_close,
                           .error = stub_net_error};
    assert_int_equal(tt_net_wire(&net, &ends[r].wire), TUTTI_OK);
  }
}

static void close_both(void) {
  for (int r = 0; r < 2; r++) ends[r].wire->peer->close(ends[r].wire);
}

/* Rank 1 sends a vector of ones, which rank 0 receives into `vector`. Returns the number of bytes that have
 * arrived when no more follow. */
static size_t carry(const char *ones) {
  tt_wire *from = ends[1].wire, *to = ends[0].wire;
  const tt_stamp stamp = {.seq = 1, .hash = 7};
  tutti_status status = TUTTI_OK;
  size_t pushed = 0, pulled = 0;
  for (int idle = 0; idle < 8; idle++) {
    uint64_t ticket;
    bool moved = false;
    const size_t left = VECTOR - pushed, wants = VECTOR - pulled;
    const size_t n =
        left ? from->channel->push(from, 0, 0, stamp, ones + pushed, left, left, &ticket, &status)
             : 0;
    assert_int_equal(status, TUTTI_OK);
    pushed += n;
    assert_int_equal(from->net->poll(from, &moved), TUTTI_OK);
    assert_int_equal(to->net->poll(to, &moved), TUTTI_OK);
    tt_stamp came;
    const size_t head = to->channel->head(to, 1, 0, &came);
    if (head) {
      assert_true(came.seq == stamp.seq && came.hash == stamp.hash && head <= wants);
      assert_true(to->channel->pull(to, 1, 0, vector + pulled, head, &status));
      pulled += head;
    } else if (wants && to->channel->expect) {
      to->channel->expect(to, 1, 0, vector + pulled, wants, wants);
    }
    if (n || head) idle = -1;
  }
  return pulled;
}

static void what_comes_too_late_is_written_nowhere(void **state) {
  (void)state;
  static char ones[VECTOR];
  memset(ones, 1, sizeof ones);
  for (int late = 0; late < 2; late++) {
    memset(vector, 0, sizeof vector);
    holds = late;
    begin();
    assert_int_equal(carry(ones), late ? 0 : VECTOR);
    close_both();
    int come = 0;
    for (int i = 0; i < ends[0].nwanted; i++) {
      const message *w = &ends[0].wanted[i];
      if (w->over) continue;
      memset(w->at, 2, w->n); /* the sender has continued */
      come++;
    }
    assert_true((come > 0) == late);
    for (size_t i = 0; i < VECTOR; i++) assert_int_equal(vector[i], !late);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_comes_too_late_is_written_nowhere)};
  return cmocka_run_group_tests_name("messages that cannot be taken back", tests, NULL, NULL);
}
