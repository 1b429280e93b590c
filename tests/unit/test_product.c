/* Every family with every parameter that it proposes: every group, level and number of steps, for every P up to
 * 64 and samples up to 1000, the short ones up to 4096. This takes long: `make prove` does it, on all cores,
 * with a progress bar, and records for each form the properties that held in all its proofs
 * (src/choose/forms.def). `make check` does a part of it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "by_name.h"
#include "choose.h"
#include "names.h"
#include "short.h"
#include "tutti_plan.h"

static bool full(void) {
  return getenv("TUTTI_PROVE") != NULL;
}

/* ---- the work is divided: this process is number `part` of `parts` ---- */

static int part, parts = 1;

/* Does the next piece of work belong to this process? All processes count the same way. */
static bool is_mine(void) {
  static long turn;
  return turn++ % parts == part;
}

/* A progress line that overwrites itself, on a terminal only. */
static void bar(const char *what, int done, int all) {
  if (!full() || part) return;
  fprintf(stderr, "\r  %-28s [", what);
  for (int i = 0; i < 40; i++) fputc(i * all < 40 * done ? '#' : '.', stderr);
  fprintf(stderr, "] %d of %d%s", done, all, done == all ? "\n" : "");
  fflush(stderr);
}

/* ---- the forms, and the properties that held in all proofs of each ---- */

enum { NUMBERS = 12, ROWS = 4096 };

/* The proofs of a form that had these results. Each number in the form is replaced by '#', and has a range. */
typedef struct row {
  char form[NAME];
  unsigned does; /* one collective, until rows are merged */
  int most, numbers;
  bool order, same;
  unsigned long lo[NUMBERS], hi[NUMBERS];
} row;

/* The results of one process, in memory that all processes share. */
typedef struct found {
  int n;
  long proofs;
  row rows[ROWS];
} found;

static found *all_found;

/* Adds a row of proofs to that of the same form and results. */
static void add_row(found *of, const row *x) {
  row *r = of->rows;
  while (r < of->rows + of->n && (r->does != x->does || r->order != x->order ||
                                  r->same != x->same || strcmp(r->form, x->form) != 0))
    r++;
  if (r == of->rows + ROWS) fail_msg("more forms than have room");
  if (r == of->rows + of->n) {
    of->n++;
    *r = *x;
  }
  r->most = (int)tt_max((size_t)r->most, (size_t)x->most);
  for (int i = 0; i < x->numbers; i++) {
    r->lo[i] = tt_min(r->lo[i], x->lo[i]);
    r->hi[i] = tt_max(r->hi[i], x->hi[i]);
  }
}

/* May this stage be chosen at this position of a composition for more than TT_PROVEN_RANKS ranks? */
static bool may_be_stage(const tt_plan_spec *stage, unsigned place, int size) {
  tt_stage_walk at = {0};
  tt_text name = {0};
  bool is = false;
  for (; !is && tt_stage_next(place, size, &at, &name); name.length = 0)
    is = strcmp(name.at, stage->text) == 0;
  free(name.at);
  return is;
}

/* Compositions that are never chosen for many ranks are proven, but not recorded. */
static bool is_noted(const char *name) {
  const tt_plan_spec *plan = plan_named(name);
  const tt_arg *x = tt_plan_spec_stages(plan);
  const tt_tree *tree = x ? tt_plan_spec_levels(plan)->levels : NULL;
  bool is = true;
  for (int l = 0, i = 0; x && l < tree->levels; l++)
    if (tree->level[l].each > 1) {
      is &= may_be_stage(x->stage[i], tt_stage_place(i, x->n), tree->level[l].each);
      i++;
    }
  return is;
}

static void note(const char *name, const tt_ask *ask, const tutti_report *report) {
  char form[NAME], *end;
  if (!is_noted(name)) return;
  row x = {.does = 1u << ask->coll,
           .most = ask->ranks,
           .order = report->rank_order != 0,
           .same = report->same_grouping != 0};
  size_t n = 0;
  form_named(name, form);
  for (const char *at = form; *at; at = end) {
    end = (char *)at + 1;
    x.form[n++] = isdigit((unsigned char)*at) ? '#' : *at;
    if (!isdigit((unsigned char)*at)) continue;
    if (x.numbers == NUMBERS) fail_msg("%s has more numbers than have room", form);
    x.lo[x.numbers] = x.hi[x.numbers] = strtoul(at, &end, 10);
    x.numbers++;
  }
  add_row(&all_found[part], &x);
}

static int by_form(const void *a, const void *b) {
  const row *x = a, *y = b;
  const int order = strcmp(x->form, y->form);
  if (order) return order;
  return x->does != y->does ? (x->does > y->does) - (x->does < y->does)
                            : 2 * (y->order - x->order) + y->same - x->same;
}

/* Do they differ only in their collectives? */
static bool same_but_coll(const row *x, const row *y) {
  return strcmp(x->form, y->form) == 0 && x->order == y->order && x->same == y->same &&
         memcmp(x->lo, y->lo, sizeof x->lo) == 0 && memcmp(x->hi, y->hi, sizeof x->hi) == 0;
}

/* Merges the results of all processes into those of the first, with one row for all collectives that have the
 * same results. The row's ranks are those of the collective with the fewest. */
static void merge(void) {
  found *all = &all_found[0];
  int n = 0;
  for (int p = 1; p < parts; p++) {
    all->proofs += all_found[p].proofs;
    for (int i = 0; i < all_found[p].n; i++) add_row(all, &all_found[p].rows[i]);
  }
  qsort(all->rows, (size_t)all->n, sizeof(row), by_form);
  for (int i = 0, k; i < all->n; i++) {
    for (k = 0; k < n && !same_but_coll(&all->rows[k], &all->rows[i]); k++) continue;
    if (k == n)
      all->rows[n++] = all->rows[i];
    else {
      all->rows[k].does |= all->rows[i].does;
      all->rows[k].most = (int)tt_min((size_t)all->rows[k].most, (size_t)all->rows[i].most);
    }
  }
  all->n = n;
}

/* Sets of collectives that have a name in algo.h, and all others. */
static void write_does(FILE *f, unsigned does) {
  static const struct {
    const char *name;
    unsigned does;
  } sets[] = {{"ALLREDUCE", TT_DOES_ALLREDUCE},
              {"ROOTED", TT_DOES_ROOTED},
              {"BLOCKS", TT_DOES_BLOCKS},
              {"PREFIX", TT_DOES_PREFIX},
              {"ROOTED_BLOCKS", TT_DOES_ROOTED_BLOCKS}};
  const char *between = "";
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    if ((does & sets[i].does) == sets[i].does) {
      fprintf(f, "%sTT_DOES_%s", between, sets[i].name);
      between = " | ";
      does &= ~sets[i].does;
    }
  for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++)
    if (does >> coll & 1) {
      fprintf(f, "%sTT_DOES(", between);
      for (const char *c = tutti_coll_name((tutti_coll)coll); *c; c++) fputc(toupper(*c), f);
      fputc(')', f);
      between = " | ";
    }
}

static void write_name(FILE *f, const row *r) {
  int number = 0;
  for (const char *at = r->form; *at; at++) {
    if (*at != '#') {
      fputc(*at, f);
      continue;
    }
    fprintf(f, "%lu", r->lo[number]);
    if (r->hi[number] > r->lo[number]) fprintf(f, "..%lu", r->hi[number]);
    number++;
  }
}

static int write_forms(void) {
  const char *path = getenv("TUTTI_FORMS"), *stamp = getenv("TUTTI_STAMP");
  FILE *f = path && stamp && full() ? fopen(path, "w") : NULL;
  const row *rows = all_found[0].rows;
  if (f)
    fprintf(
        f,
        "/* forms.def - made by `make prove`, of these sources (tools/stamp.sh). Form, with the\n"
        " * ranges of its numbers; operands in rank order, same grouping on all ranks; most\n"
        " * ranks in a proof; collectives.\n"
        " * SPDX-License-Identifier: BSD-3-Clause */\nSOURCES(\"%s\")\n",
        stamp);
  for (int i = 0; f && i < all_found[0].n; i++) {
    fprintf(f, "FORM(\"");
    write_name(f, &rows[i]);
    fprintf(f, "\", %d, %d, %d, ", rows[i].order, rows[i].same, rows[i].most);
    write_does(f, rows[i].does);
    fprintf(f, ")\n");
  }
  return f && fclose(f);
}

/* ---- the proofs ---- */

/* The cost of the proof: steps to simulate, blocks to follow, and leaves to inspect if sums are
 * grouped differently on some ranks. */
static double cost_of(tt_sched *s) {
  const double P = s->ranks;
  uint32_t results = 0;
  for (uint32_t i = 0; i < s->nsteps; i++)
    if (s->steps[i].completes) results += tt_span_size(&s->steps[i].dst);
  return P * (300.0 * s->nsteps + 10 * tt_work_of(&s, 1) + P * results);
}

static void prove_one(const char *name, const tt_ask *ask) {
  tutti_report r;
  if (!names_prove(name, ask, &r))
    fail_msg("%s\n  tutti plan check '%s' --coll %s -n %d --root %d%s", r.witness, name,
             tutti_coll_name(ask->coll), ask->ranks, ask->root, ask->in_place ? " --in-place" : "");
  note(name, ask, &r);
  all_found[part].proofs++;
}

/* Proves as many slices as can interact, on numbers of ranks that do not take minutes. */
static void prove_slices(const char *name, const tt_ask *ask) {
  const tt_setting how = {.flight = 3};
  tt_proven is;
  if (ask->ranks > 16 || ask->in_place || tt_coll_owned(ask->coll)) return;
  if (find_proven(ask, name, 5, &how, &is)) fail_msg("%s in slices: %s", name, tutti_error());
}

/* A property that holds for the first root and the last need not hold for those in between: the order of a
 * chain. */
static void prove_roots(const char *name, tt_ask *ask, int data) {
  const int last = tt_coll_rooted(ask->coll) ? data - 1 : 0;
  const int between = data > 8 ? (last + 1) / 2 : 1; /* few ranks: all roots */
  for (ask->root = 0; ask->root < last; ask->root += between) prove_one(name, ask);
  ask->root = last;
  prove_one(name, ask);
}

/* Proves every collective that the plan supports, in place and out of place, if that costs at most `most`. */
static void prove_name(const char *name, int P, double most) {
  if (!is_mine()) return;
  for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++)
    for (int in_place = 0; in_place < 2; in_place++) {
      tt_ask ask = {.coll = (tutti_coll)coll, .ranks = P, .in_place = in_place};
      tt_sched *s;
      if (tt_algo_build_named(name, &ask, &s)) continue;
      const int data = s->data;
      const double cost = cost_of(s);
      tt_sched_free(s);
      if (cost > most) continue;
      prove_roots(name, &ask, data);
      if (full() && most == HUGE_VAL) prove_slices(name, &ask);
    }
}

/* Adds the proposals for this number of ranks, flat and on machines of two and three levels. */
static void add_plans(names *list, int P) {
  char levels[60];
  names_add_plans(list, P, "");
  for (int core = 2; core < P; core++) {
    const int node = P / core;
    if (P % core || (P > 64 && core != 8 && node != 8)) continue;
    snprintf(levels, sizeof levels, "node:%d core:%d", node, core);
    names_add_plans(list, P, levels);
    for (int rack = 2; rack <= 8; rack += rack < 4 ? 1 : 4) {
      snprintf(levels, sizeof levels, "rack:%d node:%d core:%d", rack, node / rack, core);
      if (node > rack && node % rack == 0) names_add_plans(list, P, levels);
    }
  }
}

static void every_parameter_up_to_64_ranks(void **state) {
  (void)state;
  for (int P = 1; P <= shorter(64, 9); P += full() ? 1 : 1 + P / 8) {
    names list = names_for(P, full() ? -1 : 6, 3 * P);
    if (full()) add_plans(&list, P);
    char what[40];
    snprintf(what, sizeof what, "%d ranks", P);
    for (int a = 0; a < list.n; a++) {
      bar(what, a, list.n);
      prove_name(list.at[a], P, HUGE_VAL);
    }
    bar(what, list.n, list.n);
    names_free(&list);
  }
}

static void samples_to_1000_ranks(void **state) {
  const int samples[] = {97, 120, 127, 210, 255, 256, 257, 360, 511, 512, 625, 720, 999, 1000};
  const int n = shorter(sizeof samples / sizeof *samples, 1);
  (void)state;
  for (int i = 0; i < n; i++) {
    names list = names_for(samples[i], full() ? 12 : 1, i);
    if (full()) add_plans(&list, samples[i]);
    bar("samples to 1000 ranks", i, n);
    for (int a = 0; a < list.n; a++) prove_name(list.at[a], samples[i], full() ? 1e8 : 4e6);
    names_free(&list);
  }
  bar("samples to 1000 ranks", n, n);
}

static void logarithmic_ones_to_4096_ranks(void **state) {
  static const struct {
    int ranks;
    const char *name;
  } cases[] = {
      {4095, "consistent(rank-order)"}, {4096, "consistent(rank-order)"},
      {1000, "fold(halving)"},          {1000, "generalized(r=3)"},
      {1000, "consistent(i=4)"},        {4095, "fold(halving)"},
      {4096, "generalized(r=2)"},       {4096, "fold(group=16x16x16,inner)"},
      {4095, "consistent(i=6)"},        {4000, "generalized(group=40x100,r=2)"},
      {4096, "lanes(n=4096)"},          {4096, "generalized(r=12)"},
      {4096, "consistent(i=12)"},
  };
  const int n = sizeof cases / sizeof *cases;
  (void)state;
  for (int i = 0; i < (full() ? n : 3); i++) {
    const tutti_coll colls[] = {TUTTI_ALLREDUCE, TUTTI_BARRIER};
    bar("samples to 4096 ranks", i, n);
    if (!is_mine()) continue;
    for (int c = 0; c < (full() ? 2 : 1); c++) {
      tt_ask ask = {.coll = colls[c], .ranks = cases[i].ranks};
      tutti_report r;
      if (!names_prove(cases[i].name, &ask, &r))
        fail_msg("%s on %d ranks: %s", cases[i].name, cases[i].ranks, r.witness);
      note(cases[i].name, &ask, &r);
      assert_true(r.steps <= 2 * tt_ceil_log2((uint64_t)ask.ranks) + 2);
    }
  }
  bar("samples to 4096 ranks", n, n);
}

static int prove_all(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_parameter_up_to_64_ranks),
      cmocka_unit_test(samples_to_1000_ranks),
      cmocka_unit_test(logarithmic_ones_to_4096_ranks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
  int failed = 0, status;
  if (full()) parts = (int)tt_max(1, (size_t)sysconf(_SC_NPROCESSORS_ONLN));
  const size_t bytes = (size_t)parts * sizeof *all_found;
  all_found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (all_found == MAP_FAILED) return 1;
  for (int p = 1; p < parts; p++) {
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) {
      part = p;
      exit(prove_all() ? 1 : 0);
    }
  }
  failed = prove_all();
  while (wait(&status) > 0) failed |= status;
  if (failed) return 1;
  merge();
  print_message("# %ld schedules proven\n", all_found[0].proofs);
  return write_forms() ? 1 : 0;
}
