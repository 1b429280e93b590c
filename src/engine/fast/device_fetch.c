/* device_fetch.c - sums computed on the host for vectors on devices: each device fetches them from the memory of the
 * ranks that computed them.
 *
 * Idea       In two-shot, a rank sums its block once, into its own staging memory, and the devices of all ranks copy it from
 *            there: a core reads P blocks and writes one, instead of P.
 * Cost       A copy per rank and batch takes about 5 us of a core. A batch therefore has blocks of 512 KiB, or an eighth
 *            of a rank's share, but at least 128 KiB: shorter copies to a device use another, slower mechanism.
 * Invariant  TT_GOT is published when the device has finished reading; then peers may change the data that they published.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "pieces.h"

enum { LEAST = 128 << 10, MOST = 512 << 10 };

void tt_device_name_staging(const tt_operation *o, tt_names *names) {
  size_t bytes;
  const void *memory = tt_staged_memory(o->call.staged, &bytes);
  names->staging = o->wire->memory->export(o->wire, memory, bytes);
  names->staged = bytes;
}

size_t tt_device_batch(const tt_operation *o) {
  const size_t ranks = (size_t)o->wire->ranks, share = o->call.count * o->reducer.element / ranks;
  return ranks * tt_min(tt_max(share / 8, LEAST), MOST);
}

bool tt_device_fetches(tt_operation *o) {
  tt_wire *w = o->wire;
  if (!tt_staged_dst(o->call.staged)) return false;
  for (int r = 0; r < w->ranks; r++) {
    const tt_names *names = r == w->rank ? &o->pieces.mine : o->slots[r];
    size_t n = names->staged;
    if (r == w->rank) continue;
    if (names->comes == TT_HERE || !names->staging || !names->dst ||
        o->pieces.shape != TT_SHAPE_TWO_SHOT)
      return false;
    const void *there = w->memory->map(w, r, names->staging, 0, &n, &o->status);
    if (!there || n != names->staged || !tt_staged_reads(o->call.staged, there, n)) return false;
  }
  return true;
}

/* Requests all blocks of the batch that starts with piece k. */
static bool ask(tt_operation *o, uint32_t k) {
  tt_wire *w = o->wire;
  const size_t at = tt_piece_extent(o, k).from;
  for (int i = 0; i < w->ranks; i++) {
    const int r = (w->rank + i) % w->ranks;
    const tt_extent block = tt_piece_block(o, k, r);
    const char *from = (const char *)o->call.dst + at + block.from;
    size_t n = block.to - block.from;
    if (!n) continue;
    if (i)
      from = w->memory->map(w, r, ((const tt_names *)o->slots[r])->dst, at + block.from, &n,
                            &o->status);
    if (!from) return false;
    o->status = tt_staged_fetch(o->call.staged, from, at + block.from, n);
    if (o->status) return false;
  }
  o->status = tt_staged_batch(o->call.staged);
  return !o->status;
}

bool tt_device_fetch(tt_operation *o) {
  tt_pieces *p = &o->pieces;
  const uint32_t k = p->device.asked, end = tt_batch_end(o, k);
  bool moved = false;
  if (tt_staged_batch_came(o->call.staged, &o->status)) {
    tt_pieces_publish(o, TT_GOT, tt_batch_end(o, p->done[TT_GOT]));
    if (p->done[TT_GOT] == p->cut.count) tt_staged_done(o->call.staged);
    moved = true;
  }
  const bool room = k / p->cut.at_once < p->done[TT_GOT] / p->cut.at_once + TT_FETCHES;
  if (o->status || k == p->cut.count || !room || p->done[TT_SUM] < end) return moved;
  if (!tt_pieces_gathered(o, &o->role.from, TT_SUM, p->cut.first + end)) return moved;
  if (!ask(o, k)) return moved || o->status;
  p->device.asked = end;
  return true;
}
