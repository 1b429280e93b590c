/* trust.c - checks which host and user the other end of a connection belongs to, and whether a secret is strong
 * enough.
 *
 * Idea       If a key is derived from the number of a job, or from nothing, anyone can compute it, so it proves
 *            nothing. On one host, the kernel's tables of connections show the user at the other end of each
 *            connection. A connection that is missing there comes from another host, or from another network
 *            namespace. A connection whose ends have the same address, or loopback addresses, does not leave the
 *            host: no other host can establish one.
 * Accepted   Before Linux 6.17, the kernel shows user 0 for a connection that its listener has not accepted yet. The side
 *            that connects therefore checks again after it has received an answer.
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

/* Looks for the socket with these two ends in a table of connections, and checks which user owns it. Returns false
 * if the table does not contain the socket. */
static bool find_user(const char *table, bool six, const end *local, const end *remote, long user,
                      tt_trust *trust) {
  char line[512], wanted[2][48], has[2][48];
  unsigned long its, inode;
  bool found = false;
  FILE *f = fopen(table, "re");
  if (!f) return false;
  write_end(local, six, wanted[0]);
  write_end(remote, six, wanted[1]);
  while (!found && fgets(line, sizeof line, f))
    found = sscanf(line, "%*d: %47s %47s %*s %*s %*s %*s %lu %*s %lu", has[0], has[1], &its,
                   &inode) == 4 &&
            strcmp(has[0], wanted[0]) == 0 && strcmp(has[1], wanted[1]) == 0;
  fclose(f);
  if (found) /* an inode of 0: not accepted */
    *trust = (long)its == user ? TT_TRUSTED : its || inode ? TT_UNTRUSTED : TT_NOT_KNOWN;
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

tt_trust tt_trust_by(int fd, const char *tcp, const char *tcp6, long user) {
  end mine, its;
  tt_trust trust = TT_UNTRUSTED;
  if (!find_ends(fd, &mine, &its)) return TT_UNTRUSTED;
  if (mine.six || !find_user(tcp, false, &its, &mine, user, &trust))
    find_user(tcp6, true, &its, &mine, user, &trust);
  return trust;
}

tt_trust tt_trust_of(int fd) {
  if (tt_env_int("TUTTI_INSECURE", 0, 1, 0) == 1) return TT_TRUSTED;
  return tt_trust_by(fd, "/proc/net/tcp", "/proc/net/tcp6", (long)geteuid());
}

bool tt_trusts(int fd) {
  return tt_trust_of(fd) == TT_TRUSTED;
}

/* ---- secrets ---- */

enum { KEY_BITS = 128 };

/* Returns an upper bound for the entropy of a text, in bits. This is the length of the text times the logarithm of
 * the number of characters in the classes that the text uses. */
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
  tt_log(
      0,
      "%s has at most %.0f bits: anybody who captures the start of one connection can find it by "
      "trying all values. Use %d random bits: openssl rand -hex 16",
      name, bits_of(text), KEY_BITS);
}
