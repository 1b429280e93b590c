/* test_hostile.c - hostile texts, constructed to take long: 64 KiB take about one second of CPU time at most,
 * whatever the result, or five seconds if it is a proof.
 *
 * Idea       a head, and a line that is repeated until the text is full, with a new number for
 *            each @; the fuzzers of fuzz/ search for other such texts.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "override.h"
#include "placement.h"
#include "profile.h"
#include "tutti_plan.h"

enum { LENGTH = 64 << 10, RANKS = 1024 };

#ifdef __SANITIZE_ADDRESS__
static const double slow = 20;
#else
static const double slow = 3; /* for a busy machine, or a build without -O3 */
#endif

/* ---- the readers ---- */

static void schedule(const char *text) {
  tutti_report report = {.size = sizeof report};
  tutti_schedule_check(text, &report);
}

static void profile(const char *text) {
  tt_profile machine;
  tt_profile_net(&machine);
  tt_profile_parse(&machine, text, "x");
}

static void topology(const char *text) {
  static tt_placement placements[RANKS];
  static int order[RANKS], node_of[RANKS];
  tt_layout layout = {.order = order, .node_of = node_of};
  for (int r = 0; r < RANKS; r++) {
    placements[r] = (tt_placement){.node = r / 4};
    snprintf(placements[r].host, sizeof placements[r].host, "n%012d", r / 4);
  }
  tt_placement_arrange(placements, RANKS, text, "x", &layout);
  tt_placement_fake(text, RANKS, placements);
}

static void override(const char *text) {
  tt_override wanted;
  tt_override_parse(text, 1000, &wanted);
}

/* ---- the texts ---- */

#define ON(ranks, blocks) "tutti-schedule 1 allreduce x P=" #ranks " blocks=" #blocks "\n"
#define OF(ranks, blocks) ON(ranks, blocks) "rank 0\n"

static const struct {
  const char *what;
  void (*read)(const char *text);
  const char *head, *line, *tail;
  int lines; /* at most this many */
} texts[] = {
    {"all blocks", schedule, OF(1, 5000000), "@ copy dst[0..4999999] = src[0..4999999]\n", "",
     LENGTH},
    {"a proof of all blocks", schedule,
     OF(1, 5000000) "0 copy dst[0..4999999] = src[0..4999999] last\n", "#", "", LENGTH},
    {"in pieces of one block", schedule,
     OF(1, 5000000) "0 copy dst[0..2499999%2500000*2] = src[0..2499999%2500000*2] last\n"
                    "1 copy dst[0..2499999%2500000*2+1] = src[0..2499999%2500000*2+1] last\n",
     "#", "", LENGTH},
    {"in an order to be found", schedule,
     "tutti-schedule 1 allreduce x P=1 blocks=5000000 derive\nrank 0\n"
     "0 copy dst[0..2499999%2500000*2] = src[0..2499999%2500000*2] last\n"
     "1 copy dst[0..2499999%2500000*2+1] = src[0..2499999%2500000*2+1] last\n",
     "#", "", LENGTH},
    {"copies that differ at the end", schedule, OF(1, 1),
     "@ copy tmp[0..9999] = tmp[0..9999%10001]\n", "", LENGTH},
    {"much scratch", schedule, ON(9999, 1), "rank @\n0 copy tmp[16777214] = src[0]\n", "", LENGTH},
    {"all ranks", schedule, OF(65536, 1), "@ send ->1..65535 src[0]\n", "", LENGTH},
    {"all ranks, by steps", schedule, OF(65521, 1), "@ send ->1..0:2 src[0]\n", "", LENGTH},
    {"all ranks, to everyone", schedule, ON(700, 1),
     "rank @\n0 send ->0..699 src[0]\n1 recv_reduce <-0..699 dst[0] = in op src[0] op in last\n",
     "", 700},
    {"a proof of many steps", schedule, OF(1, 1), "@ copy dst[0] = src[0] last\n", "", LENGTH},
    {"operands", schedule, OF(1, 4096) "0 reduce dst[0..4095] = src[0..4095]", " op src[0..4095]",
     "\n", LENGTH},
    {"one long wait", schedule, OF(1, 1) "0 copy dst[0] = src[0]\n1 copy dst[0] = src[0] after",
     " 0", "\n", LENGTH},
    {"ranks without steps", schedule, ON(65536, 1), "rank @\n", "", LENGTH},
    {"a long name", schedule, "tutti-schedule 1 allreduce ", "(x ", "", LENGTH},
    {"nothing", schedule, "", "\n", "", LENGTH},
    {"a comment", schedule, "", "#", "", LENGTH},
    {"levels", profile, "", "l@.alpha=1us\n", "", LENGTH},
    {"one figure", profile, "", "alpha = 1us,", "", LENGTH},
    {"many digits", profile, "beta=", "1", "Gbit/s", LENGTH},
    {"a small number", profile, "beta=.", "0", "1Gbit/s", LENGTH},
    {"commas", profile, "", ",", "", LENGTH},
    {"a long word", profile, "", "alpha.", "=1", LENGTH},
    {"racks", topology, "", "r@: n[1-999999999]\n", "", LENGTH},
    {"hosts", topology, "a:", " h@", "\n", LENGTH},
    {"brackets", topology, "a: n", "[0-9]", "\n", LENGTH},
    {"brackets that are wide", topology, "a: n", "[0-9,10-99,100-999]", "\n", LENGTH},
    {"ranges", topology, "a: n[", "1-2,", "3]\n", LENGTH},
    {"levels of a tree", topology, "", "node:1 ", "", LENGTH},
    {"a list", topology, "node:(", "1,", "1)", LENGTH},
    {"nodes", topology, "0", ",1", "", LENGTH},
    {"wishes", override, "", "ring;", "", LENGTH},
    {"a wish with parentheses", override, "fold", "(", "", LENGTH},
    {"a plan with steps", override, "generalized(steps=", "1,", ")", LENGTH},
};

/* The head, the line repeated until the text is full, the tail. */
static char *grown(size_t i) {
  char *text = malloc(LENGTH + 200);
  assert_non_null(text);
  size_t n = (size_t)sprintf(text, "%s", texts[i].head);
  for (int k = 0; k < texts[i].lines && n + strlen(texts[i].line) + 10 < LENGTH; k++)
    for (const char *c = texts[i].line; *c; c++)
      n += (size_t)(*c == '@' ? sprintf(text + n, "%d", k) : sprintf(text + n, "%c", *c));
  strcpy(text + n, texts[i].tail);
  return text;
}

static double processor_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void in_time(void **unused) {
  (void)unused;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    char *text = grown(i);
    const double from = processor_seconds();
    texts[i].read(text);
    const double took = processor_seconds() - from;
    double most = slow * (texts[i].read == schedule ? 5 : 1);
    if (took > most || getenv("TUTTI_TEST_TIMES")) print_error("%s: %.3f s\n", texts[i].what, took);
    assert_true(took <= most);
    free(text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(in_time)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
