/* codes.c - parses the code of a call, and computes the numbers that a coded message contains without sending
 * it (code.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "call.h"
#include "code.h"

tutti_status tt_call_code(const char *function, const char *text, tt_code_wish *wish,
                          tt_call *call) {
  const tutti_status status = tt_code_parse(function, text, wish);
  call->code = wish;
  call->also = (uint32_t)tt_code_hash(wish);
  return status;
}

/* Encodes a vector frame by frame, as for a message, and immediately decodes each frame. Returns the total size of all frames, in
 * bytes. */
static size_t code_and_decode(tt_code code, tutti_type type, const char *src, char *dst,
                              size_t bytes) {
  char frame[TT_FRAME];
  size_t all = 0;
  for (size_t at = 0, taken; at < bytes; at += taken) {
    all += tt_frame_make(code, type, src + at, bytes - at, frame, &taken);
    if (dst) tt_frame_open(code, type, frame, dst + at);
  }
  return all;
}

tutti_status tutti_code_local(const char *code, const void *src, void *dst, size_t count,
                              tutti_type type, size_t *bytes) {
  static const char who[] = "tutti_code_local";
  tt_code_wish wish;
  tutti_status status = tt_alive();
  if (!status) status = tt_code_parse(who, code, &wish);
  if (!status) status = tt_vector_check(who, "src", src, count, type);
  if (!status && dst) status = tt_vector_check(who, "dst", dst, count, type);
  if (status) return status;
  if (wish.code && !tt_code_takes(wish.code, type, true, TUTTI_SUM))
    return tt_fail(TUTTI_ERR_UNSUPPORTED, "%s: %s does not code %s", who, tt_code_name(wish.code),
                   tutti_type_name(type));
  size_t all = count * tutti_type_size(type);
  if (wish.code)
    all = code_and_decode(wish.code, type, src, dst, all);
  else if (dst && all)
    memmove(dst, src, all);
  if (bytes) *bytes = all;
  return TUTTI_OK;
}
