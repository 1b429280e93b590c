/* Device memory of another process, on the simulated driver: both processes access the same memory. A handle or
 * mapping is refused if the memory was freed, the mapping was closed, or the handle was forged.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the first three headers above */
#include <cmocka.h>

#include "cuda_play.h"

enum { BYTES = 100000 };

/* The exporter sends the handle, and then does as it is told. */
typedef enum told { FREE = 'f', REPLACE = 'r', LEAVE = 'l', DIE = 'd', LOOK = 'k' } told;
static int to_exporter[2], to_importer[2];
static pid_t exporter;
static CUipcMemHandle handle;

static void tell(int fd, const void *what, size_t bytes) {
  CHECK(write(fd, what, bytes) == (ssize_t)bytes);
}
static void hear(int fd, void *what, size_t bytes) {
  CHECK(read(fd, what, bytes) == (ssize_t)bytes);
}

static void export_memory(int device) {
  unsigned char bytes[BYTES];
  CUdeviceptr at, before;
  char order;
  close(to_exporter[1]); /* so that reads return when the importer exits */
  close(to_importer[0]);
  cuda_start(device);
  GOOD(cu.cuMemAlloc(&before, 1));
  GOOD(cu.cuMemAlloc(&at, BYTES));
  for (int i = 0; i < BYTES; i++) bytes[i] = (unsigned char)(i % 251);
  GOOD(cu.cuMemcpyHtoD(at, bytes, BYTES));
  GOOD(cu.cuIpcGetMemHandle(&handle, at));
  RETURNS(CUDA_ERROR_INVALID_VALUE, cu.cuIpcGetMemHandle(&handle, at + 512)); /* not the base */
  tell(to_importer[1], &handle, sizeof handle);
  for (;;) {
    hear(to_exporter[0], &order, 1);
    if (order == FREE) GOOD(cu.cuMemFree(at));
    if (order == REPLACE) { /* in a file with the same number and size */
      GOOD(cu.cuMemFree(at));
      GOOD(cu.cuMemAlloc(&at, BYTES));
    }
    if (order == LEAVE) exit(0);
    if (order == DIE) raise(SIGKILL);
    if (order == LOOK) { /* the importer has written there */
      GOOD(cu.cuMemcpyDtoH(bytes, at, BYTES));
      for (int i = 0; i < BYTES; i++) CHECK(bytes[i] == (i < 10 ? 77 : i % 251));
    }
    tell(to_importer[1], &order, 1);
  }
}

static void order(told what) {
  const char c = (char)what;
  char answer;
  tell(to_exporter[1], &c, 1);
  if (what != LEAVE && what != DIE) {
    hear(to_importer[0], &answer, 1);
    return;
  }
  int status;
  CHECK(waitpid(exporter, &status, 0) == exporter);
  CHECK(what == DIE || status == 0);
  exporter = 0;
}

static CUresult open_it(CUdeviceptr *at) {
  return cu.cuIpcOpenMemHandle(at, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

/* Checks that the first bytes are those of the exporter. */
static CUresult read_it(CUdeviceptr at) {
  unsigned char bytes[BYTES];
  const CUresult result = cu.cuMemcpyDtoH(bytes, at, BYTES);
  for (int i = 10; i < BYTES && !result; i++) CHECK(bytes[i] == i % 251);
  return result;
}

/* ---- what the importer does ---- */

static void uses_it(void) {
  CUdeviceptr at, again, inside;
  unsigned long long id, start, bytes;
  unsigned capable, type;
  GOOD(open_it(&at));
  GOOD(read_it(at));
  GOOD(cu.cuMemsetD8Async(at, 77, 10, NULL));
  GOOD(cu.cuCtxSynchronize());
  order(LOOK);
  GOOD(open_it(&again)); /* counted */
  CHECK(again == at);
  inside = at + BYTES - 1;
  GOOD(cu.cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside));
  GOOD(cu.cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside));
  GOOD(cu.cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, inside));
  GOOD(cu.cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, inside));
  GOOD(cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, inside));
  CHECK(start == at && bytes == BYTES && id && !capable && type == CU_MEMORYTYPE_DEVICE);
  RETURNS(CUDA_ERROR_INVALID_VALUE, cu.cuIpcGetMemHandle(&handle, at)); /* not allocated here */
  RETURNS(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree(at));
  RETURNS(CUDA_ERROR_INVALID_VALUE, cu.cuIpcCloseMemHandle(inside));
  GOOD(cu.cuIpcCloseMemHandle(at));
  GOOD(read_it(at));
  GOOD(cu.cuIpcCloseMemHandle(at));
  RETURNS(CUDA_ERROR_INVALID_VALUE, cu.cuIpcCloseMemHandle(at));
  GOOD(open_it(&again));
  CHECK(again != at);
}

static void uses_it_closed(void) {
  CUdeviceptr at;
  GOOD(open_it(&at));
  GOOD(cu.cuIpcCloseMemHandle(at));
  RETURNS(CUDA_ERROR_ILLEGAL_ADDRESS, read_it(at));
}

static void uses_it_freed(void) {
  CUdeviceptr at;
  GOOD(open_it(&at));
  order(FREE);
  RETURNS(CUDA_ERROR_ILLEGAL_ADDRESS, read_it(at));
}

static void opens_it_freed(void) {
  CUdeviceptr at;
  order(FREE);
  RETURNS(CUDA_ERROR_MAP_FAILED, open_it(&at));
}

static void opens_it_replaced(void) {
  CUdeviceptr at;
  order(REPLACE);
  RETURNS(CUDA_ERROR_MAP_FAILED, open_it(&at));
}

static void opens_it_left(void) {
  CUdeviceptr at;
  order(LEAVE);
  RETURNS(CUDA_ERROR_MAP_FAILED, open_it(&at));
}

static void opens_it_killed(void) {
  CUdeviceptr at;
  order(DIE);
  RETURNS(CUDA_ERROR_MAP_FAILED, open_it(&at));
}

/* The exporter's memory survives while it is mapped. */
static void uses_it_killed(void) {
  CUdeviceptr at;
  GOOD(open_it(&at));
  order(DIE);
  GOOD(read_it(at));
  GOOD(cu.cuIpcCloseMemHandle(at));
}

static void opens_it_wrongly(void) {
  CUdeviceptr at;
  RETURNS(CUDA_ERROR_INVALID_VALUE, cu.cuIpcOpenMemHandle(&at, handle, 0));
  RETURNS(CUDA_ERROR_INVALID_VALUE, cu.cuIpcOpenMemHandle(&at, (CUipcMemHandle){{1, 2, 3}}, 1));
  GOOD(cu.cuMemAlloc(&at, BYTES));
  GOOD(cu.cuIpcGetMemHandle(&handle, at));
  RETURNS(CUDA_ERROR_INVALID_CONTEXT, open_it(&at)); /* of this process */
}

/* A mapping belongs to the context that opened it. */
static void uses_it_elsewhere(void) {
  CUcontext other;
  CUdeviceptr at, own;
  GOOD(open_it(&at));
  GOOD(cu.cuDevicePrimaryCtxRetain(&other, 1));
  GOOD(cu.cuCtxSetCurrent(other));
  GOOD(open_it(&own));
  CHECK(own != at);
  GOOD(read_it(own));
  RETURNS(CUDA_ERROR_ILLEGAL_ADDRESS, read_it(at));
}

static const struct import {
  const char *name;
  void (*act)(void);
  int device; /* of the exporter */
} IMPORTS[] = {
    {"it is the same memory", uses_it, 0},
    {"of another device, too", uses_it, 1},
    {"a closed mapping", uses_it_closed, 0},
    {"memory that the exporter has freed", uses_it_freed, 0},
    {"opening what the exporter has freed", opens_it_freed, 0},
    {"the exporter has other memory there", opens_it_replaced, 0},
    {"the exporter has left", opens_it_left, 0},
    {"the exporter was killed", opens_it_killed, 0},
    {"it was killed after the opening", uses_it_killed, 0},
    {"flags, handles, the own process", opens_it_wrongly, 0},
    {"another context's mapping", uses_it_elsewhere, 0},
};

static void import_memory(const void *about) {
  const struct import *i = about;
  CHECK(pipe(to_exporter) == 0 && pipe(to_importer) == 0);
  exporter = fork();
  if (exporter == 0) export_memory(i->device);
  close(to_importer[1]); /* so that reads return when the exporter exits */
  close(to_exporter[0]);
  hear(to_importer[0], &handle, sizeof handle);
  cuda_start(0);
  i->act();
  if (exporter) order(LEAVE);
}

static void export_nothing(const void *about) {
  CUdeviceptr at;
  unsigned capable = 9;
  (void)about;
  cuda_start(0);
  GOOD(cu.cuMemAlloc(&at, BYTES));
  GOOD(cu.cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at));
  CHECK(!capable);
  RETURNS(CUDA_ERROR_INVALID_VALUE, cu.cuIpcGetMemHandle(&handle, at));
}

static void memory_of_another_process(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof IMPORTS / sizeof *IMPORTS; i++)
    if (!cuda_satisfied(import_memory, &IMPORTS[i], "CUDA_SIM_DEVICES=2 CUDA_SIM_DELAY=5"))
      fail_msg("%s", IMPORTS[i].name);
  assert_true(cuda_satisfied(export_nothing, NULL, "CUDA_SIM_IPC=0"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(memory_of_another_process)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
