/* Choosers that communicators share: equal settings have one, and its answers depend on the question alone.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include <pthread.h>

#include "candidates.h"
#include "engine.h"
#include "process.h"

typedef struct asker {
  tt_chooser *c;
  tt_setting setting;
  int from;
  char plans[64][40]; /* chosen for sizes 2^k */
} asker;

static void *ask_all(void *arg) {
  static const tt_override none = {0};
  asker *a = arg;
  tt_chooser *again;
  for (int i = 0; i < 30; i++) {
    const int k = (a->from + 7 * i) % 30;
    const tt_problem p = {.coll = k % 2 ? TUTTI_ALLREDUCE : TUTTI_BROADCAST, .bytes = 1u << k};
    tt_choice choice = {.plan = NULL};
    if (tt_choose(a->c, &p, &none, &choice)) return NULL;
    snprintf(a->plans[k], sizeof *a->plans, "%s x%d", choice.plan->text, choice.slices);
    if (tt_chooser_share(&a->setting, &again)) return NULL;
    tt_chooser_free(again);
  }
  return a;
}

/* Equal settings have one chooser, also after its last user has freed it; what threads are answered is what they are answered
 * alone. */
static void equal_settings_share(void **state) {
  enum { THREADS = 4 };
  tt_setting s = {
      .ranks = 6, .ranks_per_core = 1, .has_loop = tt_has_loop, .flight = TT_FLIGHT};
  static asker alone, askers[THREADS];
  static const int position[6] = {0, 1, 2, 3, 4, 5};
  pthread_t thread[THREADS];
  tt_chooser *a, *b, *other;
  (void)state;
  tt_profile_shm(&s.profile);
  assert_int_equal(tt_chooser_share(&s, &a), TUTTI_OK);
  assert_int_equal(tt_chooser_share(&s, &b), TUTTI_OK);
  assert_ptr_equal(a, b);
  s.ranks = 7;
  assert_int_equal(tt_chooser_share(&s, &other), TUTTI_OK);
  assert_ptr_not_equal(a, other);
  tt_chooser_free(other);
  s.ranks = 6;
  s.position = position;
  assert_int_equal(tt_chooser_share(&s, &other), TUTTI_OK);
  assert_ptr_not_equal(a, other);
  tt_chooser_free(other);
  s.position = NULL;
  for (int t = 0; t < THREADS; t++) {
    askers[t] = (asker){.c = a, .from = 5 * t};
    memcpy(&askers[t].setting, &s, sizeof s);
    assert_int_equal(pthread_create(&thread[t], NULL, ask_all, &askers[t]), 0);
  }
  assert_int_equal(tt_chooser_new(&s, &alone.c), TUTTI_OK);
  memcpy(&alone.setting, &s, sizeof s);
  assert_non_null(ask_all(&alone));
  for (int t = 0; t < THREADS; t++) {
    void *done;
    pthread_join(thread[t], &done);
    assert_non_null(done);
    assert_memory_equal(askers[t].plans, alone.plans, sizeof alone.plans);
  }
  tt_chooser_free(alone.c);
  tt_chooser_free(a);
  tt_chooser_free(b);
  assert_int_equal(tt_chooser_share(&s, &b), TUTTI_OK);
  assert_ptr_equal(a, b);
  tt_chooser_free(b);
  for (s.ranks = 8; s.ranks < 40; s.ranks++) { /* more than are kept */
    assert_int_equal(tt_chooser_share(&s, &other), TUTTI_OK);
    tt_chooser_free(other);
  }
  int kept = 0;
  for (const tt_chooser *c = tt_process.plans.choosers; c; c = c->next) kept++;
  assert_in_range(kept, 1, 16);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(equal_settings_share)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
