/* cuda_load.c - finds the driver's functions in libcuda.so.1.
 *
 * Idea       The library is part of the driver, so it is loaded at run time: TUTTI_CUDA_LIBRARY, or
 *            libcuda.so.1. If the program has already loaded it, dlopen returns the same library.
 * Invariant  Loading does not start the driver. Only the program calls cuInit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

int gpu_load(cuda_calls *cuda, char *why, size_t size) {
  const char *path = secure_getenv("TUTTI_CUDA_LIBRARY");
  if (!path || !*path) path = "libcuda.so.1";
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol;
  if (!library) {
    const char *said = dlerror();
    snprintf(why, size, "the library of the GPU's driver cannot be loaded: %s", said ? said : path);
    return 1;
  }
#define CUDA_CALL(name, exported, parameters)                                            \
  symbol = dlsym(library, #exported);                                                    \
  if (!symbol) {                                                                         \
    snprintf(why, size, "%s lacks %s: tutti needs a driver of CUDA 11.7 or later", path, \
             #exported);                                                                 \
    return 1;                                                                            \
  }                                                                                      \
  memcpy(&cuda->name, &symbol, sizeof symbol);
#include "cuda_calls.def"
#undef CUDA_CALL
  return 0;
}
