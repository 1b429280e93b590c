/* call_of.h - the arguments of a collective as a tutti_call: CALL(ALLREDUCE, .src = x, ...).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_OF_H
#define CALL_OF_H

#include <tutti.h>

#define CALL(collective, ...) \
  (&(tutti_call){.size = sizeof(tutti_call), .coll = TUTTI_##collective, __VA_ARGS__})

#endif
