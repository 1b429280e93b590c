/* host_links.h - hosts whose links differ, in cost models and in the order of ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_HOST_LINKS_H
#define TT_HOST_LINKS_H

#include "profile.h"

/* Returns the level whose domains are hosts. These are the nodes if the levels include nodes or the network is a torus, and
 * otherwise the ranks. `inside` is the number of levels known to be within a node. */
int tt_host_level(const tt_cost_model *model, int inside);
/* If the profile has parameters for this host name, sets the host's number. "n1" and "n1.cluster" are the same host. */
void tt_host_found(tt_profile *profile, const char *name, int number);
/* Finds the hosts of a model's first `ranks` ranks. The links of the model must be set. number[r] is the host of rank r, or
 * negative if it has none. If `number` is NULL, hosts are the domains of the model, in order. Sets *hosts to NULL if all
 * hosts are equal. May return TUTTI_ERR_MEMORY. */
tutti_status tt_hosts_new(const tt_profile *profile, const tt_cost_model *model, int inside,
                          const int *number, int ranks, tt_hosts **hosts);
void tt_hosts_free(tt_hosts *hosts);
/* Returns TUTTI_ERR_ARG if the profile has parameters for a host number that the model does not have. */
tutti_status tt_hosts_known(const tt_profile *profile, const tt_cost_model *model);
/* Moves hosts with slow links to the end of their domain, because these positions are the leaves of trees. order[i] is the
 * rank at position i; number[r] is the host of rank r. `levels` is "" for a flat network. On uneven levels and on a torus,
 * hosts keep their positions. May return TUTTI_ERR_MEMORY. */
tutti_status tt_hosts_order(const tt_profile *profile, const char *levels, int inside,
                            const int *number, int ranks, int *order);

#endif
