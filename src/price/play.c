/* play.c - plays schedules against a clock, greedily: what is ready first goes first.
 *
 * Idea       a heap holds what is ready and when: steps that want their processor,
 *            messages that want a port. Each remembers what it waited for last, so the
 *            critical path is a walk back from what ended last. Where several wait for
 *            a port, the one that is written first has it first.
 * Cores      that ranks share, up to FEW of them: each rank has one, and takes its turn there; or,
 *            where they `roam`, as the kernel moves those that it wakes, the one that is free first.
 * Cost       O(n log n) for n steps and messages.
 * Invariant  the time is the sum of what lies on that walk. Ties go by number, so every
 *            rank that plays the same sees the same.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "play.h"

#define NOTHING UINT32_MAX
enum { FEW = 32 }; /* ranks */

typedef struct server {
  double free;
  uint32_t last; /* who had it last */
} server;

typedef struct stage {
  const tt_play *play;
  double bytes, moved; /* of the vector; and as many in the cache would cost as much to move: ... */
  double spilt, per_byte; /* ... this line */
  tt_moment *moment;
  tt_event *heap;
  uint32_t waiting, ended;
  uint32_t
      cores; /* that players share: each goes on with who came first; 0: each player has its own */
  server *processor, *out, *in, *slice;
} stage;

/* ---- the heap: earliest first; then steps before messages, what is written first ---- */

__extension__ typedef unsigned __int128 place;

/* Without a branch: the bits of times, which are not negative, sort as they do. */
static place place_of(const tt_event *e) {
  uint64_t at;
  memcpy(&at, &e->at, sizeof at);
  return (place)at << 64 | e->order;
}

static bool before(const tt_event *a, const tt_event *b) {
  return place_of(a) < place_of(b);
}

static void push(stage *s, double at, uint32_t what) {
  const tt_play *play = s->play;
  uint32_t i = s->waiting++, d = what;
  if (what >= play->steps) d = (what - play->steps) % play->deals;
  const uint64_t message = what >= play->steps;
  const uint32_t turn = play->job[message ? play->deal[d].from : what].turn;
  const tt_event e = {at, message << 63 | (uint64_t)turn << 32 | what};
  for (; i > 0 && before(&e, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
    s->heap[i] = s->heap[(i - 1) / 2];
  s->heap[i] = e;
}

static tt_event pop(stage *s) {
  const tt_event top = s->heap[0], e = s->heap[--s->waiting];
  uint32_t i = 0;
  for (uint32_t k = 1; k < s->waiting; k = 2 * i + 1) {
    k += k + 1 < s->waiting && before(&s->heap[k + 1], &s->heap[k]);
    if (before(&e, &s->heap[k])) break;
    s->heap[i] = s->heap[k];
    i = k;
  }
  s->heap[i] = e;
  return top;
}

/* ---- what happens ---- */

/* One of what a step waited for is there. */
static void come(stage *s, uint32_t step, double at, uint32_t cause) {
  tt_moment *m = &s->moment[step];
  if (m->cause == NOTHING || at > m->ready) {
    m->ready = at;
    m->cause = cause;
  }
  if (--m->needs == 0) push(s, m->ready, step);
}

static void end_step(stage *s, uint32_t step, double at, uint32_t cause) {
  tt_moment *m = &s->moment[step];
  if (at >= m->end) m->end = at;
  for (uint32_t i = s->play->then_at[step]; i < s->play->then_at[step + 1]; i++)
    come(s, s->play->then[i], m->end, cause);
}

/* Of any level; where they are not apart, those of the others are the first of these. */
static int most_ports(const tt_profile *p) {
  int most = 1;
  for (int l = 0; l < p->levels; l++)
    if (p->reach[l].ports > most) most = p->reach[l].ports;
  return most;
}

/* The port of a player for messages of a level that is free first. */
static server *earliest(const tt_profile *p, server *all, uint32_t player, int level) {
  const int first = p->apart ? (int)player * p->levels + level : (int)player;
  server *ports = all + first * most_ports(p), *best = ports;
  for (int i = 1; i < tt_ports(&p->reach[level]); i++)
    if (ports[i].free < best->free) best = &ports[i];
  return best;
}

static bool buffered(const tt_profile *p) {
  return p->copy > 0 && !p->lent;
}

/* Is the server free? If not, `what` comes again when it is: then those that wait go by
 * the order in which they are written. */
static bool is_free(stage *s, const server *x, double at, uint32_t what, tt_moment *m) {
  if (x->free <= at) return true;
  m->cause = x->last;
  push(s, x->free, what);
  return false;
}

/* A message that is read as it is written: its reader is not done before its last piece,
 * which it copies when its writer is done. */
static void lag(stage *s, uint32_t d) {
  const tt_play *play = s->play;
  const tt_deal *deal = &play->deal[d];
  const tt_job *to = &play->job[deal->to];
  tt_moment *m = &s->moment[deal->to];
  const double all = s->moved * to->copying + s->bytes * to->reducing;
  const double bytes = s->bytes * deal->share;
  const double rest = bytes > play->profile.piece ? all * play->profile.piece / bytes : all;
  const double floor = s->moment[deal->from].end + play->profile.reach[deal->level].delay + rest;
  if (floor <= m->floor) return;
  m->floor = floor;
  m->rest = floor - s->moment[deal->from].end;
  m->writer = deal->from;
}

/* B of the vector that take their time on a message's link. */
static double charged(const stage *s, const tt_deal *d) {
  const double saved = s->play->saved[d->narrowest];
  return s->bytes > saved ? s->bytes - saved : 0;
}

/* The core of a player, or the one that is free first. */
static server *core_of(stage *s, uint32_t player) {
  server *best = &s->processor[s->cores ? player % s->cores : player];
  for (uint32_t i = 0; i < s->cores && s->play->profile.roam; i++)
    if (s->processor[i].free < best->free) best = &s->processor[i];
  return best;
}

/* A message that has come is handled before its reader's step. */
static void take_in(stage *s, double at, uint32_t d) {
  const tt_play *play = s->play;
  const tt_deal *deal = &play->deal[d];
  const uint32_t came = play->steps + play->deals + d, what = came + play->deals;
  const double there = at + play->profile.reach[deal->level].delay;
  server *cpu = core_of(s, deal->reader);
  const bool waits = cpu->free > at;
  tt_moment *m = &s->moment[what];
  m->cause = waits ? cpu->last : came;
  m->end = (waits ? cpu->free : at) + deal->again;
  *cpu = (server){m->end, what};
  come(s, deal->to, m->end > there ? m->end : there, m->end > there ? what : came);
}

/* A message comes through a port of its reader. */
static void enter(stage *s, double at, uint32_t d) {
  const tt_play *play = s->play;
  const tt_profile *p = &play->profile;
  const tt_deal *deal = &play->deal[d];
  const uint32_t what = play->steps + play->deals + d;
  tt_moment *m = &s->moment[what], *from = &s->moment[deal->from];
  server *in = earliest(p, p->half ? s->out : s->in, deal->reader, deal->level);
  if (!is_free(s, in, at, what, m)) return;
  m->end = at + p->reach[deal->level].alpha + deal->way + charged(s, deal) * deal->slope;
  *in = (server){m->end, what};
  if (p->piece > 0) lag(s, d);
  if (deal->again > 0 && !play->idle)
    push(s, m->end, what + play->deals);
  else
    come(s, deal->to, m->end + p->reach[deal->level].delay, what);
  if (!buffered(p) && --from->needs == 0) end_step(s, deal->from, m->end, what);
}

/* The next one of a step wants a port when this one has left, and it is handled. */
static void begin_next(stage *s, double at, uint32_t d) {
  const tt_play *play = s->play;
  const uint32_t what = play->steps + d;
  const double early = play->idle ? 0 : play->deal[d + 1].early;
  const double ready = s->moment[play->deal[d].from].end - early;
  const bool later = play->profile.roam && ready > at;
  s->moment[what + 1].cause = later ? play->deal[d].from : s->moment[what].cause;
  s->moment[what + 1].rest = later ? early : s->moment[what].rest;
  push(s, later ? ready : at, what + 1);
}

/* It leaves through one of its sender, and begins to come at once; half duplex ports
 * rather send first. The next one of its step wants a port too. */
static void leave(stage *s, double at, uint32_t d) {
  const tt_play *play = s->play;
  const tt_profile *p = &play->profile;
  const tt_deal *deal = &play->deal[d];
  const uint32_t what = play->steps + d;
  server *out = earliest(p, s->out, deal->sender, deal->level);
  if (!is_free(s, out, at, what, &s->moment[what])) return;
  const server busy = {
      at + p->reach[deal->level].alpha + deal->way + charged(s, deal) * deal->slope, what};
  if (p->apart) { /* still, of a slice one message at a time */
    server *mine = &s->slice[deal->sender * play->slices + d / (play->deals / play->slices)];
    if (!is_free(s, mine, at, what, &s->moment[what])) return;
    *mine = busy;
  }
  *out = busy;
  s->moment[what].end = out->free;
  s->moment[what + play->deals].cause = s->moment[what].cause;
  s->moment[what + play->deals].rest = s->moment[what].rest;
  if (d + 1 < play->deal_at[deal->from + 1]) begin_next(s, at, d);
  const server *in = earliest(p, s->in, deal->reader, deal->level);
  if (!p->half && tt_ports(&p->reach[deal->level]) == 1 && in->free <= at)
    enter(s, at, d);
  else /* others may be waiting there */
    push(s, at, what + play->deals);
}

/* A step has its turn on its processor. */
static void work(stage *s, double at, uint32_t step) {
  const tt_play *play = s->play;
  const tt_job *job = &play->job[step];
  tt_moment *m = &s->moment[step];
  const double takes =
      play->idle ? 0 : job->processor + s->moved * job->copying + s->bytes * job->reducing;
  server *cpu = core_of(s, job->player);
  if (takes > 0 && s->cores && cpu->free > at) {
    m->cause = cpu->last;
    at = cpu->free;
  }
  if (takes > 0 && !is_free(s, cpu, at, step, m)) return;
  m->end = at + takes;
  if (m->floor > m->end)
    m->end = m->floor;
  else
    m->rest = 0;
  if (takes > 0) *cpu = (server){m->end, step};
  s->ended++;
  const uint32_t lo = play->deal_at[step], hi = play->deal_at[step + 1];
  m->needs = hi - lo;
  if (lo == hi || buffered(&play->profile)) end_step(s, step, m->end, step);
  if (lo == hi) return;
  s->moment[play->steps + lo].cause = step;
  const double bytes = s->bytes * play->deal[lo].share, piece = play->profile.piece;
  const double early = play->idle                   ? 0
                       : play->profile.roam         ? play->deal[lo].early
                       : piece > 0 && bytes > piece ? s->moved * job->copying * (1 - piece / bytes)
                                                    : 0;
  s->moment[play->steps + lo].rest = early; /* it leaves before its step ends */
  push(s, m->end - early, play->steps + lo);
}

/* ---- the whole ---- */

/* Of very many ranks it only counts what all have to do (share_cores), which takes less time to say. */
static uint32_t shared_cores(const tt_play *play) {
  const double cores = play->profile.cores;
  const uint32_t whole = cores > 1 ? (uint32_t)cores : 1;
  return cores > 0 && whole < (uint32_t)play->players && play->players <= FEW ? whole : 0;
}

static bool set_up(stage *s, tt_play *play, double bytes) {
  const tt_profile *p = &play->profile;
  const size_t n = (size_t)play->steps + (p->roam ? 3 : 2) * (size_t)play->deals;
  const size_t players = (size_t)play->players;
  const size_t ports = players * (size_t)(most_ports(p) * (p->apart ? p->levels : 1));
  *s = (stage){.play = play,
               .bytes = bytes,
               .moment = play->moment,
               .heap = play->event,
               .cores = shared_cores(play)};
  const bool spills = p->cache > 0 && bytes > p->cache;
  s->per_byte = spills ? p->beyond : 1;
  s->spilt = spills ? p->cache * (1 - p->beyond) : 0;
  s->moved = s->spilt + s->per_byte * bytes;
  s->processor = calloc(players + 2 * ports + players * play->slices, sizeof *s->processor);
  if (!s->processor) return false;
  s->out = s->processor + players;
  s->in = s->out + ports;
  s->slice = s->in + ports;
  for (size_t i = 0; i < n; i++)
    s->moment[i] = (tt_moment){.cause = NOTHING, .needs = i < play->steps ? play->job[i].needs : 0};
  for (uint32_t i = 0; i < play->steps; i++)
    if (!play->job[i].needs) push(s, 0, i);
  return true;
}

/* Add up what lies on the way back from `what`. */
static void walk_back(const stage *s, uint32_t what, tt_terms *t) {
  const tt_play *play = s->play;
  uint32_t next = NOTHING;
  double early = 0; /* how long before the end of the step its message left */
  while (what != NOTHING) {
    const tt_moment *m = &s->moment[what];
    if (what < play->steps && m->rest > 0) { /* the last piece, after its writer's end */
      const int last = play->profile.levels - 1;
      t->latency[last] += play->profile.reach[last].delay;
      t->copying += m->rest - play->profile.reach[last].delay;
      t->fixed += m->rest;
    } else if (what < play->steps) {
      const tt_job *job = &play->job[what];
      const bool roam = play->profile.roam, before = early > 0 && !roam;
      const double processor = job->processor - (roam ? early : 0);
      const double copying = s->moved * job->copying - (roam ? 0 : early);
      t->processor += processor;
      t->copying += copying;
      t->reducing += s->bytes * job->reducing;
      t->fixed += processor + (before ? copying : s->spilt * job->copying);
      t->slope += before ? 0 : s->per_byte * job->copying + job->reducing;
      early = 0;
    } else if (what >= play->steps + 2 * play->deals) { /* handled as it came */
      const double processor = play->deal[what - play->steps - 2 * play->deals].again;
      t->processor += processor;
      t->fixed += processor;
    } else {
      const tt_deal *d = &play->deal[(what - play->steps) % play->deals];
      const tt_reach *reach = &play->profile.reach[d->level];
      const double latency = reach->alpha + d->way + (d->to == next ? reach->delay : 0);
      t->latency[d->level] += latency;
      const double bytes = charged(s, d);
      t->transfer[d->narrowest] += bytes * d->slope;
      t->messages[d->level]++;
      t->fixed += latency - (bytes > 0 ? s->play->saved[d->narrowest] * d->slope : 0);
      t->slope += bytes > 0 ? d->slope : 0;
      if (m->cause < play->steps) early = m->rest;
    }
    next = what;
    what = what < play->steps && m->rest > 0 ? m->writer : m->cause;
  }
}

/* The link that carries most is busy all the time: rounds do not tell what else does when
 * messages that cross no link take less time than others. */
static bool fill_link(tt_play *play, double bytes, tt_terms *t) {
  const double takes = bytes * play->link_slope;
  tt_terms first = {0};
  const bool saves = tt_play_burst(play) > 0;
  if (saves && !tt_play_unbound(play, 1, &first)) return false;
  const double rest = saves ? tt_made_up(takes, first.fixed) - takes : 0;
  if (takes + rest <= t->time) return true;
  *t = (tt_terms){.time = takes + rest, .fixed = rest, .slope = play->link_slope};
  t->transfer[play->link_level] = takes;
  t->latency[play->link_level] = rest;
  return true;
}

/* All ranks' work, spread over the cores, and the rounds that the busiest waits. */
static void share_cores(const stage *s, tt_terms *t) {
  const tt_play *play = s->play;
  const tt_profile *p = &play->profile;
  const double times = (double)p->ranks / play->players / p->cores;
  tt_terms all = {.shared_cores = true};
  uint32_t rounds = 0, most = 0;
  for (uint32_t i = 0; i < play->steps; i++) {
    const tt_job *job = &play->job[i];
    if (i && job->player != job[-1].player) rounds = 0;
    if (job->receives && ++rounds > most) most = rounds;
    all.processor += times * job->processor;
    all.copying += times * s->moved * job->copying;
    all.reducing += times * s->bytes * job->reducing;
    all.fixed += times * s->spilt * job->copying;
    all.slope += times * (s->per_byte * job->copying + job->reducing);
  }
  for (uint32_t i = 0; i < play->deals; i++) all.processor += times * play->deal[i].again;
  const int last = p->levels - 1;
  all.latency[last] = most * p->reach[last].delay;
  all.fixed += all.processor + all.latency[last];
  all.time = all.fixed + s->bytes * all.slope;
  if (all.time > t->time) *t = all;
}

bool tt_play_unbound(tt_play *play, double bytes, tt_terms *terms) {
  stage s;
  memset(terms, 0, sizeof *terms);
  if (!set_up(&s, play, bytes)) return false;
  while (s.waiting) {
    const tt_event e = pop(&s);
    const uint32_t what = (uint32_t)e.order;
    if (what < play->steps)
      work(&s, e.at, what);
    else if (what < play->steps + play->deals)
      leave(&s, e.at, what - play->steps);
    else if (what < play->steps + 2 * play->deals)
      enter(&s, e.at, what - play->steps - play->deals);
    else
      take_in(&s, e.at, what - play->steps - 2 * play->deals);
  }
  free(s.processor);
  if (s.ended < play->steps) return false;
  uint32_t last = NOTHING;
  for (uint32_t i = 0; i < play->steps; i++)
    if (last == NOTHING || s.moment[i].end > s.moment[last].end) last = i;
  if (last != NOTHING && play->deal_at[last] < play->deal_at[last + 1] &&
      !buffered(&play->profile)) { /* a send ends with its last message */
    uint32_t d = play->steps + play->deals + play->deal_at[last];
    for (uint32_t i = d; i < play->steps + play->deals + play->deal_at[last + 1]; i++)
      if (s.moment[i].end > s.moment[d].end) d = i;
    last = d;
  }
  if (last != NOTHING) terms->time = s.moment[last].end;
  walk_back(&s, last, terms);
  if (play->profile.cores > 0) share_cores(&s, terms);
  return true;
}

bool tt_play_at(tt_play *play, double bytes, tt_terms *terms) {
  return tt_play_unbound(play, bytes, terms) && fill_link(play, bytes, terms);
}

bool tt_play_rounds(tt_play *play, uint32_t *round) {
  const tt_profile profile = play->profile;
  tt_terms terms;
  for (int l = 0; l < profile.levels; l++) play->profile.reach[l] = (tt_reach){.alpha = 1};
  play->profile.half = false;
  play->profile.cores = 0;
  play->idle = true;
  const bool ok = tt_play_unbound(play, 0, &terms);
  play->idle = false;
  for (uint32_t i = 0; ok && i < play->deals; i++)
    round[i] = (uint32_t)(play->moment[play->steps + play->deals + i].end - 0.5);
  play->profile = profile;
  return ok;
}
