/* sim.c - simulates schedules as a greedy discrete-event simulation: the earliest ready event is processed first.
 *
 * Idea       A heap (sim_heap.c) holds the events that are ready, with their times: steps that need their processor and
 *            messages that need a port. Each event records what it waited for last, so the critical path is found by
 *            walking back from the last event. If several messages wait for a port, the one that is first in the
 *            schedule of the port's rank is served first.
 * Cores      Up to FEW ranks may share simulated cores. A rank runs on its fixed core or, if ranks migrate, on the core
 *            that is free first.
 * Cost       O(n log n) for n steps and messages.
 * Invariant  The time is the sum of the parts on the critical path. Ties are broken by event number, so all ranks get
 *            the same result.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "sim_run.h"

enum { FEW = 32 }; /* ranks */

/* ---- events ---- */

/* Records that a step has one dependency less. The step becomes ready when no dependency is left. */
static void dependency_done(tt_running *s, uint32_t step, double at, uint32_t cause) {
  tt_sim_timing *m = &s->timing[step];
  if (m->cause == TT_NOTHING || at > m->ready) {
    m->ready = at;
    m->cause = cause;
  }
  if (--m->needs == 0) tt_heap_push(s, m->ready, step);
}

static void end_step(tt_running *s, uint32_t step, double at, uint32_t cause) {
  tt_sim_timing *m = &s->timing[step];
  if (at >= m->end) m->end = at;
  for (uint32_t i = s->sim->then_at[step]; i < s->sim->then_at[step + 1]; i++)
    dependency_done(s, s->sim->then[i], m->end, cause);
}

/* Returns the largest number of ports at any level of any host. Levels that share ports use the first of these ports. */
static int most_ports(const tt_cost_model *p) {
  const int kinds = p->hosts ? p->hosts->kinds : 1;
  int most = 1;
  for (int i = 0; i < kinds * p->levels; i++) {
    const tt_link *link = p->hosts ? p->hosts->link[i / p->levels] : p->link;
    if (link[i % p->levels].ports > most) most = link[i % p->levels].ports;
  }
  return most;
}

/* Returns the rank's port that becomes free first, among the ports for messages of this level. */
static tt_server *earliest(const tt_running *s, tt_server *all, uint32_t sim_rank, int level) {
  const tt_cost_model *p = &s->sim->model;
  const int first = p->ports_per_level ? (int)sim_rank * p->levels + level : (int)sim_rank;
  tt_server *ports = all + first * s->ports, *best = ports;
  for (int i = 1; i < tt_ports_at_once(p, level, sim_rank); i++)
    if (ports[i].free < best->free) best = &ports[i];
  return best;
}

static bool buffered(const tt_cost_model *p) {
  return p->shm.copy > 0 && !p->shm.exported;
}

/* Returns true if the server is free. Otherwise queues `event` again, for the time when the server becomes free. Events that
 * wait for the same server are then processed in the order of the schedule. */
static bool is_free(tt_running *s, const tt_server *x, double at, uint32_t event,
                    tt_sim_timing *m) {
  if (x->free <= at || tt_sim_together(s->sim, x->last, event)) return true;
  m->cause = x->last;
  tt_heap_push(s, x->free, event);
  return false;
}

/* Handles a message that is copied while it is written. The reader copies the last piece after the writer has finished. */
static void lag(tt_running *s, uint32_t d) {
  const tt_sim *sim = s->sim;
  const tt_sim_message *message = &sim->message[d];
  const tt_sim_task *to = &sim->task[message->to];
  tt_sim_timing *m = &s->timing[message->to];
  const double all = s->moved * to->copying + s->bytes * to->reducing;
  const double bytes = s->bytes * message->share;
  const double rest = bytes > sim->model.shm.piece ? all * sim->model.shm.piece / bytes : all;
  const double floor = s->timing[message->from].end + sim->model.link[message->level].L + rest;
  if (floor <= m->floor) return;
  m->floor = floor;
  m->rest = floor - s->timing[message->from].end;
  m->writer = message->from;
  m->level = message->level;
}

/* Returns the number of bytes of the vector for which a message's link takes time. Burst credit covers the other bytes. */
static double charged(const tt_running *s, const tt_sim_message *d) {
  const double saved = s->sim->saved[d->narrowest];
  return s->bytes > saved ? s->bytes - saved : 0;
}

/* Returns the rank's core. If ranks migrate, returns the core that becomes free first. */
static tt_server *core_of(tt_running *s, uint32_t sim_rank) {
  tt_server *best = &s->o[s->cores ? sim_rank % s->cores : sim_rank];
  for (uint32_t i = 0; i < s->cores && s->sim->model.shm.migrates; i++)
    if (s->o[i].free < best->free) best = &s->o[i];
  return best;
}

/* Returns the time in seconds from a message's arrival until its reader can continue. */
static double delay_of(const tt_sim *sim, uint32_t d) {
  return sim->ends ? sim->ends[d].L : sim->model.link[sim->message[d].level].L;
}

/* Charges the processor time for a message that has arrived, before the step that reads the message. */
static void handle_arrival(tt_running *s, double at, uint32_t d) {
  const tt_sim *sim = s->sim;
  const tt_sim_message *message = &sim->message[d];
  const uint32_t came = sim->steps + sim->messages + d, event = came + sim->messages;
  const double there = at + delay_of(sim, d);
  tt_server *cpu = core_of(s, message->reader);
  const bool waits = cpu->free > at;
  tt_sim_timing *m = &s->timing[event];
  m->cause = waits ? cpu->last : came;
  m->end = (waits ? cpu->free : at) + message->o_next;
  *cpu = (tt_server){m->end, event};
  dependency_done(s, message->to, m->end > there ? m->end : there, m->end > there ? event : came);
}

typedef enum whose { MESSAGE, SENDER, READER } whose;

/* Returns the time in seconds that the message's header takes on the link that is slowest for the message's data. */
static double header_of(const tt_sim *sim, const tt_sim_message *d, double slope) {
  return sim->model.header * (d->share > 0 ? slope / d->share : sim->model.link[d->level].beta);
}

/* Returns the time of a message as a function of the size. `of` may select the time for which the port at one end is busy.
 * The two differ if hosts have different links, or if the port has to keep a gap. The slowest link is busy with all messages
 * of the round. If this message arrives after the earlier ones have passed, only the latest messages count. */
static tt_line cost_of(const tt_running *s, uint32_t d, whose of) {
  const tt_sim *sim = s->sim;
  const tt_sim_message *message = &sim->message[d];
  const tt_sim_ends *e = sim->ends ? &sim->ends[d] : NULL;
  const double way = sim->idle ? 0 : message->way;
  tt_line cost = {0, sim->model.link[message->level].alpha, message->slope};
  if (e && of == MESSAGE) cost.fixed = e->alpha;
  if (e && of == SENDER) cost = (tt_line){0, e->out_alpha, e->out_slope};
  if (e && of == READER) cost = (tt_line){0, e->in_alpha, e->in_slope};
  const double rest = message->slope - message->late; /* s/B of the bytes that precede it */
  const bool is_late = charged(s, message) * rest + header_of(sim, message, rest) < message->head;
  cost.fixed += is_late ? way : way - message->head;
  if (is_late && cost.slope > message->late) cost.slope = message->late;
  if (sim->model.header > 0) cost.fixed += header_of(sim, message, cost.slope);
  const double gap = of == SENDER ? tt_link_at(&sim->model, message->level, message->sender)->g : 0;
  return cost.fixed + charged(s, message) * cost.slope < gap ? (tt_line){0, gap, 0} : cost;
}

/* Returns the time in seconds that a message takes, or for which it occupies the selected port. */
static double occupies(const tt_running *s, uint32_t d, whose of) {
  const tt_line cost = cost_of(s, d, of);
  return cost.fixed + charged(s, &s->sim->message[d]) * cost.slope;
}

/* Returns the server that makes a sender send the messages of a slice one at a time. */
static tt_server *slice_of(const tt_running *s, uint32_t d) {
  const tt_sim *sim = s->sim;
  return &s->slice[sim->message[d].sender * sim->slices + d / (sim->messages / sim->slices)];
}

/* Makes a message occupy one of its reader's ports. If no port is free, queues the event again and returns false. */
static bool cross_port(tt_running *s, double at, uint32_t d, tt_sim_timing *m) {
  const tt_cost_model *p = &s->sim->model;
  const tt_sim_message *message = &s->sim->message[d];
  const uint32_t event = s->sim->steps + s->sim->messages + d;
  tt_server *in = earliest(s, p->half_duplex ? s->out : s->in, message->reader, message->level);
  const bool wide = tt_rank_uncontended(p, message->reader);
  if (!wide && !is_free(s, in, at, event, m)) return false;
  m->end = at + occupies(s, d, MESSAGE);
  if (!wide) *in = (tt_server){s->sim->ends ? at + occupies(s, d, READER) : m->end, event};
  return true;
}

/* Makes a message arrive, if its reader has a free port. */
static void arrive(tt_running *s, double at, uint32_t d) {
  const tt_sim *sim = s->sim;
  const tt_sim_message *message = &sim->message[d];
  const uint32_t event = sim->steps + sim->messages + d;
  tt_sim_timing *m = &s->timing[event], *from = &s->timing[message->from];
  if (!cross_port(s, at, d, m)) return;
  if (sim->model.shm.piece > 0) lag(s, d);
  if (message->o_next > 0 && !sim->idle)
    tt_heap_push(s, m->end, event + sim->messages);
  else
    dependency_done(s, message->to, m->end + delay_of(sim, d), event);
  if (!buffered(&sim->model) && --from->needs == 0) end_step(s, message->from, m->end, event);
}

/* Requests a port for the step's next message, once a message has left and its overhead has passed. */
static void begin_next(tt_running *s, double at, uint32_t d) {
  const tt_sim *sim = s->sim;
  const uint32_t event = sim->steps + d;
  const double early = sim->idle ? 0 : sim->message[d + 1].early;
  const double ready = s->timing[sim->message[d].from].end - early;
  const bool later = sim->model.shm.migrates && ready > at;
  s->timing[event + 1].cause = later ? sim->message[d].from : s->timing[event].cause;
  s->timing[event + 1].rest = later ? early : s->timing[event].rest;
  tt_heap_push(s, later ? ready : at, event + 1);
}

/* Sends a message through a port of its sender. The message immediately starts to arrive, and the next message of its step
 * requests a port. Half-duplex ports prefer sending. */
static void occupy_sender_port(tt_running *s, double at, uint32_t d) {
  const tt_sim *sim = s->sim;
  const tt_cost_model *p = &sim->model;
  const tt_sim_message *message = &sim->message[d];
  const uint32_t event = sim->steps + d;
  tt_server *out = earliest(s, s->out, message->sender, message->level);
  const bool wide = tt_rank_uncontended(p, message->sender);
  if (!wide && !is_free(s, out, at, event, &s->timing[event])) return;
  const tt_server busy = {at + occupies(s, d, SENDER), event};
  if (p->ports_per_level) { /* a slice sends one message at a time */
    tt_server *mine = slice_of(s, d);
    if (!is_free(s, mine, at, event, &s->timing[event])) return;
    *mine = busy;
  }
  if (!wide) *out = busy;
  s->timing[event].end = busy.free;
  s->timing[event + sim->messages].cause = s->timing[event].cause;
  s->timing[event + sim->messages].rest = s->timing[event].rest;
  if (d + 1 < sim->message_at[message->from + 1]) begin_next(s, at, d);
  tt_heap_push(s, at, event + sim->messages); /* other messages may request that port at the same time */
}

/* Runs a step on its processor. */
static void run_step(tt_running *s, double at, uint32_t step) {
  const tt_sim *sim = s->sim;
  const tt_sim_task *task = &sim->task[step];
  tt_sim_timing *m = &s->timing[step];
  const double takes =
      sim->idle ? 0 : task->o + s->moved * task->copying + s->bytes * task->reducing;
  tt_server *cpu = core_of(s, task->sim_rank);
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
  if (takes > 0) *cpu = (tt_server){m->end, step};
  s->ended++;
  const uint32_t lo = sim->message_at[step], hi = sim->message_at[step + 1];
  m->needs = hi - lo;
  if (lo == hi || buffered(&sim->model)) end_step(s, step, m->end, step);
  if (lo == hi) return;
  s->timing[sim->steps + lo].cause = step;
  const double bytes = s->bytes * sim->message[lo].share, piece = sim->model.shm.piece;
  const double early = sim->idle                    ? 0
                       : sim->model.shm.migrates    ? sim->message[lo].early
                       : piece > 0 && bytes > piece ? s->moved * task->copying * (1 - piece / bytes)
                                                    : 0;
  s->timing[sim->steps + lo].rest = early; /* the first message leaves before its step ends */
  tt_heap_push(s, m->end - early, sim->steps + lo);
}

/* ---- all steps ---- */

/* Returns the number of cores to simulate. With more than FEW ranks, share_cores adds up the cores' work, which is faster. */
static uint32_t shared_cores(const tt_sim *sim) {
  const double cores = sim->model.shm.cores;
  const uint32_t whole = cores > 1 ? (uint32_t)cores : 1;
  return cores > 0 && whole < (uint32_t)sim->sim_ranks && sim->sim_ranks <= FEW ? whole : 0;
}

static bool set_up_simulation(tt_running *s, tt_sim *sim, double bytes) {
  const tt_cost_model *p = &sim->model;
  const size_t n = (size_t)sim->steps + (p->shm.migrates ? 3 : 2) * (size_t)sim->messages;
  const size_t sim_ranks = (size_t)sim->sim_ranks;
  const int most = most_ports(p);
  const size_t ports = sim_ranks * (size_t)(most * (p->ports_per_level ? p->levels : 1));
  *s = (tt_running){.sim = sim,
                    .bytes = bytes,
                    .timing = sim->timing,
                    .heap = sim->event,
                    .cores = shared_cores(sim),
                    .ports = most};
  const bool spills = p->shm.cache > 0 && bytes > p->shm.cache;
  s->per_byte = spills ? p->shm.far_ratio : 1;
  s->spilt = spills ? p->shm.cache * (1 - p->shm.far_ratio) : 0;
  s->moved = s->spilt + s->per_byte * bytes;
  s->o = calloc(sim_ranks + 2 * ports + sim_ranks * sim->slices, sizeof *s->o);
  if (!s->o) return false;
  s->out = s->o + sim_ranks;
  s->in = s->out + ports;
  s->slice = s->in + ports;
  for (size_t i = 0; i < n; i++)
    s->timing[i] =
        (tt_sim_timing){.cause = TT_NOTHING, .needs = i < sim->steps ? sim->task[i].needs : 0};
  for (uint32_t i = 0; i < sim->steps; i++)
    if (!sim->task[i].needs) tt_heap_push(s, 0, i);
  return true;
}

/* Adds up the parts of the critical path, which is followed back from `event`. */
static void walk_back(const tt_running *s, uint32_t event, tt_breakdown *t) {
  const tt_sim *sim = s->sim;
  uint32_t next = TT_NOTHING;
  double early = 0; /* time from a message's departure to the end of its step */
  while (event != TT_NOTHING) {
    const tt_sim_timing *m = &s->timing[event];
    if (event < sim->steps && m->rest > 0) { /* the last piece is copied after the writer's end */
      t->latency[m->level] += sim->model.link[m->level].L;
      t->copying += m->rest - sim->model.link[m->level].L;
      t->fixed += m->rest;
    } else if (event < sim->steps) {
      const tt_sim_task *task = &sim->task[event];
      const bool migrates = sim->model.shm.migrates, before = early > 0 && !migrates;
      const double o = task->o - (migrates ? early : 0);
      const double copying = s->moved * task->copying - (migrates ? 0 : early);
      t->o += o;
      t->copying += copying;
      t->reducing += s->bytes * task->reducing;
      t->fixed += o + (before ? copying : s->spilt * task->copying);
      t->slope += before ? 0 : s->per_byte * task->copying + task->reducing;
      early = 0;
    } else if (event >= sim->steps + 2 * sim->messages) { /* overhead of a message on arrival */
      const double o = sim->message[event - sim->steps - 2 * sim->messages].o_next;
      t->o += o;
      t->fixed += o;
    } else {
      const uint32_t i = (event - sim->steps) % sim->messages;
      const tt_sim_message *d = &sim->message[i];
      const bool port = next >= sim->steps && next < sim->steps + 2 * sim->messages; /* next waited
                                                                                      * for its
                                                                                      * port */
      const bool sends = event < sim->steps + sim->messages;
      const tt_line cost = cost_of(s, i, !port ? MESSAGE : sends ? SENDER : READER);
      const double latency = cost.fixed + (d->to == next ? delay_of(sim, i) : 0);
      t->latency[d->level] += latency;
      const double bytes = charged(s, d);
      t->transfer[d->narrowest] += bytes * cost.slope;
      t->messages[d->level]++;
      t->fixed += latency - (bytes > 0 ? s->sim->saved[d->narrowest] * cost.slope : 0);
      t->slope += bytes > 0 ? cost.slope : 0;
      if (m->cause < sim->steps) early = m->rest;
    }
    next = event;
    event = event < sim->steps && m->rest > 0 ? m->writer : m->cause;
  }
}

static void add_incast(const tt_sim *sim, double bytes, tt_breakdown *t) {
  const double lost = tt_incast_cost(bytes * sim->link_slope, tt_sim_incast_threshold(sim), bytes);
  t->time += lost;
  t->slope += lost / bytes;
  t->transfer[sim->link_level] += lost;
}

/* Raises the time to the time that the busiest link takes to carry its data without a pause. The simulated time can be
 * shorter if messages that cross no link take less time than others. */
static bool fill_link(tt_sim *sim, double bytes, tt_breakdown *t) {
  const double takes = bytes * sim->link_slope;
  tt_breakdown first = {0};
  const bool saves = sim->link_burst > 0;
  if (saves && !tt_sim_unbound(sim, 1, &first)) return false;
  const double rest = saves ? tt_partial_overlap(takes, first.fixed) - takes : 0;
  if (takes + rest <= t->time) return true;
  *t = (tt_breakdown){.time = takes + rest, .fixed = rest, .slope = sim->link_slope};
  t->transfer[sim->link_level] = takes;
  t->latency[sim->link_level] = rest;
  return true;
}

/* Raises the time to a second lower bound: all ranks' work divided among the cores, plus the waits of the busiest rank. */
static void share_cores(const tt_running *s, tt_breakdown *t) {
  const tt_sim *sim = s->sim;
  const tt_cost_model *p = &sim->model;
  const double times = (double)p->ranks / sim->sim_ranks / p->shm.cores;
  tt_breakdown all = {.shared_cores = true};
  uint32_t rounds = 0, most = 0;
  for (uint32_t i = 0; i < sim->steps; i++) {
    const tt_sim_task *task = &sim->task[i];
    if (i && task->sim_rank != task[-1].sim_rank) rounds = 0;
    if (task->receives && ++rounds > most) most = rounds;
    all.o += times * task->o;
    all.copying += times * s->moved * task->copying;
    all.reducing += times * s->bytes * task->reducing;
    all.fixed += times * s->spilt * task->copying;
    all.slope += times * (s->per_byte * task->copying + task->reducing);
  }
  for (uint32_t i = 0; i < sim->messages; i++) all.o += times * sim->message[i].o_next;
  const int last = p->levels - 1;
  all.latency[last] = most * p->link[last].L;
  all.fixed += all.o + all.latency[last];
  all.time = all.fixed + s->bytes * all.slope;
  if (all.time > t->time) *t = all;
}

bool tt_sim_alone(tt_sim *sim, double bytes, tt_breakdown *breakdown) {
  tt_running s;
  memset(breakdown, 0, sizeof *breakdown);
  const bool begun = set_up_simulation(&s, sim, bytes);
  while (begun && s.waiting) {
    const tt_sim_event e = tt_heap_pop(&s);
    const uint32_t event = (uint32_t)e.order;
    if (event < sim->steps)
      run_step(&s, e.at, event);
    else if (event < sim->steps + sim->messages)
      occupy_sender_port(&s, e.at, event - sim->steps);
    else if (event < sim->steps + 2 * sim->messages)
      arrive(&s, e.at, event - sim->steps - sim->messages);
    else
      handle_arrival(&s, e.at, event - sim->steps - 2 * sim->messages);
  }
  if (!begun || s.ended < sim->steps) {
    free(s.o);
    return false;
  }
  uint32_t last = TT_NOTHING;
  for (uint32_t i = 0; i < sim->steps; i++)
    if (last == TT_NOTHING || s.timing[i].end > s.timing[last].end) last = i;
  if (last != TT_NOTHING && sim->message_at[last] < sim->message_at[last + 1] &&
      !buffered(&sim->model)) { /* a send ends when its last message has arrived */
    uint32_t d = sim->steps + sim->messages + sim->message_at[last];
    for (uint32_t i = d; i < sim->steps + sim->messages + sim->message_at[last + 1]; i++)
      if (s.timing[i].end > s.timing[d].end) d = i;
    last = d;
  }
  if (last != TT_NOTHING) breakdown->time = s.timing[last].end;
  walk_back(&s, last, breakdown);
  free(s.o);
  if (sim->model.shm.cores > 0) share_cores(&s, breakdown);
  return true;
}

bool tt_sim_run(tt_sim *sim, double bytes, tt_breakdown *breakdown) {
  if (!tt_sim_unbound(sim, bytes, breakdown) || !fill_link(sim, bytes, breakdown)) return false;
  add_incast(sim, bytes, breakdown);
  return true;
}
