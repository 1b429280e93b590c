/* test_ptx.c - the text of every kernel: declarations and uses agree, and NVIDIA's assembler accepts it, if it
 * is installed.
 *
 * Idea       test_gpu_sums.c runs the kernels in an interpreter, which may accept more than the driver's compiler. A
 *            second, independent reader therefore checks the form here: registers, labels, types, rounding.
 * Usage      TUTTI_TEST_ALL=1 assembles all kernels, otherwise one op of each type.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../gpu/gpu.h"
#include "tutti_plan.h"

enum { LABELS = 1000 };

typedef struct reader {
  int registers[128]; /* declared, by the letter */
  bool used[LABELS], defined[LABELS];
  int entries, depth;
  const char *wrong;
} reader;

static void complain(reader *r, const char *what) {
  if (!r->wrong) r->wrong = what;
}

/* Registers and labels of an instruction. */
static void read_operands(reader *r, const char *line) {
  for (const char *at = strchr(line, '%'); at; at = strchr(at + 1, '%')) {
    const char kind = at[1];
    if (isdigit((unsigned char)at[2]) && strchr("rdph", kind) &&
        atoi(at + 2) >= r->registers[(int)kind])
      complain(r, "a register is not declared");
  }
  const char *branch = strstr(line, "bra L");
  if (branch && atoi(branch + 5) < LABELS) r->used[atoi(branch + 5)] = true;
}

/* The letter of the registers that an instruction's type requires; 0: any. */
static char letter_of(const char *type) {
  if (strstr(type, "64")) return 'd';
  return strstr(type, "32") ? 'r' : 0;
}

/* Arithmetic uses registers of its type. cvt, setp, selp, mov and mul.wide mix types. */
static void read_arithmetic(reader *r, const char *line) {
  static const char *const plain[] = {"add.", "sub.", "mul.lo.", "mul.rn.", "div.",
                                      "min.", "max.", "and.",    "or.",     "xor."};
  char type[32];
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
    if (strncmp(line, plain[i], strlen(plain[i])) != 0) continue;
    snprintf(type, sizeof type, "%.*s", (int)strcspn(line, " "), line);
    const char letter = letter_of(type);
    for (const char *at = strchr(line, '%'); at; at = strchr(at + 1, '%'))
      if (at[1] != letter) complain(r, "a register of another width");
    if (strchr(type, 'f') && !strstr(type, ".rn."))
      complain(r, "a float operation without a rounding");
  }
}

static void read_line(reader *r, const char *line) {
  int n;
  char kind;
  if (strstr(line, ".ftz") || strstr(line, "fma") || strstr(line, "mad"))
    complain(r, "a fused or flushing operation");
  if (strncmp(line, ".visible .entry", 15) == 0) {
    r->entries++;
    memset(r->registers, 0, sizeof r->registers);
    memset(r->used, 0, sizeof r->used);
    memset(r->defined, 0, sizeof r->defined);
  } else if (sscanf(line, ".reg .%*s %%%c<%d>;", &kind, &n) == 2) {
    r->registers[(int)kind] = n;
  } else if (*line == '{') {
    r->depth++;
  } else if (*line == '}') {
    r->depth--;
    if (memcmp(r->used, r->defined, sizeof r->used) != 0)
      complain(r, "a label without a branch, or the other way round");
  } else if (*line == 'L') {
    n = atoi(line + 1);
    if (n >= LABELS || r->defined[n] || line[strlen(line) - 1] != ':') complain(r, "a label");
    if (n < LABELS) r->defined[n] = true;
  } else if (*line != '.') {
    if (line[strlen(line) - 1] != ';' || strchr(line, ';') != line + strlen(line) - 1)
      complain(r, "no semicolon at the end");
    read_operands(r, line);
    read_arithmetic(r, line);
  }
}

static void test_form(void **state) {
  (void)state;
  int kernels = 0;
  for (tutti_type type = 0; type < TUTTI_TYPE_COUNT; type++)
    for (tutti_op op = 0; op < TUTTI_OP_COUNT; op++) {
      char *text = gpu_ptx(type, op), *save = NULL;
      assert_int_equal(text != NULL, gpu_ptx_has(type, op));
      if (!text) continue;
      reader r = {0};
      assert_true(strncmp(text, ".version 6.5\n.target sm_70\n.address_size 64\n", 44) == 0);
      for (char *line = strtok_r(text, "\n", &save); line && !r.wrong;
           line = strtok_r(NULL, "\n", &save)) {
        read_line(&r, line);
        if (r.wrong) print_error("%d %d: %s: %s\n", type, op, line, r.wrong);
      }
      assert_null(r.wrong);
      assert_int_equal(r.entries, GPU_UNROLLED);
      assert_int_equal(r.depth, 0);
      free(text);
      kernels++;
    }
  assert_int_equal(kernels, 8 * 11 + 6 * 5);
}

/* Kernels exist only for ops that the type has, and element sizes agree with the library. */
static void test_types(void **state) {
  (void)state;
  for (tutti_type type = 0; type < TUTTI_TYPE_COUNT; type++)
    for (tutti_op op = 0; op < TUTTI_OP_COUNT; op++) {
      if (!gpu_ptx_has(type, op)) continue;
      assert_true(tutti_type_has_op(type, op));
      assert_int_equal(gpu_ptx_size(type), tutti_type_size(type));
    }
  assert_false(gpu_ptx_has(TUTTI_FLOAT_INT, TUTTI_MINLOC));
  assert_null(gpu_ptx(TUTTI_COMPLEX_FLOAT, TUTTI_PROD));
}

static const char *assembler(void) {
  static const char *const places[] = {"/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas",
                                       "/usr/lib/nvidia-cuda-toolkit/bin/ptxas"};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    if (access(places[i], X_OK) == 0) return places[i];
  return NULL;
}

static void assemble(const char *with, const char *path, tutti_type type, tutti_op op) {
  char command[400];
  char *text = gpu_ptx(type, op);
  FILE *file = fopen(path, "w");
  assert_true(text && file);
  fputs(text, file);
  fclose(file);
  free(text);
  snprintf(command, sizeof command, "%s -arch=sm_90 -o /dev/null %s >&2", with, path);
  if (system(command) != 0) fail_msg("%s %s is refused", tutti_type_name(type), tutti_op_name(op));
}

static void test_assembler(void **state) {
  (void)state;
  const char *with = assembler(), *all = getenv("TUTTI_TEST_ALL");
  char path[] = "/tmp/tutti_ptx_XXXXXX";
  if (!with) skip();
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  for (tutti_type type = 0; type < TUTTI_TYPE_COUNT; type++)
    for (tutti_op op = 0; op < TUTTI_OP_COUNT; op++)
      if (gpu_ptx_has(type, op) && (all || op == type % 5)) assemble(with, path, type, op);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_form),
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_assembler),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
