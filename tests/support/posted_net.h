/* posted_net.h - a simulated network, in which operations of the wire stay posted until the test
 * completes them.
 *
 * Invariant  A slot is not reused before it is completed, and the wire polls all slots that it has
 *            started. A violation aborts the test.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSTED_NET_H
#define POSTED_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tutti_net.h"

enum { SLOTS = 256 };

typedef struct posted {
  bool begun, sends;
  int tag;
  void *bytes;
  size_t n;
} posted;

static posted asked[SLOTS];
static tutti_net_done done[16 * SLOTS]; /* completions that the wire has not polled yet */
static int ndone;

static inline void posted_net_begin(void) {
  memset(asked, 0, sizeof asked);
  ndone = 0;
}

static inline int post(int slot, bool sends, int tag, void *bytes, size_t n) {
  if (slot < 0 || slot >= SLOTS || asked[slot].begun) abort();
  asked[slot] = (posted){true, sends, tag, bytes, n};
  return 0;
}

static inline void complete(int slot, int peer, size_t n, int failed) {
  asked[slot].begun = false;
  done[ndone++] = (tutti_net_done){.slot = slot, .peer = peer, .bytes = n, .failed = failed};
}

static inline int posted_net_recv(void *self, int slot, int peer, int tag, void *bytes, size_t n) {
  (void)self, (void)peer;
  return post(slot, false, tag, bytes, n);
}

static inline int posted_net_poll(void *self, int slots, tutti_net_done *out, int most, int *n) {
  (void)self;
  for (int i = 0; i < SLOTS; i++)
    if (asked[i].begun && i >= slots) abort();
  *n = ndone < most ? ndone : most;
  memcpy(out, done, (size_t)*n * sizeof *out);
  ndone -= *n;
  memmove(done, done + *n, (size_t)ndone * sizeof *done);
  return 0;
}

static inline int posted_net_cancel(void *self, int slot) {
  (void)self;
  asked[slot].begun = false;
  return 0;
}

#endif
