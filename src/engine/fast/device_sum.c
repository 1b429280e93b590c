/* device_sum.c - devices compute one-shot and two-shot on their vectors.
 *
 * Idea       The ranks of a node publish the names of their vectors, and each rank maps those of its peers. Two-shot: a
 *            kernel on each device sums a block of all vectors, in rank order, and writes it into all of them. One-shot: the
 *            kernel sums everything into its own rank's vector. If ranks share a device, the first of them launches the
 *            kernel.
 * Cost       A round of flags, a kernel, and two checks of all peers' counters. Across the links between devices, two-shot
 *            reads and writes one vector per rank; one-shot reads P vectors and writes one.
 * Agreement  A rank publishes with its names whether its device could compute the sum, and whether it has mapped memory of
 *            all its peers before. If all could, but have not mapped it yet, the call runs on the host, and at its end they
 *            try. A machine whose devices cannot do it therefore never fails a call.
 * Invariant  The operands and their order are those of the host's loop, so the result has the same bits. A kernel accesses
 *            peers' vectors once all ranks have put theirs (TT_PUT), and no call ends while a kernel runs (TT_SUM).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "pieces.h"

/* The description of a rank's vectors for its peers, in the flag slot of the second round. */
typedef struct vectors {
  tutti_device_name src, dst;
} vectors;

_Static_assert(sizeof(vectors) <= TT_LATER_BYTES, "names fit in a flag slot of the second round");

void tt_device_offer(const tt_operation *o, tt_names *names) {
  tt_staged *s = o->call.staged;
  if (!s) return;
  const bool able = o->pieces.shape != TT_SHAPE_NAIVE && !o->reducer.times && !o->reducer.user &&
                    tt_staged_sums(s, o->call.type, o->call.op, o->wire->ranks);
  const tt_reach reach = able ? tt_staged_reach(s) : TT_REACHES_NOT;
  names->comes = reach == TT_REACHES_NOT ? TT_COMES : reach == TT_REACHES ? TT_REACHED : TT_OFFERED;
  tt_device_name_staging(o, names);
}

/* ---- names ---- */

static bool publish_names(tt_operation *o) {
  vectors *v = o->wire->memory->flag_slot(o->wire, o->stamp.seq, 1, sizeof *v);
  if (!v) return false;
  if (!tt_staged_names(o->call.staged, &v->src, &v->dst)) memset(v, 0, sizeof *v);
  o->wire->memory->flag_set(o->wire, o->stamp, 1, o->oldest);
  o->round = 1;
  o->next = 0;
  o->own = v;
  return true;
}

typedef enum mapped { MAPPED, LATER, NEVER } mapped;

static void *map_one(tt_operation *o, int r, const tutti_device_name *name, void *mine,
                     mapped *how) {
  bool later = false;
  if (r == o->wire->rank) return mine;
  void *at = name->bytes ? tt_staged_map(o->call.staged, name, &later) : NULL;
  if (!at && *how == MAPPED) *how = later ? LATER : NEVER;
  return at;
}

/* Maps the vectors that all ranks have named: the sources to o->inputs, the destinations to dsts. */
static mapped map_all(tt_operation *o, void **dsts) {
  tt_staged *s = o->call.staged;
  mapped how = MAPPED;
  for (int r = 0; r < o->wire->ranks && how == MAPPED; r++) {
    const vectors *v = o->slots[r];
    o->inputs[r] = map_one(o, r, &v->src, (void *)(uintptr_t)tt_staged_src(s), &how);
    dsts[r] = map_one(o, r, &v->dst, tt_staged_dst(s), &how);
  }
  return how;
}

/* Returns the first rank whose vectors lie on the same device as those of rank r. */
static int first_on_device(const tt_operation *o, int r) {
  const vectors *mine = o->slots[r];
  int first = 0;
  while (memcmp(((const vectors *)o->slots[first])->src.device, mine->src.device,
                sizeof mine->src.device) != 0)
    first++;
  return first;
}

static int count_devices(const tt_operation *o) {
  int devices = 0;
  for (int r = 0; r < o->wire->ranks; r++) devices += first_on_device(o, r) == r;
  return devices;
}

/* Returns true once all ranks have published their names, which are then in o->slots. */
static bool names_are_there(tt_operation *o, bool *moved) {
  if (o->round == 0) {
    if (!publish_names(o)) return false;
    *moved = true;
  }
  return tt_flags_ready(o, &o->role.from, sizeof(vectors), moved);
}

/* Publishes the result of mapping in the third round. Until all ranks have done so, no vector may be freed. */
static bool publish_how(tt_operation *o) {
  void *dsts[TT_SUMMED_MOST];
  int32_t *how = o->wire->memory->flag_slot(o->wire, o->stamp.seq, 2, sizeof *how);
  if (!how) return false;
  *how = (int32_t)map_all(o, dsts);
  o->pieces.device.devices = count_devices(o);
  o->own = how;
  o->wire->memory->flag_set(o->wire, o->stamp, 2, o->oldest);
  o->round = 2;
  o->next = 0;
  return true;
}

/* Records a result that is the same on all ranks: each device can access all vectors, or some device cannot, or some rank
 * could not try. */
static void take_note(tt_operation *o) {
  mapped worst = MAPPED;
  for (int r = 0; r < o->wire->ranks; r++)
    worst = (mapped)tt_max((size_t)worst, (size_t) * (const int32_t *)o->slots[r]);
  if (worst != LATER) tt_staged_reaches(o->call.staged, worst == MAPPED, o->pieces.device.devices);
}

bool tt_device_learn(tt_operation *o, bool *moved) {
  if (!o->pieces.device.learns) return true;
  if (o->round < 2) {
    if (!names_are_there(o, moved) || !publish_how(o)) return false;
    *moved = true;
  }
  if (!tt_flags_ready(o, &o->role.from, sizeof(int32_t), moved)) return false;
  take_note(o);
  o->pieces.device.learns = false;
  return true;
}

/* ---- the sum ---- */

static bool all_have(tt_operation *o, tt_counter counter) {
  return tt_pieces_gathered(o, &o->role.from, counter, o->pieces.cut.first + o->pieces.cut.count);
}

/* Returns this rank's block, in bytes. In one-shot it is the whole vector. In two-shot it is a device's share, which the
 * first rank on the device sums: processes use a device in time slices, and a slice takes longer than most sums. */
static tt_extent own_block(const tt_operation *o, bool one_shot) {
  const size_t element = o->reducer.element;
  const uint32_t devices = (uint32_t)count_devices(o);
  uint32_t own = 0;
  for (int r = 0; r < o->wire->rank; r++) own += first_on_device(o, r) == r;
  if (one_shot) return (tt_extent){0, o->call.count * element};
  if (first_on_device(o, o->wire->rank) != o->wire->rank) return (tt_extent){0, 0};
  const tt_partition blocks = tt_partition_even(o->call.count, element, devices);
  return (tt_extent){tt_partition_at(&blocks, own) * element,
                     tt_partition_at(&blocks, own + 1) * element};
}

/* Returns true if the kernel runs as one-shot. In place, it would overwrite data that peers still read. On a shared
 * device, it would read everything repeatedly. */
static bool is_one_shot(const tt_operation *o) {
  bool is = o->pieces.shape == TT_SHAPE_ONE_SHOT;
  for (int r = 0; r < o->wire->ranks; r++) {
    const vectors *v = o->slots[r];
    is = is && first_on_device(o, r) == r &&
         v->src.base + v->src.offset != v->dst.base + v->dst.offset;
  }
  return is;
}

/* Sums this rank's block, and waits for the kernel, because a peer that gives up waits only for ranks between `enter` and
 * `leave` (wire.h). */
static bool sum_block(tt_operation *o, void **to) {
  const bool one_shot = is_one_shot(o);
  const tt_extent block = own_block(o, one_shot);
  const int ranks = o->wire->ranks, nto = one_shot ? 1 : ranks;
  if (block.from == block.to) return true;
  if (one_shot) to[0] = to[o->wire->rank];
  for (int r = 0; r < ranks; r++) o->inputs[r] = (const char *)o->inputs[r] + block.from;
  for (int r = 0; r < nto; r++) to[r] = (char *)to[r] + block.from;
  if (!o->wire->memory->enter(o->wire)) return false;
  const uint64_t begin = o->trace ? tt_trace_mark(o->trace) : 0;
  o->status = tt_staged_sum(o->call.staged, to, nto, o->inputs, ranks,
                            (block.to - block.from) / o->reducer.element, o->call.type, o->call.op);
  if (o->trace)
    tt_trace_step(o->trace, TT_EVENT_KERNEL, begin, o->stamp.seq, -1, block.to - block.from, 1);
  o->wire->memory->leave(o->wire);
  return !o->status;
}

/* Publishes this rank's vectors once it can access those of its peers and its stream has computed its own. */
static bool put_vectors(tt_operation *o) {
  void *to[TT_SUMMED_MOST];
  const mapped how = o->pieces.device.mapped ? MAPPED : map_all(o, to);
  if (how == NEVER) o->status = tt_staged_refused("memory of another rank");
  if (how != MAPPED) return false;
  o->pieces.device.mapped = true;
  tt_staged_decided(o->call.staged);
  if (!tt_staged_ready(o->call.staged, &o->status)) return false;
  tt_pieces_publish(o, TT_PUT, o->pieces.cut.count);
  return true;
}

static bool sum_vectors(tt_operation *o) {
  void *to[TT_SUMMED_MOST];
  if (!all_have(o, TT_PUT) || map_all(o, to) != MAPPED || !sum_block(o, to)) return false;
  tt_pieces_publish(o, TT_SUM, o->pieces.cut.count);
  return true;
}

bool tt_device_sum(tt_operation *o) {
  tt_pieces *p = &o->pieces;
  bool moved = false;
  if (!names_are_there(o, &moved)) return moved || o->status;
  if (!p->done[TT_PUT] && !(moved = put_vectors(o))) return o->status;
  if (!p->done[TT_SUM] && !sum_vectors(o)) return moved || o->status;
  if (!all_have(o, TT_SUM)) return moved;
  tt_pieces_publish(o, TT_GOT, o->pieces.cut.count);
  o->wire->arena_state->over = p->cut.first + p->cut.count;
  tt_staged_done(o->call.staged);
  o->finished = o->slices;
  return true;
}

bool tt_device_awaits(const tt_operation *o, tt_awaits_fn *show, void *ctx) {
  tt_wire *w = o->wire;
  const tt_pieces *p = &o->pieces;
  if (p->device.learns && o->round)
    return tt_flags_await(o, &o->role.from, o->round == 1 ? sizeof(vectors) : sizeof(int32_t), show, ctx);
  if (o->round == 1 && tt_flags_await(o, &o->role.from, sizeof(vectors), show, ctx)) return true;
  const tt_counter counter = p->device.learns ? TT_GOT : p->done[TT_SUM] ? TT_SUM : TT_PUT;
  const uint64_t target = p->cut.first + p->cut.count;
  for (int r = 0; r < w->ranks; r++)
    if (r != w->rank && (p->device.learns || w->memory->published(w, r, counter) < target) &&
        show(ctx, r, counter == TT_PUT ? 1 : 3))
      return true;
  return false;
}
