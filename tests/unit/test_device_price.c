/* test_device_price.c - the estimates for both ways to sum device vectors (kernels on the device, or copies to
 * the host), compared with times measured on an H100 (docs/gpu.md).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
/* cmocka.h needs the three headers above */
#include <cmocka.h>

#include "profile.h"

typedef struct measured {
  int ranks; /* that share the card */
  uint64_t bytes;
  double kernels, host, plan; /* us; plan: the time of the plan on host vectors */
} measured;

/* Medians of docs/gpu.md. */
static const measured runs[] = {
    {2, 4 << 10, 18, 298, 2.8},        {2, 256 << 10, 16, 73, 45},
    {2, 4 << 20, 18, 523, 300},        {2, 64 << 20, 112, 7602, 7600},
    {2, 256 << 20, 400, 27001, 27000}, {4, 4 << 10, 19, 591, 4.7},
    {4, 4 << 20, 23, 1164, 900},       {4, 64 << 20, 209, 10932, 10900},
    {4, 256 << 20, 801, 38705, 38700},
};

static double off(double price, double is) {
  return price > is ? price / is - 1 : is / price - 1;
}

static void near_what_was_measured(void **state) {
  (void)state;
  tt_profile p;
  tt_profile_shm(&p);
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    const measured *m = &runs[i];
    const tt_device_price is =
        tt_price_on_devices(&p.device, m->ranks, 1, m->bytes, 1e-6 * m->plan);
    if (off(1e6 * is.kernels, m->kernels) > 0.3)
      fail_msg("%d ranks, %llu bytes: kernels %.1f us, measured %.1f", m->ranks,
               (unsigned long long)m->bytes, 1e6 * is.kernels, m->kernels);
    if (off(1e6 * is.host, m->host) > 1.7) /* short copies wait for a time slice, 100 to 500 us */
      fail_msg("%d ranks, %llu bytes: host %.1f us, measured %.1f", m->ranks,
               (unsigned long long)m->bytes, 1e6 * is.host, m->host);
    assert_true(is.kernels < is.host);
  }
}

static void figures_decide(void **state) {
  (void)state;
  static const struct {
    const char *profile;
    int ranks, devices;
    uint64_t bytes;
    bool kernels;
  } cases[] = {
      {"", 2, 1, 1 << 20, true},
      {"device.sum=1s", 2, 1, 1 << 20, false},
      {"device.memory=1GB/s", 2, 1, 1 << 20, false}, /* slower than the bus */
      {"device.link=1kB/s", 4, 1, 1 << 20, true},    /* no data crosses the link */
      {"device.link=1MB/s", 4, 4, 1 << 20, false},
      {"device.bus=1MB/s, device.link=1MB/s", 4, 4, 1 << 20, true}, /* the bus is slower */
      {"device.copy=1ns, device.turn=0", 2, 1, 8, false},
      {"device.copy=1ns", 2, 1, 8, true}, /* the copy waits for its time slice */
      {"device.copy=1ns", 2, 2, 8, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tt_profile p;
    tt_profile_shm(&p);
    assert_int_equal(tt_profile_parse(&p, cases[i].profile, "test"), TUTTI_OK);
    const tt_device_price is =
        tt_price_on_devices(&p.device, cases[i].ranks, cases[i].devices, cases[i].bytes, 1e-6);
    if ((is.kernels < is.host) != cases[i].kernels)
      fail_msg("'%s': kernels %g us, host %g us", cases[i].profile, 1e6 * is.kernels,
               1e6 * is.host);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(near_what_was_measured),
      cmocka_unit_test(figures_decide),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
