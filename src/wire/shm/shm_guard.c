/* shm_guard.c - returns a rank's memory to its sole use after a communicator has failed.
 *
 * Idea       A rank that accesses a peer's memory first sets `inside` and then checks whether the
 *            communicator is over; a rank that ends it first publishes that and then checks
 *            `inside` of all peers. One of the two sees the other. A peer that was stopped inside
 *            could still write when it continues, so the memory it may write to is replaced by
 *            private pages with the same bytes at the same address. A peer known to be stopped is
 *            not waited for.
 * Cost       Per piece: a store that no other rank reads in the normal case, and a load.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process_state.h"
#include "shm_wire.h"

static const double limit = 2, between_looks = 0.02; /* s */

bool tt_guard_enter(tt_wire *w) {
  tt_ctrl *ctrl = tt_shm_of(w)->ctrls[w->rank];
  /* model: guard:inside */
  atomic_store(&ctrl->inside, 1);
  /* model: guard:look */
  if (!atomic_load(&ctrl->aborting_by)) return true;
  tt_guard_leave(w);
  return false;
}

void tt_guard_leave(tt_wire *w) {
  /* model: guard:leave */
  atomic_store_explicit(&tt_shm_of(w)->ctrls[w->rank]->inside, 0, memory_order_release);
}

static bool is_process_stopped(tt_wire *w, int rank) {
  const long pid = w->peer->pid(w, rank);
  return pid != (long)getpid() && tt_state_stopped(tt_process_state(pid, NULL));
}

bool tt_guard_quiesce(tt_wire *w) {
  tt_shm *s = tt_shm_of(w);
  char reason[TT_REASON];
  const tutti_status status = tt_ctrl_aborted(s->ctrls[w->rank], reason, sizeof reason);
  for (int r = 0; status && r < w->ranks; r++) tt_ctrl_abort(s->ctrls[r], status, reason);
  /* model: guard:fence */
  atomic_thread_fence(memory_order_seq_cst);
  double now = tt_seconds(), look = now + between_looks;
  const double until = now + limit;
  for (int r = 0; r < w->ranks; r++) /* model: guard:settle */
    while (r != w->rank && atomic_load(&s->ctrls[r]->inside)) {
      if (!w->peer->alive(w, r)) break;
      if ((now = tt_seconds()) > until) return false;
      if (now > look) {
        if (is_process_stopped(w, r)) return false;
        look = now + between_looks;
      }
      sched_yield();
    }
  return true;
}

void tt_guard_revoke(tt_wire *w, void *memory, size_t bytes) {
  tt_shm *s = tt_shm_of(w);
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *at = (char *)((uintptr_t)memory / page * page);
  const size_t size = tt_round_up((size_t)((char *)memory - at) + bytes, page);
  if (s->segment->threads || !bytes || !tt_shm_shared(s, memory, bytes)) return;
  void *own = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own == MAP_FAILED) return;
  memcpy(own, at, size);
  tt_heap_revoke(s->heap, at, size);
  if (mremap(own, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, at) == MAP_FAILED) munmap(own, size);
}
