/* device_near.c - one call that uses kernels within a host and messages between hosts.
 *
 * Idea       The first steps of a plan may be those of two-shot among the ranks of a host. If the host's vectors lie on
 *            devices, a kernel then sums each rank's block directly, and only this block is copied to host memory. This
 *            completes those two steps; the others run as usual. Other hosts get the same messages and are not involved.
 * Cost       Three rounds of flags among the ranks of the host, and a kernel and a copy for each slice.
 * Agreement  A rank publishes its vector's name, or that it offers none (round 0); whether it has mapped all vectors, once
 *            its stream has computed its own (round 1); and that its kernels have ended (round 2). If any rank cannot
 *            take part, all send messages. A rank whose vectors are in host memory does not wait.
 * Invariant  The operands and their order are those of the step, so the result has the same bits. A rank neither writes
 *            nor frees its vector while a kernel may read it: slices start after round 2.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "engine.h"

enum { SENT, REDUCED }; /* the two steps that kernels replace */

/* What a rank publishes about its vector. */
typedef struct offer {
  uint8_t offers;
  tutti_device_name src;
} offer;

typedef enum mapped { MAPPED, LATER, NEVER } mapped;

tutti_op tt_near_op(const tt_wire *w, tutti_op op) {
  return w->near.wire && op == TUTTI_AVG ? TUTTI_SUM : op;
}

/* ---- which plans ---- */

/* Returns true if a step reads nothing from the caller's vectors except the block that step REDUCED has summed. */
static bool reads_sums_alone(const tt_step *step, const tt_span *sum) {
  const tt_span *reads[] = {&step->own, &step->in};
  const int n = step->kind == TT_REDUCE ? 2 : step->kind == TT_RECV ? 0 : 1;
  for (int i = 0; i < n; i++) {
    const tt_span *s = reads[i];
    if (s->buf == TT_SRC) return false;
    if (s->buf == TT_DST && (s->base || s->repeat != 1 || s->first < sum->first ||
                             s->first + s->count > sum->first + sum->count))
      return false;
  }
  return true;
}

/* Returns true if a step exchanges messages with all other ranks of this host, and with no rank of another host. */
static bool is_among_near(const tt_program *p, const tt_wire *w, uint32_t step) {
  if (p->at[step + 1] - p->at[step] != (uint32_t)w->near.wire->ranks - 1 || p->waits[step])
    return false;
  for (uint32_t k = p->at[step]; k < p->at[step + 1]; k++)
    if (w->near.rank[p->transfers[k].peer] < 0) return false;
  return true;
}

bool tt_near_first(const tt_program *p, const tt_wire *w) {
  const tt_sched *s = p->sched;
  if (!w->near.wire || s->nsteps < 2 || s->ranks != w->ranks) return false;
  const tt_step *send = &s->steps[SENT], *sum = &s->steps[REDUCED];
  const tt_span *dst = &sum->dst;
  if (send->kind != TT_SEND || !send->split || sum->kind != TT_RECV_REDUCE ||
      sum->side != TT_OWN_AMONG || sum->completes || dst->buf != TT_DST || dst->base ||
      dst->repeat != 1 || dst->first + dst->count > s->blocks)
    return false;
  for (uint32_t id = 2; id < s->nsteps; id++)
    if (!reads_sums_alone(&s->steps[id], dst)) return false;
  return is_among_near(p, w, SENT) && is_among_near(p, w, REDUCED);
}

/* ---- the agreement ---- */

void tt_near_begin(tt_operation *o) {
  const tt_wire *near = o->wire->near.wire;
  o->near = (tt_near){.stage = TT_NEAR_SETTLED};
  if (near && near->ranks > 1 && o->call.coll == TUTTI_ALLREDUCE &&
      o->call.count * o->reducer.element > near->size.flag)
    o->near.stage = TT_NEAR_SHOWS;
}

static bool offers(const tt_operation *o) {
  tt_staged *s = o->call.staged;
  return s && !o->reducer.times && !o->reducer.user && tt_staged_reach(s) != TT_REACHES_NOT &&
         tt_staged_sums(s, o->call.type, tt_near_op(o->wire, o->call.op),
                        o->wire->near.wire->ranks) &&
         tt_near_first(o->program, o->wire);
}

/* Publishes n bytes for one round of the agreement. Returns false if the slot is still in use. */
static bool show(tt_operation *o, uint32_t round, const void *bytes, size_t n) {
  tt_wire *near = o->wire->near.wire;
  void *slot = near->memory->flag_slot(near, o->stamp.seq, round, n);
  if (!slot) return false;
  memcpy(slot, bytes, n);
  near->memory->flag_set(near, o->stamp, round, o->oldest);
  return true;
}

static const void *shown(const tt_operation *o, int rank, uint32_t round, size_t n,
                         uint32_t *hash) {
  tt_wire *near = o->wire->near.wire;
  *hash = o->stamp.hash;
  return near->memory->flag_get(near, rank, o->stamp.seq, round, n, hash);
}

/* Returns true once every rank of this host has published its data for this round. */
static bool all_show(tt_operation *o, uint32_t round, size_t n) {
  const tt_wire *near = o->wire->near.wire;
  for (int r = 0; r < near->ranks; r++) {
    uint32_t hash;
    if (r == near->rank) continue;
    if (!shown(o, r, round, n, &hash)) return false;
    if (hash != o->stamp.hash) {
      o->status = TUTTI_ERR_MISMATCH; /* the communicator's progress reports the differing calls */
      return false;
    }
  }
  return true;
}

/* Returns the data that rank r of this host has published. If r is this rank, returns `mine`. */
static const void *shown_by(const tt_operation *o, int r, uint32_t round, const void *mine,
                            size_t n) {
  uint32_t hash;
  return r == o->wire->near.wire->rank ? mine : shown(o, r, round, n, &hash);
}

/* Returns the data that this rank publishes if it offers its device vector to the others. */
static offer own_vector(const tt_operation *o) {
  offer own = {.offers = 1};
  tutti_device_name dst;
  tt_staged_names(o->call.staged, &own.src, &dst);
  return own;
}

static bool all_offer(const tt_operation *o) {
  const offer own = {.offers = 1};
  for (int r = 0; r < o->wire->near.wire->ranks; r++)
    if (!((const offer *)shown_by(o, r, 0, &own, sizeof own))->offers) return false;
  return true;
}

/* Maps the device vectors of all ranks of this host, so that a kernel can read them. Stores their addresses in `from`, in the
 * order of the operands in the step. */
static mapped map_all(const tt_operation *o, const void **from) {
  const tt_program *p = o->program;
  const tt_peers *peers = &p->sched->steps[REDUCED].peers;
  uint32_t k = p->at[REDUCED];
  for (int e = 0; e < peers->count; e++) {
    from[e] = tt_staged_src(o->call.staged);
    if (k == p->at[REDUCED + 1] || p->transfers[k].entry != (uint32_t)e) continue;
    uint32_t hash;
    const int r = o->wire->near.rank[p->transfers[k++].peer];
    bool later = false;
    from[e] = tt_staged_map(o->call.staged,
                            &((const offer *)shown(o, r, 0, sizeof(offer), &hash))->src, &later);
    if (!from[e]) return later ? LATER : NEVER;
  }
  return MAPPED;
}

static int count_devices(const tt_operation *o) {
  const int n = o->wire->near.wire->ranks;
  const offer own = own_vector(o);
  int devices = 0;
  for (int r = 0; r < n; r++) {
    const offer *of = shown_by(o, r, 0, &own, sizeof own);
    int first = 0;
    while (memcmp(((const offer *)shown_by(o, first, 0, &own, sizeof own))->src.device,
                  of->src.device, sizeof of->src.device) != 0)
      first++;
    devices += first == r;
  }
  return devices;
}

/* Publishes whether this rank has mapped the vectors of all ranks. If it has, returns false until its stream has computed its own
 * vector, and only then publishes. */
static bool show_mapped(tt_operation *o) {
  const void *from[TT_SUMMED_MOST];
  if (!o->near.tried) o->near.mapped = (uint8_t)map_all(o, from);
  o->near.tried = true;
  tt_staged_decided(o->call.staged);
  if (o->near.mapped == MAPPED && !tt_staged_ready(o->call.staged, &o->status)) return false;
  return show(o, 1, &o->near.mapped, sizeof o->near.mapped);
}

/* Returns true if every rank of this host has mapped all vectors. All ranks get the same result. */
static bool all_mapped(tt_operation *o) {
  mapped worst = MAPPED;
  for (int r = 0; r < o->wire->near.wire->ranks; r++)
    worst = (mapped)tt_max(
        (size_t)worst,
        (size_t) * (const uint8_t *)shown_by(o, r, 1, &o->near.mapped, sizeof o->near.mapped));
  if (worst != LATER) tt_staged_reaches(o->call.staged, worst == MAPPED, count_devices(o));
  return worst == MAPPED;
}

/* ---- the sums ---- */

/* Returns the size of this rank's block of a slice, and sets *at to the offset of the block in the vector, both in bytes. */
static size_t own_block(const tt_operation *o, int slice, size_t *at) {
  const tt_sched *s = o->program->sched;
  const tt_span *dst = &s->steps[REDUCED].dst;
  const size_t element = o->reducer.element;
  const uint64_t from = tt_slice_at(o, (uint32_t)slice);
  const tt_partition blocks =
      tt_partition_even(tt_slice_at(o, (uint32_t)slice + 1) - from, element, s->blocks);
  const uint64_t lo = tt_partition_at(&blocks, dst->first);
  *at = (from + lo) * element;
  return (tt_partition_at(&blocks, dst->first + dst->count) - lo) * element;
}

static tutti_status sum_slice(tt_operation *o, const void *const *vectors, int slice) {
  const void *from[TT_SUMMED_MOST];
  const int n = o->wire->near.wire->ranks;
  size_t at;
  const size_t bytes = own_block(o, slice, &at);
  if (!bytes) return TUTTI_OK;
  for (int i = 0; i < n; i++) from[i] = (const char *)vectors[i] + at;
  void *to = (char *)tt_staged_dst(o->call.staged) + at;
  const uint64_t begin = o->trace ? tt_trace_mark(o->trace) : 0;
  const tutti_status status =
      tt_staged_sum(o->call.staged, &to, 1, from, n, bytes / o->reducer.element, o->call.type,
                    tt_near_op(o->wire, o->call.op));
  if (o->trace) tt_trace_step(o->trace, TT_EVENT_KERNEL, begin, o->stamp.seq, -1, bytes, REDUCED);
  return status;
}

/* Sums this rank's block of every slice on the device, and waits for the kernels to finish. A peer that gives up waits only for
 * ranks between `enter` and `leave`, so no kernel may run after `leave` (wire.h). */
static bool sum_all(tt_operation *o) {
  const void *from[TT_SUMMED_MOST];
  if (map_all(o, from) != MAPPED) {
    o->status = tt_staged_refused("memory of another rank");
    return false;
  }
  if (!o->wire->memory->enter(o->wire)) return false;
  for (int slice = 0; slice < o->slices && !o->status; slice++)
    o->status = sum_slice(o, from, slice);
  o->wire->memory->leave(o->wire);
  return !o->status;
}

bool tt_near_bring(tt_operation *o) {
  bool moved = false;
  while (!o->status && o->near.brought < (uint32_t)o->slices) {
    size_t at;
    const size_t bytes = own_block(o, (int)o->near.brought, &at);
    const uint64_t begin = o->trace ? tt_trace_mark(o->trace) : 0;
    if (!tt_staged_bring(o->call.staged, at, bytes, &o->status)) break;
    if (o->trace)
      tt_trace_step(o->trace, TT_EVENT_FROM_DEVICE, begin, o->stamp.seq, -1, bytes, REDUCED);
    o->near.brought++;
    moved = true;
  }
  return moved;
}

bool tt_near_landed(const tt_operation *o, int slice) {
  return (uint32_t)slice < o->near.brought - tt_staged_under_way(o->call.staged);
}

/* ---- a pass ---- */

/* Tries to complete the current stage of the agreement. Returns true on success, and sets *next to the following stage. */
static bool pass(tt_operation *o, tt_near_stage *next) {
  const uint8_t over = 1;
  offer own;
  switch (o->near.stage) {
    case TT_NEAR_SHOWS:
      own = offers(o) ? own_vector(o) : (offer){.offers = 0};
      *next = own.offers ? TT_NEAR_ASKS : TT_NEAR_SETTLED;
      return show(o, 0, &own, sizeof own);
    case TT_NEAR_ASKS:
      if (!all_show(o, 0, sizeof own)) return false;
      *next = all_offer(o) ? TT_NEAR_MAPS : TT_NEAR_SETTLED;
      return true;
    case TT_NEAR_MAPS: *next = TT_NEAR_AGREES; return show_mapped(o);
    case TT_NEAR_AGREES:
      if (!all_show(o, 1, sizeof o->near.mapped)) return false;
      *next = all_mapped(o) ? TT_NEAR_SUMS : TT_NEAR_SETTLED;
      return true;
    case TT_NEAR_SUMS:
      *next = TT_NEAR_ENDS;
      if (!o->near.summed && !sum_all(o)) return false;
      o->near.summed = true;
      return show(o, 2, &over, sizeof over);
    case TT_NEAR_ENDS:
      *next = TT_NEAR_SETTLED;
      if (!all_show(o, 2, sizeof over)) return false;
      tt_staged_keeps_input(o->call.staged);
      return o->near.kernels = true;
    default: return false;
  }
}

bool tt_near_progress(tt_operation *o) {
  bool moved = false;
  tt_near_stage next = TT_NEAR_SETTLED;
  while (o->near.stage != TT_NEAR_SETTLED && !o->status && pass(o, &next)) {
    o->near.stage = next;
    moved = true;
  }
  return moved;
}

bool tt_near_awaits(const tt_operation *o, tt_awaits_fn *tell, void *ctx) {
  static const struct {
    tt_near_stage stage;
    uint32_t round;
    size_t bytes;
  } waits[] = {{TT_NEAR_ASKS, 0, sizeof(offer)}, {TT_NEAR_AGREES, 1, 1}, {TT_NEAR_ENDS, 2, 1}};
  for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
    for (int r = 0; waits[i].stage == o->near.stage && r < o->wire->ranks; r++) {
      const int near = o->wire->near.rank[r];
      uint32_t hash;
      if (r != o->wire->rank && near >= 0 &&
          !shown(o, near, waits[i].round, waits[i].bytes, &hash) && tell(ctx, r, REDUCED))
        return true;
    }
  return false;
}

bool tt_near_made(tt_run *r, uint32_t step) {
  const tt_program *p = r->program;
  if (!r->o->near.kernels || step > REDUCED) return false;
  for (uint32_t k = p->at[step]; k < p->at[step + 1]; k++) {
    r->turn[p->transfers[k].pair] = p->transfers[k].turn + 1;
    tt_moving_pass(r, k);
  }
  return true;
}
