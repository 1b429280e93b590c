/* device_price.h - the predicted time of an allreduce whose vectors are on devices: by kernels, or through the host.
 *
 * Idea       kernels: each device sums its share of the vector out of all vectors, and writes it to all of them. Its memory
 *            carries the vectors of its ranks twice, and its link the data of other devices' ranks, in both directions
 *            in parallel.
 *            Through the host: a copy in and a copy out, with the plan's sum in between, piece by piece, so the slower of the
 *            bus and the plan counts.
 *            Over several hosts, kernels make the first stage alone: then the block that a rank sums comes to the host, not the
 *            vector, and the plan is shorter by that stage.
 * Formulas   n bytes on P ranks and D devices take, by kernels, sum + max(2 P/D n memory, (P - P/D)/D n link); through the host
 *            2 copy + max(P/D n bus, plan), and turn in addition if ranks share a device and n is short. On several hosts, with
 *            the P and D of one host, kernels read P/D n and write n/D in a device's memory, and read (1 - 1/D) P/D n over
 *            its link; the plan is shorter by its first stage.
 * See        docs/gpu.md, which lists measured times.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_DEVICE_PRICE_H
#define TT_DEVICE_PRICE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_device_figures {
  double sum;    /* s: of a sum by kernels, whatever its size */
  double memory; /* s/B that kernels read or write in a device's memory */
  double link;   /* s/B between devices, one way */
  double copy;   /* s: of a copy between a device and the host, whatever its size */
  double bus;    /* s/B of such copies, one way */
  double turn;   /* s: on top, of a short copy to a device that several ranks share */
} tt_device_figures;

typedef struct tt_device_price {
  double kernels, host; /* s */
} tt_device_price;

/* ranks: of the communicator, on `devices` devices of one host; plan: s that the plan takes on vectors of the host. */
tt_device_price tt_price_on_devices(const tt_device_figures *figures, int ranks, int devices,
                                    uint64_t bytes, double plan);

/* The same of ranks on several hosts, `ranks` of them on this one; stage: s of `plan` that its first stage takes, the
 * sums within a host. */
tt_device_price tt_price_near_devices(const tt_device_figures *figures, int ranks, int devices,
                                      uint64_t bytes, double plan, double stage);

/* How such a call runs, for an explanation. */
typedef struct tt_device_way {
  const char *device; /* its name */
  bool kernels;       /* the way it takes */
  bool within_hosts;  /* ... and they sum what the ranks of a host have; the plan does the rest */
  bool priced;        /* the price is known */
  tt_device_price price;
  const char *why; /* of the host's way, if not its price; or NULL */
} tt_device_way;

#endif
