/* cusim_ipc.c - device memory of other processes of the simulated driver.
 *
 * Idea       A handle contains the process, its file descriptor for the allocation's bytes, and the allocation.
 *            Another process opens the descriptor through /proc. The first page of the file shows whether it is that
 *            allocation, and whether it is still alive.
 * Refused    A handle of this process; a handle of an allocation that was freed, of a process that has exited, or that was
 *            forged; access to a mapping after the exporter has freed the memory. Memory exported by a process that has
 *            exited stays mapped.
 * Counted    Opening a handle again returns the same address. An equal number of closes ends the mapping (see the
 *            reference).
 * Source     NVIDIA's reference of the driver API, cuIpcOpenMemHandle.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cusim.h"

static const uint64_t MAGIC = 0x63757369706331;

typedef struct exported { /* the contents of a handle */
  uint64_t magic, id, bytes;
  int32_t process, fd, device;
} exported;
_Static_assert(sizeof(exported) <= sizeof(CUipcMemHandle), "it fits in a handle");

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr at) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuIpcGetMemHandle, &d);
  if (why) return why;
  const cusim_alloc *a = cusim_find(at);
  if (!cusim.ipc || !handle || !a || a->kind != KIND_DEVICE || a->at != at)
    return cusim_end(CUDA_ERROR_INVALID_VALUE);
  const exported e = {MAGIC, a->id, a->bytes, (int32_t)cusim.process, a->fd, a->device};
  memset(handle, 0, sizeof *handle);
  memcpy(handle, &e, sizeof e);
  return cusim_end(CUDA_SUCCESS);
}

/* Maps the exported memory. Returns NULL if it does not exist. */
static cusim_alloc *open_exported(cusim_device *d, const exported *e) {
  char path[64];
  struct stat file;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)e->process, (int)e->fd);
  const int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return NULL;
  const bool fits = fstat(fd, &file) == 0 && (uint64_t)file.st_size == CUSIM_PAGE + e->bytes;
  cusim_alloc *a = fits ? cusim_map_file(d, fd, e->bytes, KIND_IPC) : NULL;
  close(fd);
  if (!a) return NULL;
  a->fd = -1;
  a->device = e->device;
  a->owner = e->process;
  a->name = e->id;
  if (a->head->magic == e->id && cusim_lives(a->head)) return a;
  cusim_kill(a);
  return NULL;
}

static CUresult open_handle(cusim_device *d, CUdeviceptr *at, const CUipcMemHandle *handle,
                            unsigned flags) {
  exported e;
  memcpy(&e, handle, sizeof e);
  if (!at || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || e.magic != MAGIC)
    return CUDA_ERROR_INVALID_VALUE;
  if (e.process == cusim.process) return CUDA_ERROR_INVALID_CONTEXT;
  CUresult why = cusim.strict ? cusim_settle(d, CALL_cuIpcOpenMemHandle, NULL) : CUDA_SUCCESS;
  if (why) return why;
  cusim_alloc *a = cusim_mapping_of(d, e.process, e.id);
  if (!a) a = open_exported(d, &e);
  if (!a) {
    cusim_say("cuIpcOpenMemHandle: process %d is gone, or has freed this memory", (int)e.process);
    return CUDA_ERROR_MAP_FAILED;
  }
  a->opened++;
  *at = a->at;
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *at, CUipcMemHandle handle, unsigned flags) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuIpcOpenMemHandle, &d);
  return why ? why : cusim_end(open_handle(d, at, &handle, flags));
}

CUresult cuIpcCloseMemHandle(CUdeviceptr at) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuIpcCloseMemHandle, &d);
  if (why) return why;
  cusim_alloc *a = cusim_find(at);
  if (!a || a->kind != KIND_IPC || a->at != at || a->ctx != d)
    return cusim_end(CUDA_ERROR_INVALID_VALUE);
  if ((why = cusim_settle(d, CALL_cuIpcCloseMemHandle, NULL))) return cusim_end(why);
  if (cusim_find(at) == a && --a->opened == 0) cusim_kill(a);
  return cusim_end(CUDA_SUCCESS);
}
