/* thread.c - a thread that drives operations in flight while the callers compute.
 *
 * Idea       It runs only on request (TUTTI_PROGRESS_THREAD=1, or the config of buckets), because it uses a core while
 *            anything is in flight. Otherwise it sleeps. It drives communicators that no thread is using. Over networks,
 *            it drives only those that any thread may call.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <time.h>

#include "flight.h"
#include "quiet_thread.h"

enum { NAP_NS = 20000, LOOKS = 500 /* polls without progress before a nap, if streams wait */ };

static void *run_progress_thread(void *unused) {
  (void)unused;
  for (int vain = 0;;) {
    pthread_mutex_lock(&tt_process.lock);
    while (!tt_process.in_flight && !tt_process.progress_thread.ends)
      pthread_cond_wait(&tt_process.progress_thread.work, &tt_process.lock);
    const bool ends = tt_process.progress_thread.ends;
    pthread_mutex_unlock(&tt_process.lock);
    if (ends) return NULL;
    const struct timespec nap = {0, NAP_NS};
    vain = tt_progress_others(NULL) ? 0 : vain + 1;
    if (vain && vain < LOOKS && tt_device_holds())
      sched_yield();
    else if (vain)
      nanosleep(&nap, NULL);
  }
}

void tt_thread_wake(void) {
  const bool wanted =
      atomic_load_explicit(&tt_process.progress_thread.wanted, memory_order_relaxed) ||
      atomic_load_explicit(&tt_process.progress_thread.by_setting, memory_order_relaxed);
  if (!tt_process.progress_thread.runs && !wanted) return;
  if (!tt_process.progress_thread.runs)
    tt_process.progress_thread.runs =
        tt_quiet_thread(&tt_process.progress_thread.id, run_progress_thread, NULL) == 0;
  pthread_cond_signal(&tt_process.progress_thread.work);
}

void tt_thread_want(bool on) {
  pthread_mutex_lock(&tt_process.lock);
  atomic_fetch_add_explicit(&tt_process.progress_thread.wanted, on ? 1 : -1, memory_order_relaxed);
  pthread_mutex_unlock(&tt_process.lock);
}

void tt_thread_end(void) {
  pthread_mutex_lock(&tt_process.lock);
  const bool has = tt_process.progress_thread.runs;
  tt_process.progress_thread.ends = true;
  tt_process.progress_thread.runs = false;
  pthread_cond_signal(&tt_process.progress_thread.work);
  pthread_mutex_unlock(&tt_process.lock);
  if (has) pthread_join(tt_process.progress_thread.id, NULL);
  tt_process.progress_thread.ends = false;
}
