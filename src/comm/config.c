/* config.c - how the caller configures a communicator (tutti_config.h).
 *
 * Idea       A tutti_config is read into a copy of the settings. It takes effect only if every field is valid and, if
 *            the changes affect plans, no operation is running. A field that is 0 or NULL is read from the
 *            environment instead.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_comm.h"
#include "comm_wisdom.h"

enum { MOST_SLICES = 1 << 20 };

static tutti_status out_of_range(const char *who, const char *field, int value, int from, int to) {
  return tt_fail(TUTTI_ERR_ARG, "%s: config->%s: %d is not from %d to %d", who, field, value, from,
                 to);
}

static tutti_status check_numbers(const char *who, const tutti_config *c, int ranks) {
  const struct {
    const char *field;
    int value, from, to;
  } whole[] = {{"slices", c->slices, 0, MOST_SLICES},
               {"helpers", c->helpers, 0, ranks - 1},
               {"measure", c->measure, -1, 1}};
  const struct {
    const char *field;
    double value;
  } seconds[] = {{"timeout", c->timeout}, {"connect_timeout", c->connect_timeout}};
  for (int i = 0; i < 3; i++)
    if (whole[i].value < whole[i].from || whole[i].value > whole[i].to)
      return out_of_range(who, whole[i].field, whole[i].value, whole[i].from, whole[i].to);
  for (int i = 0; i < 2; i++)
    if (!(seconds[i].value >= 0 && seconds[i].value <= 1e9))
      return tt_fail(TUTTI_ERR_ARG, "%s: config->%s: %g is not from 0 to 1e9 s", who,
                     seconds[i].field, seconds[i].value);
  if (c->name && strnlen(c->name, TT_WORDS) == TT_WORDS)
    return tt_fail(TUTTI_ERR_ARG, "%s: config->name is longer than %d bytes", who,
                   TT_WORDS - 1);
  return TUTTI_OK;
}

/* Reads the settings that affect plans and that the environment may set as well. */
static tutti_status read_choices(const char *who, const tutti_config *c, int ranks,
                                 tt_settings *s) {
  char name[100];
  tutti_status status = tt_settings_read(s, ranks);
  if (!status && c->contract) {
    s->plain.contract = c->contract;
    status = tt_contract_check(who, c->contract, ranks);
  }
  if (!status && c->compression) {
    snprintf(name, sizeof name, "%s: config->compression", who);
    status = tt_code_parse(name, c->compression, &s->plain.wish);
  }
  if (!status) status = tt_code_contract(who, &s->plain.wish, s->plain.contract);
  if (!status && c->algorithm) {
    status = tt_override_parse(c->algorithm, ranks, &s->override);
    if (status) status = tt_fail(status, "%s: config->algorithm: %.300s", who, tutti_error());
  }
  return status;
}

static tutti_status read_config(const char *who, const tutti_config *c, int ranks, tt_settings *s) {
  if (!c) return tt_fail(TUTTI_ERR_ARG, "%s: config is NULL", who);
  tutti_status status = tt_size_check(who, "config", c->size, sizeof *c);
  if (!status) status = check_numbers(who, c, ranks);
  if (!status) status = read_choices(who, c, ranks, s);
  s->plain.slices = c->slices ? c->slices : (int)tt_env_int("TUTTI_SLICES", 0, MOST_SLICES, 0);
  s->plain.measures = c->measure ? c->measure > 0 : s->plain.env_measures;
  s->plain.timeout = c->timeout;
  snprintf(s->plain.name, sizeof s->plain.name, "%s", c->name ? c->name : "");
  return status;
}

tutti_status tt_config_check(const char *who, const tutti_config *config, int ranks) {
  tt_settings none = {.explains = false};
  return config ? read_config(who, config, ranks, &none) : TUTTI_OK;
}

void tt_comm_show_name(tutti_comm *comm) {
  memcpy(comm->wire->shown->name, comm->settings.plain.name, TT_WORDS);
  if (comm->trace) memcpy(comm->trace->id.name, comm->settings.plain.name, TT_WORDS);
}

/* Returns true if any of the changed settings affects plans. Requests in flight already have their plans. */
static bool changes_plans(const tutti_comm *comm, const tt_settings *s, int helpers) {
  const tt_plain_settings *a = &comm->settings.plain, *b = &s->plain;
  return a->contract != b->contract || a->wish.code != b->wish.code ||
         a->wish.error != b->wish.error || a->slices != b->slices || a->measures != b->measures ||
         comm->helpers != helpers || !tt_override_equal(&comm->settings.override, &s->override);
}

tutti_status tt_comm_set_config(tutti_comm *comm, const char *who, const tutti_config *config) {
  tt_settings next = comm->settings;
  tutti_status status = read_config(who, config, comm->ranks, &next);
  if (status) return status;
  const bool changes = changes_plans(comm, &next, config->helpers);
  if (changes && comm->flight->unfinished)
    return tt_fail(TUTTI_ERR_STATE, "%s: requests are in flight; wait for them", who);
  status = tt_helpers_set(comm, config->helpers);
  if (status) return status;
  comm->settings = next;
  tt_comm_show_name(comm);
  if (changes) tt_plans_forget(comm);
  return TUTTI_OK;
}

tutti_status tutti_comm_configure(tutti_comm *comm, const tutti_config *config) {
  static const char who[] = "tutti_comm_configure";
  tutti_status status = tt_comm_enter(comm, who);
  if (status) return status;
  status = tt_comm_set_config(comm, who, config);
  tt_comm_leave(comm);
  return status;
}

/* Writes both texts, each with a terminating NUL, into memory that lives as long as the communicator. */
static tutti_status print_texts(tutti_comm *comm, tutti_config *config) {
  const tt_code_wish *wish = &comm->settings.plain.wish;
  tt_text text = {.at = NULL};
  tt_override_print(&text, &comm->settings.override);
  tt_text_add(&text, "%c", 0);
  const size_t second = text.length;
  if (tt_code_lossy(wish->code))
    tt_text_add(&text, "error=%.17g,code=%s", wish->error, tt_code_name(wish->code));
  else
    tt_text_add(&text, "%s", tt_code_name(wish->code));
  if (text.failed) {
    free(text.at);
    return tt_fail(TUTTI_ERR_MEMORY, "tutti_comm_config: out of memory for its texts");
  }
  free(comm->config_text);
  comm->config_text = text.at;
  config->algorithm = text.at;
  config->compression = text.at + second;
  return TUTTI_OK;
}

tutti_status tutti_comm_config(tutti_comm *comm, tutti_config *config) {
  static const char who[] = "tutti_comm_config";
  tutti_status status = tt_comm_enter_failed_too(comm, who);
  if (status) return status;
  if (!config) status = tt_fail(TUTTI_ERR_ARG, "%s: config is NULL", who);
  if (!status) status = tt_size_check(who, "config", config->size, sizeof *config);
  if (!status) {
    const tt_plain_settings *s = &comm->settings.plain;
    *config = (tutti_config){.size = sizeof *config,
                             .contract = s->contract,
                             .slices = s->slices,
                             .helpers = comm->helpers,
                             .timeout = s->timeout,
                             .measure = s->measures ? 1 : -1,
                             .name = *s->name ? s->name : NULL};
    status = print_texts(comm, config);
  }
  tt_comm_leave(comm);
  return status;
}

/* ---- joiners ---- */

void tt_override_share(tutti_comm *comm, int root) {
  static const char who[] = "the algorithms of a communicator";
  tt_text text = {.at = NULL};
  if (comm->rank == root) tt_override_print(&text, &comm->settings.override);
  if (!tt_text_share(comm, who, root, &text) && text.length && comm->rank != root)
    tt_comm_spoil(comm, tt_override_parse(text.at, comm->ranks, &comm->settings.override));
  free(text.at);
}
