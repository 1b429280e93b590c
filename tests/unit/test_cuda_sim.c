/* The simulated driver: its contexts, memory and pinned memory; which calls it refuses; and what it reports
 * about an address.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
/* cmocka.h needs the first three headers above */
#include <cmocka.h>

#include "cuda_play.h"

static const char *const STORE_BYTE = /* a kernel that stores a byte */
    ".version 6.5\n.target sm_70\n.address_size 64\n"
    ".visible .entry store(.param .u64 at)\n{\n.reg .b64 %d<2>;\n.reg .b32 %r<2>;\n"
    "ld.param.u64 %d0, [at];\nmov.u32 %r0, 7;\nst.global.u8 [%d0], %r0;\nret;\n}\n";

static CUresult store_byte(CUdeviceptr at) {
  CUmodule module;
  CUfunction store;
  void *parameters[] = {&at};
  GOOD(cu.cuModuleLoadData(&module, STORE_BYTE));
  GOOD(cu.cuModuleGetFunction(&store, module, "store"));
  GOOD(cu.cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
  return cu.cuCtxSynchronize();
}

/* ---- memory that the CPU cannot read ---- */

static void read_by_processor(const void *about) {
  CUdeviceptr at;
  (void)about;
  signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would report it */
  cuda_start(0);
  GOOD(cu.cuMemAlloc(&at, 4096));
  exit(*(const volatile char *)(uintptr_t)at == 0 ? 2 : 3);
}

static void processor_does_not_read_device_memory(void **state) {
  (void)state;
  const int status = cuda_child(read_by_processor, NULL, NULL);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGSEGV);
}

/* ---- what is refused ---- */

enum { BYTES = 1000, PAGE = 4096 };
enum memory {
  DEVICE,
  FREED,
  MANAGED,
  PINNED,
  PINNED_FREED,
  REGISTERED,
  UNREGISTERED,
  PAGEABLE,
  OTHER_DEVICE,
  PEER,
  MEMORIES
};
static const char *const MEMORY[MEMORIES] = {
    "device",     "freed",        "managed",  "pinned",           "pinned and freed",
    "registered", "unregistered", "pageable", "another device's", "a peer's"};

static CUdeviceptr make(enum memory m) {
  static _Alignas(4096) char pageable[MEMORIES][PAGE];
  CUdeviceptr at = (uintptr_t)pageable[m];
  CUcontext first, second;
  void *host;
  switch (m) {
    case DEVICE: GOOD(cu.cuMemAlloc(&at, BYTES)); break;
    case FREED:
      GOOD(cu.cuMemAlloc(&at, BYTES));
      GOOD(cu.cuMemFree(at));
      break;
    case MANAGED: GOOD(cu.cuMemAllocManaged(&at, BYTES, CU_MEM_ATTACH_GLOBAL)); break;
    case PINNED:
    case PINNED_FREED:
      GOOD(cu.cuMemHostAlloc(&host, BYTES, CU_MEMHOSTALLOC_PORTABLE));
      at = (uintptr_t)host;
      if (m == PINNED_FREED) GOOD(cu.cuMemFreeHost(host));
      break;
    case REGISTERED:
    case UNREGISTERED:
      GOOD(cu.cuMemHostRegister(pageable[m], BYTES, CU_MEMHOSTREGISTER_PORTABLE));
      if (m == UNREGISTERED) GOOD(cu.cuMemHostUnregister(pageable[m]));
      break;
    case OTHER_DEVICE:
    case PEER:
      GOOD(cu.cuCtxGetCurrent(&first));
      GOOD(cu.cuDevicePrimaryCtxRetain(&second, 1));
      GOOD(cu.cuCtxPushCurrent(second));
      GOOD(cu.cuMemAlloc(&at, BYTES));
      GOOD(cu.cuCtxPopCurrent(NULL));
      if (m == PEER) GOOD(cu.cuCtxEnablePeerAccess(second, 0));
      break;
    default: break;
  }
  return at;
}

typedef struct access {
  enum memory memory;
  long offset, bytes;
  bool allowed; /* whether the device may access these bytes */
} access_case;

static const access_case ACCESSES[] = {
    {DEVICE, 0, BYTES, true},
    {DEVICE, BYTES - 1, 1, true},
    {DEVICE, 0, BYTES + 1, false},
    {DEVICE, -1, 1, false},
    {DEVICE, BYTES, 1, false},
    {DEVICE, 4096, 1, false},
    {DEVICE, BYTES - 1, 2, false},
    {FREED, 0, 1, false},
    {FREED, BYTES - 1, 1, false},
    {MANAGED, 0, BYTES, true},
    {MANAGED, 0, BYTES + 1, false},
    {PINNED, 0, BYTES, true},
    {PINNED, 1, BYTES, false},
    {PINNED_FREED, 0, 1, false},
    {REGISTERED, 0, BYTES, true},
    {REGISTERED, -1, 1, false},
    {REGISTERED, 0, BYTES + 1, false},
    {UNREGISTERED, 0, 1, false},
    {PAGEABLE, 0, 1, false},
    {OTHER_DEVICE, 0, 1, false},
    {PEER, 0, BYTES, true},
};

enum doing { SET, TO_HOST, FROM_HOST, FROM_DEVICE, TO_DEVICE, WORD, KERNEL, DOINGS };

static CUresult do_access(enum doing what, CUdeviceptr at, size_t bytes) {
  static char host[2 * BYTES];
  CUdeviceptr other;
  GOOD(cu.cuMemAlloc(&other, 2 * BYTES));
  switch (what) {
    case SET: return cu.cuMemsetD8Async(at, 1, bytes, NULL);
    case TO_HOST: return cu.cuMemcpyDtoH(host, at, bytes);
    case FROM_HOST: return cu.cuMemcpyHtoD(at, host, bytes);
    case FROM_DEVICE: return cu.cuMemcpyDtoDAsync(at, other, bytes, NULL);
    case TO_DEVICE: return cu.cuMemcpyDtoDAsync(other, at, bytes, NULL);
    case WORD: return cu.cuStreamWriteValue32(NULL, (at + bytes - 1) / 4 * 4, 1, 0);
    default: return store_byte(at + bytes - 1);
  }
}

static void try_access(const void *about) {
  const access_case *a = about;
  for (int what = 0; what < DOINGS; what++) { /* a wait for a word, and a kernel: at the end */
    CUcontext ctx = cuda_start(0);
    CUdeviceptr other;
    const CUdeviceptr at = make(a->memory);
    CUresult result = do_access((enum doing)what, at + (CUdeviceptr)a->offset, (size_t)a->bytes);
    if (!result) result = cu.cuCtxSynchronize();
    const CUresult expected = a->allowed ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
    if (result != expected)
      fprintf(stderr, "%s: doing %d gave %d\n", MEMORY[a->memory], what, result);
    CHECK(result == expected);
    RETURNS(expected, cu.cuMemAlloc(&other, 16)); /* the error is permanent */
    GOOD(cu.cuDevicePrimaryCtxRelease(0));
    if (a->memory == OTHER_DEVICE || a->memory == PEER) GOOD(cu.cuDevicePrimaryCtxRelease(1));
    RETURNS(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxPushCurrent(ctx));
  }
}

static void only_memory_that_is_there(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof ACCESSES / sizeof *ACCESSES; i++) {
    if (!cuda_satisfied(try_access, &ACCESSES[i], "CUDA_SIM_DEVICES=2 CUDA_SIM_DELAY=0"))
      fail_msg("%s memory, %ld bytes at %ld", MEMORY[ACCESSES[i].memory], ACCESSES[i].bytes,
               ACCESSES[i].offset);
    assert_true((strstr(cuda_said, "at 0x") != NULL) == !ACCESSES[i].allowed);
  }
}

/* ---- what the driver knows of an address ---- */

typedef struct knowledge {
  enum memory memory;
  bool known;
  unsigned type, managed, capable;
  int device;
} knowledge;

static const knowledge KNOWN[] = {
    {DEVICE, true, CU_MEMORYTYPE_DEVICE, 0, 1, 0},
    {FREED, false, 0, 0, 0, -2},
    {MANAGED, true, CU_MEMORYTYPE_DEVICE, 1, 0, 0},
    {PINNED, true, CU_MEMORYTYPE_HOST, 0, 0, 0},
    {PINNED_FREED, false, 0, 0, 0, -2},
    {REGISTERED, true, CU_MEMORYTYPE_HOST, 0, 0, 0},
    {UNREGISTERED, false, 0, 0, 0, -2},
    {PAGEABLE, false, 0, 0, 0, -2},
    {OTHER_DEVICE, true, CU_MEMORYTYPE_DEVICE, 0, 1, 1},
};

static void ask(const void *about) {
  const knowledge *k = about;
  cuda_start(0);
  const CUdeviceptr at = make(k->memory),
                    again = make(k->memory == REGISTERED ? DEVICE : k->memory);
  for (unsigned offset = 0; offset < BYTES; offset += BYTES - 1) {
    unsigned type = 9, managed = 9, capable = 9;
    int device = 9;
    unsigned long long id = 9, other = 0, start = 9, bytes = 9;
    CUcontext ctx = (CUcontext)9, current;
    int attributes[] = {
        CU_POINTER_ATTRIBUTE_CONTEXT,          CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        CU_POINTER_ATTRIBUTE_BUFFER_ID,        CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,   CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *values[] = {&ctx, &type, &id, &managed, &device, &capable, &start, &bytes};
    GOOD(cu.cuPointerGetAttributes(8, attributes, values, at + offset));
    CHECK(type == k->type && managed == k->managed && capable == k->capable && device == k->device);
    CHECK(start == (k->known ? at : 0) && bytes == (k->known ? BYTES : 0));
    GOOD(cu.cuCtxGetCurrent(&current));
    CHECK(k->device == 0 ? ctx == current : ctx != current);
    for (int i = 0; i < 8; i++)
      RETURNS(k->known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE,
              cu.cuPointerGetAttribute(values[i], attributes[i], at + offset));
    CHECK(type == k->type && start == (k->known ? at : 0));
    if (!k->known) continue;
    GOOD(cu.cuPointerGetAttribute(&other, CU_POINTER_ATTRIBUTE_BUFFER_ID, again));
    CHECK(id && other && id != other && at != again);
  }
}

static void attributes_of_pointers(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
    if (!cuda_satisfied(ask, &KNOWN[i], "CUDA_SIM_DEVICES=2"))
      fail_msg("%s", MEMORY[KNOWN[i].memory]);
}

static void addresses_and_limits(const void *about) {
  CUdeviceptr at, first, seen[200];
  unsigned char bytes[64];
  (void)about;
  cuda_start(0);
  RETURNS(CUDA_ERROR_INVALID_VALUE, cu.cuMemAlloc(&at, 0));
  RETURNS(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc(&at, 1048577));
  GOOD(cu.cuMemAlloc(&first, 1000000));
  RETURNS(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc(&at, 100000));
  RETURNS(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAllocManaged(&at, 100000, CU_MEM_ATTACH_GLOBAL));
  GOOD(cu.cuMemFree(first));
  RETURNS(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree(first));
  for (int i = 0; i < 200; i++) { /* addresses are never reused */
    GOOD(cu.cuMemAlloc(&seen[i], 64));
    CHECK(seen[i] % 512 == 0);
    for (int j = 0; j < i; j++) CHECK(seen[i] > seen[j] + 4096 || seen[j] > seen[i] + 4096);
    GOOD(cu.cuMemcpyDtoH(bytes, seen[i], 64));
    for (int j = 0; j < 64; j++) CHECK(bytes[j] == 0xb7); /* and fresh memory is not zero */
    RETURNS(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree(seen[i] + 1));
    GOOD(cu.cuMemFree(seen[i]));
  }
  GOOD(cu.cuMemAlloc(&at, 1048576)); /* all memory is available again */
}

static void pinned_memory(const void *about) {
  static _Alignas(4096) char memory[4 * PAGE];
  CUdeviceptr device, at;
  (void)about;
  char *gone = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(gone + 4096, 4096);
  cuda_start(0);
  GOOD(cu.cuMemAlloc(&device, 2 * PAGE));
  GOOD(cu.cuMemHostRegister(memory + PAGE + 8, PAGE - 16, 0));
  for (int from = 0; from < 4; from++) /* ranges that share a page with it */
    for (int to = from + 1; to <= 4; to++) {
      const bool over = from <= 1 && to >= 2;
      char *start = memory + from * PAGE;
      RETURNS(over ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED : CUDA_SUCCESS,
              cu.cuMemHostRegister(start, (size_t)(to - from) * PAGE, 0));
      if (!over) GOOD(cu.cuMemHostUnregister(start));
    }
  GOOD(cu.cuMemHostGetDevicePointer(&at, memory + PAGE + 8, 0));
  CHECK(at == (uintptr_t)(memory + PAGE + 8));
  RETURNS(CUDA_ERROR_INVALID_VALUE, cu.cuMemHostGetDevicePointer(&at, memory, 0));
  RETURNS(CUDA_ERROR_INVALID_VALUE,
          cu.cuMemcpyDtoH(memory + PAGE + 8, device, PAGE)); /* half pinned */
  RETURNS(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyDtoH(memory + PAGE + 9, device, PAGE - 16));
  RETURNS(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyDtoH((void *)(uintptr_t)device, device, 1));
  RETURNS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cu.cuMemHostUnregister(memory));
  RETURNS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cu.cuMemHostUnregister(memory + PAGE + 9));
  GOOD(cu.cuMemHostUnregister(memory + PAGE + 8));
  RETURNS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cu.cuMemHostUnregister(memory + PAGE + 8));
  RETURNS(CUDA_ERROR_INVALID_VALUE, cu.cuMemHostRegister(gone, 8192, 0));
  RETURNS(CUDA_ERROR_INVALID_VALUE, cu.cuMemHostRegister((void *)(uintptr_t)device, BYTES, 0));
  RETURNS(CUDA_ERROR_INVALID_VALUE, cu.cuMemHostRegister(memory, 0, 0));
}

/* Memory registered for one context may not be used by another. */
static void pinned_for_one(const void *about) {
  static char memory[BYTES];
  CUcontext second;
  (void)about;
  cuda_start(0);
  GOOD(cu.cuMemHostRegister(memory, BYTES, 0));
  GOOD(store_byte((uintptr_t)memory));
  CHECK(memory[0] == 7);
  GOOD(cu.cuDevicePrimaryCtxRetain(&second, 1));
  GOOD(cu.cuCtxSetCurrent(second));
  RETURNS(CUDA_ERROR_ILLEGAL_ADDRESS, store_byte((uintptr_t)memory));
}

static void memory_is_limited_and_pinned(void **state) {
  (void)state;
  assert_true(
      cuda_satisfied(addresses_and_limits, NULL, "CUDA_SIM_MEMORY=1048576 CUDA_SIM_DELAY=0"));
  assert_true(cuda_satisfied(pinned_memory, NULL, NULL));
  assert_true(cuda_satisfied(pinned_for_one, NULL, "CUDA_SIM_DEVICES=2"));
}

static void contexts(const void *about) {
  CUcontext first, second, again, current;
  CUdeviceptr at;
  CUevent event;
  unsigned flags;
  int active, can;
  (void)about;
  GOOD(cu.cuInit(0));
  RETURNS(CUDA_ERROR_INVALID_DEVICE, cu.cuDevicePrimaryCtxRetain(&first, 2));
  RETURNS(CUDA_ERROR_INVALID_CONTEXT, cu.cuMemAlloc(&at, 1));
  GOOD(cu.cuCtxGetCurrent(&current));
  CHECK(!current);
  first = cuda_start(0);
  GOOD(cu.cuDevicePrimaryCtxRetain(&second, 1));
  GOOD(cu.cuCtxPushCurrent(second));
  GOOD(cu.cuDeviceCanAccessPeer(&can, 0, 1));
  CHECK(can);
  RETURNS(CUDA_ERROR_INVALID_DEVICE, cu.cuCtxEnablePeerAccess(second, 0));
  GOOD(cu.cuCtxEnablePeerAccess(first, 0));
  RETURNS(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cu.cuCtxEnablePeerAccess(first, 0));
  GOOD(cu.cuEventCreate(&event, 0));
  GOOD(cu.cuDevicePrimaryCtxRelease(1)); /* it was current */
  GOOD(cu.cuDevicePrimaryCtxGetState(1, &flags, &active));
  CHECK(!active);
  RETURNS(CUDA_ERROR_INVALID_CONTEXT, cu.cuMemAlloc(&at, 1));
  RETURNS(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxSetCurrent(second));
  RETURNS(CUDA_ERROR_INVALID_CONTEXT, cu.cuDevicePrimaryCtxRelease(1));
  GOOD(cu.cuDevicePrimaryCtxRetain(&again, 1)); /* a new context */
  CHECK(again != second);
  RETURNS(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxSetCurrent(second));
  RETURNS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventQuery(event));
  GOOD(cu.cuCtxPopCurrent(&current));
  CHECK(current == second);
  GOOD(cu.cuMemAlloc(&at, 1));
  GOOD(cu.cuCtxPopCurrent(&current));
  CHECK(current == first);
  RETURNS(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxPopCurrent(&current));
}

static void contexts_come_and_go(void **state) {
  (void)state;
  assert_true(cuda_satisfied(contexts, NULL, "CUDA_SIM_DEVICES=2"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(processor_does_not_read_device_memory),
      cmocka_unit_test(only_memory_that_is_there),
      cmocka_unit_test(attributes_of_pointers),
      cmocka_unit_test(memory_is_limited_and_pinned),
      cmocka_unit_test(contexts_come_and_go),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
