/* wisdom_text.c - reads and writes wisdom as text that people can edit.
 *
 *      tutti-wisdom 1, tutti 0.1.0
 *      # a comment
 *      on 8f3c21aa: 7 processes share memory, 3.5 to a core; 2 x Intel(R) Xeon(R)
 *      allreduce float sum same 0 4096 two-shot 1 12.310 4% 14.200 10.200 2026-11-22T01:24:22Z
 *
 * Idea       The first line contains the format's number and the library's version. A line that starts with "on" gives
 *            the placement for the entries below it. Only its stamp matters; the words are for people. Each entry is
 *            one line, and a comment above them names the columns.
 * Invariant  Text that is written reads back to the same entries.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wisdom.h"

static const char *const needs_words[] = {"any",        "order",   "same",
                                          "order+same", "element", "order+element"};
enum { FORMAT = 1, NEEDS = sizeof needs_words / sizeof *needs_words, MOST_SHIFT = 50 };

void tt_wisdom_key_set(tt_wisdom_key *key, tutti_coll coll, tutti_type type, tutti_op op,
                       unsigned needs, int helpers) {
  const bool reduces = tt_coll_reduces(coll) && coll != TUTTI_BARRIER;
  *key = (tt_wisdom_key){coll, reduces ? (int)type : -1, "-", needs, helpers};
  if (reduces) snprintf(key->op, sizeof key->op, "%s", tt_op_kind_name(tt_op_kind(op)));
}

/* ---- writing ---- */

static void print_us(tt_text *t, int width, uint64_t ns) {
  char text[40];
  snprintf(text, sizeof text, "%llu.%03llu", (unsigned long long)(ns / 1000),
           (unsigned long long)(ns % 1000));
  tt_text_add(t, " %*s", width, text);
}

static void print_entry(tt_text *t, const tt_wisdom_entry *e) {
  tt_text_add(t, "%-14s %-8s %-6s %-10s %3d %10llu %-20s %2d", tutti_coll_name(e->key.coll),
              e->key.type < 0 ? "-" : tutti_type_name((tutti_type)e->key.type), e->key.op,
              needs_words[e->key.needs % NEEDS], e->key.helpers, (unsigned long long)e->bytes,
              e->plan->text, e->slices);
  print_us(t, 10, e->took);
  tt_text_add(t, " %3d%%", e->spread);
  print_us(t, 10, e->own);
  print_us(t, 10, e->predicted);
  tt_text_add(t, " %s\n", e->when);
}

void tt_wisdom_print(tt_text *t, const tt_wisdom *w) {
  tt_text_add(t, "tutti-wisdom %d, tutti %s\n", FORMAT, tutti_version(NULL, NULL, NULL));
  for (int i = 0; i < w->n; i++) {
    const tt_wisdom_entry *e = &w->at[i], *before = i ? e - 1 : NULL;
    if (!before || e->stamp != before->stamp || strcmp(e->placement, before->placement) != 0)
      tt_text_add(t,
                  "\non %08x: %s\n"
                  "# collective   type     op     needs  helpers      bytes plan             slices"
                  "    took us   +-     own us   price us when\n",
                  (unsigned)e->stamp, e->placement);
    print_entry(t, e);
  }
}

/* ---- reading ---- */

typedef struct reader {
  const char *what, *text, *at;
  tutti_status status; /* the first error */
} reader;

static void wisdom_error(reader *r, const char *at, const char *sentence) {
  int column;
  const int line = tt_line_of_text(r->text, at, &column);
  if (r->status) return;
  r->status = tt_fail(TUTTI_ERR_ARG, "%s, line %d, column %d: %s", r->what, line, column, sentence);
}

/* Records a syntax error at `at`, unless `right` is true. */
static void expect(reader *r, bool right, const char *at, const char *expected) {
  if (right || r->status) return;
  r->status = tt_syntax_error(TUTTI_ERR_ARG, r->what, r->text, at, "\r\n", expected);
}

static void skip_blanks(reader *r) {
  r->at += strspn(r->at, " \t");
}

/* Moves to the next line that is neither blank nor a comment. Returns false at the end of the text. */
static bool next_wisdom_line(reader *r) {
  return *(r->at = tt_skip_comments(r->at, " \t\r\n"));
}

/* Reads a word, which ends at a blank outside parentheses, and returns its start. Sets `to` to "" if the word is missing or
 * too long, or if its parentheses do not match. */
static const char *read_word(reader *r, char *to, size_t size) {
  skip_blanks(r);
  const char *at = r->at;
  size_t n = 0;
  int depth = 0;
  for (; at[n] && !strchr("\r\n", at[n]); n++) {
    if (depth <= 0 && strchr(" \t", at[n])) break;
    depth += (at[n] == '(') - (at[n] == ')');
  }
  snprintf(to, size, "%.*s", (int)tt_min(n, size), at);
  if (n >= size || depth) *to = 0;
  r->at += n;
  return at;
}

/* Reads a word that names a plan, and returns its start. Sets *plan to NULL on error. */
static const char *read_plan(reader *r, const tt_plan_spec **plan) {
  char none[1];
  const char *at = read_word(r, none, sizeof none);
  char *text = strndup(at, (size_t)(r->at - at));
  *plan = NULL;
  if (!text) r->status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for a plan");
  if (!r->status && tt_plan_spec_named(text, plan) == TUTTI_ERR_MEMORY)
    r->status = TUTTI_ERR_MEMORY;
  free(text);
  return at;
}

/* Parses a word as a non-negative integer. Returns false if it is not a number, or if the number exceeds `most`. */
static bool parse_whole_number(const char *text, uint64_t most, uint64_t *value) {
  uint64_t n = 0;
  const char *p = text;
  for (; *p >= '0' && *p <= '9' && n <= most; p++) n = 10 * n + (uint64_t)(*p - '0');
  *value = n;
  return p != text && !*p && n <= most;
}

static uint64_t read_number(reader *r, uint64_t least, uint64_t most, const char *what) {
  char text[40];
  uint64_t value;
  const char *at = read_word(r, text, sizeof text);
  expect(r, parse_whole_number(text, most, &value) && value >= least, at, what);
  return value;
}

static uint64_t read_us(reader *r, const char *what) {
  char text[40];
  const char *at = read_word(r, text, sizeof text);
  char *dot = strchr(text, '.');
  uint64_t whole, part = 0;
  bool ok = true;
  if (dot) {
    const size_t digits = strlen(dot + 1);
    *dot = 0;
    ok = digits <= 3 && parse_whole_number(dot + 1, 999, &part);
    for (size_t i = digits; i < 3; i++) part *= 10;
  }
  expect(r, parse_whole_number(text, (uint64_t)1 << MOST_SHIFT, &whole) && ok, at, what);
  return 1000 * whole + part;
}

/* Returns the index of the word in a list of n names, or -1. */
static int among(const char *text, const char *(*name)(int), int n) {
  for (int i = 0; i < n; i++)
    if (*text && strcmp(name(i), text) == 0) return i;
  return -1;
}
static const char *coll_name(int i) {
  return tutti_coll_name((tutti_coll)i);
}
static const char *type_name(int i) {
  return tutti_type_name((tutti_type)i);
}
static const char *op_name(int i) {
  return tutti_op_name((tutti_op)i);
}
static const char *needs_name(int i) {
  return needs_words[i];
}

static void read_key(reader *r, tt_wisdom_key *key) {
  char text[40];
  const char *at = read_word(r, text, sizeof text);
  const int coll = among(text, coll_name, TUTTI_COLL_COUNT);
  expect(r, coll >= 0, at, "a collective, or 'on' with a stamp");
  if (coll < 0) return;
  key->coll = (tutti_coll)coll;
  const bool reduces = tt_coll_reduces(key->coll) && coll != TUTTI_BARRIER;
  at = read_word(r, text, sizeof text);
  key->type = reduces ? among(text, type_name, TUTTI_TYPE_COUNT) : -1;
  expect(r, reduces ? key->type >= 0 : strcmp(text, "-") == 0, at,
         reduces ? "a type" : "'-', for nothing is reduced");
  at = read_word(r, key->op, sizeof key->op);
  const bool known = among(key->op, op_name, TUTTI_OP_COUNT) >= 0 || strcmp(key->op, "user") == 0 ||
                     strcmp(key->op, "scaled") == 0;
  expect(r, reduces ? known : strcmp(key->op, "-") == 0, at,
         reduces ? "an op" : "'-', for nothing is reduced");
  at = read_word(r, text, sizeof text);
  const int needs = among(text, needs_name, NEEDS);
  expect(r, needs >= 0, at, "any, order, same, order+same, element or order+element");
  key->needs = (unsigned)needs;
  key->helpers = (int)read_number(r, 0, 1 << 20, "a number of helpers");
}

static void read_when(reader *r, char when[24]) {
  static const char form[] = "0000-00-00T00:00:00Z";
  const char *at = read_word(r, when, 24);
  bool ok = strlen(when) == sizeof form - 1;
  for (size_t i = 0; ok && form[i]; i++)
    ok = form[i] == '0' ? when[i] >= '0' && when[i] <= '9' : when[i] == form[i];
  expect(r, ok, at, "a time such as 2026-11-22T01:24:22Z");
}

static void read_wisdom_entry(reader *r, tt_wisdom_entry *e) {
  char percent[16];
  uint64_t spread = 0;
  read_key(r, &e->key);
  e->bytes = read_number(r, 1, (uint64_t)1 << MOST_SHIFT, "a number of bytes");
  const char *at = read_plan(r, &e->plan);
  if (!r->status) expect(r, e->plan, at, "a plan such as fold(ring)");
  e->slices = (int)read_number(r, 1, 1 << 20, "a number of slices");
  e->took = read_us(r, "what it took, in us");
  at = read_word(r, percent, sizeof percent);
  char *end = strchr(percent, '%');
  if (end && !end[1]) *end = 0;
  expect(r, end && parse_whole_number(percent, 100000, &spread), at, "a spread such as 4%");
  e->spread = (int)spread;
  e->own = read_us(r, "the time of the plan with the least estimate, in us");
  e->predicted = read_us(r, "the estimate, in us");
  read_when(r, e->when);
}

/* Reads the stamp and the description of a placement, such as "on 8f3c21aa: words". */
static void read_place(reader *r, tt_wisdom_entry *place) {
  char text[24];
  const char *at = read_word(r, text, sizeof text);
  char *end = text;
  const unsigned long stamp = strspn(text, "0123456789abcdef") == 8 ? strtoul(text, &end, 16) : 0;
  expect(r, end != text && strcmp(end, ":") == 0, at, "a stamp such as 8f3c21aa:");
  skip_blanks(r);
  size_t n = strcspn(r->at, "\r\n");
  for (size_t i = 0; i < n; i++)
    if ((unsigned char)r->at[i] < ' ' || r->at[i] == 127)
      wisdom_error(r, r->at + i, "this is not a printable character");
  if (n >= TT_PLACEMENT_TEXT) wisdom_error(r, r->at + TT_PLACEMENT_TEXT, "the words are too long");
  place->stamp = (uint32_t)stamp;
  snprintf(place->placement, sizeof place->placement, "%.*s", (int)n, r->at);
  r->at += n;
}

/* Reads the header line, such as "tutti-wisdom 1, tutti 0.1.0". */
static void read_wisdom_header(reader *r) {
  char text[24], sentence[160];
  const char *version = tutti_version(NULL, NULL, NULL);
  next_wisdom_line(r);
  const char *at = read_word(r, text, sizeof text);
  expect(r, strcmp(text, "tutti-wisdom") == 0, at, "'tutti-wisdom 1' at the beginning");
  at = read_word(r, text, sizeof text);
  snprintf(sentence, sizeof sentence, "the format is '%.20s'; tutti %s reads format %d", text,
           version, FORMAT);
  if (strcmp(text, "1,") != 0) wisdom_error(r, at, sentence);
  at = read_word(r, text, sizeof text);
  expect(r, strcmp(text, "tutti") == 0, at, "'tutti' and its version");
  at = read_word(r, text, sizeof text);
  snprintf(sentence, sizeof sentence,
           "it was measured with tutti '%.20s', and this is %s, whose plans may differ; measure again",
           text, version);
  if (strcmp(text, version) != 0) wisdom_error(r, at, sentence);
}

static void end_line(reader *r) {
  skip_blanks(r);
  expect(r, !*r->at || strchr("\r\n#", *r->at), r->at, "the end of the line");
}

tutti_status tt_wisdom_parse(tt_wisdom *w, const char *text, const char *what) {
  reader r = {.what = what, .text = text, .at = text};
  tt_wisdom_entry place = {.stamp = 0}, e;
  bool has_place = false;
  read_wisdom_header(&r);
  end_line(&r);
  while (!r.status && next_wisdom_line(&r)) {
    const char *line = r.at;
    if (strncmp(line, "on", 2) == 0 && strchr(" \t", line[2]) && line[2]) {
      r.at += 2;
      read_place(&r, &place);
      has_place = true;
      continue;
    }
    e = place;
    read_wisdom_entry(&r, &e);
    end_line(&r);
    expect(&r, has_place, line, "'on' with a stamp before the first entry");
    if (w->n == TT_WISDOM_MOST) wisdom_error(&r, line, "there are too many entries");
    if (!r.status && !tt_wisdom_add(w, &e))
      r.status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for %s", what);
  }
  if (r.status) tt_wisdom_clear(w);
  return r.status;
}
