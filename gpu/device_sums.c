/* device_sums.c - sums vectors on the device, with the kernels of ptx.c.
 *
 * Idea       One kernel sums all operands of an element in order, and writes the result to all
 *            destinations, so each vector is read or written once. If all addresses have the same
 *            offset within a line of 16 bytes, all but the first and last elements are accessed as
 *            such lines.
 * Cost       A launch of about 5 us, and n + nto times the bytes of a vector at the rate of the
 *            memory.
 * Invariant  An element is read and written by one thread, so a destination may be an operand. The
 *            driver compiles kernels in `sums`, or when a lane is opened. `sum` compiles only
 *            kernels that were not requested before.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "gpu.h"

enum {
  LINE = 16,
  THREADS = 256,
  BLOCKS = 8
}; /* LINE in bytes; threads per block; blocks per multiprocessor */

/* Complex numbers are added as twice as many real numbers. */
static tutti_type reals_of(tutti_type type, tutti_op op, size_t *count) {
  const bool adds = op == TUTTI_SUM || op == TUTTI_AVG;
  if (!adds || (type != TUTTI_COMPLEX_FLOAT && type != TUTTI_COMPLEX_DOUBLE)) return type;
  *count *= 2;
  return type == TUTTI_COMPLEX_FLOAT ? TUTTI_FLOAT : TUTTI_DOUBLE;
}

static int functions_find(gpu_world *w, gpu_kernels *k, CUmodule module) {
  char entry[16] = "sum";
  int registers;
  for (int n = 1; n <= GPU_UNROLLED; n++) {
    if (n > 1) snprintf(entry, sizeof entry, "sum%d", n);
    CUfunction *function = &k->of[n == 1 ? 0 : n];
    CUresult result = w->cuda.cuModuleGetFunction(function, module, entry);
    if (result) return gpu_fail_cuda(w, "cuModuleGetFunction", result, "find the kernel %s", entry);
    /* This query makes the driver load the kernel now. Otherwise the driver would load the kernel at its first
     * launch, and might block at that time. */
    result = w->cuda.cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, *function);
    if (result) return gpu_fail_cuda(w, "cuFuncGetAttribute", result, "load the kernel %s", entry);
  }
  return 0;
}

/* Loads the kernels for this type and op into the current context. The caller must hold the lock. */
static int kernels_make(gpu_world *w, gpu_kernels *k, tutti_type type, tutti_op op) {
  CUmodule module = NULL;
  char *text = gpu_ptx(type, op);
  if (!text) return gpu_fail("out of memory");
  const CUresult result = w->cuda.cuModuleLoadData(&module, text);
  free(text);
  if (result)
    return gpu_fail_cuda(w, "cuModuleLoadData", result, "compile the kernels of %s", "a sum");
  if (functions_find(w, k, module)) {
    w->cuda.cuModuleUnload(module);
    return -1;
  }
  __atomic_store_n(&k->module, module, __ATOMIC_RELEASE);
  return 0;
}

static int kernels_get(gpu_world *w, int device, tutti_type type, tutti_op op) {
  gpu_kernels *k = &w->contexts[device].kernels[type][op];
  if (__atomic_load_n(&k->module, __ATOMIC_ACQUIRE)) return 0;
  pthread_mutex_lock(&w->kernels_lock);
  const int failed = k->module ? 0 : kernels_make(w, k, type, op);
  pthread_mutex_unlock(&w->kernels_lock);
  return failed;
}

int gpu_kernels_load(gpu_world *w, int device) {
  for (int type = 0; type < TUTTI_TYPE_COUNT; type++)
    for (int op = 0; op < TUTTI_OP_COUNT; op++)
      if (__atomic_load_n(&w->asked[type][op], __ATOMIC_RELAXED) &&
          kernels_get(w, device, (tutti_type)type, (tutti_op)op))
        return -1;
  return 0;
}

/* Returns true if the device has or had a lane. */
static bool in_use(gpu_world *w, int device) {
  pthread_mutex_lock(&w->lock);
  const bool used = w->contexts[device].words != NULL;
  pthread_mutex_unlock(&w->lock);
  return used;
}

int gpu_sums(void *self, tutti_type type, tutti_op op) {
  gpu_world *w = self;
  size_t count = 0;
  bool pushed;
  if ((unsigned)type >= TUTTI_TYPE_COUNT || (unsigned)op >= TUTTI_OP_COUNT) return 0;
  type = reals_of(type, op, &count);
  if (!gpu_ptx_has(type, op)) return 0;
  __atomic_store_n(&w->asked[type][op], true, __ATOMIC_RELAXED);
  for (int device = 0; device < GPU_DEVICES; device++) {
    if (!in_use(w, device)) continue;
    if (gpu_enter(w, device, &pushed)) return 0;
    const int failed = kernels_get(w, device, type, op);
    gpu_leave(w, pushed);
    if (failed) return 0;
  }
  return 1;
}

static void put_addresses(uint64_t *at, const void *const *vectors, int n, size_t size,
                          uint64_t *line, bool *alike, bool *aligned) {
  for (int i = 0; i < n; i++) {
    at[i] = (uint64_t)(uintptr_t)vectors[i];
    if (*line == UINT64_MAX) *line = at[i] % LINE;
    *alike &= at[i] % LINE == *line;
    *aligned &= at[i] % size == 0;
  }
}

/* Returns 0, or 1 if an address is not aligned for the type. */
static int parameters_set(gpu_parameters *p, void *const *to, int nto, const void *const *from,
                          int n, size_t count, size_t size) {
  uint64_t line = UINT64_MAX;
  bool alike = true, aligned = true;
  *p = (gpu_parameters){.n = (uint32_t)n, .nto = (uint32_t)nto, .edge = count, .head = count};
  put_addresses(p->from, from, n, size, &line, &alike, &aligned);
  put_addresses(p->to, (const void *const *)to, nto, size, &line, &alike, &aligned);
  if (!aligned) return 1;
  if (!alike) return 0;
  const uint64_t before = (LINE - line) % LINE / size;
  if (before >= count) return 0;
  p->head = before;
  p->vectors = (count - before) * size / LINE;
  p->skip = p->vectors * LINE / size;
  p->edge = count - p->skip;
  return 0;
}

static int launch(gpu_lane *lane, tutti_type type, tutti_op op, gpu_parameters *p) {
  gpu_world *w = lane->world;
  gpu_context *c = &w->contexts[lane->device];
  if (kernels_get(w, lane->device, type, op)) return -1;
  const uint64_t work = p->vectors > p->edge ? p->vectors : p->edge;
  const uint64_t wanted = (work + THREADS - 1) / THREADS, most = (uint64_t)c->processors * BLOCKS;
  CUfunction function = c->kernels[type][op].of[p->n <= GPU_UNROLLED ? p->n : 0];
  void *parameters[] = {p};
  const CUresult result =
      w->cuda.cuLaunchKernel(function, (unsigned)(wanted < most ? wanted : most), 1, 1, THREADS, 1,
                             1, 0, lane->queues[TUTTI_DEVICE_OUT].stream, parameters, NULL);
  return result ? gpu_fail_cuda(w, "cuLaunchKernel", result, "sum on device %d", lane->device) : 0;
}

int gpu_sum(void *lane, void *const *to, int nto, const void *const *from, int n, size_t count,
            tutti_type type, tutti_op op) {
  gpu_lane *l = lane;
  gpu_parameters p;
  bool pushed;
  if (n < 2 || n > GPU_OPERANDS || nto < 1 || nto > GPU_OPERANDS)
    return gpu_fail("a sum of %d vectors to %d: from 2 to %d, and from 1 to %d", n, nto,
                    GPU_OPERANDS, GPU_OPERANDS);
  if ((unsigned)type >= TUTTI_TYPE_COUNT || (unsigned)op >= TUTTI_OP_COUNT)
    return gpu_fail("no such type or op");
  if (!count) return 0;
  type = reals_of(type, op, &count);
  if (!gpu_ptx_has(type, op)) return gpu_fail("no kernel sums this type by this op");
  if (parameters_set(&p, to, nto, from, n, count, gpu_ptx_size(type)))
    return gpu_fail("a vector of the sum is not aligned as its type");
  if (gpu_enter(l->world, l->device, &pushed)) return -1;
  const int failed = launch(l, type, op, &p);
  gpu_leave(l->world, pushed);
  return failed;
}
