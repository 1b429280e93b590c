/* fashion.h - shared by the files of the Fashion-MNIST example.
 *
 * fashion_data.c      pictures and labels, from gzip IDX files to every rank
 * fashion_net.c       the network: forward and backward, on one process
 * fashion_exchange.c  sums of the gradients over all ranks: the part that uses tutti
 * fashion_train.c     one training step and the test, built on the three above
 * fashion_survive.c   continues after the death of a rank, and lets a joiner replace it
 * fashion_measure.c   compares overlapped with blocking sums, and naive with ring
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

/* Does nothing if the status is TUTTI_OK. Otherwise prints which rank failed, in what, and why. Then exits with
 * status 1, which makes `tutti run` end the other ranks. */
void must(tutti_status status, const char *what);
/* Allocates memory and sets it to zero. If the allocation fails, prints an error and exits. */
void *room(size_t count, size_t size);
double now(void);                     /* in seconds; the same clock on all ranks */
uint64_t random_bits(uint64_t *seed); /* splitmix64 */

/* ---- data ---- */

typedef struct pictures {
  int64_t count;
  uint8_t *pixels; /* count x PIXELS bytes */
  uint8_t *labels; /* `count` labels, each < CLASSES */
} pictures;

extern const char *const class_name[CLASSES];  /* such as "T-shirt/top" */
extern const char *const class_short[CLASSES]; /* at most 5 letters, for columns */

/* Reads the training set and the test set from `folder`. If a file is missing, prints an error and exits. */
void data_read(const char *folder, pictures *train, pictures *test);
/* Rank 0 reads the training set and the test set from `folder`, and broadcasts them to the other ranks. */
void data_load(tutti_comm *comm, const char *folder, pictures *train, pictures *test);
void data_free(pictures *p);

/* ---- network ---- */

/* A layer computes out = bend(w * [in, 1]). The bias is the last column of w, and every activation row ends with a constant 1. */
typedef struct net_layer {
  int in, out;
  int pieces;   /* number of parts in which its gradient is computed and summed */
  size_t count; /* number of weights, including biases: out * (in + 1) */
  float *w, *v; /* weights and their velocity (momentum) */
  float *g;     /* gradient, in memory of tutti (see exchange_open) */
  float *input; /* rows x (in + 1) */
  float *delta; /* rows x out: d loss / d (this layer before bend) */
} net_layer;

typedef struct net {
  net_layer layers[LAYERS];
  float *logits; /* rows x (CLASSES + 1) */
  int rows;      /* number of pictures that fit */
} net;

void net_init(net *n, int rows, uint64_t seed); /* the same weights on all ranks */
void net_free(net *n);
size_t net_piece_begin(const net_layer *l, int piece); /* first weight; piece == pieces: the end */
void net_set_input(net *n, int row, const uint8_t *pixels);
void net_forward(net *n, int l, int rows);
/* Computes the delta of the last layer, divided by `batch`. Returns the sum of the losses. */
double net_loss(net *n, const uint8_t *labels, int rows, int batch);
void net_gradient(net *n, int l, int piece, int rows); /* overwrites g */
void net_backward(net *n, int l, int rows);            /* computes the delta of layer l - 1 */
void net_update(net *n, int l, int piece, float rate);
int net_answer(const net *n, int row);
uint64_t net_checksum(const net *n);

/* ---- events for the picture ---- */

typedef enum event_kind {
  PREPARE,
  FORWARD,
  BACKWARD,
  UPDATE,
  WAIT,
  PROGRESS, /* in tutti_bucket_ready and tutti_bucket_test */
  FLIGHT,   /* from the start of a sum until its completion is detected */
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
/* Collects the trace events of all ranks on rank 0, which writes them to `path`. */
void trace_write(tutti_comm *comm, const trace *t, const char *path);

/* ---- exchange: the sums over all ranks ---- */

/* Seconds spent by this rank since exchange_reset. */
typedef struct spent {
  double wait;     /* in tutti_bucket_wait: communication that did not overlap */
  double progress; /* in tutti_bucket_ready and tutti_bucket_test */
  double blocking; /* in tutti_allreduce, when blocking */
} spent;

typedef struct flight {
  size_t tensor; /* index in the buckets */
  bool flies;    /* its sum is possibly not complete */
  bool pending;  /* started, but the weights are not updated yet */
  double begin;
} flight;

typedef struct exchange {
  tutti_comm *comm;
  net *net;
  bool blocking;          /* uses tutti_allreduce instead of buckets */
  tutti_buckets *buckets; /* NULL until the first gradient is ready */
  flight flights[LAYERS][MAX_PIECES];
  double loss; /* of the last step whose last layer is finished */
  spent spent;
  trace *trace;
  bool survives, lost; /* survives: continue after a loss; lost: all calls do nothing */
  char why[400];       /* error message about the lost rank */
} exchange;

void exchange_open(exchange *x, tutti_comm *comm, net *n, trace *t);
void exchange_close(exchange *x);
/* Starts the sum of this piece's gradient over all ranks. Called as soon as the gradient is ready. */
void exchange_start(exchange *x, int l, int piece);
/* Advances the sums in flight, without blocking. */
void exchange_poke(exchange *x);
/* Waits for the gradient sums of a layer and updates its weights. Called when the layer is used next. */
void exchange_finish(exchange *x, int l, float rate);
void exchange_set_loss(exchange *x, double loss); /* it is summed with the last layer */
/* Drops everything in flight, because a rank was lost. */
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

typedef struct kept { /* the state before `step` (fashion_survive.c) */
  int64_t step;
  double loss;
  float *w[LAYERS], *v[LAYERS]; /* NULL if no state is kept */
} kept;

typedef struct trainer {
  tutti_comm *comm;
  int rank, ranks;
  const pictures *train;
  net net;
  exchange exchange;
  trace trace;
  int batch;
  bool reverse; /* use every batch in reverse order: the same sums except for rounding */
  int64_t step; /* number of steps that have begun */
  int64_t steps_per_epoch, steps_in_all;
  float rate;      /* of the step that began last */
  int64_t *order;  /* the order of the pictures in this epoch */
  uint8_t *labels; /* labels of this rank's part of the batch */
  kept kept;
} trainer;

void trainer_open(trainer *t, tutti_comm *comm, const pictures *train, const options *o);
void trainer_close(trainer *t);
void trainer_step(trainer *t);
void trainer_shuffle(trainer *t, int64_t epoch);
void trainer_settle(trainer *t); /* waits for the sums in flight and applies them */
/* Computes table[class][answer], summed over all ranks. */
void trainer_test(trainer *t, const pictures *test, int64_t table[CLASSES][CLASSES]);
/* Returns true if all ranks have bitwise identical weights. */
bool trainer_same_weights(trainer *t);

void measure(trainer *t);

/* ---- recovery after a death ---- */

void survive_open(trainer *t);
void survive_close(trainer *t);
void survive_keep(trainer *t);
/* Called after a rank was lost. The other ranks continue from the last step whose sums they have all received. */
void survive_lost(trainer *t);
/* Called at the end of an epoch, when processes that replace dead ranks may join. */
void survive_grow(trainer *t);
/* Called in a process that joins a running job. Receives the training state from the other ranks. */
void survive_join(trainer *t);

/* ---- report ---- */

typedef struct progress {
  bool terminal; /* rewrite one line; otherwise print one line per epoch */
  double begin, shown, loss;
  int64_t counted, steps;
  const char *pace;     /* file written by rank 0: seconds, ranks, steps per second; or NULL */
  double paced;         /* when its last line was written, */
  int64_t paced_at;     /* at which step, */
  int paced_with;       /* and with how many ranks */
} progress;

void progress_open(progress *p, int64_t steps, const char *pace);
/* Shows the progress of the training after a step. `loss` is the loss of the last step for which it is known. */
void progress_step(progress *p, const trainer *t, double loss, bool epoch_ends);
void report_training(const progress *p, const trainer *t);
/* Prints the table of answers and the accuracy. Returns true if the accuracy is at least `need`. */
bool report_test(int64_t table[CLASSES][CLASSES], double need);

#endif
