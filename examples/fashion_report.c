/* fashion_report.c - prints the progress, the result, and the time line.
 *
 * Idea      On a terminal, one line is rewritten; otherwise there is one line per epoch. Only rank
 *           0 prints, but the time line has the events of every rank, which rank 0 gathers. All
 *           ranks use the same clock.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fashion.h"
#include "tutti_plan.h"

static const char *const event_name[EVENT_KINDS] = {"prepare", "forward",  "backward", "update",
                                                    "wait",    "progress", "flight"};

/* Adds a line to the file given by --pace, at most five times a second unless the number of ranks has changed. */
static void write_pace(progress *p, const trainer *t, double clock) {
  const double passed = clock - p->paced;
  if (!p->pace || t->rank != 0 || (passed < 0.2 && t->ranks == p->paced_with)) return;
  FILE *file = fopen(p->pace, p->paced_with ? "a" : "w");
  if (!file) return;
  if (p->paced_with)
    fprintf(file, "%.3f %d %.1f\n", clock - p->begin, t->ranks,
            (double)(t->step - p->paced_at) / passed);
  fclose(file);
  p->paced = clock;
  p->paced_at = t->step;
  p->paced_with = t->ranks;
}

void progress_open(progress *p, int64_t steps, const char *pace) {
  memset(p, 0, sizeof *p);
  p->steps = steps;
  p->pace = pace;
  p->terminal = isatty(1) == 1;
  p->begin = p->shown = now();
}

void progress_step(progress *p, const trainer *t, double loss, bool epoch_ends) {
  double clock = now(), gone = clock - p->begin;
  p->loss += loss;
  p->counted++;
  write_pace(p, t, clock);
  if (t->rank != 0 || (!epoch_ends && (!p->terminal || clock - p->shown < 0.1))) return;
  int64_t in_epoch = (t->step - 1) % t->steps_per_epoch + 1,
          epochs = t->steps_in_all / t->steps_per_epoch;
  double pace = (double)t->step / gone;
  double seen = (double)in_epoch / (double)t->steps_per_epoch;
  printf("%s  epoch %2lld of %lld  %3.0f %%  loss %.4f  %6.0f pictures/s  %4.1f s left%s",
         p->terminal ? "\r" : "", (long long)((t->step - 1) / t->steps_per_epoch + 1),
         (long long)epochs, 100 * seen, p->loss / (double)p->counted,
         pace * (double)t->train->count / (double)t->steps_per_epoch,
         (double)(p->steps - t->step) / pace, p->terminal && !epoch_ends ? " " : "\n");
  fflush(stdout);
  p->shown = clock;
  if (epoch_ends) {
    p->loss = 0;
    p->counted = 0;
  }
}

void report_training(const progress *p, const trainer *t) {
  double gone = now() - p->begin;
  const spent *s = &t->exchange.spent;
  printf("trained %lld steps in %.1f s; rank 0 spent %.1f %% of it waiting for sums\n",
         (long long)t->step, gone, 100 * (s->wait + s->blocking) / gone);
}

bool report_test(int64_t table[CLASSES][CLASSES], double need) {
  int64_t right = 0, all = 0;
  printf("\ntest pictures by their class (rows) and by the network's answer (columns):\n%12s", "");
  for (int c = 0; c < CLASSES; c++) printf(" %5s", class_short[c]);
  for (int was = 0; was < CLASSES; was++) {
    printf("\n%12s", class_name[was]);
    for (int said = 0; said < CLASSES; said++) {
      int64_t n = table[was][said];
      if (n)
        printf(" %5lld", (long long)n);
      else
        printf(" %5s", ".");
      all += n;
      right += was == said ? n : 0;
    }
  }
  double accuracy = (double)right / (double)all;
  printf("\n\ntest accuracy %.4f (%lld of %lld right): %s, at least %.2f was asked for\n", accuracy,
         (long long)right, (long long)all, accuracy >= need ? "PASS" : "FAIL", need);
  return accuracy >= need;
}

/* ---- the time line ---- */

void trace_add(trace *t, event_kind kind, int layer, int piece, double begin, double end) {
  if (kind < WAIT) tutti_trace_mark(t->comm, event_name[kind], begin, end);
  if (!t->on || t->count == TRACE_ROOM) return;
  t->events[t->count++] = (event){kind, layer, piece, begin, end};
}

static void write_events(FILE *file, const event *events, int ranks) {
  double zero = events[0].begin;
  for (int i = 0; i < ranks * TRACE_ROOM; i++)
    if (events[i].end > 0 && events[i].begin < zero) zero = events[i].begin;
  fprintf(file, "# rank kind layer piece begin_ms end_ms\n");
  for (int i = 0; i < ranks * TRACE_ROOM; i++) {
    const event *e = &events[i];
    if (e->end <= 0) continue; /* not used */
    fprintf(file, "%d %s %d %d %.4f %.4f\n", i / TRACE_ROOM, event_name[(int)e->kind],
            (int)e->layer + 1, (int)e->piece, (e->begin - zero) * 1e3, (e->end - zero) * 1e3);
  }
}

void trace_write(tutti_comm *comm, const trace *t, const char *path) {
  int ranks = tutti_comm_size(comm);
  size_t each = TRACE_ROOM * (sizeof(event) / sizeof(double));
  event *all = room((size_t)ranks * TRACE_ROOM, sizeof *all);
  must(tutti_allgather(comm, t->events, all, each, TUTTI_DOUBLE), "gathering the time line");
  if (tutti_comm_rank(comm) == 0) {
    FILE *file = fopen(path, "w");
    if (!file) {
      fprintf(stderr, "fashion: %s: %s\n", path, strerror(errno));
      exit(1);
    }
    write_events(file, all, ranks);
    fclose(file);
  }
  free(all);
}
