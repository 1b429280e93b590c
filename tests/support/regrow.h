/* regrow.h - for mp_grow and mp_elastic: ranks that die at random and are replaced by joining ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REGROW_H
#define REGROW_H

#include <stdbool.h>
#include <stdint.h>

#include "tutti.h"

/* Prints the error and ends this process with status 9. */
int regrow_wrong(const char *what, const char *more);
/* Returns a number from the environment, or 0 if it is not set. */
int regrow_number(const char *name);
/* Sums a long or short vector derived from u over all ranks. Each rank checks its sums, except the helpers. */
tutti_status regrow_sum(tutti_comm *comm, uint64_t u);
/* Selects at most `deaths` processes, among all that may ever run, which die within `most` microseconds. Initial rank
 * seed % founders never dies. joiner is the number of this joining rank, from 1, or 0 for an initial rank. */
void regrow_draw(uint64_t seed, int founders, int joiner, int deaths, long most);
/* Prevents the death of this process until a call with false. A death that is due by then happens at that call. */
void regrow_spare(bool spared);

/* regrow_set_settings changes settings of the initial ranks. regrow_check_settings checks that a communicator with
 * joiners has them on all ranks. */
void regrow_set_settings(tutti_comm *comm);
void regrow_check_settings(tutti_comm *comm);

#endif
