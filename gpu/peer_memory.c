/* peer_memory.c - maps device memory of other processes and of other devices.
 *
 * Idea       The driver creates a handle to an allocation, and another process on this host opens
 *            it (cuIpcOpenMemHandle). Both operations are slow, so handles are cached by
 *            allocation, and mappings by process and allocation. Memory of this process needs no
 *            mapping, but possibly access from one device to another.
 * Invariant  Mapped allocations of a process do not overlap in that process. A name at the address
 *            of another allocation means that the older allocation was freed, so its mapping is
 *            closed.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu.h"

_Static_assert(sizeof(CUipcMemHandle) == sizeof(((tutti_device_name *)0)->handle),
               "a handle fits in a name");
_Static_assert(sizeof(CUuuid) == sizeof(((tutti_device_name *)0)->device), "a UUID fits in a name");

/* ---- names ---- */

/* Returns the stored handle to an allocation, or NULL if no handle is stored. The caller must hold the lock. */
static const gpu_handle *handle_find(gpu_world *w, unsigned long long id) {
  const gpu_handle *h = w->handles;
  while (h && h->id != id) h = h->next;
  return h;
}

/* Stores the handle to an allocation, and removes the handles to earlier allocations at the same address. */
static int handle_keep(gpu_world *w, const tutti_device_place *place,
                       const CUipcMemHandle *handle) {
  gpu_handle *h = malloc(sizeof *h);
  if (!h) return gpu_fail("out of memory");
  *h = (gpu_handle){NULL, place->id, place->base, *handle};
  pthread_mutex_lock(&w->lock);
  for (gpu_handle **at = &w->handles; *at;) {
    gpu_handle *old = *at;
    if (old->base != place->base) {
      at = &old->next;
      continue;
    }
    *at = old->next;
    free(old);
  }
  h->next = w->handles;
  w->handles = h;
  pthread_mutex_unlock(&w->lock);
  return 0;
}

/* Gets the handle to an allocation of this process. Returns 1 if the allocation cannot have a handle. */
static int handle_of(gpu_world *w, const tutti_device_place *place, CUipcMemHandle *handle) {
  unsigned capable = 0;
  const CUdeviceptr base = (CUdeviceptr)(uintptr_t)place->base;
  if (!place->id) return 1;
  pthread_mutex_lock(&w->lock);
  const gpu_handle *kept = handle_find(w, place->id);
  if (kept) *handle = kept->handle;
  pthread_mutex_unlock(&w->lock);
  if (kept) return 0;
  CUresult result = w->cuda.cuPointerGetAttribute(
      &capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, base);
  if (result)
    return gpu_fail_cuda(w, "cuPointerGetAttribute", result,
                         "ask whether others can map the memory at %p", place->base);
  if (!capable) return 1;
  result = w->cuda.cuIpcGetMemHandle(handle, base);
  if (result == CUDA_ERROR_NOT_SUPPORTED) return 1;
  if (result)
    return gpu_fail_cuda(w, "cuIpcGetMemHandle", result, "name the memory at %p", place->base);
  return handle_keep(w, place, handle);
}

int gpu_name_of(void *self, const void *at, tutti_device_name *name) {
  gpu_world *w = self;
  tutti_device_place place;
  CUipcMemHandle handle;
  bool pushed;
  const int elsewhere = gpu_place(self, at, &place);
  if (elsewhere) return elsewhere;
  if (gpu_enter(w, place.device, &pushed)) return -1;
  const int failed = handle_of(w, &place, &handle);
  gpu_leave(w, pushed);
  if (failed) return failed;
  *name = (tutti_device_name){
      .id = place.id,
      .offset = (unsigned long long)((const char *)at - (const char *)place.base),
      .bytes = place.bytes,
      .base = (unsigned long long)(uintptr_t)place.base,
      .process = getpid()};
  memcpy(name->handle, &handle, sizeof handle);
  memcpy(name->device, &w->contexts[place.device].uuid, sizeof name->device);
  return 0;
}

/* ---- memory of this process ---- */

/* Returns true if the memory belongs to this process. Comparing pids is not enough, because processes in different
 * containers may have the same pid. Handles are therefore compared as well. */
static bool is_own(gpu_world *w, const tutti_device_name *name) {
  pthread_mutex_lock(&w->lock);
  const gpu_handle *kept = name->process == getpid() ? handle_find(w, name->id) : NULL;
  const bool own = kept && !memcmp(&kept->handle, name->handle, sizeof name->handle);
  pthread_mutex_unlock(&w->lock);
  return own;
}

/* Gives a device access to the memory of another device. The context of the first device must be current. */
static int reach(gpu_world *w, int device, const tutti_device_name *name) {
  tutti_device_place place;
  int can = 0;
  CUdevice here, there;
  if (gpu_place(w, (const void *)(uintptr_t)name->base, &place))
    return gpu_fail("the memory at %#llx was freed", name->base);
  if (place.device == device) return 0;
  const gpu_context *owner = gpu_context_of(w, place.device);
  if (!owner) return -1;
  if (w->cuda.cuDeviceGet(&here, device) || w->cuda.cuDeviceGet(&there, place.device) ||
      w->cuda.cuDeviceCanAccessPeer(&can, here, there) || !can)
    return gpu_fail("device %d cannot access memory of device %d", device, place.device);
  const CUresult result = w->cuda.cuCtxEnablePeerAccess(owner->primary, 0);
  if (!result || result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) return 0;
  return gpu_fail_cuda(w, "cuCtxEnablePeerAccess", result,
                       "let device %d access memory of device %d", device, place.device);
}

/* ---- mappings; the caller holds their lock ---- */

static void mapping_close(gpu_world *w, gpu_mapping *m) {
  bool pushed;
  if (!gpu_enter(w, m->device, &pushed)) {
    w->cuda.cuIpcCloseMemHandle(m->at);
    gpu_leave(w, pushed);
  }
  free(m);
}

static bool same(const gpu_mapping *m, int device, const tutti_device_name *name) {
  return m->device == device && m->name.process == name->process && m->name.id == name->id &&
         !memcmp(m->name.handle, name->handle, sizeof name->handle);
}

/* Returns true if the mapped allocation has been freed. This is the case if a different allocation now has the same address. */
static bool is_past(const gpu_mapping *m, const tutti_device_name *name) {
  return m->name.process == name->process && m->name.base < name->base + name->bytes &&
         name->base < m->name.base + m->name.bytes &&
         (m->name.id != name->id || memcmp(m->name.handle, name->handle, sizeof name->handle));
}

/* Returns the mapping of the allocation with this name, or NULL if it is not mapped. Also closes mappings of freed
 * allocations. */
static gpu_mapping *mapping_find(gpu_world *w, int device, const tutti_device_name *name) {
  gpu_mapping *found = NULL;
  for (gpu_mapping **at = &w->mappings; *at;) {
    gpu_mapping *m = *at;
    if (same(m, device, name)) found = m;
    if (!is_past(m, name)) {
      at = &m->next;
      continue;
    }
    *at = m->next;
    mapping_close(w, m);
  }
  return found;
}

static gpu_mapping *mapping_open(gpu_world *w, int device, const tutti_device_name *name) {
  CUipcMemHandle handle;
  gpu_mapping *m = malloc(sizeof *m);
  if (!m) {
    gpu_fail("out of memory");
    return NULL;
  }
  *m = (gpu_mapping){.next = w->mappings, .name = *name, .device = device};
  m->name.offset = 0;
  memcpy(&handle, name->handle, sizeof handle);
  const CUresult result =
      w->cuda.cuIpcOpenMemHandle(&m->at, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  if (!result) return w->mappings = m;
  gpu_fail_cuda(w, "cuIpcOpenMemHandle", result, "map %llu bytes of process %lld on device %d",
                name->bytes, name->process, device);
  free(m);
  return NULL;
}

static void *map_entered(gpu_world *w, int device, const tutti_device_name *name) {
  if (name->offset >= name->bytes) {
    gpu_fail("the name of device memory is broken: offset %llu of %llu bytes", name->offset,
             name->bytes);
    return NULL;
  }
  if (is_own(w, name))
    return reach(w, device, name) ? NULL : (void *)(uintptr_t)(name->base + name->offset);
  pthread_mutex_lock(&w->mappings_lock);
  gpu_mapping *m = mapping_find(w, device, name);
  if (!m) m = mapping_open(w, device, name);
  void *at = m ? (void *)(uintptr_t)(m->at + name->offset) : NULL;
  pthread_mutex_unlock(&w->mappings_lock);
  return at;
}

void *gpu_map(void *self, int device, const tutti_device_name *name) {
  bool pushed;
  if (gpu_enter(self, device, &pushed)) return NULL;
  void *at = map_entered(self, device, name);
  gpu_leave(self, pushed);
  return at;
}

void gpu_forget(void *self, long long process) {
  gpu_world *w = self;
  pthread_mutex_lock(&w->mappings_lock);
  for (gpu_mapping **at = &w->mappings; *at;) {
    gpu_mapping *m = *at;
    if (process != -1 && m->name.process != process) {
      at = &m->next;
      continue;
    }
    *at = m->next;
    mapping_close(w, m);
  }
  pthread_mutex_unlock(&w->mappings_lock);
}
