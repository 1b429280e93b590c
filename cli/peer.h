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

/* An installed library, or the reason why it cannot be compared. */
typedef struct peer_place {
  const char *name;                           /* as in --compare */
  peer_kind kind;                             /* if PEER_NONE, `why` contains the reason */
  char launcher[PATH_MAX], library[PATH_MAX]; /* library: for PEER_TORCH, the Python */
  int gpus;                                   /* for nccl: the number of GPUs */
  char why[600];
} peer_place;

/* The two sides of a comparison, and the states of the cores in a round. */
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

/* The shared memory. It consists of this struct, a peer_lines per rank, and a peer_row per size. */
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

/* Parses a list such as "openmpi,mpich=/opt/mpich" into `places` and *n. Returns 0, or an exit status after an error
 * message. */
int peer_list(const char *text, peer_place places[PEERS], int *n);
/* Stores a title such as "Open MPI 4.1.4", which is taken from the text that the library prints, or otherwise the
 * library's name. */
void peer_title(const peer_memory *m, char title[32]);
/* Stores, in one line, the variables that change this library's behavior: those in the environment, and those that
 * --compare sets because the environment does not. The line may be empty. */
void peer_settings(const peer_memory *m, char text[400]);
/* Returns the i-th variable that --compare sets, and stores its value in *value. Returns NULL after the last one. */
const char *peer_preset(const peer_memory *m, int i, const char **value);

/* ---- starting the ranks and waiting for them (peer_start.c) ---- */

/* Measures one library. Returns NULL on failure, with a sentence in place->why. Free the result with peer_free. */
peer_memory *peer_measure(const bench_options *o, peer_place *place, int done, int all);
void peer_free(peer_memory *m);

/* ---- in the ranks ---- */

extern const cli_command cmd_bench_peer;
/* Ends this rank, and thereby the job. */
_Noreturn void peer_fail(peer_memory *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Synchronization (peer_sync.c). peer_slowest returns the maximum over all ranks, and peer_line the round-trip time
 * of a cache line between ranks 0 and 1. peer_gather is a tutti_gather_fn whose ctx is the peer_sync. */
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

/* How a rank uses the other library. `time` returns the seconds per call of n calls, or, if `with` is false, of the
 * same loop without the call. `check` returns the number of wrong elements on this rank after one call. */
typedef struct peer_other {
  void *ctx;
  tutti_status (*call)(const bench_job *job, const bench_call *call); /* for an MPI; or NULL */
  void (*size)(peer_sync *s, size_t bytes); /* for the others: begins a size */
  double (*time)(peer_sync *s, long n, bool cycle, bool with);
  void (*close)(void);
} peer_other;
/* Opens an MPI (peer_mpi.c), and sets this process's rank and the number of ranks. */
peer_other peer_mpi_open(peer_memory *m, int *rank, int *ranks);
/* Returns true if the result overwrites the input. Calls that concatenate or split vectors have two buffers, because
 * MPI and tutti place a rank's own block differently. A broadcast has one buffer in MPI. */
bool peer_in_place(const bench_options *o);
/* Returns NULL if an MPI provides this call, otherwise the reason why it does not. */
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
/* Returns true if the quartiles of the ratio are so far apart that other programs must have disturbed the rounds. */
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
