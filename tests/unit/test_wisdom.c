/* test_wisdom.c - wisdom as text, as a list, and in choices: text reads back, stale, torn or hostile text is
 * refused as a whole, and plans that are not allowed to run do not run.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "by_name.h"
#include "choose.h"
#include "cover.h"
#include "engine.h"
#include "refuse.h"
#include "tutti_plan.h"

#define HEAD "tutti-wisdom 1, tutti 0.2.0\n"
#define ON   "on 8f3c21aa: 7 processes share memory, 3.5 to a core; 2 cores of this\n"
#define REST " 12.310 4% 14.200 10.200 2026-11-22T01:24:22Z\n"

/* ---- text ---- */

static char *printed(const tt_wisdom *w) {
  tt_text t = {.at = NULL};
  tt_wisdom_print(&t, w);
  assert_false(t.failed);
  return t.at;
}

/* A random entry, for any of the given placements, kinds and sizes. */
static tt_wisdom_entry any_entry(uint64_t seed) {
  static const char *const plans[] = {"one-shot", "fold(ring)", "tree(double,segments=4)",
                                      "blueconnect(node:4 core:(2,1,2,2))", "consistent(i=2)"};
  const uint64_t u = cover_mix(seed);
  const tutti_coll coll = (tutti_coll)(u % TUTTI_COLL_COUNT);
  tutti_type type = (tutti_type)((u >> 8) % TUTTI_TYPE_COUNT);
  tutti_op op = (tutti_op)((u >> 16) % TUTTI_OP_COUNT);
  tt_wisdom_entry e = {.stamp = (uint32_t)(u >> 60) * 0x1234567u,
                       .bytes = 1 + (u >> 20) % ((uint64_t)1 << (u >> 25) % 40)};
  snprintf(e.placement, sizeof e.placement, "%d ranks; a \"machine\" # 3 of %d", (int)(u >> 60),
           (int)(u >> 62));
  tt_wisdom_key_set(&e.key, coll, type, op, (unsigned)(u >> 30) % 4, (int)(u >> 33) % 3);
  e.plan = plan_named(plans[(u >> 36) % 5]);
  e.slices = 1 + (int)((u >> 40) % 8);
  e.took = 1 + (u >> 12) % 1000000007;
  e.own = (u >> 13) % 1000000007;
  e.predicted = (u >> 14) % 1000000007;
  e.spread = (int)((u >> 15) % 1000);
  snprintf(e.when, sizeof e.when, "20%02d-11-22T01:24:%02dZ", (int)(u >> 44) % 100,
           (int)(u >> 50) % 60);
  return e;
}

static void what_is_written_reads_back(void **state) {
  (void)state;
  for (int n = 0; n < 400; n = 2 * n + 1) {
    tt_wisdom w = {.at = NULL}, again = {.at = NULL};
    for (int i = 0; i < n; i++) {
      const tt_wisdom_entry e = any_entry((uint64_t)(1000 * n + i));
      assert_true(tt_wisdom_add(&w, &e));
    }
    char *first = printed(&w);
    if (tt_wisdom_parse(&again, first, "the text")) fail_msg("%s\n%s", tutti_error(), first);
    char *second = printed(&again);
    assert_string_equal(first, second);
    assert_int_equal(again.n, w.n);
    for (int i = 0; i < w.n; i++) { /* in order, and complete */
      assert_int_equal(again.at[i].took, w.at[i].took);
      assert_int_equal(again.at[i].bytes, w.at[i].bytes);
      assert_int_equal(again.at[i].stamp, w.at[i].stamp);
      assert_ptr_equal(again.at[i].plan, w.at[i].plan);
      assert_string_equal(again.at[i].placement, w.at[i].placement);
    }
    free(first);
    free(second);
    tt_wisdom_clear(&w);
    tt_wisdom_clear(&again);
  }
}

static void people_may_write_it(void **state) {
  static const char *const texts[] = {
      HEAD,
      "# mine\n\n" HEAD "# nothing\n",
      HEAD ON,
      "tutti-wisdom 1,  tutti\t0.2.0 # here\r\n",
      HEAD ON "allreduce float sum same 0 4096 fold(ring) 1 12.31 4% 14 0 2026-11-22T01:24:22Z # x",
      HEAD "  " ON
           "\tbroadcast - - any 1 4096 tree(double) 2 12 0% 14.2 10"
           " 2026-11-22T01:24:22Z\r\n",
      HEAD ON ON "barrier - - any 0 1 one-shot 1" REST "scan int8 user order+same 0 9 scan 1" REST,
  };
  static const int entries[] = {0, 0, 0, 0, 1, 1, 2};
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    tt_wisdom w = {.at = NULL};
    if (tt_wisdom_parse(&w, texts[i], "the text")) fail_msg("%s: %s", texts[i], tutti_error());
    assert_int_equal(w.n, entries[i]);
    tt_wisdom_clear(&w);
  }
}

static const struct {
  const char *text, *words;
} wrong[] = {
    {"", "line 1, column 1|'tutti-wisdom 1' at the beginning"},
    {"\n\n  hello", "line 3, column 3|'tutti-wisdom 1'|found 'hello'"},
    {"tutti-wisdom 2, tutti 0.2.0\n", "line 1, column 14|format is '2,'|reads format 1"},
    {"tutti-wisdom", "line 1, column 13|format is ''"},
    {"tutti-wisdom 1, fftw 3\n", "line 1, column 17|expected 'tutti' and its version|fftw"},
    {"tutti-wisdom 1, tutti 0.0.9\n" ON,
     "line 1, column 23|tutti '0.0.9'|this is 0.2.0|measure again"},
    {HEAD "allreduce float sum same 0 4096 one-shot 1" REST, "line 2, column 1|expected 'on'"},
    {HEAD "on 8f3c21a: x\n", "line 2, column 4|a stamp such as"},
    {HEAD "on 8F3C21AA: x\n", "line 2, column 4|a stamp such as"},
    {HEAD "on 8f3c21aa x\n", "line 2, column 4|a stamp such as"},
    {HEAD "on 8f3c21aa: x\033[2Jy\n", "line 2, column 15|not a printable character"},
    {HEAD ON "alreduce float sum same 0 4096 one-shot 1" REST,
     "line 3, column 1|a collective|alreduce"},
    {HEAD ON "allreduce - sum same 0 4096 one-shot 1" REST, "line 3, column 11|a type"},
    {HEAD ON "broadcast float - any 0 4096 naive 1" REST, "line 3, column 11|'-', for nothing"},
    {HEAD ON "broadcast - sum any 0 4096 naive 1" REST, "line 3, column 13|'-', for nothing"},
    {HEAD ON "allreduce float - same 0 4096 one-shot 1" REST, "line 3, column 17|an op"},
    {HEAD ON "allreduce float summmmmmmmmmmmmmmmmm same 0 4096 one-shot 1" REST, "column 17|an op"},
    {HEAD ON "allreduce float sum some 0 4096 one-shot 1" REST, "line 3, column 21|order+same"},
    {HEAD ON "allreduce float sum same -1 4096 one-shot 1" REST, "line 3, column 26|helpers"},
    {HEAD ON "allreduce float sum same 0 0 one-shot 1" REST, "line 3, column 28|a number of bytes"},
    {HEAD ON "allreduce float sum same 0 99999999999999999999 one-shot 1" REST, "column 28|bytes"},
    {HEAD ON "allreduce float sum same 0 4k one-shot 1" REST,
     "line 3, column 28|a number of bytes"},
    {HEAD ON "allreduce float sum same 0 4096 no-shot 1" REST, "line 3, column 33|a plan|no-shot"},
    {HEAD ON "allreduce float sum same 0 4096 %s%n 1" REST, "line 3, column 33|a plan|%s%n"},
    {HEAD ON "allreduce float sum same 0 4096 fold(ring 1" REST,
     "line 3, column 33|a plan|fold(ring"},
    {HEAD ON "allreduce float sum same 0 4096 one-shot 0" REST, "line 3, column 42|slices"},
    {HEAD ON "allreduce float sum same 0 4096 one-shot 1 1,5 4% 1 1 2026-11-22T01:24:22Z",
     "column 44|what it took"},
    {HEAD ON "allreduce float sum same 0 4096 one-shot 1 1.5000 4% 1 1 2026-11-22T01:24:22Z",
     "column 44|what it took"},
    {HEAD ON "allreduce float sum same 0 4096 one-shot 1 nan 4% 1 1 2026-11-22T01:24:22Z",
     "column 44|what it took"},
    {HEAD ON "allreduce float sum same 0 4096 one-shot 1 . 4% 1 1 2026-11-22T01:24:22Z",
     "column 44|what it took"},
    {HEAD ON "allreduce float sum same 0 4096 one-shot 1 1.5 4 1 1 2026-11-22T01:24:22Z",
     "column 48|a spread"},
    {HEAD ON "allreduce float sum same 0 4096 one-shot 1 1.5 %4 1 1 2026-11-22T01:24:22Z",
     "column 48|a spread"},
    {HEAD ON "allreduce float sum same 0 4096 one-shot 1 1.5 4% -1 1 2026-11-22T01:24:22Z",
     "column 51|least estimate"},
    {HEAD ON "allreduce float sum same 0 4096 one-shot 1 1.5 4% 1 x 2026-11-22T01:24:22Z",
     "column 53|the estimate"},
    {HEAD ON "allreduce float sum same 0 4096 one-shot 1 1.5 4% 1 1 yesterday\n",
     "column 55|a time|yesterday"},
    {HEAD ON "allreduce float sum same 0 4096 one-shot 1 1.5 4% 1 1\n" ON,
     "line 3, column 54|a time"},
    {HEAD ON "allreduce float sum same 0 4096 one-shot 1"
             " 1 4% 1 1 2026-11-22T01:24:22Z more\n",
     "the end of the line|more"},
};

/* Also after valid entries, which are dropped as well. */
static void what_is_wrong_is_refused_whole(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    tt_wisdom w = {.at = NULL};
    REFUSES(tt_wisdom_parse(&w, wrong[i].text, "the text"), TUTTI_ERR_ARG, wrong[i].words);
    REFUSES(tt_wisdom_parse(&w, wrong[i].text, "the text"), TUTTI_ERR_ARG, "the text, line ");
    assert_int_equal(w.n, 0);
    assert_null(w.at);
  }
}

/* A valid text with a few bytes changed, cut or doubled is either accepted, or refused with a position. */
static void torn_texts(void **state) {
  (void)state;
  tt_wisdom w = {.at = NULL};
  for (uint64_t i = 0; i < 12; i++) {
    const tt_wisdom_entry e = any_entry(i);
    assert_true(tt_wisdom_add(&w, &e));
  }
  char *good = printed(&w);
  const size_t n = strlen(good);
  int refused = 0;
  for (uint64_t i = 0; i < 4000; i++) {
    char *text = malloc(2 * n + 1);
    memcpy(text, good, n + 1);
    for (uint64_t k = 0; k <= i % 3; k++) {
      const uint64_t u = cover_mix(7 * i + k);
      const size_t at = (size_t)(u % n);
      if (u >> 60 == 0)
        text[at] = 0;
      else if (u >> 60 == 1)
        memmove(text + at, text + at / 2,
                strlen(text + at / 2) < n ? strlen(text + at / 2) + 1 : 1);
      else
        text[at] = (char)(u >> 40);
    }
    tt_wisdom read = {.at = NULL};
    const tutti_status status = tt_wisdom_parse(&read, text, "torn");
    if (status) {
      refused++;
      assert_int_equal(check_error(status, TUTTI_ERR_ARG, "torn, line |column ", __LINE__), 0);
      assert_int_equal(read.n, 0);
    }
    tt_wisdom_clear(&read);
    free(text);
  }
  assert_true(refused > 1000);
  free(good);
  tt_wisdom_clear(&w);
}

/* ---- the process's wisdom ---- */

static char *exported(void) {
  char *text;
  assert_int_equal(tutti_wisdom_export(&text), TUTTI_OK);
  return text;
}

static void import_is_all_or_nothing(void **state) {
  static const char one[] = HEAD ON "allreduce float sum same 0 4096 two-shot 1" REST;
  (void)state;
  assert_int_equal(tutti_wisdom_forget(), TUTTI_OK);
  assert_int_equal(tutti_wisdom_import(one), TUTTI_OK);
  char *before = exported();
  assert_non_null(strstr(before, "two-shot"));
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char text[1000]; /* as much valid text as possible before the error */
    const bool head = strncmp(wrong[i].text, HEAD ON, strlen(HEAD ON)) == 0;
    snprintf(text, sizeof text, "%s%s%s", head ? HEAD ON : "",
             head ? "allgather - - any 0 77 naive 1" REST : "",
             head ? wrong[i].text + strlen(HEAD ON) : "");
    assert_int_equal(tutti_wisdom_import(head ? text : wrong[i].text), TUTTI_ERR_ARG);
    char *after = exported();
    assert_string_equal(before, after);
    tutti_text_free(after);
  }
  REFUSES(tutti_wisdom_import(NULL), TUTTI_ERR_ARG, "text is NULL");
  REFUSES(tutti_wisdom_export(NULL), TUTTI_ERR_ARG, "text is NULL");
  tutti_text_free(before);
  assert_int_equal(tutti_wisdom_forget(), TUTTI_OK);
  before = exported();
  assert_string_equal(before, HEAD);
  tutti_text_free(before);
}

#define AT(plan, when) \
  HEAD ON "allreduce float sum same 0 4096 " plan " 1 12 4% 14 10 " when "T00:00:00Z\n"
/* In either order of reading. If two entries have the same time, the one read later stays. */
static void the_newer_entry_stays(void **state) {
  static const struct {
    const char *first, *second, *stays;
  } table[] = {
      {AT("naive", "2026-01-01"), AT("one-shot", "2026-01-02"), "one-shot"},
      {AT("naive", "2026-01-03"), AT("one-shot", "2026-01-02"), "naive"},
      {AT("naive", "2025-12-31"), AT("one-shot", "2026-01-01"), "one-shot"},
      {AT("naive", "2026-01-01"), AT("one-shot", "2026-01-01"), "one-shot"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    tutti_wisdom_forget();
    assert_int_equal(tutti_wisdom_import(table[i].first), TUTTI_OK);
    assert_int_equal(tutti_wisdom_import(table[i].second), TUTTI_OK);
    char *text = exported();
    assert_true((strstr(text, "naive") != NULL) == (strcmp(table[i].stays, "naive") == 0));
    assert_true((strstr(text, "one-shot") != NULL) == (strcmp(table[i].stays, "one-shot") == 0));
    tutti_text_free(text);
  }
  /* another placement, kind or size makes a separate entry */
  tutti_wisdom_import(HEAD "on 8f3c21ab: x\nallreduce float sum same 0 4096 naive 1" REST
                           "allreduce float max any 0 4096 naive 1" REST
                           "allreduce float sum same 1 4096 naive 1" REST
                           "allreduce float sum same 0 4097 naive 1" REST);
  char *text = exported();
  int lines = 0;
  for (char *at = text; (at = strstr(at, "\nallreduce")); at++) lines++;
  assert_int_equal(lines, 5);
  tutti_text_free(text);
  tutti_wisdom_forget();
}

/* ---- lookup ---- */

static tt_wisdom_entry measured(uint64_t bytes, const char *plan, int slices) {
  tt_wisdom_entry e = {.bytes = bytes, .slices = slices, .took = 1000, .own = 2000};
  tt_wisdom_key_set(&e.key, TUTTI_ALLREDUCE, TUTTI_INT32, TUTTI_SUM, 0, 0);
  e.plan = *plan ? plan_named(plan) : NULL;
  return e;
}

static void nearby_sizes(void **state) {
  static const struct {
    uint64_t bytes, by; /* the size whose entry applies; 0: none */
  } table[] = {
      {0, 0},
      {1, 0},
      {511, 0},
      {512, 1024},
      {1023, 1024},
      {1024, 1024},
      {2047, 1024},
      {2048, 1024},
      {2049, 4096},
      {4096, 4096},
      {16384, 4096},
      {16385, 65536},
      {65536, 65536}, /* factor 16: up to the middle */
      {131072, 65536},
      {131073, 0},
      {1 << 20, 0}, /* factor 64, and other plans won */
      {2097151, 0},
      {2097152, 1 << 22},
      {1 << 22, 1 << 22},
      {1 << 24, 1 << 22},
      {1 << 25, 1 << 22},
      {(1 << 25) + 1, 1 << 28}, /* factor 64, and the same plan won */
      {1 << 28, 1 << 28},
      {1 << 29, 1 << 28},
      {(1 << 29) + 1, 0}, /* factor 64, and another number of slices won */
      {UINT64_MAX, 0},
  };
  const tt_wisdom_entry entries[] = {
      measured(1024, "naive", 1),         measured(4096, "one-shot", 1),
      measured(65536, "two-shot", 1),     measured(1 << 22, "fold(ring)", 2),
      measured(1 << 28, "fold(ring)", 2), measured((uint64_t)1 << 34, "fold(ring)", 3)};
  tt_wisdom w = {.at = NULL};
  (void)state;
  for (int i = 5; i >= 0; i--) assert_true(tt_wisdom_add(&w, &entries[i]));
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    const tt_wisdom_entry *e = tt_wisdom_find(&w, &entries[0].key, table[i].bytes);
    if ((e ? e->bytes : 0) != table[i].by)
      fail_msg("%llu bytes: by %llu, not %llu", (unsigned long long)table[i].bytes,
               (unsigned long long)(e ? e->bytes : 0), (unsigned long long)table[i].by);
  }
  tt_wisdom_key other[4];
  tt_wisdom_key_set(&other[0], TUTTI_REDUCE, TUTTI_INT32, TUTTI_SUM, 0, 0);
  tt_wisdom_key_set(&other[1], TUTTI_ALLREDUCE, TUTTI_INT64, TUTTI_SUM, 0, 0);
  tt_wisdom_key_set(&other[2], TUTTI_ALLREDUCE, TUTTI_INT32, TUTTI_MAX, 0, 0);
  tt_wisdom_key_set(&other[3], TUTTI_ALLREDUCE, TUTTI_INT32, TUTTI_SUM, 0, 1);
  for (int i = 0; i < 4; i++) assert_null(tt_wisdom_find(&w, &other[i], 1024));
  tt_wisdom_clear(&w);
}

/* ---- choosing ---- */

static void wisdom_chooses_what_may_run(void **state) {
  static const struct {
    const char *plan, *override;
    unsigned needs;
    bool runs;
  } table[] = {
      {"two-shot", "", 0, true},
      {"fold(ring)", "", 0, true},
      {"fold(ring)", "^two-shot", 0, true},
      {"fold(ring)", "^fold(ring)", 0, false},
      {"fold(ring)", "^fold", 0, false},
      {"fold(ring)", "^fold(halving)", 0, true},
      {"fold(ring,rings=2)", "^ring", 0, false}, /* a ring, and more */
      {"fold(rings=2,ring)", "^ring", 0, false},
      {"fold(ring)", "^fold(ring,rings=2)", 0, true},
      {"fold(ring)", "^fold:64k-", 0, true}, /* excluded at other sizes only */
      {"fold(ring)", "naive", 0, false},     /* named explicitly */
      {"fold(ring)", "naive:64k-", 0, true},
      {"fold(ring)", "", TT_NEED_ORDER, false}, /* a ring does not keep the ranks' order */
      {"one-shot", "", TT_NEED_ORDER | TT_NEED_SAME, true},
      {"fold(ring)", "", TT_NEED_SAME, true},
      {"aggregate", "", 0, false},       /* impossible without helpers */
      {"fold(group=7x7)", "", 0, false}, /* for another number of ranks */
      {"scan", "", 0, false},            /* for another collective */
  };
  (void)state;
  tt_setting where = {
      .ranks = 7, .ranks_per_core = 3.5, .has_loop = tt_has_loop, .flight = TT_FLIGHT};
  tt_chooser *c;
  tt_profile_shm(&where.profile);
  assert_int_equal(tt_chooser_new(&where, &c), TUTTI_OK);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    tt_wisdom_entry e = measured(4096, table[i].plan, 1);
    tt_wisdom w = {.at = NULL};
    tt_override override;
    tt_choice with, without;
    tt_problem p = {.coll = TUTTI_ALLREDUCE, .bytes = 5000, .needs = table[i].needs};
    p.key = e.key;
    assert_true(tt_wisdom_add(&w, &e));
    assert_int_equal(tt_override_parse(table[i].override, 7, &override), TUTTI_OK);
    assert_int_equal(tt_choose(c, &p, &override, &without), TUTTI_OK);
    p.wisdom = &w;
    assert_int_equal(tt_choose(c, &p, &override, &with), TUTTI_OK);
    if (table[i].runs != (with.wisdom != NULL))
      fail_msg("%s with '%s'", table[i].plan, table[i].override);
    assert_string_equal(with.plan->text, table[i].runs ? table[i].plan : without.plan->text);
    assert_null(without.wisdom);
    p.bytes = 1 << 20; /* not measured */
    assert_int_equal(tt_choose(c, &p, &override, &with), TUTTI_OK);
    assert_null(with.wisdom);
    tt_wisdom_clear(&w);
  }
  tt_chooser_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_reads_back),
      cmocka_unit_test(people_may_write_it),
      cmocka_unit_test(what_is_wrong_is_refused_whole),
      cmocka_unit_test(torn_texts),
      cmocka_unit_test(import_is_all_or_nothing),
      cmocka_unit_test(the_newer_entry_stays),
      cmocka_unit_test(nearby_sizes),
      cmocka_unit_test(wisdom_chooses_what_may_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
