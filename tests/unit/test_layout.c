/* The layout of a control block. For every number of ranks that a block may be made for, its parts are
 * consecutive and aligned, do not overlap, and end within the block. A communicator of fewer ranks uses no more
 * of each part than exists, whichever blocks it gets.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>

#include "shm_ctrl.h"

enum { MOST = 1024 };
static const int far[] = {4096, 65536, 1 << 20};

typedef struct part {
  const char *name;
  uint64_t at, bytes, align;
} part;

static size_t parts_of(const tt_layout *l, part *parts) {
  const uint64_t n = l->ranks, slots = TT_SLOTS * sizeof(tt_flag_slot);
  const part all[] = {
      {"header and directory", 0, sizeof(tt_ctrl) + n * sizeof(atomic_ullong), TT_PAIR},
      {"vote", l->vote, sizeof(tt_vote), alignof(tt_vote)},
      {"later", l->later, (uint64_t)(TT_SLOTS - TT_RECORDS) * l->later_bytes, TT_PAIR},
      {"own", l->own, slots + sizeof(tt_counters), 4096},
      {"slots", l->slots, n * slots, 4096},
      {"counters", l->counters, n * sizeof(tt_counters), alignof(tt_counters)},
  };
  const size_t used = l->slots ? 6 : 4;
  memcpy(parts, all, used * sizeof *parts);
  return used;
}

static void check_layout(int ranks, bool first) {
  const tt_layout l = tt_shm_layout(ranks, first);
  part parts[6];
  const size_t n = parts_of(&l, parts);
  uint64_t end = 0;
  assert_int_equal(l.ranks, ranks);
  assert_true(first == (l.slots != 0) && first == (l.counters != 0));
  for (size_t i = 0; i < n; i++) {
    if (parts[i].at < end || parts[i].at % parts[i].align)
      fail_msg("%d ranks, first %d: %s lies at %llu, the part before ends at %llu", ranks, first,
               parts[i].name, (unsigned long long)parts[i].at, (unsigned long long)end);
    const uint64_t step = parts[i].align > TT_PAIR ? parts[i].align : TT_PAIR;
    if (parts[i].at >= end + step)
      fail_msg("%d ranks, first %d: unused bytes before %s, from %llu to %llu", ranks, first,
               parts[i].name, (unsigned long long)end, (unsigned long long)parts[i].at);
    end = parts[i].at + parts[i].bytes;
  }
  if (end > l.bytes)
    fail_msg("%d ranks, first %d: the parts end at %llu of %llu", ranks, first,
             (unsigned long long)end, (unsigned long long)l.bytes);
}

static void parts_lie_within(void **state) {
  (void)state;
  for (int first = 0; first < 2; first++) {
    for (int ranks = 1; ranks <= MOST; ranks++) check_layout(ranks, first);
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) check_layout(far[i], first);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(parts_lie_within)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
