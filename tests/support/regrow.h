/* regrow.h - for mp_grow and mp_elastic, whose ranks die at random and are replaced by joiners.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REGROW_H
#define REGROW_H

#include <stdbool.h>
#include <stdint.h>

#include "tutti.h"

/* Says what is wrong, and ends this process with status 9. */
int regrow_wrong(const char *what, const char *more);
/* A number of the environment; 0: it is not there. */
int regrow_number(const char *name);
/* The ranks sum a vector that is drawn from u, long or short; each checks the sums, the helpers do not. */
tutti_status regrow_sum(tutti_comm *comm, uint64_t u);
/* Some of the processes that may ever run are to die, `deaths` at most, each within `most` microseconds; founder
 * seed % founders never dies. joiner: number of this joiner, from 1; 0: a founder. */
void regrow_draw(uint64_t seed, int founders, int joiner, int deaths, long most);
/* From now on, until it is called with false, this process does not die; the death that is due by then comes at that call. */
void regrow_spare(bool spared);

#endif
