/* Kernels on the simulated driver: PTX that an assembler would refuse is refused, with its line; which bytes a
 * kernel may access; the order of its threads.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the first three headers above */
#include <cmocka.h>

#include "cuda_play.h"

#define HEAD  ".version 6.5\n.target sm_70\n.address_size 64\n"
#define ENTRY HEAD ".visible .entry k(.param .u64 at, .param .align 8 .b8 list[24])\n{\n"
#define REGISTERS                                                                      \
  ".reg .b16 %h<4>;\n.reg .b32 %r<4>;\n.reg .b64 %d<4>;\n.reg .f32 %f<4>;\n.reg .f64 " \
  "%g<4>;\n.reg .u32 %u<2>;\n"                                                         \
  ".reg .s64 %s<2>;\n.reg .pred %p<4>;\n.local .align 16 .b8 room[64];\n"
#define BODY ENTRY REGISTERS
#define END  "ret;\n}\n"

/* ---- what is understood, and what is refused ---- */

static const char *const LINES[] = {
    /* valid instructions, so that an invalid one is refused for its own error */
    "add.u32 %r0, %r1, -5;",
    "add.u32 %u0, %r1, %u1;",
    "add.s64 %s0, %d1, 0xffffffffffffffff;",
    "add.rn.f32 %f0, %r1, 0f3F800000; // a comment",
    "add.rn.f64 %g0, %d1, 0d3FF0000000000000; /* two\nlines */",
    "mov.u32 %r0, %nctaid.z;",
    "mov.u64 %d0, list;",
    "ld.param.u64 %d0, [at];",
    "ld.param.u64 %d0, [list+16];",
    "ld.param.v2.u32 {%r0, %r1}, [list+8];",
    "ld.global.nc.v4.f32 {%f0, %f1, %f2, %f3}, [%d0+16];",
    "ld.global.s8 %d1, [%d0-1];",
    "st.global.cs.v2.u64 [%d0], {%d1, %d2};",
    "st.global.u8 [%d0], 7;",
    "ld.local.u32 %r0, [room+4];",
    "cvt.u16.u32 %h0, %r1;",
    "cvt.f32.f16 %r0, %h1;",
    "cvt.rn.f16.f32 %h0, %f1;",
    "cvt.u8.u64 %r0, %d1;",
    "setp.nan.f32 %p0, %f0, %f1;",
    "setp.lt.and.s32 %p0|%p1, %r0, %r1, !%p2;",
    "@!%p0 bra.uni L;\nL:",
    "selp.f32 %f0, %f1, 0f00000000, %p0;",
    "shl.b64 %d0, %d1, 3;",
    "xor.pred %p0, %p1, %p2;",
    "mul.wide.s16 %r0, %h1, %h2;",
    "exit;",
    NULL,
    /* instructions that do not exist, or are not supported */
    "fma.rn.f32 %f0, %f1, %f2, %f3;",
    "bar.sync 0;",
    "add.cc.u32 %r0, %r1, %r2;",
    "frobnicate %r0;",
    "atom.global.add.u32 %r0, [%d0], 1;",
    "ld.shared.u32 %r0, [%d0];",
    "ld.u32 %r0, [%d0];",
    "cvta.global.u64 %d0, %d1;",
    ".shared .align 4 .b8 s[16];",
    /* modifiers that are required */
    "add.f32 %f0, %f1, %f2;",
    "add.rz.f32 %f0, %f1, %f2;",
    "mul.f64 %g0, %g1, %g2;",
    "div.f32 %f0, %f1, %f2;",
    "mul.u32 %r0, %r1, %r2;",
    "add %r0, %r1, %r2;",
    "cvt.f32.s32 %f0, %r1;",
    "cvt.rn.s32.f32 %r0, %f1;",
    "cvt.s32.f32 %r0, %f1;",
    "cvt.f32.f64 %f0, %g1;",
    "cvt.u32 %r0, %r1;",
    "setp.u32 %p0, %r0, %r1;",
    /* modifiers that are not allowed */
    "add.rn.u32 %r0, %r1, %r2;",
    "add.lo.u32 %r0, %r1, %r2;",
    "add.u32.u32 %r0, %r1, %r2;",
    "cvt.rn.f64.f32 %g0, %f1;",
    "cvt.rn.u32.u16 %r0, %h1;",
    "min.rn.f32 %f0, %f1, %f2;",
    "ret.u32;",
    /* types that the instruction does not accept */
    "add.b32 %r0, %r1, %r2;",
    "add.u8 %h0, %h1, %h2;",
    "and.u32 %r0, %r1, %r2;",
    "and.f32 %f0, %f1, %f2;",
    "neg.u32 %r0, %r1;",
    "abs.u64 %d0, %d1;",
    "shl.u32 %r0, %r1, 2;",
    "rem.f32 %f0, %f1, %f2;",
    "mul.wide.u64 %d0, %d1, %d2;",
    "setp.lt.b32 %p0, %r0, %r1;",
    "setp.ltu.u32 %p0, %r0, %r1;",
    "setp.lt.pred %p0, %p1, %p2;",
    "selp.pred %p0, %p1, %p2, %p3;",
    "cvt.b32.u16 %r0, %h1;",
    "cvt.rn.bf16.f32 %h0, %f1;",
    "mov.u8 %h0, %h1;",
    "ld.global.f16 %h0, [%d0];",
    /* operands of other types */
    "add.u32 %r0, %d1, %r2;",
    "add.u64 %d0, %d1, %r2;",
    "add.u16 %r0, %h1, %h2;",
    "add.u32 %f0, %r1, %r2;",
    "add.rn.f32 %u0, %f1, %f2;",
    "add.rn.f32 %f0, %f1, 1;",
    "add.rn.f64 %g0, %g1, 0f3F800000;",
    "add.rn.f32 %f0, %f1, 0f3F8;",
    "add.u32 %r0, %r1, 4294967296;",
    "add.u32 %r0, %r1, -2147483649;",
    "add.u32 %r0, %r1, 0x;",
    "and.b16 %h0, %h1, 65536;",
    "shl.b64 %d0, %d1, %d2;",
    "selp.b32 %r0, %r1, %r2, %r3;",
    "mov.pred %p0, 1;",
    "mul.wide.u32 %r0, %r1, %r2;",
    "cvt.u64.u32 %r0, %r1;",
    "cvt.f32.f16 %f0, %r1;",
    "ld.global.u64 %r0, [%d0];",
    "ld.global.f32 %d0, [%d0];",
    "ld.global.u32 %r0, [%r1];",
    "st.global.u64 [%d0], %r1;",
    "@%r0 bra L;\nL:",
    /* unknown names, and instructions in the wrong context */
    "add.u32 %r0, %r1, %r9;",
    "add.u32 %r0, %r1, %r01;",
    "add.u32 %q, %r1, %r2;",
    "add.u32 %r0, %r1, %tid.x;",
    "mov.u32 %tid.x, %r0;",
    "mov.u32 %r0, %clock;",
    "mov.u32 %r0, at;",
    "ld.param.u64 %d0, [of];",
    "ld.global.u64 %d0, [at];",
    "st.param.u64 [at], %d0;",
    "bra M;",
    "L:\nL:",
    ".reg .b32 %r<2>;",
    ".reg .b32 %r3;",
    ".reg .b8 %b0;",
    ".reg .b32 r;",
    /* too few operands, too many, or not in a list */
    "add.u32 %r0, %r1;",
    "add.u32 %r0, %r1, %r2, %r3;",
    "add.u32 %r0, %r1, %r2",
    "not.b32 %r0, %r1, %r2;",
    "setp.lt.and.u32 %p0, %r0, %r1;",
    "setp.lt.u32 %p0, %r0, %r1, %p1;",
    "ld.global.v2.u32 %r0, [%d0];",
    "ld.global.v2.u32 {%r0, %r1, %r2}, [%d0];",
    "ld.global.v4.u64 {%d0, %d1, %d2, %d3}, [%d0];",
    "ld.global.v3.u32 {%r0, %r1, %r2}, [%d0];",
    "ld.global.u32 %r0, %d0;",
    "mov.b64 %d0, {%h0, %h1};",
    "mov.b16 {%h0, %h1}, %h2;",
    "{",
};

/* Whole modules that are refused. */
static const char *const MODULES[] = {
    "",
    "ret;",
    ".version 5.0\n.target sm_70\n.address_size 64\n",
    ".version 6.5\n.target sm_80\n.address_size 64\n",
    ".version 6.5\n.target sm_70\n.address_size 32\n",
    ".version 6.5\n.address_size 64\n",
    ".target sm_70\n.version 6.5\n.address_size 64\n",
    HEAD ".entry k()\n{\nret;\n}\n",
    HEAD ".visible .func k()\n{\nret;\n}\n",
    HEAD ".visible .entry k(.param .pred p)\n{\nret;\n}\n",
    HEAD ".visible .entry k(.param .b8 p[8])\n{\nret;\n}\n",
    HEAD ".visible .entry k(.param .align 3 .b8 p[8])\n{\nret;\n}\n",
    HEAD ".visible .entry k(.param .align 8 .b8 p[5000])\n{\nret;\n}\n",
    HEAD ".visible .entry k()\n{\nret;\n",
    HEAD ".visible .entry k()\n{\nret;\n}\n}\n",
};

static CUresult load(const char *text, CUfunction *kernel) {
  CUmodule module;
  const CUresult result = cu.cuModuleLoadData(&module, text);
  if (result) return result;
  RETURNS(CUDA_ERROR_NOT_FOUND, cu.cuModuleGetFunction(kernel, module, "other"));
  return cu.cuModuleGetFunction(kernel, module, "k");
}

static void try_texts(const void *about) {
  CUfunction kernel;
  CUresult expected = CUDA_SUCCESS;
  (void)about;
  cuda_start(0);
  for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
    char text[2048];
    if (!LINES[i]) {
      expected = CUDA_ERROR_INVALID_PTX;
      continue;
    }
    snprintf(text, sizeof text, "%s%s\n%s", BODY, LINES[i], END);
    fprintf(stderr, "# %s\n", LINES[i]);
    RETURNS(expected, load(text, &kernel));
  }
  for (size_t i = 0; i < sizeof MODULES / sizeof *MODULES; i++)
    RETURNS(CUDA_ERROR_INVALID_PTX, load(MODULES[i], &kernel));
}

static void wrong_ptx_is_refused(void **state) {
  (void)state;
  assert_true(cuda_satisfied(try_texts, NULL, NULL));
}

static void name_the_line(const void *about) {
  CUfunction kernel;
  (void)about;
  cuda_start(0);
  RETURNS(CUDA_ERROR_INVALID_PTX,
          load(HEAD ".visible .entry k()\n{\n.reg .b32 %r<3>;\nadd.f32 %r0, %r1, %r2;\nret;\n}\n",
               &kernel));
}

static void the_line_is_named(void **state) {
  (void)state;
  assert_true(cuda_satisfied(name_the_line, NULL, NULL));
  assert_non_null(strstr(cuda_said, "line 7: 'add.f32' lacks a type or a word such as .rn"));
}

/* ---- launches ---- */

enum { ITEMS = 4096 };

static CUresult launch(CUfunction kernel, unsigned blocks, unsigned threads, void **parameters) {
  const CUresult result =
      cu.cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, NULL, parameters, NULL);
  return result ? result : cu.cuCtxSynchronize();
}

/* The body of a kernel, and the result of running it. */
typedef struct fate {
  const char *name, *lines;
  CUresult result;
  long offset; /* of its address from a device allocation of ITEMS bytes */
} fate;
static const fate FATES[] = {
    {"a store", "st.global.u64 [%d0], %d0;", CUDA_SUCCESS, 0},
    {"a vector", "st.global.v4.u32 [%d0], {%r0, %r1, %r2, %r3};", CUDA_SUCCESS, ITEMS - 16},
    {"a misaligned store", "st.global.u32 [%d0], %r0;", CUDA_ERROR_MISALIGNED_ADDRESS, 2},
    {"a misaligned vector", "ld.global.v2.u32 {%r0, %r1}, [%d0];", CUDA_ERROR_MISALIGNED_ADDRESS,
     4},
    {"a store behind the end", "st.global.u8 [%d0], %r0;", CUDA_ERROR_ILLEGAL_ADDRESS, ITEMS},
    {"a load before the start", "ld.global.u8 %r0, [%d0-1];", CUDA_ERROR_ILLEGAL_ADDRESS, 0},
    {"a vector across the end", "ld.global.v2.u64 {%d1, %d2}, [%d0];", CUDA_ERROR_ILLEGAL_ADDRESS,
     ITEMS},
    {"the address 0", "mov.u64 %d0, 0;\nld.global.u8 %r0, [%d0];", CUDA_ERROR_ILLEGAL_ADDRESS, 0},
    {"a parameter out of the list", "ld.param.u64 %d1, [list+24];", CUDA_ERROR_ILLEGAL_ADDRESS, 0},
    {"a local array", "st.local.u32 [room+60], %r0;", CUDA_SUCCESS, 0},
    {"behind a local array", "mov.u64 %d1, room;\nst.local.u32 [%d1+64], %r0;",
     CUDA_ERROR_ILLEGAL_ADDRESS, 0},
    {"a guarded store", "setp.eq.u64 %p0, %d0, 0;\n@%p0 st.global.u8 [%d0], %r0;", CUDA_SUCCESS,
     ITEMS},
    {"for ever", "L:\nbra L;", CUDA_ERROR_LAUNCH_TIMEOUT, 0},
};

static void meet_fate(const void *about) {
  const fate *f = about;
  CUfunction kernel;
  CUdeviceptr at;
  char text[2048];
  uint64_t list[3] = {0};
  cuda_start(0);
  GOOD(cu.cuMemAlloc(&at, ITEMS));
  CUdeviceptr address = at + (CUdeviceptr)f->offset;
  void *parameters[] = {&address, list};
  snprintf(text, sizeof text, "%sld.param.u64 %%d0, [at];\n%s\n%s", BODY, f->lines, END);
  GOOD(load(text, &kernel));
  RETURNS(f->result, launch(kernel, 2, 3, parameters));
  RETURNS(f->result, cu.cuMemFree(at));
}

static void kernels_touch_what_they_may(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof FATES / sizeof *FATES; i++)
    if (!cuda_satisfied(meet_fate, &FATES[i], "CUDA_SIM_STEPS=100000"))
      fail_msg("%s", FATES[i].name);
}

/* Each thread takes a number and stores it at its own index. */
static const char *const NUMBER = HEAD
    ".visible .entry k(.param .u64 at, .param .u64 counter)\n{\n.reg .b64 %d<8>;\n.reg .b32 "
    "%r<9>;\n"
    "ld.param.u64 %d0, [at];\nld.param.u64 %d1, [counter];\n"
    "mov.u32 %r0, %ctaid.z;\nmov.u32 %r1, %nctaid.y;\nmov.u32 %r2, %ctaid.y;\nmad.lo.u32 %r0, %r0, "
    "%r1, %r2;\n"
    "mov.u32 %r1, %nctaid.x;\nmov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r0, %r0, %r1, %r2;\n"
    "mov.u32 %r1, %ntid.z;\nmov.u32 %r2, %tid.z;\nmad.lo.u32 %r0, %r0, %r1, %r2;\n"
    "mov.u32 %r1, %ntid.y;\nmov.u32 %r2, %tid.y;\nmad.lo.u32 %r0, %r0, %r1, %r2;\n"
    "mov.u32 %r1, %ntid.x;\nmov.u32 %r2, %tid.x;\nmad.lo.u32 %r0, %r0, %r1, %r2;\n"
    "mul.wide.u32 %d2, %r0, 4;\nadd.u64 %d2, %d0, %d2;\n"
    "ld.global.u32 %r3, [%d1];\nst.global.u32 [%d2], %r3;\nadd.u32 %r3, %r3, 1;\nst.global.u32 "
    "[%d1], %r3;\nret;\n}\n";

static void order_of_threads(const void *about) {
  static const unsigned sizes[][6] = {{1, 1, 1, 1, 1, 1},
                                      {7, 1, 1, 32, 1, 1},
                                      {3, 4, 5, 2, 3, 4},
                                      {1, 1, 1, 8, 8, 16},
                                      {60, 1, 1, 1, 1, 1}};
  (void)about;
  CUfunction kernel;
  CUdeviceptr at, counter;
  cuda_start(0);
  GOOD(load(NUMBER, &kernel));
  GOOD(cu.cuMemAlloc(&at, 4 * ITEMS));
  GOOD(cu.cuMemAlloc(&counter, 4));
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const unsigned *s = sizes[i], all = s[0] * s[1] * s[2] * s[3] * s[4] * s[5], zero = 0;
    uint32_t number[ITEMS];
    bool taken[ITEMS] = {false};
    unsigned in_place = 0;
    void *parameters[] = {&at, &counter};
    GOOD(cu.cuMemcpyHtoD(counter, &zero, 4));
    GOOD(cu.cuLaunchKernel(kernel, s[0], s[1], s[2], s[3], s[4], s[5], 0, NULL, parameters, NULL));
    GOOD(cu.cuMemcpyDtoH(number, at, 4 * all));
    for (unsigned t = 0; t < all; t++) {
      CHECK(number[t] < all && !taken[number[t]]);
      taken[number[t]] = true;
      in_place += number[t] == t;
    }
    CHECK(all == 1 || in_place < all);
  }
}

static void bad_launches(const void *about) {
  CUfunction kernel;
  CUdeviceptr at = 0;
  CUcontext second;
  void *parameters[] = {&at, &at};
  (void)about;
  cuda_start(0);
  GOOD(load(NUMBER, &kernel));
  static const unsigned sizes[][6] = {{0, 1, 1, 1, 1, 1},
                                      {1, 1, 1, 0, 1, 1},
                                      {1, 1, 1, 1025, 1, 1},
                                      {1, 1, 1, 32, 33, 1},
                                      {1, 65536, 1, 1, 1, 1}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const unsigned *s = sizes[i];
    RETURNS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(kernel, s[0], s[1], s[2], s[3], s[4], s[5],
                                                        0, NULL, parameters, NULL));
  }
  RETURNS(CUDA_ERROR_INVALID_VALUE,
          cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
  RETURNS(CUDA_ERROR_INVALID_HANDLE,
          cu.cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
  GOOD(cu.cuDevicePrimaryCtxRetain(&second, 1));
  GOOD(cu.cuCtxSetCurrent(second)); /* the kernel is another context's */
  RETURNS(CUDA_ERROR_INVALID_HANDLE,
          cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
}

static void threads_in_any_order(void **state) {
  (void)state;
  assert_true(cuda_satisfied(order_of_threads, NULL, "CUDA_SIM_SEED=3"));
  assert_true(cuda_satisfied(bad_launches, NULL, "CUDA_SIM_DEVICES=2"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_ptx_is_refused),
      cmocka_unit_test(the_line_is_named),
      cmocka_unit_test(kernels_touch_what_they_may),
      cmocka_unit_test(threads_in_any_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
