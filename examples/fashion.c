/* fashion.c - trains a classifier of clothes, on all ranks together.
 *
 * Idea      Every rank has the same network and processes its part of each batch. tutti sums the
 *           gradients while the next ones are computed. All ranks therefore make the same step, and
 *           their weights stay equal to the last bit.
 * Try       tutti run -n 4 build/examples/fashion
 * Read      fashion_exchange.c for the calls of tutti, and fashion_train.c for where they are made.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <cblas.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fashion.h"

enum { TRACE_AT = 300, TRACE_STEPS = 3 }; /* the traced steps: the first one, and their number */

static int my_rank = -1;

void must(tutti_status status, const char *what) {
  if (status == TUTTI_OK) return;
  fprintf(stderr, "fashion: rank %d: %s: %s\n", my_rank, what, tutti_error());
  exit(1);
}

void *room(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  if (memory) return memory;
  fprintf(stderr, "fashion: out of memory (%zu x %zu bytes)\n", count, size);
  exit(1);
}

double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

uint64_t random_bits(uint64_t *seed) {
  uint64_t x = *seed += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* ---- options ---- */

static const char usage[] =
    "usage: tutti run -n RANKS fashion [options]\n"
    "  --data FOLDER    where the four .gz files are (/usr/share/datasets/fashion-mnist)\n"
    "  --epochs N       passes over the training set (10)\n"
    "  --steps N        stop after N steps, without the test\n"
    "  --batch N        pictures per step, over all ranks (256)\n"
    "  --need X         accuracy below which the exit status is 3 (0.87)\n"
    "  --algo NAME      run this plan instead of tutti's choice\n"
    "  --blocking       sum each gradient where it is made, without overlap\n"
    "  --reverse        each batch back to front: other rounding, same mathematics\n"
    "  --survive        when a rank dies, continue without it (tutti run --keep-going), or with\n"
    "                   the process that replaces it (--respawn)\n"
    "  --measure        time the ways to sum, instead of training\n"
    "  --curve FILE     write step and loss\n"
    "  --pace FILE      write now and then how many ranks make how many steps per second\n"
    "  --timeline FILE  write what every rank did in a few steps\n";

static void refuse(const char *what, const char *value) {
  if (my_rank <= 0) fprintf(stderr, "fashion: %s: %s\n%s", what, value, usage);
  exit(1);
}

static int whole(const char *name, const char *text, int most) {
  char *end;
  errno = 0;
  long value = strtol(text, &end, 10);
  if (end == text || *end || errno || value < 1 || value > most) refuse(name, text);
  return (int)value;
}

static double fraction(const char *text) {
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end || !(value >= 0 && value <= 1)) refuse("--need is not in 0..1", text);
  return value;
}

static options parse(int argc, char **argv) {
  options o = {
      .data = "/usr/share/datasets/fashion-mnist", .epochs = 10, .batch = 256, .need = 0.87};
  static const struct option known[] = {
      {"data", 1, NULL, 'd'},     {"epochs", 1, NULL, 'e'},   {"steps", 1, NULL, 's'},
      {"batch", 1, NULL, 'b'},    {"need", 1, NULL, 'n'},     {"algo", 1, NULL, 'a'},
      {"blocking", 0, NULL, 'B'}, {"reverse", 0, NULL, 'r'},  {"measure", 0, NULL, 'm'},
      {"curve", 1, NULL, 'c'},    {"timeline", 1, NULL, 't'}, {"help", 0, NULL, 'h'},
      {"survive", 0, NULL, 'S'},  {"pace", 1, NULL, 'p'},     {NULL, 0, NULL, 0}};
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) switch (c) {
      case 'd': o.data = optarg; break;
      case 'e': o.epochs = whole("--epochs is not a number in 1..1000", optarg, 1000); break;
      case 's': o.steps = whole("--steps is not a number of at least 1", optarg, 100000000); break;
      case 'b': o.batch = whole("--batch is not a number in 1..10000", optarg, 10000); break;
      case 'n': o.need = fraction(optarg); break;
      case 'a': o.algo = optarg; break;
      case 'B': o.blocking = true; break;
      case 'r': o.reverse = true; break;
      case 'm': o.measure = true; break;
      case 'S': o.survive = true; break;
      case 'c': o.curve = optarg; break;
      case 'p': o.pace = optarg; break;
      case 't': o.timeline = optarg; break;
      case 'h':
        if (my_rank == 0) fputs(usage, stdout);
        exit(0);
      default: refuse("no such option, or its value is missing", argv[optind - 1]);
    }
  if (optind < argc) refuse("what is this?", argv[optind]);
  return o;
}

/* ---- training ---- */

/* Stores the loss of the step before the previous step. Its sum over all ranks is complete. */
static void learned(const trainer *t, progress *p, float *losses, int64_t steps) {
  losses[t->step - 2] = (float)t->exchange.loss;
  if (!isfinite(t->exchange.loss)) {
    if (t->rank == 0) fprintf(stderr, "fashion: the loss is not a number any more; stopping\n");
    exit(1);
  }
  progress_step(p, t, t->exchange.loss, t->step % t->steps_per_epoch == 0 || t->step == steps);
}

/* Runs all training steps, and stores the loss of each step in `losses`. The loss becomes known when the sums of its
 * step are complete, in the middle of the next step. */
static void train(trainer *t, const options *o, float *losses, int64_t steps) {
  progress p;
  progress_open(&p, steps, o->pace);
  int64_t from = steps > TRACE_AT + TRACE_STEPS ? TRACE_AT
                 : steps > TRACE_STEPS          ? steps - TRACE_STEPS
                                                : 0;
  for (bool settled = false; !settled;) {
    settled = t->step == steps;
    t->trace.on = !settled && o->timeline && t->step >= from && t->step < from + TRACE_STEPS;
    if (settled)
      trainer_settle(t);
    else
      trainer_step(t);
    if (t->exchange.lost) {
      survive_lost(t);
      my_rank = t->rank;
      settled = false;
    } else if (!settled && t->step > 1) {
      learned(t, &p, losses, steps);
      if (o->survive && t->step < steps && t->step % t->steps_per_epoch == 0) survive_grow(t);
    }
  }
  losses[steps - 1] = (float)t->exchange.loss;
  if (t->rank == 0) report_training(&p, t);
}

static void write_curve(const trainer *t, const char *path, const float *losses, int64_t steps) {
  FILE *file = fopen(path, "w");
  if (!file) {
    fprintf(stderr, "fashion: %s: %s\n", path, strerror(errno));
    exit(1);
  }
  fprintf(file, "# step epoch loss\n");
  for (int64_t s = 0; s < steps; s++)
    fprintf(file, "%lld %.5f %.9g\n", (long long)(s + 1),
            (double)(s + 1) / (double)t->steps_per_epoch, (double)losses[s]);
  fclose(file);
}

/* Trains the network. Then tests it, unless the user requested only some of the steps. Returns the exit status. */
static int train_and_test(trainer *t, const options *o, const pictures *test) {
  int64_t table[CLASSES][CLASSES];
  int64_t steps = o->steps && o->steps < t->steps_in_all ? o->steps : t->steps_in_all;
  float *losses = room((size_t)steps, sizeof *losses);
  train(t, o, losses, steps);
  if (t->rank == 0 && o->curve) write_curve(t, o->curve, losses, steps);
  if (o->timeline) trace_write(t->comm, &t->trace, o->timeline);
  free(losses);
  if (o->steps) return 0;
  if (t->rank == 0 && t->ranks > 1)
    exchange_plans(&t->exchange, "the plans that ran, in the order of the backward pass:");
  bool same = trainer_same_weights(t);
  trainer_test(t, test, table);
  if (t->rank != 0) return 0;
  if (t->ranks > 1)
    printf("after %lld steps the weights of the %d ranks are %s\n", (long long)steps, t->ranks,
           same ? "the same to the last bit" : "NOT the same: FAIL");
  return report_test(table, o->need) && same ? 0 : 3;
}

int main(int argc, char **argv) {
  tutti_comm *comm = NULL;
  pictures training, test;
  openblas_set_num_threads(1); /* the ranks are the parallelism */
  const bool newcomer = tutti_newcomer();
  options o = {.data = NULL};
  if (newcomer) { /* a joiner reads the data while the others train */
    o = parse(argc, argv);
    data_read(o.data, &training, &test);
  }
  must(tutti_comm_from_env(&comm), "joining the other ranks");
  my_rank = tutti_comm_rank(comm);
  if (!newcomer) {
    o = parse(argc, argv);
    if (o.algo)
      must(tutti_comm_configure(comm,
                                &(tutti_config){.size = sizeof(tutti_config), .algorithm = o.algo}),
           "--algo");
    data_load(comm, o.data, &training, &test);
  }

  static trainer t;
  int status = 0;
  trainer_open(&t, comm, &training, &o);
  if (newcomer) survive_join(&t);
  if (o.measure)
    measure(&t);
  else
    status = train_and_test(&t, &o, &test);
  trainer_close(&t);
  data_free(&training);
  data_free(&test);
  must(tutti_comm_free(t.comm), "freeing the communicator");
  must(tutti_finalize(), "finalize");
  return status;
}
