/* test_code.c - compression of float vectors: the error bound of two roundings and how closely it is
 * approached, a second round trip that changes nothing, frames, damaged frames, and the texts that select a
 * compression.
 *
 * Usage      TUTTI_TEST_ALL=1 takes ten times as many vectors: 10^7. TUTTI_TEST_SEED=n repeats a run.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "code.h"
#include "cover.h"
#include "tutti_plan.h"

static uint64_t state;
static uint64_t any(void) {
  return state = cover_mix(state + 0x9e3779b97f4a7c15u);
}
static size_t below(size_t n) {
  return (size_t)(any() % n);
}
enum { LOSSY = TT_CODE_COUNT - TT_CODE_INT8, RANKS = 5, KINDS = 7 };
static tt_code lossy[LOSSY];

/* ---- numbers ---- */

static float uniform(int exponent) {
  return ldexpf((float)((int64_t)any() >> 40) * 0x1p-23f, exponent);
}

/* Fills a block with data that is difficult for a quantizer. `step`: the distance between the quantizer's
 * largest numbers, relative to the largest. */
static void fill(float *x, size_t n, int kind, int exponent, double step) {
  for (size_t i = 0; i < n; i++) {
    const float most = ldexpf(1, exponent);
    x[i] = uniform(exponent);
    if (kind == 1) x[i] = ldexpf(x[i], -(int)below(40));             /* many magnitudes */
    if (kind == 2) x[i] = below(8) ? 0 : x[i];                       /* few numbers */
    if (kind == 3) x[i] = i ? (float)(most * (1 - step / 2)) : most; /* midway, at the top */
    if (kind == 4)
      x[i] = i ? (float)(most * (double)below((size_t)(2 / step)) * step / 2) : most; /* midway */
    if (kind == 5) x[i] = (i & 1 ? -most : most);                                     /* cancel */
    if (kind == 6 && i) x[i] = (float)(most * (1 - step / 2) * (1 - 1e-6)); /* nearly midway */
  }
  if (kind == 6) x[0] = ldexpf(1, exponent);
}

/* ---- two roundings ---- */

static float largest(const float *x, size_t n) {
  float most = 0;
  for (size_t i = 0; i < n; i++) most = fmaxf(most, fabsf(x[i]));
  return most;
}

/* Sums the blocks of some ranks the way an allreduce between hosts does. Returns the largest error, relative to
 * the sum of the ranks' largest magnitudes. Each rounding may add an absolute error of 2^-88, which is visible
 * only in numbers of that magnitude; it is subtracted. */
static double error_of_sum(tt_code code, float x[RANKS][TT_CODE_BLOCK], int ranks, size_t n) {
  double exact[TT_CODE_BLOCK], magnitudes = 0, worst = 0;
  float sum[TT_CODE_BLOCK];
  for (int r = 0; r < ranks; r++) {
    magnitudes += largest(x[r], n);
    for (size_t i = 0; i < n; i++) exact[i] = (r ? exact[i] : 0) + x[r][i];
    if (r) tt_code_round(code, x[r], n);
    for (size_t i = 0; i < n; i++) sum[i] = r ? sum[i] + x[r][i] : x[r][i];
  }
  tt_code_round(code, sum, n);
  for (size_t i = 0; i < n; i++) worst = fmax(worst, fabs(sum[i] - exact[i]) - ranks * 0x1p-88);
  return magnitudes > 0 ? worst / magnitudes : 0;
}

/* Prints which fraction of the bound is reached. */
static void test_bound(void **unused) {
  (void)unused;
  static float x[RANKS][TT_CODE_BLOCK];
  double met[LOSSY] = {0};
  const size_t vectors = cover_all() ? 10000000 : 600000;
  for (size_t v = 0; v < vectors; v++) {
    const int c = (int)(v % LOSSY), ranks = 2 + (int)below(RANKS - 1);
    const double bound = tt_code_bound(lossy[c], 2), step = 2 * tt_code_error(lossy[c]);
    const size_t n = below(50) ? 1 + below(24) : TT_CODE_BLOCK;
    const int kind = (int)below(KINDS), exponent = (int)below(180) - 60;
    for (int r = 0; r < ranks; r++) fill(x[r], n, kind, exponent + (int)below(3), step);
    const double error = error_of_sum(lossy[c], x, ranks, n);
    /* float rounds as well */
    if (!(error <= bound + ranks * 0x1p-23))
      fail_msg("%s: %g of %g, %d ranks, kind %d, 2^%d", tt_code_name(lossy[c]), error, bound, ranks,
               kind, exponent);
    met[c] = fmax(met[c], error / bound);
  }
  for (int c = 0; c < LOSSY; c++) {
    print_message("%s: %.3f of the bound is met\n", tt_code_name(lossy[c]), met[c]);
    assert_true(met[c] >= 0.25);
  }
}

/* One rounding, at any magnitude. Encoding and decoding a decoded vector again gives the same numbers. */
static void test_again(void **unused) {
  (void)unused;
  float x[TT_CODE_BLOCK], y[TT_CODE_BLOCK];
  uint8_t codes[TT_CODE_BLOCK], again[TT_CODE_BLOCK];
  for (int v = 0; v < 90000; v++) {
    const tt_code code = lossy[v % LOSSY];
    const size_t n = 1 + below(TT_CODE_BLOCK);
    float scale, same;
    fill(x, n, (int)below(KINDS), (int)below(277) - 149, 2 * tt_code_error(code));
    if (v % 100 == 0) x[0] = FLT_MAX;
    tt_code_block(code, x, n, &scale, codes);
    tt_code_unblock(code, scale, codes, n, y);
    const double most = tt_code_error(code) * largest(x, n) + 0x1p-88;
    for (size_t i = 0; i < n; i++)
      if (!(fabs((double)x[i] - y[i]) <= most)) fail_msg("%a becomes %a", x[i], y[i]);
    tt_code_block(code, y, n, &same, again);
    tt_code_unblock(code, same, again, n, x);
    assert_memory_equal(x, y, n * sizeof *x);
  }
}

static void test_not_finite(void **unused) {
  (void)unused;
  const float bad[] = {NAN, INFINITY, -INFINITY};
  for (int b = 0; b < 3; b++)
    for (int c = 0; c < LOSSY; c++) {
      float x[2 * TT_CODE_BLOCK];
      for (size_t i = 0; i < 2 * TT_CODE_BLOCK; i++) x[i] = 1;
      x[5] = bad[b];
      tt_code_round(lossy[c], x, 2 * TT_CODE_BLOCK);
      for (size_t i = 0; i < TT_CODE_BLOCK; i++) assert_true(isnan(x[i]));
      for (size_t i = TT_CODE_BLOCK; i < 2 * TT_CODE_BLOCK; i++)
        assert_true(fabsf(x[i] - 1) < 1e-4f);
      for (size_t i = 0; i < 2 * TT_CODE_BLOCK; i++) x[i] = bad[b];
      tt_code_round(lossy[c], x, 2 * TT_CODE_BLOCK);
      for (size_t i = 0; i < 2 * TT_CODE_BLOCK; i++) assert_true(isnan(x[i]));
    }
}

/* ---- frames ---- */

static const tutti_type types[] = {TUTTI_FLOAT, TUTTI_DOUBLE, TUTTI_BFLOAT16, TUTTI_FLOAT16};
enum { BYTES = 40000 };
static _Alignas(64) unsigned char raw[BYTES], got[BYTES + TT_FRAME_RAW], frame[TT_FRAME];

static void fill_bytes(int kind, size_t n) {
  for (size_t i = 0; i < n; i++)
    raw[i] = kind == 0   ? (unsigned char)any()
             : kind == 1 ? 0
             : kind == 2 ? (unsigned char)(below(5) ? 0 : any())
                         : (unsigned char)(i % 4 == 3 ? 0x3c + below(3) : any());
}

/* All bytes of a vector in frames and back; returns the bytes of the frames. */
static size_t there_and_back(tt_code code, tutti_type type, size_t n) {
  size_t total = 0;
  for (size_t at = 0, taken; at < n; at += taken) {
    size_t size, numbers;
    const size_t bytes = tt_frame_make(code, type, raw + at, n - at, frame, &taken);
    assert_true(bytes <= TT_FRAME && taken > 0 && taken <= n - at);
    assert_true(tt_frame_sizes(frame, &size, &numbers) && size == bytes && numbers == taken);
    assert_true(tt_frame_open(code, type, frame, got + at));
    total += bytes;
  }
  return total;
}

static void test_lossless(void **unused) {
  (void)unused;
  for (int v = 0; v < 2000; v++) {
    const tutti_type type = types[v % 4];
    const size_t n = (1 + below(v % 9 ? 400 : 4000)) * tutti_type_size(type);
    const int kind = (int)below(4);
    fill_bytes(kind, n);
    const size_t coded = there_and_back(TT_CODE_LOSSLESS, type, n);
    assert_memory_equal(raw, got, n);
    assert_true(coded <= n + (8 + 9) * (n / 30000 + 1)); /* incompressible data is copied */
    if (kind == 1 && n > 4000) assert_true(coded < n / 3);
    /* exponents take log2(6) bits of 8 */
    if (kind == 3 && type == TUTTI_FLOAT && n > 4000) assert_true((double)coded < 0.85 * (double)n);
  }
}

static void test_lossy_frames(void **unused) {
  (void)unused;
  float *x = (float *)(void *)raw;
  for (int v = 0; v < 300; v++) {
    const tt_code code = lossy[v % LOSSY];
    const size_t n = 1 + below(BYTES / sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = uniform((int)(i / 300 % 30));
    const size_t coded = there_and_back(code, TUTTI_FLOAT, n * sizeof *x);
    tt_code_round(code, x, n); /* blocks begin at the same offsets */
    assert_memory_equal(raw, got, n * sizeof *x);
    const double bytes = (double)(n * sizeof *x), ratio = tt_code_ratio(code, TUTTI_FLOAT);
    assert_true((double)coded <= ratio * bytes + 8 * (bytes / TT_FRAME_RAW + 2));
    assert_true((double)coded >= ratio * bytes);
  }
}

/* Frames with wrong lengths are refused. */
static void test_wrong_frames(void **unused) {
  (void)unused;
  float x[TT_CODE_BLOCK + 40];
  size_t taken;
  fill(x, TT_CODE_BLOCK + 40, 0, 0, 1);
  for (int c = 0; c < LOSSY; c++)
    for (size_t n = 1; n <= TT_CODE_BLOCK + 40; n += 13) {
      const uint32_t size = (uint32_t)tt_frame_make(lossy[c], TUTTI_FLOAT, x, n * 4, frame, &taken);
      const uint32_t heads[][2] = {{size + 1, (uint32_t)n * 4},
                                   {size - 1, (uint32_t)n * 4},
                                   {size, (uint32_t)n * 4 + 1},
                                   {size, (uint32_t)n * 4 - 1},
                                   {size, 0},
                                   {size, TT_FRAME_RAW + 4},
                                   {8, (uint32_t)n * 4},
                                   {TT_FRAME + 1, (uint32_t)n * 4}};
      const uint32_t right[2] = {size, (uint32_t)n * 4};
      for (size_t h = 0; h < sizeof heads / sizeof *heads; h++) {
        memcpy(frame, heads[h], sizeof heads[h]);
        assert_false(tt_frame_open(lossy[c], TUTTI_FLOAT, frame, got));
      }
      memcpy(frame, right, sizeof right);
      assert_true(tt_frame_open(lossy[c], TUTTI_FLOAT, frame, got));
    }
}

/* Damaged input never causes an access outside the buffers. */
static void test_damaged(void **unused) {
  (void)unused;
  size_t taken, size, numbers, refused = 0;
  for (int v = 0; v < 20000; v++) {
    const tt_code code = v % 2 ? TT_CODE_LOSSLESS : lossy[below(LOSSY)];
    const tutti_type type = v % 2 ? types[below(4)] : TUTTI_FLOAT;
    fill_bytes((int)below(4), 2000);
    const size_t bytes = tt_frame_make(code, type, raw, 2000, frame, &taken);
    for (size_t k = 1 + below(4); k; k--) frame[below(v % 5 ? bytes : 40)] ^= (unsigned char)any();
    if (tt_frame_sizes(frame, &size, &numbers) && numbers <= TT_FRAME_RAW)
      refused += !tt_frame_open(code, type, frame, got);
    else
      refused++;
  }
  assert_true(refused > 1000);
}

/* ---- tutti_code_local ---- */

static void test_local(void **unused) {
  (void)unused;
  static const struct {
    const char *text;
    tt_code code;
  } all[] = {{NULL, TT_CODE_NONE},
             {"lossless", TT_CODE_LOSSLESS},
             {"error=1", TT_CODE_INT8},
             {"error=1,code=fp8_e4m3", TT_CODE_E4M3},
             {"error=1,code=fp8_e5m2", TT_CODE_E5M2}};
  enum { N = 9000 };
  static float x[N], y[N], wanted[N];
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    for (size_t n = 0; n <= N; n += N / 3) {
      const char *text = all[i].text;
      size_t bytes = 1, alone = 2;
      for (size_t k = 0; k < n; k++) wanted[k] = x[k] = k % 3 ? uniform((int)(k / 400)) : 0;
      if (tt_code_lossy(all[i].code)) tt_code_round(all[i].code, wanted, n);
      assert_int_equal(tutti_code_local(text, x, y, n, TUTTI_FLOAT, &bytes), TUTTI_OK);
      assert_int_equal(tutti_code_local(text, x, NULL, n, TUTTI_FLOAT, &alone), TUTTI_OK);
      assert_int_equal(tutti_code_local(text, x, x, n, TUTTI_FLOAT, NULL), TUTTI_OK);
      assert_memory_equal(y, wanted, n * sizeof *y);
      assert_memory_equal(x, wanted, n * sizeof *x);
      assert_int_equal(alone, bytes);
      assert_true(all[i].code == TT_CODE_NONE ? bytes == n * sizeof *x
                                              : bytes <= n * sizeof *x && (!n || bytes > n / 64));
    }
  const struct {
    const char *text;
    tutti_type type;
    tutti_status status;
  } wrong[] = {{"zip", TUTTI_FLOAT, TUTTI_ERR_ARG},
               {"error=1", TUTTI_DOUBLE, TUTTI_ERR_UNSUPPORTED},
               {"lossless", TUTTI_INT32, TUTTI_ERR_UNSUPPORTED},
               {"lossless", TUTTI_TYPE_COUNT, TUTTI_ERR_TYPE}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_int_equal(tutti_code_local(wrong[i].text, x, y, 8, wrong[i].type, NULL),
                     wrong[i].status);
  assert_int_equal(tutti_code_local("lossless", NULL, y, 8, TUTTI_FLOAT, NULL), TUTTI_ERR_ARG);
}

/* ---- texts ---- */

static void test_texts(void **unused) {
  (void)unused;
  static const struct {
    const char *text;
    tt_code code;
    double error;
  } right[] = {{NULL, TT_CODE_NONE, 0},
               {"", TT_CODE_NONE, 0},
               {"none", TT_CODE_NONE, 0},
               {"lossless", TT_CODE_LOSSLESS, 0},
               {"error=1e-2", TT_CODE_INT8, 1e-2},
               {"error=.5,code=fp8_e4m3", TT_CODE_E4M3, 0.5},
               {"error=0.2,code=fp8_e5m2", TT_CODE_E5M2, 0.2}};
  static const struct {
    const char *text, *says;
  } wrong[] = {{"eror=1", "expected 'lossless'"},
               {"error=", "expected a number"},
               {"error=-1", "expected a number"},
               {"error=nan", "expected a number"},
               {"error=0.001", "int8 needs an error of 0.0079"},
               {"error=0.1,code=int4", "column 10"},
               {"error=0.1;", "column 10"},
               {"error=0.05,code=fp8_e4m3", "fp8_e4m3 needs an error of 0.073"},
               {"error=1,code=none", "column 8"},
               {"error=1,code=lossless", "column 8"},
               {"zip", "',code=int8', ',code=fp8_e4m3' or ',code=fp8_e5m2'"},
               {"int8", "expected 'lossless'"},
               {"lossless ", "expected 'lossless'"}};
  tt_code_wish wish;
  for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
    assert_int_equal(tt_code_parse("it", right[i].text, &wish), TUTTI_OK);
    assert_int_equal(wish.code, right[i].code);
    assert_true(wish.error == right[i].error);
  }
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(tt_code_parse("it", wrong[i].text, &wish), TUTTI_ERR_ARG);
    if (!strstr(tutti_error(), wrong[i].says)) fail_msg("'%s': %s", wrong[i].text, tutti_error());
  }
  assert_int_equal(tt_code_roundings(TT_CODE_INT8, 1e-2), 2);
  assert_int_equal(tt_code_roundings(TT_CODE_INT8, 1.2e-2), 3);
  assert_int_equal(tt_code_roundings(TT_CODE_LOSSLESS, 1), 0);
}

int main(void) {
  for (int c = 0; c < LOSSY; c++) lossy[c] = (tt_code)(TT_CODE_INT8 + c);
  state = cover_seed();
  print_message("TUTTI_TEST_SEED=%llu\n", (unsigned long long)state);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bound),        cmocka_unit_test(test_again),
      cmocka_unit_test(test_lossless),     cmocka_unit_test(test_lossy_frames),
      cmocka_unit_test(test_damaged),      cmocka_unit_test(test_not_finite),
      cmocka_unit_test(test_local),        cmocka_unit_test(test_texts),
      cmocka_unit_test(test_wrong_frames),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
