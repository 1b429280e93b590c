/* settings.h - settings from the user and from this machine: model parameters, the contract, the topology.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SETTINGS_H
#define TT_SETTINGS_H

#include "choose.h"

/* Reads the model parameters of this machine from its profile (settings.c), or uses the built-in parameters. Warns about a
 * profile that cannot be used. tt_profile_path returns the path of the profile, or the reason why no profile is used. */
void tt_profile_here(tt_profile *profile);
/* Selects the model parameters for the named network. If the profile has none for this network, warns once and uses
 * the built-in parameters. */
void tt_profile_over(tt_profile *profile, const char *network);
const char *tt_profile_path(char *text, size_t size);
/* Parses the name of a contract: "same", "any", "run", "element" or "exact". NULL means "same". Returns
 * TUTTI_ERR_ARG for any other word, and if the contract does not support this number of ranks. */
tutti_status tt_contract_read(const char *word, int ranks, tutti_contract *contract);
tutti_status tt_contract_check(const char *who, tutti_contract contract, int ranks);
/* Returns TUTTI_ERR_UNSUPPORTED if the contract forbids this kind of compression. */
tutti_status tt_code_contract(const char *who, const tt_code_wish *wish, tutti_contract contract);
/* Reads a topology (placement.h). `value` is either the topology itself or the path of a file: a path begins with
 * '/' or '.', or contains no ':'. The caller frees *text. name: receives the name to use in messages, up to 170
 * characters. Returns TUTTI_ERR_ARG if the topology cannot be read. */
tutti_status tt_topology_read(const char *value, char **text, char *name, size_t size);

/* Returns the time that ranks wait for each other at the start, and for joiners, in seconds. This is
 * TUTTI_CONNECT_TIMEOUT if set, and `otherwise` if not. */
double tt_connect_timeout(double otherwise);

#endif
