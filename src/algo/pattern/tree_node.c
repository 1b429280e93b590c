/* tree_node.c - the trees: chain, k-nomial and binary.
 *
 * Idea       All trees follow from the digits of a member's number. k-nomial: the parent's number is the member's without
 *            its lowest nonzero digit. Binary: if h is the lowest set bit of p, the children are p - h/2 and p + h/2. If
 *            p + h/2 is beyond the last member, the nearest valid member below replaces it. The root, member 0, has one
 *            child.
 * Cost       Depth n-1 (chain), ceil(log_radix n) (k-nomial), ceil(log2 n) (binary).
 * Source     binary: Sanders, Speck, Traeff, Parallel Computing 35(12), 2009, as in
 *            NCCL.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_pattern.h"

void tt_tree_node_add(tt_tree_node *k, tt_peers group) {
  if (group.count > 0 && k->n < TT_DOWN) k->down[k->n++] = group;
}

tt_tree_node tt_tree_chain(int p, int n) {
  tt_tree_node k = {.up = p - 1};
  if (p + 1 < n) tt_tree_node_add(&k, tt_peer(p + 1));
  return k;
}

tt_tree_node tt_tree_knomial(int p, int n, int radix) {
  tt_tree_node k = {.up = -1};
  int64_t unit = 1;
  for (; unit < n && p / unit % radix == 0; unit *= radix) {
    int64_t count = (n - 1 - p) / unit;
    if (count > radix - 1) count = radix - 1;
    tt_tree_node_add(&k, (tt_peers){p + (int)unit, (int)count, (int)unit});
  }
  if (p) k.up = p - (int)(p / unit % radix * unit);
  return k;
}

tt_tree_node tt_tree_binary(int p, int n) {
  tt_tree_node k = {.up = -1};
  int bit = 1;
  while (bit < n && !(p & bit)) bit *= 2;
  if (p) k.up = (p ^ bit) | 2 * bit;
  if (k.up >= n) k.up = p ^ bit;
  if (p && bit > 1) tt_tree_node_add(&k, tt_peer(p - bit / 2));
  for (bit /= 2; bit && p + bit >= n;) bit /= 2;
  if (bit) tt_tree_node_add(&k, tt_peer(p + bit));
  return k;
}
