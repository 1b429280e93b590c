/* host_links.h - hosts whose links differ, in cost models and in the order of ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_HOST_LINKS_H
#define TT_HOST_LINKS_H

#include "profile.h"

/* Returns the level of a model whose domains are hosts: nodes, if the levels include them, or else ranks. On a torus, hosts
 * are its nodes. `inside` is the number of levels known to be within a node. */
int tt_host_level(const tt_cost_model *model, int inside);
/* If the profile has parameters of a host of that name, gives the host its number. "n1" and "n1.cluster" are the same
 * host. */
void tt_host_found(tt_profile *profile, const char *name, int number);
/* Finds the hosts of the first `ranks` ranks of the model, whose links must be complete. number[r] is the host of rank r,
 * or negative if it has none; if `number` is NULL, hosts are the model's domains in order. Sets *hosts to NULL if no host
 * differs. May return TUTTI_ERR_MEMORY. */
tutti_status tt_hosts_new(const tt_profile *profile, const tt_cost_model *model, int inside,
                          const int *number, int ranks, tt_hosts **hosts);
void tt_hosts_free(tt_hosts *hosts);
/* Returns TUTTI_ERR_ARG if the profile has parameters of a host number that does not exist in the model. */
tutti_status tt_hosts_known(const tt_profile *profile, const tt_cost_model *model);
/* Moves hosts with slow links behind the others of their domain, because trees have their leaves there. order[i] is the
 * rank at position i of the levels; levels is "" for a flat network. Hosts keep their positions on uneven levels and on a
 * torus. number[r] is the host of rank r. May return TUTTI_ERR_MEMORY. */
tutti_status tt_hosts_order(const tt_profile *profile, const char *levels, int inside,
                            const int *number, int ranks, int *order);

#endif
