/* cost_model.c - makes cost models from the parameters of a profile.
 *
 * Idea       The parameters of a level override the global ones, and the parameters of a host override those of its
 *            level.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "host_links.h"
#include "placement.h"

static void put_figure(double *to, double own) {
  if (own >= 0) *to = own;
}

void tt_link_put(tt_link *link, const tt_link *own) {
  if (own->o >= 0) link->o_next = -1; /* unless own->o_next is set as well */
  put_figure(&link->alpha, own->alpha);
  put_figure(&link->L, own->L);
  put_figure(&link->g, own->g);
  put_figure(&link->beta, own->beta);
  put_figure(&link->o, own->o);
  put_figure(&link->o_next, own->o_next);
  put_figure(&link->burst, own->burst);
  if (own->ports >= 0) link->ports = own->ports;
  if (own->paths >= 0) link->paths = own->paths;
  if (own->pairs >= 0) link->pairs = own->pairs;
  if (link->o_next < 0) link->o_next = link->o;
}

/* Returns the link parameters of the named level. Parameters that are not set for this level are taken from f. */
static tt_link link_of(const tt_profile *m, const char *name, tt_link f) {
  for (int i = 0; i < m->levels; i++)
    if (strcmp(m->level[i].name, name) == 0) tt_link_put(&f, &m->level[i].is);
  if (f.o_next < 0) f.o_next = f.o;
  return f;
}

static void use_tree(tt_cost_model *p, const tt_tree *tree) {
  if (!tree) return;
  p->tree = *tree;
  p->levels = tree->levels;
}

void tt_cost_net(const tt_profile *m, int ranks, const tt_tree *tree, tt_cost_model *p) {
  tt_cost_flat(p, ranks);
  use_tree(p, tree);
  for (int l = 0; l < p->levels; l++) p->link[l] = link_of(m, p->tree.level[l].name, m->net);
  p->half_duplex = m->half;
  p->ports_per_level = m->apart;
  p->torus = m->torus;
  p->hop = m->torus ? m->hop : 0;
  p->contention = m->contention;
  if (p->contention.nearest > p->link[0].alpha) p->contention.nearest = p->link[0].alpha;
  p->header = m->header;
  p->gamma = m->gamma;
}

/* Returns the costs of shared memory with this many ranks per core. Waits are shorter if only some cores have two ranks. */
static tt_shm_figures shm_of(const tt_profile *m, double ranks_per_core) {
  tt_shm_figures f = m->shm;
  const tt_shm_figures *c = &m->oversubscribed;
  if (ranks_per_core <= 1) return f;
  if (c->copy >= 0) f.far = -1; /* unless they are set as well */
  if (c->loop_copy >= 0) f.loop_far = f.loop_next_input = -1;
  const double *set = &c->wait; /* all members are of this type */
  for (size_t i = 0; i < sizeof f / sizeof *set; i++)
    if (set[i] >= 0) (&f.wait)[i] = set[i];
  f.wait = c->wait * (ranks_per_core > 1.5 ? ranks_per_core - 1 : 0.5);
  f.piece = 0;
  f.cache = m->shm.cache / ranks_per_core;
  return f;
}

static const tt_shm_level *shm_level_of(const tt_profile *m, const char *name) {
  for (int i = 0; i < TT_SHM_LEVELS; i++)
    if (strcmp(tt_inner_levels[i], name) == 0) return &m->shm_level[i];
  return NULL;
}

bool tt_shm_levels_known(const tt_profile *m, const tt_tree *tree) {
  for (int l = 0; l < tree->levels; l++) {
    const tt_shm_level *x = shm_level_of(m, tree->level[l].name);
    if (x && (x->delay >= 0 || x->beta >= 0)) return true;
  }
  return false;
}

/* Returns the link of a level within a machine. It is `near`, the link within an innermost domain, with the parameters that
 * are set for the level. The additional delay of a cache line is the same if ranks share cores. */
static tt_link shm_link(const tt_profile *m, const char *name, tt_link near) {
  const tt_shm_level *x = shm_level_of(m, name);
  if (x && x->delay > m->shm.wait) near.L += x->delay - m->shm.wait;
  if (x && x->beta >= 0) near.beta = x->beta;
  return near;
}

/* Inside a node, a rank's processor writes and reads its messages, so it also acts as the rank's port. */
void tt_cost_inside(const tt_profile *m, int levels, double ranks_per_core, tt_cost_model *p) {
  const tt_shm_figures f = shm_of(m, ranks_per_core);
  const tt_link shm = {
      .alpha = 2 * f.message, .L = f.wait, .beta = 2 * f.copy, .o_next = -1, .ports = 1};
  for (int l = p->levels - levels; l < p->levels; l++) {
    const char *name = p->tree.level[l].name;
    p->link[l] = link_of(m, name, shm_link(m, name, shm));
  }
}

tutti_status tt_figures_known(const tt_profile *m, const tt_cost_model *p) {
  for (int i = 0; i < m->levels; i++) {
    bool known = false;
    for (int l = 0; l < p->levels; l++)
      known |= strcmp(p->tree.level[l].name, m->level[i].name) == 0;
    if (!known)
      return tt_fail(TUTTI_ERR_ARG,
                     "there are parameters for the level '%s', and the topology has no such level",
                     m->level[i].name);
  }
  return tt_hosts_known(m, p);
}

void tt_cost_shm(const tt_profile *m, int ranks, const tt_tree *tree, double ranks_per_core,
                 bool loop, tt_cost_model *p) {
  const tt_shm_figures f = shm_of(m, ranks_per_core);
  tt_cost_flat(p, ranks);
  use_tree(p, tree);
  for (int l = 0; l < p->levels; l++)
    p->link[l] = shm_link(m, p->tree.level[l].name, (tt_link){.L = f.wait});
  p->gamma = m->gamma;
  p->shm.o = loop ? f.loop_message : f.message;
  p->shm.o_next = loop ? f.loop_o_next : f.o_next;
  p->shm.copy = loop ? f.loop_copy : f.copy;
  p->shm.saved_per_input = loop && f.loop_next_input >= 0 ? p->shm.copy - f.loop_next_input : 0;
  const double far = loop ? f.loop_far : f.far;
  if (far >= 0 && p->shm.copy > 0) {
    p->shm.cache = f.cache;
    p->shm.far_ratio = far / p->shm.copy;
  }
  p->shm.published = loop;
  p->shm.piece = loop ? 0 : f.piece;
  p->shm.cores = ranks_per_core > 1 ? ranks / ranks_per_core : ranks;
}
