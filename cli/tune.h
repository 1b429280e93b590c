/* tune.h - the parts of `tutti tune`: measurements, and the model parameters computed from them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUNE_H
#define TUNE_H

#include "cpus.h"
#include "survey.h"

/* A machine counts as busy if fewer than TUNE_FEW rounds count, or their relative interquartile range is above TUNE_WIDE. */
enum { TUNE_FEW = 3 };
#define TUNE_WIDE 0.5
#define TUNE_NOISY ": NOISY, tune it again when nothing else runs, or for longer (--seconds)"

/* A model parameter, as in a profile. */
typedef struct tune_figure {
  char name[64];
  double value;
  char meaning[96]; /* its comment, with the unit */
} tune_figure;

/* The name of a host, without its domain. */
enum { TUNE_HOST = 48 };
typedef struct tune_host {
  char name[TUNE_HOST];
} tune_host;

enum { TUNE_FIGURES = 96, TUNE_NOTES = 40 };
typedef struct tune_result {
  tune_figure figure[TUNE_FIGURES];
  int figures;
  char network[80];           /* the network of the parameters; empty if none was measured */
  char note[TUNE_NOTES][200]; /* other measurements, and how well the parameters fit */
  int notes;
  double message;  /* in s, of a message between the outermost domains; 0 if none was measured */
  tune_host *host; /* the hosts whose links were compared; on rank 0 only, to be freed */
  int hosts;
} tune_result;
void tune_add(tune_result *r, const char *name, double value, const char *meaning, ...)
    __attribute__((format(printf, 4, 5)));
void tune_note(tune_result *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* If stderr is a terminal, shows there how much of the work is done. `done` is between 0 and 1. `what` names the
 * current measurement. */
void tune_progress(double done, const char *what);

/* ---- one process (tune_parts.c) ---- */

/* Measures the speed of arithmetic on each type, of a copy, of compression, of process_vm_readv, and of a wake-up.
 * Adds the parameters gamma and code, among others. */
void tune_parts(tune_result *r);
/* Measures the seconds per byte for compressing and decompressing floats, with each kind of compression. If in_turn
 * is true, the result includes the time during which other processes used the core. Returns false if out of memory. */
enum { TUNE_CODES = 3 };
bool tune_codes(bool in_turn, double seconds[TUNE_CODES]);
void tune_add_codes(tune_result *r, const double seconds[TUNE_CODES]);

/* ---- levels within this machine (tune_levels.c) ---- */

/* The functions that measure. `line` returns the time in seconds to move a cache line from one core to the other.
 * `byte` returns the seconds per byte when the second core of each pair reads data of the first core, while all
 * pairs do so. Both return 0 if the measurement failed. */
enum { TUNE_PAIRS = 64 };
typedef struct tune_distance {
  double (*line)(int one, int other);
  double (*byte)(int pair[][2], int pairs);
} tune_distance;
extern const tune_distance tune_measured;
/* Finds pairs of cores whose two cores are in neighbouring domains of a level, or in the same innermost domain if
 * level is CPUS_LEVELS. Returns the number of pairs, at most `most`. */
int tune_pairs(const cpu_list *list, int level, int pair[][2], int most);
/* Adds the parameters of each level that separates some of these cores, except for the innermost level. `r` must
 * already contain shm.wake. */
void tune_levels(const cpu_list *list, const tune_distance *measure, tune_result *r);

/* ---- ranks that share memory (tune_ranks.c) ---- */

/* The measured time of a plan for one message size on `ranks` ranks, several of which may share a core. `far` is the
 * distance between the cores in seconds, or 0 if unknown, and `rounds` the number of rounds that its launch measured
 * at this distance. `spread` is the interquartile range of the rounds, relative to the median. */
typedef struct tune_point {
  int launch, ranks, rounds;
  double crowd, far;
  size_t bytes;
  const char *plan; /* not freed */
  double seconds, spread;
} tune_point;

typedef struct tune_points {
  tune_point *at;
  int n;
} tune_points;

/* Starts `ranks` ranks on the first `cores` cores on which this process may run. The ranks measure for `seconds`
 * after their start, at least one message size, and add the measured points to *points. Returns 0, or an exit status
 * after an error message. */
int tune_launch(int ranks, int cores, double seconds, tune_points *points);
/* Keeps only points that were measured at one distance between the cores. Returns that distance in seconds, or 0 if unknown. */
enum { TUNE_LAUNCHES = 16 };
double tune_far(tune_points *all);
/* Runs on each rank that tune_launch started, and writes the measured points to `file`. Returns 0 or an exit status. */
int tune_measure(double seconds, const char *file);

/* ---- parameters from points (tune_fit.c) ---- */

/* Searches until the time `until` (see cli_now) for the parameters whose estimates are closest to the measured
 * times. If `crowded` is true, uses the points for which ranks share cores, otherwise those with a core for each
 * rank. `r` contains the parameters that are already known. */
void tune_fit(const tune_points *points, bool crowded, double until, tune_result *r);

/* ---- a network (tune_net.c) ---- */

/* Measures the model parameters for ranks of a job that do not share memory. Rank 0 gets the result. */
tutti_status tune_network(tutti_comm *comm, tune_result *r);

/* A barrier. Ranks sleep in it until all other ranks have arrived. */
tutti_status tune_sleep(tutti_comm *comm);

/* ---- hosts with different links (tune_hosts.c) ---- */

enum { TUNE_PARTNERS = 3, TUNE_HOSTS = 16 /* TUNE_HOSTS: limit for the hosts in a profile */ };
/* Measures the link of each host, and adds parameters for hosts with different links. Must be called after
 * tune_network. Rank 0 gets the result. */
tutti_status tune_hosts(tutti_comm *comm, tune_result *r);
/* Computes the parameters of each host's link from measured times (tune_differ.c). stream[h * partners + k - 1] is
 * the time in s/B at which host h receives from the k-th host before it, in cyclic order. In the same order,
 * `message` has the time in s of a message between hosts h and h + k, or 0 if it was not measured. */
void tune_links(const double *stream, const double *message, int hosts, int partners, double *beta,
                double *seconds);
/* Sets the parameters of the level to those of the median host. Adds parameters and notes for hosts that differ from
 * the median by more than a fifth. level is "", or the name of the level whose domains are hosts. */
void tune_differing(const double *beta, const double *seconds, const tune_host *names, int hosts,
                    const char *level, tune_result *r);

/* If these ranks have an aggregator, measures its parameters (tune_aggregator.c). Must be called after tune_network.
 * Rank 0 gets the result. */
tutti_status tune_aggregator(tutti_comm *comm, tune_result *r);

/* `tutti tune --wisdom` (tune_wisdom.c). argv includes that word. Returns an exit status. */
int tune_wisdom(int argc, char **argv);

/* ---- the profile (tune_file.c) ---- */

/* Formats the value of a parameter as in a profile. A number of bytes is written as a whole number. */
void tune_number(double value, char text[24]);
/* Stores the path of the user's own profile. Returns false if the user does not have a home directory. */
bool tune_own_path(char *path, size_t size);
/* Checks that the profile can be written to its file. Returns 0, or an exit status after an error message. */
int tune_ready(const char *path);
/* Replaces the file with the new profile. After a failure, the file is unchanged. The new profile keeps those
 * parameters in the old file that belong to this machine and were not measured now. "-" writes to stdout. Returns 0,
 * or an exit status after an error message. */
int tune_write(const char *path, const tune_result *r);

#endif
