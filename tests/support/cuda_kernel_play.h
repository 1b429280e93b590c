/* cuda_kernel_play.h - for tests: runs a kernel with a single instruction on the simulated driver,
 * and provides edge values for it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CUDA_KERNEL_PLAY_H
#define CUDA_KERNEL_PLAY_H

#include <math.h>
#include <stdint.h>

#include "cuda_play.h"

/* ---- a kernel with one instruction: result[i] = left[i] op right[i], in slots of 8 bytes ---- */

enum { MOST = 1 << 16 };
static uint64_t left[MOST], right[MOST], result[MOST];
static CUdeviceptr there[3];

static inline CUresult load_kernel(const char *lines, int in, int out, CUfunction *kernel,
                                   CUmodule *module) {
  char text[2048];
  snprintf(text, sizeof text,
           ".version 6.5\n.target sm_70\n.address_size 64\n"
           ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 d, .param .u32 n)\n{\n"
           ".reg .b64 %%x<8>;\n.reg .b32 %%i<8>, %%s;\n.reg .pred %%p<4>;\n.reg .b%d %%a, "
           "%%b;\n.reg .b%d %%d;\n"
           "mov.u32 %%i0, %%tid.x;\nmov.u32 %%i1, %%ctaid.x;\nmov.u32 %%i2, %%ntid.x;\n"
           "mad.lo.u32 %%i3, %%i1, %%i2, %%i0;\nld.param.u32 %%i4, [n];\n"
           "setp.ge.u32 %%p0, %%i3, %%i4;\n@%%p0 bra end;\nmul.wide.u32 %%x3, %%i3, 8;\n"
           "ld.param.u64 %%x0, [a];\nadd.u64 %%x0, %%x0, %%x3;\nld.global.b%d %%a, [%%x0];\n"
           "ld.param.u64 %%x1, [b];\nadd.u64 %%x1, %%x1, %%x3;\nld.global.b%d %%b, [%%x1];\n"
           "ld.global.b32 %%s, [%%x1];\n%s\n"
           "ld.param.u64 %%x2, [d];\nadd.u64 %%x2, %%x2, %%x3;\nst.global.b%d [%%x2], "
           "%%d;\nend:\nret;\n}\n",
           in, out, in, in, lines, out);
  const CUresult failed = cu.cuModuleLoadData(module, text);
  return failed ? failed : cu.cuModuleGetFunction(kernel, *module, "k");
}

static inline void run_kernel(const char *lines, int in, int out, unsigned n) {
  CUfunction kernel;
  CUmodule module;
  void *parameters[] = {&there[0], &there[1], &there[2], &n};
  memset(result, 0, n * sizeof *result);
  GOOD(load_kernel(lines, in, out, &kernel, &module));
  GOOD(cu.cuMemcpyHtoD(there[0], left, n * sizeof *left));
  GOOD(cu.cuMemcpyHtoD(there[1], right, n * sizeof *right));
  GOOD(cu.cuMemcpyHtoD(there[2], result, n * sizeof *result));
  GOOD(cu.cuLaunchKernel(kernel, n / 64 + 1, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL));
  GOOD(cu.cuMemcpyDtoH(result, there[2], n * sizeof *result));
  GOOD(cu.cuModuleUnload(module));
}

static inline void start(void) {
  cuda_start(0);
  for (int i = 0; i < 3; i++) GOOD(cu.cuMemAlloc(&there[i], sizeof left));
}

/* ---- edge values ---- */

static const uint64_t EDGES[] = {
    0,
    1,
    2,
    3,
    7,
    8,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x10000,
    0x7fffffff,
    0x80000000,
    0xffffffff,
    0x100000000,
    0x7fffffffffffffff,
    0x8000000000000000,
    0xffffffffffffffff,
    0xfffffffffffffff8,
    0x123456789abcdef0,
    /* 32-bit floats: ones, halves, largest, smallest, infinities, NaNs, limits of integers and halves */
    0x3f800000,
    0xbf800000,
    0x3f000000,
    0x3fc00000,
    0xc0200000,
    0x7f7fffff,
    0x00800000,
    0x007fffff,
    0x7f800000,
    0xff800000,
    0x7fc00000,
    0xffc00001,
    0x7f800001,
    0x4f000000,
    0x4effffff,
    0xcf000000,
    0x4f800000,
    0x5f000000,
    0x5f800000,
    0x477fe000,
    0x477fefff,
    0x477ff000,
    0x33000000,
    0x33000001,
    0x33800000,
    0x3f801000,
    0x3f803000,
    0x437f8000,
    0x3effffff,
    /* 64-bit floats */
    0x3ff0000000000000,
    0xbff8000000000000,
    0x4004000000000000,
    0x7fefffffffffffff,
    0x000fffffffffffff,
    0x7ff0000000000000,
    0xfff0000000000000,
    0x7ff8000000000000,
    0xfff0000000000001,
    0x41dfffffffc00000,
    0x41e0000000000000,
    0x43e0000000000000,
    0x43dfffffffffffff,
    0x43f0000000000000,
    0xc3e0000000000000,
    0x47efffffe0000000,
    0x47effffff0000000,
    0x36a0000000000000,
    0x3690000000000001,
    0x3ff0000010000000,
    0x3ff0000030000000,
    0x40effc0000000000,
    0x40effe0000000000,
};
enum { NEDGES = sizeof EDGES / sizeof *EDGES };

/* Fills in all pairs of edge values, and the same number of random pairs. */
static inline unsigned fill_pairs(void) {
  uint64_t random = 1;
  unsigned n = 0;
  for (int i = 0; i < NEDGES; i++)
    for (int j = 0; j < NEDGES; j++) left[n] = EDGES[i], right[n++] = EDGES[j];
  for (const unsigned all = 2 * n; n < all; n++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    left[n] = random ^ random >> 29;
    random = random * 6364136223846793005u + 1442695040888963407u;
    right[n] = random ^ random >> 31;
  }
  return n;
}

static inline uint64_t cut_to(uint64_t x, int bits) {
  return bits == 64 ? x : x & ((1ull << bits) - 1);
}

/* ---- floats and their bits; any NaN has the bits of the device's NaN ---- */

#define REAL(T, U, nan_bits)                \
  static inline T T##_of(uint64_t bits) {   \
    const U u = (U)bits;                    \
    T x;                                    \
    memcpy(&x, &u, sizeof x);               \
    return x;                               \
  }                                         \
  static inline uint64_t bits_of_##T(T x) { \
    U u;                                    \
    memcpy(&u, &x, sizeof u);               \
    return isnan(x) ? (U)nan_bits : u;      \
  }
REAL(float, uint32_t, 0x7fffffff)
REAL(double, uint64_t, 0x7fffffffffffffff)
#endif
