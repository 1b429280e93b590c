/* card.c - accesses device memory through the driver's functions, which are loaded at run time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "card.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../gpu/cuda_driver.h"

static struct {
#define CUDA_CALL(name, symbol, parameters) CUresult(*name) parameters;
#include "../../gpu/cuda_calls.def"
#undef CUDA_CALL
} cuda;

static bool find_functions(void *library, char *why, size_t size) {
  static const struct {
    const char *symbol;
    size_t at;
  } all[] = {
#define CUDA_CALL(name, symbol, parameters) {#symbol, (size_t)((char *)&cuda.name - (char *)&cuda)},
#include "../../gpu/cuda_calls.def"
#undef CUDA_CALL
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    void *function = dlsym(library, all[i].symbol);
    if (!function) {
      snprintf(why, size, "the driver lacks %s", all[i].symbol);
      return false;
    }
    memcpy((char *)&cuda + all[i].at, &function, sizeof function);
  }
  return true;
}

bool card_open(int rank, char *why, size_t size) {
  const char *path = getenv("TUTTI_CUDA_LIBRARY");
  void *library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  int devices = 0;
  CUdevice device;
  CUcontext context;
  if (!library) return snprintf(why, size, "%s", dlerror()), false;
  if (!find_functions(library, why, size)) return false;
  CUresult r = cuda.cuInit(0);
  if (!r) r = cuda.cuDeviceGetCount(&devices);
  if (!r && devices < 1) r = CUDA_ERROR_NO_DEVICE;
  if (!r) r = cuda.cuDeviceGet(&device, rank % devices);
  if (!r) r = cuda.cuDevicePrimaryCtxRetain(&context, device);
  if (!r) r = cuda.cuCtxSetCurrent(context);
  if (r) snprintf(why, size, "the driver's error %d", r);
  return !r;
}

static CUdeviceptr at(const void *card) {
  return (CUdeviceptr)(uintptr_t)card;
}

void *card_alloc(size_t bytes) {
  CUdeviceptr memory = 0;
  return cuda.cuMemAlloc(&memory, bytes) ? NULL : (void *)(uintptr_t)memory;
}

void card_free(void *memory) {
  if (memory) cuda.cuMemFree(at(memory));
}

bool card_put(void *card, const void *host, size_t bytes, void *stream) {
  return !bytes || (!cuda.cuMemcpyHtoDAsync(at(card), host, bytes, stream) && card_settle(stream));
}

bool card_get(void *host, const void *card, size_t bytes, void *stream) {
  return !bytes || (!cuda.cuMemcpyDtoHAsync(host, at(card), bytes, stream) && card_settle(stream));
}

void *card_stream(void) {
  CUstream stream = NULL;
  return cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) ? NULL : stream;
}

bool card_settle(void *stream) {
  return !cuda.cuStreamSynchronize(stream);
}

bool card_fill(void *card, unsigned char value, size_t bytes, void *stream) {
  return !bytes || !cuda.cuMemsetD8Async(at(card), value, bytes, stream);
}

/* host memory that the device reads; streams wait while it is 0, and continue at 1 */
static uint32_t *held;

bool card_hold(void *stream) {
  CUdeviceptr there;
  void *here = held;
  if (!here && cuda.cuMemHostAlloc(&here, 64, CU_MEMHOSTALLOC_PORTABLE)) return false;
  held = here;
  __atomic_store_n(held, 0, __ATOMIC_RELEASE);
  return !cuda.cuMemHostGetDevicePointer(&there, held, 0) &&
         !cuda.cuStreamWaitValue32(stream, there, 1, CU_STREAM_WAIT_VALUE_GEQ);
}

void card_release(void) {
  __atomic_store_n(held, 1, __ATOMIC_RELEASE);
}
