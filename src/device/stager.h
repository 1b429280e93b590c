/* stager.h - host memory and lanes of one communicator, for its calls on device vectors.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_STAGER_H
#define TT_STAGER_H

#include "device.h"

typedef struct tt_buffer { /* pinned memory that peers see */
  char *memory;
  size_t bytes;
  bool used, pinned;
  struct tt_buffer *next;
} tt_buffer;

typedef struct tt_foreign { /* another rank's staging memory that the device reads */
  const void *memory;
  size_t bytes;
  bool pinned; /* false: it could not be */
  struct tt_foreign *next;
} tt_foreign;

typedef struct tt_lane { /* queues of one call at a time: no copy waits for another call's stream */
  void *lane;
  int number; /* of its device */
  bool used;
  struct tt_lane *next;
} tt_lane;

enum { TT_KNOWN = 128 };
struct tt_stager {
  tt_wire *wire;
  tt_buffer *buffers;
  tt_lane *lanes;
  tt_foreign *foreign;
  bool lost; /* the device may still use some of it: all is kept */
  tt_sums wish;
  tt_reach reach;
  int devices; /* of all ranks; 0: unknown */
  signed char sums[TUTTI_TYPE_COUNT]
                  [TUTTI_OP_COUNT]; /* by the device: 0: not asked yet; 1; -1: no */
  int asked;                        /* calls that could have found that out */
  struct {
    long long process;
    unsigned long long id;
    int number;
  } known[TT_KNOWN]; /* allocations of other processes that were mapped before, newest last */
  unsigned nknown;
};

/* TUTTI_ERR_MEMORY, TUTTI_ERR_SYSTEM. */
tutti_status tt_stager_take(tt_stager *s, size_t bytes, tt_buffer **buffer);
tutti_status tt_stager_take_lane(tt_stager *s, int number, tt_lane **lane);
void tt_stager_give(tt_buffer *buffer); /* NULL is legal */
void tt_stager_give_lane(tt_lane *lane);

#endif
