/* cuda_play.h - for tests: runs the simulated driver (tests/gpu/cusim.h) in child processes.
 *
 * Idea       The driver reads its settings once, and a context may become unusable. Each case therefore runs in a child, which
 *            loads the driver. The test checks the child's exit status and the driver's messages on stderr.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CUDA_PLAY_H
#define CUDA_PLAY_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../gpu/cuda_driver.h"

/* All functions of the driver, by name. */
typedef struct cuda_driver {
#define CUDA_CALL(name, symbol, parameters) CUresult(*name) parameters;
#include "../../gpu/cuda_calls.def"
#undef CUDA_CALL
} cuda_driver;
static cuda_driver cu;

/* Ends the child if the condition is false. */
#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      _exit(1);                                                                 \
    }                                                                           \
  } while (0)
#define RETURNS(error, call)                                                                   \
  do {                                                                                         \
    const CUresult returned_ = (call);                                                         \
    if (returned_ != (error)) {                                                                \
      fprintf(stderr, "%s:%d: %s returned %d, not %d\n", __FILE__, __LINE__, #call, returned_, \
              (int)(error));                                                                   \
      _exit(1);                                                                                \
    }                                                                                          \
  } while (0)
#define GOOD(call) RETURNS(CUDA_SUCCESS, call)

static inline void cuda_load(void) {
  char path[512];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
  CHECK(n > 0);
  path[n] = 0;
  strcpy(strrchr(path, '/'), "/libcuda_sim.so");
  void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!lib) fprintf(stderr, "%s\n", dlerror());
  CHECK(lib);
#define CUDA_CALL(name, symbol, parameters) \
  *(void **)&cu.name = dlsym(lib, #symbol); \
  CHECK(cu.name);
#include "../../gpu/cuda_calls.def"
#undef CUDA_CALL
}

/* Starts the driver, and makes the context of this device current. */
static inline CUcontext cuda_start(int device) {
  CUcontext ctx;
  GOOD(cu.cuInit(0));
  GOOD(cu.cuDevicePrimaryCtxRetain(&ctx, device));
  GOOD(cu.cuCtxSetCurrent(ctx));
  return ctx;
}

/* Sets variables, given as "A=1 B=2". */
static inline void cuda_set(const char *settings) {
  char copy[512], *rest = copy;
  snprintf(copy, sizeof copy, "%s", settings ? settings : "");
  for (char *word; (word = strtok_r(rest, " ", &rest));) {
    char *equals = strchr(word, '=');
    *equals = 0;
    setenv(word, equals + 1, 1);
  }
}

static char cuda_said[8192]; /* stderr of the last child */

/* Runs fn in a child. Returns its wait status, which is 0 if all checks passed. */
static inline int cuda_child(void (*fn)(const void *), const void *about, const char *settings) {
  int pipes[2], status = -1;
  size_t n = 0;
  fflush(stdout);
  if (pipe(pipes)) return -1;
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipes[1], STDERR_FILENO);
    close(pipes[0]);
    close(pipes[1]);
    cuda_set(settings);
    cuda_load();
    fn(about);
    exit(0);
  }
  close(pipes[1]);
  for (;;) { /* excess output is discarded */
    static char excess[4096];
    const bool full = n == sizeof cuda_said - 1;
    const ssize_t got = read(pipes[0], full ? excess : cuda_said + n,
                             full ? sizeof excess : sizeof cuda_said - 1 - n);
    if (got <= 0) break;
    if (!full) n += (size_t)got;
  }
  cuda_said[n] = 0;
  close(pipes[0]);
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return status;
}

/* As above, but prints the child's output if a check failed. Returns true if all passed. */
static inline bool cuda_satisfied(void (*fn)(const void *), const void *about,
                                  const char *settings) {
  const int status = cuda_child(fn, about, settings);
  if (status) printf("# status %#x: %s\n", status, cuda_said);
  return status == 0;
}

#endif
