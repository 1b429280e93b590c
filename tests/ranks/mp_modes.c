/* mp_modes.c - one rank's floating-point unit flushes denormals, or rounds upwards, as it does after a library
 * linked with -ffast-math was loaded. All ranks still get the same bits, and the rank's own floating-point
 * state is unchanged.
 *
 * Ranks: 2 3 4
 * SPDX-License-Identifier: BSD-3-Clause */
#include <fenv.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../../cli/configure.h"
#include "fp_state.h"
#include "start.h"
#include "tutti.h"

enum { MOST = 1 << 14 };
static float tiny[MOST], thirds[MOST], sum[MOST], first[MOST];

static const struct mode {
  const char *name;
  bool flushes;
  int round;
} modes[] = {{"all alike", false, FE_TONEAREST},
             {"the last rank flushes denormals", true, FE_TONEAREST},
             {"the last rank rounds upwards", false, FE_UPWARD},
             {"the last rank truncates and flushes", true, FE_TOWARDZERO}};

static void enter_mode(const struct mode *m) {
  fesetround(m->round);
#if defined(__x86_64__)
  tt_fp_set((tt_fp_get() & ~0x8040u) | (m->flushes ? 0x8040u : 0u));
#elif defined(__aarch64__)
  tt_fp_set((tt_fp_get() & ~(1ull << 24)) | (m->flushes ? 1ull << 24 : 0));
#endif
}

/* Does every rank get rank 0's bits? */
static bool same_bits(tutti_comm *comm, tutti_contract contract, tutti_op op, const float *x,
                      size_t n) {
  uint32_t differ = 0;
  const tt_fp_state before = tt_fp_get();
  if (comm_set_contract(comm, contract) || tutti_allreduce(comm, x, sum, n, TUTTI_FLOAT, op))
    return false;
  differ = (tt_fp_get() & TT_FP_UNUSUAL) != (before & TT_FP_UNUSUAL);
  memcpy(first, sum, n * sizeof *sum);
  if (tutti_broadcast(comm, first, first, n, TUTTI_FLOAT, 0)) return false;
  differ += memcmp(first, sum, n * sizeof *sum) != 0;
  return !tutti_allreduce(comm, &differ, &differ, 1, TUTTI_UINT32, TUTTI_SUM) && differ == 0;
}

int main(void) {
  tutti_comm *comm;
  static const tutti_op ops[] = {TUTTI_SUM, TUTTI_AVG, TUTTI_PROD, TUTTI_MAX};
  static const tutti_contract contracts[] = {TUTTI_CONTRACT_SAME, TUTTI_CONTRACT_EXACT};
  int bad = 0;
  if (start_comm(&comm)) return 1;
  const int me = tutti_comm_rank(comm), last = tutti_comm_size(comm) - 1;
  for (int i = 0; i < MOST; i++) {
    const uint32_t bits = (uint32_t)i + 1 + (uint32_t)me;
    memcpy(&tiny[i], &bits, sizeof bits); /* a denormal */
    thirds[i] = 1.0f / (float)(3 + i + me);
  }
  for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
    bool good = true;
    if (me == last) enter_mode(&modes[m]);
    for (size_t c = 0; c < 2; c++)
      for (size_t o = 0; o < 4; o++)
        for (size_t n = 1; n <= MOST && !(contracts[c] == TUTTI_CONTRACT_EXACT && o > 1); n *= 64)
          good = same_bits(comm, contracts[c], ops[o], tiny, n) &&
                 same_bits(comm, contracts[c], ops[o], thirds, n) && good;
    if (me == 0) printf("%s - %s\n", good ? "ok" : "not ok", modes[m].name);
    bad += !good;
  }
  if (me == 0) printf("1..4\n");
  enter_mode(&modes[0]);
  tutti_comm_free(comm);
  return start_end() || bad;
}
