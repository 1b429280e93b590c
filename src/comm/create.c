/* create.c - communicators of ranks that meet by themselves (tutti_create.h).
 *
 * Idea       in a meeting (meet.h) the ranks exchange their placements. If all are on one node,
 *            the first makes a segment and they share memory, as under `tutti run`. Otherwise
 *            each opens its end of a network (plugin.c), they exchange addresses, and join.
 * Cost       two gathers, or four.
 * Invariant  every rank goes through the same gathers, whatever fails in between, so all return
 *            the same result.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build_comm.h"
#include "comm_wisdom.h"
#include "create.h"
#include "topo.h"

/* What a rank publishes first. Other versions of tutti read it too: they compare its size. */
typedef struct card {
  uint32_t layout, near; /* near: it has opened the first rank's segment */
  char version[24], host[64];
  uint64_t place; /* ranks with the same one are on one node */
  int64_t pid;
  int32_t fd; /* of the first rank's segment; or -1 */
  uint64_t id;
} card;

/* What a rank publishes about its network. */
typedef struct ability {
  int32_t bytes; /* of its address; < 0: no network, and `why` says why */
  char name[48], why[240];
} ability;

typedef struct creation {
  tt_meeting *m;
  card mine, *all;
  int *node_of;
  bool one_node;
  const char *net;
  double met, opened; /* s, for the log */
} creation;

/* ---- placement ---- */

/* A hash of the kernel, the host's name and the pid namespace. */
static uint64_t place_here(const char *host) {
  struct stat st = {0};
  uint64_t h = stat("/proc/self/ns/pid", &st) ? 1 : tt_mix(st.st_ino);
  h = tt_mix(h ^ tt_kernel_id());
  return tt_mix_text(h, host);
}

static tutti_status describe_process(creation *c) {
  card *me = &c->mine;
  *me = (card){.layout = TT_LAYOUT, .pid = getpid(), .fd = -1};
  snprintf(me->version, sizeof me->version, "%s", tutti_version(NULL, NULL, NULL));
  gethostname(me->host, sizeof me->host - 1);
  me->place = place_here(me->host);
  if (getrandom(&me->id, sizeof me->id, 0) != sizeof me->id)
    me->id = (uint64_t)me->pid ^ (uint64_t)(1e9 * tt_seconds());
  return c->m->rank ? TUTTI_OK : tt_segment_create(c->m->ranks, 0, 0, &me->fd);
}

static tutti_status compare_versions(const creation *c) {
  for (int r = 0; r < c->m->ranks; r++) {
    const card *x = &c->all[r], *first = c->all;
    if (x->layout != first->layout || strcmp(x->version, first->version) != 0)
      return tt_fail(TUTTI_ERR_SYSTEM,
                     "rank %d (%s) has another version of tutti (%.20s) than rank 0 (%s, %.20s)", r,
                     x->host, x->version, first->host, first->version);
  }
  return TUTTI_OK;
}

static void find_nodes(creation *c) {
  c->one_node = !tt_env("TUTTI_NODES") && !tt_env("TUTTI_TOPO");
  for (int r = 0; r < c->m->ranks; r++) {
    int first = 0;
    while (c->all[first].place != c->all[r].place) first++;
    c->node_of[r] = first;
    if (first) c->one_node = false;
  }
}

/* ---- on one node ---- */

/* *out stays NULL if some rank cannot share memory. */
static tutti_status on_one_node(creation *c, tutti_comm **out) {
  tt_segment *segment = NULL;
  if (tt_segment_open((long)c->all[0].pid, c->all[0].fd, c->m->ranks, &segment)) segment = NULL;
  c->mine.near = segment != NULL;
  tutti_status status = c->m->gather(c->m, &c->mine, c->all, sizeof c->mine);
  for (int r = 0; !status && r < c->m->ranks; r++)
    if (!c->all[r].near) c->one_node = false;
  if (status || !c->one_node) {
    tt_segment_release(segment);
    return status;
  }
  uint32_t wisdom = c->m->rank ? 0 : tt_wisdom_announce();
  tutti_comm *comm = NULL;
  status = tt_segment_comm(segment, c->m->rank, &comm);
  if (!status) status = tt_broadcast(comm, "tutti_comm_create", &wisdom, sizeof wisdom);
  if (!status) status = tt_wisdom_share(comm, wisdom);
  if (status)
    tt_comm_destroy(comm);
  else
    *out = comm;
  return status;
}

/* ---- between nodes ---- */

static tutti_status compare_abilities(const creation *c, const ability *all, size_t *stride) {
  *stride = 0;
  for (int r = 0; r < c->m->ranks; r++) {
    if (all[r].bytes < 0)
      return tt_fail(TUTTI_ERR_SYSTEM, "rank %d (%s) has no network to the other hosts: %.230s", r,
                     c->all[r].host, all[r].why);
    if (strcmp(all[r].name, all[0].name) != 0)
      return tt_fail(TUTTI_ERR_SYSTEM,
                     "rank %d (%s) has %.40s, and rank 0 (%s) has %.40s: they need the same", r,
                     c->all[r].host, all[r].name, c->all[0].host, all[0].name);
    *stride = tt_max(*stride, (size_t)all[r].bytes);
  }
  return TUTTI_OK;
}

/* Exchanges addresses and joins a network; if one rank cannot join, all close theirs. */
static tutti_status join_network(creation *c, tt_net_end *end, size_t stride, ability *all,
                                 tutti_net *net) {
  char *mine = calloc(1, stride), *addresses = malloc(stride * (size_t)c->m->ranks);
  tutti_status status = TUTTI_OK;
  ability can = {.bytes = -1}; /* until it has joined */
  if (!mine || !addresses)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d addresses", c->m->ranks);
  else
    memcpy(mine, end->address, end->bytes);
  if (!status) status = c->m->gather(c->m, mine, addresses, stride);
  if (!status && !end->maker.join(end->end, c->m->rank, c->m->ranks, addresses, stride, net,
                                  can.why, sizeof can.why)) {
    end->end = NULL;
    can.bytes = 0;
  }
  if (!status) status = c->m->gather(c->m, &can, all, sizeof can);
  if (!status) status = compare_abilities(c, all, &stride);
  if (status && !can.bytes) net->close(net->self, 1);
  free(mine);
  free(addresses);
  return status;
}

static tutti_net_site site_within(const char *system, const cpu_set_t *cores) {
  const tt_domains d = tt_cores_within(system, cores);
  return (tutti_net_site){.package = d.package, .numa = d.numa, .cache = d.cache};
}

void tutti_net_site_of(int core, const char *system, tutti_net_site *site) {
  cpu_set_t one;
  CPU_ZERO(&one);
  if (core >= 0 && core < CPU_SETSIZE) CPU_SET((size_t)core, &one);
  if (site) *site = site_within(system, &one);
}

/* This rank's placement, from the cores that it is bound to. */
static tutti_net_site site_of(int node) {
  cpu_set_t cores;
  tt_cores_mine(&cores);
  tutti_net_site site = site_within(NULL, &cores);
  site.node = node;
  return site;
}

static tutti_status over_network(creation *c, tutti_comm **out) {
  const double began = tt_seconds();
  tt_net_end end = {.end = NULL};
  ability mine = {.bytes = -1}, *all = calloc((size_t)c->m->ranks, sizeof *all);
  tutti_net net;
  size_t stride = 0;
  if (!all) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", c->m->ranks);
  if (tt_net_open(c->net, &end))
    snprintf(mine.why, sizeof mine.why, "%s", tutti_error());
  else
    mine.bytes = (int32_t)end.bytes;
  snprintf(mine.name, sizeof mine.name, "%s", end.maker.name ? end.maker.name : "");
  c->opened = tt_seconds() - began;
  tutti_status status = c->m->gather(c->m, &mine, all, sizeof mine);
  if (!status) status = compare_abilities(c, all, &stride);
  if (!status) status = join_network(c, &end, stride, all, &net);
  if (status) tt_net_drop(&end);
  free(all);
  if (status) return status;
  net.site = site_of(c->node_of[c->m->rank]);
  net.id = c->all[0].id;
  tt_log(c->m->rank ? 2 : 1,
         "%d ranks met in %.3g ms; %s was opened in %.3g ms; addresses were exchanged in %.3g ms",
         c->m->ranks, 1e3 * c->met, end.maker.name, 1e3 * c->opened,
         1e3 * (tt_seconds() - began - c->opened));
  return tutti_comm_from_net(&net, out);
}

/* ---- all steps ---- */

static tutti_status come_together(creation *c, tutti_comm **out) {
  const size_t n = (size_t)c->m->ranks;
  const double began = tt_seconds();
  c->all = calloc(n, sizeof *c->all);
  c->node_of = calloc(n, sizeof *c->node_of);
  if (!c->all || !c->node_of)
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a communicator of %d ranks", c->m->ranks);
  tutti_status status = describe_process(c);
  if (!status) status = c->m->gather(c->m, &c->mine, c->all, sizeof c->mine);
  c->met = tt_seconds() - began;
  if (!status) status = compare_versions(c);
  if (!status) find_nodes(c);
  if (!status && c->one_node) status = on_one_node(c, out);
  if (!status && !*out) status = over_network(c, out);
  return status;
}

tutti_status tt_create(tt_meeting *m, const tutti_config *config, tutti_comm **out) {
  creation c = {.m = m, .net = config ? config->net : NULL, .mine = {.fd = -1}};
  const tutti_status status = come_together(&c, out);
  if (c.mine.fd >= 0) close(c.mine.fd);
  free(c.all);
  free(c.node_of);
  m->end(m);
  return status;
}

double tt_create_limit(const tutti_config *config) {
  if (config && config->timeout > 0) return config->timeout;
  return tt_connect_timeout(120);
}

/* ---- the public functions ---- */

static tutti_status check_create_args(const char *function, tutti_comm **comm, int nranks, int rank,
                                      const tutti_config *config) {
  tutti_status status = tt_args_given(function, "comm", comm, NULL, NULL);
  if (status) return status;
  *comm = NULL;
  if (nranks < 1 || rank < 0 || rank >= nranks)
    return tt_fail(TUTTI_ERR_ARG, "%s: rank %d of %d", function, rank, nranks);
  if (config) status = tt_size_check(function, "config", config->size, sizeof *config);
  if (!status && config && !(config->timeout >= 0))
    status = tt_fail(TUTTI_ERR_ARG, "%s: config->timeout is no number of seconds", function);
  return status;
}

tutti_status tutti_comm_create(tutti_comm **comm, const tutti_id *id, int nranks, int rank,
                               const tutti_config *config) {
  tt_rendezvous r;
  tt_meeting m;
  tutti_status status = check_create_args("tutti_comm_create", comm, nranks, rank, config);
  if (!status && !id) status = tt_fail(TUTTI_ERR_ARG, "tutti_comm_create: id is NULL");
  if (!status && !memchr(id->text, 0, sizeof id->text))
    status = tt_fail(TUTTI_ERR_ARG, "tutti_comm_create: the id has no end");
  if (!status) status = tt_rendezvous_read(id->text, &r);
  if (!status) status = tt_meet_visit(&r, rank, nranks, tt_create_limit(config), &m);
  return status ? status : tt_create(&m, config, comm);
}

tutti_status tutti_comm_create_store(tutti_comm **comm, const tutti_store *store, int nranks,
                                     int rank, const tutti_config *config) {
  static const char me[] = "tutti_comm_create_store";
  tt_meeting m;
  tutti_status status = check_create_args(me, comm, nranks, rank, config);
  if (!status && (!store || !store->put || !store->get))
    status = tt_fail(TUTTI_ERR_ARG, "%s: store, its put or its get is NULL", me);
  if (!status) status = tt_size_check(me, "store", store->size, sizeof *store);
  if (!status) status = tt_meet_store(store, rank, nranks, tt_create_limit(config), &m);
  return status ? status : tt_create(&m, config, comm);
}

tutti_status tutti_comm_create_gather(tutti_comm **comm, tutti_gather_fn *gather, void *ctx,
                                      int nranks, int rank, const tutti_config *config) {
  tt_meeting m;
  tutti_status status = check_create_args("tutti_comm_create_gather", comm, nranks, rank, config);
  if (!status && !gather)
    status = tt_fail(TUTTI_ERR_ARG, "tutti_comm_create_gather: gather is NULL");
  if (!status)
    status = tt_meet_gather(gather, ctx, rank, nranks, TUTTI_ERR_SYSTEM,
                            "the gather of tutti_comm_create_gather failed", &m);
  return status ? status : tt_create(&m, config, comm);
}
