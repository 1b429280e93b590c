/* cusim_memory.c - memory of the simulated devices, pinned host memory, and the table of all allocations.
 *
 * Idea       A large range of addresses is reserved and never readable. An allocation of device memory is
 *            a part of it, with unused addresses on both sides. Its bytes are in a memory file that is
 *            mapped elsewhere. The file begins with a page that records whether the allocation is alive.
 *            Other processes map the same file (cusim_ipc.c).
 * Invariant  An address of device memory is not reused before 128 GiB have been allocated, so a freed
 *            pointer stays invalid. (With a thread sanitizer, there is no space for a TiB.)
 * Cost       Finding an allocation is a binary search.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cusim.h"

enum { GAP = 64 << 10, ALIGN = 512, FRESH = 0xb7 };
static const uint64_t SPACE = 1ull << 37, LIVE = 0x6c697665;

static uint64_t space, next_at, last_id;
static cusim_alloc **sorted; /* the live allocations, sorted by address */
static size_t nsorted, room;

/* ---- the table ---- */

/* Returns the number of allocations that begin at or below this address. */
static size_t begun_at(uint64_t at) {
  size_t low = 0, high = nsorted;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (sorted[middle]->at <= at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

cusim_alloc *cusim_find(uint64_t at) {
  const size_t n = begun_at(at);
  return n && at - sorted[n - 1]->at < sorted[n - 1]->bytes ? sorted[n - 1] : NULL;
}

static bool insert(cusim_alloc *a) {
  if (nsorted == room) {
    const size_t more = room ? 2 * room : 64;
    cusim_alloc **longer = realloc(sorted, more * sizeof *longer);
    if (!longer) return false;
    sorted = longer, room = more;
  }
  const size_t n = begun_at(a->at);
  memmove(sorted + n + 1, sorted + n, (nsorted - n) * sizeof *sorted);
  sorted[n] = a;
  nsorted++;
  a->id = ++last_id;
  return true;
}

bool cusim_device_range(uint64_t at) {
  return space && at - space < SPACE;
}

/* Returns the start of an unused range of this length, or 0 if the space is full. */
static uint64_t take_addresses(uint64_t bytes) {
  if (!space) {
    void *at = mmap(NULL, SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return 0;
    space = (uintptr_t)at;
    next_at = space + GAP;
  }
  const uint64_t need = (bytes + ALIGN - 1) / ALIGN * ALIGN + GAP;
  if (need > SPACE / 4) return 0;
  if (next_at + need > space + SPACE) next_at = space + GAP;
  for (size_t n;
       (n = begun_at(next_at + need)) && sorted[n - 1]->at + sorted[n - 1]->bytes > next_at;)
    next_at = sorted[n - 1]->at + (sorted[n - 1]->bytes + ALIGN - 1) / ALIGN * ALIGN + GAP;
  const uint64_t at = next_at;
  next_at += need;
  return at + bytes <= space + SPACE ? at : 0;
}

bool cusim_lives(const cusim_head *head) {
  return __atomic_load_n(&head->live, __ATOMIC_ACQUIRE) == LIVE;
}

cusim_alloc *cusim_mapping_of(const cusim_device *d, pid_t owner, uint64_t name) {
  for (size_t i = 0; i < nsorted; i++)
    if (sorted[i]->kind == KIND_IPC && sorted[i]->ctx == d && sorted[i]->owner == owner &&
        sorted[i]->name == name)
      return sorted[i];
  return NULL;
}

cusim_alloc *cusim_reach(const cusim_device *d, uint64_t at, uint64_t bytes, const char **why) {
  cusim_alloc *a = cusim_find(at);
  if (!a) return *why = "it is not allocated, or freed", NULL;
  if (bytes > a->bytes - (at - a->at)) return *why = "it goes beyond the allocation", NULL;
  if (a->kind == KIND_DEVICE && a->device != d->ordinal && !(d->peers & 1u << a->device))
    return *why = "it is another device's, and access is not enabled", NULL;
  if (a->kind == KIND_IPC && a->ctx != d) return *why = "another context has mapped it", NULL;
  if (a->kind == KIND_IPC && !cusim_lives(a->head))
    return *why = "the process that exported it has freed it", NULL;
  if (a->kind == KIND_REGISTERED && a->ctx != d && !(a->flags & CU_MEMHOSTREGISTER_PORTABLE))
    return *why = "another context has registered it, for itself", NULL;
  return a;
}

/* ---- allocating and freeing ---- */

/* Creates an allocation backed by a file that another process may map. */
cusim_alloc *cusim_map_file(cusim_device *d, int fd, uint64_t bytes, cusim_kind kind) {
  cusim_alloc *a = calloc(1, sizeof *a);
  void *map = mmap(NULL, CUSIM_PAGE + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const uint64_t at = take_addresses(bytes);
  if (a && map != MAP_FAILED && at) {
    *a = (cusim_alloc){
        .at = at, .bytes = bytes, .kind = kind, .device = d->ordinal, .ctx = d, .fd = fd};
    a->head = map;
    a->host = (unsigned char *)map + CUSIM_PAGE;
    if (insert(a)) return a;
  }
  if (map != MAP_FAILED) munmap(map, CUSIM_PAGE + bytes);
  free(a);
  return NULL;
}

static void unmap(cusim_alloc *a) {
  switch (a->kind) {
    case KIND_DEVICE:
      close(a->fd);
      munmap(a->head, CUSIM_PAGE + a->bytes);
      break;
    case KIND_IPC: munmap(a->head, CUSIM_PAGE + a->bytes); break;
    case KIND_MANAGED:
    case KIND_HOST: munmap(a->host, a->bytes); break;
    case KIND_REGISTERED: break;
  }
  free(a);
}

void cusim_release(cusim_alloc *a) {
  if (--a->users == 0 && a->dead) unmap(a);
}

void cusim_kill(cusim_alloc *a) {
  const size_t n = begun_at(a->at) - 1;
  memmove(sorted + n, sorted + n + 1, (nsorted - n - 1) * sizeof *sorted);
  nsorted--;
  if (a->kind == KIND_DEVICE) __atomic_store_n(&a->head->live, 0, __ATOMIC_RELEASE);
  if (a->kind == KIND_DEVICE || a->kind == KIND_MANAGED) cusim.device[a->device].used -= a->bytes;
  a->dead = true;
  if (!a->users) unmap(a);
}

void cusim_free_all(cusim_device *d) {
  for (size_t i = nsorted; i-- > 0;)
    if (sorted[i]->ctx == d) cusim_kill(sorted[i]);
}

static CUresult alloc_device(cusim_device *d, CUdeviceptr *at, size_t bytes) {
  if (!at || !bytes) return CUDA_ERROR_INVALID_VALUE;
  CUresult why = cusim.strict ? cusim_settle(d, CALL_cuMemAlloc, NULL) : CUDA_SUCCESS;
  if (why) return why;
  if (bytes > cusim.memory || d->used > cusim.memory - bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  const int fd = memfd_create("cuda_sim", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, (off_t)(CUSIM_PAGE + bytes))) {
    if (fd >= 0) close(fd);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  cusim_alloc *a = cusim_map_file(d, fd, bytes, KIND_DEVICE);
  if (!a) {
    close(fd);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  d->used += bytes;
  memset(a->host, FRESH, bytes);
  a->head->magic = a->id;
  __atomic_store_n(&a->head->live, LIVE, __ATOMIC_RELEASE);
  *at = a->at;
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *at, size_t bytes) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuMemAlloc, &d);
  return why ? why : cusim_end(alloc_device(d, at, bytes));
}

/* Allocates memory that the CPU can also read. */
static CUresult alloc_host(int call, cusim_device *d, void **at, size_t bytes, cusim_kind kind) {
  if (!at || !bytes) return CUDA_ERROR_INVALID_VALUE;
  CUresult why = cusim.strict ? cusim_settle(d, call, NULL) : CUDA_SUCCESS;
  if (why) return why;
  if (kind == KIND_MANAGED && (bytes > cusim.memory || d->used > cusim.memory - bytes))
    return CUDA_ERROR_OUT_OF_MEMORY;
  cusim_alloc *a = calloc(1, sizeof *a);
  void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (a && map != MAP_FAILED) {
    *a = (cusim_alloc){.at = (uintptr_t)map, .bytes = bytes, .kind = kind, .device = d->ordinal};
    a->ctx = d;
    a->host = map;
    if (insert(a)) {
      if (kind == KIND_MANAGED) d->used += bytes;
      memset(map, FRESH, bytes);
      *at = map;
      return CUDA_SUCCESS;
    }
  }
  if (map != MAP_FAILED) munmap(map, bytes);
  free(a);
  return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemAllocManaged(CUdeviceptr *at, size_t bytes, unsigned flags) {
  cusim_device *d;
  void *map = NULL;
  CUresult why = cusim_begin(CALL_cuMemAllocManaged, &d);
  if (why) return why;
  if (flags != CU_MEM_ATTACH_GLOBAL) return cusim_end(CUDA_ERROR_INVALID_VALUE);
  why = alloc_host(CALL_cuMemAllocManaged, d, &map, bytes, KIND_MANAGED);
  if (!why) *at = (uintptr_t)map;
  return cusim_end(why);
}

CUresult cuMemHostAlloc(void **at, size_t bytes, unsigned flags) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuMemHostAlloc, &d);
  if (why) return why;
  if (flags & ~7u) return cusim_end(CUDA_ERROR_INVALID_VALUE);
  return cusim_end(alloc_host(CALL_cuMemHostAlloc, d, at, bytes, KIND_HOST));
}

/* Frees the allocation that begins at `at` and is of one of these kinds. First waits until the device has
 * finished. */
static CUresult free_kinds(int call, uint64_t at, unsigned kinds, CUresult otherwise) {
  cusim_device *d;
  CUresult why = cusim_begin(call, &d);
  if (why) return why;
  cusim_alloc *a = cusim_find(at);
  if (!a || a->at != at || !(kinds & 1u << a->kind)) {
    cusim_say("%s: no such allocation begins at %#llx", cusim_name(call), (unsigned long long)at);
    return cusim_end(otherwise);
  }
  cusim.alone = cusim.strict;
  why = cusim_settle(a->ctx, call, NULL);
  cusim.alone = false;
  pthread_cond_broadcast(&cusim.moved);
  if (why) return cusim_end(why);
  if (cusim_find(at) != a) return cusim_end(otherwise); /* another thread has freed it */
  cusim_kill(a);
  return cusim_end(CUDA_SUCCESS);
}

CUresult cuMemFree_v2(CUdeviceptr at) {
  return free_kinds(CALL_cuMemFree, at, 1u << KIND_DEVICE | 1u << KIND_MANAGED,
                    CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemFreeHost(void *at) {
  return free_kinds(CALL_cuMemFreeHost, (uintptr_t)at, 1u << KIND_HOST, CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemHostUnregister(void *at) {
  return free_kinds(CALL_cuMemHostUnregister, (uintptr_t)at, 1u << KIND_REGISTERED,
                    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

/* Returns true if all of its pages are mapped. */
static bool all_mapped(uint64_t at, uint64_t bytes) {
  unsigned char there[256];
  const uint64_t end = at + bytes;
  for (at -= at % CUSIM_PAGE; at < end; at += CUSIM_PAGE * sizeof there) {
    const uint64_t rest =
        end - at < CUSIM_PAGE * sizeof there ? end - at : CUSIM_PAGE * sizeof there;
    if (mincore((void *)(uintptr_t)at, rest, there)) return false;
  }
  return true;
}

static CUresult register_host(cusim_device *d, uint64_t at, uint64_t bytes, unsigned flags) {
  if (!at || !bytes || flags & ~3u || at + bytes < at) return CUDA_ERROR_INVALID_VALUE;
  CUresult why = cusim.strict ? cusim_settle(d, CALL_cuMemHostRegister, NULL) : CUDA_SUCCESS;
  if (why) return why;
  if (cusim_device_range(at) || !all_mapped(at, bytes)) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t first = at / CUSIM_PAGE,
                 last = (at + bytes - 1) / CUSIM_PAGE; /* whole pages are pinned */
  const size_t n = begun_at(last * CUSIM_PAGE + CUSIM_PAGE - 1);
  if (n && (sorted[n - 1]->at + sorted[n - 1]->bytes - 1) / CUSIM_PAGE >= first)
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  cusim_alloc *a = calloc(1, sizeof *a);
  if (!a) return CUDA_ERROR_OUT_OF_MEMORY;
  *a = (cusim_alloc){
      .at = at, .bytes = bytes, .kind = KIND_REGISTERED, .device = d->ordinal, .ctx = d};
  a->flags = flags;
  a->host = (unsigned char *)(uintptr_t)at;
  if (insert(a)) return CUDA_SUCCESS;
  free(a);
  return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemHostRegister_v2(void *at, size_t bytes, unsigned flags) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuMemHostRegister, &d);
  return why ? why : cusim_end(register_host(d, (uintptr_t)at, bytes, flags));
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *host, unsigned flags) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuMemHostGetDevicePointer, &d);
  if (why) return why;
  const cusim_alloc *a = cusim_find((uintptr_t)host);
  if (flags || !a || (a->kind != KIND_HOST && a->kind != KIND_REGISTERED))
    return cusim_end(CUDA_ERROR_INVALID_VALUE);
  *device = (uintptr_t)host;
  return cusim_end(CUDA_SUCCESS);
}
