/* plan_list.c - `tutti plan list`: describes each algorithm in a sentence, with its source, its
 * collectives, and the prover's results. Prints lines or JSON.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "plan.h"
#include "tutti_plan.h"

typedef struct entry {
  const char *name, *sentence, *source;
  bool can[TUTTI_COLL_COUNT];
  char why[300]; /* why it does not provide this collective */
  tutti_report report;
} entry;

void plan_json_report(const tutti_report *r) {
  printf("\"proven\": %s", r->proven ? "true" : "false");
  if (!r->proven) {
    printf(", \"witness\": ");
    cli_json_string(r->witness, 1000);
    return;
  }
  printf(
      ", \"rank_order\": %s, \"same_grouping\": %s, \"element\": %s, \"transitive\": %s, "
      "\"blocks\": %d, "
      "\"rounds\": %d, \"messages\": %d, \"sent_blocks\": %lld, \"reduced\": %lld, "
      "\"copied\": %lld, \"scratch_blocks\": %d",
      r->rank_order ? "true" : "false", r->same_grouping ? "true" : "false",
      r->element ? "true" : "false", r->transitive ? "true" : "false", r->blocks, r->steps,
      r->messages, (long long)r->sent_blocks, (long long)r->reduced, (long long)r->copied,
      r->scratch_blocks);
}

/* Returns the reason from the last error message, which is the text after "... on 7 ranks: ". */
static const char *reason(void) {
  const char *at = strstr(tutti_error(), " ranks: ");
  return at ? at + strlen(" ranks: ") : tutti_error();
}

/* Collects facts about the i-th algorithm. If the prover fails, prints an error message and returns false. */
static bool look(int i, const plan_options *o, entry *e) {
  char *text;
  memset(e, 0, sizeof *e);
  e->name = tutti_algo_name(i, &e->sentence);
  e->source = tutti_algo_source(i);
  e->report.size = sizeof e->report;
  for (int c = 0; c < TUTTI_COLL_COUNT; c++) {
    e->can[c] = !tutti_schedule_text(e->name, (tutti_coll)c, (int)o->ranks, 0, 0, 0, &text);
    if (e->can[c]) tutti_text_free(text);
  }
  if (tutti_schedule_text(e->name, o->coll, (int)o->ranks, -1, (int)o->root, o->in_place, &text)) {
    snprintf(e->why, sizeof e->why, "%s", reason());
    return true;
  }
  tutti_status status = tutti_schedule_check(text, &e->report);
  tutti_text_free(text);
  if (status) cli_fail(0, "plan", "%s", tutti_error());
  return !status;
}

/* Prints the collectives that the algorithm supports for this number of ranks. */
static void print_does(const entry *e) {
  const char *comma = "; for ";
  for (int c = 0; c < TUTTI_COLL_COUNT; c++) {
    if (!e->can[c]) continue;
    printf("%s%s", comma, tutti_coll_name((tutti_coll)c));
    comma = ", ";
  }
}

static void print_entry(const entry *e) {
  const tutti_report *r = &e->report;
  if (*e->why)
    printf("%-30s     -        -       -       -  -     -    -\n", e->name);
  else if (!r->proven)
    printf("%-30s     -        -       -       -  -     -    no: %s\n", e->name, r->witness);
  else
    printf("%-30s %5d %8d %7.2f %7.2f  %-5s %-4s yes\n", e->name, r->steps, r->messages,
           (double)r->sent_blocks / r->blocks, (double)r->scratch_blocks / r->blocks,
           r->rank_order ? "kept" : "lost", r->same_grouping ? "yes" : "no");
  printf("    %s\n    %s", e->sentence, e->source);
  print_does(e);
  printf("\n");
  if (*e->why) printf("    not here: %s\n", e->why);
}

static void json_entry(const entry *e) {
  printf("{\"name\": ");
  cli_json_string(e->name, 1000);
  printf(", \"sentence\": ");
  cli_json_string(e->sentence, 1000);
  printf(", \"source\": ");
  cli_json_string(e->source, 1000);
  printf(",\n   \"collectives\": [");
  const char *comma = "";
  for (int c = 0; c < TUTTI_COLL_COUNT; c++) {
    if (!e->can[c]) continue;
    printf("%s\"%s\"", comma, tutti_coll_name((tutti_coll)c));
    comma = ", ";
  }
  printf("], ");
  if (*e->why) {
    printf("\"refuses\": ");
    cli_json_string(e->why, 1000);
  } else {
    plan_json_report(&e->report);
  }
  printf("}");
}

int plan_list(const plan_options *o) {
  entry e;
  if (o->json)
    printf("{\"collective\": \"%s\", \"ranks\": %ld, \"algorithms\": [", tutti_coll_name(o->coll),
           o->ranks);
  else
    printf("%-30s %5s %8s %7s %7s  %-5s %-4s proven\n", "algorithm", "steps", "messages", "vectors",
           "scratch", "order", "same");
  for (int i = 0; tutti_algo_name(i, NULL); i++) {
    if (!look(i, o, &e)) return CLI_FAILED;
    if (o->json) printf(i ? ",\n  " : "\n  ");
    if (o->json)
      json_entry(&e);
    else
      print_entry(&e);
  }
  if (o->json)
    printf("]}\n");
  else
    printf(
        "\n%s on %ld ranks. Steps: messages on the longest chain. Messages, vectors sent and\n"
        "scratch (in vectors): of the busiest rank. Order kept: fit for ops that do not\n"
        "commute. Same: the same bits on all ranks. Proven: just now, on this number of ranks;\n"
        "the other columns follow from that proof.\n",
        tutti_coll_name(o->coll), o->ranks);
  return fflush(stdout) ? CLI_FAILED : 0;
}
