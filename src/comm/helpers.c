/* helpers.c - helpers, which are ranks that contribute no data: their number, and the plans of calls with them.
 *
 * Idea       Plans with helpers are made for positions, as other plans are (build_comm.c). The ranks with data come
 *            first, ordered by their levels. The helpers follow, each in the group that helper_places.c assigns to
 *            it. The cost of a message depends on the positions of both ranks in the levels of all ranks.
 * Invariant  If the ranks are already in the order of their positions, neither the order nor its inverse is stored.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "build_comm.h"

void tt_helped_free(tt_helped *h) {
  tt_chooser_free(h->chooser);
  tt_chooser_free(h->flat);
  free(h->order);
  free(h->place);
  free(h->position);
  free(h->host);
  *h = (tt_helped){.chooser = NULL};
}

/* Arranges the ranks that have data, and places the helpers after them. order: receives all ranks in this order. */
static tutti_status find_layout(const tutti_comm *comm, int data, int *order, tt_layout *layout) {
  const size_t P = (size_t)comm->ranks;
  tt_placement *placements = malloc(P * sizeof *placements);
  layout->order = order;
  layout->node_of = malloc(P * sizeof *layout->node_of);
  tutti_status status = TUTTI_OK;
  if (!placements || !layout->node_of)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for the seats of %d ranks", comm->ranks);
  for (size_t r = 0; r < P && !status; r++)
    placements[r] = (tt_placement){.colors = comm->info[r].placement};
  if (!status) status = tt_helpers_arrange(placements, comm->ranks, data, layout);
  free(placements);
  free(layout->node_of);
  return status;
}

/* Fills in the mapping, whose arrays are allocated. */
static void set_mapping(const tutti_comm *comm, tt_helped *h) {
  const int *place = comm->plans->place;
  bool in_order = true;
  for (int v = 0; v < comm->ranks; v++) {
    const int rank = h->order[v];
    h->place[rank] = v;
    h->position[v] = place ? place[rank] : rank;
    in_order &= rank == v;
  }
  if (!in_order) return;
  free(h->order);
  free(h->place);
  h->order = h->place = NULL;
}

static tutti_status arrange(const tutti_comm *comm, tt_setting *setting, tt_helped *h) {
  const size_t P = (size_t)comm->ranks;
  tt_layout layout;
  h->order = malloc(P * sizeof *h->order);
  h->place = malloc(P * sizeof *h->place);
  h->position = malloc(P * sizeof *h->position);
  if (comm->plans->host) h->host = malloc(P * sizeof *h->host);
  if ((comm->plans->host && !h->host) || !h->order || !h->place || !h->position)
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the places of %d ranks", comm->ranks);
  const tutti_status status = find_layout(comm, setting->data, h->order, &layout);
  if (status) return status;
  memcpy(setting->data_levels, layout.levels, sizeof layout.levels);
  for (size_t v = 0; h->host && v < P; v++) h->host[v] = comm->plans->host[h->order[v]];
  setting->host = h->host;
  set_mapping(comm, h);
  setting->position = h->position;
  return TUTTI_OK;
}

static tutti_status make_helped(const tutti_comm *comm, int helpers, tt_helped *h) {
  tt_setting setting = comm->plans->setting;
  setting.data = comm->ranks - helpers;
  setting.host = comm->plans->host;
  tutti_status status = *setting.levels ? arrange(comm, &setting, h) : TUTTI_OK;
  if (!status) status = tt_chooser_new(&setting, &h->chooser);
  if (status || !h->order) return status;
  *setting.levels = *setting.data_levels = 0;
  setting.inside = 0;
  setting.host = comm->plans->host;
  return tt_chooser_new(&setting, &h->flat);
}

tutti_status tt_helpers_set(tutti_comm *comm, int helpers) {
  tt_helped helped = {.chooser = NULL};
  if (helpers == comm->helpers) return TUTTI_OK;
  const tutti_status status = helpers ? make_helped(comm, helpers, &helped) : TUTTI_OK;
  if (status) {
    tt_helped_free(&helped);
    return status;
  }
  tt_plans_forget(comm);
  tt_helped_free(&comm->plans->helped);
  comm->plans->helped = helped;
  comm->helpers = helpers;
  return TUTTI_OK;
}
