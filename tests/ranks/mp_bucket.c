/* mp_bucket.c - buckets on ranks that are processes. The thread that drives them uses no CPU time while nothing
 * is in flight (in at least one of five intervals, because other processes can disturb some). For buckets.sh, a
 * rank dies during a step, or reports where its tensors are.
 *
 * Usage      tutti run -k -n P mp_bucket death SEED [bf16]
 *            tutti run -n P mp_bucket memory|own     steps of one bucket, in whose memory
 * Idea       rank 1 dies at a tensor and a step that the seed selects. The other ranks get the
 *            error from the bucket call that they are in, free the buckets, make new ones on a communicator
 *            without rank 1, and get the right means. Ranks: 2 3
 * SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cover.h"
#include "seconds.h"
#include "start.h"

enum { N = 12, LONG = 4000, STEPS = 20, BYTES = 30000 };
static float own[N][LONG], *x[N];
static int me; /* in the first communicator */

static void wrong(const char *what) {
  printf("not ok - rank %d: %s: %s\n", me, what, tutti_error());
  fflush(stdout);
  _exit(9);
}

static tutti_buckets *make(tutti_comm *comm, size_t bytes, int bf16, int thread, int provided) {
  const tutti_buckets_config config = {sizeof config, bytes, 0, 1, bf16, thread, NULL};
  tutti_tensor tensors[N];
  tutti_buckets *b;
  for (int i = 0; i < N; i++)
    tensors[i] = (tutti_tensor){provided ? NULL : own[i], (size_t)LONG >> i, TUTTI_FLOAT};
  if (tutti_buckets_create(comm, N, tensors, &config, &b)) wrong("making buckets");
  for (size_t i = 0; i < N; i++) x[i] = tutti_bucket_data(b, i);
  return b;
}

/* bf16 represents these numbers and their means exactly. */
static tutti_status step(tutti_buckets *b, int s, int dies_at) {
  tutti_status status = TUTTI_OK;
  for (int k = 0; k < N && !status; k++) {
    const int i = (k + me) % N;
    if (k == dies_at) raise(SIGKILL);
    for (int at = 0; at < LONG >> i; at++) x[i][at] = (float)(4 * (i + s % 8));
    status = tutti_bucket_ready(b, (size_t)i);
  }
  if (!status && s % 3 == 0) status = tutti_bucket_wait(b, 5);
  if (!status) status = tutti_buckets_wait(b);
  for (int i = 0; i < N && !status; i++)
    for (int at = 0; at < LONG >> i; at++)
      if (x[i][at] != (float)(4 * (i + s % 8))) wrong("a mean is wrong");
  return status;
}

static int death(tutti_comm *comm, uint64_t seed, int bf16) {
  const uint64_t u = cover_mix(seed);
  tutti_buckets *b = make(comm, BYTES, bf16, u >> 40 & 1, u >> 41 & 1);
  tutti_status status = TUTTI_OK;
  for (int s = 0; s < STEPS && !status; s++)
    status = step(b, s, me == 1 && s == (int)(u % STEPS) ? (int)(u >> 8 & 0xff) % N : -1);
  if (status != TUTTI_ERR_PEER_LOST || !strstr(tutti_error(), "rank 1 (pid"))
    wrong("the dead rank is not named");
  if (tutti_bucket_ready(b, 0) != TUTTI_ERR_PEER_LOST) wrong("a later call");
  tutti_comm *next;
  if (tutti_buckets_free(b)) wrong("freeing what failed");
  if (tutti_comm_shrink(comm, &next) || tutti_comm_free(comm)) wrong("shrinking");
  b = make(next, BYTES, bf16, 0, u >> 42 & 1);
  for (int s = 0; s < STEPS; s++)
    if (step(b, s, -1)) wrong("a step without it");
  if (tutti_buckets_free(b) || tutti_comm_free(next) || start_end()) wrong("the end");
  printf("survived\n");
  return 0;
}

/* Is this address in the job's shared-memory segment? */
static bool in_segment(const void *at) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[512];
  bool found = false;
  while (maps && !found && fgets(line, sizeof line, maps)) {
    unsigned long from, to;
    found = sscanf(line, "%lx-%lx", &from, &to) == 2 && from <= (unsigned long)at &&
            (unsigned long)at < to && strstr(line, "memfd:tutti");
  }
  if (maps) fclose(maps);
  return found;
}

static int memory(tutti_comm *comm, int provided) {
  tutti_buckets *b = make(comm, SIZE_MAX, 0, 0, provided);
  int heap = 0;
  for (int s = 0; s < 4; s++)
    if (step(b, s, -1)) wrong("a step");
  for (int i = 0; i < N; i++) heap += in_segment(x[i]);
  printf("rank %d: %d of %d in the heap\n", me, heap, N);
  return tutti_buckets_free(b) || tutti_comm_free(comm) || start_end();
}

static double used(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  tutti_comm *comm;
  end_after(60);
  if (start_comm(&comm)) return 1;
  me = tutti_comm_rank(comm);
  if (argc == 2) return memory(comm, strcmp(argv[1], "own"));
  if (argc > 2) return death(comm, strtoull(argv[2], NULL, 10), argc > 3);
  tutti_buckets *b = make(comm, BYTES, 0, 1, 1);
  for (int s = 0; s < STEPS; s++)
    if (step(b, s, -1)) wrong("a step");
  if (tutti_barrier(comm)) wrong("a barrier");
  struct stat threads; /* nlink: one per thread, plus two */
  if (stat("/proc/self/task", &threads) || threads.st_nlink < 4) wrong("the thread was not started");
  double most = 1;
  for (int i = 0; i < 5 && most >= 0.003; i++) {
    const double before = used();
    usleep(300000);
    const double idle = used() - before;
    if (tutti_allreduce(comm, &idle, &most, 1, TUTTI_DOUBLE, TUTTI_MAX)) wrong("comparing");
  }
  if (me == 0)
    printf("%s - with a thread, 0.3 s without sums take a rank %.0f us of processor\n1..1\n",
           most < 0.003 ? "ok" : "not ok", 1e6 * most);
  return tutti_buckets_free(b) || tutti_comm_free(comm) || start_end() || most >= 0.003;
}
