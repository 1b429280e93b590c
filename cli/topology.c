/* topology.c - networks by name (docs/prices.md, "Networks by name").
 *
 * Idea       a shape consists of a few numbers. Each node has one rank. A message takes the software time of both
 *            ends plus the latency of each link on its route. The model takes into account which links share the
 *            load, in accordance with the routing in SimGrid's networks (src/cost/topologies.h). sim/topologies.py
 *            compares the estimates with SimGrid's.
 * Placement  If the mapping of ranks to nodes is unknown, there are no levels, and a message takes a route of mean
 *            length. If each node sends one message to a random node, each of the N busiest links carries `mean`
 *            messages on average. The busiest link carries `excess` more. The expected maximum of N normal variables,
 *            squared, is 1.25 log2 N - 2 variances, within 5 % for 12 to 1,000 links. The variance equals the mean if
 *            messages arrive at random. But if a message crosses a busiest link with probability h, as between the
 *            groups of a dragonfly, the variance is h * h times the mean, because each group sends and receives as
 *            many messages as it has nodes (counts in a table with given row and column sums).
 * Ahead      The square of the excess is multiplied by 0.7. Ranks do not wait for each other after each round, so
 *            ranks with less loaded links run ahead. The factor is from simulations of tori, fat trees and
 *            dragonflies (docs/simulation.md).
 * Machines   A machine has as many leaves, pods or groups as the nodes need. machines.def describes machines, with
 *            sources.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "topology.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIMS = 5, WORD = 24 };

typedef struct shape {
  int n[DIMS], count;
  char rate[WORD], up[WORD];
  double latency, software; /* in s */
  bool unknown;             /* it is unknown which rank is on which node */
} shape;

/* A fat tree with more than `most` leaves is divided into pods of `pod` leaves. `links` is the number of links from
 * a pod upwards, or from a dragonfly group to all other groups. */
static const struct machine {
  const char *name, *kind;
  int node[2]; /* the last numbers of its shape, as in a tree without pods */
  int most, pod, links;
  const char *figures, *about;
} machines[] = {
#define MACHINE(...) {__VA_ARGS__},
#include "machines.def"
#undef MACHINE
};
enum { MACHINES = sizeof machines / sizeof *machines };

static void add(char *to, size_t size, const char *name, double seconds) {
  const size_t at = strlen(to);
  snprintf(to + at, size - at, "%s = %.6gns\n", name, 1e9 * seconds);
}

static void say(char *to, size_t size, const char *line, const char *value) {
  const size_t at = strlen(to);
  snprintf(to + at, size - at, "%s%s\n", line, value);
}

#define FIGURES t->figures, sizeof t->figures

enum { TORUS = 4 };
static void torus(const shape *s, topology *t) {
  static const char *const names[TORUS] = {"w", "z", "y", "x"};
  for (int i = 0; i < s->count; i++)
    snprintf(t->levels + strlen(t->levels), sizeof t->levels - strlen(t->levels), "%s:%d ",
             names[TORUS - s->count + i], s->n[i]);
  say(t->levels, sizeof t->levels, "node:1", "");
  char ports[16]; /* all links of a node work simultaneously */
  snprintf(ports, sizeof ports, "%d", 2 * s->count);
  say(FIGURES, "torus = 1\nports = ", ports);
  add(FIGURES, "alpha", s->software + s->latency);
  add(FIGURES, "hop", s->latency);
}

/* Adds the parameters for the parallel links of a domain: the rate of one link, and the number of links. */
static void several(topology *t, const char *level, const char *rate, int links) {
  const size_t at = strlen(t->figures);
  snprintf(t->figures + at, sizeof t->figures - at, "%s.beta = %s\n%s.paths = %d\n", level, rate,
           level, links);
}

static void leaves(const shape *s, topology *t) {
  const int whole = t->ranks / s->n[1], rest = t->ranks % s->n[1];
  if (rest) /* the last leaf has fewer nodes */
    snprintf(t->levels, sizeof t->levels, "leaf:%d node:(%d*%d,%d)\n", whole + 1, s->n[1], whole,
             rest);
  else
    snprintf(t->levels, sizeof t->levels, "leaf:%d node:%d\n", whole, s->n[1]);
}

static void fat_tree(const shape *s, topology *t) {
  const bool pods = s->count == 5;
  const int *n = pods ? s->n + 1 : s->n; /* leaves, nodes, uplinks */
  if (pods)
    snprintf(t->levels, sizeof t->levels, "pod:%d leaf:%d node:%d\n", s->n[0], n[0], n[1]);
  else
    leaves(s, t);
  add(FIGURES, "node.alpha", s->software + 2 * s->latency);
  add(FIGURES, "leaf.alpha", s->software + 4 * s->latency);
  several(t, "leaf", s->up, n[2]);
  if (!pods) return;
  add(FIGURES, "pod.alpha", s->software + 6 * s->latency);
  several(t, "pod", s->up, n[3]);
}

/* Returns the total rate of several parallel links. For example, seven links with "200Gbit/s" have "1400Gbit/s". */
static const char *bundle(const char *rate, int links, char text[WORD + 8]) {
  char *unit;
  const double one = strtod(rate, &unit);
  snprintf(text, WORD + 8, "%.6g%.15s", one * links, unit);
  return text;
}

static void dragonfly(const shape *s, topology *t) {
  char between[WORD + 8];
  snprintf(t->levels, sizeof t->levels, "group:%d router:%d node:%d\n", s->n[0], s->n[1], s->n[2]);
  add(FIGURES, "node.alpha", s->software + 2 * s->latency);
  add(FIGURES, "router.alpha", s->software + 3 * s->latency);
  add(FIGURES, "group.alpha", s->software + 5 * s->latency); /* through at most two more routers */
  say(FIGURES, "router.pairs = 1\nrouter.beta = ", s->up);
  say(FIGURES, "group.pairs = 1\ngroup.beta = ", bundle(s->up, s->n[3], between));
}

/* ---- unknown placement ---- */

/* Parameters that do not depend on the placement of ranks. */
typedef struct mixture {
  /* way: mean number of links in a route; further: how many more links the longest route has */
  double way, further;
  double nearest;      /* number of links in the shortest route that includes a busiest link */
  int ports;           /* links of a node that its own messages use equally */
  double mean;         /* messages on a busiest link if every node sends one message */
  double links;        /* number of links with that mean load */
} mixture;

static void add_links(mixture *x, double mean, double links, double nearest) {
  if (mean < x->mean) return;
  if (mean > x->mean || nearest < x->nearest) x->nearest = nearest;
  x->links = links + (mean > x->mean ? 0 : x->links);
  x->mean = mean;
}

/* Returns the rate in B/s for "100Gbit/s" or "12500MB/s". */
static double rate_of(const char *text) {
  static const char prefixes[] = "kMGT";
  char *unit;
  const double value = strtod(text, &unit);
  const char *prefix = *unit ? strchr(prefixes, *unit) : NULL;
  double rate = strstr(unit, "bit") ? value / 8 : value;
  for (; prefix && prefix >= prefixes; prefix--) rate *= 1000;
  return rate;
}

/* Returns the time per byte on a link between switches, divided by the time per byte on the link of a node. */
static double slower_up(const shape *s) {
  return rate_of(s->rate) / rate_of(s->up);
}

/* Returns how many messages each of `links` links carries from a domain of `inside` nodes to `to` other nodes. The
 * number is multiplied by the slowdown of these links relative to the link of a node. */
static double out_of(double inside, double to, double links, const shape *s, const topology *t) {
  return inside * to / (t->ranks - 1) / links * slower_up(s);
}

/* In a ring, each link carries, in each direction, the messages that travel 1, 2, ... n/2 nodes in that direction.
 * Messages of a node leave in the first dimension of their route and arrive in the last one. Nearly all of them use
 * the same ring, where one link carries the messages of up to half of the ring's nodes. */
static mixture mix_torus(const shape *s, const topology *t) {
  mixture x = {.ports = 2 * s->count};
  for (int i = 0; i < s->count; i++) {
    const double half = s->n[i] / 2;
    const double mean = (s->n[i] / 2) * (s->n[i] - s->n[i] / 2) / (double)s->n[i];
    x.way += mean;
    x.further += s->n[i] / 2 - mean;
    if (s->n[i] > 1 && x.ports > 2 + s->n[i] % 2) x.ports = 2 + s->n[i] % 2;
    add_links(&x, half * (half + 1) / 2 * t->ranks / s->n[i] / (t->ranks - 1), 2 * t->ranks, 1);
  }
  return x;
}

/* All links that lead down to the same leaf carry the same load, because each of them serves the same number of nodes. */
static mixture mix_fat_tree(const shape *s, const topology *t) {
  const bool pods = s->count == 5;
  const int *n = pods ? s->n + 1 : s->n; /* leaves, nodes, uplinks */
  mixture x = {.way = pods ? 6 : 4, .nearest = 4, .ports = 1, .mean = 1, .links = 2 * t->ranks};
  const int leaves = t->ranks / n[1];
  add_links(&x, out_of(n[1], t->ranks - n[1], n[2], s, t), leaves * n[2], 4);
  if (pods)
    add_links(&x, out_of(n[0] * n[1], t->ranks - n[0] * n[1], n[3], s, t), s->n[0] * n[3], 6);
  return x;
}

/* The link between two routers of a group carries the messages between the nodes of these routers, and messages that
 * leave or enter the group through one of the two routers. Messages between groups pass one more link at each end,
 * unless the node is connected to the router with the global link. */
static mixture mix_dragonfly(const shape *s, const topology *t) {
  const double group = s->n[1] * s->n[2], others = s->n[0] - 1;
  mixture x = {.way = 5 - 2.0 / s->n[1],
               .further = 2.0 / s->n[1],
               .nearest = 3,
               .ports = 1,
               .mean = 1,
               .links = 2 * t->ranks};
  add_links(&x, out_of(group, group, s->n[3], s, t), s->n[0] * others * s->n[3], 3);
  const double gates = others < s->n[1] ? others : s->n[1]; /* routers with links to other groups */
  const double to_groups = gates > 0 ? group * others / gates : 0;
  add_links(&x, out_of(s->n[2], s->n[2] + to_groups, 1, s, t), s->n[0] * s->n[1] * (s->n[1] - 1),
            3);
  return x;
}

static const struct kind {
  const char *name, *shape, *numbers; /* numbers: the possible counts of numbers in a shape */
  void (*tell)(const shape *s, topology *t);
  mixture (*mix)(const shape *s, const topology *t);
} kinds[] = {
    {"torus", "8x8x8", "1234", torus, mix_torus},
    {"fat-tree", "[PODSx]LEAVESxNODESxUPLINKS[xLINKS]", "35", fat_tree, mix_fat_tree},
    {"dragonfly", "GROUPSxROUTERSxNODES[xLINKS]", "34", dragonfly, mix_dragonfly},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* Returns the squared expected maximum of n normally distributed variables, divided by their variance. The
 * approximation of log2 in this function has an error of at most 0.1. */
static double largest_of(double n) {
  double log = -1;
  for (; n >= 2; n /= 2) log++;
  return fmax(1.25 * (log + n) - 2, 0.3);
}

/* Returns by how many messages the load of the busiest link exceeds the mean load of these links. */
static double excess_of(double mean, double links, int nodes) {
  static const double ahead = 0.7;
  const double crossed = fmin(mean * links / nodes, 1);
  return sqrt(ahead * largest_of(links) * crossed * crossed * mean);
}

static void tell_mixture(const struct kind *k, const shape *s, topology *t) {
  const mixture x = k->mix(s, t);
  char mean[WORD];
  snprintf(mean, sizeof mean, "%.4g", x.mean);
  add(FIGURES, "alpha", s->software + x.way * s->latency);
  if (x.further > 0) add(FIGURES, "contention.furthest", x.further * s->latency);
  if (x.nearest < x.way) add(FIGURES, "contention.nearest", (x.way - x.nearest) * s->latency);
  const size_t at = strlen(t->figures);
  snprintf(t->figures + at, sizeof t->figures - at,
           "ports = %d\ncontention.mean = %s\ncontention.excess = %.14g\n", x.ports, mean,
           excess_of(atof(mean), x.links > 0 ? x.links : t->ranks, t->ranks));
}

/* ---- reading ---- */

/* Parses dimensions such as "8x16x8", up to a comma or the end of the text. Returns false if the form is wrong. */
static bool read_numbers(const char *text, shape *s) {
  for (s->count = 0; s->count < DIMS; text++) {
    char *end;
    const long n = strtol(text, &end, 10);
    if (end == text || n < 1 || n > 1 << 20) return false;
    s->n[s->count++] = (int)n;
    text = end;
    if (*text != 'x') return !*text || *text == ',';
  }
  return false;
}

/* Parses settings such as ",rate=100Gbit/s,latency=300ns". Returns NULL, or a pointer to the first error in the text. */
static const char *read_figures(const char *text, shape *s) {
  while (*text == ',' || *text == ' ') {
    char name[WORD], value[WORD], *end;
    const char *at = ++text;
    if (sscanf(text, " %23[a-z] = %23[^, ]", name, value) != 2) return at;
    text += strcspn(text, ",");
    const double seconds = strtod(value, &end);
    const double scale = !strcmp(end, "ns")   ? 1e-9
                         : !strcmp(end, "us") ? 1e-6
                         : !strcmp(end, "ms") ? 1e-3
                                              : 0;
    if (!strcmp(name, "rate"))
      snprintf(s->rate, sizeof s->rate, "%s", value);
    else if (!strcmp(name, "up"))
      snprintf(s->up, sizeof s->up, "%s", value);
    else if (!strcmp(name, "places") && !strcmp(value, "unknown"))
      s->unknown = true;
    else if (scale > 0 && seconds >= 0 && !strcmp(name, "latency"))
      s->latency = seconds * scale;
    else if (scale > 0 && seconds >= 0 && !strcmp(name, "software"))
      s->software = seconds * scale;
    else
      return at;
  }
  return *text ? text : NULL;
}

static const struct kind *kind_of(const char *text, size_t length) {
  for (int i = 0; i < KINDS; i++)
    if (strlen(kinds[i].name) == length && !strncmp(kinds[i].name, text, length)) return &kinds[i];
  return NULL;
}

static const struct machine *machine_of(const char *text, size_t length) {
  for (int i = 0; i < MACHINES; i++)
    if (strlen(machines[i].name) == length && !strncmp(machines[i].name, text, length))
      return &machines[i];
  return NULL;
}

static int round_nodes(const char *command, const struct machine *m, const char *parts, int each,
                       int ranks) {
  if (ranks % each == 0) return 0;
  return cli_fail(
      CLI_USAGE, command,
      "%d nodes do not fill the last of %s's %s of %d nodes; the next possible number is -n %d",
      ranks, m->name, parts, each, ranks / each * each + each);
}

/* Sets as many groups, leaves or pods as the nodes need. */
static int fit_machine(const char *command, const struct machine *m, int ranks, shape *s) {
  if (!ranks) return cli_fail(CLI_USAGE, command, "how many nodes has %s? -n N", m->name);
  if (!m->most) { /* this is a dragonfly */
    const int each = m->node[0] * m->node[1], others = ranks / each - 1;
    const int between = others > 0 ? m->links / others : 1;
    *s =
        (shape){.n = {ranks / each, m->node[0], m->node[1], between > 1 ? between : 1}, .count = 4};
    return round_nodes(command, m, "groups", each, ranks);
  }
  const int leaves_needed = (ranks + m->node[0] - 1) / m->node[0], each = m->node[0] * m->pod;
  if (leaves_needed <= m->most) {
    *s = (shape){.n = {leaves_needed, m->node[0], m->node[1]}, .count = 3};
    return 0;
  }
  *s = (shape){.n = {ranks / each, m->pod, m->node[0], m->node[1], m->links}, .count = 5};
  return round_nodes(command, m, "pods", each, ranks);
}

static int count_nodes(const struct kind *k, const shape *s) {
  long n = 1;
  const int own = k->tell == torus ? s->count : k->tell == fat_tree ? s->count - s->count / 2 : 3;
  for (int i = 0; i < own; i++) n = n > 1 << 20 ? n : n * s->n[i];
  return n > 1 << 20 ? 0 : (int)n;
}

int topology_read(const char *command, const char *text, int ranks, topology *t) {
  const size_t name = strcspn(text, ":,");
  const struct machine *m = machine_of(text, name);
  const struct kind *k = m ? kind_of(m->kind, strlen(m->kind)) : kind_of(text, name);
  shape s = {.rate = "100Gbit/s", .latency = 300e-9, .software = 1e-6};
  *t = (topology){.ranks = ranks, .about = m ? m->about : ""};
  if (!k)
    return cli_fail(
        CLI_USAGE, command,
        "unknown network '%s'; expected torus:, fat-tree:, dragonfly:, infiniband, slingshot or leaf-spine",
        text);
  if (m && fit_machine(command, m, ranks, &s)) return CLI_USAGE;
  if (!m && (text[name] != ':' || !read_numbers(text + name + 1, &s) ||
             !strchr(k->numbers, '0' + s.count)))
    return cli_fail(CLI_USAGE, command, "'%s' is not a %s, which has the form %s:%s", text, k->name, k->name,
                    k->shape);
  const char *own = strchr(text, ','), *wrong = NULL;
  char figures[160];
  snprintf(figures, sizeof figures, "%s%s%s", m ? "," : "", m ? m->figures : "", own ? own : "");
  wrong = read_figures(figures, &s);
  if (wrong)
    return cli_fail(CLI_USAGE, command,
                    "'%s': rate=100Gbit/s, up=RATE, latency=300ns, software=1us or places=unknown "
                    "is missing at '%s'",
                    text, wrong);
  if (!*s.up) memcpy(s.up, s.rate, sizeof s.up);
  if (s.count == 3 && k->tell == dragonfly) s.n[3] = 1;
  if (!m) t->ranks = count_nodes(k, &s);
  if (!t->ranks || (ranks && ranks != t->ranks))
    return cli_fail(CLI_USAGE, command, "'%s' has %d nodes, and -n says %d", text, t->ranks, ranks);
  say(FIGURES, "gamma = 0.05ns\nbeta = ", s.rate); /* a node adds 20 GB/s */
  if (s.unknown)
    tell_mixture(k, &s, t);
  else
    k->tell(&s, t);
  t->levels[strcspn(t->levels, "\n")] = 0;
  return 0;
}
