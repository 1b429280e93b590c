/* device.c - the table of functions of NVIDIA's GPUs.
 *
 * Idea       libtutti requests the table once. It is created if the driver's library is installed.
 *            For each pointer, place.c checks whether a driver was started, because the program may
 *            start it later.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "gpu.h"

TUTTI_API int tutti_device_of(tutti_device *device, char *why, size_t size);

static gpu_world world = {.lock = PTHREAD_MUTEX_INITIALIZER,
                          .pins_lock = PTHREAD_MUTEX_INITIALIZER,
                          .mappings_lock = PTHREAD_MUTEX_INITIALIZER,
                          .kernels_lock = PTHREAD_MUTEX_INITIALIZER,
                          .holds_lock = PTHREAD_MUTEX_INITIALIZER,
                          .held = PTHREAD_COND_INITIALIZER};

static int load_once(char *why, size_t size) {
  int version = 0;
  pthread_mutex_lock(&world.lock);
  const int failed = world.loaded ? 0 : gpu_load(&world.cuda, why, size);
  if (!failed && !world.loaded) {
    if (world.cuda.cuDriverGetVersion(&version)) version = 0;
    snprintf(world.name, sizeof world.name, version ? "CUDA %d.%d" : "CUDA", version / 1000,
             version % 1000 / 10);
    world.loaded = true;
  }
  pthread_mutex_unlock(&world.lock);
  return failed;
}

int tutti_device_of(tutti_device *device, char *why, size_t size) {
  if (load_once(why, size)) return 1;
  *device = (tutti_device){.size = sizeof *device,
                           .name = world.name,
                           .self = &world,
                           .place = gpu_place,
                           .pin = gpu_pin_memory,
                           .unpin = gpu_unpin_memory,
                           .open = gpu_open,
                           .close = gpu_close,
                           .after = gpu_after,
                           .copy = gpu_copy,
                           .mark = gpu_mark,
                           .reached = gpu_reached,
                           .settle = gpu_settle,
                           .hold = gpu_hold_stream,
                           .release = gpu_release,
                           .name_of = gpu_name_of,
                           .map = gpu_map,
                           .forget = gpu_forget,
                           .sums = gpu_sums,
                           .sum = gpu_sum,
                           .error = gpu_error};
  return 0;
}
