/* coded.c - the messages of a run; those to ranks that share no memory may be compressed (code.h).
 *
 * Idea       Steps send and receive numbers, and are not affected by compression. For each far rank there are an outgoing
 *            frame, an incoming frame, and a buffer for the decompressed numbers of the incoming one.
 * Cost       96 KiB for each far rank that a run communicates with, kept until the run is freed.
 * Invariant  A frame compresses numbers of one message and of one block of the vector, in whole TT_CODE_BLOCKs counted from
 *            the start of the block. The same numbers therefore have the same codes in every message, and complete sums,
 *            which were rounded (run.c), arrive unchanged. The wire to a far rank copies the bytes that it accepts.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

typedef struct tt_coded {
  _Alignas(64) char numbers[TT_FRAME_RAW]; /* decoded numbers */
  size_t ready, used;                      /* bytes of `numbers` that are decoded; that were used */
  tt_stamp stamp;                          /* stamp of the operation that they belong to */
  size_t got;                              /* bytes of `in` that have arrived */
  size_t sent, have, stands_for;           /* of `out`: bytes sent, bytes in total, decoded size */
  char in[TT_FRAME], out[TT_FRAME];
} tt_coded;

static bool is_coded(const tt_run *r, int peer) {
  return r->o->coding.code && peer < r->o->wire->ranks && r->o->coding.far[peer];
}

/* Returns the state of compressed messages to and from a peer. If out of memory, returns NULL and sets *status. */
static tt_coded *coded_with(tt_run *r, int peer, tutti_status *status) {
  if (!r->coded) r->coded = calloc((size_t)r->o->wire->ranks, sizeof *r->coded);
  if (r->coded && !r->coded[peer] &&
      !posix_memalign((void **)&r->coded[peer], 64, sizeof(tt_coded))) {
    tt_coded *c = r->coded[peer];
    c->ready = c->used = c->got = c->sent = c->have = c->stands_for = 0;
  }
  if (r->coded && r->coded[peer]) return r->coded[peer];
  *status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for coded messages to rank %d", peer);
  return NULL;
}

void tt_link_free(tt_run *r) {
  for (int i = 0; r->coded && i < r->o->wire->ranks; i++) free(r->coded[i]);
  free(r->coded);
  free(r->fresh);
  r->coded = NULL;
  r->fresh = NULL;
}

/* ---- rounding errors ---- */

/* Returns true if all blocks of a span are marked, apart from those that are not sent. */
static bool all_marked(const uint8_t *marks, const tt_span *span, tt_gap skip) {
  for (uint32_t i = 0; i < tt_span_size(span); i++)
    if ((i < skip.lo || i >= skip.hi) && !marks[tt_span_block(span, i)]) return false;
  return true;
}

/* Determines which sends take kept rounding errors into account: those of inputs, and of partial sums that this rank neither
 * received nor completed. Sends to several ranks ignore the errors, because all ranks must get the same numbers. */
bool tt_owed_begin(tt_run *r) {
  const tt_sched *s = r->program->sched;
  free(r->fresh);
  r->fresh = NULL;
  if (!r->o->call.owed || !tt_code_lossy(r->o->coding.code)) return true;
  uint8_t *marks[TT_BUF_COUNT];
  r->fresh = calloc((size_t)s->nsteps + 2 * s->blocks + s->tmp_blocks + 1, 1);
  if (!r->fresh) return false;
  marks[TT_SRC] = r->fresh + s->nsteps;
  marks[TT_DST] = marks[TT_SRC] + s->blocks;
  marks[TT_TMP] = marks[TT_DST] + s->blocks;
  uint32_t lo, hi;
  tt_coll_src(s, &lo, &hi);
  memset(marks[s->in_place ? TT_DST : TT_SRC] + lo, 1, hi - lo);
  for (uint32_t id = 0; id < s->nsteps; id++) {
    const tt_step *step = &s->steps[id];
    const tt_gap skip = tt_self_part(s, step);
    if (step->kind == TT_SEND) {
      const bool one = step->split || step->peers.count == 1;
      r->fresh[id] = one && all_marked(marks[step->own.buf], &step->own, skip);
      continue;
    }
    for (uint32_t i = 0; i < tt_span_size(&step->dst); i++) {
      if (i >= skip.lo && i < skip.hi) continue;
      const bool copy = step->kind == TT_COPY;
      marks[step->dst.buf][tt_span_block(&step->dst, i)] =
          copy ? marks[step->own.buf][tt_span_block(&step->own, i)]
               : step->kind != TT_RECV && !step->completes;
    }
  }
  return true;
}

static float remainder_of(float x, float rounded) {
  const float rest = x - rounded;
  return rest - rest == 0 ? rest : 0; /* an infinity or a NaN leaves no error */
}

void tt_owed_round(tt_code code, float *x, float *owed, size_t n) {
  float y[TT_CODE_BLOCK];
  if (!owed) tt_code_round(code, x, n);
  for (size_t at = 0; owed && at < n; at += TT_CODE_BLOCK) {
    const size_t m = tt_min(n - at, (size_t)TT_CODE_BLOCK);
    for (size_t i = 0; i < m; i++) x[at + i] = y[i] = x[at + i] + owed[at + i];
    tt_code_round(code, x + at, m);
    for (size_t i = 0; i < m; i++) owed[at + i] = remainder_of(y[i], x[at + i]);
  }
}

/* Compresses numbers into a frame. If `owed` is not NULL, adds these rounding errors to the numbers first, and updates them. */
static size_t make_frame(tt_code code, tutti_type type, const void *from, float *owed, size_t bytes,
                         void *frame, size_t *taken) {
  float x[TT_FRAME_RAW / sizeof(float)], y[TT_FRAME_RAW / sizeof(float)];
  const float *numbers = from;
  if (!owed) return tt_frame_make(code, type, from, bytes, frame, taken);
  const size_t most = tt_min(bytes / sizeof *x, sizeof x / sizeof *x);
  for (size_t i = 0; i < most; i++) x[i] = numbers[i] + owed[i];
  const size_t size = tt_frame_make(code, type, x, most * sizeof *x, frame, taken);
  tt_frame_open(code, type, frame, y);
  for (size_t i = 0; i < *taken / sizeof *x; i++) owed[i] = remainder_of(x[i], y[i]);
  return size;
}

/* ---- out ---- */

size_t tt_link_push(tt_run *r, int peer, const void *bytes, float *owed, size_t n, size_t left,
                    uint64_t *ticket, tutti_status *status) {
  const tt_operation *o = r->o;
  tt_wire *to = tt_wire_to(o, peer);
  const tt_channel_ops *channel = to->channel;
  if (!is_coded(r, peer))
    return channel->push(to, peer, r->lane, o->stamp, bytes, n, left, ticket, status);
  tt_coded *c = coded_with(r, peer, status);
  if (!c) return 0;
  if (!c->have)
    c->have = make_frame(o->coding.code, o->call.type, bytes, owed, n, c->out, &c->stands_for);
  while (c->sent < c->have) {
    const size_t rest = c->have - c->sent;
    const size_t taken = channel->push(o->wire, peer, r->lane, o->stamp, c->out + c->sent, rest,
                                       rest, ticket, status);
    if (!taken) return 0;
    c->sent += taken;
  }
  c->sent = c->have = 0;
  return c->stands_for;
}

/* ---- in ---- */

/* Receives part of a frame of compressed numbers. Returns true once the frame is complete and decompressed. */
static bool take_frame(tt_run *r, int peer, tt_coded *c, size_t n, tutti_status *status) {
  const tt_operation *o = r->o;
  size_t size = TT_FRAME_HEAD, numbers = 0;
  bool right = c->got < TT_FRAME_HEAD || tt_frame_sizes(c->in, &size, &numbers);
  if (right) {
    n = tt_min(n, size - c->got);
    if (!tt_wire_to(o, peer)->channel->pull(tt_wire_to(o, peer), peer, r->lane, c->in + c->got, n,
                                            status))
      return false;
    c->got += n;
    if (c->got < size || size == TT_FRAME_HEAD) return false;
    right = tt_frame_open(o->coding.code, o->call.type, c->in, c->numbers);
  }
  if (!right)
    *status =
        tt_fail(TUTTI_ERR_SYSTEM, "rank %d sent an invalid %s code: do both run the same version of tutti?",
                peer, tt_code_name(o->coding.code));
  c->got = c->used = 0;
  c->ready = right ? numbers : 0;
  c->stamp = o->stamp;
  return right;
}

size_t tt_link_head(tt_run *r, int peer, tt_stamp *stamp, tutti_status *status) {
  const tt_operation *o = r->o;
  if (!is_coded(r, peer))
    return tt_wire_to(o, peer)->channel->head(tt_wire_to(o, peer), peer, r->lane, stamp);
  tt_coded *c = coded_with(r, peer, status);
  size_t n;
  if (!c) return 0;
  *stamp = c->stamp;
  if (c->used < c->ready) return c->ready - c->used;
  while (!*status &&
         (n = tt_wire_to(o, peer)->channel->head(tt_wire_to(o, peer), peer, r->lane, stamp)) > 0) {
    if (stamp->seq != o->stamp.seq || stamp->hash != o->stamp.hash) return n; /* another call */
    if (take_frame(r, peer, c, n, status)) return c->ready;
  }
  return 0;
}

bool tt_link_came(const tt_run *r, int peer) {
  const tt_operation *o = r->o;
  const tt_coded *c = is_coded(r, peer) && r->coded ? r->coded[peer] : NULL;
  tt_stamp stamp;
  return (c && c->used < c->ready) ||
         tt_wire_to(o, peer)->channel->head(tt_wire_to(o, peer), peer, r->lane, &stamp) > 0;
}

const void *tt_link_view(tt_run *r, int peer, size_t *n, tutti_status *status) {
  const tt_operation *o = r->o;
  if (!is_coded(r, peer))
    return tt_wire_to(o, peer)->channel->view(tt_wire_to(o, peer), peer, r->lane, n, status);
  const tt_coded *c = r->coded[peer];
  *n = tt_min(*n, c->ready - c->used);
  return c->numbers + c->used;
}

void tt_link_release(tt_run *r, int peer, size_t n) {
  if (is_coded(r, peer))
    r->coded[peer]->used += n;
  else
    tt_wire_to(r->o, peer)->channel->release(tt_wire_to(r->o, peer), peer, r->lane, n);
}

void tt_link_expect(tt_run *r, int peer, void *to, size_t n, size_t left) {
  if (!is_coded(r, peer))
    tt_wire_to(r->o, peer)->channel->expect(tt_wire_to(r->o, peer), peer, r->lane, to, n, left);
}

bool tt_link_pull(tt_run *r, int peer, void *to, size_t n, tutti_status *status) {
  if (!is_coded(r, peer))
    return tt_wire_to(r->o, peer)
        ->channel->pull(tt_wire_to(r->o, peer), peer, r->lane, to, n, status);
  memcpy(to, r->coded[peer]->numbers + r->coded[peer]->used, n);
  r->coded[peer]->used += n;
  return true;
}
