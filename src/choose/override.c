/* override.c - parses the plans that the user selects or excludes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "override.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 16 }; /* largest number of parts of a vector outside the job (TT_PARTS of wire.h) */

static tutti_status override_error(const char *text, const char *at, const char *expected) {
  return tt_fail(TUTTI_ERR_ARG, "'%.200s', character %d: expected %s", text, (int)(at - text) + 1,
                 expected);
}

/* Parses "0-64k", "64k-" or "-64k". */
static const char *read_sizes(const char *at, uint64_t *from, uint64_t *to) {
  *from = 0;
  *to = UINT64_MAX;
  if (*at != '-' && !(at = tt_size_read(at, from))) return NULL;
  if (*at++ != '-') return NULL;
  if (*at >= '0' && *at <= '9') at = tt_size_read(at, to);
  return at && *from < *to ? at : NULL;
}

/* Checks that the plan exists. If a process outside the job sums, a plan has additional virtual ranks. Each part of the vector
 * has one there or, with a process in each rack, one in each rack and one above them. Their number is unknown until the
 * communicator is connected to these processes. */
static tutti_status known(const tt_plan_spec *plan, int ranks) {
  const tt_arg *trees = tt_plan_spec_arg(plan, "trees");
  const int parts = trees ? (int)tt_min(trees->number, PARTS) : 1;
  const int most = trees ? parts * (ranks + 1) : PARTS;
  for (int more = parts; plan->family->helped && more <= most; more += parts)
    if (!tt_algo_known(plan, ranks + more)) return TUTTI_OK;
  return tt_algo_known(plan, ranks);
}

/* Finds the plan named by n characters. */
static tutti_status read_plan(const char *at, size_t n, const tt_plan_spec **plan) {
  char *text = strndup(at, n);
  const tutti_status status =
      text ? tt_plan_spec_named(text, plan) : tt_fail(TUTTI_ERR_MEMORY, "out of memory for a plan");
  free(text);
  return status;
}

tutti_status tt_override_parse(const char *text, int ranks, tt_override *override) {
  const char *at = text ? text : "";
  *override = (tt_override){0};
  for (;;) {
    at += strspn(at, "; ");
    if (!*at) return TUTTI_OK;
    if (override->n == TT_OVERRIDES) return override_error(text, at, "at most 16 wishes");
    const bool never = *at == '^';
    at += never;
    size_t n = tt_text_until(at, ":;"), bare = n;
    while (bare && at[bare - 1] == ' ') bare--;
    const tt_plan_spec **plan = &override->item[override->n].plan;
    tutti_status status = read_plan(at, bare, plan);
    if (!status && !never) status = known(*plan, ranks);
    if (status) return status;
    override->item[override->n].never = never;
    override->item[override->n].to = UINT64_MAX;
    at += n;
    if (*at == ':') {
      const char *end =
          read_sizes(at + 1, &override->item[override->n].from, &override->item[override->n].to);
      if (end) end += strspn(end, " ");
      if (!end || (*end && *end != ';'))
        return override_error(text, at + 1, "sizes such as 0-64k, 64k- or 1MiB-4MiB");
      at = end;
    }
    override->n++;
  }
}

void tt_override_print(tt_text *text, const tt_override *override) {
  for (int i = 0; i < override->n; i++) {
    const uint64_t from = override->item[i].from, to = override->item[i].to;
    tt_text_add(text, "%s%s%s", i ? ";" : "", override->item[i].never ? "^" : "",
                override->item[i].plan->text);
    if (from || to != UINT64_MAX) tt_text_add(text, ":%" PRIu64 "-", from);
    if (to != UINT64_MAX) tt_text_add(text, "%" PRIu64, to);
  }
}

bool tt_override_equal(const tt_override *a, const tt_override *b) {
  bool equal = a->n == b->n;
  for (int i = 0; equal && i < a->n; i++)
    equal = a->item[i].never == b->item[i].never && a->item[i].from == b->item[i].from &&
            a->item[i].to == b->item[i].to && tt_plan_spec_equal(a->item[i].plan, b->item[i].plan);
  return equal;
}

uint64_t tt_override_hash(const tt_override *override) {
  uint64_t h = 0;
  for (int i = 0; i < override->n; i++) {
    h = tt_mix_text(tt_mix(h + override->item[i].never + 1), override->item[i].plan->text);
    h = tt_mix(tt_mix(h ^ override->item[i].from) ^ override->item[i].to);
  }
  return h;
}

static bool applies(const tt_override *override, int i, uint64_t bytes) {
  return bytes >= override->item[i].from &&
         (bytes < override->item[i].to || override->item[i].to == UINT64_MAX);
}

const tt_plan_spec *tt_override_for(const tt_override *override, uint64_t bytes) {
  for (int i = 0; override && i < override->n; i++)
    if (!override->item[i].never && applies(override, i, bytes)) return override->item[i].plan;
  return NULL;
}

bool tt_override_forbids(const tt_override *override, const tt_plan_spec *plan, uint64_t bytes) {
  for (int i = 0; override && i < override->n; i++)
    if (override->item[i].never && applies(override, i, bytes) &&
        tt_plan_spec_is_one_of(plan, override->item[i].plan))
      return true;
  return false;
}
