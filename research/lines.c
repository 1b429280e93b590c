/* lines.c - the time of a small sum of two ranks, for different layouts of data and flag in cache lines.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   build/research/lines [ROUNDS]      (8)
 *
 * Two threads, each on its own core, write their vectors, exchange them and add. The layouts alternate. A
 * rank writes lines that its peer read some calls ago, so a store waits until the line is back
 * in the rank's cache.
 *
 *   shared    up to 112 bytes are in the line of the flag; longer data are in separate lines, read after the flag
 *   ahead     the same; at its end a call prefetches the lines of the next call for writing (PREFETCHW)
 *   demoted   like shared, but the writer pushes its lines to the shared cache (CLDEMOTE, which does nothing
 *             on processors without it)
 *   stamped   each line has 56 bytes of data and a flag, so that data and flag arrive together
 *
 * Prints microseconds per call, the least of the rounds' means, and the round trip of a line, which shows
 * whether the cores are near or far. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SETS = 16, LONGEST = 4096, BESIDE = 112, IN_LINE = 56, CALLS = 2000, PINGS = 2000 };
enum { STAMPED_LINES = LONGEST / IN_LINE + 1 };
typedef enum way { AS_IS, AHEAD, DEMOTED, STAMPED, WAYS } way;
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static const char *const way_names[] = {"shared", "ahead", "demoted", "stamped"};

typedef struct flag_slot {
  _Alignas(128) atomic_ulong stamp;
  char beside[BESIDE];
} flag_slot;
typedef struct stamped_line {
  _Alignas(64) char bytes[IN_LINE];
  atomic_ulong stamp;
} stamped_line;

/* The memory that one rank writes and the other one reads. */
static struct {
  flag_slot slot[SETS];
  _Alignas(4096) char payload[SETS][LONGEST];
  _Alignas(4096) stamped_line line[SETS][STAMPED_LINES];
  _Alignas(128) atomic_ulong ping;
} rank[2];
static pthread_barrier_t barrier;
static size_t bytes;
static way how;
static double took[2], line_us;

static void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
static void own(const void *line) {
#if defined(__x86_64__)
  __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
  __builtin_prefetch(line, 1);
#endif
}
static void demote(const void *line) {
#if defined(__x86_64__)
  __asm__ volatile("cldemote %0" : : "m"(*(const char *)line));
#else
  (void)line;
#endif
}
static void wait_for(atomic_ulong *word, unsigned long value) {
  while (atomic_load_explicit(word, memory_order_acquire) != value) relax();
}

static char *place(int me, unsigned long call) {
  return bytes <= BESIDE ? rank[me].slot[call % SETS].beside : rank[me].payload[call % SETS];
}

/* All lines, beginning at `at`. */
static void lines(void (*act)(const void *), const char *at) {
  for (size_t k = 0; k < bytes; k += 64) act(at + k);
}

static const float *exchange_beside(int me, unsigned long call, const float *x) {
  char *to = place(me, call);
  memcpy(to, x, bytes);
  atomic_store_explicit(&rank[me].slot[call % SETS].stamp, call, memory_order_release);
  if (how == DEMOTED) demote(&rank[me].slot[call % SETS]), lines(demote, to);
  wait_for(&rank[!me].slot[call % SETS].stamp, call);
  return (const float *)(const void *)place(!me, call);
}

static const float *exchange_stamped(int me, unsigned long call, const float *x, char *got) {
  stamped_line *to = rank[me].line[call % SETS], *from = rank[!me].line[call % SETS];
  size_t k = 0;
  for (size_t at = 0; at < bytes; at += IN_LINE, k++) {
    memcpy(to[k].bytes, (const char *)x + at, bytes - at < IN_LINE ? bytes - at : IN_LINE);
    atomic_store_explicit(&to[k].stamp, call, memory_order_release);
  }
  k = 0;
  for (size_t at = 0; at < bytes; at += IN_LINE, k++) {
    wait_for(&from[k].stamp, call);
    memcpy(got + at, from[k].bytes, bytes - at < IN_LINE ? bytes - at : IN_LINE);
  }
  return (const float *)(const void *)got;
}

static void run(int me) {
  static unsigned long calls[2];
  static _Alignas(64) float x[2][LONGEST / 4 + 16], got[2][LONGEST / 4 + 16];
  const size_t count = bytes / sizeof(float);
  pthread_barrier_wait(&barrier);
  const double since = now();
  for (int k = 0; k < CALLS; k++) {
    const unsigned long call = ++calls[me];
    for (size_t i = 0; i < count; i++) x[me][i] = (float)call;
    const float *theirs = how == STAMPED ? exchange_stamped(me, call, x[me], (char *)got[me])
                                         : exchange_beside(me, call, x[me]);
    for (size_t i = 0; i < count; i++) x[me][i] += theirs[i];
    if (how == AHEAD) {
      own(&rank[me].slot[(call + 1) % SETS]);
      if (bytes > BESIDE) lines(own, place(me, call + 1));
    }
    __asm__ volatile("" : : "r"(x[me]) : "memory");
    if (x[me][count - 1] != 2 * (float)call) abort();
  }
  took[me] = (now() - since) / CALLS;
}

static void ping(int me) {
  static unsigned long sent;
  const unsigned long first = sent + 1;
  pthread_barrier_wait(&barrier);
  const double since = now();
  for (unsigned long k = first; k < first + PINGS; k++) {
    if (me) wait_for(&rank[0].ping, k);
    atomic_store_explicit(&rank[me].ping, k, memory_order_release);
    if (!me) wait_for(&rank[1].ping, k);
  }
  pthread_barrier_wait(&barrier);
  if (me) return;
  line_us = (now() - since) / PINGS;
  sent += PINGS;
}

static cpu_set_t may; /* the cores on which the process may run; set before any thread is bound */

static void bind_to(int nth) {
  cpu_set_t one;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, &may) && nth-- == 0) {
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    }
}

static void (*play)(int me);
static void *other_rank(void *unused) {
  (void)unused;
  bind_to(1);
  play(1);
  return NULL;
}
static double both(void (*part)(int me)) {
  pthread_t thread;
  play = part;
  pthread_create(&thread, NULL, other_rank, NULL);
  bind_to(0);
  part(0);
  pthread_join(thread, NULL);
  return took[0] > took[1] ? took[0] : took[1];
}

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 8;
  if (sched_getaffinity(0, sizeof may, &may) || CPU_COUNT(&may) < 2) {
    fprintf(stderr, "lines: two cores are needed\n");
    return 1;
  }
  pthread_barrier_init(&barrier, NULL, 2);
  printf("%8s %8s", "bytes", "line ns");
  for (int w = 0; w < WAYS; w++) printf(" %9s", way_names[w]);
  printf("   us per call\n");
  for (bytes = 4; bytes <= LONGEST; bytes *= 4) {
    double best[WAYS], line = 1;
    for (int w = 0; w < WAYS; w++) best[w] = 1;
    for (int round = 0; round < rounds; round++) {
      both(ping);
      if (line_us < line) line = line_us;
      for (int w = 0; w < WAYS; w++) {
        how = (way)w;
        const double now = both(run);
        if (now < best[w]) best[w] = now;
      }
    }
    printf("%8zu %8.0f", bytes, 1e9 * line);
    for (int w = 0; w < WAYS; w++) printf(" %9.3f", 1e6 * best[w]);
    printf("\n");
  }
  return 0;
}
