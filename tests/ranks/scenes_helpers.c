/* scenes_helpers.c - ranks without data (helpers): all ranks wait for them as for any other rank, several
 * groups share them simultaneously, and ranks that disagree about them are detected.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../cli/configure.h"
#include "cover.h"
#include "scenes.h"

static int64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* No rank leaves before the late one has entered. */
static bool one_barrier(tutti_comm *base, tutti_comm *comm, int late) {
  const int me = tutti_comm_rank(comm);
  int64_t came = 0, through;
  if (me == late) {
    usleep(2000);
    came = now_us();
  }
  bool ok = CHECK(!tutti_barrier(comm));
  through = now_us();
  ok = CHECK(!tutti_allreduce(base, &came, &came, 1, TUTTI_INT64, TUTTI_MAX)) && ok;
  if (!CHECK(through >= came)) ok = scene_check(false, __FILE__, __LINE__, "it did not wait");
  return ok;
}

bool scene_late_helpers(tutti_comm *base, uint64_t seed) {
  static const char *const forms[] = {NULL, "aggregate", "aggregate(tree)", "aggregate(striped)"};
  const int P = tutti_comm_size(base);
  tutti_comm *comm;
  bool ok = CHECK(!tutti_comm_dup(base, &comm));
  (void)seed;
  for (int helpers = 1; helpers < P && helpers < 4; helpers++)
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
      ok = CHECK(!comm_set_helpers(comm, helpers)) && CHECK(!comm_set_algorithm(comm, NULL)) && ok;
      if (comm_set_algorithm(comm, forms[f])) continue; /* not supported on this number of ranks */
      for (int late = 0; late < P && ok; late++) ok = one_barrier(base, comm, late);
    }
  return CHECK(!tutti_comm_free(comm)) && ok;
}

/* ---- two groups, the same helpers ---- */

enum { GROUPS = 2, EACH = 10 };

typedef struct part { /* one rank's part in one group */
  tutti_comm *comm;   /* NULL: the rank is not in the group */
  tutti_request *requests[EACH];
  uint32_t *x[EACH];
} part;

static size_t count_of(uint64_t seed, int group, int i) {
  return i == 3 ? 100000 : (size_t)(cover_mix(seed + (uint64_t)(group * EACH + i)) % 5000);
}

static uint32_t value(uint64_t seed, int group, int i, int rank, size_t k) {
  return (uint32_t)cover_mix(seed ^ (uint64_t)((group * EACH + i) * 100 + rank) << 32 ^ k);
}

static bool begin_one(part *p, uint64_t seed, int group, int i, bool helps) {
  const size_t n = count_of(seed, group, i);
  const int rank = tutti_comm_rank(p->comm);
  p->x[i] = helps ? NULL : malloc((n + 1) * sizeof *p->x[i]);
  for (size_t k = 0; !helps && k < n; k++) p->x[i][k] = value(seed, group, i, rank, k);
  return CHECK(!tutti_allreduce_start(p->comm, p->x[i], p->x[i], n, TUTTI_UINT32, TUTTI_SUM,
                                      &p->requests[i]));
}

static bool right(const part *p, uint64_t seed, int group, int i, int data) {
  const size_t n = count_of(seed, group, i);
  for (size_t k = 0; p->x[i] && k < n; k += 1 + k / 7) {
    uint32_t sum = 0;
    for (int r = 0; r < data; r++) sum += value(seed, group, i, r, k);
    if (!CHECK(p->x[i][k] == sum)) return false;
  }
  return true;
}

/* One helper starts all operations of one group, then all of the other; the second helper in the opposite
 * order; each waits in its own order. */
static bool serve_groups(part *parts, uint64_t seed, int helpers, bool helps, uint64_t order) {
  bool ok = true;
  for (int g = 0; g < GROUPS; g++) {
    const int group = (int)((order >> 1) + (uint64_t)g) % GROUPS;
    for (int i = 0; i < EACH && ok && parts[group].comm; i++)
      ok = begin_one(&parts[group], seed, group, i, helps);
  }
  for (int k = 0; k < GROUPS * EACH && ok; k++) {
    const int j = (int)((order * 7 + (uint64_t)k * 3) % (GROUPS * EACH)), group = j % GROUPS;
    part *p = &parts[group];
    const int i = j / GROUPS;
    if (!p->comm) continue;
    ok = CHECK(!tutti_request_wait(&p->requests[i])) &&
         right(p, seed, group, i, tutti_comm_size(p->comm) - helpers);
    free(p->x[i]);
  }
  return ok;
}

bool scene_shared_helpers(tutti_comm *base, uint64_t seed) {
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base), helpers = P > 4 ? 2 : 1;
  const int data = P - helpers, group = me < data / 2 ? 0 : 1;
  part parts[GROUPS] = {{NULL}};
  bool ok = true;
  if (P < 3) return true;
  for (int g = 0; g < GROUPS && ok; g++) {
    const bool in = me >= data || group == g;
    ok = CHECK(!tutti_comm_split(base, in ? 0 : -1, me, &parts[g].comm)) &&
         CHECK((parts[g].comm != NULL) == in);
    if (in)
      ok = ok && CHECK(!comm_set_helpers(parts[g].comm, helpers)) &&
           CHECK(!comm_set_slices(parts[g].comm, g ? 7 : 0)) &&
           CHECK(comm_helpers(parts[g].comm) == helpers);
  }
  for (int round = 0; round < 3 && ok; round++)
    ok = serve_groups(parts, seed + (uint64_t)round, helpers, me >= data, (uint64_t)me);
  for (int g = 0; g < GROUPS; g++) ok = CHECK(!tutti_comm_free(parts[g].comm)) && ok;
  return ok;
}

/* ---- errors ---- */

bool scene_wrong_helpers(tutti_comm *base, uint64_t seed) {
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  tutti_comm *comm, *twin, *other;
  tutti_request *r;
  uint32_t x = 1, y = 0, many[16] = {0};
  if (P == 1) return true;
  bool ok = CHECK(!tutti_comm_dup(base, &comm)) && CHECK(!comm_set_helpers(comm, 1));
  ok = ok && ERROR(tutti_gather(comm, &x, many, 1, TUTTI_UINT32, 0), TUTTI_ERR_UNSUPPORTED,
                   "gather|1 of which only help");
  ok = ok && ERROR(tutti_scan(comm, &x, &y, 1, TUTTI_UINT32, TUTTI_SUM), TUTTI_ERR_UNSUPPORTED,
                   "scan|only help");
  ok = ok && ERROR(tutti_broadcast(comm, &x, &y, 1, TUTTI_UINT32, P - 1), TUTTI_ERR_ARG,
                   "root|the others bring no data");
  /* communicators made of it, and its description */
  ok = ok && CHECK(!tutti_comm_dup(comm, &twin)) && CHECK(comm_helpers(twin) == 1) &&
       CHECK(!tutti_comm_split(comm, 0, 0, &other)) && CHECK(comm_helpers(other) == 0) &&
       CHECK(tutti_comm_size(other) == P) && CHECK(!tutti_comm_free(other));
  ok = ok && CHECK(!tutti_barrier(base));
  if (me == 0) usleep(50000);
  ok = ok && CHECK(!tutti_allreduce_start(twin, &x, &y, 1, TUTTI_UINT32, TUTTI_SUM, &r));
  if (me > 0 && P > 2) ok = ok && ERROR(comm_set_helpers(twin, 0), TUTTI_ERR_STATE, "in flight");
  ok = ok && CHECK(!tutti_request_wait(&r)) && CHECK(me == P - 1 || (int)y == P - 1) &&
       CHECK(!comm_set_helpers(twin, 0)) &&
       CHECK(!tutti_allreduce(twin, &x, &y, 1, TUTTI_UINT32, TUTTI_SUM)) && CHECK((int)y == P) &&
       CHECK(!tutti_comm_free(twin));
  /* one rank has other helpers than the others */
  const int odd_one = (int)(cover_mix(seed) % (uint64_t)P);
  if (me == odd_one) ok = ok && CHECK(!comm_set_helpers(comm, 0));
  tutti_status status = tutti_allreduce(comm, &x, &y, 1, TUTTI_UINT32, TUTTI_SUM);
  for (int again = 0; again < 3 && !status; again++) status = tutti_barrier(comm);
  ok = ok && ERROR(status, TUTTI_ERR_MISMATCH, "operation|helpers?");
  return CHECK(!tutti_barrier(base)) && CHECK(!tutti_comm_free(comm)) && ok;
}
