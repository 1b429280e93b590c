/* huge.c - huge pages for shared memory, if the system provides them.
 *
 * Idea       If the system setting is "advise", the kernel uses huge pages when advised memory is first touched. With
 *            other settings, kernels since 6.1 can collapse existing memory into huge pages, except with "deny". Only
 *            huge pages that lie entirely inside the allocation are requested.
 * Invariant  Uses no memory beyond the allocation. A refusal has no other effect.
 * Source     madvise(2), MADV_COLLAPSE; the kernel's admin-guide/mm/transhuge.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "huge.h"
#include "segment.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* Rounds *at up to the first whole huge page in [*at, *at + bytes). Returns the total size of the whole huge pages
 * in that range, in bytes. */
static size_t trim_to_huge_pages(char **at, size_t bytes) {
  const size_t before = tt_round_up((uintptr_t)*at, TT_HUGE) - (uintptr_t)*at;
  *at += before;
  return bytes < before ? 0 : (bytes - before) / TT_HUGE * TT_HUGE;
}

void tt_huge_advise(char *at, size_t bytes) {
  const size_t size = trim_to_huge_pages(&at, bytes);
  if (size) madvise(at, size, MADV_HUGEPAGE);
}

bool tt_huge_make(char *at, size_t bytes) {
  const size_t size = trim_to_huge_pages(&at, bytes);
  return size && madvise(at, size, MADV_COLLAPSE) == 0;
}

/* Reads a system setting. The file contains all possible words, with brackets around the active one. */
static bool setting(char *word, size_t size) {
  char line[128] = "";
  FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "re");
  if (!file) return false;
  const char *from = fgets(line, sizeof line, file) ? strchr(line, '[') : NULL;
  fclose(file);
  const char *to = from ? strchr(from, ']') : NULL;
  if (to) snprintf(word, size, "%.*s", (int)(to - from - 1), from + 1);
  return to != NULL;
}

bool tt_huge_here(char *why, size_t size) {
  tt_segment *one;
  char word[32];
  if (tt_segment_anonymous(1, &one)) {
    snprintf(why, size, "no memory can be mapped");
    return false;
  }
  tt_huge_advise(one->base, TT_HUGE);
  one->base[0] = 0;
  const bool here = tt_huge_make(one->base, TT_HUGE);
  const bool blind = madvise(one->base, TT_HUGE, -1) == 0; /* an emulator accepts any advice */
  tt_segment_release(one);
  if (here && !blind) return true;
  if (blind) {
    snprintf(why, size, "an emulator that cannot say");
    return false;
  }
  if (!setting(word, sizeof word)) {
    snprintf(why, size, "this kernel has none for shared memory");
    return false;
  }
  snprintf(why, size, "shmem_enabled is '%s', and the kernel makes none on request", word);
  return strcmp(word, "always") == 0 || strcmp(word, "advise") == 0 ||
         strcmp(word, "within_size") == 0;
}
