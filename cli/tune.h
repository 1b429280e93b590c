/* tune.h - the parts of `tutti tune`: measurements, and the model parameters computed from them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUNE_H
#define TUNE_H

#include "cpus.h"
#include "survey.h"

/* A machine counts as busy if fewer rounds count than TUNE_FEW, or if the rounds' quartiles are TUNE_WIDE apart. */
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

/* Shows the overall progress on stderr, if it is a terminal. `done` is between 0 and 1, and `what` is the current
 * measurement. */
void tune_progress(double done, const char *what);

/* ---- one process (tune_parts.c) ---- */

/* Measures arithmetic for each type, a copy, compression, process_vm_readv, and a wake-up. Adds the parameters gamma
 * and code. */
void tune_parts(tune_result *r);
/* Measures the seconds per byte of compressing and decompressing floats, for each kind of compression. If in_turn is
 * true, the time includes the time slices of other processes on the core. Returns false if out of memory. */
enum { TUNE_CODES = 3 };
bool tune_codes(bool in_turn, double seconds[TUNE_CODES]);
void tune_add_codes(tune_result *r, const double seconds[TUNE_CODES]);

/* ---- levels within this machine (tune_levels.c) ---- */

/* How to measure. line: seconds to move a cache line from one core to another; byte: seconds per byte that the second
 * core of each pair reads from the first, with all pairs active. Both return 0 if the measurement failed. */
enum { TUNE_PAIRS = 64 };
typedef struct tune_distance {
  double (*line)(int one, int other);
  double (*byte)(int pair[][2], int pairs);
} tune_distance;
extern const tune_distance tune_measured;
/* Finds pairs of cores in two neighbouring domains of a level; for CPUS_LEVELS, in the same innermost domain. Returns
 * their number, at most `most`. */
int tune_pairs(const cpu_list *list, int level, int pair[][2], int most);
/* Adds the parameters of each level that separates some of these cores, except the innermost. `r` must contain
 * shm.wake. */
void tune_levels(const cpu_list *list, const tune_distance *measure, tune_result *r);

/* ---- ranks that share memory (tune_ranks.c) ---- */

/* The time of a plan at one size, on `ranks` ranks, several of which may share a core. rounds: number of rounds in
 * its launch at one distance of the cores; far: that distance, in s, or 0 if unknown. spread: the distance of the
 * rounds' quartiles, relative to the median. */
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

/* Starts `ranks` ranks on the first `cores` cores that this process may use. They measure for `seconds` after their
 * start, at least one size, and add their points. Returns 0, or an exit status after an error message. */
int tune_launch(int ranks, int cores, double seconds, tune_points *points);
/* Keeps the points of one distance between the cores. Returns that distance, in s, or 0 if unknown. */
enum { TUNE_LAUNCHES = 16 };
double tune_far(tune_points *all);
/* Runs on the launched ranks, and writes the measured points to `file`. Returns 0 or an exit status. */
int tune_measure(double seconds, const char *file);

/* ---- parameters from points (tune_fit.c) ---- */

/* Fits parameters to the points with a core for each rank or, if `crowded`, to those where ranks share cores.
 * Searches for the parameters whose estimates are closest to the measured times, until `until` (cli_now). `r`
 * contains the parameters that are already known. */
void tune_fit(const tune_points *points, bool crowded, double until, tune_result *r);

/* ---- a network (tune_net.c) ---- */

/* Measures the parameters between ranks of a job that do not share memory. The result is on rank 0. */
tutti_status tune_network(tutti_comm *comm, tune_result *r);

/* Waits until all ranks have called it, and sleeps in between. */
tutti_status tune_sleep(tutti_comm *comm);

/* ---- hosts with different links (tune_hosts.c) ---- */

enum { TUNE_PARTNERS = 3, TUNE_HOSTS = 16 /* TUNE_HOSTS: limit for the hosts in a profile */ };
/* Measures the link of each host, and adds parameters for hosts whose links differ. Called after tune_network. The
 * result is on rank 0. */
tutti_status tune_hosts(tutti_comm *comm, tune_result *r);
/* Computes links from times (tune_differ.c), a value for each host. stream[h * partners + k - 1] is the time in s/B
 * at which host h receives from the k-th host before it, in cyclic order. message has the time in s of a message
 * between hosts h and h + k, in the same order; 0 if there is none. */
void tune_links(const double *stream, const double *message, int hosts, int partners, double *beta,
                double *seconds);
/* Adds parameters and notes for hosts that differ from the median by more than a fifth, and sets the parameters of
 * the level to those of the median. level is "", or the level whose domains are hosts. */
void tune_differing(const double *beta, const double *seconds, const tune_host *names, int hosts,
                    const char *level, tune_result *r);

/* Measures the parameters of the aggregator of these ranks, if they have one (tune_aggregator.c). Called after
 * tune_network. The result is on rank 0. */
tutti_status tune_aggregator(tutti_comm *comm, tune_result *r);

/* `tutti tune --wisdom` (tune_wisdom.c). argv includes that word. Returns an exit status. */
int tune_wisdom(int argc, char **argv);

/* ---- the profile (tune_file.c) ---- */

/* Formats a parameter's value for a profile. Bytes are whole numbers. */
void tune_number(double value, char text[24]);
/* Stores the path of the user's own profile. Returns false if the user has no home directory. */
bool tune_own_path(char *path, size_t size);
/* Checks that the profile can be written. Returns 0, or an exit status after an error message. */
int tune_ready(const char *path);
/* Replaces the profile completely or not at all. Parameters of this machine in the old file that were not measured
 * now are kept. "-" writes to stdout. Returns 0, or an exit status after an error message. */
int tune_write(const char *path, const tune_result *r);

#endif
