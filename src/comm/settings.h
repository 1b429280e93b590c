/* settings.h - what the user and this machine say: figures, the contract, the topology.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SETTINGS_H
#define TT_SETTINGS_H

#include "choose.h"

/* This machine's model parameters: from the profile found (settings.c), or built in. Warns about a
 * profile that cannot be used. tt_profile_path returns its path, or why no profile is used. */
void tt_profile_here(tt_profile *profile);
/* Puts the figures of the named network in effect; if the profile has none, warns once and uses the
 * built-in ones. */
void tt_profile_over(tt_profile *profile, const char *network);
const char *tt_profile_path(char *text, size_t size);
/* word: "same", "any", "run", "element" or "exact"; NULL: same. TUTTI_ERR_ARG: another word, or a contract
 * that does not allow this number of ranks. */
tutti_status tt_contract_read(const char *word, int ranks, tutti_contract *contract);
tutti_status tt_contract_check(const char *who, tutti_contract contract, int ranks);
/* TUTTI_ERR_UNSUPPORTED: the contract forbids such codes. */
tutti_status tt_code_contract(const char *who, const tt_code_wish *wish, tutti_contract contract);
/* Reads a topology (placement.h): the value itself, or the file it names if it begins with '/' or
 * '.', or has no ':'. The caller frees *text. name: what messages call it, up to 170 characters.
 * TUTTI_ERR_ARG: it cannot be read. */
tutti_status tt_topology_read(const char *value, char **text, char *name, size_t size);

/* How long ranks wait for each other at the start, and for joiners, in s: TUTTI_CONNECT_TIMEOUT, or
 * `otherwise`. */
double tt_connect_timeout(double otherwise);

#endif
