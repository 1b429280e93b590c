/* draw_words.c - describes a schedule in sentences: the actions of each rank, round by round.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "picture.h"

/* Formats a span as "block 3 of src" or "blocks 0-2 of tmp". */
static void say_span(tt_text *t, tt_picture *p, const tt_span *span) {
  tt_text_add(t, tt_span_size(span) == 1 ? "block " : "blocks ");
  tt_label_span(t, p, span);
  tt_text_add(t, " of %s", tt_buf_names[span->buf]);
}

static void say_send(tt_text *t, tt_picture *p, const tt_step *step, int rank) {
  tt_text_add(t, step->split ? "sends a part each of " : "sends ");
  say_span(t, p, &step->own);
  tt_text_add(t, " to ");
  tt_label_peers(t, p, step, rank);
}

/* Appends the name of the result's buffer if it differs from the buffer of this rank's operand. */
static void say_place(tt_text *t, const tt_step *step) {
  if (step->dst.buf != step->own.buf) tt_text_add(t, ", into %s", tt_buf_names[step->dst.buf]);
}

static void say_receive(tt_text *t, tt_picture *p, const tt_step *step, int rank) {
  bool sums = step->kind == TT_RECV_REDUCE;
  if (sums) {
    tt_text_add(t, "adds what comes from ");
    tt_label_peers(t, p, step, rank);
    tt_text_add(t, " to ");
    say_span(t, p, &step->own);
    say_place(t, step);
  } else {
    tt_text_add(t, step->split ? "receives a part each of " : "receives ");
    say_span(t, p, &step->dst);
    tt_text_add(t, " from ");
    tt_label_peers(t, p, step, rank);
  }
}

static void say_local(tt_text *t, tt_picture *p, const tt_step *step) {
  if (step->kind == TT_COPY) {
    tt_text_add(t, "copies ");
    say_span(t, p, &step->own);
    tt_text_add(t, " to %s", tt_buf_names[step->dst.buf]);
    return;
  }
  tt_text_add(t, "adds ");
  for (uint32_t k = 1; k < tt_step_operands(step); k++) {
    const tt_span in = tt_step_operand(step, k);
    tt_text_add(t, k > 1 ? ", " : "");
    say_span(t, p, &in);
  }
  tt_text_add(t, " to ");
  say_span(t, p, &step->own);
  say_place(t, step);
}

static void write_rank_steps(tt_text *t, tt_picture *p, int rank) {
  uint32_t said = UINT32_MAX;
  tt_text_add(t, "\nrank %d%s\n", rank, rank < p->data ? "" : ", which only helps");
  for (uint32_t id = p->graph.base[rank]; id < p->graph.base[rank + 1]; id++) {
    const tt_step *step = tt_graph_step(&p->graph, id);
    uint32_t round = step->kind == TT_SEND ? p->began[id] + 1 : p->ended[id];
    if (round == said)
      tt_text_add(t, "            ");
    else if (round == 0)
      tt_text_add(t, "  at once   ");
    else
      tt_text_add(t, "  round %-3u ", round);
    said = round;
    if (step->kind == TT_SEND)
      say_send(t, p, step, rank);
    else if (tt_step_local(step))
      say_local(t, p, step);
    else
      say_receive(t, p, step, rank);
    tt_text_add(t, step->completes ? ": complete\n" : "\n");
  }
}

void tt_draw_words(tt_text *t, tt_picture *p, int rank) {
  tt_label_title(t, p, TT_ESCAPE_NONE);
  tt_text_add(t, "\n");
  tt_label_facts(t, p);
  tt_text_add(t, "\n");
  for (int r = 0; r < p->ranks; r++)
    if (rank < 0 || rank == r) write_rank_steps(t, p, r);
}
