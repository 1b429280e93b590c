/* aggregate.c - switches that sum: extra ranks without data stand in a tree above the rest.
 *
 * Idea       every rank with data sends its vector once, to the switch that it hangs on,
 *            and gets the result once; a switch sums what up to K below it send, and
 *            passes it on; the top one sends the result down. Switches stand row by
 *            row, the lowest first, behind the ranks with data. Several trees at once
 *            have switches of their own, and a part of the vector each.
 * Cost       2 ceil(log_K D) steps, for D ranks with data, one of which sends 1 vector
 *            and receives 1; a switch sends up to K+1 and keeps 1, of its tree's part.
 * Scratch    on switches, up to a vector.
 * Invariant  those below a switch are neighbours, added in their order.
 * Parameters data=D, arity=2..64 (4), trees=1..16 (1). A tree has ceil(D/K) switches in
 *            its first row, and so on to one; P is D and the switches of all trees.
 * Source     Graham et al., Scalable Hierarchical Aggregation Protocol (SHARP), 2016.
 * See        tutti plan draw 'aggregate(data=4,arity=2)' -P 7
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "algo.h"

const char *tt_aggregate_refuse(const tt_ask *ask);
uint32_t tt_aggregate_blocks(const tt_ask *ask);
void tt_aggregate_build(tt_builder *b, const tt_ask *ask);
bool tt_aggregate_samples(int ranks, int i, char *params, size_t size);

enum { ARITY = 64, TREES = 16 };

typedef struct shape {
  int data, arity, trees;
} shape;

/* NULL, or what is wrong with the parameters. */
static const char *shape_of(const tt_ask *ask, shape *s) {
  if (!tt_param_int(ask, "data", 1, ask->ranks, 0, &s->data) || s->data == 0)
    return "it needs data=D, how many ranks bring data, as in aggregate(data=6,arity=3); the "
           "others sum";
  if (!tt_param_int(ask, "arity", 2, ARITY, 4, &s->arity)) return "arity goes from 2 to 64";
  if (!tt_param_int(ask, "trees", 1, TREES, 1, &s->trees)) return "trees go from 1 to 16";
  return NULL;
}

static int row_above(int members, int arity) {
  return (members + arity - 1) / arity;
}

static int switches(const shape *s) {
  int row = row_above(s->data, s->arity), all = row;
  while (row > 1) all += row = row_above(row, s->arity);
  return all;
}

const char *tt_aggregate_refuse(const tt_ask *ask) {
  const char *wrong = tt_param_refuse(ask, "data= arity= trees=");
  shape s;
  if (!wrong) wrong = shape_of(ask, &s);
  if (wrong || ask->ranks == s.data + s.trees * switches(&s)) return wrong;
  size_t size;
  char *text = tt_thread_text(&size);
  snprintf(text, size, "%d ranks with data need %d switches: P = %d", s.data,
           s.trees * switches(&s), s.data + s.trees * switches(&s));
  return text;
}

uint32_t tt_aggregate_blocks(const tt_ask *ask) {
  shape s;
  return shape_of(ask, &s) ? 1 : (uint32_t)s.trees;
}

/* Those below the i-th of a row of `arity`-fold parents; the row below begins at rank
 * `first` and has `members`. */
static tt_peers below(const shape *s, int first, int members, int i) {
  const int at = i * s->arity, left = members - at;
  return (tt_peers){first + at, left < s->arity ? left : s->arity, 1};
}

/* A switch with `under` it, and `up` above it, -1 on top. */
static void be_switch(tt_builder *b, tt_peers under, int up, tt_span sum) {
  tt_recv(b, under.first, sum);
  if (under.count > 1)
    tt_recv_reduce_all(b, (tt_peers){under.first + 1, under.count - 1, 1}, sum, sum, TT_OWN_FIRST);
  if (up < 0 && under.count > 1) tt_mark_last(b);
  if (up >= 0) {
    tt_send(b, up, sum);
    tt_recv(b, up, sum);
  }
  tt_send_all(b, under, sum);
}

void tt_aggregate_build(tt_builder *b, const tt_ask *ask) {
  shape s;
  if (shape_of(ask, &s)) return;
  tt_build_data(b, s.data);
  const int each = switches(&s);
  for (int t = 0; t < s.trees; t++) {
    int first = 0, members = s.data, above = s.data + t * each;
    const uint32_t part = (uint32_t)t;
    if (ask->rank < s.data) {
      tt_send(b, above + ask->rank / s.arity, tt_block(TT_SRC, part));
      tt_recv(b, above + ask->rank / s.arity, tt_block(TT_DST, part));
    }
    while (members > 1 || first == 0) {
      const int row = row_above(members, s.arity), i = ask->rank - above;
      const int next = row > 1 ? above + row + i / s.arity : -1;
      if (i >= 0 && i < row)
        be_switch(b, below(&s, first, members, i), next, tt_block(TT_TMP, part));
      first = above;
      above += row;
      members = row;
    }
  }
}

/* All that come out at this number of ranks. */
bool tt_aggregate_samples(int ranks, int i, char *params, size_t size) {
  for (int trees = 1; trees <= 3; trees++)
    for (int arity = 2; arity <= 6; arity++)
      for (int data = ranks - 1; data >= 1; data--) {
        const shape s = {data, arity, trees};
        if (data + trees * switches(&s) != ranks || i-- > 0) continue;
        snprintf(params, size, "data=%d,arity=%d,trees=%d", data, arity, trees);
        return true;
      }
  return false;
}
