/* test_lent.c - memory of the caller that peers may map: its bytes stay, peers see what is written, and what cannot be lent is
 * refused.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#include "lent.h"

enum { PAGE = 4096, HEAPS = 2, MINE = 1 };
static const char who[] = "test";

/* A heap of this process, and the segment as a peer maps it. */
static tt_heap *begin(tt_segment **theirs) {
  int memory;
  tt_segment *mine;
  tt_heap *heap;
  assert_int_equal(tt_segment_create(HEAPS, 0, 0, 1, &memory), TUTTI_OK);
  assert_int_equal(tt_segment_map(memory, HEAPS, &mine), TUTTI_OK);
  assert_int_equal(tt_segment_map(memory, HEAPS, theirs), TUTTI_OK);
  close(memory);
  assert_int_equal(tt_heap_open(mine, MINE, &heap), TUTTI_OK);
  return heap;
}

static void end(tt_heap *heap, tt_segment *theirs) {
  tt_heap_close(heap);
  tt_segment_release(theirs);
}

static unsigned char *private_pages(size_t n) {
  unsigned char *at =
      mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(at, MAP_FAILED);
  for (size_t i = 0; i < n * PAGE; i++) at[i] = (unsigned char)(i * 7 + i / PAGE);
  return at;
}

/* Vectors that begin and end within a page, at its borders, and on several pages. */
static const struct {
  size_t at, bytes;
} vectors[] = {{0, PAGE}, {0, 1}, {PAGE - 1, 2}, {100, PAGE}, {64, 3 * PAGE}, {PAGE, 2 * PAGE}};

static void peers_see_it(void **state) {
  (void)state;
  tt_segment *theirs;
  tt_heap *heap = begin(&theirs);
  tt_segment *mine = tt_heap_segment(heap);
  const size_t before = tt_heap_used(heap);
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
    unsigned char *pages = private_pages(5), *kept = malloc(5 * PAGE);
    unsigned char *x = pages + vectors[i].at;
    const size_t n = vectors[i].bytes;
    memcpy(kept, pages, 5 * PAGE);
    assert_null(tt_lent_at(mine, x, n));
    assert_int_equal(tt_lend(heap, who, x, n), TUTTI_OK);
    assert_memory_equal(pages, kept, 5 * PAGE);
    const char *there = tt_lent_at(mine, x, n);
    assert_non_null(there);
    unsigned char *peers = (unsigned char *)theirs->base + (there - mine->base);
    assert_memory_equal(peers, x, n);
    x[n - 1] ^= 0x55; /* either side writes */
    assert_int_equal(peers[n - 1], x[n - 1]);
    peers[0] ^= 0x33;
    assert_int_equal(peers[0], x[0]);
    assert_null(tt_lent_at(mine, pages, 5 * PAGE)); /* not all of it */
    assert_false(tt_lend_end(heap, pages + 4 * PAGE, false));
    kept[vectors[i].at + n - 1] ^= 0x55;
    kept[vectors[i].at] ^= 0x33;
    assert_true(tt_lend_end(heap, x, false));
    assert_memory_equal(pages, kept, 5 * PAGE);
    peers[0] ^= 0x11; /* private again */
    assert_memory_equal(pages, kept, 5 * PAGE);
    assert_null(tt_lent_at(mine, x, n));
    assert_false(tt_lend_end(heap, x, false));
    munmap(pages, 5 * PAGE);
    free(kept);
  }
  assert_int_equal(tt_heap_used(heap), before);
  end(heap, theirs);
}

/* Memory that is revoked keeps its bytes; what a late peer writes is not seen, and the heap does not reuse it. */
static void revoked(void **state) {
  (void)state;
  tt_segment *theirs;
  tt_heap *heap = begin(&theirs);
  unsigned char *pages = private_pages(2);
  assert_int_equal(tt_lend(heap, who, pages, 2 * PAGE), TUTTI_OK);
  char *late =
      theirs->base + (tt_lent_at(tt_heap_segment(heap), pages, 1) - tt_heap_segment(heap)->base);
  assert_true(tt_lend_end(heap, pages + PAGE + 5, true)); /* any address within */
  const unsigned char is = pages[9];
  late[9] = (char)~is;
  assert_int_equal(pages[9], is);
  char *fresh = tt_heap_alloc(heap, 2 * PAGE, PAGE);
  assert_non_null(fresh);
  assert_ptr_not_equal(fresh - tt_heap_segment(heap)->base, late - theirs->base);
  munmap(pages, 2 * PAGE);
  end(heap, theirs);
}

/* The segment goes first: the memory stays as it was. */
static void outlives_the_segment(void **state) {
  (void)state;
  tt_segment *theirs;
  tt_heap *heap = begin(&theirs);
  unsigned char *pages = private_pages(1);
  const unsigned char is = pages[77];
  assert_int_equal(tt_lend(heap, who, pages, PAGE), TUTTI_OK);
  end(heap, theirs);
  assert_int_equal(pages[77], is);
  munmap(pages, PAGE);
}

static void *of_a_file(void) {
  const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  close(fd);
  return at;
}
static void *shared(void) {
  return mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}
static void *read_only(void) {
  return mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static void *half_mapped(void) {
  char *at = (char *)private_pages(2);
  munmap(at + PAGE, PAGE);
  return at + PAGE - 8;
}

static void refused(void **state) {
  (void)state;
  static void *(*const kinds[])(void) = {of_a_file, shared, read_only, half_mapped};
  tt_segment *theirs;
  tt_heap *heap = begin(&theirs);
  char on_stack[64];
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    void *at = kinds[i]();
    assert_int_equal(tt_lend(heap, who, at, 64), TUTTI_ERR_UNSUPPORTED);
    assert_non_null(strstr(tutti_error(), "use tutti_mem_alloc"));
  }
  assert_int_equal(tt_lend(heap, who, on_stack, sizeof on_stack), TUTTI_ERR_UNSUPPORTED);
  unsigned char *pages = private_pages(3);
  assert_int_equal(tt_lend(heap, who, pages + PAGE, PAGE), TUTTI_OK);
  assert_int_equal(tt_lend(heap, who, pages + 10, PAGE), TUTTI_ERR_ARG); /* a page of both */
  assert_non_null(strstr(tutti_error(), "registered already"));
  assert_int_equal(tt_lend(heap, who, pages, PAGE), TUTTI_OK);
  assert_true(tt_lend_end(heap, pages, false) && tt_lend_end(heap, pages + PAGE, false));
  const size_t most = tt_heap_segment(heap)->stride + PAGE; /* more than the heap has */
  void *large =
      mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  assert_ptr_not_equal(large, MAP_FAILED);
  assert_int_equal(tt_lend(heap, who, large, most), TUTTI_ERR_MEMORY);
  munmap(large, most);
  munmap(pages, 3 * PAGE);
  end(heap, theirs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(peers_see_it),
      cmocka_unit_test(revoked),
      cmocka_unit_test(outlives_the_segment),
      cmocka_unit_test(refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
