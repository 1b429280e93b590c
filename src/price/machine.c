/* machine.c - reads and writes the figures of a machine, and makes profiles of them.
 *
 * Idea       one table has every figure's name, kind, place and meaning; reading and
 *            writing only walk it.
 * Invariant  what is written reads back to the same figures, bit by bit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "machine.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1e6 /* s, or s/B; sums of such figures are still numbers */

typedef enum kind { SECONDS, PER_BYTE, BYTES, COUNT, YES } kind;

typedef struct figure {
  const char *name;
  kind kind;
  size_t at; /* in the machine; of a level: in its figures */
  const char *meaning;
} figure;

static const figure of_level[] = {
    {"alpha", SECONDS, offsetof(tt_figures, alpha), "a message, whatever its size"},
    {"delay", SECONDS, offsetof(tt_figures, delay), "on top, while the port is free again"},
    {"beta", PER_BYTE, offsetof(tt_figures, beta), "a byte through the link"},
    {"processor", SECONDS, offsetof(tt_figures, processor),
     "of a core, for a message at either end"},
    {"again", SECONDS, offsetof(tt_figures, again), "of a core, for each further one at once"},
    {"burst", BYTES, offsetof(tt_figures, burst),
     "that a link lets through at once, having rested"},
    {"ports", COUNT, offsetof(tt_figures, ports),
     "messages that a rank sends, or receives, at once"},
};
enum { OF_LEVEL = sizeof of_level / sizeof *of_level };

#define AT(member) offsetof(tt_machine, member)
static const figure of_all[] = {
    {"gamma", PER_BYTE, AT(gamma), "a byte added"},
    {"half", YES, AT(half), "a port does not send and receive at once"},
    {"apart", YES, AT(apart), "a rank has ports of its own for each level"},
    {"torus", YES, AT(torus), "each node has links of its own to its neighbours"},
    {"hop", SECONDS, AT(hop), "each further link of a torus on the way; 0: links lead everywhere"},
    {"shm.wake", SECONDS, AT(shm.wait), "until a rank on a core of its own sees a message"},
    {"shm.message", SECONDS, AT(shm.message), "to send one, or to receive one"},
    {"shm.again", SECONDS, AT(shm.again), "each further one of the same step"},
    {"shm.copy", PER_BYTE, AT(shm.copy), "a byte in, or out"},
    {"shm.piece", BYTES, AT(shm.piece), "after which a reader on a core of its own begins to copy"},
    {"shm.loop.message", SECONDS, AT(shm.loop_message), "to send one from a loop of its own"},
    {"shm.loop.again", SECONDS, AT(shm.loop_again), "each further one"},
    {"shm.loop.copy", PER_BYTE, AT(shm.loop_copy), "a byte in, or out"},
    {"shm.loop.further", PER_BYTE, AT(shm.loop_further), "of each further input added in one pass"},
    {"shm.cache", BYTES, AT(shm.cache), "of a vector; the rest lies further from its core"},
    {"shm.far", PER_BYTE, AT(shm.far), "as shm.copy, of the bytes of a vector after shm.cache"},
    {"shm.loop.far", PER_BYTE, AT(shm.loop_far), "as shm.loop.copy, of those"},
    {"shm.turn", SECONDS, AT(crowd.wait),
     "as shm.wake where ranks share a core, for each other one"},
    {"shm.crowd.message", SECONDS, AT(crowd.message), "as shm.message where ranks share a core"},
    {"shm.crowd.again", SECONDS, AT(crowd.again), "as shm.again there"},
    {"shm.crowd.copy", PER_BYTE, AT(crowd.copy), "as shm.copy there"},
    {"shm.crowd.loop.message", SECONDS, AT(crowd.loop_message), "as shm.loop.message there"},
    {"shm.crowd.loop.again", SECONDS, AT(crowd.loop_again), "as shm.loop.again there"},
    {"shm.crowd.loop.copy", PER_BYTE, AT(crowd.loop_copy), "as shm.loop.copy there"},
    {"shm.crowd.loop.further", PER_BYTE, AT(crowd.loop_further), "as shm.loop.further there"},
    {"shm.crowd.far", PER_BYTE, AT(crowd.far), "as shm.far there"},
    {"shm.crowd.loop.far", PER_BYTE, AT(crowd.loop_far), "as shm.loop.far there"},
    {"shm.between", SECONDS, AT(between),
     "a cache line to another core and back, when these were measured; in no price"},
};
enum { OF_ALL = sizeof of_all / sizeof *of_all };

/* With more ranks than cores, a round is a turn of the scheduler for each other rank of a core. */
void tt_machine_shm(tt_machine *machine) {
  tt_machine_net(machine);
  machine->gamma = 0.01e-9;
}

/* The network is that of paper 001, table 2. */
void tt_machine_net(tt_machine *machine) {
  *machine = (tt_machine){
      .net = {.alpha = 3e-5, .beta = 1e-8, .again = -1, .ports = 1},
      .gamma = 2e-10,
      .shm = {.wait = 0.1e-6,
              .message = 0.25e-6,
              .again = 0.25e-6,
              .copy = 0.03e-9,
              .piece = 65536,
              .loop_message = 0.08e-6,
              .loop_again = 0.02e-6,
              .loop_copy = 0.0145e-9,
              .loop_further = -1,
              .far = -1,
              .loop_far = -1,
              .cache = 524288},
      .between = -1,
      .crowd = {1e-6, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
  };
}

void tt_machine_forget_net(tt_machine *machine) {
  tt_machine m;
  tt_machine_net(&m);
  m.gamma = machine->gamma;
  memcpy(m.gamma_of, machine->gamma_of, sizeof m.gamma_of);
  m.shm = machine->shm;
  m.crowd = machine->crowd;
  m.between = machine->between;
  memcpy(m.of, machine->of, sizeof m.of);
  *machine = m;
}

/* ---- reading ---- */

typedef struct reader {
  const char *what, *text, *at;
} reader;

static tutti_status expected(const reader *r, const char *at, const char *sentence) {
  int line = 1, column = 1;
  for (const char *p = r->text; p < at; p++, column++)
    if (*p == '\n') line++, column = 0;
  return tt_fail(TUTTI_ERR_ARG, "%s, line %d, column %d: expected %s, found '%.*s'", r->what, line,
                 column, sentence, (int)tt_min(strcspn(at, ",\n#"), 40), at);
}

static bool ends(const char *end) {
  end += strspn(end, " \t\r");
  return !*end || strchr(",\n#", *end);
}

static bool unit(const char *at, const char *name) {
  return strncmp(at, name, strlen(name)) == 0 && ends(at + strlen(name));
}

/* "30us": seconds; -1 if it is none. */
static double seconds(const char *at) {
  static const struct {
    const char *name;
    double is;
  } units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"", 1}};
  char *end;
  double value = strtod(at, &end);
  if (end == at || !(value >= 0) || isinf(value)) return -1;
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (unit(end, units[i].name)) return value * units[i].is;
  return -1;
}

/* "10Gbit/s": seconds per byte; -1 if it is none. */
static double per_byte(const char *at) {
  static const char prefix[] = "kMGT";
  char *end;
  double value = strtod(at, &end), times = 1;
  if (end == at || !(value > 0) || isinf(value)) return seconds(at);
  const char *found = *end ? strchr(prefix, *end) : NULL;
  if (found) {
    const double step = end[1] == 'i' ? 1024 : 1000;
    for (const char *p = prefix; p <= found; p++) times *= step;
    end += end[1] == 'i' ? 2 : 1;
  }
  if (unit(end, "B/s")) return 1 / (value * times);
  if (unit(end, "bit/s")) return 8 / (value * times);
  return seconds(at);
}

static tutti_status read_value(const reader *r, const char *at, const figure *f, void *of) {
  char *end;
  if (f->kind == COUNT || f->kind == YES) {
    const long value = strtol(at, &end, 10);
    const long lo = f->kind == YES ? 0 : 1, hi = f->kind == YES ? 1 : 16;
    if (end == at || !ends(end) || value < lo || value > hi)
      return expected(r, at, f->kind == YES ? "0 or 1" : "a number from 1 to 16");
    *(int *)((char *)of + f->at) = (int)value;
    return TUTTI_OK;
  }
  double value = f->kind == SECONDS ? seconds(at) : f->kind == BYTES ? -1 : per_byte(at);
  if (f->kind == BYTES) {
    uint64_t bytes;
    const char *stop = tt_size_read(at, &bytes);
    if (!stop || !ends(stop)) return expected(r, at, "a size such as 64KiB");
    value = (double)bytes;
  }
  if (!(value >= 0 && value < (f->kind == BYTES ? 1e19 : MOST)))
    return expected(r, at,
                    f->kind == SECONDS
                        ? "a time such as 30us"
                        : "seconds per byte such as 1e-8, or a rate such as 10Gbit/s");
  *(double *)((char *)of + f->at) = value;
  return TUTTI_OK;
}

static const figure *find(const figure *table, int n, const char *name, size_t length) {
  for (int i = 0; i < n; i++)
    if (strlen(table[i].name) == length && memcmp(table[i].name, name, length) == 0)
      return &table[i];
  return NULL;
}

/* The figures of the level that is called so; NULL if there is no room for one more. */
static tt_figures *level_of(tt_machine *m, const char *name, size_t length) {
  for (int i = 0; i < m->levels; i++)
    if (strlen(m->level[i].name) == length && memcmp(m->level[i].name, name, length) == 0)
      return &m->level[i].is;
  if (m->levels == TT_NAMED_LEVELS || length >= sizeof m->level[0].name || !length) return NULL;
  snprintf(m->level[m->levels].name, sizeof m->level[0].name, "%.*s", (int)length, name);
  m->level[m->levels].is = (tt_figures){-1, -1, -1, -1, -1, -1, -1};
  return &m->level[m->levels++].is;
}

static bool is(const char *key, size_t length, const char *word) {
  return length == strlen(word) && memcmp(key, word, length) == 0;
}

/* The name of a machine, or of a network, to the end of the entry. */
static tutti_status read_stamp(const reader *r, const char *at, const char *what,
                               char stamp[TT_STAMP]) {
  size_t length = strcspn(at, ",\n#");
  while (length && strchr(" \t\r", at[length - 1])) length--;
  if (!length || length >= TT_STAMP) return expected(r, at, what);
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)at[i] < ' ') return expected(r, at, what);
  memset(stamp, 0, TT_STAMP);
  memcpy(stamp, at, length);
  return TUTTI_OK;
}

/* "gamma.bf16": that type's place; NULL if it is none. */
static const figure *gamma_of(const char *key, size_t length, tt_machine *m, void **of) {
  static const figure one = {"gamma", PER_BYTE, 0, "a byte added"};
  if (length < 7 || memcmp(key, "gamma.", 6) != 0) return NULL;
  for (int t = 0; t < TUTTI_TYPE_COUNT; t++) {
    const char *name = tutti_type_name((tutti_type)t);
    if (strlen(name) != length - 6 || memcmp(name, key + 6, length - 6) != 0) continue;
    *of = &m->gamma_of[t];
    return &one;
  }
  return NULL;
}

static tutti_status read_entry(reader *r, tt_machine *m) {
  const char *key = r->at;
  const size_t length = strcspn(key, "= \t\r,\n#");
  const char *at = key + length + strspn(key + length, " \t"), *dot = NULL;
  void *of = m;
  const figure *f = find(of_all, OF_ALL, key, length);
  for (size_t i = 0; i < length; i++)
    if (key[i] == '.') dot = key + i;
  if (!f) f = gamma_of(key, length, m, &of);
  if (!f && !dot) f = find(of_level, OF_LEVEL, key, length), of = &m->net;
  if (!f && dot && strncmp(key, "shm.", 4) != 0) {
    f = find(of_level, OF_LEVEL, dot + 1, length - (size_t)(dot + 1 - key));
    of = f ? level_of(m, key, (size_t)(dot - key)) : NULL;
  }
  const bool machine = is(key, length, "machine"), network = is(key, length, "network");
  if ((!f || !of) && !machine && !network)
    return expected(
        r, key,
        "a figure: alpha, delay, beta, burst, processor, again or ports, also of a level as in "
        "node.alpha; "
        "gamma, also of a type as in gamma.bf16; half, apart, torus, hop, one of shm, "
        "machine or network");
  if (*at != '=') return expected(r, at, "=");
  at += 1 + strspn(at + 1, " \t");
  r->at = at + strcspn(at, ",\n#");
  if (machine) return read_stamp(r, at, "the name of a machine", m->of);
  if (network) return read_stamp(r, at, "the name of a network", m->over);
  return read_value(r, at, f, of);
}

tutti_status tt_machine_parse(tt_machine *machine, const char *text, const char *what) {
  reader r = {what, text, text};
  tt_machine m = *machine;
  for (;;) {
    r.at += strspn(r.at, " \t\r\n,");
    if (*r.at == '#') r.at += strcspn(r.at, "\n");
    if (!*r.at) break;
    if (*r.at == '\n') continue;
    tutti_status status = read_entry(&r, &m);
    if (status) return status;
  }
  *machine = m;
  return TUTTI_OK;
}

int tt_machine_said(const char *text, int *column) {
  int line = 1;
  for (const char *at = text; at; line++) {
    const char *key = at + strspn(at, " \t");
    *column = (int)(key - at) + 1;
    if (is(key, strcspn(key, "= \t\r,\n#"), "machine")) return line;
    at = strchr(at, '\n');
    if (at) at++;
  }
  return 0;
}

/* ---- writing ---- */

/* A number that reads back to the same. */
static void print_number(double number, char value[40]) {
  for (int digits = 4; digits <= 17; digits++) {
    snprintf(value, 40, "%.*g", digits, number);
    if (strtod(value, NULL) == number) break;
  }
}

static void print_table(tt_text *t, const char *level, const figure *table, int n, const void *of) {
  for (int i = 0; i < n; i++) {
    const char *at = (const char *)of + table[i].at;
    char name[64], value[40];
    const bool number = table[i].kind == COUNT || table[i].kind == YES;
    if (number ? *(const int *)at < 0 : *(const double *)at < 0) continue;
    snprintf(name, sizeof name, "%s%s%s", level, *level ? "." : "", table[i].name);
    if (number)
      snprintf(value, sizeof value, "%d", *(const int *)at);
    else
      print_number(*(const double *)at, value);
    tt_text_add(t, "%-17s = %-9s  # %s%s\n", name, value,
                table[i].kind == SECONDS    ? "s: "
                : table[i].kind == PER_BYTE ? "s/B: "
                : table[i].kind == BYTES    ? "B: "
                                            : "",
                table[i].meaning);
  }
}

void tt_machine_print(tt_text *text, const tt_machine *m) {
  print_table(text, "", of_level, OF_LEVEL, &m->net);
  for (int i = 0; i < m->levels; i++)
    print_table(text, m->level[i].name, of_level, OF_LEVEL, &m->level[i].is);
  print_table(text, "", of_all, OF_ALL, m);
  for (int t = 0; t < TUTTI_TYPE_COUNT; t++) {
    char name[40], value[40];
    if (m->gamma_of[t] <= 0) continue;
    snprintf(name, sizeof name, "gamma.%s", tutti_type_name((tutti_type)t));
    print_number(m->gamma_of[t], value);
    tt_text_add(text, "%-17s = %-9s  # s/B: a byte of this type added\n", name, value);
  }
  if (*m->of) tt_text_add(text, "%-17s = %s\n", "machine", m->of);
  if (*m->over) tt_text_add(text, "%-17s = %s\n", "network", m->over);
}

/* ---- profiles ---- */

/* Of the level that is called so; what is not said of it is as in f. */
static tt_reach reach_of(const tt_machine *m, const char *name, tt_figures f) {
  for (int i = 0; i < m->levels; i++) {
    if (strcmp(m->level[i].name, name) != 0) continue;
    const tt_figures *own = &m->level[i].is;
    if (own->alpha >= 0) f.alpha = own->alpha;
    if (own->delay >= 0) f.delay = own->delay;
    if (own->beta >= 0) f.beta = own->beta;
    if (own->processor >= 0 || own->again >= 0) f.again = own->again;
    if (own->processor >= 0) f.processor = own->processor;
    if (own->burst >= 0) f.burst = own->burst;
    if (own->ports >= 0) f.ports = own->ports;
  }
  return (tt_reach){.alpha = f.alpha,
                    .delay = f.delay,
                    .beta = f.beta,
                    .processor = f.processor,
                    .again = f.again < 0 ? f.processor : f.again,
                    .burst = f.burst,
                    .ports = f.ports};
}

void tt_profile_net(const tt_machine *m, int ranks, const tt_tree *tree, tt_profile *p) {
  tt_profile_flat(p, ranks);
  if (tree) {
    p->tree = *tree;
    p->levels = tree->levels;
  }
  for (int l = 0; l < p->levels; l++) p->reach[l] = reach_of(m, p->tree.level[l].name, m->net);
  p->half = m->half;
  p->apart = m->apart;
  p->torus = m->torus;
  p->hop = m->torus ? m->hop : 0;
  p->gamma = m->gamma;
}

/* With so many ranks per core; where only some cores have two, the others need not wait as long. */
static tt_shm_figures shm_of(const tt_machine *m, double crowd) {
  tt_shm_figures f = m->shm;
  const tt_shm_figures *c = &m->crowd;
  if (crowd <= 1) return f;
  f.wait = c->wait * (crowd > 1.5 ? crowd - 1 : 0.5);
  f.piece = 0;
  f.cache /= crowd;
  if (c->copy >= 0 || c->far >= 0) f.far = c->far;
  if (c->loop_copy >= 0 || c->loop_far >= 0) f.loop_far = c->loop_far;
  if (c->message >= 0) f.message = c->message;
  if (c->again >= 0) f.again = c->again;
  if (c->copy >= 0) f.copy = c->copy;
  if (c->loop_message >= 0) f.loop_message = c->loop_message;
  if (c->loop_again >= 0) f.loop_again = c->loop_again;
  if (c->loop_copy >= 0) f.loop_copy = c->loop_copy;
  if (c->loop_copy >= 0 || c->loop_further >= 0) f.loop_further = c->loop_further;
  return f;
}

/* A rank's processor is the port of its messages: it writes them, and reads them. */
void tt_profile_inside(const tt_machine *m, int levels, double crowd, tt_profile *p) {
  const tt_shm_figures f = shm_of(m, crowd);
  const tt_figures shm = {2 * f.message, f.wait, 2 * f.copy, .again = -1, .ports = 1};
  for (int l = p->levels - levels; l < p->levels; l++)
    p->reach[l] = reach_of(m, p->tree.level[l].name, shm);
}

tutti_status tt_figures_known(const tt_machine *m, const tt_profile *p) {
  for (int i = 0; i < m->levels; i++) {
    bool known = false;
    for (int l = 0; l < p->levels; l++)
      known |= strcmp(p->tree.level[l].name, m->level[i].name) == 0;
    if (!known)
      return tt_fail(TUTTI_ERR_ARG,
                     "there are figures for the level '%s', and the topology has no such level",
                     m->level[i].name);
  }
  return TUTTI_OK;
}

void tt_profile_shm(const tt_machine *m, int ranks, double crowd, bool loop, tt_profile *p) {
  const tt_shm_figures f = shm_of(m, crowd);
  tt_profile_flat(p, ranks);
  p->reach[0].delay = f.wait;
  p->gamma = m->gamma;
  p->message = loop ? f.loop_message : f.message;
  p->again = loop ? f.loop_again : f.again;
  p->copy = loop ? f.loop_copy : f.copy;
  p->spared = loop && f.loop_further >= 0 ? p->copy - f.loop_further : 0;
  const double far = loop ? f.loop_far : f.far;
  if (far >= 0 && p->copy > 0) {
    p->cache = f.cache;
    p->beyond = far / p->copy;
  }
  p->published = loop;
  p->piece = loop ? 0 : f.piece;
  p->cores = crowd > 1 ? ranks / crowd : ranks;
}
