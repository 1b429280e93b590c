/* kept_shares.c - what a member has sent to an aggregator, until all members have the sums of it.
 *
 * Idea       The members cannot make a sum themselves after the aggregator is lost, unless each still has what it
 *            sent: a caller may have changed its vector since, and in place the sum overwrites it. So
 *            a member copies what it sends. Every sum tells how many turns all members have the sums of.
 * Cost       a copy of each byte that is sent. In memory: the turns under way, mostly one.
 * Invariant  The queue begins with a head. No member asks for a turn that was dropped. Of the last turn some bytes may be
 *            missing, even if its sum has come: one that the member does not want is a head alone, and comes early.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "aggregator_member.h"

enum { LEAST = 64 << 10 };

/* Makes room for n bytes at the end. */
static bool make_room(tt_kept_shares *k, size_t n) {
  if (k->from == k->to) k->from = k->to = 0;
  if (n <= k->capacity - k->to) return true;
  const size_t have = k->to - k->from;
  if (k->from > k->capacity / 2 && n <= k->capacity - have) {
    memmove(k->at, k->at + k->from, have);
  } else {
    const size_t capacity = tt_max(tt_max(LEAST, 2 * k->capacity), have + n);
    char *at = malloc(capacity);
    if (!at) return false;
    if (have) memcpy(at, k->at + k->from, have);
    free(k->at);
    k->at = at;
    k->capacity = capacity;
  }
  k->from = 0;
  k->to = have;
  return true;
}

void tt_kept_add(tt_kept_shares *k, const void *bytes, size_t n) {
  if (!n || k->failed) return;
  if (!make_room(k, n)) {
    k->failed = true;
    return;
  }
  memcpy(k->at + k->to, bytes, n);
  k->to += n;
}

/* The head of the turn at a place; false: it is not whole. */
static bool head_at(const tt_kept_shares *k, size_t at, tt_aggregator_head *head) {
  if (at > k->to || k->to - at < sizeof *head) return false;
  memcpy(head, k->at + at, sizeof *head);
  return true;
}

void tt_kept_drop(tt_kept_shares *k, uint64_t got) {
  tt_aggregator_head head;
  while (!k->failed && k->turn < got && head_at(k, k->from, &head)) {
    k->from += sizeof head + (size_t)head.gives.bytes;
    k->turn++;
  }
}

bool tt_kept_find(const tt_kept_shares *k, uint64_t turn, uint64_t end, size_t *at, size_t *sums) {
  tt_aggregator_head head;
  size_t here = k->from;
  bool found = !k->failed && k->turn <= turn;
  *sums = 0;
  for (uint64_t t = k->turn; found && t < tt_max(turn, end); t++) {
    found = head_at(k, here, &head);
    if (!found) break;
    if (t == turn) *at = here;
    if (t >= turn) *sums += sizeof(tt_aggregator_sum) + (size_t)head.wants.bytes;
    here += sizeof head + (size_t)head.gives.bytes;
  }
  /* of the last turn a part may be kept: the run will send the rest */
  if (turn < end) return found;
  *at = here;
  return found && here <= k->to;
}

void tt_kept_free(tt_kept_shares *k) {
  free(k->at);
  *k = (tt_kept_shares){.failed = true};
}
