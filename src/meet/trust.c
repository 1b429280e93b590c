/* trust.c - checks which host and user the other end of a connection belongs to, and whether a secret is strong
 * enough.
 *
 * Idea       If a key is derived from the number of a job, or from nothing, anyone can compute it, so it proves
 *            nothing. On one host, the kernel's tables of connections show the user at the other end of each
 *            connection. A connection that is missing there comes from another host, or from another network
 *            namespace. A connection whose ends have the same address, or loopback addresses, does not leave the
 *            host: no other host can establish one.
 * Cost       Reads /proc/net/tcp and tcp6 once per connection, and only without a secret.
 * Invariant  If the user of a process cannot be determined, the process is not trusted.
 * Source     proc(5).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "meet_line.h"

typedef struct end { /* one end of a connection; IPv4: in the last word, the others are 0 */
  bool six;
  uint32_t word[4]; /* in network byte order */
  unsigned port;
} end;

static end end_of(const struct sockaddr_storage *at) {
  end e = {.six = at->ss_family == AF_INET6};
  if (!e.six) {
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)at;
    e.word[3] = four->sin_addr.s_addr;
    e.port = ntohs(four->sin_port);
    return e;
  }
  const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)at;
  memcpy(e.word, &six->sin6_addr, sizeof e.word);
  e.port = ntohs(six->sin6_port);
  if (!IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) return e;
  return (end){.word = {0, 0, 0, e.word[3]}, .port = e.port};
}

/* Writes an end in the format of the tables. */
static void write_end(const end *e, bool six, char text[48]) {
  if (!six)
    snprintf(text, 48, "%08X:%04X", e->word[3], e->port);
  else if (e->six)
    snprintf(text, 48, "%08X%08X%08X%08X:%04X", e->word[0], e->word[1], e->word[2], e->word[3],
             e->port);
  else
    snprintf(text, 48, "0000000000000000%08X%08X:%04X", htonl(0xffff), e->word[3], e->port);
}

/* Returns the user of the socket with these ends, or -1 if the table does not contain it. */
static long user_in(const char *table, bool six, const end *local, const end *remote) {
  char line[512], wanted[2][48], has[2][48];
  unsigned long user;
  long found = -1;
  FILE *f = fopen(table, "re");
  if (!f) return -1;
  write_end(local, six, wanted[0]);
  write_end(remote, six, wanted[1]);
  while (found < 0 && fgets(line, sizeof line, f))
    if (sscanf(line, "%*d: %47s %47s %*s %*s %*s %*s %lu", has[0], has[1], &user) == 3 &&
        strcmp(has[0], wanted[0]) == 0 && strcmp(has[1], wanted[1]) == 0)
      found = (long)user;
  fclose(f);
  return found;
}

static bool find_ends(int fd, end *mine, end *its) {
  struct sockaddr_storage here = {0}, there = {0}; /* stays 0 for local sockets */
  socklen_t n = sizeof here, m = sizeof there;
  if (getsockname(fd, (struct sockaddr *)&here, &n) ||
      getpeername(fd, (struct sockaddr *)&there, &m))
    return false;
  *mine = end_of(&here);
  *its = end_of(&there);
  return true;
}

static bool is_loopback(const end *e) {
  return !e->six && ntohl(e->word[3]) >> 24 == 127;
}

bool tt_is_here(int fd) {
  end mine, its;
  if (!find_ends(fd, &mine, &its)) return false;
  return !memcmp(mine.word, its.word, sizeof mine.word) ||
         (is_loopback(&mine) && is_loopback(&its));
}

static bool is_same_user(int fd) {
  end mine, its;
  long user = -1;
  if (!find_ends(fd, &mine, &its)) return false;
  if (!mine.six) user = user_in("/proc/net/tcp", false, &its, &mine);
  if (user < 0) user = user_in("/proc/net/tcp6", true, &its, &mine);
  return user == (long)geteuid();
}

bool tt_trusts(int fd) {
  return tt_env_int("TUTTI_INSECURE", 0, 1, 0) == 1 || is_same_user(fd);
}

/* ---- secrets ---- */

enum { KEY_BITS = 128 };

/* Returns an upper bound of the entropy of a text, in bits: its length, times the logarithm of the number of
 * characters of the kinds that it contains. */
static double bits_of(const char *text) {
  static const struct {
    const char *first, *last;
    int n;
  } kinds[] = {{"0", "9", 10}, {"a", "f", 6}, {"g", "z", 20}, {"A", "F", 6}, {"G", "Z", 20}};
  enum { KINDS = sizeof kinds / sizeof *kinds };
  bool seen[KINDS + 1] = {false};
  const size_t length = strlen(text);
  for (const char *c = text; *c; c++) {
    int k = 0;
    while (k < KINDS && (*c < *kinds[k].first || *c > *kinds[k].last)) k++;
    seen[k] = true;
  }
  int characters = seen[KINDS] ? 33 : 0;
  for (int k = 0; k < KINDS; k++) characters += seen[k] ? kinds[k].n : 0;
  double each = 0; /* log2, rounded up to quarters of a bit, without libm */
  for (double n = 1; n < characters; n *= 1.189207115) each += 0.25;
  return (double)length * each;
}

void tt_key_look(const char *name, const char *text) {
  if (!text || bits_of(text) >= KEY_BITS || !tt_news(name, "weak")) return;
  tt_log(0,
         "%s has at most %.0f bits: somebody who captures how two processes prove to know it can try "
         "all. Draw %d bits at random: openssl rand -hex 16",
         name, bits_of(text), KEY_BITS);
}
