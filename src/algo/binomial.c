/* binomial.c - gather and scatter over a tree. The blocks of a subtree travel together.
 *
 * Idea       Ranks are numbered relative to the root. The ranks of a subtree of a k-nomial tree are consecutive, so their
 *            blocks are a single span, which wraps at P. In a gather, a member stores its block among those of its
 *            children and sends all of them up. In a scatter, it forwards its children's blocks and keeps its own.
 * Cost       At most ceil(log_K P) messages in sequence, and up to K-1 times as many at the root, which moves the vector
 *            once. A block is sent once for each level between its member and the root.
 * Scratch    One vector on inner members, which use only the blocks of their subtree.
 * Parameters radix=2..16 (2).
 * Source     Thakur, Rabenseifner, Gropp, Int. J. HPC Appl. 19(1), 2005.
 * See        tutti plan draw binomial -n 7 -c gather
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_pattern.h"

typedef struct member {
  tt_builder *b;
  const tt_ask *ask;
  int p;      /* this rank, counted from the root */
  tt_buf buf; /* buffer with the blocks of its subtree */
} member;

/* Returns the blocks of members p .. p + count - 1. */
static tt_span subtree_blocks(const member *m, int p, int count) {
  const int P = m->ask->ranks;
  return tt_range(m->buf, (uint32_t)((m->ask->root + p) % P), (uint32_t)count, (uint32_t)P);
}

static tt_peers ranks(const member *m, tt_peers members) {
  members.first = (m->ask->root + members.first) % m->ask->ranks;
  return members;
}

/* Receives blocks from a group of children if `get` is set, otherwise sends them. The last child may have fewer blocks. */
static void pass(const member *m, const tt_peers *group, bool get) {
  const int unit = group->stride, last = group->first + (group->count - 1) * unit;
  const int rest = m->ask->ranks - last < unit ? m->ask->ranks - last : 0;
  const tt_peers whole = ranks(m, (tt_peers){group->first, group->count - (rest > 0), unit});
  const int peer = ranks(m, tt_peer(last)).first;
  if (whole.count) {
    const tt_span span = subtree_blocks(m, group->first, whole.count * unit);
    (get ? tt_recv_split : tt_send_split)(m->b, whole, span);
  }
  if (rest) (get ? tt_recv : tt_send)(m->b, peer, subtree_blocks(m, last, rest));
}

/* Returns the number of members in the subtree of p. */
static int subtree_size(const tt_ask *ask, int p, int radix) {
  int64_t unit = 1;
  while (unit < ask->ranks && p / unit % radix == 0) unit *= radix;
  return unit < ask->ranks - p ? (int)unit : ask->ranks - p;
}

static void binomial_gather(const member *m, const tt_tree_node *k, int up, int size) {
  const uint32_t own = (uint32_t)m->ask->rank;
  if (size > 1 || up < 0) tt_copy(m->b, tt_block(m->buf, own), tt_block(TT_SRC, own));
  for (int i = 0; i < k->n; i++) pass(m, &k->down[i], true);
  if (up >= 0) tt_send(m->b, up, size > 1 ? subtree_blocks(m, m->p, size) : tt_block(TT_SRC, own));
}

static void binomial_scatter(const member *m, const tt_tree_node *k, int up, int size) {
  const uint32_t own = (uint32_t)m->ask->rank;
  if (up >= 0) tt_recv(m->b, up, size > 1 ? subtree_blocks(m, m->p, size) : tt_block(TT_DST, own));
  for (int i = k->n - 1; i >= 0; i--) pass(m, &k->down[i], false);
  if (size > 1 || up < 0) tt_copy(m->b, tt_block(TT_DST, own), tt_block(m->buf, own));
}

static void binomial_build(tt_builder *b, const tt_ask *ask) {
  member m = {b, ask, tt_mod((int64_t)ask->rank - ask->root, ask->ranks), TT_TMP};
  const int radix = tt_param_number(ask, "radix", 2);
  const tt_tree_node k = tt_tree_knomial(m.p, ask->ranks, radix);
  const int size = subtree_size(ask, m.p, radix);
  const int up = k.up < 0 ? -1 : ranks(&m, tt_peer(k.up)).first;
  const bool gathers = ask->coll == TUTTI_GATHER;
  if (up < 0) m.buf = gathers ? TT_DST : TT_SRC;
  (gathers ? binomial_gather : binomial_scatter)(&m, &k, up, size);
}

const tt_algo tt_binomial_algo = {
    .name = "binomial",
    .does = TT_DOES_ROOTED_BLOCKS,
    .params = {{"radix", TT_PARAM_NUMBER, .lo = 2, .hi = TT_RADIX,
                .wrong = "radix goes from 2 to 16"}},
    .blocks = tt_block_per_rank,
    .build = binomial_build,
    .plan = {{"radix=4", 3}, {"radix=8", 5}},
    .entries = {{"binomial", TT_CANDIDATE, "blocks of a subtree of a binomial tree go together",
                 "Thakur, Rabenseifner, Gropp 2005"}},
};
