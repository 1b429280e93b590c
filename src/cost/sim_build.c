/* sim_build.c - prepares schedules for simulation: the work of each step, its dependencies, and memory for the events.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

enum { PORTS = 16 };

/* Returns how much longer it takes to copy an input if all peers read it. In shared memory, the destination consists of cache
 * lines that the peers have read last, so each store waits for its line. Measured copies take 3 to 12 times as long. The
 * factor is lower if ranks share cores, and thus caches, and if pieces pass through many slots, because other stores proceed
 * while one waits. */
static double over_read_lines(const tt_cost_model *p) {
  if (p->shm.piece > 0) return 2;
  return p->shm.cores < p->ranks ? 4 : 6;
}

void tt_cost_flat(tt_cost_model *model, int ranks) {
  memset(model, 0, sizeof *model);
  model->ranks = ranks;
  model->levels = model->tree.levels = 1;
  model->tree.even = true;
  model->tree.ranks = model->tree.level[0].each = model->tree.level[0].most = ranks;
}

/* Returns true if the step sends an input of the rank and not a sum. */
static bool sends_input(const tt_sched *s, const tt_step *step) {
  const size_t i = (size_t)(step - s->steps);
  return !step->split && s->after_at[i] == s->after_at[i + 1];
}

tt_sim_task tt_sim_job(const tt_sched *s, const tt_step *step, const tt_cost_model *p) {
  tt_sim_task task = {.receives = tt_step_receives(step)};
  const double share = tt_step_share(s, step);
  int others = 0;
  if (tt_step_local(step)) {
    task.copying = 2 * share * p->shm.copy;
    task.reducing = share * step->inputs * p->gamma;
    return task;
  }
  for (int i = 0; i < step->peers.count; i++)
    others += tt_peer_rank(&step->peers, i, s->ranks) != s->rank;
  if (!others) return task;
  if (step->kind == TT_SEND) {
    task.o = p->shm.o + (others - 1) * p->shm.o_next;
    const double once = sends_input(s, step) ? over_read_lines(p) : 1;
    if (!p->shm.exported)
      task.copying = share * p->shm.copy * (p->shm.published && !step->split ? once : others);
    return task;
  }
  task.o = others * (step->peers.count > 1 ? p->shm.o_next : p->shm.o);
  task.copying = others * share * p->shm.copy;
  if (step->kind == TT_RECV_REDUCE)
    task.copying = share * (others * p->shm.copy - (others - 1) * p->shm.saved_per_input);
  if (step->kind == TT_RECV_REDUCE) task.reducing = others * share * p->gamma;
  return task;
}

static bool list_jobs(tt_sim *sim, tt_sched *const *all, uint32_t *first) {
  uint32_t steps = 0;
  for (int r = 0; r < sim->sim_ranks; r++) {
    first[r] = steps;
    steps += all[r]->nsteps;
  }
  first[sim->sim_ranks] = sim->steps = steps;
  sim->task = malloc(((size_t)steps + 1) * sizeof *sim->task);
  if (!sim->task || !tt_sched_followers(all, sim->sim_ranks, &sim->then_at, &sim->then))
    return false;
  for (int r = 0; r < sim->sim_ranks; r++)
    for (uint32_t i = 0; i < all[r]->nsteps; i++) {
      tt_sim_task *task = &sim->task[first[r] + i];
      *task = tt_sim_job(all[r], &all[r]->steps[i], &sim->model);
      task->sim_rank = (uint32_t)r;
      task->turn = i;
      task->needs = all[r]->after_at[i + 1] - all[r]->after_at[i];
      task->alone = !task->needs;
    }
  return true;
}

bool tt_sim_reserve(tt_sim *sim) {
  const size_t events = (size_t)sim->steps + sim->messages;
  const size_t more = sim->model.shm.migrates ? 2 * (size_t)sim->messages : sim->messages;
  sim->timing = malloc((events + more + 1) * sizeof *sim->timing);
  sim->event = malloc((events + 1) * sizeof *sim->event);
  return sim->timing && sim->event;
}

/* If incast can slow the level that bounds the time, counts the ranks that send to rank 0 over this level. Ranks with
 * uncontended ports do not count, because their data arrives evenly over one connection. Returns false if out of memory. */
static bool count_senders(tt_sim *sim, const tt_sched *s) {
  const tt_cost_model *model = &sim->model;
  if (sim->link_incast <= 0) return true;
  bool *seen = calloc((size_t)model->ranks, sizeof *seen);
  uint32_t *domains = tt_cost_domains(model);
  const bool counts = seen && domains;
  for (uint32_t i = 0; counts && i < s->nsteps; i++)
    for (int k = 0; tt_step_receives(&s->steps[i]) && k < s->steps[i].peers.count; k++) {
      const int peer = tt_peer_rank(&s->steps[i].peers, k, model->ranks);
      if (peer == s->rank || seen[peer] || tt_rank_uncontended(model, (uint32_t)peer)) continue;
      sim->senders += tt_cost_level(model, domains, s->rank, peer) == sim->link_level;
      seen[peer] = true;
    }
  free(domains);
  free(seen);
  return counts;
}

double tt_sim_incast_threshold(const tt_sim *sim) {
  const bool crowded = sim->senders > 2 || sim->slices > 1;
  const tt_sends sends = tt_sim_busiest(sim);
  return crowded && sends.vectors > 0
             ? sim->link_incast * sends.messages / sim->slices / sends.vectors
             : 0;
}

tt_sim *tt_sim_new(tt_sched *const *all, int n, bool uniform, const tt_cost_model *model) {
  tt_sim *sim = calloc(1, sizeof *sim);
  uint32_t *first = sim ? malloc(((size_t)n + 1) * sizeof *first) : NULL;
  bool ok = first && n == model->ranks;
  for (int l = 0; l < model->levels; l++) ok = ok && model->link[l].ports <= PORTS;
  if (ok) {
    sim->model = *model;
    sim->sim_ranks = uniform ? 1 : n;
    sim->slices = 1;
    ok = list_jobs(sim, all, first) && tt_sim_match(sim, all, first);
  }
  ok = ok && tt_sim_reserve(sim) && tt_sim_links(sim) && count_senders(sim, all[0]);
  free(first);
  if (ok) return sim;
  tt_sim_free(sim);
  return NULL;
}

static tt_sends busiest_alone(const tt_sim *sim) {
  tt_sends most = {0}, rank = {0};
  for (uint32_t i = 0; i < sim->messages; i++) { /* a rank's messages are contiguous */
    const tt_sim_message *d = &sim->message[i];
    if (i && d->sender != d[-1].sender) rank = (tt_sends){0};
    rank.vectors += d->share;
    rank.level[d->level] += d->share;
    if (++rank.messages > most.messages) most.messages = rank.messages;
    if (rank.vectors > most.vectors) most.vectors = rank.vectors;
    if (rank.level[d->level] > most.level[d->level]) most.level[d->level] = rank.level[d->level];
  }
  return most;
}

tt_sends tt_sim_busiest(const tt_sim *sim) {
  tt_sends all = {0};
  if (!sim->staged) return busiest_alone(sim);
  for (; sim; sim = sim->next) {
    const tt_sends one = busiest_alone(sim);
    all.messages += one.messages;
    all.vectors += one.vectors * sim->part;
    all.level[sim->level] += one.vectors * sim->part;
  }
  return all;
}

uint64_t tt_sim_messages(const tt_sim *sim) {
  uint64_t n = 0;
  for (; sim; sim = sim->next) n += sim->messages;
  return n;
}

void tt_sim_free(tt_sim *sim) {
  if (!sim) return;
  tt_sim_free(sim->next);
  free(sim->task);
  free(sim->then_at);
  free(sim->then);
  free(sim->message_at);
  free(sim->message);
  free(sim->ends);
  free(sim->timing);
  free(sim->event);
  free(sim);
}
