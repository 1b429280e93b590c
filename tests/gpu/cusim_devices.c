/* cusim_devices.c - the simulated driver's devices, their primary contexts, and handles.
 *
 * Idea       A context is identified by its device and its epoch, the number of earlier contexts of
 *            the device. A handle is identified by its slot in a table and the slot's epoch. Stale
 *            identifiers are therefore detected.
 * Simpler    A device has only its primary context.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cusim.h"

enum { DEPTH = 32 };
static _Thread_local CUcontext stack[DEPTH];
static _Thread_local int depth;

/* ---- handles ---- */

static struct held {
  void *object;
  cusim_device *device;
  unsigned epoch; /* epoch of the context */
  uint32_t generation;
  cusim_what what;
} * held;
static size_t nheld;

void *cusim_handle_new(cusim_what what, cusim_device *d, void *object) {
  size_t i = 0;
  while (i < nheld && held[i].object) i++;
  if (i == nheld) {
    const size_t more = nheld ? 2 * nheld : 64;
    struct held *longer = realloc(held, more * sizeof *held);
    if (!longer) return NULL;
    memset(longer + nheld, 0, (more - nheld) * sizeof *held);
    held = longer, nheld = more;
  }
  held[i] = (struct held){object, d, d->epoch, held[i].generation + 1, what};
  return (void *)(uintptr_t)(((uint64_t)held[i].generation << 32) | (i + 1) << 8 | what);
}

static struct held *slot_of(const void *handle) {
  const uint64_t h = (uintptr_t)handle;
  const size_t i = (h & 0xffffffff) >> 8;
  if (i < 1 || i > nheld || !held[i - 1].object) return NULL;
  struct held *s = &held[i - 1];
  return s->generation == h >> 32 && s->what == (h & 0xff) ? s : NULL;
}

void *cusim_handle_get(cusim_what what, const void *handle, cusim_device **d) {
  const struct held *s = slot_of(handle);
  if (!s || s->what != what || s->epoch != s->device->epoch || !s->device->retained) return NULL;
  if (d) *d = s->device;
  return s->object;
}

void cusim_handle_drop(const void *handle) {
  struct held *s = slot_of(handle);
  if (s) s->object = NULL;
}

/* ---- contexts ---- */

CUcontext cusim_context_of(const cusim_device *d) {
  return (CUcontext)(uintptr_t)(0x1000000 + ((uint64_t)d->epoch << 32) +
                                (uint64_t)d->ordinal * 256);
}

static cusim_device *device_of_context(CUcontext ctx) {
  for (int i = 0; i < cusim.devices; i++)
    if (cusim.device[i].retained && cusim_context_of(&cusim.device[i]) == ctx)
      return &cusim.device[i];
  return NULL;
}

cusim_device *cusim_current(void) {
  return depth ? device_of_context(stack[depth - 1]) : NULL;
}

static bool is_device(CUdevice device) {
  return device >= 0 && device < cusim.devices;
}

CUresult cuDeviceGetCount(int *count) {
  CUresult why = cusim_begin(CALL_cuDeviceGetCount, NULL);
  if (why) return why;
  *count = cusim.devices;
  return cusim_end(CUDA_SUCCESS);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  CUresult why = cusim_begin(CALL_cuDeviceGet, NULL);
  if (why) return why;
  if (!is_device(ordinal)) return cusim_end(CUDA_ERROR_INVALID_DEVICE);
  *device = ordinal;
  return cusim_end(CUDA_SUCCESS);
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice device) {
  CUresult why = cusim_begin(CALL_cuDeviceGetName, NULL);
  if (why) return why;
  if (!is_device(device)) return cusim_end(CUDA_ERROR_INVALID_DEVICE);
  if (bytes < 1) return cusim_end(CUDA_ERROR_INVALID_VALUE);
  snprintf(name, (size_t)bytes, "Simulated GPU %d", device);
  return cusim_end(CUDA_SUCCESS);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
  CUresult why = cusim_begin(CALL_cuDeviceGetUuid, NULL);
  if (why) return why;
  if (!is_device(device)) return cusim_end(CUDA_ERROR_INVALID_DEVICE);
  memcpy(uuid->bytes, "cuda-simulated-", 15);
  uuid->bytes[15] = (unsigned char)device;
  return cusim_end(CUDA_SUCCESS);
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
  static const int values[][2] = {
      {1, 1024}, /* threads per block */
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 2},
      {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 7},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
  };
  CUresult why = cusim_begin(CALL_cuDeviceGetAttribute, NULL);
  if (why) return why;
  if (!is_device(device)) return cusim_end(CUDA_ERROR_INVALID_DEVICE);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    if (values[i][0] == attribute) {
      *value = values[i][1];
      return cusim_end(CUDA_SUCCESS);
    }
  cusim_say("cuDeviceGetAttribute: attribute %d is not simulated", attribute);
  return cusim_end(CUDA_ERROR_INVALID_VALUE);
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
  CUresult why = cusim_begin(CALL_cuDeviceCanAccessPeer, NULL);
  if (why) return why;
  if (!is_device(device) || !is_device(peer)) return cusim_end(CUDA_ERROR_INVALID_DEVICE);
  *can = device != peer;
  return cusim_end(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice device) {
  CUresult why = cusim_begin(CALL_cuDevicePrimaryCtxRetain, NULL);
  if (why) return why;
  if (!is_device(device)) return cusim_end(CUDA_ERROR_INVALID_DEVICE);
  cusim.device[device].retained++;
  *ctx = cusim_context_of(&cusim.device[device]);
  return cusim_end(CUDA_SUCCESS);
}

/* The last release ends the context, with its memory and its streams. */
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  CUresult why = cusim_begin(CALL_cuDevicePrimaryCtxRelease, NULL);
  if (why) return why;
  if (!is_device(device)) return cusim_end(CUDA_ERROR_INVALID_DEVICE);
  cusim_device *d = &cusim.device[device];
  if (!d->retained) return cusim_end(CUDA_ERROR_INVALID_CONTEXT);
  if (d->retained == 1) {
    why = cusim_settle(d, CALL_cuDevicePrimaryCtxRelease, NULL);
    if (why == CUDA_ERROR_UNKNOWN) return cusim_end(why);
    cusim_close_streams(d);
    cusim_free_all(d);
    *d = (cusim_device){.ordinal = d->ordinal, .epoch = d->epoch + 1, .retained = 1, .legacy = -1};
  }
  d->retained--;
  return cusim_end(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
  CUresult why = cusim_begin(CALL_cuDevicePrimaryCtxGetState, NULL);
  if (why) return why;
  if (!is_device(device)) return cusim_end(CUDA_ERROR_INVALID_DEVICE);
  *flags = 0;
  *active = cusim.device[device].retained > 0;
  return cusim_end(CUDA_SUCCESS);
}

CUresult cuCtxGetCurrent(CUcontext *ctx) {
  CUresult why = cusim_begin(CALL_cuCtxGetCurrent, NULL);
  if (why) return why;
  *ctx = depth ? stack[depth - 1] : NULL;
  return cusim_end(CUDA_SUCCESS);
}

CUresult cuCtxSetCurrent(CUcontext ctx) {
  CUresult why = cusim_begin(CALL_cuCtxSetCurrent, NULL);
  if (why) return why;
  if (ctx && !device_of_context(ctx)) return cusim_end(CUDA_ERROR_INVALID_CONTEXT);
  if (depth) depth--;
  if (ctx) stack[depth++] = ctx;
  return cusim_end(CUDA_SUCCESS);
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx) {
  CUresult why = cusim_begin(CALL_cuCtxPushCurrent, NULL);
  if (why) return why;
  if (!device_of_context(ctx)) return cusim_end(CUDA_ERROR_INVALID_CONTEXT);
  if (depth == DEPTH) return cusim_end(CUDA_ERROR_OUT_OF_MEMORY);
  stack[depth++] = ctx;
  return cusim_end(CUDA_SUCCESS);
}

CUresult cuCtxPopCurrent_v2(CUcontext *ctx) {
  CUresult why = cusim_begin(CALL_cuCtxPopCurrent, NULL);
  if (why) return why;
  if (!depth) return cusim_end(CUDA_ERROR_INVALID_CONTEXT);
  depth--;
  if (ctx) *ctx = stack[depth];
  return cusim_end(CUDA_SUCCESS);
}

CUresult cuCtxSynchronize(void) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuCtxSynchronize, &d);
  if (why) return why;
  for (int s = 0; s < MOST_STREAMS; s++)
    if (cusim.stream[s].state != SLOT_FREE && cusim.stream[s].device == d)
      cusim_wait_for(&cusim.stream[s], cusim.stream[s].issued);
  return cusim_end(d->error);
}

/* Streams of all priorities are treated equally. */
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuCtxGetStreamPriorityRange, &d);
  if (why) return why;
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return cusim_end(CUDA_SUCCESS);
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuCtxEnablePeerAccess, &d);
  if (why) return why;
  const cusim_device *p = device_of_context(peer);
  if (flags) return cusim_end(CUDA_ERROR_INVALID_VALUE);
  if (!p) return cusim_end(CUDA_ERROR_INVALID_CONTEXT);
  if (p == d) return cusim_end(CUDA_ERROR_INVALID_DEVICE);
  if (d->peers & 1u << p->ordinal) return cusim_end(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  if (cusim.strict && (why = cusim_settle(d, CALL_cuCtxEnablePeerAccess, NULL)))
    return cusim_end(why);
  d->peers |= 1u << p->ordinal;
  return cusim_end(CUDA_SUCCESS);
}
