/* cpus.h - the processors that this process may use, and how near they are to each other.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CPUS_H
#define CPUS_H

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "tutti_net.h"

typedef struct cpu_list {
  int n;
  /* first one hardware thread of every core, then the second one, and so on; within each group, nearby
   * processors are adjacent */
  int *cpu;
  tutti_net_site *site; /* of each processor; only package, numa and cache are set */
} cpu_list;

/* Returns the list of processors, which is empty (n = 0) if the system does not describe them. Free the list with cpus_free. */
cpu_list cpus_allowed(void);
/* Returns a list of n given processors. `system` is the folder that describes them, or NULL for /sys/devices/system. */
cpu_list cpus_of(const int *cpu, int n, const char *system);
void cpus_free(cpu_list *list);
/* Returns the CPU affinity mask of a process (pid 0 for the calling process), or NULL if it is unknown. Sets *bytes
 * to the size of the mask. Free the mask with CPU_FREE. */
cpu_set_t *cpus_mask(pid_t pid, size_t *bytes);
/* Binds the calling thread to this processor. Returns nonzero, with errno set, if the system refuses to do so. */
int cpus_keep_to(int cpu);

/* The levels of the processor topology, from the outermost. */
enum { CPUS_LEVELS = 3 };
extern const char *const cpus_level[CPUS_LEVELS];
/* Returns the outermost level that separates processors i and j of the list, or CPUS_LEVELS if no level separates them. */
int cpus_apart(const cpu_list *list, int i, int j);

/* Draws which processors are near each other (near.c). Prints one line for each innermost domain, with `title` in a
 * column of 18 characters on the left. */
void near_draw(FILE *to, const char *title, const cpu_list *list);
/* Prints the same information as near_draw, as the lines of a JSON list. */
void near_json(FILE *to, const cpu_list *list);

#endif
