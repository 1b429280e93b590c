/* fashion_exchange.c - the gradients' sums over all ranks: the part that is tutti.
 *
 * Idea      The backward pass makes the last layer's gradient first. Its sum is
 *           started at once, and travels while the layers below are computed
 *           (Gibiansky 2017, "Bringing HPC techniques to deep learning"). It is
 *           waited for only where the layer is next used: in the next forward
 *           pass. The first layer is big and comes last, so it goes in pieces.
 * Progress  tutti has no thread of its own: sums advance inside its calls, so
 *           the computation looks in between (exchange_poke).
 * Deaths    with --survive a lost rank fails no call here: the step comes to nothing, and
 *           fashion_survive.c goes on.
 * The loss  rides along as one more float behind the last layer's gradient.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fashion.h"

void exchange_open(exchange *x, tutti_comm *comm, net *n, trace *t) {
  memset(x, 0, sizeof *x);
  x->comm = comm;
  x->net = n;
  x->trace = t;
  t->comm = comm;
  x->loss = NAN;
  for (int l = 0; l < LAYERS; l++) {
    /* Memory that the other ranks can read: no copy before it travels. */
    void *memory = NULL;
    size_t bytes = (n->layers[l].count + 1) * sizeof(float);
    must(tutti_mem_alloc(comm, bytes, &memory), "memory for the gradients");
    n->layers[l].g = memory;
  }
}

/* Was a rank lost, that the others can do without? */
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
  for (int l = 0; l < LAYERS; l++)
    for (int p = 0; p < MAX_PIECES; p++) {
      flight *f = &x->flights[l][p];
      if (f->request) lost(x, tutti_request_wait(&f->request), "waiting for the sum of a gradient");
      f->pending = false;
    }
}

void exchange_close(exchange *x) {
  for (int l = 0; l < LAYERS; l++)
    must(tutti_mem_free(x->comm, x->net->layers[l].g), "giving back memory");
}

void exchange_set_loss(exchange *x, double loss) {
  net_layer *last = &x->net->layers[LAYERS - 1];
  last->g[last->count] = (float)loss;
}

/* Elements of a piece; the very last one carries the loss as well. */
static size_t piece_count(const net_layer *y, int l, int piece) {
  size_t count = net_piece_begin(y, piece + 1) - net_piece_begin(y, piece);
  return l == LAYERS - 1 && piece == y->pieces - 1 ? count + 1 : count;
}

void exchange_start(exchange *x, int l, int piece) {
  net_layer *y = &x->net->layers[l];
  flight *f = &x->flights[l][piece];
  float *g = y->g + net_piece_begin(y, piece);
  size_t count = piece_count(y, l, piece);
  if (x->lost) return;
  f->begin = now();
  if (x->blocking) {
    lost(x, tutti_allreduce(x->comm, g, g, count, TUTTI_FLOAT, TUTTI_SUM), "summing a gradient");
    double end = now();
    x->spent.blocking += end - f->begin;
    trace_add(x->trace, WAIT, l, piece, f->begin, end);
  } else {
    lost(x, tutti_allreduce_start(x->comm, g, g, count, TUTTI_FLOAT, TUTTI_SUM, &f->request),
         "starting the sum of a gradient");
    double end = now();
    x->spent.progress += end - f->begin;
    trace_add(x->trace, PROGRESS, l, piece, f->begin, end);
  }
  f->pending = true;
}

/* In the order they were started; one that is not done ends the round, for a
 * test of one request drives them all. */
void exchange_poke(exchange *x) {
  double begin = now();
  int done = 1;
  bool tested = false;
  for (int l = LAYERS - 1; l >= 0 && done; l--)
    for (int p = 0; p < x->net->layers[l].pieces && done; p++) {
      flight *f = &x->flights[l][p];
      if (!f->request || x->lost) continue;
      tested = true;
      lost(x, tutti_request_test(&f->request, &done), "testing the sum of a gradient");
      if (done) trace_add(x->trace, FLIGHT, l, p, f->begin, now());
    }
  double end = now();
  x->spent.progress += end - begin;
  if (tested) trace_add(x->trace, PROGRESS, 0, 0, begin, end);
}

static void finish_piece(exchange *x, int l, int piece) {
  flight *f = &x->flights[l][piece];
  if (!f->request || x->lost) return;
  double begin = now();
  lost(x, tutti_request_wait(&f->request), "waiting for the sum of a gradient");
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
}

void exchange_plans(exchange *x, const char *title) {
  printf("%s\n", title);
  for (int l = LAYERS - 1; l >= 0; l--) {
    net_layer *y = &x->net->layers[l];
    char name[100];
    size_t count = piece_count(y, l, 0);
    must(
        tutti_comm_plan(x->comm, TUTTI_ALLREDUCE, count, TUTTI_FLOAT, TUTTI_SUM, name, sizeof name),
        "asking for the plan");
    printf("  layer %d  %4d x %-3d  %6zu gradients in %d sum%s of %5zu  %s\n", l + 1, y->in + 1,
           y->out, y->count, y->pieces, y->pieces > 1 ? "s" : " ", count, name);
  }
}
