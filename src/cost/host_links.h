/* host_links.h - hosts whose links differ, in cost models and in the order of ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_HOST_LINKS_H
#define TT_HOST_LINKS_H

#include "profile.h"

/* The level of a model whose domains are hosts: nodes, if the levels have them, or else ranks. On a torus its nodes.
 * inside: how many levels are known to be within a node. */
int tt_host_level(const tt_cost_model *model, int inside);
/* Numbers a host of that name in the profile, if it names one; "n1" and "n1.cluster" are the same host. */
void tt_host_found(tt_profile *profile, const char *name, int number);
/* The hosts of the first `ranks` ranks of the model, whose links are complete. number: of each rank's host, < 0: of
 * none; NULL: hosts have the order of the model's domains. *hosts: NULL if none of them differs. TUTTI_ERR_MEMORY. */
tutti_status tt_hosts_new(const tt_profile *profile, const tt_cost_model *model, int inside,
                          const int *number, int ranks, tt_hosts **hosts);
void tt_hosts_free(tt_hosts *hosts);
/* TUTTI_ERR_ARG: the profile has figures of a host by a number that the model has not. */
tutti_status tt_hosts_known(const tt_profile *profile, const tt_cost_model *model);
/* Places hosts with slow links after the others of their domain, because trees have their leaves there. order: the
 * rank at each place of the levels, or (levels "") of a flat network. Hosts keep their places on uneven
 * levels, and on a torus. number: of each rank's host. TUTTI_ERR_MEMORY. */
tutti_status tt_hosts_order(const tt_profile *profile, const char *levels, int inside,
                            const int *number, int ranks, int *order);

#endif
