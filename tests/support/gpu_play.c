/* gpu_play.c - see gpu_play.h. SPDX-License-Identifier: BSD-3-Clause */
#include "gpu_play.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seconds.h"

gpu_driver cu;
tutti_device gpu;
int gpu_failures;

const char *gpu_build(void) {
  const char *build = getenv("BUILD");
  return build && *build ? build : "build";
}

/* Returns the name of a real driver's library, or NULL for the simulated one. */
static const char *real(void) {
  const char *name = getenv("TUTTI_CUDA_LIBRARY");
  return name && *name ? name : NULL;
}

bool gpu_simulated(void) {
  return !real();
}

static void driver_path(char *path, size_t size) {
  if (real())
    snprintf(path, size, "%s", real());
  else
    snprintf(path, size, "%s/tests/libcuda_sim.so", gpu_build());
}

bool gpu_there(void) {
  char path[300];
  driver_path(path, sizeof path);
  return real() || access(path, R_OK) == 0;
}

static void *open_library(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library) return library;
  fprintf(stderr, "%s: %s\n", path, dlerror());
  exit(99);
}

static void load(void) {
  char path[300], why[300] = "";
  driver_path(path, sizeof path);
  setenv("TUTTI_CUDA_LIBRARY", path, 1);
  void *driver = open_library(path), *symbol;
#define CUDA_CALL(name, exported, parameters) \
  symbol = dlsym(driver, #exported);          \
  memcpy(&cu.name, &symbol, sizeof symbol);
#include "../../gpu/cuda_calls.def"
#undef CUDA_CALL
  snprintf(path, sizeof path, "%s/libtutti_cuda.so", gpu_build());
  int (*device_of)(tutti_device * device, char *text, size_t size);
  symbol = dlsym(open_library(path), "tutti_device_of");
  memcpy(&device_of, &symbol, sizeof device_of);
  if (device_of(&gpu, why, sizeof why)) {
    fprintf(stderr, "no device: %s\n", why);
    exit(98);
  }
}

pid_t gpu_start(gpu_scene *scene, const char *settings) {
  fflush(NULL);
  const pid_t child = fork();
  if (child) return child;
  char text[300], *save = NULL;
  snprintf(text, sizeof text, "%s", settings ? settings : "");
  for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
    char *value = strchr(word, '=');
    *value = 0;
    setenv(word, value + 1, 1);
  }
  end_after(60);
  load();
  scene();
  exit(gpu_failures > 90 ? 90 : gpu_failures);
}

int gpu_wait(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return 1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int gpu_run(gpu_scene *scene, const char *settings) {
  return gpu_wait(gpu_start(scene, settings));
}

void gpu_begin(void) {
  CUcontext context = NULL;
  CHECK(!cu.cuInit(0));
  CHECK(!cu.cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(!cu.cuCtxSetCurrent(context));
}

CUdeviceptr gpu_alloc(size_t bytes) {
  CUdeviceptr at = 0;
  CHECK(!cu.cuMemAlloc(&at, bytes));
  return at;
}

bool gpu_await(void *lane, tutti_device_way way, unsigned long long ticket) {
  int reached;
  while ((reached = gpu.reached(lane, way, ticket)) == 0) sched_yield();
  return reached > 0;
}

void gpu_drain(void *lane) {
  unsigned long long ticket;
  for (int way = 0; way < 2; way++)
    if (!gpu.mark(lane, (tutti_device_way)way, &ticket))
      gpu_await(lane, (tutti_device_way)way, ticket);
}
