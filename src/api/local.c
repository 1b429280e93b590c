/* local.c - a reduction without other ranks, by the loops that all collectives use.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "call.h"

tutti_status tutti_reduce_local(const void *a, const void *b, void *dst, size_t count,
                                tutti_type type, tutti_op op) {
  const struct {
    const char *name;
    const void *at;
  } all[] = {{"a", a}, {"b", b}, {"dst", dst}};
  tt_reducer reducer;
  tutti_status status = tt_alive();
  if (!status) status = tt_reducer_init(&reducer, type, op);
  for (int i = 0; i < 3 && !status; i++)
    status = tt_vector_check("tutti_reduce_local", all[i].name, all[i].at, count, type);
  if (!status && count) tt_reduce(&reducer, dst, (const void *const[]){a, b}, 2, count);
  return status;
}
