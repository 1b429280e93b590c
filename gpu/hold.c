/* hold.c - makes streams of the program wait for tutti.
 *
 * Idea       The device polls a word in pinned memory (cuStreamWaitValue32), which does not need a
 *            kernel. The word is a counter: the stream waits until it is at least the number of
 *            this hold, so the word can be reused immediately. If the driver does not support such
 *            waits, or all words are in use, a function that the driver runs in stream order sleeps
 *            on a condition variable.
 * Invariant  Words exist until the process ends, because a stream may read one after its hold was
 *            freed.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "gpu.h"

int gpu_words_make(gpu_world *w, int device) {
  gpu_context *c = &w->contexts[device];
  void *words = NULL;
  CUdeviceptr there = 0;
  pthread_mutex_lock(&w->lock);
  const bool made = c->words != NULL;
  pthread_mutex_unlock(&w->lock);
  if (made) return 0;
  CUresult result = w->cuda.cuMemHostAlloc(&words, GPU_WORDS * sizeof(gpu_word),
                                           CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  if (result) return gpu_fail_cuda(w, "cuMemHostAlloc", result, "allocate pinned memory");
  result = w->cuda.cuMemHostGetDevicePointer(&there, words, 0);
  if (result) {
    w->cuda.cuMemFreeHost(words);
    return gpu_fail_cuda(w, "cuMemHostGetDevicePointer", result, "map pinned memory on device %d",
                         device);
  }
  for (int i = 0; i < GPU_WORDS; i++) ((gpu_word *)words)[i].value = 0;
  pthread_mutex_lock(&w->lock);
  const bool late = c->words != NULL; /* another thread was faster */
  if (!late) {
    c->words = words;
    c->words_there = there;
  }
  pthread_mutex_unlock(&w->lock);
  if (late) w->cuda.cuMemFreeHost(words);
  return 0;
}

/* Finds a free word and marks it as used. Returns the index of the word, or -1 if all words are in use. */
static int word_take(gpu_world *w, gpu_context *c) {
  int found = -1;
  pthread_mutex_lock(&w->lock);
  for (int i = 0; i < GPU_WORDS && found < 0 && c->words && !c->no_waits; i++)
    if (!c->busy[i]) found = i;
  if (found >= 0) c->busy[found] = 1;
  pthread_mutex_unlock(&w->lock);
  return found;
}

static void word_give(gpu_world *w, gpu_context *c, int word) {
  pthread_mutex_lock(&w->lock);
  c->busy[word] = 0;
  pthread_mutex_unlock(&w->lock);
}

static void drop(gpu_hold *hold) {
  if (__atomic_sub_fetch(&hold->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
  pthread_mutex_destroy(&hold->lock);
  pthread_cond_destroy(&hold->released);
  free(hold);
}

/* Runs in stream order, in a thread of the driver. */
static void sleep_here(void *data) {
  gpu_hold *hold = data;
  pthread_mutex_lock(&hold->lock);
  while (!hold->over) pthread_cond_wait(&hold->released, &hold->lock);
  pthread_mutex_unlock(&hold->lock);
  drop(hold);
}

static CUresult hold_by_word(gpu_hold *hold, CUstream stream) {
  gpu_world *w = hold->world;
  gpu_context *c = hold->context;
  hold->word = word_take(w, c);
  if (hold->word < 0) return CUDA_ERROR_NOT_SUPPORTED;
  hold->value = c->words[hold->word].value + 1;
  const CUdeviceptr at = c->words_there + (CUdeviceptr)hold->word * sizeof(gpu_word);
  const CUresult result =
      w->cuda.cuStreamWaitValue32(stream, at, hold->value, CU_STREAM_WAIT_VALUE_GEQ);
  if (!result) return CUDA_SUCCESS;
  word_give(w, c, hold->word);
  hold->word = -1;
  if (result == CUDA_ERROR_NOT_SUPPORTED) {
    pthread_mutex_lock(&w->lock);
    c->no_waits = true;
    pthread_mutex_unlock(&w->lock);
  }
  return result;
}

static int hold_by_sleep(gpu_hold *hold, CUstream stream) {
  hold->refs = 2;
  const CUresult result = hold->world->cuda.cuLaunchHostFunc(stream, sleep_here, hold);
  if (!result) return 0;
  hold->refs = 1;
  return gpu_fail_cuda(hold->world, "cuLaunchHostFunc", result, "hold the stream %p",
                       (void *)stream);
}

static int hold_by_any(gpu_hold *hold, CUstream stream) {
  const CUresult result = hold_by_word(hold, stream);
  if (!result) return 0;
  if (result == CUDA_ERROR_NOT_SUPPORTED) return hold_by_sleep(hold, stream);
  return gpu_fail_cuda(hold->world, "cuStreamWaitValue32", result, "hold the stream %p",
                       (void *)stream);
}

int gpu_hold_stream(void *lane, void *stream, void **hold) {
  gpu_lane *l = lane;
  gpu_hold *h = malloc(sizeof *h);
  bool pushed;
  *hold = NULL;
  if (!h) return gpu_fail("out of memory");
  *h = (gpu_hold){
      .world = l->world, .context = &l->world->contexts[l->device], .word = -1, .refs = 1};
  pthread_mutex_init(&h->lock, NULL);
  pthread_cond_init(&h->released, NULL);
  int failed = gpu_enter(l->world, l->device, &pushed);
  if (!failed) {
    failed = hold_by_any(h, stream);
    if (!failed) gpu_watch(l->world, h); /* first, because the driver may block this thread */
    gpu_leave(l->world, pushed);
  }
  if (failed) {
    drop(h);
    return failed;
  }
  *hold = h;
  return 0;
}

void gpu_let_go(gpu_hold *h) {
  if (h->word >= 0) {
    __atomic_store_n(&h->context->words[h->word].value, h->value, __ATOMIC_RELEASE);
    return;
  }
  pthread_mutex_lock(&h->lock);
  h->over = true;
  pthread_cond_signal(&h->released);
  pthread_mutex_unlock(&h->lock);
}

int gpu_release(void *lane, void *hold) {
  gpu_hold *h = hold;
  (void)lane;
  const int failed = gpu_unwatch(h->world, h);
  gpu_let_go(h);
  if (h->word >= 0) word_give(h->world, h->context, h->word);
  drop(h);
  return failed;
}
