/* device_price.c - evaluates the formulas of device_price.h.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "device_price.h"

enum { SHORT = 32 << 10 }; /* bytes; copies up to this size wait for a time slice */

static double larger(double a, double b) {
  return a > b ? a : b;
}

tt_device_price tt_price_on_devices(const tt_device_figures *f, int ranks, int devices,
                                    uint64_t bytes, double plan) {
  const double n = (double)bytes, own = (double)ranks / devices;
  const double memory = 2 * own * n * f->memory, link = (ranks - own) * n / devices * f->link;
  const double bus = own * n * f->bus; /* for the ranks that share the bus, in each direction */
  const double turn = devices < ranks && bytes <= SHORT ? f->turn : 0;
  return (tt_device_price){f->sum + larger(memory, link), 2 * f->copy + turn + larger(bus, plan)};
}

/* A kernel reads its block of every vector once, and writes the result once. */
tt_device_price tt_price_near_devices(const tt_device_figures *f, int ranks, int devices,
                                      uint64_t bytes, double plan, double stage) {
  const double n = (double)bytes, own = (double)ranks / devices;
  const double memory = own * n * (1 + 1.0 / ranks) * f->memory;
  const double link = (ranks - own) * n / ranks * own * f->link, bus = own * n * f->bus;
  return (tt_device_price){
      own * f->sum + larger(memory, link) + 2 * f->copy + larger(bus, plan - stage),
      2 * f->copy + larger(bus, plan)};
}
