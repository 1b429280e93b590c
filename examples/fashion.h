/* fashion.h - shared by the files of the Fashion-MNIST example.
 *
 * fashion_data.c      pictures and labels, from gzip IDX files to every rank
 * fashion_net.c       the network: forward and backward, one process's view
 * fashion_exchange.c  the gradients' sums over all ranks: the part that uses tutti
 * fashion_train.c     one training step and the test, made of the three above
 * fashion_survive.c   a rank dies, the others continue; a joiner replaces it
 * fashion_measure.c   overlapped against blocking, naive against ring
 * fashion_report.c    progress line, confusion table, curve, time line
 * fashion.c           options and main
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FASHION_H
#define FASHION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tutti.h>

enum { SIDE = 28, PIXELS = SIDE * SIDE, CLASSES = 10, LAYERS = 3, MAX_PIECES = 4 };

/* ---- utilities: fashion.c ---- */

/* Returns if the status is TUTTI_OK. Otherwise prints which rank failed at what and why,
 * and exits with 1: `tutti run` then ends the other ranks. */
void must(tutti_status status, const char *what);
/* Allocate zeroed memory; prints an error and exits if that fails. */
void *room(size_t count, size_t size);
double now(void);                     /* seconds, the same clock on all ranks */
uint64_t random_bits(uint64_t *seed); /* splitmix64 */

/* ---- data ---- */

typedef struct pictures {
  int64_t count;
  uint8_t *pixels; /* count x PIXELS */
  uint8_t *labels; /* count, each < CLASSES */
} pictures;

extern const char *const class_name[CLASSES];  /* such as "T-shirt/top" */
extern const char *const class_short[CLASSES]; /* at most 5 letters, for columns */

/* Both sets from `folder`; if they are missing, prints an error and exits. */
void data_read(const char *folder, pictures *train, pictures *test);
/* Rank 0 reads both sets from `folder`, the others receive them. */
void data_load(tutti_comm *comm, const char *folder, pictures *train, pictures *test);
void data_free(pictures *p);

/* ---- network ---- */

/* A layer computes out = bend(w * [in, 1]); the bias is the last column of w,
 * and every activation row ends with a constant 1. */
typedef struct net_layer {
  int in, out;
  int pieces;   /* its gradient is computed, and summed, in this many parts */
  size_t count; /* weights, biases included: out * (in + 1) */
  float *w, *v; /* weights and their velocity (momentum) */
  float *g;     /* gradient; lives in tutti's memory, see exchange_open */
  float *input; /* rows x (in + 1) */
  float *delta; /* rows x out: d loss / d (this layer before bend) */
} net_layer;

typedef struct net {
  net_layer layers[LAYERS];
  float *logits; /* rows x (CLASSES + 1) */
  int rows;      /* pictures that fit */
} net;

void net_init(net *n, int rows, uint64_t seed); /* the same weights on all ranks */
void net_free(net *n);
size_t net_piece_begin(const net_layer *l, int piece); /* in weights; piece == pieces: the end */
void net_set_input(net *n, int row, const uint8_t *pixels);
void net_forward(net *n, int l, int rows);
/* Fills the last layer's delta, divided by `batch`; returns the sum of losses. */
double net_loss(net *n, const uint8_t *labels, int rows, int batch);
void net_gradient(net *n, int l, int piece, int rows); /* overwrites g */
void net_backward(net *n, int l, int rows);            /* delta of layer l-1 */
void net_update(net *n, int l, int piece, float rate);
int net_answer(const net *n, int row);
uint64_t net_checksum(const net *n);

/* ---- events, for the picture ---- */

typedef enum event_kind {
  PREPARE,
  FORWARD,
  BACKWARD,
  UPDATE,
  WAIT,
  PROGRESS, /* in tutti_bucket_ready and tutti_bucket_test */
  FLIGHT,   /* from the start of a sum until it is found complete */
  EVENT_KINDS
} event_kind;

typedef struct event {
  double kind, layer, piece, begin, end; /* doubles, so that tutti_allgather can carry them */
} event;

enum { TRACE_ROOM = 512 };
typedef struct trace {
  bool on;
  tutti_comm *comm; /* the computation is marked in its TUTTI_TRACE */
  int count;
  event events[TRACE_ROOM];
} trace;

void trace_add(trace *t, event_kind kind, int layer, int piece, double begin, double end);
/* Collects all ranks' events on rank 0, which writes them to `path`. */
void trace_write(tutti_comm *comm, const trace *t, const char *path);

/* ---- exchange: the sums over all ranks ---- */

/* Seconds of this rank, since exchange_reset. */
typedef struct spent {
  double wait;     /* in tutti_bucket_wait: communication that was not hidden */
  double progress; /* in tutti_bucket_ready and tutti_bucket_test */
  double blocking; /* in tutti_allreduce, when blocking */
} spent;

typedef struct flight {
  size_t tensor; /* its number in the buckets */
  bool flies;    /* its sum is not known to be complete */
  bool pending;  /* started, and the weights are not updated yet */
  double begin;
} flight;

typedef struct exchange {
  tutti_comm *comm;
  net *net;
  bool blocking;          /* tutti_allreduce instead of buckets */
  tutti_buckets *buckets; /* NULL until the first gradient is ready */
  flight flights[LAYERS][MAX_PIECES];
  double loss; /* of the last step whose last layer was finished */
  spent spent;
  trace *trace;
  bool survives, lost; /* continue after a loss; a rank was lost: all calls do nothing */
  char why[400];       /* how it was lost */
} exchange;

void exchange_open(exchange *x, tutti_comm *comm, net *n, trace *t);
void exchange_close(exchange *x);
/* This piece's gradient is ready: sum it over all ranks. */
void exchange_start(exchange *x, int l, int piece);
/* Make progress on sums in flight, without blocking. */
void exchange_poke(exchange *x);
/* The layer is needed: wait for its sums and update its weights. */
void exchange_finish(exchange *x, int l, float rate);
void exchange_set_loss(exchange *x, double loss); /* travels with the last layer */
/* Drop everything in flight: a rank was lost. */
void exchange_drop(exchange *x);
size_t exchange_sums(const exchange *x); /* per step */
void exchange_plans(exchange *x, const char *title);

/* ---- training ---- */

typedef struct options {
  const char *data, *algo, *curve, *pace, *timeline;
  int epochs, steps, batch;
  double need;
  bool blocking, reverse, measure, survive;
} options;

typedef struct kept { /* state before `step`: fashion_survive.c */
  int64_t step;
  double loss;
  float *w[LAYERS], *v[LAYERS]; /* NULL: no state is kept */
} kept;

typedef struct trainer {
  tutti_comm *comm;
  int rank, ranks;
  const pictures *train;
  net net;
  exchange exchange;
  trace trace;
  int batch;
  bool reverse; /* every batch back to front: the same sums except for rounding */
  int64_t step; /* number of steps begun */
  int64_t steps_per_epoch, steps_in_all;
  float rate;      /* of the step begun last */
  int64_t *order;  /* this epoch's order of the pictures */
  uint8_t *labels; /* of this rank's part of the batch */
  kept kept;
} trainer;

void trainer_open(trainer *t, tutti_comm *comm, const pictures *train, const options *o);
void trainer_close(trainer *t);
void trainer_step(trainer *t);
void trainer_shuffle(trainer *t, int64_t epoch);
void trainer_settle(trainer *t); /* wait for sums in flight and apply them */
/* table[was][said], summed over all ranks. */
void trainer_test(trainer *t, const pictures *test, int64_t table[CLASSES][CLASSES]);
/* Do all ranks hold the same bits? */
bool trainer_same_weights(trainer *t);

void measure(trainer *t);

/* ---- recovery after a death ---- */

void survive_open(trainer *t);
void survive_close(trainer *t);
void survive_keep(trainer *t);
/* A rank was lost: continue with the others, from a step whose sums all of them had. */
void survive_lost(trainer *t);
/* At the end of an epoch: a process that replaces a dead rank may join. */
void survive_grow(trainer *t);
/* This process is such a joiner: it receives the others' state. */
void survive_join(trainer *t);

/* ---- report ---- */

typedef struct progress {
  bool terminal; /* rewrite one line; otherwise a line per epoch */
  double begin, shown, loss;
  int64_t counted, steps;
  const char *pace;     /* file of rank 0: seconds, ranks, steps per second; NULL: none */
  double paced;         /* when its last line was written, */
  int64_t paced_at;     /* at which step, */
  int paced_with;       /* and with how many ranks */
} progress;

void progress_open(progress *p, int64_t steps, const char *pace);
/* Progress: `seen` pictures of `all`; `loss` is the last step's. */
void progress_step(progress *p, const trainer *t, double loss, bool epoch_ends);
void report_training(const progress *p, const trainer *t);
/* Prints the table and the result; true if the accuracy is at least `need`. */
bool report_test(int64_t table[CLASSES][CLASSES], double need);

#endif
