/* test_scenes.c - runs the scenes on ranks that are threads of one process.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "cover.h"
#include "scenes.h"
#include "seconds.h"
#include "short.h"

enum { MOST = 5, SCENES = 31 };
static uint64_t seed;

typedef struct player {
  pthread_t thread;
  tutti_comm *comm;
  const scene *scene;
  bool ok;
} player;

static void *play(void *arg) {
  player *p = arg;
  p->ok = p->scene->play(p->comm, seed);
  return NULL;
}

static void plays(void **state) {
  const scene *s = *state;
  static const int sizes[] = {1, 2, 3, MOST};
  for (size_t i = 0; i < (size_t)shorter(4, 2); i++) {
    const int P = sizes[i];
    tutti_comm *comms[MOST];
    player players[MOST];
    assert_int_equal(tutti_comm_from_threads(P, comms), TUTTI_OK);
    for (int r = 0; r < P; r++) {
      players[r] = (player){.comm = comms[r], .scene = s};
      assert_int_equal(pthread_create(&players[r].thread, NULL, play, &players[r]), 0);
    }
    for (int r = 0; r < P; r++) pthread_join(players[r].thread, NULL);
    for (int r = 0; r < P; r++) assert_true(players[r].ok);
    for (int r = 0; r < P; r++) assert_int_equal(tutti_comm_free(comms[r]), TUTTI_OK);
  }
}

int main(void) {
  struct CMUnitTest tests[SCENES];
  end_after(200);
  seed = cover_seed();
  printf("# seed %llu\n", (unsigned long long)seed);
  for (int i = 0; i < SCENES; i++)
    tests[i] = (struct CMUnitTest){scenes[i].name, plays, NULL, NULL, (void *)&scenes[i]};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
