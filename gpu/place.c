/* place.c - determines which memory a pointer points to.
 *
 * Idea       The driver assigns each allocation a number that is never reused. One query for this
 *            number shows whether the memory belongs to the driver, and whether cached results are
 *            still valid. The other attributes are queried once per allocation.
 * Cost       One query to the driver, about 0.1 us. Each thread caches its most recent allocations.
 * Invariant  Memory that the CPU can read, including managed and pinned memory, counts as host
 *            memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "gpu.h"

enum { KNOWN = 8, HOST = 1 };

typedef struct known {
  const gpu_world *world;
  tutti_device_place place;
  int answer; /* 0 if it is on a device, or HOST */
} known;
static _Thread_local known last[KNOWN];
static _Thread_local unsigned next_known;

/* Rejects memory of any context but the device's primary context, because tutti's streams cannot access such memory. */
static int foreign(gpu_world *w, int device, CUcontext context) {
  const gpu_context *c = gpu_context_of(w, device);
  if (!c) return -1;
  if (!context || context == c->primary) return 0;
  return gpu_fail(
      "the memory belongs to a context that is not the primary one of device %d, which the CUDA "
      "runtime uses; tutti serves only that",
      device);
}

static int ask(gpu_world *w, const void *at, unsigned long long id, tutti_device_place *place) {
  CUcontext context = NULL;
  unsigned memory = 0, managed = 0;
  int device = -1;
  CUdeviceptr base = 0;
  size_t bytes = 0;
  int attributes[] = {CU_POINTER_ATTRIBUTE_CONTEXT,          CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                      CU_POINTER_ATTRIBUTE_IS_MANAGED,       CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void *values[] = {&context, &memory, &managed, &device, &base, &bytes};
  const CUresult result = w->cuda.cuPointerGetAttributes(
      sizeof attributes / sizeof *attributes, attributes, values, (CUdeviceptr)(uintptr_t)at);
  if (result) return gpu_fail_cuda(w, "cuPointerGetAttributes", result, "find where %p lies", at);
  *place = (tutti_device_place){device, (const void *)(uintptr_t)base, bytes, id};
  if (memory != CU_MEMORYTYPE_DEVICE || managed) return HOST;
  return foreign(w, device, context);
}

/* Returns the data that this thread has cached about an allocation, or NULL if it has not cached any. */
static const known *find(const gpu_world *w, unsigned long long id) {
  for (int i = 0; i < KNOWN; i++)
    if (last[i].place.id == id && last[i].world == w) return &last[i];
  return NULL;
}

int gpu_place(void *self, const void *at, tutti_device_place *place) {
  gpu_world *w = self;
  unsigned long long id = 0;
  const CUresult result = w->cuda.cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                                        (CUdeviceptr)(uintptr_t)at);
  if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_NOT_INITIALIZED ||
      result == CUDA_ERROR_DEINITIALIZED)
    return HOST;
  if (result) return gpu_fail_cuda(w, "cuPointerGetAttribute", result, "find where %p lies", at);
  const known *k = id ? find(w, id) : NULL;
  if (!k) {
    const int answer = ask(w, at, id, place);
    if (answer < 0 || !id) return answer;
    last[next_known++ % KNOWN] = (known){w, *place, answer};
    return answer;
  }
  *place = k->place;
  return k->answer;
}
