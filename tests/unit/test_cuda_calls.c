/* Every function of the simulated driver: before cuInit, after a fork, inside a host function, and in a dead
 * context; made to fail by number, and by name.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the first three headers above */
#include <cmocka.h>

#include "cuda_play.h"

/* ---- a program that calls everything ---- */

enum { BYTES = 4096, MOST = 100, INJECTED = 12345 };

static const char *const NAMES[] = {
#define CUDA_CALL(name, symbol, parameters) #name,
#include "../../gpu/cuda_calls.def"
#undef CUDA_CALL
};
enum { FUNCTIONS = sizeof NAMES / sizeof *NAMES };

static struct calls {
  int n;
  const char *name[MOST];
  CUresult result[MOST];
} made;

static void note_call(const char *name, CUresult result) {
  CHECK(made.n < MOST);
  made.name[made.n] = name;
  made.result[made.n++] = result;
}
#define DO(name, arguments) note_call(#name, cu.name arguments)

static const char *const NOTHING =
    ".version 6.5\n.target sm_70\n.address_size 64\n.visible .entry nothing()\n{\nret;\n}\n";

static void do_nothing(void *data) {
  (void)data;
}

static struct things {
  CUcontext ctx, current;
  CUdeviceptr at, managed, there;
  CUstream s, t;
  CUevent e, f;
  CUmodule module;
  CUfunction function;
  CUipcMemHandle handle;
  void *pinned;
} o;

static void call_first_half(void) {
  static char registered[BYTES];
  int number, least, greatest, attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
  unsigned flags, type;
  void *values[] = {&type};
  char name[100];
  CUuuid uuid;
  DO(cuInit, (0));
  DO(cuDriverGetVersion, (&number));
  DO(cuDeviceGetCount, (&number));
  DO(cuDeviceGet, (&number, 0));
  DO(cuDeviceGetName, (name, 100, 0));
  DO(cuDeviceGetUuid, (&uuid, 0));
  DO(cuDeviceGetAttribute, (&number, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  DO(cuDeviceCanAccessPeer, (&number, 0, 1));
  DO(cuDevicePrimaryCtxRetain, (&o.current, 1));
  DO(cuDevicePrimaryCtxRetain, (&o.ctx, 0));
  DO(cuDevicePrimaryCtxGetState, (0, &flags, &number));
  DO(cuCtxSetCurrent, (o.ctx));
  DO(cuCtxPushCurrent, (o.ctx));
  DO(cuCtxEnablePeerAccess, (o.current, 0));
  DO(cuCtxGetCurrent, (&o.current));
  DO(cuCtxGetStreamPriorityRange, (&least, &greatest));
  DO(cuMemAlloc, (&o.at, BYTES));
  DO(cuMemAllocManaged, (&o.managed, BYTES, CU_MEM_ATTACH_GLOBAL));
  DO(cuMemHostAlloc, (&o.pinned, BYTES, 0));
  DO(cuMemHostRegister, (registered, BYTES, 0));
  DO(cuMemHostGetDevicePointer, (&o.there, registered, 0));
  DO(cuMemHostUnregister, (registered));
  DO(cuPointerGetAttribute, (&type, attribute, o.at));
  DO(cuPointerGetAttributes, (1, &attribute, values, o.at));
  DO(cuIpcGetMemHandle, (&o.handle, o.at));
}

static void call_second_half(void) {
  char host[BYTES] = "";
  CUdeviceptr mapped;
  float ms;
  int number;
  DO(cuStreamCreate, (&o.s, CU_STREAM_NON_BLOCKING));
  DO(cuStreamCreateWithPriority, (&o.t, CU_STREAM_NON_BLOCKING, -1));
  DO(cuEventCreate, (&o.e, 0));
  DO(cuEventCreate, (&o.f, 0));
  DO(cuMemcpyHtoD, (o.at, host, BYTES));
  DO(cuMemcpyDtoH, (host, o.at, BYTES));
  DO(cuEventRecord, (o.e, o.s));
  DO(cuMemsetD8Async, (o.at, 1, BYTES, o.s));
  DO(cuMemcpyHtoDAsync, (o.at, host, BYTES, o.s));
  DO(cuMemcpyDtoDAsync, (o.managed, o.at, BYTES, o.s));
  DO(cuMemcpyDtoHAsync, (host, o.at, BYTES, o.s));
  DO(cuStreamWriteValue32, (o.s, o.managed, 1, 0));
  DO(cuStreamWaitValue32, (o.s, o.managed, 0xb0000000, 0)); /* true of fresh memory, 0 and 1 */
  DO(cuLaunchHostFunc, (o.s, do_nothing, NULL));
  DO(cuModuleLoadData, (&o.module, NOTHING));
  DO(cuModuleGetFunction, (&o.function, o.module, "nothing"));
  DO(cuFuncGetAttribute, (&number, CU_FUNC_ATTRIBUTE_NUM_REGS, o.function));
  DO(cuLaunchKernel, (o.function, 1, 1, 1, 1, 1, 1, 0, o.s, NULL, NULL));
  DO(cuEventRecord, (o.f, o.s));
  DO(cuStreamWaitEvent, (o.t, o.f, 0));
  DO(cuEventSynchronize, (o.f));
  DO(cuEventQuery, (o.f));
  DO(cuEventElapsedTime, (&ms, o.e, o.f));
  DO(cuStreamSynchronize, (o.t));
  DO(cuStreamQuery, (o.t));
  DO(cuCtxSynchronize, ());
  DO(cuIpcOpenMemHandle,
     (&mapped, o.handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)); /* this process's own: refused */
  DO(cuIpcCloseMemHandle, (o.at));                             /* refused, too */
  DO(cuModuleUnload, (o.module));
  DO(cuEventDestroy, (o.e));
  DO(cuEventDestroy, (o.f));
  DO(cuStreamDestroy, (o.s));
  DO(cuStreamDestroy, (o.t));
  DO(cuMemFree, (o.managed));
  DO(cuMemFreeHost, (o.pinned));
  DO(cuMemFree, (o.at));
  DO(cuCtxPopCurrent, (NULL));
  DO(cuDevicePrimaryCtxRelease, (0));
  DO(cuDevicePrimaryCtxRelease, (1));
}

static void call_all(void) {
  call_first_half();
  call_second_half();
}

static bool is(const char *name, const char *const *list) {
  for (; *list; list++)
    if (strcmp(*list, name) == 0) return true;
  return false;
}

/* The result of a call of the program when nothing fails. */
static CUresult usual(const char *name) {
  if (strcmp(name, "cuIpcOpenMemHandle") == 0) return CUDA_ERROR_INVALID_CONTEXT;
  return strcmp(name, "cuIpcCloseMemHandle") == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static void nothing_wrong(const void *about) {
  (void)about;
  call_all();
  for (int i = 0; i < made.n; i++) {
    if (made.result[i] != usual(made.name[i]))
      fprintf(stderr, "%s: %d\n", made.name[i], made.result[i]);
    CHECK(made.result[i] == usual(made.name[i]));
  }
  for (int f = 0; f < FUNCTIONS; f++) { /* the program calls every function */
    int i = 0;
    while (i < made.n && strcmp(made.name[i], NAMES[f]) != 0) i++;
    if (i == made.n && strncmp(NAMES[f], "cuGetError", 10) != 0)
      fprintf(stderr, "%s is not called\n", NAMES[f]);
    CHECK(i < made.n || strncmp(NAMES[f], "cuGetError", 10) == 0);
  }
}

/* ---- where all calls fail ---- */

/* All except these return the error. */
static void all_return(CUresult error, const char *const *but) {
  for (int i = 0; i < made.n; i++) {
    if (is(made.name[i], but)) continue;
    if (made.result[i] != error) fprintf(stderr, "%s: %d\n", made.name[i], made.result[i]);
    CHECK(made.result[i] == error);
  }
}

static void before_start(const void *about) {
  (void)about;
  call_first_half(); /* it begins with cuInit, which fails */
  call_second_half();
  CHECK(made.result[0] == INJECTED);
  made.result[0] = CUDA_ERROR_NOT_INITIALIZED;
  all_return(CUDA_ERROR_NOT_INITIALIZED, (const char *const[]){"cuDriverGetVersion", NULL});
}

static void after_fork(const void *about) {
  (void)about;
  int status;
  cuda_start(0);
  if (fork() == 0) {
    call_all();
    all_return(CUDA_ERROR_NOT_INITIALIZED, (const char *const[]){NULL});
    _exit(0);
  }
  CHECK(wait(&status) > 0 && status == 0);
}

static void call_all_of_them(void *data) {
  (void)data;
  call_all();
}

static void in_host_function(const void *about) {
  (void)about;
  cuda_start(0);
  GOOD(cu.cuLaunchHostFunc(NULL, call_all_of_them, NULL));
  GOOD(cu.cuCtxSynchronize());
  CHECK(made.n > 50);
  all_return(CUDA_ERROR_NOT_PERMITTED, (const char *const[]){NULL});
}

/* Calls that still work in a dead context: queries, and functions that use no context. */
static const char *const ALIVE[] = {"cuInit",
                                    "cuDriverGetVersion",
                                    "cuDeviceGetCount",
                                    "cuDeviceGet",
                                    "cuDeviceGetName",
                                    "cuDeviceGetUuid",
                                    "cuDeviceGetAttribute",
                                    "cuDeviceCanAccessPeer",
                                    "cuDevicePrimaryCtxRetain",
                                    "cuDevicePrimaryCtxRelease",
                                    "cuDevicePrimaryCtxGetState",
                                    "cuCtxSetCurrent",
                                    "cuCtxPushCurrent",
                                    "cuCtxPopCurrent",
                                    "cuCtxGetCurrent",
                                    "cuPointerGetAttribute",
                                    "cuPointerGetAttributes",
                                    NULL};

static void in_dead_context(const void *about) {
  (void)about;
  call_first_half();
  GOOD(cu.cuStreamCreate(&o.s, 0));
  GOOD(cu.cuEventCreate(&o.e, 0));
  GOOD(cu.cuModuleLoadData(&o.module, NOTHING));
  RETURNS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuMemsetD8Async(o.at, 1, BYTES + 1, NULL));
  made.n = 0;
  const struct things before = o;
  call_first_half();
  o = before;
  DO(cuEventQuery, (o.e));
  DO(cuEventSynchronize, (o.e));
  DO(cuStreamQuery, (o.s));
  DO(cuStreamSynchronize, (o.s));
  DO(cuMemsetD8Async, (o.at, 1, 1, o.s));
  DO(cuMemFree, (o.at));
  DO(cuStreamDestroy, (o.s));
  DO(cuCtxSynchronize, ());
  all_return(CUDA_ERROR_ILLEGAL_ADDRESS, ALIVE);
}

static void calls_that_may_not_be(void **state) {
  (void)state;
  assert_true(cuda_satisfied(nothing_wrong, NULL, "CUDA_SIM_DEVICES=2"));
  assert_true(
      cuda_satisfied(before_start, NULL, "CUDA_SIM_DEVICES=2 CUDA_SIM_FAIL_NAME=cuInit:1:12345"));
  assert_true(cuda_satisfied(after_fork, NULL, "CUDA_SIM_DEVICES=2"));
  assert_true(cuda_satisfied(in_host_function, NULL, "CUDA_SIM_DEVICES=2"));
  assert_true(cuda_satisfied(in_dead_context, NULL, "CUDA_SIM_DEVICES=2"));
}

/* ---- injected errors ---- */

/* These are called on every error path. They are not counted, but can be made to fail by name. */
static const char *const CLEANUP[] = {"cuDevicePrimaryCtxRelease",
                                      "cuMemFree",
                                      "cuMemFreeHost",
                                      "cuMemHostUnregister",
                                      "cuStreamDestroy",
                                      "cuEventDestroy",
                                      "cuIpcCloseMemHandle",
                                      "cuModuleUnload",
                                      "cuCtxPopCurrent",
                                      NULL};

/* The call returns the injected error. Later calls may fail; none crashes. */
static void one_fails(const void *about) {
  const char *name = about;
  int failed = 0;
  call_all();
  for (int i = 0; i < made.n; i++)
    if (made.result[i] == INJECTED) {
      failed++;
      CHECK(name || !is(made.name[i], CLEANUP));
      CHECK(!name || strcmp(made.name[i], name) == 0);
    }
  CHECK(failed == 1);
}

static void refuses_all(const void *about) {
  const char *name = about;
  call_all();
  for (int i = 0; i < made.n; i++)
    CHECK((made.result[i] == CUDA_ERROR_NOT_SUPPORTED) == !strcmp(made.name[i], name));
}

/* An error of an operation is reported by the call that waits for the device. */
static void operation_fails(const void *about) {
  (void)about;
  call_all();
  for (int i = 0; i < made.n; i++)
    if (strcmp(made.name[i], "cuCtxSynchronize") == 0) CHECK(made.result[i] == INJECTED);
}

/* Counts the program's counted calls, and the operations that it issues. */
static void count(int *calls, int *operations) {
  char path[] = "/tmp/cuda_count_XXXXXX", settings[100], text[64] = "";
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  snprintf(settings, sizeof settings, "CUDA_SIM_DEVICES=2 CUDA_SIM_COUNT=%s", path);
  assert_true(cuda_satisfied(nothing_wrong, NULL, settings));
  assert_true(read(fd, text, sizeof text - 1) > 0);
  assert_int_equal(sscanf(text, "%d %d", calls, operations), 2);
  close(fd);
  unlink(path);
}

static void every_call_can_fail(void **state) {
  (void)state;
  int calls, operations;
  char settings[128];
  count(&calls, &operations);
  assert_true(calls > 50 && operations > 12);
  for (int n = 1; n <= calls; n++) {
    snprintf(settings, sizeof settings, "CUDA_SIM_DEVICES=2 CUDA_SIM_DELAY=0 CUDA_SIM_FAIL=%d:%d",
             n, INJECTED);
    if (!cuda_satisfied(one_fails, NULL, settings)) fail_msg("call %d", n);
  }
  for (int n = 1; n <= operations; n++) {
    snprintf(settings, sizeof settings, "CUDA_SIM_DEVICES=2 CUDA_SIM_FAIL_OP=%d:%d", n, INJECTED);
    if (!cuda_satisfied(operation_fails, NULL, settings)) fail_msg("operation %d", n);
  }
  for (int f = 0; f < FUNCTIONS; f++) {
    if (strncmp(NAMES[f], "cuGetError", 10) == 0) continue;
    snprintf(settings, sizeof settings,
             "CUDA_SIM_DEVICES=2 CUDA_SIM_DELAY=0 CUDA_SIM_FAIL_NAME=%s:1:%d", NAMES[f], INJECTED);
    if (!cuda_satisfied(one_fails, NAMES[f], settings)) fail_msg("%s fails", NAMES[f]);
    snprintf(settings, sizeof settings,
             "CUDA_SIM_DEVICES=2 CUDA_SIM_DELAY=0 CUDA_SIM_WITHOUT=cuNothing,%s", NAMES[f]);
    if (!cuda_satisfied(refuses_all, NAMES[f], settings)) fail_msg("without %s", NAMES[f]);
  }
}

static void errors_have_names(void **state) {
  (void)state;
  static const CUresult errors[] = {0,   1,   2,   3,   4,   100, 101, 201, 205,
                                    208, 211, 218, 400, 401, 500, 600, 700, 702,
                                    704, 712, 713, 716, 719, 800, 801, 999};
  cuda_load();
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    const char *name = NULL, *text = NULL;
    assert_int_equal(cu.cuGetErrorName(errors[i], &name), CUDA_SUCCESS);
    assert_int_equal(cu.cuGetErrorString(errors[i], &text), CUDA_SUCCESS);
    assert_int_equal(strncmp(name, "CUDA_", 5), 0);
    assert_true(strlen(text) > 7);
    assert_int_equal(cu.cuGetErrorName(errors[i] + 50, &name), CUDA_ERROR_INVALID_VALUE);
    assert_null(name);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls_that_may_not_be),
      cmocka_unit_test(every_call_can_fail),
      cmocka_unit_test(errors_have_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
