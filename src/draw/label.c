/* label.c - the words and colours of a picture: lists of blocks and ranks, a title.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "picture.h"

/* Appends the marked numbers less than n as a list such as "0-2,5". Clears all marks. */
static void list_marks(tt_text *t, unsigned char *marks, uint32_t n) {
  const char *comma = "";
  for (uint32_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && marks[i] && marks[end];) end++;
    if (!marks[i]) continue;
    tt_text_add(t, "%s%u", comma, i);
    if (end - i > 1) tt_text_add(t, "-%u", end - 1);
    comma = ",";
  }
  memset(marks, 0, n);
}

static void list_span(tt_text *t, tt_picture *p, const tt_span *span, uint32_t lo, uint32_t hi) {
  for (uint32_t i = lo; i < hi; i++) p->marks[tt_span_block(span, i) % p->blocks] = 1;
  list_marks(t, p->marks, p->blocks);
}

void tt_label_span(tt_text *t, tt_picture *p, const tt_span *span) {
  list_span(t, p, span, 0, tt_span_size(span));
}

void tt_label_message(tt_text *t, tt_picture *p, const tt_message *m) {
  const tt_step *send = tt_graph_step(&p->graph, m->from);
  uint32_t lo, hi;
  tt_part_of(send, (int)m->entry_from, &lo, &hi);
  list_span(t, p, &send->own, lo, hi);
}

uint32_t tt_label_single(const tt_picture *p, const tt_message *m) {
  const tt_step *send = tt_graph_step(&p->graph, m->from);
  uint32_t lo, hi;
  tt_part_of(send, (int)m->entry_from, &lo, &hi);
  return hi - lo == 1 ? tt_span_block(&send->own, lo) % p->blocks : UINT32_MAX;
}

void tt_label_value(tt_text *t, tt_picture *p, tt_value value) {
  tt_value_ranks(p->values, value, p->marks);
  t->failed |= tt_values_failed(p->values);
  list_marks(t, p->marks, (uint32_t)p->ranks);
}

void tt_label_peers(tt_text *t, tt_picture *p, const tt_step *step, int self) {
  int n = 0, last = -1;
  for (int i = 0; i < step->peers.count; i++) {
    int peer = tt_peer_rank(&step->peers, i, p->ranks);
    if (peer == self) continue;
    p->marks[peer] = 1;
    last = peer;
    n++;
  }
  if (n == 1) {
    p->marks[last] = 0;
    tt_text_add(t, "rank %d", last);
    return;
  }
  tt_text_add(t, "ranks ");
  list_marks(t, p->marks, (uint32_t)p->ranks);
}

void tt_label_escaped(tt_text *t, const char *text, tt_escape how) {
  static const char *const special[] = {"", "\"\\<", "\"&<"};
  for (size_t n; *text; text += n + 1) {
    for (n = 0; text[n] >= 32 && text[n] < 127 && !strchr(special[how], text[n]);) n++;
    if (n) tt_text_add(t, "%.*s", (int)n, text);
    unsigned char c = (unsigned char)text[n];
    if (!c) return;
    if (c < 32 || c > 126)
      tt_text_add(t, "?");
    else if (how == TT_ESCAPE_JSON) /* the JSON may be inside a script element */
      tt_text_add(t, "\\u%04x", c);
    else
      tt_text_add(t, "&#%u;", c);
  }
}

/* Converts a colour to RGB. The hue is 0 to 1535; lightness and saturation are 0 to 255. */
static uint32_t from_hue(uint32_t hue, uint32_t light, uint32_t saturation) {
  uint32_t up = hue % 256, down = 255 - up,
           rgb[6][3] = {{255, up, 0},   {down, 255, 0}, {0, 255, up},
                        {0, down, 255}, {up, 0, 255},   {255, 0, down}};
  uint32_t color = 0, sector = hue / 256 % 6;
  for (int i = 0; i < 3; i++) {
    uint32_t spread = light < 128 ? light : 255 - light;
    int c = (int)light + ((int)rgb[sector][i] - 128) * (int)(spread * saturation) / (128 * 255);
    color = color << 8 | (uint32_t)(c < 0 ? 0 : c > 255 ? 255 : c);
  }
  return color;
}

uint32_t tt_label_color(uint32_t block, uint32_t blocks) {
  /* The first 8 colours are those of Okabe and Ito, with a darker yellow. The hues of further colours are a golden
   * angle apart. These colours also differ in lightness, so that all readers can distinguish neighbours. */
  static const uint32_t few[8] = {0x0072b2, 0xe69f00, 0x009e73, 0xd55e00,
                                  0x56b4e9, 0xcc79a7, 0xd8c400, 0x7a7a7a};
  if (blocks <= 8) return few[block % 8];
  return from_hue((uint32_t)((uint64_t)block * 949 % 1536), 96 + block % 3 * 36, 190);
}

void tt_label_title(tt_text *t, const tt_picture *p, tt_escape how) {
  const tt_sched *s = p->all[0];
  tt_label_escaped(t, s->name, how);
  tt_text_add(t, ": %s on %d rank%s", tutti_coll_name(s->coll), s->data, s->data == 1 ? "" : "s");
  if (s->data < p->ranks) tt_text_add(t, " and %d that only help", p->ranks - s->data);
  if (tt_coll_rooted(s->coll)) tt_text_add(t, ", root %d", s->root);
  tt_text_add(t, ", the vector in %u block%s", s->blocks, s->blocks == 1 ? "" : "s");
}

void tt_label_facts(tt_text *t, const tt_picture *p) {
  const tutti_report *r = &p->report;
  tt_text_add(t, "%d round%s; the busiest rank sends %d message%s of %lld block%s in all", r->steps,
              r->steps == 1 ? "" : "s", r->messages, r->messages == 1 ? "" : "s",
              (long long)r->sent_blocks, r->sent_blocks == 1 ? "" : "s");
  if (!tt_coll_reduces(p->all[0]->coll)) return;
  tt_text_add(t, "; %s", r->rank_order ? "keeps the ranks' order" : "for ops that commute");
  if (tt_coll_prefix(p->all[0]->coll)) return;
  tt_text_add(
      t, "; %s",
      r->same_grouping ? "the same bits on all ranks" : "grouped differently on some ranks");
}
