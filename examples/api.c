/* api.c - a short example of every function of tutti.h. The manual contains them
 * (docs/reference/c-api.md).
 * Each example is a function. CHECK ends the program if a call fails or a result is wrong.
 * Try: make build/examples/api && tutti run -n 3 build/examples/api
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti.h>
#include <tutti_launch.h>
#include <tutti_net.h>
#include <tutti_plan.h>

#define CHECK(call) check((call) == 0, #call)
static void check(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "%s: %s\n", what, tutti_error());
  exit(1);
}

static void example_version(tutti_comm *comm) {
  int major, minor, patch;
  printf("tutti %s\n", tutti_version(&major, &minor, &patch));
  for (int i = 0; tutti_info(i); i++) printf("%s\n", tutti_info(i));
  check(tutti_comm_size(comm) > tutti_comm_rank(comm), "this rank is one of the communicator's");
}

static void example_types_and_ops(tutti_comm *comm) {
  check(tutti_type_size(TUTTI_BFLOAT16) == 2, "bytes of an element");
  check(strcmp(tutti_type_name(TUTTI_BFLOAT16), "bf16") == 0, "the name of a type");
  check(strcmp(tutti_op_name(TUTTI_MAX), "max") == 0, "the name of an op");
  check(!tutti_type_has_op(TUTTI_FLOAT, TUTTI_BXOR), "floats have no xor");
  (void)comm;
}

static void example_error(tutti_comm *comm) {
  float x = 1;
  tutti_status status =
      tutti_allreduce(comm, &x, NULL, 1, TUTTI_FLOAT, TUTTI_SUM); /* dst is missing */
  if (status != TUTTI_OK) printf("%s: %s\n", tutti_strerror(status), tutti_error());
  check(status == TUTTI_ERR_ARG, "a wrong argument is refused, and nothing else happens");
}

static void to_stdout(void *ctx, int level, const char *line) {
  fprintf(ctx, "%s: %s\n", level ? "information" : "warning", line);
}
static void example_log(tutti_comm *comm) {
  tutti_log_set(to_stdout, stdout); /* to restore the setting of TUTTI_LOG: */
  tutti_log_set(NULL, NULL);
  (void)comm;
}

static void *take(size_t bytes) {
  return aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
}
static void example_scratch(tutti_comm *comm) {
  tutti_scratch_set(take, free); /* later calls take memory for partial results from this allocator */
  tutti_scratch_set(NULL, NULL); /* the default */
  (void)comm;
}

static void example_allreduce(tutti_comm *comm) {
  double mine[2] = {tutti_comm_rank(comm), 1}, sum[2];
  CHECK(tutti_allreduce(comm, mine, sum, 2, TUTTI_DOUBLE, TUTTI_SUM));
  check(sum[1] == tutti_comm_size(comm), "each rank has added 1");
  CHECK(tutti_allreduce(comm, mine, mine, 2, TUTTI_DOUBLE, TUTTI_MAX)); /* in place */
  check(mine[0] == tutti_comm_size(comm) - 1, "the largest rank");
}

static void example_list(tutti_comm *comm) {
  float weights[300] = {1}, bias[3] = {2};
  const void *srcs[] = {weights, bias};
  void *dsts[] = {weights, bias}; /* in place */
  const size_t counts[] = {300, 3};
  const tutti_call call = {.size = sizeof call,
                           .coll = TUTTI_ALLREDUCE,
                           .type = TUTTI_FLOAT,
                           .op = TUTTI_AVG,
                           .n = 2,
                           .srcs = srcs,
                           .dsts = dsts,
                           .counts = counts};
  tutti_request *request;
  CHECK(tutti_call_start(comm, &call, &request));
  CHECK(tutti_request_wait(&request));
  check(weights[0] == 1 && bias[0] == 2, "the mean of equal numbers");
}

static void example_reduce_scatter(tutti_comm *comm) {
  const int P = tutti_comm_size(comm);
  int *all = calloc((size_t)P, sizeof *all), mine = 0;
  for (int r = 0; r < P; r++) all[r] = r; /* one element for each rank */
  CHECK(tutti_reduce_scatter(comm, all, &mine, 1, TUTTI_INT32, TUTTI_SUM));
  check(mine == P * tutti_comm_rank(comm), "this rank's element of the sum");
  CHECK(tutti_allgather(comm, &mine, all, 1, TUTTI_INT32));
  check(all[P - 1] == P * (P - 1), "the last rank's element");
  /* in place; all ranks had the same values */
  CHECK(tutti_alltoall(comm, all, all, 1, TUTTI_INT32));
  check(all[0] == mine, "this rank's element of rank 0's vector");
  free(all);
}

static void example_counts(tutti_comm *comm) {
  const int P = tutti_comm_size(comm), me = tutti_comm_rank(comm);
  size_t *counts = calloc((size_t)P, sizeof *counts), n = 0;
  for (int r = 0; r < P; r++) n += counts[r] = (size_t)r + 1; /* rank r has r + 1 elements */
  int *all = calloc(n, sizeof *all), *mine = calloc((size_t)me + 1, sizeof *mine);
  for (size_t i = 0; i < n; i++) all[i] = 1;
  CHECK(tutti_reduce_scatterv(comm, all, mine, counts, TUTTI_INT32, TUTTI_SUM));
  check(mine[me] == P, "the last element of this rank's block");
  CHECK(tutti_allgatherv(comm, mine, all, counts, TUTTI_INT32));
  check(all[n - 1] == P, "the last element of all");
  CHECK(tutti_scatterv(comm, all, mine, counts, TUTTI_INT32, 0)); /* rank 0's blocks */
  CHECK(tutti_gatherv(comm, mine, all, counts, TUTTI_INT32, 0));  /* and back */
  size_t *from = calloc((size_t)P, sizeof *from); /* rank r sends r + 1 elements to each rank */
  for (int r = 0; r < P; r++) from[r] = (size_t)r + 1, counts[r] = (size_t)me + 1;
  int *sent = calloc((size_t)P * ((size_t)me + 1), sizeof *sent);
  CHECK(tutti_alltoallv(comm, sent, counts, all, from, TUTTI_INT32));
  check(all[n - 1] == 0, "the last element of the last rank");
  free(sent), free(from), free(all), free(mine), free(counts);
}

static void example_rooted(tutti_comm *comm) {
  const int P = tutti_comm_size(comm), me = tutti_comm_rank(comm), root = P - 1;
  int one = 1, sum = 0, *all = calloc((size_t)P, sizeof *all);
  CHECK(tutti_broadcast(comm, &root, &one, 1, TUTTI_INT32, root)); /* the root's number, to all */
  check(one == root, "the root's number");
  CHECK(tutti_reduce(comm, &one, &sum, 1, TUTTI_INT32, TUTTI_SUM,
                     root)); /* only the root gets the sum */
  CHECK(tutti_gather(comm, &me, all, 1, TUTTI_INT32, root));
  check(me != root || (sum == P * root && all[root] == root), "what the root gets");
  CHECK(tutti_scatter(comm, all, &one, 1, TUTTI_INT32, root)); /* each rank gets its number back */
  check(one == me, "this rank's number");
  free(all);
}

static void example_scan(tutti_comm *comm) {
  const int me = tutti_comm_rank(comm);
  int length = 10, end = 0, begin = 0;
  CHECK(tutti_scan(comm, &length, &end, 1, TUTTI_INT32, TUTTI_SUM));
  CHECK(tutti_exscan(comm, &length, &begin, 1, TUTTI_INT32, TUTTI_SUM)); /* rank 0's stays 0 */
  check(begin == 10 * me && end == begin + length,
        "where this rank's part of a file begins and ends");
}

static void longest(const void *a, const void *b, void *dst, size_t count, tutti_type type,
                    void *ctx) {
  const float *x = a, *y = b;
  float *z = dst;
  for (size_t i = 0; i < count; i++) z[i] = fabsf(x[i]) >= fabsf(y[i]) ? x[i] : y[i];
  (void)type, (void)ctx;
}
static void example_own_op(tutti_comm *comm) {
  float x = -1 - (float)tutti_comm_rank(comm), y = 0;
  tutti_op op;
  CHECK(tutti_op_create(longest, NULL, 1, &op)); /* on all ranks; 1: it commutes */
  CHECK(tutti_allreduce(comm, &x, &y, 1, TUTTI_FLOAT, op));
  check(y == -(float)tutti_comm_size(comm), "the number with the largest magnitude");
  CHECK(tutti_op_free(op));
}

static void example_weighted_sum(tutti_comm *comm) {
  float x = 1, sum = 0;
  tutti_op op;
  CHECK(tutti_op_create_scaled(0.5, &op)); /* this rank's weight */
  CHECK(tutti_allreduce(comm, &x, &sum, 1, TUTTI_FLOAT, op));
  check(sum == 0.5f * (float)tutti_comm_size(comm), "the sum of the weighted numbers");
  CHECK(tutti_op_free(op));
}

static void example_reduce_local(tutti_comm *comm) {
  const short a[] = {1, 5}, b[] = {4, 2};
  short both[2];
  CHECK(tutti_reduce_local(a, b, both, 2, TUTTI_INT16, TUTTI_MIN)); /* no communication */
  check(both[0] == 1 && both[1] == 2, "the smaller ones");
  (void)comm;
}

static void example_mem_alloc(tutti_comm *comm) {
  const size_t n = 100000;
  void *x;
  CHECK(tutti_mem_alloc(comm, n * sizeof(float), &x)); /* peers on this machine read it directly */
  CHECK(tutti_allreduce(comm, x, x, n, TUTTI_FLOAT, TUTTI_SUM));
  CHECK(tutti_mem_free(comm, x));
  float *own = calloc(n, sizeof *own); /* memory of the program, which peers also read directly */
  CHECK(tutti_comm_register(comm, own, n * sizeof *own));
  CHECK(tutti_allreduce(comm, own, own, n, TUTTI_FLOAT, TUTTI_SUM));
  CHECK(tutti_comm_deregister(comm, own));
  free(own);
}

static void example_split(tutti_comm *comm) {
  const int me = tutti_comm_rank(comm);
  tutti_comm *half, *copy;
  CHECK(tutti_comm_split(comm, me % 2, me, &half)); /* even and odd ranks, in the same order */
  check(tutti_comm_rank(half) == me / 2, "this rank among those of its half");
  CHECK(tutti_comm_free(half));
  CHECK(tutti_comm_dup(comm, &copy)); /* the same ranks, for another thread or library */
  CHECK(tutti_comm_free(copy));
}

static void example_choose(tutti_comm *comm) {
  float x = 1;
  tutti_config config = {.size = sizeof config};
  CHECK(tutti_comm_config(comm, &config));   /* the settings in effect */
  config.algorithm = "doubling:0-64k;^tree"; /* doubling up to 64 KiB, and never a tree */
  config.contract = TUTTI_CONTRACT_EXACT;    /* the exact sum, rounded once */
  config.name = "example";                   /* for the log, traces and `tutti doctor` */
  CHECK(tutti_comm_configure(comm, &config));
  CHECK(tutti_allreduce(comm, &x, &x, 1, TUTTI_FLOAT, TUTTI_SUM));
  config = (tutti_config){.size = sizeof config,
                          .compression = "error=1e-2"}; /* fewer bytes between hosts */
  CHECK(tutti_comm_configure(comm, &config));
  config = (tutti_config){.size = sizeof config};
  CHECK(tutti_comm_configure(comm, &config)); /* restores the settings */
}

static void example_helpers(tutti_comm *comm) {
  const int helpers =
      tutti_comm_size(comm) > 2; /* the last of three ranks or more only helps, without data */
  float x = 1, sum = 0;
  tutti_config config = {.size = sizeof config, .helpers = helpers};
  CHECK(tutti_comm_configure(comm, &config));
  CHECK(tutti_allreduce(comm, &x, &sum, 1, TUTTI_FLOAT, TUTTI_SUM));
  config.helpers = 0;
  CHECK(tutti_comm_configure(comm, &config));
}

static void *work(void *comm) {
  int x = 1;
  CHECK(tutti_allreduce(comm, &x, &x, 1, TUTTI_INT32, TUTTI_SUM));
  check(x == 2, "the sum of two threads");
  CHECK(tutti_comm_free(comm));
  return NULL;
}
static void example_threads(tutti_comm *comm) {
  tutti_comm *comms[2];
  pthread_t other;
  CHECK(tutti_comm_from_threads(2, comms)); /* two ranks, which are threads of this process */
  check(!pthread_create(&other, NULL, work, comms[1]), "a thread");
  work(comms[0]);
  pthread_join(other, NULL);
  (void)comm;
}

static void example_start(tutti_comm *comm) {
  float x[1000] = {1}, sum[1000];
  tutti_request *request;
  int done = 0;
  CHECK(tutti_allreduce_start(comm, x, sum, 1000, TUTTI_FLOAT, TUTTI_SUM, &request));
  for (int i = 0; i < 10 && !done; i++)
    CHECK(tutti_request_test(&request, &done)); /* between parts of other work */
  CHECK(tutti_request_wait(&request));          /* returns immediately if it is done */
  check(sum[0] == (float)tutti_comm_size(comm), "the sum");
}

static void example_call_init(tutti_comm *comm) {
  float x[1000] = {0}, sum[1000];
  tutti_request *request;
  const tutti_call call = {.size = sizeof call,
                           .coll = TUTTI_ALLREDUCE,
                           .src = x,
                           .dst = sum,
                           .count = 1000,
                           .type = TUTTI_FLOAT,
                           .op = TUTTI_SUM};
  CHECK(tutti_call_init(comm, &call, &request)); /* checks the arguments once */
  for (int step = 0; step < 3; step++) {
    for (int i = 0; i < 1000; i++) x[i] = (float)step;
    CHECK(tutti_request_start(request));
    CHECK(tutti_request_wait(&request));
    check(sum[0] == (float)(step * tutti_comm_size(comm)), "the sum of this step");
  }
  CHECK(tutti_request_free(&request));
}

enum { N = 3, RANKS = 64, FORMS = 16 };
static float in[RANKS * N],
    out[FORMS][RANKS * N]; /* for up to RANKS ranks; each request has separate buffers */
static size_t counts[RANKS];

static void example_every_start(tutti_comm *comm) {
  tutti_request *r[FORMS], **next = r;
  size_t first;
  for (int i = 0; i < tutti_comm_size(comm); i++) counts[i] = N;
  CHECK(tutti_allreduce_start(comm, in, out[0], N, TUTTI_FLOAT, TUTTI_SUM, next++));
  CHECK(tutti_reduce_scatter_start(comm, in, out[1], N, TUTTI_FLOAT, TUTTI_SUM, next++));
  CHECK(tutti_reduce_scatterv_start(comm, in, out[2], counts, TUTTI_FLOAT, TUTTI_SUM, next++));
  CHECK(tutti_allgather_start(comm, in, out[3], N, TUTTI_FLOAT, next++));
  CHECK(tutti_allgatherv_start(comm, in, out[4], counts, TUTTI_FLOAT, next++));
  CHECK(tutti_broadcast_start(comm, in, out[5], N, TUTTI_FLOAT, 0, next++));
  CHECK(tutti_reduce_start(comm, in, out[6], N, TUTTI_FLOAT, TUTTI_SUM, 0, next++));
  CHECK(tutti_scan_start(comm, in, out[7], N, TUTTI_FLOAT, TUTTI_SUM, next++));
  CHECK(tutti_exscan_start(comm, in, out[8], N, TUTTI_FLOAT, TUTTI_SUM, next++));
  CHECK(tutti_gather_start(comm, in, out[9], N, TUTTI_FLOAT, 0, next++));
  CHECK(tutti_scatter_start(comm, in, out[10], N, TUTTI_FLOAT, 0, next++));
  CHECK(tutti_alltoall_start(comm, in, out[11], N, TUTTI_FLOAT, next++));
  CHECK(tutti_gatherv_start(comm, in, out[12], counts, TUTTI_FLOAT, 0, next++));
  CHECK(tutti_scatterv_start(comm, in, out[13], counts, TUTTI_FLOAT, 0, next++));
  CHECK(tutti_alltoallv_start(comm, in, counts, out[14], counts, TUTTI_FLOAT, next++));
  CHECK(tutti_barrier_start(comm, next++));
  CHECK(tutti_wait_any(FORMS, r, &first)); /* one request has completed: r[first] is NULL now */
  check(first < FORMS && !r[first], "one has completed");
  CHECK(tutti_wait_all(FORMS, r));
}

static void example_group(tutti_comm *comm) {
  int sum[2] = {1, 2}, root = 3;
  CHECK(tutti_group_begin(comm));
  CHECK(tutti_allreduce(comm, &sum[0], &sum[0], 1, TUTTI_INT32, TUTTI_SUM)); /* returns immediately */
  CHECK(tutti_allreduce(comm, &sum[1], &sum[1], 1, TUTTI_INT32, TUTTI_SUM));
  CHECK(tutti_broadcast(comm, &root, &root, 1, TUTTI_INT32, 0));
  CHECK(tutti_group_end(comm, NULL)); /* all three calls have run */
  check(sum[0] == tutti_comm_size(comm) && sum[1] == 2 * sum[0], "both sums");
  CHECK(tutti_comm_async_error(comm)); /* and nothing has failed */
}

static void example_coded(tutti_comm *comm) {
  float gradient[N] = {0.5f, -1, 2}, sum[N];
  size_t bytes;
  const tutti_call call = {.size = sizeof call,
                           .coll = TUTTI_ALLREDUCE,
                           .src = gradient,
                           .dst = sum,
                           .count = N,
                           .type = TUTTI_FLOAT,
                           .op = TUTTI_SUM,
                           .algorithm = "^naive", /* for this call alone */
                           .compression = "error=1e-2"};
  tutti_request *request;
  CHECK(tutti_call_start(comm, &call, &request));
  CHECK(tutti_request_wait(&request));
  CHECK(tutti_code_local("error=1e-2", gradient, gradient, N, TUTTI_FLOAT,
                         &bytes)); /* the decompressed values, and the size of the message */
  printf("3 floats in %zu bytes: %g %g %g\n", bytes, gradient[0], gradient[1], gradient[2]);
}

static void example_launcher(tutti_comm *comm) {
  tutti_job *job;
  CHECK(tutti_job_create(2, &job)); /* as in `tutti run -n 2`; then fork; a rank needs: */
  for (int i = 0; tutti_job_env(job, 1, i); i++)
    printf("rank 1 needs %s\n", tutti_job_env(job, 1, i));
  printf("and inherits descriptor %d\n", tutti_job_fd(job));
  tutti_job_free(job);
  (void)comm;
}

static void example_abort(tutti_comm *comm) {
  tutti_comm *copy;
  CHECK(tutti_comm_dup(comm, &copy));
  CHECK(tutti_comm_abort(copy, "the input has no more lines")); /* by any rank, at any time */
  check(tutti_barrier(copy) == TUTTI_ERR_ABORTED, "every rank gets the reason");
  CHECK(tutti_comm_free(copy));
}

int main(void) {
  static void (*const examples[])(tutti_comm *) = {
      example_version,      example_types_and_ops, example_error,     example_log,
      example_scratch,      example_allreduce,     example_list,      example_reduce_scatter,
      example_counts,       example_rooted,        example_scan,      example_own_op,
      example_weighted_sum, example_reduce_local,  example_mem_alloc, example_split,
      example_choose,       example_helpers,       example_threads,   example_start,
      example_call_init,    example_every_start,   example_coded,     example_group,
      example_launcher,     example_abort,
  };
  enum { EXAMPLES = sizeof examples / sizeof *examples };
  tutti_comm *comm;
  CHECK(tutti_comm_from_env(&comm)); /* the ranks that were started together */
  for (int i = 0; i < EXAMPLES; i++) examples[i](comm);
  if (tutti_comm_rank(comm) == 0) printf("%d examples\n", EXAMPLES);
  CHECK(tutti_comm_free(comm));
  CHECK(tutti_finalize());
  return 0;
}
