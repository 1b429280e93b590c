/* topo.h - the resources that this process may use.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_TOPO_H
#define TT_TOPO_H

#include "core.h"
#include "cpu_bits.h"

/* The first line of a file, truncated to `size`; false: not readable. */
bool tt_line_of(const char *path, char *line, size_t size);
/* Cores this process may run on; one if unknown. */
void tt_cores_mine(tt_cpu_bits *cores);
/* Domains of a machine that contain a core or a set of cores: numbers with the same meaning in all
 * processes of a node; 0: more than one, or unknown. cache: of the third level. */
typedef struct tt_domains {
  int package, numa, cache;
} tt_domains;
/* Those that contain all of these cores. system: the directory to read; NULL:
 * /sys/devices/system. */
tt_domains tt_cores_within(const char *system, const tt_cpu_bits *cores);
/* The CPU quota of its control group, in cores, or a large number. */
double tt_cores_quota(void);
/* Bytes of this core's second level cache; a default if unknown. */
size_t tt_cache_l2(void);
/* A number for the running kernel: processes with another one share no memory and no core. */
uint64_t tt_kernel_id(void);
/* "2 x Some Processor": number and model of the online cores. No commas. */
const char *tt_machine_name(char *text, size_t size);
/* The names of the instruction sets that matter here. */
const char *tt_instruction_sets(char *text, size_t size);

#endif
