/* start.c - starts ranks under `tutti run`.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "start.h"

tutti_status start_comm(tutti_comm **comm) {
  return tutti_comm_from_env(comm);
}

tutti_status start_end(void) {
  return tutti_finalize();
}
