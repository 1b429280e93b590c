/* shrink.c - tutti_comm_shrink and tutti_comm_grow: survivors continue, and joiners may be added.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "shrink.h"

tutti_status tutti_comm_shrink(tutti_comm *comm, tutti_comm **out) {
  return tt_comm_go_on(comm, "tutti_comm_shrink", TT_NO_JOINERS, out);
}

int tutti_comm_newcomers(const tutti_comm *comm) {
  return comm ? comm->joiners : -1;
}

tutti_status tutti_comm_grow(tutti_comm *comm, int least, tutti_comm **out) {
  if (least < 0 || least > 1 << 16) {
    if (out) *out = NULL;
    return tt_fail(TUTTI_ERR_ARG, "tutti_comm_grow: %d joiners; from 0 to 65536 are possible",
                   least);
  }
  return tt_comm_go_on(comm, "tutti_comm_grow", least, out);
}
