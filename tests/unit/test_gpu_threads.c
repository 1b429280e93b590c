/* test_gpu_threads.c - libtutti_cuda.so used by many threads simultaneously, over the simulated driver.
 *
 * Idea       Each thread does everything that a rank does, on its own lane. The threads share contexts, kernels that are
 *            compiled once, one block of pinned memory and one mapping. Also run under the thread sanitizer.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpu_play.h"

GPU_TEST_CASE
enum { THREADS = 6, TURNS = 12, COUNT = 500, PIECES = 3000 };

static char *shared;       /* memory that all threads pin */
static CUdeviceptr common; /* memory that all threads name and map */
static pthread_barrier_t start;
static bool held; /* the thread without a context has finished */
static atomic_bool freed;

typedef struct worker {
  pthread_t thread;
  int number;
  CUdeviceptr vectors;
} worker;

/* One round: fills two vectors, sums them, and checks the result. */
static void turn(const worker *me, int number, void *lane, int32_t *host) {
  static const tutti_op ops[] = {TUTTI_SUM, TUTTI_MAX, TUTTI_BXOR};
  const tutti_op op = ops[number % 3];
  char *a = gpu_pointer(me->vectors), *b = a + sizeof(int32_t) * COUNT;
  unsigned long long ticket;
  for (int i = 0; i < 2 * COUNT; i++) host[i] = me->number * 1000 + number + i;
  WORKS(gpu.copy(lane, TUTTI_DEVICE_OUT, a, host, 2 * COUNT * sizeof *host));
  CHECK(gpu.sums(gpu.self, TUTTI_INT32, op) == 1);
  WORKS(gpu.sum(lane, (void *[]){a}, 1, (const void *[]){a, b}, 2, COUNT, TUTTI_INT32, op));
  WORKS(gpu.mark(lane, TUTTI_DEVICE_OUT, &ticket));
  CHECK(gpu_await(lane, TUTTI_DEVICE_OUT, ticket));
  int32_t *got = host + 2 * COUNT;
  WORKS(gpu.copy(lane, TUTTI_DEVICE_IN, got, a, COUNT * sizeof *host));
  WORKS(gpu.mark(lane, TUTTI_DEVICE_IN, &ticket));
  CHECK(gpu_await(lane, TUTTI_DEVICE_IN, ticket));
  for (int i = 0; i < COUNT; i++) {
    const int32_t x = host[i], y = host[i + COUNT];
    const int32_t want = op == TUTTI_SUM ? x + y : op == TUTTI_MAX ? (x > y ? x : y) : x ^ y;
    if (got[i] == want) continue;
    CHECK(got[i] == want);
    return;
  }
}

static void share(void *lane, CUstream stream) {
  tutti_device_place place;
  tutti_device_name name;
  void *hold = NULL;
  WORKS(gpu.pin(gpu.self, shared, 4096));
  WORKS(gpu.place(gpu.self, gpu_pointer(common + 5), &place));
  WORKS(gpu.name_of(gpu.self, gpu_pointer(common + 5), &name));
  CHECK(gpu.map(gpu.self, 0, &name) == gpu_pointer(common + 5));
  WORKS(gpu.after(lane, stream));
  WORKS(gpu.hold(lane, stream, &hold));
  gpu.release(lane, hold);
  WORKS(gpu.unpin(gpu.self, shared));
}

static void *work(void *data) {
  worker *me = data;
  void *lane = NULL;
  CUstream stream = NULL;
  int32_t *host = aligned_alloc(4096, 8192);
  CHECK(3 * COUNT * sizeof *host <= 8192);
  pthread_barrier_wait(&start);
  WORKS(gpu.pin(gpu.self, host, 8192));
  for (int i = 0; i < TURNS; i++) {
    if (i % 4 == 0) WORKS(gpu.open(gpu.self, 0, &lane));
    turn(me, i, lane, host);
    share(lane, stream);
    if (i % 4 == 3) gpu.close(lane);
  }
  WORKS(gpu.unpin(gpu.self, host));
  free(host);
  return NULL;
}

static void many_threads(void) {
  worker workers[THREADS];
  gpu_begin();
  shared = aligned_alloc(4096, 4096);
  common = gpu_alloc(4096);
  CHECK(!pthread_barrier_init(&start, NULL, THREADS));
  for (int i = 0; i < THREADS; i++) {
    workers[i].number = i;
    workers[i].vectors = gpu_alloc(2 * COUNT * sizeof(int32_t));
    CHECK(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
  }
  for (int i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
  for (int i = 0; i < THREADS; i++) CHECK(!cu.cuMemFree(workers[i].vectors));
  CHECK(!cu.cuMemFree(common));
  FAILS(gpu.unpin(gpu.self, shared), "is not pinned");
  free(shared);
  pthread_barrier_destroy(&start);
}

/* Frees memory as a program would; the free waits for a stream that tutti holds. */
static void *free_memory(void *at) {
  gpu_begin();
  CHECK(!cu.cuMemFree(*(CUdeviceptr *)at));
  atomic_store(&freed, true);
  return NULL;
}

/* The watcher of streams that wait (gpu/watch.c) sleeps 100 ms between two looks. Here it looks only as often as the test allows,
 * and that quickly. */
enum { LOOK_NS = 100000000, LOOKS = 50, ALL = 1 << 30 };
static atomic_int looks, allowed = ALL;

int nanosleep(const struct timespec *time, struct timespec *left) {
  const bool watcher = time->tv_sec == 0 && time->tv_nsec == LOOK_NS;
  const struct timespec moment = {.tv_nsec = 1000000};
  while (watcher && atomic_load(&looks) >= atomic_load(&allowed)) clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
  if (!watcher) return clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
  atomic_fetch_add(&looks, 1);
  return clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, left);
}

/* Marks the queue, and waits for the mark. Returns the most looks of the watcher during one call. */
static int looks_of_a_call(void *lane) {
  unsigned long long ticket;
  int before = atomic_load(&looks);
  WORKS(gpu.mark(lane, TUTTI_DEVICE_IN, &ticket));
  int most = atomic_load(&looks) - before;
  for (int reached = 0; !reached;) {
    before = atomic_load(&looks);
    reached = gpu.reached(lane, TUTTI_DEVICE_IN, ticket);
    const int during = atomic_load(&looks) - before;
    if (during > most) most = during;
  }
  return most;
}

/* The watcher looks this often, each time after another call has come back from the driver; lane NULL: without calls. */
static void look_between_calls(void *lane, int times) {
  for (int i = 0; i < times; i++) {
    const int before = atomic_load(&looks);
    if (lane) looks_of_a_call(lane);
    atomic_store(&allowed, before + 1);
    while (atomic_load(&looks) == before) sched_yield();
  }
}

static void frees_while_a_stream_waits(void) {
  pthread_t thread;
  void *lane = NULL, *hold = NULL, *second = NULL;
  CUstream stream = NULL;
  int most = 0;
  gpu_begin();
  CUdeviceptr memory = gpu_alloc(4096);
  WORKS(gpu.open(gpu.self, 0, &lane));
  WORKS(gpu.hold(lane, stream, &hold));
  look_between_calls(lane, LOOKS + 5);
  look_between_calls(NULL, LOOKS + 5);
  WORKS(gpu.release(lane, hold)); /* it waited long, but no call was stuck */
  WORKS(gpu.hold(lane, stream, &hold));
  WORKS(gpu.hold(lane, stream, &second));
  CHECK(!pthread_create(&thread, NULL, free_memory, &memory));
  atomic_store(&allowed, ALL);
  while (!atomic_load(&freed)) {
    const int now = looks_of_a_call(lane);
    if (now > most) most = now;
  }
  CHECK(most >= LOOKS - 1);
  CHECK(!pthread_join(thread, NULL));
  FAILS(gpu.release(lane, hold), "went on without its result, because cudaFree");
  FAILS(gpu.release(lane, second), "for 5 s; call tutti_stream_wait before");
  WORKS(gpu.hold(lane, stream, &hold));
  WORKS(gpu.release(lane, hold));
  gpu.close(lane);
}

/* A thread without a context holds a stream. It must leave tutti's context while the free blocks other calls.
 * Only with the simulated driver is that call certain to be late. */
static void *hold_without_context(void *lane) {
  void *hold = NULL;
  WORKS(gpu.hold(lane, NULL, &hold));
  if (gpu_simulated())
    FAILS(gpu.release(lane, hold), "went on without its result, because cudaFree");
  else
    gpu.release(lane, hold);
  __atomic_store_n(&held, true, __ATOMIC_RELEASE);
  return NULL;
}

/* Frees one piece per millisecond. All pieces are allocated beforehand, because allocation also waits for the
 * device. */
static void frees_while_a_thread_leaves(void) {
  pthread_t thread;
  void *lane = NULL, *pieces[PIECES];
  gpu_begin();
  WORKS(gpu.open(gpu.self, 0, &lane));
  for (int i = 0; i < PIECES; i++) CHECK(!cu.cuMemHostAlloc(&pieces[i], 64, 0));
  CHECK(!pthread_create(&thread, NULL, hold_without_context, lane));
  for (int i = 0; i < PIECES; i++) {
    CHECK(!cu.cuMemFreeHost(pieces[i]));
    if (!__atomic_load_n(&held, __ATOMIC_ACQUIRE))
      nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  CHECK(!pthread_join(thread, NULL));
  gpu.close(lane);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      GPU_CASE("many threads", many_threads, "CUDA_SIM_DELAY=5"),
      GPU_CASE("many threads, holds by a function", many_threads,
               "CUDA_SIM_DELAY=5 CUDA_SIM_WITHOUT=cuStreamWaitValue32"),
      GPU_CASE("memory is freed while a stream waits", frees_while_a_stream_waits, NULL),
      GPU_CASE("memory is freed while a function holds a stream", frees_while_a_stream_waits,
               "CUDA_SIM_WITHOUT=cuStreamWaitValue32"),
      GPU_CASE("memory is freed before a holder has left the driver", frees_while_a_thread_leaves,
               "CUDA_SIM_LATE=cuCtxPopCurrent"),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
