/* The simulated driver reports operations of two streams on the same bytes that nothing orders, and no others.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the first three headers above */
#include <cmocka.h>

#include "cuda_streams_play.h"

enum { BYTES = 4096 };

enum order {
  NOTHING,
  MANY,
  EVENT,
  EVENT_EARLY,
  EVENT_OF_BEFORE,
  THIRD_STREAM,
  HOST_WAITS,
  HOST_ASKS,
  EVENT_ASKED,
  CONTEXT,
  BLOCKING,
  WORD_OF_HOST,
  WORD_OF_STREAM,
  FUNCTION,
  ORDERS
};
static const struct {
  const char *name;
  bool orders;
} ORDER[ORDERS] = {
    [NOTHING] = {"nothing", false},
    [MANY] = {"nothing, and many operations elsewhere", false},
    [EVENT] = {"an event", true},
    [EVENT_EARLY] = {"an event that was recorded before the operation", false},
    [EVENT_OF_BEFORE] = {"an event that is recorded again, behind the wait", false},
    [THIRD_STREAM] = {"events by way of a third stream", true},
    [HOST_WAITS] = {"the host waits for the stream", true},
    [HOST_ASKS] = {"the host asks until the stream is done", true},
    [EVENT_ASKED] = {"the host polls until the event has completed", true},
    [CONTEXT] = {"the host waits for the context", true},
    [BLOCKING] = {"the legacy stream and a blocking one", true},
    [WORD_OF_HOST] = {"the host, which waits, and then writes a word that the stream waits for",
                      true},
    [WORD_OF_STREAM] = {"a word that one stream writes, and the other waits for", true},
    [FUNCTION] = {"a function of the host, behind the operation, which releases the stream", true},
};

enum bytes {
  SAME,
  PART,
  NEXT,
  READS,
  PINNED,
  PINNED_READ,
  DOWN,
  DOWN_NEXT,
  UP,
  UP_NEXT,
  KERNEL,
  KERNEL_NEXT,
  KERNEL_READS,
  BYTES_CASES
};
static const struct {
  const char *name;
  bool conflict;
} CONFLICT[BYTES_CASES] = {
    [SAME] = {"two write the same bytes", true},
    [PART] = {"one reads what the other writes, in part", true},
    [NEXT] = {"they write bytes side by side", false},
    [READS] = {"both read the same bytes", false},
    [PINNED] = {"both write the same bytes of the host", true},
    [PINNED_READ] = {"both read the same bytes of the host", false},
    [DOWN] = {"a copy to its own start writes what the other reads", true},
    [DOWN_NEXT] = {"it reads only, as the other does", false},
    [UP] = {"a copy to its own end writes what the other reads", true},
    [UP_NEXT] = {"it reads only, as the other does", false},
    [KERNEL] = {"a kernel stores into what a copy reads", true},
    [KERNEL_NEXT] = {"a kernel stores next to the bytes that a copy reads", false},
    [KERNEL_READS] = {"a kernel loads what a copy reads", false},
};

typedef struct race {
  enum order order;
  enum bytes bytes;
} race;

static CUdeviceptr one, other, elsewhere;
static void *host;
static CUfunction store, load;

/* Stores or loads every second byte from 64 to 127. */
#define KERNEL_TEXT(name, last)                                                                  \
  ".visible .entry " name                                                                        \
  "(.param .u64 at)\n{\n.reg .b64 %d<4>;\n.reg .b32 %r<4>;\n"                                    \
  "ld.param.u64 %d0, [at];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %d1, %r0, 2;\nadd.u64 %d2, %d0, " \
  "%d1;\n" last "\nret;\n}\n"
static const char *const KERNELS = ".version 6.5\n.target sm_70\n.address_size 64\n" KERNEL_TEXT(
    "store", "st.global.u8 [%d2+64], %r0;") KERNEL_TEXT("load", "ld.global.u8 %r0, [%d2+64];");

static void first_of(enum bytes b, CUstream s) {
  void *parameters[] = {&one};
  switch (b) {
    case SAME:
    case PART:
    case NEXT: GOOD(cu.cuMemsetD8Async(one, 1, BYTES / 2, s)); break;
    case READS: GOOD(cu.cuMemcpyDtoDAsync(other, one, BYTES / 2, s)); break;
    case PINNED: GOOD(cu.cuMemcpyDtoHAsync(host, one, BYTES / 2, s)); break;
    case PINNED_READ: GOOD(cu.cuMemcpyHtoDAsync(one, host, BYTES / 2, s)); break;
    case DOWN:
    case DOWN_NEXT: GOOD(cu.cuMemcpyDtoDAsync(one, one + 16, 64, s)); break;
    case UP:
    case UP_NEXT: GOOD(cu.cuMemcpyDtoDAsync(one + 16, one, 64, s)); break;
    default:
      GOOD(cu.cuLaunchKernel(b == KERNEL_READS ? load : store, 1, 1, 1, 32, 1, 1, 0, s, parameters,
                             NULL));
  }
}

static void second_of(enum bytes b, CUstream s) {
  switch (b) {
    case SAME: GOOD(cu.cuMemsetD8Async(one, 2, 1, s)); break;
    case PART: GOOD(cu.cuMemcpyDtoDAsync(other, one + BYTES / 2 - 1, BYTES / 2, s)); break;
    case NEXT: GOOD(cu.cuMemsetD8Async(one + BYTES / 2, 2, BYTES / 2, s)); break;
    case READS: GOOD(cu.cuMemcpyDtoDAsync(other + BYTES / 2, one, BYTES / 2, s)); break;
    case PINNED: GOOD(cu.cuMemcpyDtoHAsync((char *)host + 1, other, 1, s)); break;
    case PINNED_READ: GOOD(cu.cuMemcpyHtoDAsync(other, host, BYTES / 2, s)); break;
    case DOWN: GOOD(cu.cuMemcpyDtoDAsync(other, one + 63, 1, s)); break;
    case DOWN_NEXT: GOOD(cu.cuMemcpyDtoDAsync(other, one + 64, 16, s)); break;
    case UP: GOOD(cu.cuMemcpyDtoDAsync(other, one + 79, 1, s)); break;
    case UP_NEXT: GOOD(cu.cuMemcpyDtoDAsync(other, one, 16, s)); break;
    case KERNEL:
    case KERNEL_READS: GOOD(cu.cuMemcpyDtoDAsync(other, one + 126, 1, s)); break;
    default:
      GOOD(cu.cuMemcpyDtoDAsync(other, one + 65, 1, s));
      GOOD(cu.cuMemcpyDtoDAsync(other, one + 127, 64, s));
      GOOD(cu.cuMemcpyDtoDAsync(other, one, 64, s));
  }
}

static void call_release(void *data) {
  (void)data;
  release();
}

/* The calls between the two operations: they either order b after a, or not. */
static void put_order(enum order o, CUstream a, CUstream b, CUevent e) {
  CUstream c = stream_new(CU_STREAM_NON_BLOCKING);
  CUevent f = event_new();
  if (o == EVENT || o == THIRD_STREAM || o == EVENT_ASKED) GOOD(cu.cuEventRecord(e, a));
  switch (o) {
    case EVENT_EARLY:
    case EVENT: GOOD(cu.cuStreamWaitEvent(b, e, 0)); break;
    case EVENT_OF_BEFORE:
      GOOD(cu.cuStreamWaitEvent(b, e, 0));
      GOOD(cu.cuEventRecord(e, a));
      break;
    case THIRD_STREAM:
      GOOD(cu.cuStreamWaitEvent(c, e, 0));
      GOOD(cu.cuEventRecord(f, c));
      GOOD(cu.cuStreamWaitEvent(b, f, 0));
      break;
    case MANY:
      for (int i = 0; i < 200; i++) GOOD(cu.cuMemsetD8Async(elsewhere, 1, 1, c));
      GOOD(cu.cuStreamSynchronize(c));
      break;
    case HOST_WAITS: GOOD(cu.cuStreamSynchronize(a)); break;
    case HOST_ASKS:
      while (cu.cuStreamQuery(a) == CUDA_ERROR_NOT_READY) usleep(10);
      break;
    case EVENT_ASKED:
      while (cu.cuEventQuery(e) == CUDA_ERROR_NOT_READY) usleep(10);
      break;
    case CONTEXT: GOOD(cu.cuCtxSynchronize()); break;
    case WORD_OF_HOST: hold(b); break;
    case WORD_OF_STREAM:
      hold(b);
      GOOD(cu.cuStreamWriteValue32(a, word_there, 1, 0));
      break;
    case FUNCTION:
      hold(b);
      GOOD(cu.cuLaunchHostFunc(a, call_release, NULL));
      break;
    default: break;
  }
}

static void run_race(const void *about) {
  const race *r = about;
  CUmodule module;
  cuda_start(0);
  make_word();
  GOOD(cu.cuModuleLoadData(&module, KERNELS));
  GOOD(cu.cuModuleGetFunction(&store, module, "store"));
  GOOD(cu.cuModuleGetFunction(&load, module, "load"));
  GOOD(cu.cuMemAlloc(&one, BYTES));
  GOOD(cu.cuMemAlloc(&other, BYTES));
  GOOD(cu.cuMemAlloc(&elsewhere, BYTES));
  GOOD(cu.cuMemHostAlloc(&host, BYTES, 0));
  CUstream a =
      r->order == BLOCKING ? stream_new(CU_STREAM_DEFAULT) : stream_new(CU_STREAM_NON_BLOCKING);
  CUstream b = r->order == BLOCKING ? NULL : stream_new(CU_STREAM_NON_BLOCKING);
  CUevent e = event_new();
  GOOD(cu.cuEventRecord(e, a));
  first_of(r->bytes, a);
  put_order(r->order, a, b, e);
  second_of(r->bytes, b);
  if (r->order == WORD_OF_HOST) { /* b's operation is queued before a's has completed */
    GOOD(cu.cuStreamSynchronize(a));
    release();
  }
  const CUresult result = cu.cuCtxSynchronize();
  CHECK(result == CUDA_SUCCESS || result == CUDA_ERROR_ILLEGAL_STATE);
  CHECK((result == CUDA_SUCCESS) == (ORDER[r->order].orders || !CONFLICT[r->bytes].conflict));
  RETURNS(result, cu.cuCtxSynchronize()); /* the error is permanent */
}

static void races_are_found(void **state) {
  (void)state;
  for (int o = 0; o < ORDERS; o++)
    for (int b = 0; b < BYTES_CASES; b++) {
      const race r = {(enum order)o, (enum bytes)b};
      char settings[64];
      snprintf(settings, sizeof settings, "CUDA_SIM_SEED=%d CUDA_SIM_DELAY=50", 100 * o + b);
      if (!cuda_satisfied(run_race, &r, settings))
        fail_msg("%s; order: %s", CONFLICT[b].name, ORDER[o].name);
      assert_true((strstr(cuda_said, "a race") != NULL) ==
                  (!ORDER[o].orders && CONFLICT[b].conflict));
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(races_are_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
