/* cover_part.c - the part of the vector that each rank contributes and receives, computed independently of the
 * library.
 *
 * Idea       one vector for all: rank r's src and dst are parts of it. The right
 *            value of element i of dst is either a sum over ranks of element i, or an
 *            element of some rank's src.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cover.h"

/* Does the vector consist of one block per rank with data? */
static bool has_blocks(const cover_case *c) {
  return !cover_prefix(c->coll) && c->coll != TUTTI_ALLREDUCE && c->coll != TUTTI_BROADCAST &&
         c->coll != TUTTI_REDUCE && c->coll != TUTTI_BARRIER;
}

bool cover_varied(const cover_case *c) {
  return c->spread != COVER_EVEN && has_blocks(c);
}

/* An all-to-all, in which each pair of ranks has a count of its own. */
static bool in_pairs(const cover_case *c) {
  return c->coll == TUTTI_ALLTOALL && cover_varied(c);
}

size_t cover_count(const cover_case *c, int rank) {
  const uint64_t u = cover_mix(c->seed ^ (uint64_t)rank * 0x9e3779b97f4a7c15u);
  const int heir = (int)(c->seed % (uint64_t)(c->ranks - c->helpers));
  if (!cover_varied(c)) return c->count;
  switch (c->spread) {
    case COVER_UNEVEN: return (size_t)(u % (2 * c->count + 1));
    case COVER_FEW: return u % 3 ? 0 : c->count;
    case COVER_HEIR: return rank == heir ? c->count * (size_t)c->ranks : 0;
    case COVER_NONE: return 0;
    default: return c->count;
  }
}

size_t cover_pair(const cover_case *c, int from, int to) {
  const int low = from < to ? from : to, high = from < to ? to : from;
  const int data = c->ranks - c->helpers;
  if (from >= data || to >= data) return 0;
  /* in place, the two counts of a pair are equal */
  return cover_count(c, c->in_place ? low * c->ranks + high : from * c->ranks + to);
}

/* In elements: what `rank` sends to the ranks below `end`, or receives from them. */
static size_t sent_below(const cover_case *c, int rank, int end) {
  size_t n = 0;
  for (int r = 0; r < end; r++) n += cover_pair(c, rank, r);
  return n;
}

static size_t received_below(const cover_case *c, int rank, int end) {
  size_t n = 0;
  for (int r = 0; r < end; r++) n += cover_pair(c, r, rank);
  return n;
}

static cover_part block_of(const cover_case *c, int rank) {
  cover_part part = {0, cover_count(c, rank), true};
  for (int r = 0; r < rank; r++) part.from += cover_count(c, r);
  return part;
}

/* The longest vector of any rank. */
static size_t longest(const cover_case *c) {
  size_t most = 0;
  for (int r = 0; r < c->ranks; r++) {
    const size_t out = sent_below(c, r, c->ranks), in = received_below(c, r, c->ranks);
    most = out > most ? out : most;
    most = in > most ? in : most;
  }
  return most;
}

size_t cover_whole(const cover_case *c) {
  if (in_pairs(c)) return longest(c);
  return has_blocks(c) ? block_of(c, c->ranks - c->helpers).from : c->count;
}

static cover_part whole(const cover_case *c, bool there) {
  return (cover_part){0, there ? cover_whole(c) : 0, there};
}

/* Helpers contribute and receive nothing; a barrier has no vectors. */
static bool has_none(const cover_case *c, int rank) {
  return rank >= c->ranks - c->helpers || c->coll == TUTTI_BARRIER;
}

cover_part cover_src(const cover_case *c, int rank) {
  const bool from_root = c->coll == TUTTI_BROADCAST || c->coll == TUTTI_SCATTER;
  if (has_none(c, rank)) return whole(c, false);
  if (in_pairs(c)) return (cover_part){0, sent_below(c, rank, c->ranks), true};
  if (c->coll == TUTTI_ALLGATHER || c->coll == TUTTI_GATHER) return block_of(c, rank);
  return whole(c, !from_root || rank == c->root);
}

cover_part cover_dst(const cover_case *c, int rank) {
  const bool to_root = c->coll == TUTTI_REDUCE || c->coll == TUTTI_GATHER;
  if (has_none(c, rank)) return whole(c, false);
  if (in_pairs(c)) return (cover_part){0, received_below(c, rank, c->ranks), true};
  if (c->coll == TUTTI_REDUCE_SCATTER || c->coll == TUTTI_SCATTER) return block_of(c, rank);
  if (c->coll == TUTTI_EXSCAN) return whole(c, rank > 0);
  return whole(c, !to_root || rank == c->root);
}

bool cover_prefix(tutti_coll coll) {
  return coll == TUTTI_SCAN || coll == TUTTI_EXSCAN;
}

bool cover_reduces(tutti_coll coll) {
  return cover_prefix(coll) || coll == TUTTI_ALLREDUCE || coll == TUTTI_REDUCE_SCATTER ||
         coll == TUTTI_REDUCE;
}

int cover_summed(const cover_case *c, int rank) {
  if (c->coll == TUTTI_SCAN) return rank + 1;
  if (c->coll == TUTTI_EXSCAN) return rank;
  return cover_reduces(c->coll) ? c->ranks - c->helpers : 0;
}

int cover_origin(const cover_case *c, int rank, size_t i, size_t *at, size_t *run) {
  *at = i;
  *run = cover_whole(c) - i;
  if (c->coll == TUTTI_BROADCAST || c->coll == TUTTI_SCATTER) return c->root;
  int of = 0;
  if (in_pairs(c)) {
    while (i >= received_below(c, rank, of + 1)) of++;
    const size_t within = i - received_below(c, rank, of);
    *at = sent_below(c, of, rank) + within;
    *run = cover_pair(c, of, rank) - within;
    return of;
  }
  cover_part block = block_of(c, 0);
  while (i >= block.from + block.n) block = block_of(c, ++of);
  *run = block.from + block.n - i;
  if (c->coll == TUTTI_ALLTOALL) *at = block_of(c, rank).from + i - block.from;
  return of;
}
