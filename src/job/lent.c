/* lent.c - memory of the caller that peers may map (lent.h).
 *
 * Idea       The pages are copied into the heap. The heap's pages are then mapped a second time, at the caller's
 *            address (mremap of a shared mapping with an old size of 0). When lending ends, a private copy replaces
 *            them.
 * Cost       Two copies of the memory: one when it is lent, and one when lending ends. In between, each operation
 *            searches a list.
 * Invariant  The caller's address is always valid, because mremap replaces a mapping atomically. While the pages are
 *            being copied, other threads must not write to them.
 * Source     mremap(2).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lent.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct tt_lent {
  char *at, *there; /* the caller's address, and the address in the heap */
  size_t bytes;
  struct tt_lent *next;
} tt_lent;

/* Returns the start of the pages that contain these bytes, and sets *bytes to the total size of the pages. */
static char *pages_of(const void *memory, size_t *bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (uintptr_t)memory % page;
  *bytes = tt_round_up(*bytes + before, page);
  return (char *)(uintptr_t)memory - before;
}

/* Returns true if all pages from `at` to `end` are private and writable, and do not belong to a file or to a stack. */
static bool is_private(uintptr_t at, uintptr_t end) {
  char line[512], flags[8];
  FILE *maps = fopen("/proc/self/maps", "re");
  while (maps && at < end && fgets(line, sizeof line, maps)) {
    uintptr_t lo, hi;
    unsigned long inode;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %*s %*s %lu", &lo, &hi, flags, &inode) != 4) continue;
    if (hi <= at) continue;
    if (lo > at || inode || strncmp(flags, "rw-p", 4) != 0 || strstr(line, "[stack")) break;
    at = hi;
  }
  if (maps) fclose(maps);
  return at >= end;
}

/* Finds lent memory that contains all of these bytes (if `whole`) or overlaps them. The caller holds the list's lock. */
static tt_lent *find(const tt_segment *s, const char *at, size_t bytes, bool whole) {
  for (tt_lent *x = s->lent; x; x = x->next) {
    const bool inside = at >= x->at && at + bytes <= x->at + x->bytes;
    if (whole ? inside : at < x->at + x->bytes && x->at < at + bytes) return x;
  }
  return NULL;
}

const char *tt_lent_at(tt_segment *s, const void *bytes, size_t n) {
  pthread_mutex_lock(&s->lending);
  const tt_lent *x = find(s, bytes, n, true);
  const char *there = x ? x->there + ((const char *)bytes - x->at) : NULL;
  pthread_mutex_unlock(&s->lending);
  return there;
}

static tutti_status replace(tt_heap *heap, const char *who, tt_lent *x) {
  x->there = tt_heap_alloc(heap, x->bytes, (size_t)sysconf(_SC_PAGESIZE));
  if (!x->there)
    return tt_fail(TUTTI_ERR_MEMORY, "%s: %zu bytes of shared memory are not available", who, x->bytes);
  memcpy(x->there, x->at, x->bytes);
  if (tt_map_over(x->there, x->bytes, x->at, true)) return TUTTI_OK;
  const int why = errno;
  tt_heap_free(heap, x->there);
  return tt_fail(TUTTI_ERR_SYSTEM, "%s: the memory cannot be mapped: %s", who, strerror(why));
}

tutti_status tt_lend(tt_heap *heap, const char *who, void *memory, size_t bytes) {
  tt_segment *s = tt_heap_segment(heap);
  tt_lent *x = malloc(sizeof *x);
  if (!x) return tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory", who);
  *x = (tt_lent){.bytes = bytes};
  x->at = pages_of(memory, &x->bytes);
  const uintptr_t at = (uintptr_t)x->at;
  tutti_status status = TUTTI_OK;
  pthread_mutex_lock(&s->lending);
  if (find(s, x->at, x->bytes, false))
    status = tt_fail(TUTTI_ERR_ARG, "%s: a page of this memory is registered already", who);
  else if (!is_private(at, at + x->bytes))
    status = tt_fail(TUTTI_ERR_UNSUPPORTED,
                     "%s: this is not private memory of the process, as malloc returns it, but of a file, of "
                     "another process, or of a stack; use tutti_mem_alloc",
                     who);
  if (!status) status = replace(heap, who, x);
  if (!status) {
    x->next = s->lent;
    s->lent = x;
  }
  pthread_mutex_unlock(&s->lending);
  if (status) free(x);
  return status;
}

/* Replaces the shared pages with a private copy. If memory for the copy is short, the pages stay shared and are leaked. */
static bool take_back(const tt_lent *x) {
  void *own = mmap(NULL, x->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own == MAP_FAILED) return false;
  memcpy(own, x->at, x->bytes);
  if (tt_map_over(own, x->bytes, x->at, false)) return true;
  munmap(own, x->bytes);
  return false;
}

static void remove_from(tt_segment *s, const tt_lent *x) {
  tt_lent *before = s->lent;
  if (before == x) {
    s->lent = x->next;
    return;
  }
  while (before->next != x) before = before->next;
  before->next = x->next;
}

bool tt_lend_end(tt_heap *heap, const void *memory, bool revoked) {
  tt_segment *s = tt_heap_segment(heap);
  size_t bytes = 1;
  const char *at = pages_of(memory, &bytes);
  pthread_mutex_lock(&s->lending);
  tt_lent *x = find(s, at, 1, false);
  if (x && (revoked || x->at == at)) {
    remove_from(s, x);
  } else {
    x = NULL;
  }
  pthread_mutex_unlock(&s->lending);
  if (!x) return false;
  if (take_back(x) && !revoked) tt_heap_free(heap, x->there);
  free(x);
  return true;
}

void tt_lent_forget(tt_segment *s) {
  for (tt_lent *x; (x = s->lent); free(x)) s->lent = x->next;
}
