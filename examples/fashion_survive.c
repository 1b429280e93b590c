/* fashion_survive.c - a rank dies, the others go on without it.
 *
 * Idea      Who hears of a death may have taken more of a step's sums than its neighbour, or
 *           fewer. So each keeps what it had when the last step was whole, and throws away what
 *           came after. The survivors make a communicator of their own (tutti_comm_shrink); its
 *           first rank's state becomes that of all, and they take its step once more, cutting
 *           the same batch into fewer parts: the same sums, but for rounding.
 * Cost      a copy of the weights and their velocity per step, 2 MB.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fashion.h"

void survive_open(trainer *t) {
  for (int l = 0; l < LAYERS; l++) {
    t->kept.w[l] = room(t->net.layers[l].count, sizeof(float));
    t->kept.v[l] = room(t->net.layers[l].count, sizeof(float));
  }
  survive_keep(t);
}

void survive_close(trainer *t) {
  for (int l = 0; l < LAYERS; l++) {
    free(t->kept.w[l]);
    free(t->kept.v[l]);
  }
}

void survive_keep(trainer *t) {
  t->kept.step = t->step;
  t->kept.loss = t->exchange.loss;
  for (int l = 0; l < LAYERS; l++) {
    const net_layer *y = &t->net.layers[l];
    memcpy(t->kept.w[l], y->w, y->count * sizeof(float));
    memcpy(t->kept.v[l], y->v, y->count * sizeof(float));
  }
}

static void restore(trainer *t) {
  t->step = t->kept.step;
  t->exchange.loss = t->kept.loss;
  trainer_shuffle(t, t->step / t->steps_per_epoch);
  for (int l = 0; l < LAYERS; l++) {
    const net_layer *y = &t->net.layers[l];
    memcpy(y->w, t->kept.w[l], y->count * sizeof(float));
    memcpy(y->v, t->kept.v[l], y->count * sizeof(float));
  }
}

/* What the first rank has kept, to all. */
static tutti_status share(trainer *t) {
  kept *k = &t->kept;
  tutti_status status = tutti_broadcast(t->comm, &k->step, &k->step, 1, TUTTI_INT64, 0);
  if (!status) status = tutti_broadcast(t->comm, &k->loss, &k->loss, 1, TUTTI_DOUBLE, 0);
  for (int l = 0; l < LAYERS && !status; l++) {
    const size_t count = t->net.layers[l].count;
    status = tutti_broadcast(t->comm, k->w[l], k->w[l], count, TUTTI_FLOAT, 0);
    if (!status) status = tutti_broadcast(t->comm, k->v[l], k->v[l], count, TUTTI_FLOAT, 0);
  }
  return status;
}

/* A communicator of those who live, in place of the one that failed. */
static void shrink(trainer *t) {
  tutti_comm *next;
  must(tutti_comm_shrink(t->comm, &next), "going on without the lost rank");
  must(tutti_comm_free(t->comm), "freeing the communicator that failed");
  t->comm = next;
  t->rank = tutti_comm_rank(next);
  t->ranks = tutti_comm_size(next);
}

void survive_lost(trainer *t) {
  const spent used = t->exchange.spent;
  const bool blocking = t->exchange.blocking;
  char why[sizeof t->exchange.why];
  tutti_status status;
  memcpy(why, t->exchange.why, sizeof why);
  exchange_drop(&t->exchange);
  exchange_close(&t->exchange);
  do {
    shrink(t);
    status = share(t);
  } while (status == TUTTI_ERR_PEER_LOST); /* one more */
  must(status, "sharing what the first rank has");
  exchange_open(&t->exchange, t->comm, &t->net, &t->trace);
  t->exchange.spent = used;
  t->exchange.blocking = blocking;
  t->exchange.survives = true;
  restore(t);
  if (t->rank != 0) return;
  printf("%s\n%d %s at step %lld, in epoch %lld\n", why, t->ranks,
         t->ranks > 1 ? "ranks go on" : "rank goes on", (long long)t->step + 1,
         (long long)(t->step / t->steps_per_epoch + 1));
  fflush(stdout);
}
