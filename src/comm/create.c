/* create.c - communicators of ranks that connect to each other (tutti_create.h).
 *
 * Idea       In a bootstrap (meet.h) the ranks exchange their placements. If all are on one node, the first one makes
 *            a segment and they share memory, as under `tutti run`. Otherwise each rank opens its end of a network
 *            (plugin.c), the ranks exchange the addresses of their ends, and join the network.
 * Cost       Two rounds of the bootstrap if all ranks are on one node, otherwise three, and those of from_net.c. A
 *            table of 4 bytes per rank, and the addresses, in memory that the ranks of a host share. Each rank reads
 *            the cards of all ranks, so they are short: 48 bytes.
 * Invariant  Every rank takes part in the same gathers, no matter what fails in between, so all return the same
 *            result.
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
#include "process_state.h"
#include "secure.h"
#include "topo.h"

/* The first row that a rank publishes. Unused bytes at the end of `texts` are not sent. Ranks with other versions of
 * tutti read the row too, so `layout` must remain the first field. */
typedef struct card {
  uint32_t layout;
  int32_t fd;      /* segment of the first rank; or -1 */
  uint32_t wisdom; /* the first rank's announcement: tt_announce */
  int32_t pid;
  uint64_t place, id; /* place: equal for all ranks on the same node */
  char texts[96];     /* version and host name, each followed by a 0 */
} card;

/* Size of the field for the network's name, which is sent in front of the network address of a rank. */
enum { NAME = 48 };

typedef struct creation {
  tt_meeting *m;
  card mine;
  tt_table cards;
  int *node_of;
  bool one_node;
  const char *net;
  double met, opened; /* durations in seconds, for the log */
} creation;

static const card *card_of(const creation *c, int rank) {
  return tt_table_row(&c->cards, rank, NULL);
}

static const char *host_of(const card *x) {
  return strchr(x->texts, 0) + 1;
}

/* Executes a round of the bootstrap. Fails if the table does not contain the row that this rank has sent, because
 * the table then belongs to another round or another bootstrap. */
static tutti_status gather_rows(const creation *c, tutti_status failed, const void *mine,
                                size_t bytes, tt_table *all) {
  size_t has;
  const tutti_status status = c->m->gather(c->m, failed, mine, bytes, all);
  if (status) return status;
  const void *row = tt_table_row(all, c->m->rank, &has);
  if (has >= bytes && (!bytes || memcmp(row, mine, bytes) == 0)) return TUTTI_OK;
  tt_table_drop(all);
  return tt_fail(TUTTI_ERR_SYSTEM,
                 "rank %d got the rows of another meeting: its own is not what it brought. The "
                 "store or the gather must return what the ranks brought to this one",
                 c->m->rank);
}

/* ---- placement ---- */

/* Returns a hash of the kernel, the host name and the PID namespace. */
static uint64_t place_here(const char *host) {
  return tt_mix_text(tt_mix(tt_pid_space() ^ tt_kernel_id()), host);
}

/* TUTTI_NODES is a list of n numbers such as "0,1,0". Rank r pretends to run on the host with the number in entry r modulo n. */
uint64_t tt_host_number(int rank) {
  char host[65] = "";
  gethostname(host, sizeof host - 1);
  const uint64_t here = place_here(host);
  const char *list = tt_env("TUTTI_NODES"), *at = list;
  int n = 1;
  for (const char *c = list; c && *c; c++) n += *c == ',';
  for (int i = rank % n; list && i > 0; i--) at = strchr(at, ',') + 1;
  return list ? tt_mix(here ^ strtoul(at, NULL, 10)) : here;
}

static tutti_status describe_process(creation *c) {
  card *me = &c->mine;
  char host[65] = "";
  gethostname(host, sizeof host - 1);
  *me = (card){.layout = TT_LAYOUT, .pid = (int)getpid(), .fd = -1, .place = place_here(host)};
  snprintf(me->texts, sizeof me->texts, "%.24s%c%s", tutti_version(NULL, NULL, NULL), 0, host);
  me->id = tt_random();
  if (c->m->rank) return TUTTI_OK;
  me->wisdom = tt_announce();
  return tt_segment_create(c->m->ranks, 0, 0, me->id, &me->fd);
}

/* Returns true if the row is a card in the format of this version of tutti. */
static bool is_card(const card *x, size_t bytes) {
  const size_t texts = bytes - offsetof(card, texts);
  if (bytes <= offsetof(card, texts) || x->layout != TT_LAYOUT) return false;
  const char *end = memchr(x->texts, 0, texts);
  return end && memchr(end + 1, 0, texts - (size_t)(end + 1 - x->texts));
}

static tutti_status compare_versions(const creation *c) {
  size_t bytes;
  for (int r = 0; r < c->m->ranks; r++) {
    const card *x = tt_table_row(&c->cards, r, &bytes), *first = card_of(c, 0);
    if (!is_card(x, bytes))
      return tt_fail(TUTTI_ERR_SYSTEM, "rank %d has another version of tutti than rank %d", r,
                     c->m->rank);
    if (strcmp(x->texts, first->texts) != 0)
      return tt_fail(TUTTI_ERR_SYSTEM,
                     "rank %d (%s) has another version of tutti (%.20s) than rank 0 (%s, %.20s)", r,
                     host_of(x), x->texts, host_of(first), first->texts);
  }
  return TUTTI_OK;
}

static int by_place(const void *a, const void *b) {
  const uint64_t *x = a, *y = b;
  return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* Identifies the node of each rank by the lowest rank with the same `place`. */
static tutti_status find_nodes(creation *c) {
  const size_t P = (size_t)c->m->ranks;
  uint64_t(*places)[2] = malloc(P * sizeof *places);
  if (!places) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", c->m->ranks);
  for (size_t r = 0; r < P; r++) {
    places[r][0] = card_of(c, (int)r)->place;
    places[r][1] = r;
  }
  qsort(places, P, sizeof *places, by_place);
  for (size_t i = 0, first = 0; i < P; i++) {
    if (places[i][0] != places[first][0]) first = i;
    c->node_of[places[i][1]] = (int)places[first][1];
  }
  c->one_node = !c->m->wide && !tt_env("TUTTI_NODES") && !tt_env("TUTTI_TOPO") &&
                places[0][0] == places[P - 1][0];
  free(places);
  return TUTTI_OK;
}

/* ---- on one node ---- */

/* When the gather returns, all ranks have entered the segment, so no rank needs to poll for the others. *out remains
 * NULL if any rank cannot share memory. */
static tutti_status on_one_node(creation *c, tutti_comm **out) {
  tt_segment *segment = NULL;
  tt_heap *heap = NULL;
  const card *first = card_of(c, 0);
  const uint32_t near =
      !tt_segment_open((long)first->pid, first->fd, c->m->ranks, first->id, &segment);
  const tutti_status entered = near ? tt_segment_enter(segment, c->m->rank, &heap) : TUTTI_OK;
  tt_table nears;
  tutti_status status = gather_rows(c, entered, &near, sizeof near, &nears);
  for (int r = 0; !status && r < c->m->ranks; r++) {
    size_t bytes;
    const uint32_t *its = tt_table_row(&nears, r, &bytes);
    if (bytes < sizeof *its || !*its) c->one_node = false;
  }
  tt_table_drop(&nears);
  if (status || !c->one_node) {
    tt_heap_close(heap);
    return status;
  }
  tutti_comm *comm = NULL;
  status = tt_segment_comm(heap, &comm);
  if (!status) status = tt_wisdom_share(comm, first->wisdom);
  if (status)
    tt_comm_destroy(comm);
  else
    *out = comm;
  return status;
}

/* ---- between nodes ---- */

static const void *address_of(void *table, int rank, size_t *bytes) {
  const char *row = tt_table_row(table, rank, bytes);
  *bytes -= NAME; /* compare_names has checked that it is longer */
  return row + NAME;
}

static void drop_addresses(void *table) {
  tt_table_drop(table);
  free(table);
}

static tutti_status compare_names(const creation *c, const tt_table *all) {
  const card *first = card_of(c, 0);
  const char *its = tt_table_row(all, 0, NULL);
  for (int r = 0; r < c->m->ranks; r++) {
    size_t bytes;
    const char *name = tt_table_row(all, r, &bytes);
    if (bytes <= NAME || memchr(name, 0, NAME) == NULL || strcmp(name, its) != 0)
      return tt_fail(TUTTI_ERR_SYSTEM,
                     "rank %d (%s) has %.40s, and rank 0 (%s) has %.40s: they need the same; "
                     "TUTTI_NET=tcp works on all hosts",
                     r,
                     host_of(card_of(c, r)), name, host_of(first), its);
  }
  return TUTTI_OK;
}

/* Passes the secret of this job to the network, if the network uses a secret. */
static tutti_status give_secret(const creation *c, const tt_net_end *end) {
  unsigned char secret[TUTTI_NET_SECRET];
  if (!end->maker.secret) return TUTTI_OK;
  const tutti_status status = tt_tls_job_secret(c->m, card_of(c, 0)->id, end->maker.keyed, secret);
  if (!status) end->maker.secret(end->end, secret);
  explicit_bzero(secret, sizeof secret);
  return status;
}

/* Opens this rank's endpoint of the network, and sets *all to the names and addresses of all endpoints. If one rank
 * cannot open its endpoint, the function fails on all ranks, and reports the reason of that rank. */
static tutti_status open_network(creation *c, tt_net_end *end, tt_table *all) {
  const double began = tt_seconds();
  char *row = NULL;
  tutti_status failed =
      tt_net_open(c->net, end) || give_secret(c, end) ? TUTTI_ERR_SYSTEM : TUTTI_OK;
  if (!failed && !(row = calloc(1, NAME + end->bytes)))
    failed = tt_fail(TUTTI_ERR_MEMORY, "out of memory for an address");
  else if (failed)
    tt_fail(failed, "it has no network to the other hosts: %.230s", tutti_error());
  if (row) {
    snprintf(row, NAME, "%s", end->maker.name);
    memcpy(row + NAME, end->address, end->bytes);
  }
  c->opened = tt_seconds() - began;
  tutti_status status = gather_rows(c, failed, row, NAME + end->bytes, all);
  if (!status && (status = compare_names(c, all))) tt_table_drop(all);
  free(row);
  return status;
}

/* Connects the endpoints of all ranks to a network. If one rank fails, all ranks close their endpoints. In a
 * bootstrap with cheap rounds, the other ranks learn of the failure in the next round. Takes over the addresses. */
static tutti_status join_network(creation *c, tt_net_end *end, tt_table *all, tutti_net *net) {
  char why[240] = "out of memory";
  tt_table *kept = malloc(sizeof *kept), joined;
  const tutti_net_addresses addresses = {sizeof addresses, kept, address_of, drop_addresses};
  bool has = false;
  if (kept) *kept = *all;
  if (kept)
    has = !end->maker.join(end->end, c->m->rank, c->m->ranks, &addresses, net, why, sizeof why);
  if (has) end->end = NULL;
  const tutti_status failed =
      has ? TUTTI_OK
          : tt_fail(TUTTI_ERR_SYSTEM, "it has no network to the other hosts: %.230s", why);
  if (has && c->m->light) return TUTTI_OK;
  const tutti_status status = gather_rows(c, failed, NULL, 0, &joined);
  if (status && has) net->close(net->self, 1);
  if (!has) tt_table_drop(all);
  if (!has) free(kept);
  tt_table_drop(&joined);
  return status;
}

void tutti_net_site_of(int core, const char *system, tutti_net_site *site) {
  tt_cpu_bits one = {0};
  tt_cpus_add(&one, core);
  const tt_domains d = tt_cores_within(system, &one);
  if (site) *site = (tutti_net_site){.package = d.package, .numa = d.numa, .cache = d.cache};
}

static tutti_status over_network(creation *c, tutti_comm **out) {
  const double began = tt_seconds();
  tt_net_end end = {.end = NULL};
  tt_table addresses;
  tutti_net net;
  tutti_status status = open_network(c, &end, &addresses);
  if (!status) status = join_network(c, &end, &addresses, &net);
  if (status) tt_net_drop(&end);
  if (status) return status;
  net.site = (tutti_net_site){.node = c->node_of[c->m->rank]};
  net.id = card_of(c, 0)->id;
  tt_log(c->m->rank ? 2 : 1,
         "%d ranks met in %.3g ms; %s was opened in %.3g ms; addresses were exchanged in %.3g ms",
         c->m->ranks, 1e3 * c->met, end.maker.name, 1e3 * c->opened,
         1e3 * (tt_seconds() - began - c->opened));
  return tt_comm_from_net(&net, c->m->light ? c->m : NULL, out);
}

/* ---- all steps ---- */

static tutti_status come_together(creation *c, tutti_comm **out) {
  const double began = tt_seconds();
  tutti_status status = describe_process(c);
  c->node_of = calloc((size_t)c->m->ranks, sizeof *c->node_of);
  if (!status && !c->node_of)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", c->m->ranks);
  const size_t bytes =
      (size_t)(host_of(&c->mine) - (const char *)&c->mine) + strlen(host_of(&c->mine)) + 1;
  status = gather_rows(c, status, &c->mine, bytes, &c->cards);
  c->met = tt_seconds() - began;
  if (!status) status = compare_versions(c);
  if (!status) status = find_nodes(c);
  if (!status && c->one_node) status = on_one_node(c, out);
  if (!status && !*out) status = over_network(c, out);
  return status;
}

tutti_status tt_create(tt_meeting *m, const tutti_config *config, tutti_comm **out) {
  creation c = {
      .m = m, .net = config ? config->net : NULL, .mine = {.fd = -1}, .cards = {.fd = -1}};
  tutti_status status = come_together(&c, out);
  if (!status && config) {
    status = tt_comm_spoil(*out, tt_comm_set_config(*out, "tutti_comm_create", config));
    if (status) tt_comm_destroy(*out);
    if (status) *out = NULL;
  }
  if (c.mine.fd >= 0) close(c.mine.fd);
  tt_table_drop(&c.cards);
  free(c.node_of);
  if (m->end) m->end(m);
  return status;
}

double tt_create_limit(const tutti_config *config) {
  if (config && config->connect_timeout > 0) return config->connect_timeout;
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
  return tt_config_check(function, config, nranks);
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
  if (!status)
    status = tt_meet_visit(&r, tt_host_number(rank), rank, nranks, tt_create_limit(config), &m);
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
