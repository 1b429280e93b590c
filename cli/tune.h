/* tune.h - the parts of `tutti tune`: what is measured, and the figures that come of it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUNE_H
#define TUNE_H

#include "survey.h"

/* A machine is busy where the middle half of so few rounds, or of rounds so wide apart, is what it is. */
enum { TUNE_FEW = 3 };
#define TUNE_WIDE 0.5
#define TUNE_NOISY ": NOISY, tune it again when nothing else runs, or for longer (--seconds)"

/* A figure as a profile writes it. */
typedef struct tune_figure {
  char name[40];
  double value;
  char meaning[96]; /* its comment, with the unit */
} tune_figure;

enum { TUNE_FIGURES = 96, TUNE_NOTES = 24 };
typedef struct tune_result {
  tune_figure figure[TUNE_FIGURES];
  int figures;
  char network[80];           /* that they are of; empty: none was measured */
  char note[TUNE_NOTES][200]; /* what was measured besides, and how well all this fits */
  int notes;
} tune_result;
void tune_add(tune_result *r, const char *name, double value, const char *meaning, ...)
    __attribute__((format(printf, 4, 5)));
void tune_note(tune_result *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* How far the whole is, on stderr where that is a terminal: `done` of 1; what is measured now. */
void tune_progress(double done, const char *what);

/* ---- one process (tune_parts.c) ---- */

/* Arithmetic per type, a copy, process_vm_readv, a sleeper woken. The figures gamma. */
void tune_parts(tune_result *r);

/* ---- ranks that share memory (tune_ranks.c) ---- */

/* A plan at one size, on so many ranks, so many of which share a core; and so many rounds of its
 * launch, in which the cores were so far from each other (s; 0: not known). `spread`: the middle half
 * of the rounds, as a part of the median. */
typedef struct tune_point {
  int launch, ranks, rounds;
  double crowd, far;
  size_t bytes;
  char plan[128];
  double seconds, spread;
} tune_point;

typedef struct tune_points {
  tune_point *at;
  int n;
} tune_points;

/* Start `ranks` ranks on the first `cores` cores that this process may use, which measure for so
 * many seconds from when they begin, one size at least, and add what they found. 0, or an exit status after a complaint. */
int tune_launch(int ranks, int cores, double seconds, tune_points *points);
/* Of all points those of one distance between the cores, which is returned; s, 0: not known. */
enum { TUNE_LAUNCHES = 16 };
double tune_far(tune_points *all);
/* What those ranks do: 0 or an exit status. Points go to `file`. */
int tune_measure(double seconds, const char *file);

/* ---- figures from points (tune_fit.c) ---- */

/* Those with a core for each rank, or those where they share them: the figures with which the
 * prices are nearest to what was measured, as far as they are found until then (cli_now). `r` has
 * those that hold already. */
void tune_fit(const tune_points *points, bool crowded, double until, tune_result *r);

/* ---- a network (tune_net.c) ---- */

/* The figures of what is between the ranks of a job that do not share memory; on rank 0. */
tutti_status tune_network(tutti_comm *comm, tune_result *r);

/* ---- the profile (tune_file.c) ---- */

/* A figure's value as a profile has it: bytes are whole numbers. */
void tune_number(double value, char text[24]);
/* The user's own; false: there is no home. */
bool tune_own_path(char *path, size_t size);
/* Can it be written there? 0, or an exit status after a complaint. */
int tune_ready(const char *path);
/* Writes it at once or not at all, and keeps figures of this machine that are there and were
 * not measured now. "-": to stdout. 0, or an exit status after a complaint. */
int tune_write(const char *path, const tune_result *r);

#endif
