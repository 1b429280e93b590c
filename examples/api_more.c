/* api_more.c - a short example of each function that tutti.h itself does not declare, for Doxygen's
 * pages (tools/Doxyfile).
 * Each example is a function. CHECK ends the program if a call fails or a result is wrong.
 * Try: make build/examples/api_more && tutti run -n 3 build/examples/api_more
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tutti.h>
#include <tutti_create.h>
#include <tutti_launch.h>
#include <tutti_plan.h>
#include <unistd.h>

#define CHECK(call) check((call) == 0, #call)
static void check(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "%s: %s\n", what, tutti_error());
  exit(1);
}

static void example_algorithms(tutti_comm *comm) {
  const char *sentence;
  for (int i = 0; tutti_algo_name(i, &sentence); i++)
    printf("%s: %s (%s)\n", tutti_algo_name(i, NULL), sentence, tutti_algo_source(i));
  check(strcmp(tutti_coll_name(TUTTI_ALLGATHER), "allgather") == 0, "the name of a collective");
  (void)comm;
}

static void example_variables(tutti_comm *comm) {
  const char *group, *example, *meaning;
  for (int i = 0; tutti_variable(i, &group, &example, &meaning); i++)
    printf("%s, of %s, as in %s: %s\n", tutti_variable(i, NULL, NULL, NULL), group, example,
           meaning);
  (void)comm;
}

static void example_setting(tutti_comm *comm) {
  const char *files = tutti_setting("TUTTI_CONF"), *limit = tutti_setting("TUTTI_TIMEOUT");
  printf("configuration: %s\ntimeout: %s\n", files ? files : "no file", limit ? limit : "none");
  (void)comm;
}

static void example_comm_plan(tutti_comm *comm) {
  char name[TUTTI_PLAN_TEXT];
  double seconds = 0;
  CHECK(tutti_comm_plan(comm, TUTTI_ALLREDUCE, 1000, TUTTI_FLOAT, TUTTI_SUM, name, sizeof name));
  tutti_status status =
      tutti_comm_price(comm, TUTTI_ALLREDUCE, 1000, TUTTI_FLOAT, TUTTI_SUM, &seconds);
  check(status == TUTTI_OK || status == TUTTI_ERR_UNSUPPORTED, "a price, or none");
  printf("1000 floats by %s, in about %.1f us\n", name, seconds * 1e6);
}

static void example_comm_explain(tutti_comm *comm) {
  char *text;
  CHECK(tutti_comm_explain(comm, TUTTI_ALLREDUCE, 1000, TUTTI_FLOAT, TUTTI_SUM, 0, &text));
  printf("%s", text);
  tutti_text_free(text);
}

static void example_comm_apart(tutti_comm *comm) {
  const char *level, *network = tutti_comm_network(comm);
  int apart = tutti_comm_apart(comm, 0, tutti_comm_size(comm) - 1, &level);
  check(apart == 0 || network, "ranks share memory, or there is a network between them");
  if (apart)
    printf("%s of the network %s lies between the first rank and the last\n", level, network);
}

static void example_schedule(tutti_comm *comm) {
  char *text, *words;
  tutti_report report = {.size = sizeof report};
  const tutti_drawing drawing = {.size = sizeof drawing, .picture = TUTTI_PICTURE_WORDS, .rank = 0};
  CHECK(tutti_schedule_text("ring", TUTTI_REDUCE_SCATTER, 4, -1, 0, 0, &text)); /* for 4 ranks */
  CHECK(tutti_schedule_check(text, &report));
  check(report.proven && report.messages == 3,
        "it is right for every count, with 3 messages a rank");
  CHECK(tutti_schedule_draw(text, &drawing, &words));
  printf("%s", words); /* the steps of rank 0 */
  tutti_text_free(words), tutti_text_free(text);
  (void)comm;
}

static void example_prices(tutti_comm *comm) {
  const tutti_question question = {.size = sizeof question,
                                   .coll = TUTTI_ALLREDUCE,
                                   .ranks = 12,
                                   .type = TUTTI_FLOAT,
                                   .op = TUTTI_SUM,
                                   .topo = "node:3 core:4"};
  tutti_prices *prices;
  tutti_offer best = {.size = sizeof best}, other = {.size = sizeof other};
  char *text;
  CHECK(tutti_prices_make(&question, &prices));
  CHECK(tutti_prices_chosen(prices, 1 << 20, &best)); /* for 1 MiB */
  for (int i = 0; tutti_prices_offer(prices, 1 << 20, i, 0, &other) == TUTTI_OK; i++)
    if (other.possible) printf("%s: %.1f us\n", other.name, other.seconds * 1e6);
  CHECK(tutti_prices_explain(prices, 1 << 20, 0, &text));
  printf("%s, bound by %s\n%s", best.name, best.bound, text);
  tutti_text_free(text);
  tutti_prices_free(prices);
  (void)comm;
}

static void example_comm_prices(tutti_comm *comm) {
  tutti_prices *prices;
  tutti_offer best = {.size = sizeof best};
  CHECK(tutti_comm_prices(comm, TUTTI_BROADCAST, TUTTI_FLOAT, TUTTI_SUM, 0, &prices));
  CHECK(tutti_prices_chosen(prices, 4096, &best)); /* as a call on this communicator would choose */
  printf("a broadcast of 4 KiB takes %s\n", best.name);
  tutti_prices_free(prices);
}

static void example_profile(tutti_comm *comm) {
  char *text;
  CHECK(tutti_profile_text(&text));
  printf("%s", text); /* such a file can be read back: TUTTI_PROFILE=FILE */
  tutti_text_free(text);
  (void)comm;
}

static void example_measure(tutti_comm *comm) {
  tutti_measured found = {.size = sizeof found};
  CHECK(tutti_comm_measure(comm, TUTTI_ALLREDUCE, 1000, TUTTI_FLOAT, TUTTI_SUM, &found));
  if (found.candidates) printf("%s: %.1f us, the fastest\n", found.plan, found.seconds * 1e6);
  tutti_config config = {.size = sizeof config,
                         .measure = 1}; /* each new kind of call is measured first */
  CHECK(tutti_comm_configure(comm, &config));
  config.measure = -1;
  CHECK(tutti_comm_configure(comm, &config));
}

static void example_wisdom(tutti_comm *comm) {
  char *text, here[512], path[] = "/tmp/tutti-wisdom-XXXXXX";
  CHECK(tutti_wisdom_export(&text)); /* the measurements of this process */
  CHECK(tutti_wisdom_forget());
  CHECK(tutti_wisdom_import(text));
  const int fd = mkstemp(path);
  check(fd >= 0, "a file");
  CHECK(tutti_wisdom_save(path)); /* later jobs read it: TUTTI_WISDOM=FILE */
  CHECK(tutti_wisdom_here(tutti_comm_size(comm), here, sizeof here));
  printf("wisdom of %s\n%s", here, text);
  tutti_text_free(text), close(fd), unlink(path);
}

static void example_job_report(tutti_comm *comm) {
  char *text;
  if (tutti_comm_rank(comm) == 0) {
    CHECK(tutti_job_report((long)getpid(), 0, &text)); /* the job of this process */
    printf("%s", text);
    tutti_text_free(text);
  }
  CHECK(tutti_barrier(comm));
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static void example_trace_mark(tutti_comm *comm) {
  const double begin = now(); /* here the program reads its input */
  tutti_trace_mark(comm, "read input", begin, now());
}

static void example_message(tutti_comm *comm) {
  const int P = tutti_comm_size(comm), me = tutti_comm_rank(comm);
  int from_left;
  tutti_request *sent, *received;
  CHECK(tutti_send_start(comm, &me, 1, TUTTI_INT32, (me + 1) % P, 0, &sent)); /* to the right */
  CHECK(tutti_recv(comm, &from_left, 1, TUTTI_INT32, (me + P - 1) % P, 0, NULL));
  CHECK(tutti_request_wait(&sent));
  CHECK(tutti_recv_start(comm, &from_left, 1, TUTTI_INT32, (me + P - 1) % P, 0, NULL, &received));
  CHECK(tutti_send(comm, &me, 1, TUTTI_INT32, (me + 1) % P, 0));
  CHECK(tutti_request_wait(&received));
  check(from_left == (me + P - 1) % P, "the number of the rank to the left");
}

static void example_message_init(tutti_comm *comm) {
  const int P = tutti_comm_size(comm), me = tutti_comm_rank(comm);
  int out = 0, in = -1;
  tutti_request *both[2];
  CHECK(tutti_send_init(comm, &out, 1, TUTTI_INT32, (me + 1) % P, 0, &both[0]));
  CHECK(tutti_recv_init(comm, &in, 1, TUTTI_INT32, (me + P - 1) % P, 0, NULL, &both[1]));
  for (out = 0; out < 3; out++) {
    for (int i = 0; i < 2; i++) CHECK(tutti_request_start(both[i]));
    for (int i = 0; i < 2; i++) CHECK(tutti_request_wait(&both[i]));
    check(in == out, "what the rank to the left sent in this step");
  }
  for (int i = 0; i < 2; i++) CHECK(tutti_request_free(&both[i]));
}

static void example_buckets(tutti_comm *comm) {
  const tutti_tensor tensors[] = {{NULL, 300, TUTTI_FLOAT}, {NULL, 3, TUTTI_FLOAT}};
  const tutti_buckets_config config = {.size = sizeof config};
  tutti_buckets *buckets;
  int done;
  CHECK(tutti_buckets_create(comm, 2, tensors, &config, &buckets)); /* NULL: in memory of tutti */
  for (size_t i = 0; i < 2; i++) {
    *(float *)tutti_bucket_data(buckets, i) = (float)tutti_comm_rank(comm);
    CHECK(tutti_bucket_ready(buckets, i));       /* its sum begins */
    CHECK(tutti_bucket_test(buckets, i, &done)); /* between parts of other work */
  }
  CHECK(tutti_bucket_wait(buckets, 0));
  check(*(float *)tutti_bucket_data(buckets, 0) == (float)(tutti_comm_size(comm) - 1) / 2,
        "the mean");
  CHECK(tutti_buckets_wait(buckets)); /* the end of the step */
  check(tutti_bucket_of(buckets, 1) < tutti_buckets_count(buckets), "the second tensor's bucket");
  check(tutti_buckets_bytes(buckets) > 0, "the size at which a bucket is closed");
  check(tutti_comm_size(tutti_buckets_comm(buckets)) == tutti_comm_size(comm), "the same ranks");
  CHECK(tutti_buckets_free(buckets));
}

static void example_survive(tutti_comm *comm) {
  tutti_comm *failed, *smaller, *larger;
  CHECK(tutti_comm_dup(comm, &failed));
  const tutti_config config = {.size = sizeof config,
                               .timeout = 60}; /* the call fails if a rank is a minute late */
  CHECK(tutti_comm_configure(failed, &config));
  CHECK(tutti_barrier(failed));
  CHECK(tutti_barrier(comm)); /* all ranks have left the call that an abort would end */
  CHECK(tutti_comm_abort(failed, "as if a rank had died"));
  CHECK(tutti_comm_shrink(failed, &smaller)); /* the surviving ranks */
  CHECK(
      tutti_comm_grow(smaller, 0, &larger)); /* and processes that replace dead ranks */
  check(tutti_comm_size(smaller) == tutti_comm_size(comm), "no rank had died");
  check(tutti_comm_newcomers(larger) == 0 && !tutti_newcomer(), "no rank joined");
  CHECK(tutti_comm_free(larger));
  CHECK(tutti_comm_free(smaller));
  CHECK(tutti_comm_free(failed));
}

static void example_respawn(tutti_comm *comm) {
  tutti_job *job;
  CHECK(tutti_job_create_watched(2, 1, &job)); /* as in `tutti run -n 2 --respawn 1` */
  CHECK(tutti_job_ended(job, 1, 9)); /* rank 1 was killed; the rank that replaces it needs: */
  for (int i = 0; tutti_job_newcomer_env(job, 1, 0, i); i++)
    printf("%s\n", tutti_job_newcomer_env(job, 1, 0, i));
  tutti_job_free(job);
  (void)comm;
}

static int wants_to_stop(void *ctx) {
  return *(int *)ctx; /* such as a flag that a signal handler sets */
}
static void example_interrupt(tutti_comm *comm) {
  int stop = 0;
  tutti_interrupt_set(wants_to_stop, &stop);
  CHECK(tutti_barrier(comm)); /* not interrupted */
  stop = 1;
  check(tutti_interrupted() == 1, "a loop of the program's own would end here");
  tutti_interrupt_set(NULL, NULL);
}

static void example_aggregator(tutti_comm *comm) {
  const tutti_aggregator config = {.size = sizeof config, .key = "what `openssl rand -hex 16` prints"};
  int stop = 1;
  tutti_interrupt_set(wants_to_stop, &stop); /* ends immediately */
  CHECK(tutti_aggregator_serve(&config));
  tutti_interrupt_set(NULL, NULL);
  (void)comm;
}

int main(void) {
  static void (*const examples[])(tutti_comm *) = {
      example_algorithms,   example_variables,  example_setting,  example_comm_plan,
      example_comm_explain, example_comm_apart, example_schedule, example_prices,
      example_comm_prices,  example_profile,    example_measure,  example_wisdom,
      example_job_report,   example_trace_mark, example_message,  example_message_init,
      example_buckets,      example_survive,    example_respawn,  example_interrupt,
      example_aggregator,
  };
  enum { EXAMPLES = sizeof examples / sizeof *examples };
  tutti_comm *comm;
  CHECK(tutti_comm_from_env(&comm));
  for (int i = 0; i < EXAMPLES; i++) examples[i](comm);
  if (tutti_comm_rank(comm) == 0) printf("%d examples\n", EXAMPLES);
  CHECK(tutti_comm_free(comm));
  CHECK(tutti_finalize());
  return 0;
}
