/* starting.c - the resources needed to start a job with very many ranks, measured on this machine.
 *
 *   starting real RANKS                 processes on this host create a communicator. Up to 64
 *                                       ranks then compute a sum
 *   starting simulated HOSTS PER_HOST   the bootstrap of a job on HOSTS hosts. Each host is a
 *                                       process with its ranks as threads. Rank 0 has its own
 *                                       process, which serves the rendezvous. The messages are the
 *                                       same as between hosts
 *   starting tables RANKS               memory per rank of a communicator over a network, in bytes
 *
 * Prints one line of pairs "NAME VALUE". For `real`: the seconds from the start of the first
 * process until the last one has its communicator, the CPU seconds of the processes during that
 * time, and the MB of memory while all processes have it. Shared pages are divided among the
 * processes that share them (Pss). `simulated` also prints the MB sent by the process of rank 0,
 * including the rendezvous, and the largest number of descriptors of any process. If a process
 * fails, the run fails.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <malloc.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <tutti.h>
#include <tutti_create.h>
#include <unistd.h>

#include "build_comm.h"
#include "meet.h"
#include "timing.h"

enum { STACK = 128 << 10, LIMIT = 300 /* LIMIT in s */, SUMMED = 64 };

static int failed(const char *what) {
  fprintf(stderr, "starting: %s: %s\n", what, tutti_error());
  return 1;
}

/* ---- processes ---- */

typedef struct told {   /* the report of a process, in memory shared by all processes */
  _Atomic double ready; /* time in s, by tt_seconds; 0 while it is not ready, -1 if it failed */
  _Atomic int descriptors;
  _Atomic double cpu; /* CPU seconds from the start of the process until it was ready */
  atomic_ullong sent;
} told;

typedef struct crew {
  int n;
  pid_t *pids;
  told *told;
  /* pipes: the processes begin when the parent closes `go`, and end when it closes `end` */
  int go[2], end[2];
} crew;

static void *shared(size_t bytes) {
  void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) exit(failed("no memory"));
  return at;
}

static void wait_for(const int end[2]) {
  char byte;
  while (read(end[0], &byte, 1) < 0) continue;
}

/* Starts n processes. Each runs `work` with its number. `work` must call be_ready, and returns the exit status. */
static crew begin(int n, int (*work)(const crew *c, int i, const void *what), const void *what) {
  crew c = {.n = n,
            .pids = calloc((size_t)n, sizeof *c.pids),
            .told = shared((size_t)n * sizeof *c.told)};
  if (!c.pids || pipe(c.go) || pipe(c.end)) exit(failed("no memory"));
  for (int i = 0; i < n; i++) {
    c.pids[i] = fork();
    if (c.pids[i] < 0) exit(failed("no process"));
    if (c.pids[i]) continue;
    close(c.go[1]);
    close(c.end[1]);
    const int status = work(&c, i, what);
    if (status) atomic_store(&c.told[i].ready, -1);
    fflush(NULL);
    _exit(status);
  }
  return c;
}

/* Returns the number of entries in a directory of /proc. */
static int entries(const char *folder) {
  DIR *d = opendir(folder);
  int n = -2; /* not counting . and .. */
  while (d && readdir(d)) n++;
  if (d) closedir(d);
  return n;
}

static int descriptors_here(void) {
  return entries("/proc/self/fd") - 1; /* without the descriptor of the folder itself */
}

static void be_ready(const crew *c, int i) {
  atomic_store(&c->told[i].ready, tt_seconds());
  wait_for(c->end);
}

/* Returns the Pss of a process in KB. */
static double pss(pid_t pid) {
  char path[64], line[200];
  double kb = 0;
  snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
  FILE *f = fopen(path, "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "Pss: %lf", &kb) == 1) break;
  if (f) fclose(f);
  return kb;
}

/* Lets all processes begin, waits until all are ready, and lets them end. Returns false if any process failed. */
static int run(crew *c, double *seconds, double *megabytes, int *descriptors) {
  const double since = tt_seconds();
  double last = since;
  int bad = 0;
  close(c->go[1]);
  for (int i = 0; i < c->n && !bad; i++) {
    double ready;
    while (!(ready = atomic_load(&c->told[i].ready)) && tt_seconds() - since < LIMIT) usleep(10000);
    bad = ready <= 0;
    last = ready > last ? ready : last;
  }
  *seconds = last - since;
  *megabytes = 0;
  for (int i = 0; i < c->n && !bad; i++) *megabytes += pss(c->pids[i]) / 1e3;
  close(c->end[1]);
  *descriptors = 0;
  for (int i = 0, status; i < c->n; i++) {
    if (bad) kill(c->pids[i], SIGKILL);
    waitpid(c->pids[i], &status, 0);
    bad |= status != 0;
    const int its = atomic_load(&c->told[i].descriptors);
    *descriptors = its > *descriptors ? its : *descriptors;
  }
  free(c->pids);
  return !bad;
}

/* ---- real ---- */

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int join_job(const crew *c, int rank, const void *id) {
  const tutti_config config = {.size = sizeof config, .timeout = LIMIT};
  tutti_comm *comm;
  wait_for(c->go);
  const double before = cpu_seconds();
  if (tutti_comm_create(&comm, id, c->n, rank, &config)) return failed("a rank cannot join");
  double one = 1;
  atomic_store(&c->told[rank].cpu, cpu_seconds() - before);
  atomic_store(&c->told[rank].descriptors, descriptors_here());
  be_ready(c, rank);
  if (c->n > SUMMED)
    _exit(0); /* choosing the plan for a sum takes each rank much longer than starting */
  if (tutti_allreduce(comm, &one, &one, 1, TUTTI_DOUBLE, TUTTI_SUM) || one != c->n)
    return failed("the sum is wrong");
  tutti_comm_free(comm);
  return 0;
}

static int real(int ranks) {
  tutti_id id;
  double seconds, megabytes;
  int descriptors, ends[2];
  /* the rendezvous runs in a separate process, because this process forks later */
  if (pipe(ends)) return failed("no pipe");
  const pid_t host = fork();
  if (!host) {
    if (tutti_unique_id(&id) || write(ends[1], &id, sizeof id) != sizeof id)
      _exit(failed("no rendezvous"));
    pause();
    _exit(0);
  }
  if (read(ends[0], &id, sizeof id) != sizeof id) return 1;
  crew c = begin(ranks, join_job, &id);
  const int good = run(&c, &seconds, &megabytes, &descriptors);
  kill(host, SIGKILL);
  double cpu = 0;
  for (int r = 0; r < ranks; r++) cpu += atomic_load(&c.told[r].cpu);
  if (good)
    printf("ranks %d seconds %.2f cpu %.2f megabytes %.0f descriptors %d\n", ranks, seconds, cpu,
           megabytes, descriptors);
  return !good;
}

/* ---- simulated ---- */

/* The number of bytes that a rank contributes to each exchange in create.c and from_net.c. The exchanges are: its card, the
 * name and address of its UCX endpoint, nothing once it has connected, the settings (from rank 0 only), its placement, and
 * the description of its shared memory. */
static const struct {
  size_t bytes;
  int first_alone;
} ROWS[] = {{128, 0}, {48 + 120 + 120, 0}, {0, 0}, {8192, 1}, {96, 0}, {8, 0}, {24, 0}, {8, 0}};
enum { ROUNDS = sizeof ROWS / sizeof *ROWS };

typedef struct job {
  int hosts, per_host;
  tt_rendezvous at;
} job;

typedef struct rank {
  const job *of;
  int rank, failed;
  pthread_barrier_t *all;
} rank;

static void *meet(void *arg) {
  rank *r = arg;
  const int ranks = r->of->hosts * r->of->per_host;
  tt_meeting m;
  char *row = calloc(1, 8192);
  r->failed = !row || tt_meet_visit(&r->of->at, (uint64_t)(r->rank / r->of->per_host), r->rank,
                                    ranks, LIMIT, &m);
  const int met = !r->failed;
  for (int round = 0; round < ROUNDS && !r->failed; round++) {
    const size_t n = ROWS[round].first_alone && r->rank ? 0 : ROWS[round].bytes;
    tt_table all;
    memset(row, r->rank + round, n);
    r->failed = m.gather(&m, TUTTI_OK, row, n, &all) != TUTTI_OK;
    const int from = (int)((r->rank * 7919L + 1) % ranks);
    size_t bytes = 0;
    const char *its = r->failed ? NULL : tt_table_row(&all, from, &bytes);
    const size_t wanted = ROWS[round].first_alone && from ? 0 : ROWS[round].bytes;
    if (its && (bytes != tt_row_bytes(wanted) || (wanted && *its != (char)(from + round))))
      r->failed = 1;
    if (round + 1 < ROUNDS) tt_table_drop(&all);
  }
  if (r->failed) failed("a rank does not meet the others");
  pthread_barrier_wait(r->all); /* the first thread waits until the process has counted */
  pthread_barrier_wait(r->all);
  if (met) m.end(&m);
  free(row);
  return NULL;
}

static void count_sent(void *ctx, int level, const char *line) {
  unsigned long long bytes;
  const char *at = strstr(line, " sent ");
  (void)level;
  if (at && sscanf(at, " sent %llu bytes", &bytes) == 1)
    atomic_fetch_add((atomic_ullong *)ctx, bytes);
}

/* Returns the number of ranks that a process runs, and sets *first to the lowest. Process 0 runs only rank 0, and process
 * `hosts` runs the other ranks of this host. The first of the two to arrive becomes the agent that serves other hosts. */
static int ranks_of(const job *j, int process, int *first) {
  *first = process == j->hosts ? 1 : process * j->per_host;
  return process == 0 ? 1 : process == j->hosts ? j->per_host - 1 : j->per_host;
}

static int be_host(const crew *c, int process, const void *what) {
  job j = *(const job *)what;
  pthread_t threads[1024], thread;
  rank ranks[1024];
  pthread_barrier_t all;
  pthread_attr_t small;
  int first;
  const int n = ranks_of(&j, process, &first);
  tutti_log_set(count_sent, &c->told[process].sent);
  if (!process && tt_rendezvous_serve(&j.at, false, &thread)) return failed("no rendezvous");
  pthread_barrier_init(&all, NULL, (unsigned)n + 1);
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, STACK);
  wait_for(c->go);
  int bad = 0;
  for (int i = 0; i < n; i++) {
    ranks[i] = (rank){&j, first + i, 0, &all};
    if (pthread_create(&threads[i], &small, meet, &ranks[i])) return failed("no thread");
  }
  pthread_barrier_wait(&all);
  atomic_store(&c->told[process].descriptors, descriptors_here());
  for (int i = 0; i < n; i++) bad |= ranks[i].failed;
  if (!bad) be_ready(c, process);
  pthread_barrier_wait(&all);
  for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
  if (!process) tt_rendezvous_end(thread);
  /* waits until its agent has ended as well, and has reported how much it sent */
  for (int i = 0; i < 500 && entries("/proc/self/task") > 1; i++) usleep(10000);
  return bad;
}

/* Returns a port that is currently free. */
static int free_port(void) {
  struct sockaddr_in at = {.sin_family = AF_INET};
  socklen_t n = sizeof at;
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(fd, (struct sockaddr *)&at, n) || getsockname(fd, (struct sockaddr *)&at, &n)) return 0;
  close(fd);
  return ntohs(at.sin_port);
}

static int simulated(int hosts, int per_host) {
  job j = {hosts, per_host, {.hosts = 1, .host = {"127.0.0.1"}, .port = free_port()}};
  double seconds, megabytes;
  int descriptors;
  if (per_host > 1024) return failed("more than 1024 ranks on a host");
  memset(j.at.key, 'k', TT_KEY);
  crew c = begin(hosts + (per_host > 1), be_host, &j);
  if (!run(&c, &seconds, &megabytes, &descriptors)) return 1;
  unsigned long long most = 0;
  for (int i = 1; i < c.n; i++) {
    const unsigned long long its = atomic_load(&c.told[i].sent);
    most = its > most ? its : most;
  }
  printf(
      "hosts %d ranks %d seconds %.2f megabytes %.0f descriptors %d first_sent %.2f others_sent "
      "%.2f\n",
      hosts, hosts * per_host, seconds, megabytes, descriptors,
      (double)atomic_load(&c.told[0].sent) / 1e6, (double)most / 1e6);
  return 0;
}

/* ---- tables ---- */

static int nothing(void *self, int slot, int peer, int tag, void *bytes, size_t n) {
  (void)self, (void)slot, (void)peer, (void)tag, (void)bytes, (void)n;
  return 0;
}
static int nowhere(void *self, int slot, int peer, int tag, const void *bytes, size_t n, int sure) {
  (void)sure;
  return nothing(self, slot, peer, tag, (void *)(uintptr_t)bytes, n);
}
static void stay_open(void *self, int clean) {
  (void)self, (void)clean;
}

static int tables(int ranks) {
  const tutti_net net = {.size = sizeof net,
                         .name = "none",
                         .ranks = ranks,
                         .send = nowhere,
                         .recv = nothing,
                         .close = stay_open};
  tt_wire *near;
  tt_segment *segment;
  tt_heap *heap;
  int *near_rank = malloc((size_t)ranks * sizeof *near_rank);
  if (!near_rank || tt_segment_anonymous(1, &segment) || tt_heap_open(segment, 0, &heap))
    return failed("no memory");
  for (int r = 0; r < ranks; r++) near_rank[r] = r ? -1 : 0;
  const uint64_t ctrl = tt_shm_ctrl_new(heap, 1, true);
  const int member = 0;
  if (tt_shm_wire(heap, 0, 1, &member, &ctrl, &near)) return failed("no wire");
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  const size_t before = mallinfo2().uordblks;
  tutti_comm *comm = tt_comm_new(0, ranks);
  if (!comm || tt_net_wire(&net, &comm->net) || tt_comm_set_pids(comm, comm->net) ||
      tt_hybrid_wire(comm->net, near, near_rank, &comm->wire))
    return failed("no tables");
  printf("ranks %d bytes %.1f\n", ranks, (double)(mallinfo2().uordblks - before) / ranks);
  return 0;
}

int main(int argc, char **argv) {
  const int n = argc > 2 ? atoi(argv[2]) : 0, m = argc > 3 ? atoi(argv[3]) : 0;
  if (argc == 3 && n > 0 && strcmp(argv[1], "real") == 0) return real(n);
  if (argc == 4 && n > 0 && m > 0 && strcmp(argv[1], "simulated") == 0) return simulated(n, m);
  if (argc == 3 && n > 0 && strcmp(argv[1], "tables") == 0) return tables(n);
  fprintf(stderr, "usage: starting real RANKS | simulated HOSTS PER_HOST | tables RANKS\n");
  return 2;
}
