"""additions.py - makes each addition that CONTRIBUTING.md describes, in a copy of the tree (tests/sh/additions.sh).

Use        additions.py      in the copy
Invariant  an addition touches only the places that CONTRIBUTING.md names for it. Lines go before code, never before a
           comment, whose words may change.
SPDX-License-Identifier: BSD-3-Clause"""
import os

HEAD = "/* %s - an addition of tests/support/additions.py. SPDX-License-Identifier: BSD-3-Clause */\n"


def insert(path, before, line):
    """Put a line before the only place with this text."""
    with open(path) as file:
        text = file.read()
    assert text.count(before) == 1, f"{path}: {text.count(before)} places with {before!r}"
    with open(path, "w") as file:
        file.write(text.replace(before, line + before))


def create(path, text):
    with open(path, "w") as file:
        file.write(HEAD % path.rsplit("/", 1)[-1] + text)


# A family: one file and one line. Ranks add in a row, and the last one sends the sum to all. It may be a stage of compositions.
create("src/algo/row.c", """#include "algo.h"

static void row_build(tt_builder *b, const tt_ask *ask) {
  const int last = ask->ranks - 1, r = ask->rank;
  const tt_span src = tt_block(TT_SRC, 0), dst = tt_block(TT_DST, 0);
  const tt_peers others = {0, last, 1};
  if (r > 0) tt_recv_reduce(b, r - 1, dst, src, TT_OWN_LAST);
  if (r == last) tt_mark_completes(b);
  if (r < last) tt_send(b, r + 1, r ? dst : src);
  if (r == last && last) tt_send_all(b, others, dst);
  if (r < last) tt_recv(b, last, dst);
  if (!last) tt_copy(b, dst, src);
}

const tt_algo tt_row_algo = {
    .name = "row",
    .does = TT_DOES_ALLREDUCE,
    .blocks = tt_one_block,
    .build = row_build,
    .stage = {{"", TT_STAGE_OUTER | TT_STAGE_MIDDLE | TT_STAGE_INNER | TT_STAGE_FITS}},
    .entries = {{"row", TT_NAMED, "ranks add in a row, and the last one answers", "the first idea"}},
};
""")
insert("src/algo/algos.def", "TT_ALGO(naive)", "TT_ALGO(row)\nTT_ALGO(collect)\n")

# An operation: three places. A bit of the result of bxnor is 1 if an even number of operands have a 0 there.
insert("include/tutti.h", "  TUTTI_LAND,\n", "  TUTTI_BXNOR,\n")
insert("src/core/types.c", '    [TUTTI_LAND] = {"land", INTEGER},\n', '    [TUTTI_BXNOR] = {"bxnor", INTEGER},\n')
insert("src/kernel/kernel_table.h", "  KERNEL(land_##bits,", "  KERNEL(bxnor_##bits, u##bits, AS_IS, a ^ ~b) \\\n")
insert("src/kernel/kernel_table.h", "#define LOGICAL(type) \\\n", "#define XNOR(type) [TUTTI_BXNOR] = bxnor_##type\n")
insert("src/kernel/kernel_table.h", ", LOGICAL(bits) }", ", XNOR(bits)")

# A type: three places.
insert("include/tutti.h", "  TUTTI_TYPE_COUNT", "  TUTTI_UINT128,\n  TUTTI_INT128,\n")
insert("src/core/types.def", "#undef TT_TYPE\n", 'TT_TYPE(UINT128, "uint128", unsigned __int128, INTEGER, (u, 128))\nTT_TYPE(INT128, "int128", __int128, INTEGER, (i, 128))\n')
insert("src/kernel/kernel_table.h", "static inline float canon_float(",
       "typedef unsigned __int128 ALIAS u128;\ntypedef __int128 ALIAS i128;\nINTEGER(128, unsigned __int128, __int128)\n\n")

# A topology: one file and one line. All domains of a level share one link.
create("src/cost/topology_bus.c", """#include "topologies.h"

static tt_links the_bus(const tt_cost_model *model, int level, const tt_sim_message *d, bool inward) {
  (void)d, (void)inward;
  return (tt_links){0, model->tree.level[level].most};
}

const tt_topology tt_topology_bus = {.links_of = the_bus, .same_numbers = true};
""")
insert("src/cost/topologies.h", "const tt_topology *tt_topology_at(", "extern const tt_topology tt_topology_bus;\n")
insert("src/cost/topologies.c", "  if (model->torus) return", "  if (link->paths == 4096) return &tt_topology_bus;\n")

# A collective, which does what allgather does, and an algorithm for it.
insert("include/tutti.h", "TUTTI_API tutti_status tutti_request_start(",
       "TUTTI_API tutti_status tutti_collect(tutti_comm *comm, const void *src, void *dst, size_t count, tutti_type type);\n"
       "TUTTI_API tutti_status tutti_collect_start(tutti_comm *comm, const void *src, void *dst, size_t count, tutti_type type,\n"
       "                                           tutti_request **request);\n")
insert("include/tutti.h", "  TUTTI_COLL_COUNT\n", "  TUTTI_COLLECT,\n")
insert("src/sched/coll.c", '                             [TUTTI_BARRIER]', '[TUTTI_COLLECT] = {"collect", OWN, WHOLE, NONE},\n')
insert("src/api/collectives.c", "COLLECTIVE(allgatherv,",
       "COLLECTIVE(collect, LIST(const void *src, void *dst, size_t count, tutti_type type), LIST(.coll = TUTTI_COLLECT, EACH))\n")
create("src/algo/collect.c", """#include "algo.h"

static void collect_build(tt_builder *b, const tt_ask *ask) {
  const uint32_t P = (uint32_t)ask->ranks, own = (uint32_t)ask->rank;
  const tt_peers all = {0, ask->ranks, 1};
  tt_send_all(b, all, tt_block(TT_SRC, own));
  tt_copy(b, tt_block(TT_DST, own), tt_block(TT_SRC, own));
  tt_recv_split(b, all, tt_range(TT_DST, 0, P, P));
}

const tt_algo tt_collect_algo = {
    .name = "collect",
    .does = TT_DOES(COLLECT),
    .blocks = tt_block_per_rank,
    .build = collect_build,
    .entries = {{"collect", TT_CANDIDATE, "every rank reads every block", "the baseline"}},
};
""")

# An extension: one room and one line. It takes the family for every allreduce.
os.mkdir("src/rows")
create("src/rows/rows.c", """#include <stdlib.h>

#include "plan_cache.h"

static bool wanted(void) {
  return getenv("ROWS") != NULL;
}

static tutti_status rows_open(tutti_comm *comm) {
  comm->plans->ext[TT_EXT_rows] = comm;
  return TUTTI_OK;
}

static void rows_close(tutti_comm *comm) {
  comm->plans->ext[TT_EXT_rows] = NULL;
}

static tutti_status choose(tutti_comm *comm, const tt_call *call, const tt_problem *p, tt_choice *choice) {
  (void)p;
  if (!comm->plans->ext[TT_EXT_rows] || call->coll != TUTTI_ALLREDUCE) return TUTTI_OK;
  *choice = (tt_choice){.slices = 1, .ext = &tt_ext_rows};
  return tt_plan_spec_named("row", &choice->plan);
}

static tt_ext_ranks ranks(const tutti_comm *comm, int way) {
  (void)way;
  return (tt_ext_ranks){.chooser = comm->plans->chooser};
}

static tutti_status explain(tutti_comm *comm, const tt_call *call, tt_text *t) {
  if (comm->plans->ext[TT_EXT_rows] && call->coll == TUTTI_ALLREDUCE) tt_text_add(t, "rows takes it\\n");
  return TUTTI_OK;
}

const tt_ext tt_ext_rows = {wanted, rows_open, rows_close, choose, ranks, explain};
""")
insert("Makefile", "aggregator run tune", "rows ")
insert("src/run/exts.def", "TT_EXT(aggregator)", "TT_EXT(rows)\n")

# A program that uses them.
create("adds.c", """#include <stdio.h>

#include "tutti.h"
#include "tutti_plan.h"

int main(void) {
  tutti_comm *comm;
  if (tutti_comm_from_env(&comm)) return 1;
  const int P = tutti_comm_size(comm), me = tutti_comm_rank(comm);
  unsigned __int128 big = (unsigned __int128)(me + 1) << 100, sum = 0;
  unsigned bits = 1u << me, same = 0;
  int of[64] = {0}, ok = 1;
  ok &= !tutti_allreduce(comm, &big, &sum, 1, TUTTI_UINT128, TUTTI_SUM) && sum >> 100 == (unsigned)(P * (P + 1) / 2);
  ok &= !tutti_allreduce(comm, &bits, &same, 1, TUTTI_UINT32, TUTTI_BXNOR) && same == (P % 2 ? (1u << P) - 1 : ~((1u << P) - 1));
  ok &= !tutti_collect(comm, &me, of, 1, TUTTI_INT32);
  for (int r = 0; r < P; r++) ok &= of[r] == r;
  printf(ok ? "right\\n" : "wrong: %s\\n", tutti_error());
  return tutti_comm_free(comm) || !ok;
}
""")
