/* gpu_driver.h - the CUDA driver's functions, looked up at run time, for the programs that measure GPUs.
 *
 * TUTTI_CUDA_LIBRARY names the driver's library, both for these programs and for tutti. It defaults to
 * libcuda.so.1.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_GPU_DRIVER_H
#define BENCH_GPU_DRIVER_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../gpu/cuda_driver.h"

typedef struct gpu_driver {
#define CUDA_CALL(name, symbol, parameters) CUresult(*name) parameters;
#include "../gpu/cuda_calls.def"
#undef CUDA_CALL
} gpu_driver;

static gpu_driver cuda;

/* Prints an error message and exits if the driver call failed. */
static void works(CUresult result, const char *what) {
  const char *text = NULL;
  if (!result) return;
  if (cuda.cuGetErrorString) cuda.cuGetErrorString(result, &text);
  fprintf(stderr, "%s: %s (%d)\n", what, text ? text : "the driver failed", result);
  exit(1);
}
#define WORKS(call) works(cuda.call, #call)

static void *gpu_symbol(void *library, const char *symbol) {
  void *found = dlsym(library, symbol);
  if (found) return found;
  fprintf(stderr, "the driver lacks %s\n", symbol);
  exit(77);
}

/* Loads and initializes the driver, and selects the device with number `which` modulo the number of devices. Exits with
 * status 77 if the machine has no GPU. */
static void gpu_start(int which, char *name, int size) {
  const char *path = getenv("TUTTI_CUDA_LIBRARY");
  int devices = 0;
  CUdevice device;
  CUcontext context;
  void *library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *symbol;
  if (!library) {
    fprintf(stderr, "no GPU: %s\n", dlerror());
    exit(77);
  }
#define CUDA_CALL(function, exported, parameters) \
  symbol = gpu_symbol(library, #exported);        \
  memcpy(&cuda.function, &symbol, sizeof symbol);
#include "../gpu/cuda_calls.def"
#undef CUDA_CALL
  if (cuda.cuInit(0) || cuda.cuDeviceGetCount(&devices) || devices < 1) {
    fprintf(stderr, "no GPU: the driver finds none\n");
    exit(77);
  }
  WORKS(cuDeviceGet(&device, which % devices));
  WORKS(cuDeviceGetName(name, size, device));
  WORKS(cuDevicePrimaryCtxRetain(&context, device));
  WORKS(cuCtxSetCurrent(context));
}

static inline void *gpu_pointer(CUdeviceptr at) {
  return (void *)(uintptr_t)at;
}

#endif
