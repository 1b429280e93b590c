/* heap.c - memory from a rank's own part of the segment.
 *
 * Idea       First fit in a list of free extents, which only this process sees. Memory that was never allocated is
 *            zero, as the system provides it. When a large extent is freed, its pages are returned to the system. The
 *            owner touches all memory first, so it lies on the owner's NUMA node.
 * Invariant  Extents are sorted by offset and never adjoin, because neighbours are merged.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heap.h"
#include "huge.h"
#include "process.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

typedef struct extent {
  size_t at, bytes;
  struct extent *next;
} extent;

typedef struct later { /* memory to free when its reference count reaches 0 */
  struct later *next;
  atomic_uint *refs;
  size_t n;
  void *memory[];
} later;

struct tt_heap {
  tt_segment *segment;
  int index;
  atomic_int users;
  uint64_t cookie; /* private word that peers try to read */
  size_t fresh;    /* memory at and above this offset was never allocated */
  extent *free_list, *used_list;
  _Atomic(extent *) withdrawn; /* offsets from the start of the segment */
  atomic_bool revokes;         /* some memory was revoked */
  atomic_bool unsure;          /* a revoked extent could not be recorded because memory was short */
  later *waiting;
  pthread_mutex_t lock;
};

enum { UNIT = TT_PAIR, GIVE_BACK = 1 << 20, LARGE = 64 << 20 };

/* Each heap header occupies its own pages, so that its rank can be the first to touch them. */
enum { PAGE = 4096, HEAD_SPACE = (sizeof(tt_head) + PAGE - 1) / PAGE * PAGE };

size_t tt_intro_at(int index) {
  return tt_round_up(sizeof(tt_job_head), PAGE) + sizeof(tt_intro) * (size_t)index;
}

size_t tt_head_at(int n, int index) {
  return tt_round_up(tt_intro_at(n), PAGE) + (size_t)HEAD_SPACE * (size_t)index;
}

size_t tt_heap_first(int n) {
  return tt_round_up(tt_head_at(n, n), TT_HUGE);
}

tt_intro *tt_heap_intro(const tt_segment *segment, int index) {
  return (tt_intro *)(void *)(segment->base + tt_intro_at(index));
}

tt_head *tt_heap_head(const tt_segment *segment, int index) {
  return (tt_head *)(void *)(segment->base + tt_head_at(segment->ranks, index));
}

tt_segment *tt_heap_segment(tt_heap *heap) {
  return heap->segment;
}
int tt_heap_index(const tt_heap *heap) {
  return heap->index;
}

/* each users: order: a count, the last one frees */

/* each unsure: order: a flag, nothing is read behind it that is not looked at again */

static char *base_of(const tt_heap *heap) {
  return heap->segment->base + heap->segment->first + heap->segment->stride * (size_t)heap->index;
}

/* Commits the pages that contain these bytes of the segment. Returns false if out of memory. */
static bool populate(const tt_segment *s, size_t at, size_t bytes) {
  const size_t lo = at / PAGE * PAGE;
  return !madvise(s->base + lo, tt_round_up(at + bytes, PAGE) - lo, MADV_POPULATE_WRITE) ||
         errno != ENOMEM; /* old kernels do not support this advice */
}

tutti_status tt_heap_open(tt_segment *segment, int index, tt_heap **heap) {
  tt_heap *h = calloc(1, sizeof *h);
  if (!h) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a heap");
  h->segment = segment;
  h->index = index;
  atomic_init(&h->users, 1);
  pthread_mutex_init(&h->lock, NULL);
  if ((index == 0 && !populate(segment, 0, sizeof(tt_job_head))) ||
      !populate(segment, tt_intro_at(index), sizeof(tt_intro)) ||
      !populate(segment, tt_head_at(segment->ranks, index), sizeof(tt_head))) {
    free(h);
    return tt_fail(TUTTI_ERR_MEMORY, "no memory for the header of rank %d's heap", index);
  }
  *heap = h;
  return TUTTI_OK;
}

static void free_extents(extent *e) {
  while (e) {
    extent *next = e->next;
    free(e);
    e = next;
  }
}

const uint64_t *tt_heap_cookie(tt_heap *h) {
  if (!h->cookie) h->cookie = tt_random() | 1;
  return &h->cookie;
}

tt_heap *tt_heap_hold(tt_heap *h) {
  atomic_fetch_add(&h->users, 1);
  return h;
}

void tt_heap_close(tt_heap *h) {
  if (!h || atomic_fetch_sub(&h->users, 1) != 1) return;
  free_extents(h->free_list);
  free_extents(h->used_list);
  free_extents(h->withdrawn);
  for (later *l = h->waiting, *next; l; l = next) {
    next = l->next;
    free(l);
  }
  pthread_mutex_destroy(&h->lock);
  tt_segment_release(h->segment);
  free(h);
}

/* Returns true if the system has this much memory available without taking memory away from other processes. */
static bool available(size_t bytes) {
  return bytes < LARGE || bytes < tt_memory_available();
}

/* ---- cores ---- */

/* each cores, arrived: order: set before its rank is ready, and read when all are */
/* each ended: order: a rank that has ended is counted a little longer or not */

void tt_heap_publish_cores(const tt_segment *s, int index, const tt_cpu_bits *cores) {
  tt_job_head *job = tt_job_head_of(s);
  tt_heap_head(s, index)->cores = *cores;
  for (size_t i = 0; i < TT_CPU_WORDS && index < s->founders; i++)
    if (cores->word[i]) atomic_fetch_or(&job->cores[i], cores->word[i]);
  if (index < s->founders) atomic_fetch_add(&job->arrived, 1);
}

/* Cores of all founders that have arrived. */
static tt_cpu_bits founders_cores(const tt_segment *s) {
  tt_cpu_bits all;
  for (size_t i = 0; i < TT_CPU_WORDS; i++) all.word[i] = atomic_load(&tt_job_head_of(s)->cores[i]);
  return all;
}

/* Returns true if the members are exactly the founders of the job. No rank occurs twice in `members`. */
static bool all_founders(const tt_segment *s, const int *members, int ranks) {
  int most = 0;
  for (int r = 0; r < ranks; r++) most = members[r] > most ? members[r] : most;
  return ranks == s->founders && most < ranks;
}

double tt_heap_ranks_per_core(const tt_segment *segment, const int *members, int ranks) {
  tt_cpu_bits all = {0};
  if (all_founders(segment, members, ranks))
    all = founders_cores(segment);
  else
    for (int r = 0; r < ranks; r++) tt_cpus_join(&all, &tt_heap_head(segment, members[r])->cores);
  double cores = tt_cpus_count(&all), quota = tt_heap_head(segment, members[0])->quota;
  if (quota < cores) cores = quota;
  return ranks / (cores > 0 ? cores : 1);
}

bool tt_heap_crowded(const tt_segment *s) {
  int ranks = (int)atomic_load(&tt_job_head_of(s)->arrived);
  const tt_cpu_bits all = founders_cores(s);
  for (int r = 0; r < s->founders; r++) ranks -= atomic_load(&tt_heap_intro(s, r)->ended) != 0;
  return ranks > tt_cpus_count(&all);
}

/* Returns true if the job is oversubscribed and runs progress threads, so that no core is ever idle. */
static bool never_idle(const tt_segment *s) {
  return (atomic_load_explicit(&tt_process.progress_thread.wanted, memory_order_relaxed) ||
          atomic_load_explicit(&tt_process.progress_thread.by_setting, memory_order_relaxed)) &&
         tt_heap_crowded(s);
}

/* ---- system memory ---- */

/* Collapses pages into huge pages. The kernel first makes every core flush its per-core caches, one core after the other, in a
 * kernel worker on that core. If ranks keep all cores busy, this takes seconds, during which the rank makes no progress. A
 * process that was delayed once therefore does not try again, and an oversubscribed job with progress threads never tries. */
static void make_huge(tt_heap *h, size_t at, size_t bytes) {
  const double since = tt_seconds();
  tt_huge_make(base_of(h) + at, bytes);
  h->segment->shuns_huge = tt_seconds() - since > 0.05 + 1e-9 * (double)bytes;
}

/* Commits all pages that contain bytes of [at, at + bytes). Returns false if memory is short. */
static bool commit(tt_heap *h, size_t at, size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), lo = at / page * page;
  size_t size = tt_round_up(at + bytes, page) - lo;
  if (!available(bytes)) return false;
  tt_huge_advise(base_of(h) + at, bytes);
  if (madvise(base_of(h) + lo, size, MADV_POPULATE_WRITE) == 0) {
    if (!h->segment->shuns_huge && !never_idle(h->segment)) make_huge(h, at, bytes);
    return true;
  }
  return errno != ENOMEM && errno != EFAULT; /* old kernels report other errors */
}

/* Allocates `bytes` bytes, aligned to `align`, from a free extent. Returns SIZE_MAX if no extent is large enough. */
static size_t cut_extent(tt_heap *h, size_t bytes, size_t align) {
  for (extent **link = &h->free_list; *link; link = &(*link)->next) {
    extent *e = *link;
    size_t at = tt_round_up(e->at, align), end = e->at + e->bytes;
    if (at > end || end - at < bytes) continue;
    extent *rest = at + bytes < end ? malloc(sizeof *rest) : NULL;
    if (at + bytes < end && !rest) return SIZE_MAX;
    if (rest) *rest = (extent){at + bytes, end - at - bytes, e->next};
    if (rest) e->next = rest;
    e->bytes = at - e->at;
    if (e->bytes == 0) {
      *link = e->next;
      free(e);
    }
    return at;
  }
  return SIZE_MAX;
}

static void put_back(tt_heap *h, extent *e) {
  extent **link = &h->free_list;
  while (*link && (*link)->at < e->at) link = &(*link)->next;
  e->next = *link;
  *link = e;
  for (extent *x = h->free_list; x && x->next;) { /* merge neighbours */
    extent *y = x->next;
    if (x->at + x->bytes != y->at) {
      x = y;
      continue;
    }
    x->bytes += y->bytes;
    x->next = y->next;
    free(y);
  }
}

static void put_back_range(tt_heap *h, size_t at, size_t bytes) {
  extent *e = bytes ? malloc(sizeof *e) : NULL;
  if (!e) return; /* the range is leaked, which is harmless */
  *e = (extent){at, bytes, NULL};
  put_back(h, e);
}

/* Allocates committed, zeroed memory and returns its offset. Returns SIZE_MAX if out of memory. */
static size_t alloc_zeroed(tt_heap *h, size_t bytes, size_t align) {
  size_t at = cut_extent(h, bytes, align);
  if (at != SIZE_MAX) {
    if (commit(h, at, bytes)) {
      memset(base_of(h) + at, 0, bytes);
      return at;
    }
    put_back_range(h, at, bytes);
    return SIZE_MAX;
  }
  at = tt_round_up(h->fresh, align);
  if (at > h->segment->stride || h->segment->stride - at < bytes || !commit(h, at, bytes))
    return SIZE_MAX;
  put_back_range(h, h->fresh, at - h->fresh); /* the gap left by alignment */
  h->fresh = at + bytes;
  return at;
}

void *tt_heap_alloc(tt_heap *h, size_t bytes, size_t align) {
  if (bytes == 0 || bytes > h->segment->stride) return NULL;
  bytes = tt_round_up(bytes, UNIT);
  extent *used = malloc(sizeof *used);
  if (!used) return NULL;
  pthread_mutex_lock(&h->lock);
  size_t at = alloc_zeroed(h, bytes, tt_max(align, UNIT));
  if (at != SIZE_MAX) {
    *used = (extent){at, bytes, h->used_list};
    h->used_list = used;
  }
  pthread_mutex_unlock(&h->lock);
  if (at != SIZE_MAX) return base_of(h) + at;
  free(used);
  return NULL;
}

const atomic_bool *tt_heap_revokes(const tt_heap *h) {
  return &h->revokes;
}

void tt_heap_revoke(tt_heap *h, void *memory, size_t bytes) {
  extent *e = malloc(sizeof *e);
  h->revokes = true;
  if (!e) {
    atomic_store(&h->unsure, true);
    return;
  }
  pthread_mutex_lock(&h->lock);
  *e = (extent){(size_t)((char *)memory - h->segment->base), bytes, h->withdrawn};
  h->withdrawn = e;
  pthread_mutex_unlock(&h->lock);
}

bool tt_heap_revoked(tt_heap *h, const void *memory, size_t bytes) {
  const size_t at = (size_t)((const char *)memory - h->segment->base);
  for (const extent *e = h->withdrawn; e; e = e->next) /* no lock: it grows only at its head */
    if (at < e->at + e->bytes && e->at < at + bytes) return true;
  return h->unsure;
}

bool tt_heap_free(tt_heap *h, void *memory) {
  char *at = memory;
  if (at < base_of(h) || at >= base_of(h) + h->segment->stride) return false;
  size_t offset = (size_t)(at - base_of(h));
  pthread_mutex_lock(&h->lock);
  extent **link = &h->used_list;
  while (*link && (*link)->at != offset) link = &(*link)->next;
  extent *e = *link;
  if (e) *link = e->next;
  if (e && tt_heap_revoked(h, memory, e->bytes)) {
    free(e); /* the range is leaked on purpose */
  } else if (e) {
    if (e->bytes >= GIVE_BACK) {
      size_t page = (size_t)sysconf(_SC_PAGESIZE), lo = tt_round_up(e->at, page);
      madvise(base_of(h) + lo, (e->at + e->bytes) / page * page - lo, MADV_REMOVE);
    }
    put_back(h, e);
  }
  pthread_mutex_unlock(&h->lock);
  return e != NULL;
}

/* Frees all pieces of memory with a reference count of 0. */
static void free_ready(tt_heap *h) {
  later *ready = NULL;
  pthread_mutex_lock(&h->lock);
  for (later **link = &h->waiting; *link;) {
    later *x = *link;
    /* model: refs:gone */
    if (atomic_load_explicit(x->refs, memory_order_acquire)) {
      link = &x->next;
      continue;
    }
    *link = x->next;
    x->next = ready;
    ready = x;
  }
  pthread_mutex_unlock(&h->lock);
  for (later *next; ready; ready = next) {
    next = ready->next;
    for (size_t i = 0; i < ready->n; i++) tt_heap_free(h, ready->memory[i]);
    free(ready);
  }
}

void tt_heap_free_later(tt_heap *h, atomic_uint *refs, void *const *memory, size_t n) {
  later *l = malloc(sizeof *l + n * sizeof *l->memory);
  if (l) { /* otherwise the memory is leaked, which is harmless */
    pthread_mutex_lock(&h->lock);
    *l = (later){h->waiting, refs, n};
    memcpy(l->memory, memory, n * sizeof *memory);
    h->waiting = l;
    pthread_mutex_unlock(&h->lock);
  }
  free_ready(h);
}

size_t tt_heap_used(tt_heap *h) {
  size_t bytes = 0;
  free_ready(h);
  pthread_mutex_lock(&h->lock);
  for (const extent *e = h->used_list; e; e = e->next) bytes += e->bytes;
  pthread_mutex_unlock(&h->lock);
  return bytes;
}
