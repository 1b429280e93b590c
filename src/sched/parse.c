/* parse.c - parses schedules in the text form that text.c prints.
 *
 * Idea       A cursor reads one token at a time. The first error ends the parsing and reports the line, the column and
 *            the expected token. `#` starts a comment. If the header contains the word `derive`, the builder derives the
 *            order and the `after` lists are ignored.
 * Invariant  In the result, blocks, ranks and steps are within bounds. Time and memory are bounded by the length of the
 *            text, regardless of the numbers in it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"

enum { MAX_RANKS = 65536, MAX_BLOCKS = 1 << 24, MAX_STEPS = 1 << 20 };
enum { MAX_ALL = 1 << 24 }; /* blocks of all ranks; the prover would take minutes for more */
/* Limits that keep the prover fast. For a text of n bytes, all ranks together may have FREE + n * BLOCKS blocks, and
 * FREE + n * MOVED moved blocks and peers. An all-to-all on 4096 ranks needs 45 and 180 of them per byte. */
enum { FREE = 1 << 20, BLOCKS = 64, MOVED = 256 };

typedef struct cursor {
  const char *text, *at;
  tutti_status status;
  uint64_t blocks, moved;       /* totals over the ranks parsed so far */
  uint32_t *after, n, capacity; /* the `after` numbers of the current rank */
} cursor;

typedef struct header {
  char *name;
  tutti_coll coll;
  int ranks, root, data;
  uint32_t blocks;
  bool derive;
  size_t length; /* length of the text */
} header;

static tutti_status schedule_error(cursor *c, const char *expected) {
  if (c->status) return c->status;
  return c->status = tt_syntax_error(TUTTI_ERR_SCHEDULE, "schedule", c->text, c->at, " \t\r\n\v\f",
                                     expected);
}

static void blanks(cursor *c) {
  while (*c->at == ' ' || *c->at == '\t' || *c->at == '\r') c->at++;
  if (*c->at == '#')
    while (*c->at && *c->at != '\n') c->at++;
}

static bool accept_token(cursor *c, const char *token) {
  blanks(c);
  size_t n = strlen(token);
  if (c->status || strncmp(c->at, token, n) != 0) return false;
  if (n > 1 && isalpha((unsigned char)token[n - 1]) &&
      (isalnum((unsigned char)c->at[n]) || c->at[n] == '_'))
    return false;
  c->at += n;
  return true;
}

static bool digit_next(cursor *c) {
  blanks(c);
  return isdigit((unsigned char)*c->at);
}

static uint32_t parse_number(cursor *c, uint32_t most, const char *what) {
  blanks(c);
  if (c->status) return 0;
  if (!isdigit((unsigned char)*c->at)) {
    schedule_error(c, what);
    return 0;
  }
  char *end;
  unsigned long long n = strtoull(c->at, &end, 10);
  if (n > most) {
    char text[96];
    snprintf(text, sizeof text, "%s of at most %u", what, most);
    schedule_error(c, text);
    return 0;
  }
  c->at = end;
  return (uint32_t)n;
}

static void line_end(cursor *c) {
  blanks(c);
  if (*c->at && *c->at != '\n') schedule_error(c, "the end of the line");
}

/* Moves to the next line that is not empty. Returns false if the text has no such line. */
static bool next_schedule_line(cursor *c) {
  do {
    blanks(c);
    if (*c->at != '\n') return *c->at != 0;
    c->at++;
  } while (true);
}

static bool buffer(cursor *c, tt_buf *buf) {
  for (int b = 0; b < TT_BUF_COUNT; b++) {
    blanks(c);
    if (strncmp(c->at, tt_buf_names[b], 3) == 0 && c->at[3] == '[') {
      c->at += 4;
      *buf = (tt_buf)b;
      return true;
    }
  }
  return false;
}

static tt_span span(cursor *c, const header *h) {
  tt_buf buf;
  tt_span s = tt_block(TT_SRC, 0);
  blanks(c);
  const char *start = c->at;
  if (!buffer(c, &buf)) {
    schedule_error(c, "a span such as src[0] or dst[2..5]");
    return s;
  }
  uint32_t first = parse_number(c, MAX_BLOCKS, "a block number"), last = first;
  if (accept_token(c, "..")) last = parse_number(c, MAX_BLOCKS, "a block number");
  uint32_t ring = (uint32_t)tt_max(first, last) + 1;
  if (accept_token(c, "%")) ring = parse_number(c, MAX_BLOCKS, "a ring size");
  s = (tt_span){buf, 0, first, 0, ring, 1, 1};
  if (accept_token(c, "*")) s.stride = parse_number(c, MAX_BLOCKS, "a stride");
  if (accept_token(c, "+")) s.base = parse_number(c, MAX_BLOCKS, "a base");
  if (accept_token(c, "x")) s.repeat = parse_number(c, MAX_BLOCKS, "a repeat");
  if (!c->status && !accept_token(c, "]")) schedule_error(c, "']'");
  s.count = last >= first ? last - first + 1 : last + ring - first + 1;
  const uint64_t before =
      (uint64_t)ring * ((uint64_t)s.repeat - 1); /* blocks before the last ring */
  const uint64_t top = s.base + s.stride * (before + tt_min((uint64_t)first + s.count, ring) - 1);
  const uint64_t most = buf == TT_TMP ? MAX_BLOCKS : h->blocks;
  const bool fits = s.stride && s.repeat && first < ring && last < ring && s.count <= ring &&
                    before < MAX_BLOCKS && top < most;
  if (!c->status && !fits) {
    c->at = start;
    schedule_error(c, "a span inside its buffer");
  }
  if (c->status) return tt_block(TT_SRC, 0);
  c->moved += tt_span_size(&s);
  tt_span_tidy(&s);
  return s;
}

static tt_peers peers(cursor *c, const header *h) {
  uint32_t most = (uint32_t)h->ranks - 1;
  tt_peers p = {(int)parse_number(c, most, "a rank"), 1, 1};
  if (!accept_token(c, "..")) return p;
  int last = (int)parse_number(c, most, "a rank");
  if (accept_token(c, ":")) {
    int sign = accept_token(c, "-") ? -1 : 1;
    p.stride = sign * (int)parse_number(c, most, "a stride");
  }
  while (p.count < h->ranks && tt_peer_rank(&p, p.count - 1, h->ranks) != last) p.count++;
  c->moved += (uint32_t)p.count;
  if (tt_peer_rank(&p, p.count - 1, h->ranks) != last)
    schedule_error(c, "a peer range whose stride reaches its end");
  return p;
}

static void local_inputs(cursor *c, const header *h, tt_step *step) {
  tt_span items[64];
  uint32_t n = 0;
  do {
    if (n == 64) {
      schedule_error(c, "at most 64 operands");
      return;
    }
    items[n++] = span(c, h);
  } while (!c->status && accept_token(c, "op"));
  if (c->status) return;
  if (n < 2) {
    schedule_error(c, "'op' and another operand");
    return;
  }
  step->side = TT_OWN_FIRST;
  step->own = items[0];
  step->in = items[1];
  step->inputs = n - 1;
  for (uint32_t k = 2; k < n; k++) {
    uint32_t gap = tt_span_block(&items[k], 0) - tt_span_block(&items[k - 1], 0);
    if (k == 2) step->in_step = gap;
    if (!tt_span_shifted(&items[k - 1], &items[k], step->in_step))
      schedule_error(c, "inputs that are evenly spaced");
  }
}

static void operands(cursor *c, const header *h, tt_step *step) {
  if (step->kind == TT_SEND || step->kind == TT_RECV) return;
  if (!accept_token(c, "=")) schedule_error(c, "'='");
  if (step->kind == TT_COPY) step->own = span(c, h);
  if (step->kind == TT_REDUCE) local_inputs(c, h, step);
  if (step->kind != TT_RECV_REDUCE) return;
  bool before = accept_token(c, "in");
  if (before && !accept_token(c, "op")) schedule_error(c, "'op'");
  step->own = span(c, h);
  bool after = accept_token(c, "op");
  if (after && !accept_token(c, "in")) schedule_error(c, "'in'");
  if (!before && !after) schedule_error(c, "'op in'");
  step->side = before && after ? TT_OWN_AMONG : before ? TT_OWN_LAST : TT_OWN_FIRST;
}

static bool kind_word(cursor *c, tt_step *step) {
  static const struct {
    const char *word;
    tt_kind kind;
    int split;
  } words[] = {{"send_split", TT_SEND, 1}, {"send", TT_SEND, 0},
               {"recv_split", TT_RECV, 1}, {"recv_reduce", TT_RECV_REDUCE, 0},
               {"recv", TT_RECV, 0},       {"copy", TT_COPY, 0},
               {"reduce", TT_REDUCE, 0}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!accept_token(c, words[i].word)) continue;
    step->kind = (uint8_t)words[i].kind;
    step->split = (uint8_t)words[i].split;
    return true;
  }
  schedule_error(c, "send, recv, recv_reduce, copy, reduce, send_split or recv_split");
  return false;
}

/* Parses a step. Appends the numbers after the word `after` to those of the current rank. */
static void step_line(cursor *c, const header *h, uint32_t i, tt_step *step) {
  memset(step, 0, sizeof *step);
  step->dst = step->own = step->in = tt_block(TT_SRC, 0);
  step->peers.stride = 1;
  const char *start = c->at;
  if (parse_number(c, MAX_STEPS, "a step number") != i && !c->status) {
    char text[48];
    snprintf(text, sizeof text, "step number %u", i);
    c->at = start;
    schedule_error(c, text);
  }
  if (c->status || !kind_word(c, step)) return;
  if (!tt_step_local(step)) {
    const char *arrow = step->kind == TT_SEND ? "->" : "<-";
    if (!accept_token(c, arrow))
      schedule_error(c, step->kind == TT_SEND ? "'->' and a rank" : "'<-' and a rank");
    step->peers = peers(c, h);
  }
  if (step->kind == TT_SEND)
    step->own = span(c, h);
  else
    step->dst = span(c, h);
  operands(c, h, step);
  step->completes = accept_token(c, "last");
  if (accept_token(c, "after"))
    while (!c->status && digit_next(c)) {
      if (!tt_grow(&c->after, &c->capacity, c->n + 1, sizeof *c->after)) {
        c->status = tt_fail(TUTTI_ERR_MEMORY, "out of memory while parsing");
        return;
      }
      c->after[c->n++] = parse_number(c, i ? i - 1 : 0, "an earlier step");
      if (i == 0) schedule_error(c, "no 'after' on the first step");
    }
  line_end(c);
}

/* Reports an error if the number of blocks or moves is too large for the length of the text, because a proof would take
 * too long. `more` blocks are about to be added. */
static void bounded(cursor *c, const header *h, uint64_t more) {
  if (c->blocks + more > tt_min(MAX_ALL, FREE + BLOCKS * (uint64_t)h->length))
    schedule_error(c, "fewer blocks on all ranks together, in a text of this length");
  if (c->moved > FREE + MOVED * (uint64_t)h->length)
    schedule_error(c, "steps that move fewer blocks, in a text of this length");
}

static tt_sched *rank_body(cursor *c, const header *h, int rank, bool in_place, uint32_t tmp) {
  tt_builder b;
  tt_build_begin(&b, h->name, h->coll, h->ranks, rank, h->root, in_place, h->blocks);
  if (b.status) {
    c->status = tt_fail(TUTTI_ERR_MEMORY, "out of memory while parsing");
    return NULL;
  }
  tt_sched *s = b.s;
  tt_build_data(&b, h->data);
  uint32_t *at = calloc(1, sizeof *at), steps = 0, capacity = 1;
  c->after = NULL;
  c->n = c->capacity = 0;
  while (!c->status && at && next_schedule_line(c) && isdigit((unsigned char)*c->at)) {
    tt_step step;
    step_line(c, h, steps, &step);
    if (!c->status) tt_build_step(&b, &step);
    bounded(c, h, s->tmp_blocks);
    if (!c->status && s->nsteps != steps + 1) schedule_error(c, "a copy that copies something");
    if (!tt_grow(&at, &capacity, steps + 2, sizeof *at)) break;
    at[++steps] = c->n;
  }
  if (!at || (s->nsteps != steps && !c->status) || b.status)
    c->status = tt_fail(TUTTI_ERR_MEMORY, "out of memory while parsing");
  s->tmp_blocks = (uint32_t)tt_max(s->tmp_blocks, tmp);
  c->blocks += s->tmp_blocks;
  s->after_at = at;
  s->after = c->after;
  if (!c->status && h->derive) c->status = tt_derive_order(s);
  if (!c->status) return s;
  tt_sched_free(s);
  return NULL;
}

static void header_line(cursor *c, header *h) {
  next_schedule_line(c);
  if (!accept_token(c, "tutti-schedule") || !accept_token(c, "1"))
    schedule_error(c, "'tutti-schedule 1'");
  int coll = 0;
  while (coll < TUTTI_COLL_COUNT && !accept_token(c, tutti_coll_name((tutti_coll)coll))) coll++;
  if (coll == TUTTI_COLL_COUNT) schedule_error(c, "a collective such as allreduce");
  h->coll = (tutti_coll)coll;
  blanks(c);
  size_t n = 0;
  for (int depth = 0; c->at[n] && c->at[n] != '\n'; n++) { /* parentheses may contain blanks */
    depth += (c->at[n] == '(') - (c->at[n] == ')');
    if (depth <= 0 && isspace((unsigned char)c->at[n])) break;
  }
  if (n == 0) schedule_error(c, "a name");
  if (c->status) return;
  h->name = strndup(c->at, n);
  if (!h->name) c->status = tt_fail(TUTTI_ERR_MEMORY, "out of memory while parsing");
  c->at += n;
  if (!accept_token(c, "P=")) schedule_error(c, "P=");
  h->ranks = (int)parse_number(c, MAX_RANKS, "a number of ranks");
  if (!c->status && h->ranks < 1) schedule_error(c, "at least one rank");
  h->blocks = (uint32_t)h->ranks;
  h->data = h->ranks;
  while (!c->status) {
    if (accept_token(c, "blocks="))
      h->blocks = parse_number(c, MAX_BLOCKS, "a number of blocks");
    else if (accept_token(c, "root="))
      h->root = (int)parse_number(c, (uint32_t)h->ranks - 1, "a rank");
    else if (accept_token(c, "data="))
      h->data = (int)parse_number(c, (uint32_t)h->ranks, "a number of ranks");
    else if (accept_token(c, "derive"))
      h->derive = true;
    else
      break;
  }
  if (!tt_coll_rooted(h->coll)) h->root = 0;
  if (!c->status && h->blocks < 1) schedule_error(c, "at least one block");
  if (!c->status && (h->data < 1 || h->root >= h->data))
    schedule_error(c, "data on at least one rank, and on the root");
  if (!c->status && tt_coll_owned(h->coll) && h->blocks != (uint32_t)h->data)
    schedule_error(c, "blocks=P for this collective, or, with data=D, blocks=D");
  line_end(c);
}

void tt_sched_free_all(tt_sched **all, int ranks) {
  for (int r = 0; all && r < ranks; r++) tt_sched_free(all[r]);
  free(all);
}

tutti_status tt_sched_parse(const char *text, tt_sched ***all, int *ranks) {
  cursor c = {.text = text, .at = text};
  header h = {.length = strlen(text)};
  header_line(&c, &h);
  tt_sched **list = c.status ? NULL : calloc((size_t)h.ranks, sizeof *list);
  if (!c.status && !list) c.status = tt_fail(TUTTI_ERR_MEMORY, "out of memory while parsing");
  int found = 0;
  while (!c.status && next_schedule_line(&c)) {
    if (!accept_token(&c, "rank")) schedule_error(&c, "'rank'");
    int rank = (int)parse_number(&c, (uint32_t)h.ranks - 1, "a rank");
    bool in_place = accept_token(&c, "inplace");
    uint32_t tmp =
        accept_token(&c, "tmp=") ? parse_number(&c, MAX_BLOCKS, "a number of blocks") : 0;
    if (!c.status && list[rank]) schedule_error(&c, "each rank once");
    c.blocks += h.blocks;
    bounded(&c, &h, tmp);
    line_end(&c);
    if (!c.status) list[rank] = rank_body(&c, &h, rank, in_place, tmp);
    found++;
  }
  if (!c.status && !found) schedule_error(&c, "'rank 0'");
  free(h.name);
  if (c.status) {
    tt_sched_free_all(list, h.ranks);
    return c.status;
  }
  *all = list;
  *ranks = h.ranks;
  return TUTTI_OK;
}
