/* tune.h - the parts of `tutti tune`: measurements, and the figures computed from them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUNE_H
#define TUNE_H

#include "cpus.h"
#include "survey.h"

/* A machine is busy if fewer rounds count than this, or if the rounds' quartiles are this far
 * apart. */
enum { TUNE_FEW = 3 };
#define TUNE_WIDE 0.5
#define TUNE_NOISY ": NOISY, tune it again when nothing else runs, or for longer (--seconds)"

/* A figure as a profile writes it. */
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
  char network[80];           /* the network of the figures; empty: none was measured */
  char note[TUNE_NOTES][200]; /* other measurements, and how well the figures fit */
  int notes;
  double message;  /* s: one between the outermost domains; 0: none was measured */
  tune_host *host; /* whose links were compared: on rank 0, to be freed */
  int hosts;
} tune_result;
void tune_add(tune_result *r, const char *name, double value, const char *meaning, ...)
    __attribute__((format(printf, 4, 5)));
void tune_note(tune_result *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The progress of the whole, on stderr if it is a terminal: `done` of 1; the current measurement. */
void tune_progress(double done, const char *what);

/* ---- one process (tune_parts.c) ---- */

/* Measures arithmetic per type, a copy, codes, process_vm_readv, a wake-up. Adds the figures gamma and
 * code. */
void tune_parts(tune_result *r);
/* The seconds to compress a byte of floats and to decompress it, with each kind of compression. in_turn: the time
 * includes the time slices of other processes on the core. false: out of memory. */
enum { TUNE_CODES = 3 };
bool tune_codes(bool in_turn, double seconds[TUNE_CODES]);
void tune_add_codes(tune_result *r, const double seconds[TUNE_CODES]);

/* ---- levels within this machine (tune_levels.c) ---- */

/* How to measure: seconds to move a cache line from one core to another; and seconds per byte that the
 * second core of each pair reads from the first, with all pairs active. 0: it failed. */
enum { TUNE_PAIRS = 64 };
typedef struct tune_distance {
  double (*line)(int one, int other);
  double (*byte)(int pair[][2], int pairs);
} tune_distance;
extern const tune_distance tune_measured;
/* Pairs of cores that part at a level, from two neighbouring domains of it; CPUS_LEVELS: of one
 * innermost domain. Returns how many, at most `most`. */
int tune_pairs(const cpu_list *list, int level, int pair[][2], int most);
/* Adds the figures of each level at which some of these cores part, except the nearest. `r` has
 * shm.wake. */
void tune_levels(const cpu_list *list, const tune_distance *measure, tune_result *r);

/* ---- ranks that share memory (tune_ranks.c) ---- */

/* A plan at one size, on `ranks` ranks, of which several may share a core; the number of rounds of
 * its launch at one distance of the cores (s; 0: not known). `spread`: the distance of the rounds'
 * quartiles, relative to the median. */
typedef struct tune_point {
  int launch, ranks, rounds;
  double crowd, far;
  size_t bytes;
  const char *plan; /* kept */
  double seconds, spread;
} tune_point;

typedef struct tune_points {
  tune_point *at;
  int n;
} tune_points;

/* Start `ranks` ranks on the first `cores` cores that this process may use. They measure for
 * `seconds` from their begin, at least one size, and add their points. 0, or an exit status after a
 * complaint. */
int tune_launch(int ranks, int cores, double seconds, tune_points *points);
/* Keep the points of one distance between the cores, which is returned; s, 0: not known. */
enum { TUNE_LAUNCHES = 16 };
double tune_far(tune_points *all);
/* Runs on those ranks. Returns 0 or an exit status. Writes the measured points to `file`. */
int tune_measure(double seconds, const char *file);

/* ---- figures from points (tune_fit.c) ---- */

/* Fit figures to the points with a core for each rank, or to those where ranks share cores: the
 * figures with which prices are nearest to measured times, as far as found until `end` (cli_now).
 * `r` has the figures that are known already. */
void tune_fit(const tune_points *points, bool crowded, double until, tune_result *r);

/* ---- a network (tune_net.c) ---- */

/* Measure the figures between the ranks of a job that do not share memory; result on rank 0. */
tutti_status tune_network(tutti_comm *comm, tune_result *r);

/* Waits, asleep, until all ranks are here. */
tutti_status tune_sleep(tutti_comm *comm);

/* ---- hosts whose links differ (tune_hosts.c) ---- */

enum { TUNE_PARTNERS = 3, TUNE_HOSTS = 16 /* in a profile */ };
/* Measures the link of each host, and adds the figures of those that differ; after tune_network. Result on rank 0. */
tutti_status tune_hosts(tutti_comm *comm, tune_result *r);
/* From times to links (tune_differ.c). stream: s/B that host h receives from the k-th host before it, in a circle,
 * [h * partners + k - 1]; message: s of one between hosts h and h + k, likewise; 0: none. Fills in a number for
 * each host. */
void tune_links(const double *stream, const double *message, int hosts, int partners, double *beta,
                double *seconds);
/* Adds figures and notes of the hosts that differ from the median by more than a fifth, and sets those of the level to
 * the median. level: "", or the level whose domains are hosts. */
void tune_differing(const double *beta, const double *seconds, const tune_host *names, int hosts,
                    const char *level, tune_result *r);

/* The figures of the aggregator of these ranks, if they have one (tune_aggregator.c); after tune_network. Result
 * on rank 0. */
tutti_status tune_aggregator(tutti_comm *comm, tune_result *r);

/* `tutti tune --wisdom` (tune_wisdom.c): an exit status. argv has that word. */
int tune_wisdom(int argc, char **argv);

/* ---- the profile (tune_file.c) ---- */

/* A figure's value as text for a profile: bytes are whole numbers. */
void tune_number(double value, char text[24]);
/* The path of the user's own profile; false: the user has no home directory. */
bool tune_own_path(char *path, size_t size);
/* Can it be written there? 0, or an exit status after a complaint. */
int tune_ready(const char *path);
/* Writes the profile completely or not at all. Parameters of this machine in the old file that were not
 * measured now are kept. "-": to stdout. 0, or an exit status after a complaint. */
int tune_write(const char *path, const tune_result *r);

#endif
