/* staged.h - a call's vectors in transit; internal to this directory.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_STAGED_H
#define TT_STAGED_H

#include "stager.h"

enum { TT_AHEAD = 8 }; /* maximum number of copies from the device in flight */

/* The progress of copies in one direction. `at` bytes of part number `part` have been requested. */
typedef struct tt_way {
  size_t part, at;
  uint64_t asked; /* bytes requested in total */
} tt_way;

struct tt_staged {
  tt_stager *stager;
  tt_buffer *buffer;
  tt_lane *lane;
  void *stream, *hold; /* hold may be NULL */
  bool holds;          /* the stream waits for the result */
  bool offers;         /* this rank offers its device's kernels */
  bool undecided;      /* the stream is not held yet, because the devices may sum (staged_sum.c) */
  size_t piece;
  uint64_t in, out; /* bytes to copy in each direction */
  tt_way coming, going;
  struct {
    unsigned long long ticket;
    uint64_t asked; /* bytes that have landed once the ticket is reached */
  } ahead[TT_AHEAD];
  unsigned first, under_way; /* oldest entry of `ahead`, and number of entries */
  uint64_t landed, final;
  unsigned long long last_out; /* ticket of the last copy to the device, if `marked` */
  bool marked, over, active;
  unsigned long long ready;               /* ticket: the stream has done the work before the call */
  unsigned long long batches[TT_FETCHES]; /* tickets */
  unsigned first_batch, nbatches;
  bool fetched; /* results were fetched */
  bool named;
  tutti_device_name src, dst; /* names of the vectors, if `named` */
  size_t n;
  tt_staged_part part[];
};

#endif
