/* tune_parts.c - measures the work of one core for a message: adding, copying, compressing, reading
 * from another process, and waking up.
 *
 * Idea      each measurement is repeated REPEATS times, or ENOUGH seconds and at least LEAST times
 *           if that is sooner. The result is the median. Vectors have the size of blocks of a
 *           collective that fit into the second-level cache.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tune.h"
#include "tutti_plan.h"

enum { BLOCK = 64 << 10, LARGE = 32 << 20, REPEATS = 21, LEAST = 5 };
#define ENOUGH  0.05
#define IN_TURN 0.1

typedef struct work {
  void *a, *b, *c;
  size_t bytes;
  tutti_type type;
  pid_t peer;
  int to, from; /* pipes */
  const char *code;
} work;

/* Returns the median time of one run in seconds. The runs are timed in batches of about a fifth of a millisecond. */
static double seconds_of(void (*once)(const work *), const work *w) {
  double each[REPEATS];
  const double begin = cli_now();
  once(w);
  double took = cli_now() - begin;
  const long n = took > 0 ? 1 + (long)(2e-4 / took) : 1000;
  int k = 0;
  for (; k < REPEATS && (k < LEAST || cli_now() - begin < ENOUGH); k++) {
    const double from = cli_now();
    for (long i = 0; i < n; i++) once(w);
    each[k] = (cli_now() - from) / (double)n;
  }
  cli_sort(each, (size_t)k);
  return each[k / 2];
}

/* Returns the mean time of one run in seconds, including time during which other processes use the same core. */
static double seconds_in_turn(void (*once)(const work *), const work *w) {
  const double begin = cli_now();
  long n = 0;
  for (; cli_now() - begin < IN_TURN; n++) once(w);
  return (cli_now() - begin) / (double)n;
}

static void add(const work *w) {
  tutti_reduce_local(w->a, w->b, w->c, w->bytes / tutti_type_size(w->type), w->type, TUTTI_SUM);
}

static void copy(const work *w) {
  memcpy(w->c, w->a, w->bytes);
  __asm__ volatile("" ::"r"(w->c) : "memory");
}

/* Reads memory of the peer process. The address is the same as in this process, because the peer is a fork of it. */
static void read_peer(const work *w) {
  struct iovec local = {w->c, w->bytes}, remote = {w->a, w->bytes};
  if (process_vm_readv(w->peer, &local, 1, &remote, 1, 0) < 0) _exit(1);
}

static void wake(const work *w) {
  char byte = 0;
  if (write(w->to, &byte, 1) != 1 || read(w->from, &byte, 1) != 1) _exit(1);
}

/* ---- arithmetic ---- */

static void arithmetic(tune_result *r, work *w) {
  double plain = 0;
  w->bytes = BLOCK;
  w->type = TUTTI_FLOAT;
  plain = seconds_of(add, w) / BLOCK;
  tune_add(r, "gamma", plain, "s/B: a byte of floats added, in the cache");
  for (int t = 0; t < TUTTI_TYPE_COUNT; t++) {
    char name[40];
    w->type = (tutti_type)t;
    if (t == TUTTI_FLOAT || !tutti_type_has_op(w->type, TUTTI_SUM)) continue;
    snprintf(name, sizeof name, "gamma.%s", tutti_type_name(w->type));
    tune_add(r, name, seconds_of(add, w) / BLOCK, "s/B: a byte of this type added");
  }
}

/* ---- compression of messages between hosts ---- */

static void code(const work *w) {
  tutti_code_local(w->code, w->a, w->c, w->bytes / sizeof(float), TUTTI_FLOAT, NULL);
}

static const struct {
  const char *name, *code, *meaning;
} coded[TUNE_CODES] = {
    {"code.int8", "error=1", "s/B: floats to int8 and back, while all ranks do the same"},
    {"code.fp8", "error=1,code=fp8_e4m3", "s/B: the same to 8-bit floats"},
    {"code.lossless", "lossless", "s/B: the same without loss"},
};

/* Fills the array with approximately normally distributed numbers, by adding four random numbers for each. */
static void fill_normal(float *x, size_t n) {
  uint64_t seed = 1;
  for (size_t i = 0; i < n; i++) {
    double sum = -2;
    for (int k = 0; k < 4; k++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      sum += (double)(seed >> 11) * 0x1p-53;
    }
    x[i] = (float)sum;
  }
}

bool tune_codes(bool in_turn, double seconds[TUNE_CODES]) {
  work w = {.a = calloc(1, BLOCK), .c = calloc(1, BLOCK), .bytes = BLOCK};
  const bool made = w.a && w.c;
  if (made) fill_normal(w.a, BLOCK / sizeof(float));
  for (int i = 0; i < TUNE_CODES; i++) {
    w.code = coded[i].code;
    seconds[i] = made ? (in_turn ? seconds_in_turn : seconds_of)(code, &w) / BLOCK : 0;
  }
  free(w.a);
  free(w.c);
  return made;
}

void tune_add_codes(tune_result *r, const double seconds[TUNE_CODES]) {
  for (int i = 0; i < TUNE_CODES; i++)
    tune_add(r, coded[i].name, seconds[i], "%s", coded[i].meaning);
}

/* ---- another process ---- */

static void answer(int from, int to) {
  char byte;
  while (read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1) continue;
  _exit(0);
}

/* Measures process_vm_readv. A child process tries it first, because reads may fail in a sandbox. */
static void peer(tune_result *r, work *w) {
  int there[2], back[2];
  if (pipe(there) || pipe(back)) return;
  w->peer = fork();
  if (w->peer == 0) {
    close(there[1]);
    close(back[0]);
    answer(there[0], back[1]);
  }
  close(there[0]);
  close(back[1]);
  w->to = there[1];
  w->from = back[0];
  struct iovec local = {w->c, 1}, remote = {w->a, 1};
  if (w->peer > 0 && process_vm_readv(w->peer, &local, 1, &remote, 1, 0) == 1) {
    w->bytes = 1;
    const double call = seconds_of(read_peer, w);
    w->bytes = LARGE / 32;
    tune_note(r, "process_vm_readv: %.3g us a call, %.3g ns/KiB", 1e6 * call,
              1e9 * (seconds_of(read_peer, w) - call) / (LARGE / 32.0 / 1024));
  } else {
    tune_note(r, "process_vm_readv: not allowed here");
  }
  if (w->peer > 0)
    tune_note(r, "a process that sleeps in the system is woken: %.3g us (half a round trip)",
              5e5 * seconds_of(wake, w));
  close(there[1]);
  close(back[0]);
  if (w->peer > 0) waitpid(w->peer, NULL, 0);
}

void tune_parts(tune_result *r) {
  work w = {.a = calloc(1, LARGE), .b = calloc(1, BLOCK), .c = calloc(1, LARGE)};
  if (w.a && w.b && w.c) {
    memset(w.a, 1, LARGE);
    memset(w.c, 1, LARGE);
    arithmetic(r, &w);
    w.bytes = BLOCK;
    const double near = seconds_of(copy, &w);
    w.bytes = LARGE;
    tune_note(r, "a copy: %.3g ns/KiB in the cache, %.3g ns/KiB in memory",
              1e9 * near / (BLOCK / 1024), 1e9 * seconds_of(copy, &w) / (LARGE / 1024));
    peer(r, &w);
  }
  double seconds[TUNE_CODES];
  if (tune_codes(false, seconds)) tune_add_codes(r, seconds);
  free(w.a);
  free(w.b);
  free(w.c);
}
