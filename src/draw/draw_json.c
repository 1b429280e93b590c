/* draw_json.c - a schedule, its rounds and the contents of its blocks as JSON, for other programs and for the page
 * of draw_html.c.
 *
 *   messages  from, to (ranks), leaves, arrives (rounds), blocks ("0-2,5"), sums; if the machine's levels are
 *             known, also level: the name of the level that it crosses
 *   steps     rank, step (as in the text form), text, begins, ends (rounds)
 *   changes   [round, rank, buffer, block, value]: the new value, valid after the end of that round;
 *             buffer 0 is src, 1 is dst, 2 is tmp, whose block t is block t mod `blocks`
 *   values    [ranks, how many] whose inputs are summed; value 0 is nothing
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "picture.h"

static void put_json_string(tt_text *t, const char *text) {
  tt_text_add(t, "\"");
  tt_label_escaped(t, text, TT_ESCAPE_JSON);
  tt_text_add(t, "\"");
}

static void header(tt_text *t, const tt_picture *p) {
  const tt_sched *s = p->all[0];
  const tutti_report *r = &p->report;
  tt_text_add(t, "{\"algorithm\": ");
  put_json_string(t, s->name);
  tt_text_add(t, ", \"collective\": \"%s\",\n", tutti_coll_name(s->coll));
  tt_text_add(t, " \"ranks\": %d, \"data\": %d, \"blocks\": %u, \"root\": %d, \"rounds\": %u,\n",
              p->ranks, s->data, s->blocks, s->root, p->rounds);
  tt_text_add(t, " \"full\": %u, \"rank_order\": %s, \"same_grouping\": %s, \"transitive\": %s,\n",
              tt_picture_full(p), r->rank_order ? "true" : "false",
              r->same_grouping ? "true" : "false", r->transitive ? "true" : "false");
  tt_text_add(t,
              " \"busiest\": {\"messages\": %d, \"sent_blocks\": %lld, \"reduced\": %lld, "
              "\"copied\": %lld, \"scratch_blocks\": %d}",
              r->messages, (long long)r->sent_blocks, (long long)r->reduced, (long long)r->copied,
              r->scratch_blocks);
}

static void messages(tt_text *t, tt_picture *p, int rank) {
  const char *comma = "";
  tt_text_add(t, ",\n \"messages\": [");
  for (uint32_t i = 0; i < p->graph.nmessages; i++) {
    const tt_message *m = &p->graph.messages[p->order[i]];
    if (rank >= 0 && m->sender != rank && m->reader != rank) continue;
    tt_text_add(t,
                "%s\n  {\"from\": %d, \"to\": %d, \"leaves\": %u, \"arrives\": %u, \"sums\": %s, ",
                comma, m->sender, m->reader, tt_picture_leaves(p, m), tt_picture_arrives(p, m),
                tt_picture_sums(p, m) ? "true" : "false");
    if (p->levels)
      tt_text_add(t, "\"level\": \"%s\", ", p->tree.level[tt_picture_crosses(p, m)].name);
    tt_text_add(t, "\"blocks\": \"");
    tt_label_message(t, p, m);
    tt_text_add(t, "\"}");
    comma = ",";
  }
  tt_text_add(t, "]");
}

static void list_steps(tt_text *t, const tt_picture *p, int rank) {
  const char *comma = "";
  tt_text_add(t, ",\n \"steps\": [");
  for (uint32_t id = 0; id < p->graph.nsteps; id++) {
    int r = p->graph.rank_of[id];
    if (rank >= 0 && r != rank) continue;
    tt_text line = {0};
    uint32_t step = id - p->graph.base[r];
    tt_step_print(&line, p->all[r], step);
    tt_text_add(
        t, "%s\n  {\"rank\": %d, \"step\": %u, \"begins\": %u, \"ends\": %u, \"text\": ", comma, r,
        step, p->began[id] + !tt_step_local(tt_graph_step(&p->graph, id)), p->ended[id]);
    if (line.failed) t->failed = true;
    if (line.at) line.at[strcspn(line.at, "\n")] = 0;
    put_json_string(t, line.at ? line.at + strspn(line.at, " 0123456789") : "");
    tt_text_add(t, "}");
    free(line.at);
    comma = ",";
  }
  tt_text_add(t, "]");
}

static void changes(tt_text *t, tt_picture *p, int rank) {
  const char *comma = "";
  tt_text_add(t, ",\n \"changes\": [");
  for (uint32_t i = 0, n = 0; i < p->nchanges; i++) {
    const tt_change *c = &p->changes[i];
    if (rank >= 0 && c->rank != rank) continue;
    tt_text_add(t, "%s%s[%u,%d,%u,%u,%u]", comma, n++ % 8 ? "" : "\n  ", c->round, c->rank, c->buf,
                c->block, c->value);
    comma = ",";
  }
  tt_text_add(t, "],\n \"values\": [[\"\",0]");
  for (tt_value v = 1; v < tt_values_count(p->values); v++) {
    tt_text_add(t, ",%s[\"", v % 4 ? "" : "\n  ");
    tt_label_value(t, p, v);
    tt_text_add(t, "\",%u]", p->inputs[v]);
  }
  tt_text_add(t, "]");
}

void tt_draw_json(tt_text *t, tt_picture *p, int rank, bool steps) {
  header(t, p);
  messages(t, p, rank);
  if (steps) list_steps(t, p, rank);
  changes(t, p, rank);
  tt_text_add(t, "}\n");
}
