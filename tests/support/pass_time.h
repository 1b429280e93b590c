/* pass_time.h - for tests of long waits: the test controls the clock.
 *
 * Idea       The program defines clock_gettime, which the library also calls. It returns the
 *            system's monotonic clock plus the time that was skipped. Sleeps take their normal
 *            time, and a poll takes at most 20 ms. A waiting rank therefore finds that 10 s have
 *            passed the next time it checks the clock. Before a limit, the test stops the clock
 *            until it has seen the expected result, because on busy cores a rank may check only
 *            rarely.
 * Invariant  Only programs that consist of a single file include this header. All others use the
 *            system's clock.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PASS_TIME_H
#define PASS_TIME_H

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_llong passed_ns, most_ns, look_ns, frozen_ns;
static atomic_bool time_flies;
static pthread_t time_thread;

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *t) {
  const long long ns_of_s = 1000000000, frozen = atomic_load(&frozen_ns);
  if (syscall(SYS_clock_gettime, clock, t)) return -1;
  if (clock != CLOCK_MONOTONIC) return 0;
  const long long ns = (frozen ? frozen : t->tv_sec * ns_of_s + t->tv_nsec) + atomic_fetch_add(&passed_ns, atomic_load(&look_ns));
  t->tv_sec = ns / ns_of_s;
  t->tv_nsec = ns % ns_of_s;
  return 0;
}

/* A wait for a descriptor with a deadline on this clock returns at least every 20 ms, to check the clock again. */
__attribute__((visibility("default"))) int poll(struct pollfd *fds, nfds_t n, int ms) {
  const int most = atomic_load(&time_flies) && (ms < 0 || ms > 20) ? 20 : ms;
  const struct timespec limit = {most / 1000, most % 1000 * 1000000L};
  return ppoll(fds, n, most < 0 ? NULL : &limit, NULL);
}

static void *make_time_fly(void *unused) {
  (void)unused;
  while (atomic_load(&time_flies)) {
    usleep(20000);
    if (atomic_load(&passed_ns) < atomic_load(&most_ns)) atomic_fetch_add(&passed_ns, 980000000);
  }
  return NULL;
}

/* Stops the clock. Each read of it then advances it by `seconds`, so that a wait takes a fixed number of reads,
 * whatever the machine's load. 0 makes the system's clock run again. */
static inline void looks_take(double seconds) {
  struct timespec t;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
  atomic_store(&frozen_ns, seconds > 0 ? t.tv_sec * 1000000000LL + t.tv_nsec : 0);
  atomic_store(&look_ns, (long long)(1e9 * seconds));
}

/* Lets a second pass every 20 ms, until this many seconds have passed. */
static inline void fly_time_for(int seconds) {
  atomic_store(&most_ns, atomic_load(&passed_ns) + seconds * 1000000000LL);
  atomic_store(&time_flies, true);
  if (pthread_create(&time_thread, NULL, make_time_fly, NULL)) atomic_store(&time_flies, false);
}

/* Removes the limit of fly_time_for. */
static inline void fly_on(void) {
  atomic_store(&most_ns, LLONG_MAX);
}

static inline void fly_time(void) {
  fly_time_for(1000000);
}

static inline void stop_time_flying(void) {
  if (atomic_exchange(&time_flies, false)) pthread_join(time_thread, NULL);
}

#endif
