/* fashion_exchange.c - sums the gradients over all ranks: the part that uses tutti.
 *
 * Idea      The backward pass computes the last layer's gradient first. As soon as it is ready, it
 *           is passed to tutti's buckets, which sum it while the gradients of lower layers are
 *           computed (Gibiansky 2017, "Bringing HPC techniques to deep learning"). The program
 *           waits for the sum only when the layer is next used: in the next forward pass. The first
 *           layer is large and its gradient is the last one, so it is computed in pieces. The
 *           buckets determine how many pieces are summed together.
 * Progress  Without a progress thread, sums advance only inside calls of tutti, so the computation
 *           calls it in between (exchange_poke).
 * Deaths    With --survive, the loss of a rank is not an error here. The step is dropped, and
 *           fashion_survive.c continues.
 * The loss  is summed as one more float after the last layer's gradient.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fashion.h"
#include "tutti_plan.h"

void exchange_open(exchange *x, tutti_comm *comm, net *n, trace *t) {
  memset(x, 0, sizeof *x);
  x->comm = comm;
  x->net = n;
  x->trace = t;
  t->comm = comm;
  x->loss = NAN;
  for (int l = 0; l < LAYERS; l++) {
    /* memory that the other ranks can read directly, so that nothing is copied */
    void *memory = NULL;
    size_t bytes = (n->layers[l].count + 1) * sizeof(float);
    must(tutti_mem_alloc(comm, bytes, &memory), "memory for the gradients");
    n->layers[l].g = memory;
  }
}

/* Returns true if the operation failed because a rank was lost and the other ranks can continue without it. */
static bool lost(exchange *x, tutti_status status, const char *what) {
  if (!x->survives || status != TUTTI_ERR_PEER_LOST) {
    must(status, what);
  } else if (!x->lost) {
    x->lost = true;
    snprintf(x->why, sizeof x->why, "%s", tutti_error());
  }
  return x->lost;
}

void exchange_drop(exchange *x) {
  must(tutti_buckets_free(x->buckets), "freeing the buckets");
  x->buckets = NULL;
  memset(x->flights, 0, sizeof x->flights);
}

void exchange_close(exchange *x) {
  exchange_drop(x);
  for (int l = 0; l < LAYERS; l++)
    must(tutti_mem_free(x->comm, x->net->layers[l].g), "giving back memory");
}

void exchange_set_loss(exchange *x, double loss) {
  net_layer *last = &x->net->layers[LAYERS - 1];
  last->g[last->count] = (float)loss;
}

/* Returns the number of elements in a piece of a layer. The last piece of the last layer also contains the loss. */
static size_t piece_count(const net_layer *y, int l, int piece) {
  size_t count = net_piece_begin(y, piece + 1) - net_piece_begin(y, piece);
  return l == LAYERS - 1 && piece == y->pieces - 1 ? count + 1 : count;
}

/* Registers the gradients of all layers, in the order of the backward pass. Registration is a collective call, so it
 * is done when the first gradient is ready. */
static void register_all(exchange *x) {
  const tutti_buckets_config config = {.size = sizeof config, .sum = 1}; /* a sum, not a mean */
  tutti_tensor tensors[LAYERS * MAX_PIECES];
  size_t n = 0;
  for (int l = LAYERS - 1; l >= 0; l--) {
    net_layer *y = &x->net->layers[l];
    for (int p = 0; p < y->pieces; p++) {
      x->flights[l][p].tensor = n;
      tensors[n++] =
          (tutti_tensor){y->g + net_piece_begin(y, p), piece_count(y, l, p), TUTTI_FLOAT};
    }
  }
  lost(x, tutti_buckets_create(x->comm, n, tensors, &config, &x->buckets), "making buckets");
}

void exchange_start(exchange *x, int l, int piece) {
  flight *f = &x->flights[l][piece];
  if (!x->blocking && !x->buckets && !x->lost) register_all(x);
  if (x->lost) return;
  f->begin = now();
  if (x->blocking) {
    net_layer *y = &x->net->layers[l];
    float *g = y->g + net_piece_begin(y, piece);
    size_t count = piece_count(y, l, piece);
    lost(x, tutti_allreduce(x->comm, g, g, count, TUTTI_FLOAT, TUTTI_SUM), "summing a gradient");
    double end = now();
    x->spent.blocking += end - f->begin;
    trace_add(x->trace, WAIT, l, piece, f->begin, end);
  } else {
    lost(x, tutti_bucket_ready(x->buckets, f->tensor), "starting the sum of a gradient");
    double end = now();
    x->spent.progress += end - f->begin;
    trace_add(x->trace, PROGRESS, l, piece, f->begin, end);
    f->flies = true;
  }
  f->pending = true;
}

/* Tests the sums in the order of their start, and stops at the first one that is not complete. Further tests are
 * unnecessary, because every test advances all sums. */
void exchange_poke(exchange *x) {
  double begin = now();
  int done = 1;
  bool tested = false;
  for (int l = LAYERS - 1; l >= 0 && done; l--)
    for (int p = 0; p < x->net->layers[l].pieces && done; p++) {
      flight *f = &x->flights[l][p];
      if (!f->flies || x->lost) continue;
      tested = true;
      lost(x, tutti_bucket_test(x->buckets, f->tensor, &done), "testing the sum of a gradient");
      f->flies = !done;
      if (done) trace_add(x->trace, FLIGHT, l, p, f->begin, now());
    }
  double end = now();
  x->spent.progress += end - begin;
  if (tested) trace_add(x->trace, PROGRESS, 0, 0, begin, end);
}

static void finish_piece(exchange *x, int l, int piece) {
  flight *f = &x->flights[l][piece];
  if (!f->flies || x->lost) return;
  double begin = now();
  lost(x, tutti_bucket_wait(x->buckets, f->tensor), "waiting for the sum of a gradient");
  f->flies = false;
  double end = now();
  x->spent.wait += end - begin;
  trace_add(x->trace, WAIT, l, piece, begin, end);
  trace_add(x->trace, FLIGHT, l, piece, f->begin, end);
}

void exchange_finish(exchange *x, int l, float rate) {
  net_layer *y = &x->net->layers[l];
  for (int p = 0; p < y->pieces; p++) {
    flight *f = &x->flights[l][p];
    if (!f->pending) continue;
    finish_piece(x, l, p);
    if (x->lost) return;
    double begin = now();
    net_update(x->net, l, p, rate);
    trace_add(x->trace, UPDATE, l, p, begin, now());
    f->pending = false;
    if (l == LAYERS - 1 && p == y->pieces - 1) x->loss = y->g[y->count];
    exchange_poke(x);
  }
  if (l == LAYERS - 1 && x->buckets) lost(x, tutti_buckets_wait(x->buckets), "ending a step");
}

size_t exchange_sums(const exchange *x) {
  size_t pieces = 0;
  for (int l = 0; l < LAYERS; l++) pieces += (size_t)x->net->layers[l].pieces;
  return x->buckets ? tutti_buckets_count(x->buckets) : pieces;
}

void exchange_plans(exchange *x, const char *title) {
  printf("%s\n", title);
  for (size_t b = 0; b < tutti_buckets_count(x->buckets); b++) {
    char name[TUTTI_PLAN_TEXT], layers[3 * LAYERS + 1] = "";
    size_t count = 0, pieces = 0, used = 0;
    for (int l = LAYERS - 1; l >= 0; l--) {
      const size_t before = pieces;
      for (int p = 0; p < x->net->layers[l].pieces; p++)
        if (tutti_bucket_of(x->buckets, x->flights[l][p].tensor) == b)
          count += piece_count(&x->net->layers[l], l, p), pieces++;
      if (pieces > before)
        used += (size_t)snprintf(layers + used, sizeof layers - used, " %d", l + 1);
    }
    must(tutti_comm_plan(tutti_buckets_comm(x->buckets), TUTTI_ALLREDUCE, count, TUTTI_FLOAT,
                         TUTTI_SUM, name, sizeof name),
         "asking for the plan");
    printf("  bucket %zu, of layer%-6s  %zu piece%s  %6zu floats  %s\n", b + 1, layers, pieces,
           pieces > 1 ? "s" : " ", count, name);
  }
}
