/* cuda_streams_play.h - for tests: streams of the simulated driver that wait for a word in host
 * memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CUDA_STREAMS_PLAY_H
#define CUDA_STREAMS_PLAY_H

#include "cuda_play.h"

static uint32_t *word; /* in pinned memory, initially 0 */
static CUdeviceptr word_there;

static inline void make_word(void) {
  void *at;
  GOOD(cu.cuMemHostAlloc(&at, 64, CU_MEMHOSTALLOC_PORTABLE));
  GOOD(cu.cuMemHostGetDevicePointer(&word_there, at, 0));
  word = at;
  *word = 0;
}

static inline CUstream stream_new(unsigned flags) {
  CUstream s;
  GOOD(cu.cuStreamCreate(&s, flags));
  return s;
}

static inline CUevent event_new(void) {
  CUevent e;
  GOOD(cu.cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
  return e;
}

static inline void hold(CUstream s) {
  GOOD(cu.cuStreamWaitValue32(s, word_there, 1, CU_STREAM_WAIT_VALUE_GEQ));
}
static inline void release(void) {
  __atomic_store_n(word, 1, __ATOMIC_RELEASE);
}

#endif
