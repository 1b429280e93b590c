/* test_gpu_peers.c - libtutti_cuda.so over the simulated driver: memory of other processes and devices, and
 * each driver call failing once.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpu_play.h"

GPU_TEST_CASE
enum { KIB = 1024, BYTES = 64 * KIB };

/* ---- two processes: an exporter sends names, a reader maps them and says when it has ---- */

static int names[2], answers[2]; /* pipes */

static void tell(int fd, const void *what, size_t bytes) {
  CHECK(write(fd, what, bytes) == (ssize_t)bytes);
}

static void hear(int fd, void *what, size_t bytes) {
  CHECK(read(fd, what, bytes) == (ssize_t)bytes);
}

static CUdeviceptr filled(unsigned char value, size_t bytes) {
  const CUdeviceptr at = gpu_alloc(bytes);
  CHECK(!cu.cuMemsetD8Async(at, value, bytes, NULL) && !cu.cuCtxSynchronize());
  return at;
}

/* Fills memory, sends its name, and waits for the reader's answer. */
static CUdeviceptr export(unsigned char value, size_t offset) {
  tutti_device_name name, again;
  char done;
  const CUdeviceptr at = filled(value, BYTES);
  WORKS(gpu.name_of(gpu.self, gpu_pointer(at + offset), &name));
  WORKS(gpu.name_of(gpu.self, gpu_pointer(at + offset), &again));
  CHECK(memcmp(&name, &again, sizeof name) == 0);
  CHECK(name.offset == offset && name.bytes == BYTES && name.base == at &&
        name.process == getpid());
  CHECK(gpu.map(gpu.self, 0, &name) == gpu_pointer(at + offset)); /* memory of this process */
  tell(names[1], &name, sizeof name);
  hear(answers[0], &done, 1);
  return at;
}

static void exporter(void) {
  gpu_begin();
  close(answers[1]);
  close(names[0]);
  const CUdeviceptr first = export(1, 0);
  const CUdeviceptr second = export(2, 40);
  CHECK(!cu.cuMemFree(first));
  const CUdeviceptr third = export(3, BYTES - 1);
  CHECK(!cu.cuMemFree(second) && !cu.cuMemFree(third));
}

/* Checks that the byte at a mapped address has this value. */
static void reads(void *lane, unsigned char *host, const void *at, unsigned char value) {
  unsigned long long ticket;
  WORKS(gpu.copy(lane, TUTTI_DEVICE_IN, host, at, 1));
  WORKS(gpu.mark(lane, TUTTI_DEVICE_IN, &ticket));
  CHECK(gpu_await(lane, TUTTI_DEVICE_IN, ticket));
  CHECK(*host == value);
}

static void reader(void) {
  gpu_begin();
  unsigned char *host = aligned_alloc(4096, 4096);
  void *lane = NULL;
  close(answers[0]);
  close(names[1]);
  WORKS(gpu.pin(gpu.self, host, 4096));
  WORKS(gpu.open(gpu.self, 0, &lane));
  for (unsigned char i = 1; i <= 3; i++) {
    tutti_device_name name = {0}, other;
    tutti_device_place place;
    hear(names[0], &name, sizeof name);
    char *at = gpu.map(gpu.self, 0, &name);
    CHECK(at != NULL);
    reads(lane, host, at, i);
    CHECK(gpu.map(gpu.self, 0, &name) == at);
    other = name;
    other.offset = 7;
    CHECK((char *)gpu.map(gpu.self, 0, &other) == at - name.offset + 7);
    other.offset = name.bytes;
    FAILS(gpu.map(gpu.self, 0, &other) != NULL ? 0 : 1, "is broken");
    other = name;
    memset(other.handle, 0x55, sizeof other.handle);
    other.id += 1000, other.base += (CUdeviceptr)1 << 40;
    FAILS(gpu.map(gpu.self, 0, &other) != NULL ? 0 : 1, "cuIpcOpenMemHandle");
    gpu.forget(gpu.self, name.process + 1);
    CHECK(gpu.map(gpu.self, 0, &name) == at);
    gpu.forget(gpu.self, i == 1 ? -1 : name.process);
    CHECK(gpu.place(gpu.self, at, &place) == 1);
    at = gpu.map(gpu.self, 0, &name); /* map it again */
    CHECK(at != NULL);
    reads(lane, host, at, i);
    tell(answers[1], "!", 1);
  }
  gpu.close(lane);
  gpu.forget(gpu.self, -1);
  WORKS(gpu.unpin(gpu.self, host));
  free(host);
}

static void two_processes(const char *settings) {
  assert_int_equal(pipe(names), 0);
  assert_int_equal(pipe(answers), 0);
  const pid_t one = gpu_start(exporter, settings), other = gpu_start(reader, settings);
  close(names[0]), close(names[1]), close(answers[0]), close(answers[1]);
  assert_int_equal(gpu_wait(one), 0);
  assert_int_equal(gpu_wait(other), 0);
}

static void test_two_processes(void **state) {
  (void)state;
  if (!gpu_there()) skip();
  two_processes(NULL);
  two_processes("CUDA_SIM_DELAY=200 CUDA_SIM_SEED=3");
}

/* ---- memory without a name ---- */

static void nameless(void) {
  gpu_begin();
  CUdeviceptr managed = 0;
  tutti_device_name name;
  int here = 0;
  CHECK(gpu.name_of(gpu.self, &here, &name) == 1);
  CHECK(!cu.cuMemAllocManaged(&managed, KIB, CU_MEM_ATTACH_GLOBAL));
  CHECK(gpu.name_of(gpu.self, gpu_pointer(managed), &name) == 1);
  CHECK(!cu.cuMemFree(managed));
  memset(&name, 0, sizeof name);
  FAILS(gpu.map(gpu.self, 0, &name) != NULL ? 0 : 1, "is broken");
}

/* A name no longer maps to memory of this process after the memory was freed. */
static void freed(void) {
  gpu_begin();
  tutti_device_name name;
  const CUdeviceptr a = gpu_alloc(KIB);
  WORKS(gpu.name_of(gpu.self, gpu_pointer(a), &name));
  CHECK(!cu.cuMemFree(a));
  FAILS(gpu.map(gpu.self, 0, &name) != NULL ? 0 : 1, "was freed");
}

/* ---- two devices of one process ---- */

static void two_devices(void) {
  CUcontext contexts[2];
  CUdeviceptr at[2];
  tutti_device_name name;
  void *lane = NULL;
  int host[16], devices = 0;
  CHECK(!cu.cuInit(0) && !cu.cuDeviceGetCount(&devices));
  if (devices < 2 && !gpu_simulated()) return;
  for (int d = 0; d < 2; d++) {
    CHECK(!cu.cuDevicePrimaryCtxRetain(&contexts[d], d) && !cu.cuCtxSetCurrent(contexts[d]));
    at[d] = gpu_alloc(sizeof host);
    for (int i = 0; i < 16; i++) host[i] = (d + 1) * 100 + i;
    CHECK(!cu.cuMemcpyHtoD(at[d], host, sizeof host));
  }
  WORKS(gpu.open(gpu.self, 0, &lane));
  CHECK(gpu.sums(gpu.self, TUTTI_INT32, TUTTI_SUM) == 1);
  WORKS(gpu.name_of(gpu.self, gpu_pointer(at[1]), &name));
  for (int i = 0; i < 2; i++) CHECK(gpu.map(gpu.self, 0, &name) == gpu_pointer(at[1]));
  WORKS(gpu.sum(lane, (void *[]){gpu_pointer(at[1]), gpu_pointer(at[0])}, 2,
                (const void *[]){gpu_pointer(at[0]), gpu_pointer(at[1])}, 2, 16, TUTTI_INT32,
                TUTTI_SUM));
  gpu_drain(lane);
  gpu.close(lane);
  for (int d = 0; d < 2; d++) {
    CHECK(!cu.cuCtxSetCurrent(contexts[d]) && !cu.cuMemcpyDtoH(host, at[d], sizeof host));
    for (int i = 0; i < 16; i++) CHECK(host[i] == 300 + 2 * i);
    CHECK(!cu.cuMemFree(at[d]));
  }
}

/* ---- each call fails once: an error message, and no crash, hang or leak ---- */

/* A failure has an error message, which names a driver function or a reason. */
static bool told(int failed) {
  if (!failed) return false;
  CHECK(strlen(gpu.error(gpu.self)) > 10);
  return true;
}

static void use_lane(void *lane, CUdeviceptr a, CUstream stream) {
  unsigned char *host = aligned_alloc(4096, BYTES);
  unsigned long long ticket;
  void *hold = NULL;
  memset(host, 1, BYTES);
  const bool pinned = !told(gpu.pin(gpu.self, host, BYTES));
  if (!told(gpu.after(lane, stream))) {
    const bool copied = !told(gpu.copy(lane, TUTTI_DEVICE_OUT, gpu_pointer(a), host, BYTES / 2));
    if (copied && gpu.sums(gpu.self, TUTTI_INT32, TUTTI_SUM))
      told(gpu.sum(lane, (void *[]){gpu_pointer(a)}, 1,
                   (const void *[]){gpu_pointer(a), gpu_pointer(a)}, 2, KIB, TUTTI_INT32,
                   TUTTI_SUM));
  }
  if (told(gpu.hold(lane, stream, &hold))) CHECK(!hold);
  if (hold) gpu.release(lane, hold);
  if (!told(gpu.mark(lane, TUTTI_DEVICE_OUT, &ticket)))
    told(!gpu_await(lane, TUTTI_DEVICE_OUT, ticket));
  told(gpu.settle(gpu.self, 0, stream));
  cu.cuCtxSynchronize(); /* the host's memory is in use until then */
  if (pinned) told(gpu.unpin(gpu.self, host));
  free(host);
}

static void everything(void) {
  CUcontext context = NULL;
  CUdeviceptr a = 0;
  CUstream stream = NULL;
  tutti_device_place place;
  tutti_device_name name;
  void *lane = NULL;
  if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&context, 0) || cu.cuCtxSetCurrent(context))
    return;
  if (cu.cuMemAlloc(&a, BYTES)) return;
  if (cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)) return;
  const int answer = gpu.place(gpu.self, gpu_pointer(a), &place);
  if (answer < 0) told(answer);
  const int named = gpu.name_of(gpu.self, gpu_pointer(a), &name);
  if (named < 0) told(named);
  if (!named) told(!gpu.map(gpu.self, 0, &name));
  if (told(gpu.open(gpu.self, 0, &lane))) CHECK(!lane);
  if (!lane) told(gpu.open(gpu.self, 0, &lane)); /* the second try */
  if (lane) {
    use_lane(lane, a, stream);
    gpu.close(lane);
  }
  gpu.forget(gpu.self, -1);
  cu.cuStreamDestroy(stream);
  cu.cuMemFree(a);
}

static void test_each_call_fails(void **state) {
  (void)state;
  if (!gpu_there() || !gpu_simulated()) skip();
  char path[] = "/tmp/tutti_gpu_XXXXXX", settings[200];
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  snprintf(settings, sizeof settings, "CUDA_SIM_COUNT=%s", path);
  assert_int_equal(gpu_run(everything, settings), 0);
  FILE *file = fdopen(fd, "r");
  int calls = 0;
  assert_int_equal(fscanf(file, "%d", &calls), 1);
  fclose(file);
  unlink(path);
  assert_true(calls > 150); /* the events of two queues alone are 129 calls */
  for (int i = 1; i <= calls; i++) {
    snprintf(settings, sizeof settings, "CUDA_SIM_FAIL=%d", i);
    const int failures = gpu_run(everything, settings);
    if (failures) print_error("call %d fails: %d\n", i, failures);
    assert_int_equal(failures, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      GPU_CASE("nameless memory", nameless, NULL),
      GPU_CASE("freed memory", freed, NULL),
      GPU_CASE("two devices", two_devices, "CUDA_SIM_DEVICES=2"),
      cmocka_unit_test(test_two_processes),
      cmocka_unit_test(test_each_call_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
