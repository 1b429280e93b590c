/* peer.h - the parts of `tutti bench --compare`: other libraries, timed alternately with tutti.
 *
 * Idea      The command creates shared memory (a memfd, so that nothing is left behind) and starts the
 *           ranks under the launcher of the other library: `tutti bench-peer MEMORY`. The ranks load
 *           that library with dlopen, create a communicator of tutti in the same processes, time both
 *           alternately, and write the times into the shared memory. One program works with every MPI.
 *           The synchronization between the time slices uses neither of the two libraries.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PEER_H
#define PEER_H

#include <limits.h>
#include <stdatomic.h>

#include "bench.h"

enum {
  PEERS = 8,         /* limit for one command */
  PEER_RANKS = 1024, /* limit for the number of ranks */
  PEER_ROUNDS = 64,  /* limit for the rounds of a size */
  PEER_BOX = 4096    /* bytes per rank in one step of peer_gather */
};

typedef enum peer_kind { PEER_OMPI, PEER_MPICH, PEER_TORCH, PEER_NONE } peer_kind;

/* A library that was found for a comparison, or the reason why it cannot be compared. */
typedef struct peer_place {
  const char *name;                           /* as in --compare */
  peer_kind kind;                             /* if PEER_NONE, `why` contains the reason */
  char launcher[PATH_MAX], library[PATH_MAX]; /* library: for PEER_TORCH, the Python */
  int gpus;                                   /* for nccl: the number of GPUs */
  char why[600];
} peer_place;

/* The two sides of a comparison, and the possible positions of the ranks' cores during a round. */
enum { PEER_TUTTI, PEER_OTHER, PEER_SIDES };
typedef enum peer_state { PEER_NEAR, PEER_FAR, PEER_SHARED, PEER_STATES, PEER_MOVED } peer_state;

typedef struct peer_row {
  size_t bytes, count;
  int rounds;
  long calls[PEER_SIDES]; /* number of calls in a time slice */
  int64_t wrong; /* wrong elements of the other library's result, or -1 if not checked */
  double seconds[PEER_SIDES][PEER_ROUNDS]; /* on the slowest rank */
  double line[2][PEER_ROUNDS];             /* round trip of a cache line, before and after; in s */
  char plan[200];
} peer_row;

/* A rank's part of the shared memory. */
typedef struct peer_lines {
  _Alignas(128) atomic_long met;
  _Alignas(128) atomic_long ping;
  double seconds;
  char box[PEER_BOX];
} peer_lines;

/* The memory shared by all processes of a comparison: this struct, a peer_lines per rank, and a peer_row per size. */
typedef struct peer_memory {
  bench_options o; /* its strings are not valid in the ranks */
  char algo[400];
  peer_kind kind;
  char name[16], library[PATH_MAX], meeting[PATH_MAX]; /* meeting: a file for PyTorch's ranks */
  int ranks, cores;
  size_t sizes;
  /* written by the ranks */
  char version[256]; /* version of the other library */
  int bound;         /* cores that rank 0 may use */
  atomic_int failed; /* set before `failure` is written */
  char failure[600];
  atomic_int rows;  /* number of complete rows */
  atomic_int alive; /* changes while the ranks make progress */
  peer_lines lines[];
} peer_memory;

size_t peer_bytes(int ranks, size_t sizes);
peer_row *peer_rows(peer_memory *m);

/* ---- finding installed libraries (peer_find.c) ---- */

/* Parses a list of libraries such as "openmpi,mpich=/opt/mpich" into `places`, and sets *n to their number. Returns
 * 0, or an exit status after an error message. */
int peer_list(const char *text, peer_place places[PEERS], int *n);
/* Stores the title of a library, such as "Open MPI 4.1.4". The title comes from the version text that the library
 * prints. If that text does not contain a title, the library's name is stored. */
void peer_title(const peer_memory *m, char title[32]);
/* Stores one line with the environment variables that change the behavior of this library. These are the variables
 * set by the user, and those that --compare sets if the user has not. The line may be empty. */
void peer_settings(const peer_memory *m, char text[400]);
/* Returns the i-th variable that --compare sets for this library, and sets *value. Returns NULL after the last variable. */
const char *peer_preset(const peer_memory *m, int i, const char **value);

/* ---- starting the ranks and waiting for them (peer_start.c) ---- */

/* Measures tutti and one other library. Returns NULL on failure, with the reason in place->why. Free with peer_free. */
peer_memory *peer_measure(const bench_options *o, peer_place *place, int done, int all);
void peer_free(peer_memory *m);

/* ---- in the ranks ---- */

extern const cli_command cmd_bench_peer;
/* Ends this rank, and thereby the job. */
_Noreturn void peer_fail(peer_memory *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Synchronization of the ranks (peer_sync.c). peer_slowest returns the maximum of a time over all ranks. peer_line returns the
 * round-trip time of a cache line between ranks 0 and 1. peer_gather is a tutti_gather_fn whose ctx is the peer_sync. */
typedef struct peer_sync {
  peer_memory *m;
  int rank;
  long met;
  bool crowded; /* ranks share cores */
} peer_sync;
void peer_meet(peer_sync *s);
double peer_slowest(peer_sync *s, double seconds);
double peer_line(peer_sync *s);
int peer_gather(void *sync, const void *mine, size_t bytes, void *all);

/* The functions through which a rank uses the other library. `time` makes n calls and returns the seconds per call.
 * If `with` is false, it measures the same loop without the calls. `check` makes one call and returns the number of
 * wrong elements on this rank. */
typedef struct peer_other {
  void *ctx;
  tutti_status (*call)(const bench_job *job, const bench_call *call); /* for an MPI; or NULL */
  void (*size)(peer_sync *s, size_t bytes); /* for the others: begins a size */
  double (*time)(peer_sync *s, long n, bool cycle, bool with);
  void (*close)(void);
} peer_other;
/* Loads an MPI library and initializes it (peer_mpi.c). Sets this process's rank and the number of ranks. */
peer_other peer_mpi_open(peer_memory *m, int *rank, int *ranks);
/* Returns true if a collective is compared in place. Collectives that concatenate or split vectors use two buffers,
 * because MPI and tutti put a rank's own block at different places. A broadcast uses one buffer, as in MPI. */
bool peer_in_place(const bench_options *o);
/* Returns NULL if MPI provides the selected collective, type and op, otherwise the reason why it does not. */
const char *peer_mpi_lacks(const bench_options *o);
/* Runs PyTorch in a separate process (peer_torch.c). */
peer_other peer_torch_open(peer_memory *m, int rank);
const char *peer_torch_lacks(const bench_options *o);

/* ---- results (peer_show.c, peer_files.c) ---- */

typedef struct peer_cell { /* the result of a row in one state of the cores */
  int rounds;
  double seconds, tutti, ratio, least,
      most; /* ratio: time relative to tutti's; least and most: its quartiles */
} peer_cell;
/* Returns true if the quartiles of the time ratio are so far apart that other programs must have disturbed the measurement. */
bool peer_noisy(const peer_cell *c);
peer_state peer_state_of(const peer_memory *m, const peer_row *row, int round);
peer_cell peer_cell_of(const peer_memory *m, const peer_row *row, peer_state state);
/* The states in words, such as "near cores". */
extern const char *const peer_state_text[PEER_STATES];
bool peer_has_state(peer_memory *const *all, int n, peer_state state);
/* Returns tutti's time over all launches, or 0 if unknown. */
double peer_tutti(peer_memory *const *all, int n, size_t row, peer_state state);

void peer_show(const bench_options *o, peer_memory *const *all, int n);
int peer_results(const bench_options *o, peer_memory *const *all, int n);
int peer_plot(const bench_options *o, peer_memory *const *all, int n);

#endif
