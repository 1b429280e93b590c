/* interleave.c - stacks for ranks, and the search (interleave.h). SPDX-License-Identifier: BSD-3-Clause */
#include "interleave.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

/* POINTS: per run; after these no rank is preempted. IDLE: a run counts as hung after this many switches without
 * progress. */
enum { STACK = 256 << 10, POINTS = 20000, IDLE = 20000, NOBODY = -1, EVENT = INTERLEAVE_RANKS };

typedef struct deviation {
  uint32_t at;
  int to; /* a rank or EVENT */
} deviation;

static const interleaving *all;
static ucontext_t back, place[INTERLEAVE_RANKS];
static char stacks[INTERLEAVE_RANKS][STACK];
static bool over[INTERLEAVE_RANKS], dead[INTERLEAVE_RANKS], sleeps[INTERLEAVE_RANKS];
static uint64_t moves[INTERLEAVE_RANKS], ns = 1000000000, state;
static int now = NOBODY, idle;
static bool event_is_over, follows /* the list */, finishing;
static deviation list[INTERLEAVE_BOUND];
static int length, followed;
static uint8_t can[POINTS]; /* for each point, the ranks that could have continued */
static uint32_t reached, longest;
static uint64_t runs;
char interleave_wrong[500];

/* ---- scheduling ---- */

static bool may_go_on(int rank) {
  return !over[rank] && (!dead[rank] || finishing) && (!sleeps[rank] || all->awake(rank));
}

static void go_to(int rank) {
  const int from = now;
  if (rank == from) return;
  now = rank;
  if (rank != NOBODY) sleeps[rank] = false;
  swapcontext(from == NOBODY ? &back : &place[from], rank == NOBODY ? &back : &place[rank]);
}

/* Returns the next rank that can run, or NOBODY if all have ended or are dead. */
static int next_of(int rank) {
  int waiting = NOBODY;
  for (int i = 1; i <= all->ranks; i++) {
    const int r = (rank + i) % all->ranks;
    if (may_go_on(r)) return r;
    if (!over[r] && (!dead[r] || finishing)) waiting = r;
  }
  if (waiting != NOBODY)
    interleave_fail("all that are not over sleep, rank %d for example", waiting);
  return NOBODY;
}

bool interleave_idle(void) {
  enum { PATIENT = 200 };
  if (now == NOBODY) return false;
  if (++idle > IDLE) interleave_fail("no end: rank %d waits for ever", now);
  if (idle > 2 * all->ranks) ns += 1000000;
  if (!all->keeps || idle % PATIENT == 0) go_to(next_of(now));
  return true;
}

void interleave_sleep(void) {
  sleeps[now] = true;
  const int next = next_of(now);
  if (next == now)
    sleeps[now] = false;
  else
    go_to(next);
}

void interleave_die(void) {
  dead[now] = true;
  go_to(next_of(now));
}

bool interleave_is_dead(int rank) {
  return dead[rank];
}

uint64_t interleave_moves(void) {
  return now == NOBODY ? 0 : moves[now];
}

void interleave_moved(void) {
  if (now == NOBODY) return;
  moves[now]++;
  idle = 0;
}

uint64_t interleave_time(void) {
  return ns += 1000;
}

void interleave_fail(const char *format, ...) {
  va_list args;
  if (!*interleave_wrong) {
    size_t n = 0;
    va_start(args, format);
    n += (size_t)vsnprintf(interleave_wrong, sizeof interleave_wrong, format, args);
    va_end(args);
    for (int i = 0; i < length && n < sizeof interleave_wrong; i++)
      n += (size_t)snprintf(
          interleave_wrong + n, sizeof interleave_wrong - n,
          list[i].to == EVENT ? "; at point %u the event" : "; at point %u rank %d continues",
          list[i].at, list[i].to);
  }
  if (now != NOBODY) go_to(NOBODY); /* never returns */
}

/* ---- points ---- */

static uint32_t draw(uint32_t below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % below;
}

static bool is_option(uint8_t options, int to) {
  return options >> to & 1;
}

/* Chooses which rank continues at this point; NOBODY stands for the same rank. */
static int choose(uint8_t options) {
  if (all->random) {
    const int to = (int)draw(6 * EVENT);
    return to <= EVENT && is_option(options, to) ? to : NOBODY;
  }
  if (followed == length || list[followed].at != reached) return NOBODY;
  const int to = list[followed++].to;
  if (!is_option(options, to)) interleave_fail("the run did not repeat itself");
  return to;
}

void interleave_point(void) {
  if (now == NOBODY || !follows || idle > 2 * all->ranks || reached == POINTS) return;
  uint8_t options = 0;
  for (int r = 0; r < all->ranks; r++)
    if (r != now && may_go_on(r)) options |= (uint8_t)(1 << r);
  if (all->event && !event_is_over) options |= 1 << EVENT;
  const int to = choose(options);
  can[reached++] = options;
  if (to == EVENT) {
    event_is_over = true;
    all->event(now);
  } else if (to != NOBODY) {
    go_to(to);
  }
}

/* ---- one run, and the search ---- */

static void live(int rank) {
  all->act(rank);
  over[rank] = true;
  interleave_moved();
  go_to(next_of(rank));
}

static void run(void) {
  memset(over, 0, sizeof over);
  memset(dead, 0, sizeof dead);
  memset(sleeps, 0, sizeof sleeps);
  memset(moves, 0, sizeof moves);
  idle = followed = 0;
  reached = 0;
  event_is_over = false;
  all->begin();
  for (int r = 0; r < all->ranks; r++) {
    getcontext(&place[r]);
    place[r].uc_stack.ss_sp = stacks[r];
    place[r].uc_stack.ss_size = STACK;
    makecontext(&place[r], (void (*)(void))live, 1, r);
  }
  follows = true;
  go_to(0);
  follows = false;
  if (*interleave_wrong) return;
  if (followed < length) interleave_fail("the run did not come to point %u", list[followed].at);
  runs++;
  longest = reached > longest ? reached : longest;
  all->end();
}

void interleave_finish(void) {
  finishing = true;
  idle = 0;
  const int first = next_of(0);
  if (first != NOBODY) go_to(first);
  finishing = false;
}

static bool has_event(void) {
  for (int i = 0; i < length; i++)
    if (list[i].to == EVENT) return true;
  return false;
}

/* Runs the list, and all longer lists with additional deviations at point `from` or later. */
static void search(uint32_t from) {
  run();
  if (length == all->bound || *interleave_wrong) return;
  const bool only_event = all->event && !has_event() && length + 1 == all->bound;
  const uint32_t to = reached;
  uint8_t *options = malloc(to + 1);
  memcpy(options, can, to);
  for (uint32_t i = from; i < to && !*interleave_wrong; i++)
    for (int r = only_event ? EVENT : 0; r <= EVENT && !*interleave_wrong; r++) {
      if (!is_option(options[i], r)) continue;
      list[length++] = (deviation){i, r};
      search(i + 1);
      length--;
    }
  free(options);
}

uint64_t interleave(const interleaving *what, uint32_t *points) {
  all = what;
  now = NOBODY;
  length = 0;
  state = all->random;
  *interleave_wrong = 0;
  run(); /* a first run, which is not counted, for actions that happen only once */
  runs = longest = 0;
  if (all->random)
    run();
  else
    search(0);
  *points = longest;
  return runs;
}
