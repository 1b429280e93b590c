/* turns_floor.c - minimal allreduces without a library, as lower bounds for turns.c. They depend on the
 * machine's memory.
 *
 * exchange   a rank writes its value and a sequence number into its cache line, waits for that number in every
 *            line, and adds. Two sets of lines alternate, so that no rank overwrites a line that another one
 *            still reads. No allreduce moves fewer cache lines or needs fewer time slices.
 * two_shot   two ranks. Each owns half of the vector, adds the two halves in place, and writes the sum to
 *            both vectors. Nothing is copied. The ranks synchronize twice, with one line in each direction.
 * stream     two ranks with private vectors, through an arena, in pieces. Each rank copies the peer's half of
 *            the piece into the arena with streaming stores, adds its own half, writes the sum with streaming
 *            stores, and copies the peer's sum. On near cores plain stores are faster.
 * line       the round trip of a cache line: one core writes it, the other reads it and replies. 60 to 120 ns on
 *            cores that share a cache, 250 to 500 ns on cores that do not.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "timing.h"
#include "turns.h"

enum { SETS = 2, PIECE = 32 * 1024 /* floats */, LOOKS = 1000, PINGS = 400, PING_TRIES = 5 };

#if defined(__x86_64__)
#define BEST_OF __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define BEST_OF
#endif

/* The cache lines that a rank writes. Each variable has its own pair of lines, because the CPU also prefetches the adjacent
 * line. */
typedef struct own_lines {
  _Alignas(128) atomic_long met;
  double seconds;
  _Alignas(128) atomic_long ping;
  _Alignas(128) atomic_long half[2]; /* for floor_stream: pieces copied and summed */
  struct {
    _Alignas(128) atomic_long number;
    float payload[FLOOR_EXCHANGE];
  } set[SETS];
} own_lines;

static struct {
  MPI_Comm comm;
  MPI_Win window;
  int rank, ranks, crowded;
  own_lines *all;
  float *vector[2]; /* for floor_two_shot */
  float *piece[2];  /* for floor_stream; each has two pieces */
  long pieces, exchanges, meetings;
} job;

static void relax(int *looked) {
  if (job.crowded || ++*looked > LOOKS * LOOKS) sched_yield();
#if defined(__x86_64__)
  else
    __builtin_ia32_pause();
#endif
}

static void wait_for(atomic_long *word, long value) {
  int looked = 0;
  while (atomic_load_explicit(word, memory_order_acquire) < value) relax(&looked);
}

int floor_open(int rank, int ranks, size_t last) {
  int near = 0;
  job.rank = rank, job.ranks = ranks;
  job.crowded = ranks > sysconf(_SC_NPROCESSORS_ONLN);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &job.comm);
  MPI_Comm_size(job.comm, &near);
  if (near < ranks) {
    MPI_Comm_free(&job.comm);
    return -1;
  }
  const size_t lines = sizeof(own_lines) * (size_t)ranks, page = 4096;
  const size_t vector = (last + page) & ~(page - 1), piece = 2 * PIECE * sizeof(float);
  const size_t bytes = lines + page + (ranks == 2 ? 2 * (vector + piece) : 0);
  char *base;
  MPI_Aint whole;
  int unit;
  MPI_Win_allocate_shared(rank ? 0 : (MPI_Aint)bytes, 1, MPI_INFO_NULL, job.comm, &base,
                          &job.window);
  MPI_Win_shared_query(job.window, 0, &whole, &unit, &base);
  base += -(uintptr_t)base & (page - 1);
  if (rank == 0) memset(base, 0, lines);
  job.all = (own_lines *)base;
  base += (lines + page - 1) & ~(page - 1);
  for (int r = 0; r < 2 && ranks == 2; r++) {
    job.vector[r] = (float *)base, base += vector;
    job.piece[r] = (float *)base, base += piece;
  }
  MPI_Barrier(job.comm);
  if (ranks == 2) memset(job.vector[rank], 0, vector), memset(job.piece[rank], 0, piece);
  MPI_Barrier(job.comm);
  return 0;
}

void floor_close(void) {
  MPI_Win_free(&job.window);
  MPI_Comm_free(&job.comm);
}

void floor_meet(void) {
  atomic_store_explicit(&job.all[job.rank].met, ++job.meetings, memory_order_release);
  for (int r = 0; r < job.ranks; r++) wait_for(&job.all[r].met, job.meetings);
}

double floor_slowest(double seconds) {
  job.all[job.rank].seconds = seconds;
  floor_meet();
  for (int r = 0; r < job.ranks; r++)
    if (job.all[r].seconds > seconds) seconds = job.all[r].seconds;
  floor_meet(); /* no rank writes its next value before all ranks have read this one */
  return seconds;
}

/* ---- the round trip of a cache line ---- */

static double pinged;

static void bind_to(int nth) {
  cpu_set_t may, one;
  if (sched_getaffinity(getpid(), sizeof may, &may)) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, &may) && nth-- == 0) {
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    }
}

/* Measures the round trip of a cache line. Takes the minimum of several tries, because other processes may interrupt a try on
 * a busy core. Both counters continue from one try to the next. */
static void ping(int side) {
  atomic_long *mine = &job.all[side].ping, *other = &job.all[1 - side].ping;
  long n = atomic_load(mine);
  pinged = 0;
  for (int k = 0; k <= PING_TRIES; k++) {
    const double from = timing_now();
    for (int i = 0; i < PINGS; i++) {
      n++;
      if (side) wait_for(other, n);
      atomic_store_explicit(mine, n, memory_order_release);
      if (!side) wait_for(other, n);
    }
    const double each = (timing_now() - from) / PINGS;
    if (!side && k > 0 && (!pinged || each < pinged)) pinged = each;
  }
}

static void *ping_beside(void *unused) {
  (void)unused;
  bind_to(1);
  ping(1);
  return NULL;
}

static void *ping_first(void *unused) {
  pthread_t other;
  (void)unused;
  bind_to(0);
  if (pthread_create(&other, NULL, ping_beside, NULL)) return NULL;
  ping(0);
  pthread_join(other, NULL);
  return NULL;
}

/* Measures the round trip with two threads of rank 0 on two cores, while the other ranks sleep. */
static void ping_by_threads(void) {
  pthread_t first;
  if (pthread_create(&first, NULL, ping_first, NULL) == 0) pthread_join(first, NULL);
}

double floor_line(void) {
  floor_meet();
  if (job.crowded) {
    const long done = job.meetings + 1;
    if (job.rank == 0) ping_by_threads();
    while (job.rank && atomic_load(&job.all[0].met) < done) usleep(200);
    floor_meet();
  } else if (job.ranks > 1 && job.rank < 2) {
    ping(job.rank);
  }
  return 1e9 * floor_slowest(job.rank ? 0 : pinged);
}

/* ---- lower bounds ---- */

float *floor_vector(void) {
  return job.vector[job.rank];
}

void floor_exchange(float *x, size_t n) {
  const long number = ++job.exchanges;
  own_lines *mine = &job.all[job.rank];
  float sum[FLOOR_EXCHANGE] = {0};
  for (size_t i = 0; i < n; i++) mine->set[number & 1].payload[i] = x[i];
  atomic_store_explicit(&mine->set[number & 1].number, number, memory_order_release);
  for (int r = 0; r < job.ranks; r++) {
    wait_for(&job.all[r].set[number & 1].number, number);
    for (size_t i = 0; i < n; i++) sum[i] += job.all[r].set[number & 1].payload[i];
  }
  for (size_t i = 0; i < n; i++) x[i] = sum[i];
}

BEST_OF static void add_both(float *restrict x, float *restrict y, size_t n) {
  for (size_t i = 0; i < n; i++) x[i] = y[i] = x[i] + y[i];
}

void floor_two_shot(float *x, size_t n) {
  const int r = job.rank;
  const size_t half = n / 2, from = r ? half : 0, m = r ? n - half : half;
  floor_meet();
  add_both(x + from, job.vector[1 - r] + from, m);
  floor_meet();
}

/* to = from, with stores that bypass the cache. */
static void stream_copy(float *to, const float *from, size_t n) {
  size_t i = 0;
#if defined(__x86_64__)
  for (; i < n && ((uintptr_t)(to + i) & 15); i++) to[i] = from[i];
  for (; i + 4 <= n; i += 4) _mm_stream_ps(to + i, _mm_loadu_ps(from + i));
#endif
  for (; i < n; i++) to[i] = from[i];
}

/* x += y; the sum is also written to `to`, with stores that bypass the cache. */
static void stream_sum(float *x, const float *y, float *to, size_t n) {
  size_t i = 0;
#if defined(__x86_64__)
  for (; i < n && ((uintptr_t)(to + i) & 15); i++) to[i] = x[i] += y[i];
  for (; i + 4 <= n; i += 4) {
    const __m128 sum = _mm_add_ps(_mm_loadu_ps(x + i), _mm_loadu_ps(y + i));
    _mm_storeu_ps(x + i, sum);
    _mm_stream_ps(to + i, sum);
  }
#endif
  for (; i < n; i++) to[i] = x[i] += y[i];
}

static void streamed(atomic_long *word, long number) {
#if defined(__x86_64__)
  _mm_sfence();
#endif
  atomic_store_explicit(word, number, memory_order_release);
}

void floor_stream(float *x, size_t n) {
  const int r = job.rank, peer = 1 - r;
  for (size_t at = 0; at < n; at += PIECE) {
    const size_t m = n - at < PIECE ? n - at : PIECE, half = (m / 2 + 15) & ~(size_t)15;
    const size_t cut = half < m ? half : m, from = r ? cut : 0, to = r ? m : cut;
    const long number = ++job.pieces;
    float *mine = job.piece[r] + (number & 1) * PIECE,
          *theirs = job.piece[peer] + (number & 1) * PIECE;
    stream_copy(mine + (r ? 0 : cut), x + at + (r ? 0 : cut), r ? cut : m - cut);
    streamed(&job.all[r].half[0], number);
    wait_for(&job.all[peer].half[0], number);
    stream_sum(x + at + from, theirs + from, mine + from, to - from);
    streamed(&job.all[r].half[1], number);
    wait_for(&job.all[peer].half[1], number);
    memcpy(x + at + (r ? 0 : cut), theirs + (r ? 0 : cut), (r ? cut : m - cut) * sizeof *x);
  }
}
