/* long_wait.c - long waits for other processes, shown by the log and `tutti doctor` (long_wait.h).
 *
 * Invariant  A note belongs to the wait that set its bit. `since` is 0 while the words change, so a reader that finds
 *            the same `since` before and after reading has consistent words. A forked child makes a separate file.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "long_wait.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process.h"

static const double SHOWN_S = 0.1, AGAIN_S = 1; /* before the first note; between updates */

/* each since, taken, waits: order: shown to people, and looked at twice */

/* Returns the file with the waits of this process. Returns NULL if it cannot be created, or if another thread is creating it. */
static tt_wait_notes *notes_here(void) {
  tt_wait_notes *notes = atomic_load(&tt_process.waits);
  if (notes && notes->pid == (uint64_t)getpid()) return notes;
  const int fd = memfd_create(TT_WAITS_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  void *at = MAP_FAILED;
  if (fd >= 0 && !ftruncate(fd, sizeof *notes))
    at = mmap(NULL, sizeof *notes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) {
    if (fd >= 0) close(fd);
    return NULL;
  }
  tt_wait_notes *mine = at;
  mine->magic = TT_WAITS_MAGIC;
  mine->pid = (uint64_t)getpid();
  mine->fd = fd;
  if (atomic_compare_exchange_strong(&tt_process.waits, &notes, mine)) return mine;
  munmap(at, sizeof *mine); /* another thread made one first */
  close(fd);
  return notes;
}

static tt_wait_note *take_note(void) {
  tt_wait_notes *notes = notes_here();
  for (int i = 0; notes && i < TT_WAIT_NOTES; i++)
    if (!(atomic_fetch_or(&notes->taken, 1u << i) & 1u << i)) return &notes->note[i];
  return NULL;
}

static void write_note(tt_long_wait *w, const char *words) {
  if (!w->note) w->note = take_note();
  if (!w->note) return;
  atomic_store(&w->note->since, 0);
  snprintf(w->note->words, sizeof w->note->words, "%s waits for %s", w->call, words);
  atomic_store(&w->note->since, (uint64_t)(1e6 * w->since));
}

tt_long_wait tt_long_wait_begin(const char *call) {
  return (tt_long_wait){.call = call, .since = tt_seconds()};
}

double tt_long_wait_due(const tt_long_wait *w) {
  const double next = w->announced <= 0 ? w->since + SHOWN_S : w->announced + AGAIN_S;
  const double warns = w->since + TT_WARN_S, due = w->warned || next < warns ? next : warns;
  const double left = due - tt_seconds();
  return left > 0 ? left : 0;
}

void tt_long_wait_for(tt_long_wait *w, const char *whom, ...) {
  if (tt_long_wait_due(w) > 0) return;
  char words[TT_WAIT_WORDS];
  va_list args;
  va_start(args, whom);
  vsnprintf(words, sizeof words, whom, args);
  va_end(args);
  w->announced = tt_seconds();
  write_note(w, words);
  const double waited = w->announced - w->since;
  if (w->warned || waited < TT_WARN_S) return;
  w->warned = true;
  tt_log(0, "%s has waited %.0f s for %s", w->call, waited, words);
}

void tt_long_wait_show(tt_long_wait *w, const char *whom, ...) {
  char words[TT_WAIT_WORDS];
  va_list args;
  va_start(args, whom);
  vsnprintf(words, sizeof words, whom, args);
  va_end(args);
  write_note(w, words);
}

void tt_long_wait_end(tt_long_wait *w) {
  tt_wait_notes *notes = atomic_load(&tt_process.waits);
  if (w->note && notes && notes->pid == (uint64_t)getpid()) {
    atomic_store(&w->note->since, 0);
    atomic_fetch_and(&notes->taken, ~(1u << (w->note - notes->note)));
  }
  w->note = NULL;
}

void tt_long_waits_close(void) {
  tt_wait_notes *notes = atomic_exchange(&tt_process.waits, NULL);
  if (!notes) return;
  close((int)notes->fd);
  munmap(notes, sizeof *notes);
}
