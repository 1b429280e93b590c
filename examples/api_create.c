/* api_create.c - a short example of every function of tutti_create.h and tutti_net.h, for Doxygen's
 * pages (tools/Doxyfile).
 * Each example is a function. CHECK ends the program if a call fails or a result is wrong.
 * Try: make build/examples/api_create && tutti run -n 3 build/examples/api_create
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tutti.h>
#include <tutti_create.h>
#include <tutti_launch.h>
#include <tutti_net.h>
#include <unistd.h>

#define CHECK(call) check((call) == 0, #call)
static void check(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "%s: %s\n", what, tutti_error());
  exit(1);
}

static void example_unique_id(tutti_comm *comm) {
  const int P = tutti_comm_size(comm), me = tutti_comm_rank(comm);
  tutti_id id;
  tutti_comm *fresh;
  const tutti_config config = {.size = sizeof config, .timeout = 60};
  if (me == 0) CHECK(tutti_unique_id(&id)); /* the other ranks get it by any means */
  CHECK(tutti_broadcast(comm, &id, &id, sizeof id, TUTTI_UINT8, 0));
  CHECK(tutti_comm_create(&fresh, &id, P, me, &config));
  check(tutti_comm_rank(fresh) == me, "the rank that this process asked for");
  CHECK(tutti_comm_free(fresh));
}

static void example_unique_id_lasting(tutti_comm *comm) {
  const int P = tutti_comm_size(comm), me = tutti_comm_rank(comm);
  tutti_id id;
  tutti_comm *fresh;
  if (me == 0) CHECK(tutti_unique_id_lasting(&id));
  CHECK(tutti_broadcast(comm, &id, &id, sizeof id, TUTTI_UINT8, 0));
  for (int i = 0; i < 2; i++) { /* two communicators, one after the other */
    CHECK(tutti_comm_create(&fresh, &id, P, me, NULL));
    CHECK(tutti_comm_free(fresh));
  }
}

static void example_unique_id_growing(tutti_comm *comm) {
  tutti_id id; /* a launcher passes it to its 4 ranks, and later to 2 joiners */
  if (tutti_comm_rank(comm) == 0) CHECK(tutti_unique_id_growing(4, 2, &id));
}

static void example_newcomer_ask(tutti_comm *comm) {
  tutti_id id;
  int first, n;
  const tutti_newcomer_news news = {.size = sizeof news, .rank = 3, .wants = 1};
  if (tutti_comm_rank(comm)) return;
  CHECK(tutti_unique_id_growing(4, 2, &id));
  /* rank 3 has ended; another process will replace it */
  CHECK(tutti_newcomer_ask(&id, &news, &first, &n));
  check(first == 1 && n == 1, "the number of the first joiner");
}

static int gather(void *ctx, const void *mine, size_t bytes, void *all) {
  return tutti_allgather(ctx, mine, all, bytes, TUTTI_UINT8); /* or MPI_Allgather */
}
static void example_comm_create_gather(tutti_comm *comm) {
  tutti_comm *fresh;
  CHECK(tutti_comm_create_gather(&fresh, gather, comm, tutti_comm_size(comm), tutti_comm_rank(comm),
                                 NULL));
  CHECK(tutti_comm_free(fresh));
}

/* A key-value store that keeps each value in a separate file. All ranks must have access to the folder. */
static void path_of(char *path, size_t size, const char *folder, const char *key) {
  snprintf(path, size, "%s/%s", folder, key);
  for (char *c = path + strlen(folder) + 1; *c; c++)
    if (*c == '/') *c = '-';
}
static int put(void *folder, const char *key, const void *bytes, size_t n) {
  char path[300], part[310];
  path_of(path, sizeof path, folder, key);
  snprintf(part, sizeof part, "%s.part", path);
  FILE *f = fopen(part, "w");
  if (!f) return 1;
  const int bad = fwrite(bytes, 1, n, f) != n;
  return fclose(f) || bad || rename(part, path); /* the file appears in one step */
}
static int get(void *folder, const char *key, void *bytes, size_t size, size_t *n, double seconds) {
  char path[300];
  path_of(path, sizeof path, folder, key);
  for (int i = 0; access(path, R_OK); i++) {
    if (i > 1000 * seconds) return 1;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  FILE *f = fopen(path, "r");
  if (!f) return 1;
  *n = fread(bytes, 1, size, f);
  return fclose(f);
}
static void example_comm_create_store(tutti_comm *comm) {
  char folder[] = "/tmp/tutti-store-XXXXXX", command[100];
  if (tutti_comm_rank(comm) == 0) check(mkdtemp(folder) != NULL, "a folder");
  CHECK(tutti_broadcast(comm, folder, folder, sizeof folder, TUTTI_UINT8, 0));
  const tutti_store store = {sizeof store, folder, put, get};
  tutti_comm *fresh;
  CHECK(
      tutti_comm_create_store(&fresh, &store, tutti_comm_size(comm), tutti_comm_rank(comm), NULL));
  CHECK(tutti_barrier(fresh));
  CHECK(tutti_comm_free(fresh));
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(tutti_barrier(comm));
  if (tutti_comm_rank(comm) == 0) check(system(command) == 0, "the folder is gone");
}

/* A network with one rank, which sends nothing. */
static int no_send(void *self, int slot, int peer, int tag, const void *bytes, size_t n, int sure) {
  return (void)self, (void)slot, (void)peer, (void)tag, (void)bytes, (void)n, (void)sure, 1;
}
static int no_recv(void *self, int slot, int peer, int tag, void *bytes, size_t n) {
  return (void)self, (void)slot, (void)peer, (void)tag, (void)bytes, (void)n, 0;
}
static int no_poll(void *self, int slots, tutti_net_done *done, int most, int *n) {
  *n = 0; /* no request is complete */
  return (void)self, (void)slots, (void)done, (void)most, 0;
}
static int no_cancel(void *self, int slot) {
  return (void)self, (void)slot, 0;
}
static int no_split(void *self, int color, int key, tutti_net *net) {
  return (void)self, (void)color, (void)key, (void)net, 1;
}
static void no_close(void *self, int clean) {
  (void)self, (void)clean;
}
static const char *no_error(void *self) {
  return (void)self, "a network of one rank sends no messages";
}
static void example_comm_from_net(tutti_comm *comm) {
  tutti_net net = {.size = sizeof net,
                   .name = "alone",
                   .ranks = 1,
                   .threads = 1,
                   .send = no_send,
                   .recv = no_recv,
                   .poll = no_poll,
                   .cancel = no_cancel,
                   .split = no_split,
                   .close = no_close,
                   .error = no_error};
  tutti_net_site_of(0, NULL, &net.site); /* the placement of core 0 */
  tutti_comm *alone;
  CHECK(tutti_comm_from_net(&net, &alone));
  check(tutti_comm_size(alone) == 1, "its only rank");
  CHECK(tutti_comm_free(alone));
  (void)comm;
}

/* Creates a communicator of at most two ranks. The other ranks take no part in this and can do something else. */
static void example_comm_among(tutti_comm *comm) {
  const int both[] = {0, 1}, n = tutti_comm_size(comm) > 1 ? 2 : 1;
  tutti_comm *pair, *half;
  CHECK(tutti_comm_split(comm, tutti_comm_rank(comm) < n ? 0 : -1, 0, &half));
  if (!half) return;
  CHECK(tutti_comm_among(comm, both, n, gather, half, NULL, &pair)); /* gather is defined above */
  check(tutti_comm_size(pair) == n, "its ranks");
  CHECK(tutti_comm_free(pair));
  CHECK(tutti_comm_free(half));
}

static void example_net_refuse(tutti_comm *comm) {
  check(tutti_net_refuse(TUTTI_ERR_SYSTEM, "the switch is off") == TUTTI_ERR_SYSTEM, "the status");
  check(strcmp(tutti_error(), "the switch is off") == 0, "and the sentence");
  (void)comm;
}

static int counted_down(void *ctx) {
  return --*(int *)ctx == 0;
}
static void example_net_await(tutti_comm *comm) {
  int polls = 3;
  CHECK(tutti_net_await("example_net_await", "a counter", 1, counted_down, &polls));
  check(polls == 0, "polled until it is done");
  (void)comm;
}

static void other_work(void) {
  /* here the program's own network makes progress; the function returns immediately */
}
static void example_idle(tutti_comm *comm) {
  tutti_idle_set(other_work);
  CHECK(tutti_barrier(comm)); /* calls it from time to time during a long wait */
  tutti_idle_set(NULL);
}

int main(void) {
  static void (*const examples[])(tutti_comm *) = {
      example_unique_id,
      example_unique_id_lasting,
      example_unique_id_growing,
      example_newcomer_ask,
      example_comm_create_gather,
      example_comm_create_store,
      example_comm_from_net,
      example_comm_among,
      example_net_refuse,
      example_net_await,
      example_idle,
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
