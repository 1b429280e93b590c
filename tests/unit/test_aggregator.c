/* test_aggregator.c - the in-network reduction server (aggregator) and the wire to it: sums, the order of
 * operations, memory bounds, refused calls, and connections from strangers.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* cmocka.h needs four of these headers first */
#include <cmocka.h>

#include "aggregator_play.h"
#include "kernel.h"
#include "meet_peers_play.h"
#include "refuse.h"
#include "seconds.h"
#include "tutti_launch.h"

/* ---- sums ---- */

static void fill(char *bytes, size_t n, unsigned seed) {
  for (size_t i = 0; i < n; i++) bytes[i] = (char)(rand_r(&seed) >> 8 & 0x3f); /* no NaN */
}

/* The sum in the order of the members. */
static void reference(char *to, char *const *src, int n, const tt_share *s) {
  tt_reducer reducer;
  const tutti_type type = (tutti_type)s->type;
  const size_t count = (size_t)s->bytes / tutti_type_size(type);
  assert_int_equal(tt_reducer_init(&reducer, type, (tutti_op)s->op), TUTTI_OK);
  memcpy(to, src[0], (size_t)s->bytes);
  for (int i = 1; i < n; i++) {
    const void *const in[] = {to, src[i]};
    tt_reduce(&reducer, to, in, 2, count);
  }
  if (s->op == TUTTI_AVG) tt_scale(type, to, count, (int)s->data);
}

/* One sum of all members, in place or not, compared bit by bit. */
static void sum(party *p, const tt_share *share, bool in_place) {
  char *src[MOST], *want = aligned_alloc(64, tt_round_up((size_t)share->bytes, 64));
  run r[MOST];
  for (int i = 0; i < p->n; i++) {
    src[i] = aligned_alloc(64, tt_round_up((size_t)share->bytes, 64));
    fill(src[i], (size_t)share->bytes, share->stamp.seq * 100 + (unsigned)i);
  }
  reference(want, src, p->n, share);
  for (int i = 0; i < p->n; i++) {
    char *dst = in_place ? src[i] : malloc((size_t)share->bytes);
    r[i] = (run){.wire = p->wire[i], .share = *share, .src = src[i], .dst = dst};
    play_begin(&r[i]);
  }
  assert_true(play_finish(r, p->n, LIMIT));
  for (int i = 0; i < p->n; i++) {
    assert_memory_equal(r[i].dst, want, (size_t)share->bytes);
    if (!in_place) free(r[i].dst);
    free(src[i]);
  }
  free(want);
}

static void all_types_and_ops(void **state) {
  static const size_t counts[] = {1, 5, 1000, 40011};
  running d;
  uint64_t seq = 0;
  (void)state;
  play_serve(&d, 0, 0);
  for (int n = 2; n <= MOST; n++) {
    party p = play_gather(&d, (uint64_t)n, n);
    for (int type = 0; type < TUTTI_TYPE_COUNT; type++)
      for (int op = 0; op < TUTTI_OP_COUNT; op++) {
        if (!tutti_type_has_op((tutti_type)type, (tutti_op)op)) continue;
        const size_t count = counts[seq % 4];
        const int parts = seq % 3 ? TT_PARTS : 1, data = n + (int)seq % 7;
        const tt_share s = play_share(++seq, (tutti_type)type, (tutti_op)op, count, parts, data);
        sum(&p, &s, seq % 2);
      }
    play_part(&p);
  }
  assert_true(seq > 300);
  play_end(&d);
}

/* Vectors longer than all buffers between the members. In place, a part's sum is received only after the part
 * has been sent. */
static void long_vectors(void **state) {
  running d;
  (void)state;
  play_serve(&d, 0, 0);
  party p = play_gather(&d, 1, 3);
  const tt_share s = play_share(1, TUTTI_FLOAT, TUTTI_SUM, 6 << 20, TT_PARTS, 3);
  sum(&p, &s, true);
  play_part(&p);
  play_end(&d);
}

/* ---- turns ---- */

/* Slices of two operations: bytes of the later operation are sent only after those of the earlier one. */
static void runs_take_turns(void **state) {
  enum { N = 2, RUNS = 6, COUNT = 3000 };
  static int32_t src[N][RUNS][COUNT], dst[N][RUNS][COUNT];
  run r[N][RUNS];
  running d;
  (void)state;
  play_serve(&d, 0, 0);
  party p = play_gather(&d, 1, N);
  for (int i = 0; i < N; i++)
    for (int k = 0; k < RUNS; k++) {
      tt_share s = play_share((uint32_t)(20 + k / 3), TUTTI_INT32, TUTTI_SUM, COUNT, TT_PARTS, N);
      s.slice = (uint32_t)k % 3;
      s.slices = 3;
      s.lane += k % 3;
      for (int x = 0; x < COUNT; x++) src[i][k][x] = 1000 * i + 10 * k + x;
      r[i][k] = (run){
          .wire = p.wire[i], .share = s, .src = (const char *)src[i][k], .dst = (char *)dst[i][k]};
      play_begin(&r[i][k]);
    }
  for (int k = RUNS - 1; k > 0; k--) assert_false(play_send(&r[0][k])); /* not its turn */
  for (double from = seconds(); !play_over(&r[0][RUNS - 1]) || !play_over(&r[1][RUNS - 1]);) {
    assert_true(seconds() < from + LIMIT);
    for (int i = 0; i < N; i++)
      for (int k = RUNS - 1; k >= 0; k--) {
        play_send(&r[i][k]);
        play_take(&r[i][k]);
        if (k && r[i][k].sent) assert_true(r[i][k - 1].sent == r[i][k - 1].share.bytes);
      }
  }
  for (int i = 0; i < N; i++)
    for (int k = 0; k < RUNS; k++)
      for (int x = 0; x < COUNT; x++) assert_int_equal(dst[i][k][x], 1000 + 20 * k + 2 * x);
  play_part(&p);
  play_end(&d);
}

/* A slice starts when the previous slice on its lane has completed. Some slices have no elements. */
static void slices_begin_in_turn(void **state) {
  enum { N = 2, SLICES = 7, COUNT = 5 };
  int64_t src[N][COUNT], dst[N][COUNT] = {{0}};
  run r[N][SLICES];
  running d;
  (void)state;
  play_serve(&d, 0, 0);
  party p = play_gather(&d, 1, N);
  int begun[N] = {0};
  for (int i = 0; i < N * COUNT; i++) src[i / COUNT][i % COUNT] = 100 * (i / COUNT) + i % COUNT;
  for (double from = seconds(); begun[0] + begun[1] < N * SLICES || !play_over(&r[0][SLICES - 1]) ||
                                !play_over(&r[1][SLICES - 1]);) {
    assert_true(seconds() < from + LIMIT);
    for (int i = 0; i < N; i++) {
      const int k = begun[i], lo = COUNT * k / SLICES, hi = COUNT * (k + 1) / SLICES;
      if (k < SLICES && (k < TT_FLIGHT || play_over(&r[i][k - TT_FLIGHT]))) {
        tt_share s = play_share(8, TUTTI_INT64, TUTTI_SUM, (size_t)(hi - lo), 1, N);
        s.slice = (uint32_t)k;
        s.slices = SLICES;
        s.lane += k % TT_FLIGHT;
        r[i][k] = (run){.wire = p.wire[i],
                        .share = s,
                        .src = (const char *)&src[i][lo],
                        .dst = (char *)&dst[i][lo]};
        play_begin(&r[i][k]);
        begun[i]++;
      }
      for (int b = 0; b < begun[i]; b++) play_send(&r[i][b]), play_take(&r[i][b]);
    }
  }
  for (int i = 0; i < N * COUNT; i++)
    assert_int_equal(dst[i / COUNT][i % COUNT], 100 + 2 * (i % COUNT));
  play_part(&p);
  play_end(&d);
}

/* A member that is ahead is held back. A member that receives nothing holds back all others, and still gets
 * every sum in the end. */
static void memory_is_bounded(void **state) {
  enum { N = 3, COUNT = 16 << 20 };
  running d;
  run r[N];
  (void)state;
  play_serve(&d, 0, 0);
  party p = play_gather(&d, 1, N);
  int32_t *src = malloc(COUNT * sizeof *src), *dst = malloc(COUNT * sizeof *dst);
  int32_t *other = malloc(COUNT * sizeof *other);
  for (int x = 0; x < COUNT; x++) src[x] = x;
  for (int i = 0; i < N; i++) {
    r[i] = (run){.wire = p.wire[i],
                 .share = play_share(1, TUTTI_INT32, TUTTI_MAX, COUNT, TT_PARTS, N),
                 .src = (const char *)src,
                 .dst = (char *)(i == 1 ? dst : other)};
    play_begin(&r[i]);
  }
  for (double from = seconds(); seconds() < from + 0.3;)
    if (play_send(&r[2])) from = seconds();
  assert_true(r[2].sent < r[2].share.bytes);
  for (double from = seconds(); seconds() < from + 0.3;)
    for (int i = 0; i < N; i++)
      if (play_send(&r[i]) | (i != 1 && play_take(&r[i]))) from = seconds();
  assert_true(r[0].got < r[0].share.bytes); /* member 1 takes nothing */
  assert_true(play_finish(r, N, LIMIT));
  assert_memory_equal(dst, src, COUNT * sizeof *src);
  play_part(&p);
  free(src);
  free(dst);
  free(other);
  play_end(&d);
}

/* ---- differing calls, and members that leave ---- */

static void other_calls_are_noticed(void **state) {
  static const struct {
    const char *name;
    uint32_t hash;
    tutti_type type;
    tutti_op op;
    size_t count;
  } with[] = {{"another call before", 9, TUTTI_INT32, TUTTI_SUM, 100},
              {"another type", 1001, TUTTI_FLOAT, TUTTI_SUM, 100},
              {"another op", 1001, TUTTI_INT32, TUTTI_MAX, 100},
              {"another count", 1001, TUTTI_INT32, TUTTI_SUM, 101}};
  static char src[1000], dst[3][1000];
  running d;
  (void)state;
  play_serve(&d, 0, 0);
  for (size_t k = 0; k < sizeof with / sizeof *with; k++) {
    party p = play_gather(&d, k, 3);
    run r[3];
    for (int i = 0; i < 3; i++) {
      tt_share s = play_share(1, TUTTI_INT32, TUTTI_SUM, 100, 1, 3);
      if (i == 1) s = play_share(1, with[k].type, with[k].op, with[k].count, 1, 3);
      if (i == 1) s.stamp.hash = with[k].hash;
      r[i] = (run){.wire = p.wire[i], .share = s, .src = src, .dst = dst[i]};
      play_begin(&r[i]);
    }
    for (double from = seconds(); seconds() < from + LIMIT;) {
      for (int i = 0; i < 3; i++) play_send(&r[i]), play_take(&r[i]);
      if (r[0].differs && r[1].differs && r[2].differs) break;
    }
    for (int i = 0; i < 3; i++)
      if (!r[i].differs) fail_msg("%s: member %d has not noticed it", with[k].name, i);
    play_part(&p);
  }
  play_end(&d);
}

/* Data that arrived before the loss is received first. */
static bool is_lost(run *r) {
  for (double from = seconds(); seconds() < from + LIMIT; usleep(1000)) {
    while (play_take(r)) continue;
    if (!r->wire->peer->alive(r->wire, r->wire->ranks)) return true;
  }
  return false;
}

/* A member leaves before any sum, during one, and between two; in the last case the last sum still arrives. */
static void leaving_ends_a_session(void **state) {
  static char src[1 << 20], dst[2][1 << 20];
  running d;
  (void)state;
  play_serve(&d, 1, 0);
  for (int when = 0; when < 3; when++) {
    party p = play_gather(&d, 1, 2); /* the only place is free again */
    run r[2];
    for (int i = 0; i < 2; i++) {
      r[i] = (run){.wire = p.wire[i],
                   .share = play_share(1, TUTTI_INT8, TUTTI_SUM, sizeof src, 1, 2),
                   .src = src,
                   .dst = dst[i]};
      play_begin(&r[i]);
    }
    if (when == 1) play_send(&r[0]), play_send(&r[1]);
    for (double from = seconds(); when == 2 && !play_over(&r[0]);) {
      assert_true(seconds() < from + LIMIT);
      for (int i = 0; i < 2; i++) play_send(&r[i]);
      play_take(&r[0]);
    }
    play_leave(&p.wire[0]);
    if (when == 2) assert_true(play_finish(&r[1], 1, LIMIT));
    assert_true(is_lost(&r[1]));
    assert_true(*p.wire[1]->outside->ops->why(p.wire[1]));
    play_part(&p);
    usleep(50000);
  }
  play_end(&d);
}

/* ---- refusals ---- */

static void refusals(void **state) {
  running d;
  tt_wire *w = NULL, *x = NULL;
  (void)state;
  play_serve(&d, 1, 4 << 20);
  assert_int_equal(play_join(&d, 1, 0, 2, &w), TUTTI_OK);
  REFUSES(play_join(&d, 1, 0, 2, &x), TUTTI_ERR_SYSTEM, "refuses|member 0 of 2");
  REFUSES(play_join(&d, 1, 1, 3, &x), TUTTI_ERR_SYSTEM, "refuses|member 1 of 3");
  REFUSES(play_join(&d, 1, 2, 2, &x), TUTTI_ERR_SYSTEM, "refuses|member 2 of 2");
  REFUSES(play_join(&d, 1, 0, 1, &x), TUTTI_ERR_SYSTEM, "refuses|member 0 of 1");
  REFUSES(play_join(&d, 2, 0, 2, &x), TUTTI_ERR_SYSTEM, "refuses|1 sessions already|--jobs");
  setenv("TUTTI_KEY", "another", 1);
  REFUSES(play_join(&d, 1, 1, 2, &x), TUTTI_ERR_SYSTEM, "another key|TUTTI_KEY");
  setenv("TUTTI_KEY", "of the tests", 1);
  play_leave(&w);
  play_end(&d);
  REFUSES(play_join(&d, 1, 0, 2, &x), TUTTI_ERR_SYSTEM, "no aggregator at 127.0.0.1|refused");
  play_serve(&d, 8, 3 << 20);
  assert_int_equal(play_join(&d, 1, 0, 2, &w), TUTTI_OK);
  REFUSES(play_join(&d, 2, 0, 2, &x), TUTTI_ERR_SYSTEM, "refuses|memory is full|--memory");
  play_leave(&w);
  play_end(&d);
  snprintf(d.where, sizeof d.where, "127.0.0.1:%d", meeting_serve().port);
  REFUSES(play_join(&d, 1, 0, 2, &x), TUTTI_ERR_SYSTEM, "what listens at 127.0.0.1:|closed");
  tutti_aggregator none = {.size = 1};
  REFUSES(tutti_aggregator_serve(NULL), TUTTI_ERR_ARG, "aggregator is NULL");
  REFUSES(tutti_aggregator_serve(&none), TUTTI_ERR_ARG, "tutti_aggregator_serve");
  none = (tutti_aggregator){.size = sizeof none, .port = 70000};
  REFUSES(tutti_aggregator_serve(&none), TUTTI_ERR_ARG, "port 70000");
}

/* Strangers stay silent, send garbage, or claim a session. The members are not affected. */
static void strangers_disturb_nobody(void **state) {
  enum { STRANGERS = 150 };
  static int fds[STRANGERS];
  running d;
  unsigned seed = 5;
  char words[2000];
  (void)state;
  play_serve(&d, 0, 0);
  party p = play_gather(&d, 1, 3);
  for (int i = 0; i < STRANGERS; i++) {
    tt_aggregator_hello hello = {
        .magic = TT_AGGREGATOR_MAGIC, .protocol = TT_AGGREGATOR_PROTOCOL, .session = 2};
    tt_aggregator_request request = {.seat = {.session = {2, 7}, .member = 1, .members = 2}};
    for (size_t k = 0; k < sizeof words; k++) words[k] = (char)rand_r(&seed);
    memcpy(request.proof, words, sizeof request.proof);
    fds[i] = meeting_call(d.port);
    if (i % 4 == 1) send(fds[i], words, sizeof words, MSG_NOSIGNAL);
    if (i % 4 >= 2) send(fds[i], &hello, sizeof hello, MSG_NOSIGNAL);
    if (i % 4 == 3) send(fds[i], &request, sizeof request, MSG_NOSIGNAL);
    const tt_share s = play_share((uint32_t)i + 1, TUTTI_INT64, TUTTI_SUM, 100, 1, 3);
    sum(&p, &s, true);
  }
  party later = play_gather(&d, 2, 2); /* although others stay silent */
  play_part(&later);
  play_part(&p);
  for (int i = 0; i < STRANGERS; i++) close(fds[i]);
  play_end(&d);
}

/* A member that knows the key and sends garbage ends its session, and no other. */
static void garbage_ends_its_session(void **state) {
  static char src[1000], dst[2][1000];
  running d;
  (void)state;
  play_serve(&d, 0, 0);
  party good = play_gather(&d, 1, 2);
  for (int k = 0; k < 7; k++) {
    party bad = play_gather(&d, 2 + (uint64_t)k, 2);
    run r[2];
    for (int i = 0; i < 2; i++) {
      tt_share s = play_share(1, TUTTI_INT32, TUTTI_SUM, 100, 1, 2);
      if (k == 0) s.type = TUTTI_TYPE_COUNT;
      if (k == 1) s.op = TUTTI_OP_COUNT;
      if (k == 2) s.bytes = s.gives.bytes = s.wants.bytes = s.given[0] = s.wanted[0] = 399;
      if (k == 4) s.gives.at = 4;
      if (k == 5) s.wants.at = 400;
      if (k == 6) s.gives.at = 2, s.gives.bytes = s.given[0] = 396;
      if (k == 3) s.type = TUTTI_FLOAT, s.op = TUTTI_BAND;
      r[i] = (run){.wire = bad.wire[i], .share = s, .src = src, .dst = dst[i]};
      play_begin(&r[i]);
    }
    for (double from = seconds(); !r[0].differs || !r[1].differs;) {
      assert_true(seconds() < from + LIMIT);
      for (int i = 0; i < 2; i++) play_send(&r[i]), play_take(&r[i]);
    }
    play_part(&bad);
    const tt_share s = play_share((uint32_t)k + 1, TUTTI_DOUBLE, TUTTI_SUM, 1000, 1, 2);
    sum(&good, &s, false);
  }
  play_part(&good);
  play_end(&d);
}

static void names(void **state) {
  static const struct {
    const char *text, *host;
    int port; /* 0: refused */
  } all[] = {{"n1", "n1", 4747},     {"n1:80", "n1", 80},   {"10.0.0.1:4711", "10.0.0.1", 4711},
             {"[::1]", "::1", 4747}, {"[::1]:5", "::1", 5}, {"", "", 0},
             {":80", "", 0},         {"n1:", "", 0},        {"n1:0", "", 0},
             {"n1:65536", "", 0},    {"n1:8x", "", 0},      {"[::1", "", 0},
             {"n1,n2", "", 0},       {"[::1]x", "", 0}};
  char host[64];
  int at;
  (void)state;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    const tutti_status status = tt_aggregator_read(all[i].text, host, &at);
    if ((status == TUTTI_OK) != (all[i].port != 0)) fail_msg("'%s' is read wrongly", all[i].text);
    if (status) continue;
    assert_string_equal(host, all[i].host);
    assert_int_equal(at, all[i].port);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_types_and_ops),
                                     cmocka_unit_test(long_vectors),
                                     cmocka_unit_test(runs_take_turns),
                                     cmocka_unit_test(slices_begin_in_turn),
                                     cmocka_unit_test(memory_is_bounded),
                                     cmocka_unit_test(other_calls_are_noticed),
                                     cmocka_unit_test(leaving_ends_a_session),
                                     cmocka_unit_test(refusals),
                                     cmocka_unit_test(strangers_disturb_nobody),
                                     cmocka_unit_test(garbage_ends_its_session),
                                     cmocka_unit_test(names)};
  setenv("TUTTI_KEY", "of the tests", 1);
  end_after(200);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
