/* pin.c - pins host memory, so that the device can access it fast.
 *
 * Idea       cuMemHostRegister pins pages of any memory, including shared memory, for which each
 *            process pins its own mapping. Memory that other code has pinned can be used as well.
 *            That code has to unpin it.
 * Invariant  There is one list entry per address. Its count is the number of calls to `unpin` that
 *            remain.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "gpu.h"

/* Returns true if this byte is pinned. */
static bool is_pinned(gpu_world *w, const void *at) {
  unsigned memory = 0;
  return !w->cuda.cuPointerGetAttribute(&memory, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        (CUdeviceptr)(uintptr_t)at) &&
         memory == CU_MEMORYTYPE_HOST;
}

static int add(gpu_world *w, char *memory, size_t bytes) {
  gpu_pin *pin = malloc(sizeof *pin);
  if (!pin) return gpu_fail("out of memory");
  const CUresult result = w->cuda.cuMemHostRegister(
      memory, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  const bool others = result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  *pin = (gpu_pin){w->pins, memory, bytes, 1, !others};
  if (!result || (others && is_pinned(w, memory) && is_pinned(w, memory + bytes - 1))) {
    w->pins = pin;
    return 0;
  }
  free(pin);
  return gpu_fail_cuda(w, "cuMemHostRegister", result, "pin %zu bytes of the host at %p", bytes,
                       (void *)memory);
}

int gpu_pin_memory(void *self, void *memory, size_t bytes) {
  gpu_world *w = self;
  bool pushed;
  int failed = 0;
  if (!memory || !bytes) return gpu_fail("there is no memory to pin");
  if (gpu_enter_any(w, &pushed)) return -1;
  pthread_mutex_lock(&w->pins_lock);
  gpu_pin *pin = w->pins;
  while (pin && pin->memory != memory) pin = pin->next;
  if (!pin)
    failed = add(w, memory, bytes);
  else if (pin->bytes < bytes)
    failed = gpu_fail("%zu bytes at %p are pinned, fewer than %zu; unpin them first", pin->bytes,
                      memory, bytes);
  else
    pin->count++;
  pthread_mutex_unlock(&w->pins_lock);
  gpu_leave(w, pushed);
  return failed;
}

int gpu_unpin_memory(void *self, void *memory) {
  gpu_world *w = self;
  bool pushed;
  int failed = 0;
  if (gpu_enter_any(w, &pushed)) return -1;
  pthread_mutex_lock(&w->pins_lock);
  gpu_pin **at = &w->pins;
  while (*at && (*at)->memory != memory) at = &(*at)->next;
  gpu_pin *pin = *at;
  if (!pin) {
    failed = gpu_fail("the memory at %p is not pinned", memory);
  } else if (--pin->count == 0) {
    const CUresult result = pin->ours ? w->cuda.cuMemHostUnregister(memory) : CUDA_SUCCESS;
    if (result)
      failed = gpu_fail_cuda(w, "cuMemHostUnregister", result, "unpin the memory at %p", memory);
    *at = pin->next;
    free(pin);
  }
  pthread_mutex_unlock(&w->pins_lock);
  gpu_leave(w, pushed);
  return failed;
}
