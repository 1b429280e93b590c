/* fashion_train.c - one training step, and the test, on all ranks together.
 *
 * Idea      The batch is the same for any number of ranks. The order of the pictures depends only
 *           on the epoch, and the batch is split into P parts whose sizes differ by at most one. P
 *           ranks thus compute the same as one rank, except for the order in which floats are
 *           added.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fashion.h"

static const uint64_t SEED = 20170825;   /* seed for weights and orders */
static const float PEAK_RATE = 0.06f;    /* learning rate: up in WARM_UP steps, then */
enum { WARM_UP = 200, TEST_ROWS = 250 }; /* down half a cosine to 0 */

void trainer_open(trainer *t, tutti_comm *comm, const pictures *train, const options *o) {
  memset(t, 0, sizeof *t);
  t->comm = comm;
  t->rank = tutti_comm_rank(comm);
  t->ranks = tutti_comm_size(comm);
  t->train = train;
  t->batch = o->batch;
  t->reverse = o->reverse;
  t->steps_per_epoch = (train->count + o->batch - 1) / o->batch;
  t->steps_in_all = t->steps_per_epoch * o->epochs;
  t->order = room((size_t)train->count, sizeof *t->order);
  int rows = o->batch / (o->survive ? 1 : t->ranks) + 1; /* only one rank may be left */
  net_init(&t->net, rows > TEST_ROWS ? rows : TEST_ROWS, SEED);
  t->labels = room((size_t)t->net.rows, 1);
  exchange_open(&t->exchange, comm, &t->net, &t->trace);
  t->exchange.blocking = o->blocking;
  t->exchange.survives = o->survive;
  if (o->survive) survive_open(t);
}

void trainer_close(trainer *t) {
  survive_close(t);
  exchange_close(&t->exchange);
  net_free(&t->net);
  free(t->order);
  free(t->labels);
}

void trainer_shuffle(trainer *t, int64_t epoch) {
  uint64_t seed = SEED + 1 + (uint64_t)epoch;
  int64_t n = t->train->count;
  for (int64_t i = 0; i < n; i++) t->order[i] = i;
  for (int64_t i = n - 1; i > 0; i--) {
    int64_t j = (int64_t)(random_bits(&seed) % (uint64_t)(i + 1)), keep = t->order[i];
    t->order[i] = t->order[j];
    t->order[j] = keep;
  }
}

static float rate_of(const trainer *t, int64_t step) {
  if (step < WARM_UP) return PEAK_RATE * (float)(step + 1) / WARM_UP;
  if (step >= t->steps_in_all) return 0;
  double way = (double)(step - WARM_UP) / (double)(t->steps_in_all - WARM_UP);
  return (float)(PEAK_RATE * 0.5 * (1 + cos(3.14159265358979323846 * way)));
}

/* Copies this rank's share of the step's batch to the input of the first layer. Returns the number of rows in this share. */
static int prepare(trainer *t, int *batch) {
  double begin = now();
  int64_t at = t->step % t->steps_per_epoch, count = t->train->count;
  if (at == 0) trainer_shuffle(t, t->step / t->steps_per_epoch);
  int64_t first = at * t->batch, size = count - first < t->batch ? count - first : t->batch;
  int64_t mine = size * t->rank / t->ranks, rows = size * (t->rank + 1) / t->ranks - mine;
  for (int64_t r = 0; r < rows; r++) {
    int64_t place = t->reverse ? size - 1 - (mine + r) : mine + r;
    int64_t picture = t->order[first + place];
    net_set_input(&t->net, (int)r, t->train->pixels + picture * PIXELS);
    t->labels[r] = t->train->labels[picture];
    if (r % 16 == 15) exchange_poke(&t->exchange);
  }
  *batch = (int)size;
  trace_add(&t->trace, PREPARE, 0, 0, begin, now());
  return (int)rows;
}

static void forward(trainer *t, int rows) {
  for (int l = 0; l < LAYERS; l++) {
    exchange_finish(&t->exchange, l, t->rate); /* the sums of the previous step are needed here */
    double begin = now();
    net_forward(&t->net, l, rows);
    trace_add(&t->trace, FORWARD, l, 0, begin, now());
    exchange_poke(&t->exchange);
  }
}

static void backward(trainer *t, int rows) {
  exchange *x = &t->exchange;
  for (int l = LAYERS - 1; l >= 0; l--) {
    for (int p = 0; p < t->net.layers[l].pieces; p++) {
      double begin = now();
      net_gradient(&t->net, l, p, rows);
      trace_add(&t->trace, BACKWARD, l, p, begin, now());
      exchange_start(x, l, p); /* starts its sum, and continues with the next layer */
      exchange_poke(x);
    }
    if (l == 0) break;
    double begin = now();
    net_backward(&t->net, l, rows);
    trace_add(&t->trace, BACKWARD, l, 0, begin, now());
    exchange_poke(x);
  }
}

void trainer_step(trainer *t) {
  int batch, rows = prepare(t, &batch);
  forward(t, rows);
  if (t->exchange.survives && !t->exchange.lost) survive_keep(t);
  t->rate = rate_of(t, t->step);
  double begin = now();
  exchange_set_loss(&t->exchange, net_loss(&t->net, t->labels, rows, batch) / batch);
  trace_add(&t->trace, FORWARD, LAYERS - 1, 0, begin, now());
  backward(t, rows);
  t->step++;
}

void trainer_settle(trainer *t) {
  for (int l = 0; l < LAYERS; l++) exchange_finish(&t->exchange, l, t->rate);
}

void trainer_test(trainer *t, const pictures *test, int64_t table[CLASSES][CLASSES]) {
  int64_t begin = test->count * t->rank / t->ranks, end = test->count * (t->rank + 1) / t->ranks;
  memset(table, 0, sizeof(int64_t[CLASSES][CLASSES]));
  for (int64_t i = begin; i < end; i += TEST_ROWS) {
    int rows = (int)(end - i < TEST_ROWS ? end - i : TEST_ROWS);
    for (int r = 0; r < rows; r++) net_set_input(&t->net, r, test->pixels + (i + r) * PIXELS);
    for (int l = 0; l < LAYERS; l++) net_forward(&t->net, l, rows);
    for (int r = 0; r < rows; r++) table[test->labels[i + r]][net_answer(&t->net, r)]++;
  }
  must(tutti_allreduce(t->comm, table, table, (size_t)CLASSES * CLASSES, TUTTI_INT64, TUTTI_SUM),
       "summing the confusion table");
}

bool trainer_same_weights(trainer *t) {
  uint64_t mine = net_checksum(&t->net), least, most;
  must(tutti_allreduce(t->comm, &mine, &least, 1, TUTTI_UINT64, TUTTI_MIN), "comparing weights");
  must(tutti_allreduce(t->comm, &mine, &most, 1, TUTTI_UINT64, TUTTI_MAX), "comparing weights");
  return least == most;
}
