/* explain.c - explains, in words or JSON, which plan runs for a call, and why.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "flight.h"
#include "why.h"

tutti_status tt_text_hand_over(tt_text *t, char **text) {
  if (!t->failed && t->at) {
    *text = t->at;
    return TUTTI_OK;
  }
  free(t->at);
  return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a text");
}

/* `exact` is 0, or 1 + the type of the numbers if they are summed exactly. */
static tutti_status say(tt_chooser *c, const tt_why *why, int exact, int json, char **text) {
  tt_text t = {0};
  if (exact && !json) tt_exact_words_say(&t, (tutti_type)(exact - 1), tt_chooser_model(c)->ranks);
  if (!json) tt_coding_say(&t, c, &why->problem, why->choice.plan);
  (json ? tt_why_json : tt_why_words)(&t, c, why);
  return tt_text_hand_over(&t, text);
}

tutti_status tt_explain(tt_chooser *c, const tt_problem *problem, const tt_override *override,
                        int exact, int json, char **text) {
  tt_why why;
  tutti_status status = tt_why_find(c, problem, override, &why);
  if (!status) status = say(c, &why, exact, json, text);
  tt_why_free(&why);
  return status;
}

/* Explains the plan for a problem. If the process has a device, also explains how vectors on the device are summed. */
static tutti_status explain_with_device(tutti_comm *comm, const tt_call *call, tt_chooser *c,
                                        const tt_problem *problem, int json, char **text) {
  tt_why why;
  tt_device_way way;
  tutti_status status = tt_why_find(c, problem, tt_call_override(comm, call), &why);
  if (!status && tt_device()) {
    status = tt_device_way_of(comm, call, why.choice.plan, why.breakdown.time, &way);
    why.way = &way;
  }
  const int exact = tt_call_is_exact(comm, call) ? 1 + (int)call->type : 0;
  if (!status) status = say(c, &why, exact, json, text);
  tt_why_free(&why);
  return status;
}

/* Explains a call on a communicator. */
tutti_status tt_explain_call(tutti_comm *comm, const tt_call *call, int json, char **text) {
  tt_problem problem = tt_problem_of(comm, call);
  tt_chooser *by;
  bool asked;
  tutti_status status = tt_coding_decide(comm, call, &problem, &by, &asked);
  if (!status) status = explain_with_device(comm, call, by, &problem, json, text);
  if (status || json) return status;
  tt_text t = {0};
  if (asked) tt_coding_verdict_say(comm, call, &t);
  if (comm->plans->rivals) tt_rival_say(comm, &problem, &t);
  status = tt_exts_explain(comm, call, &t);
  if (!status) tt_text_add(&t, "%s", *text);
  free(*text);
  *text = NULL;
  if (!status) return tt_text_hand_over(&t, text);
  free(t.at);
  return status;
}

/* Logs, line by line, which plan runs for a call. Called once per kind of call, when the plan is made. */
void tt_comm_say_why(tutti_comm *comm, const tt_call *call) {
  char *text;
  if (comm->rank != 0 || tt_explain_call(comm, call, 0, &text)) return;
  for (char *line = text, *end; *line; line = end) {
    end = line + strcspn(line, "\n");
    if (*end) *end++ = 0;
    tt_log(1, "%s", line);
  }
  free(text);
}
