/* joiners.c - processes that join a running job: the protocol words in the headers of their heaps.
 *
 * Idea       A joiner takes a heap that never had an owner, creates a control block and marks itself ready. The rank
 *            that leads an agreement (shm_agree.c) claims ready joiners for its communicator and lists them in the
 *            proposal. After the decision every member invites them to it, so they are admitted even if the leader
 *            fails. A joiner belongs to no communicator until it is invited.
 * Invariant  A joiner is claimed by one communicator at a time, and is invited once, to a proposal that was decided
 *            (models/grow.pml). A heap never has more than one owner.
 * Cost       When joiners are requested: a few loads for each heap reserved for them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <unistd.h>

#include "process_state.h"
#include "proposal.h"

enum { NOT_LIKE_US = 1 }; /* stored instead of an invitation if the joiner has another version */

uint32_t tt_version_number(void) {
  return (uint32_t)tt_mix_text(TT_LAYOUT, tutti_version(NULL, NULL, NULL)) | 1;
}

bool tt_heap_own(tt_head *head, int *owner, bool *self) {
  unsigned nobody = 0;
  const bool free = atomic_compare_exchange_strong(&head->join.owner, &nobody, (unsigned)getpid());
  if (free) head->join.space = tt_pid_space();
  *owner = (int)nobody;
  *self = *owner == (int)getpid() && head->join.space == tt_pid_space();
  return free;
}

/* ---- called by members ---- */

/* each ready, claimed, invited, owner, world, ended, refs: model: grow:words */

bool tt_heap_holds(const tt_segment *s, int64_t index, uint64_t ctrl) {
  const uint64_t lo = s->first + s->stride * (uint64_t)index;
  return index >= 0 && index < s->ranks && ctrl % TT_PAIR == 0 && ctrl >= lo && ctrl <= lo + s->stride - TT_CTRL_LEAST;
}

/* Returns true if the joiner is ready, alive, of the same version of tutti, and not claimed by any communicator but `by`. */
static bool stands_there(const tt_segment *s, int index, uint64_t by) {
  tt_head *head = tt_heap_head(s, index);
  const tt_intro *intro = tt_heap_intro(s, index);
  if (!atomic_load(&intro->ready) || atomic_load(&head->join.invited) || !tt_rank_alive(intro))
    return false;
  if (atomic_load(&intro->ready) != 1 + TT_LAYOUT || head->join.version != tt_version_number() ||
      !tt_heap_holds(s, index, atomic_load(&intro->world))) {
    atomic_store(&head->join.invited, NOT_LIKE_US);
    return false;
  }
  const uint64_t whose = atomic_load(&head->join.claimed);
  return !whose || whose == by;
}

/* Returns true if the process is alive, or has not arrived yet. */
static bool may_live(const tt_segment *s, int index) {
  const tt_intro *intro = tt_heap_intro(s, index);
  return intro->pid ? tt_rank_alive(intro) : !atomic_load(&intro->ended);
}

int tt_joiners_ready(const tt_segment *s, uint64_t by) {
  int n = 0;
  for (int i = s->founders; i < s->ranks; i++) n += stands_there(s, i, by);
  return n;
}

int tt_joiners_possible(const tt_segment *s) {
  int n = 0;
  for (int i = s->founders; i < s->ranks; i++)
    n += !atomic_load(&tt_heap_head(s, i)->join.invited) && may_live(s, i);
  return n;
}

int tt_joiners_claim(const tt_segment *s, uint64_t by, tt_member *members, int most) {
  int n = 0;
  for (int i = s->founders; i < s->ranks && n < most; i++) {
    tt_head *head = tt_heap_head(s, i);
    unsigned long long whose = 0;
    if (!stands_there(s, i, by)) continue;
    if (!atomic_compare_exchange_strong(&head->join.claimed, &whose, by) && whose != by) continue;
    members[n++] =
        (tt_member){.index = i, .joiner = 1, .ctrl = atomic_load(&tt_heap_intro(s, i)->world)};
  }
  return n;
}

static bool is_in(const tt_proposal *proposal, int index) {
  for (int i = 0; proposal && !proposal->status && i < proposal->ranks; i++)
    if (proposal->member[i].index == index) return true;
  return false;
}

void tt_joiners_release(const tt_segment *s, uint64_t by, const tt_proposal *proposal) {
  for (int i = s->founders; i < s->ranks; i++) {
    unsigned long long whose = by;
    if (!is_in(proposal, i))
      atomic_compare_exchange_strong(&tt_heap_head(s, i)->join.claimed, &whose, 0);
  }
}

void tt_joiners_admit(const tt_segment *s, const tt_proposal *proposal) {
  for (int i = 0; i < proposal->ranks; i++) {
    unsigned long long nobody = 0;
    if (proposal->member[i].joiner)
      atomic_compare_exchange_strong(&tt_heap_head(s, proposal->member[i].index)->join.invited,
                                     &nobody,
                                     (unsigned long long)((const char *)proposal - s->base));
  }
}

/* ---- called by the joiner ---- */

tutti_status tt_joiner_admitted(const tt_segment *s, int index, const tt_proposal **proposal) {
  const uint64_t at = atomic_load(&tt_heap_head(s, index)->join.invited);
  *proposal = NULL;
  if (!at) return TUTTI_OK;
  if (at == NOT_LIKE_US)
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "the ranks of this job use another version of tutti than this one");
  *proposal = (const tt_proposal *)(const void *)(s->base + at);
  return TUTTI_OK;
}

/* Returns true if any live rank can still admit this joiner. This includes founders that have not attached to the
 * segment yet, and joiners that were invited, because they are members of a communicator. */
bool tt_joiner_has_host(const tt_segment *s, int index) {
  for (int i = 0; i < s->ranks; i++) {
    if (i == index ||
        (i >= s->founders && atomic_load(&tt_heap_head(s, i)->join.invited) <= NOT_LIKE_US))
      continue;
    if (may_live(s, i)) return true;
  }
  return false;
}

void tt_proposal_release(const tt_proposal *proposal) {
  atomic_fetch_sub(&((tt_proposal *)(uintptr_t)proposal)->refs, 1);
}
