/* api_device.c - a short example of every function of tutti_device.h and of streams in
 * tutti_call.h, for Doxygen's pages. The device is simulated: its memory is an array, and its
 * streams execute everything immediately. With a GPU, a program needs no table. It passes memory
 * from cudaMalloc and streams from cudaStreamCreate (docs/gpu.md).
 * Try: make build/examples/api_device && tutti run -n 3 build/examples/api_device
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti.h>
#include <tutti_device.h>

#define CHECK(call) check((call) == 0, #call)
static void check(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "%s: %s\n", what, tutti_error());
  exit(1);
}

/* ---- a device: its functions in the order of the table ---- */

static char card[4096]; /* the memory of the device */

static int place(void *self, const void *at, tutti_device_place *where) {
  const uintptr_t from = (uintptr_t)card, to = (uintptr_t)at;
  if (to < from || to >= from + sizeof card) return 1; /* the processor can read it directly */
  *where = (tutti_device_place){.device = 0, .base = card, .bytes = sizeof card, .id = 1};
  return (void)self, 0;
}
static int pin(void *self, void *memory, size_t bytes) {
  return (void)self, (void)memory, (void)bytes, 0;
}
static int unpin(void *self, void *memory) {
  return (void)self, (void)memory, 0;
}
static int open_lane(void *self, int device, void **lane) {
  *lane = calloc(1, sizeof(unsigned long long)); /* the number of tickets issued */
  return (void)self, (void)device, !*lane;
}
static void close_lane(void *lane) {
  free(lane);
}
static int after(void *lane, void *stream) {
  return (void)lane, (void)stream, 0;
}
static int copy(void *lane, tutti_device_way way, void *to, const void *from, size_t bytes) {
  memcpy(to, from, bytes);
  return (void)lane, (void)way, 0;
}
static int mark(void *lane, tutti_device_way way, unsigned long long *ticket) {
  *ticket = ++*(unsigned long long *)lane;
  return (void)way, 0;
}
static int reached(void *lane, tutti_device_way way, unsigned long long ticket) {
  return (void)lane, (void)way, (void)ticket, 1;
}
static int settle(void *self, int device, void *stream) {
  return (void)self, (void)device, (void)stream, 0;
}
static int hold(void *lane, void *stream, void **held) {
  *held = malloc(1);
  return (void)lane, (void)stream, !*held;
}
static int release(void *lane, void *held) {
  return (void)lane, free(held), 0;
}
static int name_of(void *self, const void *at, tutti_device_name *name) {
  return (void)self, (void)at, (void)name, 1; /* no other process can map it */
}
static void *map(void *self, int device, const tutti_device_name *name) {
  return (void)self, (void)device, (void)name, NULL;
}
static void forget(void *self, long long process) {
  (void)self, (void)process;
}
static int sums(void *self, tutti_type type, tutti_op op) {
  return (void)self, (void)type, (void)op, 0; /* the processor computes the sums */
}
static int sum(void *lane, void *const *to, int nto, const void *const *from, int n, size_t count,
               tutti_type type, tutti_op op) {
  return (void)lane, (void)to, (void)nto, (void)from, (void)n, (void)count, (void)type, (void)op, 1;
}
static const char *error(void *self) {
  return (void)self, "a copy failed";
}

/* ---- the examples ---- */

static void example_device(tutti_comm *comm) { /* called before the first communicator is created */
  const tutti_device device = {.size = sizeof device,
                               .name = "an array",
                               .place = place,
                               .pin = pin,
                               .unpin = unpin,
                               .open = open_lane,
                               .close = close_lane,
                               .after = after,
                               .copy = copy,
                               .mark = mark,
                               .reached = reached,
                               .settle = settle,
                               .hold = hold,
                               .release = release,
                               .name_of = name_of,
                               .map = map,
                               .forget = forget,
                               .sums = sums,
                               .sum = sum,
                               .error = error};
  CHECK(tutti_device_set(&device));
  (void)comm;
}

static void example_device_here(tutti_comm *comm) {
  const char *name = tutti_device_here(); /* NULL if only vectors in host memory are supported */
  check(name && strcmp(name, "an array") == 0, "the device of this program");
  (void)comm;
}

enum { N = 3 };
static float *const x = (float *)card, *const y = (float *)(card + 2048); /* on the device */
static void *const stream = NULL; /* the legacy default stream, or one from cudaStreamCreate */

static void example_stream(tutti_comm *comm) {
  const int P = tutti_comm_size(comm);
  const tutti_call sum = {.size = sizeof sum,
                          .coll = TUTTI_ALLREDUCE,
                          .src = x,
                          .dst = y,
                          .count = N,
                          .type = TUTTI_FLOAT,
                          .op = TUTTI_SUM,
                          .stream = stream};
  tutti_call broadcast = sum;
  broadcast.coll = TUTTI_BROADCAST;
  broadcast.src = y;
  for (int i = 0; i < N; i++) x[i] = (float)tutti_comm_rank(comm); /* on a GPU: a kernel */
  CHECK(tutti_call_on_stream(comm, &sum));                         /* returns immediately */
  CHECK(tutti_call_on_stream(comm, &broadcast)); /* later work on the stream waits */
  CHECK(tutti_stream_wait(comm));                /* waits until no stream is waiting for tutti */
  for (int i = 0; i < N; i++) check(y[i] == (float)(P * (P - 1) / 2), "the sum of the ranks");
}

int main(void) {
  static void (*const examples[])(tutti_comm *) = {example_device_here, example_stream};
  enum { EXAMPLES = 1 + sizeof examples / sizeof *examples };
  tutti_comm *comm;
  example_device(NULL);
  CHECK(tutti_comm_from_env(&comm));
  for (int i = 0; i < EXAMPLES - 1; i++) examples[i](comm);
  if (tutti_comm_rank(comm) == 0) printf("%d examples\n", EXAMPLES);
  CHECK(tutti_comm_free(comm));
  CHECK(tutti_finalize());
  return 0;
}
