/* topo.h - what this process may use of the machine.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_TOPO_H
#define TT_TOPO_H

#include <sched.h>

#include "core.h"

/* The first line of a file, as far as it fits; false: there is none. */
bool tt_line_of(const char *path, char *line, size_t size);
/* Cores this process may run on; one if the system does not say. */
void tt_cores_mine(cpu_set_t *cores);
/* The package, and the last level cache (without a third level: the memory), that all of these cores
 * sit in: numbers that mean the same in all processes of a node; 0: in more than one, or nobody
 * knows. system: the folder that says so; NULL: /sys/devices/system. */
void tt_cores_within(const char *system, const cpu_set_t *cores, int *package, int *cache);
/* Cores' worth of time its control group grants, or a large number. */
double tt_cores_quota(void);
/* Bytes of this core's second level cache; a default if the system does not say. */
size_t tt_cache_l2(void);
/* A number for the running kernel: processes with another one share no memory and no core. */
uint64_t tt_kernel_id(void);
/* "2 x Some Processor": cores that are online, and what they are. No commas. */
const char *tt_machine_name(char *text, size_t size);
/* The instruction sets that matter here, in words. */
const char *tt_instruction_sets(char *text, size_t size);

#endif
