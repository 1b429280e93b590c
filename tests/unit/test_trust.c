/* test_trust.c - which connections of one host are trusted, by tables as several kernels write them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
/* cmocka.h needs four of these headers first */
#include <cmocka.h>

#include "meet_line.h"

enum { MINE = 1000, OTHER = 1001 };

/* What the table says of the other end's socket. */
static const struct {
  const char *what;
  int listed;
  unsigned user, inode;
  tt_trust trust;
} cases[] = {{"accepted, of this user", 1, MINE, 77, TT_TRUSTED},
             {"accepted, of another user", 1, OTHER, 77, TT_UNTRUSTED},
             {"accepted, of root", 1, 0, 77, TT_UNTRUSTED},
             {"not accepted, Linux 6.17 and later, of this user", 1, MINE, 0, TT_TRUSTED},
             {"not accepted, Linux 6.17 and later, of another user", 1, OTHER, 0, TT_UNTRUSTED},
             {"not accepted, before Linux 6.17: the user is shown as 0", 1, 0, 0, TT_NOT_KNOWN},
             {"of another host: not listed", 0, 0, 0, TT_UNTRUSTED}};

/* A connection that its listener has not accepted; returns this rank's end. */
static int connect_to_self(int *listener, struct sockaddr_in *here, struct sockaddr_in *there) {
  socklen_t n = sizeof *here;
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  *listener = socket(AF_INET, SOCK_STREAM, 0);
  *there = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  assert_int_equal(bind(*listener, (struct sockaddr *)there, sizeof *there), 0);
  assert_int_equal(listen(*listener, 1), 0);
  assert_int_equal(getsockname(*listener, (struct sockaddr *)there, &n), 0);
  assert_int_equal(connect(fd, (struct sockaddr *)there, sizeof *there), 0);
  assert_int_equal(getsockname(fd, (struct sockaddr *)here, &n), 0);
  return fd;
}

static void a_table_decides(void **state) {
  struct sockaddr_in here, there;
  char name[] = "/tmp/tutti-test-trust-XXXXXX";
  int listener;
  const int fd = connect_to_self(&listener, &here, &there), file = mkstemp(name);
  (void)state;
  assert_true(file >= 0);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    FILE *table = fopen(name, "w");
    assert_non_null(table);
    fputs(
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "
        "timeout inode\n",
        table);
    for (int k = 0; k <= cases[i].listed; k++) /* the first line is of another connection */
      fprintf(table,
              "   %d: %08X:%04X %08X:%04X 01 00000000:00000000 00:00000000 00000000  %u        0 "
              "%u 1\n",
              k, there.sin_addr.s_addr, ntohs(there.sin_port), here.sin_addr.s_addr,
              (unsigned)ntohs(here.sin_port) + !k, k ? cases[i].user : MINE, cases[i].inode);
    fclose(table);
    const tt_trust trust = tt_trust_by(fd, name, "/nonexistent", MINE);
    if (trust != cases[i].trust) fail_msg("%s: %d", cases[i].what, (int)trust);
  }
  unlink(name);
  close(file);
  close(listener);
  close(fd);
}

/* This kernel's own tables, before and after the listener has accepted. */
static void this_kernel_knows_its_users(void **state) {
  struct sockaddr_in here, there;
  int listener;
  const int fd = connect_to_self(&listener, &here, &there);
  (void)state;
  assert_int_not_equal(tt_trust_of(fd), TT_UNTRUSTED);
  const int accepted = accept(listener, NULL, NULL);
  assert_true(tt_trusts(fd) && tt_trusts(accepted) && tt_is_here(fd));
  close(accepted);
  close(listener);
  close(fd);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_table_decides),
                                     cmocka_unit_test(this_kernel_knows_its_users)};
  return cmocka_run_group_tests_name("trust", tests, NULL, NULL);
}
