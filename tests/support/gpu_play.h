/* gpu_play.h - for tests: runs libtutti_cuda.so on the simulated driver, in a child process for each scene.
 *
 * Idea       a driver's settings are read once per process, and a driver that has started cannot be stopped. A scene therefore
 *            runs in a child, with its settings in the environment, and returns the number of failed checks.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef GPU_PLAY_H
#define GPU_PLAY_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "../../gpu/cuda_driver.h"
#include "tutti_device.h"

typedef struct gpu_driver {
#define CUDA_CALL(name, symbol, parameters) CUresult(*name) parameters;
#include "../../gpu/cuda_calls.def"
#undef CUDA_CALL
} gpu_driver;

/* Valid only inside a scene. */
extern gpu_driver cu;
extern tutti_device gpu;
extern int gpu_failures;

#define CHECK(condition)                                                    \
  do {                                                                      \
    if (condition) break;                                                   \
    fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
    gpu_failures++;                                                         \
  } while (0)
/* Calls a function of the table that must succeed. */
#define WORKS(call)                                                                     \
  do {                                                                                  \
    if ((call) == 0) break;                                                             \
    fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, gpu.error(gpu.self)); \
    gpu_failures++;                                                                     \
  } while (0)
/* Makes a call that must fail with these words in its error message. */
#define FAILS(call, words)                                                                  \
  do {                                                                                      \
    if ((call) != 0 && strstr(gpu.error(gpu.self), words)) break;                           \
    fprintf(stderr, "%s:%d: %s: expected '%s' in '%s'\n", __FILE__, __LINE__, #call, words, \
            gpu.error(gpu.self));                                                           \
    gpu_failures++;                                                                         \
  } while (0)

typedef void gpu_scene(void);

/* Returns the folder of the programs and libraries. */
const char *gpu_build(void);
/* Returns true if the driver is available: the simulated one, or the one that TUTTI_CUDA_LIBRARY names. */
bool gpu_there(void);
bool gpu_simulated(void);
/* Runs a scene. `settings` are "NAME=VALUE", separated by spaces, or NULL. Returns the number of failures, or 1000 +
 * the signal that ended the scene. */
int gpu_run(gpu_scene *scene, const char *settings);

typedef struct gpu_case {
  gpu_scene *scene;
  const char *settings;
} gpu_case;
/* A scene as a row of cmocka's table. Include cmocka.h before this file, and write GPU_TEST_CASE once. */
#define GPU_CASE(name, scene, settings)                          \
  {                                                              \
    name, gpu_test_case, NULL, NULL, (void *)&(const gpu_case) { \
      scene, settings                                            \
    }                                                            \
  }
#define GPU_TEST_CASE                                        \
  static void gpu_test_case(void **state) {                  \
    const gpu_case *row = *state;                            \
    if (!gpu_there()) skip();                                \
    assert_int_equal(gpu_run(row->scene, row->settings), 0); \
  }

/* gpu_start runs a scene in a child; gpu_wait returns its result. */
pid_t gpu_start(gpu_scene *scene, const char *settings);
int gpu_wait(pid_t child);

/* ---- inside a scene ---- */

/* Calls cuInit, and makes the primary context of device 0 current. */
void gpu_begin(void);
CUdeviceptr gpu_alloc(size_t bytes);
static inline void *gpu_pointer(CUdeviceptr at) {
  return (void *)(uintptr_t)at;
}
/* Waits for a ticket. Returns false if the device failed. */
bool gpu_await(void *lane, tutti_device_way way, unsigned long long ticket);
/* Waits until all work of the lane is complete. */
void gpu_drain(void *lane);

#endif
