/* topo.h - the resources that this process may use.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_TOPO_H
#define TT_TOPO_H

#include "core.h"
#include "cpu_bits.h"

/* Reads the first line of a file, truncated to `size` bytes. Returns false if the file cannot be read. */
bool tt_line_of(const char *path, char *line, size_t size);
/* Gets the cores that this process may run on. If they are unknown, this is core 0. */
void tt_cores_mine(tt_cpu_bits *cores);
/* The domains of a machine that contain a core or a set of cores. All processes of a node use the same numbers. 0 means
 * several domains, or an unknown domain. `cache` is the third-level cache. */
typedef struct tt_domains {
  int package, numa, cache;
} tt_domains;
/* Returns the domains that contain all of these cores. `system` is the directory to read; NULL: /sys/devices/system. */
tt_domains tt_cores_within(const char *system, const tt_cpu_bits *cores);
/* Returns the CPU quota of this process's control group in cores, or a large number if no quota is set. */
double tt_cores_quota(void);
/* Returns the size of this core's second-level cache in bytes, or a default if it is unknown. */
size_t tt_cache_l2(void);
/* Returns a number that identifies the running kernel. Processes for which it differs share no memory and no cores. */
uint64_t tt_kernel_id(void);
/* Formats the number and the model of the online cores, such as "2 x Some Processor". The text contains no commas. */
const char *tt_machine_name(char *text, size_t size);
/* Formats the names of those instruction sets of the CPU that tutti distinguishes. */
const char *tt_instruction_sets(char *text, size_t size);

#endif
