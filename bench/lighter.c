/* lighter.c - compares allreduces of gradients without compression, with lossless, and with lossy
 * compression. The variants alternate in the same processes. bench/lighter.py runs it on several
 * hosts.
 *
 *   tutti run ... lighter float|bf16 ROUNDS BUDGET FIRST LAST FILE ...
 *
 * FILE has floats from `make bench-gradients`: the gradients of ROWS ranks. Rank r uses gradient r
 * mod ROWS, and repeats it to fill a vector. bf16 uses the upper halves of the floats, with
 * lossless compression only. A round times each variant on the slowest rank for BUDGET seconds,
 * with at least one call. Before that, it makes the same number of calls of the variant untimed,
 * because a shaped link (token bucket) collects burst credit while it is idle; otherwise the
 * previous variant would determine how much credit is left. For each file, type and size, rank 0
 * prints a line of JSON with the medians in us, and the medians over the rounds of the ratio of
 * uncompressed to compressed time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <tutti.h>
#include <tutti_plan.h>

#include "timing.h"

enum { ROWS = 8, WAYS = 3, OF_BF16 = 2, MOST_ROUNDS = 64 };
static const struct {
  const char *name, *code;
} ways[WAYS] = {{"plain", "none"}, {"lossless", "lossless"}, {"error", "error=1e-2"}};

typedef struct bench {
  tutti_comm *comm;
  int rank, rounds;
  double budget;
  float *gradient; /* this rank's gradient */
  size_t n;        /* number of floats in it */
  char *from, *to;
} bench;

static void must(tutti_status status) {
  if (!status) return;
  fprintf(stderr, "lighter: %s\n", tutti_error());
  exit(1);
}

static void sum(const bench *b, const void *from, void *to, size_t count, tutti_type type,
                tutti_op op, const char *code) {
  const tutti_call call = {.size = sizeof call,
                           .coll = TUTTI_ALLREDUCE,
                           .src = from,
                           .dst = to,
                           .count = count,
                           .type = type,
                           .op = op,
                           .compression = code};
  tutti_request *request;
  must(tutti_call_start(b->comm, &call, &request));
  must(tutti_request_wait(&request));
}

static double slowest(const bench *b, double mine) {
  double most;
  sum(b, &mine, &most, 1, TUTTI_DOUBLE, TUTTI_MAX, "none");
  return most;
}

static void calls(const bench *b, int way, size_t count, tutti_type type, int times) {
  for (int i = 0; i < times; i++) sum(b, b->from, b->to, count, type, TUTTI_SUM, ways[way].code);
}

/* Makes `times` calls that are not timed, then `times` calls that are timed. Returns the seconds per timed call. */
static double run(const bench *b, int way, size_t count, tutti_type type, int times) {
  calls(b, way, count, type, times);
  const double begin = timing_now();
  calls(b, way, count, type, times);
  return slowest(b, (timing_now() - begin) / times);
}

/* Fills this rank's vector of `bytes` bytes with the gradient. A bf16 number is the upper half of a float. */
static void fill(const bench *b, size_t bytes, tutti_type type) {
  if (type == TUTTI_FLOAT)
    for (size_t i = 0; i < bytes / 4; i++) memcpy(b->from + 4 * i, &b->gradient[i % b->n], 4);
  else
    for (size_t i = 0; i < bytes / 2; i++)
      memcpy(b->from + 2 * i, (const char *)&b->gradient[i % b->n] + 2, 2);
}

static void say(const bench *b, const char *file, size_t bytes, tutti_type type, int of,
                double us[WAYS][MOST_ROUNDS]) {
  const size_t count = bytes / tutti_type_size(type);
  char plan[300];
  if (b->rank == 0)
    printf("{\"gradient\": \"%s\", \"type\": \"%s\", \"bytes\": %zu, \"ranks\": %d", file,
           tutti_type_name(type), bytes, tutti_comm_size(b->comm));
  for (int w = 0; w < of; w++) {
    double ratio[MOST_ROUNDS];
    size_t coded = bytes;
    for (int r = 0; r < b->rounds; r++) ratio[r] = us[0][r] / us[w][r];
    must(tutti_comm_configure(
        b->comm, &(tutti_config){.size = sizeof(tutti_config), .compression = ways[w].code}));
    must(tutti_comm_plan(b->comm, TUTTI_ALLREDUCE, count, type, TUTTI_SUM, plan, sizeof plan));
    must(tutti_code_local(ways[w].code, b->from, NULL, count, type, &coded));
    if (b->rank == 0)
      printf(", \"%s\": {\"ratio\": %.4f, \"left\": %.4f, \"plan\": \"%s\"}", ways[w].name,
             timing_median(ratio, b->rounds), (double)coded / (double)bytes, plan);
  }
  must(tutti_comm_configure(b->comm, &(tutti_config){.size = sizeof(tutti_config)}));
  for (int w = 0; w < of && b->rank == 0; w++)
    printf(", \"%s_us\": %.1f", ways[w].name, timing_median(us[w], b->rounds));
  if (b->rank == 0) printf("}\n");
  fflush(stdout);
}

static void measure(const bench *b, const char *file, size_t bytes, tutti_type type) {
  static double us[WAYS][MOST_ROUNDS];
  const size_t count = bytes / tutti_type_size(type);
  const int of = type == TUTTI_FLOAT ? WAYS : OF_BF16;
  fill(b, bytes, type);
  double once = 0;
  for (int w = 0; w < of; w++) once += run(b, w, count, type, 1); /* untimed: the first call chooses the plan */
  const double fits = b->budget / (once / of) + 0.5;
  const int times = (int)slowest(b, fits < 1 ? 1 : fits > 1000 ? 1000 : fits);
  for (int r = 0; r < b->rounds; r++)
    for (int w = 0; w < of; w++) {
      const int way = (w + r) % of; /* a different variant is first in each round */
      us[way][r] = 1e6 * run(b, way, count, type, times);
    }
  say(b, file, bytes, type, of, us);
}

/* Reads the gradient of this rank from a file. */
static void read_gradient(bench *b, const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f || fseek(f, 0, SEEK_END)) {
    fprintf(stderr, "lighter: cannot read %s\n", path);
    exit(1);
  }
  b->n = (size_t)ftell(f) / sizeof(float) / ROWS;
  b->gradient = realloc(b->gradient, b->n * sizeof(float) + 1);
  const long at = (long)(b->n * sizeof(float)) * (b->rank % ROWS);
  if (!b->n || !b->gradient || fseek(f, at, SEEK_SET) ||
      fread(b->gradient, sizeof(float), b->n, f) != b->n) {
    fprintf(stderr, "lighter: %s has no gradients of %d ranks\n", path, ROWS);
    exit(1);
  }
  fclose(f);
}

int main(int argc, char **argv) {
  bench b = {.gradient = NULL};
  if (argc < 7) {
    fprintf(stderr, "usage: lighter float|bf16 ROUNDS BUDGET FIRST LAST FILE ...\n");
    return 2;
  }
  const tutti_type type = strcmp(argv[1], "bf16") == 0 ? TUTTI_BFLOAT16 : TUTTI_FLOAT;
  b.rounds = atoi(argv[2]);
  b.budget = atof(argv[3]);
  const size_t first = strtoull(argv[4], NULL, 10), last = strtoull(argv[5], NULL, 10);
  if (b.rounds < 1 || b.rounds > MOST_ROUNDS || first < 4 || last < first) return 2;
  must(tutti_comm_from_env(&b.comm));
  b.rank = tutti_comm_rank(b.comm);
  b.from = malloc(last);
  b.to = malloc(last);
  if (!b.from || !b.to) return 1;
  for (int i = 6; i < argc; i++) {
    const char *slash = strrchr(argv[i], '/');
    read_gradient(&b, argv[i]);
    for (size_t bytes = first; bytes <= last; bytes *= 4)
      measure(&b, slash ? slash + 1 : argv[i], bytes, type);
  }
  free(b.gradient);
  free(b.from);
  free(b.to);
  must(tutti_comm_free(b.comm));
  must(tutti_finalize());
  return 0;
}
