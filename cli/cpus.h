/* cpus.h - which processors this process may use.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CPUS_H
#define CPUS_H

typedef struct cpu_list {
  int n;
  int *cpu; /* one hardware thread of every core first, then the second ones, and so on */
} cpu_list;

/* n is 0 if the system does not tell. Free with cpus_free. */
cpu_list cpus_allowed(void);
void cpus_free(cpu_list *list);

#endif
