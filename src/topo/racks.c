/* racks.c - reads a list of racks and their hosts.
 *
 * Idea       Each line describes a rack. Each of its patterns is matched against the existing hosts, so n[0001-9999]
 *            costs no more than a single host.
 * Invariant  Every rank is in exactly one rack. A syntax error is found even if no host matches the pattern.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "placement.h"

_Static_assert(sizeof((tt_placement *)0)->host < 64, "a bit for every character of a host");

#define BLANKS " \t\r"
#define DIGITS "0123456789"

typedef struct reader {
  const char *name, *text, *at;
} reader;

/* A part of the text that is either the name of a rack or a pattern. */
typedef struct part {
  const char *at, *end;
} part;

static tutti_status racks_error(const reader *r, const char *at, const char *expected) {
  return tt_syntax_error(TUTTI_ERR_ARG, r->name, r->text, at, BLANKS "\n#", expected);
}

/* ---- patterns ---- */

/* Reads a number or a range, such as "20" or "01-16", that is followed by ',' or ']'. Returns NULL on error. */
static const char *read_range(const char *at, long *lo, long *hi, int *width) {
  const size_t first = strspn(at, DIGITS);
  size_t last = 0;
  if (!first || first > 9) return NULL;
  *lo = *hi = strtol(at, NULL, 10);
  *width = (int)first;
  at += first;
  if (*at == '-') {
    last = strspn(++at, DIGITS);
    if (!last || last > 9) return NULL;
    *hi = strtol(at, NULL, 10);
    at += last;
  }
  return *lo <= *hi && (*at == ',' || *at == ']') ? at : NULL;
}

/* Returns the position of the first error in a pattern, or NULL if it has no error. */
static const char *mistake(part p) {
  long lo, hi;
  int width;
  for (const char *at = p.at; at < p.end; at++) {
    if (*at == ']' || *at == ',') return at;
    if (*at != '[') continue;
    do {
      const char *end = read_range(at + 1, &lo, &hi, &width);
      if (!end || end >= p.end) return at + 1;
      at = end;
    } while (*at == ',');
  }
  return NULL;
}

/* Matches the digits of a host with a list of numbers. Bit n of the result is set if the first n digits are a number in the
 * list with the same width. `at` points to the character after '['. */
static uint64_t counted(const char *at, const char *host, int digits) {
  uint64_t found = 0;
  long lo = 0, hi = 0;
  int width = 0;
  for (;; at++) {
    at = read_range(at, &lo, &hi, &width);
    long value = 0;
    for (int n = 1; n <= digits; n++) {
      value = 10 * value + host[n - 1] - '0';
      if (value >= lo && value <= hi && n >= width && (n == width || host[0] != '0'))
        found |= (uint64_t)1 << n;
    }
    if (*at == ']') return found;
  }
}

/* Returns true if the host matches the pattern, where either may have a domain appended. `found` has one bit for each prefix
 * of the host that matches so far. Several brackets thus add to the time instead of multiplying it. */
static bool matches(part p, const char *host) {
  uint64_t found = 1;
  while (p.at < p.end && found) {
    const char *item = p.at;
    uint64_t next = 0;
    for (int i = 0; found >> i; i++) {
      if (!(found >> i & 1)) continue;
      if (*item == '.' && !host[i]) return true;
      const int digits = *item == '[' ? (int)tt_min(strspn(host + i, DIGITS), 9) : 0;
      if (digits) next |= counted(item + 1, host + i, digits) << i;
      if (*item != '[' && *item == host[i]) next |= (uint64_t)1 << (i + 1);
    }
    while (*item == '[' && *p.at != ']') p.at++;
    p.at++;
    found = next;
  }
  for (int i = 0; found >> i; i++)
    if ((found >> i & 1) && (!host[i] || host[i] == '.')) return true;
  return false;
}

/* ---- lines ---- */

/* Reads the name of a rack and a colon, which a blank or the end of the line must follow. */
static tutti_status read_rack(reader *r, part *rack) {
  const char *colon = r->at + strcspn(r->at, ":" BLANKS "\n#");
  if (colon == r->at || *colon != ':')
    return racks_error(r, r->at, "a rack and its hosts, such as 'rack-a: n1 n2'");
  if (!strchr(BLANKS "\n#", colon[1])) return racks_error(r, colon + 1, "a blank");
  *rack = (part){r->at, colon};
  r->at = colon + 1;
  return TUTTI_OK;
}

/* Reads the next host in the line. Returns false if the line has no more hosts. */
static bool next_host(reader *r, part *host) {
  host->at = r->at + strspn(r->at, BLANKS);
  host->end = r->at = host->at + strcspn(host->at, BLANKS "\n#");
  if (host->end > host->at) return true;
  r->at += strcspn(r->at, "\n");
  r->at += *r->at == '\n';
  return false;
}

static bool parts_equal(part a, part b) {
  return a.end - a.at == b.end - b.at && memcmp(a.at, b.at, (size_t)(a.end - a.at)) == 0;
}

/* Assigns the rack to all ranks on hosts that match. Fails if one of the ranks already belongs to another rack. */
static tutti_status assign_rack(const reader *r, part host, part rack,
                                const tt_placement *placements, int ranks, part *of) {
  for (int i = 0; i < ranks; i++) {
    if (!matches(host, placements[i].host)) continue;
    if (of[i].at && !parts_equal(of[i], rack)) {
      int column;
      const int line = tt_line_of_text(r->text, host.at, &column);
      return tt_fail(TUTTI_ERR_ARG,
                     "%.200s, line %d, column %d: host '%s' is in rack '%.*s' already", r->name,
                     line, column, placements[i].host,
                     (int)tt_min((size_t)(of[i].end - of[i].at), 40), of[i].at);
    }
    if (!of[i].at) of[i] = rack;
  }
  return TUTTI_OK;
}

static tutti_status read_lines(const char *text, const char *name, const tt_placement *placements,
                               int ranks, part *of) {
  reader r = {.name = name, .text = text, .at = text};
  part rack = {0}, host = {0};
  while (*(r.at = tt_skip_comments(r.at, BLANKS "\n"))) {
    tutti_status status = read_rack(&r, &rack);
    while (!status && next_host(&r, &host)) {
      const char *wrong = mistake(host);
      if (wrong) return racks_error(&r, wrong, "hosts such as n7 or n[01-16,20]");
      status = assign_rack(&r, host, rack, placements, ranks, of);
    }
    if (status) return status;
  }
  return TUTTI_OK;
}

tutti_status tt_racks_read(const char *text, const char *name, const tt_placement *placements,
                           int ranks, int32_t *rack) {
  part *of = calloc((size_t)ranks, sizeof *of);
  if (!of) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the racks of %d ranks", ranks);
  tutti_status status = read_lines(text, name, placements, ranks, of);
  for (int i = 0; !status && i < ranks; i++) {
    if (!of[i].at)
      status = tt_fail(TUTTI_ERR_ARG, "%.200s: host '%s', of rank %d, is in none of its racks",
                       name, placements[i].host, i);
    rack[i] = 0;
    while (rack[i] < i && !status && !parts_equal(of[rack[i]], of[i])) rack[i]++;
  }
  free(of);
  return status;
}
