/* queues.c - implements lanes: two queues on tutti's streams, and tickets that show their progress.
 *
 * Idea       A queue is a stream with the highest priority that is not synchronized implicitly with
 *            others (CU_STREAM_NON_BLOCKING). Streams of different priorities do not share the driver's
 *            hardware queues, so a stream of the program that waits for a word (hold.c) does not block
 *            the copies that precede the release of the word. A ticket is an event in a ring. If the
 *            ring has been reused, the event belongs to a later ticket, which is only reached later.
 * Invariant  Tickets of a queue are reached in the order of issue.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "gpu.h"

static void queue_close(gpu_lane *lane, gpu_queue *queue) {
  const cuda_calls *cuda = &lane->world->cuda;
  if (queue->stream) cuda->cuStreamSynchronize(queue->stream);
  for (int i = 0; i < GPU_EVENTS; i++)
    if (queue->events[i]) cuda->cuEventDestroy(queue->events[i]);
  if (queue->stream) cuda->cuStreamDestroy(queue->stream);
}

static void lane_free(gpu_lane *lane) {
  queue_close(lane, &lane->queues[TUTTI_DEVICE_IN]);
  queue_close(lane, &lane->queues[TUTTI_DEVICE_OUT]);
  if (lane->after) lane->world->cuda.cuEventDestroy(lane->after);
  free(lane);
}

static int event_make(gpu_lane *lane, CUevent *event) {
  const CUresult result = lane->world->cuda.cuEventCreate(event, CU_EVENT_DISABLE_TIMING);
  return result ? gpu_fail_cuda(lane->world, "cuEventCreate", result, "make an event on device %d",
                                lane->device)
                : 0;
}

static int queue_open(gpu_lane *lane, gpu_queue *queue, int priority) {
  const CUresult result = lane->world->cuda.cuStreamCreateWithPriority(
      &queue->stream, CU_STREAM_NON_BLOCKING, priority);
  if (result)
    return gpu_fail_cuda(lane->world, "cuStreamCreateWithPriority", result,
                         "make a stream on device %d", lane->device);
  for (int i = 0; i < GPU_EVENTS; i++)
    if (event_make(lane, &queue->events[i])) return -1;
  return 0;
}

static int lane_open(gpu_lane *lane) {
  gpu_world *w = lane->world;
  int least = 0, greatest = 0;
  if (gpu_words_make(w, lane->device) || gpu_kernels_load(w, lane->device) || gpu_watcher_start(w))
    return -1;
  const CUresult result = w->cuda.cuCtxGetStreamPriorityRange(&least, &greatest);
  if (result)
    return gpu_fail_cuda(w, "cuCtxGetStreamPriorityRange", result,
                         "ask for priorities on device %d", lane->device);
  if (queue_open(lane, &lane->queues[TUTTI_DEVICE_IN], greatest) ||
      queue_open(lane, &lane->queues[TUTTI_DEVICE_OUT], greatest))
    return -1;
  return event_make(lane, &lane->after);
}

int gpu_open(void *self, int device, void **lane) {
  bool pushed;
  gpu_lane *l = calloc(1, sizeof *l);
  *lane = NULL;
  if (!l) return gpu_fail("out of memory");
  l->world = self;
  l->device = device;
  if (gpu_enter(self, device, &pushed)) {
    free(l);
    return -1;
  }
  const int failed = lane_open(l);
  if (failed)
    lane_free(l);
  else
    *lane = l;
  gpu_leave(self, pushed);
  return failed;
}

void gpu_close(void *lane) {
  gpu_lane *l = lane;
  gpu_world *w = l->world;
  bool pushed;
  if (gpu_enter(w, l->device, &pushed)) {
    free(l);
    return;
  }
  lane_free(l);
  gpu_leave(w, pushed);
}

static int follow(gpu_lane *lane, CUstream stream) {
  const gpu_world *w = lane->world;
  CUresult result = w->cuda.cuEventRecord(lane->after, stream);
  if (result)
    return gpu_fail_cuda(w, "cuEventRecord", result, "mark the stream %p", (void *)stream);
  for (int way = 0; way < 2; way++)
    if ((result = w->cuda.cuStreamWaitEvent(lane->queues[way].stream, lane->after, 0)))
      return gpu_fail_cuda(w, "cuStreamWaitEvent", result, "wait for the stream %p",
                           (void *)stream);
  return 0;
}

int gpu_after(void *lane, void *stream) {
  gpu_lane *l = lane;
  bool pushed;
  if (gpu_enter(l->world, l->device, &pushed)) return -1;
  const int failed = follow(l, stream);
  gpu_leave(l->world, pushed);
  return failed;
}

int gpu_copy(void *lane, tutti_device_way way, void *to, const void *from, size_t bytes) {
  const gpu_lane *l = lane;
  const cuda_calls *cuda = &l->world->cuda;
  CUstream stream = l->queues[way].stream;
  bool pushed;
  CUresult result;
  if (!bytes) return 0;
  if (gpu_enter(l->world, l->device, &pushed)) return -1;
  if (way == TUTTI_DEVICE_IN)
    result = cuda->cuMemcpyDtoHAsync(to, (CUdeviceptr)(uintptr_t)from, bytes, stream);
  else
    result = cuda->cuMemcpyHtoDAsync((CUdeviceptr)(uintptr_t)to, from, bytes, stream);
  gpu_leave(l->world, pushed);
  if (!result) return 0;
  return gpu_fail_cuda(l->world, way == TUTTI_DEVICE_IN ? "cuMemcpyDtoHAsync" : "cuMemcpyHtoDAsync",
                       result, "copy %zu bytes from %p to %p", bytes, from, to);
}

int gpu_mark(void *lane, tutti_device_way way, unsigned long long *ticket) {
  gpu_lane *l = lane;
  gpu_queue *queue = &l->queues[way];
  bool pushed;
  if (gpu_enter(l->world, l->device, &pushed)) return -1;
  const CUresult result =
      l->world->cuda.cuEventRecord(queue->events[(queue->given + 1) % GPU_EVENTS], queue->stream);
  gpu_leave(l->world, pushed);
  if (result)
    return gpu_fail_cuda(l->world, "cuEventRecord", result, "mark a queue of device %d", l->device);
  *ticket = ++queue->given;
  return 0;
}

int gpu_reached(void *lane, tutti_device_way way, unsigned long long ticket) {
  gpu_lane *l = lane;
  gpu_queue *queue = &l->queues[way];
  bool pushed;
  if (ticket <= queue->done) return 1;
  if (ticket > queue->given)
    return gpu_fail("no ticket %llu was given; the last one is %llu", ticket, queue->given);
  if (gpu_enter(l->world, l->device, &pushed)) return -1;
  /* The last ticket for which this event was recorded. It is the requested ticket or a later one. */
  const unsigned long long latest = queue->given - (queue->given - ticket) % GPU_EVENTS;
  const CUresult result = l->world->cuda.cuEventQuery(queue->events[latest % GPU_EVENTS]);
  gpu_leave(l->world, pushed);
  if (result == CUDA_ERROR_NOT_READY) return 0;
  if (result)
    return gpu_fail_cuda(l->world, "cuEventQuery", result, "finish work on device %d", l->device);
  queue->done = latest;
  return 1;
}

int gpu_settle(void *self, int device, void *stream) {
  gpu_world *w = self;
  bool pushed;
  if (gpu_enter(w, device, &pushed)) return -1;
  gpu_came_back(w, 0); /* this may take long, and does not count as stuck */
  const CUresult result = w->cuda.cuStreamSynchronize(stream);
  gpu_went_in(w);
  gpu_leave(w, pushed);
  return result ? gpu_fail_cuda(w, "cuStreamSynchronize", result, "wait for the stream %p", stream)
                : 0;
}
