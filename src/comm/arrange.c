/* arrange.c - maps the ranks of several nodes to places that follow the machine's levels.
 *
 * Idea       levels count consecutive ranks: place v of their tree is held by rank order[v].
 *            Where it does not matter which rank is which, a plan is made for places, and its
 *            messages go to the ranks that hold them. A collective that gives every rank its
 *            own block, or sums in rank order, is planned for ranks, as on a machine without
 *            levels.
 * Invariant  if the ranks are already in the order of the tree, there is no order and no mapping.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "build_comm.h"
#include "placement.h"

/* Keeps both arrays or neither. */
static tutti_status keep_order(tutti_comm *comm, const int *order) {
  const size_t P = (size_t)comm->ranks;
  size_t same = 0;
  while (same < P && order[same] == (int)same) same++;
  if (same == P) return TUTTI_OK;
  int *kept = malloc(P * sizeof *kept), *place = malloc(P * sizeof *place);
  if (!kept || !place) {
    free(kept);
    free(place);
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the places of %d ranks", comm->ranks);
  }
  for (size_t v = 0; v < P; v++) place[kept[v] = order[v]] = (int)v;
  comm->plans->order = kept;
  comm->plans->place = place;
  return TUTTI_OK;
}

tutti_status tt_comm_arrange(tutti_comm *comm, const tt_layout *layout, double ranks_per_core) {
  tt_setting setting = comm->plans->setting;
  tt_chooser *flat = NULL, *chooser;
  _Static_assert(sizeof layout->levels <= sizeof setting.levels, "room for the levels");
  setting.ranks_per_core = 0;
  setting.has_loop = NULL; /* loops are only for ranks that all share memory */
  tutti_status status = tt_chooser_new(&setting, &flat);
  memcpy(setting.levels, layout->levels, sizeof layout->levels);
  setting.inside = layout->inside;
  setting.node_ranks_per_core = ranks_per_core;
  if (!status) status = tt_chooser_new(&setting, &chooser);
  if (!status && (status = keep_order(comm, layout->order))) tt_chooser_free(chooser);
  if (status) {
    tt_chooser_free(flat);
    return status;
  }
  tt_plans_drop(comm);
  tt_chooser_free(comm->plans->chooser);
  comm->plans->setting = setting;
  comm->plans->chooser = chooser;
  comm->plans->flat = comm->plans->order ? flat : NULL;
  if (!comm->plans->order) tt_chooser_free(flat);
  return TUTTI_OK;
}

const char *tutti_comm_network(const tutti_comm *comm) {
  return comm && comm->net ? comm->net->traits.name : NULL;
}

/* Counts levels of the machine, starting with the innermost one over a network. */
int tutti_comm_apart(const tutti_comm *comm, int a, int b, const char **level) {
  if (level) *level = "";
  if (!comm || a < 0 || b < 0 || a >= comm->ranks || b >= comm->ranks) return -1;
  if (a == b || !tt_over_net(comm)) return 0;
  const tt_cost_model *p = tt_chooser_model(comm->plans->chooser);
  if (p->levels == 1) return 1;
  uint32_t *things = tt_cost_domains(p);
  if (!things) return -1;
  const int *place = comm->plans->place;
  const int at = tt_cost_level(p, things, place ? place[a] : a, place ? place[b] : b);
  const int apart = p->levels - comm->plans->setting.inside - at;
  free(things);
  if (level && apart > 0) *level = p->tree.level[at].name;
  return apart > 0 ? apart : 0;
}
