/* test_stretches.c - members of an in-network reduction server (aggregator) that contribute and receive only
 * stretches of a vector; racks with separate aggregators.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* cmocka.h needs four of these headers first */
#include <cmocka.h>

#include "aggregator_daemon.h"
#include "aggregator_play.h"
#include "seconds.h"

/* Which parts of a vector the members contribute and receive, as in the collectives; blocks of any length, some
 * without bytes. */
typedef enum pattern { TO_ALL, TO_ONE, FROM_ONE, SCATTERED, GATHERED, PATTERNS } pattern;

static tt_stretch block_of(const size_t cut[MOST + 1], int i) {
  return (tt_stretch){cut[i], cut[i + 1] - cut[i]};
}

/* Part k of n of a vector. */
static tt_stretch part_of(uint64_t bytes, int k, int n) {
  const uint64_t from = bytes * (uint64_t)k / (uint64_t)n;
  return (tt_stretch){from, bytes * (uint64_t)(k + 1) / (uint64_t)n - from};
}

static uint64_t common(tt_stretch a, tt_stretch b) {
  const uint64_t from = tt_max(a.at, b.at), to = tt_min(a.at + a.bytes, b.at + b.bytes);
  return to > from ? to - from : 0;
}

static tt_share share_of(uint64_t seq, pattern what, int i, int root, const size_t cut[MOST + 1],
                         int n, int parts) {
  const tt_stretch all = {0, cut[n]}, none = {0, 0}, own = block_of(cut, i);
  tt_share s = play_share(seq, TUTTI_UINT8, TUTTI_SUM, cut[n], parts, n);
  s.gives = what == FROM_ONE && i != root ? none : what == GATHERED ? own : all;
  s.wants = what == TO_ONE && i != root ? none : what == SCATTERED ? own : all;
  for (int k = 0; k < parts; k++) {
    s.given[k] = common(s.gives, part_of(cut[n], k, parts));
    s.wanted[k] = common(s.wants, part_of(cut[n], k, parts));
  }
  return s;
}

/* Many operations of all patterns, two of them in flight. */
static void stretches(void **state) {
  enum { TURNS = 120, BYTES = 300000 };
  static unsigned char src[2][MOST][BYTES], dst[2][MOST][BYTES];
  running d;
  unsigned seed = 11;
  (void)state;
  play_serve(&d, 0, 0);
  for (int n = 2; n <= MOST; n++) {
    party p = play_gather(&d, 1, n);
    for (uint32_t turn = 0; turn < TURNS; turn += 2) {
      run r[2][MOST];
      for (int t = 0; t < 2; t++) {
        const pattern what = (pattern)(rand_r(&seed) % PATTERNS);
        const int root = rand_r(&seed) % n, parts = rand_r(&seed) % 2 ? TT_PARTS : 1;
        const int most = rand_r(&seed) % 3 ? BYTES / MOST : 50;
        size_t cut[MOST + 1] = {0};
        for (int i = 0; i < n; i++)
          cut[i + 1] = cut[i] + (size_t)(rand_r(&seed) % 4 ? rand_r(&seed) % most : 0);
        for (int i = 0; i < n; i++) {
          for (size_t k = 0; k < cut[n]; k++) src[t][i][k] = (unsigned char)(rand_r(&seed) >> 4);
          memset(dst[t][i], 0xa5, BYTES);
          const tt_share s = share_of(turn + (uint32_t)t, what, i, root, cut, n, parts);
          r[t][i] = (run){.wire = p.wire[i],
                          .share = s,
                          .src = (char *)src[t][i] + s.gives.at,
                          .dst = (char *)dst[t][i] + s.wants.at};
        }
      }
      for (int i = 0; i < n; i++)
        for (int t = 0; t < 2; t++) play_begin(&r[t][i]);
      assert_true(play_finish(r[0], n, LIMIT) && play_finish(r[1], n, LIMIT));
      for (int t = 0; t < 2; t++)
        for (int i = 0; i < n; i++)
          for (size_t k = 0; k < BYTES; k++) {
            const tt_stretch *w = &r[t][i].share.wants;
            unsigned char want = 0;
            for (int j = 0; j < n; j++) {
              const tt_stretch *g = &r[t][j].share.gives;
              if (k >= g->at && k < g->at + g->bytes) want = (unsigned char)(want + src[t][j][k]);
            }
            if (k < w->at || k >= w->at + w->bytes) want = 0xa5;
            if (dst[t][i][k] != want)
              fail_msg("%d members, turn %u, member %d, byte %zu: %u, not %u", n,
                       turn + (unsigned)t, i, k, dst[t][i][k], want);
          }
    }
    play_part(&p);
  }
  play_end(&d);
}

/* A member that has received everything it wants may leave immediately; the others still get their data. */
static void members_leave_when_they_are_done(void **state) {
  enum { N = 3, BYTES = 3 << 20 };
  static unsigned char src[BYTES], dst[N][BYTES];
  static const size_t cut[MOST + 1] = {0, BYTES / 3, 2 * (BYTES / 3), BYTES};
  running d;
  (void)state;
  play_serve(&d, 0, 0);
  for (int k = 0; k < BYTES; k++) src[k] = (unsigned char)(k % 251);
  for (int what = TO_ALL; what < PATTERNS; what++)
    for (int root = 0; root < N; root++) {
      party p = play_gather(&d, 1, N);
      run r[N];
      for (int i = 0; i < N; i++) {
        const tt_share s = share_of(1, (pattern)what, i, root, cut, N, TT_PARTS);
        r[i] = (run){.wire = p.wire[i],
                     .share = s,
                     .src = (const char *)src + s.gives.at,
                     .dst = (char *)dst[i] + s.wants.at};
        play_begin(&r[i]);
      }
      const double until = seconds() + LIMIT;
      for (int left = N; left;) {
        if (seconds() > until) fail_msg("pattern %d, root %d: %d wait for ever", what, root, left);
        for (int i = 0; i < N; i++) {
          if (!p.wire[i]) continue;
          play_send(&r[i]);
          play_take(&r[i]);
          if (!play_over(&r[i])) continue;
          play_leave(&p.wire[i]);
          left--;
        }
      }
      const unsigned times = what == FROM_ONE || what == GATHERED ? 1 : N;
      for (int i = 0; i < N; i++) {
        const tt_stretch *w = &r[i].share.wants;
        for (uint64_t k = w->at; k < w->at + w->bytes; k++)
          assert_int_equal(dst[i][k], (unsigned char)(times * src[k]));
      }
      usleep(20000);
    }
  play_end(&d);
}

/* A member has its block, and leaves, while others have not yet sent what follows it: in the middle of the
 * vector, when much of the member's contribution has not been read; and in the last piece, when the session has
 * read all of it. */
static void a_block_is_enough(void **state) {
  enum { N = 3, BYTES = 256 << 10 };
  static unsigned char src[BYTES], dst[N][BYTES];
  static const size_t cut[MOST + 1] = {0, BYTES / 3, 2 * (BYTES / 3), BYTES};
  static const int parts_before[] = {7, TT_PARTS - 1};
  running d;
  (void)state;
  play_serve(&d, 0, 0);
  for (int k = 0; k < BYTES; k++) src[k] = (unsigned char)(k % 251);
  for (int k = 0; k < 2; k++) {
    party p = play_gather(&d, 1, N);
    run r[N];
    for (int i = 0; i < N; i++) {
      const tt_share s = share_of(1, SCATTERED, i, 0, cut, N, TT_PARTS);
      r[i] = (run){.wire = p.wire[i],
                   .share = s,
                   .src = (const char *)src,
                   .dst = (char *)dst[i] + s.wants.at};
      play_begin(&r[i]);
    }
    const uint64_t held = (uint64_t)parts_before[k] * BYTES / TT_PARTS;
    for (const double until = seconds() + LIMIT; !play_over(&r[0]);) {
      assert_true(seconds() < until);
      play_send(&r[0]);
      play_take(&r[0]);
      for (int i = 1; i < N; i++)
        if (r[i].sent < held) play_send(&r[i]);
    }
    usleep(50000);
    play_leave(&p.wire[0]);
    usleep(50000);
    assert_true(play_finish(r + 1, N - 1, LIMIT));
    for (int i = 0; i < N; i++)
      for (size_t at = cut[i]; at < cut[i + 1]; at++)
        assert_int_equal(dst[i][at], (unsigned char)(N * src[at]));
    play_part(&p);
    usleep(50000);
  }
  play_end(&d);
}

/* One member receives nothing for many operations, and wants another stretch in each. */
static void a_member_falls_behind(void **state) {
  enum { N = 2, OPS = 5, TURNS = OPS * TT_FLIGHT, BYTES = 3000 };
  static unsigned char src[N][BYTES], dst[N][TURNS][BYTES];
  run r[N][TURNS];
  running d;
  (void)state;
  play_serve(&d, 0, 0);
  party p = play_gather(&d, 1, N);
  for (int i = 0; i < N; i++)
    for (int k = 0; k < BYTES; k++) src[i][k] = (unsigned char)(i + k % 113);
  for (int t = 0; t < TURNS; t++)
    for (int i = 0; i < N; i++) {
      const size_t cut[MOST + 1] = {0, (size_t)(100 + 150 * t), BYTES};
      tt_share s = share_of((uint32_t)(t / TT_FLIGHT), SCATTERED, i, 0, cut, N, 1);
      s.slice = (uint32_t)(t % TT_FLIGHT);
      s.slices = TT_FLIGHT;
      s.lane += t % TT_FLIGHT;
      r[i][t] = (run){.wire = p.wire[i],
                      .share = s,
                      .src = (const char *)src[i],
                      .dst = (char *)dst[i][t] + s.wants.at};
      play_begin(&r[i][t]);
    }
  for (const double until = seconds() + 0.3; seconds() < until;)
    for (int t = 0; t < TURNS; t++) {
      play_send(&r[0][t]);
      play_send(&r[1][t]);
      play_take(&r[0][t]);
    }
  for (int i = 0; i < N; i++) assert_true(play_finish(r[1 - i], TURNS, LIMIT));
  for (int t = 0; t < TURNS; t++)
    for (int i = 0; i < N; i++) {
      const tt_stretch *w = &r[i][t].share.wants;
      for (uint64_t k = w->at; k < w->at + w->bytes; k++)
        assert_int_equal(dst[i][t][k], (unsigned char)(src[0][k] + src[1][k]));
    }
  play_part(&p);
  play_end(&d);
}

/* ---- racks ---- */

enum { RACKS = 3, OF_RACK = 2, ALL = RACKS * OF_RACK };

/* Floats whose sum depends on the order. */
static void fill_floats(float *x, size_t n, unsigned seed) {
  for (size_t k = 0; k < n; k++)
    x[k] = (float)(rand_r(&seed) % 2001 - 1000) * (rand_r(&seed) % 2 ? 1e-3F : 3e4F);
}

/* Each rack first. */
static float sum_of_racks(float (*x)[ALL], size_t k) {
  return ((x[k][0] + x[k][1]) + (x[k][2] + x[k][3])) + (x[k][4] + x[k][5]);
}

static void gather_racks(const running d[RACKS], uint64_t session, party *p) {
  p->n = ALL;
  for (int i = 0; i < ALL; i++)
    assert_int_equal(play_join_rack(&d[i / OF_RACK], session, i % OF_RACK, OF_RACK, i / OF_RACK,
                                    RACKS, &p->wire[i]),
                     TUTTI_OK);
}

/* Each rack's aggregator adds its members, and one above adds the racks: all patterns, two operations in
 * flight, and vectors up to twice as long as the ring of sums. */
static void racks_have_their_own(void **state) {
  enum { TURNS = 40, BYTES = 2 * TT_AGGREGATOR_RING + 4 };
  static unsigned char src[2][ALL][BYTES], dst[2][ALL][BYTES];
  running top, d[RACKS];
  unsigned seed = 3;
  party p;
  (void)state;
  play_serve_below(&top, NULL);
  for (int k = 0; k < RACKS; k++) play_serve_below(&d[k], &top);
  gather_racks(d, 1, &p);
  for (uint32_t turn = 0; turn < TURNS; turn += 2) {
    run r[2][ALL];
    for (int t = 0; t < 2; t++) {
      const pattern what = (pattern)(turn / 2 % PATTERNS);
      const size_t most = turn < TURNS / 2 ? 2000 : BYTES / ALL;
      size_t cut[MOST + 1] = {0};
      for (int i = 0; i < ALL; i++)
        cut[i + 1] = cut[i] + (rand_r(&seed) % 5 ? (size_t)rand_r(&seed) % most : 0);
      for (int i = 0; i < ALL; i++) {
        for (size_t k = 0; k < cut[ALL]; k++)
          src[t][i][k] = (unsigned char)(k * 7 + turn + (unsigned)i);
        const tt_share s =
            share_of(turn + (uint32_t)t, what, i, (int)turn / 10 % ALL, cut, ALL, t ? TT_PARTS : 1);
        r[t][i] = (run){.wire = p.wire[i],
                        .share = s,
                        .src = (char *)src[t][i] + s.gives.at,
                        .dst = (char *)dst[t][i] + s.wants.at};
        play_begin(&r[t][i]);
      }
    }
    assert_true(play_finish(r[0], ALL, LIMIT) && play_finish(r[1], ALL, LIMIT));
    for (int t = 0; t < 2; t++)
      for (int i = 0; i < ALL; i++) {
        const tt_stretch *w = &r[t][i].share.wants;
        for (uint64_t k = w->at; k < w->at + w->bytes; k++) {
          unsigned char want = 0;
          for (int j = 0; j < ALL; j++) {
            const tt_stretch *g = &r[t][j].share.gives;
            if (k >= g->at && k < g->at + g->bytes) want = (unsigned char)(want + src[t][j][k]);
          }
          if (dst[t][i][k] != want)
            fail_msg("turn %u, member %d, byte %llu: %u, not %u", turn + (unsigned)t, i,
                     (unsigned long long)k, dst[t][i][k], want);
        }
      }
  }
  play_part(&p);
  for (int k = 0; k < RACKS; k++) play_end(&d[k]);
  play_end(&top);
}

/* The order of operands, and means: sums are computed per rack first. */
static void racks_are_added_first(void **state) {
  enum { COUNT = 50000 };
  static float x[COUNT][ALL], of[ALL][COUNT], dst[ALL][COUNT];
  running top, d[RACKS];
  party p;
  run r[ALL];
  size_t differ = 0;
  (void)state;
  for (int i = 0; i < ALL; i++) {
    fill_floats(of[i], COUNT, (unsigned)i);
    for (size_t k = 0; k < COUNT; k++) x[k][i] = of[i][k];
  }
  play_serve_below(&top, NULL);
  for (int k = 0; k < RACKS; k++) play_serve_below(&d[k], &top);
  gather_racks(d, 1, &p);
  for (uint32_t op = 0; op < 2; op++) {
    for (int i = 0; i < ALL; i++) {
      r[i] = (run){
          .wire = p.wire[i],
          .share = play_share(op, TUTTI_FLOAT, op ? TUTTI_AVG : TUTTI_SUM, COUNT, TT_PARTS, ALL),
          .src = (char *)of[i],
          .dst = (char *)dst[i]};
      play_begin(&r[i]);
    }
    assert_true(play_finish(r, ALL, LIMIT));
    for (int i = 0; i < ALL; i++)
      for (size_t k = 0; k < COUNT; k++) {
        const float want = sum_of_racks(x, k) / (op ? ALL : 1);
        float flat = x[k][0];
        for (int j = 1; j < ALL; j++) flat += x[k][j];
        differ += sum_of_racks(x, k) != flat;
        if (dst[i][k] != want)
          fail_msg("member %d, element %zu: %.9g, not %.9g", i, k, dst[i][k], want);
      }
  }
  assert_true(differ > 1000);
  play_part(&p);
  for (int k = 0; k < RACKS; k++) play_end(&d[k]);
  play_end(&top);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stretches),
      cmocka_unit_test(members_leave_when_they_are_done),
      cmocka_unit_test(a_block_is_enough),
      cmocka_unit_test(a_member_falls_behind),
      cmocka_unit_test(racks_have_their_own),
      cmocka_unit_test(racks_are_added_first),
  };
  setenv("TUTTI_KEY", "of the tests", 1);
  end_after(200);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
