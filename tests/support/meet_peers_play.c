/* meet_peers_play.c - runs ranks as threads that connect through a rendezvous, a key-value store,
 * or a gather function.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "meet_peers_play.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Programs without cmocka also link this file, so an unexpected failure ends the program. */
__attribute__((format(printf, 1, 2), noreturn)) static void end_with(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  abort();
}

/* Returns the size of a rank's row in a round, in bytes. */
static size_t bytes_in(int round, int rank) {
  static const size_t n[ROUNDS] = {1, 4096, 70000};
  return n[round] + 3 * (size_t)(rank ^ 1);
}

/* Returns true if this is the row that the rank contributes in this round. */
static bool is_right(const tt_table *all, int rank, int round) {
  size_t bytes;
  const unsigned char *row = tt_table_row(all, rank, &bytes);
  bool right = bytes == tt_row_bytes(bytes_in(round, rank));
  for (size_t i = 0; right && i < bytes_in(round, rank); i++) right = row[i] == 1 + rank + round;
  return right;
}

void *meeting_visit(void *arg) {
  peer *g = arg;
  const double since = tt_seconds();
  tt_meeting m;
  g->status = g->gather  ? tt_meet_gather(g->gather, g->ctx, g->rank, g->ranks, TUTTI_ERR_SYSTEM,
                                          "the gather failed", &m)
              : g->store ? tt_meet_store(g->store, g->rank, g->ranks, g->limit, &m)
                         : tt_meet_visit(&g->at, g->host, g->rank, g->ranks, g->limit, &m);
  const bool came = !g->status;
  g->right = true;
  for (int round = 0; round < g->rounds && !g->status; round++) {
    const size_t n = bytes_in(round, g->rank);
    unsigned char *mine = malloc(n);
    tt_table all;
    memset(mine, 1 + g->rank + round, n);
    const tutti_status failed =
        g->fails_in == round + 1 ? tt_fail(TUTTI_ERR_MEMORY, "it is out of its memory") : TUTTI_OK;
    g->status = m.gather(&m, failed, mine, n, &all);
    for (int r = 0; r < g->ranks && !g->status; r++) g->right &= is_right(&all, r, round);
    tt_table_drop(&all);
    free(mine);
  }
  if (g->status) snprintf(g->why, sizeof g->why, "%s", tutti_error());
  if (g->stays) usleep(150000);
  if (came) m.end(&m);
  g->took = tt_seconds() - since;
  return NULL;
}

void meeting_begin(peer *g) {
  if (!g->rounds) g->rounds = ROUNDS;
  if (g->limit == 0) g->limit = 10;
  if (pthread_create(&g->thread, NULL, meeting_visit, g)) end_with("no thread");
}

void meeting_finish(peer *g) {
  pthread_join(g->thread, NULL);
}

void meeting_expect(const peer *g, tutti_status status, const char *words) {
  const char *at = g->why;
  if (g->status != status) end_with("rank %d: %s: %s", g->rank, tutti_strerror(g->status), g->why);
  for (char part[100]; *words; words += strcspn(words, "|"), words += *words == '|') {
    snprintf(part, sizeof part, "%.*s", (int)strcspn(words, "|"), words);
    if (!strstr(at, part)) end_with("rank %d: '%s' is not in: %s", g->rank, part, g->why);
  }
  if (!status && !g->right) end_with("rank %d: what it got is wrong", g->rank);
}

tt_rendezvous meeting_serve_for(bool lasting) {
  tt_rendezvous r = {.hosts = 1, .host = {"127.0.0.1"}};
  pthread_t thread;
  if (tt_rendezvous_serve(&r, lasting, &thread)) end_with("%s", tutti_error());
  pthread_detach(thread);
  return r;
}

tt_rendezvous meeting_serve(void) {
  return meeting_serve_for(false);
}

int meeting_call(int port) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
  if (connect(fd, (struct sockaddr *)&to, sizeof to)) end_with("cannot connect to port %d", port);
  return fd;
}
