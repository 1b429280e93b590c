/* device_price.h - the predicted time of an allreduce whose vectors are on devices: by kernels, or through the host.
 *
 * Idea       Kernels: each device sums its share of all vectors and writes the result to all of them. Its memory
 *            carries the vectors of its ranks twice. Its link carries the data of other devices' ranks, in both
 *            directions in parallel.
 *            Through the host: vectors are copied to the host, summed by the plan and copied back, piece by piece, so
 *            the slower of the bus and the plan counts.
 *            Over several hosts, kernels do only the first stage. Then only the block that a rank sums is copied to the
 *            host, instead of the vector, and the plan is shorter by that stage.
 * Formulas   With n bytes on P ranks and D devices, kernels take sum + max(2 P/D n memory, (P - P/D)/D n link). Through
 *            the host, the time is 2 copy + max(P/D n bus, plan), plus turn if ranks share a device and n is small. On
 *            several hosts, with the P and D of one host, kernels read P/D n and write n/D in a device's memory, and
 *            read (1 - 1/D) P/D n over its link; the plan is shorter by its first stage.
 * See        docs/gpu.md, which lists measured times.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_DEVICE_PRICE_H
#define TT_DEVICE_PRICE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_device_figures {
  double sum;    /* time of a sum by kernels regardless of its size, in s */
  double memory; /* s/B that kernels need to read or write a device's memory */
  double link;   /* s/B between devices, in one direction */
  double copy;   /* time of a copy between a device and the host regardless of its size, in s */
  double bus;    /* s/B of such copies, in one direction */
  double turn;   /* additional time of a short copy to a device that several ranks share, in s */
} tt_device_figures;

typedef struct tt_device_price {
  double kernels, host; /* in s */
} tt_device_price;

/* Predicts the times of a sum by kernels and of a sum by the host, where `ranks` ranks of one host use `devices` devices.
 * `plan` is the time in s that the plan takes for vectors in host memory. */
tt_device_price tt_price_on_devices(const tt_device_figures *figures, int ranks, int devices,
                                    uint64_t bytes, double plan);

/* Predicts the times of both kinds of sums if there are several hosts, with `ranks` ranks on this host. `stage` is the part
 * of `plan` in s that the first stage takes, which computes the sums within a host. */
tt_device_price tt_price_near_devices(const tt_device_figures *figures, int ranks, int devices,
                                      uint64_t bytes, double plan, double stage);

/* Describes how a call with vectors on a device runs, for an explanation. */
typedef struct tt_device_way {
  const char *device; /* its name */
  bool kernels;       /* summed by kernels, not through the host */
  bool within_hosts;  /* kernels only sum within a host, and the plan does the other stages */
  bool priced;        /* `price` is valid */
  tt_device_price price;
  const char *why; /* why the host sums, if not because of the predicted times; or NULL */
} tt_device_way;

#endif
