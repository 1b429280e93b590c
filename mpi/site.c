/* site.c - the package, the NUMA node and the last level cache that a thread is bound to, by hwloc.
 *
 * Idea       A domain is identified by its first core, in the system's numbering: the same number
 *            in all processes of a node, whichever cores their control groups show.
 * Cost       A few milliseconds, with hwloc's plugins: devices, distances and inner levels are not
 *            searched.
 * Invariant  Never fails; an unknown domain is 0 on all processes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "site.h"

#if !defined(TUTTI_NO_HWLOC) && __has_include(<hwloc.h>)
#include <hwloc.h>

/* Load only these types, but of all cores, even those that this process may not use. */
static int load(hwloc_topology_t machine) {
  unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED;
#if HWLOC_API_VERSION >= 0x00020800
  flags |= HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
           HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
#endif
  return hwloc_topology_set_all_types_filter(machine, HWLOC_TYPE_FILTER_KEEP_NONE) ||
         hwloc_topology_set_type_filter(machine, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL) ||
         hwloc_topology_set_type_filter(machine, HWLOC_OBJ_L3CACHE, HWLOC_TYPE_FILTER_KEEP_ALL) ||
         /* a NUMA node that is part of a package is attached to a group */
         hwloc_topology_set_type_filter(machine, HWLOC_OBJ_GROUP,
                                        HWLOC_TYPE_FILTER_KEEP_STRUCTURE) ||
         hwloc_topology_set_flags(machine, flags) || hwloc_topology_load(machine);
}

/* The smallest object of a type that contains all these cores: 1 + its first core; 0: none. */
static int holder(hwloc_topology_t machine, hwloc_obj_type_t type, hwloc_const_cpuset_t cores) {
  hwloc_obj_t found = NULL;
  for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(machine, type, o));)
    if (o->cpuset && hwloc_bitmap_isincluded(cores, o->cpuset) &&
        (!found || hwloc_bitmap_weight(o->cpuset) < hwloc_bitmap_weight(found->cpuset)))
      found = o;
  return found ? 1 + hwloc_bitmap_first(found->cpuset) : 0;
}

void mpi_site_within(tutti_net_site *site) {
  hwloc_topology_t machine;
  hwloc_cpuset_t cores = hwloc_bitmap_alloc();
  site->package = site->numa = site->cache = 0;
  if (!cores) return;
  if (!hwloc_topology_init(&machine)) {
    if (!load(machine) && !hwloc_get_cpubind(machine, cores, HWLOC_CPUBIND_THREAD) &&
        !hwloc_bitmap_iszero(cores)) {
      site->package = holder(machine, HWLOC_OBJ_PACKAGE, cores);
      site->numa = holder(machine, HWLOC_OBJ_NUMANODE, cores);
      site->cache = holder(machine, HWLOC_OBJ_L3CACHE, cores);
    }
    hwloc_topology_destroy(machine);
  }
  hwloc_bitmap_free(cores);
}

#else

void mpi_site_within(tutti_net_site *site) {
  site->package = site->numa = site->cache = 0;
}

#endif
