/* contexts.c - enters and leaves primary contexts, and stores error messages.
 *
 * Idea       The driver executes a call in the current context of the calling thread. Memory of the
 *            CUDA runtime, and thus of PyTorch, belongs to the device's primary context. Each
 *            function of the table makes that context current, and then restores the caller's.
 *            Calls that enter and leave the driver are counted, so that a stuck call is detected
 *            (watch.c).
 * Cost       About 20 ns if the context is already current, as in a program that uses the runtime.
 * Invariant  A retained context exists until the process ends, because it contains tutti's streams
 *            and words.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "gpu.h"

enum { SENTENCE = 400 };
static _Thread_local char sentence[SENTENCE];

int gpu_fail(const char *format, ...) {
  va_list words;
  va_start(words, format);
  vsnprintf(sentence, sizeof sentence, format, words);
  va_end(words);
  return -1;
}

int gpu_fail_cuda(const gpu_world *w, const char *function, CUresult result, const char *format,
                  ...) {
  char what[200];
  const char *name = NULL, *text = NULL;
  va_list words;
  va_start(words, format);
  vsnprintf(what, sizeof what, format, words);
  va_end(words);
  if (w->cuda.cuGetErrorName(result, &name) || !name) name = "unknown";
  if (w->cuda.cuGetErrorString(result, &text) || !text) text = "an error that it does not know";
  return gpu_fail("the GPU's driver failed to %s: %s says %s (%s, %d)", what, function, text, name,
                  result);
}

const char *gpu_error(void *self) {
  (void)self;
  return sentence;
}

/* Retains the primary context of a device. The caller must hold the lock. */
static int retain(gpu_world *w, int device, gpu_context *c) {
  const cuda_calls *cuda = &w->cuda;
  CUdevice handle;
  CUcontext primary = NULL;
  CUresult result = cuda->cuDeviceGet(&handle, device);
  if (result) return gpu_fail_cuda(w, "cuDeviceGet", result, "find device %d", device);
  if ((result = cuda->cuDeviceGetUuid(&c->uuid, handle)))
    return gpu_fail_cuda(w, "cuDeviceGetUuid", result, "name device %d", device);
  if ((result = cuda->cuDeviceGetAttribute(&c->processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                           handle)))
    return gpu_fail_cuda(w, "cuDeviceGetAttribute", result,
                         "count the multiprocessors of device %d", device);
  if ((result = cuda->cuDevicePrimaryCtxRetain(&primary, handle)))
    return gpu_fail_cuda(w, "cuDevicePrimaryCtxRetain", result, "keep the context of device %d",
                         device);
  __atomic_store_n(&c->primary, primary, __ATOMIC_RELEASE);
  return 0;
}

gpu_context *gpu_context_of(gpu_world *w, int device) {
  if (device < 0 || device >= GPU_DEVICES) {
    gpu_fail("device %d is none of the %d that tutti can use", device, GPU_DEVICES);
    return NULL;
  }
  gpu_context *c = &w->contexts[device];
  if (__atomic_load_n(&c->primary, __ATOMIC_ACQUIRE)) return c;
  pthread_mutex_lock(&w->lock);
  const int failed = c->primary ? 0 : retain(w, device, c);
  pthread_mutex_unlock(&w->lock);
  return failed ? NULL : c;
}

void gpu_went_in(gpu_world *w) {
  __atomic_add_fetch(&w->entered, 1, __ATOMIC_RELAXED);
}

int gpu_came_back(gpu_world *w, int failed) {
  __atomic_add_fetch(&w->left, 1, __ATOMIC_RELAXED);
  return failed;
}

int gpu_enter(gpu_world *w, int device, bool *pushed) {
  CUcontext current = NULL;
  *pushed = false;
  gpu_went_in(w);
  const gpu_context *c = gpu_context_of(w, device);
  if (!c) return gpu_came_back(w, -1);
  if (!w->cuda.cuCtxGetCurrent(&current) && current == c->primary) return 0;
  const CUresult result = w->cuda.cuCtxPushCurrent(c->primary);
  if (result)
    return gpu_came_back(w, gpu_fail_cuda(w, "cuCtxPushCurrent", result, "use device %d", device));
  *pushed = true;
  return 0;
}

int gpu_enter_any(gpu_world *w, bool *pushed) {
  CUcontext current = NULL;
  int count = 0, active;
  unsigned flags;
  CUdevice handle;
  *pushed = false;
  gpu_went_in(w);
  if (!w->cuda.cuCtxGetCurrent(&current) && current) return 0;
  const CUresult result = w->cuda.cuDeviceGetCount(&count);
  if (result)
    return gpu_came_back(w, gpu_fail_cuda(w, "cuDeviceGetCount", result, "count the devices"));
  for (int i = 0; i < count && i < GPU_DEVICES; i++)
    if (!w->cuda.cuDeviceGet(&handle, i) &&
        !w->cuda.cuDevicePrimaryCtxGetState(handle, &flags, &active) && active)
      return gpu_came_back(w, gpu_enter(w, i, pushed));
  return gpu_came_back(w, gpu_fail("this process uses none of the %d devices yet", count));
}

void gpu_leave(gpu_world *w, bool pushed) {
  CUcontext popped;
  if (pushed) w->cuda.cuCtxPopCurrent(&popped);
  gpu_came_back(w, 0);
}
