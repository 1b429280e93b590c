/* ext.c - calls all extensions of a communicator, in the order of exts.def. SPDX-License-Identifier: BSD-3-Clause */
#include "ext.h"

static const tt_ext *const exts[TT_EXTS] = {
#define TT_EXT(name) &tt_ext_##name,
#include "exts.def"
#undef TT_EXT
};

uint32_t tt_exts_wanted(void) {
  uint32_t wanted = 0;
  for (int k = 0; k < TT_EXTS; k++) wanted |= (uint32_t)exts[k]->wanted() << k;
  return wanted;
}

tutti_status tt_exts_open(tutti_comm *comm, uint32_t wanted) {
  tutti_status status = TUTTI_OK;
  for (int k = 0; k < TT_EXTS && !status; k++)
    if (wanted >> k & 1) status = exts[k]->open(comm);
  return status;
}

void tt_exts_close(tutti_comm *comm) {
  for (int k = 0; k < TT_EXTS; k++) exts[k]->close(comm);
}

tutti_status tt_exts_choose(tutti_comm *comm, const tt_call *call, const tt_problem *problem,
                            tt_choice *choice) {
  tutti_status status = TUTTI_OK;
  for (int k = 0; k < TT_EXTS && !status && !choice->ext; k++)
    status = exts[k]->choose(comm, call, problem, choice);
  return status;
}

tutti_status tt_exts_explain(tutti_comm *comm, const tt_call *call, tt_text *t) {
  tutti_status status = TUTTI_OK;
  for (int k = 0; k < TT_EXTS && !status; k++) status = exts[k]->explain(comm, call, t);
  return status;
}
