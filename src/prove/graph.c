/* graph.c - numbers the steps of all ranks consecutively and matches their messages.
 *
 * Idea       Check the shape and the bounds of every step, then match the k-th send from a to b, in the order of the
 *            steps, with the k-th receive from a on b.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prove.h"

bool tt_graph_refuse(tt_graph *g, uint32_t step, const char *format, ...) {
  if (g->refused) return false;
  g->refused = true;
  int rank = g->rank_of[step];
  uint32_t local = step - g->base[rank];
  tt_text line = {0};
  tt_step_print(&line, g->all[rank], local);
  char reason[300];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  const char *text = line.failed || !line.at ? "" : line.at + strspn(line.at, " 0123456789");
  snprintf(g->witness, g->witness_size, "rank %d step %u (%.*s): %s", rank, local,
           (int)tt_min(strcspn(text, "\n"), 70), text, reason);
  free(line.at);
  return false;
}

static bool check_peers(tt_graph *g, uint32_t id, const tt_sched *s, const tt_step *step) {
  if (tt_step_local(step)) return true;
  const tt_peers *p = &step->peers;
  bool among = step->kind == TT_RECV_REDUCE && step->side == TT_OWN_AMONG;
  int self = 0, others = 0;
  for (int i = 0; i < p->count; i++) {
    if (tt_peer_rank(p, i, s->ranks) == s->rank)
      self++;
    else
      others++;
    if (i && tt_mod((int64_t)i * p->stride, s->ranks) == 0)
      return tt_graph_refuse(g, id, "its peer range names a rank twice");
  }
  if (others == 0)
    return tt_graph_refuse(g, id, "it sends to no other rank, and receives from none");
  if (among && self != 1)
    return tt_graph_refuse(
        g, id, "it adds its own operand among its peers', but this rank is not one of its peers");
  if (!among && self && step->kind == TT_RECV_REDUCE)
    return tt_graph_refuse(g, id, "its peers include itself");
  if (p->count > 1 && step->kind == TT_RECV && !step->split)
    return tt_graph_refuse(g, id, "several peers would write the same blocks");
  if (step->split && step->kind == TT_RECV_REDUCE)
    return tt_graph_refuse(g, id, "a receive that reduces takes the whole span from each peer");
  if (step->split && tt_span_size(tt_step_cargo(step)) % (uint32_t)p->count != 0)
    return tt_graph_refuse(g, id, "its span does not split into %d parts", p->count);
  return true;
}

static bool check_step(tt_graph *g, uint32_t id) {
  int rank = g->rank_of[id];
  const tt_sched *s = g->all[rank];
  uint32_t local = id - g->base[rank];
  const tt_step *step = &s->steps[local];
  if (tt_span_size(tt_step_cargo(step)) == 0) return tt_graph_refuse(g, id, "its span is empty");
  if (!check_peers(g, id, s, step)) return false;
  if (!tt_coll_reduces(s->coll) && (step->kind == TT_REDUCE || step->kind == TT_RECV_REDUCE))
    return tt_graph_refuse(g, id, "it reduces, but %s has no op", tutti_coll_name(s->coll));
  if (step->completes && tt_coll_prefix(s->coll))
    return tt_graph_refuse(g, id, "it completes a sum, but no sum of %s covers all ranks",
                           tutti_coll_name(s->coll));
  for (uint32_t k = s->after_at[local]; k < s->after_at[local + 1]; k++)
    if (s->after[k] >= local) return tt_graph_refuse(g, id, "it waits for a later step");
  return tt_operands_right(g, id);
}

static bool number_steps(tt_graph *g) {
  g->base = calloc((size_t)g->ranks + 1, sizeof *g->base);
  if (!g->base) return false;
  for (int r = 0; r < g->ranks; r++) g->base[r + 1] = g->base[r] + g->all[r]->nsteps;
  g->nsteps = g->base[g->ranks];
  g->rank_of = malloc((g->nsteps + 1) * sizeof *g->rank_of);
  for (int r = 0; r < g->ranks; r++)
    g->nplaces = (uint32_t)tt_max(g->nplaces, tt_max(g->all[r]->blocks, g->all[r]->tmp_blocks));
  g->places = calloc((size_t)g->nplaces + 1, sizeof *g->places);
  if (!g->rank_of || !g->places) return false;
  for (int r = 0; r < g->ranks; r++)
    for (uint32_t i = g->base[r]; i < g->base[r + 1]; i++) g->rank_of[i] = r;
  return true;
}

/* A message as it appears in the list of sends or in the list of receives. Sorting puts both lists into the same order. */
typedef struct ending {
  int sender, reader;
  uint32_t step, entry;
  uint32_t place; /* index among all sends, or all receives, in the order of the steps */
} ending;

static int by_pair(const void *a, const void *b) {
  const ending *x = a, *y = b;
  if (x->sender != y->sender) return x->sender < y->sender ? -1 : 1;
  if (x->reader != y->reader) return x->reader < y->reader ? -1 : 1;
  return (x->place > y->place) - (x->place < y->place);
}

/* Lists either all sends or all receives, and returns their number. at[step] is the index of the first entry for a step. */
static uint32_t list_endings(const tt_graph *g, bool sends, uint32_t *at, ending *out) {
  uint32_t n = 0;
  for (uint32_t id = 0; id < g->nsteps; id++) {
    const tt_step *step = tt_graph_step(g, id);
    at[id] = n;
    if (sends ? step->kind != TT_SEND : !tt_step_receives(step)) continue;
    for (int i = 0; i < step->peers.count; i++) {
      int peer = tt_peer_rank(&step->peers, i, g->ranks), self = g->rank_of[id];
      if (peer == self) continue;
      if (out) out[n] = (ending){sends ? self : peer, sends ? peer : self, id, (uint32_t)i, n};
      n++;
    }
  }
  return at[g->nsteps] = n;
}

static bool same_pair(const ending *x, const ending *y) {
  return x->sender == y->sender && x->reader == y->reader;
}

static bool match_messages(tt_graph *g, const ending *out, const ending *in, uint32_t n_out,
                           uint32_t n_in) {
  uint32_t n = (uint32_t)tt_max(n_out, n_in);
  for (uint32_t i = 0; i < n; i++) {
    const ending *x = i < n_out ? &out[i] : NULL, *y = i < n_in ? &in[i] : NULL;
    if (!x || !y || !same_pair(x, y)) { /* the first in order has no counterpart */
      ending a = x ? *x : *y, b = y ? *y : *x;
      a.place = b.place = 0;
      if (x && (!y || by_pair(&a, &b) < 0))
        return tt_graph_refuse(g, x->step, "rank %d has no receive for this message", x->reader);
      return tt_graph_refuse(g, y->step, "rank %d has no send for this message", y->sender);
    }
    const tt_step *send = tt_graph_step(g, x->step), *recv = tt_graph_step(g, y->step);
    uint32_t lo, hi, to_lo, to_hi;
    tt_part_of(send, (int)x->entry, &lo, &hi);
    tt_part_of(recv, (int)y->entry, &to_lo, &to_hi);
    if (hi - lo != to_hi - to_lo ||
        !tt_same_shape(g->all[0], tt_step_cargo(send), lo, tt_step_cargo(recv), to_lo, hi - lo))
      return tt_graph_refuse(g, x->step, "rank %d step %u receives other blocks than these",
                             y->reader, y->step - g->base[y->reader]);
    g->messages[x->place] =
        (tt_message){x->step, y->step, x->sender, x->reader, x->entry, y->entry, UINT32_MAX};
    g->in[y->place] = x->place;
    const bool follows = i && same_pair(x, x - 1);
    g->before[x->place] = follows ? x[-1].place : UINT32_MAX;
    if (follows) g->messages[x[-1].place].next = x->place;
  }
  return true;
}

static bool match(tt_graph *g) {
  ending *out = NULL, *in = NULL;
  g->out_at = malloc(((size_t)g->nsteps + 1) * sizeof *g->out_at);
  g->in_at = malloc(((size_t)g->nsteps + 1) * sizeof *g->in_at);
  bool ok = g->out_at && g->in_at;
  if (ok) {
    const size_t n_out = list_endings(g, true, g->out_at, NULL);
    const size_t n_in = list_endings(g, false, g->in_at, NULL), n = tt_max(n_out, n_in) + 1;
    out = malloc(n * sizeof *out);
    in = malloc(n * sizeof *in);
    g->messages = malloc(n * sizeof *g->messages);
    g->in = malloc(n * sizeof *g->in);
    g->before = malloc(n * sizeof *g->before);
    ok = out && in && g->messages && g->in && g->before;
  }
  if (!ok) g->failed = true;
  if (ok) {
    g->nmessages = list_endings(g, true, g->out_at, out);
    const uint32_t n_in = list_endings(g, false, g->in_at, in);
    qsort(out, g->nmessages, sizeof *out, by_pair);
    qsort(in, n_in, sizeof *in, by_pair);
    ok = match_messages(g, out, in, g->nmessages, n_in);
  }
  free(out);
  free(in);
  return ok;
}

bool tt_graph_build(tt_graph *g, tt_sched *const *all, int ranks, char *witness, size_t size) {
  *g = (tt_graph){.all = all, .ranks = ranks, .witness = witness, .witness_size = size};
  if (!number_steps(g)) {
    g->failed = true;
    return false;
  }
  for (uint32_t id = 0; id < g->nsteps; id++)
    if (!check_step(g, id)) return false;
  if (!match(g)) return false;
  if (!tt_sched_followers(all, ranks, &g->deps_at, &g->deps)) g->failed = true;
  return !g->failed;
}

void tt_graph_free(tt_graph *g) {
  free(g->base);
  free(g->rank_of);
  free(g->messages);
  free(g->out_at);
  free(g->in_at);
  free(g->in);
  free(g->before);
  free(g->places);
  free(g->deps_at);
  free(g->deps);
}
