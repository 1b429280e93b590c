/* sim_rounds.c - finds the rounds of a schedule: the time of each message if every message took one unit of time.
 *
 * Idea       Runs the normal simulation with links that all take the same time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "sim.h"

bool tt_sim_rounds(tt_sim *sim, uint32_t *round) {
  const tt_cost_model model = sim->model;
  tt_sim_ends *ends = sim->ends;
  tt_breakdown breakdown;
  sim->ends = NULL;
  for (int l = 0; l < model.levels; l++)
    sim->model.link[l] = (tt_link){.alpha = 1, .ports = model.link[l].ports};
  sim->model.header = 0;
  sim->model.half_duplex = false;
  sim->model.shm.cores = 0;
  sim->idle = true;
  const bool ok = tt_sim_alone(sim, 0, &breakdown);
  sim->idle = false;
  for (uint32_t i = 0; ok && i < sim->messages; i++)
    round[i] = (uint32_t)(sim->timing[sim->steps + sim->messages + i].end - 0.5);
  sim->model = model;
  sim->ends = ends;
  return ok;
}

static bool one_port_alone(tt_sim *sim, int *rounds) {
  uint32_t *round = malloc(((size_t)sim->messages + 1) * sizeof *round), most = 0;
  const tt_cost_model model = sim->model;
  sim->model.ports_per_level = false;
  sim->model.hosts = NULL;
  sim->model.contention.mean = 0;
  for (int l = 0; l < model.levels; l++) sim->model.link[l].ports = 1;
  const bool ok = round && tt_sim_rounds(sim, round);
  sim->model = model;
  for (uint32_t i = 0; ok && i < sim->messages; i++) most = (uint32_t)tt_max(most, round[i] + 1);
  *rounds = (int)most;
  free(round);
  return ok;
}

bool tt_sim_one_port(tt_sim *sim, int *rounds) {
  bool ok = true;
  *rounds = 0;
  for (int alone = 0; sim && ok; sim = sim->next, *rounds += alone)
    ok = one_port_alone(sim, &alone);
  return ok;
}
