/* from_net.c - a communicator over a network, with shared memory among ranks of a node.
 *
 * Idea       First a plain communicator over the network alone is made. The ranks exchange their placements over it
 *            by all-gathers, or in the bootstrap that connected them. In the second case no message is sent, and no
 *            rank connects to another, before the first call. The first rank of each node makes a segment, and the
 *            others open it through /proc. The segment is used if all ranks of the node could open it.
 * Invariant  Every rank takes part in the same gathers, no matter what fails in between, so all return the same
 *            result. In a bootstrap, a rank that fails notifies all others.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build_comm.h"
#include "comm_wisdom.h"
#include "create.h"
#include "host_links.h"
#include "placement.h"
#include "process_state.h"
#include "remote.h"
#include "secure.h"
#include "topo.h"
#include "tracing.h"

/* The data that a rank publishes about itself. */
typedef struct member {
  tt_placement placement;
  int32_t index; /* number of its heap; -1: none */
  int64_t pid;
  uint64_t space;  /* PID namespace of `pid` */
  uint64_t kernel; /* ranks with different kernels share no cores */
  double cores;    /* number of cores that it may use */
} member;

/* The segment made by the first rank of a node. */
typedef struct made {
  uint64_t id;
  int64_t fd; /* -1: none */
} made;

/* A rank's heap in the segment of its node. */
typedef struct opened {
  uint64_t ctrl, cookie;
  int64_t index; /* number of its heap; -1: none */
} opened;

/* ---- exchanging ---- */

typedef struct exchange {
  tutti_comm *comm;
  tt_meeting *m; /* NULL: exchange over the communicator */
  bool told;     /* the last failure was reported to all ranks */
} exchange;

/* Gathers `bytes` bytes from each rank. The bytes from rank r are entry r of the array `all`. */
static tutti_status collect(exchange *x, const void *mine, size_t bytes, void *all) {
  if (!x->m) return tt_gather(x->comm, "tutti_comm_from_net", mine, all, bytes);
  tt_table table;
  tutti_status status = x->m->gather(x->m, TUTTI_OK, mine, bytes, &table);
  x->told = status != TUTTI_OK;
  for (int r = 0; !status && r < x->comm->ranks; r++) {
    size_t n;
    const void *row = tt_table_row(&table, r, &n);
    if (n == tt_row_bytes(bytes))
      memcpy((char *)all + (size_t)r * bytes, row, bytes);
    else
      status = tt_fail(TUTTI_ERR_SYSTEM, "rank %d sent %zu bytes, not %zu", r, n, bytes);
  }
  tt_table_drop(&table);
  return status;
}

static double cores_here(void) {
  const double online = (double)sysconf(_SC_NPROCESSORS_ONLN), quota = tt_cores_quota();
  const double cores = quota < online ? quota : online;
  return cores > 0 ? cores : 1;
}

/* Returns the domains that the network reports. If it reports none, returns the domains of the cores of this process. */
static tt_domains domains_of_site(const tutti_net *net) {
  const tutti_net_site *s = &net->site;
  tt_cpu_bits cores;
  if (net->simulated || s->package || s->numa || s->cache)
    return (tt_domains){s->package, s->numa, s->cache};
  tt_cores_mine(&cores);
  return tt_cores_within(NULL, &cores);
}

static void describe_member(member *m, const tutti_net *net) {
  const tt_domains d = domains_of_site(net);
  *m = (member){.placement = {.colors = {net->site.rack, net->site.node, d.package, d.numa, d.cache}},
                .pid = getpid(),
                .space = tt_pid_space(),
                .kernel = tt_kernel_id(),
                .cores = cores_here(),
                .index = -1};
  if (net->simulated) m->kernel = tt_mix(m->kernel ^ (uint64_t)net->rank); /* has its own cores */
  gethostname(m->placement.host, sizeof m->placement.host - 1);
}

/* ---- shared memory ---- */

/* Returns the number of ranks on this node. Sets *index to the position of this rank among them, and *first to the
 * lowest of these ranks. */
static int on_node(const member *all, int ranks, int rank, int *index, int *first) {
  int n = 0;
  *first = -1;
  for (int r = 0; r < ranks; r++) {
    if (all[r].placement.node != all[rank].placement.node) continue;
    if (*first < 0) *first = r;
    if (r == rank) *index = n;
    n++;
  }
  return n;
}

/* Opens this rank's heap, which is heap `index` of n in the segment of process `pid`. */
static tutti_status open_heap(tutti_comm *comm, opened *mine, int64_t pid, const made *its,
                              int index, int n) {
  tt_segment *segment;
  tutti_status status = tt_segment_open((long)pid, (int)its->fd, n, its->id, &segment);
  if (status) return status;
  status = tt_heap_open(segment, index, &comm->heap);
  if (status) tt_segment_release(segment);
  if (status) return status;
  mine->ctrl = tt_shm_ctrl_new(comm->heap, n, index == 0);
  if (!mine->ctrl) return tt_fail(TUTTI_ERR_MEMORY, "no shared memory for a communicator");
  tt_heap_introduce(comm->heap);
  mine->cookie = *tt_heap_cookie(comm->heap);
  mine->index = index;
  return TUTTI_OK;
}

/* Returns true if each heap in the segment of this node belongs to the rank that claims it. */
static bool right_heaps(const tutti_comm *comm, const member *all, const opened *heaps) {
  const tt_segment *s = tt_heap_segment(comm->heap);
  for (int r = 0; r < comm->ranks; r++)
    if (all[r].placement.node == all[comm->rank].placement.node &&
        (!tt_heap_holds(s, heaps[r].index, heaps[r].ctrl) ||
         tt_heap_intro(s, (int)heaps[r].index)->cookie != heaps[r].cookie))
      return false;
  return true;
}

/* Opens the shared memory of a node. If this fails on any rank of the node, no rank of the node uses shared memory.
 * heaps: receives the entries of all ranks. */
static tutti_status share(exchange *x, bool can, member *all, opened *heaps) {
  tutti_comm *comm = x->comm;
  int index = 0, first = 0, fd = -1;
  const uint64_t id = tt_random();
  const int n = can ? on_node(all, comm->ranks, comm->rank, &index, &first) : 1;
  opened mine = {.index = -1};
  if (n > 1 && index == 0) tt_segment_create(n, 0, 0, id, &fd);
  made *segments = malloc((size_t)comm->ranks * sizeof *segments);
  tutti_status status = segments
                            ? collect(x, &(made){id, fd}, sizeof *segments, segments)
                            : tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", comm->ranks);
  if (!status && n > 1) /* otherwise the index stays -1 */
    open_heap(comm, &mine, all[first].pid, &segments[first], index, n);
  free(segments);
  if (!status) status = collect(x, &mine, sizeof mine, heaps);
  if (fd >= 0) close(fd);
  if (!status && mine.index >= 0 && !right_heaps(comm, all, heaps)) mine.index = -1;
  int64_t *indices = malloc((size_t)comm->ranks * sizeof *indices);
  if (!status)
    status = indices ? collect(x, &mine.index, sizeof mine.index, indices)
                     : tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", comm->ranks);
  for (int r = 0; !status && r < comm->ranks; r++) all[r].index = (int32_t)indices[r];
  free(indices);
  if (status || n == 1) return status;
  bool shared = true;
  for (int r = 0; r < comm->ranks; r++)
    shared &= all[r].placement.node != all[comm->rank].placement.node || all[r].index >= 0;
  if (shared) {
    tt_remote_probe(tt_heap_segment(comm->heap), index);
  } else if (index == 0) {
    tt_log(0, "the ranks of %s cannot share memory; they use the network",
           all[comm->rank].placement.host);
  }
  return TUTTI_OK;
}

/* ---- placement ---- */

typedef struct machine_of { /* the machine of one rank */
  uint64_t kernel;
  double cores;
} machine_of;

/* Computes the number of ranks per core on the machine with the highest load. */
static tutti_status find_ranks_per_core(tutti_comm *comm, const member *all) {
  const int P = comm->ranks;
  machine_of *m = malloc((size_t)P * sizeof *m);
  if (!m) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the machines of %d ranks", P);
  for (int r = 0; r < P; r++) m[r] = (machine_of){all[r].kernel, all[r].cores};
  qsort(m, (size_t)P, sizeof *m, tt_by_first_u64);
  for (int from = 0, r; from < P; from = r) {
    double cores = m[from].cores;
    for (r = from; r < P && m[r].kernel == m[from].kernel; r++)
      if (m[r].cores < cores) cores = m[r].cores;
    if ((r - from) / cores > comm->load.host_ranks_per_core)
      comm->load.host_ranks_per_core = (r - from) / cores;
  }
  free(m);
  return TUTTI_OK;
}

/* If one rank of a node has no shared memory, no rank of that node uses it. */
static tutti_status place(tutti_comm *comm, const member *all, const opened *heaps,
                          const int *node_of) {
  bool *lacks = calloc((size_t)comm->ranks, sizeof *lacks);
  if (!lacks)
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the nodes of %d ranks", comm->ranks);
  for (int r = 0; r < comm->ranks; r++) lacks[node_of[r]] |= all[r].index < 0;
  for (int r = 0; r < comm->ranks; r++)
    comm->info[r] =
        (tt_rank_info){.index = lacks[node_of[r]] ? -1 : all[r].index,
                       .placement = all[r].placement.colors,
                       .pid = (int32_t)all[r].pid,
                       .host = (uint32_t)tt_mix_text(all[r].space, all[r].placement.host),
                       .ctrl = heaps[r].ctrl};
  free(lacks);
  return TUTTI_OK;
}

/* ---- settings that all ranks copy from the first rank ---- */

typedef struct common {
  tt_profile profile;
  int32_t status;        /* if not TUTTI_OK, `text` is the message */
  uint32_t wisdom;       /* flags of comm_wisdom.h */
  uint32_t nodes, bytes; /* size of the first text, and of both, including their NULs */
  uint32_t topo;         /* 1: a topology is set */
  atomic_ullong
      *proofs;         /* shared by simulated ranks, in one process; NULL: separate for each rank */
  char trace[256];     /* the path of a trace, or "" */
  char topo_name[180]; /* the topology's name in messages */
  char *text;          /* TUTTI_NODES or "", then the topology or the message */
} common;

/* Reads the settings that are the same on all ranks. Called on rank 0. */
static void read_common(common *c, const tutti_net *net, const tt_wire *wire) {
  tt_profile_here(&c->profile);
  if (net->simulated) c->proofs = wire->net->make_proofs(net->ranks);
  if (!net->simulated) tt_profile_over(&c->profile, net->name);
  c->wisdom = tt_announce();
  const char *nodes = tt_env("TUTTI_NODES"), *trace = tt_env("TUTTI_TRACE");
  if (trace) snprintf(c->trace, sizeof c->trace, "%s", trace);
  const char *value = tt_env("TUTTI_TOPO");
  char *topo = NULL;
  if (value) c->status = tt_topology_read(value, &topo, c->topo_name, sizeof c->topo_name);
  const char *first = nodes && !c->status ? nodes : "";
  const char *second = c->status ? tutti_error() : topo ? topo : "";
  c->nodes = (uint32_t)strlen(first) + 1;
  c->bytes = c->nodes + (uint32_t)strlen(second) + 1;
  c->topo = topo != NULL;
  if (asprintf(&c->text, "%s%c%s", first, 0, second) < 0) {
    c->status = TUTTI_ERR_MEMORY;
    c->bytes = 0;
    c->text = NULL;
  }
  free(topo);
}

/* Exchanges the descriptions of the ranks over the communicator, with two broadcasts from rank 0 and an all-gather. */
static tutti_status say_in_calls(exchange *x, common *c, const member *mine, member *all) {
  static const char me[] = "tutti_comm_from_net";
  char *text = c->text;
  tutti_status status = tt_broadcast(x->comm, me, 0, c, sizeof *c);
  c->text = text;
  if (!status && x->comm->net->traits.simulated)
    x->comm->net->net->share_proofs(x->comm->net, c->proofs, false);
  if (!status && !c->text && c->bytes && !(c->text = malloc(c->bytes)))
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for a topology");
  if (!status && c->bytes) status = tt_broadcast(x->comm, me, 0, c->text, c->bytes);
  return status || c->status ? status : collect(x, mine, sizeof *mine, all);
}

/* Reads the row of each rank, which contains a `member`. The row of rank 0 also contains the common settings and their text. */
static tutti_status read_members(const tt_table *table, int ranks, common *c, member *all) {
  size_t n, most = sizeof *all + sizeof *c;
  for (int r = 0; r < ranks; r++) {
    const char *row = tt_table_row(table, r, &n);
    const bool first = r == 0 && n >= most;
    if (first) memcpy(c, row + sizeof *all, sizeof *c);
    if (first) c->text = NULL; /* the pointer is valid on rank 0 only */
    if (n != tt_row_bytes(first ? most + c->bytes : sizeof *all) || first != (r == 0))
      return tt_fail(TUTTI_ERR_SYSTEM, "rank %d sent %zu bytes about itself", r, n);
    memcpy(&all[r], row, sizeof *all);
    if (!first) continue;
    if (!(c->text = malloc(c->bytes + 1)))
      return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a topology");
    memcpy(c->text, row + most, c->bytes);
  }
  return TUTTI_OK;
}

/* Exchanges the data in one round of the bootstrap. */
static tutti_status say_in_meeting(exchange *x, common *c, const member *mine, member *all) {
  const size_t text = c->bytes, n = sizeof *mine + (x->comm->rank ? 0 : sizeof *c + text);
  char *row = malloc(n);
  tt_table table;
  tutti_status status = row ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "out of memory for a topology");
  if (row) memcpy(row, mine, sizeof *mine);
  if (row && !x->comm->rank) memcpy(row + sizeof *mine, c, sizeof *c);
  if (row && text) memcpy(row + sizeof *mine + sizeof *c, c->text, text);
  free(c->text);
  c->text = NULL;
  status = x->m->gather(x->m, status, row, n, &table);
  x->told = status != TUTTI_OK;
  if (!status) status = read_members(&table, x->comm->ranks, c, all);
  tt_table_drop(&table);
  free(row);
  return status;
}

#define ENDS(text) (memchr(text, 0, sizeof(text)) != NULL)

static bool is_profile(const tt_profile *p) {
  bool ends = ENDS(p->of) && ENDS(p->over) && p->levels >= 0 && p->levels <= TT_NAMED_LEVELS &&
              p->hosts >= 0 && p->hosts <= TT_NAMED_HOSTS;
  for (int i = 0; ends && i < p->levels; i++) ends = ENDS(p->level[i].name);
  for (int i = 0; ends && i < p->hosts; i++) ends = ENDS(p->host[i].name);
  return ends;
}

/* Checks the data received from other ranks. Texts must be terminated, and numbers must be in range. */
static tutti_status check_words(const common *c, const member *all, int ranks) {
  bool fits = is_profile(&c->profile) && ENDS(c->trace) && ENDS(c->topo_name);
  if (c->bytes || !c->status)
    fits = fits && c->nodes > 0 && c->nodes < c->bytes && !c->text[c->nodes - 1] &&
           !c->text[c->bytes - 1];
  int r = 0;
  if (!c->status)
    while (fits && r < ranks && ENDS(all[r].placement.host) && all[r].cores > 0) r++;
  if (fits && (c->status || r == ranks)) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_SYSTEM, "the description that rank %d sent of itself is invalid", fits ? r : 0);
}

/* Exchanges the descriptions of all ranks and the settings of rank 0. */
static tutti_status introduce(exchange *x, common *c, const tutti_net *net, member *all) {
  member mine;
  describe_member(&mine, net);
  *c = (common){.status = TUTTI_OK};
  if (x->comm->rank == 0) read_common(c, net, x->comm->net);
  tutti_status status = (x->m ? say_in_meeting : say_in_calls)(x, c, &mine, all);
  if (!status) status = check_words(c, all, x->comm->ranks);
  if (status || !c->status) return status;
  x->told = true;
  return tt_fail((tutti_status)c->status, "rank 0: %.300s",
                 c->bytes ? c->text + c->nodes : "out of memory");
}

/* ---- all steps ---- */

/* Computes the layout from the placements of the ranks, or from TUTTI_NODES and TUTTI_TOPO. Simulated nodes are used
 * as declared, and their ranks share no memory. */
static tutti_status compute_placement(tutti_comm *comm, common *c, bool simulated, member *all,
                                      tt_layout *layout) {
  const size_t n = (size_t)comm->ranks;
  tt_placement *placements = malloc(n * sizeof *placements);
  tutti_status status = TUTTI_OK;
  if (!placements)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for the places of %d ranks", comm->ranks);
  for (size_t r = 0; !status && r < n; r++) {
    placements[r] = all[r].placement;
    if (simulated && c->topo) placements[r].node = 0;
  }
  if (!status && *c->text) status = tt_placement_fake(c->text, comm->ranks, placements);
  if (!status)
    status = tt_layout_find(placements, comm->ranks, c->topo ? c->text + c->nodes : NULL,
                            c->topo_name, layout);
  if (simulated) layout->inside = 0;
  if (!status) status = tt_placement_color(layout, comm->ranks, placements);
  for (size_t r = 0; !status && r < n; r++) {
    all[r].placement = placements[r];
    tt_host_found(&c->profile, placements[r].host, placements[r].node);
  }
  free(placements);
  return status;
}

/* Returns an error if the user requires encryption and the network between the hosts does not provide it. */
static tutti_status check_encryption(const tutti_net *net, const member *all) {
  int r = 1;
  if (net->secure || net->simulated) return TUTTI_OK;
  while (r < net->ranks && all[r].placement.node == all[0].placement.node) r++;
  return r < net->ranks ? tt_tls_data(net->name) : TUTTI_OK;
}

/* Exchanges the data that the ranks need about each other, and computes the placement of the ranks. */
static tutti_status rise_with(exchange *x, const tutti_net *net, common *c, member *all,
                              opened *heaps, tt_layout *layout) {
  tutti_comm *comm = x->comm;
  tutti_status status = all && heaps ? TUTTI_OK
                                     : tt_fail(TUTTI_ERR_MEMORY,
                                               "out of memory for a communicator "
                                               "of %d ranks",
                                               comm->ranks);
  if (!status) status = introduce(x, c, net, all);
  if (!status) status = compute_placement(comm, c, net->simulated, all, layout);
  if (!status) status = check_encryption(net, all);
  if (!status) status = share(x, !net->simulated, all, heaps);
  if (status && x->m && !x->told) {
    tt_table none;
    x->m->gather(x->m, status, NULL, 0, &none);
  }
  return status;
}

/* Adds placement and shared memory to a communicator that has only used the network so far. */
static tutti_status rise(tutti_comm *comm, const tutti_net *net, tt_meeting *m) {
  common c = {.text = NULL};
  tt_layout layout = {.order = NULL};
  exchange x = {.comm = comm, .m = m};
  member *all = malloc((size_t)comm->ranks * sizeof *all);
  opened *heaps = calloc((size_t)comm->ranks, sizeof *heaps);
  tutti_status status = rise_with(&x, net, &c, all, heaps, &layout);
  if (!status) status = place(comm, all, heaps, layout.node_of);
  if (!status) status = tt_comm_set_pids(comm, comm->net);
  if (!status) status = find_ranks_per_core(comm, all);
  if (!status) {
    if (tt_comm_near(comm, NULL) == 1) comm->info[comm->rank].ctrl = 0;
    comm->load.cores = all[0].cores;
    status = tt_comm_build(
        comm, &(tt_comm_spec){
                  .net = comm->net, .profile = &c.profile, .layout = &layout, .wisdom = c.wisdom});
  }
  if (!status) status = tt_trace_join(comm, c.trace, all[comm->rank].kernel == all[0].kernel);
  free(layout.order);
  free(layout.node_of);
  free(c.text);
  free(all);
  free(heaps);
  return status;
}

static tutti_status check_net_table(const tutti_net *net) {
  if (net->size != sizeof *net)
    return tt_fail(TUTTI_ERR_ARG,
                   "tutti_comm_from_net: the table has %zu bytes, not %zu: it was "
                   "compiled with another version of tutti_net.h",
                   net->size, sizeof *net);
  if (net->ranks < 1 || net->rank < 0 || net->rank >= net->ranks)
    return tt_fail(TUTTI_ERR_ARG, "tutti_comm_from_net: rank %d of %d", net->rank, net->ranks);
  if (net->rails < 0 || net->rails > TUTTI_NET_RAILS)
    return tt_fail(TUTTI_ERR_ARG, "tutti_comm_from_net: %d rails; at most %d are possible",
                   net->rails, (int)TUTTI_NET_RAILS);
  return TUTTI_OK;
}

tutti_status tutti_comm_from_net(const tutti_net *net, tutti_comm **out) {
  return tt_comm_from_net(net, NULL, out);
}

tutti_status tt_comm_from_net(const tutti_net *net, tt_meeting *m, tutti_comm **out) {
  tutti_status status = tt_args_given("tutti_comm_from_net", "net", net, "comm", out);
  if (!status) status = check_net_table(net);
  if (status) {
    if (net) net->close(net->self, 1);
    return status;
  }
  *out = NULL;
  tt_profile profile;
  tt_profile_net(&profile);
  tt_wire *wire = NULL;
  tutti_comm *comm = tt_comm_new(net->rank, net->ranks);
  if (!comm) {
    net->close(net->self, 1);
    return TUTTI_ERR_MEMORY;
  }
  status = tt_net_wire(net, &wire);
  for (int r = 0; r < comm->ranks; r++) comm->info[r].index = -1;
  comm->net = comm->wire = wire;
  if (!status) status = tt_comm_spoil(comm, tt_comm_configure(comm, &profile));
  if (!status) status = rise(comm, net, m);
  if (status != TUTTI_ERR_ARG) tt_comm_spoil(comm, status); /* rank 0 sends that error to all */
  if (status)
    tt_comm_destroy(comm);
  else
    *out = comm;
  return status;
}
