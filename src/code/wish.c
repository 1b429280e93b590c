/* wish.c - names of codes, and the compression that callers allow (code.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "code.h"

static const char *const names[TT_CODE_COUNT] = {"none", "lossless", "int8", "fp8_e4m3",
                                                 "fp8_e5m2"};

const char *tt_code_name(tt_code code) {
  return names[code];
}

bool tt_code_takes(tt_code code, tutti_type type, bool reduces, tutti_op op) {
  if (code == TT_CODE_LOSSLESS)
    return type == TUTTI_FLOAT || type == TUTTI_DOUBLE || type == TUTTI_BFLOAT16 ||
           type == TUTTI_FLOAT16;
  const tt_user_op *user = tt_op_user(op);
  const bool sums = op == TUTTI_SUM || op == TUTTI_AVG || (user && !user->fn);
  return tt_code_lossy(code) && type == TUTTI_FLOAT && reduces && sums;
}

double tt_code_ratio(tt_code code, tutti_type type) {
  if (tt_code_lossy(code)) return (4.0 + TT_CODE_BLOCK) / (4.0 * TT_CODE_BLOCK);
  if (code != TT_CODE_LOSSLESS) return 1;
  return type == TUTTI_BFLOAT16  ? 0.7
         : type == TUTTI_FLOAT16 ? 0.9
         : type == TUTTI_DOUBLE  ? 0.92
                                 : 0.84;
}

static const char forms[] =
    "expected 'lossless', 'none', or 'error=E' with a number E, to which ',code=int8', "
    "',code=fp8_e4m3' or ',code=fp8_e5m2' may be added";

/* Finds the lossy code of that name. */
static bool code_named(const char *name, tt_code *code) {
  for (int c = TT_CODE_INT8; c < TT_CODE_COUNT; c++)
    if (strcmp(name, names[c]) == 0) {
      *code = (tt_code)c;
      return true;
    }
  return false;
}

/* Parses the code in a text such as "error=0.1,code=int8". `rest` points to the first character after the number. */
static tutti_status parse_code(const char *who, const char *text, const char *rest,
                               tt_code_wish *wish) {
  wish->code = TT_CODE_INT8;
  if (!*rest) return TUTTI_OK;
  if (strncmp(rest, ",code=", 6) == 0 && code_named(rest + 6, &wish->code)) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_ARG, "%s: '%.60s', column %d: %s", who, text, (int)(rest - text) + 1,
                 forms);
}

tutti_status tt_code_parse(const char *who, const char *text, tt_code_wish *wish) {
  *wish = (tt_code_wish){TT_CODE_NONE, 0};
  if (!text || !*text || strcmp(text, names[TT_CODE_NONE]) == 0) return TUTTI_OK;
  if (strcmp(text, names[TT_CODE_LOSSLESS]) == 0) {
    wish->code = TT_CODE_LOSSLESS;
    return TUTTI_OK;
  }
  char *end = NULL;
  const char *number = text + strlen("error=");
  if (strncmp(text, "error=", strlen("error=")) != 0)
    return tt_fail(TUTTI_ERR_ARG, "%s: '%.60s': %s", who, text, forms);
  wish->error = strtod(number, &end);
  if (end == number || !(wish->error > 0 && wish->error < 1e6))
    return tt_fail(TUTTI_ERR_ARG, "%s: '%.60s', column 7: expected a number above 0", who, text);
  const tutti_status status = parse_code(who, text, end, wish);
  if (status || tt_code_roundings(wish->code, wish->error) >= 2) return status;
  return tt_fail(TUTTI_ERR_ARG,
                 "%s: '%.60s': %s needs an error of %.2g or more, because a sum over hosts is "
                 "rounded twice",
                 who, text, names[wish->code], 1.005 * tt_code_bound(wish->code, 2));
}

uint64_t tt_code_hash(const tt_code_wish *wish) {
  uint64_t error;
  if (!wish->code) return 0;
  memcpy(&error, &wish->error, sizeof error);
  return tt_mix(tt_mix(error) ^ (uint64_t)wish->code);
}
