/* aggregator_open.c - connects a communicator to the aggregator (in-network reduction server) that TUTTI_AGGREGATOR
 * names, and makes plans that use it.
 *
 * Idea       The first rank sends the address of the aggregator, and draws a number for the sessions. Every rank
 *            connects, because the ranks of a host each reduce one part of the vector before they send it. Ranks that
 *            have the same number within their hosts form a session. Its plans have virtual ranks after those of the
 *            communicator (aggregator_ways.h). If TUTTI_AGGREGATOR names several aggregators, each serves the hosts of
 *            one rack, and another one, above them, adds up their sums.
 * Cost       When a communicator is created: a broadcast, a connection per rank, and an all-gather.
 * Invariant  All ranks use the aggregator, or no rank does. It affects the result of a call only by the order of the
 *            operands. A communicator made from another one uses it only if that one does and has not lost it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "aggregator.h"
#include "aggregator_ways.h"
#include "flight.h"
#include "reach.h"
#include "topo_rows.h"

static const char who[] = "the aggregator of a communicator";
static const double LIMIT = 5; /* seconds to connect */

enum { NAMES = 2000 };
typedef struct invitation { /* sent by the first rank */
  char names[NAMES];        /* TUTTI_AGGREGATOR */
  uint64_t session;
  bool drawn, open; /* open: anyone can compute the key of the session */
} invitation;

typedef struct visit_end { /* sent by each rank */
  int32_t status;
  char why[TT_AGGREGATOR_WHY + 100];
} visit_end;

/* Describes which ranks send to which aggregator, and in which session. */
typedef struct layout {
  int hosts;     /* total number of hosts */
  int each;      /* ranks per host; 0: it varies, and all ranks are members of one session */
  int racks;     /* racks with their own aggregators; 0: one aggregator serves all hosts */
  int of_rack;   /* hosts per rack */
  char rack[16]; /* name of the level */
} layout;

static layout layout_of(const tutti_comm *comm) {
  const tt_setting *s = &comm->plans->setting;
  tt_tree tree;
  layout x = {.each = 1, .hosts = comm->ranks};
  if (!*s->levels || tt_tree_parse(s->levels, &tree)) return x;
  const int nodes = tree.levels - s->inside; /* number of levels down to the hosts */
  if (!tree.even) {
    x.each = 0;
    x.hosts = tt_group_within(&tree, -1, 1, nodes - 1);
    return x;
  }
  for (int l = nodes; l < tree.levels; l++) x.each *= tree.level[l].each;
  x.hosts = comm->ranks / x.each;
  if (nodes != 2) return x;
  x.racks = tree.level[0].each;
  x.of_rack = tree.level[1].each;
  snprintf(x.rack, sizeof x.rack, "%s", tree.level[0].name);
  return x;
}

/* Copies entry k of a comma-separated list of names. Returns false if the list has no such entry or the name is too long. */
static bool name_at(const char *names, int k, char name[TT_AGGREGATOR_WHERE]) {
  for (; k > 0 && (names = strchr(names, ',')); k--) names++;
  const size_t n = names ? strcspn(names, ",") : TT_AGGREGATOR_WHERE;
  if (n < TT_AGGREGATOR_WHERE) snprintf(name, TT_AGGREGATOR_WHERE, "%.*s", (int)n, names);
  return n < TT_AGGREGATOR_WHERE;
}

static int count_names(const char *names) {
  int n = 1;
  for (; (names = strchr(names, ',')); names++) n++;
  return n;
}

/* ---- plans ---- */

/* Writes the levels of all real and virtual ranks, starting with level `from`. Each virtual rank is a separate domain on every
 * level. The level of the racks is omitted: a host reaches the aggregator in its rack without using the rack's uplink. */
static tutti_status levels_with(const char *levels, int from, int helpers, char all[TT_TREE_TEXT]) {
  tt_tree tree;
  size_t at = 0;
  const tutti_status status = tt_tree_parse(levels, &tree);
  int domains = 1;
  for (int l = 0; l < tree.levels && !status; l++) {
    const char *name = tree.level[l].name;
    if (l == from)
      tt_levels_add(all, TT_TREE_TEXT, &at, "%s:%d", name, domains * tree.level[l].each + helpers);
    else if (l > from)
      tt_levels_add(all, TT_TREE_TEXT, &at, " %s:(%d*%d,1*%d)", name, tree.level[l].each, domains,
                    helpers);
    domains *= tree.level[l].each;
  }
  if (status || at < TT_TREE_TEXT) return status;
  return tt_fail(TUTTI_ERR_ARG, "the levels '%.80s' are too many to place an aggregator", levels);
}

/* Writes the levels of all real and virtual ranks for hosts with different numbers of ranks. The ranks of a host
 * then form the only level within hosts. */
static tutti_status uneven_with(tt_setting *s, int hosts, int helpers) {
  tt_tree tree;
  char list[200];
  size_t at = 0;
  int *each = malloc((size_t)hosts * sizeof *each);
  tutti_status status = tt_tree_parse(s->levels, &tree);
  if (!each) status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for the ranks of %d hosts", hosts);
  const int level = tree.levels - s->inside - 1;
  for (int h = 0; h < hosts && !status; h++)
    each[h] = tt_tree_rank(&tree, level, h + 1) - tt_tree_rank(&tree, level, h);
  if (!status) tt_levels_add_numbers(list, sizeof list, &at, each, hosts);
  free(each);
  if (!status && at >= sizeof list)
    status = tt_fail(TUTTI_ERR_ARG, "its hosts have too many different numbers of ranks");
  if (status) return status;
  snprintf(s->data_levels, sizeof s->data_levels, "node:%d core:(%s)", hosts, list);
  snprintf(s->levels, sizeof s->levels, "node:%d core:(%s,1*%d)", hosts + helpers, list, helpers);
  s->inside = 1;
  return TUTTI_OK;
}

/* Divides the costs of a message by the number of parts. The parts are sent one right after the other over one
 * connection, so together they occupy a port and a processor as long as one message does. */
static void share_message(tt_link *link, int parts) {
  if (link->alpha > 0) link->alpha /= parts;
  if (link->o > 0) link->o /= parts;
  if (link->o_next > 0) link->o_next /= parts;
}

/* Number of parts, out of SHARES, that the aggregator sums. The number is chosen such that the aggregator's link has
 * carried the last part when the links between the hosts have finished the other parts (algo/pattern/helper_share.c).
 * SHARES or more means that the aggregator sums all parts. A plan named by the caller can also set the number. */
enum { SHARES = 32 };
static int share_of(const tutti_comm *comm, int hosts) {
  double unused;
  const double wider = comm->plans->setting.profile.net.beta / tt_aggregator_link(comm, &unused);
  const double fold = 2.0 * (hosts - 1) / hosts, last = 1 + 1.0 / TT_PARTS;
  const double share = fold / (last * hosts / wider + fold - 1);
  const tt_override *wishes = &comm->settings.override;
  for (int i = 0; i < wishes->n; i++) {
    const tt_arg *x = tt_plan_spec_arg(wishes->item[i].plan, "share");
    if (x && x->n == 2 && x->list[1] == SHARES && !wishes->item[i].never) return x->list[0];
  }
  return share < 1.0 / SHARES ? 1 : share > 1 ? SHARES : (int)(share * SHARES);
}

/* Creates the plan for one way to use the aggregator. */
static tutti_status plan_of_way(const tutti_comm *comm, const tt_setting *s, const layout *x,
                                int helpers, int share, const char *beside,
                                const tt_plan_spec **plan) {
  const char *spread = x->each > 1 ? ",spread" : ""; /* each rank sends only one part */
  tt_text name = {0};
  if (beside)
    tt_text_add(&name, "aggregate(data=%d,share=%d/%d%s)", comm->ranks, share, SHARES, beside);
  else if (x->racks)
    tt_text_add(&name, "aggregate(%s,per=%s,trees=%d%s)", s->data_levels, x->rack, helpers, spread);
  else if (*s->levels)
    tt_text_add(&name, "aggregate(%s,trees=%d%s)", s->data_levels, helpers, spread);
  else
    tt_text_add(&name, "aggregate(data=%d,trees=%d)", comm->ranks, helpers);
  const tutti_status status = name.failed ? tt_fail(TUTTI_ERR_MEMORY, "out of memory for a plan")
                                          : tt_plan_spec_named(name.at, plan);
  free(name.at);
  return status;
}

/* Creates one plan that uses the aggregator. If `beside` is not NULL, the aggregator sums only a part of the vector,
 * and the ranks sum the rest by the fold that this suffix of the plan's name selects. The ranks keep their
 * positions, and the virtual ranks follow them. */
static tutti_status plan_for(tutti_comm *comm, int parts, const layout *x, const char *beside,
                             tt_aggregated *a) {
  tt_setting setting = comm->plans->setting;
  const int helpers = parts * (x->racks + 1), all = comm->ranks + helpers;
  const int share = beside ? share_of(comm, x->hosts) : SHARES;
  tutti_status status = TUTTI_OK;
  if (beside &&
      (share == SHARES || x->racks || comm->ranks > x->hosts || helpers > share * x->hosts))
    return TUTTI_OK;
  setting.ranks = all;
  setting.data = comm->ranks;
  setting.wide = true;
  if (!beside) share_message(&setting.profile.net, parts);
  for (int l = 0; l < setting.profile.levels && !beside; l++)
    share_message(&setting.profile.level[l].is, parts);
  for (int i = 0; i < setting.profile.hosts && !beside; i++)
    share_message(&setting.profile.host[i].is, parts);
  setting.host_ranks_per_core *= (double)all / comm->ranks; /* the number of cores stays the same */
  if (!x->each) {
    status = uneven_with(&setting, x->hosts, helpers);
  } else if (*setting.levels) {
    memcpy(setting.data_levels, setting.levels, sizeof setting.levels);
    status = levels_with(setting.data_levels, x->racks > 0, helpers, setting.levels);
  }
  if (!status) status = plan_of_way(comm, &setting, x, parts, share, beside, &a->plan);
  setting.only = a->plan;
  a->order = malloc((size_t)all * sizeof *a->order);
  if (!status && !a->order)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for the places of %d ranks", all);
  for (int v = 0; a->order && v < all; v++)
    a->order[v] = comm->plans->order && v < comm->ranks ? comm->plans->order[v] : v;
  a->helpers = helpers;
  a->parts = parts;
  a->hosts = x->hosts;
  a->links = x->racks ? (int)tt_max((size_t)x->racks, (size_t)x->of_rack) : x->hosts;
  a->share = (double)share / SHARES;
  return status ? status : tt_chooser_new(&setting, &a->chooser);
}

void tt_aggregator_close(tutti_comm *comm) {
  tt_aggregated *ways = tt_aggregated_of(comm);
  for (int k = 0; ways && k < TT_AGGREGATED; k++) {
    tt_chooser_free(ways[k].chooser);
    free(ways[k].order);
  }
  free(ways);
  comm->plans->ext[TT_EXT_aggregator] = NULL;
  if (!comm->wire || !comm->wire->outside) return;
  tt_comm_list(comm, false);
  /* Another thread may still be driving it. */
  while (atomic_load(&comm->busy) & TT_DRIVER)
    sched_yield(); /* order: a lock of one process (check-tsan) */
  tt_wire *out = comm->wire->outside->wire;
  comm->wire->outside = NULL;
  out->peer->close(out);
}

/* ---- connecting ---- */

static void invite(invitation *i) {
  snprintf(i->names, sizeof i->names, "%s", tt_env("TUTTI_AGGREGATOR"));
  i->drawn = getrandom(&i->session, sizeof i->session, 0) == sizeof i->session;
  i->open = !tt_env("TUTTI_KEY");
}

/* Derives the key of the session from TUTTI_KEY. Each rank does this by itself, and the key is never sent. */
static tutti_status session_key(const invitation *i, char of_session[TT_KEY + 1]) {
  char key[TT_KEY + 1];
  if (!i->open && !tt_env("TUTTI_KEY"))
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "it has no TUTTI_KEY, and rank 0 has: set the same one on all ranks");
  tt_aggregator_key(i->open ? "" : NULL, key);
  tt_aggregator_session_key(key, i->session, of_session);
  return TUTTI_OK;
}

/* Makes the wire over this rank's connection. */
static tutti_status make_wire(tutti_comm *comm, tt_connection to, const char *where,
                              const layout *x) {
  const double beta = comm->plans->setting.profile.net.beta;
  tt_wire *out;
  const tutti_status status = tt_aggregator_wire(to, where, comm->rank, comm->ranks, &out);
  if (status) return status;
  comm->wire->outside = out->outside;
  out->outside->link = beta > 0 ? 1 / beta : 0;
  out->outside->one_session = !x->each;
  out->outside->sessions = x->each ? x->each : 1;
  return TUTTI_OK;
}

/* Connects this rank to the aggregator, and makes the plans for it. The communicator owns these plans. */
static tutti_status visit(tutti_comm *comm, const invitation *i, const layout *x) {
  const int *place = comm->plans->place, v = place ? place[comm->rank] : comm->rank;
  const int of_one = x->racks ? x->of_rack : x->each ? x->hosts : comm->ranks;
  const int host = x->each ? v / x->each : v, part = x->each ? v % x->each : 0;
  const tt_aggregator_seat seat = {.session = {i->session, (uint64_t)part},
                                   .member = (uint32_t)(host % of_one),
                                   .members = (uint32_t)of_one,
                                   .above = (uint32_t)(host / of_one),
                                   .aboves = (uint32_t)x->racks};
  char where[TT_AGGREGATOR_WHERE], key[TT_KEY + 1];
  static const struct {
    int parts;
    const char *beside;
  } ways[TT_AGGREGATED] = {
      {1, NULL}, {4, NULL}, {TT_PARTS, NULL}, {TT_PARTS, ""}, {TT_PARTS, ",ring"}};
  tt_connection to;
  tutti_status status =
      i->drawn ? TUTTI_OK : tt_fail(TUTTI_ERR_SYSTEM, "no random numbers for a session");
  if (!status && !name_at(i->names, host / of_one, where))
    status = tt_fail(TUTTI_ERR_ARG, "TUTTI_AGGREGATOR has a name that is too long");
  if (!status) status = session_key(i, key);
  if (!status) status = tt_aggregator_visit(where, &seat, i->open, key, LIMIT, &to);
  if (!status) tt_aggregator_queue(to.fd, comm->plans->setting.profile.net.beta);
  if (!status) status = make_wire(comm, to, where, x);
  if (status) return status;
  tt_aggregated *made = comm->plans->ext[TT_EXT_aggregator] = calloc(TT_AGGREGATED, sizeof *made);
  if (!made) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the plans of an aggregator");
  for (int k = 0; k < TT_AGGREGATED && !status; k++)
    status = plan_for(comm, ways[k].parts, x, ways[k].beside, &made[k]);
  return status;
}

/* Checks that all ranks have succeeded. If not, all of them drop the aggregator, and rank 0 logs the reason. Ranks
 * that have already returned may be using the communicator, so it may fail during this function; the next collective
 * call on this rank then reports the failure. */
static tutti_status agree(tutti_comm *comm, const invitation *i, const visit_end *mine) {
  visit_end *all = malloc((size_t)comm->ranks * sizeof *all);
  tutti_status status =
      all ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", comm->ranks);
  status = tt_break_if_memory(comm, status);
  const bool heard = !status && !tt_gather(comm, who, mine, all, sizeof *mine);
  int bad = 0;
  while (heard && bad < comm->ranks && !all[bad].status) bad++;
  const bool fine = heard && bad == comm->ranks;
  if (!fine) tt_aggregator_close(comm);
  if (comm->rank == 0 && fine)
    tt_log(1, "the aggregator at %s sums where that is fastest", i->names);
  else if (comm->rank == 0 && heard)
    tt_log(0, "calls run without an aggregator: rank %d: %s", bad, all[bad].why);
  free(all);
  return status;
}

/* Decides which racks have their own aggregators: either all racks, if the list has one name for each rack, or none.
 * Returns NULL on success, or the reason why no aggregator can be used. */
static const char *fit_names(const char *names, layout *x) {
  size_t size;
  char *why = tt_thread_text(&size);
  const int named = count_names(names);
  if (named == 1) x->racks = x->of_rack = 0;
  if (named == 1 || named == x->racks) return NULL;
  snprintf(why, size,
           "TUTTI_AGGREGATOR has %d names, and TUTTI_TOPO describes %d racks of several hosts",
           named, x->racks);
  return why;
}

tutti_status tt_aggregator_open(tutti_comm *comm) {
  invitation i = {.names = ""};
  visit_end mine = {.status = TUTTI_OK};
  layout x = layout_of(comm);
  if (comm->no_outside || !tt_over_net(comm) || comm->net->traits.simulated || x.hosts < 2)
    return TUTTI_OK;
  if (comm->rank == 0) invite(&i);
  if (tt_broadcast(comm, who, 0, &i, sizeof i)) return TUTTI_OK; /* the next call reports it */
  if (comm->rank) tt_reach_strip(i.names);
  const char *why = fit_names(i.names, &x);
  if (why) {
    if (comm->rank == 0) tt_log(0, "calls run without an aggregator: %s", why);
    return TUTTI_OK;
  }
  mine.status = (int32_t)visit(comm, &i, &x);
  if (mine.status) snprintf(mine.why, sizeof mine.why, "%s", tutti_error());
  return agree(comm, &i, &mine);
}
