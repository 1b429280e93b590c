/* schedules.c - prints, proves and draws schedules.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "algo.h"
#include "picture.h"

static tutti_status check_ask(const char *algo, const tt_ask *ask) {
  if (!algo) return tt_fail(TUTTI_ERR_ARG, "tutti_schedule_text: algo is NULL");
  if ((unsigned)ask->coll >= TUTTI_COLL_COUNT)
    return tt_fail(TUTTI_ERR_ARG, "tutti_schedule_text: no such collective");
  if (ask->ranks < 1 || ask->ranks > 65536)
    return tt_fail(TUTTI_ERR_ARG, "tutti_schedule_text: %d ranks; 1 to 65536 are possible",
                   ask->ranks);
  if (ask->rank < -1 || ask->rank >= ask->ranks || ask->root < 0 || ask->root >= ask->ranks)
    return tt_fail(TUTTI_ERR_ARG, "tutti_schedule_text: rank or root is none of 0..%d",
                   ask->ranks - 1);
  return TUTTI_OK;
}

tutti_status tutti_schedule_text(const char *algo, tutti_coll coll, int ranks, int rank, int root,
                                 int in_place, char **text) {
  tt_ask ask = {
      .coll = coll, .ranks = ranks, .rank = rank, .root = root, .in_place = in_place != 0};
  tutti_status status = tt_alive();
  if (!status) status = check_ask(algo, &ask);
  if (status) return status;
  if (!text) return tt_fail(TUTTI_ERR_ARG, "tutti_schedule_text: text is NULL");
  tt_sched **all = NULL, *one = NULL;
  if (rank < 0)
    status = tt_algo_build_all_named(algo, &ask, &all);
  else
    status = tt_algo_build_named(algo, &ask, &one);
  if (status) return status;
  tt_text t = {0};
  if (all)
    tt_sched_print(&t, (const tt_sched *const *)all, ranks);
  else
    tt_sched_print(&t, (const tt_sched *const *)&one, 1);
  tt_sched_free_all(all, ranks);
  tt_sched_free(one);
  if (t.failed || !t.at) {
    free(t.at);
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the text of %s", algo);
  }
  *text = t.at;
  return TUTTI_OK;
}

void tutti_text_free(char *text) {
  free(text);
}

tutti_status tutti_schedule_check(const char *text, tutti_report *report) {
  tutti_status status = tt_args_given("tutti_schedule_check", "text", text, "report", report);
  if (!status)
    status = tt_size_check("tutti_schedule_check", "report", report->size, sizeof *report);
  if (status) return status;
  tt_sched **all;
  int ranks;
  status = tt_sched_parse(text, &all, &ranks);
  if (status) return status;
  status = tt_prove(all, ranks, report);
  tt_sched_free_all(all, ranks);
  return status;
}

static tutti_status check_drawing(const char *text, const tutti_drawing *d, char **picture) {
  const char *null = !text ? "text" : !d ? "drawing" : !picture ? "picture" : NULL;
  if (null) return tt_fail(TUTTI_ERR_ARG, "tutti_schedule_draw: %s is NULL", null);
  tutti_status status = tt_size_check("tutti_schedule_draw", "drawing", d->size, sizeof *d);
  if (status) return status;
  if ((unsigned)d->picture >= TUTTI_PICTURE_COUNT)
    return tt_fail(TUTTI_ERR_ARG, "tutti_schedule_draw: no such picture");
  return TUTTI_OK;
}

static tutti_status draw_picture(tt_text *t, tt_picture *p, const tutti_drawing *d) {
  if (d->rank < -1 || d->rank >= p->ranks)
    return tt_fail(TUTTI_ERR_ARG, "rank %d does not exist; the ranks are 0 to %d", d->rank,
                   p->ranks - 1);
  tutti_status status = TUTTI_OK;
  if (d->picture == TUTTI_PICTURE_WORDS) tt_draw_words(t, p, d->rank);
  if (d->picture == TUTTI_PICTURE_SVG) tt_draw_svg(t, p);
  if (d->picture == TUTTI_PICTURE_HTML) tt_draw_html(t, p);
  if (d->picture == TUTTI_PICTURE_JSON) tt_draw_json(t, p, d->rank, true);
  if (d->picture == TUTTI_PICTURE_TERMINAL) status = tt_draw_terminal(t, p, d->width, d->color);
  if (!status && (t->failed || !t->at)) status = tt_fail(TUTTI_ERR_MEMORY, "out of memory");
  return status;
}

tutti_status tutti_schedule_draw(const char *text, const tutti_drawing *drawing, char **picture) {
  tutti_status status = tt_alive();
  if (!status) status = check_drawing(text, drawing, picture);
  if (status) return status;
  tt_sched **all;
  int ranks;
  status = tt_sched_parse(text, &all, &ranks);
  if (status) return status;
  tt_picture p;
  tt_text t = {0};
  status = tt_picture_make(&p, all, ranks);
  if (!status) status = tt_picture_levels(&p, drawing->topo);
  if (!status) status = draw_picture(&t, &p, drawing);
  if (status)
    free(t.at);
  else
    *picture = t.at;
  tt_picture_free(&p);
  tt_sched_free_all(all, ranks);
  return status;
}
