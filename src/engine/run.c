/* run.c - one run of a program on one slice: the generic engine.
 *
 * Idea       Steps that have started are in a short list. Each pass tries to advance all of them: sends push bytes, receives
 *            take bytes that have arrived, and reductions process as many bytes as all their inputs have. When a step ends,
 *            the steps that waited for it may start.
 * Invariant  A message moves only when it is the next of its pair. A send that exported its bytes to the wire ends when they
 *            are consumed. A message of no bytes (empty blocks) is skipped on both sides.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "position.h"

/* A message in progress. */
typedef struct tt_moving {
  tt_cursor cursor;
  uint64_t left;   /* bytes still to move */
  uint64_t ticket; /* ticket of the last exported bytes, or 0 */
  bool exported, over;
} tt_moving;

/* The maximum number of bytes that are moved at a time. It limits how long one pass can take. */
enum { GULP = 1 << 20 };

/* ---- steps ---- */

static void finish_sum(const tt_run *r, const tt_step *step, void *dst, size_t elements) {
  const int data = r->program->sched->data;
  if (step->completes && r->o->call.op == TUTTI_AVG && data != 1)
    tt_scale(r->o->call.type, dst, elements, data);
}

static void local_step(tt_run *r, const tt_step *step) {
  const size_t element = r->o->reducer.element;
  const uint32_t inputs = step->kind == TT_REDUCE ? step->inputs : 0;
  tt_cursor dst = tt_whole_span(&step->dst), own = tt_whole_span(&step->own);
  uint64_t done = 0;
  char *to, *from;
  for (uint64_t n; (n = tt_contiguous(r, &step->dst, &dst, &to)) > 0; done += n) {
    n = tt_min(n, tt_contiguous(r, &step->own, &own, &from));
    r->inputs[0] = from;
    for (uint32_t k = 0; k < inputs; k++) {
      tt_span span = step->in;
      span.base += k * step->in_step;
      tt_cursor in = tt_whole_span(&span);
      char *address = NULL;
      uint64_t skip = done, m;
      while ((m = tt_contiguous(r, &span, &in, &address)) <= skip && m) {
        in.used += m;
        skip -= m;
      }
      n = tt_min(n, m - skip);
      r->inputs[k + 1] = address + skip;
    }
    if (inputs)
      tt_reduce(&r->o->reducer, to, r->inputs, (int)inputs + 1, n / element);
    else if (to != from)
      memmove(to, from, n);
    finish_sum(r, step, to, n / element);
    dst.used += n;
    own.used += n;
  }
}

bool tt_moving_is_over(const tt_run *r, uint32_t k) {
  return r->moving[k].over;
}

void tt_moving_pass(tt_run *r, uint32_t k) {
  r->moving[k].left = 0;
  r->moving[k].over = true;
}

static bool my_turn(const tt_run *r, const tt_transfer *t) {
  return r->turn[t->pair] == t->turn;
}

/* Sends as much of a message as the wire accepts. Returns true if anything was sent. */
static bool push_transfer(tt_run *r, const tt_step *step, const tt_transfer *t, tt_moving *m,
                          tutti_status *status) {
  const tt_operation *o = r->o;
  bool moved = false;
  if (o->wire->paced.level && !tt_pace_allows(r, (uint32_t)(m - r->moving))) return false;
  while (m->left && my_turn(r, t)) {
    char *from;
    uint64_t n = tt_contiguous(r, &step->own, &m->cursor, &from);
    uint64_t ticket = 0;
    float *owed = r->fresh && r->fresh[t->step] ? tt_owed_at(r, &step->own, &m->cursor) : NULL;
    size_t taken = tt_link_push(r, t->peer, from, owed, n, m->left, &ticket, status);
    if (!taken) return moved;
    if (ticket) {
      m->exported = true;
      m->ticket = ticket;
    }
    m->cursor.used += taken;
    m->left -= taken;
    moved = true;
  }
  return moved;
}

static bool try_send(tt_run *r, const tt_step *step, uint32_t id, bool *ended,
                     tutti_status *status) {
  const tt_program *p = r->program;
  bool moved = false;
  *ended = true;
  for (uint32_t k = p->at[id]; k < p->at[id + 1]; k++) {
    const tt_transfer *t = &p->transfers[k];
    tt_moving *m = &r->moving[k];
    if (m->over) continue;
    if (push_transfer(r, step, t, m, status)) moved = true;
    if (m->left == 0 && my_turn(r, t)) r->turn[t->pair]++;
    bool out = r->turn[t->pair] > t->turn;
    if (out &&
        (!m->exported || r->o->wire->channel->consumed(r->o->wire, t->peer, r->lane, m->ticket)))
      m->over = moved = true;
    else
      *ended = false;
  }
  if (moved && r->o->wire->paced.level) tt_pace_over(r);
  return moved;
}

/* Returns the number of bytes at the head of the stream that belong to message t, or 0 if none have arrived. */
static size_t arrived_bytes(tt_run *r, const tt_transfer *t, tutti_status *status) {
  if (!my_turn(r, t)) return 0;
  const tt_operation *o = r->o;
  tt_stamp stamp;
  size_t n = tt_link_head(r, t->peer, &stamp, status);
  if (n && (stamp.seq != o->stamp.seq || stamp.hash != o->stamp.hash)) {
    *status = TUTTI_ERR_MISMATCH; /* the communicator's progress reports the differing calls */
    return 0;
  }
  return n;
}

/* Tells the wire the destination of bytes that have not arrived yet. Operands of a reduction have none, as they are only read. */
static void announce_transfer(tt_run *r, const tt_step *step, const tt_transfer *t, tt_moving *m) {
  if (!tt_wire_to(r->o, t->peer)->channel->expect || !my_turn(r, t)) return;
  char *to = NULL;
  size_t n = m->left;
  if (step->kind == TT_RECV) n = tt_min(n, tt_contiguous(r, &step->dst, &m->cursor, &to));
  tt_link_expect(r, t->peer, to, n, m->left);
}

static bool try_recv(tt_run *r, const tt_step *step, uint32_t id, bool *ended,
                     tutti_status *status) {
  const tt_program *p = r->program;
  bool moved = false;
  *ended = true;
  for (uint32_t k = p->at[id]; k < p->at[id + 1]; k++) {
    const tt_transfer *t = &p->transfers[k];
    tt_moving *m = &r->moving[k];
    char *to;
    size_t budget = GULP;
    for (size_t n; m->left && budget && (n = arrived_bytes(r, t, status)) > 0;) {
      n = tt_min(tt_min(n, budget), tt_contiguous(r, &step->dst, &m->cursor, &to));
      if (!tt_link_pull(r, t->peer, to, n, status)) return moved;
      m->cursor.used += n;
      m->left -= n;
      budget -= n;
      moved = true;
    }
    if (m->left && budget) announce_transfer(r, step, t, m);
    if (m->left == 0 && !m->over && my_turn(r, t)) {
      r->turn[t->pair]++;
      m->over = moved = true;
    }
    if (!m->over) *ended = false;
  }
  return moved;
}

/* Sets r->inputs to the data that have arrived from each peer. Returns the number of bytes that have arrived from all of them,
 * but at most `all`. */
static size_t line_up(tt_run *r, const tt_step *step, uint32_t id, const char *own, size_t all,
                      int *count, tutti_status *status) {
  const tt_program *p = r->program;
  uint32_t k = p->at[id];
  int n = 0;
  for (uint32_t m = k; m < p->at[id + 1]; m++) {
    size_t here = arrived_bytes(r, &p->transfers[m], status);
    if (!here) return 0;
    all = tt_min(all, here);
  }
  if (step->side == TT_OWN_FIRST) r->inputs[n++] = own;
  for (int e = 0; e < step->peers.count; e++) {
    if (k == p->at[id + 1] || p->transfers[k].entry != (uint32_t)e) {
      r->inputs[n++] = own;
      continue;
    }
    const tt_transfer *t = &p->transfers[k++];
    r->inputs[n] = tt_link_view(r, t->peer, &all, status);
    if (!r->inputs[n++]) return 0;
  }
  if (step->side == TT_OWN_LAST) r->inputs[n++] = own;
  *count = n;
  return all;
}

static bool try_recv_reduce(tt_run *r, const tt_step *step, uint32_t id, bool *ended,
                            tutti_status *status) {
  const tt_program *p = r->program;
  const tt_operation *o = r->o;
  const uint32_t first = p->at[id], end = p->at[id + 1];
  tt_moving *m = &r->moving[first]; /* represents all messages, which advance together */
  bool moved = false;
  for (size_t budget = GULP; m->left && budget;) {
    char *to, *own;
    int count = 0;
    size_t n = tt_contiguous(r, &step->dst, &m->cursor, &to);
    n = tt_min(n, tt_contiguous(r, &step->own, &r->own[id], &own));
    n = line_up(r, step, id, own, tt_min(n, budget), &count, status);
    if (!n) {
      for (uint32_t k = first; k < end; k++) announce_transfer(r, step, &p->transfers[k], m);
      break;
    }
    tt_reduce(&o->reducer, to, r->inputs, count, n / o->reducer.element);
    finish_sum(r, step, to, n / o->reducer.element);
    for (uint32_t k = first; k < end; k++) tt_link_release(r, p->transfers[k].peer, n);
    m->cursor.used += n;
    r->own[id].used += n;
    m->left -= n;
    budget -= n;
    moved = true;
  }
  *ended = m->left == 0;
  for (uint32_t k = first; *ended && k < end; k++) *ended = my_turn(r, &p->transfers[k]);
  for (uint32_t k = first; *ended && k < end; k++) r->turn[p->transfers[k].pair]++;
  return moved || *ended;
}

static void open_step(tt_run *r, uint32_t id) {
  const tt_program *p = r->program;
  const tt_step *step = &p->sched->steps[id];
  const tt_span *cargo = tt_step_cargo(step);
  for (uint32_t k = p->at[id]; k < p->at[id + 1]; k++) {
    const tt_transfer *t = &p->transfers[k];
    r->moving[k] = (tt_moving){.cursor = {t->lo, t->hi, 0}};
    r->moving[k].left = tt_run_span_bytes(r, cargo, t->lo, t->hi);
  }
  if (step->kind == TT_RECV_REDUCE) r->own[id] = tt_whole_span(&step->own);
  r->open[r->nopen++] = id;
}

static bool try_step(tt_run *r, uint32_t id, bool *ended, tutti_status *status) {
  const tt_step *step = &r->program->sched->steps[id];
  if (__builtin_expect(r->o->near.kernels, 0) && tt_near_made(r, id)) return *ended = true;
  switch ((tt_kind)step->kind) {
    case TT_SEND: return try_send(r, step, id, ended, status);
    case TT_RECV: return try_recv(r, step, id, ended, status);
    case TT_RECV_REDUCE: return try_recv_reduce(r, step, id, ended, status);
    default:
      local_step(r, step);
      *ended = true;
      return true;
  }
}

/* ---- tracing ---- */

static uint64_t left_of(const tt_run *r, uint32_t id) {
  const tt_program *p = r->program;
  const uint32_t end = p->sched->steps[id].kind == TT_RECV_REDUCE
                           ? tt_min(p->at[id] + 1, p->at[id + 1])
                           : p->at[id + 1];
  uint64_t left = 0;
  for (uint32_t k = p->at[id]; k < end; k++) left += r->moving[k].left;
  return left;
}

/* Returns the first peer for which a step still has to wait, or -1 if all peers are ready. */
static int unready_peer(const tt_run *r, uint32_t id) {
  const tt_program *p = r->program;
  for (uint32_t k = p->at[id]; k < p->at[id + 1]; k++) {
    const tt_transfer *t = &p->transfers[k];
    const bool receives = tt_step_receives(&p->sched->steps[id]);
    if (r->moving[k].over) continue;
    if (!receives || !tt_link_came(r, t->peer)) return t->peer;
  }
  return -1;
}

static tt_event_kind event_of(const tt_step *step) {
  switch ((tt_kind)step->kind) {
    case TT_SEND: return TT_EVENT_SEND;
    case TT_RECV: return TT_EVENT_RECEIVE;
    case TT_RECV_REDUCE: return TT_EVENT_REDUCE;
    default: return step->kind == TT_REDUCE ? TT_EVENT_REDUCE : TT_EVENT_COPY;
  }
}

/* Traces contain no virtual ranks. */
static int traced_peer(const tt_run *r, int peer) {
  return peer < r->o->wire->ranks ? peer : -1;
}

/* Tries to advance a step, and records the step in the trace if tracing is on. */
static bool traced_step(tt_run *r, uint32_t id, bool *ended, tutti_status *status) {
  tt_trace *trace = r->o->trace;
  if (__builtin_expect(!trace, 1)) return try_step(r, id, ended, status);
  const tt_program *p = r->program;
  const tt_step *step = &p->sched->steps[id];
  const uint64_t begin = tt_trace_mark(trace), left = left_of(r, id);
  const bool moved = try_step(r, id, ended, status);
  const bool local = tt_step_local(step), one = p->at[id + 1] == p->at[id] + 1;
  const uint64_t bytes =
      local ? tt_run_span_bytes(r, &step->dst, 0, tt_span_size(&step->dst)) : left - left_of(r, id);
  if (moved)
    tt_trace_step(trace, event_of(step), begin, r->o->stamp.seq,
                  one ? traced_peer(r, p->transfers[p->at[id]].peer) : -1, bytes, id);
  const int peer = *ended ? -1 : traced_peer(r, unready_peer(r, id));
  const bool second = !local && step->kind == TT_SEND && trace->awaits >= 0;
  if (peer >= 0 && !second) trace->awaits = peer;
  return moved;
}

/* Rounds complete sums on this rank as compression rounds them for the others, so that all ranks have the same bits. */
static void round_sums(tt_run *r, const tt_step *step) {
  tt_cursor at = tt_whole_span(&step->dst);
  char *to;
  if (!step->completes || !tt_code_lossy(r->o->coding.code)) return;
  for (uint64_t n; (n = tt_contiguous(r, &step->dst, &at, &to)) > 0; at.used += n)
    tt_owed_round(r->o->coding.code, (float *)(void *)to, tt_owed_at(r, &step->dst, &at),
                  n / sizeof(float));
}

bool tt_run_progress(tt_run *r, tutti_status *status) {
  const tt_program *p = r->program;
  bool moved = false;
  for (uint32_t i = 0; i < r->nopen && !*status;) {
    uint32_t id = r->open[i];
    bool ended = false;
    if (traced_step(r, id, &ended, status)) moved = true;
    if (!ended) {
      i++;
      continue;
    }
    round_sums(r, &p->sched->steps[id]);
    memmove(&r->open[i], &r->open[i + 1], (r->nopen - i - 1) * sizeof *r->open);
    r->nopen--;
    r->left--;
    for (uint32_t k = p->next_at[id]; k < p->next_at[id + 1]; k++)
      if (--r->waits[p->next[k]] == 0) open_step(r, p->next[k]);
  }
  return moved;
}

/* Waits are reported only for the next message of each pair. Later messages, and messages that depend on steps of this rank, do
 * not wait for that peer. */
bool tt_run_awaits(const tt_run *r, tt_awaits_fn *show, void *ctx) {
  const tt_program *p = r->program;
  for (uint32_t i = 0; i < r->nopen; i++) {
    uint32_t id = r->open[i];
    for (uint32_t k = p->at[id]; k < p->at[id + 1]; k++) {
      const tt_transfer *t = &p->transfers[k];
      const bool receives = tt_step_receives(&p->sched->steps[id]);
      if (r->moving[k].over || r->turn[t->pair] < t->turn) continue;
      if (receives && tt_link_came(r, t->peer)) continue;
      if (show(ctx, t->peer, id)) return true;
    }
  }
  tutti_status status = TUTTI_OK;
  return !r->left && !tt_share_over(r, &status) &&
         show(ctx, r->o->wire->ranks, p->sched->nsteps - 1);
}

/* ---- beginning and end ---- */

static uint64_t widest(const tt_sched *s) {
  uint64_t n = (uint64_t)s->ranks + 1;
  for (uint32_t i = 0; i < s->nsteps; i++) n = tt_max(n, (uint64_t)s->steps[i].inputs + 1);
  return n;
}

/* Allocates all tables of a run together, at `inputs`. */
static bool make_tables(tt_run *r) {
  const tt_program *p = r->program;
  size_t n = p->sched->nsteps + 1, wide = widest(p->sched);
  size_t bytes = n * (2 * sizeof(uint32_t) + sizeof(tt_cursor)) + p->npairs * sizeof(uint32_t) +
                 (p->ntransfers + 1) * sizeof(tt_moving) + wide * sizeof(void *) + 64;
  if (bytes > r->capacity) {
    char *more = realloc(r->inputs, bytes);
    if (!more) return false;
    r->inputs = (const void **)(void *)more;
    r->capacity = bytes;
  }
  r->moving = (tt_moving *)(void *)(r->inputs + wide);
  r->own = (tt_cursor *)(void *)(r->moving + p->ntransfers + 1);
  r->waits = (uint32_t *)(void *)(r->own + n);
  r->open = r->waits + n;
  r->turn = r->open + n;
  return true;
}

/* Computes, for this slice, the address of block 0 in each buffer. Returns false if out of memory. */
static bool place_buffers(tt_run *r) {
  const tt_operation *o = r->o;
  const tt_sched *s = r->program->sched;
  const size_t element = o->reducer.element;
  uint64_t from = tt_slice_at(o, (uint32_t)r->slice);
  uint64_t n = tt_slice_at(o, (uint32_t)r->slice + 1) - from;
  const tt_partition cut = o->table                 ? tt_partition_table(o->table, s->blocks)
                           : tt_coll_owned(s->coll) ? tt_partition_fixed(o->call.count, s->blocks)
                                                    : tt_partition_even(n, element, s->blocks);
  const tt_partition result = tt_call_is_alltoallv(&o->call)
                                  ? tt_partition_table(o->table + s->blocks + 1, s->blocks)
                                  : cut;
  r->partition[TT_SRC] = cut;
  r->partition[TT_DST] = r->partition[TT_TMP] = result;
  uint32_t src, dst, end, none; /* src, dst: first block of each of the caller's buffers */
  tt_coll_src(s, &src, &end);
  tt_coll_dst(s, &dst, &none);
  const uint64_t src_at = tt_partition_at(&cut, src);
  const uint64_t dst_at = tt_partition_at(&result, dst);
  r->base[TT_SRC] = (uintptr_t)o->call.src + from * element - src_at * element;
  r->base[TT_DST] = (uintptr_t)o->call.dst + from * element - dst_at * element;
  r->layer = tt_round_up(tt_partition_at(&result, s->blocks) * element, 64);
  const size_t tmp = (s->tmp_blocks + s->blocks - 1) / s->blocks * r->layer;
  const size_t times = o->reducer.times ? tt_partition_at(&cut, end) - src_at : 0;
  const size_t need = tmp + times * element;
  if (need > r->scratch_bytes) {
    if (r->scratch) o->wire->memory->free(o->wire, r->scratch);
    r->scratch_bytes = 0;
    r->scratch = o->wire->memory->alloc(o->wire, need);
    if (!r->scratch) return false;
    r->scratch_bytes = need;
  }
  r->base[TT_TMP] = (uintptr_t)r->scratch;
  if (!times) return true;
  char *product = (char *)r->scratch + tmp; /* the scaled input, where peers may read it */
  tt_times(&o->reducer, product, (const char *)o->call.src + from * element, times);
  r->base[TT_SRC] = (uintptr_t)product - src_at * element;
  return true;
}

tutti_status tt_run_begin(tt_run *r, int slice) {
  const tt_program *p = r->program = r->o->program;
  r->slice = slice;
  if (!make_tables(r) || !place_buffers(r) || !tt_owed_begin(r))
    return tt_fail(TUTTI_ERR_MEMORY, "no memory for the scratch of %s", p->sched->name);
  memcpy(r->waits, p->waits, p->sched->nsteps * sizeof *r->waits);
  memset(r->turn, 0, p->npairs * sizeof *r->turn);
  r->sent = 0;
  if (r->o->wire->paced.level) {
    memset(r->moving, 0, p->ntransfers * sizeof *r->moving);
    tt_pace_over(r);
  }
  if (p->sched->ranks > r->o->wire->ranks) tt_share_begin(r);
  r->left = p->sched->nsteps;
  r->nopen = 0;
  r->active = true;
  for (uint32_t id = 0; id < p->sched->nsteps; id++)
    if (p->waits[id] == 0) open_step(r, id);
  return TUTTI_OK;
}

void tt_run_free(tt_run *r, tt_wire *wire) {
  if (!r) return;
  if (r->scratch) wire->memory->free(wire, r->scratch);
  tt_link_free(r);
  free(r->inputs);
  free(r);
}
