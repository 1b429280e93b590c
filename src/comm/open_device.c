/* open_device.c - the device whose memory may be passed to calls: provided by the program, or by a library.
 *
 * Idea       The first communicator of a process looks for libtutti_cuda.so, which looks for the driver. If either is
 *            missing, calls do not check where their vectors are located.
 * Cost       Without a GPU, a few checks for a device file, because loading both libraries takes a rank 1.5 ms.
 * Invariant  A device that was found or set stays in use, so calls read it without a lock.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "create.h"
#include "device.h"

/* each device, device_sought, communicates: order: set once, before the first communicator */

enum { SEEKING = 1, SOUGHT }; /* states of device_sought */
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
  int unsought = 0;
  if (atomic_load(&tt_process.communicates) ||
      !atomic_compare_exchange_strong(&tt_process.device_sought, &unsought, SEEKING))
    return tt_fail(TUTTI_ERR_STATE,
                   "tutti_device_set: call it before the first communicator is made, and before "
                   "tutti_device_here and tutti_info, once");
  const tutti_status used = use(device);
  atomic_store(&tt_process.device_sought, SOUGHT);
  return used;
}

/* Returns true if the device file of a GPU exists on a server, on a Tegra or under Windows. A driver that the user
 * has named does not need a device file. */
static bool driver_may_be_there(void) {
  static const char *const files[] = {"/dev/nvidiactl", "/dev/nvmap", "/dev/dxg"};
  if (tt_env("TUTTI_CUDA_LIBRARY")) return true;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (!access(files[i], F_OK)) return true;
  return false;
}

/* Looks for the device. Warns if the user has named a device and it cannot be used. */
static void look_for_device(void) {
  const char *wanted = tt_env("TUTTI_DEVICE"), *name = wanted ? wanted : "cuda";
  char why[200] = "";
  tutti_device device = {0};
  if (strcmp(name, "none") == 0 || (!wanted && !driver_may_be_there())) return;
  void *symbol = tt_library_symbol(name, "tutti_device_of", why, sizeof why);
  opener_fn *open;
  memcpy(&open, &symbol, sizeof open);
  const bool found = open && !open(&device, why, sizeof why) && device.size == sizeof device;
  if (found && !use(&device)) return;
  if (!found && wanted && tt_news("TUTTI_DEVICE", wanted))
    tt_log(0, "TUTTI_DEVICE=%.60s: no vectors on a device: %.200s", wanted,
           *why ? why : "the library belongs to another version of tutti");
}

/* If another thread is already looking for the device, waits until that thread has finished. */
void tt_device_seek(void) {
  int seen = atomic_load_explicit(&tt_process.device_sought, memory_order_acquire);
  if (seen == SOUGHT) return;
  if (!seen && atomic_compare_exchange_strong(&tt_process.device_sought, &seen, SEEKING)) {
    look_for_device();
    atomic_store(&tt_process.device_sought, SOUGHT);
  }
  while (atomic_load(&tt_process.device_sought) != SOUGHT) sched_yield();
}

const char *tutti_device_here(void) {
  tt_device_seek();
  return tt_device() ? tt_device()->name : NULL;
}
