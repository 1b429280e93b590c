/* profile.c - reads and writes the profile of a machine.
 *
 * Idea       A table lists the name, kind, location and meaning of every parameter. Reading and writing only traverse
 *            it.
 * Invariant  A profile that is written and read back has bitwise equal parameters.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "profile.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1e6 /* in s or s/B; keeps sums of parameters finite */

typedef enum kind { SECONDS, PER_BYTE, BYTES, MEAN, COUNT, MANY, YES } kind;

typedef struct figure {
  const char *name;
  kind kind;
  size_t at; /* offset in the profile or, for a parameter of a level, in tt_link */
  const char *meaning;
} figure;

static const figure of_level[] = {
    {"alpha", SECONDS, offsetof(tt_link, alpha), "per message, regardless of its size"},
    {"delay", SECONDS, offsetof(tt_link, L),
     "additional latency of a message, during which no port is busy (LogGP's L)"},
    {"gap", SECONDS, offsetof(tt_link, g),
     "least time for which a message occupies a port (LogGP's g)"},
    {"beta", PER_BYTE, offsetof(tt_link, beta),
     "per byte on the link of a rank, or of a domain of the level"},
    {"processor", SECONDS, offsetof(tt_link, o),
     "processor time per message, at the sender and at the receiver (LogP's o)"},
    {"again", SECONDS, offsetof(tt_link, o_next),
     "as processor, per additional message of the same step"},
    {"burst", BYTES, offsetof(tt_link, burst),
     "burst credit of a token bucket: an idle link sends this much without delay"},
    {"ports", COUNT, offsetof(tt_link, ports),
     "messages that a rank can send, or receive, simultaneously"},
    {"paths", MANY, offsetof(tt_link, paths),
     "parallel links from each domain; a message to rank r takes link r modulo paths"},
    {"pairs", YES, offsetof(tt_link, pairs),
     "1: a separate link leads from each domain to each other domain of the level"},
};
enum { OF_LEVEL = sizeof of_level / sizeof *of_level };

#define AT(member) offsetof(tt_profile, member)
/* The parameters of a level within a machine, with index i in tt_inner_levels. */
#define LEVEL(name, i)                                            \
  {"shm." name ".delay", SECONDS, AT(shm_level[i].delay),         \
   "replaces shm.wake between domains of this level, if longer"}, \
  {                                                               \
    "shm." name ".beta", PER_BYTE, AT(shm_level[i].beta),         \
        "per byte on the link of a domain, which its ranks share" \
  }
static const figure of_all[] = {
    {"gamma", PER_BYTE, AT(gamma), "per byte added"},
    {"header", BYTES, AT(header), "size of the header of a message on links"},
    {"half", YES, AT(half), "1: a port cannot send and receive simultaneously"},
    {"apart", YES, AT(apart), "1: a rank has separate ports for each level"},
    {"torus", YES, AT(torus), "1: a node has a link in each direction on each level"},
    {"hop", SECONDS, AT(hop),
     "latency of each link of a torus after the first; 0: a link leads directly to every domain"},
    {"contention.mean", MEAN, AT(contention.mean),
     "messages on each of the busiest links, on average, if each node sends one; 0: the placement "
     "is known"},
    {"contention.excess", MEAN, AT(contention.excess),
     "additional messages on the most loaded of these links, by chance"},
    {"contention.nearest", SECONDS, AT(contention.nearest),
     "alpha minus the latency from the nearest node"},
    {"contention.furthest", SECONDS, AT(contention.furthest),
     "latency from the furthest node minus alpha"},
    {"shm.wake", SECONDS, AT(shm.wait), "until a waiting rank with its own core sees a message"},
    {"shm.message", SECONDS, AT(shm.message), "to send, or to receive, a message"},
    {"shm.again", SECONDS, AT(shm.o_next),
     "as shm.message, per additional message of the same step"},
    {"shm.copy", PER_BYTE, AT(shm.copy), "per byte copied in, or out"},
    {"shm.piece", BYTES, AT(shm.piece),
     "received before a receiver with its own core starts to copy"},
    {"shm.loop.message", SECONDS, AT(shm.loop_message),
     "as shm.message, in a specialized fast path"},
    {"shm.loop.again", SECONDS, AT(shm.loop_o_next), "as shm.again, in a specialized fast path"},
    {"shm.loop.copy", PER_BYTE, AT(shm.loop_copy), "as shm.copy, in a specialized fast path"},
    {"shm.loop.further", PER_BYTE, AT(shm.loop_next_input),
     "as shm.loop.copy, per additional input of the same pass"},
    {"shm.cache", BYTES, AT(shm.cache), "part of a vector that fits into the core's cache"},
    {"shm.far", PER_BYTE, AT(shm.far), "as shm.copy, for bytes beyond shm.cache"},
    {"shm.loop.far", PER_BYTE, AT(shm.loop_far), "as shm.loop.copy, for bytes beyond shm.cache"},
    {"shm.turn", SECONDS, AT(oversubscribed.wait), "as shm.wake, per other rank on the same core"},
    {"shm.crowd.message", SECONDS, AT(oversubscribed.message),
     "as shm.message, where ranks share a core"},
    {"shm.crowd.again", SECONDS, AT(oversubscribed.o_next),
     "as shm.again, where ranks share a core"},
    {"shm.crowd.copy", PER_BYTE, AT(oversubscribed.copy), "as shm.copy, where ranks share a core"},
    {"shm.crowd.loop.message", SECONDS, AT(oversubscribed.loop_message),
     "as shm.loop.message, where ranks share a core"},
    {"shm.crowd.loop.again", SECONDS, AT(oversubscribed.loop_o_next),
     "as shm.loop.again, where ranks share a core"},
    {"shm.crowd.loop.copy", PER_BYTE, AT(oversubscribed.loop_copy),
     "as shm.loop.copy, where ranks share a core"},
    {"shm.crowd.loop.further", PER_BYTE, AT(oversubscribed.loop_next_input),
     "as shm.loop.further, where ranks share a core"},
    {"shm.crowd.far", PER_BYTE, AT(oversubscribed.far), "as shm.far, where ranks share a core"},
    {"shm.crowd.loop.far", PER_BYTE, AT(oversubscribed.loop_far),
     "as shm.loop.far, where ranks share a core"},
    LEVEL("package", 0),
    LEVEL("numa", 1),
    LEVEL("cache", 2),
    {"code.int8", PER_BYTE, AT(code.int8),
     "per byte of floats, to int8 and back (docs/lighter.md)"},
    {"code.fp8", PER_BYTE, AT(code.fp8), "per byte of floats, to 8-bit floats and back"},
    {"code.lossless", PER_BYTE, AT(code.lossless),
     "per byte, compressed without loss and restored"},
    {"code.left", BYTES, AT(code.left), "size of 1000 bytes after lossless compression"},
    {"device.sum", SECONDS, AT(device.sum),
     "per sum by a GPU's kernels, regardless of its size (docs/gpu.md)"},
    {"device.memory", PER_BYTE, AT(device.memory),
     "per byte that kernels read or write in a GPU's memory"},
    {"device.link", PER_BYTE, AT(device.link), "per byte from one GPU to another"},
    {"device.copy", SECONDS, AT(device.copy),
     "per copy between a GPU and the host, regardless of its size"},
    {"device.bus", PER_BYTE, AT(device.bus), "per byte copied between a GPU and the host"},
    {"device.turn", SECONDS, AT(device.turn),
     "additional, per short copy to a GPU that several processes share"},
    {"shm.between", SECONDS, AT(between),
     "round trip of a cache line between two cores, during `tutti tune`; not used in predictions"},
};
enum { OF_ALL = sizeof of_all / sizeof *of_all };

static bool is_whole(const figure *f) {
  return f->kind >= COUNT;
}
static double value_of(const figure *f, const void *of) {
  const char *at = (const char *)of + f->at;
  return is_whole(f) ? *(const int *)at : *(const double *)at;
}
static void set_value(const figure *f, void *of, double value) {
  char *at = (char *)of + f->at;
  if (is_whole(f))
    *(int *)at = (int)value;
  else
    *(double *)at = value;
}

/* If several ranks share a core, a round takes one more scheduler time slice for each additional rank of the core. */
void tt_profile_shm(tt_profile *profile) {
  tt_profile_net(profile);
  profile->gamma = 0.01e-9;
}

/* Sets the built-in parameters of the network in paper 001, table 2. */
void tt_profile_net(tt_profile *profile) {
  *profile = (tt_profile){
      .net = {.alpha = 3e-5, .beta = 1e-8, .o_next = -1, .ports = 1, .paths = 1},
      .gamma = 2e-10,
      .shm = {.wait = 0.1e-6,
              .message = 0.25e-6,
              .o_next = 0.25e-6,
              .copy = 0.03e-9,
              .piece = 65536,
              .loop_message = 0.08e-6,
              .loop_o_next = 0.02e-6,
              .loop_copy = 0.0145e-9,
              .loop_next_input = -1,
              .far = -1,
              .loop_far = -1,
              .cache = 524288},
      .shm_level = {{-1, -1}, {-1, -1}, {-1, -1}},
      .between = -1,
      .code = {.int8 = 0.2e-9, .fp8 = 0.5e-9, .lossless = 1.3e-9, .left = 840},
      /* an H100 on PCIe; `link` is an assumption, the other values were measured */
      .device = {.sum = 16e-6,
                 .memory = 0.35e-12,
                 .link = 20e-12,
                 .copy = 9e-6,
                 .bus = 21e-12,
                 .turn = 2e-4},
      .oversubscribed = {2e-6, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
  };
}

void tt_profile_forget_net(tt_profile *profile) {
  tt_profile m;
  tt_profile_net(&m);
  memcpy(profile, &m, offsetof(tt_profile, gamma));
  memset(profile->over, 0, sizeof profile->over);
}

/* ---- reading ---- */

typedef struct reader {
  const char *what, *text, *at;
} reader;

static tutti_status profile_error(const reader *r, const char *at, const char *expected) {
  return tt_syntax_error(TUTTI_ERR_ARG, r->what, r->text, at, ",\n#", expected);
}

static bool ends(const char *end) {
  end += strspn(end, " \t\r");
  return !*end || strchr(",\n#", *end);
}

static bool unit(const char *at, const char *name) {
  return strncmp(at, name, strlen(name)) == 0 && ends(at + strlen(name));
}

/* Converts a time such as "30us" to seconds. Returns -1 if the text is not a time. */
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

/* Converts a rate such as "10Gbit/s" to seconds per byte. Returns -1 if the text is not a rate. */
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
  if (is_whole(f)) {
    const long value = strtol(at, &end, 10);
    const long lo = f->kind == YES ? 0 : 1;
    const long hi = f->kind == YES ? 1 : f->kind == MANY ? 4096 : 16;
    if (end == at || !ends(end) || value < lo || value > hi)
      return profile_error(r, at,
                           f->kind == YES    ? "0 or 1"
                           : f->kind == MANY ? "a number from 1 to 4096"
                                             : "a number from 1 to 16");
    set_value(f, of, (double)value);
    return TUTTI_OK;
  }
  double value = f->kind == SECONDS ? seconds(at) : f->kind == BYTES ? -1 : per_byte(at);
  if (f->kind == MEAN) value = strtod(at, &end), value = end != at && ends(end) ? value : -1;
  if (f->kind == BYTES) {
    uint64_t bytes;
    const char *stop = tt_size_read(at, &bytes);
    if (!stop || !ends(stop)) return profile_error(r, at, "a size such as 64KiB");
    value = (double)bytes;
  }
  if (!(value >= 0 && value < (f->kind == BYTES ? 1e19 : MOST)))
    return profile_error(r, at,
                         f->kind == SECONDS ? "a time such as 30us"
                         : f->kind == MEAN
                             ? "a number such as 0.76"
                             : "seconds per byte such as 1e-8, or a rate such as 10Gbit/s");
  set_value(f, of, value);
  return TUTTI_OK;
}

static bool key_is(const char *key, size_t length, const char *word) {
  return length == strlen(word) && memcmp(key, word, length) == 0;
}

static const figure *find_figure(const figure *table, int n, const char *name, size_t length) {
  for (int i = 0; i < n; i++)
    if (key_is(name, length, table[i].name)) return &table[i];
  return NULL;
}

static const tt_link unset = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

/* Finds or adds the parameters of the named level. Returns NULL if there are too many levels, or if the name is not valid. */
static tt_link *level_of(tt_profile *m, const char *name, size_t length) {
  for (int i = 0; i < m->levels; i++)
    if (key_is(name, length, m->level[i].name)) return &m->level[i].is;
  if (m->levels == TT_NAMED_LEVELS || length >= sizeof m->level[0].name || !length) return NULL;
  snprintf(m->level[m->levels].name, sizeof m->level[0].name, "%.*s", (int)length, name);
  m->level[m->levels].is = unset;
  return &m->level[m->levels++].is;
}

/* ---- hosts ---- */

#define DIGITS "0123456789"

/* Parses a host's number such as "3", a range such as "4-7", or a name. Returns NULL, or a description of valid texts. */
static const char *read_hosts(const char *at, size_t length, tt_host_figures *x) {
  const size_t first = strspn(at, DIGITS), dash = first < length && at[first] == '-' ? 1 : 0,
               last = dash ? strspn(at + first + 1, DIGITS) : 0;
  *x = (tt_host_figures){.first = -1, .last = -1, .is = unset};
  if (first && first + dash + last == length && (last || !dash)) {
    if (first > 7 || last > 7) return "a host's number below 10000000";
    x->first = x->last = atoi(at);
    if (dash) x->last = atoi(at + first + 1);
    return x->first > x->last ? "a range from the lower number to the higher, such as 4-7" : NULL;
  }
  if (!length || length >= sizeof x->name || strspn(at, DIGITS "-") == length)
    return "a host's number such as 3, a range such as 4-7, or a host's name of at most 39 letters";
  for (size_t i = 0; i < length; i++)
    if (!isalnum((unsigned char)at[i]) && !strchr("-_.", at[i]))
      return "a host's name: letters, digits, '-', '_' and '.'";
  memcpy(x->name, at, length);
  return NULL;
}

static bool same_hosts(const tt_host_figures *a, const tt_host_figures *b) {
  return strcmp(a->name, b->name) == 0 && a->first == b->first && a->last == b->last;
}

static bool overlap(const tt_host_figures *a, const tt_host_figures *b) {
  return !*a->name && !*b->name && a->first <= b->last && b->first <= a->last;
}

/* Finds a host parameter such as "host.4-7.beta", where `dot` points to the last dot. Adds the hosts if they are new. */
static tutti_status find_host(const reader *r, tt_profile *m, const char *dot, size_t length,
                              const figure **f, void **of) {
  const char *who = r->at + sizeof "host." - 1;
  char other[80];
  tt_host_figures x;
  *f = find_figure(of_level, OF_LEVEL, dot + 1, length - (size_t)(dot + 1 - r->at));
  if (!*f || (*f)->kind == BYTES || (*f)->kind == MANY || (*f)->kind == YES)
    return profile_error(
        r, dot + 1, "a parameter of a host: alpha, delay, gap, beta, processor, again or ports");
  const char *wrong = read_hosts(who, (size_t)(dot - who), &x);
  if (wrong) return profile_error(r, who, wrong);
  int i = 0;
  while (i < m->hosts && !same_hosts(&m->host[i], &x)) i++;
  for (int k = 0; k < m->hosts && i == m->hosts; k++) {
    if (!overlap(&m->host[k], &x)) continue;
    const tt_host_figures *has = &m->host[k];
    if (has->first == has->last)
      snprintf(other, sizeof other, "hosts other than %d, which has parameters already",
               has->first);
    else
      snprintf(other, sizeof other, "hosts other than %d-%d, which have parameters already",
               has->first, has->last);
    return profile_error(r, who, other);
  }
  if (i == TT_NAMED_HOSTS) return profile_error(r, who, "parameters of at most 16 hosts or ranges");
  if (i == m->hosts) m->host[m->hosts++] = x;
  *of = &m->host[i].is;
  return TUTTI_OK;
}

/* ---- entries ---- */

/* Reads the name of a machine or network, which extends to the end of the entry. */
static tutti_status read_stamp(const reader *r, const char *at, const char *what,
                               char stamp[TT_STAMP]) {
  size_t length = strcspn(at, ",\n#");
  while (length && strchr(" \t\r", at[length - 1])) length--;
  if (!length || length >= TT_STAMP) return profile_error(r, at, what);
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)at[i] < ' ') return profile_error(r, at, what);
  memset(stamp, 0, TT_STAMP);
  memcpy(stamp, at, length);
  return TUTTI_OK;
}

/* Finds the parameter for additions of a type, such as "gamma.bf16". Returns NULL if the key is something else. */
static const figure *gamma_of(const char *key, size_t length, tt_profile *m, void **of) {
  static const figure one = {"gamma", PER_BYTE, 0, "per byte added"};
  if (length < 7 || memcmp(key, "gamma.", 6) != 0) return NULL;
  for (int t = 0; t < TUTTI_TYPE_COUNT; t++) {
    if (!key_is(key + 6, length - 6, tutti_type_name((tutti_type)t))) continue;
    *of = &m->gamma_of[t];
    return &one;
  }
  return NULL;
}

static tutti_status read_machine_entry(reader *r, tt_profile *m) {
  const char *key = r->at;
  const size_t length = strcspn(key, "= \t\r,\n#");
  const char *at = key + length + strspn(key + length, " \t"), *dot = NULL;
  void *of = m;
  const figure *f = find_figure(of_all, OF_ALL, key, length);
  for (size_t i = 0; i < length; i++)
    if (key[i] == '.') dot = key + i;
  if (!f) f = gamma_of(key, length, m, &of);
  if (!f && !dot) f = find_figure(of_level, OF_LEVEL, key, length), of = &m->net;
  const bool host = !f && dot && strncmp(key, "host.", 5) == 0 && dot > key + 4;
  if (host) {
    const tutti_status status = find_host(r, m, dot, length, &f, &of);
    if (status) return status;
  }
  if (!f && dot && strncmp(key, "shm.", 4) != 0) {
    f = find_figure(of_level, OF_LEVEL, dot + 1, length - (size_t)(dot + 1 - key));
    of = f ? level_of(m, key, (size_t)(dot - key)) : NULL;
  }
  const bool profile = key_is(key, length, "machine"), network = key_is(key, length, "network");
  if ((!f || !of) && !profile && !network)
    return profile_error(r, key,
                         "a parameter: alpha, delay, gap, beta, burst, processor, again or ports, "
                         "also of a level as "
                         "in node.alpha, or of a host as in host.3.beta; "
                         "gamma, also of a type as in gamma.bf16; header, half, apart, torus, hop, "
                         "one of contention or shm, machine or network");
  if (*at != '=') return profile_error(r, at, "=");
  at += 1 + strspn(at + 1, " \t");
  r->at = at + strcspn(at, ",\n#");
  if (profile) return read_stamp(r, at, "the name of a machine", m->of);
  if (network) return read_stamp(r, at, "the name of a network", m->over);
  return read_value(r, at, f, of);
}

tutti_status tt_profile_parse(tt_profile *profile, const char *text, const char *what) {
  reader r = {what, text, text};
  tt_profile m = *profile;
  while (*(r.at = tt_skip_comments(r.at, " \t\r\n,"))) {
    tutti_status status = read_machine_entry(&r, &m);
    if (status) return status;
  }
  *profile = m;
  return TUTTI_OK;
}

int tt_profile_said(const char *text, int *column) {
  int line = 1;
  for (const char *at = text; at; line++) {
    const char *key = at + strspn(at, " \t");
    *column = (int)(key - at) + 1;
    if (key_is(key, strcspn(key, "= \t\r,\n#"), "machine")) return line;
    at = strchr(at, '\n');
    if (at) at++;
  }
  return 0;
}

/* ---- writing ---- */

/* Formats a number so that parsing the text gives exactly the same number. */
static void print_number(double number, char value[40]) {
  for (int digits = 4; digits <= 17; digits++) {
    snprintf(value, 40, "%.*g", digits, number);
    if (strtod(value, NULL) == number) break;
  }
}

static void print_table(tt_text *t, const char *level, const figure *table, int n, const void *of) {
  for (int i = 0; i < n; i++) {
    const double number = value_of(&table[i], of);
    char name[80], value[40];
    if (number < 0) continue;
    snprintf(name, sizeof name, "%s%s%s", level, *level ? "." : "", table[i].name);
    print_number(number, value);
    tt_text_add(t, "%-17s = %-9s  # %s%s\n", name, value,
                table[i].kind == SECONDS    ? "s: "
                : table[i].kind == PER_BYTE ? "s/B: "
                : table[i].kind == BYTES    ? "B: "
                                            : "",
                table[i].meaning);
  }
}

void tt_profile_print(tt_text *text, const tt_profile *m) {
  print_table(text, "", of_level, OF_LEVEL, &m->net);
  for (int i = 0; i < m->levels; i++)
    print_table(text, m->level[i].name, of_level, OF_LEVEL, &m->level[i].is);
  for (int i = 0; i < m->hosts; i++) {
    const tt_host_figures *x = &m->host[i];
    char host[64];
    if (*x->name)
      snprintf(host, sizeof host, "host.%s", x->name);
    else if (x->first == x->last)
      snprintf(host, sizeof host, "host.%d", x->first);
    else
      snprintf(host, sizeof host, "host.%d-%d", x->first, x->last);
    print_table(text, host, of_level, OF_LEVEL, &x->is);
  }
  print_table(text, "", of_all, OF_ALL, m);
  for (int t = 0; t < TUTTI_TYPE_COUNT; t++) {
    const figure f = {tutti_type_name((tutti_type)t), PER_BYTE, 0, "per byte of this type added"};
    if (m->gamma_of[t] > 0) print_table(text, "gamma", &f, 1, &m->gamma_of[t]);
  }
  if (*m->of) tt_text_add(text, "%-17s = %s\n", "machine", m->of);
  if (*m->over) tt_text_add(text, "%-17s = %s\n", "network", m->over);
}
