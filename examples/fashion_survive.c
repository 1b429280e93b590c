/* fashion_survive.c - lets the training continue after the death of a rank, and a joiner replace that rank.
 *
 * Idea      When a rank detects a death, it may have applied more of a step's sums than its neighbour, or
 *           fewer. Each rank therefore keeps its state from before the current step, and drops all later
 *           changes. The survivors make a new communicator (tutti_comm_shrink). All of them receive the
 *           state of its first rank and repeat that rank's step, with the same batch in fewer parts. The
 *           sums are the same, except for rounding. At the end of each epoch, a joiner may be added
 *           (tutti_comm_grow) if `tutti run --respawn` has started one. It receives the first rank's state
 *           in the same way. If the network is partitioned, each side loses the other. Only the side with
 *           more than half of the ranks continues. The ranks of the smaller side end, and may be restarted
 *           as joiners.
 * Cost      one copy of the weights and velocities per step: 2 MB.
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

/* Sends the kept state of the first rank to all. */
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

/* Replaces the current communicator by this one. */
static void use(trainer *t, tutti_comm *next) {
  must(tutti_comm_free(t->comm), "freeing the communicator before");
  t->comm = next;
  t->rank = tutti_comm_rank(next);
  t->ranks = tutti_comm_size(next);
}

/* Returns a communicator of the survivors, if more than half of the ranks survive. If fewer survive, this process
 * ends, because the other ranks may still be running in another partition of the network. If there were two ranks, a
 * single survivor continues. */
static tutti_comm *the_rest(const trainer *t) {
  tutti_comm *next;
  must(tutti_comm_shrink(t->comm, &next), "continuing without the lost rank");
  const int left = tutti_comm_size(next);
  if (2 * left > t->ranks || t->ranks == 2) return next;
  fprintf(stderr, "fashion: rank %d is one of %d survivors of %d ranks, and the others may still be running: it ends\n",
          t->rank, left, t->ranks);
  exit(4);
}

static void shrink(trainer *t) {
  use(t, the_rest(t));
}

/* Lets all ranks of `next` continue from the state of its first rank. If more ranks are lost, continues with the survivors. */
static void begin_anew(trainer *t, tutti_comm *next) {
  const spent used = t->exchange.spent;
  const bool blocking = t->exchange.blocking;
  exchange_close(&t->exchange);
  if (next) use(t, next);
  tutti_status status = share(t);
  while (status == TUTTI_ERR_PEER_LOST) { /* another rank was lost */
    shrink(t);
    status = share(t);
  }
  must(status, "sharing what the first rank has");
  exchange_open(&t->exchange, t->comm, &t->net, &t->trace);
  t->exchange.spent = used;
  t->exchange.blocking = blocking;
  t->exchange.survives = true;
  restore(t);
}

static void say(const trainer *t, const char *why) {
  if (t->rank != 0) return;
  printf("%s\n%d %s at step %lld, in epoch %lld\n", why, t->ranks,
         t->ranks > 1 ? "ranks continue" : "rank continues", (long long)t->step + 1,
         (long long)(t->step / t->steps_per_epoch + 1));
  fflush(stdout);
}

void survive_lost(trainer *t) {
  char why[sizeof t->exchange.why];
  memcpy(why, t->exchange.why, sizeof why);
  exchange_drop(&t->exchange);
  begin_anew(t, the_rest(t));
  say(t, why);
}

void survive_grow(trainer *t) {
  const int before = t->ranks;
  char why[80];
  tutti_comm *next;
  trainer_settle(t);
  if (t->exchange.lost) return;
  survive_keep(t);
  must(tutti_comm_grow(t->comm, 0, &next), "taking in newcomers");
  const int joined = tutti_comm_newcomers(next);
  if (!joined && tutti_comm_size(next) == before) {
    must(tutti_comm_free(next), "freeing a communicator");
    return;
  }
  begin_anew(t, next);
  snprintf(why, sizeof why, "%d joined, %d left at the end of an epoch", joined,
           before + joined - t->ranks);
  say(t, why);
}

void survive_join(trainer *t) {
  begin_anew(t, NULL);
}
