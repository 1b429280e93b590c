/* process.c - the process context, settings, fork and finalize.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "process.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tutti_net.h"

tt_process_context tt_process = {.starting = PTHREAD_MUTEX_INITIALIZER,
                                 .lock = PTHREAD_MUTEX_INITIALIZER,
                                 .progress_thread.work = PTHREAD_COND_INITIALIZER,
                                 .trace.lock = PTHREAD_MUTEX_INITIALIZER,
                                 .plans.lock = PTHREAD_MUTEX_INITIALIZER};

/* Records the time when this process loads the library. No rank of this job can have written a file before then. */
/* each communicates, forked, usable, hooked, idle, warned: order: flags of this process */

static void __attribute__((constructor)) at_load(void) {
  tt_process.loaded_us = tt_clock_us(CLOCK_REALTIME);
}

/* Prepares the child of a fork, which may use tutti only if the parent has not communicated. Connections remain with
 * the parent. The locks are initialized again, because another thread of the parent may have held them. */
static void in_child(void) {
  pthread_mutex_init(&tt_process.starting, NULL);
  pthread_mutex_init(&tt_process.lock, NULL);
  pthread_mutex_init(&tt_process.trace.lock, NULL);
  pthread_mutex_init(&tt_process.plans.lock, NULL);
  if (!atomic_load(&tt_process.communicates)) return;
  atomic_store(&tt_process.forked, 1);
  atomic_store(&tt_process.usable, false);
}

void **tt_kept_plans_lock(void) {
  pthread_mutex_lock(&tt_process.plans.lock);
  return &tt_process.plans.kept;
}

void tt_kept_plans_unlock(void) {
  pthread_mutex_unlock(&tt_process.plans.lock);
}

tutti_status tt_alive(void) {
  if (atomic_load_explicit(&tt_process.forked, memory_order_relaxed))
    return tt_fail(
        TUTTI_ERR_STATE,
        "this process was forked from one that uses tutti: it had made a communicator; "
        "fork before any is made, start ranks with `tutti run`, or call exec after fork");
  if (atomic_load_explicit(&tt_process.finalized, memory_order_relaxed))
    return tt_fail(TUTTI_ERR_STATE, "tutti_finalize was called before; make it the last call");
  if (!atomic_load_explicit(&tt_process.hooked, memory_order_acquire) &&
      !atomic_exchange(&tt_process.hooked, 1)) {
    pthread_atfork(NULL, NULL, in_child);
    atomic_store(&tt_process.usable, true);
  }
  return TUTTI_OK;
}

tutti_status tt_args_given(const char *function, const char *one, const void *first,
                           const char *two, const void *second) {
  const tutti_status status = tt_alive();
  const char *null = !first ? one : two && !second ? two : NULL;
  return status || !null ? status : tt_fail(TUTTI_ERR_ARG, "%s: %s is NULL", function, null);
}

void tutti_scratch_set(void *(*take)(size_t bytes), void (*give)(void *memory)) {
  tt_process.scratch.take = give ? take : NULL;
  tt_process.scratch.give = take ? give : NULL;
}

void tutti_idle_set(void (*idle)(void)) {
  atomic_store(&tt_process.idle, idle);
}

void tt_idle(void) {
  void (*idle)(void) = atomic_load_explicit(&tt_process.idle, memory_order_acquire);
  if (idle) idle();
}

void *tt_scratch_take(size_t bytes) {
  return tt_process.scratch.take ? tt_process.scratch.take(bytes)
                                 : aligned_alloc(4096, tt_round_up(bytes, 4096));
}

void tt_scratch_give(void *memory) {
  (tt_process.scratch.give ? tt_process.scratch.give : free)(memory);
}

/* each unsent: order: seq_cst; rare */
typedef struct tt_unsent {
  struct tt_unsent *next;
  void *memory;
} tt_unsent;

void tt_unsent_keep(void *memory) {
  tt_unsent *u = malloc(sizeof *u);
  if (!u) return; /* the memory is never freed */
  *u = (tt_unsent){atomic_load(&tt_process.unsent), memory};
  while (!atomic_compare_exchange_weak(&tt_process.unsent, &u->next, u)) continue;
}

void tt_unsent_free(void) {
  for (tt_unsent *u = atomic_exchange(&tt_process.unsent, NULL), *next; u; u = next) {
    next = u->next;
    free(u->memory);
    free(u);
  }
}

/* Returns true if this rank need not report its settings because rank 0 does. All ranks of a job have the same
 * settings, so on a terminal only rank 0 reports them. */
static bool rank_0_says_it(void) {
  const char *rank = tt_env("TUTTI_RANK");
  return !tt_process.log.fn && !tt_env("TUTTI_LOG") && rank && strcmp(rank, "0") != 0;
}

bool tt_news(const char *name, const char *value) {
  if (!tt_log_heard(0) || rank_0_says_it()) return false;
  const uint64_t h = tt_mix_text(tt_mix_text(1, name), value);
  for (int i = 0; i < TT_WARNINGS; i++) {
    uint_fast64_t told = 0;
    if (atomic_compare_exchange_strong(&tt_process.warned[i], &told, h | 1)) return true;
    if (told == (h | 1)) return false;
  }
  return false;
}

long tt_env_int(const char *name, long lo, long hi, long otherwise) {
  const char *value = tt_env(name);
  if (!value) return otherwise;
  char *end;
  errno = 0;
  long n = strtol(value, &end, 10);
  if (errno == 0 && *end == 0 && n >= lo && n <= hi) return n;
  if (tt_news(name, value))
    tt_log(0, "%s='%s' is not a whole number from %ld to %ld; using %ld", name, value, lo, hi,
           otherwise);
  return otherwise;
}

uint64_t tt_first_number(void) {
  return (uint64_t)tt_env_int("TUTTI_FIRST_NUMBER", 0, LONG_MAX - 1, 0);
}

double tt_env_seconds(const char *name) {
  const char *value = tt_env(name);
  if (!value) return 0;
  char *end;
  const double s = strtod(value, &end);
  if (end != value && *end == 0 && s > 0 && s < 1e9) return s;
  if (tt_news(name, value))
    tt_log(0, "%s='%s' is not a positive number of seconds; it is as if it were not set", name,
           value);
  return 0;
}

int tt_env_word(const char *name, const char *const *words) {
  const char *value = tt_env(name);
  char list[100] = "";
  if (!value) return -1;
  for (int i = 0; words[i]; i++) {
    const size_t n = strlen(list);
    if (strcmp(value, words[i]) == 0) return i;
    snprintf(list + n, sizeof list - n, "%s%s", i ? " or " : "", words[i]);
  }
  if (tt_news(name, value))
    tt_log(0, "%s='%s' is not %s; it is as if it were not set", name, value, list);
  return -1;
}
