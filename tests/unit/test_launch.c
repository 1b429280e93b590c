/* test_launch.c - the environment of launchers: a rank's number, and where the ranks connect.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "meet.h"

static void set(const char *words, bool on) {
  char copy[400], *save = NULL;
  snprintf(copy, sizeof copy, "%s", words);
  for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
    char *equals = strchr(w, '=');
    *equals = 0;
    if (on)
      setenv(w, equals + 1, 1);
    else
      unsetenv(w);
  }
}

static void launchers_are_understood(void **state) {
  static const struct {
    const char *env, *by, *host; /* by NULL: no launcher; host NULL: refused, with these words: */
    int rank, ranks, port;       /* port 0: any */
    bool serves;
    const char *words;
  } cases[] = {
      {"RANK=3", NULL, "", 0, 0, 0, false, NULL},
      {"RANK=3 WORLD_SIZE=8 MASTER_ADDR=n1 MASTER_PORT=29500", "torchrun", "n1", 3, 8, 29501, false,
       NULL},
      {"RANK=0 WORLD_SIZE=1 MASTER_ADDR=n1 MASTER_PORT=29500 TUTTI_PORT=777", "torchrun", "n1", 0,
       1, 777, true, NULL},
      {"RANK=8 WORLD_SIZE=8 MASTER_ADDR=n1 MASTER_PORT=29500", "torchrun", NULL, 0, 0, 0, false,
       "RANK=8"},
      {"RANK=0 WORLD_SIZE=x MASTER_ADDR=n1 MASTER_PORT=29500", "torchrun", NULL, 0, 0, 0, false,
       "WORLD_SIZE=x"},
      {"SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=4 SLURM_STEP_NODELIST=a[01-03,7],b", "Slurm", "a01", 1,
       4, 0, false, NULL},
      {"SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=4 SLURM_STEP_NODELIST=big,b", "Slurm", "big", 0, 4, 0,
       true, NULL},
      {"SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_JOB_NODELIST=big", NULL, "", 0, 0, 0, false,
       NULL}, /* not in a step */
      {"TUTTI_ID=h:9:0123456789abcdef0123456789abcdef TUTTI_RANK=1 TUTTI_SIZE=2 RANK=7 "
       "WORLD_SIZE=9 MASTER_PORT=1",
       "TUTTI_ID", "h", 1, 2, 9, false, NULL},
      {"TUTTI_ID=h:9 TUTTI_RANK=1 TUTTI_SIZE=2", "TUTTI_ID", NULL, 0, 0, 0, false,
       "not the id of a rendezvous"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tt_launch l;
    set(cases[i].env, true);
    const tutti_status status = tt_launch_find(&l);
    set(cases[i].env, false);
    if (!cases[i].host) {
      assert_int_not_equal(status, TUTTI_OK);
      assert_non_null(strstr(tutti_error(), cases[i].words));
      continue;
    }
    assert_int_equal(status, TUTTI_OK);
    if (!cases[i].by) {
      assert_null(l.by);
      continue;
    }
    assert_string_equal(l.by, cases[i].by);
    assert_string_equal(l.at.host[0], cases[i].host);
    assert_int_equal(l.rank, cases[i].rank);
    assert_int_equal(l.ranks, cases[i].ranks);
    assert_int_equal(l.serves, cases[i].serves);
    if (cases[i].port) assert_int_equal(l.at.port, cases[i].port);
    assert_int_equal(strlen(l.at.key), TT_KEY);
    assert_int_equal(l.at.open, strcmp(l.by, "TUTTI_ID") != 0); /* no case sets TUTTI_KEY */
  }
}

/* The port follows from the job alone; the key from the job and TUTTI_KEY. */
static void keys_are_of_the_job_and_of_tutti_key(void **state) {
  static const char *const jobs[] = {
      "RANK=3 WORLD_SIZE=8 MASTER_ADDR=n1 MASTER_PORT=29500",
      "SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=4 SLURM_STEP_NODELIST=a SLURM_JOB_ID=7"};
  static const char *const keys[] = {"", " TUTTI_KEY=a", " TUTTI_KEY=b", " TUTTI_KEY=a"};
  (void)state;
  for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
    tt_launch l[4];
    for (int k = 0; k < 4; k++) {
      char words[200];
      snprintf(words, sizeof words, "%s%s", jobs[i], keys[k]);
      set(words, true);
      assert_int_equal(tt_launch_find(&l[k]), TUTTI_OK);
      set(words, false);
      assert_int_equal(l[k].at.port, l[0].at.port);
    }
    assert_true(l[0].at.open && !l[1].at.open && !l[2].at.open);
    assert_string_not_equal(l[0].at.key, l[1].at.key);
    assert_string_not_equal(l[1].at.key, l[2].at.key);
    assert_string_equal(l[1].at.key, l[3].at.key);
  }
}

int main(void) {
  unsetenv("RANK"), unsetenv("WORLD_SIZE"), unsetenv("MASTER_ADDR"), unsetenv("MASTER_PORT");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(launchers_are_understood),
      cmocka_unit_test(keys_are_of_the_job_and_of_tutti_key),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
