/* peer.h - the parts of `tutti bench --compare`: other libraries, timed alternately with tutti.
 *
 * Idea      The command creates shared memory (a memfd, so that nothing is left behind) and starts the
 *           ranks under the launcher of the other library: `tutti bench-peer MEMORY`. These ranks load
 *           that library with dlopen, make a communicator of tutti in the same processes, time both
 *           alternately, and write the times into the memory. One program fits every MPI, and the
 *           synchronization between the time slices uses neither of the two libraries.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PEER_H
#define PEER_H

#include <limits.h>
#include <stdatomic.h>

#include "bench.h"

enum {
  PEERS = 8,         /* in one command */
  PEER_RANKS = 1024, /* at most */
  PEER_ROUNDS = 64,  /* of a size, at most */
  PEER_BOX = 4096    /* bytes of a rank in one step of peer_gather */
};

typedef enum peer_kind { PEER_OMPI, PEER_MPICH, PEER_TORCH, PEER_NONE } peer_kind;

/* An installed library, or the reason why it cannot be compared. */
typedef struct peer_place {
  const char *name;                           /* as in --compare */
  peer_kind kind;                             /* PEER_NONE: `why` says the reason */
  char launcher[PATH_MAX], library[PATH_MAX]; /* library: PEER_TORCH: the Python */
  int gpus;                                   /* of nccl */
  char why[600];
} peer_place;

/* The two sides, and the states of the cores in a round. */
enum { PEER_TUTTI, PEER_OTHER, PEER_SIDES };
typedef enum peer_state { PEER_NEAR, PEER_FAR, PEER_SHARED, PEER_STATES, PEER_MOVED } peer_state;

typedef struct peer_row {
  size_t bytes, count;
  int rounds;
  long calls[PEER_SIDES];                  /* in a time slice */
  int64_t wrong;                           /* elements, of the other library; -1: not checked */
  double seconds[PEER_SIDES][PEER_ROUNDS]; /* of the slowest rank */
  double line[2][PEER_ROUNDS];             /* a cache line there and back, before and after; s */
  char plan[200];
} peer_row;

/* A rank's part of the shared memory. */
typedef struct peer_lines {
  _Alignas(128) atomic_long met;
  _Alignas(128) atomic_long ping;
  double seconds;
  char box[PEER_BOX];
} peer_lines;

/* The shared memory: this, a peer_lines per rank, and a peer_row per size. */
typedef struct peer_memory {
  bench_options o; /* its texts are not valid in the ranks */
  char algo[400];
  peer_kind kind;
  char name[16], library[PATH_MAX], meeting[PATH_MAX]; /* meeting: a file for PyTorch's ranks */
  int ranks, cores;
  size_t sizes;
  /* written by the ranks */
  char version[256]; /* of the other library */
  int bound;         /* cores that rank 0 may use */
  atomic_int failed; /* `failure` is being written */
  char failure[600];
  atomic_int rows;  /* that are complete */
  atomic_int alive; /* changes while they work */
  peer_lines lines[];
} peer_memory;

size_t peer_bytes(int ranks, size_t sizes);
peer_row *peer_rows(peer_memory *m);

/* ---- which are installed (peer_find.c) ---- */

/* Reads "openmpi,mpich=/opt/mpich"; fills `places`, and *n. 0, or an exit status after a complaint. */
int peer_list(const char *text, peer_place places[PEERS], int *n);
/* "Open MPI 4.1.4", from the text that the library prints; or its name. */
void peer_title(const peer_memory *m, char title[32]);
/* The variables that change this library's behavior, in one line: those of the environment, and those that --compare
 * sets where the environment does not. "": it sets nothing. */
void peer_settings(const peer_memory *m, char text[400]);
/* The i-th variable that --compare sets, and its value in *value; NULL: there are no more. */
const char *peer_preset(const peer_memory *m, int i, const char **value);

/* ---- start and wait for the ranks (peer_start.c) ---- */

/* Measures one library. NULL and a sentence in place->why; else freed with peer_free. */
peer_memory *peer_measure(const bench_options *o, peer_place *place, int done, int all);
void peer_free(peer_memory *m);

/* ---- in the ranks ---- */

extern const cli_command cmd_bench_peer;
/* Ends this rank, and with it the job. */
_Noreturn void peer_fail(peer_memory *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Synchronization (peer_sync.c). peer_slowest: the greatest of all ranks. peer_line: the round trip of a cache line
 * between ranks 0 and 1. peer_gather: a tutti_gather_fn, whose ctx is the peer_sync. */
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

/* What a rank does with the other library. `time`: seconds per call of n calls; with == false: the same without
 * the call. `check`: the number of wrong elements of this rank after one call. */
typedef struct peer_other {
  void *ctx;
  tutti_status (*call)(const bench_job *job,
                       const bench_call *call); /* an MPI's; NULL: not in this process */
  void (*size)(peer_sync *s, size_t bytes);     /* the others': begins a size */
  double (*time)(peer_sync *s, long n, bool cycle, bool with);
  void (*close)(void);
} peer_other;
/* An MPI (peer_mpi.c): gives this process its rank. */
peer_other peer_mpi_open(peer_memory *m, int *rank, int *ranks);
/* Does the result overwrite the input? Calls that concatenate or split vectors have two buffers, because MPI and tutti
 * place a rank's own block differently; a broadcast has one in MPI. */
bool peer_in_place(const bench_options *o);
/* Can an MPI do this call? NULL, or the reason. */
const char *peer_mpi_lacks(const bench_options *o);
/* PyTorch in a separate process (peer_torch.c). */
peer_other peer_torch_open(peer_memory *m, int rank);
const char *peer_torch_lacks(const bench_options *o);

/* ---- what came out (peer_show.c, peer_files.c) ---- */

typedef struct peer_cell { /* of a row in one state */
  int rounds;
  double seconds, tutti, ratio, least,
      most; /* ratio: time over tutti's; least and most: its quartiles */
} peer_cell;
/* Are the quartiles of the ratio so far apart that other programs must have disturbed the rounds? */
bool peer_noisy(const peer_cell *c);
peer_state peer_state_of(const peer_memory *m, const peer_row *row, int round);
peer_cell peer_cell_of(const peer_memory *m, const peer_row *row, peer_state state);
/* The state in words: "near cores". */
extern const char *const peer_state_text[PEER_STATES];
bool peer_has_state(peer_memory *const *all, int n, peer_state state);
/* tutti's time over all launches; 0: unknown. */
double peer_tutti(peer_memory *const *all, int n, size_t row, peer_state state);

void peer_show(const bench_options *o, peer_memory *const *all, int n);
int peer_results(const bench_options *o, peer_memory *const *all, int n);
int peer_plot(const bench_options *o, peer_memory *const *all, int n);

#endif
