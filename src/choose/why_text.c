/* why_text.c - prints an explanation as text and as JSON.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "why.h"

const char *tt_time_words(double s, char text[24]) {
  const char *unit = s >= 1 ? "s" : s >= 1e-3 ? "ms" : s >= 1e-6 ? "us" : "ns";
  const double scale = s >= 1 ? 1 : s >= 1e-3 ? 1e3 : s >= 1e-6 ? 1e6 : 1e9;
  snprintf(text, 24, "%.*f %s",
           s * scale >= 99.95   ? 0
           : s * scale >= 9.995 ? 1
                                : 2,
           s * scale, unit);
  return text;
}

const char *tt_size_words(double bytes, char text[24]) {
  static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int u = 0;
  while (u < 4 && bytes >= 1024) bytes /= 1024, u++;
  const bool whole = bytes == (double)(int64_t)bytes;
  snprintf(text, 24, "%.*f %s", whole ? 0 : bytes >= 100 ? 0 : bytes >= 10 ? 1 : 2, bytes, unit[u]);
  return text;
}

/* If there are several levels, formats a phrase such as " between racks". */
static const char *level_phrase(const tt_cost_model *p, int level, char text[40]) {
  const char *name = p->tree.level[level].name;
  text[0] = 0;
  if (p->levels > 1 && *name)
    snprintf(text, 40, " between %s%s", name, name[strlen(name) - 1] == 's' ? "" : "s");
  return text;
}

void tt_why_bound(const tt_cost_model *p, const tt_breakdown *t, char *text, size_t size) {
  double most = 0;
  char where[40];
  snprintf(text, size, "nothing");
  for (int l = 0; l < p->levels; l++) {
    if (t->latency[l] > most) {
      most = t->latency[l];
      snprintf(text, size, "latency%s", level_phrase(p, l, where));
    }
    if (t->transfer[l] > most) {
      most = t->transfer[l];
      snprintf(text, size, "transfer%s", level_phrase(p, l, where));
    }
  }
  const double parts[] = {t->o, t->copying, t->reducing};
  static const char *const names[] = {"handling messages", "copying", "arithmetic"};
  for (int i = 0; i < 3; i++) {
    if (parts[i] <= most) continue;
    most = parts[i];
    snprintf(text, size, "%s%s", names[i], t->shared_cores ? ", on shared cores" : "");
  }
}

/* ---- text ---- */

static void say_plan(tt_text *t, const char *name, int slices) {
  tt_text_add(t, "%s", name);
  if (slices > 1) tt_text_add(t, " in %d slices", slices);
}

static void say_wisdom(tt_text *t, const tt_wisdom_entry *e) {
  char time[24], own[24], size[24];
  tt_text_add(
      t, "By wisdom: at %s it took %s +- %d %%; the plan with the least estimate took %s (%s)\n",
      tt_size_words((double)e->bytes, size), tt_time_words(1e-9 * (double)e->took, time), e->spread,
      tt_time_words(1e-9 * (double)e->own, own), e->when);
}

static void say_part(tt_text *t, const char *what, const char *where, double seconds, double all,
                     int messages) {
  char time[24];
  if (seconds <= 0) return;
  tt_text_add(t, "  %9s  %3.0f %%  %s%s", tt_time_words(seconds, time), 100 * seconds / all, what,
              where);
  if (messages) tt_text_add(t, ": %d message%s", messages, messages == 1 ? "" : "s");
  tt_text_add(t, "\n");
}

static void say_parts(tt_text *t, const tt_cost_model *p, const tt_breakdown *x) {
  char where[40];
  for (int l = 0; l < p->levels; l++) {
    say_part(t, "latency", level_phrase(p, l, where), x->latency[l], x->time, x->messages[l]);
    say_part(t, "transfer", where, x->transfer[l], x->time, 0);
  }
  const char *shared = x->shared_cores ? ", of all ranks on the cores they share" : "";
  say_part(t, "handling messages", shared, x->o, x->time, 0);
  say_part(t, "copying", shared, x->copying, x->time, 0);
  say_part(t, "arithmetic", shared, x->reducing, x->time, 0);
}

static void say_spans(tt_text *t, const tt_why *w) {
  char size[24];
  if (w->spans < 2) return;
  tt_text_add(t, "By size:\n");
  for (int i = 0; i < w->spans; i++) {
    tt_text_add(t, "  from %9s  ", tt_size_words((double)w->span[i].from, size));
    say_plan(t, w->span[i].plan->text, w->span[i].slices);
    tt_text_add(t, "\n");
  }
}

static void say_way(tt_text *t, const tt_device_way *way) {
  char kernels[24], host[24];
  if (!way) return;
  tt_text_add(t, "Vectors on a device (%s): %s", way->device,
              !way->kernels ? "through the host"
              : way->within_hosts
                  ? "kernels sum those of a host, and the plan's other stages go through the host"
                  : "kernels sum them");
  if (way->priced)
    tt_text_add(t, "; kernels %s, through the host %s", tt_time_words(way->price.kernels, kernels),
                tt_time_words(way->price.host, host));
  tt_text_add(t, "%s%s\n", way->why ? "; " : "", way->why ? way->why : "");
}

static void say_refused(tt_text *t, const tt_why *w) {
  char time[24];
  if (!w->refused) return;
  tt_text_add(t, "Refused:\n");
  for (int i = 0; i < w->refused; i++) {
    const tt_reason *r = &w->reasons[i];
    tt_text_add(t, "  %9s  %s: %s\n",
                r->quote.possible ? tt_time_words(r->quote.seconds, time) : "-",
                r->quote.plan->text, r->why);
  }
}

/* Appends a sentence that says how the plan was proven. */
static void say_proof(tt_text *t, const tt_why *w) {
  tt_form form;
  if (w->proven == TT_PROVEN)
    tt_text_add(t, "every rank's steps, in place and not");
  else if (w->proven == TT_PROVEN_OFF)
    tt_text_add(t, "no: TUTTI_VERIFY is 0");
  else if (!tt_form_of(w->choice.plan, w->problem.coll, &form))
    tt_text_add(t, "no: it would take long (TUTTI_VERIFY=1; `tutti plan check`)");
  else
    tt_text_add(t,
                "its form, %s, on up to %d ranks when tutti was made; not on this number, which "
                "would take long while it runs (TUTTI_VERIFY=1; `tutti plan check`)",
                form.name, form.ranks);
}

/* Reports how many hosts have different links. */
static void say_hosts(tt_text *t, const tt_cost_model *p) {
  int hosts = 0;
  uint32_t *domain = p->hosts ? tt_cost_domains(p) : NULL;
  for (int r = 0; domain && r < p->ranks; r++) {
    const uint32_t *of = domain + (size_t)p->hosts->level * (size_t)p->ranks;
    hosts += p->hosts->kind[r] && (r == 0 || of[r] != of[r - 1]);
  }
  free(domain);
  if (hosts)
    tt_text_add(t, "Links differ: %d host%s %s other parameters, and slow ones come last\n", hosts,
                hosts == 1 ? "" : "s", hosts == 1 ? "has" : "have");
}

void tt_why_words(tt_text *t, const tt_chooser *c, const tt_why *w) {
  const tt_cost_model *p = tt_chooser_model(c);
  char text[24], size[24], bound[64], where[40];
  tt_text_add(t, "%s", tutti_coll_name(w->problem.coll));
  if (w->problem.coll != TUTTI_BARRIER)
    tt_text_add(t, " of %s", tt_size_words((double)w->problem.bytes, size));
  tt_text_add(t, " on %d ranks: ", p->ranks);
  say_plan(t, w->choice.plan->text, w->choice.slices);
  tt_text_add(t, w->choice.overridden ? ", as asked for\n" : "\n");
  if (w->choice.wisdom) say_wisdom(t, w->choice.wisdom);
  if (*w->choice.refusal) tt_text_add(t, "Not what was asked for: %s\n", w->choice.refusal);
  tt_text_add(t, "Proven: ");
  say_proof(t, w);
  tt_text_add(t, "\n");
  say_hosts(t, p);
  tt_why_bound(p, &w->breakdown, bound, sizeof bound);
  tt_text_add(t, "Predicted: %s, most of it %s; the busiest rank sends %d message%s, %s\n",
              tt_time_words(w->breakdown.time, text), bound, w->sends.messages,
              w->sends.messages == 1 ? "" : "s",
              tt_size_words(w->sends.vectors * (double)w->problem.bytes, size));
  for (int l = 0; l < p->levels && p->levels > 1; l++)
    tt_text_add(t, "%s%s%s", l ? ", " : "  at most ",
                tt_size_words(w->sends.level[l] * (double)w->problem.bytes, size),
                level_phrase(p, l, where));
  if (p->levels > 1) tt_text_add(t, "\n");
  tt_text_add(t, "  estimated from %s\n", w->estimated);
  say_parts(t, p, &w->breakdown);
  if (w->next) tt_text_add(t, "Next best:\n");
  for (int i = 0; i < w->next; i++) {
    const double more = w->others[i].seconds / w->breakdown.time - 1;
    tt_text_add(t, "  %9s  ", tt_time_words(w->others[i].seconds, text));
    say_plan(t, w->others[i].plan->text, w->others[i].slices);
    if (more < 1e-6 && more > -1e-6)
      tt_text_add(t, ": as much\n");
    else
      tt_text_add(t, ": %.3g %% %s\n", 100 * (more > 0 ? more : -more), more > 0 ? "more" : "less");
  }
  say_way(t, w->way);
  say_spans(t, w);
  say_refused(t, w);
}

/* ---- JSON: names and reasons contain no characters that need more escaping ---- */

void tt_why_string(tt_text *t, const char *s, size_t n) {
  tt_text_add(t, "\"");
  for (; n-- && *s; s++) {
    if (*s == '"' || *s == '\\') tt_text_add(t, "\\");
    tt_text_add(t, (unsigned char)*s < ' ' ? " " : "%c", *s);
  }
  tt_text_add(t, "\"");
}

static void json_string(tt_text *t, const char *s) {
  tt_why_string(t, s, SIZE_MAX);
}

static void json_plan(tt_text *t, const char *name, int slices) {
  tt_text_add(t, "\"plan\": ");
  json_string(t, name);
  tt_text_add(t, ", \"slices\": %d", slices);
}

static void json_parts(tt_text *t, const tt_cost_model *p, const tt_why *w) {
  const tt_breakdown *x = &w->breakdown;
  tt_text_add(t, "\"levels\": [");
  for (int l = 0; l < p->levels; l++) {
    tt_text_add(t, "%s{\"name\": ", l ? ", " : "");
    json_string(t, p->levels > 1 ? p->tree.level[l].name : "");
    tt_text_add(t,
                ", \"messages\": %d, \"latency_s\": %.9g, \"transfer_s\": %.9g, \"vectors\": %.6g}",
                x->messages[l], x->latency[l], x->transfer[l], w->sends.level[l]);
  }
  tt_text_add(t,
              "], \"processor_s\": %.9g, \"copying_s\": %.9g, \"arithmetic_s\": %.9g, "
              "\"shared_cores\": %s",
              x->o, x->copying, x->reducing, x->shared_cores ? "true" : "false");
}

static void json_way(tt_text *t, const tt_device_way *way) {
  tt_text_add(t, ",\n \"on_device\": {\"device\": ");
  json_string(t, way->device);
  tt_text_add(t, ", \"way\": \"%s\", \"why\": ",
              !way->kernels       ? "host"
              : way->within_hosts ? "kernels within hosts"
                                  : "kernels");
  if (way->why)
    json_string(t, way->why);
  else
    tt_text_add(t, "null");
  if (way->priced)
    tt_text_add(t, ", \"kernels_s\": %.9g, \"host_s\": %.9g", way->price.kernels, way->price.host);
  tt_text_add(t, "}");
}

void tt_why_json(tt_text *t, const tt_chooser *c, const tt_why *w) {
  const tt_cost_model *p = tt_chooser_model(c);
  tt_text_add(t, "{\"collective\": \"%s\", \"ranks\": %d, \"bytes\": %llu,\n ",
              tutti_coll_name(w->problem.coll), p->ranks, (unsigned long long)w->problem.bytes);
  json_plan(t, w->choice.plan->text, w->choice.slices);
  tt_text_add(t, ", \"wished\": %s, \"refusal\": ", w->choice.overridden ? "true" : "false");
  if (*w->choice.refusal)
    json_string(t, w->choice.refusal);
  else
    tt_text_add(t, "null");
  tt_text_add(t, ", \"code\": ");
  tt_coding_json(t, c, &w->problem, w->choice.plan);
  if (w->choice.wisdom)
    tt_text_add(t, ", \"measured\": {\"bytes\": %llu, \"seconds\": %.9g, \"own_seconds\": %.9g}",
                (unsigned long long)w->choice.wisdom->bytes, 1e-9 * (double)w->choice.wisdom->took,
                1e-9 * (double)w->choice.wisdom->own);
  tt_text_add(t, ",\n \"proven\": ");
  tt_text_add(t, "\"");
  say_proof(t, w);
  tt_text_add(t, "\"");
  tt_text_add(t, ",\n \"estimated_from\": \"%s\"", w->estimated);
  tt_text_add(t, ",\n \"seconds\": %.9g, \"messages\": %d, \"vectors\": %.6g,\n ",
              w->breakdown.time, w->sends.messages, w->sends.vectors);
  json_parts(t, p, w);
  if (w->way) json_way(t, w->way);
  tt_text_add(t, ",\n \"next\": [");
  for (int i = 0; i < w->next; i++) {
    tt_text_add(t, "%s{", i ? ", " : "");
    json_plan(t, w->others[i].plan->text, w->others[i].slices);
    tt_text_add(t, ", \"seconds\": %.9g}", w->others[i].seconds);
  }
  tt_text_add(t, "],\n \"by_size\": [");
  for (int i = 0; i < w->spans; i++) {
    tt_text_add(t, "%s{\"from\": %llu, ", i ? ", " : "", (unsigned long long)w->span[i].from);
    json_plan(t, w->span[i].plan->text, w->span[i].slices);
    tt_text_add(t, "}");
  }
  tt_text_add(t, "],\n \"refused\": [");
  for (int i = 0; i < w->refused; i++) {
    tt_text_add(t, "%s\n  {", i ? "," : "");
    json_plan(t, w->reasons[i].quote.plan->text, w->reasons[i].quote.slices);
    tt_text_add(t, ", \"why\": ");
    json_string(t, w->reasons[i].why);
    if (w->reasons[i].quote.possible)
      tt_text_add(t, ", \"seconds\": %.9g", w->reasons[i].quote.seconds);
    tt_text_add(t, "}");
  }
  tt_text_add(t, "]}\n");
}
