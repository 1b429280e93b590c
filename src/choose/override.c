/* override.c - parses the user's choice of plans.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "override.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 16 }; /* of a vector at an aggregator, at most: TT_PARTS of wire.h */

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

/* Plans of an aggregator have more ranks than the communicator: a virtual one for each part of the vector, at the only
 * aggregator, or at that of each rack and at the one above them. How many there are is known when it is open. */
static tutti_status known(const char *name, int ranks) {
  const bool aggregates = strncmp(name, "aggregate(", 10) == 0;
  const char *trees = aggregates ? strstr(name, ",trees=") : NULL;
  const int parts = trees ? (int)tt_min(strtoul(trees + 7, NULL, 10), (unsigned long)PARTS) : 0;
  for (int more = parts; parts && more <= parts * (ranks + 1); more += parts)
    if (!tt_algo_known(name, ranks + more)) return TUTTI_OK;
  if (!parts && (aggregates || strncmp(name, "split(", 6) == 0))
    for (int more = PARTS; more > 0; more--)
      if (!tt_algo_known(name, ranks + more)) return TUTTI_OK;
  return tt_algo_known(name, ranks);
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
    if (n >= TT_NAME) return override_error(text, at, "a name of less than 256 characters");
    char *name = override->item[override->n].name;
    snprintf(name, TT_NAME, "%.*s", (int)bare, at);
    tutti_status status = never ? tt_algo_exists(name) : known(name, ranks);
    if (status) return status;
    tt_algo_full_name(name);
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

static bool applies(const tt_override *override, int i, uint64_t bytes) {
  return bytes >= override->item[i].from &&
         (bytes < override->item[i].to || override->item[i].to == UINT64_MAX);
}

const char *tt_override_for(const tt_override *override, uint64_t bytes) {
  for (int i = 0; override && i < override->n; i++)
    if (!override->item[i].never && applies(override, i, bytes)) return override->item[i].name;
  return NULL;
}

static bool has_param(const char *params, const char *one, size_t n) {
  while (*params == '(' || *params == ',') {
    const size_t length = tt_text_until(++params, ",)");
    if (length == n && strncmp(params, one, n) == 0) return true;
    params += length;
  }
  return false;
}

/* Is the plan of this family, with all of these parameters? fold(ring,rings=2) is one of fold(ring). */
static bool is_one_of(const char *name, const char *wish) {
  const size_t n = strcspn(wish, "(");
  if (strncmp(name, wish, n) != 0 || (name[n] && name[n] != '(')) return false;
  for (const char *param = wish + n; *param == '(' || *param == ',';) {
    const size_t length = tt_text_until(++param, ",)");
    if (!has_param(name + n, param, length)) return false;
    param += length;
  }
  return true;
}

bool tt_override_forbids(const tt_override *override, const char *name, uint64_t bytes) {
  for (int i = 0; override && i < override->n; i++)
    if (override->item[i].never && applies(override, i, bytes) &&
        is_one_of(name, override->item[i].name))
      return true;
  return false;
}
