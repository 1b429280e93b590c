/* test_meet_store.c - how ranks connect without a rendezvous: over a key-value store, or with a gather
 * function. Ranks are threads.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka.h needs some of the headers above */
#include <cmocka.h>

#include "meet_peers_play.h"
#include "tutti_launch.h"
#include "tutti_plan.h"

/* ---- a store ---- */

enum { ENTRIES = 200 };
typedef struct shelf {
  pthread_mutex_t lock;
  struct {
    char key[64];
    void *bytes;
    size_t n;
  } entry[ENTRIES];
  int n, puts;
  int fails; /* puts before one fails; 0: none fails */
  const char
      *cut; /* a value put under a key that contains this text loses its last byte; NULL: none */
} shelf;

static int put(void *ctx, const char *key, const void *bytes, size_t n) {
  shelf *s = ctx;
  int at = 0;
  pthread_mutex_lock(&s->lock);
  while (at < s->n && strcmp(s->entry[at].key, key) != 0) at++;
  const int failed = (s->fails && s->n >= s->fails) || at == ENTRIES;
  n -= s->cut && strstr(key, s->cut);
  if (!failed) {
    snprintf(s->entry[at].key, sizeof s->entry[0].key, "%s", key);
    free(s->entry[at].bytes);
    s->entry[at].bytes = memcpy(malloc(n), bytes, n);
    s->entry[at].n = n;
    s->n += at == s->n;
    s->puts++;
  }
  pthread_mutex_unlock(&s->lock);
  return failed;
}

static int puts_of(shelf *s) {
  pthread_mutex_lock(&s->lock);
  const int puts = s->puts;
  pthread_mutex_unlock(&s->lock);
  return puts;
}

static int get(void *ctx, const char *key, void *bytes, size_t size, size_t *n, double seconds) {
  shelf *s = ctx;
  for (const double since = tt_seconds(); tt_seconds() - since <= seconds; usleep(500)) {
    int found = 0;
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->n && !found; i++) {
      if (strcmp(s->entry[i].key, key) != 0) continue;
      *n = s->entry[i].n;
      memcpy(bytes, s->entry[i].bytes, *n < size ? *n : size);
      found = 1;
    }
    pthread_mutex_unlock(&s->lock);
    if (found) return 0;
  }
  return 1;
}

static void stores_serve_too(void **state) {
  static const struct {
    int comes, fails;
    tutti_status status;
    const char *words;
  } cases[] = {{5, 0, TUTTI_OK, ""},
               {4, 0, TUTTI_ERR_TIMEOUT, "rank 4 of 5|store"},
               {5, 3, TUTTI_ERR_TIMEOUT, "store"}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    shelf s = {.lock = PTHREAD_MUTEX_INITIALIZER, .fails = cases[i].fails};
    const tutti_store store = {.size = sizeof store, .ctx = &s, .put = put, .get = get};
    peer g[5] = {{.rank = 0}};
    for (int r = 0; r < cases[i].comes; r++) {
      g[r] = (peer){.store = &store,
                    .rank = r,
                    .ranks = 5,
                    .limit = cases[i].status == TUTTI_ERR_TIMEOUT ? 0.3 : 10};
      meeting_begin(&g[r]);
    }
    for (int r = 0; r < cases[i].comes; r++) meeting_finish(&g[r]);
    for (int r = 0; r < cases[i].comes && !cases[i].fails; r++)
      meeting_expect(&g[r], cases[i].status, cases[i].words);
    for (int r = 0; r < cases[i].comes && cases[i].fails; r++)
      assert_int_not_equal(g[r].status, TUTTI_OK);
    if (!cases[i].status) /* the meeting's number, and in each round the rows, rank 0's answer and its table */
      assert_int_equal(s.puts, 1 + ROUNDS * (4 + 2));
    for (int k = 0; k < s.n; k++) free(s.entry[k].bytes);
  }
}

/* The error messages if a value has lost its last byte. The rank whose row was truncated times out, because
 * rank 0 cannot tell whose row it is. */
static void a_value_that_is_cut_is_named(void **state) {
  static const struct {
    const char *cut;
    tutti_status first;
    tutti_status second;
    const char *words, *theirs, *others;
  } cases[] = {{"/rank1", TUTTI_ERR_SYSTEM, TUTTI_ERR_TIMEOUT, "rank 1 put|another version",
                "rank 0 did not put", "rank 1 put"},
               {"/table", TUTTI_ERR_TIMEOUT, TUTTI_ERR_SYSTEM, "rank 1 of 3 did not put",
                "rank 0 put|another version", "rank 0 put"}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    shelf s = {.lock = PTHREAD_MUTEX_INITIALIZER, .cut = cases[i].cut};
    const tutti_store store = {.size = sizeof store, .ctx = &s, .put = put, .get = get};
    peer g[3] = {{.rank = 0}};
    for (int r = 0; r < 3; r++) {
      g[r] = (peer){.store = &store, .rank = r, .ranks = 3, .limit = 1};
      meeting_begin(&g[r]);
    }
    for (int r = 0; r < 3; r++) meeting_finish(&g[r]);
    meeting_expect(&g[0], cases[i].first, cases[i].words);
    meeting_expect(&g[1], cases[i].second, cases[i].theirs);
    meeting_expect(&g[2], TUTTI_ERR_SYSTEM, cases[i].others);
    for (int k = 0; k < s.n; k++) free(s.entry[k].bytes);
  }
}

/* One store for several runs of a job. In each run the other ranks start first and put their rows under the keys
 * of the previous run; rank 0 starts after that. */
static void a_store_may_outlive_its_ranks(void **state) {
  static const struct {
    int ranks, comes, fails_in; /* ranks 1 and 3 fail in this round */
    tutti_status status;
    const char *words;
  } lives[] = {{5, 5, 0, TUTTI_OK, ""},
               {5, 5, 0, TUTTI_OK, ""},
               {5, 4, 0, TUTTI_ERR_TIMEOUT, "rank 4 of 5|store"},
               {5, 5, 0, TUTTI_OK, ""},
               {5, 5, 1, TUTTI_ERR_MEMORY, "rank 1: it is out of its memory"},
               {5, 5, 0, TUTTI_OK, ""},
               {5, 5, 2, TUTTI_ERR_MEMORY, "rank 1: it is out of its memory"},
               {3, 3, 0, TUTTI_OK, ""},
               {5, 5, 0, TUTTI_OK, ""}};
  shelf s = {.lock = PTHREAD_MUTEX_INITIALIZER};
  const tutti_store store = {.size = sizeof store, .ctx = &s, .put = put, .get = get};
  (void)state;
  for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
    const int before = puts_of(&s), others = lives[i].comes - 1;
    peer g[5] = {{.rank = 0}};
    for (int r = others; r >= 0; r--) {
      while (r == 0 && i && puts_of(&s) < before + others) usleep(100);
      g[r] = (peer){.store = &store, .rank = r, .ranks = lives[i].ranks};
      g[r].fails_in = r % 2 ? lives[i].fails_in : 0;
      g[r].limit = lives[i].status == TUTTI_ERR_TIMEOUT ? 0.5 : 20;
      meeting_begin(&g[r]);
    }
    for (int r = 0; r < lives[i].comes; r++) meeting_finish(&g[r]);
    for (int r = 0; r < lives[i].comes; r++) {
      meeting_expect(&g[r], lives[i].status, lives[i].words);
      assert_true(g[r].right);
    }
  }
  for (int k = 0; k < s.n; k++) free(s.entry[k].bytes);
}

/* The store has the number of an earlier meeting, and rank 0 does not come again. */
static void ranks_without_rank_0_end(void **state) {
  shelf s = {.lock = PTHREAD_MUTEX_INITIALIZER};
  const tutti_store store = {.size = sizeof store, .ctx = &s, .put = put, .get = get};
  (void)state;
  for (int life = 0; life < 2; life++) {
    peer g[3] = {{.rank = 0}};
    for (int r = life; r < 3; r++) {
      g[r] = (peer){.store = &store, .rank = r, .ranks = 3, .limit = life ? 0.2 : 20};
      meeting_begin(&g[r]);
    }
    for (int r = life; r < 3; r++) meeting_finish(&g[r]);
    for (int r = life; r < 3; r++)
      meeting_expect(&g[r], life ? TUTTI_ERR_TIMEOUT : TUTTI_OK, life ? "rank 0 did not put" : "");
  }
  for (int k = 0; k < s.n; k++) free(s.entry[k].bytes);
}

/* ---- a gather ---- */

enum { GATHERERS = 4 };
typedef struct hall {
  pthread_barrier_t all_are_here;
  const void *row[GATHERERS];
  bool shown; /* by the doctor, while ranks are connecting */
} hall;
typedef struct seat {
  hall *of;
  int rank;
} seat;

static int gather(void *ctx, const void *mine, size_t bytes, void *all) {
  const seat *s = ctx;
  s->of->row[s->rank] = mine;
  pthread_barrier_wait(&s->of->all_are_here);
  if (s->rank == 0) {
    char *report = NULL;
    s->of->shown = !tutti_job_report((long)getpid(), 0, &report) &&
                   strstr(report, "tutti_comm_create_gather waits for the gather of the program");
    tutti_text_free(report);
  }
  for (size_t r = 0; r < GATHERERS; r++) memcpy((char *)all + r * bytes, s->of->row[r], bytes);
  pthread_barrier_wait(&s->of->all_are_here);
  return 0;
}

/* Ranks contribute rows of several sizes, or ranks 1 and 2 fail in a round. */
static void a_gather_serves_too(void **state) {
  (void)state;
  for (int fails_in = 0; fails_in <= ROUNDS; fails_in++) {
    hall h;
    seat s[GATHERERS];
    peer g[GATHERERS];
    pthread_barrier_init(&h.all_are_here, NULL, GATHERERS);
    for (int r = 0; r < GATHERERS; r++) {
      s[r] = (seat){&h, r};
      g[r] = (peer){.gather = gather, .ctx = &s[r], .rank = r, .ranks = GATHERERS};
      g[r].fails_in = r == 1 || r == 2 ? fails_in : 0;
      meeting_begin(&g[r]);
    }
    for (int r = 0; r < GATHERERS; r++) meeting_finish(&g[r]);
    for (int r = 0; r < GATHERERS; r++)
      meeting_expect(&g[r], fails_in ? TUTTI_ERR_MEMORY : TUTTI_OK,
                     fails_in ? "rank 1: it is out of its memory" : "");
    assert_true(h.shown);
    pthread_barrier_destroy(&h.all_are_here);
  }
}

static int gather_alone(void *ctx, const void *mine, size_t bytes, void *all) {
  (void)ctx;
  memcpy(all, mine, bytes);
  return 0;
}

static void a_row_has_a_limit(void **state) {
  static const struct {
    size_t bytes;
    tutti_status status;
  } cases[] = {{TT_MEET_MOST, TUTTI_OK}, {TT_MEET_MOST + 1, TUTTI_ERR_SYSTEM}};
  char *row = calloc(1, TT_MEET_MOST + 1);
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tt_meeting m;
    tt_table all;
    assert_int_equal(tt_meet_gather(gather_alone, NULL, 0, 1, TUTTI_ERR_SYSTEM, "", &m), TUTTI_OK);
    assert_int_equal(m.gather(&m, TUTTI_OK, row, cases[i].bytes, &all), cases[i].status);
    if (cases[i].status) assert_non_null(strstr(tutti_error(), "rank 0 sends 1048577 bytes, more than 1 MiB"));
    tt_table_drop(&all);
    m.end(&m);
  }
  free(row);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stores_serve_too),
      cmocka_unit_test(a_value_that_is_cut_is_named),
      cmocka_unit_test(a_store_may_outlive_its_ranks),
      cmocka_unit_test(ranks_without_rank_0_end),
      cmocka_unit_test(a_gather_serves_too),
      cmocka_unit_test(a_row_has_a_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
