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
  int *cpu; /* one hardware thread of every core first, then the second ones, and so on; among
               these, near ones together */
  tutti_net_site *site; /* of each; only package, numa and cache */
} cpu_list;

/* n is 0 if the system does not provide the list. Free with cpus_free. */
cpu_list cpus_allowed(void);
/* The same for n processors. system: the folder that describes them; NULL: /sys/devices/system. */
cpu_list cpus_of(const int *cpu, int n, const char *system);
void cpus_free(cpu_list *list);
/* The affinity mask of a process (0: this one), of *bytes bytes; NULL: unknown. Free with CPU_FREE. */
cpu_set_t *cpus_mask(pid_t pid, size_t *bytes);
/* From now on the calling thread runs on this processor only; not 0: the system refuses, with errno. */
int cpus_keep_to(int cpu);

/* The levels at which processors part, from the outermost. */
enum { CPUS_LEVELS = 3 };
extern const char *const cpus_level[CPUS_LEVELS];
/* The level at which two of the list part; CPUS_LEVELS: they share all. */
int cpus_apart(const cpu_list *list, int i, int j);

/* Draw which processors are near each other (near.c), a line for each innermost domain, after
 * `title` in a column of 18 characters. */
void near_draw(FILE *to, const char *title, const cpu_list *list);
/* The same as the lines of a JSON list. */
void near_json(FILE *to, const cpu_list *list);

#endif
