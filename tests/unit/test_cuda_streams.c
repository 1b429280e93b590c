/* Streams of the simulated driver: deferred execution and its order, events, words to wait for, host functions,
 * and calls that
 * wait for a stream that is held forever.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the first three headers above */
#include <cmocka.h>
#include <time.h>

#include "cuda_streams_play.h"

enum { BYTES = 4096, FRESH = 0xb7 };

static const char *const NOTHING =
    ".version 6.5\n.target sm_70\n.address_size 64\n.visible .entry nothing()\n{\nret;\n}\n";

/* ---- what runs later ---- */

static void runs_later(const void *about) {
  void *at;
  CUdeviceptr device;
  (void)about;
  cuda_start(0);
  make_word();
  GOOD(cu.cuMemHostAlloc(&at, BYTES, 0));
  GOOD(cu.cuMemAlloc(&device, BYTES));
  volatile unsigned char *pinned = at;
  unsigned char pageable[BYTES];
  memset(pageable, 5, BYTES);
  CUstream s = stream_new(CU_STREAM_NON_BLOCKING);
  hold(s);
  GOOD(cu.cuMemcpyHtoDAsync(device, pageable, BYTES, s));
  memset(pageable, 6, BYTES); /* the bytes were read during the call */
  GOOD(cu.cuMemcpyDtoHAsync(at, device, BYTES, s));
  RETURNS(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(s));
  usleep(20000);
  CHECK(pinned[0] == FRESH);
  RETURNS(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(s));
  release();
  GOOD(cu.cuStreamSynchronize(s));
  GOOD(cu.cuStreamQuery(s));
  for (int i = 0; i < BYTES; i++) CHECK(pinned[i] == 5);
  GOOD(cu.cuMemsetD8Async(device, 9, BYTES, s));
  GOOD(cu.cuMemcpyDtoHAsync(pageable, device, BYTES,
                            s)); /* to pageable memory: the copy has completed */
  for (int i = 0; i < BYTES; i++) CHECK(pageable[i] == 9);
  GOOD(cu.cuStreamDestroy(s));
  RETURNS(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamSynchronize(s));
  for (int i = 0; i < 300; i++) { /* handles are never reused */
    CUstream t = stream_new(CU_STREAM_NON_BLOCKING);
    CHECK(t != s);
    GOOD(cu.cuStreamDestroy(t));
  }
  RETURNS(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamDestroy(CU_STREAM_LEGACY));
  RETURNS(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamDestroy(NULL));
}

/* Which streams wait for each other: the legacy default stream and blocking streams do. */
typedef struct pair {
  const char *name;
  int first, second; /* NEW: CU_STREAM_DEFAULT; FREE: non-blocking; */
  bool waits;
} pair;
enum { LEGACY, NULL_STREAM, OWN, NEW, FREE };
static const pair PAIRS[] = {
    {"a blocking stream waits for the legacy one", LEGACY, NEW, true},
    {"and the legacy one for it", NEW, LEGACY, true},
    {"NULL is the legacy one", NEW, NULL_STREAM, true},
    {"the thread's own stream is blocking", OWN, LEGACY, true},
    {"and waits", LEGACY, OWN, true},
    {"a non-blocking stream does not wait", LEGACY, FREE, false},
    {"nor does the legacy one wait for it", FREE, LEGACY, false},
    {"two streams are apart", NEW, NEW, false},
};

static CUstream stream_of(int kind) {
  switch (kind) {
    case LEGACY: return CU_STREAM_LEGACY;
    case NULL_STREAM: return NULL;
    case OWN: return CU_STREAM_PER_THREAD;
    case NEW: return stream_new(CU_STREAM_DEFAULT);
    default: return stream_new(CU_STREAM_NON_BLOCKING);
  }
}

static void one_held(const void *about) {
  const pair *p = about;
  CUdeviceptr a, b;
  cuda_start(0);
  make_word();
  GOOD(cu.cuMemAlloc(&a, BYTES));
  GOOD(cu.cuMemAlloc(&b, BYTES));
  CUstream first = stream_of(p->first), second = stream_of(p->second);
  hold(first);
  GOOD(cu.cuMemsetD8Async(a, 1, BYTES, first));
  GOOD(cu.cuMemsetD8Async(b, 1, BYTES, second));
  if (p->waits) {
    usleep(20000);
    RETURNS(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(second));
  } else {
    GOOD(cu.cuStreamSynchronize(second));
    RETURNS(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(first));
  }
  release();
  GOOD(cu.cuCtxSynchronize());
  GOOD(cu.cuStreamQuery(first));
  GOOD(cu.cuStreamQuery(second));
}

static void streams_run_later_and_in_order(void **state) {
  (void)state;
  assert_true(cuda_satisfied(runs_later, NULL, NULL));
  for (size_t i = 0; i < sizeof PAIRS / sizeof *PAIRS; i++)
    if (!cuda_satisfied(one_held, &PAIRS[i], NULL)) fail_msg("%s", PAIRS[i].name);
}

/* ---- delays ---- */

static int ended[2], endings;
static void end_of(void *data) {
  ended[__atomic_fetch_add(&endings, 1, __ATOMIC_RELAXED)] = *(const int *)data;
}

/* Which of two streams finishes first, as the exit status. */
static void first_to_end(const void *about) {
  static const int names[2] = {0, 1};
  CUdeviceptr at;
  (void)about;
  cuda_start(0);
  GOOD(cu.cuMemAlloc(&at, BYTES));
  for (int i = 0; i < 2; i++) {
    CUstream s = stream_new(CU_STREAM_NON_BLOCKING);
    GOOD(cu.cuMemsetD8Async(at + (CUdeviceptr)i, 1, 1, s));
    GOOD(cu.cuLaunchHostFunc(s, end_of, (void *)(uintptr_t)&names[i]));
  }
  GOOD(cu.cuCtxSynchronize());
  CHECK(endings == 2);
  exit(10 + ended[0]);
}

static void takes_time(const void *about) {
  const double least = *(const double *)about;
  struct timespec from, to;
  CUdeviceptr at;
  cuda_start(0);
  GOOD(cu.cuMemAlloc(&at, BYTES));
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (int i = 0; i < 50; i++) GOOD(cu.cuMemsetD8Async(at, 1, 1, NULL));
  GOOD(cu.cuCtxSynchronize());
  clock_gettime(CLOCK_MONOTONIC, &to);
  const double took =
      (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
  CHECK(took >= least && took < 20);
}

static void delays_are_random(void **state) {
  (void)state;
  int first[2] = {0, 0};
  const double some = 0.05, none = 0;
  for (int seed = 0; seed < 100 && (!first[0] || !first[1]); seed++) {
    char settings[64];
    snprintf(settings, sizeof settings, "CUDA_SIM_SEED=%d CUDA_SIM_DELAY=3000", seed);
    const int status = cuda_child(first_to_end, NULL, settings);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) / 2 == 5);
    first[WEXITSTATUS(status) - 10]++;
  }
  assert_true(first[0] && first[1]);
  assert_true(cuda_satisfied(takes_time, &some, "CUDA_SIM_DELAY=3000")); /* a third of the mean */
  assert_true(cuda_satisfied(takes_time, &none, "CUDA_SIM_DELAY=0"));
}

/* ---- events ---- */

static void events(const void *about) {
  CUdeviceptr at;
  CUevent e = NULL, f = NULL, untimed;
  CUcontext ctx = cuda_start(0), second;
  float ms = -1;
  (void)about;
  make_word();
  GOOD(cu.cuMemAlloc(&at, BYTES));
  GOOD(cu.cuEventCreate(&e, 0));
  GOOD(cu.cuEventCreate(&f, 0));
  untimed = event_new();
  RETURNS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventElapsedTime(&ms, e, f)); /* never recorded */
  CUstream s = stream_new(CU_STREAM_NON_BLOCKING), t = stream_new(CU_STREAM_NON_BLOCKING);
  GOOD(cu.cuEventQuery(e)); /* nothing to wait for */
  GOOD(cu.cuEventSynchronize(e));
  GOOD(cu.cuStreamWaitEvent(t, e, 0));
  GOOD(cu.cuStreamQuery(t));
  GOOD(cu.cuEventRecord(e, s));
  GOOD(cu.cuEventRecord(untimed, s));
  hold(s);
  GOOD(cu.cuEventRecord(f, s));
  GOOD(cu.cuEventSynchronize(e));
  RETURNS(CUDA_ERROR_NOT_READY, cu.cuEventQuery(f));
  RETURNS(CUDA_ERROR_NOT_READY, cu.cuEventElapsedTime(&ms, e, f));
  usleep(20000);
  release();
  GOOD(cu.cuEventSynchronize(f));
  GOOD(cu.cuEventQuery(f));
  GOOD(cu.cuEventElapsedTime(&ms, e, f));
  CHECK(ms >= 20 && ms < 20000);
  RETURNS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventElapsedTime(&ms, untimed, f));
  GOOD(cu.cuEventDestroy(f));
  event_new(); /* has another handle */
  RETURNS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventQuery(f));
  RETURNS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventDestroy(f));
  RETURNS(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamWaitEvent(t, f, 0));
  GOOD(cu.cuDevicePrimaryCtxRetain(&second, 1));
  GOOD(cu.cuCtxSetCurrent(second));
  RETURNS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventRecord(e, NULL)); /* of another context */
  RETURNS(CUDA_ERROR_INVALID_HANDLE, cu.cuMemsetD8Async(at, 1, 1, s));
  GOOD(cu.cuStreamWaitEvent(NULL, e, 0));
  GOOD(cu.cuCtxSetCurrent(ctx));
}

static void events_come_true(void **state) {
  (void)state;
  assert_true(cuda_satisfied(events, NULL, "CUDA_SIM_DEVICES=2"));
}

/* ---- words and functions ---- */

typedef struct condition {
  unsigned flags;
  uint32_t value, word;
  bool true_now;
} condition;
static const condition CONDITIONS[] = {
    {CU_STREAM_WAIT_VALUE_GEQ, 5, 4, false},
    {CU_STREAM_WAIT_VALUE_GEQ, 5, 5, true},
    {CU_STREAM_WAIT_VALUE_GEQ, 5, 6, true},
    {CU_STREAM_WAIT_VALUE_GEQ, 0xfffffff0, 3, true}, /* the comparison wraps around */
    {CU_STREAM_WAIT_VALUE_GEQ, 3, 0xfffffff0, false},
    {CU_STREAM_WAIT_VALUE_EQ, 5, 6, false},
    {CU_STREAM_WAIT_VALUE_EQ, 5, 5, true},
};

static int called;
static CUresult from_inside;
static void call(void *data) {
  called += *(int *)data;
  from_inside = cu.cuStreamQuery(NULL);
}

static void words(const void *about) {
  int three = 3;
  (void)about;
  cuda_start(0);
  make_word();
  for (size_t i = 0; i < sizeof CONDITIONS / sizeof *CONDITIONS; i++) {
    const condition *c = &CONDITIONS[i];
    CUstream s = stream_new(CU_STREAM_NON_BLOCKING);
    *word = c->word;
    GOOD(cu.cuStreamWaitValue32(s, word_there, c->value, c->flags));
    usleep(5000);
    if (!c->true_now) RETURNS(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(s));
    if (!c->true_now) GOOD(cu.cuStreamWriteValue32(NULL, word_there, c->value, 0));
    GOOD(cu.cuStreamSynchronize(s));
    CHECK(*word == (c->true_now ? c->word : c->value));
    GOOD(cu.cuStreamDestroy(s));
  }
  RETURNS(CUDA_ERROR_INVALID_VALUE, cu.cuStreamWaitValue32(NULL, word_there + 1, 0, 0));
  RETURNS(CUDA_ERROR_INVALID_VALUE, cu.cuStreamWaitValue32(NULL, word_there, 0, 7));
  *word = 0;
  CUstream s = stream_new(CU_STREAM_NON_BLOCKING);
  hold(s);
  GOOD(cu.cuLaunchHostFunc(s, call, &three));
  usleep(5000);
  CHECK(!called);
  release();
  GOOD(cu.cuStreamSynchronize(s));
  CHECK(called == 3 && from_inside == CUDA_ERROR_NOT_PERMITTED);
  GOOD(cu.cuStreamQuery(s));
}

static void words_and_functions(void **state) {
  (void)state;
  assert_true(cuda_satisfied(words, NULL, NULL));
}

/* ---- calls that wait for the whole device ---- */

enum waiting {
  FREES,
  FREES_HOST,
  UNREGISTERS,
  UNLOADS,
  COPIES_PAGEABLE,
  ALLOCATES,
  ALLOCATES_HOST,
  REGISTERS,
  LOADS,
  WAITERS
};

static CUresult call_waiting(enum waiting w, CUdeviceptr at, void *pinned, char *memory,
                             CUmodule module, CUstream held) {
  switch (w) {
    case FREES: return cu.cuMemFree(at);
    case FREES_HOST: return cu.cuMemFreeHost(pinned);
    case UNREGISTERS: return cu.cuMemHostUnregister(memory);
    case UNLOADS: return cu.cuModuleUnload(module);
    case COPIES_PAGEABLE: return cu.cuMemcpyDtoHAsync(memory + BYTES, at, 1, held);
    case ALLOCATES: return cu.cuMemAlloc(&at, 1);
    case ALLOCATES_HOST: return cu.cuMemHostAlloc(&pinned, 1, 0);
    case REGISTERS: return cu.cuMemHostRegister(memory + BYTES, 1, 0);
    default: return cu.cuModuleLoadData(&module, NOTHING);
  }
}

static void wait_for_ever(const void *about) {
  const bool strict = *(const bool *)about;
  static _Alignas(4096) char memory[2 * BYTES];
  CUdeviceptr at;
  CUmodule module;
  void *pinned;
  cuda_start(0);
  make_word();
  GOOD(cu.cuModuleLoadData(&module, NOTHING));
  GOOD(cu.cuMemAlloc(&at, BYTES));
  GOOD(cu.cuMemHostAlloc(&pinned, BYTES, 0));
  GOOD(cu.cuMemHostRegister(memory, BYTES, 0));
  CUstream s = stream_new(CU_STREAM_NON_BLOCKING);
  hold(s);
  for (int w = 0; w < WAITERS; w++) {
    const bool waits = strict || w < ALLOCATES;
    RETURNS(waits ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS,
            call_waiting((enum waiting)w, at, pinned, memory, module, s));
  }
  release(); /* after the release, everything works as before */
  GOOD(cu.cuStreamSynchronize(s));
  for (int w = UNLOADS; w-- > 0;)
    GOOD(call_waiting((enum waiting)w, at, pinned, memory, module, s));
}

static void held_streams_are_told(void **state) {
  (void)state;
  for (int strict = 0; strict < 2; strict++) {
    const bool is = strict;
    assert_true(cuda_satisfied(
        wait_for_ever, &is, is ? "CUDA_SIM_STUCK=0.05" : "CUDA_SIM_STUCK=0.05 CUDA_SIM_STRICT=0"));
    assert_non_null(strstr(cuda_said, "cuMemFree has waited 0.05 s"));
    assert_non_null(strstr(cuda_said, "has not done cuStreamWaitValue32"));
    assert_int_equal(strstr(cuda_said, "cuMemHostRegister has waited") != NULL, strict);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(streams_run_later_and_in_order),
      cmocka_unit_test(delays_are_random),

      cmocka_unit_test(events_come_true),
      cmocka_unit_test(words_and_functions),
      cmocka_unit_test(held_streams_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
