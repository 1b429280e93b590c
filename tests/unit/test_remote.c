/* test_remote.c - when a peer's private memory is read with a system call, and when it is copied through shared
 * memory.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "heap.h"
#include "remote.h"

static const size_t sizes[] = {1, 4096, 1 << 20, (size_t)1 << 33};

static tt_head head_of(bool reads, double call, double read_byte, double staged_byte) {
  tt_head head = {0};
  atomic_store(&head.reads, reads);
  head.copy.remote_call = call;
  head.copy.remote_byte = read_byte;
  head.copy.staged_byte = staged_byte;
  return head;
}

/* Parameters of 0, as with TUTTI_COPIES=none. */
static void without_figures_memory_is_read(void **state) {
  const tt_head mine = head_of(true, 0, 0, 0), unable = head_of(false, 0, 0, 0);
  (void)state;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    assert_true(tt_remote_cheaper(&mine, sizes[i]));
  assert_true(tt_remote_reads(&mine));
  assert_false(tt_remote_reads(&unable));
}

static void the_cheaper_path_is_taken(void **state) {
  const tt_head mine = head_of(true, 1e-6, 1e-10, 3e-10), dear = head_of(true, 1e-6, 3e-10, 1e-10);
  (void)state;
  assert_false(tt_remote_cheaper(&mine, 1000)); /* 1.1 us to read, 0.3 us to copy */
  assert_true(tt_remote_cheaper(&mine, 100000));
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    assert_false(tt_remote_cheaper(&dear, sizes[i]));
}

static void memory_is_read_in_pieces(void **state) {
  enum { BYTES = 300001 };
  static char from[BYTES], to[BYTES];
  (void)state;
  for (int i = 0; i < BYTES; i++) from[i] = (char)(i % 251);
  if (tt_remote_read(getpid(), (uint64_t)(uintptr_t)from, to, BYTES)) skip(); /* forbidden here */
  assert_memory_equal(from, to, BYTES);
  assert_int_equal(tt_remote_read(getpid(), 4096, to, 8),
                   TUTTI_ERR_SYSTEM); /* nothing is mapped there */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_figures_memory_is_read),
      cmocka_unit_test(the_cheaper_path_is_taken),
      cmocka_unit_test(memory_is_read_in_pieces),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
