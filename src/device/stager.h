/* stager.h - host memory and lanes of one communicator, for its calls on device vectors.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_STAGER_H
#define TT_STAGER_H

#include "device.h"

typedef struct tt_buffer { /* pinned memory that peers can access */
  char *memory;
  size_t bytes;
  bool used, pinned;
  struct tt_buffer *next;
} tt_buffer;

typedef struct tt_foreign { /* another rank's staging memory that the device reads */
  const void *memory;
  size_t bytes;
  bool pinned; /* false if pinning failed */
  struct tt_foreign *next;
} tt_foreign;

typedef struct tt_lane { /* queues of one call at a time: no copy waits for another call's stream */
  void *lane;
  int number; /* number of its device */
  bool used;
  struct tt_lane *next;
} tt_lane;

enum { TT_KNOWN = 128 };
struct tt_stager {
  tt_wire *wire;
  tt_buffer *buffers;
  tt_lane *lanes;
  tt_foreign *foreign;
  bool lost; /* the device may still use some of the memory, so everything is kept */
  tt_sums wish;
  tt_reach reach;
  int devices; /* number of devices of all ranks; 0: unknown */
  signed char sums[TUTTI_TYPE_COUNT]
                  [TUTTI_OP_COUNT]; /* 1: the device can compute it; -1: it cannot; 0: not asked */
  int asked;                        /* number of calls that could have determined `reach` */
  struct {
    long long process;
    unsigned long long id;
    int number;
  } known[TT_KNOWN]; /* allocations of other processes that were mapped before, newest last */
  unsigned nknown;
};

/* Reserve a buffer or a lane. On failure, both functions return TUTTI_ERR_MEMORY or TUTTI_ERR_SYSTEM. If number < 0,
 * tt_stager_take_lane returns TUTTI_ERR_UNSUPPORTED. */
tutti_status tt_stager_take(tt_stager *s, size_t bytes, tt_buffer **buffer);
tutti_status tt_stager_take_lane(tt_stager *s, int number, tt_lane **lane);
void tt_stager_give(tt_buffer *buffer); /* NULL is allowed */
void tt_stager_give_lane(tt_lane *lane);

#endif
