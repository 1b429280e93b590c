/* host_links.c - hosts whose links differ.
 *
 * Idea       The parameters of a host override those of the links at its level. A message to another rack or pod also
 *            crosses the host's link, so its costs at that end are at least those of the host. Hosts with the same
 *            parameters are of one kind; kind 0 consists of all others.
 * Cost       None, unless a profile has parameters of a host of the model.
 * Invariant  A pure function of the profile, the levels and the numbers of the hosts.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "host_links.h"

#include <stdlib.h>
#include <string.h>

#include "placement.h"

int tt_host_level(const tt_cost_model *p, int inside) {
  const int named = tt_levels_inside(&p->tree);
  const int level = p->torus ? p->levels - 2 : p->levels - 1 - (inside > named ? inside : named);
  return level > 0 ? level : 0;
}

/* ---- names and numbers ---- */

static bool same_name(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return (!*a || *a == '.') && (!*b || *b == '.');
}

void tt_host_found(tt_profile *m, const char *name, int number) {
  for (int i = 0; i < m->hosts; i++) {
    tt_host_figures *x = &m->host[i];
    if (*x->name && x->first < 0 && same_name(x->name, name)) x->first = x->last = number;
  }
}

/* Returns 1 + the index of the parameters set for a host, or 0. Parameters set by name override those set by number. */
static int kind_of_host(const tt_profile *m, int number) {
  int kind = 0;
  for (int i = 0; i < m->hosts && number >= 0; i++) {
    const tt_host_figures *x = &m->host[i];
    if (number < x->first || number > x->last) continue;
    if (*x->name) return i + 1;
    kind = i + 1;
  }
  return kind;
}

/* ---- models ---- */

static double larger_one(double a, double b) {
  return a > b ? a : b;
}

/* Returns the link parameters of a level for ranks on this kind of host. */
static tt_link link_at_host(const tt_cost_model *p, int level, int of_hosts, const tt_link *own) {
  tt_link f = p->link[level];
  if (level > of_hosts) return f;
  if (level == of_hosts) {
    tt_link_put(&f, own);
    return f;
  }
  f.alpha = larger_one(f.alpha, own->alpha);
  f.L = larger_one(f.L, own->L);
  f.o = larger_one(f.o, own->o);
  f.o_next = larger_one(f.o_next, own->o_next >= 0 ? own->o_next : own->o);
  if (own->ports > 0) f.ports = own->ports;
  if (p->torus && own->beta >= 0) f.beta = own->beta; /* a node has separate links on all levels */
  return f;
}

static tt_hosts *hosts_alloc(int ranks, int kinds) {
  tt_hosts *h = calloc(1, sizeof *h);
  if (!h) return NULL;
  h->kinds = kinds;
  h->kind = calloc((size_t)ranks, sizeof *h->kind);
  h->link = calloc((size_t)kinds, sizeof *h->link);
  if (h->kind && h->link) return h;
  tt_hosts_free(h);
  return NULL;
}

void tt_hosts_free(tt_hosts *h) {
  if (!h) return;
  free(h->kind);
  free(h->link);
  free(h);
}

tutti_status tt_hosts_new(const tt_profile *m, const tt_cost_model *p, int inside,
                          const int *number, int ranks, tt_hosts **hosts) {
  *hosts = NULL;
  if (!m->hosts) return TUTTI_OK;
  tt_hosts *h = hosts_alloc(p->ranks, m->hosts + 1);
  uint32_t *domains = number ? NULL : tt_cost_domains(p);
  bool differ = false;
  if (!h || (!number && !domains)) {
    tt_hosts_free(h);
    free(domains);
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the hosts of %d ranks", p->ranks);
  }
  h->level = tt_host_level(p, inside);
  const uint32_t *domain = domains ? domains + (size_t)h->level * (size_t)p->ranks : NULL;
  for (int r = 0; r < ranks; r++) {
    h->kind[r] = (uint8_t)kind_of_host(m, number ? number[r] : (int)domain[r]);
    differ |= h->kind[r] != 0;
  }
  free(domains);
  for (int l = 0; l < p->levels; l++) h->link[0][l] = p->link[l];
  for (int k = 1; k < h->kinds; k++)
    for (int l = 0; l < p->levels; l++)
      h->link[k][l] = link_at_host(p, l, h->level, &m->host[k - 1].is);
  if (differ)
    *hosts = h;
  else
    tt_hosts_free(h);
  return TUTTI_OK;
}

/* Returns the number of domains at a level. */
static int count_level(const tt_tree *t, int level) {
  int last = 0;
  for (int l = 0; l <= level; l++) last = tt_tree_first(t, l, last) + tt_tree_count(t, l, last) - 1;
  return last + 1;
}

tutti_status tt_hosts_known(const tt_profile *m, const tt_cost_model *p) {
  const int n = count_level(&p->tree, tt_host_level(p, 0));
  for (int i = 0; i < m->hosts; i++)
    if (!*m->host[i].name && m->host[i].last >= n)
      return tt_fail(TUTTI_ERR_ARG,
                     "there are parameters for the host %d, and the hosts here are 0 to %d",
                     m->host[i].last, n - 1);
  return TUTTI_OK;
}

/* ---- the order of ranks ---- */

typedef struct placed {
  int parent, at; /* the enclosing domain of hosts, and the host's index among all hosts */
  double seconds; /* time of a message of 64 KiB through its link */
} placed;

static int by_speed(const void *a, const void *b) {
  const placed *x = a, *y = b;
  if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1;
  if (x->seconds != y->seconds) return x->seconds < y->seconds ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

/* Sorts the hosts of each domain from fast to slow. A host has `size` adjacent positions, and a domain has `each` hosts. */
static tutti_status order_blocks(const tt_cost_model *p, const tt_hosts *h, int size, int each,
                                 int *order) {
  const int n = p->ranks / size;
  placed *x = malloc((size_t)n * sizeof *x);
  int *old = malloc((size_t)p->ranks * sizeof *old);
  for (int i = 0; x && i < n; i++) {
    const tt_link *link = &h->link[h->kind[i * size]][h->level];
    x[i] = (placed){i / each, i, link->alpha + link->L + 2 * link->o + 65536 * link->beta};
  }
  if (x && old) {
    qsort(x, (size_t)n, sizeof *x, by_speed);
    memcpy(old, order, (size_t)p->ranks * sizeof *old);
    for (int i = 0; i < n; i++)
      memcpy(order + i * size, old + x[i].at * size, (size_t)size * sizeof *old);
  }
  const bool ok = x && old;
  free(x);
  free(old);
  return ok ? TUTTI_OK
            : tt_fail(TUTTI_ERR_MEMORY, "out of memory for an order of %d ranks", p->ranks);
}

tutti_status tt_hosts_order(const tt_profile *m, const char *levels, int inside, const int *number,
                            int ranks, int *order) {
  tt_tree tree;
  tt_cost_model model;
  tt_hosts *h = NULL;
  if (!m->hosts || m->torus) return TUTTI_OK;
  if (*levels && (tt_tree_parse(levels, &tree) || !tree.even)) return TUTTI_OK;
  tt_cost_net(m, ranks, *levels ? &tree : NULL, &model);
  int *at = malloc((size_t)ranks * sizeof *at); /* host number at each position */
  if (!at) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for an order of %d ranks", ranks);
  for (int v = 0; v < ranks; v++) at[v] = number[order[v]];
  tutti_status status = tt_hosts_new(m, &model, inside, at, ranks, &h);
  free(at);
  if (status || !h) return status;
  int size = 1;
  for (int l = h->level + 1; l < model.levels; l++) size *= model.tree.level[l].each;
  status = order_blocks(&model, h, size, model.tree.level[h->level].each, order);
  tt_hosts_free(h);
  return status;
}
