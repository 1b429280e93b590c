/* staged.h - a call's vectors on their way: inside this room.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_STAGED_H
#define TT_STAGED_H

#include "stager.h"

enum { TT_AHEAD = 8 }; /* copies under way from the device */

/* How far a way is: `at` bytes of part `part` are asked for. */
typedef struct tt_way {
  size_t part, at;
  uint64_t asked; /* bytes in all */
} tt_way;

struct tt_staged {
  tt_stager *stager;
  tt_buffer *buffer;
  tt_lane *lane;
  void *stream, *hold; /* hold: or NULL */
  bool holds;          /* its stream waits for the result */
  bool offers;         /* its device's kernels */
  bool undecided;      /* its stream is not held yet: the devices may sum (staged_sum.c) */
  size_t piece;
  uint64_t in, out; /* bytes to copy */
  tt_way coming, going;
  struct {
    unsigned long long ticket;
    uint64_t asked; /* that have landed when it is reached */
  } ahead[TT_AHEAD];
  unsigned first, under_way; /* of `ahead` */
  uint64_t landed, final;
  unsigned long long last_out; /* its ticket, if anything has gone */
  bool marked, over, active;
  unsigned long long ready; /* reached when the stream has done the work before the call */
  unsigned long long batches[TT_FETCHES]; /* tickets */
  unsigned first_batch, nbatches;
  bool fetched; /* something was fetched */
  bool named;
  tutti_device_name src, dst; /* of its vectors, if `named` */
  size_t n;
  tt_staged_part part[];
};

#endif
