/* chooser.c - makes choosers, with their cost models from the profile and the levels of a machine, and lets
 * communicators share them.
 *
 * Cost       The first choice of a collective takes a millisecond or more. A program that makes many communicators pays
 *            this only once.
 * Invariant  A chooser's answers depend only on its setting, so sharing it changes no choice.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "candidates.h"
#include "host_links.h"
#include "process.h"

enum { KEPT = 16 }; /* number of choosers kept without users */

static double smaller(double a, double b) {
  return a < b ? a : b;
}

/* Returns the time to copy one byte, from the cache or from memory, whichever is faster. */
static double least_copy(const tt_shm_costs *shm) {
  return shm->copy * (shm->cache > 0 ? smaller(shm->far_ratio, 1) : 1);
}

/* Returns a model with the lower of the costs of both models for shared memory. A loop may read data without copying it, so
 * sending a byte is free. */
static tt_cost_model least_of(const tt_cost_model *steps, const tt_cost_model *loops) {
  const tt_shm_costs *x = &steps->shm, *y = &loops->shm;
  const double saved = x->saved_per_input > y->saved_per_input ? x->saved_per_input : y->saved_per_input;
  tt_cost_model m = *loops;
  m.shm.o = smaller(x->o, y->o);
  m.shm.o_next = smaller(smaller(x->o_next, y->o_next), m.shm.o);
  m.shm.copy = smaller(least_copy(x), least_copy(y));
  m.shm.saved_per_input = smaller(saved, m.shm.copy);
  m.shm.exported = true;
  return m;
}

static tutti_status set_models(tt_chooser *c) {
  const tt_setting *s = &c->setting;
  tt_tree tree;
  tutti_status status = *s->levels ? tt_tree_parse(s->levels, &tree) : TUTTI_OK;
  if (!status && *s->levels && tree.ranks != s->ranks)
    status = tt_fail(TUTTI_ERR_ARG, "the topology '%s' holds %d ranks, not %d", s->levels,
                     tree.ranks, s->ranks);
  if (status) return status;
  const int *position = *s->levels ? s->position : NULL;
  if (s->ranks_per_core > 0) {
    const tt_tree *known = *s->levels && tt_shm_levels_known(&s->profile, &tree) ? &tree : NULL;
    tt_cost_shm(&s->profile, s->ranks, known, s->ranks_per_core, false, &c->model);
    tt_cost_shm(&s->profile, s->ranks, known, s->ranks_per_core, true, &c->loop);
    c->levels = known;
    c->model.position = c->loop.position = known ? position : NULL;
    c->exported = c->loop;
    c->exported.shm.exported = true;
    c->least = least_of(&c->model, &c->loop);
    return TUTTI_OK;
  }
  tt_cost_net(&s->profile, s->ranks, *s->levels ? &tree : NULL, &c->model);
  tt_cost_inside(&s->profile, s->inside, s->node_ranks_per_core, &c->model);
  c->model.position = position;
  status = tt_hosts_new(&s->profile, &c->model, s->inside, s->host, s->wide ? s->data : s->ranks,
                        &c->model.hosts);
  if (status) return status;
  tt_cost_coded(s, &c->model);
  c->model.uncontended_from = s->wide ? s->data : 0;
  c->model.shm.migrates = s->host_ranks_per_core > 1;
  if (c->model.shm.migrates) c->model.shm.cores = s->ranks / s->host_ranks_per_core;
  c->levels = c->model.levels > 1;
  c->loop = c->exported = c->least = c->model;
  return TUTTI_OK;
}

tutti_status tt_chooser_new(const tt_setting *setting, tt_chooser **chooser) {
  tt_chooser *c = calloc(1, sizeof *c);
  if (!c)
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the choice among plans of %d ranks",
                   setting->ranks);
  memcpy(&c->setting, setting, sizeof *setting); /* includes padding, for tt_chooser_share */
  tutti_status status = pthread_mutex_init(&c->lock, NULL) ? TUTTI_ERR_MEMORY : set_models(c);
  if (status)
    free(c);
  else
    *chooser = c;
  return status;
}

void tt_forget_named(tt_chooser *c) {
  for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++) {
    free(c->named_found[coll]);
    c->named_found[coll] = NULL;
  }
}

static void end_chooser(tt_chooser *c) {
  tt_forget_named(c);
  for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++)
    for (int w = 0; w < TT_WEIGHTS; w++) tt_candidates_free(c->of[coll][w]);
  tt_hosts_free(c->model.hosts);
  for (int i = 0; i < c->stages; i++) tt_plan_spec_free(c->stage[i].own);
  free(c->stage);
  pthread_mutex_destroy(&c->lock);
  free(c);
}

/* If more than KEPT choosers have no users, removes and returns the one that has been unused for the longest time. */
static tt_chooser *remove_oldest(tt_chooser **list) {
  tt_chooser **last = NULL, *oldest = NULL;
  int unused = 0;
  for (tt_chooser **at = list; *at; at = &(*at)->next)
    if ((*at)->users == 0) {
      unused++;
      last = at;
    }
  if (unused <= KEPT) return NULL;
  oldest = *last;
  *last = oldest->next;
  return oldest;
}

/* Moves the chooser to the head of the list. If it is not in the list, inserts it at the head. */
static void put_first(tt_chooser **list, tt_chooser *c) {
  for (tt_chooser **at = list; *at; at = &(*at)->next)
    if (*at == c) {
      *at = c->next;
      break;
    }
  c->next = *list;
  *list = c;
}

tutti_status tt_chooser_share(const tt_setting *s, tt_chooser **chooser) {
  tt_chooser *c = NULL, **list = &tt_process.plans.choosers;
  tutti_status status = TUTTI_OK;
  if (s->position || s->node || s->host || s->only) return tt_chooser_new(s, chooser);
  pthread_mutex_lock(&tt_process.plans.lock);
  for (c = *list; c && memcmp(&c->setting, s, sizeof *s) != 0;) c = c->next;
  if (c) c->users++;
  pthread_mutex_unlock(&tt_process.plans.lock);
  if (!c) {
    status = tt_chooser_new(s, &c);
    if (status) return status;
    c->shared = true;
    c->users = 1;
  }
  pthread_mutex_lock(&tt_process.plans.lock);
  put_first(list, c);
  pthread_mutex_unlock(&tt_process.plans.lock);
  *chooser = c;
  return TUTTI_OK;
}

void tt_chooser_free(tt_chooser *c) {
  if (!c) return;
  if (!c->shared) {
    end_chooser(c);
    return;
  }
  pthread_mutex_lock(&tt_process.plans.lock);
  tt_chooser *oldest = --c->users ? NULL : remove_oldest(&tt_process.plans.choosers);
  pthread_mutex_unlock(&tt_process.plans.lock);
  if (oldest) end_chooser(oldest);
}

const tt_cost_model *tt_chooser_model(const tt_chooser *c) {
  return &c->model;
}
