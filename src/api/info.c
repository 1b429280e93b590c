/* info.c - describes the capabilities of this machine, line by line.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "create.h"
#include "huge.h"
#include "segment.h"
#include "settings.h"
#include "topo.h"

static void say_shm(char *text, size_t size) {
  int fd;
  if (tt_segment_create(1, 0, 0, tt_random(), &fd)) {
    snprintf(text, size, "wire shm: no (%.400s)", tutti_error());
    return;
  }
  close(fd);
  snprintf(text, size, "wire shm: yes (sealed memfd; threads as ranks too)");
}

/* Tests process_vm_readv, which reads the memory of another rank, by reading this process's own memory. */
static void say_vm_readv(char *text, size_t size) {
  int from = 42, to = 0;
  struct iovec local = {&to, sizeof to}, remote = {&from, sizeof from};
  bool ok = process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)sizeof to && to == 42;
  snprintf(text, size, "process_vm_readv: %s",
           ok ? "yes, for private buffers"
              : "no (forbidden here: private buffers go through shared memory)");
}

static void say_huge(char *text, size_t size) {
  char why[160];
  if (tt_huge_here(why, sizeof why))
    snprintf(text, size, "huge pages: yes, where shared memory has room for whole ones");
  else
    snprintf(text, size, "huge pages: no (%s)", why);
}

static void say_network(const char *net, char *text, size_t size) {
  tt_net_end end = {.end = NULL};
  if (tt_net_open(net, &end))
    snprintf(text, size, "wire %s: no (%.300s)", net, tutti_error());
  else
    snprintf(text, size, "wire %s: yes, between hosts (%.60s)", net, end.maker.name);
  tt_net_drop(&end);
}

static void say_device(char *text, size_t size) {
  const char *name = tutti_device_here();
  if (name)
    snprintf(text, size, "device: %.60s (vectors in its memory)", name);
  else
    snprintf(text, size, "device: no (TUTTI_DEVICE=cuda says why)");
}

/* Describes the time to pass a cache line between cores. Returns NULL if the profile does not have this parameter. */
static const char *say_between(char *text, size_t size) {
  tt_profile m;
  tt_profile_here(&m);
  if (m.between <= 0) return NULL;
  snprintf(text, size, "profile's cores: %.3g ns there and back for a cache line", 1e9 * m.between);
  return text;
}

const char *tutti_info(int i) {
  size_t size;
  char *text = tt_thread_text(&size), sets[400];
  tt_cpu_bits cores;
  double quota = tt_cores_quota();
  switch (i) {
    case 0:
      tt_cores_mine(&cores);
      if (quota < tt_cpus_count(&cores))
        snprintf(text, size, "cores: %d, limited to %.2f by the control group",
                 tt_cpus_count(&cores), quota);
      else
        snprintf(text, size, "cores: %d", tt_cpus_count(&cores));
      break;
    case 1: snprintf(text, size, "machine: %s", tt_machine_name(sets, sizeof sets)); break;
    case 2: snprintf(text, size, "level 2 cache: %zu KiB", tt_cache_l2() / 1024); break;
    case 3:
      snprintf(text, size, "instruction sets: %s", tt_instruction_sets(sets, sizeof sets));
      break;
    case 4: say_shm(text, size); break;
    case 5: say_vm_readv(text, size); break;
    case 6: say_huge(text, size); break;
    case 7: snprintf(text, size, "wire mpi: in a library for each MPI (libtutti_mpi_*)"); break;
    case 8: snprintf(text, size, "profile: %s", tt_profile_path(sets, sizeof sets)); break;
    case 9: say_network("ucx", text, size); break;
    case 10: say_network("tcp", text, size); break;
    case 11: say_network("tls", text, size); break;
    case 12: say_device(text, size); break;
    case 13: return say_between(text, size);
    default: return NULL;
  }
  return text;
}
