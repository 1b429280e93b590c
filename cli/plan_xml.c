/* plan_xml.c - reads the XML of MSCCL's algorithms. The attributes of the tags algo, gpu, tb and
 * step contain all data.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "plan_xml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { MOST_RANKS = 4096, MOST_CHUNKS = 65536 };

typedef struct reader {
  const char *path, *text, *tag, *end; /* the current tag */
  bool bad;
} reader;

static int complain(reader *r, const char *what) {
  int line = 1;
  for (const char *c = r->text; c < r->tag; c++) line += *c == '\n';
  if (!r->bad) cli_fail(0, "plan", "%s, line %d: %s", r->path, line, what);
  r->bad = true;
  return -1;
}

/* Stores the value of an attribute of the current tag, truncated to the size of the buffer. Returns false if the tag
 * does not have that attribute. */
static bool attribute(const reader *r, const char *name, char *value, size_t room) {
  const size_t n = strlen(name);
  for (const char *at = r->tag; at < r->end; at++) {
    if (*at != ' ' && *at != '\t' && *at != '\n') continue;
    if (strncmp(at + 1, name, n) != 0 || strncmp(at + 1 + n, "=\"", 2) != 0) continue;
    const char *from = at + n + 3, *to = strchr(from, '"');
    if (!to || to > r->end) return false;
    snprintf(value, room, "%.*s", (int)(to - from), from);
    return true;
  }
  return false;
}

static int number(reader *r, const char *name, long least, long most) {
  char value[32], what[120];
  long n;
  if (attribute(r, name, value, sizeof value) && cli_int(value, least, most, &n)) return (int)n;
  snprintf(what, sizeof what, "expected %s=\"N\", from %ld to %ld", name, least, most);
  return complain(r, what);
}

static xml_place place_of(reader *r, const char *buffer, const char *at) {
  char value[8] = "";
  xml_place p = {0, number(r, at, -1, MOST_CHUNKS)}; /* -1 if it is not used */
  attribute(r, buffer, value, sizeof value);
  if (strlen(value) != 1 || !strchr("ios", *value)) complain(r, "expected a buffer: i, o or s");
  p.buffer = *value;
  return p;
}

static void *grown(void *array, int n, int *room, size_t size) {
  if (n < *room) return array;
  *room = *room ? 2 * *room : 16;
  return realloc(array, (size_t)*room * size);
}

static void read_algo(reader *r, xml_algo *a) {
  char in_place[8] = "0";
  if (!attribute(r, "name", a->name, sizeof a->name)) snprintf(a->name, sizeof a->name, "imported");
  for (char *c = a->name; *c; c++)
    if (strchr(" \t\n#", *c)) *c = '_';
  if (!attribute(r, "coll", a->coll, sizeof a->coll)) complain(r, "expected coll=\"...\"");
  a->ranks = number(r, "ngpus", 1, MOST_RANKS);
  attribute(r, "inplace", in_place, sizeof in_place);
  a->in_place = strcmp(in_place, "1") == 0;
}

static void read_gpu(reader *r, xml_algo *a, int *gpu) {
  *gpu = number(r, "id", 0, a->ranks - 1);
  const int in = number(r, "i_chunks", 0, MOST_CHUNKS), out = number(r, "o_chunks", 0, MOST_CHUNKS),
            scratch = number(r, "s_chunks", 0, MOST_CHUNKS);
  if (in > a->chunks) a->chunks = in;
  if (out > a->chunks) a->chunks = out;
  a->part = a->chunks / a->ranks;
  if (scratch > a->scratch) a->scratch = scratch;
}

static void read_block(reader *r, xml_algo *a, int gpu) {
  a->block = grown(a->block, a->blocks, &a->room, sizeof *a->block);
  if (!a->block) {
    complain(r, "out of memory");
    return;
  }
  xml_block *b = &a->block[a->blocks++];
  *b = (xml_block){.gpu = gpu, .id = number(r, "id", 0, MOST_CHUNKS)};
  b->send = number(r, "send", -1, a->ranks - 1);
  b->recv = number(r, "recv", -1, a->ranks - 1);
  b->channel = number(r, "chan", 0, 1024);
}

static void read_step(reader *r, xml_algo *a) {
  static const char *const kinds[XML_KINDS] = {"s",    "r",  "rcs", "rrc", "rrs",
                                               "rrcs", "re", "cpy", "nop"};
  char type[8] = "";
  if (!a->blocks) {
    complain(r, "a step outside of a tb");
    return;
  }
  xml_block *b = &a->block[a->blocks - 1];
  xml_step s = {.kind = XML_KINDS,
                .src = place_of(r, "srcbuf", "srcoff"),
                .dst = place_of(r, "dstbuf", "dstoff")};
  attribute(r, "type", type, sizeof type);
  for (int k = 0; k < XML_KINDS; k++)
    if (strcmp(kinds[k], type) == 0) s.kind = (xml_kind)k;
  if (s.kind == XML_KINDS)
    complain(r, "expected a type: s, r, rcs, rrc, rrs, rrcs, re, cpy or nop");
  s.count = number(r, "cnt", 0, MOST_CHUNKS);
  s.block = number(r, "depid", -1, MOST_CHUNKS);
  s.step = number(r, "deps", -1, 1 << 20);
  b->step = grown(b->step, b->steps, &b->room, sizeof *b->step);
  if (b->step)
    b->step[b->steps++] = s;
  else
    complain(r, "out of memory");
}

int xml_read(const char *path, const char *text, xml_algo *a) {
  reader r = {.path = path, .text = text, .tag = text};
  int gpu = -1;
  *a = (xml_algo){.ranks = 0};
  for (const char *at = strchr(text, '<'); at && !r.bad; at = strchr(r.end, '<')) {
    r.tag = at;
    r.end = strchr(at, '>');
    if (!r.end) return complain(&r, "a tag without an end") ? CLI_USAGE : 0;
    if (strncmp(at, "<algo ", 6) == 0)
      read_algo(&r, a);
    else if (!a->ranks && at[1] != '?' && at[1] != '!')
      complain(&r, "expected <algo ...>: is this an algorithm of MSCCL?");
    else if (strncmp(at, "<gpu ", 5) == 0)
      read_gpu(&r, a, &gpu);
    else if (strncmp(at, "<tb ", 4) == 0 && gpu >= 0)
      read_block(&r, a, gpu);
    else if (strncmp(at, "<step ", 6) == 0)
      read_step(&r, a);
  }
  if (!r.bad && (!a->blocks || !a->chunks))
    complain(&r, "no <tb> with steps: is this an algorithm of MSCCL?");
  return r.bad ? CLI_USAGE : 0;
}

void xml_free(xml_algo *a) {
  for (int i = 0; i < a->blocks; i++) free(a->block[i].step);
  free(a->block);
}
