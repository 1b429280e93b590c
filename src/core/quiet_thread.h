/* quiet_thread.h - threads that receive no signals, so that a program's handlers run on the program's own threads. This
 * header depends on nothing else of tutti, because plugins and the drop-in library start their threads with it as well.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_QUIET_THREAD_H
#define TT_QUIET_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/* Starts a thread like pthread_create, but with all signals blocked in the new thread. */
static inline int tt_quiet_thread(pthread_t *thread, void *(*run)(void *), void *of) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(thread, NULL, run, of);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error;
}

#endif
