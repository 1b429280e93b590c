/* configure.h - changes one setting of a communicator, for the command, benchmarks and tests. Each
 * function reads all settings (tutti_comm_config), changes one, and writes them back. Errors are
 * those of tutti_comm_configure.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONFIGURE_H
#define CONFIGURE_H

#include "tutti.h"

#define CHANGE(field, value)                                       \
  tutti_config config = {.size = sizeof config};                   \
  const tutti_status status = tutti_comm_config(comm, &config);    \
  config.field = (value);                                          \
  return status ? status : tutti_comm_configure(comm, &config)

/* If algorithm is NULL, tutti chooses. */
static inline tutti_status comm_set_algorithm(tutti_comm *comm, const char *algorithm) {
  CHANGE(algorithm, algorithm ? algorithm : "");
}
static inline tutti_status comm_set_contract(tutti_comm *comm, tutti_contract contract) {
  CHANGE(contract, contract);
}
static inline tutti_status comm_set_slices(tutti_comm *comm, int slices) {
  CHANGE(slices, slices);
}
static inline tutti_status comm_set_helpers(tutti_comm *comm, int helpers) {
  CHANGE(helpers, helpers);
}
static inline tutti_status comm_set_timeout(tutti_comm *comm, double seconds) {
  CHANGE(timeout, seconds);
}
/* NULL means no compression. */
static inline tutti_status comm_set_compression(tutti_comm *comm, const char *compression) {
  CHANGE(compression, compression ? compression : "none");
}
static inline tutti_status comm_set_measure(tutti_comm *comm, int on) {
  CHANGE(measure, on ? 1 : -1);
}
/* Returns the number of helper ranks, or -1 on error. */
static inline int comm_helpers(tutti_comm *comm) {
  tutti_config config = {.size = sizeof config};
  return tutti_comm_config(comm, &config) ? -1 : config.helpers;
}

#undef CHANGE
#endif
