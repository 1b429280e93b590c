/* watch.c - lets streams that wait for tutti continue if tutti cannot release them.
 *
 * Idea       While a stream waits, a thread of tutti calls the driver for copies and kernels. A function that waits
 *            for the whole device, such as cuMemFree, blocks all other threads in the driver. If the program calls
 *            one while a stream waits, there is a deadlock: the function waits for the stream, the stream for tutti's
 *            thread, and tutti's thread for the driver. Therefore a watcher checks ten times a second. If a call by
 *            tutti has been in the driver for 5 seconds, and no call has returned in that time, the watcher releases
 *            all waiting streams. It only has to write a word in memory. This unblocks the driver, and tutti's calls
 *            on these streams fail.
 * Cost       A thread that sleeps while no stream is waiting, and two atomic additions per driver call.
 * Invariant  The watcher counts checks instead of measuring time, so a process that was stopped for a while does not
 *            count as stuck.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <time.h>

#include "gpu.h"
#include "quiet_thread.h"

enum { LOOK_MS = 100, LOOKS = 50 };

/* Returns true if a driver call is in progress and no call has returned since the last check. */
static bool stands_still(gpu_world *w, unsigned long long *left) {
  const unsigned long long now = __atomic_load_n(&w->left, __ATOMIC_RELAXED), before = *left;
  *left = now;
  return now == before && __atomic_load_n(&w->entered, __ATOMIC_RELAXED) != now;
}

static void let_all_go(gpu_world *w) {
  for (gpu_hold *h = w->holds; h; h = h->next) {
    h->early = true;
    gpu_let_go(h);
  }
}

static void *watcher(void *world) {
  gpu_world *w = world;
  unsigned long long left = 0;
  int looks = 0;
  for (;;) {
    pthread_mutex_lock(&w->holds_lock);
    while (!w->holds) {
      looks = 0;
      pthread_cond_wait(&w->held, &w->holds_lock);
    }
    looks = stands_still(w, &left) ? looks + 1 : 0;
    if (looks >= LOOKS) let_all_go(w);
    pthread_mutex_unlock(&w->holds_lock);
    nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000L}, NULL);
  }
  return NULL;
}

static int start(gpu_world *w) {
  pthread_t thread;
  if (tt_quiet_thread(&thread, watcher, w))
    return gpu_fail("no thread can be made that watches waiting streams");
  return pthread_detach(thread);
}

int gpu_watcher_start(gpu_world *w) {
  pthread_mutex_lock(&w->holds_lock);
  const int failed = w->watched ? 0 : start(w);
  w->watched = !failed;
  pthread_mutex_unlock(&w->holds_lock);
  return failed;
}

void gpu_watch(gpu_world *w, gpu_hold *hold) {
  pthread_mutex_lock(&w->holds_lock);
  if (!w->holds) pthread_cond_signal(&w->held);
  hold->next = w->holds;
  w->holds = hold;
  pthread_mutex_unlock(&w->holds_lock);
}

int gpu_unwatch(gpu_world *w, gpu_hold *hold) {
  pthread_mutex_lock(&w->holds_lock);
  gpu_hold **link = &w->holds;
  while (*link && *link != hold) link = &(*link)->next;
  if (*link) *link = hold->next;
  const bool early = hold->early;
  pthread_mutex_unlock(&w->holds_lock);
  if (!early) return 0;
  return gpu_fail(
      "a stream went on without its result, because cudaFree or a similar call, made while the stream "
      "waited, blocked the CUDA driver for %d s; call tutti_stream_wait before cudaFree",
      LOOK_MS * LOOKS / 1000);
}
