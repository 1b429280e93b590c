/* fuzz_schedule.c - reads untrusted schedules.
 *
 * Invariant  a schedule is rejected with line and column, or its printed text reads back as the
 *            same schedule. A schedule that the prover accepts is correct in a random order of
 *            events, also in slices, and can be drawn.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"
#include "simulate.h"
#include "tutti_plan.h"

enum { MOST_RANKS = 64, MOST_STEPS = 500, MOST_MOVED = 20000 };

static void reads_back(tt_sched **all, int ranks) {
  tt_text t = {0};
  tt_sched **again;
  int n;
  tt_sched_print(&t, (const tt_sched *const *)all, ranks);
  need(t.at && !t.failed);
  if (tt_sched_parse(t.at, &again, &n)) {
    fprintf(stderr, "%s\n", tutti_error());
    need(!"the printed text can be read");
  }
  need(n == ranks);
  for (int r = 0; r < n; r++) {
    need(!all[r] == !again[r]);
    need(!all[r] || tt_sched_equal(all[r], again[r]));
  }
  tt_sched_free_all(again, n);
  free(t.at);
}

/* Returns true if the schedule is small enough to simulate. */
static bool is_small(tt_sched *const *all, int ranks) {
  uint64_t steps = 0, moved = 0;
  for (int r = 0; r < ranks && ranks <= MOST_RANKS; r++) {
    if (!all[r]) return true; /* will be rejected immediately */
    moved += (uint64_t)all[r]->blocks + all[r]->tmp_blocks;
    steps += all[r]->nsteps;
    for (uint32_t i = 0; i < all[r]->nsteps; i++) {
      const tt_step *s = &all[r]->steps[i];
      moved +=
          (uint64_t)tt_span_size(tt_step_cargo(s)) * (1 + s->inputs + (uint32_t)s->peers.count);
    }
  }
  return ranks <= MOST_RANKS && steps <= MOST_STEPS && moved <= MOST_MOVED;
}

static void sliced_is_proven(tt_sched *const *all, int ranks) {
  tt_sched *parts[MOST_RANKS];
  tutti_report report = {.size = sizeof report};
  if (tt_coll_owned(all[0]->coll)) return; /* one block per rank, so it is not sliced */
  for (int r = 0; r < ranks; r++) need(parts[r] = tt_sched_sliced(all[r], 3, 2));
  need(tt_prove(parts, ranks, &report) == TUTTI_OK && report.proven);
  for (int r = 0; r < ranks; r++) tt_sched_free(parts[r]);
}

static void is_drawn(const char *text) {
  static const tutti_picture pictures[] = {TUTTI_PICTURE_WORDS, TUTTI_PICTURE_JSON};
  for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++) {
    const tutti_drawing how = {.size = sizeof how, .picture = pictures[i], .rank = -1};
    char *picture;
    need(tutti_schedule_draw(text, &how, &picture) == TUTTI_OK);
    tutti_text_free(picture);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = fuzz_text(data, size);
  tt_sched **all;
  int ranks;
  if (tt_sched_parse(text, &all, &ranks) == TUTTI_OK) {
    reads_back(all, ranks);
    tutti_report report = {.size = sizeof report};
    if (is_small(all, ranks)) {
      need(tt_prove(all, ranks, &report) == TUTTI_OK);
      need(report.proven || *report.witness);
    }
    if (report.proven) {
      for (uint64_t seed = 0; seed < DELIVERIES; seed++)
        need(simulate(all, ranks, (delivery)seed, seed + 1) == RIGHT);
      sliced_is_proven(all, ranks);
      is_drawn(text);
    }
    tt_sched_free_all(all, ranks);
  } else {
    need(strstr(tutti_error(), "schedule, line ") && strstr(tutti_error(), ", column "));
  }
  free(text);
  return 0;
}
