/* test_gpu.c - libtutti_cuda.so over the simulated driver: where an address is, pinned memory, lanes, held
 * streams, contexts.
 *
 * Idea       a scene is a function that runs in a child process (gpu_play.h). The driver itself detects errors: it
 *            reports copies that nothing orders, memory that was freed, and waits that cannot end.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpu_play.h"

GPU_TEST_CASE
enum { KIB = 1024 };

/* ---- where an address is ---- */

static void places_before_start(void) {
  int here = 0;
  tutti_device_place place;
  tutti_device_name name;
  CHECK(gpu.size == sizeof gpu && strncmp(gpu.name, "CUDA", 4) == 0);
  CHECK(gpu.place(gpu.self, &here, &place) == 1);
  CHECK(gpu.name_of(gpu.self, &here, &name) == 1);
  FAILS(gpu.pin(gpu.self, &here, sizeof here), "cuDeviceGetCount");
  CHECK(!cu.cuInit(0));
  CHECK(gpu.place(gpu.self, &here, &place) == 1);
  FAILS(gpu.pin(gpu.self, &here, sizeof here), "uses none of the");
}

static void places(void) {
  gpu_begin();
  int here = 0;
  void *pinned = NULL;
  CUdeviceptr managed = 0;
  tutti_device_place p, q;
  const size_t bytes = 100 * KIB + 24;
  const CUdeviceptr a = gpu_alloc(bytes), b = gpu_alloc(1);
  CHECK(gpu.place(gpu.self, &here, &p) == 1);
  CHECK(gpu.place(gpu.self, NULL, &p) == 1);
  for (int i = 0; i < 3; i++) { /* the driver is asked once; the answer is cached */
    WORKS(gpu.place(gpu.self, gpu_pointer(a), &p));
    CHECK(p.device == 0 && p.base == gpu_pointer(a) && p.bytes >= bytes && p.id);
    WORKS(gpu.place(gpu.self, gpu_pointer(a + bytes - 1), &q));
    CHECK(q.base == p.base && q.bytes == p.bytes && q.id == p.id);
    WORKS(gpu.place(gpu.self, gpu_pointer(b), &q));
    CHECK(q.base == gpu_pointer(b) && q.bytes >= 1 && q.id != p.id);
  }
  if (gpu_simulated()) CHECK(gpu.place(gpu.self, gpu_pointer(a + bytes), &q) == 1);
  CHECK(!cu.cuMemFree(a));
  CHECK(gpu.place(gpu.self, gpu_pointer(a), &q) == 1);
  CHECK(!cu.cuMemAllocManaged(&managed, KIB, CU_MEM_ATTACH_GLOBAL));
  CHECK(!cu.cuMemHostAlloc(&pinned, KIB, CU_MEMHOSTALLOC_PORTABLE));
  for (int i = 0; i < 2; i++) {
    CHECK(gpu.place(gpu.self, gpu_pointer(managed), &q) == 1);
    CHECK(gpu.place(gpu.self, pinned, &q) == 1);
  }
  for (int i = 0; i < 20; i++) { /* more allocations than a thread caches */
    const CUdeviceptr more = gpu_alloc(KIB);
    WORKS(gpu.place(gpu.self, gpu_pointer(more + 3), &q));
    CHECK(q.base == gpu_pointer(more) && q.id != p.id);
    if (i % 2) CHECK(!cu.cuMemFree(more));
  }
  WORKS(gpu.place(gpu.self, gpu_pointer(b), &q));
  CHECK(!cu.cuMemFree(b) && !cu.cuMemFree(managed) && !cu.cuMemFreeHost(pinned));
}

static void *place_here(void *at) {
  tutti_device_place p;
  WORKS(gpu.place(gpu.self, at, &p));
  CHECK(p.base == at);
  return NULL;
}

/* A thread that has never used the driver. */
static void places_of_threads(void) {
  pthread_t thread;
  gpu_begin();
  const CUdeviceptr a = gpu_alloc(KIB);
  CHECK(!pthread_create(&thread, NULL, place_here, gpu_pointer(a)));
  pthread_join(thread, NULL);
  CHECK(!cu.cuMemFree(a));
}

/* ---- contexts: after any call, the thread's context is the same as before ---- */

static void same_context(CUcontext want, int line) {
  CUcontext now = NULL;
  CHECK(!cu.cuCtxGetCurrent(&now));
  if (now == want) return;
  fprintf(stderr, "line %d: another context is current\n", line);
  gpu_failures++;
}
#define SAME(call)                \
  do {                            \
    WORKS(call);                  \
    same_context(want, __LINE__); \
  } while (0)

static void contexts_with(CUcontext want, CUdeviceptr a, int device) {
  void *lane, *hold;
  char *memory = aligned_alloc(4096, 4096);
  unsigned long long ticket;
  tutti_device_place place;
  tutti_device_name name;
  CHECK(!cu.cuCtxSetCurrent(want));
  SAME(gpu.place(gpu.self, gpu_pointer(a), &place));
  CHECK(place.device == device);
  SAME(gpu.name_of(gpu.self, gpu_pointer(a), &name));
  SAME(!gpu.map(gpu.self, device, &name));
  SAME(gpu.open(gpu.self, device, &lane));
  SAME(gpu.pin(gpu.self, memory, 4096));
  SAME(!gpu.sums(gpu.self, TUTTI_INT32, TUTTI_SUM));
  SAME(gpu.after(lane, NULL));
  SAME(gpu.hold(lane, NULL, &hold));
  gpu.release(lane, hold);
  memset(memory, 3, 4096);
  SAME(gpu.copy(lane, TUTTI_DEVICE_OUT, gpu_pointer(a), memory, 4096));
  SAME(gpu.sum(lane, (void *[]){gpu_pointer(a)}, 1,
               (const void *[]){gpu_pointer(a), gpu_pointer(a)}, 2, 1024, TUTTI_INT32, TUTTI_SUM));
  SAME(gpu.mark(lane, TUTTI_DEVICE_OUT, &ticket));
  SAME(!gpu_await(lane, TUTTI_DEVICE_OUT, ticket));
  SAME(gpu.settle(gpu.self, device, NULL));
  SAME(gpu.unpin(gpu.self, memory));
  gpu.forget(gpu.self, -1);
  gpu.close(lane);
  SAME(0);
  free(memory);
}

static void contexts(void) {
  CUcontext primary[2] = {NULL};
  int devices = 0;
  CHECK(!cu.cuInit(0) && !cu.cuDeviceGetCount(&devices));
  if (devices > 2) devices = 2;
  for (int device = 0; device < devices; device++)
    CHECK(!cu.cuDevicePrimaryCtxRetain(&primary[device], device));
  for (int device = 0; device < devices; device++) {
    CHECK(!cu.cuCtxSetCurrent(primary[device]));
    const CUdeviceptr a = gpu_alloc(4096);
    for (int current = 0; current < devices; current++) contexts_with(primary[current], a, device);
    contexts_with(NULL, a, device);
    CHECK(!cu.cuCtxSetCurrent(primary[device]) && !cu.cuMemFree(a));
  }
  CHECK(devices == 2 || !gpu_simulated());
}

/* ---- pinned memory ---- */

static bool pinned(const void *at) {
  unsigned type = 0;
  return !cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   (CUdeviceptr)(uintptr_t)at) &&
         type == CU_MEMORYTYPE_HOST;
}

static void pins(void) {
  gpu_begin();
  char *memory = aligned_alloc(4096, 16 * 4096);
  FAILS(gpu.pin(gpu.self, NULL, 10), "no memory");
  FAILS(gpu.pin(gpu.self, memory, 0), "no memory");
  FAILS(gpu.unpin(gpu.self, memory), "is not pinned");
  WORKS(gpu.pin(gpu.self, memory, 4 * 4096));
  WORKS(gpu.pin(gpu.self, memory, 4096));
  FAILS(gpu.pin(gpu.self, memory, 8 * 4096), "fewer than 32768");
  WORKS(gpu.unpin(gpu.self, memory));
  CHECK(pinned(memory) && pinned(memory + 4 * 4096 - 1));
  WORKS(gpu.unpin(gpu.self, memory));
  CHECK(!pinned(memory));
  FAILS(gpu.unpin(gpu.self, memory), "is not pinned");
  /* Memory pinned by the program stays pinned. */
  CHECK(!cu.cuMemHostRegister(memory, 4 * 4096, CU_MEMHOSTREGISTER_PORTABLE));
  WORKS(gpu.pin(gpu.self, memory, 4 * 4096));
  WORKS(gpu.pin(gpu.self, memory + 4096, 100));
  WORKS(gpu.unpin(gpu.self, memory + 4096));
  WORKS(gpu.unpin(gpu.self, memory));
  CHECK(pinned(memory));
  FAILS(gpu.pin(gpu.self, memory, 16 * 4096), "cuMemHostRegister"); /* only a part is */
  FAILS(gpu.unpin(gpu.self, memory), "is not pinned");
  CHECK(!cu.cuMemHostUnregister(memory));
  free(memory);
}

/* ---- lanes ---- */

enum { PIECES = 150, PIECE = 512 }; /* more tickets than a queue has events */

static void lanes(void) {
  gpu_begin();
  const CUdeviceptr a = gpu_alloc(PIECES * PIECE), b = gpu_alloc(PIECES * PIECE);
  unsigned char *host = aligned_alloc(4096, (2 * PIECES * PIECE + 4095) / 4096 * 4096);
  unsigned long long tickets[PIECES], last;
  void *lane = NULL;
  WORKS(gpu.pin(gpu.self, host, 2 * PIECES * PIECE));
  WORKS(gpu.open(gpu.self, 0, &lane));
  for (int i = 0; i < PIECES * PIECE; i++) host[i] = (unsigned char)(i / PIECE + i);
  WORKS(gpu.copy(lane, TUTTI_DEVICE_OUT, gpu_pointer(a), host, PIECES * PIECE));
  WORKS(gpu.copy(lane, TUTTI_DEVICE_OUT, gpu_pointer(b), host, 0));
  WORKS(gpu.mark(lane, TUTTI_DEVICE_OUT, &last));
  FAILS(gpu.reached(lane, TUTTI_DEVICE_OUT, last + 1) >= 0 ? 0 : 1, "no ticket");
  CHECK(gpu_await(lane, TUTTI_DEVICE_OUT, last));
  unsigned char *back = host + PIECES * PIECE;
  memset(back, 0, PIECES * PIECE);
  for (int i = 0; i < PIECES; i++) {
    WORKS(gpu.copy(lane, TUTTI_DEVICE_IN, back + i * PIECE,
                   gpu_pointer(a + (CUdeviceptr)(i * PIECE)), PIECE));
    WORKS(gpu.mark(lane, TUTTI_DEVICE_IN, &tickets[i]));
    CHECK(!i || tickets[i] > tickets[i - 1]);
  }
  for (int i = 0; i < PIECES; i++) {
    CHECK(gpu_await(lane, TUTTI_DEVICE_IN, tickets[i]));
    CHECK(memcmp(back + i * PIECE, host + i * PIECE, PIECE) == 0);
  }
  for (int i = PIECES - 1; i >= 0; i -= 7)
    CHECK(gpu.reached(lane, TUTTI_DEVICE_IN, tickets[i]) == 1);
  gpu.close(lane);
  WORKS(gpu.unpin(gpu.self, host));
  CHECK(!cu.cuMemFree(a) && !cu.cuMemFree(b));
  free(host);
}

/* A copy is ordered after the work that was enqueued on the stream before; close waits for the copy. */
static void after(void) {
  gpu_begin();
  CUstream streams[3] = {NULL}; /* the legacy one, two of the program's */
  const CUdeviceptr a = gpu_alloc(4 * KIB);
  unsigned char *host = aligned_alloc(4096, 4 * KIB);
  void *lane = NULL;
  CHECK(!cu.cuStreamCreate(&streams[1], CU_STREAM_DEFAULT) &&
        !cu.cuStreamCreate(&streams[2], CU_STREAM_NON_BLOCKING));
  WORKS(gpu.pin(gpu.self, host, 4 * KIB));
  for (int i = 0; i < 12; i++) {
    CUstream stream = streams[i % 3];
    WORKS(gpu.open(gpu.self, 0, &lane));
    CHECK(!cu.cuMemsetD8Async(a, (unsigned char)(i + 1), 4 * KIB, stream));
    WORKS(gpu.after(lane, stream));
    WORKS(gpu.copy(lane, TUTTI_DEVICE_IN, host, gpu_pointer(a), 4 * KIB));
    gpu.close(lane);
    for (int k = 0; k < 4 * KIB; k++)
      if (host[k] != i + 1) {
        CHECK(host[k] == i + 1);
        break;
      }
    CHECK(!cu.cuStreamSynchronize(stream));
  }
  WORKS(gpu.settle(gpu.self, 0, streams[1]));
  FAILS(gpu.settle(gpu.self, 33, NULL), "device 33");
  FAILS(gpu.settle(gpu.self, -1, NULL), "device -1");
  FAILS(gpu.open(gpu.self, 99, &lane), "device 99");
  CHECK(!lane);
  WORKS(gpu.unpin(gpu.self, host));
  CHECK(!cu.cuStreamDestroy(streams[1]) && !cu.cuStreamDestroy(streams[2]) && !cu.cuMemFree(a));
  free(host);
}

/* Both queues are ordered after the stream: an outgoing copy must not overwrite memory that the stream still
 * reads. */
static void after_both(void) {
  gpu_begin();
  CUstream stream;
  const CUdeviceptr a = gpu_alloc(4 * KIB), b = gpu_alloc(4 * KIB);
  unsigned char *host = aligned_alloc(4096, 4 * KIB), *got = aligned_alloc(4096, 4 * KIB);
  void *lane = NULL;
  CHECK(!cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  WORKS(gpu.pin(gpu.self, host, 4 * KIB));
  WORKS(gpu.open(gpu.self, 0, &lane));
  memset(host, 200, 4 * KIB);
  for (int i = 0; i < 8; i++) {
    CHECK(!cu.cuMemsetD8Async(a, (unsigned char)i, 4 * KIB, stream));
    CHECK(!cu.cuMemcpyDtoDAsync(b, a, 4 * KIB, stream));
    WORKS(gpu.after(lane, stream));
    WORKS(gpu.copy(lane, TUTTI_DEVICE_OUT, gpu_pointer(a), host, 4 * KIB));
    gpu_drain(lane);
    CHECK(!cu.cuMemcpyDtoH(got, b, 4 * KIB) && got[0] == i && got[4 * KIB - 1] == i);
    CHECK(!cu.cuMemcpyDtoH(got, a, 4 * KIB) && got[0] == 200 && got[4 * KIB - 1] == 200);
  }
  gpu.close(lane);
  WORKS(gpu.unpin(gpu.self, host));
  CHECK(!cu.cuStreamDestroy(stream) && !cu.cuMemFree(a) && !cu.cuMemFree(b));
  free(host);
  free(got);
}

/* ---- held streams ---- */

enum { HOLDS = 300 }; /* more than words */

typedef struct releaser {
  void *lane, *holds[HOLDS];
} releaser;

static void *release_all(void *data) {
  releaser *r = data;
  usleep(20000);
  for (int i = HOLDS - 1; i >= 0; i--) gpu.release(r->lane, r->holds[i]);
  return NULL;
}

static void holds(void) {
  gpu_begin();
  pthread_t thread;
  static releaser r;
  CUstream stream;
  void *other = NULL;
  unsigned char *host = aligned_alloc(4096, 4 * KIB);
  const CUdeviceptr a = gpu_alloc(4 * KIB);
  CHECK(!cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  WORKS(gpu.pin(gpu.self, host, 4 * KIB));
  WORKS(gpu.open(gpu.self, 0, &r.lane));
  WORKS(gpu.open(gpu.self, 0, &other));
  for (int round = 1; round <= 3; round++) {
    for (int i = 0; i < HOLDS; i++) WORKS(gpu.hold(r.lane, stream, &r.holds[i]));
    CHECK(!cu.cuMemsetD8Async(a, (unsigned char)round, 4 * KIB, stream));
    /* Another lane, which is not ordered after the held stream, continues. */
    WORKS(gpu.copy(other, TUTTI_DEVICE_IN, host, gpu_pointer(a), 0));
    gpu_drain(other);
    CHECK(cu.cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
    CHECK(!pthread_create(&thread, NULL, release_all, &r));
    CHECK(!cu.cuStreamSynchronize(stream));
    pthread_join(thread, NULL);
    CHECK(!cu.cuMemcpyDtoH(host, a, 4 * KIB) && host[0] == round && host[4 * KIB - 1] == round);
  }
  void *hold = NULL;
  WORKS(gpu.hold(other, stream, &hold));
  gpu.close(other); /* the hold outlives its lane */
  CHECK(cu.cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
  gpu.release(NULL, hold);
  WORKS(gpu.settle(gpu.self, 0, stream));
  gpu.close(r.lane);
  WORKS(gpu.unpin(gpu.self, host));
  CHECK(!cu.cuStreamDestroy(stream) && !cu.cuMemFree(a));
  free(host);
}

/* Releasing one stream does not release another. */
static void holds_apart(void) {
  gpu_begin();
  void *lane = NULL, *holds_of[3];
  CUstream streams[3];
  WORKS(gpu.open(gpu.self, 0, &lane));
  for (int i = 0; i < 3; i++) {
    CHECK(!cu.cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    WORKS(gpu.hold(lane, streams[i], &holds_of[i]));
  }
  for (int i = 2; i >= 0; i--) {
    for (int k = 0; k <= i; k++) CHECK(cu.cuStreamQuery(streams[k]) == CUDA_ERROR_NOT_READY);
    gpu.release(lane, holds_of[i]);
    WORKS(gpu.settle(gpu.self, 0, streams[i]));
  }
  gpu.close(lane);
  for (int i = 0; i < 3; i++) CHECK(!cu.cuStreamDestroy(streams[i]));
}

/* A lane works while the default stream is held, although other streams wait for the default stream implicitly. */
static void hold_default(void) {
  gpu_begin();
  void *lane = NULL, *hold = NULL;
  unsigned char *host = aligned_alloc(4096, 4 * KIB);
  const CUdeviceptr a = gpu_alloc(4 * KIB);
  WORKS(gpu.pin(gpu.self, host, 4 * KIB));
  WORKS(gpu.open(gpu.self, 0, &lane));
  memset(host, 9, 4 * KIB);
  for (int i = 0; i < 3; i++) {
    WORKS(gpu.after(lane, NULL));
    WORKS(gpu.hold(lane, NULL, &hold));
    WORKS(gpu.copy(lane, TUTTI_DEVICE_OUT, gpu_pointer(a), host, 4 * KIB));
    gpu_drain(lane);
    CHECK(cu.cuStreamQuery(NULL) == CUDA_ERROR_NOT_READY);
    gpu.release(lane, hold);
    WORKS(gpu.settle(gpu.self, 0, NULL));
  }
  gpu.close(lane);
  WORKS(gpu.unpin(gpu.self, host));
  CHECK(!cu.cuMemFree(a));
  free(host);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      GPU_CASE("places before the driver starts", places_before_start, NULL),
      GPU_CASE("places", places, NULL),
      GPU_CASE("places of other threads", places_of_threads, NULL),
      GPU_CASE("contexts", contexts, "CUDA_SIM_DEVICES=2"),
      GPU_CASE("pins", pins, NULL),
      GPU_CASE("lanes", lanes, NULL),
      GPU_CASE("lanes, slow", lanes, "CUDA_SIM_DELAY=300 CUDA_SIM_SEED=7"),
      GPU_CASE("after", after, "CUDA_SIM_DELAY=500"),
      GPU_CASE("holds by words", holds, NULL),
      GPU_CASE("holds by a function", holds, "CUDA_SIM_WITHOUT=cuStreamWaitValue32"),
      GPU_CASE("after, both ways", after_both, "CUDA_SIM_DELAY=300"),
      GPU_CASE("holds of several streams", holds_apart, NULL),
      GPU_CASE("a held default stream", hold_default, NULL),
      GPU_CASE("... by a function", hold_default, "CUDA_SIM_WITHOUT=cuStreamWaitValue32"),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
