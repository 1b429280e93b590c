/* open_device.c - the device whose memory calls may name: the program's own, or that of a library.
 *
 * Idea       the first communicator of a process looks for libtutti_cuda.so, and that for the driver. Where either is
 *            missing, calls do not ask where their vectors lie.
 * Invariant  once there is a device, it stays: calls read it without a lock.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "create.h"
#include "device.h"

/* each device, device_sought, communicates: order: set once, before the first communicator */

typedef int opener_fn(tutti_device *device, char *why, size_t size);

static tutti_status use(const tutti_device *device) {
  tutti_device *copy = malloc(sizeof *copy);
  if (!copy) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a device's table");
  *copy = *device;
  atomic_store(&tt_process.device, copy);
  return TUTTI_OK;
}

tutti_status tutti_device_set(const tutti_device *device) {
  const tutti_status status = tt_args_given("tutti_device_set", "device", device, NULL, NULL);
  if (status) return status;
  if (device->size != sizeof *device)
    return tt_fail(TUTTI_ERR_ARG,
                   "tutti_device_set: the table belongs to another version of tutti");
  if (atomic_load(&tt_process.communicates) || atomic_exchange(&tt_process.device_sought, 1))
    return tt_fail(TUTTI_ERR_STATE,
                   "tutti_device_set: call it before the first communicator is made, once");
  return use(device);
}

/* Asked for by name, a device that cannot be had is worth a warning. */
void tt_device_seek(void) {
  if (atomic_load_explicit(&tt_process.device_sought, memory_order_relaxed) ||
      atomic_exchange(&tt_process.device_sought, 1))
    return;
  const char *wanted = tt_env("TUTTI_DEVICE"), *name = wanted ? wanted : "cuda";
  char why[200] = "";
  tutti_device device = {0};
  if (strcmp(name, "none") == 0) return;
  void *library = tt_library_load(name),
       *symbol = library ? dlsym(library, "tutti_device_of") : NULL;
  opener_fn *open;
  memcpy(&open, &symbol, sizeof open);
  const bool found = open && !open(&device, why, sizeof why) && device.size == sizeof device;
  if (found && !use(&device)) return;
  if (!found && wanted && tt_news("TUTTI_DEVICE", wanted))
    tt_log(0, "TUTTI_DEVICE=%.60s: no vectors on a device: %.200s", wanted,
           !library ? dlerror()
           : !open  ? "the library lacks tutti_device_of"
           : *why   ? why
                    : "the library belongs to another version of tutti");
}
